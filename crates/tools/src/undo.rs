//! What files held before tools changed them, kept in the data directory so that a turn can be taken
//! back with its files.
//!
//! Each change is one small file, written and synced before the tool writes: a stop between the two
//! leaves at most a change that never happened, which a later look at the file tells.

mod record;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use samovar_core::{SessionId, TurnId, failpoint};
use samovar_sandbox::{SmallFiles, Survival};
use serde::{Deserialize, Serialize};

use crate::text::sha256;

pub(crate) use record::{Before, Record, State};

/// The folder of the changes in the data directory.
const FOLDER: &str = "undo";
/// The file that names the turns whose files are being restored.
const UNFINISHED: &str = "undoing.json";
/// Bytes of that file, at most.
const MAX_UNFINISHED_BYTES: u64 = 1024 * 1024;
/// Changes that are kept, at most.
const MAX_CHANGES: usize = 10_000;
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
    record: Record,
    bytes: u64,
    modified: i64,
}

/// A turn whose files are being restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfinishedUndo {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
}

impl UndoStore {
    /// The store of a data directory. Nothing is read or made yet.
    pub fn new(data_dir: SmallFiles, bounds: UndoBounds) -> Self {
        Self {
            data_dir,
            bounds,
            stock: Mutex::default(),
            unfinished: Mutex::default(),
        }
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
    pub(crate) fn begin(&self, session: &SessionId, turn: &TurnId) -> io::Result<()> {
        self.note(session, Some(turn))
    }

    fn note(&self, session: &SessionId, turn: Option<&TurnId>) -> io::Result<()> {
        let _lock = self.unfinished.lock();
        let before = self.unfinished()?;
        let others = before.iter().filter(|undo| undo.session != *session);
        let this = turn.map(|turn| UnfinishedUndo {
            session: session.clone(),
            turn: turn.clone(),
        });
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
                && stock.last(&record).is_some_and(|last| last.after == *hash)
            {
                record.before = Before::Follows(hash.clone());
            }
            let folder = match &stock.folder {
                Some(folder) => folder.clone(),
                None => stock.folder.insert(self.data_dir.folder(FOLDER)?).clone(),
            };
            stock.next += 1;
            (stock.next, folder)
        };
        let content = match record.before {
            Before::Kept(_) => content,
            Before::Absent | Before::Follows(_) | Before::Unkept => &[],
        };
        let bytes = record.to_bytes(content)?;
        failpoint!("undo.keep.before");
        folder.write(&name(id), &bytes, Survival::Crash)?;
        failpoint!("undo.keep.after");
        let mut stock = self.stock()?;
        let stock = loaded(&mut stock);
        let modified = folder.modified(&name(id))?;
        stock.add(id, record, bytes.len() as u64, modified);
        stock.evict(self.bounds, modified);
        Ok(Some(id))
    }

    /// Forgets a change that was not made.
    pub(crate) fn cancel(&self, id: u64) -> io::Result<()> {
        loaded(&mut self.stock()?).remove(&[id])
    }

    /// The changes of turns of a session, in the order in which they were made.
    pub(crate) fn changes(
        &self,
        session: &SessionId,
        turns: &[TurnId],
    ) -> io::Result<Vec<(u64, Record)>> {
        let mut stock = self.stock()?;
        let of_turns = |record: &Record| record.session == *session && turns.contains(&record.turn);
        let changes = loaded(&mut stock).changes.iter();
        let changes = changes.filter(|(_, kept)| of_turns(&kept.record));
        Ok(changes
            .map(|(id, kept)| (*id, kept.record.clone()))
            .collect())
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
        let is_meant = |record: &Record| {
            record.session == *session && turns.is_none_or(|turns| turns.contains(&record.turn))
        };
        let changes = stock.changes.iter();
        let meant = changes.filter(|(_, kept)| is_meant(&kept.record));
        let meant: Vec<_> = meant.map(|(id, _)| *id).collect();
        stock.remove(&meant)?;
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
                let bytes = folder.read_bytes(&file.name, record::MAX_LINE_BYTES)?;
                stock.next = id;
                if let Some((record, _)) = bytes.as_deref().and_then(Record::parse) {
                    stock.add(id, record, file.bytes, file.modified);
                } else {
                    tracing::warn!(file = file.name, "a change of a file cannot be taken back");
                    folder.remove(&file.name)?;
                }
            }
        }
        stock.folder = folder;
        Ok(stock)
    }

    fn add(&mut self, id: u64, record: Record, bytes: u64, modified: i64) {
        self.bytes += bytes;
        self.changes.insert(
            id,
            Kept {
                record,
                bytes,
                modified,
            },
        );
    }

    /// The last change of the same file by the same turn.
    fn last(&self, record: &Record) -> Option<&Record> {
        let changes = self.changes.values().rev().map(|kept| &kept.record);
        let mut of_file = changes.filter(|other| other.path == record.path);
        let last = of_file.next()?;
        (last.session == record.session && last.turn == record.turn).then_some(last)
    }

    /// Removes the oldest changes beyond the bounds.
    fn evict(&mut self, bounds: UndoBounds, now: i64) {
        let max_age = i64::try_from(bounds.max_age.as_secs()).unwrap_or(i64::MAX);
        while let Some((id, oldest)) = self.changes.first_key_value() {
            let is_old = now.saturating_sub(oldest.modified) > max_age;
            let is_within = self.bytes <= bounds.max_bytes && self.changes.len() <= MAX_CHANGES;
            if is_within && !is_old {
                break;
            }
            let id = *id;
            if let Err(error) = self.remove(&[id]) {
                tracing::warn!(%error, "an old change of a file could not be removed");
                break;
            }
        }
    }

    fn remove(&mut self, ids: &[u64]) -> io::Result<()> {
        for id in ids {
            if let Some(folder) = &self.folder {
                folder.remove(&name(*id))?;
            }
            let removed = self.changes.remove(id);
            self.bytes -= removed.map_or(0, |kept| kept.bytes);
        }
        Ok(())
    }
}

/// The name of the file of a change, in the order of the changes.
fn name(id: u64) -> String {
    format!("{id:016x}")
}
