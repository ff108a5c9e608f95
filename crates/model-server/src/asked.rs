//! What a prompt asks for, read out of a dialect's request.

/// The facts of a prompt that conditions and spellings need, whatever its dialect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) model: String,
    pub(crate) system: String,
    pub(crate) last_user: String,
    pub(crate) last_tool_result: String,
    pub(crate) tool_results: usize,
    pub(crate) tool_results_since_user: usize,
    pub(crate) tools: Vec<String>,
    pub(crate) streams: bool,
    pub(crate) wants_usage: bool,
    /// Length of the request's body, from which the prompt's tokens are counted.
    pub(crate) bytes: usize,
}
