//! The feeds: everything that happens in a session, or in all of them, for readers that outlive a turn
//! (UI-15). Their frames are those of the full profile.

use std::sync::Arc;

use samovar_core::{Error, Event, EventId, Kind, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::approval::{ApprovalInfo, ApprovalList};
use super::tool::{OpenCallInfo, OpenCalls};
use super::turn::TurnInfo;
use crate::Spelling;
use crate::agent::{LeaveEvent, PaginatedResult, SessionInfo, WholeEvent, aborted};
use crate::sse::{self, FrameId};

/// Parameters of the feeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FeedParams {
    /// The id of the last frame that was read: the feed continues after it. The header `Last-Event-ID`
    /// means the same, and takes precedence. Without an id, or with one that is not known, it begins
    /// with how things stand.
    pub after: Option<String>,
}

/// How a session stands: what the frames after it continue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSnapshot {
    /// The session, with its title and model.
    pub session: SessionInfo,
    /// The turns that wait, run, or wait for an answer, oldest first: those of called agents and in the
    /// background too.
    pub turns: Vec<TurnInfo>,
    /// Its calls that wait for a person's decision.
    pub approvals: Vec<ApprovalInfo>,
    /// Its calls that wait for an outside answer.
    pub calls: Vec<OpenCallInfo>,
    /// The id after which the feed continues.
    pub after: String,
}

/// How all sessions stand: what the frames after it continue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerSnapshot {
    /// The sessions, the most recently changed first, and how many there are; `listSessions` has the
    /// rest.
    pub sessions: PaginatedResult<SessionInfo>,
    /// The turns of all sessions that are not over, oldest first.
    pub turns: Vec<TurnInfo>,
    /// The calls that wait for a person's decision, as in `GET /api/approvals`.
    pub approvals: ApprovalList,
    /// The calls that wait for an outside answer, as in `GET /api/calls`.
    pub calls: OpenCalls,
    /// The id after which the feed continues.
    pub after: String,
}

/// The first frame of a feed, unless its reader continues: discard what you have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FeedReset<S> {
    /// This is how it stands; what follows continues it.
    Reset {
        /// How it stands.
        snapshot: S,
    },
}

/// What a feed is made from.
#[derive(Clone, Debug)]
pub enum FeedItem {
    /// How a session stands after an event.
    Session(EventId, Box<SessionSnapshot>),
    /// How all stand after an event of the feed of all.
    Server(EventId, Box<ServerSnapshot>),
    /// An event of the one session.
    Own(Arc<Event>),
    /// An event of some session, with its id in the feed of all.
    Of(EventId, SessionId, Arc<Event>),
}

/// An event in the feed of all sessions.
#[derive(Serialize)]
struct OfSession<'a> {
    #[serde(rename = "sessionId")]
    session: &'a SessionId,
    #[serde(flatten)]
    event: WholeEvent<'a>,
}

/// Spells a feed. That of a session ends with the session.
#[derive(Debug, Default)]
pub struct FeedEncoder {
    at: Option<FrameId>,
    is_over: bool,
}

impl Spelling for FeedEncoder {
    type Item = FeedItem;

    fn take(&mut self, item: &FeedItem, out: &mut Vec<u8>) {
        if self.is_over {
            return;
        }
        let id = |event: EventId| FrameId { event, part: None };
        let at = match item {
            FeedItem::Session(at, _) | FeedItem::Server(at, _) | FeedItem::Of(at, ..) => id(*at),
            FeedItem::Own(event) => FrameId::whole(event),
        };
        self.at = Some(at);
        match item {
            FeedItem::Session(_, snapshot) => {
                sse::frame(self.at, &FeedReset::Reset { snapshot }, out);
            }
            FeedItem::Server(_, snapshot) => {
                sse::frame(self.at, &FeedReset::Reset { snapshot }, out);
            }
            FeedItem::Own(event) => sse::frame(self.at, &WholeEvent::from(&**event), out),
            FeedItem::Of(_, session, event) => {
                let event = WholeEvent::from(&**event);
                sse::frame(self.at, &OfSession { session, event }, out);
            }
        }
        if let FeedItem::Own(event) = item
            && matches!(event.kind, Kind::SessionClosed)
        {
            self.is_over = true;
            sse::done(self.at, out);
        }
    }

    fn at(&self) -> Option<FrameId> {
        self.at
    }

    fn abort(&mut self, error: &Error, out: &mut Vec<u8>) {
        if !self.is_over {
            self.is_over = true;
            aborted(error, self.at, out);
        }
    }

    fn leave(&mut self, error: &Error, out: &mut Vec<u8>) {
        if !self.is_over {
            self.is_over = true;
            LeaveEvent::write(error, self.at, out);
        }
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}
