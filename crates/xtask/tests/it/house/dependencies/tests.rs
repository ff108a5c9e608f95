use serde_json::json;

use super::*;

const RULES: &str = r#"
    [graph]
    targets = ["x86_64-unknown-linux-gnu"]
    all-features = true
    [licenses]
    allow = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"]
    unused-allowed-license = "allow"
    [bans]
    multiple-versions = "deny"
    wildcards = "deny"
    allow-wildcard-paths = true
    deny = [{ crate = "openssl-sys", reason = "TLS is rustls" }]
    [sources]
    unknown-registry = "deny"
    unknown-git = "deny"
"#;

fn table() -> Table {
    Table::read(Some(RULES)).expect("the table is whole")
}

/// The violations of a package of the registry, with these fields in place of the ordinary ones.
fn found(fields: &[(&str, Value)]) -> Vec<String> {
    let mut package = json!({
        "name": "one", "version": "1.0.0", "license": "MIT", "source": REGISTRY[0],
        "manifest_path": "/registry/one/Cargo.toml", "publish": null, "dependencies": [],
    });
    for (name, value) in fields {
        package[*name] = value.clone();
    }
    violations(&json!([package]))
}

fn violations(packages: &Value) -> Vec<String> {
    let metadata = json!({ "workspace_root": "/tree", "packages": packages });
    let all = forbidden(&table(), &metadata);
    all.iter().map(ToString::to_string).collect()
}

// proves TL-16
#[test]
fn a_licence_is_allowed_when_the_list_satisfies_its_expression() {
    for (license, is_allowed) in [
        ("MIT", true),
        ("MIT/GPL-3.0-only", true),
        ("GPL-3.0-only OR MIT", true),
        ("(GPL-3.0-only OR MIT) AND Unicode-3.0", true),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("Apache-2.0", false),
        ("ISC AND GPL-3.0-only", false),
        ("MIT AND (GPL-3.0-only OR Apache-2.0)", false),
        ("MIT WITH Classpath-exception-2.0", false),
    ] {
        let breach = format!("one 1.0.0: the licence {license:?} is not allowed");
        let expected = (!is_allowed).then_some(breach);
        let found = found(&[("license", json!(license))]);
        assert_eq!(found, Vec::from_iter(expected), "{license}");
    }
    let none = found(&[("license", Value::Null), ("license_file", json!("LICENSE"))]);
    assert_eq!(none, ["one 1.0.0: names no licence"]);
    let unread = found(&[("license", json!("as you like"))]);
    assert!(unread[0].contains("is no SPDX expression"), "{unread:?}");
}

// proves TL-16
#[test]
fn a_package_is_from_crates_io_or_from_the_workspace() {
    let git = "git+https://example.org/one#0123";
    let other = "registry+https://example.org/index";
    for (source, manifest, breach) in [
        (json!(REGISTRY[1]), "/registry/one/Cargo.toml", ""),
        (json!(git), "", git),
        (json!(other), "", other),
        (Value::Null, "/tree/crates/one/Cargo.toml", ""),
        (Value::Null, "/tree-2/one/Cargo.toml", "/tree-2/one"),
        (Value::Null, "/one/Cargo.toml", "/one/Cargo.toml"),
    ] {
        let found = found(&[("source", source), ("manifest_path", json!(manifest))]);
        assert_eq!(found.is_empty(), breach.is_empty(), "{found:?}");
        assert!(found.iter().all(|line| line.contains(breach)), "{found:?}");
    }
}

// proves TL-16
#[test]
fn a_banned_a_repeated_and_a_crate_of_any_version_are_violations() {
    let banned = found(&[("name", json!("openssl-sys"))]);
    assert_eq!(banned, ["openssl-sys 1.0.0: is banned: TLS is rustls"]);

    let two = |version| json!({ "name": "two", "version": version, "license": "MIT", "source": REGISTRY[0] });
    let repeated = violations(&json!([two("1.0.0"), two("2.0.0")]));
    assert_eq!(repeated, ["two: is there more than once: 1.0.0, 2.0.0"]);

    let any = json!([{ "name": "two", "req": "*" }]);
    let path = json!([{ "name": "two", "req": "*", "path": "/tree/crates/two" }]);
    let breach = ["one 1.0.0: takes any version of two"];
    assert_eq!(found(&[("dependencies", any)]), breach);
    assert_eq!(found(&[("dependencies", path.clone())]), breach);
    let private = found(&[("dependencies", path), ("publish", json!([]))]);
    assert!(private.is_empty(), "{private:?}");
}

// proves TL-16
#[test]
fn a_key_or_a_value_of_the_table_that_is_not_checked_is_a_violation() {
    for (old, new, breach) in [
        ("[bans]", "[bans]\nskip = []", "`skip`"),
        ("[sources]", "[sources]\nallow-git = []", "`allow-git`"),
        ("[graph]", "[advisories]\n[graph]", "`advisories`"),
        ("unknown-git = \"deny\"", "unknown-git = \"warn\"", "`warn`"),
        ("reason", "wrappers = []\n, reason", "`wrappers`"),
        (
            "all-features = true",
            "all-features = false",
            "all-features",
        ),
        ("unknown-git = \"deny\"", "", "unknown-git"),
    ] {
        let Err(violation) = Table::read(Some(&RULES.replace(old, new))) else {
            panic!("{new} was accepted");
        };
        assert!(violation.breach.contains(breach), "{violation}");
    }
    let mut table = table();
    table.licenses.allow.push("Mine-1.0".to_owned());
    let metadata = json!({ "workspace_root": "/tree", "packages": [] });
    let found = forbidden(&table, &metadata);
    assert!(found[0].breach.contains("Mine-1.0"), "{found:?}");
}
