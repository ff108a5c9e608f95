//! Where a value comes from.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Where a value comes from. An earlier variant wins over a later one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "lowercase")]
pub enum Origin {
    /// The command line.
    Flag {
        /// The flag as it is typed: `--model`.
        name: String,
    },
    /// The environment.
    Variable {
        /// Its name.
        name: String,
    },
    /// The file of the current folder.
    Here(Location),
    /// The file of this user.
    User(Location),
    /// Nobody said anything.
    Default,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
}

/// Whose file is read.
#[derive(Clone, Debug)]
pub(crate) enum Owner {
    Here(PathBuf),
    User(PathBuf),
}

impl Owner {
    pub(crate) fn at(&self, line: usize, column: usize) -> Origin {
        let place = |file: &Path| Location {
            file: file.to_owned(),
            line,
            column,
        };
        match self {
            Self::Here(file) => Origin::Here(place(file)),
            Self::User(file) => Origin::User(place(file)),
        }
    }
}

/// In few words: `--model`, `AGENT_MODEL`, `./samovar.toml:3:1`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag { name } | Self::Variable { name } => f.write_str(name),
            Self::Here(Location { line, column, .. }) => {
                write!(f, "./{}:{line}:{column}", crate::FILE_NAME)
            }
            Self::User(Location { file, line, column }) => {
                write!(f, "{}:{line}:{column}", file.display())
            }
            Self::Default => f.write_str("default"),
        }
    }
}
