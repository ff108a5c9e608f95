//! The file beside a room's own that says which study session is open there.

use std::io::{self, Read};
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Bytes of a marker, at most.
const MAX_BYTES: u64 = 4096;

/// An open study session, and the run of the server that wrote so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marker {
    pub(crate) study: String,
    pub(crate) run: String,
}

impl Marker {
    /// Reads the marker of a name in a directory; none when there is none.
    ///
    /// # Errors
    /// What the system said, or that it is no marker.
    pub(crate) fn read(dir: BorrowedFd<'_>, name: &str) -> io::Result<Option<Self>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(dir, name, flags, Mode::empty()) {
            Ok(file) => std::fs::File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let mut text = String::new();
        file.take(MAX_BYTES).read_to_string(&mut text)?;
        Ok(Some(serde_json::from_str(&text)?))
    }

    /// Writes it in the place of what was there, as a whole or not at all.
    ///
    /// # Errors
    /// What the system said; then the one before is still there.
    pub(crate) fn write(&self, dir: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        let temp = format!("{name}.new");
        remove(dir, &temp)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(dir, &temp, flags, Mode::RUSR | Mode::WUSR)?;
        let mut file = std::fs::File::from(file);
        let written = io::Write::write_all(&mut file, serde_json::to_string(self)?.as_bytes())
            .and_then(|()| Ok(renameat(dir, &temp, dir, name)?));
        if written.is_err() {
            remove(dir, &temp)?;
        }
        written
    }
}

/// Removes a file, if there is one.
pub(crate) fn remove(dir: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    match unlinkat(dir, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
