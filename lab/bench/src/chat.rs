//! A client of the agent service: sessions, messages, and what the server tells of itself.

use std::fmt::Display;
use std::net::TcpStream;
use std::ops::Range;
use std::thread;

use crate::events::Events;
use crate::http::{Answer, Connection};
use crate::program::WayIn;

/// One client, with one connection for one call after another.
pub(crate) struct Chat<'a> {
    way_in: &'a WayIn,
    connection: Connection,
}

impl<'a> Chat<'a> {
    /// Connects.
    ///
    /// # Errors
    ///
    /// The server cannot be reached.
    pub(crate) fn open(way_in: &'a WayIn) -> Result<Chat<'a>, String> {
        let connection = connect(way_in)?;
        Ok(Chat { way_in, connection })
    }

    /// Makes a session under an id.
    ///
    /// # Errors
    ///
    /// It was not made.
    pub(crate) fn make_session(&mut self, id: &str) -> Result<(), String> {
        let params = format!(r#"{{"sessionId":"{id}"}}"#);
        self.call("createSession", &params).map(drop)
    }

    /// Calls a method, and answers with the JSON of its result.
    ///
    /// # Errors
    ///
    /// It was refused.
    pub(crate) fn call(&mut self, method: &str, params: &str) -> Result<String, String> {
        let path = path_of(method);
        let answer = self.connection.post(&self.way_in.token, &path, params);
        result(method, answer.map_err(|cause| unanswered(method, &cause))?)
    }

    /// The number that stands under a name in what is told at a path.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(crate) fn number_at(&mut self, path: &str, name: &str) -> Result<u32, String> {
        let answer = self.connection.get_as(&self.way_in.token, path);
        let told = result(path, answer.map_err(|cause| unanswered(path, &cause))?)?;
        number(&told, name).ok_or_else(|| format!("{path} has no {name}: {told}"))
    }
}

/// Says something in a session, and streams its turn over a connection of its own.
///
/// # Errors
///
/// It was not accepted.
pub(crate) fn say(way_in: &WayIn, session: &str, words: &str) -> Result<Events, String> {
    let method = "sendMessage/stream";
    let params = message(session, words);
    let connection = connect(way_in)?;
    let events = connection.post_for_events(&way_in.token, &path_of(method), &params);
    events.map_err(|cause| unanswered(method, &cause))
}

/// Asks for the stream of the turn that runs in a session, and takes nothing of it.
///
/// # Errors
///
/// The server cannot be reached.
pub(crate) fn stall(way_in: &WayIn, session: &str) -> Result<TcpStream, String> {
    let path = format!("{}?sessionId={session}", path_of("sendMessage/stream"));
    let stalled = connect(way_in)?.ask_and_leave_unread(&way_in.token, &path);
    stalled.map_err(|cause| unanswered(&path, &cause))
}

/// The parameters of a message.
pub(crate) fn message(session: &str, words: &str) -> String {
    format!(r#"{{"sessionId":"{session}","content":"{words}"}}"#)
}

/// Does something for each of so many numbers, by so many clients at once that each take a stretch
/// of them. What they answer is in the order of the stretches; the first failure is that of all.
///
/// # Errors
///
/// What the first of them that failed said.
pub(crate) fn share_out<T: Send>(
    clients: usize,
    count: usize,
    work: impl Fn(Range<usize>) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let work = &work;
    let edge = |client: usize| client * count / clients;
    thread::scope(|scope| {
        let stretches = (0..clients).map(|client| edge(client)..edge(client + 1));
        let shares = stretches.map(|stretch| scope.spawn(move || work(stretch)));
        let shares: Vec<_> = shares.collect();
        let done = shares.into_iter().map(|share| match share.join() {
            Ok(done) => done,
            Err(_) => Err("a client of the bench broke".to_owned()),
        });
        done.collect()
    })
}

/// The text that stands under a name in JSON, up to its first quotation mark.
pub(crate) fn text<'j>(json: &'j str, name: &str) -> Option<&'j str> {
    let (_, rest) = json.split_once(&format!("\"{name}\":\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

/// The number that stands under a name in JSON.
pub(crate) fn number(json: &str, name: &str) -> Option<u32> {
    let (_, rest) = json.split_once(&format!("\"{name}\":"))?;
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next();
    digits?.parse().ok()
}

fn connect(way_in: &WayIn) -> Result<Connection, String> {
    let connected = Connection::open(way_in.address);
    connected.map_err(|cause| format!("the server cannot be reached: {cause}"))
}

fn path_of(method: &str) -> String {
    format!("/services/agent/{method}")
}

fn result(asked: &str, answer: Answer) -> Result<String, String> {
    match answer.status {
        200 => Ok(answer.body),
        status => Err(unanswered(asked, &format!("{status} {}", answer.body))),
    }
}

fn unanswered(asked: &str, why: &dyn Display) -> String {
    format!("{asked} was not answered well: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_out_is_done_once_each_and_a_failure_is_told() {
        for (clients, count) in [(1, 0), (3, 2), (16, 100), (7, 7)] {
            let done = share_out(clients, count, |stretch| Ok(stretch.collect::<Vec<_>>()));
            let all: Vec<usize> = (0..count).collect();
            assert_eq!(done.unwrap().concat(), all, "{clients} clients");
        }
        let fails = |stretch: Range<usize>| match stretch.start {
            0 => Ok(()),
            start => Err(format!("not from {start} on")),
        };
        let failed = share_out(4, 8, fails);

        assert_eq!(failed, Err("not from 2 on".to_owned()));
    }

    #[test]
    fn texts_and_numbers_are_found_by_their_names() {
        let json = r#"{"turnId":"t-1","store":{"journalCommits":42,"isFull":false}}"#;

        assert_eq!(text(json, "turnId"), Some("t-1"));
        assert_eq!(number(json, "journalCommits"), Some(42));
        assert_eq!((text(json, "id"), number(json, "isFull")), (None, None));
    }
}
