//! A server that answers what a test says, byte for byte, and remembers what it was asked.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use samovar_egress::{
    Answer, Bounds, Client, Failure, HeaderMap, Method, Range, Request, Resolve, Resolving, Target,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What the desk does once it was asked.
#[derive(Clone)]
pub(crate) enum Say {
    /// Sends this and closes.
    Bytes(Vec<u8>),
    /// Sends this, then the second over and over.
    Endless(Vec<u8>, Vec<u8>),
    /// Sends this, and then nothing more.
    Silence(Vec<u8>),
}

/// An answer with a body.
pub(crate) fn say(status: &str, headers: &str, body: &[u8]) -> Say {
    let length = body.len();
    let mut bytes = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n");
    if !headers.is_empty() && !headers.ends_with("\r\n") {
        bytes = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n\r\n");
    }
    let mut bytes = bytes.into_bytes();
    bytes.extend_from_slice(body);
    Say::Bytes(bytes)
}

/// A redirect.
pub(crate) fn on_to(status: u16, location: &str) -> Say {
    say(
        &format!("{status} on"),
        &format!("location: {location}"),
        b"",
    )
}

pub(crate) struct Desk {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    _serving: JoinSet<()>,
}

impl Desk {
    /// Answers the first request with the first, and so on; the last one answers all that follow.
    pub(crate) async fn open(says: impl IntoIterator<Item = Say>) -> Self {
        let mut says: VecDeque<Say> = says.into_iter().collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = asked.clone();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut talks = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let say = if says.len() > 1 {
                    says.pop_front()
                } else {
                    says.front().cloned()
                };
                talks.spawn(talk(stream, say.unwrap(), log.clone()));
            }
        });
        Self {
            address,
            asked,
            _serving: serving,
        }
    }

    /// What it was asked, head and body.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The range in which it is alone.
    pub(crate) fn range(&self) -> Range {
        self.address.to_string().parse().unwrap()
    }
}

async fn talk(mut stream: TcpStream, say: Say, log: Arc<Mutex<Vec<String>>>) {
    let Some(request) = hear(&mut stream).await else {
        return;
    };
    log.lock().unwrap().push(request);
    let (first, again, holds) = match say {
        Say::Bytes(first) => (first, None, false),
        Say::Endless(first, again) => (first, Some(again), false),
        Say::Silence(first) => (first, None, true),
    };
    let mut told = stream.write_all(&first).await;
    if let Some(again) = again {
        while told.is_ok() {
            told = stream.write_all(&again).await;
        }
    }
    if holds {
        // Until the client hangs up.
        let _end = stream.read(&mut [0; 1]).await;
    }
}

async fn hear(stream: &mut TcpStream) -> Option<String> {
    let mut heard = Vec::new();
    loop {
        let mut some = [0; 4096];
        let count = stream.read(&mut some).await.ok()?;
        heard.extend_from_slice(&some[..count]);
        let text = String::from_utf8_lossy(&heard).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let lengths = head.lines().filter_map(|line| {
                let (name, value) = line.split_once(": ")?;
                let is_length = name.eq_ignore_ascii_case("content-length");
                is_length.then(|| value.parse::<usize>().ok())?
            });
            if body.len() >= lengths.sum() {
                return Some(text);
            }
        }
        // A client that wants to talk TLS gets an answer in the open.
        if heard.first() == Some(&0x16) {
            return Some(text);
        }
        if count == 0 {
            return None;
        }
    }
}

/// A resolver that says what a test wants, once after the other, and counts.
pub(crate) struct Names {
    /// The system's errors that come first.
    pub(crate) errors: Mutex<VecDeque<i32>>,
    pub(crate) answers: Mutex<VecDeque<Vec<IpAddr>>>,
    pub(crate) asked: Mutex<Vec<String>>,
}

impl Names {
    pub(crate) fn saying<const N: usize>(answers: [&[&str]; N]) -> Arc<Self> {
        let parse = |some: &&[&str]| some.iter().map(|one| one.parse().unwrap()).collect();
        Arc::new(Self {
            errors: Mutex::default(),
            answers: Mutex::new(answers.iter().map(parse).collect()),
            asked: Mutex::default(),
        })
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        self.asked.lock().unwrap().push(host.to_owned());
        if let Some(errno) = self.errors.lock().unwrap().pop_front() {
            return Box::pin(async move { Err(io::Error::from_raw_os_error(errno)) });
        }
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or_default();
        Box::pin(async move { Ok(answer) })
    }
}

pub(crate) const BOUNDS: Bounds = Bounds {
    max_bytes: 1_000,
    timeout: Duration::from_secs(20),
    content_types: &["text/*", "application/json"],
};

pub(crate) async fn get(client: &Client, url: &str) -> Result<Answer, Failure> {
    ask(client, Method::GET, url, HeaderMap::new()).await
}

pub(crate) async fn ask(
    client: &Client,
    method: Method,
    url: &str,
    headers: HeaderMap,
) -> Result<Answer, Failure> {
    let request = Request {
        method,
        target: Target::parse(url).unwrap(),
        headers,
        body: "the body".into(),
    };
    client.send(request, &BOUNDS).await
}
