//! The files of a workspace, recorded around each command that may change them, so that an undo can
//! take back what a command changed.
//!
//! Each look at the folder finds what differs from the look before. What differs was changed by the
//! command that ran meanwhile; if several ran, it is not known by which. What a file tool changed
//! meanwhile is in its own record, and no command's.

mod index;
mod look;
mod moved;
mod objects;
mod running;
mod scan;
#[cfg(test)]
mod tests;
pub(crate) mod told;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use samovar_core::{CallId, SessionId, TurnId, failpoint};
use samovar_sandbox::{Jail, SmallFiles, Survival};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::caller::Stop;
use crate::undo::{State, UndoStore};
use crate::workspace::Workspace;

use index::Index;
use objects::{Hash, Objects};
use running::RunningCommand;

pub(crate) use scan::Why;

/// The folder in the data directory.
const FOLDER: &str = "snapshots";
/// The commands that run.
const RUNNING: &str = "running";
/// Bytes of that file, at most.
const MAX_RUNNING_BYTES: u64 = 64 * 1024 * 1024;
/// Changes that an outcome names, at most.
const MAX_NAMED: usize = 100;
/// How long an undo waits for a command of its turn, which was stopped and ends.
const PATIENCE: Duration = Duration::from_secs(10);
/// What of the workspace's repository a git command changes.
const OF_GIT: [&str; 6] = [
    ".git/HEAD",
    ".git/index",
    ".git/logs/HEAD",
    ".git/packed-refs",
    ".git/refs/heads",
    ".git/refs/tags",
];

/// How much is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Files, links and folders.
    pub files: usize,
    /// Bytes of one file; a larger one is not kept.
    pub file_bytes: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Bytes of what is kept of them, compressed.
    pub stored: u64,
    /// Entries that are looked at, ignored ones included.
    pub entries: usize,
    /// Bytes of all files with rules of what is ignored.
    pub rules: u64,
}

impl Default for Bounds {
    /// 50,000 files of 16 MiB, 512 MiB in all, and 1 GiB compressed, among 200,000 entries, with 256 KiB
    /// of rules.
    fn default() -> Self {
        Self {
            files: 50_000,
            file_bytes: 16 << 20,
            bytes: 512 << 20,
            stored: 1 << 30,
            entries: 200_000,
            rules: 256 << 10,
        }
    }
}

/// Why nothing is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Uncovered {
    /// There are more files than this.
    Files(usize),
    /// There are more entries than this, ignored ones included.
    Entries(usize),
    /// The files with rules of what is ignored have more bytes than this.
    Rules(u64),
    /// They have more bytes than this.
    Bytes(u64),
    /// What the system said.
    Failed(String),
}

impl Uncovered {
    fn io(error: &io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// What a look did not cover.
pub(crate) type Gaps = Vec<(Why, String)>;

/// The recorder of a data directory.
pub struct Recorder {
    data_dir: SmallFiles,
    bounds: Bounds,
    known: Mutex<Known>,
    has_ended: Condvar,
    /// What an undo has restored since the last look: the file, and what it is now.
    restored: Mutex<Vec<(String, State)>>,
}

/// What is known of the folder.
#[derive(Default)]
struct Known {
    /// `None` until something was recorded.
    index: Option<Index>,
    is_loaded: bool,
    /// The last change of a file tool before the last look.
    mark: u64,
    running: Vec<RunningCommand>,
    /// Whether a look failed since the last one, so that a command that has ended may have changed
    /// what the next one finds.
    is_blurred: bool,
    /// When the run that was killed showed its last sign of life. What was changed later is not its
    /// command's alone: a person may have done it.
    lived_until: Option<i64>,
}

/// What a kill leaves of the commands that ran.
#[derive(Default, Serialize, Deserialize)]
struct Note<'a> {
    mark: u64,
    running: Cow<'a, [RunningCommand]>,
}

/// Whose command it is.
pub(crate) struct Caller {
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) call: CallId,
    /// Set when the call is dropped.
    pub(crate) stop: Stop,
    /// Whether it can have effects that no folder shows.
    pub(crate) reaches_out: bool,
}

/// A command that is being recorded, until this is dropped.
pub(crate) struct Recording {
    workspace: Arc<Workspace>,
    id: u64,
    git: Vec<Option<(u64, i64)>>,
    /// What was put aside when the command ended.
    aside: Vec<PathBuf>,
    is_over: bool,
}

/// What a command changed.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    /// `[{path, change}]`; `None` if that is not known.
    pub(crate) changed: Option<Vec<Value>>,
    /// How many more there are.
    pub(crate) more: usize,
    /// Why it is not known.
    pub(crate) uncovered: Option<Uncovered>,
}

impl Recorder {
    /// The recorder of a data directory. Nothing is read or made yet.
    pub fn new(data_dir: SmallFiles, bounds: Bounds) -> Self {
        Self {
            data_dir,
            bounds,
            known: Mutex::default(),
            has_ended: Condvar::new(),
            restored: Mutex::default(),
        }
    }

    /// Records the folder for commands that a stop of the server cut, before anything else runs there.
    ///
    /// # Errors
    /// What the system said.
    pub fn recover(&self, workspace: &Workspace) -> io::Result<()> {
        match self.data_dir.existing_folder(FOLDER)? {
            Some(folder) => {
                let lived_until = folder.changed(RUNNING).unwrap_or_default();
                self.recover_from(workspace, &folder, lived_until)
            }
            None => Ok(()),
        }
    }

    fn recover_from(
        &self,
        workspace: &Workspace,
        folder: &SmallFiles,
        lived_until: i64,
    ) -> io::Result<()> {
        let text = folder.read_bytes(RUNNING, MAX_RUNNING_BYTES)?;
        let (Some(text), Some(undo)) = (text, workspace.undo()) else {
            return Ok(());
        };
        let note: Note<'_> = serde_json::from_slice(&text).unwrap_or_default();
        let last = note.running.iter().map(|command| command.id).max();
        undo.reserve_to(last.unwrap_or_default())?;
        let mut known = self.known();
        self.load(workspace, &mut known)?;
        // Without it, everything would look new.
        if known.index.is_some() {
            known.mark = note.mark;
            known.lived_until = Some(lived_until);
            known.running = note.running.into_owned();
            for command in &mut known.running {
                command.is_whole = false;
            }
            let ids: Vec<u64> = known.running.iter().map(|command| command.id).collect();
            let looked = self.look(workspace, &mut known);
            known.lived_until = None;
            for id in ids {
                self.finish(undo, &mut known, id, looked.is_ok());
            }
            if let Err(why) = looked {
                tracing::warn!(?why, "what interrupted commands changed is not known");
            }
        }
        folder.remove(RUNNING)
    }

    /// Records the folder as before a command.
    ///
    /// # Errors
    /// Why nothing is covered.
    pub fn record(&self, workspace: &Workspace) -> Result<(), String> {
        let mut known = self.known();
        let loaded = self.load(workspace, &mut known);
        loaded.map_err(|error| error.to_string())?;
        let looked = self.look(workspace, &mut known);
        looked.map(drop).map_err(|why| format!("{why:?}"))
    }

    /// Records the folder before a command, unless its call was dropped: it must not start then.
    /// Blocks as long as that takes.
    pub(crate) fn begin(
        &self,
        workspace: &Arc<Workspace>,
        caller: Caller,
    ) -> (Option<Recording>, Result<Gaps, Uncovered>) {
        let Some(undo) = workspace.undo().filter(|undo| undo.is_on()) else {
            return (None, Ok(Vec::new()));
        };
        // Of one that was stopped a moment ago what it changed is known when it has ended.
        let stops = |known: &mut Known| {
            !caller.stop.is_set() && known.running.iter().any(|it| it.stop.is_set())
        };
        let waited = self
            .has_ended
            .wait_timeout_while(self.known(), PATIENCE, stops);
        let (mut known, _) = waited.unwrap_or_else(PoisonError::into_inner);
        // Of two that begin, one may have been dropped while it waited.
        if caller.stop.is_set() {
            return (None, Ok(Vec::new()));
        }
        let begun = self.begin_in(workspace, undo, &mut known, caller);
        let (id, looked) = match begun {
            Ok(begun) => begun,
            Err(error) => return (None, Err(Uncovered::io(&error))),
        };
        let recording = Recording {
            workspace: workspace.clone(),
            id,
            git: git_state(workspace.jail()),
            aside: Vec::new(),
            is_over: false,
        };
        (Some(recording), looked)
    }

    fn begin_in(
        &self,
        workspace: &Workspace,
        undo: &UndoStore,
        known: &mut Known,
        caller: Caller,
    ) -> io::Result<(u64, Result<Gaps, Uncovered>)> {
        let folder = self.load(workspace, known)?;
        let looked = self.look(workspace, known);
        let id = undo.reserve()?;
        known.running.push(RunningCommand {
            id,
            session: caller.session,
            turn: caller.turn,
            call: caller.call,
            stop: caller.stop,
            is_recorded: looked.is_ok(),
            is_whole: !caller.reaches_out && looked.as_ref().is_ok_and(covers_all),
            changes: BTreeMap::default(),
        });
        failpoint!("undo.recording.before");
        let noted = note(known, &folder, Survival::Crash);
        failpoint!("undo.recording.after");
        if let (Err(error), Some(command)) = (&noted, known.running.last_mut()) {
            command.is_recorded = false;
            return Ok((id, Err(Uncovered::Failed(error.to_string()))));
        }
        Ok((id, looked))
    }

    /// Records the folder after a command, but for what was put aside then: that may be the person's.
    fn end(&self, workspace: &Workspace, recording: &Recording) -> Recorded {
        let Some(undo) = workspace.undo() else {
            return Recorded::default();
        };
        let mut known = self.known();
        let looked = self.look(workspace, &mut known);
        let is_same = recording.git == git_state(workspace.jail());
        let mut was_recorded = false;
        if let Some(command) = known.running.iter_mut().find(|it| it.id == recording.id) {
            command.is_whole &= is_same;
            let is_aside = |path: &str| {
                recording
                    .aside
                    .iter()
                    .any(|it| Path::new(path).starts_with(it))
            };
            command.changes.retain(|path, _| !is_aside(path));
            was_recorded = command.is_recorded;
        }
        let recorded = self.finish(undo, &mut known, recording.id, looked.is_ok());
        let noted = self.data_dir.existing_folder(FOLDER).and_then(|folder| {
            let folder = folder.ok_or(io::ErrorKind::NotFound)?;
            note(&known, &folder, Survival::Writer)?;
            self.tidy(undo, &mut known, &folder)
        });
        if let Err(error) = noted {
            tracing::warn!(%error, "what commands changed is not tidied up");
        }
        drop(known);
        self.has_ended.notify_all();
        Recorded {
            uncovered: looked.err().filter(|_| was_recorded),
            ..recorded
        }
    }

    /// Takes a command out of those that run, and keeps what it changed.
    fn finish(&self, undo: &UndoStore, known: &mut Known, id: u64, is_seen: bool) -> Recorded {
        let Some(at) = known.running.iter().position(|it| it.id == id) else {
            return Recorded::default();
        };
        let command = known.running.remove(at);
        known.is_blurred |= !is_seen;
        if !command.is_recorded || !is_seen {
            return Recorded::default();
        }
        let kept = self.objects().and_then(|objects| {
            let records = command.records(&objects, self.bounds.file_bytes)?;
            undo.keep_command(id, command.call(), records)
        });
        if let Err(error) = kept {
            tracing::warn!(%error, "what a command changed cannot be taken back");
        }
        let changes = command.changes.iter();
        let named = changes
            .take(MAX_NAMED)
            .map(|(path, change)| json!({ "path": path, "change": change.verb() }));
        Recorded {
            changed: Some(named.collect()),
            more: command.changes.len().saturating_sub(MAX_NAMED),
            uncovered: None,
        }
    }

    /// Removes objects that nothing needs any more, and the oldest commands if there are too many.
    fn tidy(&self, undo: &UndoStore, known: &mut Known, folder: &SmallFiles) -> io::Result<()> {
        let Some(index) = &mut known.index else {
            return Ok(());
        };
        let is_full = |index: &Index| index.header.stored > self.bounds.stored;
        let is_due = is_full(index) || undo.was_littered() && known.running.is_empty();
        if !is_due {
            return Ok(());
        }
        let objects = Objects::of(folder)?;
        loop {
            let needed = needed(undo, index, &known.running)?;
            index.header.stored = objects.sweep(&needed)?;
            if !is_full(index) || !undo.drop_oldest_command()? {
                return index.save(folder);
            }
        }
    }

    /// Forgets the folder, unless a command can still be taken back or runs.
    pub(crate) fn forget(&self, undo: &UndoStore) -> io::Result<()> {
        let mut known = self.known();
        let folder = self.data_dir.existing_folder(FOLDER)?;
        let (Some(folder), true) = (folder, known.running.is_empty()) else {
            return Ok(());
        };
        if undo.has_commands()? {
            return Ok(());
        }
        *known = Known::default();
        Index::remove(&folder)?;
        Objects::of(&folder)?.sweep(&HashSet::default()).map(drop)
    }

    /// Waits for the commands of turns, which were stopped; whether all have ended.
    pub(crate) fn has_ended(&self, session: &SessionId, turns: &[TurnId]) -> bool {
        let runs = |known: &mut Known| {
            let mut running = known.running.iter();
            running.any(|it| it.session == *session && turns.contains(&it.turn))
        };
        let waited = self
            .has_ended
            .wait_timeout_while(self.known(), PATIENCE, runs);
        let waited = waited.unwrap_or_else(PoisonError::into_inner);
        !waited.1.timed_out()
    }

    /// Shows that the server lives while a command runs.
    pub(crate) fn show_life(&self) {
        let folder = self.data_dir.existing_folder(FOLDER);
        let touched = folder.map(|folder| folder.map(|folder| folder.touch(RUNNING)));
        if let Ok(Some(Err(error))) = touched {
            tracing::debug!(%error, "a sign of life is not kept");
        }
    }

    /// Notes that an undo has made this of a file: no command did.
    pub(crate) fn note_restored(&self, path: &str, state: State) {
        let mut restored = self.restored.lock().unwrap_or_else(PoisonError::into_inner);
        restored.push((path.to_owned(), state));
    }

    /// What an object of a change holds.
    pub(crate) fn content(&self, object: &str) -> io::Result<Option<Vec<u8>>> {
        match objects::parse(object) {
            Some(hash) => self.objects()?.read(&hash, self.bounds.file_bytes),
            None => Ok(None),
        }
    }

    fn objects(&self) -> io::Result<Objects> {
        Objects::of(&self.data_dir.folder(FOLDER)?)
    }

    fn load(&self, workspace: &Workspace, known: &mut Known) -> io::Result<SmallFiles> {
        let folder = self.data_dir.folder(FOLDER)?;
        if !known.is_loaded {
            let root = workspace.jail().identity()?;
            let index = Index::load(&folder)?;
            known.index = index.filter(|index| index.header.root == root);
            known.is_loaded = true;
        }
        Ok(folder)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // What is in memory was taken over whole or not at all.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recording {
    /// Ends it.
    pub(crate) fn end(mut self, aside: Vec<PathBuf>) -> Recorded {
        self.aside = aside;
        self.finish()
    }

    fn finish(&mut self) -> Recorded {
        self.is_over = true;
        let recorder = self.workspace.recorder();
        recorder.map_or_else(Recorded::default, |it| it.end(&self.workspace, self))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if !self.is_over {
            self.finish();
        }
    }
}

/// The objects that an index or a change needs.
fn needed(
    undo: &UndoStore,
    index: &Index,
    running: &[RunningCommand],
) -> io::Result<HashSet<Hash>> {
    let of_undo = undo.objects()?;
    let of_undo = of_undo.iter().filter_map(|digits| objects::parse(digits));
    let of_index = index.entries.values().filter_map(|entry| entry.hash);
    let changes = running.iter().flat_map(|command| command.changes.values());
    let of_running = changes.filter_map(|change| change.before.as_ref()?.hash);
    Ok(of_undo.chain(of_index).chain(of_running).collect())
}

/// Writes down which commands run.
fn note(known: &Known, folder: &SmallFiles, survival: Survival) -> io::Result<()> {
    if known.running.is_empty() {
        return folder.remove(RUNNING);
    }
    let note = Note {
        mark: known.mark,
        running: Cow::Borrowed(&known.running),
    };
    folder.write(RUNNING, &serde_json::to_vec(&note)?, survival)
}

/// Whether all that is not kept of a folder would still be seen to change.
fn covers_all(gaps: &Gaps) -> bool {
    gaps.iter().all(|(why, _)| *why == Why::Large)
}

/// What tells that the workspace's repository was changed.
fn git_state(jail: &Jail) -> Vec<Option<(u64, i64)>> {
    let facts = OF_GIT.iter().map(|path| {
        let facts = jail.facts(&jail.place(path).ok()?).ok()??;
        Some((facts.inode, facts.changed))
    });
    facts.collect()
}
