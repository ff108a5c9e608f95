//! A stream of server-sent events, read as it comes.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::net::TcpStream;

use crate::http;

/// What a turn says, as its client sees it.
pub(crate) struct Events(BufReader<Chunks<BufReader<TcpStream>>>);

/// The body of an answer whose length was not known when it began.
struct Chunks<R> {
    stream: R,
    /// Bytes that are left of the chunk that is being read.
    left: usize,
    is_over: bool,
}

impl Events {
    /// What comes behind the head of an answer.
    pub(crate) fn new(stream: BufReader<TcpStream>) -> Events {
        Events(BufReader::new(Chunks::new(stream)))
    }

    /// Reads on behind the nth event from here that has these words.
    ///
    /// # Errors
    ///
    /// The stream ends before.
    pub(crate) fn until_nth(&mut self, words: &str, nth: usize) -> Result<(), String> {
        (0..nth).try_for_each(|at| {
            until(&mut self.0, words)
                .map_err(|cause| format!("a stream ended behind {at} of {nth} {words}: {cause}"))
        })
    }

    /// What the next event says.
    ///
    /// # Errors
    ///
    /// The stream ends before.
    pub(crate) fn next_data(&mut self) -> io::Result<String> {
        next_data(&mut self.0)
    }
}

fn next_data(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if let Some(data) = line.strip_prefix("data: ") {
            return Ok(data.trim_end_matches(['\r', '\n']).to_owned());
        }
    }
}

fn until(stream: &mut impl BufRead, words: &str) -> io::Result<()> {
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if line.starts_with("data: ") && line.contains(words) {
            return Ok(());
        }
    }
}

impl<R: BufRead> Chunks<R> {
    fn new(stream: R) -> Chunks<R> {
        Chunks {
            stream,
            left: 0,
            is_over: false,
        }
    }

    /// Reads the line before a chunk; the last one has no bytes, and an empty line behind it.
    fn begin(&mut self) -> io::Result<()> {
        let size = http::line(&mut self.stream)?;
        let left = usize::from_str_radix(&size, 16);
        self.left = left.map_err(|_| http::wrong("no size of a chunk", &size))?;
        self.is_over = self.left == 0;
        if self.is_over {
            self.end()?;
        }
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        let rest = http::line(&mut self.stream)?;
        if rest.is_empty() {
            Ok(())
        } else {
            Err(http::wrong("more than its chunk", &rest))
        }
    }
}

impl<R: BufRead> Read for Chunks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !self.is_over {
            self.begin()?;
        }
        if self.is_over || buffer.is_empty() {
            return Ok(0);
        }
        let most = buffer.len().min(self.left);
        let read = self.stream.read(&mut buffer[..most])?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.left -= read;
        if self.left == 0 {
            self.end()?;
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "b\r\ndata: one\n\n\r\n14\r\n: ping\n\nid: 1\ndata: \r\n\
                          5\r\ntwo\n\n\r\n0\r\n\r\n";

    fn body(stream: &str) -> io::Result<String> {
        let mut body = String::new();
        Chunks::new(stream.as_bytes()).read_to_string(&mut body)?;
        Ok(body)
    }

    #[test]
    fn chunks_are_read_as_one_text_and_a_cut_is_noticed() {
        assert_eq!(
            body(STREAM).unwrap(),
            "data: one\n\n: ping\n\nid: 1\ndata: two\n\n"
        );
        for end in 0..STREAM.len() {
            let cut = body(&STREAM[..end]).unwrap_err();
            assert_eq!(cut.kind(), ErrorKind::UnexpectedEof, "{end}");
        }
        assert!(body("x\r\n").is_err());
        assert!(body("1\r\nab\r\n").is_err());
    }

    #[test]
    fn an_event_is_found_by_its_words_wherever_the_chunks_end() {
        let mut stream = BufReader::new(Chunks::new(STREAM.as_bytes()));

        until(&mut stream, "one").unwrap();
        until(&mut stream, "two").unwrap();

        assert!(until(&mut stream, "three").is_err());

        let mut stream = BufReader::new(Chunks::new(STREAM.as_bytes()));
        let said = [
            next_data(&mut stream).unwrap(),
            next_data(&mut stream).unwrap(),
        ];
        assert_eq!(said, ["one", "two"]);
        assert!(next_data(&mut stream).is_err());
    }
}
