//! What is remembered, as clients see it (MD-13).

use samovar_core::{SessionId, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::Within;

/// Facts of one `updateMemory`, at most.
pub const MAX_FACTS: usize = 100;
/// Hits of a search by default, and at most.
const HITS: u32 = 10;
const MAX_HITS: u32 = 100;

/// Parameters of `updateMemory`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UpdateMemoryParams {
    /// Facts to add to the long-term memory, at most 100, each of at most 2 KiB; what it says already is
    /// not added.
    pub facts: Vec<String>,
}

/// Parameters of `searchMemory`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchMemoryParams {
    /// Words, some of which a memory must have.
    pub query: String,
    /// The most hits to return; by default 10.
    pub limit: Option<Within<1, MAX_HITS>>,
}

impl SearchMemoryParams {
    /// The most hits to return.
    pub fn limit(&self) -> usize {
        self.limit.map_or(HITS, Within::get) as usize
    }
}

/// What is remembered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryState {
    /// The text of the long-term memory, as its file has it.
    pub long_term: String,
    /// The text of the person's own memory for all folders, as its file has it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub person: String,
    /// The notes of the last days, the oldest first.
    pub daily: Vec<DailyNotes>,
    /// The vectors.
    pub vectors: VectorCount,
    /// Why files cannot be read or changed, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// The notes of a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DailyNotes {
    /// The day, `2026-11-29`.
    pub date: String,
    /// Its notes, a line each.
    pub text: String,
}

/// How many vectors there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VectorCount {
    /// The number of memories that are found by their meaning, too.
    pub count: u64,
}

/// A memory, or an exchange of an earlier session, that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundMemory {
    /// Its id; that of its turn for an exchange.
    pub id: String,
    /// What it says; of an exchange what the person said, and on the next line the answer.
    pub text: String,
    /// What it is worth as a hit: more is better.
    pub score: f32,
    /// How much of the query's words it has: 0 for none, about 1 for all.
    pub words: f32,
    /// How near its meaning is to the query's, from -1 to 1; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<f32>,
    /// Where it stands: a section of the long-term memory, the day of a note, or `exchange`.
    pub source: String,
    /// The day on which it was written, `2026-11-29`; absent of a line that a hand wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// The session of an exchange; absent of a memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The turn that it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// Whether text from outside was in its session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
}
