//! Which stores belong together. The journal, the history and `run.json` of a data directory carry
//! the same generation, a random number, so that a store that is gone, empty or another directory's
//! is not replaced in silence (DU-13).
//!
//! `run.json` is written, synced, before a start makes, stamps or sets aside a store, and says what is
//! under way ([`Due`]): a start that is killed in between is finished by the next. Only a start
//! that serves clears it, after both stores have their stamps on the disk. A person's fix moves what is
//! left of a store first and notes it then, so that what was refused is not served in between.
//!
//! | found | `run.json` | verdict |
//! | --- | --- | --- |
//! | a store is gone or has 0 bytes | it was being made, or no run ever served and the other store has no content, nor a generation that `run.json` lacks | it is made |
//! | the same | anything else | refused |
//! | a store has no generation | it was being made, or has none and the store has no content | not yet stamped: it is stamped |
//! | the same | anything else | another's: refused |
//! | a store has a generation | has the same, or none | it is this one |
//! | the same | has another | another's: refused |
//! | a store has a generation that does not verify | any | opened, and stamped again |
//! | both have one, not the same | has none | the journal is refused: the history has more |
//! | a store is damaged, or the history's log was removed | any | set aside or projected again, and stamped |

use std::io::{self, ErrorKind};
use std::path::Path;

use rustix::rand::{GetRandomFlags, getrandom};
use samovar_core::Broken;
use serde::{Deserialize, Serialize};

use crate::journal::from_io;

/// What the stores of one data directory have in common: 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Generation(pub(crate) String);

impl Generation {
    /// A new one.
    pub(crate) fn fresh() -> io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom(&mut bytes, GetRandomFlags::empty())?;
        Ok(Self(format!("{:032x}", u128::from_be_bytes(bytes))))
    }
}

/// What is under way with a store, as `run.json` has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Due {
    /// Nothing: it is there, with its generation.
    #[default]
    Nothing,
    /// Its generation is damaged, and it gets it again.
    Stamp,
    /// It is made: it may be gone, empty, or without a generation.
    Make,
}

/// One of the two stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// The hot one.
    Journal,
    /// The cold one.
    History,
}

/// The generation that a store was stamped with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// It was never stamped.
    Lacking,
    /// It was, and a disk changed that. Nothing else depends on the stamp, so it is written again.
    Damaged,
    /// It has this one.
    Of(Generation),
}

impl Stamp {
    /// A stamp as it was read: `None` when it does not verify.
    pub(crate) fn read(stamp: Option<Generation>) -> Self {
        stamp.map_or(Self::Damaged, Self::Of)
    }
}

/// What was found in the place of a store, before it is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// There is no file.
    Gone,
    /// The file has no byte.
    Empty,
    /// It is damaged, in these words.
    Damaged(String),
    /// A power cut tore it while it was not synced; it is wiped.
    Torn,
    /// It has no generation, and its log was removed, which may have had that.
    Cut,
    /// It can be opened.
    There {
        stamp: Stamp,
        /// Whether it holds anything of a session.
        has_content: bool,
    },
}

impl Found {
    /// Whether a store's file is not there, or has no byte; `None` when it has some.
    ///
    /// # Errors
    /// [`Broken::Io`] when the system does not say.
    pub(crate) fn missing(path: &Path) -> Result<Option<Self>, Broken> {
        match std::fs::metadata(path) {
            Ok(meta) => Ok((meta.len() == 0).then_some(Self::Empty)),
            // When a file is in the place of the folder, opening the store says so.
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(Some(Self::Gone))
            }
            Err(error) => Err(from_io(&path.display().to_string(), &error)),
        }
    }

    /// Its stamp, if it can be opened.
    pub(crate) fn stamp(&self) -> Option<&Stamp> {
        match self {
            Self::There { stamp, .. } => Some(stamp),
            Self::Gone | Self::Empty | Self::Damaged(_) | Self::Torn | Self::Cut => None,
        }
    }

    fn generation(&self) -> Option<&Generation> {
        match self.stamp()? {
            Stamp::Of(generation) => Some(generation),
            Stamp::Lacking | Stamp::Damaged => None,
        }
    }

    /// Whether a disk changed its stamp.
    pub(crate) fn has_damaged_stamp(&self) -> bool {
        self.stamp() == Some(&Stamp::Damaged)
    }

    /// Whether it was ever stamped, as far as it tells.
    fn is_stamped(&self) -> bool {
        self.stamp().is_some_and(|stamp| *stamp != Stamp::Lacking)
    }

    fn has_content(&self) -> bool {
        matches!(
            self,
            Self::There {
                has_content: true,
                ..
            }
        )
    }
}

/// Why a store is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// It is not there.
    Gone,
    /// Its file is empty.
    Empty,
    /// It belongs to another data directory.
    Another,
}

/// A store that should be there and is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Which one.
    pub store: Store,
    /// What stands in its place.
    pub lack: Lack,
}

/// What `run.json` says of the stores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) generation: Option<Generation>,
    pub(crate) journal: Due,
    pub(crate) history: Due,
    /// Whether a run has ever served.
    pub(crate) has_served: bool,
}

/// How the stores are opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The generation of both; `None` asks for a new one.
    pub(crate) generation: Option<Generation>,
    pub(crate) journal: Due,
    pub(crate) history: Due,
}

/// Decides whether the stores are opened, by the table above.
pub(crate) fn judge(marks: &Marks, journal: &Found, history: &Found) -> Result<Plan, Missing> {
    let stores = [
        (Store::History, history, marks.history, journal),
        (Store::Journal, journal, marks.journal, history),
    ];
    for (store, found, due, other) in stores {
        let lack = match found {
            Found::Gone => Lack::Gone,
            Found::Empty => Lack::Empty,
            Found::Damaged(_) | Found::Torn | Found::Cut | Found::There { .. } => continue,
        };
        // A start writes `run.json` before it stamps a store, so that file is lost.
        let is_lost = marks.generation.is_none() && other.is_stamped();
        if due != Due::Make && (marks.has_served || other.has_content() || is_lost) {
            return Err(Missing { store, lack });
        }
    }
    let generation = match (
        &marks.generation,
        journal.generation(),
        history.generation(),
    ) {
        (Some(own), _, _) => Some(own),
        (None, Some(one), Some(other)) if one != other => {
            let (store, lack) = (Store::Journal, Lack::Another);
            return Err(Missing { store, lack });
        }
        (None, one, other) => one.or(other),
    };
    for (store, found, due, _) in stores {
        let Some(stamp) = found.stamp() else { continue };
        let is_another = match stamp {
            Stamp::Of(own) => generation.is_some_and(|generation| generation != own),
            Stamp::Lacking => {
                due != Due::Make && (marks.generation.is_some() || found.has_content())
            }
            Stamp::Damaged => false,
        };
        if is_another {
            let lack = Lack::Another;
            return Err(Missing { store, lack });
        }
    }
    let due = |found: &Found| match found.stamp() {
        None | Some(Stamp::Lacking) => Due::Make,
        Some(Stamp::Of(_)) => Due::Nothing,
        Some(Stamp::Damaged) => Due::Stamp,
    };
    Ok(Plan {
        generation: generation.cloned(),
        journal: due(journal),
        history: due(history),
    })
}

/// The generation that both stores share although `run.json` has another: they were put there
/// together, so nothing but that file is in their way.
pub(crate) fn shared(journal: &Found, history: &Found) -> Option<Generation> {
    let both = journal.generation().zip(history.generation());
    both.filter(|(one, other)| one == other)
        .map(|(one, _)| one.clone())
}

#[cfg(test)]
mod tests;
