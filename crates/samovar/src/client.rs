//! A client of the server's routes, over the socket of a running server or in this process (FC-1).
//! Requests and answers are the same in both.

use std::pin::Pin;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, BodyDataStream};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http::{HeaderMap, Method, Request, Response, header};
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client as SocketClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use samovar_core::{Code, Millis};
use samovar_locale as text;
use samovar_server::{Address, LocalAccess, Token};
use samovar_wire::agent::{BASE_PATH, ErrorBody};
use samovar_wire::relay::SOCKET_PATH;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sse_stream::SseStream;
use tower::ServiceExt;

use crate::exit::{Exit, Failure, ServerLoss};
use crate::timestamps::{now, of_system};

/// Bytes of an answer that is not a stream, at most.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// How long an answer that waits for no turn may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The media type of every body, which a page of another origin cannot send unasked.
const JSON: &str = "application/json";

/// Asks the routes of one server.
pub(crate) struct Client {
    transport: Transport,
    authority: String,
    url: String,
    token: Token,
    holder: Option<Holder>,
}

/// The process that a client asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) pid: u32,
    /// Since when it listens.
    pub(crate) since: Millis,
}

enum Transport {
    Socket(Box<SocketClient<HttpConnector, Body>>),
    Inside(Router),
}

/// The frames of a stream, as they come.
pub(crate) type Frames = Pin<Box<dyn Stream<Item = Result<Frame, Failure>> + Send>>;

/// A frame of a stream: its id, its event and its data.
pub(crate) struct Frame {
    pub(crate) id: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) data: String,
}

impl Client {
    /// A client of a server that runs elsewhere.
    pub(crate) fn outside(address: Address) -> Self {
        let client = SocketClient::builder(TokioExecutor::new()).build_http();
        Self {
            transport: Transport::Socket(Box::new(client)),
            authority: address.address.to_string(),
            url: address.url,
            token: address.token,
            holder: Some(Holder {
                pid: address.pid,
                since: address.since.map_or_else(now, of_system),
            }),
        }
    }

    /// A client of what this process has opened itself.
    pub(crate) fn inside(way_in: LocalAccess) -> Self {
        Self {
            transport: Transport::Inside(way_in.router),
            url: format!("http://{}", way_in.authority),
            authority: way_in.authority,
            token: way_in.token,
            holder: None,
        }
    }

    /// The process that it asks, if that is another.
    pub(crate) fn holder(&self) -> Option<Holder> {
        self.holder
    }

    /// Which server it asks, as `host:port`.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// Where other clients reach the relay of that server.
    pub(crate) fn relay_url(&self) -> String {
        relay_url(&self.url)
    }

    /// Calls a method of the agent service.
    ///
    /// # Errors
    /// The refusal, or that the server cannot be reached.
    pub(crate) async fn agent<A>(&self, method: &str, params: &impl Serialize) -> Result<A, Failure>
    where
        A: DeserializeOwned,
    {
        let path = format!("{BASE_PATH}/{method}");
        self.ask(Method::POST, &path, Some(params)).await
    }

    /// Reads what stands at a path.
    ///
    /// # Errors
    /// As [`Client::agent`].
    pub(crate) async fn get<A: DeserializeOwned>(&self, path: &str) -> Result<A, Failure> {
        self.ask(Method::GET, path, None::<&Value>).await
    }

    /// Reads what stands at a path, with the headers of the answer.
    ///
    /// # Errors
    /// As [`Client::agent`].
    pub(crate) async fn get_with_headers<A>(&self, path: &str) -> Result<(HeaderMap, A), Failure>
    where
        A: DeserializeOwned,
    {
        let answer = async {
            let response = self.send(Method::GET, path, None::<&Value>).await?;
            let headers = response.headers().clone();
            Ok((headers, read(response).await?))
        };
        let (headers, body) = in_time(answer).await?;
        let answer = serde_json::from_slice(&body).map_err(|error| Failure::broken(&error))?;
        Ok((headers, answer))
    }

    /// The frames of what is streamed at a path, with the headers of the answer.
    ///
    /// # Errors
    /// As [`Client::agent`].
    pub(crate) async fn stream(&self, path: &str) -> Result<(HeaderMap, Frames), Failure> {
        let response = in_time(self.send(Method::GET, path, None::<&Value>)).await?;
        let headers = response.headers().clone();
        Ok((headers, frames(response)))
    }

    /// Posts to a path.
    ///
    /// # Errors
    /// As [`Client::agent`].
    pub(crate) async fn post<A>(&self, path: &str, params: &impl Serialize) -> Result<A, Failure>
    where
        A: DeserializeOwned,
    {
        self.ask(Method::POST, path, Some(params)).await
    }

    /// Posts to a path whose answer takes as long as there is to copy, or as a tool works.
    ///
    /// # Errors
    /// As [`Client::agent`].
    pub(crate) async fn post_patiently<A>(
        &self,
        path: &str,
        params: &impl Serialize,
    ) -> Result<A, Failure>
    where
        A: DeserializeOwned,
    {
        let body = read(self.send(Method::POST, path, Some(params)).await?).await?;
        serde_json::from_slice(&body).map_err(|error| Failure::broken(&error))
    }

    /// What stands at a path, piece by piece.
    ///
    /// # Errors
    /// As [`Client::agent`].
    pub(crate) async fn pieces(&self, path: &str) -> Result<BodyDataStream, Failure> {
        let response = in_time(self.send(Method::GET, path, None::<&Value>)).await?;
        Ok(response.into_body().into_data_stream())
    }

    /// Posts JSON lines to a path whose answer takes as long as there is to keep.
    ///
    /// # Errors
    /// As [`Client::agent`].
    pub(crate) async fn post_lines<A>(&self, path: &str, lines: Vec<u8>) -> Result<A, Failure>
    where
        A: DeserializeOwned,
    {
        let sent = self.send_as(Method::POST, path, Some(lines));
        let body = read(sent.await?).await?;
        serde_json::from_slice(&body).map_err(|error| Failure::broken(&error))
    }

    /// Replaces what stands at a path.
    ///
    /// # Errors
    /// As [`Client::agent`].
    pub(crate) async fn put<A>(&self, path: &str, params: &impl Serialize) -> Result<A, Failure>
    where
        A: DeserializeOwned,
    {
        self.ask(Method::PUT, path, Some(params)).await
    }

    /// Deletes what stands at a path.
    ///
    /// # Errors
    /// As [`Client::agent`].
    pub(crate) async fn delete<A: DeserializeOwned>(&self, path: &str) -> Result<A, Failure> {
        self.ask(Method::DELETE, path, None::<&Value>).await
    }

    /// Says a message, and gives the frames of its turn behind the one with this id, in the full
    /// profile; the last one, `[DONE]`, is not among them.
    ///
    /// # Errors
    /// As [`Client::agent`].
    pub(crate) async fn say(
        &self,
        message: &impl Serialize,
        after: Option<&str>,
    ) -> Result<Frames, Failure> {
        let path = turn_path(after);
        self.frames(Method::POST, &path, Some(message)).await
    }

    /// The frames of the turn that a session runs, or ran last, as [`Client::say`] gives them.
    ///
    /// # Errors
    /// As [`Client::agent`].
    pub(crate) async fn read(&self, session: &str, after: Option<&str>) -> Result<Frames, Failure> {
        let path = turn_path(after) + "&sessionId=" + &segment(session);
        self.frames(Method::GET, &path, None::<&Value>).await
    }

    async fn frames(
        &self,
        verb: Method,
        path: &str,
        params: Option<&impl Serialize>,
    ) -> Result<Frames, Failure> {
        let response = in_time(self.send(verb, path, params)).await?;
        Ok(frames(response))
    }

    async fn ask<A: DeserializeOwned>(
        &self,
        verb: Method,
        path: &str,
        params: Option<&impl Serialize>,
    ) -> Result<A, Failure> {
        let answer = async { read(self.send(verb, path, params).await?).await };
        let body = in_time(answer).await?;
        serde_json::from_slice(&body).map_err(|error| Failure::broken(&error))
    }

    /// Sends a request; what is not 2xx is a failure.
    async fn send(
        &self,
        verb: Method,
        path: &str,
        params: Option<&impl Serialize>,
    ) -> Result<Response<Body>, Failure> {
        let body = params.map(serde_json::to_vec).transpose();
        let body = body.map_err(|error| Failure::broken(&error))?;
        self.send_as(verb, path, body).await
    }

    async fn send_as(
        &self,
        verb: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Response<Body>, Failure> {
        let response = match &self.transport {
            Transport::Inside(router) => {
                let request = self.request(verb, path, body)?;
                // A router has an answer to everything.
                let Ok(response) = router.clone().oneshot(request).await;
                response
            }
            Transport::Socket(client) => {
                let uri = format!("http://{}{path}", self.authority);
                let request = self.request(verb, &uri, body)?;
                let sent = client.request(request).await;
                sent.map_err(|error| {
                    let gone = if error.is_connect() {
                        ServerLoss::Untaken
                    } else {
                        ServerLoss::Unsure
                    };
                    unreachable(&error.to_string()).of_gone(gone)
                })?
                .map(Body::new)
            }
        };
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let body = read(response).await?;
        let refusal: ErrorBody = serde_json::from_slice(&body)
            .map_err(|_| unreachable(&text::client::no_samovar(status.as_u16())))?;
        Err(Failure::of_refusal(refusal))
    }

    fn request(
        &self,
        verb: Method,
        uri: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Request<Body>, Failure> {
        let request = Request::builder()
            .method(verb)
            .uri(uri)
            .header(header::HOST, &self.authority)
            .header(
                header::AUTHORIZATION,
                format!("Bearer {}", self.token.expose()),
            );
        let request = match body {
            None => request.body(Body::empty()),
            Some(body) => request
                .header(header::CONTENT_TYPE, JSON)
                .body(Body::from(body)),
        };
        request.map_err(|error| Failure::broken(&error))
    }
}

/// The frames of a stream, but for the one that only ends it.
fn frames(response: Response<Body>) -> Frames {
    let frames = SseStream::from_bytes_stream(response.into_body().into_data_stream());
    let frames = frames.filter_map(async |frame| match frame {
        Ok(frame) => {
            let data = frame.data.filter(|data| data != "[DONE]")?;
            let (id, event) = (frame.id, frame.event);
            Some(Ok(Frame { id, event, data }))
        }
        Err(error) => Some(Err(unreachable(&error.to_string()))),
    });
    Box::pin(frames)
}

/// A stream ended before what it streams.
pub(crate) fn cut() -> Failure {
    unreachable(text::client::stream_cut())
}

/// Where a turn is streamed, from behind a frame.
fn turn_path(after: Option<&str>) -> String {
    let mut path = format!("{BASE_PATH}/sendMessage/stream?profile=full");
    if let Some(after) = after {
        path.push_str("&after=");
        path.push_str(&segment(after));
    }
    path
}

/// The relay's socket of a server.
pub(crate) fn relay_url(server: &str) -> String {
    // So https becomes wss.
    format!("{}{SOCKET_PATH}", server.replacen("http", "ws", 1))
}

/// A part of a path, in which every byte that means something else is encoded.
pub(crate) fn segment(raw: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::new();
    for byte in raw.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _infallible = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// A server that does not answer, such as one that is stopped, is given up.
async fn in_time<T>(answer: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let answer = tokio::time::timeout(PATIENCE, answer).await;
    answer.unwrap_or_else(|_| Err(unreachable(&text::client::silent(PATIENCE.as_secs()))))
}

async fn read(response: Response<Body>) -> Result<Bytes, Failure> {
    let limited = http_body_util::Limited::new(response.into_body(), MAX_ANSWER_BYTES);
    let body = limited.collect().await;
    let body = body.map_err(|error| unreachable(&error.to_string()))?;
    Ok(body.to_bytes())
}

/// The server went away, or it is none of ours.
fn unreachable(cause: &str) -> Failure {
    let why = text::client::unreachable(cause);
    Failure::new(Exit::Busy, "server_unreachable", why).of_gone(ServerLoss::Unsure)
}

impl Failure {
    /// What a route refused. A code that this version does not know is shown as it came.
    fn of_refusal(refusal: ErrorBody) -> Self {
        match Code::parse(&refusal.code) {
            Some(code) => {
                // What to do is another thing at a command line than for a program.
                let why = match code {
                    Code::UnknownSession => text::client::session_unknown().to_owned(),
                    // A host of the relay says which tools it has; `tools list` has none of them.
                    Code::UnknownTool if relay_code(&refusal).is_some() => refusal.error,
                    Code::InvalidParams if relay_code(&refusal) == Some("NO_ACTIVE_SPEC") => {
                        text::client::screen_empty(refusal.error)
                    }
                    Code::InvalidParams if is_unknown_message(&refusal) => {
                        text::client::message_unknown().to_owned()
                    }
                    Code::UnknownTool => text::client::tool_unknown().to_owned(),
                    Code::UnknownAgent => text::client::agent_unknown().to_owned(),
                    Code::UnknownRule => text::client::rule_unknown().to_owned(),
                    Code::UnknownApproval => text::client::approval_unknown().to_owned(),
                    Code::UnknownToken => text::client::token_unknown().to_owned(),
                    _ => refusal.error,
                };
                let gone = match code {
                    // Who brings the token of an address that has another server now.
                    Code::Unavailable | Code::Unauthorized => ServerLoss::Untaken,
                    _ => ServerLoss::No,
                };
                Self::from(samovar_core::Error::new(code, why)).of_gone(gone)
            }
            None => Self::new(Exit::TurnFailed, refusal.code, refusal.error),
        }
    }
}

/// The relay's code, if a host refused it and not the server.
fn relay_code(refusal: &ErrorBody) -> Option<&str> {
    refusal.details.as_ref()?.get("relayCode")?.as_str()
}

/// Whether a message was named that the session does not have.
fn is_unknown_message(refusal: &ErrorBody) -> bool {
    let unknown = refusal
        .details
        .as_ref()
        .and_then(|details| details.get("unknown"));
    unknown.is_some_and(|unknown| *unknown == true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_path_stays_one_part() {
        assert_eq!(segment("read_file"), "read_file");
        assert_eq!(segment("../a b/ж?"), "..%2Fa%20b%2F%D0%B6%3F");
    }
}
