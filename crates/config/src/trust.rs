//! Which files of folders may open something.
//!
//! What lies in a workspace is not trusted: it may have come with a clone, and an agent writes
//! there. So a file is trusted by the bytes that it has and the folder in which they count, and the
//! list of them lies where only the person writes.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use samovar_locale as locale;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{ConfigError, Problem};
use crate::explain::masked;
use crate::file::{self, Content};
use crate::folders::Folders;
use crate::keys::Keys;
use crate::layer::{Layer, LayerValue};
use crate::origin::{Origin, Owner};
use crate::resolve::{Sources, read_file};

/// The name of the list, in this user's configuration folder.
const LIST_NAME: &str = "trusted.toml";
/// Files that are remembered; the ones that were trusted first are forgotten.
const MAX_TRUSTED: usize = 1_000;
const HEADER: &str = "# Made by `samovar config trust`: files whose every key counts.\n\n";

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
        let (keys, folders) = (self.keys(), self.folders());
        let Some(content) = self.read_here(&folders)? else {
            return Ok(None);
        };
        let layer = read_file(&keys, &Owner::Here(content.path.clone()), &content)?;
        let widening: Vec<_> = widening(&keys, &layer)
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
        let folder = self.folder.as_deref().ok_or(Problem::Homeless)?;
        let list = folder.join(LIST_NAME);
        let unwritable = |why: String| Problem::Unwritable {
            file: list.clone(),
            why,
        };
        let Some(path) = self.file.to_str() else {
            return Err(unwritable(locale::config::path_not_text().to_owned()).into());
        };
        let failed = |error: io::Error| unwritable(error.to_string());
        let mut builder = DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(failed)?;
        let held = File::open(folder).map_err(failed)?;
        // Two at once would each write what it read, and one would be lost.
        held.lock().map_err(failed)?;
        let mut trusted = read_list(&list)?;
        trusted.files.retain(|row| row.path != path);
        trusted.files.push(Row {
            path: path.to_owned(),
            sha256: self.sha256.clone(),
        });
        let surplus = trusted.files.len().saturating_sub(MAX_TRUSTED);
        trusted.files.drain(..surplus);
        let text = toml::to_string(&trusted).map_err(|error| unwritable(error.to_string()))?;
        replace(&list, &format!("{HEADER}{text}")).map_err(failed)?;
        held.sync_all().map_err(failed)?;
        Ok(list)
    }
}

/// The list of trusted files.
pub(crate) struct Trust {
    list: Option<PathBuf>,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default, rename = "file")]
    files: Vec<Row>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Row {
    path: String,
    sha256: String,
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
        let Some(path) = content.path.to_str() else {
            return Ok(false);
        };
        let is_it = |row: &Row| row.path == path && row.sha256 == content.sha256;
        Ok(read_list(list)?.files.iter().any(is_it))
    }
}

/// What counts in a trusted file alone. A key that nobody knows would be one of these.
fn widening<'a>(keys: &'a Keys, layer: &'a Layer) -> impl Iterator<Item = &'a LayerValue> {
    let widens = |given: &&LayerValue| keys.get(&given.key).is_none_or(|key| key.widens);
    layer.iter().filter(widens)
}

fn read_list(list: &Path) -> Result<List, ConfigError> {
    let Some(content) = file::read(list)? else {
        return Ok(List::default());
    };
    toml::from_str(&content.text).map_err(|_| {
        Problem::Unreadable {
            file: list.to_owned(),
            why: locale::config::list_unusable().to_owned(),
        }
        .into()
    })
}

/// Writes a file that is there as a whole or not at all, for its owner alone.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&fresh, path)
}
