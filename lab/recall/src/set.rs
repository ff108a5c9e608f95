//! The notes, the exchanges and the questions, and their halves.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

/// The tokens of a question that count.
pub(crate) const QUESTION_TOKENS: usize = 64;

#[derive(Deserialize)]
pub(crate) struct Note {
    pub(crate) id: String,
    pub(crate) text: String,
}

#[derive(Deserialize)]
pub(crate) struct Question {
    id: String,
    lang: String,
    pub(crate) text: String,
    /// The id of the right note.
    pub(crate) note: String,
    /// Whether it is asked in another language than the note's; `None` for one with an identifier.
    cross: Option<bool>,
    /// Whether it has a word of the note.
    #[serde(default)]
    lexical: bool,
    /// Whether an exchange answers it, and no note.
    #[serde(default)]
    is_of_exchange: bool,
}

/// What was said and answered, and a question about it.
#[derive(Deserialize)]
struct Exchange {
    id: String,
    said: String,
    answer: String,
    asked: String,
    asked_in: String,
}

impl Question {
    /// The groups that it counts in.
    pub(crate) fn groups(&self) -> Vec<String> {
        if self.is_of_exchange {
            return vec!["exchanges".to_owned()];
        }
        let kind = match (self.cross, self.lexical) {
            (None, _) => return vec!["identifiers".to_owned()],
            (Some(true), _) => "another language",
            (Some(false), true) => "same words",
            (Some(false), false) => "other words",
        };
        ["all", &self.lang, kind].map(str::to_owned).to_vec()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Tuning,
    Figures,
}

pub(crate) struct Set {
    pub(crate) notes: Vec<Note>,
    /// Exchanges of earlier sessions, each as the text that its vector is made of.
    pub(crate) exchanges: Vec<Note>,
    questions: Vec<Vec<Question>>,
}

impl Set {
    pub(crate) fn read() -> Result<Self> {
        let exchanges: Vec<Exchange> = lines("exchanges.jsonl")?;
        let of_exchanges = exchanges.iter().map(|it| Question {
            id: it.id.clone(),
            lang: it.asked_in.clone(),
            text: it.asked.clone(),
            note: it.id.clone(),
            cross: None,
            lexical: false,
            is_of_exchange: true,
        });
        let questions = [lines("questions.jsonl")?, lines("identifiers.jsonl")?];
        let questions = questions.into_iter().chain([of_exchanges.collect()]);
        let questions = questions.map(by_lot).collect();
        let exchanges = exchanges.into_iter().map(|it| Note {
            text: format!("{}\n{}", it.said, it.answer),
            id: it.id,
        });
        Ok(Self {
            notes: lines("notes.jsonl")?,
            exchanges: exchanges.collect(),
            questions,
        })
    }

    pub(crate) fn questions(&self, half: Half) -> impl Iterator<Item = &Question> {
        self.questions.iter().flat_map(move |all| {
            let (tuning, figures) = all.split_at(all.len() / 2);
            match half {
                Half::Tuning => tuning,
                Half::Figures => figures,
            }
        })
    }
}

/// Questions in the order that decides which half they are of.
fn by_lot(mut all: Vec<Question>) -> Vec<Question> {
    all.sort_by_cached_key(|question| Sha256::digest(format!("samovar-recall:{}", question.id)));
    all
}

fn lines<T: DeserializeOwned>(file: &str) -> Result<Vec<T>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let lines = text.lines().map(serde_json::from_str);
    lines
        .collect::<Result<_, _>>()
        .with_context(|| path.display().to_string())
}
