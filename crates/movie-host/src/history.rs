//! What was said and done so far, for the person and the agents (RL-21).

use std::collections::VecDeque;

use samovar_core::Millis;
use serde_json::{Value, json};

use crate::stage::Stage;

/// Entries that are kept, at most; the oldest go first.
const MAX_ENTRIES: usize = 1_000;
/// Bytes of them as JSON, at most, unless the last alone has more.
const MAX_BYTES: usize = 256 * 1024;

/// Who did or said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    /// The one who looks at the screen.
    Person,
    /// One that came over the relay.
    Agent,
}

/// What was done or said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    /// The host shows something.
    Shown(Value),
    /// Somebody did something, told by its label.
    Did {
        actor: Actor,
        action: &'static str,
        label: String,
    },
    /// Somebody said something.
    Said { actor: Actor, text: String },
}

/// The last entries.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Each with its bytes.
    entries: VecDeque<(Value, usize)>,
    bytes: usize,
    written: u64,
}

impl History {
    /// Writes an entry behind the others.
    pub(crate) fn write(&mut self, entry: Entry, stage: Stage, now: Millis) {
        self.written += 1;
        let id = format!("h-{}", self.written);
        let (stage, now) = (stage.as_str(), now.0);
        let entry = match entry {
            Entry::Shown(spec) => json!({
                "id": id, "type": "system", "timestamp": now, "stage": stage, "spec": spec,
            }),
            Entry::Did {
                actor,
                action,
                label,
            } => json!({
                "id": id, "type": actor.as_str(), "timestamp": now, "stage": stage,
                "action": action, "label": label,
            }),
            Entry::Said { actor, text } => json!({
                "id": id, "type": actor.as_str(), "timestamp": now, "stage": stage, "text": text,
            }),
        };
        let bytes = entry.to_string().len();
        self.bytes += bytes;
        self.entries.push_back((entry, bytes));
        while self.entries.len() > MAX_ENTRIES || (self.bytes > MAX_BYTES && self.entries.len() > 1)
        {
            let oldest = self.entries.pop_front();
            self.bytes -= oldest.map_or(0, |(_, bytes)| bytes);
        }
    }

    /// How many were ever written.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Those that are kept.
    pub(crate) fn to_json(&self) -> Value {
        self.entries
            .iter()
            .map(|(entry, _)| entry.clone())
            .collect()
    }
}

impl Actor {
    fn as_str(self) -> &'static str {
        match self {
            Self::Person => "user",
            Self::Agent => "agent",
        }
    }
}
