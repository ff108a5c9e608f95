//! Whether a person trusts the folder that agents work in: its files by the folder, and those that
//! tell agents how to work by what they say.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::list::{self, LIST_NAME, List};
use crate::error::{ConfigError, Problem};
use crate::file::hex;

/// The folder with the texts of trusted files, beside the list: each under its hash.
const TEXTS: &str = "trusted";
/// Bytes of such a text, at most.
const MAX_TEXT_BYTES: u64 = 64 * 1024;

/// The trust in one folder. The list is read again when it was changed, also by another process.
#[derive(Clone, Debug)]
pub struct FolderTrust(Option<Arc<Kept>>);

#[derive(Debug)]
struct Kept {
    /// This user's configuration folder.
    config: Option<PathBuf>,
    folder: PathBuf,
    seen: Mutex<Option<(Stamp, Arc<List>)>>,
}

/// What tells one state of the list from the next: it is replaced whole.
type Stamp = (u64, u64, i64, i64);

/// By default everything is trusted: an embedded server has no terminal to ask at.
impl Default for FolderTrust {
    fn default() -> Self {
        Self(None)
    }
}

impl FolderTrust {
    /// The trust of this user, whose configuration is in `config`, in a folder.
    pub fn of(config: Option<&Path>, folder: &Path) -> Self {
        Self(Some(Arc::new(Kept {
            config: config.map(Path::to_owned),
            folder: folder.canonicalize().unwrap_or_else(|_| folder.to_owned()),
            seen: Mutex::default(),
        })))
    }

    /// Whether a person trusts the folder; `None` before the first question.
    ///
    /// # Errors
    /// [`Problem::Unreadable`]: the list.
    pub fn decision(&self) -> Result<Option<bool>, ConfigError> {
        match &self.0 {
            None => Ok(Some(true)),
            Some(kept) => Ok(kept.list()?.and_then(|list| list.folder(&kept.folder))),
        }
    }

    /// Whether what its files say is text from outside. It is if the list cannot be read.
    pub fn is_foreign(&self) -> bool {
        !matches!(self.decision(), Ok(Some(true)))
    }

    /// The same of a file that is trusted by what it says. One that only lost lines is still trusted.
    pub fn is_foreign_text(&self, name: &str, text: &str) -> bool {
        let Some(kept) = &self.0 else {
            return false;
        };
        self.is_foreign() || !kept.knows(name, text)
    }

    /// What the file said when it was trusted, if it is known.
    pub fn trusted_text(&self, name: &str) -> Option<String> {
        let kept = self.0.as_ref()?;
        let list = kept.list().ok()??;
        kept.text(list.sha256_of(&kept.folder.join(name))?)
    }

    /// Keeps what a person decided about the folder, and about a file of this name with what it says.
    /// Gives the list's path.
    ///
    /// # Errors
    /// [`Problem::Homeless`] and [`Problem::Unwritable`].
    pub fn decide(
        &self,
        is_trusted: bool,
        file: Option<(&str, &str)>,
    ) -> Result<PathBuf, ConfigError> {
        let Some(kept) = &self.0 else {
            return Err(Problem::Homeless.into());
        };
        let file = file.filter(|_| is_trusted);
        if let Some((_, text)) = file {
            kept.put(text)?;
        }
        list::change(kept.config.as_deref(), |list| {
            list.decide(&kept.folder, is_trusted)?;
            file.map_or(Ok(()), |(name, text)| {
                list.trust_file(&kept.folder.join(name), &sha256(text))
            })
        })
    }
}

impl Kept {
    /// The list as it stands now; `None` where this user has no configuration folder.
    fn list(&self) -> Result<Option<Arc<List>>, ConfigError> {
        let Some(config) = &self.config else {
            return Ok(None);
        };
        let path = config.join(LIST_NAME);
        let stamp = path.metadata().ok().map(|about| stamp(&about));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(now), Some((then, list))) = (&stamp, &*seen)
            && now == then
        {
            return Ok(Some(list.clone()));
        }
        let list = Arc::new(list::read(&path)?);
        *seen = stamp.map(|stamp| (stamp, list.clone()));
        Ok(Some(list))
    }

    fn knows(&self, name: &str, text: &str) -> bool {
        let Ok(Some(list)) = self.list() else {
            return false;
        };
        let Some(trusted) = list.sha256_of(&self.folder.join(name)) else {
            return false;
        };
        *trusted == sha256(text)
            || self
                .text(trusted)
                .is_some_and(|before| only_lost_lines(&before, text))
    }

    /// The text with this hash.
    fn text(&self, hash: &str) -> Option<String> {
        let path = self.config.as_ref()?.join(TEXTS).join(hash);
        let is_small = path
            .metadata()
            .is_ok_and(|about| about.len() <= MAX_TEXT_BYTES);
        let text = std::fs::read_to_string(path).ok().filter(|_| is_small)?;
        (sha256(&text) == hash).then_some(text)
    }

    /// Keeps a text, to be compared with what comes later.
    fn put(&self, text: &str) -> Result<(), ConfigError> {
        let folder = self.config.as_ref().ok_or(Problem::Homeless)?.join(TEXTS);
        let written = std::fs::create_dir_all(&folder)
            .and_then(|()| list::replace(&folder.join(sha256(text)), text.as_bytes()));
        written.map_err(|error| {
            let why = error.to_string();
            Problem::Unwritable { file: folder, why }.into()
        })
    }
}

fn stamp(about: &Metadata) -> Stamp {
    (about.ino(), about.size(), about.mtime(), about.mtime_nsec())
}

fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// Whether every line of a text stood in another, in the same order.
fn only_lost_lines(before: &str, now: &str) -> bool {
    let mut before = before.lines();
    now.lines().all(|line| before.any(|other| other == line))
}
