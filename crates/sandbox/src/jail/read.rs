//! Reading one file.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::SystemTime;

use rustix::fs;
use samovar_descriptors::retry;

use super::{Jail, require_regular, require_stored};
use crate::error::JailError;
use crate::path::JailPath;
use crate::sys::{self, Id};

/// A regular file of the jail, open for reading.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    place: JailPath,
    len: u64,
    modified: SystemTime,
    mode: u32,
}

impl Jail {
    /// Opens a regular file for reading; never waits for a pipe or a device.
    ///
    /// # Errors
    /// [`JailError::NotFound`], [`JailError::Symlink`], [`JailError::NotRegular`],
    /// [`JailError::IsADirectory`], [`JailError::NotADirectory`], [`JailError::Io`].
    pub fn open_file(&self, place: &JailPath) -> Result<OpenFile, JailError> {
        let refused = |errno| JailError::from_errno(errno, place.as_path());
        let Some((folder, name)) = place.split() else {
            return Err(JailError::IsADirectory {
                path: place.to_string(),
            });
        };
        let dir = self.descend(folder)?;
        // Before the open, because opening a device can already do something.
        let seen = sys::stat_in(&dir, name).map_err(refused)?;
        if self.guard.hides(Id::of(&seen)) {
            return Err(JailError::not_found(place.as_path()));
        }
        require_regular(&seen, place)?;
        let held = retry(|| sys::open_beneath(&dir, name, sys::READ)).map_err(refused)?;
        // And after it, because this is the file that will be read.
        require_regular(&fs::fstat(&held).map_err(refused)?, place)?;
        require_stored(held.as_fd(), place)?;
        OpenFile::new(File::from(held), place)
            .map_err(|source| JailError::io(place.as_path(), source))
    }
}

impl OpenFile {
    fn new(file: File, place: &JailPath) -> io::Result<OpenFile> {
        let meta = file.metadata()?;
        let (len, modified, mode) = (meta.len(), meta.modified()?, meta.mode() & 0o7777);
        Ok(OpenFile {
            file,
            place: place.clone(),
            len,
            modified,
            mode,
        })
    }

    /// Its length in bytes when it was opened.
    #[expect(
        clippy::len_without_is_empty,
        reason = "a length of a file, not of a collection"
    )]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// When its content last changed.
    pub fn modified(&self) -> SystemTime {
        self.modified
    }

    /// Its permission bits.
    pub fn mode(&self) -> u32 {
        self.mode
    }

    /// At most `cap` bytes from `offset`, counted in bytes; fewer only at the end of the file.
    ///
    /// # Errors
    /// [`JailError::Io`].
    pub fn read_at(&self, offset: u64, cap: usize) -> Result<Vec<u8>, JailError> {
        let left = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; cap.min(left)];
        let mut filled = 0;
        while filled < bytes.len() {
            match self
                .file
                .read_at(&mut bytes[filled..], offset + filled as u64)
            {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(JailError::io(self.place.as_path(), source)),
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// The whole content, which may have `cap` bytes.
    ///
    /// # Errors
    /// [`JailError::TooLarge`], also when the file grew since it was opened; [`JailError::Io`].
    pub fn into_bytes(self, cap: u64) -> Result<Vec<u8>, JailError> {
        let mut bytes = Vec::new();
        if self.len <= cap {
            (&self.file)
                .take(cap.saturating_add(1))
                .read_to_end(&mut bytes)
                .map_err(|source| JailError::io(self.place.as_path(), source))?;
        }
        let size = self.len.max(bytes.len() as u64);
        if size > cap {
            return Err(JailError::TooLarge {
                path: self.place.to_string(),
                size,
                cap,
            });
        }
        Ok(bytes)
    }

    /// The file itself, for a reader with its own buffers.
    pub fn into_file(self) -> File {
        self.file
    }
}
