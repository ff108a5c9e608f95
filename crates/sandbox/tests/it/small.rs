//! The small files of a data directory, which may have come from somebody else.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

use samovar_sandbox::{DirLock, SmallFiles, Survival, close_to_others};
use tempfile::TempDir;

use crate::yard::{alone, names};

const MAX: u64 = 64;

/// A data directory, and a file beside it that is none of our business.
struct Desk {
    top: TempDir,
    files: SmallFiles,
}

impl Desk {
    fn new() -> Desk {
        let top = TempDir::new().unwrap();
        fs::create_dir(top.path().join("data")).unwrap();
        fs::write(top.path().join("victim"), "theirs").unwrap();
        let files = SmallFiles::of(&top.path().join("data")).unwrap();
        Desk { top, files }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.path().join("data").join(name)
    }

    fn victim(&self) -> PathBuf {
        self.top.path().join("victim")
    }

    fn why(&self, name: &str) -> String {
        self.files.read(name, MAX).unwrap_err().to_string()
    }
}

// proves TL-14
#[test]
fn a_small_file_is_written_for_its_owner_alone_whatever_had_its_name() {
    let _alone = alone();
    for survival in [Survival::Crash, Survival::Writer] {
        let desk = Desk::new();
        fs::write(desk.path("wide"), "old").unwrap();
        fs::set_permissions(desk.path("wide"), Permissions::from_mode(0o666)).unwrap();
        symlink(desk.victim(), desk.path("link")).unwrap();
        let is_made = Command::new("mkfifo").arg(desk.path("pipe")).status();
        assert!(is_made.unwrap().success());

        for name in ["fresh", "wide", "link", "pipe"] {
            desk.files.write(name, b"ours", survival).unwrap();

            let meta = fs::symlink_metadata(desk.path(name)).unwrap();
            assert!(meta.is_file(), "{name}");
            assert_eq!(meta.mode() & 0o777, 0o600, "{name}");
            let read = desk.files.read(name, MAX).unwrap();
            assert_eq!(read.as_deref(), Some("ours"), "{name}");
        }
        assert_eq!(fs::read_to_string(desk.victim()).unwrap(), "theirs");
        let left = names(&desk.path(""));
        assert_eq!(left, ["fresh", "link", "pipe", "wide"]);
    }
}

#[test]
fn nothing_but_a_short_regular_file_is_read_and_nothing_is_waited_for() {
    let _alone = alone();
    let desk = Desk::new();
    symlink(desk.victim(), desk.path("link")).unwrap();
    fs::create_dir(desk.path("folder")).unwrap();
    let is_made = Command::new("mkfifo").arg(desk.path("pipe")).status();
    assert!(is_made.unwrap().success());
    fs::write(desk.path("long"), "x".repeat(65)).unwrap();
    fs::write(desk.path("full"), "x".repeat(64)).unwrap();

    assert!(desk.why("link").contains("it is a link"));
    assert!(desk.why("folder").contains("not a regular file"));
    assert!(desk.why("pipe").contains("not a regular file"));
    assert!(desk.why("long").contains("larger than 64 bytes"));
    assert_eq!(desk.files.read("full", MAX).unwrap().unwrap().len(), 64);
    assert_eq!(desk.files.read("missing", MAX).unwrap(), None);
}

#[test]
fn what_is_closed_to_others_is_no_link() {
    let _alone = alone();
    let desk = Desk::new();
    symlink(desk.victim(), desk.path("link")).unwrap();
    fs::set_permissions(desk.victim(), Permissions::from_mode(0o644)).unwrap();
    fs::write(desk.path("file"), "").unwrap();
    fs::create_dir(desk.path("folder")).unwrap();
    for (name, mode) in [("file", 0o600), ("folder", 0o700)] {
        fs::set_permissions(desk.path(name), Permissions::from_mode(0o755)).unwrap();
        close_to_others(&desk.path(name)).unwrap();
        let meta = fs::metadata(desk.path(name)).unwrap();
        assert_eq!(meta.mode() & 0o777, mode, "{name}");
    }
    assert!(close_to_others(&desk.path("link")).is_err());
    assert_eq!(fs::metadata(desk.victim()).unwrap().mode() & 0o777, 0o644);
}

#[test]
fn a_name_is_removed_and_not_what_it_leads_to() {
    let _alone = alone();
    let desk = Desk::new();
    symlink(desk.victim(), desk.path("link")).unwrap();

    desk.files.remove("link").unwrap();
    desk.files.remove("missing").unwrap();

    assert!(desk.victim().exists());
    assert!(names(&desk.path("")).is_empty());
}

#[test]
fn a_held_directory_stays_the_same_when_its_path_leads_elsewhere() {
    let _alone = alone();
    let top = TempDir::new().unwrap();
    let data = top.path().join("data");
    let lock = DirLock::acquire(&data).unwrap();
    let files = lock.small_files().unwrap();
    fs::rename(&data, top.path().join("moved")).unwrap();
    fs::create_dir(&data).unwrap();

    files.write("token", b"ours", Survival::Crash).unwrap();

    assert!(names(&data).is_empty());
    assert!(top.path().join("moved/token").exists());
}
