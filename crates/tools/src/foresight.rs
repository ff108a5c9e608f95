//! The content that a call will give a file, recorded before the call begins: from that, a later
//! check tells whether the call was done.

use samovar_core::{Outcome, Probed};
use samovar_sandbox::{Jail, JailError, JailPath};
use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;
use crate::text::sha256;

/// The largest file that is looked at, in bytes.
const MAX_SEEN_BYTES: u64 = 64 * 1024 * 1024;
/// Places of an edit that are taken down; with more, the difference is not told again.
const MAX_PLACES: usize = 256;

/// A file before and after a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Foresight {
    /// SHA-256 of what it holds; none when it is not there.
    pub(crate) before: Option<String>,
    /// SHA-256 of what it will hold.
    pub(crate) after: String,
    /// How many places of it are edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) replacements: Option<usize>,
    /// Where these are in it, as long as there are not too many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) places: Vec<usize>,
    /// What is replaced there and by what, unless it is as the call says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) texts: Option<(String, String)>,
}

impl Foresight {
    /// A file that will hold `after`.
    pub(crate) fn new(before: Option<&[u8]>, after: &[u8]) -> Self {
        Self {
            before: before.map(sha256),
            after: sha256(after),
            replacements: None,
            places: Vec::new(),
            texts: None,
        }
    }

    /// The same, with where it is edited.
    pub(crate) fn with_places(mut self, places: &[usize]) -> Self {
        self.replacements = Some(places.len());
        if places.len() <= MAX_PLACES {
            self.places = places.to_vec();
        }
        self
    }

    /// The same, with the texts that the edit was found to mean.
    pub(crate) fn with_texts(mut self, old: String, new: String) -> Self {
        self.texts = Some((old, new));
        self
    }

    /// Tells by what the file holds now whether the call was done; `tell` says it as the call would
    /// have. A file that is neither as it was nor as it was to be is somebody else's by now.
    pub(crate) fn compare(
        &self,
        jail: &Jail,
        place: &JailPath,
        tell: impl FnOnce(&[u8]) -> Outcome,
    ) -> Probed {
        let Ok(now) = content(jail, place) else {
            return Probed::Unknown;
        };
        let hash = now.as_deref().map(sha256);
        match now {
            Some(now) if hash.as_ref() == Some(&self.after) => Probed::Done(tell(&now)),
            Some(_) | None if hash == self.before => Probed::NotDone,
            Some(_) | None => Probed::Unknown,
        }
    }
}

/// What a file holds; none when it is not there.
pub(crate) fn content(jail: &Jail, place: &JailPath) -> Result<Option<Vec<u8>>, Refusal> {
    match jail.open_file(place) {
        Ok(file) => Ok(Some(file.into_bytes(MAX_SEEN_BYTES)?)),
        Err(JailError::NotFound { .. }) => Ok(None),
        Err(other) => Err(other.into()),
    }
}
