//! A client of the agent service that believes nothing: it reads streams byte by byte as the page of
//! the protocol says, with nothing of the server's own code.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::upgrade::Upgraded;
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

use crate::observed::{Frame, Profile};

/// Bytes of an answer that is no stream, at most.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// How long an answer that waits for no turn may take before its server counts as gone.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where turns are streamed.
const STREAM: &str = "/services/agent/sendMessage/stream";

/// How long the bytes that a dead server has sent may take to arrive.
const LAST_BYTES: Duration = Duration::from_secs(1);

/// Where a server is, for as long as it lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) socket: SocketAddr,
    pub(crate) token: Arc<str>,
    /// Which life of the server it is.
    pub(crate) life: u64,
}

/// The server has gone, or is not the one that was meant.
#[derive(Debug)]
pub(crate) struct ServerGone;

/// An answer that is not what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) code: String,
    /// Whether it says when to try again.
    pub(crate) says_when: bool,
    pub(crate) body: String,
}

impl Refusal {
    /// Whether the same may be taken in a moment: the server starts or stops, or its stores lag
    /// behind, and it says when to try again. No queue is ever full here, and no disk.
    pub(crate) fn may_pass(&self) -> bool {
        self.status == 503 && self.code == "unavailable" && self.says_when
    }
}

/// What a server has answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerAnswer {
    pub(crate) value: Value,
    /// The boot that an answer of the global chat names; empty elsewhere.
    pub(crate) boot: String,
}

/// How a place in the global chat is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChatCursor {
    Query(u64),
    Header(u64),
}

/// Asks servers, whichever is there.
#[derive(Clone)]
pub(crate) struct Client {
    pool: Pool<HttpConnector, Full<Bytes>>,
}

impl Client {
    pub(crate) fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self {
            pool: Pool::builder(TokioExecutor::new()).build(connector),
        }
    }

    /// Calls a method of the agent service.
    pub(crate) async fn call(
        &self,
        at: &Address,
        method: &str,
        params: &Value,
    ) -> Result<Result<Value, Refusal>, ServerGone> {
        let path = format!("/services/agent/{method}");
        let asked = async {
            let response = self
                .send(at, Method::POST, &path, Some(params), None)
                .await?;
            read(response).await
        };
        tokio::time::timeout(PATIENCE, asked)
            .await
            .map_err(|_| ServerGone)?
    }

    /// Posts a message and streams its turn, from its start or behind an id.
    pub(crate) async fn post(
        &self,
        at: &Address,
        params: &Value,
        profile: Profile,
        after: Option<&str>,
    ) -> Result<Result<Frames, Refusal>, ServerGone> {
        let path = format!("{STREAM}?profile={}", word(profile));
        frames(self.send(at, Method::POST, &path, Some(params), after)).await
    }

    /// Goes on with a stream behind an id that a header names.
    pub(crate) async fn resume(
        &self,
        at: &Address,
        session: &str,
        after: &str,
        profile: Profile,
    ) -> Result<Result<Frames, Refusal>, ServerGone> {
        let path = format!("{STREAM}?sessionId={session}&profile={}", word(profile));
        frames(self.send(at, Method::GET, &path, None, Some(after))).await
    }

    /// Goes on with a stream behind an id that the query names.
    pub(crate) async fn resume_by_query(
        &self,
        at: &Address,
        session: &str,
        after: &str,
        profile: Profile,
    ) -> Result<Result<Frames, Refusal>, ServerGone> {
        let path = format!(
            "{STREAM}?sessionId={session}&after={after}&profile={}",
            word(profile)
        );
        frames(self.send(at, Method::GET, &path, None, None)).await
    }

    /// Follows a stream, from its start or after an id.
    pub(crate) async fn stream(
        &self,
        at: &Address,
        path: &str,
        after: Option<&str>,
    ) -> Result<Result<Frames, Refusal>, ServerGone> {
        frames(self.send(at, Method::GET, path, None, after)).await
    }

    /// Gives something to whatever is at this path, and streams the answer.
    pub(crate) async fn give_stream(
        &self,
        at: &Address,
        path: &str,
        params: &Value,
    ) -> Result<Result<Frames, Refusal>, ServerGone> {
        frames(self.send(at, Method::POST, path, Some(params), None)).await
    }

    /// What is found at this path.
    pub(crate) async fn get(
        &self,
        at: &Address,
        path: &str,
    ) -> Result<Result<ServerAnswer, Refusal>, ServerGone> {
        found(self.send(at, Method::GET, path, None, None)).await
    }

    /// The bytes at a path; `None` if there is nothing.
    pub(crate) async fn bytes(
        &self,
        at: &Address,
        path: &str,
    ) -> Result<Option<Bytes>, ServerGone> {
        let asked = async {
            let response = self.send(at, Method::GET, path, None, None).await?;
            let is_there = response.status().is_success();
            let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES).collect();
            let body = body.await.map_err(|_| ServerGone)?.to_bytes();
            Ok(is_there.then_some(body))
        };
        tokio::time::timeout(PATIENCE, asked)
            .await
            .map_err(|_| ServerGone)?
    }

    /// Gives something to whatever is at this path.
    pub(crate) async fn give(
        &self,
        at: &Address,
        path: &str,
        params: &Value,
    ) -> Result<Result<ServerAnswer, Refusal>, ServerGone> {
        found(self.send(at, Method::POST, path, Some(params), None)).await
    }

    /// Deletes what is at this path.
    pub(crate) async fn delete(
        &self,
        at: &Address,
        path: &str,
    ) -> Result<Result<ServerAnswer, Refusal>, ServerGone> {
        found(self.send(at, Method::DELETE, path, None, None)).await
    }

    /// Gives lines of JSON to whatever is at this path.
    pub(crate) async fn give_lines(
        &self,
        at: &Address,
        path: &str,
        lines: Bytes,
    ) -> Result<Result<ServerAnswer, Refusal>, ServerGone> {
        found(self.send_bytes(at, Method::POST, path, Some(lines), None)).await
    }

    /// Follows the global chat behind an id, and tells its boot.
    pub(crate) async fn listen(
        &self,
        at: &Address,
        after: &ChatCursor,
    ) -> Result<Result<(Frames, String), Refusal>, ServerGone> {
        let (path, id) = match after {
            ChatCursor::Query(id) => (format!("/chat/stream?after={id}"), None),
            ChatCursor::Header(id) => ("/chat/stream".to_owned(), Some(id.to_string())),
        };
        let mut boot = String::new();
        let sent = async {
            let sent = self.send(at, Method::GET, &path, None, id.as_deref());
            let response = sent.await?;
            boot = boot_of(&response);
            Ok(response)
        };
        let frames = frames(sent).await?;
        Ok(frames.map(|frames| (frames, boot)))
    }

    /// Whether a server is ready.
    pub(crate) async fn is_ready(&self, at: &Address) -> bool {
        let sent = self.send(at, Method::GET, "/readyz", None, None);
        let answered = tokio::time::timeout(PATIENCE, sent).await;
        matches!(answered, Ok(Ok(response)) if response.status() == 200)
    }

    /// Goes on with a connection in another protocol.
    pub(crate) async fn upgrade(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Result<Upgraded, Refusal>, ServerGone> {
        let response = self.pool.request(request).await.map_err(|_| ServerGone)?;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let upgraded = hyper::upgrade::on(response).await;
            return upgraded.map(Ok).map_err(|_| ServerGone);
        }
        match read(response).await? {
            Err(refusal) => Ok(Err(refusal)),
            Ok(_) => Err(ServerGone),
        }
    }

    async fn send(
        &self,
        at: &Address,
        verb: Method,
        path: &str,
        params: Option<&Value>,
        after: Option<&str>,
    ) -> Result<Response<Incoming>, ServerGone> {
        let body = params.map(|params| Bytes::from(params.to_string()));
        self.send_bytes(at, verb, path, body, after).await
    }

    async fn send_bytes(
        &self,
        at: &Address,
        verb: Method,
        path: &str,
        body: Option<Bytes>,
        after: Option<&str>,
    ) -> Result<Response<Incoming>, ServerGone> {
        let mut request = Request::builder()
            .method(verb)
            .uri(format!("http://{}{path}", at.socket))
            .header(header::AUTHORIZATION, format!("Bearer {}", at.token));
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let request = request
            .body(Full::new(body.unwrap_or_default()))
            .map_err(|_| ServerGone)?;
        self.pool.request(request).await.map_err(|_| ServerGone)
    }
}

fn word(profile: Profile) -> &'static str {
    match profile {
        Profile::Default => "default",
        Profile::Full => "full",
    }
}

async fn frames(
    sent: impl Future<Output = Result<Response<Incoming>, ServerGone>>,
) -> Result<Result<Frames, Refusal>, ServerGone> {
    let response = tokio::time::timeout(PATIENCE, sent)
        .await
        .map_err(|_| ServerGone)??;
    let mut parser = Parser::default();
    if response.status() == StatusCode::NO_CONTENT {
        // The reader has everything.
        parser.feed(b"data: [DONE]\n\n");
    }
    if response.status().is_success() {
        return Ok(Ok(Frames {
            body: response.into_body(),
            parser,
        }));
    }
    let refused = tokio::time::timeout(PATIENCE, read(response)).await;
    match refused.map_err(|_| ServerGone)?? {
        Err(refusal) => Ok(Err(refusal)),
        Ok(_) => Err(ServerGone),
    }
}

async fn found(
    sent: impl Future<Output = Result<Response<Incoming>, ServerGone>>,
) -> Result<Result<ServerAnswer, Refusal>, ServerGone> {
    let asked = async {
        let response = sent.await?;
        let boot = boot_of(&response);
        let read = read(response).await?;
        Ok(read.map(|value| ServerAnswer { value, boot }))
    };
    tokio::time::timeout(PATIENCE, asked)
        .await
        .map_err(|_| ServerGone)?
}

fn boot_of(response: &Response<Incoming>) -> String {
    let boot = response.headers().get("x-chat-boot");
    let boot = boot.and_then(|boot| boot.to_str().ok());
    boot.unwrap_or_default().to_owned()
}

async fn read(response: Response<Incoming>) -> Result<Result<Value, Refusal>, ServerGone> {
    let status = response.status();
    let says_when = response.headers().contains_key(header::RETRY_AFTER);
    // Where a refusal is a sentence, its code is in a header.
    let named = response.headers().get("x-samovar-code");
    let named = named.and_then(|code| code.to_str().ok()).map(str::to_owned);
    let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES).collect();
    let body = body.await.map_err(|_| ServerGone)?.to_bytes();
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    if status.is_success() {
        return Ok(Ok(value));
    }
    // Another arena's server may have taken the port of one that was killed; it knows no such token.
    if status == 401 {
        return Err(ServerGone);
    }
    Ok(Err(Refusal {
        status: status.as_u16(),
        code: named.unwrap_or_else(|| value["code"].as_str().unwrap_or_default().to_owned()),
        says_when,
        body: String::from_utf8_lossy(&body).into_owned(),
    }))
}

/// A stream that is being read.
pub(crate) struct Frames {
    body: Incoming,
    parser: Parser,
}

/// What came next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StreamItem {
    Frame(Frame),
    /// `[DONE]`.
    Done,
    /// The connection broke off.
    Broken,
    /// Something that is no frame.
    Malformed(String),
}

impl Frames {
    /// What a dead server has still sent: the next frame of it, until there is none. A connection
    /// that stays open although its server is dead is broken off.
    pub(crate) async fn rest(&mut self) -> StreamItem {
        let came = tokio::time::timeout(LAST_BYTES, self.next()).await;
        came.unwrap_or(StreamItem::Broken)
    }

    /// The next frame. Safe to drop halfway.
    pub(crate) async fn next(&mut self) -> StreamItem {
        loop {
            if let Some(came) = self.parser.take() {
                return came;
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        self.parser.feed(&bytes);
                    }
                }
                Some(Err(_)) | None => return StreamItem::Broken,
            }
        }
    }
}

/// Frames out of bytes: `data: `, `id: `, an empty line; comments mean nothing.
#[derive(Default)]
struct Parser {
    bytes: Vec<u8>,
}

impl Parser {
    fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn take(&mut self) -> Option<StreamItem> {
        let end = self.bytes.windows(2).position(|pair| pair == b"\n\n")?;
        let block: Vec<u8> = self.bytes.drain(..end + 2).collect();
        let block = String::from_utf8_lossy(&block[..end]);
        let lines = block.split('\n').filter(|line| !line.starts_with(':'));
        Some(frame(&lines.collect::<Vec<_>>().join("\n")))
    }
}

fn frame(block: &str) -> StreamItem {
    let (data, id) = match block.split_once('\n') {
        Some((data, id)) => match id.strip_prefix("id: ") {
            Some(id) => (data, Some(id.to_owned())),
            None => return StreamItem::Malformed(block.to_owned()),
        },
        None => (block, None),
    };
    match data.strip_prefix("data: ") {
        Some("[DONE]") => StreamItem::Done,
        Some(data) if !data.contains('\n') => StreamItem::Frame(Frame {
            id,
            data: data.to_owned(),
        }),
        Some(_) | None => StreamItem::Malformed(block.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_whatever_the_pieces_are() {
        let bytes = b": ping\ndata: {\"a\":1}\nid: 1.2\n\ndata: {}\n\ndata: {}\nevent: x\n\ndata: [DONE]\nid: 1.2\n\n";
        let mut parser = Parser::default();
        let mut came = Vec::new();
        for byte in bytes {
            parser.feed(&[*byte]);
            came.extend(parser.take());
        }
        let frame = |id: Option<&str>, data: &str| {
            StreamItem::Frame(Frame {
                id: id.map(str::to_owned),
                data: data.to_owned(),
            })
        };
        let malformed = StreamItem::Malformed("data: {}\nevent: x".to_owned());
        assert_eq!(
            came,
            [
                frame(Some("1.2"), "{\"a\":1}"),
                frame(None, "{}"),
                malformed,
                StreamItem::Done
            ]
        );
    }
}
