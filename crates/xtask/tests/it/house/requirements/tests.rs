use super::*;

/// The violations when this is the list, and one file claims that in front of a test.
fn check(list: &str, comment: &str) -> Vec<String> {
    check_file(list, &format!("{comment}\n#[test]\nfn f() {{}}\n"))
}

fn check_file(list: &str, text: &str) -> Vec<String> {
    let found = mismatches(Some(list), &mut [("a.rs", text)].into_iter());
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn a_list_and_its_proofs_that_agree_are_fine() {
    let list = "# Title\n\nProse.\n\n- **ZZ-1** one thing.\n- **ZZ-22** another.\n";

    assert_eq!(check(list, "// proves ZZ-1, ZZ-22"), [""; 0]);
    assert_eq!(
        check(list, "// proves ZZ-22\n/// Docs.\n// proves ZZ-1"),
        [""; 0]
    );
    assert_eq!(check("Prose.", "// proves nothing at all"), [""; 0]);
}

#[test]
fn a_listed_requirement_without_a_test_is_a_violation() {
    let found = check("- **ZZ-1** one.\n- **ZZ-2** two.", "// proves ZZ-1");

    assert_eq!(found, ["docs/requirements.md:2: no test proves ZZ-2"]);
}

#[test]
fn a_proven_requirement_without_a_line_is_a_violation() {
    let found = check("- **ZZ-1** one.", "// proves ZZ-1, ZZ-2");

    assert_eq!(found, ["a.rs:1: docs/requirements.md does not list ZZ-2"]);
}

#[test]
fn a_proof_written_in_another_way_is_a_violation() {
    let list = "- **ZZ-1** one.";

    for (comment, id) in [
        ("// proves ZZ-1 in part", "ZZ-1 in part"),
        ("//proves ZZ-1,", "ZZ-1,"),
    ] {
        let breach = format!("{id:?} is no id; write `// proves ID` or `// proves ID, ID`");
        assert!(
            check(list, comment).contains(&format!("a.rs:1: {breach}")),
            "{comment}"
        );
    }
}

#[test]
fn a_proof_that_stands_at_no_test_is_a_violation() {
    let list = "- **ZZ-1** one.";

    for text in [
        "// proves ZZ-1\nfn f() {}\n#[test]\nfn g() {}\n",
        "#[test]\nfn f() {\n    g();\n    // proves ZZ-1\n    h();\n}\n",
        "// proves ZZ-1\n",
    ] {
        let found = check_file(list, text);
        assert!(
            found[0].ends_with("this proof stands at no test"),
            "{text}{found:?}"
        );
    }
    assert_eq!(
        check_file(list, "#[test]\n// proves ZZ-1\nfn f() {}\n"),
        [""; 0]
    );
}

#[test]
fn a_list_that_is_missing_or_written_in_another_way_is_a_violation() {
    let mut nothing = std::iter::empty();
    assert_eq!(
        mismatches(None, &mut nothing),
        [Violation::new(LIST, "does not exist")]
    );

    let found = check(
        "- **ZZ-1** one.\n- **ZZ-1** again.\n- **zz** no.\n",
        "// proves ZZ-1",
    );
    assert_eq!(
        found,
        [
            "docs/requirements.md:2: ZZ-1 is listed twice",
            "docs/requirements.md:3: is not `- **ID** sentence`",
        ]
    );
}
