//! The log of one room: its own file, and that of the study session which is open there.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use samovar_core::relay::StudyView;
use samovar_core::{Millis, failpoint, planted};

use super::StudyLogs;
use super::files::{Folder, is_id, marker_name, room_id};
use crate::log::{LogFile, Marker, SyncedFile, remove_marker};
use crate::queue::RowAddress;
use crate::room::{Move, Step};
use crate::row::{CheckedPayload, Direction, NewRow, Row, note};

/// Ids of ours that are tried for a study, at most.
const TRIES: usize = 1000;

/// What was kept of a step.
pub(crate) struct KeptRows {
    /// Where its first row stands; the others follow.
    pub(crate) first: RowAddress,
    /// The id of the study session that began with it.
    pub(crate) begun: Option<String>,
    /// The file of the one that ended with it.
    pub(crate) ended: Option<Arc<SyncedFile>>,
}

/// The log of a room. Its owner is the room.
pub(crate) struct RoomLog {
    logs: StudyLogs,
    room: Arc<str>,
    /// The id of the room's own file.
    id: Arc<str>,
    own: Option<LogFile>,
    /// Whether the id is this room's: two names could have the same.
    has_id: bool,
    study: Option<LogFile>,
}

impl RoomLog {
    /// The log of a room; no file is touched yet.
    pub(crate) fn new(logs: StudyLogs, room: &str) -> Self {
        Self {
            logs,
            id: room_id(room).into(),
            room: room.into(),
            own: None,
            has_id: false,
            study: None,
        }
    }

    /// Goes on with the study session that was open when the room, or the server, was last there: its
    /// id, if there is one.
    ///
    /// # Errors
    /// What the system said; then it does not go on.
    pub(crate) fn resume(&mut self, now: Millis) -> io::Result<Option<String>> {
        planted!("relay-study-forgotten", {
            return Ok(None);
        });
        let folder = self.logs.0.files.folder(Folder::Rooms)?;
        let name = marker_name(&self.id);
        let Some(marker) = Marker::read(folder.as_fd(), &name)? else {
            return Ok(None);
        };
        if !is_id(&marker.study) {
            return Err(wrong(
                "the room's marker names no study; it was left as it is",
            ));
        }
        if !self.logs.names().open.insert(marker.study.clone()) {
            return Err(wrong(
                "the study of the room's marker is open in another room",
            ));
        }
        let resumed = self.resume_study(&marker, now);
        if !matches!(resumed, Ok(true)) {
            self.logs.names().open.remove(&marker.study);
        }
        Ok(resumed?.then_some(marker.study))
    }

    /// When the open study session began, by its first row; `now` if that cannot be read.
    pub(crate) fn begun_or(&self, now: Millis) -> Millis {
        let first = self.study.as_ref().and_then(|study| {
            let rows = self.logs.rows(study.session(), StudyView::File, None, 1);
            crate::row::at(rows.ok()?.first()?)
        });
        first.unwrap_or(now)
    }

    fn resume_study(&mut self, marker: &Marker, now: Millis) -> io::Result<bool> {
        let study = marker.study.as_str();
        let file = match self.logs.0.files.old_study(study) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.unmark()?;
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        let (mut file, found) = LogFile::recover(file, study.into(), self.room.clone())?;
        if found.torn > 0 {
            tracing::warn!(
                study,
                bytes = found.torn,
                "the torn end of a study log was cut off"
            );
        }
        if found.last.is_none_or(|row| is_end(&row)) {
            self.unmark()?;
            return Ok(false);
        }
        if marker.run != self.logs.0.run {
            planted!("relay-restart-unsaid", {
                self.study = Some(file);
                return Ok(true);
            });
            self.append(&mut file, &[internal(now, note::RESTARTED, &[])])?;
            self.mark(study)?;
        }
        self.study = Some(file);
        Ok(true)
    }

    /// Keeps the rows of a step, all or none.
    ///
    /// # Errors
    /// What the system said; then none of them is kept, and a study session that was to begin has
    /// not.
    pub(crate) fn keep(&mut self, step: &Step) -> io::Result<KeptRows> {
        match &step.log {
            Move::Begins(announced) => self.begin(step, announced.as_deref()),
            Move::Stays => self.keep_rows(&step.rows),
            Move::Ends => {
                let kept = self.keep_rows(&step.rows)?;
                let ended = self.close_study();
                failpoint!("relay.study.ended");
                Ok(KeptRows { ended, ..kept })
            }
        }
    }

    fn keep_rows(&mut self, rows: &[NewRow]) -> io::Result<KeptRows> {
        let first = match self.study.take() {
            Some(mut file) => {
                let index = self.append(&mut file, rows);
                let session = file.session().clone();
                self.study = Some(file);
                RowAddress {
                    session,
                    index: index?,
                }
            }
            None => self.keep_own(rows)?,
        };
        Ok(KeptRows {
            first,
            begun: None,
            ended: None,
        })
    }

    /// Keeps rows in the room's own file; when that has no room it is moved away, and the next
    /// begins.
    fn keep_own(&mut self, rows: &[NewRow]) -> io::Result<RowAddress> {
        let mut file = self.take_own()?;
        let mut index = self.append(&mut file, rows);
        if matches!(&index, Err(error) if error.kind() == io::ErrorKind::FileTooLarge)
            && file.len() > 0
        {
            self.logs.0.files.roll_room(&self.id)?;
            file = self.take_own()?;
            index = self.append(&mut file, rows);
        }
        self.own = Some(file);
        Ok(RowAddress {
            session: self.id.clone(),
            index: index?,
        })
    }

    /// The room's own file, which is opened for its first row.
    fn take_own(&mut self) -> io::Result<LogFile> {
        if let Some(own) = self.own.take() {
            return Ok(own);
        }
        if !self.has_id {
            self.has_id = self.logs.names().rooms.insert(self.id.to_string());
            if !self.has_id {
                return Err(wrong("another room has a file of the same name open"));
            }
        }
        let file = self.logs.0.files.room(&self.id)?;
        let (file, found) = LogFile::recover(file, self.id.clone(), self.room.clone())?;
        if found.torn > 0 {
            let (room, bytes) = (&*self.id, found.torn);
            tracing::warn!(room, bytes, "the torn end of a room's log was cut off");
        }
        Ok(file)
    }

    fn begin(&mut self, step: &Step, announced: Option<&str>) -> io::Result<KeptRows> {
        let (study, (file, folder), why) = self.new_study(step.at, announced)?;
        let mut file = LogFile::new(
            (file, Some(folder)),
            study.as_str().into(),
            self.room.clone(),
        );
        let renamed = why.map(|why| {
            let fields = [("announced", announced.unwrap_or_default()), ("why", why)];
            internal(step.at, note::RENAMED, &fields)
        });
        let rows: Vec<NewRow> = step.rows.iter().cloned().chain(renamed).collect();
        let began = self.append(&mut file, &rows);
        // The one before is over before this one is marked: a crash in between leaves none that is
        // open and not over, and nobody was told of this one.
        let began = began.and_then(|_| {
            self.supersede(step.at);
            self.mark(&study)
        });
        if let Err(error) = began {
            if let Err(error) = self.logs.0.files.remove_study(&study) {
                tracing::warn!(%error, study, "a study log that did not begin is still there");
            }
            self.logs.names().open.remove(&study);
            return Err(error);
        }
        failpoint!("relay.study.started");
        let session = file.session().clone();
        self.sync_soon(&file);
        self.study = Some(file);
        Ok(KeptRows {
            first: RowAddress { session, index: 0 },
            begun: Some(study),
            ended: None,
        })
    }

    /// Makes the file of a new study session under the host's id, or under one of ours and why.
    fn new_study(
        &self,
        at: Millis,
        announced: Option<&str>,
    ) -> io::Result<(String, (File, OwnedFd), Option<&'static str>)> {
        let mut why = match announced {
            None => Some("missing"),
            Some(id) if !is_id(id) => Some("not usable"),
            Some(_) => None,
        };
        let mut id = announced.filter(|_| why.is_none()).map(str::to_owned);
        for _ in 0..TRIES {
            let tried = id.take().unwrap_or_else(|| self.logs.propose(at));
            match self.logs.0.files.new_study(&tried) {
                Ok(file) => {
                    self.logs.names().open.insert(tried.clone());
                    return Ok((tried, file, why));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    why = why.or(Some("used before"));
                }
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("no id for a new study is free"))
    }

    /// The study session that was open is over, because another has begun.
    fn supersede(&mut self, at: Millis) {
        let Some(mut old) = self.study.take() else {
            return;
        };
        let row = internal(at, note::SUPERSEDED, &[]);
        if let Err(error) = self.append(&mut old, &[row]) {
            tracing::error!(%error, study = %old.session(), "the end of a study is not in its log");
        }
        self.logs.names().open.remove(&**old.session());
        self.sync_soon(&old);
    }

    /// Nothing more comes to the study session's file, which is open no longer.
    pub(crate) fn close_study(&mut self) -> Option<Arc<SyncedFile>> {
        let file = self.study.take()?;
        self.logs.names().open.remove(&**file.session());
        if let Err(error) = self.unmark() {
            tracing::warn!(%error, room = %self.id, "a study that is over is still marked as open");
        }
        Some(file.synced().clone())
    }

    /// Leaves all files as they are; a study session continues when the room is there again.
    pub(crate) fn close(&mut self) {
        self.own = None;
        if std::mem::take(&mut self.has_id) {
            self.logs.names().rooms.remove(&*self.id);
        }
        if let Some(file) = self.study.take() {
            self.logs.names().open.remove(&**file.session());
        }
    }

    fn append(&self, file: &mut LogFile, rows: &[NewRow]) -> io::Result<u64> {
        let first = file.append(rows, self.logs.0.max_bytes)?;
        self.logs.0.syncer.wrote(file.synced());
        Ok(first)
    }

    fn sync_soon(&self, file: &LogFile) {
        // A failure is noted in the file, and its next row is refused.
        drop(self.logs.0.syncer.blocking(file.synced().clone(), drop));
    }

    fn mark(&self, study: &str) -> io::Result<()> {
        let folder = self.logs.0.files.folder(Folder::Rooms)?;
        let marker = Marker {
            study: study.to_owned(),
            run: self.logs.0.run.clone(),
        };
        marker.write(folder.as_fd(), &marker_name(&self.id))
    }

    fn unmark(&self) -> io::Result<()> {
        let folder = self.logs.0.files.folder(Folder::Rooms)?;
        remove_marker(folder.as_fd(), &marker_name(&self.id))
    }
}

/// Whether a study is over behind this row. A request to end it is no end.
fn is_end(row: &Row) -> bool {
    let over = [note::ENDED, note::SUPERSEDED];
    row.direction == Direction::Internal && over.contains(&row.kind.as_str())
}

fn wrong(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// A note of the relay's own.
fn internal(at: Millis, kind: &'static str, fields: &[(&str, &str)]) -> NewRow {
    let fields = fields
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).into()));
    NewRow {
        at,
        direction: Direction::Internal,
        kind,
        payload: Arc::new(CheckedPayload::of(&fields.collect())),
        role: None,
        member: None,
        id: None,
        reply_to: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rooms_never_write_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let logs = StudyLogs::new(dir.path(), Millis(0), u64::MAX);
        let mut step = Step::new(Millis(0), None);
        step.rows = vec![internal(Millis(0), note::ENTERED, &[])];
        // Nobody needs to find two names for that: one does.
        let [mut one, mut other] = ["r", "r"].map(|name| RoomLog::new(logs.clone(), name));
        assert_eq!(one.keep(&step).unwrap().first.index, 0);
        assert!(other.keep(&step).is_err());
        assert_eq!(one.keep(&step).unwrap().first.index, 1);
        one.close();
        assert_eq!(other.keep(&step).unwrap().first.index, 2);
    }
}
