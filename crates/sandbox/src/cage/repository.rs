//! Where git has the settings and hooks of the workspace: in `.git`, or where that leads.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The folder of a repository, a link to one, or a file that names one.
const GIT: &str = ".git";
/// Bytes of a file that names a folder. The system takes no longer path.
const MAX_BYTES: u64 = 4096;

/// The folders below the workspace from which git takes settings and hooks: `.git` first, whether or not it
/// is there, then those to which it leads by a link, by a file `.git`, or by `commondir`.
pub fn repository_folders(workspace: &Path) -> Vec<PathBuf> {
    let named = workspace.join(GIT);
    let mut all = vec![named.clone()];
    let is_file = fs::metadata(&named).is_ok_and(|found| found.is_file());
    let led = if is_file {
        told(&named, b"gitdir: ").map(|to| workspace.join(to))
    } else {
        Some(named)
    };
    let own = led.and_then(|path| path.canonicalize().ok());
    let shared = own.as_ref().and_then(|own| {
        let to = told(&own.join("commondir"), b"")?;
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

/// The path that a file of git names, cut as git cuts it: before the ends of lines that are its last bytes,
/// then at a NUL. A command may have put anything there.
fn told(file: &Path, before: &[u8]) -> Option<PathBuf> {
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK).open(file);
    let file = file.ok()?;
    let is_file = file.metadata().is_ok_and(|found| found.is_file());
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let path = bytes.strip_prefix(before)?;
    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let end = path.iter().rposition(|byte| !is_end(byte))? + 1;
    let path = path[..end].split(|byte| *byte == 0).next()?;
    (is_file && !path.is_empty()).then(|| OsStr::from_bytes(path).into())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    // proves TL-18
    #[test]
    fn git_leads_to_the_very_folder_that_its_file_names() {
        let names: [&[u8]; 5] = [
            b"real",
            b"r\xff",
            b" spaces ",
            b"two\nlines",
            b"caf\xc3\xa9 ",
        ];
        for name in names {
            for end in ["", "\n", "\r\n", "\n\n"] {
                let top = TempDir::new().unwrap();
                let workspace = top.path().canonicalize().unwrap();
                let real = workspace.join(OsStr::from_bytes(name));
                let shared = workspace.join(OsStr::from_bytes(&[name, b"shared"].concat()));
                fs::create_dir(&real).unwrap();
                fs::create_dir(&shared).unwrap();
                let names = |before: &[u8], name: &[u8]| [before, name, end.as_bytes()].concat();
                fs::write(workspace.join(".git"), names(b"gitdir: ", name)).unwrap();
                let common = [b"../", name, b"shared"].concat();
                fs::write(real.join("commondir"), names(b"", &common)).unwrap();
                let expected = [workspace.join(".git"), real, shared];
                assert_eq!(repository_folders(&workspace), expected, "{end:?}");
            }
        }
    }
}
