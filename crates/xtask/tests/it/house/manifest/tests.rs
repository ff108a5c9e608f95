use super::*;

fn check(manifest: &str) -> Vec<String> {
    own_dependencies("crates/x/Cargo.toml", manifest)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn inherited_dependencies_are_fine_in_every_section() {
    let manifest = r#"
        [package]
        name = "x"

        [dependencies]
        # why
        serde.workspace = true
        tokio = { workspace = true, optional = true }
        [dev-dependencies]
        tempfile.workspace = true
        [target.'cfg(unix)'.dependencies]
        rustix.workspace = true
        [features]
        fast = []
    "#;

    assert_eq!(check(manifest), [""; 0]);
}

#[test]
fn a_version_a_path_or_features_in_a_member_are_violations() {
    for line in [
        r#"serde = "1""#,
        r#"serde = { version = "1" }"#,
        r#"serde = { path = "../serde" }"#,
        r#"serde = { workspace = true, features = ["rc"] }"#,
        r#"serde.version = "1""#,
    ] {
        for section in [
            "dependencies",
            "dev-dependencies",
            "target.'cfg(unix)'.dependencies",
        ] {
            let found = check(&format!("[{section}]\n{line}\n"));

            let expected =
                format!("crates/x/Cargo.toml:2: `{line}` is not `name.workspace = true`");
            assert_eq!(found, [expected], "{section}");
        }
    }
}

#[test]
fn a_dependency_as_a_section_is_a_violation() {
    let found = check("[dependencies.serde]\nversion = \"1\"\n");

    let breach = "[dependencies.serde] is not a line `name.workspace = true`";
    assert_eq!(found, [format!("crates/x/Cargo.toml:2: {breach}")]);
}

const WORKSPACE: &str = r#"
    [workspace.lints.rust]
    missing_docs = "warn"
    unsafe_code = "forbid"
    [workspace.lints.clippy]
    panic = "warn"
"#;

#[test]
fn inherited_lints_are_fine() {
    let inherited = "[lints]\nworkspace = true\n";

    assert_eq!(own_lints("crates/x/Cargo.toml", inherited, WORKSPACE), []);
    assert_eq!(
        own_lints("crates/stores/Cargo.toml", inherited, WORKSPACE),
        []
    );
}

#[test]
fn lints_that_are_not_inherited_are_a_violation() {
    let path = "crates/x/Cargo.toml";
    let expected = [Violation::new(
        path,
        "has no `[lints]` with `workspace = true`",
    )];

    for text in [
        "",
        "[lints]\nworkspace = false\n",
        "[package]\nworkspace = true\n",
    ] {
        assert_eq!(own_lints(path, text, WORKSPACE), expected, "{text}");
    }
}

#[test]
fn lints_that_are_written_out_loosen_unsafe_code_and_nothing_else() {
    let path = "crates/stores/Cargo.toml";
    let same = "[lints.rust]\nmissing_docs = \"warn\"\nunsafe_code = \"deny\"\n\
                [lints.clippy]\npanic = \"warn\"\n";

    assert_eq!(own_lints(path, same, WORKSPACE), []);
    for (lint, section) in [
        ("missing_docs = \"warn\"", "lints.rust"),
        ("unsafe_code = \"deny\"", "lints.rust"),
        ("panic = \"warn\"", "lints.clippy"),
    ] {
        let without = same.replace(lint, "other = \"warn\"");
        let expected = [Violation::new(path, format!("[{section}] lacks `{lint}`"))];
        assert_eq!(own_lints(path, &without, WORKSPACE), expected);
    }
    let elsewhere = same.replace("[lints.clippy]", "[lints.rustdoc]");
    let expected = [Violation::new(
        path,
        "[lints.clippy] lacks `panic = \"warn\"`",
    )];
    assert_eq!(own_lints(path, &elsewhere, WORKSPACE), expected);
}

#[test]
fn a_feature_may_switch_on_those_of_our_own_crates_alone() {
    let ours = "[features]\nproof = []\nplant = [\"samovar-core/plant\"]\n";
    let theirs = "[features]\nproof = [\"samovar-core/proof\", \"tokio/tracing\"]\n";

    assert!(far_features("crates/x/Cargo.toml", ours).is_empty());
    let found = far_features("crates/x/Cargo.toml", theirs);
    let found: Vec<_> = found.iter().map(ToString::to_string).collect();
    let breach =
        "`proof = [\"samovar-core/proof\", \"tokio/tracing\"]` reaches beyond our own crates";
    assert_eq!(found, [format!("crates/x/Cargo.toml:2: {breach}")]);
}
