//! Stores of each format, opened by this program.

use std::path::Path;
use std::process::Command;

use samovar_core::History;
use samovar_stores::history::SqliteHistory;
use samovar_stores::journal::LmdbJournal;
use samovar_stores::read_history;
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use tempfile::TempDir;

const FORMATS: [&str; 1] = ["1.tgz"];

/// The statements that make the tables of a history.
async fn tables(folder: &Path) -> Vec<String> {
    let options = SqliteConnectOptions::new().filename(folder.join("history.db"));
    let mut connection = options.connect().await.unwrap();
    let tables = "SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name";
    let tables = sqlx::query_scalar(tables).fetch_all(&mut connection).await;
    tables.unwrap()
}

// proves DU-13
#[tokio::test]
async fn every_format_is_migrated_to_the_tables_of_a_new_store() {
    let new = TempDir::new().unwrap();
    let history = SqliteHistory::open(new.path().join("history.db")).await;
    history.unwrap().close().await.unwrap();
    for format in FORMATS {
        let folder = TempDir::new().unwrap();
        let archives = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samovar/tests/it/format");
        let mut unpack = Command::new("tar");
        unpack.arg("-C").arg(folder.path()).arg("-xzf");
        assert!(
            unpack
                .arg(archives.join(format))
                .status()
                .unwrap()
                .success()
        );

        let history = SqliteHistory::open(folder.path().join("history.db")).await;
        history.unwrap().close().await.unwrap();
        let (journal, recovered) = LmdbJournal::open(folder.path(), 2_000_000_000).unwrap();

        assert_eq!(tables(folder.path()).await, tables(new.path()).await);
        let read = read_history(folder.path()).await.unwrap();
        assert_eq!(
            (read.sessions, read.odd, read.damaged.len()),
            (3, vec![], 0)
        );
        assert_eq!(recovered.holes, []);
        assert_eq!(journal.audit().unwrap().len(), 0, "{format}");
    }
}
