use super::*;

const TEST: &str = "\n#[test]\nfn f() {}\n";

#[test]
fn the_list_and_the_proofs_have_to_agree() {
    let one = "- **ZZ-1** one.";
    let two = "# Title\n\nProse.\n\n- **ZZ-1** one thing.\n- **ZZ-22** another.\n";
    let at_no_test = "this proof stands at no test";
    let no_id =
        |id: &str| format!("a.rs:1: {id:?} is no id; write `// proves ID` or `// proves ID, ID`");
    for (list, text, expected) in [
        (two, format!("// proves ZZ-1, ZZ-22{TEST}"), vec![]),
        (
            two,
            format!("// proves ZZ-22\n/// Docs.\n// proves ZZ-1{TEST}"),
            vec![],
        ),
        ("Prose.", format!("// proves nothing at all{TEST}"), vec![]),
        (
            one,
            "#[test]\n// proves ZZ-1\nfn f() {}\n".to_owned(),
            vec![],
        ),
        (
            "- **ZZ-1** one.\n- **ZZ-2** two.",
            format!("// proves ZZ-1{TEST}"),
            vec!["docs/requirements.md:2: no test proves ZZ-2".to_owned()],
        ),
        (
            one,
            format!("// proves ZZ-1, ZZ-2{TEST}"),
            vec!["a.rs:1: docs/requirements.md does not list ZZ-2".to_owned()],
        ),
        (
            one,
            format!("// proves ZZ-1 in part{TEST}"),
            vec![no_id("ZZ-1 in part")],
        ),
        (one, format!("//proves ZZ-1,{TEST}"), vec![no_id("ZZ-1,")]),
        (
            one,
            "// proves ZZ-1\nfn f() {}\n#[test]\nfn g() {}\n".to_owned(),
            vec![format!("a.rs:1: {at_no_test}")],
        ),
        (
            one,
            "#[test]\nfn f() {\n    g();\n    // proves ZZ-1\n    h();\n}\n".to_owned(),
            vec![format!("a.rs:4: {at_no_test}")],
        ),
        (
            one,
            "// proves ZZ-1\n".to_owned(),
            vec![format!("a.rs:1: {at_no_test}")],
        ),
        (
            "- **ZZ-1** one.\n- **ZZ-1** again.\n- **zz** no.\n",
            format!("// proves ZZ-1{TEST}"),
            vec![
                "docs/requirements.md:2: ZZ-1 is listed twice".to_owned(),
                "docs/requirements.md:3: is not `- **ID** sentence`".to_owned(),
            ],
        ),
    ] {
        let file = RustFile::read("a.rs", &text).expect("the row's text is Rust");
        let found = mismatches(Some(list), &[file]);
        let mut found: Vec<_> = found.iter().map(ToString::to_string).collect();
        // A proof that is written in another way may leave its id without one.
        found.retain(|found| expected.contains(found) || !found.contains("no test proves ZZ-1"));
        assert_eq!(found, expected, "{list}\n{text}");
    }
    assert_eq!(
        mismatches(None, &[]),
        [Violation::new(LIST, "does not exist")]
    );
}
