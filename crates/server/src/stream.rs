//! A turn as a stream of frames. The reader pulls from the log; what one pull brings goes out with
//! one write. A client that goes away drops the reader, and the turn goes on (AS-9).

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, header};
use bytes::Bytes;
use futures_util::stream;
use samovar_core::{Broken, Code, Error, Event, Seq, SessionId, TurnId, planted};
use samovar_engine::{Cut, Follower, Lost, Resumption, Since};
use samovar_locale as locale;
use samovar_wire::agent::{Encoder, Profile, Snapshot, SnapshotFold, TurnState};
use samovar_wire::sse::{self, FrameId};
use tokio::time::Instant;

use crate::pace::Stalled;

/// What a client says that it has of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cursor {
    /// Nothing was said.
    None,
    /// All up to this frame.
    Frame(FrameId),
    /// What was said is no id.
    Garbage,
}

impl Cursor {
    /// What stands in the header `Last-Event-ID`, which a client sets anew with every frame, else in
    /// the parameter `after`.
    pub(crate) fn read(header: Option<&str>, after: Option<&str>) -> Self {
        match header.or(after).map(FrameId::read) {
            None => Self::None,
            Some(None) => Self::Garbage,
            Some(Some(id)) => Self::Frame(id),
        }
    }

    /// The same without the place inside an event, which the log does not know.
    pub(crate) fn since(self) -> Since {
        match self {
            Self::None => Since::Start,
            Self::Frame(id) => Since::Event(id.event),
            Self::Garbage => Since::Unknown,
        }
    }

    fn frame(self) -> Option<FrameId> {
        match self {
            Self::Frame(id) => Some(id),
            Self::None | Self::Garbage => None,
        }
    }
}

/// How a stream is made, whatever it shows.
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    pub(crate) profile: Profile,
    pub(crate) ping_every: Duration,
    pub(crate) stalled: Stalled,
}

/// The stream of one turn from its start.
pub(crate) fn of_turn(turn: TurnId, reader: Follower, manner: Manner) -> Response<Body> {
    response(Reading {
        encoder: Encoder::new(turn, manner.profile),
        reader,
        ping_every: manner.ping_every,
        stalled: manner.stalled,
        at: None,
        stage: Stage::Live,
    })
}

/// The stream of one turn for a client that comes back.
pub(crate) fn resumed(
    session: SessionId,
    resumption: Resumption,
    cursor: Cursor,
    manner: Manner,
) -> Response<Body> {
    let Resumption {
        turn,
        reader,
        cut,
        settled,
        is_over,
    } = resumption;
    let retold = || Retold {
        fold: SnapshotFold::new(session, turn.clone()),
        settled,
        is_over,
    };
    let (stage, at) = match (cut, cursor.frame()) {
        (Cut::Behind(_), Some(id)) => (Stage::Behind(id, retold()), Some(id)),
        (Cut::Start, None | Some(FrameId { part: None, .. })) => (Stage::Live, None),
        // An event of no turn, or of another one, makes no frames here, so it has no places inside.
        (Cut::Start, Some(_)) | (Cut::Behind(_), None) | (Cut::Anew, _) => {
            (Stage::Anew(retold()), None)
        }
    };
    response(Reading {
        encoder: Encoder::new(turn, manner.profile),
        reader,
        ping_every: manner.ping_every,
        stalled: manner.stalled,
        at,
        stage,
    })
}

/// The stream for a client that comes back to a session of which no turn is kept any longer.
pub(crate) fn nothing_left(session: SessionId) -> Response<Body> {
    let mut out = Vec::new();
    sse::frame(None, &Snapshot::idle(session).as_event(), &mut out);
    out.extend_from_slice(sse::DONE.as_bytes());
    with_headers(Body::from(out))
}

struct Reading {
    encoder: Encoder,
    reader: Follower,
    ping_every: Duration,
    stalled: Stalled,
    /// The last frame that the client has, or that stands for what it need not have.
    at: Option<FrameId>,
    stage: Stage,
}

/// What becomes of the events that are read. What was shown before is read again, from the turn's
/// start, because it decides what the frames behind it say.
enum Stage {
    /// Up to this frame, all was shown before.
    Behind(FrameId, Retold),
    /// It is not known what was shown before; a snapshot tells it again.
    Anew(Retold),
    /// All of it is shown.
    Live,
}

struct Retold {
    fold: SnapshotFold,
    settled: Seq,
    is_over: bool,
}

fn response(reading: Reading) -> Response<Body> {
    let chunks = stream::unfold(reading, |mut reading| async move {
        let chunk = reading.next().await?;
        Some((Ok::<_, Infallible>(chunk), reading))
    });
    with_headers(Body::from_stream(chunks))
}

/// An answer that is a stream of server-sent events.
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

impl Reading {
    /// The next bytes to send; none when the stream is over.
    async fn next(&mut self) -> Option<Bytes> {
        if self.encoder.is_over() {
            return None;
        }
        let mut out = Vec::new();
        if self.stalled.is_set() {
            self.encoder.abort(&stalled(self.at), &mut out);
        }
        // What comes and is not shown here, such as thoughts, is no sign of life.
        let silent_until = Instant::now() + self.ping_every;
        while out.is_empty() {
            // Safe to drop halfway: the reader moves only when it has something.
            let pulled = tokio::time::timeout_at(silent_until, self.reader.next()).await;
            match pulled {
                Err(_) => out.extend_from_slice(sse::PING.as_bytes()),
                Ok(Err(why)) => self.end(why, &mut out),
                Ok(Ok(events)) => events.iter().for_each(|event| self.take(event, &mut out)),
            }
        }
        Some(Bytes::from(out))
    }

    fn take(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.stage = match std::mem::replace(&mut self.stage, Stage::Live) {
            Stage::Live => self.show(event, 0, out),
            Stage::Behind(id, retold) => self.pass_by(event, id, retold, out),
            Stage::Anew(retold) => self.retell(event, retold, out),
        };
    }

    fn show(&mut self, event: &Event, shown: usize, out: &mut Vec<u8>) -> Stage {
        self.encoder.encode_behind(event, shown, out);
        self.at = Some(FrameId::whole(event));
        Stage::Live
    }

    /// Takes in what was shown before. A place inside an event that does not make so many frames
    /// here was never given out.
    fn pass_by(
        &mut self,
        event: &Event,
        id: FrameId,
        mut retold: Retold,
        out: &mut Vec<u8>,
    ) -> Stage {
        planted!("resume-skips", {
            if event.seq == id.event.seq.next() {
                self.encoder.pass(event, out);
                return Stage::Behind(id, retold);
            }
        });
        planted!("resume-repeats", {
            if event.seq == id.event.seq {
                return self.show(event, 0, out);
            }
        });
        let part = id.part.filter(|_| event.seq == id.event.seq);
        match part {
            _ if event.seq > id.event.seq => self.show(event, 0, out),
            Some(part) if part < self.encoder.count(event) => self.show(event, part, out),
            Some(_) => {
                self.at = None;
                self.retell(event, retold, out)
            }
            None => {
                self.encoder.pass(event, out);
                if id.part.is_some() {
                    retold.fold.take(event);
                }
                Stage::Behind(id, retold)
            }
        }
    }

    /// Takes in what a snapshot tells, and writes that when it is complete.
    fn retell(&mut self, event: &Event, mut retold: Retold, out: &mut Vec<u8>) -> Stage {
        if event.seq > retold.settled {
            self.reset(retold, out);
            return self.show(event, 0, out);
        }
        self.encoder.pass(event, out);
        retold.fold.take(event);
        if event.seq < retold.settled {
            return Stage::Anew(retold);
        }
        self.reset(retold, out);
        self.at = Some(FrameId::whole(event));
        Stage::Live
    }

    fn reset(&mut self, retold: Retold, out: &mut Vec<u8>) {
        let mut snapshot = retold.fold.snapshot();
        if retold.is_over {
            snapshot.state = TurnState::Finished;
        }
        planted!("no-reset-after-loss", {
            return;
        });
        self.encoder.reset(&snapshot, out);
    }

    fn end(&mut self, why: Lost, out: &mut Vec<u8>) {
        let is_stop = matches!(why, Lost::Stopping);
        let error = lost(why, self.at);
        if is_stop {
            self.encoder.leave(&error, self.at, out);
        } else {
            self.encoder.abort(&error, out);
        }
    }
}

/// What a client is told that took nothing for long.
fn stalled(at: Option<FrameId>) -> Error {
    let left = || locale::turn::reader_stalled().to_owned();
    let why = at.map_or_else(left, locale::turn::reader_stalled_at);
    Error::new(Code::ReaderStalled, why)
}

/// Why a reader cannot go on, as a client sees it.
pub(crate) fn lost(why: Lost, at: Option<FrameId>) -> Error {
    match why {
        Lost::Stopping => {
            let left = || locale::turn::stream_left().to_owned();
            let why = at.map_or_else(left, locale::turn::stream_left_at);
            Error::new(Code::ServerRestart, why)
        }
        Lost::Gone(_) => Error::new(Code::UnknownTurn, locale::turn::events_gone()),
        Lost::Broken(Broken::Damaged(why)) => {
            tracing::error!(why, "a stream broke off");
            Error::new(Code::SessionDamaged, locale::session::damaged())
        }
        Lost::Broken(broken) => {
            tracing::error!(%broken, "a stream broke off");
            Error::new(Code::Internal, locale::store::broke())
        }
    }
}
