//! From a session's log to the bytes of one turn's stream (AS-4).

use samovar_core::{Error, Event, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{AgentStreamEvent, AgentStreamEventType};
use super::family::{Family, WholeEvent};
use super::spelling::Spelling;
use crate::sse::{self, FrameId};

/// How much of a turn a stream shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The six types of AS-5, all that an old client knows.
    #[default]
    Default,
    /// Every event of the turn and of the turns below it, as the log has it (AS-8).
    Full,
}

/// Writes one turn's stream. What it writes depends on nothing but the events it was given, which
/// must be those of the session's log from the turn's start or earlier, in order: so a second
/// encoder writes the same bytes, and one that has to go on in the middle is given the turn from
/// its start and what it writes for the old events is thrown away (DU-7).
#[derive(Clone, Debug)]
pub struct Encoder {
    profile: ProfileState,
    is_over: bool,
}

#[derive(Clone, Debug)]
enum ProfileState {
    Default(Spelling),
    Full(Family),
}

impl Encoder {
    /// An encoder that has seen nothing yet.
    pub fn new(turn: TurnId, profile: Profile) -> Self {
        let profile = match profile {
            Profile::Default => ProfileState::Default(Spelling::new(turn)),
            Profile::Full => ProfileState::Full(Family::new(turn)),
        };
        Self {
            profile,
            is_over: false,
        }
    }

    /// Takes the next event of the log and appends the frames that it becomes, if any. With the
    /// turn's end come its last frame and `[DONE]`.
    pub fn encode(&mut self, event: &Event, out: &mut Vec<u8>) {
        if self.is_over {
            return;
        }
        self.is_over = match &mut self.profile {
            ProfileState::Default(spelling) => {
                write_frames(event, &spelling.spell(event), out);
                spelling.is_over()
            }
            ProfileState::Full(family) => {
                if family.admit(event) {
                    let id = FrameId {
                        event: event.id(),
                        part: None,
                    };
                    sse::frame(Some(id), &WholeEvent::from(event), out);
                }
                family.is_over()
            }
        };
        if self.is_over {
            out.extend_from_slice(sse::DONE.as_bytes());
        }
    }

    /// Ends the stream for a reason that the log does not know, such as a store that fails: an
    /// `error` without an id, since the turn itself may go on, and `[DONE]`. A stream that just
    /// ended would look like success.
    pub fn abort(&mut self, error: &Error, out: &mut Vec<u8>) {
        if self.is_over {
            return;
        }
        self.is_over = true;
        let (message, code) = (error.message.as_ref().into(), error.code.as_str().into());
        let last = AgentStreamEventType::Error { message, code };
        sse::frame(None, &last.uncounted(), out);
        out.extend_from_slice(sse::DONE.as_bytes());
    }

    /// Whether `[DONE]` was written; nothing follows it.
    pub fn is_over(&self) -> bool {
        self.is_over
    }
}

fn write_frames(event: &Event, said: &[AgentStreamEvent<'_>], out: &mut Vec<u8>) {
    for (place, frame) in (1..).zip(said) {
        let id = FrameId {
            event: event.id(),
            part: (place < said.len()).then_some(place),
        };
        sse::frame(Some(id), frame, out);
    }
}
