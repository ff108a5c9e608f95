//! Encodes a session's log as the bytes of one turn's stream (AS-4).

use samovar_core::{Error, Event, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{AgentStreamEvent, AgentStreamEventType};
use super::family::{Family, WholeEvent};
use super::snapshot::Snapshot;
use super::spelling::Spelling;
use crate::sse::{self, FrameId};

/// How much of a turn a stream shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The six types of AS-5, which every client knows.
    #[default]
    Default,
    /// Every event of the turn and its sub-turns, as in the log (AS-8).
    Full,
}

/// The last object of a stream of the full profile when the server stops.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum LeaveEvent<'a> {
    ServerRestart {
        after: Option<String>,
        message: &'a str,
    },
}

/// Encodes one turn's stream. Its output depends only on its events, which must be those of the
/// session's log, in order, from the turn's start or earlier. So a second encoder writes the same
/// bytes, and to resume in the middle, a new encoder is given the turn from its start, and its
/// output for old events is discarded (DU-7).
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
    /// An encoder without events.
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

    /// Takes the next event of the log and appends its frames, if any. With the turn's end it
    /// appends the last frame and `[DONE]`.
    pub fn encode(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.encode_behind(event, 0, out);
    }

    /// Like [`Self::encode`], for a reader that already has the first `shown` frames of this event.
    /// `[DONE]`, which has no id, is written whenever the turn ends here.
    pub fn encode_behind(&mut self, event: &Event, shown: usize, out: &mut Vec<u8>) {
        if self.is_over {
            return;
        }
        self.is_over = match &mut self.profile {
            ProfileState::Default(spelling) => {
                write_frames(event, &spelling.spell(event), shown, out);
                spelling.is_over()
            }
            ProfileState::Full(family) => {
                if family.admit(event) && shown == 0 {
                    sse::frame(Some(FrameId::whole(event)), &WholeEvent::from(event), out);
                }
                family.is_over()
            }
        };
        if self.is_over {
            out.extend_from_slice(sse::DONE.as_bytes());
        }
    }

    /// Like [`Self::encode`], for a reader that already has all frames of this event.
    pub fn pass(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.encode_behind(event, usize::MAX, out);
    }

    /// How many frames the next event would become.
    pub fn count(&self, event: &Event) -> usize {
        if self.is_over {
            return 0;
        }
        match self.profile.clone() {
            ProfileState::Default(mut spelling) => spelling.spell(event).len(),
            ProfileState::Full(mut family) => usize::from(family.admit(event)),
        }
    }

    /// Tells a reader whose position is lost to start again from this snapshot, which covers all
    /// events up to the one that it names; the encoder must have taken these. The stream continues
    /// after it.
    pub fn reset(&self, snapshot: &Snapshot, out: &mut Vec<u8>) {
        let id = snapshot.after.as_deref().and_then(FrameId::read);
        sse::frame(id, &snapshot.as_event(), out);
    }

    /// Ends the stream for a reason outside the log, such as a failed store: an `error` without an
    /// id, because the turn itself may continue, and `[DONE]`. A stream that just ended would look
    /// like success.
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

    /// Ends the stream because the server stops: in the full profile with its own type, in the
    /// default profile with an `error` (AS-8). `after` is the last id that the reader has, if any.
    pub fn leave(&mut self, error: &Error, after: Option<FrameId>, out: &mut Vec<u8>) {
        if self.is_over {
            return;
        }
        match self.profile {
            ProfileState::Default(_) => self.abort(error, out),
            ProfileState::Full(_) => {
                self.is_over = true;
                let message = error.message.as_ref();
                let after = after.map(|id| id.to_string());
                sse::frame(None, &LeaveEvent::ServerRestart { after, message }, out);
                out.extend_from_slice(sse::DONE.as_bytes());
            }
        }
    }

    /// Whether `[DONE]` was written; no frame follows it.
    pub fn is_over(&self) -> bool {
        self.is_over
    }
}

fn write_frames(event: &Event, said: &[AgentStreamEvent<'_>], shown: usize, out: &mut Vec<u8>) {
    for (place, frame) in (1..).zip(said).skip(shown) {
        let id = FrameId {
            event: event.id(),
            part: (place < said.len()).then_some(place),
        };
        sse::frame(Some(id), frame, out);
    }
}
