//! Ids. Each is its own type, so a message's id cannot be passed for a call's.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use samovar_locale as locale;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::blank::is_blank;
use crate::checked::checked_text;
use crate::error::{Code, Error};
use crate::ports::Ids;

/// Maximum length of an id, in bytes of UTF-8 (AS-4).
pub const MAX_ID_BYTES: usize = 256;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $prefix:literal, $check:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes an id of 1 to [`MAX_ID_BYTES`] bytes without control characters. Only a session's
            /// may be blank.
            ///
            /// # Errors
            /// [`Code::InvalidParams`] for any other.
            pub fn new(raw: &str) -> Result<Self, Error> {
                $check($what, raw)?;
                Ok(Self(raw.into()))
            }

            /// Generates a new id of at most 40 characters, which every provider accepts.
            pub fn fresh(ids: &dyn Ids) -> Self {
                let uuid = ids.uuid();
                let uuid = if $prefix.is_empty() { uuid } else { uuid.replace('-', "") };
                Self(format!(concat!($prefix, "{}"), uuid).into())
            }
        }

        checked_text!($name);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    };
}

id! {
    /// A session, by its client's name for it (arbitrary text) or a generated UUID v7. An older store
    /// may have one with a blank id, which can be read and deleted.
    SessionId, "sessionId", "", check_id
}
id! {
    /// One agent's run from an input to its finish.
    TurnId, "turnId", "", check_visible
}
id! {
    /// A message: the client's own id for a user's message, a generated one for all others.
    MessageId, "messageId", "", check_visible
}
id! {
    /// A tool call. Always generated here, never by the model, so it is unique across sessions; it
    /// is also the call's idempotency key and the id of the message with its result.
    CallId, "callId", "call_", check_visible
}

id! {
    /// A question about a call that a person decides about.
    ApprovalId, "approvalId", "ask_", check_visible
}
id! {
    /// A rule that allows calls.
    RuleId, "ruleId", "rule_", check_visible
}

impl SessionId {
    /// Refuses a blank id for a session that is to be made: no person could see it in a list, or type it.
    ///
    /// # Errors
    /// [`Code::InvalidParams`], about this parameter.
    pub fn check_new(&self, parameter: &str) -> Result<(), Error> {
        let details = json!({ "parameter": parameter });
        check_visible(parameter, self.as_str()).map_err(|error| error.with_details(details))
    }
}

impl CallId {
    /// The id of the message of role `tool` with this call's result.
    pub fn as_message(&self) -> MessageId {
        MessageId(self.0.clone())
    }
}

fn check_id(what: &str, raw: &str) -> Result<(), Error> {
    if raw.is_empty() || raw.len() > MAX_ID_BYTES {
        let why = locale::id::bad_length(what, MAX_ID_BYTES, raw.len());
        return Err(Error::new(Code::InvalidParams, why));
    }
    if raw.chars().any(char::is_control) {
        let why = locale::id::control_character(what, locale::quoted(raw));
        return Err(Error::new(Code::InvalidParams, why));
    }
    Ok(())
}

fn check_visible(what: &str, raw: &str) -> Result<(), Error> {
    check_id(what, raw)?;
    if is_blank(raw) {
        let why = locale::id::blank(what, locale::quoted(raw));
        return Err(Error::new(Code::InvalidParams, why));
    }
    Ok(())
}

/// The position of an event in its session's log: 1 for the first, without gaps, across epochs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The position after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The run of the server that made an event. Grows at every start, and is saved before any request
/// is served.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Epoch(pub u64);

/// The one cursor of every protocol: `epoch.seq` (DU-7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId {
    /// The run of the server that made the event.
    pub epoch: Epoch,
    /// Its position in the log.
    pub seq: Seq,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch.0, self.seq.0)
    }
}

impl FromStr for EventId {
    type Err = Error;

    fn from_str(raw: &str) -> Result<Self, Error> {
        let numbers = raw.split_once('.').and_then(|(epoch, seq)| {
            Some(Self {
                epoch: Epoch(epoch.parse().ok()?),
                seq: Seq(seq.parse().ok()?),
            })
        });
        numbers.ok_or_else(|| {
            let why = locale::id::no_event(locale::quoted(raw));
            Error::new(Code::InvalidParams, why)
        })
    }
}

/// The agents from the session's master down to one agent: `master/browser`. The last name is the
/// agent, the number of names gives its depth, and a name that is already in the path must not be
/// called again.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentPath(Arc<str>);

impl AgentPath {
    /// The path of a session's own agent.
    pub fn root(name: &str) -> Self {
        Self(name.into())
    }

    /// A path as it was written.
    pub fn read(path: &str) -> Self {
        Self(path.into())
    }

    /// The path of an agent that this one calls.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        Self(format!("{}/{name}", self.0).into())
    }

    /// The agents, from the master down.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// The agent itself.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The number of agents above it: 0 for the master (SA-19).
    pub fn depth(&self) -> usize {
        self.0.matches('/').count()
    }
}

impl fmt::Display for AgentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AgentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AgentPath({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_is_any_short_visible_text_without_control_characters() {
        for good in ["a", "чат №1", "a/b?c", "0193-uuid", &"x".repeat(256)] {
            assert!(SessionId::new(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            " ",
            "\u{a0} \u{200b}",
            "a\nb",
            "\u{0}",
            "\u{7f}",
            &"x".repeat(257),
        ] {
            let new = SessionId::new(bad).and_then(|id| id.check_new("sessionId"));
            assert!(new.is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_event_id_is_read_back_as_it_was_written() {
        let id = EventId {
            epoch: Epoch(1_795_000_000),
            seq: Seq(42),
        };
        assert_eq!(id.to_string().parse::<EventId>().unwrap(), id);
        for bad in [
            "",
            "1",
            "1.",
            ".2",
            "1.2.3",
            "-1.2",
            "a.b",
            "1.99999999999999999999",
        ] {
            assert!(bad.parse::<EventId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn kind_name_and_depth_are_read_off_an_agent_path() {
        let helper = AgentPath::root("master").child("browser").child("helper");
        assert_eq!(helper.to_string(), "master/browser/helper");
        assert_eq!((helper.name(), helper.depth()), ("helper", 2));
        assert!(helper.names().any(|name| name == "browser"));
    }
}
