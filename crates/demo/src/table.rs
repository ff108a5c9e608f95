//! The table: what is understood, the words of it, and what is said.

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::language::Language;
use crate::pattern::{Pattern, Sentence, Values};

type ByLanguage<T> = BTreeMap<Language, T>;

/// All of it, as it stands in the folder `table`.
pub(crate) struct Table {
    pub(crate) intents: Vec<Intent>,
    pub(crate) words: Words,
    sentences: BTreeMap<String, ByLanguage<String>>,
}

/// A row: what is asked, and what is done.
#[derive(Debug, Deserialize)]
pub(crate) struct Intent {
    pub(crate) id: String,
    /// Values for what a request leaves out.
    #[serde(default)]
    pub(crate) set: Values,
    /// What it says among all that can be done: an example.
    #[serde(default)]
    pub(crate) offer: ByLanguage<String>,
    pub(crate) steps: Vec<Step>,
    #[serde(flatten)]
    patterns: ByLanguage<Vec<String>>,
    #[serde(skip)]
    read: ByLanguage<OnceLock<Vec<Pattern>>>,
}

/// A call, and what is told of its result.
#[derive(Debug, Deserialize)]
pub(crate) struct Step {
    /// None for a step that only tells; `=` for arithmetic, which needs no call.
    #[serde(default)]
    pub(crate) tool: Option<String>,
    #[serde(default)]
    pub(crate) args: Map<String, Value>,
    /// Whether the next step's call is asked for together with its own.
    #[serde(default)]
    pub(crate) beside: bool,
    /// Keys of sentences, or templates with braces.
    #[serde(default)]
    pub(crate) report: Vec<String>,
}

/// The words that patterns name.
#[derive(Debug, Deserialize)]
pub(crate) struct Words {
    value: BTreeMap<String, toml::Table>,
    phrase: BTreeMap<String, ByLanguage<String>>,
    wish: BTreeMap<String, toml::Table>,
}

#[derive(Deserialize)]
struct Intents {
    intent: Vec<Intent>,
}

/// The table, read when it is first needed.
pub(crate) static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let intents: Intents = read(include_str!("../table/intents.toml"));
    let mut intents = intents.intent;
    for intent in &mut intents {
        intent.read = Language::ALL
            .map(|language| (language, OnceLock::new()))
            .into();
    }
    Table {
        intents,
        words: read(include_str!("../table/words.toml")),
        sentences: read(include_str!("../table/sentences.toml")),
    }
});

fn read<T: for<'de> Deserialize<'de>>(text: &str) -> T {
    toml::from_str(text).expect("the table is part of the program, and its tests read it")
}

impl Table {
    /// A sentence.
    pub(crate) fn say(&self, language: Language, key: &str) -> &str {
        let sentence = self.sentences.get(key).and_then(|all| all.get(&language));
        sentence.map_or("", String::as_str)
    }

    /// The keys of all sentences.
    #[cfg(test)]
    pub(crate) fn keys(&self) -> impl Iterator<Item = &String> {
        self.sentences.keys()
    }

    /// A template with values for the names in its braces; `None` when one of them is not there. A
    /// listed value is said by the sentence `name.value`.
    pub(crate) fn fill(
        &self,
        language: Language,
        template: &str,
        values: &Values,
    ) -> Option<String> {
        let mut filled = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}')?;
            let value = values.get(name)?;
            let listed = self.say(language, &format!("{name}.{value}"));
            filled.push_str(before);
            filled.push_str(if listed.is_empty() { value } else { listed });
            rest = after;
        }
        Some(filled + rest)
    }
}

impl Intent {
    /// What a request says, when it is of this row in that language.
    pub(crate) fn matches(&self, language: Language, sentence: &Sentence) -> Option<Values> {
        let patterns = self.read.get(&language)?.get_or_init(|| {
            let rows = self.patterns.get(&language).into_iter().flatten();
            let read = |row: &String| Pattern::new(row, language, &TABLE.words);
            let patterns: Result<Vec<_>, String> = rows.map(read).collect();
            patterns.expect("the patterns are part of the program, and its tests read them")
        });
        patterns.iter().find_map(|pattern| pattern.read(sentence))
    }

    /// The tools that its steps call.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &str> {
        let tools = self.steps.iter().filter_map(|step| step.tool.as_deref());
        tools.filter(|tool| *tool != "=")
    }
}

impl Words {
    /// The values of a kind, each with its spellings; none when it is no list.
    pub(crate) fn values(&self, kind: &str) -> impl Iterator<Item = (&str, &str)> {
        cells(self.value.get(kind))
    }

    /// A part of patterns.
    ///
    /// # Errors
    /// There is none of this name.
    pub(crate) fn phrase(&self, name: &str, language: Language) -> Result<&str, String> {
        let phrase = self.phrase.get(name).and_then(|all| all.get(&language));
        phrase
            .map(String::as_str)
            .ok_or_else(|| format!("no phrase <{name}>"))
    }

    /// The words of a wish for a ticket, of one class.
    pub(crate) fn wish(&self, class: &str) -> impl Iterator<Item = (&str, &str)> {
        cells(self.wish.get(class))
    }
}

fn cells(table: Option<&toml::Table>) -> impl Iterator<Item = (&str, &str)> {
    let cells = table.into_iter().flatten();
    cells.filter_map(|(value, cell)| Some((value.as_str(), cell.as_str()?)))
}
