//! What the table makes of sentences, and that the table is whole.

use std::collections::BTreeSet;

use crate::language::Language;
use crate::pattern::Sentence;
use crate::table::TABLE;
use crate::turn::Request;

use super::world::{CHAT_TOOLS, TOOLS, check};

/// A request in one line: language, row, values.
fn brief(text: &str) -> String {
    let tools = [TOOLS, CHAT_TOOLS].concat();
    let request = Request::new(text, &tools);
    let language = format!("{:?}", request.language).to_lowercase();
    let values = request
        .values
        .iter()
        .map(|(name, value)| format!(" {name}={value}"));
    format!(
        "{language} {}{}",
        request.intent.id,
        values.collect::<String>()
    )
}

// proves FC-5
#[test]
fn plain_requests_are_understood_in_every_language_and_others_refused() {
    check(include_str!("sentences.txt"), brief);
}

#[test]
fn every_row_reads_in_every_language_and_says_what_there_is() {
    let mut ids = BTreeSet::new();
    for intent in &TABLE.intents {
        assert!(ids.insert(&intent.id), "{} stands twice", intent.id);
        for language in Language::ALL {
            // Reads all patterns of the row.
            intent.matches(language, &Sentence::new(""));
            for step in &intent.steps {
                let before = step.tool.as_ref().filter(|tool| *tool != "=");
                let before = before.map(|tool| format!("before.{tool}"));
                let keys = step
                    .report
                    .iter()
                    .filter(|line| !line.contains('{'))
                    .cloned();
                for key in keys.chain(before) {
                    assert!(!TABLE.say(language, &key).is_empty(), "{} {key}", intent.id);
                }
            }
            assert_eq!(
                intent.offer.is_empty(),
                !intent.offer.contains_key(&language)
            );
        }
    }
}

#[test]
fn a_sentence_names_the_same_values_in_every_language() {
    let names = |template: &str| -> BTreeSet<String> {
        let names = template.split('{').skip(1);
        names
            .map(|rest| rest.split('}').next().unwrap().to_owned())
            .collect()
    };
    for key in TABLE.keys() {
        let english = names(TABLE.say(Language::En, key));
        for language in Language::ALL {
            let said = TABLE.say(language, key);
            assert!(!said.is_empty(), "{key} {language:?}");
            assert_eq!(names(said), english, "{key} {language:?}");
        }
    }
}

#[test]
fn a_text_that_is_too_long_is_refused_in_its_language() {
    assert_eq!(brief(&"покажи файлы ".repeat(1_000)), "ru too-long");
    assert_eq!(brief(&"列".repeat(5_000)), "zh too-long");
}
