//! What files held before tools changed them, kept in the data directory so that a turn can be taken
//! back with its files.
//!
//! Each change of a file tool is one small file, written and synced before the tool writes: a stop
//! between the two leaves at most a change that never happened, which a later look at the file tells.
//! All changes of a command are one file, written when it has ended.

mod record;

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use samovar_core::{SessionId, TurnId, failpoint};
use samovar_sandbox::{SmallFiles, Survival};
use serde::{Deserialize, Serialize};

use crate::text::sha256;

pub(crate) use record::{Before, By, CommandCall, Record, Shape, State};

/// The folder of the changes in the data directory.
const FOLDER: &str = "undo";
/// The file that names the turns whose files are being restored.
const UNFINISHED: &str = "undoing.json";
/// Bytes of that file, at most.
const MAX_UNFINISHED_BYTES: u64 = 1024 * 1024;
/// Changes that are kept, at most.
const MAX_CHANGES: usize = 10_000;
/// Bytes of the changes of one command, at most.
const MAX_COMMAND_BYTES: u64 = 64 * 1024 * 1024;
/// The largest content that is kept, in bytes.
pub(crate) const MAX_KEPT_BYTES: u64 = 16 * 1024 * 1024;

/// How much is kept of what tools changed in files; the oldest changes go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoBounds {
    /// Bytes of all changes together; 0 keeps none.
    pub max_bytes: u64,
    /// How long a change is kept.
    pub max_age: Duration,
}

impl Default for UndoBounds {
    /// 64 MiB, 30 days.
    fn default() -> Self {
        Self {
            max_bytes: 64 * 1024 * 1024,
            max_age: Duration::from_hours(30 * 24),
        }
    }
}

/// The changes of files that can be taken back.
pub struct UndoStore {
    data_dir: SmallFiles,
    bounds: UndoBounds,
    stock: Mutex<Option<Stock>>,
    unfinished: Mutex<()>,
    /// Whether objects may have lost the last change that needs them.
    is_littered: AtomicBool,
}

/// What is in the folder, read when it is first needed.
#[derive(Default)]
struct Stock {
    /// `None` until there is one.
    folder: Option<SmallFiles>,
    next: u64,
    changes: BTreeMap<u64, Kept>,
    bytes: u64,
}

struct Kept {
    records: Vec<Record>,
    /// The command that made all of them.
    command: Option<CommandCall>,
    bytes: u64,
    modified: i64,
}

impl Kept {
    fn owner(&self) -> Option<(&SessionId, &TurnId)> {
        let of_command = self.command.as_ref().map(|it| (&it.session, &it.turn));
        of_command.or_else(|| self.records.first().map(|it| (&it.session, &it.turn)))
    }
}

/// The changes of turns.
pub(crate) struct TurnChanges {
    /// In the order in which they were made, each with the number of its file.
    pub(crate) records: Vec<(u64, Record)>,
    /// The commands that were recorded.
    pub(crate) commands: Vec<CommandCall>,
}

/// A turn whose files are being restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfinishedUndo {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// Whether the holder of another token than the owner's asked for it.
    #[serde(default)]
    pub is_guests: bool,
}

impl UndoStore {
    /// The store of a data directory. Nothing is read or made yet.
    pub fn new(data_dir: SmallFiles, bounds: UndoBounds) -> Self {
        Self {
            data_dir,
            bounds,
            stock: Mutex::default(),
            unfinished: Mutex::default(),
            is_littered: AtomicBool::new(false),
        }
    }

    /// Whether changes are kept at all.
    pub(crate) fn is_on(&self) -> bool {
        self.bounds.max_bytes > 0
    }

    /// Undos that a stop of the server cut in the middle.
    ///
    /// # Errors
    /// What the system said.
    pub fn unfinished(&self) -> io::Result<Vec<UnfinishedUndo>> {
        let Some(text) = self.data_dir.read(UNFINISHED, MAX_UNFINISHED_BYTES)? else {
            return Ok(Vec::new());
        };
        Ok(serde_json::from_str(&text)?)
    }

    /// Notes that the files of a turn are being restored.
    pub(crate) fn begin(
        &self,
        is_guests: bool,
        session: &SessionId,
        turn: &TurnId,
    ) -> io::Result<()> {
        let turn = turn.clone();
        self.note(
            session,
            Some(UnfinishedUndo {
                session: session.clone(),
                turn,
                is_guests,
            }),
        )
    }

    fn note(&self, session: &SessionId, this: Option<UnfinishedUndo>) -> io::Result<()> {
        let _lock = self.unfinished.lock();
        let before = self.unfinished()?;
        let others = before.iter().filter(|undo| undo.session != *session);
        let after: Vec<_> = others.cloned().chain(this).collect();
        if after == before {
            return Ok(());
        }
        if after.is_empty() {
            return self.data_dir.remove(UNFINISHED);
        }
        let bytes = serde_json::to_vec(&after)?;
        self.data_dir.write(UNFINISHED, &bytes, Survival::Crash)
    }

    /// The largest content that is kept, in bytes.
    pub(crate) fn max_content(&self) -> u64 {
        MAX_KEPT_BYTES.min(self.bounds.max_bytes)
    }

    /// Keeps a change before it is made, with what the file held; `None` if none are kept.
    pub(crate) fn keep(&self, mut record: Record, content: &[u8]) -> io::Result<Option<u64>> {
        if self.bounds.max_bytes == 0 {
            return Ok(None);
        }
        let (id, folder) = {
            let mut stock = self.stock()?;
            let stock = loaded(&mut stock);
            // What the same turn gave the file need not be kept: the turn is taken back as a whole.
            if let Before::Kept(hash) = &record.before
                && stock
                    .last(&record)
                    .is_some_and(|last| last.after.fits(&State::Holds(hash.clone())))
            {
                record.before = Before::Follows(hash.clone());
            }
            let folder = stock.folder(&self.data_dir)?;
            stock.next += 1;
            (stock.next, folder)
        };
        let content = match record.before {
            Before::Kept(_) => content,
            Before::Absent | Before::Follows(_) | Before::Recorded(..) | Before::Unkept => &[],
        };
        let bytes = record.to_bytes(content)?;
        failpoint!("undo.keep.before");
        folder.write(&name(id), &bytes, Survival::Crash)?;
        failpoint!("undo.keep.after");
        let mut stock = self.stock()?;
        let stock = loaded(&mut stock);
        let modified = folder.modified(&name(id))?;
        let kept = Kept {
            records: vec![record],
            command: None,
            bytes: bytes.len() as u64,
            modified,
        };
        stock.add(id, kept);
        self.litter(stock.evict(self.bounds, modified));
        Ok(Some(id))
    }

    /// A number for a command that is about to begin, in the order of the changes.
    pub(crate) fn reserve(&self) -> io::Result<u64> {
        let mut stock = self.stock()?;
        let stock = loaded(&mut stock);
        stock.next += 1;
        Ok(stock.next)
    }

    /// Leaves the numbers up to one to commands of an earlier run.
    pub(crate) fn reserve_to(&self, id: u64) -> io::Result<()> {
        let mut stock = self.stock()?;
        let stock = loaded(&mut stock);
        stock.next = stock.next.max(id);
        Ok(())
    }

    /// Keeps what a command changed, under its number.
    pub(crate) fn keep_command(
        &self,
        id: u64,
        command: CommandCall,
        records: Vec<Record>,
    ) -> io::Result<()> {
        let bytes = command.to_bytes(&records)?;
        let mut stock = self.stock()?;
        let stock = loaded(&mut stock);
        let folder = stock.folder(&self.data_dir)?;
        failpoint!("undo.command.before");
        folder.write(&name(id), &bytes, Survival::Crash)?;
        failpoint!("undo.command.after");
        let modified = folder.modified(&name(id))?;
        let kept = Kept {
            records,
            command: Some(command),
            bytes: bytes.len() as u64,
            modified,
        };
        stock.add(id, kept);
        self.litter(stock.evict(self.bounds, modified));
        Ok(())
    }

    /// The number of the last change.
    pub(crate) fn mark(&self) -> io::Result<u64> {
        Ok(loaded(&mut self.stock()?).next)
    }

    /// What file tools changed behind a number, file by file.
    pub(crate) fn since(&self, mark: u64) -> io::Result<BTreeMap<String, Vec<Record>>> {
        let mut stock = self.stock()?;
        let mut of_file: BTreeMap<String, Vec<Record>> = BTreeMap::new();
        for (_, kept) in loaded(&mut stock).changes.range(mark.saturating_add(1)..) {
            for record in kept.records.iter().filter(|record| record.by == By::Tool) {
                of_file
                    .entry(record.path.clone())
                    .or_default()
                    .push(record.clone());
            }
        }
        Ok(of_file)
    }

    /// The objects that changes need.
    pub(crate) fn objects(&self) -> io::Result<HashSet<String>> {
        let mut stock = self.stock()?;
        let changes = loaded(&mut stock).changes.values();
        let befores = changes.flat_map(|kept| kept.records.iter().map(|record| &record.before));
        let objects = befores.filter_map(|before| match before {
            Before::Recorded(_, object) => object.clone(),
            Before::Absent | Before::Kept(_) | Before::Follows(_) | Before::Unkept => None,
        });
        Ok(objects.collect())
    }

    /// Whether a change of a command is kept.
    pub(crate) fn has_commands(&self) -> io::Result<bool> {
        let mut stock = self.stock()?;
        let mut changes = loaded(&mut stock).changes.values();
        Ok(changes.any(|kept| kept.command.is_some()))
    }

    /// Removes the oldest command; whether there was one.
    pub(crate) fn drop_oldest_command(&self) -> io::Result<bool> {
        let mut stock = self.stock()?;
        let stock = loaded(&mut stock);
        let mut commands = stock
            .changes
            .iter()
            .filter(|(_, kept)| kept.command.is_some());
        let Some(id) = commands.next().map(|(id, _)| *id) else {
            return Ok(false);
        };
        stock.remove(&[id]).map(|_| true)
    }

    /// Whether commands were forgotten since this was last asked.
    pub(crate) fn was_littered(&self) -> bool {
        self.is_littered.swap(false, Ordering::Relaxed)
    }

    fn litter(&self, is_littered: bool) {
        self.is_littered.fetch_or(is_littered, Ordering::Relaxed);
    }

    /// Forgets a change that was not made.
    pub(crate) fn cancel(&self, id: u64) -> io::Result<()> {
        loaded(&mut self.stock()?).remove(&[id]).map(drop)
    }

    /// The changes of turns of a session.
    pub(crate) fn changes(&self, session: &SessionId, turns: &[TurnId]) -> io::Result<TurnChanges> {
        let mut stock = self.stock()?;
        let of_turns = |kept: &Kept| {
            let owner = kept.owner();
            owner.is_some_and(|(owner, turn)| owner == session && turns.contains(turn))
        };
        let kept = loaded(&mut stock).changes.iter();
        let mut found = TurnChanges {
            records: Vec::new(),
            commands: Vec::new(),
        };
        for (id, kept) in kept.filter(|(_, kept)| of_turns(kept)) {
            found
                .records
                .extend(kept.records.iter().map(|record| (*id, record.clone())));
            found.commands.extend(kept.command.clone());
        }
        Ok(found)
    }

    /// What the file held before a change; `None` if that is gone or damaged.
    pub(crate) fn content(&self, id: u64, hash: &str) -> io::Result<Option<Vec<u8>>> {
        let folder = loaded(&mut self.stock()?).folder.clone();
        let Some(folder) = folder else {
            return Ok(None);
        };
        let max = MAX_KEPT_BYTES + record::MAX_LINE_BYTES;
        let bytes = folder.read_bytes(&name(id), max)?;
        let content = bytes.as_deref().and_then(Record::parse);
        let content = content.map(|(_, content)| content.to_vec());
        Ok(content.filter(|content| sha256(content) == hash))
    }

    /// Forgets the changes of some turns of a session, or of all.
    pub(crate) fn forget(&self, session: &SessionId, turns: Option<&[TurnId]>) -> io::Result<()> {
        let mut stock = self.stock()?;
        let stock = loaded(&mut stock);
        let is_meant = |kept: &Kept| {
            kept.owner().is_some_and(|(owner, turn)| {
                owner == session && turns.is_none_or(|turns| turns.contains(turn))
            })
        };
        let meant = stock.changes.iter().filter(|(_, kept)| is_meant(kept));
        let meant: Vec<_> = meant.map(|(id, _)| *id).collect();
        self.litter(stock.remove(&meant)?);
        self.note(session, None)
    }

    fn stock(&self) -> io::Result<MutexGuard<'_, Option<Stock>>> {
        // What is in memory follows what is in the folder, so that a panic leaves it right.
        let mut stock = self.stock.lock().unwrap_or_else(PoisonError::into_inner);
        if stock.is_none() {
            *stock = Some(Stock::load(self.data_dir.existing_folder(FOLDER)?)?);
        }
        Ok(stock)
    }
}

/// The stock behind a lock that [`UndoStore::stock`] gave.
fn loaded<'a>(stock: &'a mut MutexGuard<'_, Option<Stock>>) -> &'a mut Stock {
    stock.get_or_insert_default()
}

impl Stock {
    fn load(folder: Option<SmallFiles>) -> io::Result<Self> {
        let mut stock = Self::default();
        if let Some(folder) = &folder {
            for file in folder.list()? {
                let Ok(id) = u64::from_str_radix(&file.name, 16) else {
                    continue;
                };
                stock.next = id;
                if let Some((command, records)) = read(folder, &file.name)? {
                    let kept = Kept {
                        records,
                        command,
                        bytes: file.bytes,
                        modified: file.modified,
                    };
                    stock.add(id, kept);
                } else {
                    tracing::warn!(file = file.name, "a change of a file cannot be taken back");
                    folder.remove(&file.name)?;
                }
            }
        }
        stock.folder = folder;
        Ok(stock)
    }

    fn folder(&mut self, data_dir: &SmallFiles) -> io::Result<SmallFiles> {
        Ok(match &self.folder {
            Some(folder) => folder.clone(),
            None => self.folder.insert(data_dir.folder(FOLDER)?).clone(),
        })
    }

    fn add(&mut self, id: u64, kept: Kept) {
        self.bytes += kept.bytes;
        let replaced = self.changes.insert(id, kept);
        self.bytes -= replaced.map_or(0, |replaced| replaced.bytes);
    }

    /// The last change of the same file by the same turn.
    fn last(&self, record: &Record) -> Option<&Record> {
        let changes = self.changes.values().rev().flat_map(|kept| &kept.records);
        let mut of_file = changes.filter(|other| other.path == record.path);
        let last = of_file.next()?;
        (last.session == record.session && last.turn == record.turn).then_some(last)
    }

    /// Removes the oldest changes beyond the bounds; whether commands were among them.
    fn evict(&mut self, bounds: UndoBounds, now: i64) -> bool {
        let mut has_commands = false;
        let max_age = i64::try_from(bounds.max_age.as_secs()).unwrap_or(i64::MAX);
        while let Some((id, oldest)) = self.changes.first_key_value() {
            let is_old = now.saturating_sub(oldest.modified) > max_age;
            let is_within = self.bytes <= bounds.max_bytes && self.changes.len() <= MAX_CHANGES;
            if is_within && !is_old {
                break;
            }
            let id = *id;
            match self.remove(&[id]) {
                Ok(was_command) => has_commands |= was_command,
                Err(error) => {
                    tracing::warn!(%error, "an old change of a file could not be removed");
                    break;
                }
            }
        }
        has_commands
    }

    /// Removes changes; whether commands were among them.
    fn remove(&mut self, ids: &[u64]) -> io::Result<bool> {
        let mut has_commands = false;
        for id in ids {
            if let Some(folder) = &self.folder {
                folder.remove(&name(*id))?;
            }
            if let Some(removed) = self.changes.remove(id) {
                self.bytes -= removed.bytes;
                has_commands |= removed.command.is_some();
            }
        }
        Ok(has_commands)
    }
}

/// What a file of the folder says; `None` if it is damaged.
fn read(folder: &SmallFiles, name: &str) -> io::Result<Option<(Option<CommandCall>, Vec<Record>)>> {
    let Some(bytes) = folder.read_bytes(name, record::MAX_LINE_BYTES)? else {
        return Ok(None);
    };
    if CommandCall::begins(&bytes) {
        let bytes = folder.read_bytes(name, MAX_COMMAND_BYTES)?;
        let parsed = bytes.as_deref().and_then(CommandCall::parse);
        return Ok(parsed.map(|(command, records)| (Some(command), records)));
    }
    let parsed = Record::parse(&bytes);
    Ok(parsed.map(|(record, _)| (None, vec![record])))
}

/// The name of the file of a change, in the order of the changes.
fn name(id: u64) -> String {
    format!("{id:016x}")
}
