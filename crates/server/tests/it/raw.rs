//! A client that writes bytes and believes nothing: for requests that no decent client sends, and
//! for answers byte for byte.

use std::fmt::Write;
use std::net::SocketAddr;
use std::time::Duration;

use samovar_testkit::App;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A test that waits longer than this has hung. Less than the server's own patience by default, so
/// that a limit that was set is told from one that was not.
pub(crate) const HANG: Duration = Duration::from_secs(10);

/// A request that is let in as it is, until a line of it is changed.
#[derive(Clone)]
pub(crate) struct Request {
    address: SocketAddr,
    verb: String,
    target: String,
    version: &'static str,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

/// An answer, its body put together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Request {
    /// A request with the token and, for a `POST`, an empty object.
    pub(crate) fn new(app: &App, verb: &str, target: &str) -> Self {
        Self::to(app.address(), app.token(), verb, target)
    }

    /// The same for a server that the kit did not start.
    pub(crate) fn to(address: SocketAddr, token: &str, verb: &str, target: &str) -> Self {
        let request = Self {
            address,
            verb: verb.to_owned(),
            target: target.to_owned(),
            version: "HTTP/1.1",
            headers: Vec::new(),
            body: Vec::new(),
        };
        let request = request
            .with("host", address.to_string())
            .with("authorization", format!("Bearer {token}"))
            .with("connection", "close");
        if verb == "POST" || verb == "PUT" {
            return request.json("{}");
        }
        request
    }

    /// Where it is sent to.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its verb.
    pub(crate) fn name(&self) -> &str {
        &self.verb
    }

    /// The same with another verb.
    pub(crate) fn verb(self, verb: &str) -> Self {
        let verb = verb.to_owned();
        Self { verb, ..self }
    }

    /// The same for another target.
    pub(crate) fn target(self, target: &str) -> Self {
        let target = target.to_owned();
        Self { target, ..self }
    }

    /// Adds a header, also beside one of its name.
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers
            .push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Leaves a header out.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(given, _)| given != name);
        self
    }

    /// Replaces a header.
    pub(crate) fn set(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.without(name).with(name, value)
    }

    /// Gives it this body, as JSON of a known length.
    pub(crate) fn json(self, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let mut request = self
            .set("content-type", "application/json")
            .set("content-length", body.len().to_string());
        body.clone_into(&mut request.body);
        request
    }

    /// Sends the body that it has in chunks of so many bytes, without saying how long it is.
    pub(crate) fn chunks_of(self, bytes: usize) -> Self {
        let mut request = self
            .without("content-length")
            .with("transfer-encoding", "chunked");
        let mut body = Vec::new();
        for chunk in request.body.chunks(bytes) {
            body.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            body.extend_from_slice(chunk);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"0\r\n\r\n");
        request.body = body;
        request
    }

    /// Speaks the version of HTTP that knows no `Host`.
    pub(crate) fn http_1_0(mut self) -> Self {
        self.version = "HTTP/1.0";
        self
    }

    /// The whole request.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} {}\r\n", self.verb, self.target, self.version).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(format!("{name}: ").as_bytes());
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Sends it on a connection of its own.
    pub(crate) async fn send(&self) -> Response {
        let (mut reader, mut writer) = connect(self.address).await.into_split();
        let bytes = self.bytes();
        // Whoever has been refused early does not take the rest.
        let write = async { writer.write_all(&bytes).await.ok() };
        let (_, read) = tokio::join!(write, rest(&mut reader));
        Response::read(&read)
            .unwrap_or_else(|| panic!("no answer to {} {}", self.verb, self.target))
    }
}

impl Response {
    /// Reads an answer; none when its head is not there.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&bytes[..end]).expect("a head is ASCII");
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
        let mut response = Self {
            status,
            headers: headers.collect(),
            body: String::new(),
        };
        let body = match response.header("transfer-encoding") {
            Some(_) => dechunked(&bytes[end + 4..]),
            None => bytes[end + 4..].to_owned(),
        };
        response.body = String::from_utf8(body).expect("a body is UTF-8");
        Some(response)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut named = self.headers.iter().filter(|(given, _)| given == name);
        named.next().map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null when it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    /// What a refusal says: a sentence, or the one in its JSON.
    pub(crate) fn why(&self) -> String {
        let said = self.json()["error"].as_str().map(str::to_owned);
        said.unwrap_or_else(|| self.body.clone())
    }

    /// The `code` of a refusal.
    pub(crate) fn code(&self) -> String {
        match self.header("x-samovar-code") {
            Some(code) => code.to_owned(),
            None => self.json()["code"].as_str().unwrap_or_default().to_owned(),
        }
    }
}

pub(crate) async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.expect("a connection")
}

/// Reads until the other side closes, with or without ceremony.
pub(crate) async fn rest(reader: &mut (impl AsyncReadExt + Unpin)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = timeout(HANG, reader.read_to_end(&mut bytes)).await;
    // What came before a reset counts.
    let _was_reset = read.expect("the server closes the connection").is_err();
    bytes
}

fn dechunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..end]).expect("a size is ASCII");
        let size = usize::from_str_radix(size, 16).expect("a size is hexadecimal");
        let Some(chunk) = bytes.get(end + 2..end + 2 + size).filter(|_| size > 0) else {
            break;
        };
        body.extend_from_slice(chunk);
        bytes = &bytes[end + 4 + size..];
    }
    body
}

/// A text as it stands in a query, every byte of it in hexadecimal.
pub(crate) fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        write!(encoded, "%{byte:02X}").unwrap();
    }
    encoded
}
