//! The way of one request through the server.

use std::{future, iter, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::{
    desk::{Desk, Heard, Taken},
    dialect::{Naming, request_id},
    exchange::Ended,
    player::{BrokenOff, Playing, Stage, play},
    script::{Answer, Failure, Page, Said},
    socket::Wire,
    sse::{self, Frame},
};

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream; charset=utf-8";

/// A body over the limit is read on, so that a client that is busy sending gets to see the
/// refusal; this many times the limit is enough politeness.
const READ_ON: usize = 8;

/// There is no response to send: hyper closes the connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoResponse {
    #[error(transparent)]
    BrokenOff(#[from] BrokenOff),
    #[error("the request broke off")]
    Unheard(#[from] hyper::Error),
}

/// Answers one request as the script says.
pub(crate) async fn answer(
    desk: Arc<Desk>,
    wire: Arc<Wire>,
    request: Request<Incoming>,
) -> Result<Response<Playing>, NoResponse> {
    let heard = hear(request, desk.settings.max_body_bytes).await?;
    let taken = desk.take(heard);
    let delivery = &taken.reply.delivery;
    wire.attach(taken.exchange.clone(), delivery.write_bytes);

    if delivery.delay > Duration::ZERO {
        tokio::time::sleep(delivery.delay).await;
    }
    if let Some(gate) = &delivery.head_gate {
        desk.gates.pass(gate).await;
    }
    let sent = Sent::of(&taken);
    let stage = Stage {
        reply: taken.reply.clone(),
        gates: desk.gates.clone(),
        wire,
        exchange: taken.exchange.clone(),
    };
    match sent {
        Sent::Nothing => future::pending().await,
        Sent::HungUp => Err(break_off(&stage)),
        Sent::Reset => {
            stage.wire.reset();
            Err(break_off(&stage))
        }
        Sent::Response(response, frames) => Ok(response.map(|()| play(frames, stage))),
    }
}

async fn hear(request: Request<Incoming>, max_bytes: usize) -> Result<Heard, hyper::Error> {
    let (head, mut body) = request.into_parts();
    let mut raw = BytesMut::new();
    let mut length = 0_usize;
    while let Some(frame) = body.frame().await {
        let Ok(bytes) = frame?.into_data() else {
            continue;
        };
        length = length.saturating_add(bytes.len());
        let room = max_bytes - raw.len();
        raw.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if length > max_bytes.saturating_mul(READ_ON) {
            break;
        }
    }
    Ok(Heard {
        method: head.method,
        path: head.uri.path().to_owned(),
        headers: head.headers,
        raw: raw.freeze(),
        is_too_long: length > max_bytes,
    })
}

fn break_off(stage: &Stage) -> NoResponse {
    stage.exchange.end(Ended::Cut);
    BrokenOff.into()
}

type Frames = Box<dyn Iterator<Item = Frame> + Send>;

/// What a taken request is sent.
enum Sent {
    Nothing,
    HungUp,
    Reset,
    Response(Response<()>, Frames),
}

impl Sent {
    fn of(taken: &Taken) -> Sent {
        match &taken.reply.answer {
            Answer::Silent => Sent::Nothing,
            Answer::HungUp => Sent::HungUp,
            Answer::Reset => Sent::Reset,
            Answer::Said(said) if taken.asked.streams => Sent::stream(taken, said),
            Answer::Said(said) => {
                let body = taken.dialect.whole(said, &taken.naming());
                Sent::whole(taken, 200, JSON, body)
            }
            Answer::Failed(failure) => Sent::failure(taken, failure),
            Answer::Page(page) => {
                let body = Bytes::from(page.body.clone());
                Sent::whole(taken, page.status, &page.content_type, body)
            }
            Answer::Endless(page) => Sent::endless(taken, page),
        }
    }

    fn stream(taken: &Taken, said: &Said) -> Sent {
        let delivery = &taken.reply.delivery;
        let events = taken.dialect.events(said, delivery, taken.naming());
        let frames = sse::frames(events, delivery);
        match head(taken, 200, EVENT_STREAM) {
            Ok(head) => Sent::Response(head, Box::new(frames)),
            Err(wrong) => Sent::wrong_script(taken, &wrong),
        }
    }

    fn failure(taken: &Taken, failure: &Failure) -> Sent {
        let body = taken.dialect.failure(failure, taken.number).to_string();
        let sent = Sent::whole(taken, failure.status, JSON, body.into());
        match (sent, failure.retry_after) {
            (Sent::Response(mut head, frames), Some(after)) => {
                let part_of_one = u64::from(after.subsec_nanos() > 0);
                let seconds = after.as_secs().saturating_add(part_of_one);
                head.headers_mut()
                    .insert(header::RETRY_AFTER, seconds.into());
                Sent::Response(head, frames)
            }
            (sent, _) => sent,
        }
    }

    fn whole(taken: &Taken, status: u16, content_type: &str, body: Bytes) -> Sent {
        match head(taken, status, content_type) {
            Ok(mut head) => {
                head.headers_mut()
                    .insert(header::CONTENT_LENGTH, body.len().into());
                let frame = (!body.is_empty()).then(|| Frame::whole(body));
                Sent::Response(head, Box::new(frame.into_iter()))
            }
            Err(wrong) => Sent::wrong_script(taken, &wrong),
        }
    }

    fn endless(taken: &Taken, page: &Page) -> Sent {
        let frame = Frame {
            bytes: page.body.clone().into(),
            deltas: 1,
            is_all: false,
        };
        match head(taken, page.status, &page.content_type) {
            // Nothing again and again would keep the player busy for good.
            Ok(head) if frame.bytes.is_empty() => Sent::Response(head, Box::new(iter::empty())),
            Ok(head) => Sent::Response(head, Box::new(iter::repeat(frame))),
            Err(wrong) => Sent::wrong_script(taken, &wrong),
        }
    }

    /// The script holds a status or a header that HTTP does not have.
    fn wrong_script(taken: &Taken, wrong: &http::Error) -> Sent {
        let failure = Failure::new(500, format!("the script cannot be sent: {wrong}"));
        let body = taken.dialect.failure(&failure, taken.number).to_string();
        let mut head = Response::new(());
        *head.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        Sent::Response(head, Box::new(iter::once(Frame::whole(body))))
    }
}

impl Taken {
    fn naming(&self) -> Naming {
        Naming {
            number: self.number,
            model: self.asked.model.clone(),
            wants_usage: self.asked.wants_usage,
            prompt_bytes: self.asked.bytes,
            cache: self.cache,
        }
    }
}

fn head(taken: &Taken, status: u16, content_type: &str) -> Result<Response<()>, http::Error> {
    let delivery = &taken.reply.delivery;
    let content_type = delivery.content_type.as_deref().unwrap_or(content_type);
    let mut head = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, content_type)
        .header(taken.dialect.request_id_header(), request_id(taken.number));
    for (name, value) in &delivery.headers {
        head = head.header(name, value);
    }
    head.body(())
}
