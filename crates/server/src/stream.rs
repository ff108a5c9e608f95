//! A stream of frames. The reader pulls; what one pull brings is sent with one write. A client that
//! disconnects drops the reader, and a turn that it read continues (AS-9).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use futures_util::stream;
use samovar_core::{Broken, Code, Error, Event};
use samovar_engine::{FollowError, Follower};
use samovar_locale as locale;
use samovar_wire::Spelling;
use samovar_wire::sse::{self, FrameId};
use tokio::time::Instant;

use crate::endpoint::Call;
use crate::pace::Stalled;

/// How a stream is kept alive.
#[derive(Clone, Debug)]
pub(crate) struct Liveliness {
    ping_every: Duration,
    stalled: Stalled,
}

impl Liveliness {
    /// That of the answer to a call.
    pub(crate) fn of<S>(call: &Call<S>) -> Self {
        Self {
            ping_every: call.ping_every,
            stalled: call.stalled.clone(),
        }
    }
}

/// What a stream is read from.
pub(crate) trait Source: Send + 'static {
    /// What one reads there.
    type Item: Send;

    /// What comes next, at least one, waited for. Safe to drop halfway.
    fn next(&mut self) -> impl Future<Output = Result<Vec<Self::Item>, Unread>> + Send;
}

/// Why nothing more can be read.
pub(crate) enum Unread {
    /// The reader has lost its place, or what it reads has ended.
    Lost(FollowError),
    /// What is needed beside it could not be read.
    Failed(Error),
}

impl From<FollowError> for Unread {
    fn from(lost: FollowError) -> Self {
        Self::Lost(lost)
    }
}

impl From<Error> for Unread {
    fn from(failed: Error) -> Self {
        Self::Failed(failed)
    }
}

impl Source for Follower {
    type Item = Arc<Event>;

    async fn next(&mut self) -> Result<Vec<Arc<Event>>, Unread> {
        Ok(Self::next(self).await?)
    }
}

/// What a reader is sent, in the words of its protocol.
struct Reading<S, R> {
    spelling: S,
    reader: R,
    liveliness: Liveliness,
}

/// The stream of what is read.
pub(crate) fn response<R: Source>(
    spelling: impl Spelling<Item = R::Item>,
    reader: R,
    liveliness: Liveliness,
) -> Response<Body> {
    let pings = liveliness.stalled.pings();
    let reading = Reading {
        spelling,
        reader,
        liveliness,
    };
    let chunks = stream::unfold((reading, pings), |(mut reading, pings)| async move {
        let chunk = reading.next().await?;
        Some((Ok::<_, Infallible>(chunk), (reading, pings)))
    });
    with_headers(Body::from_stream(chunks))
}

/// The answer to a reader that has everything: readers that come back after any end stop at it.
pub(crate) fn nothing_more() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// A response that is a stream of server-sent events.
pub(crate) fn with_headers(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
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

impl<R: Source, S: Spelling<Item = R::Item>> Reading<S, R> {
    /// The next bytes to send; `None` when the stream is over.
    async fn next(&mut self) -> Option<Bytes> {
        if self.spelling.is_over() {
            return None;
        }
        let mut out = Vec::new();
        if self.liveliness.stalled.is_set() {
            let error = stalled(self.spelling.at());
            self.spelling.abort(&error, &mut out);
        }
        // What comes and is not shown here, such as thoughts, is no sign of life.
        let silent_until = Instant::now() + self.liveliness.ping_every;
        while out.is_empty() && !self.spelling.is_over() {
            // Safe to drop halfway: the reader moves only when it has something.
            let pulled = tokio::time::timeout_at(silent_until, self.reader.next()).await;
            match pulled {
                Err(_) => {
                    out.extend_from_slice(sse::PING.as_bytes());
                    self.spelling.idle(&mut out);
                }
                Ok(Err(why)) => self.end(why, &mut out),
                Ok(Ok(items)) => {
                    for item in &items {
                        self.spelling.take(item, &mut out);
                    }
                    if let Some(last) = items.last() {
                        self.spelling.settle(last, &mut out);
                    }
                }
            }
        }
        (!out.is_empty()).then(|| Bytes::from(out))
    }

    fn end(&mut self, why: Unread, out: &mut Vec<u8>) {
        let is_stop = matches!(why, Unread::Lost(FollowError::Stopping));
        let error = match why {
            Unread::Lost(why) => lost(why, self.spelling.at()),
            Unread::Failed(error) => error,
        };
        if is_stop {
            self.spelling.leave(&error, out);
        } else {
            self.spelling.abort(&error, out);
        }
    }
}

/// The error for a client that has read nothing for too long.
fn stalled(at: Option<FrameId>) -> Error {
    let left = || locale::turn::reader_stalled().to_owned();
    let why = at.map_or_else(left, locale::turn::reader_stalled_at);
    Error::new(Code::ReaderStalled, why)
}

/// Why a reader cannot continue, as the error for the client.
pub(crate) fn lost(why: FollowError, at: Option<FrameId>) -> Error {
    match why {
        FollowError::Stopping => {
            let left = || locale::turn::stream_left().to_owned();
            let why = at.map_or_else(left, locale::turn::stream_left_at);
            Error::new(Code::ServerRestart, why)
        }
        FollowError::Gone(_) => Error::new(Code::UnknownTurn, locale::turn::events_gone()),
        FollowError::Broken(Broken::Damaged(why)) => {
            tracing::error!(why, "a stream broke off");
            Error::new(Code::SessionDamaged, locale::session::damaged())
        }
        FollowError::Broken(broken) => {
            tracing::error!(%broken, "a stream broke off");
            Error::new(Code::Internal, locale::store::broke())
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    /// A reader whose pulls bring what is listed.
    struct Pulls(Vec<Vec<&'static str>>);

    impl Source for Pulls {
        type Item = &'static str;

        async fn next(&mut self) -> Result<Vec<&'static str>, Unread> {
            Ok(self.0.remove(0))
        }
    }

    /// Each item on a line, until the last one.
    struct Lines {
        is_over: bool,
    }

    impl Spelling for Lines {
        type Item = &'static str;

        fn take(&mut self, item: &&'static str, out: &mut Vec<u8>) {
            out.extend_from_slice(item.as_bytes());
            out.push(b'\n');
            self.is_over = *item == "end";
        }

        fn abort(&mut self, _: &Error, _: &mut Vec<u8>) {
            self.is_over = true;
        }

        fn is_over(&self) -> bool {
            self.is_over
        }
    }

    // proves PF-2
    #[tokio::test]
    async fn what_one_pull_brings_is_sent_with_one_write() {
        let pulls = vec![vec!["a"], vec!["b", "c", "d"], vec!["e", "end"]];
        let liveliness = Liveliness {
            ping_every: Duration::from_hours(1),
            stalled: Stalled::default(),
        };
        let mut body = response(Lines { is_over: false }, Pulls(pulls), liveliness).into_body();
        let mut sent = Vec::new();
        while let Some(frame) = body.frame().await {
            sent.push(frame.unwrap().into_data().unwrap());
        }
        assert_eq!(sent, ["a\n", "b\nc\nd\n", "e\nend\n"]);
    }
}
