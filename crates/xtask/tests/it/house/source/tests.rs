use super::*;

fn read(text: &str) -> Source {
    Source::read(text).expect("the test's text is Rust")
}

#[test]
fn comments_blank_lines_and_docs_are_no_code() {
    let text = "//! Docs.\n\n/// More.\n#[must_use]\nfn f() { // why\n    // alone\n    1;\n\n    /* long\n    one */\n}\n";

    assert_eq!(Vec::from_iter(read(text).code), [4, 5, 7, 11]);
}

#[test]
fn every_line_of_a_long_string_is_code() {
    assert_eq!(
        Vec::from_iter(read("const A: &str = \"one\n// two\nthree\";").code),
        [1, 2, 3]
    );
}

#[test]
fn a_function_reaches_from_its_keyword_to_its_brace() {
    let text = "/// Docs.\n#[inline]\npub fn f(\n    x: u8,\n) -> u8 {\n    x\n}\nfn declared();\nstruct S {}\n";

    let source = read(text);

    let [function] = source.functions.as_slice() else {
        unreachable!("one has a body")
    };
    assert_eq!(
        (function.name.as_str(), &function.lines, &function.head),
        ("f", &(3..=7), &(2..=5))
    );
    assert_eq!(source.count(&function.lines), 5);
}

#[test]
fn functions_are_found_inside_functions_impls_and_macros() {
    let text = "impl T for S { fn a(&self) { fn b() {} } }\nproptest! { fn c(x in 0..5) {} }\nmod m { trait U { fn d() {} fn e(); } }\ntype F = fn(u8) -> u8;\n";

    let names: Vec<String> = read(text)
        .functions
        .into_iter()
        .map(|one| one.name)
        .collect();

    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(sorted, ["a", "b", "c", "d"]);
}

#[test]
fn a_test_is_known_by_its_attribute() {
    let text = "#[test]\nfn a() {}\n#[tokio::test(flavor = \"x\")]\nasync fn b() {}\n#[cfg(test)]\nfn c() {}\nfn d() {}\n";

    let tests: Vec<bool> = read(text).functions.iter().map(|one| one.is_test).collect();

    assert_eq!(tests, [true, true, false, false]);
}

#[test]
fn an_ignored_test_is_known_by_its_attribute() {
    let text = "#[test]\n# [ignore]\nfn a() {}\n#[test]\n# [ignore = \"slow\"]\nfn b() {}\n#[test]\nfn c() { ignore(); }\n";

    let ignored: Vec<bool> = read(text)
        .functions
        .iter()
        .map(|one| one.is_ignored)
        .collect();

    assert_eq!(ignored, [true, true, false]);
}

#[test]
fn words_count_as_code_only() {
    let text = "// unsafe\nconst A: &str = \"unsafe\";\nfn f() {\n    unsafe { g() }\n    todo !()\n}\nfn todo() { unsafe_code(); }\n";

    let source = read(text);

    assert_eq!(source.unsafe_lines, [4]);
    assert_eq!(source.unwritten_lines, [5]);
}

#[test]
fn what_is_no_rust_is_refused() {
    assert!(Source::read("fn f() {").is_err());
}
