//! Somebody changes the tree while the jail is at work in it.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};

use crate::yard::{Yard, names, read, snapshot, verdict, write};

/// How often each side of a race has to be met.
const MEETINGS: usize = 100;

/// Swaps two names for one another, over and over, while `work` runs.
pub(crate) fn while_swapping<T>(one: &Path, other: &Path, work: impl FnOnce() -> T) -> T {
    struct EndAtDrop<'a>(&'a AtomicBool);
    impl Drop for EndAtDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        // Also when the work fails, or the scope would wait for ever.
        let _end = EndAtDrop(&is_over);
        work()
    })
}

/// Tries until the honest tree and the trap have both been met often.
fn meet_both(mut attempt: impl FnMut() -> &'static str) {
    let (mut fine, mut refused) = (0, 0);
    while fine < MEETINGS || refused < MEETINGS {
        match attempt() {
            "ok" => fine += 1,
            "symlink" => refused += 1,
            // The swap came between two looks at the same name.
            "not found" | "no directory" | "protected" => {}
            other => panic!("{other}"),
        }
    }
}

// proves TL-8
#[test]
fn a_folder_swapped_for_a_link_never_leads_a_read_outside() {
    let yard = Yard::new();
    fs::write(yard.ws("a/secret.txt"), "mine").unwrap();
    yard.link("trap", yard.outside("folder"));
    let jail = yard.jail();

    while_swapping(&yard.ws("a"), &yard.ws("trap"), || {
        meet_both(|| {
            let content = read(&jail, "a/secret.txt");
            if let Ok(content) = &content {
                assert_eq!(content, b"mine");
            }
            verdict(&content)
        });
    });
}

// proves TL-8
#[test]
fn a_folder_swapped_for_a_link_never_leads_a_write_outside() {
    let yard = Yard::new();
    yard.link("trap", yard.outside("folder"));
    let jail = yard.jail();
    let before = snapshot(&yard.outside(""));

    while_swapping(&yard.ws("a"), &yard.ws("trap"), || {
        meet_both(|| verdict(&write(&jail, "a/secret.txt", "mine")));
    });

    assert_eq!(snapshot(&yard.outside("")), before);
}

// proves TL-8
#[test]
fn a_file_swapped_for_a_link_is_replaced_and_never_written_through() {
    let yard = Yard::new();
    let jail = yard.jail();
    let before = snapshot(&yard.outside(""));
    let (file, trap) = (yard.ws("a/file"), yard.ws("a/trap"));
    let set = || {
        for (path, is_link) in [(&file, false), (&trap, true)] {
            if fs::symlink_metadata(path).is_ok() {
                fs::remove_file(path).unwrap();
            }
            if is_link {
                std::os::unix::fs::symlink(yard.outside("secret.txt"), path).unwrap();
            } else {
                fs::write(path, "mine").unwrap();
            }
        }
    };

    for _ in 0..10 {
        set();
        while_swapping(&file, &trap, || {
            for _ in 0..10 {
                let content = read(&jail, "a/file");
                assert_ne!(content.as_deref().unwrap_or_default(), b"secret");
                let written = verdict(&write(&jail, "a/file", "mine"));
                assert!(["ok", "symlink"].contains(&written), "{written}");
            }
        });
    }

    assert_eq!(snapshot(&yard.outside("")), before);
    assert_eq!(names(&yard.ws("a")), ["b", "file", "trap"]);
}

// proves TL-8
#[test]
fn a_file_swapped_for_a_pipe_is_not_waited_for() {
    let yard = Yard::new();
    mknodat(
        CWD,
        yard.ws("pipe"),
        FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )
    .unwrap();
    let jail = yard.jail();

    while_swapping(&yard.ws("plain.txt"), &yard.ws("pipe"), || {
        let (mut fine, mut refused) = (0, 0);
        while fine < 20 * MEETINGS || refused < 20 * MEETINGS {
            match read(&jail, "plain.txt") {
                Ok(content) => {
                    assert_eq!(content, b"plain");
                    fine += 1;
                }
                Err(refusal) => {
                    assert_eq!(verdict::<()>(&Err(refusal)), "not regular");
                    refused += 1;
                }
            }
        }
    });
}

// proves TL-8
#[test]
fn a_folder_swapped_for_the_data_directory_never_shows_or_changes_it() {
    let yard = Yard::new();
    fs::write(yard.ws("a/token"), "mine").unwrap();
    let jail = yard.jail();
    let before = fs::metadata(yard.ws("data")).unwrap();

    let (mut fine, mut refused) = (0, 0);
    while_swapping(&yard.ws("a"), &yard.ws("data"), || {
        while fine < MEETINGS || refused < MEETINGS {
            match write(&jail, "a/token", "mine") {
                Ok(_) => fine += 1,
                Err(refusal) => {
                    assert_eq!(verdict::<()>(&Err(refusal)), "protected");
                    refused += 1;
                }
            }
            if let Ok(content) = read(&jail, "a/token") {
                assert_eq!(content, b"mine");
            }
        }
    });

    let data = ["a", "data"]
        .map(|name| yard.ws(name))
        .into_iter()
        .find(|path| names(path) == ["token"])
        .unwrap();
    assert_eq!(fs::read(data.join("token")).unwrap(), b"secret");
    assert_eq!(
        fs::metadata(data).unwrap().modified().unwrap(),
        before.modified().unwrap()
    );
}

// proves TL-2
#[test]
fn many_writers_of_one_file_leave_one_whole_content_and_nothing_else() {
    let yard = Yard::new();
    let jail = yard.jail();
    let contents: Vec<String> = ('a'..='d').map(|c| c.to_string().repeat(100_000)).collect();

    thread::scope(|scope| {
        for content in &contents {
            scope.spawn(|| {
                for _ in 0..25 {
                    write(&jail, "shared.txt", content).unwrap();
                    let seen = String::from_utf8(read(&jail, "shared.txt").unwrap()).unwrap();
                    assert!(contents.contains(&seen));
                }
            });
        }
    });

    assert_eq!(
        names(&yard.ws("")),
        ["a", "data", "plain.txt", "shared.txt"]
    );
}

// proves TL-18
#[test]
fn a_folder_swapped_for_a_trusted_one_never_gets_a_file_into_that() {
    let yard = Yard::new();
    fs::create_dir(yard.ws("skills")).unwrap();
    fs::write(yard.ws("skills/theirs.md"), "theirs").unwrap();
    let jail = yard.jail();

    let (mut fine, mut refused) = (0, 0);
    while_swapping(&yard.ws("a"), &yard.ws("skills"), || {
        while fine < MEETINGS || refused < MEETINGS {
            match verdict(&write(&jail, "a/mine.md", "mine")) {
                "ok" => fine += 1,
                "protected" => refused += 1,
                other => panic!("{other}"),
            }
        }
    });

    let theirs = ["a", "skills"]
        .map(|name| yard.ws(name))
        .into_iter()
        .find(|path| path.join("theirs.md").exists())
        .unwrap();
    assert_eq!(names(&theirs), ["theirs.md"]);
}
