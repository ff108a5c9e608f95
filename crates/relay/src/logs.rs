//! The study logs of a data directory: which there are, and what stands in them (RL-13 to RL-17).

mod files;
mod reading;
mod room_log;

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use samovar_core::relay::{StudyInfo, StudyView};
use samovar_core::{Code, Error, Millis};
use samovar_locale as locale;

use crate::log::Syncer;
use crate::room::shown;
use crate::row::Row;
pub(crate) use files::{Files, room_id};
pub(crate) use room_log::RoomLog;

/// Studies that are listed at once, at most.
const MAX_LISTED: usize = 200;
/// Rows that are read at once, at most.
const MAX_ROWS: usize = 5000;
/// Bytes of rows that are read at once, at most, unless the first alone has more.
const MAX_ROW_BYTES: usize = 4 << 20;

/// Bytes at the end of a room's file in which its newest rows are looked for.
const MAX_NEWEST_BYTES: u64 = 2 << 20;

/// The study logs of a server. A clone is another handle on them.
#[derive(Clone)]
pub struct StudyLogs(Arc<Inner>);

struct Inner {
    files: Files,
    /// A file's bytes, at most.
    max_bytes: u64,
    /// The name of this run of the server.
    run: String,
    syncer: Arc<Syncer>,
    names: Mutex<Names>,
}

#[derive(Default)]
struct Names {
    /// The day of the last id, and its number.
    day: String,
    last: u64,
    /// The studies whose file a room has open.
    open: HashSet<String>,
    /// The ids of the rooms whose own file is open.
    rooms: HashSet<String>,
}

impl StudyLogs {
    /// The logs below a data directory; no file is touched before the first row.
    pub(crate) fn new(data_dir: &Path, now: Millis, max_bytes: u64) -> Self {
        Self(Arc::new(Inner {
            files: Files::new(data_dir),
            max_bytes,
            run: format!("{:x}-{:x}", now.0, std::process::id()),
            syncer: Arc::default(),
            names: Mutex::default(),
        }))
    }

    /// The studies after `after`, sorted by id, which is by day: at most 200. Reads their files, so
    /// it may block.
    pub fn list(&self, after: Option<&str>, limit: usize) -> Vec<StudyInfo> {
        let mut ids = self.0.files.studies();
        ids.retain(|id| after.is_none_or(|after| id.as_str() > after));
        ids.sort_unstable();
        ids.truncate(limit.min(MAX_LISTED));
        let read = |id: String| match self.0.files.read_study(&id) {
            Ok(file) => Some(reading::summary(id, &file)),
            Err(error) => {
                tracing::warn!(%error, id, "a study log cannot be read");
                None
            }
        };
        ids.into_iter().filter_map(read).collect()
    }

    /// The rows of a study in a view after one, oldest first: at most 5,000, and about 4 MiB. Reads
    /// its file, so it may block.
    ///
    /// # Errors
    /// [`Code::UnknownStudy`]; [`Code::StoreFailed`] when a row cannot be read.
    pub fn rows(
        &self,
        id: &str,
        view: StudyView,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Row>, Error> {
        let unknown = || Error::new(Code::UnknownStudy, locale::relay::study_unknown(shown(id)));
        if !files::is_id(id) {
            return Err(unknown());
        }
        let file = match self.0.files.read_study(id) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(unknown()),
            Err(error) => {
                let why = locale::relay::log_unreadable(id, error);
                return Err(Error::new(Code::StoreFailed, why));
            }
        };
        let bounds = (limit.min(MAX_ROWS), MAX_ROW_BYTES);
        reading::rows(&file, view, after, bounds).map_err(|error| {
            let why = locale::relay::log_unreadable(id, error);
            Error::new(Code::StoreFailed, why)
        })
    }

    /// The newest rows of a room's own file after one, oldest first: of its last 2 MiB, at most 5,000,
    /// and none for a room without a file. Reads the file, so it may block.
    ///
    /// # Errors
    /// [`Code::StoreFailed`] when a row cannot be read.
    pub fn room_rows(
        &self,
        room: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Row>, Error> {
        let room = room.trim();
        let unreadable = |error| {
            let why = locale::relay::log_unreadable(shown(room), error);
            Error::new(Code::StoreFailed, why)
        };
        let file = match self.0.files.read_room(&room_id(room)) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unreadable(error)),
        };
        let bounds = (limit.min(MAX_ROWS), MAX_ROW_BYTES);
        reading::newest_rows(&file, MAX_NEWEST_BYTES, after, bounds).map_err(unreadable)
    }

    /// The rooms with an open study session whose host was one of this process. Reads their logs, so
    /// it may block.
    pub fn interrupted_rooms(&self) -> Vec<String> {
        let studies = self.0.files.marked_studies().into_iter();
        let rooms = studies.filter_map(|study| {
            let file = self.0.files.read_study(&study).ok()?;
            reading::room_of_built_in_host(&file)
        });
        rooms.collect()
    }

    /// An id that no study has, for one that begins now: also none that a host made up, since what one
    /// of ours says of itself is to be the name of its file.
    pub(crate) fn propose(&self, now: Millis) -> String {
        let day = Timestamp::from_millisecond(now.0).unwrap_or_default();
        let day = day.strftime("%Y%m%d").to_string();
        let mut names = self.names();
        if names.day != day {
            names.last = self.0.files.last_of(&format!("s-{day}-"));
            names.day = day;
        }
        loop {
            names.last += 1;
            let id = format!("s-{}-{:03}", names.day, names.last);
            if !self.0.files.has_study(&id) {
                return id;
            }
        }
    }

    /// Waits for what is being synced.
    pub(crate) async fn settle(&self) {
        self.0.syncer.settle().await;
    }

    /// Syncs all that is written, and waits for it.
    pub(crate) async fn close(&self) {
        self.0.syncer.close().await;
    }

    pub(crate) fn syncer(&self) -> &Arc<Syncer> {
        &self.0.syncer
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.0.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
