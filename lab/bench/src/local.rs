//! Model servers of this machine: one that takes connections and never says a word, and one that
//! says the same to everybody.

use std::collections::VecDeque;
use std::io::{self, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::http;

/// The model that the second one has.
pub(crate) const MODEL: &str = "bench";

/// How many connections are kept open; who asked before those has ended long ago.
const OPEN: usize = 64;

/// How long a connection may be silent.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts one that never answers, for as long as this program lives, and says where it is.
///
/// # Errors
///
/// What the system said.
pub(crate) fn silent() -> io::Result<SocketAddr> {
    start(take)
}

/// Starts one that lists [`MODEL`], which says `hi`, and says where it is.
///
/// # Errors
///
/// What the system said.
pub(crate) fn answering() -> io::Result<SocketAddr> {
    start(|listener| {
        for stream in listener.incoming().flatten() {
            // Who goes away in the middle has its reasons; the row says what came of it.
            thread::spawn(move || converse(stream).ok());
        }
    })
}

/// Listens, for as long as this program lives, and says where.
///
/// # Errors
///
/// What the system said.
pub(crate) fn start(serve: impl FnOnce(&TcpListener) + Send + 'static) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || serve(&listener));
    Ok(address)
}

/// Answers one request after another.
fn converse(stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    loop {
        let path = http::request(&mut stream)?.path;
        let (kind, body) = if path.ends_with("/chat/completions") {
            ("text/event-stream", completion())
        } else {
            let list =
                format!(r#"{{"object":"list","data":[{{"id":"{MODEL}","object":"model"}}]}}"#);
            ("application/json", list)
        };
        let length = body.len();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n");
        stream.get_mut().write_all((head + &body).as_bytes())?;
    }
}

fn completion() -> String {
    let said = chunk(r#"{"role":"assistant","content":"hi"}"#, "null");
    said + &end("stop")
}

/// A piece of an answer of [`MODEL`]: what it adds, and why it ends there if it does, as JSON.
pub(crate) fn chunk(delta: &str, finish: &str) -> String {
    format!(
        r#"data: {{"id":"1","object":"chat.completion.chunk","created":1,"model":"{MODEL}","choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#
    ) + "\n\n"
}

/// The end of an answer, and why it ends there.
pub(crate) fn end(finish: &str) -> String {
    chunk("{}", &format!("\"{finish}\"")) + "data: [DONE]\n\n"
}

fn take(listener: &TcpListener) {
    let mut open: VecDeque<TcpStream> = VecDeque::with_capacity(OPEN);
    for stream in listener.incoming().flatten() {
        if open.len() == OPEN {
            open.pop_front();
        }
        open.push_back(stream);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read};

    use super::*;

    #[test]
    fn a_request_is_taken_and_never_answered() {
        let mut stream = TcpStream::connect(silent().unwrap()).unwrap();
        stream
            .write_all(b"GET /v1/models HTTP/1.1\r\n\r\n")
            .unwrap();
        stream
            .set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();

        let silence = stream.read(&mut [0]).unwrap_err();

        assert_eq!(silence.kind(), ErrorKind::WouldBlock);
    }
}
