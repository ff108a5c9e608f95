use std::fs;
use std::path::Path;
use std::sync::Arc;

use samovar_core::{Durability, Millis};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::data_dir::tests::data_dir;
use crate::generation::Lack;
use crate::{Options, Stores, open};

async fn opened(dir: &TempDir) -> Result<Stores, OpenError> {
    let dir = data_dir(dir);
    open(Options {
        reports: Arc::new(Reports::open(&dir)),
        dir,
        durability: Durability::Power,
        walker: None,
    })
    .await
}

/// Opens the stores as a server does, and leaves them well.
async fn served(dir: &TempDir) {
    let stores = opened(dir).await.unwrap();
    stores.ready();
    stores.closing();
    stores.close().await;
    stores.closed();
}

/// What stores lack; those that lack nothing are closed, so that they can be opened again at once.
async fn lack(opened: Result<Stores, OpenError>) -> Option<Missing> {
    match opened {
        Err(OpenError::Missing { missing, .. }) => Some(missing),
        Err(other) => panic!("{other}"),
        Ok(stores) => {
            stores.close().await;
            None
        }
    }
}

/// Changes a history with SQL.
fn change(path: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute_batch(sql).unwrap();
}

// proves DU-13
#[tokio::test]
async fn refuses_a_store_of_another_format_and_changes_nothing() {
    let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, \
                 execution_time) VALUES (99, 'later', true, x'00', 0)";
    let other = "DROP TABLE _sqlx_migrations";
    let histories = [
        newer,
        other,
        "DROP TABLE syncs",
        "DROP VIEW messages",
        // A migration would be made again, and fail halfway.
        "DELETE FROM _sqlx_migrations WHERE version = 4",
        "DELETE FROM _sqlx_migrations WHERE version > 2",
        "DELETE FROM _sqlx_migrations WHERE version > 1",
        "DELETE FROM _sqlx_migrations",
        "ALTER TABLE turns DROP COLUMN fault",
    ]
    .map(Ok);
    for breach in histories.into_iter().chain([1, 2].map(Err)) {
        let dir = TempDir::new().unwrap();
        served(&dir).await;
        let path = match breach {
            Ok(sql) => {
                let path = dir.path().join(HISTORY[0]);
                change(&path, sql);
                path
            }
            Err(format) => {
                let journal = dir.path().join("journal");
                remove(&journal.join("data.mdb"));
                crate::journal::make_bare(&journal, format);
                journal.join("data.mdb")
            }
        };
        let run = dir.path().join("run.json");
        let before = (fs::read(&path).unwrap(), fs::read(&run).unwrap());

        let refused = opened(&dir).await.err().unwrap();

        let said = refused.to_string();
        let format = if breach.is_ok() { 4 } else { 1 };
        let sentence = format!(
            "its tables are not those of format {format}; start the version that wrote it; it was \
             not changed"
        );
        assert!(said.contains(&sentence), "{breach:?}: {said}");
        let is_history = matches!(refused, OpenError::History { .. });
        assert_eq!(is_history, breach.is_ok(), "{said}");
        assert!(before == (fs::read(&path).unwrap(), fs::read(&run).unwrap()));
        assert!(!dir.path().join("damaged").exists(), "{breach:?}");
    }
}

/// Flips a bit of the generation wherever a store has it.
fn flip_stamp(dir: &TempDir, name: &str) {
    let generation = Run::of(&data_dir(dir)).generation.unwrap().0;
    let path = dir.path().join(name);
    let mut bytes = fs::read(&path).unwrap();
    let len = generation.len();
    for at in 0..bytes.len() - len {
        if bytes[at..at + len] == *generation.as_bytes() {
            bytes[at] ^= 1;
        }
    }
    fs::write(path, bytes).unwrap();
}

// proves DU-13
#[tokio::test]
async fn a_changed_stamp_is_written_again_and_nothing_is_set_aside() {
    for name in ["history.db", "journal/data.mdb"] {
        let dir = TempDir::new().unwrap();
        served(&dir).await;
        flip_stamp(&dir, name);
        assert_eq!(lack(opened(&dir).await).await, None, "{name}");
        served(&dir).await;
        let found = survey(&data_dir(&dir), &Run::default(), false, None).await;
        let (journal, history) = found.unwrap();
        let generation = Run::of(&data_dir(&dir)).generation;
        assert_eq!(shared(&journal, &history), generation, "{name}");
        assert!(!dir.path().join("damaged").exists(), "{name}");
    }
}

// proves DU-13
#[tokio::test]
async fn a_restore_that_was_cut_off_is_finished_before_a_store_is_missing() {
    let (dir, backups) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let backup = backups.path().join("backup");
    let stores = opened(&dir).await.unwrap();
    stores.ready();
    stores.backups.make(backup.clone()).await.unwrap();
    let restart = CancellationToken::new();
    stores.backups.put_back(backup, restart).await.unwrap();
    stores.closing();
    stores.close().await;
    stores.closed();
    drop(stores);
    remove(&dir.path().join("history.db"));

    let held = data_dir(&dir);
    assert!(missing(&held).await.unwrap().is_none());
    assert_eq!(mend(&held, &Reports::open(&held)).await.unwrap(), []);
    assert!(dir.path().join("history.db").exists());
    assert!(!dir.path().join("restore").exists());
}

// proves DU-13
#[tokio::test]
async fn stores_that_are_taken_as_they_are_are_projected_again() {
    let (dir, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for dir in [&dir, &other] {
        served(dir).await;
    }
    for name in ["history.db", "journal/data.mdb"] {
        fs::copy(other.path().join(name), dir.path().join(name)).unwrap();
    }
    let held = data_dir(&dir);
    let mended = mend(&held, &Reports::open(&held)).await.unwrap();
    assert_eq!(mended.len(), 1);
    assert_eq!(mended[0].missing, None);
    assert!(Run::of(&held).is_restored);
}

// proves DU-13
#[tokio::test]
async fn a_fix_that_fails_leaves_the_start_refused() {
    for (gone, rest) in [
        ("history.db", "history.db-wal"),
        ("journal/data.mdb", "spool/rest"),
    ] {
        let dir = TempDir::new().unwrap();
        served(&dir).await;
        remove(&dir.path().join(gone));
        let rest = dir.path().join(rest);
        fs::create_dir_all(rest.parent().unwrap()).unwrap();
        fs::write(rest, "").unwrap();
        fs::write(dir.path().join("damaged"), "in the way").unwrap();

        let held = data_dir(&dir);
        let failed = mend(&held, &Reports::open(&held)).await.unwrap_err();

        assert!(matches!(failed, OpenError::Mending { .. }), "{failed}");
        assert!(
            !failed.to_string().contains("it was not changed"),
            "{failed}"
        );
        let lack = lack(opened(&dir).await).await.map(|missing| missing.lack);
        assert_eq!(lack, Some(Lack::Gone), "{gone}");
    }
}

// proves DU-13
#[tokio::test]
async fn what_is_left_of_a_store_is_in_the_folder_that_its_report_names() {
    for (gone, left) in [
        ("history.db", "history.db"),
        ("history.db", "history.db-wal"),
        ("journal/data.mdb", "journal/data.mdb"),
        ("journal/data.mdb", "spool/rest"),
    ] {
        let dir = TempDir::new().unwrap();
        served(&dir).await;
        remove(&dir.path().join(gone));
        fs::create_dir_all(dir.path().join("spool")).unwrap();
        fs::write(dir.path().join(left), "garbage".repeat(1000)).unwrap();
        let held = data_dir(&dir);
        if gone != left {
            mend(&held, &Reports::open(&held)).await.unwrap();
        }

        served(&dir).await;

        let kept_in = Reports::open(&held).list().pop().unwrap().kept_in;
        let kept = dir.path().join(kept_in.unwrap()).join(left);
        assert_eq!(fs::read_to_string(kept).unwrap(), "garbage".repeat(1000));
    }
}

fn replace(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

fn remove(path: &Path) {
    fs::remove_file(path).unwrap();
}

// proves DU-12, DU-13
#[tokio::test]
async fn a_file_that_is_removed_or_replaced_under_the_stores_fails_them() {
    let changes: [fn(&Path); 2] = [replace, remove];
    for name in ["history.db", "journal/data.mdb", "lock"] {
        for change in changes {
            let dir = TempDir::new().unwrap();
            // Held, as its owner does: the number of a file that is open is not given out again.
            let _lock = fs::File::create(dir.path().join("lock")).unwrap();
            let stores = opened(&dir).await.unwrap();
            // What an idle server does, too.
            stores.journal.sweep(Millis(0)).await.unwrap();
            assert_eq!(stores.disk.failure(), None);
            change(&dir.path().join(name));

            let swept = stores.journal.sweep(Millis(0)).await;

            let why = swept.unwrap_err();
            assert!(matches!(why, Broken::Io(_)), "{why:?}");
            assert!(why.to_string().contains(name), "{why}");
            assert_eq!(stores.disk.failure(), Some(why.clone()));
            let session = samovar_core::SessionId::new("s").unwrap();
            assert_eq!(stores.journal.discard(&session).await, Err(why.clone()));
            assert_eq!(stores.history.sync().await, Err(why));
        }
    }
}
