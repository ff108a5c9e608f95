//! The system calls of the jail, each on a directory held open.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{self, AtFlags, FileType, FsWord, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::{self, Errno};

/// No `..` above the held directory, no `/proc` magic, no symbolic link, in any part.
const RESOLVE: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_SYMLINKS);

/// A directory to stand in; it can be searched, not listed.
pub(crate) const STAND: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
/// A directory to list and to sync.
pub(crate) const LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);
/// A file to read, without waiting for a pipe's other end and without taking a terminal.
pub(crate) const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// File systems whose "regular files" are doors into the kernel: `/proc/self/mem` is the memory
/// of this process, reading a tracing pipe waits for ever.
const KERNEL_DOORS: [FsWord; 7] = [
    fs::PROC_SUPER_MAGIC,
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
];

/// What makes a file itself, whatever path leads to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id {
    dev: u64,
    ino: u64,
}

impl Id {
    pub(crate) fn of(stat: &Stat) -> Id {
        Id {
            dev: stat.st_dev,
            ino: stat.st_ino,
        }
    }
}

/// Opens `path` beneath `dir`; the kernel refuses to leave it or to follow a link.
pub(crate) fn open_beneath(
    dir: impl AsFd,
    path: impl AsRef<Path>,
    flags: OFlags,
) -> io::Result<OwnedFd> {
    let (dir, path) = (dir.as_fd(), path.as_ref());
    io::retry_on_intr(|| fs::openat2(dir, path, flags | OFlags::CLOEXEC, Mode::empty(), RESOLVE))
}

/// Creates the file `name` in `dir`, which must not exist yet.
pub(crate) fn create(dir: impl AsFd, name: &str, mode: Mode) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let dir = dir.as_fd();
    io::retry_on_intr(|| fs::openat2(dir, name, flags, mode, RESOLVE))
}

/// The same directory, opened so that it can be listed and synced.
pub(crate) fn listable(dir: impl AsFd) -> io::Result<OwnedFd> {
    open_beneath(dir, ".", LIST)
}

/// Gives what is held these permission bits, also where it is held to stand in alone.
pub(crate) fn set_mode(held: impl AsFd, mode: u32) -> io::Result<()> {
    let path = format!("/proc/self/fd/{}", held.as_fd().as_raw_fd());
    fs::chmod(path, Mode::from_raw_mode(mode))
}

/// What is called `name` in `dir`; a link is described, not followed.
pub(crate) fn stat_in(dir: impl AsFd, name: impl AsRef<Path>) -> io::Result<Stat> {
    fs::statat(
        dir,
        name.as_ref(),
        AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT,
    )
}

/// The kind of what `stat` describes.
pub(crate) fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// How many names the file has; the type of the field differs between processors.
pub(crate) fn links(stat: &Stat) -> u64 {
    fn widen(count: impl Into<u64>) -> u64 {
        count.into()
    }
    widen(stat.st_nlink)
}

/// Makes the names in `dir` survive a crash.
pub(crate) fn sync_dir(dir: impl AsFd) -> io::Result<()> {
    match fs::fsync(dir) {
        // How some network file systems say that a directory has nothing to sync.
        Err(Errno::INVAL) => Ok(()),
        other => other,
    }
}

/// Whether the file's content is made up by the kernel on each read.
pub(crate) fn is_kernel_door(file: impl AsFd) -> io::Result<bool> {
    Ok(KERNEL_DOORS.contains(&fs::fstatfs(file)?.f_type))
}

/// Whether a failed first `openat2` means that there is none: an old kernel, or a filter that
/// refuses system calls it does not know.
pub(crate) fn lacks_openat2(errno: Errno) -> bool {
    matches!(errno, Errno::NOSYS | Errno::PERM)
}
