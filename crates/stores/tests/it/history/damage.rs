//! Files that are not what they should be.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use samovar_core::history::Change;
use samovar_core::{Broken, Role};
use samovar_stores::history::SqliteHistory;
use samovar_stores::read_history;
use tempfile::TempDir;

use super::{TestHistory, asked, damage, finished, last, master, message, message_id, open};
use super::{put, session_id, started, turn_id};

/// The bytes of a history with some content.
async fn bytes() -> Vec<u8> {
    let place = TestHistory::new().await;
    let text = "said ".repeat(300);
    let said = |n: u64| {
        (
            n,
            put(message(&format!("m{n}"), Role::User, &text), None, master()),
        )
    };
    let log = std::iter::once((1, open())).chain((2..40).map(said));
    place.project("s", log.collect()).await;
    place.history.close().await.unwrap();
    fs::read(place.folder.path().join("history.db")).unwrap()
}

/// What opening a file with these bytes says; the bytes must stay as they are.
async fn refusal(what: &str, bytes: &[u8]) -> String {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("history.db");
    fs::write(&file, bytes).unwrap();
    let why = damage(what, SqliteHistory::open(&file).await);
    assert!(
        fs::read(&file).unwrap() == bytes,
        "{what}: the file was changed"
    );
    why
}

// proves DU-13
#[tokio::test]
async fn a_file_that_is_cut_short_is_damaged_and_left_alone() {
    let whole = bytes().await;
    assert!(whole.len() > 15 * 4096);
    for length in [
        50,
        100,
        1000,
        4096,
        5000,
        8192,
        10 * 4096,
        whole.len() - 4096,
    ] {
        refusal(&length.to_string(), &whole[..length]).await;
    }
}

// proves DU-13
#[tokio::test]
async fn a_file_that_is_no_database_is_damaged_and_left_alone() {
    let script = b"#!/bin/sh\nexit 1\n".repeat(1000);
    for (what, garbage) in [("a script", script), ("noise", vec![0xff; 9000])] {
        let why = refusal(what, &garbage).await;
        assert!(why.contains("not a database"), "{why}");
    }
}

#[tokio::test]
async fn only_its_owner_may_read_the_files() {
    let place = TestHistory::new().await;
    place.project("s", vec![(1, open())]).await;
    let mut names = Vec::new();
    for file in fs::read_dir(place.folder.path()).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.path().display());
        names.push(file.file_name());
    }
    names.sort();
    assert_eq!(names, ["history.db", "history.db-shm", "history.db-wal"]);
}

#[tokio::test]
async fn a_path_that_cannot_hold_a_history_is_an_error() {
    let folder = TempDir::new().unwrap();
    for path in [
        folder.path().to_owned(),
        folder.path().join("missing/history.db"),
    ] {
        let opened = SqliteHistory::open(&path).await;
        assert!(matches!(opened, Err(Broken::Io(_))), "{}", path.display());
    }
}

// proves DU-13
#[tokio::test]
async fn a_row_that_makes_no_sense_is_named_and_others_are_served() {
    let bad = [
        "UPDATE message_rows SET parts = '[{' WHERE id = 'bad'",
        "UPDATE message_rows SET parts = '[{\"type\":\"song\"}]' WHERE id = 'bad'",
        "UPDATE message_rows SET parts = CAST(x'ff' AS TEXT) WHERE id = 'bad'",
        "UPDATE message_rows SET role = 'poet' WHERE id = 'bad'",
        "UPDATE message_rows SET metadata = '7' WHERE id = 'bad'",
        "UPDATE message_rows SET tokens_input = -1 WHERE id = 'bad'",
        "UPDATE message_rows SET parent_message_id = '' WHERE id = 'bad'",
        "UPDATE message_rows SET checksum = NULL WHERE id = 'bad'",
    ];
    for sql in bad {
        let place = TestHistory::new().await;
        place
            .project("s", vec![(1, open()), (2, asked("bad", None))])
            .await;
        place
            .project("other", vec![(1, open()), (2, asked("good", None))])
            .await;
        place.sql().execute_batch(sql).unwrap();

        let why = damage(sql, place.history.message(&message_id("bad")).await);
        assert!(why.contains("message bad"), "{sql}: {why}");
        let why = damage(sql, place.history.messages(last("s", 9)).await);
        assert!(why.contains("message bad"), "{sql}: {why}");
        assert_eq!(place.ids(last("other", 9)).await, ["good"], "{sql}");
    }
}

// proves DU-13
#[tokio::test]
async fn a_session_row_that_makes_no_sense_is_named_and_not_overwritten() {
    for (sql, wrong) in [
        (
            "UPDATE sessions SET message_count = -1",
            "message_count is -1",
        ),
        ("UPDATE sessions SET checksum = NULL", "wrong checksum"),
    ] {
        let place = TestHistory::new().await;
        place.project("s", vec![(1, open())]).await;
        place.sql().execute_batch(sql).unwrap();

        let why = damage("read", place.history.session(&session_id("s")).await);
        assert!(why.contains("session s") && why.contains(wrong), "{why}");
        let more = super::projection("s", vec![(2, asked("a", None))]);
        let why = damage("written", place.history.project(vec![more]).await);
        assert!(why.contains("session s"), "{why}");
        place.project("other", vec![(1, open())]).await;

        // It can be deleted all the same.
        place.project("s", vec![(3, Change::Close)]).await;
        let deleted = place.history.session(&session_id("s")).await;
        assert!(deleted.unwrap().is_none());
    }
}

// proves DU-13
#[tokio::test]
async fn a_turns_row_that_changed_while_it_ran_is_found_and_not_sealed_again() {
    for flip in [
        "agent = 'mastes'",
        "agent = CAST(x'ff' AS TEXT)",
        "turn_seq = turn_seq + 1",
        "started_at = started_at + 1",
        "tokens_output = 0",
        "checksum = checksum + 1",
        "checksum = NULL",
    ] {
        let place = TestHistory::new().await;
        let log = [open(), asked("a", Some("t")), started("t")];
        place.project("s", (1..).zip(log).collect()).await;
        let flip = format!("UPDATE turns SET {flip}");
        place.sql().execute_batch(&flip).unwrap();

        for change in [asked("b", Some("t")), started("t"), finished("t")] {
            let more = super::projection("s", vec![(4, change)]);
            let why = damage("written", place.history.project(vec![more]).await);
            assert!(why.contains("turn t"), "{why}");
            let (session, turn) = (session_id("s"), turn_id("t"));
            damage("read", place.history.is_over(&session, &turn).await);
        }
        // Its session can be deleted all the same.
        place
            .project("s", vec![(4, finished("t")), (5, Change::Close)])
            .await;
        let deleted = place.history.session(&session_id("s")).await;
        assert!(deleted.unwrap().is_none());
        assert_eq!(place.asked("SELECT id FROM turns"), [""; 0]);
    }
}

// proves DU-13
#[tokio::test]
async fn a_message_whose_row_is_gone_is_missed() {
    let place = TestHistory::new().await;
    let log = [open(), asked("a", None), asked("b", None)];
    place.project("s", (1..).zip(log).collect()).await;
    let gone = "DELETE FROM message_rows WHERE id = 'a'";
    place.sql().execute_batch(gone).unwrap();

    let lacks = "session s: 1 messages of 2 are there";
    let why = damage("read", place.history.messages(last("s", 9)).await);
    assert!(why.contains(lacks), "{why}");
    let read = read_history(place.folder.path()).await;
    let damaged = read.unwrap().damaged;
    assert!(lacks.ends_with(&damaged["s"]), "{damaged:?}");
}
