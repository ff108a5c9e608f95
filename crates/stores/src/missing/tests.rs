use std::fs;
use std::path::Path;
use std::sync::Arc;

use samovar_core::{History, Journal, Millis};
use tempfile::TempDir;

use super::*;
use crate::data_dir::tests::data_dir;
use crate::generation::Lack;
use crate::journal::Durability;
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

fn lack(opened: Result<Stores, OpenError>) -> Option<Missing> {
    match opened {
        Err(OpenError::Missing { missing, .. }) => Some(missing),
        Err(other) => panic!("{other}"),
        Ok(_) => None,
    }
}

// proves DU-13
#[tokio::test]
async fn a_directory_from_before_generations_opens_as_ever_and_has_one_from_then_on() {
    let dir = TempDir::new().unwrap();
    // Each store by itself knows nothing of a generation.
    let (journal, _) = LmdbJournal::open(dir.path(), 5).unwrap();
    journal.close().await.unwrap();
    drop(journal);
    let history = SqliteHistory::open(dir.path().join(HISTORY[0])).await;
    history.unwrap().close().await.unwrap();
    fs::write(
        dir.path().join("run.json"),
        r#"{"state":"closed","epoch":7}"#,
    )
    .unwrap();

    served(&dir).await;

    let run = Run::of(&data_dir(&dir)).marks();
    let (journal, history) = survey(&data_dir(&dir), &Run::default(), false, None)
        .await
        .unwrap();
    assert_eq!(shared(&journal, &history), run.generation);
    assert!(run.generation.is_some());
    fs::remove_file(dir.path().join(HISTORY[0])).unwrap();
    let (store, lack_of) = (Store::History, Lack::Gone);
    let missing = Missing {
        store,
        lack: lack_of,
    };
    assert_eq!(lack(opened(&dir).await), Some(missing));
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
