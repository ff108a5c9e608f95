//! The list of what a person trusts, in their configuration folder.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use samovar_locale as locale;
use serde::{Deserialize, Serialize};

use crate::error::{ConfigError, Problem};
use crate::file;

/// The name of the list.
pub(super) const LIST_NAME: &str = "trusted.toml";
/// Files, and folders, that are remembered; the ones that were decided about first are forgotten.
const MAX_TRUSTED: usize = 500;
const HEADER: &str =
    "# Made by `samovar config trust`: files and folders that a person trusts.\n\n";

/// What a person decided.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    #[serde(default, rename = "file")]
    files: Vec<FileRow>,
    #[serde(default, rename = "folder")]
    folders: Vec<FolderRow>,
}

/// A file that is trusted as long as it has these bytes.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct FileRow {
    path: String,
    sha256: String,
}

/// A folder, and whether it is trusted.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct FolderRow {
    path: String,
    trusted: bool,
}

impl List {
    /// The hash of the bytes with which a file is trusted.
    pub(super) fn sha256_of(&self, file: &Path) -> Option<&String> {
        let row = self.files.iter().find(|row| Path::new(&row.path) == file)?;
        Some(&row.sha256)
    }

    /// Whether a folder is trusted; `None` before the first question.
    pub(super) fn folder(&self, folder: &Path) -> Option<bool> {
        let is_it = |row: &&FolderRow| Path::new(&row.path) == folder;
        self.folders.iter().find(is_it).map(|row| row.trusted)
    }

    /// Trusts a file with these bytes.
    ///
    /// # Errors
    /// Its path is no text.
    pub(super) fn trust_file(&mut self, file: &Path, sha256: &str) -> Result<(), String> {
        let path = text(file)?;
        self.files.retain(|row| row.path != path);
        let sha256 = sha256.to_owned();
        self.files.push(FileRow { path, sha256 });
        let surplus = self.files.len().saturating_sub(MAX_TRUSTED);
        self.files.drain(..surplus);
        Ok(())
    }

    /// Notes what was decided about a folder.
    ///
    /// # Errors
    /// Its path is no text.
    pub(super) fn decide(&mut self, folder: &Path, trusted: bool) -> Result<(), String> {
        let path = text(folder)?;
        self.folders.retain(|row| row.path != path);
        self.folders.push(FolderRow { path, trusted });
        let surplus = self.folders.len().saturating_sub(MAX_TRUSTED);
        self.folders.drain(..surplus);
        Ok(())
    }
}

fn text(path: &Path) -> Result<String, String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| locale::config::path_not_text().to_owned())
}

/// Reads the list.
///
/// # Errors
/// [`Problem::Unreadable`].
pub(super) fn read(list: &Path) -> Result<List, ConfigError> {
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

/// Changes the list in a configuration folder. Gives its path.
///
/// # Errors
/// [`Problem::Homeless`] and [`Problem::Unwritable`].
pub(super) fn change(
    folder: Option<&Path>,
    change: impl FnOnce(&mut List) -> Result<(), String>,
) -> Result<PathBuf, ConfigError> {
    let folder = folder.ok_or(Problem::Homeless)?;
    let list = folder.join(LIST_NAME);
    let unwritable = |why: String| Problem::Unwritable {
        file: list.clone(),
        why,
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
    let mut trusted = read(&list)?;
    change(&mut trusted).map_err(unwritable)?;
    let text = toml::to_string(&trusted).map_err(|error| unwritable(error.to_string()))?;
    replace(&list, format!("{HEADER}{text}").as_bytes()).map_err(failed)?;
    held.sync_all().map_err(failed)?;
    Ok(list)
}

/// Writes a file that is there as a whole or not at all, for its owner alone.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&fresh, path)
}
