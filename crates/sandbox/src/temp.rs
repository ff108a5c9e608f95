//! Unfinished files: named so that they are known, locked so that the dead are told from the
//! living.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{self, AtFlags, Dir, FileType, FlockOperation, Mode, RenameFlags};
use rustix::io::{self, Errno};
use rustix::path::Arg;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::sys::{self, Id};

const PREFIX: &str = ".samovar-";
const SUFFIX: &str = ".tmp";
/// Characters of the random part, in lower-case hex.
const RANDOM_CHARS: usize = 16;
/// How often a new name is tried when a sweep by another process takes the file away.
const ATTEMPTS: usize = 8;
/// How many names of a directory a sweep looks at.
const SWEEP_BOUND: usize = 65_536;
/// How many files one sweep removes.
const DEAD_BOUND: usize = 64;
/// How long a file may need to get its name back, at most, after another one took it.
const PUT_BACK: Duration = Duration::from_millis(50);

/// Whether a file of this name is an unfinished write.
pub(crate) fn is_temp_name(name: &OsStr) -> bool {
    name.as_bytes()
        .strip_prefix(PREFIX.as_bytes())
        .and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()))
        .is_some_and(|random| {
            random.len() == RANDOM_CHARS && random.iter().all(u8::is_ascii_hexdigit)
        })
}

/// A file that is gone unless it is renamed.
///
/// It is locked as long as its writer lives; a file with such a name and without a lock was left
/// by a process that was killed.
pub(crate) struct TempFile<'dir> {
    dir: BorrowedFd<'dir>,
    name: String,
    file: File,
    is_renamed: bool,
}

impl<'dir> TempFile<'dir> {
    /// Creates an empty file in `dir`.
    pub(crate) fn create(dir: BorrowedFd<'dir>, mode: Mode) -> io::Result<TempFile<'dir>> {
        for _ in 0..ATTEMPTS {
            let name = random_name()?;
            let file = File::from(sys::create(dir, &name, mode)?);
            let temp = TempFile {
                dir,
                name,
                file,
                is_renamed: false,
            };
            if temp.lock()? {
                return Ok(temp);
            }
        }
        Err(Errno::BUSY)
    }

    /// The name that it has until it is renamed.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The open file.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Ends the writing, so that who else writes to the file can be told; it stays locked throughout.
    pub(crate) fn end_writing(&mut self) -> io::Result<()> {
        let reading = sys::open_beneath(self.dir, &self.name, sys::READ)?;
        fs::flock(&reading, FlockOperation::NonBlockingLockShared)?;
        self.file = File::from(reading);
        Ok(())
    }

    /// Gives the file its real name, in place of what may have it.
    pub(crate) fn rename(mut self, name: &OsStr) -> io::Result<()> {
        fs::renameat(self.dir, self.name.as_str(), self.dir, name)?;
        self.is_renamed = true;
        Ok(())
    }

    /// Gives the file its real name, unless something has it.
    ///
    /// # Errors
    /// [`Errno::EXIST`]: something has the name.
    pub(crate) fn rename_new(self, name: &OsStr) -> io::Result<()> {
        let dir = self.dir;
        self.rename_by(|temp| rename_new(dir, temp, name))
    }

    /// Gives the file its real name in another way.
    pub(crate) fn rename_by(
        mut self,
        rename: impl FnOnce(&str) -> io::Result<()>,
    ) -> io::Result<()> {
        rename(&self.name)?;
        self.is_renamed = true;
        Ok(())
    }

    /// Gives the file its real name, and the file that had it this one's, which is returned; that
    /// file is not removed with this value.
    pub(crate) fn exchange(&mut self, name: &OsStr) -> io::Result<&str> {
        fs::renameat_with(
            self.dir,
            self.name.as_str(),
            self.dir,
            name,
            RenameFlags::EXCHANGE,
        )?;
        self.is_renamed = true;
        Ok(&self.name)
    }

    /// Whether the lock is ours and the file still has its name: between its creation and its
    /// lock a sweep may have taken it for a dead one.
    fn lock(&self) -> io::Result<bool> {
        // Shared with the same file opened for reading; a sweep wants it alone.
        match fs::flock(&self.file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(fs::fstat(&self.file)?.st_nlink > 0),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(other) => Err(other),
        }
    }
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        if !self.is_renamed {
            // A name that cannot be removed now is removed by the next sweep.
            fs::unlinkat(self.dir, self.name.as_str(), AtFlags::empty()).ok();
        }
    }
}

/// Renames a file in `dir`, unless something has the new name.
pub(crate) fn rename_new(dir: BorrowedFd<'_>, from: impl Arg, name: impl Arg) -> io::Result<()> {
    match fs::renameat_with(dir, from, dir, name, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => Err(Errno::OPNOTSUPP),
        done => done,
    }
}

/// Removes the files that killed writers left in `dir`.
///
/// What cannot be removed stays, and is still shown to nobody; a write does not fail for it.
pub(crate) fn sweep(dir: BorrowedFd<'_>) {
    let Ok(entries) = Dir::read_from(dir) else {
        return;
    };
    let mut dead = Vec::new();
    for entry in entries.take(SWEEP_BOUND).map_while(Result::ok) {
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if is_temp_name(name)
            && dead.len() < DEAD_BOUND
            && let Ok(left) = take_dead(dir, name)
        {
            dead.push((name.to_owned(), left));
        }
    }
    if dead.is_empty() {
        return;
    }
    // What another program saved has such a name for the moment in which it is put back.
    thread::sleep(PUT_BACK);
    for (name, left) in dead {
        if is_still(dir, &name, &left) {
            fs::unlinkat(dir, name.as_os_str(), AtFlags::empty()).ok();
        }
    }
}

/// Opens and locks a file without a writer.
fn take_dead(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    if sys::file_type(&sys::stat_in(dir, name)?) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    let left = sys::open_beneath(dir, name, sys::READ)?;
    fs::flock(left.as_fd(), FlockOperation::NonBlockingLockExclusive)?;
    Ok(left)
}

/// Whether an open file still has its name.
pub(crate) fn is_still(dir: BorrowedFd<'_>, name: impl AsRef<Path>, file: impl AsFd) -> bool {
    let named = sys::stat_in(dir, name).ok();
    let opened = fs::fstat(file).ok();
    named.is_some() && named.map(|stat| Id::of(&stat)) == opened.map(|stat| Id::of(&stat))
}

/// A name of an unfinished file.
pub(crate) fn random_name() -> io::Result<String> {
    Ok(format!("{PREFIX}{}{SUFFIX}", random_hex()?))
}

/// Sixteen digits that no other program guesses.
pub(crate) fn random_hex() -> io::Result<String> {
    let mut random = [0_u8; 8];
    getrandom(&mut random, GetRandomFlags::empty())?;
    Ok(format!("{:016x}", u64::from_ne_bytes(random)))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::{is_temp_name, random_name};

    #[test]
    fn only_names_of_our_own_making_are_unfinished_writes() {
        assert!(is_temp_name(OsStr::new(&random_name().unwrap())));
        for other in [
            ".samovar-.tmp",
            ".samovar-0123456789abcde.tmp",
            ".samovar-0123456789abcdef.tmp~",
            ".samovar-0123456789abcdefa.tmp",
            ".samovar-0123456789abcdeg.tmp",
            "x.samovar-0123456789abcdef.tmp",
            ".samovar",
        ] {
            assert!(!is_temp_name(OsStr::new(other)), "{other}");
        }
    }
}
