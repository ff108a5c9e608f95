//! Just enough HTTP to ask the server that is measured, and to stand for one that it asks.

use std::io::{self, BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::events::Events;

/// How long the server may take to say something.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of a message, at most.
const MAX_MESSAGE_BYTES: u64 = 1024 * 1024;

/// 16 bytes that a handshake wants, in Base64. They need not be secret.
const KEY: &str = "c2Ftb3ZhciBiZW5jaCAhIQ==";

/// A connection that is kept for one request after another.
pub(crate) struct Connection {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    ///
    /// Nobody listens there.
    pub(crate) fn open(address: SocketAddr) -> io::Result<Connection> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let stream = BufReader::new(stream);
        Ok(Connection { address, stream })
    }

    /// The status of the answer.
    ///
    /// # Errors
    ///
    /// There is no answer, or it is no HTTP.
    pub(crate) fn get(&mut self, path: &str) -> io::Result<u16> {
        let host = self.address;
        let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n");
        Ok(self.ask(&request)?.status)
    }

    /// The answer to the server's owner.
    ///
    /// # Errors
    ///
    /// There is no answer, or it is no HTTP.
    pub(crate) fn get_as(&mut self, token: &str, path: &str) -> io::Result<Answer> {
        let head = self.head("GET", path, token);
        self.ask(&format!("{head}\r\n"))
    }

    /// The answer to a JSON document of the server's owner.
    ///
    /// # Errors
    ///
    /// There is no answer, or it is no HTTP.
    pub(crate) fn post(&mut self, token: &str, path: &str, json: &str) -> io::Result<Answer> {
        let request = self.document(token, path, json);
        self.ask(&request)
    }

    /// The same, where the answer is a stream of events.
    ///
    /// # Errors
    ///
    /// The answer is no stream.
    pub(crate) fn post_for_events(self, token: &str, path: &str, json: &str) -> io::Result<Events> {
        let request = self.document(token, path, json);
        self.events(&request)
    }

    /// A stream of events for the server's owner.
    ///
    /// # Errors
    ///
    /// The answer is no stream.
    pub(crate) fn get_for_events(self, token: &str, path: &str) -> io::Result<Events> {
        let head = self.head("GET", path, token);
        self.events(&format!("{head}\r\n"))
    }

    /// Asks for a stream of events, and reads not even the head of the answer.
    ///
    /// # Errors
    ///
    /// What the system said.
    pub(crate) fn ask_and_leave_unread(mut self, token: &str, path: &str) -> io::Result<TcpStream> {
        let head = self.head("GET", path, token);
        let stream = self.stream.get_mut();
        stream.write_all(format!("{head}\r\n").as_bytes())?;
        Ok(self.stream.into_inner())
    }

    /// Goes on as a WebSocket.
    ///
    /// # Errors
    ///
    /// The server does not.
    pub(crate) fn upgrade(mut self, token: &str, path: &str) -> io::Result<BufReader<TcpStream>> {
        let head = self.head("GET", path, token);
        let wish = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13";
        let request = format!("{head}{wish}\r\nsec-websocket-key: {KEY}\r\n\r\n");
        self.stream.get_mut().write_all(request.as_bytes())?;
        let (first, _) = self::head(&mut self.stream)?;
        match status(&first)? {
            101 => Ok(self.stream),
            _ => Err(wrong("no upgrade", &first)),
        }
    }

    fn document(&self, token: &str, path: &str, json: &str) -> String {
        let (head, length) = (self.head("POST", path, token), json.len());
        format!("{head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{json}")
    }

    fn head(&self, verb: &str, path: &str, token: &str) -> String {
        let host = self.address;
        format!("{verb} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n")
    }

    fn ask(&mut self, request: &str) -> io::Result<Answer> {
        self.stream.get_mut().write_all(request.as_bytes())?;
        answer(&mut self.stream)
    }

    fn events(mut self, request: &str) -> io::Result<Events> {
        self.stream.get_mut().write_all(request.as_bytes())?;
        let (first, length) = head(&mut self.stream)?;
        if status(&first)? != 200 || length.is_some() {
            return Err(wrong("no stream", &first));
        }
        Ok(Events::new(self.stream))
    }
}

/// What a server said.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// What a client asked for.
#[derive(Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) body: String,
}

/// Reads one answer to its end.
fn answer(stream: &mut impl BufRead) -> io::Result<Answer> {
    let (first, body) = message(stream)?;
    let status = status(&first)?;
    Ok(Answer { status, body })
}

fn status(first: &str) -> io::Result<u16> {
    let status = first
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.split(' ').next());
    let status = status.and_then(|status| status.parse().ok());
    status.ok_or_else(|| wrong("no status", first))
}

/// Reads one request to its end.
///
/// # Errors
///
/// It is cut, or no HTTP.
pub(crate) fn request(stream: &mut impl BufRead) -> io::Result<Request> {
    let (first, body) = message(stream)?;
    let path = first.split(' ').nth(1).map(str::to_owned);
    let path = path.ok_or_else(|| wrong("no path", &first))?;
    Ok(Request { path, body })
}

/// Reads a message to its end, and gives its first line and its body. One without a length is none.
fn message(stream: &mut impl BufRead) -> io::Result<(String, String)> {
    let mut stream = stream.take(MAX_MESSAGE_BYTES);
    let (first, length) = head(&mut stream)?;
    let is_get = first.starts_with("GET ");
    let length = length.or(is_get.then_some(0));
    let length = length.ok_or_else(|| wrong("a message without its length", &first))?;
    let mut body = String::new();
    stream.take(length).read_to_string(&mut body)?;
    if (body.len() as u64) < length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok((first, body))
}

/// Reads a head to its end, and gives its first line and how long its body is, if it says so.
fn head(stream: &mut impl BufRead) -> io::Result<(String, Option<u64>)> {
    let first = line(stream)?;
    let mut length = None;
    loop {
        let header = line(stream)?;
        if header.is_empty() {
            return Ok((first, length));
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok();
        }
    }
}

/// Reads a line of a head.
pub(crate) fn line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    match line.strip_suffix("\r\n") {
        Some(line) => Ok(line.to_owned()),
        None => Err(ErrorKind::UnexpectedEof.into()),
    }
}

/// What is no HTTP.
pub(crate) fn wrong(what: &str, first: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("{what}: {first:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(answered: &str) -> ErrorKind {
        answer(&mut answered.as_bytes()).unwrap_err().kind()
    }

    #[test]
    fn one_answer_after_another_is_read_to_its_end() {
        let two = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nx: y\r\n\r\nbody\
                   HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n";
        let mut stream = two.as_bytes();

        let read = [answer(&mut stream).unwrap(), answer(&mut stream).unwrap()];

        let read = read.map(|answer| (answer.status, answer.body));
        let wanted = [(200, "body".to_owned()), (503, String::new())];
        assert_eq!((read, stream), (wanted, &b""[..]));
    }

    #[test]
    fn one_request_after_another_is_read_to_its_end() {
        let two = "POST /v1/x HTTP/1.1\r\ncontent-length: 4\r\n\r\nbody\
                   GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n";
        let mut stream = two.as_bytes();

        let read = [request(&mut stream).unwrap(), request(&mut stream).unwrap()];

        let read = read.map(|request| format!("{} {}", request.path, request.body));
        assert_eq!(
            (read.join(";").as_str(), stream),
            ("/v1/x body;/v1/models ", &b""[..])
        );
    }

    #[test]
    fn an_answer_that_is_cut_is_none() {
        let whole = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nbody";
        for end in 0..whole.len() {
            assert_eq!(kind(&whole[..end]), ErrorKind::UnexpectedEof, "{end}");
        }
    }

    #[test]
    fn what_is_no_http_or_has_no_length_is_said() {
        let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
        for answered in [
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1 x\r\ncontent-length: 0\r\n\r\n",
            chunked,
        ] {
            assert_eq!(kind(answered), ErrorKind::InvalidData, "{answered}");
        }
    }
}
