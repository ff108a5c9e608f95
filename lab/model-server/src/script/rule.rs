//! The order and the conditions in which replies are given.

use super::{Reply, When};

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
