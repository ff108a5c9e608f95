//! A turn as a stream of frames. The reader pulls from the log; what one pull brings goes out with
//! one write. A client that goes away drops the reader, and the turn goes on (AS-9).

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, header};
use bytes::Bytes;
use futures_util::stream;
use samovar_core::{Code, Error, EventId, TurnId};
use samovar_engine::{Follower, Lost};
use samovar_locale as locale;
use samovar_wire::agent::{Encoder, Profile};
use samovar_wire::sse;

struct Reading {
    encoder: Encoder,
    reader: Follower,
    ping_every: Duration,
    /// The last event that was read.
    at: Option<EventId>,
}

/// The stream of one turn.
pub(crate) fn of_turn(
    turn: TurnId,
    profile: Profile,
    reader: Follower,
    ping_every: Duration,
) -> Response<Body> {
    let reading = Reading {
        encoder: Encoder::new(turn, profile),
        reader,
        ping_every,
        at: None,
    };
    let chunks = stream::unfold(reading, |mut reading| async move {
        let chunk = reading.next().await?;
        Some((Ok::<_, Infallible>(chunk), reading))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(sse::CONTENT_TYPE),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    headers.insert(unbuffered, HeaderValue::from_static("no"));
    response
}

impl Reading {
    /// The next bytes to send; none when the stream is over.
    async fn next(&mut self) -> Option<Bytes> {
        if self.encoder.is_over() {
            return None;
        }
        let mut out = Vec::new();
        while out.is_empty() {
            // Safe to drop halfway: the reader moves only when it has something.
            let pulled = tokio::time::timeout(self.ping_every, self.reader.next()).await;
            match pulled {
                Err(_) => out.extend_from_slice(sse::PING.as_bytes()),
                Ok(Err(why)) => self.encoder.abort(&lost(why, self.at), &mut out),
                Ok(Ok(events)) => {
                    for event in events {
                        self.encoder.encode(&event, &mut out);
                        self.at = Some(event.id());
                    }
                }
            }
        }
        Some(Bytes::from(out))
    }
}

/// Why a reader cannot go on, as a client sees it.
pub(crate) fn lost(why: Lost, at: Option<EventId>) -> Error {
    match why {
        Lost::Stopping => {
            let left = || locale::turn::stream_left().to_owned();
            let why = at.map_or_else(left, locale::turn::stream_left_at);
            Error::new(Code::ServerRestart, why)
        }
        Lost::Gone(_) => Error::new(Code::UnknownTurn, locale::turn::events_gone()),
        Lost::Broken(broken) => {
            tracing::error!(%broken, "a stream broke off");
            Error::new(Code::Internal, locale::store::broke())
        }
    }
}
