//! The audit: what was decided about calls, rules, tokens, tools and agents, and the port of the
//! store that keeps it as a chain of records (TL-15).

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Future;
use crate::approval::Rule;
use crate::id::{CallId, SessionId, TurnId};
use crate::journal::{Broken, done};
use crate::message::Status;
use crate::ports::Millis;
use crate::redact::for_logs;
use crate::words;

/// Maximum length of each text in a record, in characters; the rest is cut.
pub const MAX_AUDIT_CHARS: usize = 200;

/// The key, in the data of a command's outcome, of the trusted names that had something of a command's at
/// its end, or what may have been one's.
pub const PUT_ASIDE: &str = "putAside";

words! {
    /// What was decided or happened.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum What {
        /// A person is asked about a call.
        CallAsked = "call_asked",
        /// A call was approved.
        CallApproved = "call_approved",
        /// An approval was refused.
        CallRefused = "call_refused",
        /// No decision about a call came in time.
        CallExpired = "call_expired",
        /// A call is about to affect the world.
        CallStarted = "call_started",
        /// A call has its outcome, or was denied by the policy.
        CallClosed = "call_closed",
        /// A start put aside what had a trusted name when a command was cut short by a kill.
        PutAside = "put_aside",
        /// An approval rule was made.
        RuleMade = "rule_made",
        /// An approval rule was revoked.
        RuleRevoked = "rule_revoked",
        /// A token was created.
        TokenMade = "token_made",
        /// A token was revoked.
        TokenRevoked = "token_revoked",
        /// A tool was registered or replaced.
        ToolRegistered = "tool_registered",
        /// A registered tool was removed.
        ToolRemoved = "tool_removed",
        /// Something was remembered, or a memory changed, outside of a turn.
        MemoryChanged = "memory_changed",
        /// A memory was deleted outside of a turn.
        MemoryRemoved = "memory_removed",
        /// What an agent proposed to remember was accepted.
        ProposalAccepted = "proposal_accepted",
        /// It was refused.
        ProposalRefused = "proposal_refused",
        /// An agent's definition was added or changed.
        AgentChanged = "agent_changed",
        /// An agent's definition was removed.
        AgentRemoved = "agent_removed",
        /// A server, or a command that runs turns, started.
        ServerStarted = "server_started",
        /// It was asked to stop; running turns may have had time after this.
        ServerStopping = "server_stopping",
        /// Requests came without a valid token; one record sums up many.
        LoginsFailed = "logins_failed",
        /// A backup replaced the data: the chain continues from the backup's head.
        Restored = "restored",
        /// The history was made again: no head of the chain before this record was kept.
        ChainResumed = "chain_resumed",
        /// A start found records missing or changed; the chain continues after the last known head.
        ChainBroken = "chain_broken",
    }
}

/// A decision that is to be recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// When it was made.
    pub at: Millis,
    /// What was decided.
    pub what: What,
    /// Who decided: the name of a token, `command line`, `policy`, or an author's word.
    pub who: String,
    /// The call that it is about.
    pub call: Option<AuditedCall>,
    /// The tool.
    pub tool: Option<String>,
    /// SHA-256 of the canonical arguments, in hex; never the arguments.
    pub args: Option<String>,
    /// The rule or level that decided.
    pub rule: Option<String>,
    /// How the call ended.
    pub result: Option<Status>,
    /// What it is about, if that is no call: the name of a token, a rule, an agent. Of a command: the
    /// trusted names of [`PUT_ASIDE`].
    pub about: Option<String>,
    /// Whether text from outside was in the session when the call started (TL-10).
    pub tainted: bool,
}

/// A call of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditedCall {
    /// The call.
    pub call: CallId,
    /// Its session; `None` for a person's own call outside any session.
    pub session: Option<SessionId>,
    /// Its turn.
    pub turn: Option<TurnId>,
    /// The path of the agent that made it.
    pub agent: Option<String>,
}

impl Decision {
    /// A decision of which nothing more is known.
    pub fn new(what: What, who: impl Into<String>, at: Millis) -> Self {
        Self {
            at,
            what,
            who: who.into(),
            call: None,
            tool: None,
            args: None,
            rule: None,
            result: None,
            about: None,
            tainted: false,
        }
    }

    /// Names what it is about.
    #[must_use]
    pub fn about(mut self, name: impl fmt::Display) -> Self {
        self.about = Some(name.to_string());
        self
    }

    /// Names the tool.
    #[must_use]
    pub fn of_tool(mut self, name: impl Into<String>) -> Self {
        self.tool = Some(name.into());
        self
    }

    /// Names an approval rule, with its tool and folder.
    #[must_use]
    pub fn about_rule(self, rule: &Rule) -> Self {
        let folder = rule.grant.folder.as_deref().unwrap_or_default();
        self.of_tool(&rule.grant.tool)
            .by_rule(format_args!("rule:{}", rule.id))
            .about(folder)
    }

    /// Names the rule or level that decided.
    #[must_use]
    pub fn by_rule(mut self, rule: impl fmt::Display) -> Self {
        self.rule = Some(rule.to_string());
        self
    }
}

/// The end of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The number of its last record.
    pub count: u64,
    /// The hash of that record.
    pub hash: String,
}

impl Default for Head {
    /// That of a chain without a record.
    fn default() -> Self {
        let (count, hash) = (0, "0".repeat(64));
        Self { count, hash }
    }
}

/// A record of the chain, as it is written but for `hash`, which ends its line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its number; the first is 1.
    pub n: u64,
    /// The hash of the record before; zeros for the first.
    pub prev: String,
    /// When the decision was made.
    pub at: Millis,
    /// The word of [`What`].
    pub event: String,
    /// Who decided.
    pub who: String,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The path of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// SHA-256 of the canonical arguments, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<String>,
    /// The rule or level that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// How the call ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Status>,
    /// What it is about, if that is no call; of a command, what was put aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Whether text from outside was in the session when the call started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
}

impl Record {
    /// The record after a chain's head.
    pub fn after(head: &Head, decision: Decision) -> Self {
        let (call, session, turn, agent) = match decision.call {
            None => (None, None, None, None),
            Some(of) => (
                Some(of.call.to_string()),
                of.session.map(|id| id.to_string()),
                of.turn.map(|id| id.to_string()),
                of.agent,
            ),
        };
        Self {
            n: head.count.saturating_add(1),
            prev: head.hash.clone(),
            at: decision.at,
            event: decision.what.as_str().to_owned(),
            who: short(&decision.who),
            session,
            turn,
            call,
            agent: agent.as_deref().map(short),
            tool: decision.tool.as_deref().map(short),
            args: decision.args,
            rule: decision.rule.as_deref().map(short),
            result: decision.result,
            about: decision.about.as_deref().map(short),
            tainted: decision.tainted,
        }
    }
}

/// A text as a record has it: bounded, and without keys, as in a log (TL-14).
fn short(text: &str) -> String {
    let mut text = for_logs(text).into_owned();
    if let Some((at, _)) = text.char_indices().nth(MAX_AUDIT_CHARS) {
        text.truncate(at);
    }
    text
}

/// The calls' decisions that are recorded: each call with the word of what was decided.
pub type RecordedCalls = HashSet<(String, String)>;

/// Keeps the chain.
pub trait Audit: Send + Sync {
    /// Appends decisions, in order. They survive the process when it answers, and the machine after
    /// [`Audit::sync`].
    fn append(&self, decisions: Vec<Decision>) -> Future<'_, Result<(), Broken>>;

    /// Makes all earlier records durable. Returns whether the head of the chain has moved since the
    /// history stored it.
    fn sync(&self) -> Future<'_, Result<bool, Broken>>;

    /// The decisions about calls that are recorded with a time from `since`, about; earlier ones may
    /// be among them.
    fn recorded(&self, since: Millis) -> Future<'_, Result<RecordedCalls, Broken>>;

    /// Whether records are missing that the history's positions count as appended: a power cut took
    /// them, or someone cut the file.
    fn is_short(&self) -> bool;
}

/// Keeps nothing.
impl Audit for () {
    fn append(&self, _: Vec<Decision>) -> Future<'_, Result<(), Broken>> {
        done(())
    }

    fn sync(&self) -> Future<'_, Result<bool, Broken>> {
        done(false)
    }

    fn recorded(&self, _: Millis) -> Future<'_, Result<RecordedCalls, Broken>> {
        done(RecordedCalls::new())
    }

    fn is_short(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves TL-14
    #[test]
    fn a_name_in_a_record_has_no_key_and_a_bound() {
        let key = "ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z";
        let made = Decision::new(
            What::TokenMade,
            format!("{}{key}", "é".repeat(150)),
            Millis(0),
        );
        let record = Record::after(&Head::default(), made.of_tool("t").about(key));

        assert_eq!(
            record.who.chars().count(),
            150 + "[redacted: GitHub token]".len()
        );
        assert!(
            record.who.ends_with("[redacted: GitHub token]"),
            "{record:?}"
        );
        assert_eq!(record.about.unwrap(), "[redacted: GitHub token]");
        assert_eq!(record.tool.unwrap(), "t");

        let long = Decision::new(What::TokenMade, "é".repeat(500), Millis(0));
        let record = Record::after(&Head::default(), long);
        assert_eq!(record.who.chars().count(), MAX_AUDIT_CHARS);
    }
}
