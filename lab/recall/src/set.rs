//! The notes and questions, and their halves.

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
}

impl Question {
    /// The groups that it counts in.
    pub(crate) fn groups(&self) -> Vec<String> {
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
    questions: Vec<Vec<Question>>,
}

impl Set {
    pub(crate) fn read() -> Result<Self> {
        Ok(Self {
            notes: lines("notes.jsonl")?,
            questions: vec![by_lot("questions.jsonl")?, by_lot("identifiers.jsonl")?],
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
fn by_lot(file: &str) -> Result<Vec<Question>> {
    let mut all: Vec<Question> = lines(file)?;
    all.sort_by_cached_key(|question| Sha256::digest(format!("samovar-recall:{}", question.id)));
    Ok(all)
}

fn lines<T: DeserializeOwned>(file: &str) -> Result<Vec<T>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let lines = text.lines().map(serde_json::from_str);
    lines
        .collect::<Result<_, _>>()
        .with_context(|| path.display().to_string())
}
