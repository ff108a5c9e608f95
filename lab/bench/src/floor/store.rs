//! Where the bare loop keeps messages: `SQLite`, synced before an answer; those that wait meanwhile
//! share the next commit.

use std::path::Path;
use std::thread;

use anyhow::Result;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

/// How many messages may wait.
const WAITING: usize = 1_024;

/// A handle to the thread that owns the connection.
#[derive(Clone)]
pub(super) struct Store(mpsc::Sender<Row>);

struct Row {
    session: String,
    role: &'static str,
    text: String,
    kept: oneshot::Sender<()>,
}

impl Store {
    pub(super) fn open(folder: &Path) -> Result<Store> {
        let connection = Connection::open(folder.join("loop.db"))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(
            "CREATE TABLE message (id INTEGER PRIMARY KEY, session TEXT NOT NULL, \
             role TEXT NOT NULL, text TEXT NOT NULL)",
        )?;
        let (sender, mut rows) = mpsc::channel(WAITING);
        thread::spawn(move || {
            while let Some(first) = rows.blocking_recv() {
                let mut batch: Vec<Row> = vec![first];
                while let Ok(row) = rows.try_recv() {
                    batch.push(row);
                }
                if let Err(why) = commit(&connection, &batch) {
                    // Their turns fail with the rows, which nothing answers.
                    eprintln!("bench: the bare loop cannot keep messages: {why}");
                    continue;
                }
                for row in batch {
                    row.kept.send(()).ok();
                }
            }
        });
        Ok(Store(sender))
    }

    /// Returns when the message would survive a power cut.
    pub(super) async fn keep(&self, session: &str, role: &'static str, text: &str) -> Result<()> {
        let (kept, is_kept) = oneshot::channel();
        let row = Row {
            session: session.to_owned(),
            role,
            text: text.to_owned(),
            kept,
        };
        self.0.send(row).await?;
        Ok(is_kept.await?)
    }
}

fn commit(connection: &Connection, rows: &[Row]) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    let mut insert = transaction
        .prepare_cached("INSERT INTO message (session, role, text) VALUES (?1, ?2, ?3)")?;
    for row in rows {
        insert.execute((&row.session, row.role, &row.text))?;
    }
    drop(insert);
    transaction.commit()
}
