//! Names that the server trusts and on which nothing can be mounted, because a workspace lacks them or
//! has links there: what a command makes of them is not trusted (TL-18).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// What such a file is called then, before a number.
const ASIDE: &str = "from-exec";
/// Numbers that are tried.
const MAX_ASIDE: u32 = 1_000;

/// A name on which nothing can be mounted.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Unmounted {
    path: PathBuf,
    /// Where it leads; `None` if it is missing.
    link: Option<PathBuf>,
}

/// Notes on disk which names are missing while commands run, so that a start after a kill knows.
#[derive(Debug)]
pub(super) struct Missing {
    note: Option<PathBuf>,
    running: Mutex<usize>,
}

impl Missing {
    pub(super) fn new(note: Option<PathBuf>) -> Self {
        let running = Mutex::new(0);
        Self { note, running }
    }

    /// The names among `kept` that are missing or links. Called before each command.
    pub(super) fn begin(&self, kept: &[PathBuf]) -> io::Result<Vec<Unmounted>> {
        let missing: Vec<Unmounted> = kept.iter().filter_map(Unmounted::of).collect();
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let (0, Some(note)) = (*running, &self.note) {
            fs::write(note, serde_json::to_vec(&missing)?)?;
        }
        *running += 1;
        Ok(missing)
    }

    /// Puts aside what a command made of them, when it has ended; their new places.
    pub(super) fn end(&self, missing: &[Unmounted]) -> Vec<PathBuf> {
        let aside = put_aside(missing);
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        *running = running.saturating_sub(1);
        if let (0, Some(note)) = (*running, &self.note) {
            // A note that stays is read at the next start, which finds nothing to put aside.
            let _stays = fs::remove_file(note);
        }
        aside
    }
}

/// Puts aside what commands made that ran when a server was killed; the new places. Called before
/// anything trusts such a name, when no cage lives any more.
///
/// # Errors
/// The note cannot be read.
pub fn put_aside_after_kill(note: &Path) -> io::Result<Vec<PathBuf>> {
    let text = match fs::read(note) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text?,
    };
    let missing: Vec<Unmounted> = serde_json::from_slice(&text).unwrap_or_default();
    let aside = put_aside(&missing);
    fs::remove_file(note)?;
    Ok(aside)
}

fn put_aside(missing: &[Unmounted]) -> Vec<PathBuf> {
    let aside = missing.iter().filter_map(Unmounted::put_aside);
    aside.collect()
}

impl Unmounted {
    /// `None` for what can be mounted on.
    fn of(path: &PathBuf) -> Option<Self> {
        let link = match fs::symlink_metadata(path) {
            Ok(found) if !found.is_symlink() => return None,
            Ok(_) => Some(fs::read_link(path).ok()?),
            Err(_) => None,
        };
        let path = path.clone();
        Some(Self { path, link })
    }

    /// Gives the name back what it was; the place of what was there, if that was something else.
    fn put_aside(&self) -> Option<PathBuf> {
        let path = &self.path;
        let now = Self::of(path);
        if now.is_some_and(|now| now.link == self.link) {
            return None;
        }
        let aside = if fs::symlink_metadata(path).is_ok() {
            self.moved()
        } else {
            None
        };
        if let Some(target) = &self.link {
            // A name that cannot be given back is missing, and trusted by no one.
            let _missing = std::os::unix::fs::symlink(target, path);
        }
        aside
    }

    fn moved(&self) -> Option<PathBuf> {
        let path = &self.path;
        let name = path.file_name()?.to_string_lossy();
        let mut places = (1..MAX_ASIDE).map(|number| {
            let number = if number == 1 {
                String::new()
            } else {
                format!("-{number}")
            };
            path.with_file_name(format!("{name}.{ASIDE}{number}"))
        });
        let place = places.find(|place| fs::symlink_metadata(place).is_err())?;
        // What cannot be moved cannot stay.
        let moved = fs::rename(path, &place).is_ok();
        if !moved {
            let _stays = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
        }
        moved.then_some(place)
    }
}
