//! Requests to change a session. Accepted or refused at once; what follows is seen as events.

use std::sync::Arc;

use samovar_locale as locale;
use serde_json::{Map, Value};

use crate::error::{Code, Error};
use crate::event::Bounds;
use crate::id::{CallId, MessageId, Seq, SessionId, TurnId};
use crate::message::Outcome;
use crate::title::Title;

/// A request to change a session.
#[derive(Clone, Debug)]
pub struct Command {
    /// Who sent it.
    pub by: Sender,
    /// The session that is to change.
    pub session: SessionId,
    /// The change.
    pub action: Action,
}

/// Who sent a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The holder of the token with this name.
    Token(Arc<str>),
    /// The person at this program's own command line.
    CommandLine,
    /// The program that has Samovar inside.
    Embedder,
}

/// What is to change.
#[derive(Clone, Debug)]
pub enum Action {
    /// Make the session, unless it exists.
    Open {
        /// The model; none for the default.
        model: Option<String>,
        /// Facts that the client wants kept.
        metadata: Map<String, Value>,
    },
    /// Say something: starts a turn, or waits in the queue for its own.
    Post {
        /// The client's id for the message; none lets the server make one.
        message: Option<MessageId>,
        /// What is said.
        text: Text,
        /// What it sets for its turn alone.
        bounds: Bounds,
        /// What happens while another turn runs.
        delivery: Delivery,
    },
    /// Change what the session is, not what was said in it.
    Change {
        /// The model from the next turn on that begins; none to leave it.
        model: Option<String>,
        /// The title, an empty one to remove it; none to leave it.
        title: Option<Title>,
    },
    /// Take back the last turn: what was said in it leaves the conversation. What its tools did is
    /// not undone.
    Undo,
    /// Close an open call from outside.
    Settle {
        /// The call.
        call: CallId,
        /// Its answer.
        outcome: Outcome,
    },
    /// Go on with the turn that a stop of the server cut, where it waits to be told so.
    Continue,
    /// Stop a turn.
    Cancel {
        /// Which; none for the one that runs.
        turn: Option<TurnId>,
    },
    /// Delete the session.
    Close,
}

/// What happens to a message while another turn runs (AS-11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// It waits for its turn.
    #[default]
    Queue,
    /// It joins the turn that runs before that asks its model again; when the turn ends before, it
    /// begins its own.
    Steer,
    /// The turn that runs is stopped, and its own begins.
    Interrupt,
    /// It is refused.
    Reject,
}

/// What was accepted. Each is kept already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// The session is there.
    Opened,
    /// The message is kept, its turn runs or waits.
    Posted {
        /// The message's id.
        message: MessageId,
        /// Its turn.
        turn: TurnId,
        /// Follow the log from behind this position to see the whole turn.
        after: Seq,
    },
    /// The session is as it was asked for.
    Changed,
    /// The turn is no part of the conversation any more.
    Undone {
        /// The turn.
        turn: TurnId,
        /// What the user had said.
        text: String,
    },
    /// The turn goes on.
    Continued,
    /// The call is closed.
    Settled,
    /// The turn has ended; or none ran, and nothing was done.
    Cancelled {
        /// Whether a turn was stopped.
        stopped: bool,
    },
    /// The session is gone.
    Closed,
}

/// What a person says: at least one visible character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text(String);

impl Text {
    /// Takes a text as it was given; it is kept unchanged.
    ///
    /// # Errors
    /// [`Code::BlankContent`] when there is nothing to see in it.
    pub fn new(raw: String) -> Result<Self, Error> {
        if is_blank(&raw) {
            return Err(Error::new(Code::BlankContent, locale::message::blank()));
        }
        Ok(Self(raw))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, owned.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// Whether a text holds nothing but what leaves no ink: white space in the sense of Unicode, control
/// characters, what is ignorable by default (`Default_Ignorable_Code_Point`), annotation marks, and the
/// few characters that are drawn empty.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(is_inkless)
}

fn is_inkless(character: char) -> bool {
    let is_ignorable = matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    );
    let is_drawn_empty = matches!(character, '\u{2800}' | '\u{1d159}');
    is_ignorable || is_drawn_empty || character.is_whitespace() || character.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_something_to_see() {
        for blank in [
            "",
            " \n\t",
            "\u{a0}\u{3000}",
            "\u{200b}\u{feff}",
            "\u{ad} \u{2060}",
            "\u{0}\u{7}\u{85}",
            "\u{2800}\u{3164}\u{115f}",
            "\u{2066}\u{202e}\u{e0020}\u{fe0f}\u{fffb}",
        ] {
            let refused = Text::new(blank.to_owned()).unwrap_err();
            assert_eq!(refused.code, Code::BlankContent, "{blank:?}");
        }
        assert_eq!(Text::new(" x ".to_owned()).unwrap().as_str(), " x ");
        for seen in [
            "\u{200b}.",
            "\u{1f468}\u{200d}\u{1f469}",
            "\u{644}",
            "\u{301}",
        ] {
            assert!(Text::new(seen.to_owned()).is_ok(), "{seen:?}");
        }
    }
}
