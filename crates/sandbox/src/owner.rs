//! The owner of a data directory: a mark that only this user, on this machine, can make.
//!
//! A folder that came with a clone can hold everything that a data directory holds: a lock, a
//! journal, a session whose next message runs tools. So the mark is a code over the directory's
//! path, made with a key that never leaves this user's own folder. A copied, cloned or unpacked
//! directory has no valid mark.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{self, Dir, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::process::geteuid;
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest, Sha256};

use crate::lock::{DirLock, LOCK_NAME};
use crate::small::{self, Survival};
use crate::temp;

const MARK_NAME: &str = "owner";
const IGNORE_NAME: &str = ".gitignore";
const KEY_NAME: &str = "owner-key";
/// Hex digits of a key, and of a mark.
const DIGITS: usize = 64;
/// The block of SHA-256, in bytes.
const BLOCK: usize = 64;
/// What a mark is made for, so that the key can serve nothing else.
const PURPOSE: &[u8] = b"samovar data directory\0";

/// This user on this machine, known by a key in a folder of theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    state: PathBuf,
}

/// Whose a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// Nobody's: it is missing, or holds nothing yet.
    Free,
    /// This user's: they have made it, or named it once.
    Ours,
    /// Somebody else's.
    Foreign(Foreign),
}

/// Why a directory does not count as this user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// It is a link, which may lead to any folder of this user.
    Link,
    /// It is no directory, or cannot be looked into.
    Unusable,
    /// Another user of the system owns it.
    OtherUser,
    /// Other users of the system can write into it.
    Open,
    /// It holds something, and no mark of this user's for this place.
    Unmarked,
}

impl Owner {
    /// The user whose key lies in the folder `state`; it need not be there yet.
    pub fn new(state: PathBuf) -> Owner {
        Owner { state }
    }

    /// Whose `dir` is. Nothing is made or changed.
    pub fn standing(&self, dir: &Path) -> Ownership {
        match self.look(dir) {
            Ok(standing) => standing,
            Err(Errno::NOENT) => Ownership::Free,
            Err(Errno::LOOP) => Ownership::Foreign(Foreign::Link),
            Err(_) if dir.is_symlink() => Ownership::Foreign(Foreign::Link),
            Err(_) => Ownership::Foreign(Foreign::Unusable),
        }
    }

    /// Makes the key if there is none, so that later marks can be verified.
    ///
    /// # Errors
    /// What the system said.
    pub fn prepare(&self) -> io::Result<()> {
        self.key_or_fresh().map(drop)
    }

    fn look(&self, dir: &Path) -> rustix::io::Result<Ownership> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = fs::open(dir, flags, Mode::empty())?;
        let stat = fs::fstat(&held)?;
        if stat.st_uid != geteuid().as_raw() {
            return Ok(Ownership::Foreign(Foreign::OtherUser));
        }
        if is_fresh(&held)? {
            return Ok(Ownership::Free);
        }
        if is_open_to_others(&stat) {
            return Ok(Ownership::Foreign(Foreign::Open));
        }
        let expected = self.key().zip(dir.canonicalize().ok());
        let expected = expected.map(|(key, path)| key.mark(&path));
        if expected.is_some() && read_hex(&held, MARK_NAME) == expected {
            return Ok(Ownership::Ours);
        }
        Ok(Ownership::Foreign(Foreign::Unmarked))
    }

    fn key(&self) -> Option<Key> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let state = fs::open(&self.state, flags, Mode::empty()).ok()?;
        read_hex(&state, KEY_NAME).map(Key)
    }

    fn key_or_fresh(&self) -> io::Result<Key> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.state)?;
        let state = File::open(&self.state)?;
        // Two that start at once must not each make one.
        state.lock()?;
        if let Some(key) = self.key() {
            return Ok(key);
        }
        let mut random = [0_u8; DIGITS / 2];
        getrandom(&mut random, GetRandomFlags::empty())?;
        let key = hex(&random);
        put(state.as_fd(), KEY_NAME, &key, Survival::Crash)?;
        Ok(Key(key))
    }
}

impl DirLock {
    /// Marks the directory as this user's, so that later commands use it without naming it.
    ///
    /// One that holds nothing yet is closed to others, and git is told to leave it alone.
    ///
    /// # Errors
    /// What the system said; the directory can be used all the same.
    pub fn mark(&self, owner: &Owner) -> io::Result<()> {
        let dir = self.held().as_fd();
        if is_fresh(dir)? {
            fs::fchmod(dir, Mode::RWXU)?;
            put(dir, IGNORE_NAME, "*", Survival::Content)?;
        }
        let mark = owner.key_or_fresh()?.mark(&self.dir().canonicalize()?);
        if read_hex(dir, MARK_NAME).as_ref() != Some(&mark) {
            put(dir, MARK_NAME, &mark, Survival::Crash)?;
        }
        Ok(())
    }
}

/// 32 random bytes, in hex.
struct Key(String);

impl Key {
    /// The mark for a directory: HMAC-SHA-256 over its path, in hex.
    fn mark(&self, path: &Path) -> String {
        hex(&hmac(
            self.0.as_bytes(),
            &[PURPOSE, path.as_os_str().as_bytes()],
        ))
    }
}

/// HMAC-SHA-256 (RFC 2104) with a key of at most one block.
fn hmac(key: &[u8], message: &[&[u8]]) -> [u8; 32] {
    let padded = |pad: u8| {
        let mut block = [pad; BLOCK];
        for (byte, of_key) in block.iter_mut().zip(key) {
            *byte ^= of_key;
        }
        Sha256::new_with_prefix(block)
    };
    let mut inner = padded(0x36);
    for part in message {
        inner.update(part);
    }
    padded(0x5c)
        .chain_update(inner.finalize())
        .finalize()
        .into()
}

/// Whether there is nothing in it that a store made: no more than what a directory has that was
/// taken and given up at once.
fn is_fresh(dir: impl AsFd) -> rustix::io::Result<bool> {
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let first = [".", "..", LOCK_NAME, MARK_NAME, IGNORE_NAME];
        if !first.iter().any(|known| name == *known) && !temp::is_temp_name(name) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_open_to_others(stat: &Stat) -> bool {
    Mode::from_raw_mode(stat.st_mode).intersects(Mode::WGRP | Mode::WOTH)
}

/// The digits in a file of ours; none when it is anything else.
fn read_hex(dir: impl AsFd, name: &str) -> Option<String> {
    let text = small::read(dir, name, DIGITS as u64 + 2).ok()??;
    let digits = text.trim_end();
    let is_hex = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| digits.to_owned())
}

fn put(dir: impl AsFd, name: &str, line: &str, survival: Survival) -> io::Result<()> {
    small::write(dir, name, format!("{line}\n").as_bytes(), survival)
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string cannot fail.
        let _infallible = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_that_of_the_standard() {
        // RFC 4231, test case 2.
        let code = hmac(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        assert_eq!(
            hex(&code),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }
}
