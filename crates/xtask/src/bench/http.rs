//! Just enough HTTP to ask the server that is measured, and to stand for one that it asks.

use std::io::{self, BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long the server may take to say something.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of a message, at most.
const MAX_MESSAGE_BYTES: u64 = 1024 * 1024;

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
        self.ask(&format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n",
            self.address
        ))
    }

    /// The status of the answer to a JSON document.
    ///
    /// # Errors
    ///
    /// There is no answer, or it is no HTTP.
    pub(crate) fn post(&mut self, path: &str, token: &str, json: &str) -> io::Result<u16> {
        self.ask(&format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{json}",
            self.address,
            json.len(),
        ))
    }

    fn ask(&mut self, request: &str) -> io::Result<u16> {
        self.stream.get_mut().write_all(request.as_bytes())?;
        answer(&mut self.stream)
    }
}

/// Reads one answer to its end, and gives its status.
fn answer(stream: &mut impl BufRead) -> io::Result<u16> {
    let first = message(stream)?;
    let status = first
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.split(' ').next());
    let status = status.and_then(|status| status.parse().ok());
    status.ok_or_else(|| wrong("no status", &first))
}

/// Reads one request to its end, and gives its path.
///
/// # Errors
///
/// It is cut, or no HTTP.
pub(crate) fn request(stream: &mut impl BufRead) -> io::Result<String> {
    let first = message(stream)?;
    let path = first.split(' ').nth(1).map(str::to_owned);
    path.ok_or_else(|| wrong("no path", &first))
}

/// Reads a message to its end, and gives its first line. One without a length is no answer.
fn message(stream: &mut impl BufRead) -> io::Result<String> {
    let mut stream = stream.take(MAX_MESSAGE_BYTES);
    let first = line(&mut stream)?;
    let mut length = first.starts_with("GET ").then_some(0_u64);
    loop {
        let header = line(&mut stream)?;
        if header.is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok();
        }
    }
    let length = length.ok_or_else(|| wrong("a message without its length", &first))?;
    let read = io::copy(&mut stream.take(length), &mut io::sink())?;
    if read < length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(first)
}

fn line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    match line.strip_suffix("\r\n") {
        Some(line) => Ok(line.to_owned()),
        None => Err(ErrorKind::UnexpectedEof.into()),
    }
}

fn wrong(what: &str, first: &str) -> Error {
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

        assert_eq!((read, stream), ([200, 503], &b""[..]));
    }

    #[test]
    fn one_request_after_another_is_read_to_its_end() {
        let two = "POST /v1/x HTTP/1.1\r\ncontent-length: 4\r\n\r\nbody\
                   GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n";
        let mut stream = two.as_bytes();

        let read = [request(&mut stream).unwrap(), request(&mut stream).unwrap()];

        assert_eq!(
            (read.join(" "), stream),
            ("/v1/x /v1/models".to_owned(), &b""[..])
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
