//! What agents remember from one session to the next.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What agents remember from one session to the next.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Memory {
    /// The file with the long-term memory, or the folder that has it as `MEMORY.md`; by default that of
    /// the data directory.
    // It opens something: its writer speaks to each agent; so with the next.
    #[schemars(with = "PathBuf", example = &"~/notes/MEMORY.md", length(min = 1, max = 4_096), extend("format" = "path", "x-file" = true, "x-widens" = true))]
    pub long_term_path: Option<PathBuf>,
    /// The folder with the notes of each day; by default `memory` in the data directory.
    #[schemars(with = "PathBuf", example = &"~/notes/days", length(min = 1, max = 4_096), extend("format" = "path", "x-widens" = true))]
    pub daily_dir: Option<PathBuf>,
    /// The file with what memories mean, which is made again when it is lost; by default `vectors.db` in
    /// the data directory.
    #[schemars(with = "PathBuf", example = &"~/notes/vectors.db", length(min = 1, max = 4_096), extend("format" = "path", "x-file" = true, "x-widens" = true))]
    pub vec_store_path: Option<PathBuf>,
    /// What finds memories by their meaning: `embedded`, the model in the program; `off`, nothing; or a
    /// `provider/model`, whose server gets the text of each memory.
    #[schemars(example = &"ollama/nomic-embed-text", length(min = 1, max = 200), extend("x-widens" = true))]
    pub embeddings: String,
    /// The most exchanges of earlier sessions that are found by their meaning, the newest; words find
    /// all of them.
    // It opens something: more of them take more of the machine's memory.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-widens" = true))]
    pub exchanges: u32,
    /// The past days whose notes are in a prompt.
    #[schemars(range(min = 0, max = 31), extend("x-widens" = false))]
    pub daily_window_days: u16,
    /// Whether a server's default model, but for `demo`, reads once after a day what was noted and said
    /// on it, and proposes what to remember for long: `propose`, and you accept or refuse it; `auto`,
    /// and it is remembered at once, unless text from outside was read before; or `off`.
    // It opens something: what it writes speaks to each agent.
    #[schemars(extend("x-widens" = true))]
    pub consolidate: Consolidate,
    /// The time zone that decides when a day begins, by its IANA name; by default the system's.
    #[schemars(with = "String", example = &"Europe/Kyiv", length(min = 1, max = 64), extend("x-widens" = false))]
    pub time_zone: Option<String>,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            long_term_path: None,
            daily_dir: None,
            vec_store_path: None,
            embeddings: "embedded".to_owned(),
            exchanges: 10_000,
            daily_window_days: 3,
            consolidate: Consolidate::default(),
            time_zone: None,
        }
    }
}

/// What becomes of a day that is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Consolidate {
    /// What is worth it is proposed.
    #[default]
    Propose,
    /// It is remembered.
    Auto,
    /// Nothing.
    Off,
}
