//! The mounts on what the server trusts, seen from inside the cage.
//!
//! The kernel drops such a mount when the person replaces or removes what it is on, and moves it along
//! when they rename that.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
use rustix::io::Errno;

/// The mounts on trusted names.
pub(super) struct Kept {
    /// The kernel's table of mounts, which tells when it has changed.
    table: File,
    workspace: PathBuf,
    /// Each name and the number of its mount.
    mounts: Vec<(PathBuf, Option<u64>)>,
}

impl Kept {
    /// Of these names, which have one.
    pub(super) fn of(names: Vec<PathBuf>, workspace: &Path) -> io::Result<Self> {
        let table = File::open("/proc/self/mountinfo")?;
        let numbers: Vec<_> = names.iter().map(|name| mount_on(name)).collect();
        Ok(Self {
            table,
            workspace: workspace.to_owned(),
            mounts: names.into_iter().zip(numbers).collect(),
        })
    }

    /// What is polled for exceptions.
    pub(super) fn table(&self) -> BorrowedFd<'_> {
        self.table.as_fd()
    }

    /// A name whose mount is gone, relative to the workspace.
    pub(super) fn lost(&self) -> Option<PathBuf> {
        let mut lost = self.mounts.iter().filter(|it| !stands(it));
        lost.next().map(|(name, _)| self.inside(name))
    }

    /// The names whose mounts are there, relative to the workspace.
    pub(super) fn standing(&self) -> Vec<PathBuf> {
        let standing = self.mounts.iter().filter(|it| stands(it));
        standing.map(|(name, _)| self.inside(name)).collect()
    }

    fn inside(&self, name: &Path) -> PathBuf {
        name.strip_prefix(&self.workspace)
            .unwrap_or(name)
            .to_owned()
    }
}

fn stands((name, mount): &(PathBuf, Option<u64>)) -> bool {
    mount.is_some() && mount_on(name) == *mount
}

/// The number of the mount on a name.
fn mount_on(name: &Path) -> Option<u64> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    match statx(CWD, name, flags, StatxFlags::MNT_ID) {
        Ok(found) => {
            let is_root = found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
            is_root.then_some(found.stx_mnt_id)
        }
        // The file that says where the folder is.
        Err(Errno::NOTDIR) => name.parent().and_then(mount_on),
        Err(_) => None,
    }
}
