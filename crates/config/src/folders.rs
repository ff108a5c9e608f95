//! Where this user's own files are, by the XDG base directories.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::file::hex;

/// Characters of a folder's own name that its store's name begins with, at most.
const NAME_CHARS: usize = 40;

/// Hex digits of the hash in a store's name.
const HASH_DIGITS: usize = 12;

/// The folders of this user. A path that is not absolute would lie in whatever folder somebody
/// stands in, so it counts as none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folders {
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// What the person writes: `samovar.toml`, and what is trusted.
    pub config: Option<PathBuf>,
    /// What is kept for the person.
    pub data: Option<PathBuf>,
    /// What this machine alone has to remember.
    pub state: Option<PathBuf>,
}

impl Folders {
    /// Reads them off the environment.
    pub fn of(environment: &[(OsString, OsString)]) -> Self {
        let absolute = |name: &str| {
            let mut set = environment.iter().filter(|(variable, _)| variable == name);
            let path = set.next().map(|(_, value)| PathBuf::from(value));
            path.filter(|path| path.is_absolute())
        };
        let home = absolute("HOME");
        let ours = |variable: &str, usual: &str| {
            let base = absolute(variable).or_else(|| Some(home.as_ref()?.join(usual)));
            base.map(|base| base.join("samovar"))
        };
        Self {
            config: ours("XDG_CONFIG_HOME", ".config"),
            data: ours("XDG_DATA_HOME", ".local/share"),
            state: ours("XDG_STATE_HOME", ".local/state"),
            home,
        }
    }

    /// Where the stores of folders are.
    pub fn stores(&self) -> Option<PathBuf> {
        Some(self.data.as_ref()?.join("stores"))
    }

    /// The store of a folder, given by its canonical path: the last part of the path, for people,
    /// and a hash of the whole.
    pub fn store_of(&self, folder: &Path) -> Option<PathBuf> {
        let last = folder.file_name().unwrap_or("root".as_ref());
        let last = last.to_string_lossy();
        let is_plain = |character: char| character.is_alphanumeric() || "._-".contains(character);
        let plain = last.chars().take(NAME_CHARS);
        let plain = plain.map(|character| if is_plain(character) { character } else { '_' });
        let name: String = plain.collect();
        let hash = hex(&Sha256::digest(folder.as_os_str().as_bytes()));
        let hash = hash.get(..HASH_DIGITS).unwrap_or_default();
        // A name that began with a dot would be hidden.
        let name = name.trim_start_matches('.');
        Some(self.stores()?.join(format!("{name}-{hash}")))
    }

    /// The path that somebody wrote in the folder `base`: `~/` is their home.
    pub(crate) fn absolute(&self, written: &str, base: &Path) -> PathBuf {
        match (written.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ if written == "~" => self.home.clone().unwrap_or_else(|| base.join(written)),
            _ => base.join(written),
        }
    }
}
