//! Conditions on a prompt, as data.

use crate::prompt::Prompt;

/// A condition on a prompt, so that concurrent conversations can be scripted without knowing
/// which of them asks first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum When {
    /// All of these hold; with none, every prompt fits.
    All(Vec<When>),
    /// At least one of these holds.
    Any(Vec<When>),
    /// This does not hold.
    Not(Box<When>),
    /// The prompt names exactly this model.
    ModelIs(String),
    /// The last user message contains this text.
    LastUserContains(String),
    /// The last user message ends with this text: what was said last, where several messages in a
    /// row came from the user and stand as one.
    LastUserEndsWith(String),
    /// The system prompt contains this text.
    SystemContains(String),
    /// The last tool result contains this text.
    LastToolResultContains(String),
    /// So many tool results are in the whole prompt.
    ToolResults(usize),
    /// So many tool results come after the last user message, which is how far a turn has got
    /// in a conversation that already has earlier turns.
    ToolResultsSinceUser(usize),
    /// A tool of this name is offered to the model.
    OffersTool(String),
}

impl When {
    /// [`When::ModelIs`] without the spelling.
    pub fn model(name: impl Into<String>) -> When {
        When::ModelIs(name.into())
    }

    /// [`When::LastUserContains`] without the spelling.
    pub fn user(text: impl Into<String>) -> When {
        When::LastUserContains(text.into())
    }

    /// Both this and `other` hold.
    #[must_use]
    pub fn and(self, other: When) -> When {
        When::All(vec![self, other])
    }

    pub(crate) fn holds(&self, prompt: &Prompt) -> bool {
        match self {
            When::All(all) => all.iter().all(|when| when.holds(prompt)),
            When::Any(any) => any.iter().any(|when| when.holds(prompt)),
            When::Not(when) => !when.holds(prompt),
            When::ModelIs(name) => prompt.model == *name,
            When::LastUserContains(text) => prompt.last_user.contains(text),
            When::LastUserEndsWith(text) => prompt.last_user.ends_with(text),
            When::SystemContains(text) => prompt.system.contains(text),
            When::LastToolResultContains(text) => prompt.last_tool_result.contains(text),
            When::ToolResults(count) => prompt.tool_results == *count,
            When::ToolResultsSinceUser(count) => prompt.tool_results_since_user == *count,
            When::OffersTool(name) => prompt.tools.iter().any(|tool| tool == name),
        }
    }
}

impl Default for When {
    fn default() -> When {
        When::All(Vec::new())
    }
}
