use std::str::FromStr;

use super::*;

fn read(text: &str) -> Source {
    Source::of(TokenStream::from_str(text).expect("the row's text is Rust"))
}

#[test]
fn comments_blank_lines_and_docs_are_no_code_and_every_line_of_a_long_string_is() {
    for (text, lines) in [
        (
            "//! Docs.\n\n/// More.\n#[must_use]\nfn f() { // why\n    // alone\n    1;\n\n    /* long\n    one */\n}\n",
            [4, 5, 7, 11].as_slice(),
        ),
        ("const A: &str = \"one\n// two\nthree\";", &[1, 2, 3]),
    ] {
        assert_eq!(Vec::from_iter(read(text).code), lines, "{text}");
    }
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

    let functions = read(text).functions.into_iter();
    let mut names: Vec<String> = functions.map(|one| one.name).collect();

    names.sort();
    assert_eq!(names, ["a", "b", "c", "d"]);
}

#[test]
fn tests_and_ignored_tests_are_known_by_their_attributes() {
    let text = "#[test]\nfn a() {}\n#[tokio::test(flavor = \"x\")]\n#[ignore]\nasync fn b() {}\n#[cfg(test)]\nfn c() {}\n#[test]\n# [ignore = \"slow\"]\nfn d() { ignore(); }\nfn e() { ignore(); }\n";

    let functions = read(text).functions.into_iter();
    let known: Vec<_> = functions.map(|one| (one.is_test, one.is_ignored)).collect();

    assert_eq!(
        known,
        [
            (true, false),
            (true, true),
            (false, false),
            (true, true),
            (false, false)
        ]
    );
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
    assert!(super::super::tree::RustFile::read("a.rs", "fn f() {").is_err());
}
