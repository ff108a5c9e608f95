//! The spool: it keeps live events until the commit that ends their message (DU-3).
//!
//! Append-only segments of [`frame`]s. The thread that reads a model appends what one read brought,
//! with one `write(2)` and without fsync: it survives a killed process, and the checksums find what
//! a power cut left. A segment is removed when no open message has bytes in it.

mod frame;
mod holdings;

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_core::journal::LogNo;
use samovar_core::{Broken, Event, failpoint};

use crate::data_dir::create;
use crate::disk::Disk;
use crate::journal::from_io;

pub(crate) use frame::{Frame, append, frames};
use holdings::Holdings;
pub(crate) use holdings::Release;

/// The spool of one run of the server. Begins empty: boot has folded what was there.
pub(crate) struct Spool {
    dir: PathBuf,
    segment_bytes: u64,
    disk: Disk,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<Segment>,
    /// The number of the last segment that was begun.
    last: u64,
    holdings: Holdings,
    /// What a failed write left, when it could not be taken back either, and how that write failed.
    torn: Option<(Segment, Broken)>,
}

impl Spool {
    pub(crate) fn new(dir: PathBuf, segment_bytes: u64, disk: Disk) -> Self {
        Self {
            dir,
            segment_bytes,
            disk,
            state: Mutex::default(),
        }
    }

    /// Appends live events of one log with one write. A durable one is refused: nothing says when
    /// the spool could let it go.
    ///
    /// # Errors
    /// [`Broken`]; then a boot will not find any of them.
    pub(crate) fn write(&self, log: LogNo, events: &[Arc<Event>]) -> Result<(), Broken> {
        if events.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(events.len() * frame::USUAL_BYTES);
        for event in events {
            if event.kind.is_durable() {
                let why = format!("event {} is durable, so it needs a commit", event.id());
                return Err(Broken::Io(why));
            }
            append(&mut bytes, log, event)?;
        }
        // What the ballast left is for what cannot wait.
        self.disk.check()?;
        let mut state = self.state();
        let segment = state.append(&bytes, self)?;
        for event in events {
            state.holdings.hold(segment, log, event);
        }
        Ok(())
    }

    /// Lets go of what a commit has kept or ended, and deletes the segments that nobody needs now.
    pub(crate) fn release(&self, log: LogNo, releases: &[Release]) {
        if releases.is_empty() {
            return;
        }
        let idle = {
            let mut state = self.state();
            state.holdings.release(log, releases);
            let current = state.current.as_ref().map(|segment| segment.number);
            state.holdings.take_idle(current)
        };
        for number in idle {
            self.delete(number);
        }
    }

    fn delete(&self, number: u64) {
        let path = self.path(number);
        if let Err(error) = fs::remove_file(&path) {
            tracing::warn!(%error, path = %path.display(), "a segment stays until the next start");
        }
    }

    fn path(&self, number: u64) -> PathBuf {
        self.dir.join(format!("{number:016}.{EXTENSION}"))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Appends to the current segment, or to a new one when it has no room; answers with its number.
    fn append(&mut self, bytes: &[u8], spool: &Spool) -> Result<u64, Broken> {
        if let Some((segment, broken)) = &self.torn {
            segment.cut().map_err(|_| broken.clone())?;
            self.torn = None;
        }
        let mut segment = match self.current.take() {
            Some(segment) if segment.has_room(bytes.len(), spool.segment_bytes) => segment,
            _ => self.begin_segment(spool)?,
        };
        failpoint!("spool.write.before");
        // From here to the end `current` is none, so a failed write ends the segment.
        if let Err(error) = segment.append(bytes) {
            let broken = from_io("the spool", &error);
            self.take_back(segment, &broken, spool);
            return Err(broken);
        }
        failpoint!("spool.write.after");
        let number = segment.number;
        self.current = Some(segment);
        Ok(number)
    }

    /// Takes back what a failed write may have left: its events are not kept, and their positions may
    /// be given to others. Until that is done nothing more is taken.
    fn take_back(&mut self, segment: Segment, broken: &Broken, spool: &Spool) {
        if let Err(error) = segment.cut() {
            tracing::error!(%error, "the spool takes nothing until a torn write is cut off");
            self.torn = Some((segment, broken.clone()));
        } else if segment.len == 0 {
            // Who waits for room tries again and again, each time with a new segment.
            self.holdings.end(segment.number);
            spool.delete(segment.number);
        }
    }

    fn begin_segment(&mut self, spool: &Spool) -> Result<Segment, Broken> {
        self.last += 1;
        let path = spool.path(self.last);
        let file = create(&path).map_err(|error| from_io(&path.display().to_string(), &error))?;
        self.holdings.begin(self.last);
        Ok(Segment {
            number: self.last,
            file,
            len: 0,
        })
    }
}

struct Segment {
    number: u64,
    file: File,
    len: u64,
}

impl Segment {
    /// One write larger than a segment gets one of its own.
    fn has_room(&self, bytes: usize, segment_bytes: u64) -> bool {
        self.len == 0 || self.len + bytes as u64 <= segment_bytes
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.file.write(bytes)?;
        if written < bytes.len() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Cuts off all behind the last whole write.
    fn cut(&self) -> io::Result<()> {
        self.file.set_len(self.len)
    }
}

const EXTENSION: &str = "spool";

/// Makes the folder of the spool, for the server alone.
pub(crate) fn make_dir(dir: &Path) -> Result<(), Broken> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|error| from_io(&dir.display().to_string(), &error))
}

/// The bytes of every segment, in the order in which they were begun.
pub(crate) fn read_segments(dir: &Path) -> Result<Vec<Vec<u8>>, Broken> {
    let read = |path: &PathBuf| {
        fs::read(path).map_err(|error| from_io(&path.display().to_string(), &error))
    };
    segment_paths(dir)?.iter().map(read).collect()
}

/// Deletes every segment.
pub(crate) fn clear(dir: &Path) -> Result<(), Broken> {
    for path in segment_paths(dir)? {
        fs::remove_file(&path).map_err(|error| from_io(&path.display().to_string(), &error))?;
    }
    Ok(())
}

// Their names have leading zeros, so the order of the paths is the order of the numbers.
fn segment_paths(dir: &Path) -> Result<Vec<PathBuf>, Broken> {
    let entries = fs::read_dir(dir).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|error| from_io(&dir.display().to_string(), &error))?;
    let mut paths: Vec<_> = entries.iter().map(fs::DirEntry::path).collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == EXTENSION)
    });
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests;
