//! Who began a session.

use serde::{Deserialize, Serialize};

/// Who began a session. The owner's commands, cookie and tokens are one (MD-11).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Beginner {
    /// The owner.
    Owner,
    /// The program that has the server inside, for itself or for agents in its rooms.
    Program,
    /// The holder of another token, by its name.
    Token(String),
}

const OWNER: &str = "owner";
const PROGRAM: &str = "program";
/// What stands before a token's name.
const OF_TOKEN: &str = "token:";

impl From<Beginner> for String {
    fn from(beginner: Beginner) -> Self {
        match beginner {
            Beginner::Owner => OWNER.to_owned(),
            Beginner::Program => PROGRAM.to_owned(),
            Beginner::Token(name) => format!("{OF_TOKEN}{name}"),
        }
    }
}

impl TryFrom<String> for Beginner {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        match word.strip_prefix(OF_TOKEN) {
            Some(name) => Ok(Self::Token(name.to_owned())),
            None if word == OWNER => Ok(Self::Owner),
            None if word == PROGRAM => Ok(Self::Program),
            None => Err(format!("no kind of client begins sessions: {word:?}")),
        }
    }
}
