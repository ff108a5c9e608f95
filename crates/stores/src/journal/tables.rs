//! The tables of the journal, and how they are opened.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use heed::byteorder::BE;
use heed::types::{Bytes, Str, U64, U128, Unit};
use heed::{
    CommitOrAbort, Database, DatabaseOpener, Env, EnvFlags, EnvOpenOptions, RoTxn, RwTxn,
    WithoutTls,
};
use samovar_core::journal::{LogEntry, LogNo};
use samovar_core::{Broken, Durability, Epoch, Seq, SessionId};
use samovar_locale as locale;
use serde::{Deserialize, Serialize};

use super::fault::{Fault, from_io};
use super::row::{self, Row, RowKey};
use super::settings::Settings;
use crate::disk;
use crate::generation::{Generation, Stamp};

/// What a journal of this program looks like. Any other is refused, never guessed at.
const FORMAT: u32 = 1;
const FORMAT_KEY: &str = "format";
const META_KEY: &str = "meta";
/// Beside [`META_KEY`], which is written at each start.
const GENERATION_KEY: &str = "generation";

/// Each read holds a slot for as long as it lasts; more than there are threads that may block.
const MAX_READERS: u32 = 1024;
/// Of the file with their slots: 64 for each, and a head.
const READERS_BYTES: u64 = MAX_READERS as u64 * 64 + 4096;
const MIN_MAP_BYTES: usize = 1 << 20;

type Table<K, V> = Database<'static, K, V>;

/// The environment and its tables. Log numbers and positions are keys in big-endian order.
pub(super) struct Tables {
    pub(super) env: Env<WithoutTls>,
    /// Log and position to a [`Row`].
    pub(super) events: Table<U128<BE>, Bytes>,
    /// Log to its [`LogRow`].
    pub(super) logs: Table<U64<BE>, Bytes>,
    /// Session to its log: the newest, when it was deleted and created again.
    pub(super) sessions: Table<Str, U64<BE>>,
    /// Logs with unfinished turns, with the position from where those must be read.
    pub(super) open: Table<U64<BE>, U64<BE>>,
    /// Logs of which the history may lack something.
    pub(super) unprojected: Table<U64<BE>, Unit>,
    /// Time and log to the position up to which nothing was unfinished at that time.
    pub(super) retire: Table<U128<BE>, U64<BE>>,
    /// Logs of deleted sessions whose rows are gone, with the session; the next boot forgets them.
    pub(super) tombs: Table<U64<BE>, Str>,
    meta: Table<Str, Bytes>,
}

/// What is kept of the journal as a whole.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Meta {
    pub(super) epoch: Epoch,
    pub(super) next_log: u64,
    /// The kernel's, at the start of this epoch: tells a power cut from a killed process.
    pub(super) boot_id: String,
    /// Whether this epoch ended in a good close.
    #[serde(default)]
    pub(super) closed: bool,
}

/// What is kept of a log beside its events.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LogRow {
    pub(super) session: SessionId,
    /// The last event that it holds, or has held.
    pub(super) head: Seq,
    /// Nothing up to here is unfinished.
    pub(super) finished: Seq,
    pub(super) deleted: bool,
}

impl LogRow {
    /// Reads what was found under a log's number.
    pub(super) fn read(log: LogNo, bytes: &[u8]) -> Result<Self, Broken> {
        let what = format_args!("log {}", log.0);
        row::unseal_json(&what, &log.0.to_be_bytes(), bytes)
    }
}

impl Tables {
    /// Opens the environment, makes what is missing, and frees the slots of readers that a killed
    /// process left.
    pub(super) fn open(dir: &Path, settings: &Settings) -> Result<Self, Fault> {
        take_room_for_readers(dir)?;
        let env = open_environment(dir, settings)?;
        env.clear_stale_readers()?;
        let txn = env.write_txn()?;
        let opened = env.create_databases_and_commit(txn, |opener, txn| {
            let main = opener.open_database::<Bytes, Bytes>(txn, None)?;
            let is_new = main.map_or(Ok(true), |main| main.is_empty(txn))?;
            let meta = table(opener, txn, "meta", is_new)?;
            if is_new {
                meta.put(txn, FORMAT_KEY, FORMAT.to_be_bytes().as_slice())?;
            } else if meta.get(txn, FORMAT_KEY)? != Some(FORMAT.to_be_bytes().as_slice()) {
                return Err(not_this_format());
            }
            let names = (
                table(opener, txn, "events", is_new)?,
                table(opener, txn, "logs", is_new)?,
                table(opener, txn, "sessions", is_new)?,
                table(opener, txn, "open", is_new)?,
                table(opener, txn, "unprojected", is_new)?,
                table(opener, txn, "retire", is_new)?,
                table(opener, txn, "tombs", is_new)?,
                meta,
            );
            Ok::<_, Fault>(CommitOrAbort::<_, Infallible>::Commit(names))
        })?;
        let CommitOrAbort::Commit(names) = opened;
        let (events, logs, sessions, open, unprojected, retire, tombs, meta) = names;
        Ok(Self {
            env,
            events,
            logs,
            sessions,
            open,
            unprojected,
            retire,
            tombs,
            meta,
        })
    }

    /// Writes to the disk what is only in the kernel's memory.
    pub(super) fn sync(&self) -> Result<(), Fault> {
        Ok(self.env.force_sync()?)
    }

    pub(super) fn meta(&self, txn: &RoTxn<'_>) -> Result<Meta, Fault> {
        let Some(bytes) = self.meta.get(txn, META_KEY)? else {
            return Ok(Meta::default());
        };
        Ok(row::unseal_json(
            &"the journal's meta",
            META_KEY.as_bytes(),
            bytes,
        )?)
    }

    pub(super) fn put_meta(&self, txn: &mut RwTxn<'_>, meta: &Meta) -> Result<(), Fault> {
        let bytes = row::sealed_json(META_KEY.as_bytes(), meta)?;
        Ok(self.meta.put(txn, META_KEY, &bytes)?)
    }

    /// The generation that this journal was stamped with.
    pub(super) fn stamp(&self, txn: &RoTxn<'_>) -> Result<Stamp, Fault> {
        let key = GENERATION_KEY.as_bytes();
        let bytes = self.meta.get(txn, GENERATION_KEY)?;
        Ok(bytes.map_or(Stamp::Lacking, |bytes| {
            Stamp::read(row::unseal_json(&GENERATION_KEY, key, bytes).ok())
        }))
    }

    pub(super) fn put_generation(
        &self,
        txn: &mut RwTxn<'_>,
        generation: &Generation,
    ) -> Result<(), Fault> {
        let bytes = row::sealed_json(GENERATION_KEY.as_bytes(), generation)?;
        Ok(self.meta.put(txn, GENERATION_KEY, &bytes)?)
    }

    pub(super) fn log_row(&self, txn: &RoTxn<'_>, log: LogNo) -> Result<Option<LogRow>, Fault> {
        let Some(bytes) = self.logs.get(txn, &log.0)? else {
            return Ok(None);
        };
        Ok(Some(LogRow::read(log, bytes)?))
    }

    pub(super) fn put_log_row(
        &self,
        txn: &mut RwTxn<'_>,
        log: LogNo,
        row: &LogRow,
    ) -> Result<(), Fault> {
        let bytes = row::sealed_json(&log.0.to_be_bytes(), row)?;
        Ok(self.logs.put(txn, &log.0, &bytes)?)
    }

    pub(super) fn open_from(&self, txn: &RoTxn<'_>, log: LogNo) -> Result<Option<Seq>, Fault> {
        Ok(self.open.get(txn, &log.0)?.map(Seq))
    }

    pub(super) fn is_unprojected(&self, txn: &RoTxn<'_>, log: LogNo) -> Result<bool, Fault> {
        Ok(self.unprojected.get(txn, &log.0)?.is_some())
    }

    /// A view of what is committed, for one short read.
    pub(super) fn read_txn(&self) -> Result<RoTxn<'_, WithoutTls>, Fault> {
        Ok(self.env.read_txn()?)
    }

    pub(super) fn log_of(
        &self,
        txn: &RoTxn<'_>,
        session: &SessionId,
    ) -> Result<Option<LogNo>, Fault> {
        Ok(self.sessions.get(txn, session.as_str())?.map(LogNo))
    }

    /// The logs that are open or unprojected, in the order in which they began.
    pub(super) fn unsettled(&self, txn: &RoTxn<'_>) -> Result<BTreeSet<LogNo>, Fault> {
        let mut logs = BTreeSet::new();
        for open in self.open.iter(txn)? {
            logs.insert(LogNo(open?.0));
        }
        for unprojected in self.unprojected.iter(txn)? {
            logs.insert(LogNo(unprojected?.0));
        }
        Ok(logs)
    }

    /// A log with its session, as the port shows it.
    pub(super) fn entry(
        &self,
        txn: &RoTxn<'_>,
        log: LogNo,
    ) -> Result<Option<(SessionId, LogEntry)>, Fault> {
        let Some(row) = self.log_row(txn, log)? else {
            return Ok(None);
        };
        let entry = LogEntry {
            log,
            head: row.head,
            open_from: self.open_from(txn, log)?,
            unprojected: self.is_unprojected(txn, log)?,
            deleted: row.deleted,
        };
        Ok(Some((row.session, entry)))
    }

    /// Where to begin to read: the row that covers a position, else the position itself.
    pub(super) fn covering(&self, txn: &RoTxn<'_>, place: RowKey) -> Result<RowKey, Fault> {
        let below = self.events.get_lower_than_or_equal_to(txn, &place.key())?;
        let Some((key, bytes)) = below else {
            return Ok(place);
        };
        let found = RowKey::from_key(key);
        let covers = found.log == place.log && Row::read(found, bytes)?.last() >= place.seq;
        Ok(if covers { found } else { place })
    }

    /// The rows of a log from a key on, in order and unchecked.
    pub(super) fn rows<'txn>(
        &self,
        txn: &'txn RoTxn<'_>,
        from: RowKey,
    ) -> Result<impl Iterator<Item = Result<(RowKey, &'txn [u8]), Fault>> + use<'txn>, Fault> {
        let end = RowKey::new(from.log, Seq(u64::MAX));
        let rows = self.events.range(txn, &(from.key()..=end.key()))?;
        Ok(rows.map(|row| {
            let (key, bytes) = row?;
            Ok((RowKey::from_key(key), bytes))
        }))
    }

    /// Whether a log must go on behind the last row that is there: what is unfinished is never
    /// removed.
    pub(super) fn is_short(&self, txn: &RoTxn<'_>, log: LogNo, last: Seq) -> Result<bool, Fault> {
        let row = self.log_row(txn, log)?;
        Ok(row.is_some_and(|row| row.finished < row.head && last < row.head))
    }

    /// Bytes of all pages that hold something.
    pub(super) fn used_bytes(&self, txn: &RoTxn<'_>) -> Result<usize, Fault> {
        let tables = [
            self.events.stat(txn)?,
            self.logs.stat(txn)?,
            self.sessions.stat(txn)?,
            self.open.stat(txn)?,
            self.unprojected.stat(txn)?,
            self.retire.stat(txn)?,
            self.tombs.stat(txn)?,
            self.meta.stat(txn)?,
        ];
        Ok(tables
            .iter()
            .map(heed::DatabaseStat::non_free_page_size)
            .sum())
    }
}

/// Makes a table of a new journal; in another, it must be there.
fn table<'e, K: 'static, V: 'static>(
    opener: &DatabaseOpener<'e, WithoutTls>,
    txn: &mut RwTxn<'e>,
    name: &str,
    is_new: bool,
) -> Result<Database<'e, K, V>, Fault> {
    if is_new {
        return Ok(opener.create_database(txn, Some(name))?);
    }
    let table = opener.open_database(txn, Some(name))?;
    table.ok_or_else(not_this_format)
}

/// That is no damage: another version of this program can read it, so it is never set aside.
fn not_this_format() -> Fault {
    Broken::Io(locale::store::journal_format(FORMAT)).into()
}

/// Takes the room that the table of readers can need. It is written through a map, where a full disk
/// is not an error but the end of the process.
fn take_room_for_readers(dir: &Path) -> Result<(), Broken> {
    let path = dir.join("lock.mdb");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let taken = options
        .open(&path)
        .and_then(|file| disk::fill(&file, READERS_BYTES));
    taken.map_err(|error| from_io(&path.display().to_string(), &error))
}

/// Opens with the largest map that the address space has room for.
fn open_environment(dir: &Path, settings: &Settings) -> Result<Env<WithoutTls>, Fault> {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.max_dbs(8).max_readers(MAX_READERS);
    let flags = match settings.durability {
        Durability::Power => EnvFlags::empty(),
        Durability::Process => EnvFlags::NO_SYNC,
    };
    #[expect(
        unsafe_code,
        reason = "unsafe by heed's signature, since some flags lose data: this one only as far as \
                  somebody asked for it, and `sync_marker` sees to what it leaves"
    )]
    // Never `WRITE_MAP`, and never `NO_SYNC` with a later sync: that keeps no state which a power
    // cut leaves whole.
    unsafe {
        options.flags(flags);
    }
    let mut map_bytes = settings.map_bytes;
    loop {
        options.map_size(map_bytes);
        #[expect(
            unsafe_code,
            reason = "unsafe by heed's signature, since a map shows what others write to its file; \
                      nobody else does: the data directory's lock is held by this process"
        )]
        let opened = unsafe { options.open(dir) };
        match opened {
            Err(heed::Error::Io(error))
                if error.kind() == io::ErrorKind::OutOfMemory && map_bytes > MIN_MAP_BYTES =>
            {
                map_bytes /= 2;
            }
            Err(heed::Error::Io(error)) => {
                return Err(from_io(&format!("{}", dir.display()), &error).into());
            }
            opened => return Ok(opened?),
        }
    }
}

/// Makes a journal that has a format and no other table.
#[cfg(test)]
pub(crate) fn make_bare(dir: &Path, format: u32) {
    let env = open_environment(dir, &Settings::default()).ok().unwrap();
    let txn = env.write_txn().unwrap();
    let made = env.create_databases_and_commit(txn, |opener, txn| {
        let meta = opener.create_database::<Str, Bytes>(txn, Some("meta"))?;
        meta.put(txn, FORMAT_KEY, format.to_be_bytes().as_slice())?;
        heed::Result::Ok(CommitOrAbort::<_, Infallible>::Commit(meta))
    });
    made.unwrap();
}
