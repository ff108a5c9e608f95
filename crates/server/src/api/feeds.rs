//! Feeds of what happens in a session, and in all of them, for readers that outlive a turn (UI-15).

use std::sync::Arc;

use axum::body::Body;
use axum::http::Response;
use samovar_core::history::{SessionQuery, TurnQuery};
use samovar_core::{Error, EventId, SessionId};
use samovar_engine::{Engine, FeedEvent, FeedNews, FeedReader, FollowError, Follower, SessionFeed};
use samovar_wire::agent::{PaginatedResult, SessionInfo};
use samovar_wire::api::{
    BASE_PATH, FeedEncoder, FeedItem, FeedParams, FeedReset, ServerSnapshot, SessionSnapshot,
};
use samovar_wire::sse::FrameId;

use super::state::{Call, Endpoint};
use super::{approvals, tools, turns};
use crate::reply::fitting;
use crate::stream::{self, Liveliness, Source, Unread};

/// Sessions that a snapshot shows, at most.
const MAX_SESSIONS: u32 = 100;

/// Turns that a snapshot shows, at most.
const MAX_TURNS: u32 = 1000;

pub(super) fn routes() -> Vec<Endpoint> {
    let at = |path: &str| format!("{BASE_PATH}/{path}");
    vec![
        Endpoint::following::<_, FeedReset<SessionSnapshot>, _>(
            at("sessions/{id}/events"),
            "Streams everything that happens in a session, after the last frame that was read.",
            of_session,
        )
        .with_tickets(),
        Endpoint::following::<_, FeedReset<ServerSnapshot>, _>(
            at("events"),
            "Streams what happens in all sessions, without fragments of text, after the last frame \
             that was read.",
            of_all,
        )
        .with_tickets(),
    ]
}

async fn of_session(call: Call, params: FeedParams) -> Result<Response<Body>, Error> {
    let session = SessionId::new(call.segment("id"))?;
    let engine = call.engine().await?;
    let opened = SessionSource::open(engine, session, cursor(&call, &params)).await?;
    let liveliness = Liveliness::of(&call);
    Ok(stream::response(FeedEncoder::default(), opened, liveliness))
}

async fn of_all(call: Call, params: FeedParams) -> Result<Response<Body>, Error> {
    let engine = call.engine().await?;
    let opened = ServerSource::open(engine, cursor(&call, &params)).await?;
    let liveliness = Liveliness::of(&call);
    Ok(stream::response(FeedEncoder::default(), opened, liveliness))
}

/// The event up to which a reader has all, as the header `Last-Event-ID` says or the parameter `after`.
/// A frame of a feed is a whole event.
fn cursor(call: &Call, params: &FeedParams) -> Option<EventId> {
    let header = call.last_event_id.as_deref();
    let mut said = [header, params.after.as_deref()].into_iter().flatten();
    let id = FrameId::read(said.find(|id| !id.is_empty())?)?;
    id.part.is_none().then_some(id.event)
}

/// A session's log, and before it how the session stands if the reader does not continue.
struct SessionSource {
    engine: Arc<Engine>,
    session: SessionId,
    first: Option<FeedItem>,
    reader: Follower,
}

impl SessionSource {
    async fn open(
        engine: Arc<Engine>,
        session: SessionId,
        since: Option<EventId>,
    ) -> Result<Self, Error> {
        let SessionFeed { reader, from } = engine.session_feed(&session, since).await?;
        let first = match from {
            None => None,
            Some(at) => {
                let snapshot = session_snapshot(&engine, &session, at).await?;
                Some(FeedItem::Session(at, Box::new(snapshot)))
            }
        };
        Ok(Self {
            engine,
            session,
            first,
            reader,
        })
    }
}

impl Source for SessionSource {
    type Item = FeedItem;

    async fn next(&mut self) -> Result<Vec<FeedItem>, Unread> {
        if let Some(first) = self.first.take() {
            return Ok(vec![first]);
        }
        match self.reader.next().await {
            Ok(events) => Ok(events.into_iter().map(FeedItem::Own).collect()),
            Err(FollowError::Gone(_)) => {
                *self = Self::open(self.engine.clone(), self.session.clone(), None).await?;
                Ok(self.first.take().into_iter().collect())
            }
            Err(lost) => Err(lost.into()),
        }
    }
}

/// The feed of all sessions, and before it how they stand if the reader does not continue.
struct ServerSource {
    engine: Arc<Engine>,
    first: Option<FeedItem>,
    reader: FeedReader,
}

impl ServerSource {
    async fn open(engine: Arc<Engine>, since: Option<EventId>) -> Result<Self, Error> {
        let known = since.and_then(|since| engine.feed_after(since));
        let (first, reader) = if let Some(reader) = known {
            (None, reader)
        } else {
            let (at, reader) = engine.feed();
            let snapshot = server_snapshot(&engine, at).await?;
            (Some(FeedItem::Server(at, Box::new(snapshot))), reader)
        };
        Ok(Self {
            engine,
            first,
            reader,
        })
    }
}

impl Source for ServerSource {
    type Item = FeedItem;

    async fn next(&mut self) -> Result<Vec<FeedItem>, Unread> {
        if let Some(first) = self.first.take() {
            return Ok(vec![first]);
        }
        match self.reader.next().await {
            FeedNews::Events(events) => {
                let item = |FeedEvent { id, session, event }| FeedItem::Of(id, session, event);
                Ok(events.into_iter().map(item).collect())
            }
            FeedNews::Lost => {
                *self = Self::open(self.engine.clone(), None).await?;
                Ok(self.first.take().into_iter().collect())
            }
            FeedNews::Stopping => Err(FollowError::Stopping.into()),
        }
    }
}

async fn session_snapshot(
    engine: &Arc<Engine>,
    session: &SessionId,
    at: EventId,
) -> Result<SessionSnapshot, Error> {
    let row = engine.session(session).await?;
    let mut open = engine.open_calls().await?;
    open.retain(|open| open.session == *session);
    Ok(SessionSnapshot {
        session: SessionInfo::from(&row),
        turns: turns::shown(engine, unfinished(Some(session.clone()))).await?,
        approvals: approvals::list(open.clone()).items,
        calls: tools::list(open).items,
        after: at.to_string(),
    })
}

async fn server_snapshot(engine: &Arc<Engine>, at: EventId) -> Result<ServerSnapshot, Error> {
    let query = SessionQuery {
        limit: MAX_SESSIONS,
        ..SessionQuery::default()
    };
    let (rows, total_count) = engine.sessions(query).await?;
    let open = engine.open_calls().await?;
    Ok(ServerSnapshot {
        sessions: PaginatedResult {
            items: fitting(rows.iter().map(SessionInfo::from)),
            total_count,
        },
        turns: turns::shown(engine, unfinished(None)).await?,
        approvals: approvals::list(open.clone()),
        calls: tools::list(open),
        after: at.to_string(),
    })
}

fn unfinished(session: Option<SessionId>) -> TurnQuery {
    TurnQuery {
        session,
        among: Vec::new(),
        unfinished: true,
        limit: MAX_TURNS,
    }
}
