//! Which files of folders may open something, and which folders are trusted (FC-3).
//!
//! What lies in a workspace is not trusted: it may have come with a clone, and an agent writes
//! there. So a file is trusted by the bytes that it has and the folder in which they count, and the
//! list of them lies where only the person writes.

mod folder;
mod list;

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use crate::error::{ConfigError, Problem};
use crate::explain::masked;
use crate::file::Content;
use crate::folders::Folders;
use crate::keys::Keys;
use crate::layer::{Layer, LayerValue};
use crate::origin::{Origin, Owner};
use crate::resolve::{Sources, read_file};

pub use self::folder::FolderTrust;
use self::list::LIST_NAME;

/// What a file may and may not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustState {
    /// It sets nothing that would need trust.
    Harmless,
    /// All that it sets counts.
    Trusted,
    /// It is refused.
    Untrusted,
}

/// The file of the current folder, for the question whether to trust it.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The file.
    pub file: PathBuf,
    /// Whether it is trusted already, or need not be.
    pub standing: TrustState,
    /// What it would open, in the order of the file.
    pub widening: Vec<Widening>,
    sha256: String,
    folder: Option<PathBuf>,
}

/// A key that counts in a trusted file alone.
#[derive(Clone, Debug, Serialize)]
pub struct Widening {
    /// The key.
    pub key: String,
    /// Its value; a secret is masked.
    pub value: Value,
    /// Its origin.
    pub origin: Origin,
}

impl Sources {
    /// The file of the current folder, read once; `None` if there is none.
    ///
    /// # Errors
    /// [`ConfigError`] when it, or the list of what is trusted, cannot be read.
    pub fn candidate(&self) -> Result<Option<Candidate>, ConfigError> {
        let (keys, folders) = (&self.keys, self.folders());
        let Some(content) = self.read_here(&folders)? else {
            return Ok(None);
        };
        let layer = read_file(keys, &Owner::Here(content.path.clone()), &content)?;
        let widening: Vec<_> = widening(keys, &layer)
            .map(|given| Widening {
                key: given.key.clone(),
                value: keys
                    .get(&given.key)
                    .map_or(Value::Null, |key| masked(key, &given.value)),
                origin: given.origin.clone(),
            })
            .collect();
        let standing = match widening.as_slice() {
            [] => TrustState::Harmless,
            _ if Trust::of(&folders).holds(&content)? => TrustState::Trusted,
            _ => TrustState::Untrusted,
        };
        Ok(Some(Candidate {
            file: content.path,
            standing,
            widening,
            sha256: content.sha256,
            folder: folders.config,
        }))
    }
}

impl Candidate {
    /// Trusts the bytes that were read, in the folder where they were. Gives the list's path.
    ///
    /// # Errors
    /// [`Problem::Homeless`] and [`Problem::Unwritable`].
    pub fn trust(&self) -> Result<PathBuf, ConfigError> {
        let folder = self.folder.as_deref();
        list::change(folder, |list| list.trust_file(&self.file, &self.sha256))
    }
}

/// The list of trusted files.
pub(crate) struct Trust {
    list: Option<PathBuf>,
}

impl Trust {
    pub(crate) fn of(folders: &Folders) -> Self {
        let list = folders.config.as_ref().map(|dir| dir.join(LIST_NAME));
        Self { list }
    }

    /// Refuses what a file sets and may not.
    pub(crate) fn admit(
        &self,
        keys: &Keys,
        content: &Content,
        layer: &Layer,
    ) -> Result<(), ConfigError> {
        let mut widening = widening(keys, layer);
        let Some(first) = widening.next() else {
            return Ok(());
        };
        if self.holds(content)? {
            return Ok(());
        }
        let rest = widening.map(|given| given.key.clone());
        let keys = [first.key.clone()].into_iter().chain(rest).collect();
        Err(ConfigError::new(
            first.origin.clone(),
            Problem::Untrusted { keys },
        ))
    }

    /// Whether these bytes are trusted in this folder.
    fn holds(&self, content: &Content) -> Result<bool, ConfigError> {
        let Some(list) = &self.list else {
            return Ok(false);
        };
        let trusted = list::read(list)?;
        let found = trusted.sha256_of(&content.path);
        Ok(found == Some(&content.sha256))
    }
}

/// What counts in a trusted file alone. A key that nobody knows would be one of these.
fn widening<'a>(keys: &'a Keys, layer: &'a Layer) -> impl Iterator<Item = &'a LayerValue> {
    let widens = |given: &&LayerValue| keys.get(&given.key).is_none_or(|key| key.widens);
    layer.iter().filter(widens)
}
