//! Requests to change a session. Each is accepted or refused at once; everything after is an event.

use std::sync::Arc;

use samovar_locale as locale;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::agent::AgentName;
use crate::approval::Answer;
use crate::beginner::Beginner;
pub use crate::blank::is_blank;
use crate::error::{Code, Error};
use crate::event::Bounds;
use crate::file_changes::RestoredFile;
use crate::history::{MessageRow, SessionRow};
use crate::id::{AgentPath, ApprovalId, CallId, MessageId, Seq, SessionId, TurnId};
use crate::image::Image;
use crate::instructions::SystemPrompt;
use crate::message::{Message, Outcome, Part, Role, Usage};
use crate::situation::Posted;
use crate::title::Title;
use crate::tool::Approval;

/// A request to change a session.
#[derive(Clone, Debug)]
pub struct Command {
    /// Who sent it.
    pub by: Sender,
    /// The session to change.
    pub session: SessionId,
    /// The change.
    pub action: Action,
}

/// Who sent a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The holder of a token.
    Token {
        /// The token's name.
        name: Arc<str>,
        /// Whether it is a token of the owner.
        is_owner: bool,
    },
    /// The person at this program's own command line.
    CommandLine,
    /// A program that embeds Samovar.
    Embedder,
}

impl Sender {
    /// Whether it may set an approval level that is wider than the server's or the session's, and say
    /// where commands find their programs.
    pub fn may_widen(&self) -> bool {
        !self.is_guest()
    }

    /// Whether it is the holder of another token than the owner's.
    pub fn is_guest(&self) -> bool {
        matches!(
            self,
            Self::Token {
                is_owner: false,
                ..
            }
        )
    }

    /// Whose a session is that it begins.
    pub fn beginner(&self) -> Beginner {
        match self {
            Self::Token {
                name,
                is_owner: false,
            } => Beginner::Token(name.to_string()),
            Self::Token { is_owner: true, .. } | Self::CommandLine => Beginner::Owner,
            Self::Embedder => Beginner::Program,
        }
    }

    /// Its name for people.
    pub fn name(&self) -> &str {
        match self {
            Self::Token { name, .. } => name,
            Self::CommandLine => "command line",
            Self::Embedder => "program",
        }
    }
}

/// The change of a command.
#[derive(Clone, Debug)]
pub enum Action {
    /// Create the session, unless it exists.
    Open(Opening),
    /// Send a message: starts a turn, or waits in the queue for its own.
    Post(Post),
    /// Send the session's message of that id again: its turn and all later ones are taken back with the
    /// same commit (UI-14).
    Rewrite(Post),
    /// Add a message that belongs to no turn and starts none (AS-17).
    Append(Box<Appended>),
    /// Create the session with what another one has; refused if it exists (AS-28).
    Copy(Box<SessionCopy>),
    /// Change the session's settings, not its messages.
    Change(Change),
    /// Take back the last turn: its messages leave the conversation. The effects of its tools
    /// remain, on files too. As every undo that names its turn, it can be sent again.
    Undo {
        /// Only if this is the last turn; `None` for any.
        turn: Option<TurnId>,
    },
    /// Take back the last turn with what its tools changed in files, as long as nothing else changed
    /// these since.
    UndoWithFiles {
        /// Only if this is the last turn; `None` for any.
        turn: Option<TurnId>,
    },
    /// Close an open call from outside.
    Settle {
        /// The call.
        call: CallId,
        /// Its outcome.
        outcome: Outcome,
    },
    /// Decide about a call that waits for an approval.
    Decide {
        /// The question.
        approval: ApprovalId,
        /// The decision.
        answer: Answer,
    },
    /// Resume the interrupted turn that waits for it.
    Continue,
    /// Stop a turn.
    Cancel {
        /// The turn; `None` for the current one.
        turn: Option<TurnId>,
    },
    /// Delete the session.
    Close,
    /// Delete the session if it has no message.
    CloseEmpty,
}

/// A session that is to be created.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// The model; `None` for the default.
    pub model: Option<String>,
    /// The client's metadata.
    pub metadata: Map<String, Value>,
    /// Its agent; `None` for the master.
    pub agent: Option<AgentName>,
    /// What its agent is told besides its own prompt.
    pub system_prompt: Option<SystemPrompt>,
    /// The approval level of its turns; `None` for the server's.
    pub approval: Option<Approval>,
}

/// A message that is sent.
#[derive(Clone, Debug)]
pub struct Post {
    /// The client's id for the message; `None` to have one generated.
    pub message: Option<MessageId>,
    /// The text.
    pub text: Text,
    /// The images, which come after the text.
    pub images: Vec<Image>,
    /// The bounds of its turn alone.
    pub bounds: Bounds,
    /// What happens when another turn is running.
    pub delivery: Delivery,
    /// What its client tells of the situation, for its turn alone.
    pub posted: Posted,
}

/// A message that is added as it is.
#[derive(Clone, Debug)]
pub struct Appended {
    /// The client's id for the message; `None` to have one generated.
    pub message: Option<MessageId>,
    /// The role of its author.
    pub role: Role,
    /// Its pieces. A message of role [`Role::Tool`] is one outcome, whose tool is the one that the
    /// call names.
    pub parts: Vec<Part>,
    /// The token usage of its model call, outside of Samovar.
    pub usage: Option<Usage>,
}

/// What a new session takes from another one.
#[derive(Clone, Debug)]
pub struct SessionCopy {
    /// The session. Its id, times, counts and position in the log are ignored; its usage is what the
    /// messages do not name.
    pub session: SessionRow,
    /// Its messages, in their order, each under an id that nothing has yet. Their turns do not count.
    pub messages: Vec<MessageRow>,
}

/// A change of a session's settings.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// The model from the next turn on; `None` if unchanged.
    pub model: Option<String>,
    /// The title, empty to remove it; `None` if unchanged.
    pub title: Option<Title>,
    /// The approval level from the next turn on; `None` if unchanged.
    pub approval: Option<Approval>,
    /// Tokens to add to those that it has used.
    pub usage: Usage,
}

impl Post {
    /// A text of which nothing more is said.
    pub fn new(text: Text, delivery: Delivery) -> Self {
        Self {
            message: None,
            text,
            images: Vec::new(),
            bounds: Bounds::default(),
            delivery,
            posted: Posted::default(),
        }
    }
}

/// What happens to a message when another turn is running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Delivery {
    /// It waits for its turn.
    #[default]
    Queue,
    /// It joins the running turn before that turn's next model call; its own turn then ends as
    /// `steered`. If the running turn ends first, the message starts its own. It cannot set bounds.
    Steer,
    /// The running turn is stopped, and its own turn starts, before waiting messages.
    Interrupt,
    /// It is refused with `session_busy`.
    Reject,
}

/// The result of an accepted command. It is already saved.
#[derive(Clone, Debug, PartialEq)]
pub enum Accepted {
    /// The session exists.
    Opened,
    /// The session exists, as a copy.
    Copied(Box<SessionRow>),
    /// The message is saved; its turn runs or waits.
    Posted {
        /// The message's id.
        message: MessageId,
        /// Its turn.
        turn: TurnId,
        /// Follow the log after this position to see the whole turn.
        after: Seq,
    },
    /// The message is saved.
    Appended {
        /// The message.
        message: Arc<Message>,
        /// The session's own agent.
        agent: AgentPath,
    },
    /// The session was changed.
    Changed,
    /// The turn was taken back.
    Undone {
        /// The turn.
        turn: TurnId,
        /// The user's message.
        text: String,
        /// What was taken back of its files; `None` for [`Action::Undo`].
        files: Option<UndoneFiles>,
    },
    /// The turn continues.
    Continued,
    /// The call is closed.
    Settled,
    /// The decision counts.
    Decided,
    /// The turn has ended; or no turn was running, and nothing was done.
    Cancelled {
        /// Whether a turn was stopped.
        stopped: bool,
    },
    /// The session was deleted.
    Closed,
}

/// What a turn changed and was taken back with it, and what was not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoneFiles {
    /// The files, in the order of their paths.
    pub restored: Vec<RestoredFile>,
    /// The tools whose effects remain, in the order of their names.
    pub remaining: Vec<String>,
}

/// The text of a person's message: at least one visible character.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Text(String);

impl Text {
    /// Takes a text, unchanged.
    ///
    /// # Errors
    /// [`Code::BlankContent`] if it has no visible character.
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
