//! What the server trusts of a workspace, before and after commands: what a command made of it, or what
//! may be a command's, is not trusted (TL-18).
//!
//! A mount keeps a trusted file from a command as long as it stands, so a change is the person's then.
//! Nothing can be mounted on a name that is missing or a link; the person's own work drops a mount; and
//! without namespaces nothing is mounted. There it is put aside, and what was there is put back.
//!
//! Everything is done beneath the workspace, held open, so that no link of a command leads out of it.

mod place;
mod was;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{AtFlags, FileType, Mode};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use self::place::{Place, Trail, reach};
use self::was::{Budget, Was};
use super::git_config;
use super::lookout::Spare;
use super::plan::{Level, View};
use crate::small::{SmallFiles, Survival};
use crate::sys;

/// How often a name is looked at that another command changes meanwhile.
const ATTEMPTS: usize = 8;
/// The folder of the repository, if that is not elsewhere.
const GIT: &str = ".git";
/// The settings of a repository, of which some may stay, no matter who made them.
const GIT_CONFIG: &str = "config";
/// What becomes these settings by a rename. Until then git reads nothing of it.
const GIT_CONFIG_LOCK: &str = "config.lock";
/// The folder with the programs that git runs by their names.
const GIT_HOOKS: &str = "hooks";
/// How the files are called there that git runs for nothing.
const SAMPLE: &[u8] = b".sample";

/// What was put aside at the end of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PutAside {
    /// What is no more under its trusted name.
    pub moved: Vec<Moved>,
    /// Names that could not be given back what they had, relative to the workspace.
    pub stays: Vec<PathBuf>,
}

impl PutAside {
    fn add(&mut self, more: &Self) {
        self.moved.extend_from_slice(&more.moved);
        let new = more.stays.iter().filter(|it| !self.stays.contains(it));
        let new: Vec<_> = new.cloned().collect();
        self.stays.extend(new);
    }
}

/// What a command, or another program meanwhile, had made of a trusted name. Paths are relative to the
/// workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The name.
    pub name: PathBuf,
    /// Where it is now; `None` if the name was removed.
    pub to: Option<PathBuf>,
    /// Whether the name had something when commands began.
    pub was_there: bool,
    /// Whether it has that again.
    pub is_back: bool,
}

/// A trusted name, relative to the workspace, and what it had when commands began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Name {
    path: PathBuf,
    was: Was,
    /// Whether it is in a folder to which `.git` leads.
    #[serde(default)]
    is_led_to: bool,
}

/// What is known of the mounts on trusted names.
#[derive(Clone, Copy)]
enum Stood<'a> {
    /// These stood until the command had ended. Only the person can change a name then.
    On(&'a [PathBuf]),
    /// Each stood that is still the same file, because only another one can take its place there.
    OnTheSame,
}

/// The trusted names, and a note of them on disk, so that a start after a kill knows.
#[derive(Debug)]
pub(super) struct Trusted {
    workspace: PathBuf,
    level: Level,
    root: Arc<OwnedFd>,
    note: Option<PathBuf>,
    shared: Mutex<Shared>,
    /// For [`super::lookout`].
    pub(super) spare: Spare,
}

/// What the commands that run at once have in common: what a name had when the first began is what it
/// gets back, until the last has ended.
#[derive(Debug, Default)]
struct Shared {
    running: BTreeMap<RunId, Run>,
    next: RunId,
    names: Vec<Name>,
    /// Whether a name has not got back what it had.
    is_owing: bool,
    is_noted: bool,
}

/// The number of a command that runs.
pub(super) type RunId = u64;

/// A command that runs.
#[derive(Debug)]
struct Run {
    writes: bool,
    /// What was put aside at the ends of others since it began: it may be this command's.
    aside: PutAside,
}

impl Trusted {
    pub(super) fn new(workspace: &Path, level: Level, note: Option<PathBuf>) -> io::Result<Self> {
        Ok(Self {
            workspace: workspace.to_owned(),
            level,
            root: Arc::new(open(workspace)?),
            note,
            shared: Mutex::default(),
            spare: Spare::default(),
        })
    }

    /// Looks at the names. Called before each command; returns its number, and the names on which no mount
    /// counts: they had nothing, or led through a link, when the first of the commands that run now began.
    pub(super) fn begin(&self, view: &View, writes: bool) -> io::Result<(RunId, Vec<PathBuf>)> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = shared.running.is_empty() && !shared.is_owing;
        let mut names = if is_first {
            Vec::new()
        } else {
            shared.names.clone()
        };
        let mut budget = Budget::new();
        let mut trail = Trail::new(&self.root);
        for whole in &view.kept {
            let path = self.inside(whole);
            if !names.iter().any(|it: &Name| path.starts_with(&it.path)) {
                let name = Name::of(&mut trail, path, &shared.names, &mut budget);
                let is_led_to = view.git.iter().skip(1).any(|it| whole.starts_with(it));
                names.extend(name.map(|name| Name { is_led_to, ..name }));
            }
        }
        if shared.names != names {
            shared.names = names;
            shared.is_noted = false;
        }
        self.write_note(&mut shared)?;
        let id = shared.next;
        shared.next += 1;
        let aside = PutAside::default();
        shared.running.insert(id, Run { writes, aside });
        let names = &shared.names;
        let is_passing = |path: &Path| {
            names.iter().any(|it| match it.was {
                Was::Missing => path == it.path,
                Was::Link(_) => path.starts_with(&it.path),
                Was::File { .. } | Was::Folder { .. } | Was::Unkept(_) => false,
            })
        };
        let kept = view.kept.iter();
        let passing = kept.filter(|it| is_passing(self.inside(it)));
        Ok((id, passing.cloned().collect()))
    }

    /// A path below the workspace, relative to it.
    pub(super) fn inside<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.workspace).unwrap_or(path)
    }

    /// What the names had stays on disk; that commands run is noted while they do.
    fn write_note(&self, shared: &mut Shared) -> io::Result<()> {
        let Some(note) = &self.note else {
            return Ok(());
        };
        if !shared.is_noted {
            let (folder, name) = list_of(note).ok_or(io::ErrorKind::InvalidInput)?;
            let list = serde_json::to_vec(&(&self.workspace, self.level, &shared.names))?;
            SmallFiles::of(folder)?.write(&name, &list, Survival::Writer)?;
            shared.is_noted = true;
        }
        fs::write(note, "")
    }

    /// A name by which git runs at once more than before commands began, and which no mount keeps from
    /// them. Called while a command runs that may write.
    pub(super) fn obeyed(&self) -> Option<PathBuf> {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let is_open = |it: &&Name| {
            self.level != Level::Namespaces || matches!(it.was, Was::Missing | Was::Link(_))
        };
        let mut open = shared.names.iter().filter(is_open);
        let mut trail = Trail::new(&self.root);
        open.find_map(|it| it.obeyed(&mut trail))
    }

    pub(super) fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// Puts aside what is not the person's. Called after each command, with the names on which its
    /// mounts stood until it had ended. Returns what was put aside while it ran: nothing tells its maker
    /// from the other commands that could write.
    pub(super) fn end(&self, id: RunId, stood: &[PathBuf]) -> PutAside {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut run) = shared.running.remove(&id) else {
            return PutAside::default();
        };
        let has_writers = shared.running.values().any(|it| it.writes);
        if has_writers && !run.writes {
            return run.aside;
        }
        // While others run, their git may be about to rename its file.
        let is_settled = |it: &&Name| !(has_writers && it.is_gits(GIT_CONFIG_LOCK));
        let names = shared.names.iter().filter(is_settled);
        let found = put_aside(&self.root, names, Stood::On(stood));
        for other in shared.running.values_mut().filter(|it| it.writes) {
            other.aside.add(&found);
        }
        run.aside.add(&found);
        shared.is_owing = !found.stays.is_empty();
        self.leave(&shared);
        run.aside
    }

    /// The same for a command that did not begin.
    pub(super) fn never_began(&self, id: RunId) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.running.remove(&id);
        self.leave(&shared);
    }

    /// Without commands that run there is nothing to note.
    fn leave(&self, shared: &Shared) {
        let is_over = shared.running.is_empty() && !shared.is_owing;
        if let Some(note) = self.note.as_ref().filter(|_| is_over) {
            // A note that stays is read at the next start, which finds nothing to put aside.
            let _stays = fs::remove_file(note);
        }
    }
}

/// The workspace, how commands are shut in, and the names, as they are kept for a note.
type Noted = (PathBuf, Level, Vec<Name>);

/// Where the list of names is kept for a note.
fn list_of(note: &Path) -> Option<(&Path, String)> {
    let name = Path::new(note.file_name()?).with_extension("trusted");
    Some((note.parent()?, name.to_str()?.to_owned()))
}

/// Whether nothing was at a trusted path when the commands began that run now, by their note: what is there
/// may be theirs.
pub fn may_be_a_commands(note: &Path, path: &Path) -> bool {
    let list = list_of(note).filter(|_| note.exists());
    let list = list.and_then(|(folder, name)| fs::read(folder.join(name)).ok());
    let noted = list.and_then(|list| serde_json::from_slice::<Noted>(&list).ok());
    noted.is_some_and(|(workspace, _, names)| {
        let missing = names.iter().filter(|it| it.was == Was::Missing);
        let mut missing = missing.map(|it| workspace.join(&it.path));
        missing.any(|missing| missing == path)
    })
}

/// Puts aside what commands made that ran when a server was killed; what that was. Called before anything
/// trusts such a name, when no cage lives any more.
///
/// # Errors
/// The note cannot be read, or something cannot be moved.
pub fn put_aside_after_kill(note: &Path) -> io::Result<PutAside> {
    let mut aside = PutAside::default();
    if !note.try_exists()? {
        return Ok(aside);
    }
    let list = list_of(note).map(|(folder, name)| fs::read(folder.join(name)));
    let list = match list {
        Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Some(Ok(list)) => list,
        Some(Err(_)) | None => Vec::new(),
    };
    let noted: Option<Noted> = serde_json::from_slice(&list).ok();
    if let Some((workspace, level, names)) = noted
        && let Ok(root) = open(&workspace)
    {
        let stood = match level {
            Level::Namespaces => Stood::OnTheSame,
            Level::Landlock | Level::Off => Stood::On(&[]),
        };
        aside = put_aside(&Arc::new(root), &names, stood);
        if let Some(path) = aside.stays.first() {
            let path = workspace.join(path);
            let why = format!("move {} away, which a command made", path.display());
            return Err(io::Error::other(why));
        }
    }
    fs::remove_file(note)?;
    Ok(aside)
}

fn open(workspace: &Path) -> io::Result<OwnedFd> {
    let flags = sys::STAND | rustix::fs::OFlags::CLOEXEC;
    Ok(rustix::fs::open(workspace, flags, Mode::empty())?)
}

fn put_aside<'a>(
    root: &Arc<OwnedFd>,
    names: impl IntoIterator<Item = &'a Name>,
    stood: Stood<'_>,
) -> PutAside {
    let mut all = PutAside::default();
    let mut trail = Trail::new(root);
    for name in names {
        let mut tries = (0..ATTEMPTS).map(|_| name.settle(&mut trail, stood));
        match tries.find(Result::is_ok) {
            Some(Ok(Some(moved))) => {
                tracing::warn!(
                    ?moved,
                    "what is trusted by its name may be a command's; it was put aside"
                );
                all.moved.push(moved);
            }
            Some(Ok(None) | Err(_)) => {}
            None => {
                tracing::error!(path = ?name.path, "what is trusted by its name may be a command's, and cannot be put aside");
                all.stays.push(name.path.clone());
            }
        }
    }
    all
}

impl Name {
    /// `None` for what cannot be looked at.
    fn of(trail: &mut Trail<'_>, path: &Path, known: &[Self], budget: &mut Budget) -> Option<Self> {
        let place = Place::of(trail, path).ok()?;
        let Some(found) = &place.found else {
            return Some(Self::new(path, Was::Missing));
        };
        // A file or link in the place of a folder is what is trusted.
        let path = &place.path;
        let known = known.iter().find(|it| it.path == *path).map(|it| &it.was);
        let was = Was::of((&place.dir, place.name().ok()?), found, known, budget);
        Some(Self::new(path, was))
    }

    fn new(path: &Path, was: Was) -> Self {
        Self {
            path: path.to_owned(),
            was,
            is_led_to: false,
        }
    }

    /// Whether git obeys what is there.
    fn is_of_git(&self) -> bool {
        self.is_led_to || self.path.starts_with(GIT)
    }

    /// Whether it is what git calls so.
    fn is_gits(&self, name: &str) -> bool {
        self.is_of_git() && self.path.ends_with(name)
    }

    /// Gives the name back what it had, unless it has that, or what it has is the person's or harmless.
    fn settle(&self, trail: &mut Trail<'_>, stood: Stood<'_>) -> rustix::io::Result<Option<Moved>> {
        if self.is_unchanged(&Place::of(trail, &self.path)?)? {
            return Ok(None);
        }
        // Folders may have been replaced, and are from here on.
        trail.forget();
        let place = Place::of(trail, &self.path)?;
        trail.forget();
        if self.is_unchanged(&place)? {
            return Ok(None);
        }
        let is_itself = place.path == self.path;
        if is_itself && (self.is_persons(&place, stood) || self.is_harmless(&place)) {
            return Ok(None);
        }
        let to = if place.found.is_some() {
            Some(self.move_aside(&place)?)
        } else {
            None
        };
        let restored = self.restore(place, to.as_deref());
        let was_there = self.was != Was::Missing;
        let is_back = was_there && restored.is_ok();
        if let Err(error) = restored {
            tracing::warn!(path = ?self.path, %error, "what a trusted name had is not there again");
        }
        let (name, to) = (
            self.path.clone(),
            to.filter(|to| !to.as_os_str().is_empty()),
        );
        Ok(Some(Moved {
            name,
            to,
            was_there,
            is_back,
        }))
    }

    fn is_unchanged(&self, place: &Place) -> rustix::io::Result<bool> {
        let Some(found) = &place.found else {
            return Ok(self.was == Was::Missing);
        };
        let name = place.name()?;
        Ok(place.path == self.path && self.was.is_what_was_found(&place.dir, name, found))
    }

    /// What git finds there and obeys at once, if that is more than before.
    fn obeyed(&self, trail: &mut Trail<'_>) -> Option<PathBuf> {
        if !self.is_of_git() || self.is_gits(GIT_CONFIG_LOCK) {
            return None;
        }
        let place = Place::of(trail, &self.path).ok();
        let place = place.filter(|it| it.found.is_some())?;
        let is_known =
            self.is_unchanged(&place).ok()? || place.path == self.path && self.is_harmless(&place);
        (!is_known).then_some(place.path)
    }

    /// Renames what is there; its new place. What a command made of nothing, and what cannot be renamed,
    /// is removed.
    fn move_aside(&self, place: &Place) -> rustix::io::Result<PathBuf> {
        place.move_aside().or_else(|error| match self.was {
            Was::Missing | Was::Link(_) => {
                let removed = rustix::fs::unlinkat(&place.dir, place.name()?, AtFlags::empty());
                removed.map(|()| PathBuf::new()).map_err(|_| error)
            }
            _ => Err(error),
        })
    }

    fn restore(&self, place: Place, aside: Option<&Path>) -> rustix::io::Result<()> {
        if self.was == Was::Missing {
            return Ok(());
        }
        let aside = aside.filter(|_| place.path == self.path);
        let place = place.make(&self.path)?;
        let aside = aside.and_then(Path::file_name);
        let aside = aside.map(|name| (&*place.dir, name));
        self.was.restore(&place.dir, place.name()?, aside)
    }

    /// Whether only the person can have changed it: a mount kept it from the command.
    fn is_persons(&self, place: &Place, stood: Stood<'_>) -> bool {
        let Ok(name) = place.name() else {
            return false;
        };
        let stood = match stood {
            Stood::On(names) => names.iter().any(|it| it.starts_with(&self.path)),
            Stood::OnTheSame => self.was.is_itself(&place.dir, name),
        };
        // A further name of a file has no mount.
        stood && !was::is_linked(&place.dir, name, 0)
    }

    /// Whether git runs nothing because of it that it did not run before.
    fn is_harmless(&self, place: &Place) -> bool {
        let Ok(name) = place.name() else {
            return false;
        };
        if self.is_gits(GIT_CONFIG) {
            let old = match &self.was {
                Was::Missing => Some(&[][..]),
                Was::File { text, .. } => Some(&text.0[..]),
                _ => None,
            };
            let new = was::text_of(&place.dir, name);
            // One without a name is being replaced by a program that runs, after whose end it is judged
            // again; the kernel takes milliseconds for that where another command has a mount on it.
            let new = new.ok().filter(|(stat, _)| sys::links(stat) <= 1);
            return old
                .zip(new)
                .is_some_and(|(old, (_, new))| git_config::runs_no_more(old, &new));
        }
        self.is_gits(GIT_HOOKS) && self.was == Was::Missing && has_samples(place, name)
    }
}

/// Whether a folder has nothing but files that git runs for nothing, as `git init` makes it.
fn has_samples(place: &Place, name: &OsStr) -> bool {
    let samples = || {
        let held = reach(&place.dir, || {
            sys::open_beneath(&place.dir, name, sys::LIST)
        })?;
        for name in was::names(&held)? {
            let stat = sys::stat_in(&held, &name)?;
            let is_sample = name.as_bytes().ends_with(SAMPLE);
            if !is_sample || sys::file_type(&stat) != FileType::RegularFile || sys::links(&stat) > 1
            {
                return Err(Errno::INVAL);
            }
        }
        Ok(())
    };
    samples().is_ok()
}
