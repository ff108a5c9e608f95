use serde_json::json;

use super::*;

fn package(name: &str, directory: &str, dependencies: &Value) -> Value {
    json!({
        "workspace_root": "/p",
        "packages": [{
            "name": name,
            "manifest_path": format!("/p/crates/{directory}/Cargo.toml"),
            "dependencies": dependencies,
        }]
    })
}

fn breaches(violations: Vec<Violation>) -> Vec<String> {
    let breaches = violations.into_iter().map(|violation| violation.breach);
    breaches.collect()
}

#[test]
fn a_use_outside_the_table_is_a_violation_and_one_for_tests_opens_the_border_for_tests_alone() {
    let (normal, dev, build) = (Value::Null, json!("dev"), json!("build"));
    for (user, used, kind, breach) in [
        (
            "engine",
            "stores",
            &normal,
            "engine must not use stores outside tests",
        ),
        ("engine", "core", &normal, ""),
        ("engine", "core", &dev, ""),
        // The catalogue is for all, and uses none.
        ("core", "locale", &normal, ""),
        ("sandbox", "locale", &normal, ""),
        (
            "locale",
            "core",
            &normal,
            "locale must not use core outside tests",
        ),
        ("server", "testkit", &dev, ""),
        (
            "server",
            "testkit",
            &normal,
            "server must not use testkit outside tests",
        ),
        (
            "server",
            "testkit",
            &build,
            "server must not use testkit outside tests",
        ),
        (
            "core",
            "testkit",
            &dev,
            "core must not use testkit even in tests",
        ),
        ("new", "core", &normal, "has no row in the table"),
    ] {
        let path = format!("/p/crates/{used}");
        let edge = json!({ "name": format!("samovar-{used}"), "kind": kind, "path": path });
        let found = breaches(forbidden_uses(&package("any", user, &json!([edge]))));
        assert_eq!(found.join(", "), breach, "{user} {used} {kind}");
    }
    let optional = json!({ "kind": null, "optional": true, "path": "/p/lab/doubles" });
    for (user, violations) in [("samovar", 0), ("server", 1)] {
        let found = forbidden_uses(&package("any", user, &json!([optional])));
        assert_eq!(found.len(), violations, "{user}");
    }
    let foreign = package("any", "core", &json!([{ "name": "serde", "kind": null }]));
    assert_eq!(forbidden_uses(&foreign), []);
}

#[test]
fn a_package_is_named_after_its_directory() {
    for (name, directory, breach) in [
        ("samovar", "samovar", ""),
        ("samovar-wire", "wire", ""),
        (
            "samovar-codecs",
            "wire",
            "the package is named samovar-codecs; it must be samovar-wire",
        ),
        ("samovar-sse", "wire/sse", "is not directly under crates/"),
        ("samovar-prove", "prove", "is not directly under lab/"),
    ] {
        let found = breaches(misnamed(&package(name, directory, &json!([]))));
        assert_eq!(found.join(", "), breach, "{name} {directory}");
    }
}

#[test]
fn a_second_test_binary_is_a_violation() {
    let target = |path| json!({ "kind": ["test"], "src_path": path });
    let metadata = json!({ "packages": [{ "targets": [
        target("/p/crates/wire/tests/it/main.rs"),
        target("/p/crates/wire/tests/sse.rs"),
    ] }] });

    let found = stray_tests(&metadata);

    let breach = Violation::new("/p/crates/wire/tests/sse.rs", "is a test binary of its own");
    assert_eq!(found, [breach]);
}
