//! The audit: the chain of records in `audit.jsonl` (TL-15).
//!
//! The file only grows. An append is one `write`, so a kill leaves whole records; a power cut may
//! leave the beginning of a line, which was never acknowledged and which the next start removes. The
//! history stores the chain's head, so records that are missing at the end are found. What a start
//! finds missing or changed stays visible: the chain continues after the head that was stored, with
//! a record that says so.
//!
//! Start with the module `chain`: what a line is, and what can be wrong with one.

mod chain;
mod file;
mod heads;

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::OFlags;
use samovar_core::audit::{Audit, Head, Record, RecordedCalls, What};
use samovar_core::{Broken, Future, Millis, audit::Decision, failpoint};

use self::chain::MAX_LINE_BYTES;
pub use self::chain::{MAX_PROBLEMS, Problem, ProblemKind, Sealed, Verdict, verify};
use self::file::Lines;
pub(crate) use self::heads::{Heads, Pair};
use crate::data_dir::{self, AUDIT, DataDir, sync_dir};
use crate::disk::{Disk, blocking};
use crate::journal::from_io;

/// By how much the clock may have been set back between two records, for the search for those that
/// a start would append a second time.
const CLOCK_SLACK_MS: i64 = 60 * 60 * 1000;

/// The chain of a data directory that is open.
pub struct AuditLog {
    path: PathBuf,
    disk: Disk,
    heads: Heads,
    is_short: bool,
    chain: Arc<Mutex<Chain>>,
}

/// Which records are read.
#[derive(Clone, Debug, Default)]
pub struct RecordQuery {
    /// Those after this number, oldest first; `None` for the last ones.
    pub after: Option<u64>,
    /// The maximum number.
    pub limit: usize,
    /// Only those of this session.
    pub session: Option<String>,
    /// Only those of this tool.
    pub tool: Option<String>,
    /// Only those from this time on.
    pub since: Option<Millis>,
}

/// How the stores came to be what they are at this start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The last run left them.
    LastRun,
    /// A backup was restored.
    Backup,
    /// The history is new, so it stores no head.
    NewHistory,
}

/// What the next record has to say, and why.
type Note = Option<(What, String)>;

/// The file, and the end of what was written to it.
struct Chain {
    file: File,
    bytes: u64,
    head: Head,
    synced: Head,
    /// Whether the file may have more than `bytes`.
    has_remains: bool,
    /// Why nothing is written any more.
    ended: Option<Broken>,
}

impl AuditLog {
    /// Opens the chain, removes the beginning of a line that a power cut left, and records what is
    /// missing.
    pub(crate) fn open(
        dir: &DataDir,
        disk: &Disk,
        heads: Heads,
        origin: Origin,
    ) -> Result<Self, Broken> {
        let path = dir.path.join(AUDIT);
        let stored = heads.stored();
        let opened = Chain::open(&path, &stored, origin).map_err(broken)?;
        let (mut chain, is_short, note) = opened;
        disk.watch(&path);
        if let Some((what, why)) = note {
            if matches!(what, What::Restored | What::ChainResumed) {
                tracing::info!(event = what.as_str(), "the audit's chain begins again");
            } else {
                tracing::warn!(event = what.as_str(), why, "the audit's chain");
            }
            let mut note = Decision::new(what, "server", dir.clock.now());
            note.about = Some(why).filter(|why| !why.is_empty());
            // Without it a break is as visible: the next record does not continue the last one.
            if let Err(broken) = chain.append(vec![note]).and_then(|()| chain.sync()) {
                tracing::error!(%broken, "the audit lacks what was found at the start");
            }
        }
        heads.set(chain.pair());
        Ok(Self {
            path,
            disk: disk.clone(),
            heads,
            is_short,
            chain: Arc::new(Mutex::new(chain)),
        })
    }

    /// Records a decision; durable when it answers.
    ///
    /// # Errors
    /// [`Broken`]; the decision is not recorded.
    pub async fn record(&self, decision: Decision) -> Result<(), Broken> {
        self.disk.check()?;
        self.change(|chain| {
            chain.append(vec![decision])?;
            chain.sync()
        })
        .await
    }

    /// Whether the history has yet to store the head.
    pub(crate) fn has_moved(&self) -> bool {
        self.heads.due().is_some()
    }

    /// The end of the chain.
    pub fn head(&self) -> Head {
        lock(&self.chain).head.clone()
    }

    /// Records, oldest first. Lines that are damaged are left out.
    ///
    /// # Errors
    /// [`Broken`] when the file cannot be read.
    pub async fn records(&self, query: RecordQuery) -> Result<Vec<Sealed>, Broken> {
        self.read(move |lines| match query.after {
            Some(after) => read_after(lines, after, &query),
            None => read_last(lines, &query),
        })
        .await
    }

    /// Reads the whole chain, and holds it against the stored head and the hash of a record that a
    /// person wrote down.
    ///
    /// # Errors
    /// [`Broken`] when the file cannot be read.
    pub async fn verify(&self, anchor: Option<String>) -> Result<Verdict, Broken> {
        let head = self.heads.stored().synced;
        self.read(move |lines| verify(lines.from(0), Some(&head), anchor.as_deref()))
            .await
    }

    /// Copies the chain as it is now; what is appended meanwhile is left out.
    pub(crate) async fn copy_to(&self, path: PathBuf) -> Result<(), Broken> {
        self.read(move |lines| {
            let mut copy = data_dir::create(&path)?;
            let mut lines = lines.from(0);
            io::copy(&mut lines, &mut copy)?;
            copy.sync_all()
        })
        .await
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(Lines<'_>) -> io::Result<T> + Send + 'static,
    ) -> Result<T, Broken> {
        let (path, bytes) = (self.path.clone(), lock(&self.chain).bytes);
        blocking(move || {
            let file = open(&path, false).map_err(broken)?;
            let file = &file;
            read(Lines { file, bytes }).map_err(broken)
        })
        .await
    }

    async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Chain) -> Result<T, Broken> + Send + 'static,
    ) -> Result<T, Broken> {
        let (chain, heads, disk) = (self.chain.clone(), self.heads.clone(), self.disk.clone());
        blocking(move || {
            let mut chain = lock(&chain);
            let changed = change(&mut chain);
            heads.set(chain.pair());
            if let Some(ended) = &chain.ended {
                disk.fail(ended);
            }
            changed
        })
        .await
    }
}

impl Audit for AuditLog {
    fn append(&self, decisions: Vec<Decision>) -> Future<'_, Result<(), Broken>> {
        Box::pin(async move {
            if decisions.is_empty() {
                return Ok(());
            }
            self.disk.check()?;
            failpoint!("audit.append.before");
            self.change(|chain| chain.append(decisions)).await?;
            failpoint!("audit.append.after");
            Ok(())
        })
    }

    fn sync(&self) -> Future<'_, Result<bool, Broken>> {
        Box::pin(async move {
            let is_due = {
                let chain = lock(&self.chain);
                chain.synced != chain.head
            };
            if is_due {
                failpoint!("audit.sync.before");
                self.change(Chain::sync).await?;
                failpoint!("audit.sync.after");
            }
            Ok(self.has_moved())
        })
    }

    fn recorded(&self, since: Millis) -> Future<'_, Result<RecordedCalls, Broken>> {
        let since = Millis(since.0.saturating_sub(CLOCK_SLACK_MS));
        Box::pin(self.read(move |lines| {
            let mut recorded = RecordedCalls::new();
            lines.backward(|line| {
                let Some((Sealed { record, .. }, _)) = chain::read(line) else {
                    return true;
                };
                if let Some(call) = record.call {
                    recorded.insert((call, record.event));
                }
                record.at >= since
            })?;
            Ok(recorded)
        }))
    }

    fn is_short(&self) -> bool {
        self.is_short
    }
}

impl Chain {
    /// The chain of a file, whether it lacks records that were written, and what its next record has
    /// to say.
    fn open(path: &Path, stored: &Pair, origin: Origin) -> io::Result<(Self, bool, Note)> {
        let file = open(path, true)?;
        let bytes = file.metadata()?.len();
        let lines = Lines { file: &file, bytes };
        let whole = lines.whole_bytes()?;
        let lines = Lines {
            bytes: whole,
            ..lines
        };
        let (mut head, mut is_readable) = (Head::default(), true);
        lines.backward(|line| {
            let Some((sealed, is_right)) = chain::read(line) else {
                is_readable = false;
                return true;
            };
            is_readable &= is_right;
            (head.count, head.hash) = (sealed.record.n, sealed.hash);
            false
        })?;
        let is_short = head.count < stored.written.count;
        let wrong = wrong(lines, stored, &head, is_readable)?;
        let note = match (wrong, origin) {
            (Some(why), _) => {
                // The next record continues what was stored, so that the break stays visible.
                head.count = head.count.max(stored.synced.count);
                head.hash.clone_from(&stored.synced.hash);
                Some((What::ChainBroken, why))
            }
            (None, Origin::Backup) => Some((What::Restored, String::new())),
            (None, Origin::NewHistory) if head.count > 0 => {
                Some((What::ChainResumed, String::new()))
            }
            (None, Origin::NewHistory | Origin::LastRun) => None,
        };
        let chain = Self {
            file,
            bytes: whole,
            synced: stored.synced.clone(),
            head,
            has_remains: whole < bytes,
            ended: None,
        };
        Ok((chain, is_short, note))
    }

    fn pair(&self) -> Pair {
        let (written, synced) = (self.head.clone(), self.synced.clone());
        Pair { written, synced }
    }

    /// Appends decisions with one write: all of them, or none.
    fn append(&mut self, decisions: Vec<Decision>) -> Result<(), Broken> {
        if let Some(ended) = &self.ended {
            return Err(ended.clone());
        }
        let (mut head, mut text) = (self.head.clone(), String::new());
        for decision in decisions {
            let record = Record::after(&head, decision);
            let (line, hash) = chain::line(&record).map_err(|error| broken(error.into()))?;
            text.push_str(&line);
            (head.count, head.hash) = (record.n, hash);
        }
        if self.has_remains {
            self.file.set_len(self.bytes).map_err(broken)?;
            self.has_remains = false;
        }
        if let Err(error) = (&self.file).write_all(text.as_bytes()) {
            self.has_remains = self.file.set_len(self.bytes).is_err();
            return Err(broken(error));
        }
        self.bytes += text.len() as u64;
        self.head = head;
        Ok(())
    }

    /// What was not synced once may be lost although a later sync succeeds, so a failure is the end.
    fn sync(&mut self) -> Result<(), Broken> {
        if let Some(ended) = &self.ended {
            return Err(ended.clone());
        }
        if let Err(error) = self.file.sync_all() {
            let broken = broken(error);
            self.ended = Some(broken.clone());
            return Err(broken);
        }
        self.synced = self.head.clone();
        Ok(())
    }
}

/// What contradicts the stored head at the end of the file, for people who read the record of it.
fn wrong(
    lines: Lines<'_>,
    stored: &Pair,
    found: &Head,
    is_readable: bool,
) -> io::Result<Option<String>> {
    let synced = &stored.synced;
    if !is_readable {
        return Ok(Some(
            "the last line is no record as it was written".to_owned(),
        ));
    }
    if found.count < synced.count {
        let (from, to) = (found.count.saturating_add(1), synced.count);
        return Ok(Some(format!("records {from} to {to} are missing")));
    }
    if synced.count == 0 {
        return Ok(None);
    }
    let mut line = Vec::new();
    let start = lines.after(synced.count - 1)?;
    lines.from(start).read_until(b'\n', &mut line)?;
    line.pop_if(|byte| *byte == b'\n');
    let is_it = chain::read(&line)
        .is_some_and(|(sealed, _)| sealed.record.n == synced.count && sealed.hash == synced.hash);
    Ok((!is_it).then(|| format!("record {} is another than was written", synced.count)))
}

fn read_after(lines: Lines<'_>, after: u64, query: &RecordQuery) -> io::Result<Vec<Sealed>> {
    let (mut found, mut line) = (Vec::new(), Vec::new());
    let mut reader = lines.from(lines.after(after)?);
    while found.len() < query.limit {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        line.pop_if(|byte| *byte == b'\n');
        let sealed = chain::read(&line).map(|(sealed, _)| sealed);
        found.extend(sealed.filter(|sealed| sealed.record.n > after && query.wants(sealed)));
    }
    Ok(found)
}

fn read_last(lines: Lines<'_>, query: &RecordQuery) -> io::Result<Vec<Sealed>> {
    let mut found = VecDeque::new();
    let slack = |since: Millis| Millis(since.0.saturating_sub(CLOCK_SLACK_MS));
    let oldest = query.since.map(slack);
    lines.backward(|line| {
        let Some((sealed, _)) = chain::read(line) else {
            return true;
        };
        let is_old = oldest.is_some_and(|oldest| sealed.record.at < oldest);
        if found.len() < query.limit && query.wants(&sealed) {
            found.push_front(sealed);
        }
        found.len() < query.limit && !is_old
    })?;
    Ok(found.into())
}

impl RecordQuery {
    fn wants(&self, sealed: &Sealed) -> bool {
        let record = &sealed.record;
        let is = |wanted: &Option<String>, has: &Option<String>| wanted.is_none() || wanted == has;
        is(&self.session, &record.session)
            && is(&self.tool, &record.tool)
            && self.since.is_none_or(|since| record.at >= since)
    }
}

/// Reads the chain of a data directory that need not be held. It is not held against the head,
/// which is in the history.
///
/// # Errors
/// What the system said.
pub fn examine(dir: &Path) -> io::Result<Verdict> {
    match open(&dir.join(AUDIT), false) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Verdict::default()),
        Err(error) => Err(error),
        Ok(file) => verify(
            io::BufReader::with_capacity(4 * MAX_LINE_BYTES, file),
            None,
            None,
        ),
    }
}

/// Opens the file, for its owner alone. Follows no link.
fn open(path: &Path, writes: bool) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut options = OpenOptions::new();
    options.read(true).append(writes).custom_flags(flags);
    let file = match options.open(path) {
        Err(error) if writes && error.kind() == ErrorKind::NotFound => {
            let file = options.create_new(true).mode(0o600).open(path)?;
            path.parent().map_or(Ok(()), sync_dir)?;
            file
        }
        opened => opened?,
    };
    let meta = file.metadata()?;
    if !meta.is_file() {
        let why = samovar_locale::data_dir::file_not_regular();
        return Err(io::Error::new(ErrorKind::InvalidInput, why));
    }
    if writes && meta.permissions().mode() & 0o077 != 0 {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

fn lock(chain: &Mutex<Chain>) -> MutexGuard<'_, Chain> {
    // Its fields are set last, after the file was written.
    chain.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
fn broken(error: io::Error) -> Broken {
    from_io(AUDIT, &error)
}

#[cfg(test)]
mod tests;
