//! Where git has the settings and hooks of the workspace: in `.git`, or where that leads.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The folder of a repository, a link to one, or a file that names one.
const GIT: &str = ".git";
/// Bytes of a file that names a folder.
const MAX_BYTES: u64 = 4096;

/// The folders below the workspace from which git takes settings and hooks: `.git` first, whether or not it
/// is there, then those to which it leads by a link, by a file `.git`, or by `commondir`.
pub fn repository_folders(workspace: &Path) -> Vec<PathBuf> {
    let named = workspace.join(GIT);
    let mut all = vec![named.clone()];
    let is_file = fs::metadata(&named).is_ok_and(|found| found.is_file());
    let led = if is_file {
        told(&named, "gitdir:").map(|to| workspace.join(to))
    } else {
        Some(named)
    };
    let own = led.and_then(|path| path.canonicalize().ok());
    let shared = own.as_ref().and_then(|own| {
        let to = told(&own.join("commondir"), "")?;
        own.join(to).canonicalize().ok()
    });
    for folder in own.into_iter().chain(shared) {
        let is_below = folder.starts_with(workspace) && folder != workspace;
        if is_below && !all.contains(&folder) {
            all.push(folder);
        }
    }
    all
}

/// The path that a file of git names. A command may have put anything there.
fn told(file: &Path, before: &str) -> Option<PathBuf> {
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK).open(file);
    let file = file.ok()?;
    let is_file = file.metadata().is_ok_and(|found| found.is_file());
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    let path = text.strip_prefix(before)?.trim();
    is_file.then(|| path.into())
}
