use super::*;

fn file(path: &str, text: &str) -> RustFile {
    RustFile::read(path, text).expect("the row's text is Rust")
}

/// The lines of a function's body at which a sentence is found.
fn found(body: &str) -> Vec<String> {
    let text = format!("fn f() {{\n{body}\n}}\n");
    let violations = untranslated(&file("crates/engine/src/a.rs", &text));
    let places = violations.into_iter().map(|violation| violation.place);
    places.collect()
}

#[test]
fn a_sentence_that_is_said_is_a_violation_with_its_line() {
    let text = "fn f() {\n    g();\n    Error::new(Code::Busy, \"try again\");\n}\n";

    let found = untranslated(&file("crates/engine/src/a.rs", text));

    let breach = "says \"try again\"; put it into locales/en.json";
    assert_eq!(found, [Violation::new("crates/engine/src/a.rs:3", breach)]);
}

#[test]
fn every_way_to_say_a_sentence_is_known_also_by_a_name_that_it_got_first() {
    for body in [
        r#"return Err(samovar_core::Error::new(Code::Busy, "try again"));"#,
        r#"x.map_err(|e| Error::new(Code::Busy, format!("try {e} again")))"#,
        r#"Failure::usage("not this way")"#,
        r#"say(&format!("{a} is not {b}"));"#,
        r#"Fault { code, message: "it broke".to_owned() }"#,
        r#"self.fail(code, "it broke");"#,
        r#"Error::new(c, if x { "it broke" } else { "b" });"#,
        r#"Error::new(c, match x { A => "it broke", B => "b" });"#,
        "let why = \"try again\";\nError::new(Code::Busy, why)",
        "let why = format!(\"try {x} again\");\nError::new(Code::Busy, format!(\"{}\", why))",
        "let why = \"try again\";\nErr(Error::new(Code::Busy, why.to_owned()))",
        "let (c, why) = match x { _ => (1, \"try again\") };\nError::new(c, why)",
        "let why = \"try again\";\nx.ok_or_else(|| Error::new(Code::Busy, why))",
    ] {
        assert_eq!(found(body), ["crates/engine/src/a.rs:2"], "{body}");
    }
}

#[test]
fn what_is_no_sentence_or_not_said_to_people_is_free() {
    for body in [
        // A name means what was bound last in the blocks around.
        "{ let why = \"try again\"; g(why); }\nError::new(Code::Busy, why)",
        "let why = \"try again\";\nlet why = h();\nError::new(Code::Busy, why)",
        "Error::new(Code::Busy, locale::session::busy(id))",
        r#"Error::new(Code::Busy, format!("{path}: {error}"))"#,
        r#"tracing::error!(%error, "it broke off");"#,
        r#"Outcome::failed("the tool broke off")"#,
        r#"let x = "two words"; g(x);"#,
        r#"Error::new(c, { tracing::warn!("it broke off"); locale::a::b() })"#,
    ] {
        assert_eq!(found(body), [""; 0], "{body}");
    }
}

#[test]
fn error_types_speak_and_tests_models_and_other_crates_may_say_what_they_like() {
    let variant = |attribute: &str| format!("enum E {{\n    {attribute}\n    A,\n}}\n");
    let (server, says) = ("crates/server/src/a.rs", "fn f() { say(\"two words\") }");
    for (path, text, count) in [
        (
            server,
            variant("#[error(\"cannot listen on {address}\")]"),
            1,
        ),
        (
            server,
            variant("#[error(\"{}\", locale::server::taken(.0))]"),
            0,
        ),
        (server, variant("#[error(transparent)]"), 0),
        (server, variant("/// It cannot be read."), 0),
        (server, says.to_owned(), 1),
        (server, format!("#[cfg(test)]\nmod tests {{ {says} }}"), 0),
        ("crates/server/tests/it/a.rs", says.to_owned(), 0),
        ("crates/server/src/a/tests.rs", says.to_owned(), 0),
        ("crates/sandbox/src/error.rs", says.to_owned(), 0),
        ("crates/tools/src/a.rs", says.to_owned(), 0),
    ] {
        assert_eq!(
            untranslated(&file(path, &text)).len(),
            count,
            "{path}: {text}"
        );
    }
}

#[test]
fn a_sentence_that_no_code_says_is_a_violation() {
    let english = r#"{"page.d": "z", "run.a": "x", "run.a_b": "y", "say.c": {"other": "{count}"}}"#;
    let own = "fn f() { run::a(); run::a_b(); say::c() }";
    for (body, silent) in [
        (
            "locale::run::a_b(); f(locale::run::a, locale::say::c(1))",
            &[][..],
        ),
        (
            "use samovar_locale::{run as text, say}; text::a(); text::a_b(); say::c(1)",
            &[],
        ),
        (
            "locale::run::a_b(); run::a2(); essay::c(2)",
            &["run.a", "say.c"],
        ),
    ] {
        let text = format!("fn f() {{ {body} }}");
        let files = [
            file("crates/locale/src/lib.rs", own),
            file("crates/server/src/a.rs", &text),
        ];
        let found = unsaid(Some(english), &files);
        let breach = |key| Violation::new(ENGLISH, format!("nobody says {key}; delete it"));
        let expected: Vec<_> = silent.iter().map(breach).collect();
        assert_eq!(found, expected, "{body}");
    }
    let breach = [Violation::new(ENGLISH, "is no object of sentences")];
    assert_eq!(unsaid(None, &[]), breach);
    assert_eq!(unsaid(Some("[]"), &[]), breach);
}
