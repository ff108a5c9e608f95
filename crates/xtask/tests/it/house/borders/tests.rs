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

fn uses(directory: &str, used: &str, kind: &Value) -> Value {
    let path = format!("/p/crates/{used}");
    let edge = json!({ "name": format!("samovar-{used}"), "kind": kind, "path": path });
    package("any", directory, &json!([edge]))
}

fn breaches(violations: Vec<Violation>) -> Vec<String> {
    violations
        .into_iter()
        .map(|violation| violation.breach)
        .collect()
}

#[test]
fn a_use_outside_the_table_is_a_violation() {
    let found = breaches(forbidden_uses(&uses("engine", "stores", &Value::Null)));

    assert_eq!(found, ["engine must not use stores outside tests"]);
}

#[test]
fn a_use_in_the_table_is_none() {
    assert_eq!(forbidden_uses(&uses("engine", "core", &Value::Null)), []);
    assert_eq!(forbidden_uses(&uses("engine", "core", &json!("dev"))), []);
}

#[test]
fn every_crate_may_use_the_catalogue_which_uses_none() {
    for name in ["core", "sandbox", "engine"] {
        assert_eq!(forbidden_uses(&uses(name, "locale", &Value::Null)), []);
    }
    let found = breaches(forbidden_uses(&uses("locale", "core", &Value::Null)));
    assert_eq!(found, ["locale must not use core outside tests"]);
}

#[test]
fn a_use_for_tests_does_not_open_the_border_for_the_rest() {
    assert_eq!(
        forbidden_uses(&uses("server", "testkit", &json!("dev"))),
        []
    );
    for kind in [Value::Null, json!("build")] {
        let found = breaches(forbidden_uses(&uses("server", "testkit", &kind)));
        assert_eq!(found, ["server must not use testkit outside tests"]);
    }
    let found = breaches(forbidden_uses(&uses("core", "testkit", &json!("dev"))));
    assert_eq!(found, ["core must not use testkit even in tests"]);
}

#[test]
fn a_crate_from_the_registry_is_no_business_of_the_table() {
    let metadata = package("any", "core", &json!([{ "name": "serde", "kind": null }]));

    assert_eq!(forbidden_uses(&metadata), []);
}

#[test]
fn a_crate_without_a_row_is_a_violation() {
    let found = breaches(forbidden_uses(&package("samovar-new", "new", &json!([]))));

    assert_eq!(found, ["has no row in the table"]);
}

#[test]
fn a_package_is_named_after_its_directory() {
    assert_eq!(misnamed(&package("samovar", "samovar", &json!([]))), []);
    assert_eq!(misnamed(&package("samovar-wire", "wire", &json!([]))), []);
    assert_eq!(
        breaches(misnamed(&package("samovar-codecs", "wire", &json!([])))),
        ["the package is named samovar-codecs; it must be samovar-wire"]
    );
    assert_eq!(
        breaches(misnamed(&package("samovar-sse", "wire/sse", &json!([])))),
        ["is not directly under crates/"]
    );
    assert_eq!(
        breaches(misnamed(&package("samovar-prove", "prove", &json!([])))),
        ["is not directly under lab/"]
    );
}

#[test]
fn a_second_test_binary_is_a_violation() {
    let target = |path| json!({ "kind": ["test"], "src_path": path });
    let metadata = json!({ "packages": [{ "targets": [
        target("/p/crates/wire/tests/it/main.rs"),
        target("/p/crates/wire/tests/sse.rs"),
    ] }] });

    let found = stray_tests(&metadata);

    assert_eq!(
        found,
        [Violation::new(
            "/p/crates/wire/tests/sse.rs",
            "is a test binary of its own"
        )]
    );
}
