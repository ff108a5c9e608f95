//! The order and the conditions in which replies are given.

use super::Reply;
use crate::prompt::Prompt;

/// Rules in the order in which they are tried: the first one that fits a prompt and is not used
/// up answers it.
///
/// Replies without a condition are thus served in the order of the prompts, and replies with one
/// go to their own conversation whatever the order of arrival is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    /// The rules; earlier ones win.
    pub rules: Vec<Rule>,
}

impl Script {
    /// A script that answers nothing yet.
    pub fn new() -> Script {
        Script::default()
    }

    /// Adds a rule, or a reply that is given once to any prompt.
    #[must_use]
    pub fn then(mut self, rule: impl Into<Rule>) -> Script {
        self.rules.push(rule.into());
        self
    }
}

impl<R: Into<Rule>, const N: usize> From<[R; N]> for Script {
    fn from(rules: [R; N]) -> Script {
        rules.into_iter().collect()
    }
}

impl<R: Into<Rule>> From<Vec<R>> for Script {
    fn from(rules: Vec<R>) -> Script {
        rules.into_iter().collect()
    }
}

impl<R: Into<Rule>> FromIterator<R> for Script {
    fn from_iter<I: IntoIterator<Item = R>>(rules: I) -> Script {
        Script {
            rules: rules.into_iter().map(Into::into).collect(),
        }
    }
}

/// One reply, for which prompts it is, and how often it is given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rule {
    /// Which prompts it answers; any by default.
    pub when: When,
    /// How often it answers; once by default.
    pub times: Times,
    /// What it answers.
    pub reply: Reply,
}

impl Rule {
    /// Limits the rule to prompts of which `when` holds.
    #[must_use]
    pub fn when(mut self, when: When) -> Rule {
        self.when = when;
        self
    }

    /// Gives the reply to `count` prompts.
    #[must_use]
    pub fn times(mut self, count: u32) -> Rule {
        self.times = Times::Exactly(count);
        self
    }

    /// Gives the reply to every prompt that fits.
    #[must_use]
    pub fn forever(mut self) -> Rule {
        self.times = Times::Forever;
        self
    }
}

impl From<Reply> for Rule {
    fn from(reply: Reply) -> Rule {
        Rule {
            reply,
            ..Rule::default()
        }
    }
}

/// How often a rule answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// Without end.
    Forever,
    /// So many prompts, then the next rule that fits has its turn.
    Exactly(u32),
}

impl Default for Times {
    fn default() -> Times {
        Times::Exactly(1)
    }
}

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
