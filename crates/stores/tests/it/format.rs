//! Stores of each format, opened by this program.

use std::path::Path;
use std::process::Command;

use samovar_core::History;
use samovar_stores::history::SqliteHistory;
use samovar_stores::journal::LmdbJournal;
use samovar_stores::read_history;
use tempfile::TempDir;

const FORMATS: [&str; 1] = ["1.tgz"];

/// The statements that make the tables of a history.
fn tables(folder: &Path) -> Vec<String> {
    let connection = rusqlite::Connection::open(folder.join("history.db")).unwrap();
    let tables = "SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name";
    let mut tables = connection.prepare(tables).unwrap();
    let tables = tables.query_map([], |row| row.get(0)).unwrap();
    tables.map(Result::unwrap).collect()
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

        assert_eq!(tables(folder.path()), tables(new.path()));
        let read = read_history(folder.path()).await.unwrap();
        assert_eq!(
            (read.sessions, read.odd, read.damaged.len()),
            (3, vec![], 0)
        );
        assert_eq!(recovered.holes, []);
        assert_eq!(journal.audit().unwrap().len(), 0, "{format}");
    }
}
