//! A file of rows: appended to with one write a step, and taken up again after a crash (RL-14).

mod marker;
mod recovery;
mod syncing;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use samovar_core::{failpoint, planted};

use crate::row::{self, NewRow, RowPosition};
pub(crate) use marker::{Marker, remove as remove_marker};
pub(crate) use recovery::LogTail;
pub(crate) use syncing::{SyncedFile, Syncer};

#[cfg(test)]
mod tests;

/// A file that rows are appended to. Its owner is the room that writes it.
pub(crate) struct LogFile {
    synced: Arc<SyncedFile>,
    /// Its id, which each row has.
    session: Arc<str>,
    /// The room, which each row has too.
    room: Arc<str>,
    len: u64,
    next: u64,
    check: String,
    /// Whether something stands behind `len` that could not be taken back.
    is_torn: bool,
}

impl LogFile {
    /// A file with nothing in it, which is new in the folder, if one is given.
    pub(crate) fn new(
        (file, folder): (File, Option<OwnedFd>),
        session: Arc<str>,
        room: Arc<str>,
    ) -> Self {
        Self {
            synced: Arc::new(SyncedFile::new(file, folder)),
            session,
            room,
            len: 0,
            next: 0,
            check: String::new(),
            is_torn: false,
        }
    }

    /// A file with rows, behind the last of which it continues.
    ///
    /// # Errors
    /// What the system said, or that the rows cannot be found.
    pub(crate) fn recover(
        file: File,
        session: Arc<str>,
        room: Arc<str>,
    ) -> io::Result<(Self, LogTail)> {
        let found = recovery::recover(&file)?;
        planted!("relay-index-again", {
            let begun = Self::new((file, None), session, room);
            return Ok((
                Self {
                    len: found.len,
                    ..begun
                },
                found,
            ));
        });
        let log = Self {
            len: found.len,
            next: found.last.as_ref().map_or(0, |row| row.event_index + 1),
            check: found
                .last
                .as_ref()
                .map_or_else(String::new, |row| row.check.clone()),
            ..Self::new((file, None), session, room)
        };
        Ok((log, found))
    }

    /// Its id.
    pub(crate) fn session(&self) -> &Arc<str> {
        &self.session
    }

    /// Its bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// What makes it survive more than a crash of the process.
    pub(crate) fn synced(&self) -> &Arc<SyncedFile> {
        &self.synced
    }

    /// Appends rows with one write, all or none; answers with the number of the first. The file does
    /// not become larger than `max_bytes`.
    ///
    /// # Errors
    /// What the system said; then none of them is there.
    pub(crate) fn append(&mut self, rows: &[NewRow], max_bytes: u64) -> io::Result<u64> {
        self.synced.check()?;
        if self.is_torn {
            self.cut()?;
        }
        let (mut lines, mut check) = (String::new(), self.check.clone());
        for (index, new) in (self.next..).zip(rows) {
            let place = RowPosition {
                session: &self.session,
                room: &self.room,
                index,
                previous: &check,
            };
            check = row::append(&mut lines, new, &place);
            planted!("relay-check-unchained", {
                check.clear();
            });
        }
        if self.len + lines.len() as u64 > max_bytes {
            let why = format!("the log has reached its bound of {max_bytes} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        failpoint!("relay.row.before");
        planted!("relay-told-before-logged", {
            let (file, at) = (self.synced.file().try_clone()?, self.len);
            let first = self.next;
            self.len += lines.len() as u64;
            self.next += rows.len() as u64;
            self.check = check;
            std::thread::spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(50));
                drop(file.write_all_at(lines.as_bytes(), at));
            });
            return Ok(first);
        });
        if let Err(error) = self.synced.file().write_all_at(lines.as_bytes(), self.len) {
            if let Err(error) = self.cut() {
                tracing::error!(%error, log = %self.session, "a torn row could not be taken back");
            }
            return Err(error);
        }
        failpoint!("relay.row.after");
        let first = self.next;
        self.len += lines.len() as u64;
        self.next += rows.len() as u64;
        self.check = check;
        Ok(first)
    }

    /// Cuts off all behind the last whole row.
    fn cut(&mut self) -> io::Result<()> {
        self.is_torn = true;
        self.synced.file().set_len(self.len)?;
        self.is_torn = false;
        Ok(())
    }
}
