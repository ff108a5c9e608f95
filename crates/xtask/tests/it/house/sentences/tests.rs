use super::*;

/// The sentences that are found in a function with this body.
fn found(body: &str) -> Vec<String> {
    let text = format!("fn f() {{\n{body}\n}}\n");
    let violations = untranslated("crates/engine/src/a.rs", &text);
    violations
        .into_iter()
        .map(|violation| violation.place)
        .collect()
}

#[track_caller]
fn is_found(body: &str) {
    assert_eq!(found(body).len(), 1, "{body}");
}

#[track_caller]
fn is_free(body: &str) {
    assert_eq!(found(body), [""; 0], "{body}");
}

#[test]
fn a_sentence_that_is_said_is_a_violation_with_its_line() {
    let text = "fn f() {\n    g();\n    Error::new(Code::Busy, \"try again\");\n}\n";

    let found = untranslated("crates/engine/src/a.rs", text);

    let breach = "says \"try again\"; put it into locales/en.json";
    assert_eq!(found, [Violation::new("crates/engine/src/a.rs:3", breach)]);
}

#[test]
fn every_way_to_say_one_is_known() {
    is_found(r#"return Err(samovar_core::Error::new(Code::Busy, "try again"));"#);
    is_found(r#"x.map_err(|e| Error::new(Code::Busy, format!("try {e} again")))"#);
    is_found(r#"Failure::usage("not this way")"#);
    is_found(r#"say(&format!("{a} is not {b}"));"#);
    is_found(r#"Fault { code, message: "it broke".to_owned() }"#);
    is_found(r#"self.fail(code, "it broke");"#);
    is_found(r#"Error::new(c, if x { "it broke" } else { "b" });"#);
    is_found(r#"Error::new(c, match x { A => "it broke", B => "b" });"#);
}

#[test]
fn a_sentence_that_got_a_name_first_is_found_where_it_stands() {
    let body = "let why = \"try again\";\nError::new(Code::Busy, why)";
    assert_eq!(found(body), ["crates/engine/src/a.rs:2"]);
    is_found("let why = format!(\"try {x} again\");\nError::new(Code::Busy, format!(\"{}\", why))");
    is_found("let why = \"try again\";\nErr(Error::new(Code::Busy, why.to_owned()))");
    is_found("let (c, why) = match x { _ => (1, \"try again\") };\nError::new(c, why)");
    is_found("let why = \"try again\";\nx.ok_or_else(|| Error::new(Code::Busy, why))");
}

#[test]
fn a_name_means_what_was_bound_last_in_the_blocks_around() {
    is_free("{ let why = \"try again\"; g(why); }\nError::new(Code::Busy, why)");
    is_free("let why = \"try again\";\nlet why = h();\nError::new(Code::Busy, why)");
}

#[test]
fn what_an_error_type_prints_is_said() {
    let check = |attribute: &str| {
        let text = format!("enum E {{\n    {attribute}\n    A,\n}}\n");
        untranslated("crates/server/src/a.rs", &text).len()
    };

    assert_eq!(check("#[error(\"cannot listen on {address}\")]"), 1);
    assert_eq!(check("#[error(\"{}\", locale::server::taken(.0))]"), 0);
    assert_eq!(check("#[error(transparent)]"), 0);
    assert_eq!(check("/// It cannot be read."), 0);
}

#[test]
fn what_is_no_sentence_or_not_said_to_people_is_free() {
    is_free("Error::new(Code::Busy, locale::session::busy(id))");
    is_free(r#"Error::new(Code::Busy, format!("{path}: {error}"))"#);
    is_free(r#"tracing::error!(%error, "it broke off");"#);
    is_free(r#"Outcome::failed("the tool broke off")"#);
    is_free(r#"let x = "two words"; g(x);"#);
    is_free(r#"Error::new(c, { tracing::warn!("it broke off"); locale::a::b() })"#);
}

#[test]
fn tests_models_and_other_crates_may_say_what_they_like() {
    let text = "fn f() { say(\"two words\") }";
    assert_eq!(untranslated("crates/server/src/a.rs", text).len(), 1);
    for path in [
        "crates/server/tests/it/a.rs",
        "crates/server/src/a/tests.rs",
        "crates/sandbox/src/error.rs",
        "crates/tools/src/a.rs",
    ] {
        assert_eq!(untranslated(path, text), []);
    }
    let text = format!("#[cfg(test)]\nmod tests {{ {text} }}");
    assert_eq!(untranslated("crates/server/src/a.rs", &text), []);
}

#[test]
fn a_sentence_that_nobody_says_is_a_violation() {
    let english = r#"{"run.a": "x", "run.a_b": "y", "say.c": {"other": "{count}"}}"#;
    let unsaid = |text: &str| -> Vec<String> {
        let own = ("crates/locale/src/lib.rs", "run::a(); run::a_b(); say::c()");
        let files = [own, ("crates/server/src/a.rs", text)];
        let found = unsaid(Some(english), files.into_iter());
        found
            .into_iter()
            .map(|violation| violation.breach)
            .collect()
    };

    assert_eq!(
        unsaid("locale::run::a_b(); f(locale::run::a, locale::say::c(1))"),
        [""; 0]
    );
    assert_eq!(
        unsaid("use samovar_locale::{run as text, say}; text::a(); text::a_b(); say::c(1)"),
        [""; 0]
    );
    assert_eq!(
        unsaid("locale::run::a_b(); run::a2(); essay::c(2)"),
        [
            "nobody says run.a; delete it",
            "nobody says say.c; delete it"
        ]
    );
}

#[test]
fn a_catalogue_that_cannot_be_read_is_a_violation() {
    let breach = [Violation::new(ENGLISH, "is no object of sentences")];
    assert_eq!(unsaid(None, [].into_iter()), breach);
    assert_eq!(unsaid(Some("[]"), [].into_iter()), breach);
}
