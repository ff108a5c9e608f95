//! A server that answers each request with bytes from a list, and tells what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use serde_json::Value;

/// What is done with one request.
#[derive(Clone)]
pub(crate) enum Answer {
    /// These bytes, and the connection stays open for the next request.
    Keep(Vec<u8>),
    /// These bytes, and the connection is closed.
    Close(Vec<u8>),
    /// These bytes, and nothing more until the client goes.
    Hold(Vec<u8>),
    /// These bytes, and the second ones for ever, until the client goes.
    Flood(Vec<u8>, Vec<u8>),
}

/// A request as it came.
#[derive(Debug)]
pub(crate) struct Request {
    /// The number of its connection, from 0.
    pub(crate) connection: usize,
    /// `POST /v1/chat/completions HTTP/1.1`
    pub(crate) line: String,
    /// The other lines, names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

pub(crate) struct Server {
    /// Its base URL.
    pub(crate) base: String,
    requests: Receiver<Request>,
    /// One message for each connection that the client closed while it was held.
    left: Receiver<()>,
}

impl Server {
    /// Starts on a free port; request number n gets answer number n, whatever its connection.
    pub(crate) fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        let (tell, requests) = sync_channel(64);
        let (leave, left) = sync_channel(64);
        thread::spawn(move || {
            let mut answers = answers.into_iter();
            for connection in 0.. {
                let Ok((stream, _)) = listener.accept() else {
                    return;
                };
                serve(&stream, connection, &mut answers, &tell, &leave);
            }
        });
        Self {
            base,
            requests,
            left,
        }
    }

    /// The next request that came.
    pub(crate) fn request(&self) -> Request {
        self.requests.recv().unwrap()
    }

    /// How many requests came that nobody looked at.
    pub(crate) fn others(&self) -> usize {
        self.requests.try_iter().count()
    }

    /// Waits until the client closes a connection that is held.
    pub(crate) fn left(&self) {
        self.left.recv().unwrap();
    }
}

fn serve(
    stream: &TcpStream,
    connection: usize,
    answers: &mut impl Iterator<Item = Answer>,
    tell: &SyncSender<Request>,
    leave: &SyncSender<()>,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(request) = read(&mut reader, connection) {
        let answer = answers.next().unwrap_or(Answer::Close(Vec::new()));
        tell.send(request).ok();
        let (Answer::Keep(bytes)
        | Answer::Close(bytes)
        | Answer::Hold(bytes)
        | Answer::Flood(bytes, _)) = &answer;
        let mut stream = stream;
        // The client may be gone already, which is what some tests are about.
        stream.write_all(bytes).ok();
        match answer {
            Answer::Keep(_) => {}
            Answer::Close(_) => return,
            Answer::Hold(_) => {
                reader.read_to_end(&mut Vec::new()).ok();
                leave.send(()).ok();
                return;
            }
            Answer::Flood(_, more) => {
                while stream.write_all(&more).is_ok() {}
                leave.send(()).ok();
                return;
            }
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>, connection: usize) -> Option<Request> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let headers: Vec<_> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length")?;
    let mut body = vec![0; length.1.parse().unwrap()];
    reader.read_exact(&mut body).ok()?;
    Some(Request {
        connection,
        line: lines.swap_remove(0),
        headers,
        body: serde_json::from_slice(&body).unwrap(),
    })
}

/// A response with a body of known length.
pub(crate) fn response(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}").into_bytes()
}

/// The beginning of an event stream, and these pieces, each as its own chunk; no end.
pub(crate) fn begun(pieces: &[&[u8]]) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                transfer-encoding: chunked\r\n\r\n";
    let mut bytes = head.as_bytes().to_vec();
    bytes.extend(chunks(pieces));
    bytes
}

/// These pieces of an event stream, each as its own chunk.
pub(crate) fn chunks(pieces: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in pieces {
        bytes.extend(format!("{:x}\r\n", piece.len()).into_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// A whole event stream in these pieces.
pub(crate) fn stream(pieces: &[&[u8]]) -> Vec<u8> {
    let mut bytes = begun(pieces);
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}
