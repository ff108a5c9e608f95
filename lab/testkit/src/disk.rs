//! A disk that can be full or read-only, for root and for everyone else.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Where the disk is, for a test that runs on one.
const VARIABLE: &str = "SAMOVAR_TEST_SMALL_DISK";
/// Mounts a disk and does the rest of its arguments there.
const MOUNT: &str = r#"
    mount -t tmpfs -o "size=$1,mode=700" small "$0" || exit
    shift
    exec "$@"
"#;
const FILLER: &str = "filler";

/// A file system of a fixed size that nobody else writes to: a `tmpfs` in a namespace of its own, in
/// which the test runs in a process of its own. Nothing is mounted where others look.
pub struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// For the first line of a test, which is named as `--exact` wants it: runs the same test again
    /// in a process on a disk of so many bytes, and answers with the disk there. Here it answers
    /// none, once that process has ended well, or, which is said on stderr, where the system lets
    /// nobody make a namespace, as in some containers.
    ///
    /// # Panics
    /// When the test fails there.
    pub fn of_test(name: &str, bytes: u64) -> Option<Self> {
        if let Some(path) = std::env::var_os(VARIABLE) {
            return Some(Self { path: path.into() });
        }
        let point = tempfile::tempdir().expect("a temporary folder");
        let tried = within(&point, bytes, "true").output();
        match tried {
            Ok(tried) if tried.status.success() => {}
            Ok(tried) => {
                refused(&written(&tried));
                return None;
            }
            Err(error) => {
                refused(&format!("unshare: {error}"));
                return None;
            }
        }
        let test = std::env::current_exe().expect("a test has a program");
        let ran = within(&point, bytes, test)
            .args(["--exact", name, "--nocapture"])
            .env(VARIABLE, point.path())
            .output()
            .expect("what was tried works again");
        let said = written(&ran);
        let is_one = said.contains("1 passed");
        assert!(ran.status.success() && is_one, "{name}: {said}");
        None
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes until nothing more fits.
    ///
    /// # Panics
    /// When something else is wrong.
    pub fn fill(&self) {
        let filler = self.path.join(FILLER);
        let filler = File::options().append(true).create(true).open(filler);
        let mut filler = filler.expect("a file");
        let mut piece = vec![1; 64 << 10];
        while !piece.is_empty() {
            match filler.write(&piece) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => {
                    piece.truncate(piece.len() / 2);
                }
                Err(error) => panic!("the disk cannot be filled: {error}"),
            }
        }
    }

    /// Removes what [`SmallDisk::fill`] wrote.
    ///
    /// # Panics
    /// When it was not filled.
    pub fn make_room(&self) {
        fs::remove_file(self.path.join(FILLER)).expect("it was filled");
    }

    /// Lets nothing of it be opened for writing any more. Who has a file open writes on.
    ///
    /// # Panics
    /// When the system refuses.
    pub fn shut(&self) {
        self.mount(&["mount", "--bind", "."]);
        self.mount(&["mount", "-o", "remount,bind,ro"]);
    }

    /// Takes that back.
    ///
    /// # Panics
    /// When the system refuses.
    pub fn open(&self) {
        // Somebody may stand on it by now, so it is not taken off.
        self.mount(&["mount", "-o", "remount,bind,rw"]);
    }

    fn mount(&self, command: &[&str]) {
        let [program, args @ ..] = command else {
            return;
        };
        let mut mount = Command::new(program);
        mount.current_dir(&self.path).args(args).arg(&self.path);
        let done = mount.output().expect("the program is there");
        assert!(done.status.success(), "{command:?}: {}", written(&done));
    }
}

fn within(point: &TempDir, bytes: u64, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", MOUNT])
        .arg(point.path())
        .arg(bytes.to_string())
        .arg(program);
    command
}

fn written(output: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

#[expect(
    clippy::print_stderr,
    reason = "a test that could not run has to be seen"
)]
fn refused(why: &str) {
    eprintln!("NOT TESTED: this system makes no disk of our own: {why}");
}
