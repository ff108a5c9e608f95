//! The way of one request through the server.

use std::{future, iter, sync::Arc, time::Duration};

use axum::{
    extract::{ConnectInfo, Request, State},
    response::Response,
};
use bytes::BytesMut;
use futures_util::TryStreamExt;
use http::{StatusCode, header};

use crate::{
    dialect::request_id,
    exchange::ExchangeEnd,
    matcher::{Matched, Matcher, Received},
    player::{Stage, play},
    script::{Answer, Failure},
    socket::{CloseMode, Connection},
    sse::{self, Frame},
};

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream; charset=utf-8";

/// A body over the limit is read on, so that a client that is busy sending gets to see the
/// refusal; this many times the limit is enough politeness.
const READ_ON: usize = 8;

/// Answers one request as the script says.
pub(crate) async fn answer(
    State(script): State<Arc<Matcher>>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    request: Request,
) -> Response {
    let Ok(received) = receive(request, script.settings.max_body_bytes).await else {
        // The request broke off, so that no client reads this.
        return Response::default();
    };
    let matched = script.take(received);
    let delivery = &matched.reply.delivery;
    connection.attach(matched.exchange.clone(), delivery.write_bytes);

    if delivery.delay > Duration::ZERO {
        tokio::time::sleep(delivery.delay).await;
    }
    if let Some(gate) = &delivery.head_gate {
        script.gates.pass(gate).await;
    }
    let dialect = matched.dialect;
    let (status, content_type, body) = match &matched.reply.answer {
        Answer::Silent => return future::pending().await,
        Answer::HungUp => return cut(&connection, &matched, CloseMode::Closed),
        Answer::Reset => return cut(&connection, &matched, CloseMode::Reset),
        Answer::Said(said) if matched.prompt.streams => {
            let events = (dialect.events)(said, delivery, &matched);
            (
                200,
                EVENT_STREAM,
                Sent::stream(sse::frames(events, delivery)),
            )
        }
        Answer::Said(said) => {
            let body = (dialect.whole)(said, &matched);
            (200, JSON, Sent::whole(body.to_string()))
        }
        Answer::Failed(failure) => {
            let body = (dialect.failure)(failure, matched.number);
            (failure.status, JSON, Sent::whole(body.to_string()))
        }
        Answer::Page(page) => {
            let body = Sent::whole(page.body.clone());
            (page.status, page.content_type.as_str(), body)
        }
        Answer::Endless(page) => {
            // Nothing again and again would keep the player busy for good.
            let frame = Some(Frame::part(page.body.clone())).filter(|_| !page.body.is_empty());
            let frames = frame.into_iter().flat_map(iter::repeat);
            (
                page.status,
                page.content_type.as_str(),
                Sent::stream(frames),
            )
        }
    };
    let (head, body) = match head(&matched, status, content_type, body.length) {
        Ok(head) => (head, body),
        Err(wrong) => {
            // The script holds a status or a header that HTTP does not have.
            let failure = Failure::new(500, format!("the script cannot be sent: {wrong}"));
            let mut head = Response::new(());
            *head.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            let body = (dialect.failure)(&failure, matched.number);
            (head, Sent::whole(body.to_string()))
        }
    };
    let stage = Stage {
        reply: matched.reply.clone(),
        gates: script.gates.clone(),
        connection,
        exchange: matched.exchange.clone(),
    };
    head.map(|()| play(body.frames, stage))
}

fn cut(connection: &Connection, matched: &Matched, cut: CloseMode) -> Response {
    connection.cut(cut);
    matched.exchange.end(ExchangeEnd::Cut);
    Response::default()
}

async fn receive(request: Request, max_bytes: usize) -> Result<Received, axum::Error> {
    let (head, body) = request.into_parts();
    let mut body = body.into_data_stream();
    let mut raw = BytesMut::new();
    let mut length = 0_usize;
    while let Some(bytes) = body.try_next().await? {
        length = length.saturating_add(bytes.len());
        let room = max_bytes - raw.len();
        raw.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if length > max_bytes.saturating_mul(READ_ON) {
            break;
        }
    }
    Ok(Received {
        method: head.method,
        path: head.uri.path().to_owned(),
        headers: head.headers,
        raw: raw.freeze(),
        is_too_long: length > max_bytes,
    })
}

/// The body of a response.
struct Sent {
    /// Its bytes, if the head tells how many they are.
    length: Option<usize>,
    frames: Box<dyn Iterator<Item = Frame> + Send>,
}

impl Sent {
    fn whole(body: String) -> Sent {
        let length = Some(body.len());
        let frame = (!body.is_empty()).then(|| Frame::whole(body));
        Sent {
            length,
            frames: Box::new(frame.into_iter()),
        }
    }

    fn stream(frames: impl Iterator<Item = Frame> + Send + 'static) -> Sent {
        Sent {
            length: None,
            frames: Box::new(frames),
        }
    }
}

fn head(
    matched: &Matched,
    status: u16,
    content_type: &str,
    length: Option<usize>,
) -> Result<Response<()>, http::Error> {
    let delivery = &matched.reply.delivery;
    let content_type = delivery.content_type.as_deref().unwrap_or(content_type);
    let id = request_id(matched.number);
    let mut head = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, content_type)
        .header(matched.dialect.request_id_header, id);
    if let Some(length) = length {
        head = head.header(header::CONTENT_LENGTH, length);
    }
    if let Answer::Failed(Failure {
        retry_after: Some(after),
        ..
    }) = &matched.reply.answer
    {
        let part_of_one = u64::from(after.subsec_nanos() > 0);
        let seconds = after.as_secs().saturating_add(part_of_one);
        head = head.header(header::RETRY_AFTER, seconds);
    }
    for (name, value) in &delivery.headers {
        head = head.header(name, value);
    }
    head.body(())
}
