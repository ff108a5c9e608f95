//! A client of the server's one chat: who says something in it, and who reads along.

use crate::chat::number;
use crate::events::Events;
use crate::http::Connection;
use crate::program::WayIn;

/// One person, with one connection for one message after another.
pub(crate) struct Person<'a> {
    way_in: &'a WayIn,
    connection: Connection,
}

/// Who reads along.
pub(crate) struct Reader(Events);

impl<'a> Person<'a> {
    /// Connects.
    ///
    /// # Errors
    ///
    /// The server cannot be reached.
    pub(crate) fn open(way_in: &'a WayIn) -> Result<Person<'a>, String> {
        let connection = connect(way_in)?;
        Ok(Person { way_in, connection })
    }

    /// Says something that has no need to be escaped, and answers with its id.
    ///
    /// # Errors
    ///
    /// It was refused.
    pub(crate) fn post(&mut self, text: &str) -> Result<u32, String> {
        let json = format!(r#"{{"text":"{text}"}}"#);
        let posted = self
            .connection
            .post(&self.way_in.token, "/chat/user_message", &json);
        let answer = posted.map_err(|cause| format!("a post was not answered: {cause}"))?;
        let id = (answer.status == 200).then(|| number(&answer.body, "id"));
        id.flatten()
            .ok_or_else(|| format!("a post was answered {} {}", answer.status, answer.body))
    }
}

impl Reader {
    /// Reads along from behind an id.
    ///
    /// # Errors
    ///
    /// The server has no such stream.
    pub(crate) fn open(way_in: &WayIn, after: u32) -> Result<Reader, String> {
        let path = format!("/chat/stream?after={after}");
        let events = connect(way_in)?.get_for_events(&way_in.token, &path);
        events
            .map(Reader)
            .map_err(|cause| format!("{path} was not answered well: {cause}"))
    }

    /// The id of the next message; none for what is no message.
    ///
    /// # Errors
    ///
    /// The stream ends, or says nothing for long.
    pub(crate) fn next(&mut self) -> Result<Option<u32>, String> {
        let said = self.0.next_data();
        let said = said.map_err(|cause| format!("a reader of the chat was left alone: {cause}"))?;
        Ok(said
            .starts_with(r#"{"id":"#)
            .then(|| number(&said, "id"))
            .flatten())
    }
}

fn connect(way_in: &WayIn) -> Result<Connection, String> {
    let connected = Connection::open(way_in.address);
    connected.map_err(|cause| format!("the server cannot be reached: {cause}"))
}
