//! Reads a file that somebody else may have put there: once, to a bound, and never waiting.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use samovar_locale as locale;
use sha2::{Digest, Sha256};

use crate::error::Problem;

/// Bytes of a configuration file, at most.
pub const MAX_FILE_BYTES: u64 = 256 * 1024;

/// What was read. The same bytes are used and hashed: nothing is opened a second time.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// SHA-256 of the bytes, in hex.
    pub(crate) sha256: String,
}

/// Reads a file; none when there is nothing of that name.
pub(crate) fn read(path: &Path) -> Result<Option<Content>, Problem> {
    let refuse = |why: String| Problem::Unreadable {
        file: path.to_owned(),
        why,
    };
    // A pipe in the file's place is opened without waiting for its other end.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::NOTDIR) if path.symlink_metadata().is_err() => return Ok(None),
        Err(Errno::NOENT) => return Err(refuse(locale::config::file_dangling().to_owned())),
        Err(Errno::LOOP) => return Err(refuse(locale::config::file_looping().to_owned())),
        Err(errno) => return Err(refuse(errno.to_string())),
    };
    let about = file.metadata().map_err(|error| refuse(error.to_string()))?;
    if about.is_dir() {
        return Err(refuse(locale::config::file_folder().to_owned()));
    }
    if !about.is_file() {
        return Err(refuse(locale::config::file_irregular().to_owned()));
    }
    let mut bytes = Vec::new();
    let read = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| refuse(error.to_string()))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(refuse(locale::config::file_large(MAX_FILE_BYTES)));
    }
    let sha256 = hex(&Sha256::digest(&bytes));
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let before = &error.as_bytes()[..good];
        let line = before.split(|byte| *byte == b'\n').count();
        refuse(locale::config::file_not_text(line))
    })?;
    Ok(Some(Content {
        path: path.to_owned(),
        text,
        sha256,
    }))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string cannot fail.
        let _infallible = write!(hex, "{byte:02x}");
    }
    hex
}
