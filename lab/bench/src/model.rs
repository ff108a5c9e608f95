//! A model server for the rows about turns: it answers as the row says, and is never what they wait
//! for.

use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use crate::http;
use crate::local::{self, chunk};

/// Bytes of the stack of who answers one request; there are a thousand of them.
const STACK_BYTES: usize = 128 * 1024;

/// It listens for as long as this program lives.
pub(crate) struct Model {
    pub(crate) address: SocketAddr,
    asked: Arc<AtomicU32>,
}

/// One request, and the way to answer it. The answer is over when this is dropped.
pub(crate) struct Talk {
    /// The JSON of the request.
    pub(crate) asked: String,
    stream: TcpStream,
}

impl Model {
    /// Starts one that does this with every request, each on a thread of its own.
    ///
    /// # Errors
    ///
    /// No port is free.
    pub(crate) fn start(
        answer: impl Fn(Talk) -> io::Result<()> + Send + Sync + 'static,
    ) -> Result<Model, String> {
        let (answer, asked) = (Arc::new(answer), Arc::new(AtomicU32::new(0)));
        let count = Arc::clone(&asked);
        let address = local::start(move |listener| {
            for stream in listener.incoming().flatten() {
                let (answer, count) = (Arc::clone(&answer), Arc::clone(&count));
                let converse = move || {
                    let talk = Talk::begin(stream)?;
                    count.fetch_add(1, Ordering::Relaxed);
                    answer(talk)
                };
                let thread = thread::Builder::new().stack_size(STACK_BYTES);
                // Who goes away in the middle has its reasons; the row says what came of it.
                if let Err(cause) = thread.spawn(converse) {
                    eprintln!("bench: a request is not answered: {cause}");
                }
            }
        });
        let address = address.map_err(|cause| format!("no port for a model server: {cause}"))?;
        Ok(Model { address, asked })
    }

    /// How many requests came.
    pub(crate) fn asked(&self) -> u32 {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Talk {
    fn begin(stream: TcpStream) -> io::Result<Talk> {
        stream.set_nodelay(true)?;
        let mut stream = BufReader::new(stream);
        let asked = http::request(&mut stream)?.body;
        let mut stream = stream.into_inner();
        stream.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
        )?;
        Ok(Talk { asked, stream })
    }

    /// The number that its user's message names behind a word; none when there is none.
    pub(crate) fn number_behind(&self, word: &str) -> Option<usize> {
        let (_, rest) = self.asked.rsplit_once(word)?;
        let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next();
        digits?.parse().ok()
    }

    /// Says the same so many times, with one write.
    ///
    /// # Errors
    ///
    /// Nobody listens any longer.
    pub(crate) fn say(&mut self, words: &str, times: usize) -> io::Result<()> {
        let piece = chunk(&format!(r#"{{"content":"{words}"}}"#), "null");
        self.stream.write_all(piece.repeat(times).as_bytes())
    }

    /// Ends an answer that is whole.
    ///
    /// # Errors
    ///
    /// Nobody listens any longer.
    pub(crate) fn end(mut self) -> io::Result<()> {
        self.stream.write_all(local::end("stop").as_bytes())
    }

    /// Calls a tool; its arguments are JSON without a backslash.
    ///
    /// # Errors
    ///
    /// Nobody listens any longer.
    pub(crate) fn call(mut self, tool: &str, arguments: &str) -> io::Result<()> {
        let arguments = arguments.replace('"', "\\\"");
        let call = format!(
            r#"{{"tool_calls":[{{"index":0,"id":"call-1","type":"function","function":{{"name":"{tool}","arguments":"{arguments}"}}}}]}}"#
        );
        let text = chunk(&call, "null") + &local::end("tool_calls");
        self.stream.write_all(text.as_bytes())
    }

    /// Waits until who asked has hung up, but no longer than so long; says whether it has.
    pub(crate) fn is_left_within(&mut self, patience: Duration) -> bool {
        let read = match self.stream.set_read_timeout(Some(patience)) {
            Ok(()) => self.stream.read(&mut [0]),
            Err(cause) => Err(cause),
        };
        !matches!(
            read.map_err(|cause| cause.kind()),
            Err(ErrorKind::WouldBlock | ErrorKind::TimedOut)
        )
    }

    /// Waits until who asked has hung up.
    pub(crate) fn wait_until_left(&mut self) {
        while !self.is_left_within(Duration::from_mins(1)) {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    const HANG: Duration = Duration::from_secs(30);

    fn ask(model: &Model, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(model.address).unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        let length = body.len();
        let request =
            format!("POST /chat/completions HTTP/1.1\r\ncontent-length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    fn rest(mut stream: TcpStream) -> String {
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        rest
    }

    #[test]
    fn a_request_is_answered_as_its_row_says_and_counted() {
        let model = Model::start(|mut talk| match talk.number_behind("turn ") {
            Some(number) => {
                talk.say("word ", number)?;
                talk.end()
            }
            None => talk.call("list_dir", r#"{"path":"."}"#),
        });
        let model = model.unwrap();

        let said = rest(ask(&model, r#"{"content":"turn 1, then turn 3"}"#));
        let called = rest(ask(&model, "{}"));

        assert_eq!(said.matches(r#""content":"word ""#).count(), 3, "{said}");
        assert!(said.contains(r#""finish_reason":"stop""#) && said.ends_with("[DONE]\n\n"));
        assert!(
            called.contains(r#""arguments":"{\"path\":\".\"}""#),
            "{called}"
        );
        assert_eq!(model.asked(), 2);
    }

    #[test]
    fn who_hangs_up_is_noticed_and_not_before() {
        let (told, heard) = sync_channel(2);
        let model = Model::start(move |mut talk| {
            told.send(talk.is_left_within(Duration::from_millis(1)))
                .ok();
            talk.wait_until_left();
            told.send(true).ok();
            Ok(())
        });

        let stream = ask(&model.unwrap(), "{}");

        assert_eq!(heard.recv_timeout(HANG), Ok(false));
        drop(stream);
        assert_eq!(heard.recv_timeout(HANG), Ok(true));
    }
}
