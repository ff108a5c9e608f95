//! What the build refuses, with the file and the key.

use crate::faults;

/// The one fault of an English file with this content.
fn fault(text: &str) -> String {
    let faults = faults(&[("en.json", text)]);
    assert_eq!(faults.len(), 1, "{faults:?}");
    faults.concat()
}

/// The faults of a language beside one English sentence under `area.name`.
fn beside(english: &str, name: &str, sentence: &str) -> Vec<String> {
    let entry = |sentence| format!("{{\"area.name\": {sentence}}}");
    faults(&[("en.json", &entry(english)), (name, &entry(sentence))])
}

#[test]
fn what_is_no_catalogue_is_refused() {
    let text = r#"{"a.b": "c""#;
    assert_eq!(
        fault(text),
        "en.json: EOF while parsing an object at line 1 column 11"
    );
    assert_eq!(fault("\"a\""), "en.json: is not an object of sentences");
    assert_eq!(
        fault(r#"{"a.b": 1}"#),
        "en.json: invalid type: integer `1`, expected a sentence or an object of them at line 1 \
         column 9"
    );
    assert_eq!(
        faults(&[]),
        ["en.json: is missing; every other language is held against it"]
    );
}

#[test]
fn a_key_is_an_area_and_a_name_that_rust_takes() {
    for key in [
        "",
        "area",
        "area.",
        ".name",
        "Area.name",
        "area.nAme",
        "area.a.b",
        "area.a-b",
        "1area.b",
        "area.fn",
        "self.a",
        "area._",
        "plural.a",
    ] {
        assert_eq!(
            fault(&format!("{{{key:?}: \"x\"}}")),
            format!(
                "en.json: {key}: is no key; keys are area.name in snake_case, and Rust's own words \
                 are taken"
            )
        );
    }
}

#[test]
fn a_key_or_a_form_stands_in_a_file_once() {
    assert_eq!(
        fault(r#"{"a.b": "x", "a.c": "y", "a.b": "x"}"#),
        "en.json: a.b: stands here twice"
    );
    assert_eq!(
        fault(r#"{"a.b": {"one": "{count}", "other": "{count}", "one": "x"}}"#),
        "en.json: a.b: the form \"one\" stands here twice"
    );
}

#[test]
fn an_empty_sentence_is_refused() {
    assert_eq!(fault(r#"{"a.b": " \n"}"#), "en.json: a.b: is empty");
    assert_eq!(
        fault(r#"{"a.b": {"one": "", "other": "{count}"}}"#),
        "en.json: a.b: is empty"
    );
}

#[test]
fn a_placeholder_is_a_name_in_braces_and_a_literal_brace_is_doubled() {
    for sentence in ["{", "}", "a } b", "{{{", "{{ }", "{a", "{{}}}"] {
        assert_eq!(
            fault(&format!("{{\"a.b\": {sentence:?}}}")),
            "en.json: a.b: has a brace alone; a literal brace is doubled",
            "{sentence}"
        );
    }
    for name in ["", " ", "0", "Name", "a b", "a:?", "type"] {
        assert_eq!(
            fault(&format!("{{\"a.b\": \"see {{{name}}}\"}}")),
            format!(
                "en.json: a.b: {{{name}}} is no placeholder; it is a name in snake_case, and a \
                 literal brace is doubled"
            ),
            "{name}"
        );
    }
}

#[test]
fn a_plural_form_has_a_name_of_cldr_and_a_sentence() {
    assert_eq!(
        fault(r#"{"a.b": {"some": "{count} a"}}"#),
        "en.json: a.b: \"some\" is no plural form; there are: zero, one, two, few, many, other"
    );
    assert_eq!(
        fault(r#"{"a.b": {"one": {"other": "x"}, "other": "{count}"}}"#),
        "en.json: a.b: the form \"one\" is no sentence"
    );
}

#[test]
fn a_language_has_the_forms_that_it_counts_with() {
    let forms = r#"{"one": "one a", "other": "{count} as"}"#;
    assert_eq!(
        beside(forms, "uk.json", forms),
        [
            "uk.json: area.name: lacks the plural form \"few\"",
            "uk.json: area.name: lacks the plural form \"many\""
        ]
    );
    assert_eq!(
        beside(forms, "zh-Hans.json", forms),
        ["zh-Hans.json: area.name: zh-Hans has no plural form \"one\""]
    );
    assert_eq!(
        faults(&[("en.json", r#"{"a.b": {"two": "{count} a"}}"#)]),
        [
            "en.json: a.b: lacks the plural form \"one\"",
            "en.json: a.b: lacks the plural form \"other\"",
            "en.json: a.b: en has no plural form \"two\"",
        ]
    );
}

#[test]
fn forms_that_never_say_the_number_are_refused() {
    assert_eq!(
        fault(r#"{"a.b": {"one": "one {what}", "other": "many {what}"}}"#),
        "en.json: a.b: has plural forms, and none has {count}"
    );
}

#[test]
fn a_value_that_one_form_says_is_said_by_the_others() {
    assert_eq!(
        fault(r#"{"a.b": {"one": "one", "other": "{count} in {dir}"}}"#),
        "en.json: a.b: lacks {dir}"
    );
}

#[test]
fn every_language_says_what_english_says_and_no_more() {
    let faults = faults(&[
        ("en.json", r#"{"a.b": "x", "a.c": "in {dir}", "a.d": "y"}"#),
        (
            "uk.json",
            r#"{"a.b": "x", "a.c": "in {place}", "a.e": "z"}"#,
        ),
    ]);
    assert_eq!(
        faults,
        [
            "uk.json: a.c: {place} does not stand in en.json",
            "uk.json: a.c: lacks {dir}",
            "uk.json: a.d: is missing",
            "uk.json: a.e: is not in en.json",
        ]
    );
}

#[test]
fn what_counts_in_english_counts_in_every_language() {
    let forms = r#"{"one": "one a", "other": "{count} as"}"#;
    assert_eq!(
        beside(forms, "zh-Hans.json", r#""{count} as""#),
        ["zh-Hans.json: area.name: has no plural forms, but in en.json it has"]
    );
    assert_eq!(
        beside(
            r#""{count} as""#,
            "zh-Hans.json",
            r#"{"other": "{count} as"}"#
        ),
        ["zh-Hans.json: area.name: has plural forms, but in en.json it has none"]
    );
}

#[test]
fn a_language_that_nobody_taught_to_count_is_refused() {
    let what = "counts is not known; add its rule to crates/locale/src/plural.rs, and its line to \
                RULES in crates/locale/build/catalogue.rs";
    for tag in ["xx", "EN", "en-", "zh_Hans", ""] {
        assert_eq!(
            faults(&[("en.json", "{}"), (&format!("{tag}.json"), "{}")]),
            [format!("{tag}.json: how {tag:?} {what}")]
        );
    }
}

#[test]
fn one_run_tells_all_that_is_wrong() {
    let faults = faults(&[
        ("en.json", r#"{"a.b": "{", "a.c": ""}"#),
        ("ru.json", "{"),
        ("xx.json", "{}"),
    ]);
    assert_eq!(faults.len(), 4, "{faults:?}");
}
