//! Which files are looked at, and which of them say something.

use std::path::PathBuf;

use serde::Serialize;

use crate::error::ConfigError;
use crate::origin::Owner;
use crate::resolve::{FILE_NAME, Sources, read_file, read_user};
use crate::trust::TrustState;

/// A place where a configuration is looked for.
#[derive(Clone, Debug)]
pub struct Located {
    /// The file; `None` if its path is not known.
    pub path: Option<PathBuf>,
    /// What is there.
    pub state: State,
}

/// What is at such a place.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Nothing.
    Absent,
    /// A file that counts.
    Used,
    /// A file that is refused until it is trusted.
    Untrusted,
    /// A file that is refused for this.
    #[serde(untagged)]
    Wrong(#[serde(serialize_with = "spelled")] ConfigError),
}

fn spelled<S: serde::Serializer>(error: &ConfigError, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(error)
}

impl Sources {
    /// The file of the current folder, which counts more, and that of the user. No mistake in one
    /// keeps the other from being told.
    pub fn located(&self) -> [Located; 2] {
        let folders = self.folders();
        let here = match self.candidate() {
            Ok(None) => State::Absent,
            Ok(Some(candidate)) => match candidate.standing {
                TrustState::Harmless | TrustState::Trusted => State::Used,
                TrustState::Untrusted => State::Untrusted,
            },
            Err(error) => State::Wrong(error),
        };
        let user = read_user(&folders).and_then(|content| match content {
            None => Ok(State::Absent),
            Some(content) => {
                let whose = Owner::User(content.path.clone());
                read_file(&self.keys, &whose, &content).map(|_| State::Used)
            }
        });
        [
            Located {
                path: Some(self.here.join(FILE_NAME)),
                state: here,
            },
            Located {
                path: folders.config.map(|dir| dir.join(FILE_NAME)),
                state: user.unwrap_or_else(State::Wrong),
            },
        ]
    }
}
