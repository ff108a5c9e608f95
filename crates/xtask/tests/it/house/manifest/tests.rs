use super::*;

const PATH: &str = "crates/x/Cargo.toml";

fn texts(violations: &[Violation]) -> Vec<String> {
    violations.iter().map(ToString::to_string).collect()
}

#[test]
fn a_dependency_is_inherited_or_a_violation_in_every_section() {
    for section in [
        "dependencies",
        "dev-dependencies",
        "target.'cfg(unix)'.dependencies",
    ] {
        for (line, is_inherited) in [
            ("# why", true),
            ("serde.workspace = true", true),
            ("tokio = { workspace = true, optional = true }", true),
            (r#"serde = "1""#, false),
            (r#"serde = { version = "1" }"#, false),
            (r#"serde = { path = "../serde" }"#, false),
            (r#"serde = { workspace = true, features = ["rc"] }"#, false),
            (r#"serde.version = "1""#, false),
        ] {
            let manifest = format!("[{section}]\n{line}\n[features]\nfast = []\n");
            let found = texts(&own_dependencies(PATH, &manifest));
            let breach = format!("{PATH}:2: `{line}` is not `name.workspace = true`");
            let expected = (!is_inherited).then_some(breach);
            assert_eq!(found, Vec::from_iter(expected), "{section}");
        }
    }
    let found = own_dependencies(PATH, "[dependencies.serde]\nversion = \"1\"\n");
    let breach = "[dependencies.serde] is not a line `name.workspace = true`";
    assert_eq!(found, [Violation::at(PATH, 2, breach)]);
}

const WORKSPACE: &str = r#"
    [workspace.lints.rust]
    missing_docs = "warn"
    unsafe_code = "forbid"
    [workspace.lints.clippy]
    panic = "warn"
"#;

#[test]
fn lints_are_inherited_or_loosen_unsafe_code_and_nothing_else() {
    let (stores, inherited) = ("crates/stores/Cargo.toml", "[lints]\nworkspace = true\n");
    let same = "[lints.rust]\nmissing_docs = \"warn\"\nunsafe_code = \"deny\"\n\
                [lints.clippy]\npanic = \"warn\"\n";
    let without = |lint: &str| same.replace(lint, "other = \"warn\"");
    let no_lints = "has no `[lints]` with `workspace = true`";
    for (path, text, breach) in [
        (PATH, inherited.to_owned(), ""),
        (stores, inherited.to_owned(), ""),
        (PATH, String::new(), no_lints),
        (PATH, "[lints]\nworkspace = false\n".to_owned(), no_lints),
        (PATH, "[package]\nworkspace = true\n".to_owned(), no_lints),
        (stores, same.to_owned(), ""),
        (
            stores,
            without("missing_docs = \"warn\""),
            "[lints.rust] lacks `missing_docs = \"warn\"`",
        ),
        (
            stores,
            without("unsafe_code = \"deny\""),
            "[lints.rust] lacks `unsafe_code = \"deny\"`",
        ),
        (
            stores,
            without("panic = \"warn\""),
            "[lints.clippy] lacks `panic = \"warn\"`",
        ),
        (
            stores,
            same.replace("[lints.clippy]", "[lints.rustdoc]"),
            "[lints.clippy] lacks `panic = \"warn\"`",
        ),
    ] {
        let expected = Some(breach).filter(|breach| !breach.is_empty());
        let expected = expected.map(|breach| Violation::new(path, breach));
        assert_eq!(
            own_lints(path, &text, WORKSPACE),
            Vec::from_iter(expected),
            "{path}: {text}"
        );
    }
}

#[test]
fn a_feature_may_switch_on_those_of_our_own_crates_alone() {
    let ours = "[features]\nproof = []\nplant = [\"samovar-core/plant\"]\n";
    let theirs = "[features]\nproof = [\"samovar-core/proof\", \"tokio/tracing\"]\n";

    assert!(far_features(PATH, ours).is_empty());
    let breach =
        "`proof = [\"samovar-core/proof\", \"tokio/tracing\"]` reaches beyond our own crates";
    assert_eq!(
        texts(&far_features(PATH, theirs)),
        [format!("{PATH}:2: {breach}")]
    );
}
