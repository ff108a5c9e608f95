//! Whose a data directory is: ours, nobody's, or one that came with somebody's files.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use samovar_sandbox::{DirLock, Foreign, Owner, Ownership};
use tempfile::TempDir;

use crate::yard::{alone, names};

/// A user with their own folder, and a place for projects.
struct Desk {
    top: TempDir,
    owner: Owner,
}

impl Desk {
    fn new() -> Desk {
        let top = TempDir::new().unwrap();
        let owner = Owner::new(top.path().join("state/samovar"));
        Desk { top, owner }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    /// A data directory with a store, made and marked as a first start does.
    fn made(&self, name: &str) -> PathBuf {
        let dir = self.path(name);
        let lock = DirLock::acquire(&dir).unwrap();
        lock.mark(&self.owner).unwrap();
        fill(&dir);
        dir
    }
}

/// What a store leaves in a data directory.
fn fill(dir: &Path) {
    fs::create_dir_all(dir.join("journal")).unwrap();
    fs::write(
        dir.join("journal/data.mdb"),
        "a session with a queued message",
    )
    .unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, Permissions::from_mode(0o700)).unwrap();
    for name in ["lock", "owner"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
    fill(to);
}

// proves FC-3
#[test]
fn a_directory_that_was_made_here_is_ours_and_a_copy_of_it_is_not() {
    let _alone = alone();
    let desk = Desk::new();
    let dir = desk.made("project/data");
    assert_eq!(desk.owner.standing(&dir), Ownership::Ours);

    copy(&dir, &desk.path("clone/data"));
    let standing = desk.owner.standing(&desk.path("clone/data"));
    assert_eq!(standing, Ownership::Foreign(Foreign::Unmarked));
    // The person says that it is theirs, once.
    let lock = DirLock::acquire(&desk.path("clone/data")).unwrap();
    lock.mark(&desk.owner).unwrap();
    assert_eq!(
        desk.owner.standing(&desk.path("clone/data")),
        Ownership::Ours
    );
    assert_eq!(desk.owner.standing(&dir), Ownership::Ours);
}

// proves FC-3
#[test]
fn a_directory_of_another_machine_is_never_ours_even_at_the_same_path() {
    let _alone = alone();
    let desk = Desk::new();
    let dir = desk.made("project/data");
    let other = Owner::new(desk.path("other/state"));
    assert_eq!(other.standing(&dir), Ownership::Foreign(Foreign::Unmarked));
    other.prepare().unwrap();
    assert_eq!(other.standing(&dir), Ownership::Foreign(Foreign::Unmarked));
    for forged in [
        "",
        "0",
        &"0".repeat(64),
        &"z".repeat(64),
        &"0".repeat(5_000),
    ] {
        fs::write(dir.join("owner"), forged).unwrap();
        assert_eq!(
            desk.owner.standing(&dir),
            Ownership::Foreign(Foreign::Unmarked),
            "{forged}"
        );
    }
}

// proves FC-3
#[test]
fn what_holds_no_mark_is_somebody_elses_whatever_else_it_holds() {
    let _alone = alone();
    let desk = Desk::new();
    for content in [
        &["lock", "journal/data.mdb"][..],
        &["notes.txt"],
        &[".hidden"],
        &["lock", "x"],
    ] {
        let dir = desk.path("data");
        for name in content {
            let file = dir.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let standing = desk.owner.standing(&dir);
        assert_eq!(
            standing,
            Ownership::Foreign(Foreign::Unmarked),
            "{content:?}"
        );
        fs::remove_dir_all(&dir).unwrap();
    }
    assert!(!desk.path("state").exists(), "looking makes nothing");
}

// proves FC-3
#[test]
fn what_is_missing_or_holds_nothing_yet_is_free() {
    let _alone = alone();
    let desk = Desk::new();
    assert_eq!(
        desk.owner.standing(&desk.path("none/data")),
        Ownership::Free
    );
    fs::create_dir(desk.path("data")).unwrap();
    assert_eq!(desk.owner.standing(&desk.path("data")), Ownership::Free);
    // A start that was killed between its lock and its mark.
    drop(DirLock::acquire(&desk.path("data")).unwrap());
    assert_eq!(desk.owner.standing(&desk.path("data")), Ownership::Free);
}

// proves FC-3
#[test]
fn a_link_is_not_followed_not_even_to_what_is_ours() {
    let _alone = alone();
    let desk = Desk::new();
    let dir = desk.made("project/data");
    for (name, target) in [("ours", dir.as_path()), ("dangling", Path::new("/nowhere"))] {
        let link = desk.path(name);
        symlink(target, &link).unwrap();
        assert_eq!(
            desk.owner.standing(&link),
            Ownership::Foreign(Foreign::Link),
            "{name}"
        );
    }
    fs::write(desk.path("file"), "").unwrap();
    let standing = desk.owner.standing(&desk.path("file"));
    assert_eq!(standing, Ownership::Foreign(Foreign::Unusable));
}

// proves FC-3
#[test]
fn what_other_users_own_or_can_change_is_not_ours() {
    let _alone = alone();
    let desk = Desk::new();
    let dir = desk.made("project/data");
    for mode in [0o770, 0o702, 0o777] {
        fs::set_permissions(&dir, Permissions::from_mode(mode)).unwrap();
        assert_eq!(
            desk.owner.standing(&dir),
            Ownership::Foreign(Foreign::Open),
            "{mode:o}"
        );
    }
    // Root can give a directory away; anybody else finds one that is root's.
    fs::set_permissions(&dir, Permissions::from_mode(0o700)).unwrap();
    let other = match chown(&dir, Some(12_345), None) {
        Ok(()) => dir.as_path(),
        Err(_) => Path::new("/usr"),
    };
    assert_eq!(
        desk.owner.standing(other),
        Ownership::Foreign(Foreign::OtherUser)
    );
}

// proves TL-14
#[test]
fn a_fresh_directory_is_closed_to_others_and_left_alone_by_git() {
    let _alone = alone();
    let desk = Desk::new();
    let dir = desk.path("data");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, Permissions::from_mode(0o777)).unwrap();
    let lock = DirLock::acquire(&dir).unwrap();
    lock.mark(&desk.owner).unwrap();

    assert_eq!(fs::metadata(&dir).unwrap().mode() & 0o777, 0o700);
    assert_eq!(names(&dir), [".gitignore", "lock", "owner"]);
    assert_eq!(fs::read_to_string(dir.join(".gitignore")).unwrap(), "*\n");
    for file in [dir.join("owner"), desk.path("state/samovar/owner-key")] {
        assert_eq!(fs::metadata(file).unwrap().mode() & 0o777, 0o600);
    }
    assert_eq!(
        fs::metadata(desk.path("state/samovar")).unwrap().mode() & 0o777,
        0o700
    );
}

#[test]
fn a_directory_that_somebody_named_keeps_its_mode_and_gets_the_mark_alone() {
    let _alone = alone();
    let desk = Desk::new();
    let dir = desk.path("project");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("notes.txt"), "").unwrap();
    fs::set_permissions(&dir, Permissions::from_mode(0o755)).unwrap();
    DirLock::acquire(&dir).unwrap().mark(&desk.owner).unwrap();

    assert_eq!(fs::metadata(&dir).unwrap().mode() & 0o777, 0o755);
    assert_eq!(names(&dir), ["lock", "notes.txt", "owner"]);
    assert_eq!(desk.owner.standing(&dir), Ownership::Ours);
}

#[test]
fn a_mark_is_written_once_and_a_damaged_key_made_anew() {
    let _alone = alone();
    let desk = Desk::new();
    let dir = desk.made("data");
    let key = desk.path("state/samovar/owner-key");
    let (mark, made) = (
        fs::metadata(dir.join("owner")).unwrap().ino(),
        fs::read(&key).unwrap(),
    );
    DirLock::acquire(&dir).unwrap().mark(&desk.owner).unwrap();
    assert_eq!(fs::metadata(dir.join("owner")).unwrap().ino(), mark);
    assert_eq!(fs::read(&key).unwrap(), made);

    fs::write(&key, "damaged").unwrap();
    assert_eq!(
        desk.owner.standing(&dir),
        Ownership::Foreign(Foreign::Unmarked)
    );
    DirLock::acquire(&dir).unwrap().mark(&desk.owner).unwrap();
    assert_eq!(desk.owner.standing(&dir), Ownership::Ours);
    assert_ne!(fs::read(&key).unwrap(), made);
}

#[test]
fn two_first_starts_agree_on_one_key() {
    let _alone = alone();
    let desk = Desk::new();
    let dirs: Vec<_> = (0..8)
        .map(|number| desk.path(&format!("{number}/data")))
        .collect();
    std::thread::scope(|scope| {
        for dir in &dirs {
            scope.spawn(|| DirLock::acquire(dir).unwrap().mark(&desk.owner).unwrap());
        }
    });
    for dir in &dirs {
        fill(dir);
        assert_eq!(desk.owner.standing(dir), Ownership::Ours);
    }
}

#[test]
fn a_home_that_cannot_be_written_is_told_and_the_directory_still_held() {
    let _alone = alone();
    let desk = Desk::new();
    fs::write(desk.path("state"), "a file in the place of the folder").unwrap();
    let dir = desk.path("data");
    let lock = DirLock::acquire(&dir).unwrap();
    assert!(lock.mark(&desk.owner).is_err());
    assert!(desk.owner.prepare().is_err());
    assert!(DirLock::acquire(&dir).is_err(), "it is held");
}
