//! What a turn and the agents that it called wait for: decisions of a person, and calls that a person
//! or a client closes (AS-2, AS-8, AS-26).

use std::fmt;

use samovar_core::{ApprovalId, CallId, Closer, Event, Kind, TurnId};

use super::family::Family;

/// What a call waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A person's decision.
    Approval(ApprovalId),
    /// An outcome from a person or a client, such as the answer to a question.
    Call(CallId),
}

/// The form of the comments in a stream.
impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Approval(id) => write!(f, "approval {id}"),
            Self::Call(id) => write!(f, "call {id}"),
        }
    }
}

/// The calls of a turn and of the agents that it called which wait, a fold of the log's events from
/// the turn's start.
#[derive(Clone, Debug)]
pub struct Waiting {
    family: Family,
    open: Vec<(CallId, Awaited)>,
}

impl Waiting {
    /// Nothing waits before the turn's first event.
    pub fn new(turn: TurnId) -> Self {
        Self {
            family: Family::new(turn),
            open: Vec::new(),
        }
    }

    /// What waits, in the order in which it began to.
    pub fn awaited(&self) -> impl Iterator<Item = &Awaited> {
        self.open.iter().map(|(_, awaited)| awaited)
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Takes the next event, and returns whether a wait begins or ends with it.
    pub fn take(&mut self, event: &Event) -> bool {
        // Most events of a stream, and none of these begins or ends anything.
        if matches!(event.kind, Kind::Delta { .. }) || !self.family.admit(event) {
            return false;
        }
        match &event.kind {
            Kind::ApprovalAsked { call, asked, .. } => {
                self.begin(call, Awaited::Approval(asked.id.clone()));
                true
            }
            Kind::CallStarted { call, closer, .. } => match closer {
                Closer::Person | Closer::Outside => {
                    self.begin(call, Awaited::Call(call.clone()));
                    true
                }
                Closer::Tool | Closer::Child => false,
            },
            Kind::CallApproved { call, .. } | Kind::CallClosed { call, .. } => self.end(call),
            _ => false,
        }
    }

    fn begin(&mut self, call: &CallId, awaited: Awaited) {
        self.end(call);
        self.open.push((call.clone(), awaited));
    }

    fn end(&mut self, call: &CallId) -> bool {
        let before = self.open.len();
        self.open.retain(|(open, _)| open != call);
        self.open.len() < before
    }
}
