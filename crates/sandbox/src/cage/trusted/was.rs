//! What was under a trusted name when commands began: it is compared with what is there later, and
//! given back.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Gid, Mode, RawDir, Stat, Uid};
use rustix::io::Errno;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::place::{name_new, reach};
use crate::sys;
use crate::temp::{TempFile, random_hex, random_name};

/// Bytes of a file that is kept, at most.
const MAX_FILE: u64 = 1 << 20;
/// Bytes of all files that are kept, and of their names in folders, at most.
const MAX_BYTES: u64 = 8 << 20;
/// Files and folders in trusted folders, at most.
const MAX_ENTRIES: usize = 2_000;
/// Folders in each other, at most.
const MAX_DEPTH: usize = 16;
/// Bytes of a folder's list that are read at once.
const LISTED_BYTES: usize = 4096;
/// A file that was changed less than this before it was read may change again without another time.
const SETTLED: Duration = Duration::from_secs(2);

/// What may still be kept.
pub(super) struct Budget {
    entries: usize,
    bytes: u64,
    depth: usize,
    /// Nanoseconds since 1970.
    now: i64,
}

impl Budget {
    #[expect(
        clippy::disallowed_methods,
        reason = "it is compared with the times of files"
    )]
    pub(super) fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_nanos();
        Self {
            entries: MAX_ENTRIES,
            bytes: MAX_BYTES,
            depth: MAX_DEPTH,
            now: i64::try_from(now).unwrap_or_default(),
        }
    }

    fn take(&mut self, bytes: usize) -> rustix::io::Result<()> {
        let left = self.entries.checked_sub(1);
        let bytes = self.bytes.checked_sub(bytes as u64);
        let (left, bytes) = left.zip(bytes).ok_or(Errno::FBIG)?;
        (self.entries, self.bytes) = (left, bytes);
        Ok(())
    }
}

/// What is found under a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Was {
    /// Nothing.
    Missing,
    /// A link, and where it leads.
    Link(Bytes),
    /// A file that is kept.
    File {
        stamp: Stamp,
        /// Whether another content has another stamp.
        is_settled: bool,
        rights: Rights,
        text: Bytes,
    },
    /// A folder that is kept.
    Folder {
        stamp: Stamp,
        rights: Rights,
        entries: BTreeMap<Bytes, Was>,
    },
    /// What is too large to be kept, cannot be read, or is no file, folder or link.
    Unkept(Stamp),
}

/// What changes with every change of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    size: i64,
    /// Nanoseconds since 1970.
    changed: i64,
}

impl Stamp {
    fn of(stat: &Stat) -> Self {
        let nanos = i64::try_from(stat.st_ctime_nsec).unwrap_or_default();
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size,
            changed: stat.st_ctime.saturating_mul(1_000_000_000) + nanos,
        }
    }

    fn is_of(&self, stat: &Stat) -> bool {
        (self.device, self.inode) == (stat.st_dev, stat.st_ino)
    }
}

/// Whose a file is, and what they may do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Rights {
    mode: u32,
    user: u32,
    group: u32,
}

impl Rights {
    fn of(stat: &Stat) -> Self {
        Self {
            mode: stat.st_mode & 0o7777,
            user: stat.st_uid,
            group: stat.st_gid,
        }
    }

    fn give(&self, held: impl AsFd) -> rustix::io::Result<()> {
        // Only root can give a file away.
        let (user, group) = (Uid::from_raw(self.user), Gid::from_raw(self.group));
        let _own = rustix::fs::fchown(&held, Some(user), Some(group));
        rustix::fs::fchmod(held, Mode::from_raw_mode(self.mode))
    }
}

/// Bytes that need not be text, in hex where they are written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bytes(pub(super) Arc<[u8]>);

impl Bytes {
    fn name(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digits = self.0.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let text: String = digits
            .map(|digit| char::from(DIGITS[usize::from(digit)]))
            .collect();
        to.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(pair).collect();
        bytes
            .map(|it| Self(it.into()))
            .ok_or_else(|| de::Error::custom("no bytes"))
    }
}

impl Was {
    /// What was found under a name. What is known of it and has not changed is not read again.
    pub(super) fn of(
        (dir, name): (&OwnedFd, &OsStr),
        stat: &Stat,
        known: Option<&Self>,
        budget: &mut Budget,
    ) -> Self {
        let stamp = Stamp::of(stat);
        let is_known = match known {
            // A folder that was too large is not walked through again.
            Some(Self::Unkept(known)) => *known == stamp,
            Some(Self::File {
                stamp: known,
                is_settled,
                text,
                ..
            }) => *is_settled && *known == stamp && budget.take(text.0.len()).is_ok(),
            _ => false,
        };
        if let Some(known) = known.filter(|_| is_known) {
            return known.clone();
        }
        let left = (budget.entries, budget.bytes);
        Self::read(dir, name, (stat, known), budget).unwrap_or_else(|_| {
            if budget.depth == MAX_DEPTH {
                // One name that is too large takes nothing from the others.
                (budget.entries, budget.bytes) = left;
            }
            Self::Unkept(stamp)
        })
    }

    fn read(
        dir: &OwnedFd,
        name: &OsStr,
        (stat, known): (&Stat, Option<&Self>),
        budget: &mut Budget,
    ) -> rustix::io::Result<Self> {
        let stamp = Stamp::of(stat);
        match sys::file_type(stat) {
            FileType::Symlink => {
                let to = rustix::fs::readlinkat(dir, name, Vec::new())?;
                Ok(Self::Link(Bytes(to.as_bytes().into())))
            }
            FileType::RegularFile => {
                let (stat, text) = text_of(dir, name)?;
                budget.take(text.len())?;
                let stamp = Stamp::of(&stat);
                let settled = i64::try_from(SETTLED.as_nanos()).unwrap_or(i64::MAX);
                Ok(Self::File {
                    stamp,
                    is_settled: stamp.changed.saturating_add(settled) < budget.now,
                    rights: Rights::of(&stat),
                    text: Bytes(text.into()),
                })
            }
            FileType::Directory => {
                budget.depth = budget.depth.checked_sub(1).ok_or(Errno::FBIG)?;
                let entries = Self::entries(dir, name, known, budget);
                budget.depth += 1;
                Ok(Self::Folder {
                    stamp,
                    rights: Rights::of(stat),
                    entries: entries?,
                })
            }
            _ => Err(Errno::NOTSUP),
        }
    }

    fn entries(
        dir: &OwnedFd,
        name: &OsStr,
        known: Option<&Self>,
        budget: &mut Budget,
    ) -> rustix::io::Result<BTreeMap<Bytes, Self>> {
        let known = match known {
            Some(Self::Folder { entries, .. }) => Some(entries),
            _ => None,
        };
        let held = sys::open_beneath(dir, name, sys::LIST)?;
        let mut all = BTreeMap::new();
        for found in names(&held)? {
            budget.take(found.len())?;
            let key = Bytes(found.into_vec().into());
            let known = known.and_then(|known| known.get(&key));
            let was = match reach(&held, || sys::stat_in(&held, key.name())) {
                Err(Errno::NOENT) => Self::Missing,
                Err(_) => Self::Unkept(Stamp::default()),
                Ok(stat) => Self::of((&held, key.name()), &stat, known, budget),
            };
            if budget.entries == 0 {
                return Err(Errno::FBIG);
            }
            all.insert(key, was);
        }
        Ok(all)
    }

    /// Whether nothing else is there now.
    fn is_same(&self, dir: &OwnedFd, name: &OsStr) -> bool {
        match reach(dir, || sys::stat_in(dir, name)) {
            Err(Errno::NOENT) => *self == Self::Missing,
            Err(_) => *self == Self::Unkept(Stamp::default()),
            Ok(stat) => self.is_what_was_found(dir, name, &stat),
        }
    }

    /// The same of what was found there.
    pub(super) fn is_what_was_found(&self, dir: &OwnedFd, name: &OsStr, stat: &Stat) -> bool {
        match (self, sys::file_type(stat)) {
            (Self::Link(to), FileType::Symlink) => {
                let found = rustix::fs::readlinkat(dir, name, Vec::new());
                found.is_ok_and(|found| found.as_bytes() == &*to.0)
            }
            (
                Self::File {
                    stamp,
                    is_settled,
                    rights,
                    text,
                },
                FileType::RegularFile,
            ) => {
                let is_unchanged = *is_settled && *stamp == Stamp::of(stat);
                let is_alike = || {
                    *rights == Rights::of(stat)
                        && usize::try_from(stat.st_size) == Ok(text.0.len())
                        && text_of(dir, name).is_ok_and(|(_, found)| found[..] == *text.0)
                };
                is_unchanged || is_alike()
            }
            (
                Self::Folder {
                    rights, entries, ..
                },
                FileType::Directory,
            ) => {
                let held = sys::open_beneath(dir, name, sys::LIST);
                let found = held.and_then(|held| Ok((names(&held)?, held)));
                *rights == Rights::of(stat)
                    && found.is_ok_and(|(found, held)| {
                        found.len() == entries.len()
                            && entries
                                .iter()
                                .all(|(name, was)| was.is_same(&held, name.name()))
                    })
            }
            (Self::Unkept(stamp), _) => *stamp == Stamp::of(stat),
            _ => false,
        }
    }

    /// Whether it is still the file or folder that it was, whatever it has in it.
    pub(super) fn is_itself(&self, dir: &OwnedFd, name: &OsStr) -> bool {
        let stamp = match self {
            Self::File { stamp, .. } | Self::Folder { stamp, .. } | Self::Unkept(stamp) => stamp,
            Self::Missing | Self::Link(_) => return false,
        };
        sys::stat_in(dir, name).is_ok_and(|stat| stamp.is_of(&stat))
    }

    /// Puts it under a name that is free. Of a folder, what has not changed is taken out of `aside`:
    /// a folder, and the name there of what it has become.
    ///
    /// # Errors
    /// [`Errno::EXIST`]: the name is taken again. Otherwise not all of it is there again.
    pub(super) fn restore(
        &self,
        dir: &OwnedFd,
        name: &OsStr,
        aside: Option<(&OwnedFd, &OsStr)>,
    ) -> rustix::io::Result<()> {
        match self {
            Self::Missing => Ok(()),
            Self::Link(to) => reach(dir, || rustix::fs::symlinkat(to.name(), dir, name)),
            Self::File { rights, text, .. } => {
                let temp = reach(dir, || {
                    TempFile::create(dir.as_fd(), Mode::RUSR | Mode::WUSR)
                })?;
                let written = temp.file().write_all(&text.0);
                written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
                rights.give(temp.file())?;
                temp.rename_by(|temp| name_new(dir, temp, name))
            }
            Self::Folder {
                rights, entries, ..
            } => {
                let temp = random_name()?;
                reach(dir, || rustix::fs::mkdirat(dir, &temp, Mode::RWXU))?;
                let made = sys::open_beneath(dir, &temp, sys::LIST)?;
                let aside =
                    aside.and_then(|(dir, name)| sys::open_beneath(dir, name, sys::LIST).ok());
                let mut all = Ok(());
                for (key, was) in entries {
                    let name = key.name();
                    let aside = aside.as_ref().map(|aside| (aside, name));
                    let is_left = aside.is_some_and(|(aside, name)| {
                        was.is_same(aside, name)
                            && rustix::fs::renameat(aside, name, &made, name).is_ok()
                    });
                    if !is_left {
                        all = all.and(was.restore(&made, name, aside));
                    }
                }
                rights.give(&made)?;
                if let Err(error) = name_new(dir, &temp, name) {
                    // There is another one again: neither is lost.
                    let mut beside = name.to_owned();
                    beside.push(format!(".before-exec-{}", random_hex()?));
                    rustix::fs::renameat(dir, &temp, dir, &beside)?;
                    tracing::warn!(?beside, "a trusted folder was made anew meanwhile");
                    return Err(error);
                }
                all
            }
            Self::Unkept(_) => Err(Errno::FBIG),
        }
    }
}

/// Whether a file, or one in a folder, has a further name, by which it can be changed.
pub(super) fn is_linked(dir: &OwnedFd, name: &OsStr, depth: usize) -> bool {
    let Ok(stat) = sys::stat_in(dir, name) else {
        return false;
    };
    match sys::file_type(&stat) {
        FileType::RegularFile => sys::links(&stat) > 1,
        FileType::Directory if depth < MAX_DEPTH => {
            let held = sys::open_beneath(dir, name, sys::LIST);
            let Ok((found, held)) = held.and_then(|held| Ok((names(&held)?, held))) else {
                return false;
            };
            found.iter().any(|name| is_linked(&held, name, depth + 1))
        }
        _ => false,
    }
}

/// What a regular file holds, if it is not too large.
pub(super) fn text_of(dir: &OwnedFd, name: &OsStr) -> rustix::io::Result<(Stat, Vec<u8>)> {
    let file = File::from(sys::open_beneath(dir, name, sys::READ)?);
    let stat = rustix::fs::fstat(&file)?;
    // A file of the kernel can be read without an end.
    if sys::file_type(&stat) != FileType::RegularFile || sys::is_kernel_door(&file)? {
        return Err(Errno::NOTSUP);
    }
    if u64::try_from(stat.st_size).is_ok_and(|size| size > MAX_FILE) {
        return Err(Errno::FBIG);
    }
    let mut text = Vec::new();
    let read = (&file).take(MAX_FILE + 1).read_to_end(&mut text);
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    if text.len() as u64 > MAX_FILE {
        return Err(Errno::FBIG);
    }
    Ok((stat, text))
}

/// The names in a folder that was opened for that, if they are not too many.
pub(super) fn names(folder: &OwnedFd) -> rustix::io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    let mut buffer = [MaybeUninit::uninit(); LISTED_BYTES];
    let mut entries = RawDir::new(folder, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        if names.len() == MAX_ENTRIES {
            return Err(Errno::FBIG);
        }
        names.push(OsString::from_vec(name.to_owned()));
    }
    Ok(names)
}
