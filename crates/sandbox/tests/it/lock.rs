//! One owner for a data directory.

use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use samovar_sandbox::{DirLock, LockError};
use tempfile::TempDir;

use crate::yard::{alone, child_dir, names, start_child, wait_for};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

// proves DU-18, TL-14
#[test]
fn a_missing_data_directory_is_made_for_its_owner_alone() {
    let _alone = alone();
    let top = TempDir::new().unwrap();
    let dir = top.path().join("share/samovar");

    let lock = DirLock::acquire(&dir).unwrap();

    assert_eq!(lock.dir(), dir);
    assert_eq!(mode(&dir), 0o700);
    assert_eq!(mode(&dir.join("lock")), 0o600);
    assert_eq!(names(&dir), ["lock"]);
    let pid = fs::read_to_string(dir.join("lock")).unwrap();
    assert_eq!(pid.trim(), std::process::id().to_string());
}

#[test]
fn of_a_directory_that_was_there_nothing_but_the_lock_is_touched() {
    let _alone = alone();
    let top = TempDir::new().unwrap();
    fs::set_permissions(top.path(), Permissions::from_mode(0o755)).unwrap();

    fs::write(
        top.path().join("lock"),
        "left by an owner with a very long name",
    )
    .unwrap();
    fs::write(top.path().join("journal"), "kept").unwrap();

    DirLock::acquire(top.path()).unwrap();

    assert_eq!(mode(top.path()), 0o755);
    assert_eq!(names(top.path()), ["journal", "lock"]);
    let pid = fs::read_to_string(top.path().join("lock")).unwrap();
    assert_eq!(pid.trim(), std::process::id().to_string());
}

// proves DU-18
#[test]
fn a_second_owner_is_told_who_holds_the_directory() {
    if let Some(dir) = child_dir() {
        let _lock = DirLock::acquire(&dir).unwrap();
        println!("locked");
        std::io::stdin().read_line(&mut String::new()).unwrap();
        return;
    }
    let _alone = alone();
    let top = TempDir::new().unwrap();
    let test = "lock::a_second_owner_is_told_who_holds_the_directory";
    let mut child = start_child(&[], test, top.path());
    wait_for(&mut child, "locked");

    let refusal = DirLock::acquire(top.path()).unwrap_err();

    let (path, pid) = (top.path(), child.id());
    let sentence = format!(
        "the data directory {path:?} is in use by another process (pid {pid}); stop that process first"
    );
    assert_eq!(refusal.to_string(), sentence);
    child.kill().unwrap();
    child.wait().unwrap();
    let lock = DirLock::acquire(top.path()).unwrap();
    assert!(
        matches!(DirLock::acquire(lock.dir()), Err(LockError::Held { pid: Some(pid), .. })
        if pid == std::process::id())
    );
}

// proves DU-18
#[test]
fn what_a_killed_owner_was_starting_is_waited_for() {
    const OWNER: &str = r#"
        exec 9<>"$1" 8<&0
        flock 9
        echo $$ >&9
        cat <&8 >/dev/null &
        echo held
        exec cat <&8"#;
    let _alone = alone();
    for is_reaped in [true, false] {
        let top = TempDir::new().unwrap();
        let file = top.path().join("lock");
        let mut owner = Command::new("sh")
            .args(["-c", OWNER, "sh"])
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Its child ends with this.
        let input = owner.stdin.take();
        wait_for(&mut owner, "held");
        let pid = owner.id();
        assert!(
            matches!(DirLock::acquire(top.path()), Err(LockError::Held { pid: Some(held_by), .. })
            if held_by == pid)
        );

        owner.kill().unwrap();
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(Pid::from_child(&owner)), options).unwrap();
        if is_reaped {
            owner.wait().unwrap();
        }
        let held = File::open(&file).unwrap().try_lock();
        assert!(held.is_err(), "its child has it");
        let ends = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            drop(input);
        });
        DirLock::acquire(top.path()).unwrap();

        ends.join().unwrap();
        let written = fs::read_to_string(&file).unwrap();
        assert_eq!(written, format!("{}\n", std::process::id()));
        owner.wait().unwrap();
    }
}

// proves DU-18
#[test]
fn a_child_that_outlives_the_owner_does_not_keep_the_directory() {
    let _alone = alone();
    let top = TempDir::new().unwrap();
    let lock = DirLock::acquire(top.path()).unwrap();
    let mut child = Command::new("cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Its echo shows that it has begun to be `cat`, which is when its copies are closed.
    child.stdin.as_mut().unwrap().write_all(b"?").unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();

    drop(lock);
    let again = DirLock::acquire(top.path());

    assert!(child.try_wait().unwrap().is_none());
    assert!(again.is_ok(), "{again:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}

// proves DU-18
#[test]
fn what_cannot_be_a_data_directory_is_refused() {
    let _alone = alone();
    let top = TempDir::new().unwrap();
    let file = top.path().join("file");
    fs::write(&file, "").unwrap();

    assert!(matches!(
        DirLock::acquire(&file),
        Err(LockError::NotADirectory { .. })
    ));
    assert!(matches!(
        DirLock::acquire(&file.join("x")),
        Err(LockError::NotWritable { .. })
    ));
    // Nobody makes a file here, not even root.
    assert!(matches!(
        DirLock::acquire(Path::new("/proc")),
        Err(LockError::NotWritable { .. })
    ));
    assert_eq!(names(top.path()), ["file"]);
}

// proves DU-18
#[test]
fn a_link_or_pipe_in_place_of_the_lock_is_refused_without_waiting() {
    let _alone = alone();
    let top = TempDir::new().unwrap();
    std::os::unix::fs::symlink(top.path().join("elsewhere"), top.path().join("lock")).unwrap();

    assert!(matches!(
        DirLock::acquire(top.path()),
        Err(LockError::NotWritable { .. })
    ));

    assert_eq!(names(top.path()), ["lock"]);
}

// proves DU-18
#[test]
fn a_full_or_frozen_directory_is_found_out_by_trying() {
    if let Some(dir) = child_dir() {
        assert!(matches!(
            DirLock::acquire(&dir),
            Err(LockError::NotWritable { .. })
        ));
        return;
    }
    let _alone = alone();
    let top = TempDir::new().unwrap();
    drop(DirLock::acquire(top.path()).unwrap());
    // The child may not write one byte into any file.
    let limited = ["sh", "-c", r#"trap "" XFSZ; ulimit -f 0; exec "$@""#, "sh"];
    let test = "lock::a_full_or_frozen_directory_is_found_out_by_trying";

    let output = start_child(&limited, test, top.path())
        .wait_with_output()
        .unwrap();

    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && told.contains("1 passed"),
        "{told}"
    );
    assert_eq!(names(top.path()), ["lock"]);
}

// proves DU-18
#[test]
fn a_directory_that_takes_no_new_file_is_found_out_by_trying() {
    let _alone = alone();
    let top = TempDir::new().unwrap();
    drop(DirLock::acquire(top.path()).unwrap());
    fs::set_permissions(top.path(), Permissions::from_mode(0o500)).unwrap();

    let outcome = DirLock::acquire(top.path());

    // Modes stop everybody but root.
    if rustix::process::geteuid().is_root() {
        assert!(outcome.is_ok(), "{outcome:?}");
    } else {
        assert!(
            matches!(outcome, Err(LockError::NotWritable { .. })),
            "{outcome:?}"
        );
    }
    fs::set_permissions(top.path(), Permissions::from_mode(0o700)).unwrap();
}
