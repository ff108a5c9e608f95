//! A workspace with a world around it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use samovar_sandbox::{Jail, JailError, JailPath, Protected, WriteResult};
use tempfile::TempDir;

/// More than any test writes.
pub(crate) const CAP: u64 = 64 << 20;
/// Tells a test that it is the child process of itself, and where to work.
const CHILD: &str = "SAMOVAR_SANDBOX_CHILD_OF_TEST";

/// A temporary folder with `ws`, the workspace, and `outside`, which must stay as it is.
pub(crate) struct Yard {
    top: TempDir,
}

/// A file's inode, mode, size, time of change and content (or a link's target).
type FileState = (u64, u32, u64, i64, Vec<u8>);

impl Yard {
    pub(crate) fn new() -> Yard {
        let yard = Yard {
            top: TempDir::new().unwrap(),
        };
        fs::create_dir_all(yard.ws("a/b")).unwrap();
        fs::create_dir_all(yard.ws("data")).unwrap();
        fs::create_dir_all(yard.outside("folder")).unwrap();
        fs::write(yard.ws("plain.txt"), "plain").unwrap();
        fs::write(yard.ws("data/token"), "secret").unwrap();
        fs::write(yard.outside("secret.txt"), "secret").unwrap();
        fs::write(yard.outside("folder/secret.txt"), "secret").unwrap();
        yard
    }

    pub(crate) fn top(&self) -> PathBuf {
        self.top.path().canonicalize().unwrap()
    }

    pub(crate) fn ws(&self, path: &str) -> PathBuf {
        self.top().join("ws").join(path)
    }

    pub(crate) fn outside(&self, path: &str) -> PathBuf {
        self.top().join("outside").join(path)
    }

    pub(crate) fn link(&self, name: &str, target: impl AsRef<Path>) {
        symlink(target, self.ws(name)).unwrap();
    }

    /// The workspace with the folder `data` hidden and the usual names read-only.
    pub(crate) fn jail(&self) -> Jail {
        let read_only = [
            "samovar.toml",
            "SOUL.md",
            "USER.md",
            "AGENTS.md",
            "MEMORY.md",
            "skills",
            "agents",
            "memory",
        ];
        self.jail_with(&[self.ws("data")], &read_only).unwrap()
    }

    pub(crate) fn jail_with(
        &self,
        hidden: &[PathBuf],
        read_only: &[&str],
    ) -> Result<Jail, JailError> {
        let read_only = read_only.iter().map(PathBuf::from).collect();
        Jail::open(
            &self.ws(""),
            &Protected {
                hidden: hidden.to_vec(),
                read_only,
                read_only_names: vec![".git".to_owned()],
            },
        )
    }
}

pub(crate) fn read(jail: &Jail, raw: &str) -> Result<Vec<u8>, JailError> {
    jail.open_file(&jail.place(raw)?)?.into_bytes(CAP)
}

pub(crate) fn write(jail: &Jail, raw: &str, content: &str) -> Result<WriteResult, JailError> {
    jail.write(&jail.place(raw)?, content.as_bytes(), CAP)
}

pub(crate) fn list(jail: &Jail, raw: &str) -> Result<Vec<String>, JailError> {
    let listing = jail.list(&jail.place(raw)?, 1000)?;
    Ok(listing
        .entries
        .iter()
        .map(|entry| entry.place.to_string())
        .collect())
}

pub(crate) fn place(jail: &Jail, raw: &str) -> JailPath {
    jail.place(raw).unwrap()
}

/// The variant's name, or `ok`.
pub(crate) fn verdict<T>(result: &Result<T, JailError>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(JailError::NotFound { .. }) => "not found",
        Err(JailError::Outside { .. }) => "outside",
        Err(JailError::Symlink { .. }) => "symlink",
        Err(JailError::NotRegular { .. }) => "not regular",
        Err(JailError::IsADirectory { .. }) => "directory",
        Err(JailError::NotADirectory { .. }) => "no directory",
        Err(JailError::Protected { .. }) => "protected",
        Err(JailError::HardLinked { .. }) => "hard-linked",
        Err(JailError::Changed { .. }) => "changed",
        Err(JailError::KeptBeside { .. }) => "kept beside",
        Err(JailError::TooLarge { .. }) => "too large",
        Err(JailError::NotUtf8 { .. }) => "not utf-8",
        Err(JailError::NameTooLong { .. }) => "too long",
        Err(JailError::Nul { .. }) => "nul",
        Err(JailError::Io { .. }) => "io",
        Err(JailError::NoDescriptor { .. }) => "no descriptor",
        Err(JailError::Unsupported { .. }) => "unsupported",
        Err(JailError::InsideHidden { .. }) => "inside hidden",
    }
}

/// All that is beneath `dir`, to be compared with itself later.
pub(crate) fn snapshot(dir: &Path) -> BTreeMap<PathBuf, FileState> {
    let mut seen = BTreeMap::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(path) = waiting.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        let mut content = Vec::new();
        if meta.is_dir() {
            waiting.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else if meta.is_symlink() {
            content = fs::read_link(&path)
                .unwrap()
                .into_os_string()
                .into_encoded_bytes();
        } else if meta.is_file() {
            content = fs::read(&path).unwrap();
        }
        let changed = meta.mtime() * 1_000_000_000 + meta.mtime_nsec();
        seen.insert(
            path,
            (meta.ino(), meta.mode(), meta.size(), changed, content),
        );
    }
    seen
}

/// The names in a folder on disk, unfinished writes included.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Keeps tests that start processes apart from tests that let go of a lock: between its fork and
/// its exec a child has the descriptors of every other test.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where to work, when this process is the child of the test that it runs.
pub(crate) fn child_dir() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

/// Runs `test` of this binary again, as a child that works in `dir`, through `wrapper`.
pub(crate) fn start_child(wrapper: &[&str], test: &str, dir: &Path) -> Child {
    let exe = std::env::current_exe().unwrap();
    let mut words = wrapper.iter().map(OsStr::new).chain([exe.as_os_str()]);
    Command::new(words.next().unwrap())
        .args(words)
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads the child's output up to a line that ends with `wanted`.
///
/// The test harness may have begun the line with the test's name.
pub(crate) fn wait_for(child: &mut Child, wanted: &str) {
    // Borrowed, not taken: with its output closed the child would end by itself.
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap())
        .lines()
        .map(Result::unwrap);
    assert!(
        lines.any(|line| line.ends_with(wanted)),
        "the child ended early"
    );
}
