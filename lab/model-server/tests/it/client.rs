//! A client that reads bytes and believes nothing.

use std::{fmt::Write, io, time::Duration};

use samovar_model_server::ModelServer;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// A test that waits longer than this has hung.
const HANG: Duration = Duration::from_secs(30);

/// A wire format as its clients speak it.
pub(crate) struct Dialect {
    pub(crate) path: &'static str,
    /// The headers of a good request.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    /// What the last event of a stream holds, and what the one with its reason to finish.
    pub(crate) terminal: &'static str,
    pub(crate) finish: &'static str,
    /// A field that every prompt has, and its value.
    field: (&'static str, u64),
}

pub(crate) const DIALECTS: [&Dialect; 2] = [&OPENAI, &ANTHROPIC];

pub(crate) const OPENAI: Dialect = Dialect {
    path: "/v1/chat/completions",
    headers: &[("content-type", "application/json")],
    terminal: "[DONE]",
    finish: "\"finish_reason\":\"stop\"",
    field: ("n", 1),
};

pub(crate) const ANTHROPIC: Dialect = Dialect {
    path: "/v1/messages",
    headers: &[
        ("content-type", "application/json"),
        ("anthropic-version", "2023-06-01"),
        ("x-api-key", "sk-right"),
    ],
    terminal: "message_stop",
    finish: "\"stop_reason\":\"end_turn\"",
    field: ("max_tokens", 100),
};

impl Dialect {
    /// A prompt that asks for a stream.
    pub(crate) fn prompt(&self, user: &str) -> Value {
        let mut prompt = self.plain(user);
        prompt["stream"] = true.into();
        prompt
    }

    /// A prompt that asks for a reply in one piece.
    pub(crate) fn plain(&self, user: &str) -> Value {
        let (name, value) = self.field;
        json!({"model": "m", name: value, "messages": [{"role": "user", "content": user}]})
    }

    /// Sends `body` on a new connection and reads all that comes.
    pub(crate) async fn ask(&self, server: &ModelServer, body: &Value) -> Response {
        self.asking(server, body).await.response().await
    }

    /// A client that has sent `body` and read nothing yet.
    pub(crate) async fn asking(&self, server: &ModelServer, body: &Value) -> Client {
        let mut client = Client::connect(server).await;
        let body = body.to_string();
        client.send("POST", self.path, self.headers, &body).await;
        client
    }
}

pub(crate) struct Client {
    stream: TcpStream,
    read: Vec<u8>,
}

/// The head of a response.
pub(crate) struct Head {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
}

/// How a response's body came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    Whole,
    Closed,
    Reset,
}

/// A whole response.
pub(crate) struct Response {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
    pub(crate) end: BodyEnd,
}

impl Client {
    pub(crate) async fn connect(server: &ModelServer) -> Client {
        Client {
            stream: TcpStream::connect(server.address()).await.unwrap(),
            read: Vec::new(),
        }
    }

    pub(crate) async fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) {
        let mut request = format!("{method} {path} HTTP/1.1\r\nhost: models\r\n");
        for (name, value) in headers {
            write!(request, "{name}: {value}\r\n").unwrap();
        }
        write!(request, "content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.stream.write_all(request.as_bytes()).await.unwrap();
    }

    pub(crate) async fn response(&mut self) -> Response {
        let head = self.head().await;
        let (body, end) = self.body(&head).await;
        Response { head, body, end }
    }

    pub(crate) async fn head(&mut self) -> Head {
        let head = self.through(b"\r\n\r\n").await.expect("a head");
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_owned(), value.to_owned())
        });
        Head {
            status: status.parse().unwrap(),
            headers: headers.collect(),
        }
    }

    pub(crate) async fn body(&mut self, head: &Head) -> (Vec<u8>, BodyEnd) {
        if let Some(length) = head.header("content-length") {
            let length = length.parse().unwrap();
            return match self.exactly(length).await {
                Ok(body) => (body, BodyEnd::Whole),
                Err(end) => (std::mem::take(&mut self.read), end),
            };
        }
        assert_eq!(head.header("transfer-encoding"), Some("chunked"));
        let mut body = Vec::new();
        loop {
            match self.chunk().await {
                Ok(chunk) if chunk.is_empty() => return (body, BodyEnd::Whole),
                Ok(chunk) => body.extend(chunk),
                Err(end) => {
                    body.append(&mut self.read);
                    return (body, end);
                }
            }
        }
    }

    /// The next chunk of a chunked body; the last one is empty.
    pub(crate) async fn chunk(&mut self) -> Result<Vec<u8>, BodyEnd> {
        let line = self.through(b"\r\n").await?;
        let line = String::from_utf8(line).unwrap();
        let length = usize::from_str_radix(line.trim_end(), 16).unwrap();
        let mut chunk = self.exactly(length + 2).await?;
        assert_eq!(chunk.split_off(length), b"\r\n");
        Ok(chunk)
    }

    /// Everything until the connection ends, and how it ends.
    pub(crate) async fn rest(&mut self) -> (Vec<u8>, BodyEnd) {
        loop {
            if let Err(end) = self.more().await {
                return (std::mem::take(&mut self.read), end);
            }
        }
    }

    async fn through(&mut self, mark: &[u8]) -> Result<Vec<u8>, BodyEnd> {
        loop {
            let found = self.read.windows(mark.len()).position(|some| some == mark);
            if let Some(place) = found {
                return self.exactly(place + mark.len()).await;
            }
            self.more().await?;
        }
    }

    async fn exactly(&mut self, length: usize) -> Result<Vec<u8>, BodyEnd> {
        while self.read.len() < length {
            self.more().await?;
        }
        let rest = self.read.split_off(length);
        Ok(std::mem::replace(&mut self.read, rest))
    }

    async fn more(&mut self) -> Result<(), BodyEnd> {
        let read = self.stream.read_buf(&mut self.read);
        match timeout(HANG, read).await.expect("the server says nothing") {
            Ok(0) => Err(BodyEnd::Closed),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Err(BodyEnd::Reset),
            Err(error) => panic!("reading from the server: {error}"),
        }
    }
}

impl Head {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

impl Response {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The JSON of every event of a stream with `\n` line ends, or the one of the whole body.
    pub(crate) fn data(&self) -> Vec<Value> {
        let lines = self.text().lines();
        let lines = lines.map(|line| line.strip_prefix("data: ").unwrap_or(line));
        lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// The text that a reply says, whatever its dialect.
    pub(crate) fn said(&self) -> String {
        let pointers = [
            "/choices/0/delta/content",
            "/choices/0/message/content",
            "/delta/text",
            "/content/0/text",
        ];
        let all = self.data();
        let texts = all
            .iter()
            .flat_map(|data| pointers.iter().filter_map(|at| data.pointer(at)?.as_str()));
        texts.collect()
    }
}
