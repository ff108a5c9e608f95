//! A request to the model, read out of a dialect.

use crate::cache::Boundary;

/// The facts of a prompt that conditions and spellings need, whatever its dialect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) model: String,
    pub(crate) system: String,
    pub(crate) last_user: String,
    pub(crate) last_tool_result: String,
    pub(crate) tool_results: usize,
    pub(crate) tool_results_since_user: usize,
    pub(crate) tools: Vec<String>,
    pub(crate) streams: bool,
    pub(crate) wants_usage: bool,
    /// Where its blocks end, in dialects whose prompts say what to keep in a cache; empty if
    /// this one marks nothing.
    pub(crate) boundaries: Vec<Boundary>,
    /// Length of the request's body, from which the prompt's tokens are counted.
    pub(crate) bytes: usize,
}
