//! Clients of the server: calls over one connection, event streams, and many clients at once.

use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use futures_util::StreamExt;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sse_stream::SseStream;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

/// Time limit for a connection, an answer, or the next event of a stream.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The path of the stream of turns.
pub(crate) const STREAM: &str = "/services/agent/sendMessage/stream";

/// Where an event has its text: the agent service's, a UI message stream's, a model server's.
const TEXTS: [&str; 3] = ["/content", "/delta", "/choices/0/delta/content"];

/// Where a server listens, and the token of its owner.
#[derive(Clone, Deserialize)]
pub(crate) struct ServerAccess {
    pub(crate) address: SocketAddr,
    token: String,
}

/// A client with one connection for one request after another; dropped, it hangs up.
pub(crate) struct Client {
    way_in: ServerAccess,
    requests: SendRequest<Full<Bytes>>,
    connection: JoinSet<()>,
}

/// A stream of events; dropped, it hangs up.
pub(crate) struct Events {
    events: SseStream<Incoming>,
    /// `None` if a client keeps it for its next request.
    _connection: Option<JoinSet<()>>,
}

impl ServerAccess {
    /// A server that asks for no token.
    pub(crate) fn at(address: SocketAddr) -> ServerAccess {
        ServerAccess {
            address,
            token: String::new(),
        }
    }

    pub(crate) fn authorization(&self) -> String {
        format!("Bearer {}", self.token)
    }

    pub(crate) async fn connect(&self) -> Result<TcpStream> {
        let stream = timeout(PATIENCE, TcpStream::connect(self.address)).await??;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

impl Client {
    pub(crate) async fn connect(way_in: &ServerAccess) -> Result<Client> {
        let stream = TokioIo::new(way_in.connect().await?);
        let (requests, driver) = http1::handshake(stream).await?;
        let mut connection = JoinSet::new();
        connection.spawn(async {
            // The request that is under way reports the error.
            driver.await.ok();
        });
        Ok(Client {
            way_in: way_in.clone(),
            requests,
            connection,
        })
    }

    pub(crate) async fn is_ready(&mut self) -> bool {
        let response = self.request("GET", "/readyz", None).await;
        response.is_ok_and(|response| response.status() == StatusCode::OK)
    }

    pub(crate) async fn make_session(&mut self, id: &str) -> Result<Value> {
        self.call("createSession", &json!({"sessionId": id})).await
    }

    /// Calls a method of the agent service.
    pub(crate) async fn call(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.post(&format!("/services/agent/{method}"), params)
            .await
    }

    pub(crate) async fn post(&mut self, path: &str, params: &Value) -> Result<Value> {
        let response = self.request("POST", path, Some(params)).await;
        answer(path, response?).await
    }

    /// The number at a JSON pointer in the answer of a path.
    pub(crate) async fn number(&mut self, path: &str, pointer: &str) -> Result<u32> {
        let response = self.request("GET", path, None).await?;
        let found = answer(path, response).await?;
        let number = found.pointer(pointer).and_then(Value::as_u64);
        let number = number.and_then(|number| u32::try_from(number).ok());
        number.with_context(|| format!("{path} has no {pointer}: {found}"))
    }

    /// Sends a message and streams its turn.
    pub(crate) async fn send(self, session: &str, content: &str) -> Result<Events> {
        let params = json!({"sessionId": session, "content": content});
        self.events("POST", STREAM, Some(&params)).await
    }

    /// Streams the running turn of a session.
    pub(crate) async fn follow(self, session: &str) -> Result<Events> {
        let path = format!("{STREAM}?sessionId={session}");
        self.events("GET", &path, None).await
    }

    /// Streams the global chat after a message.
    pub(crate) async fn read_chat(self, after: u32) -> Result<Events> {
        let path = format!("/chat/stream?after={after}");
        self.events("GET", &path, None).await
    }

    pub(crate) async fn events(
        mut self,
        verb: &str,
        path: &str,
        params: Option<&Value>,
    ) -> Result<Events> {
        let events = self.stream(verb, path, params).await?;
        Ok(Events {
            events,
            _connection: Some(self.connection),
        })
    }

    /// Posts a message and reads the stream of its turn to the end: its text, and how long the first
    /// delta took.
    pub(crate) async fn hear(
        &mut self,
        path: &str,
        params: &Value,
    ) -> Result<(String, Option<Duration>)> {
        let began = Instant::now();
        let mut events = Events {
            events: self.stream("POST", path, Some(params)).await?,
            _connection: None,
        };
        let (mut text, mut first_after) = (String::new(), None);
        while let Some(event) = events.next::<Value>().await? {
            let mut texts = TEXTS.iter().filter_map(|at| event.pointer(at)?.as_str());
            if let Some(delta) = texts.next() {
                first_after.get_or_insert_with(|| began.elapsed());
                text.push_str(delta);
            }
        }
        // The connection takes the next request after the body's end.
        while timeout(PATIENCE, events.events.next()).await?.is_some() {}
        Ok((text, first_after))
    }

    async fn stream(
        &mut self,
        verb: &str,
        path: &str,
        params: Option<&Value>,
    ) -> Result<SseStream<Incoming>> {
        let response = self.request(verb, path, params).await?;
        if response.status() != StatusCode::OK {
            answer(path, response).await?;
            bail!("{path} is not a stream");
        }
        Ok(SseStream::new(response.into_body()))
    }

    async fn request(
        &mut self,
        verb: &str,
        path: &str,
        params: Option<&Value>,
    ) -> Result<Response<Incoming>> {
        let request = Request::builder()
            .method(verb)
            .uri(path)
            .header(HOST, self.way_in.address.to_string())
            .header(AUTHORIZATION, self.way_in.authorization())
            .header(CONTENT_TYPE, "application/json");
        let body = params.map(Value::to_string).unwrap_or_default();
        let request = request.body(Full::from(body))?;
        let sent = async {
            self.requests.ready().await?;
            self.requests.send_request(request).await
        };
        let sent = timeout(PATIENCE, sent).await;
        sent.with_context(|| format!("{path} took over {PATIENCE:?}"))?
            .with_context(|| format!("{path} was not answered"))
    }
}

async fn answer(path: &str, response: Response<Incoming>) -> Result<Value> {
    let status = response.status();
    let body = timeout(PATIENCE, response.into_body().collect()).await??;
    let body = body.to_bytes();
    if status != StatusCode::OK {
        bail!("{path}: {status} {}", String::from_utf8_lossy(&body));
    }
    serde_json::from_slice(&body).with_context(|| format!("{path} did not answer with JSON"))
}

impl Events {
    /// The next event; `None` at `[DONE]`.
    pub(crate) async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        loop {
            let next = timeout(PATIENCE, self.events.next()).await?;
            match next.context("the stream ended")??.data.as_deref() {
                Some("[DONE]") => return Ok(None),
                Some(data) => return Ok(Some(serde_json::from_str(data)?)),
                None => {}
            }
        }
    }

    /// Reads up to the nth event from here that `is_wanted`.
    pub(crate) async fn until_nth(
        &mut self,
        nth: usize,
        is_wanted: impl Fn(&Value) -> bool,
    ) -> Result<()> {
        let mut seen = 0;
        while seen < nth {
            let event = self.next().await?;
            let event = event.with_context(|| format!("the turn ended after {seen} of {nth}"))?;
            seen += usize::from(is_wanted(&event));
        }
        Ok(())
    }

    /// Reads so many deltas of text.
    pub(crate) async fn deltas(&mut self, count: usize) -> Result<()> {
        self.until_nth(count, |event| event["type"] == "text_delta")
            .await
    }
}

/// Runs tasks at the same time and returns their results in the order in which they end; the first
/// failure ends the others.
pub(crate) async fn at_once<T: Send + 'static>(
    tasks: impl IntoIterator<Item = impl Future<Output = Result<T>> + Send + 'static>,
) -> Result<Vec<T>> {
    let mut tasks: JoinSet<_> = tasks.into_iter().collect();
    let mut done = Vec::with_capacity(tasks.len());
    while let Some(joined) = tasks.join_next().await {
        done.push(joined??);
    }
    Ok(done)
}

/// Divides the numbers below `count` among connected clients that work at the same time.
pub(crate) async fn share_out<T, F>(
    way_in: &ServerAccess,
    clients: u32,
    count: u32,
    work: impl Fn(Client, Range<u32>) -> F,
) -> Result<Vec<T>>
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    let mut shares = Vec::new();
    for share in shares_of(count, clients) {
        shares.push(work(Client::connect(way_in).await?, share));
    }
    at_once(shares).await
}

fn shares_of(count: u32, clients: u32) -> impl Iterator<Item = Range<u32>> {
    let edge = move |client| client * count / clients;
    (0..clients).map(move |client| edge(client)..edge(client + 1))
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;

    #[test]
    fn each_number_is_in_one_share() {
        for (clients, count) in [(1, 0), (3, 2), (16, 100), (7, 7)] {
            let all: Vec<u32> = shares_of(count, clients).flatten().collect();
            assert!(all.into_iter().eq(0..count), "{clients} clients");
        }
    }

    #[tokio::test]
    async fn the_first_failure_is_that_of_all() {
        let fails = |number| ready((number != 2).then_some(number).context("not 2"));

        let done = at_once((0..2).map(fails)).await.unwrap();
        let failed = at_once((0..4).map(fails)).await;

        assert_eq!(done.iter().sum::<u32>(), 1);
        assert_eq!(failed.unwrap_err().to_string(), "not 2");
    }
}
