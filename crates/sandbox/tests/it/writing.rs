//! Whole or not at all.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;
use samovar_sandbox::{Jail, JailError, Protected, WriteResult};

use crate::yard::{
    CAP, Yard, alone, child_dir, list, names, place, read, snapshot, start_child, verdict, write,
};

const LEFT_BEHIND: &str = ".samovar-0123456789abcdef.tmp";

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

// proves TL-2
#[test]
fn a_file_and_its_missing_folders_are_made() {
    let yard = Yard::new();
    let jail = yard.jail();

    assert_eq!(
        write(&jail, "x/y/z.txt", "one").unwrap(),
        WriteResult::Created
    );
    assert_eq!(
        write(&jail, "x/y/z.txt", "").unwrap(),
        WriteResult::Replaced
    );
    assert_eq!(
        write(&jail, "x/y/z.txt", "three").unwrap(),
        WriteResult::Replaced
    );

    assert_eq!(fs::read(yard.ws("x/y/z.txt")).unwrap(), b"three");
    assert_eq!(names(&yard.ws("x/y")), ["z.txt"]);
}

// proves TL-2
#[test]
fn a_replaced_file_is_a_new_one_with_the_old_ones_mode_and_owner() {
    let yard = Yard::new();
    let jail = yard.jail();
    let path = yard.ws("plain.txt");
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        chown(&path, Some(12345), Some(54321)).unwrap();
    }
    for (before, after) in [
        (0o640, 0o640),
        (0o755, 0o755),
        (0o600, 0o600),
        (0o6755, 0o755),
    ] {
        fs::set_permissions(&path, Permissions::from_mode(before)).unwrap();
        let old = fs::File::open(&path).unwrap();
        let old_content = fs::read(&path).unwrap();

        write(&jail, "plain.txt", &format!("{before:o}")).unwrap();

        assert_eq!(mode(&path), after, "{before:o}");
        let new = fs::metadata(&path).unwrap();
        assert_ne!(new.ino(), old.metadata().unwrap().ino());
        assert_eq!(
            std::io::read_to_string(old).unwrap().as_bytes(),
            old_content
        );
        if is_root {
            assert_eq!((new.uid(), new.gid()), (12345, 54321));
        }
    }
}

// proves TL-8
#[test]
fn a_file_made_read_only_by_its_owner_is_not_replaced_behind_its_back() {
    let yard = Yard::new();
    let jail = yard.jail();
    fs::set_permissions(yard.ws("plain.txt"), Permissions::from_mode(0o444)).unwrap();

    let written = write(&jail, "plain.txt", "new");

    // Modes stop everybody but root.
    let expected = if rustix::process::geteuid().is_root() {
        ("ok", b"new".to_vec())
    } else {
        ("io", b"plain".to_vec())
    };
    assert_eq!(
        (verdict(&written), read(&jail, "plain.txt").unwrap()),
        expected
    );
    assert_eq!(mode(&yard.ws("plain.txt")), 0o444);
}

// proves TL-8
#[test]
fn a_content_above_the_cap_is_refused_before_anything_is_made() {
    let yard = Yard::new();
    let jail = yard.jail();
    let before = snapshot(&yard.ws(""));

    let refusal = jail
        .write(&place(&jail, "new/x.txt"), b"12345", 4)
        .unwrap_err();

    assert!(
        matches!(
            refusal,
            JailError::TooLarge {
                size: 5,
                cap: 4,
                ..
            }
        ),
        "{refusal}"
    );
    assert_eq!(snapshot(&yard.ws("")), before);
}

// proves TL-8
#[test]
fn a_hard_linked_file_is_refused_wherever_its_other_name_is() {
    let yard = Yard::new();
    fs::hard_link(yard.outside("secret.txt"), yard.ws("a/hard")).unwrap();
    fs::hard_link(yard.ws("plain.txt"), yard.ws("a/second")).unwrap();
    let jail = yard.jail();
    let before = snapshot(&yard.top());

    for raw in ["a/hard", "a/second", "plain.txt"] {
        let refusal = write(&jail, raw, "mine").unwrap_err();
        assert!(
            matches!(refusal, JailError::HardLinked { links: 2, .. }),
            "{raw}: {refusal}"
        );
    }
    assert_eq!(snapshot(&yard.top()), before);
}

// proves TL-2
#[test]
fn what_a_killed_write_left_is_shown_to_nobody_and_gone_with_the_next_write() {
    let yard = Yard::new();
    let jail = yard.jail();
    fs::write(yard.ws("a").join(LEFT_BEHIND), "half").unwrap();
    fs::write(yard.ws("a/.samovar-mine.tmp"), "a person's").unwrap();
    assert_eq!(list(&jail, "a").unwrap(), ["a/.samovar-mine.tmp", "a/b"]);

    write(&jail, "plain.txt", "elsewhere").unwrap();
    assert!(yard.ws("a").join(LEFT_BEHIND).exists());
    write(&jail, "a/x.txt", "here").unwrap();

    assert_eq!(names(&yard.ws("a")), [".samovar-mine.tmp", "b", "x.txt"]);
}

// proves TL-2
#[test]
fn an_unfinished_write_of_a_living_process_is_left_alone() {
    let yard = Yard::new();
    let jail = yard.jail();
    let living = fs::File::create(yard.ws(LEFT_BEHIND)).unwrap();
    living.lock().unwrap();

    write(&jail, "x.txt", "one").unwrap();
    assert!(yard.ws(LEFT_BEHIND).exists());

    living.unlock().unwrap();
    write(&jail, "x.txt", "two").unwrap();
    assert!(!yard.ws(LEFT_BEHIND).exists());
}

// proves TL-8
#[test]
fn only_files_are_swept_whatever_is_named_like_one() {
    let yard = Yard::new();
    let jail = yard.jail();
    yard.link(LEFT_BEHIND, yard.outside("secret.txt"));
    fs::create_dir(yard.ws("a").join(LEFT_BEHIND)).unwrap();
    let pipe = yard.ws("a/b").join(LEFT_BEHIND);
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();

    write(&jail, "x.txt", "one").unwrap();
    write(&jail, "a/x.txt", "two").unwrap();
    write(&jail, "a/b/x.txt", "three").unwrap();

    assert!(pipe.exists());
    assert!(yard.ws(LEFT_BEHIND).is_symlink());
    assert!(yard.ws("a").join(LEFT_BEHIND).is_dir());
    assert_eq!(fs::read(yard.outside("secret.txt")).unwrap(), b"secret");
}

// proves TL-2
#[test]
fn a_writer_killed_in_the_middle_leaves_the_old_content_and_what_the_next_write_removes() {
    if let Some(dir) = child_dir() {
        let jail = Jail::open(&dir, &Protected::default()).unwrap();
        let written = jail.write(&place(&jail, "plain.txt"), &vec![b'x'; 1 << 20], CAP);
        unreachable!("the signal comes before {written:?}");
    }
    let _alone = alone();
    let yard = Yard::new();
    let jail = yard.jail();
    // The 65th block of a file ends the child by a signal.
    let limited = ["sh", "-c", r#"ulimit -f 64; ulimit -c 0; exec "$@""#, "sh"];
    let test = "writing::a_writer_killed_in_the_middle_leaves_the_old_content_and_what_the_next_write_removes";

    let status = start_child(&limited, test, &yard.ws("")).wait().unwrap();

    assert_eq!(status.signal(), Some(Signal::XFSZ.as_raw()));
    assert_eq!(read(&jail, "plain.txt").unwrap(), b"plain");
    assert_eq!(list(&jail, "").unwrap(), ["a", "plain.txt"]);
    let left = names(&yard.ws(""))
        .into_iter()
        .filter(|name| name.starts_with(".samovar-"));
    let sizes: Vec<_> = left
        .map(|name| fs::metadata(yard.ws(&name)).unwrap().len())
        .collect();
    assert!(
        matches!(sizes[..], [1..0x10_0000]),
        "one half of a file, not {sizes:?}"
    );
    write(&jail, "plain.txt", "alive").unwrap();
    assert_eq!(names(&yard.ws("")), ["a", "data", "plain.txt"]);
}

// proves TL-2
#[test]
fn a_write_that_fails_halfway_leaves_the_old_content_and_no_other_file() {
    if let Some(dir) = child_dir() {
        let jail = Jail::open(&dir, &Protected::default()).unwrap();
        for name in ["plain.txt", "new.txt"] {
            let written = jail.write(&place(&jail, name), &vec![b'x'; 1 << 20], CAP);
            assert_eq!(verdict(&written), "io");
        }
        return;
    }
    let _alone = alone();
    let yard = Yard::new();
    let before = snapshot(&yard.ws("plain.txt"));
    // No file of the child may have more than 64 blocks.
    let limited = ["sh", "-c", r#"trap "" XFSZ; ulimit -f 64; exec "$@""#, "sh"];
    let test = "writing::a_write_that_fails_halfway_leaves_the_old_content_and_no_other_file";

    let output = start_child(&limited, test, &yard.ws(""))
        .wait_with_output()
        .unwrap();

    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && told.contains("1 passed"),
        "{told}"
    );
    assert_eq!(snapshot(&yard.ws("plain.txt")), before);
    assert_eq!(names(&yard.ws("")), ["a", "data", "plain.txt"]);
}
