use proptest::prelude::*;

use samovar_core::terms::joined;

use super::asked::{Asked, Looseness, Worth};

// proves AS-27
#[test]
fn a_text_has_the_terms_that_a_query_for_it_has() {
    for (text, terms) in [
        ("", ""),
        ("\u{301} \" AND * () ^ : { -- \0", "and"),
        (
            "Ça, l'ÉTÉ; Straße e\u{301}te\u{301}",
            "ca l ete strasse ete",
        ),
        (
            "soft\u{ad}ware ＡＢＣ１ naïve_Łódź",
            "software abc1 naive lodz",
        ),
        ("Ёлка ещё, НАЙДИ", "елка еще наиди"),
        ("v2.14.3 o'neill", "v2 14 3 o neill"),
        ("请帮我A4纸，好", "请帮 帮我 a4"),
        ("カタカナ 한국어", "カタ タカ カナ 한국 국어"),
    ] {
        assert_eq!(joined(text).trim_end(), terms, "{text}");
    }
    assert_eq!(joined(&"x".repeat(1 << 20)).len(), 65);
}

// proves AS-27
#[test]
fn a_query_asks_the_index_for_words_and_then_for_less() {
    let asked = |query: &str| {
        let asked = Asked::read(query);
        let ways = Looseness::ALL.map(|way| asked.expression(way).unwrap_or_default());
        ways.join(" / ")
    };
    for (query, expressions) in [
        ("", " /  / "),
        ("\"*\" - ( NEAR:", r#""near" / "near"* / "nea"*"#),
        ("n449", r#""n449" / "n449"* / "#),
        ("a OR b", r#""a" AND "or" AND "b" /  / "#),
        (
            "Kinokarten am",
            r#""kinokarten" AND "am" / "kinokarten"* AND "am" / "kinokart"* AND "am""#,
        ),
        ("票", " /  / "),
        ("票 a", r#""a" /  / "#),
        (
            "电影票据",
            r#""电影" AND "影票" AND "票据" /  / "电影" AND "票据""#,
        ),
        ("x x", r#""x" /  / "#),
    ] {
        assert_eq!(asked(query), expressions, "{query}");
    }
    let long = "word ".repeat(13_000) + "电影".repeat(9000).as_str();
    assert!(asked(&long).len() < 200);
}

// proves AS-27
#[test]
fn a_hit_is_worth_more_when_its_words_are_together_and_shows_what_is_around_it() {
    let far = "and ".repeat(100);
    for (query, text, worth) in [
        ("night train", "The Night Train", Worth::Phrase),
        ("night train", "a train at night", Worth::Near),
        (
            "night train",
            &format!("night {far} train"),
            Worth::Scattered,
        ),
        ("影票", "两张电影票", Worth::Phrase),
    ] {
        let fit = Asked::read(query).fit(text, Looseness::Words).unwrap();
        assert_eq!(fit.worth, worth, "{query}: {text}");
    }
    let misses = Asked::read("night trains").fit("night train", Looseness::Words);
    assert!(misses.is_none());

    let long = format!(
        "{}the  night\n\ttrain {}",
        "lead ".repeat(40),
        "tail ".repeat(80)
    );
    let around = |query: &str, text: &str| {
        let fit = Asked::read(query).fit(text, Looseness::Words);
        fit.unwrap().around
    };
    let shown = around("night train", &long);
    assert!(
        shown.starts_with("…lead") && shown.ends_with("tail…"),
        "{shown}"
    );
    assert!(shown.contains(" the night train tail "), "{shown}");
    assert!(shown.chars().count() < 170);
    let chinese = format!("{}电影票{}", "前".repeat(90), "后".repeat(200));
    let shown = around("电影票", &chinese);
    assert!(
        shown.contains("前电影票后") && shown.chars().count() == 162,
        "{shown}"
    );
    assert_eq!(around("night", "  night\n"), "night");
}

proptest! {
    // proves AS-27
    #[test]
    fn every_text_is_found_by_itself_and_none_is_more_than_words_to_the_index(text in ".{0,60}") {
        let asked = Asked::read(&text);
        if let Some(expression) = asked.expression(Looseness::Words) {
            let fit = asked.fit(&text, Looseness::Words);
            prop_assert_eq!(fit.map(|fit| fit.worth), Some(Worth::Phrase));
            for term in expression.split(" AND ") {
                let term = term.trim_end_matches('*').trim_matches('"');
                prop_assert!(term.chars().all(|c| !c.is_ascii() || c.is_ascii_alphanumeric()));
            }
        }
    }
}
