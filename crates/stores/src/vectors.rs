//! The third store: what texts mean, in one `SQLite` file (DU-1, MD-11).
//!
//! Everything in it can be made again from the texts, so it opens when it is first used, is in no
//! backup, and costs nothing when it is lost: what cannot be read is renamed, and an empty file takes
//! its place. It is no matter whose file it is: a vector belongs to a text and a model.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use samovar_core::{Future, TextHash, TextVector, Vectors};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, SqliteConnection};
use tokio::sync::Mutex;

use crate::data_dir;

/// The format of the file.
const FORMAT: u32 = 1;
const TABLE: &str = "CREATE TABLE vectors (\
     text BLOB PRIMARY KEY, model TEXT NOT NULL, vector BLOB NOT NULL) STRICT, WITHOUT ROWID; \
     PRAGMA user_version = 1";
/// What a file that cannot be used is renamed to, beside it.
const ASIDE: &str = "damaged";
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The vectors in a file.
pub struct SqliteVectors {
    path: PathBuf,
    open: Mutex<Option<SqliteConnection>>,
}

impl SqliteVectors {
    /// Those of a file, which is made and opened when it is first used.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            open: Mutex::default(),
        }
    }

    /// Does a task. A file that is damaged, or of another program, is set aside, and the same is done with
    /// an empty one.
    async fn run(&self, task: Task<'_>) -> Result<Rows, String> {
        let mut open = self.open.lock().await;
        let done = match self.once(&mut open, task).await {
            Err(error) if is_damage(&error) => {
                if let Some(connection) = open.take() {
                    drop(connection.close().await);
                }
                let path = self.path.display();
                tracing::warn!(%path, %error, "the vectors of memories cannot be read; they are made again");
                match set_aside(&self.path) {
                    Ok(()) => self.once(&mut open, task).await,
                    Err(error) => Err(sqlx::Error::Io(error)),
                }
            }
            done => done,
        };
        done.map_err(|error| format!("{}: {error}", self.path.display()))
    }

    async fn once(
        &self,
        open: &mut Option<SqliteConnection>,
        task: Task<'_>,
    ) -> sqlx::Result<Rows> {
        let mut file = match open.take() {
            Some(file) => file,
            None => connect(&self.path).await?,
        };
        let done = task.run(&mut file).await;
        *open = Some(file);
        done
    }
}

type Rows = Vec<TextVector>;

/// What is done with the file.
#[derive(Clone, Copy)]
enum Task<'a> {
    Load(&'a str),
    Keep(&'a str, &'a [TextVector]),
    Remove(&'a [TextHash]),
}

impl Task<'_> {
    async fn run(self, file: &mut SqliteConnection) -> sqlx::Result<Rows> {
        if let Self::Load(model) = self {
            let all = "SELECT text, vector FROM vectors WHERE model = ?";
            let rows: Vec<(Vec<u8>, Vec<u8>)> =
                sqlx::query_as(all).bind(model).fetch_all(file).await?;
            let rows = rows.into_iter();
            return Ok(rows
                .filter_map(|(text, vector)| Some((text.try_into().ok()?, vector)))
                .collect());
        }
        let mut all = file.begin().await?;
        match self {
            Self::Keep(model, vectors) => {
                for (text, vector) in vectors {
                    let keep =
                        "INSERT OR REPLACE INTO vectors (text, model, vector) VALUES (?, ?, ?)";
                    let keep = sqlx::query(keep).bind(&text[..]).bind(model).bind(vector);
                    keep.execute(&mut *all).await?;
                }
            }
            Self::Remove(texts) => {
                for text in texts {
                    let remove = sqlx::query("DELETE FROM vectors WHERE text = ?").bind(&text[..]);
                    remove.execute(&mut *all).await?;
                }
            }
            Self::Load(_) => {}
        }
        all.commit().await?;
        Ok(Vec::new())
    }
}

impl Vectors for SqliteVectors {
    fn is_there(&self) -> bool {
        self.path.exists()
    }

    fn load<'a>(&'a self, model: &'a str) -> Future<'a, Result<Rows, String>> {
        Box::pin(self.run(Task::Load(model)))
    }

    fn keep<'a>(&'a self, model: &'a str, vectors: Rows) -> Future<'a, Result<(), String>> {
        Box::pin(async move { self.run(Task::Keep(model, &vectors)).await.map(drop) })
    }

    fn remove(&self, texts: Vec<TextHash>) -> Future<'_, Result<(), String>> {
        Box::pin(async move { self.run(Task::Remove(&texts)).await.map(drop) })
    }
}

async fn connect(path: &Path) -> sqlx::Result<SqliteConnection> {
    let path = std::path::absolute(path)?;
    match data_dir::create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
        _ => {}
    }
    let mut file = SqliteConnectOptions::new()
        .filename(&path)
        .create_if_missing(false)
        .busy_timeout(BUSY_TIMEOUT)
        .journal_mode(SqliteJournalMode::Delete)
        .synchronous(SqliteSynchronous::Normal)
        // What is removed is overwritten.
        .pragma("secure_delete", "ON")
        .pragma("cell_size_check", "ON")
        .pragma("trusted_schema", "OFF")
        .thread_name(|_| "vectors".to_owned())
        .disable_statement_logging()
        .connect()
        .await?;
    let format: u32 = sqlx::query_scalar("PRAGMA user_version")
        .fetch_one(&mut file)
        .await?;
    let tables: u32 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema")
        .fetch_one(&mut file)
        .await?;
    match (format, tables) {
        (0, 0) => {
            file.execute(TABLE).await?;
        }
        (FORMAT, 1) => {}
        _ => return Err(sqlx::Error::Protocol(format!("it has the format {format}"))),
    }
    Ok(file)
}

/// Whether an error says that the file is damaged or of another program.
fn is_damage(error: &sqlx::Error) -> bool {
    const CORRUPT: i32 = 11;
    const NOT_A_DATABASE: i32 = 26;
    /// A table or a column is missing.
    const OTHER_TABLES: i32 = 1;
    match error {
        sqlx::Error::Protocol(_) | sqlx::Error::ColumnDecode { .. } => true,
        sqlx::Error::Database(error) => {
            let code = error.code().and_then(|code| code.parse::<i32>().ok());
            let code = code.map(|code| code & 0xff);
            [CORRUPT, NOT_A_DATABASE, OTHER_TABLES]
                .map(Some)
                .contains(&code)
        }
        _ => false,
    }
}

/// Renames a file, and what `SQLite` left beside it; an earlier one of that name goes.
fn set_aside(path: &Path) -> io::Result<()> {
    let beside = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    for ending in ["-journal", "-wal", "-shm"] {
        match fs::remove_file(beside(ending)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::rename(path, beside(&format!(".{ASIDE}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: TextHash = [1; 32];
    const OTHER: TextHash = [2; 32];

    async fn all(vectors: &SqliteVectors, model: &str) -> Vec<TextVector> {
        vectors.load(model).await.unwrap()
    }

    // proves MD-11
    #[tokio::test]
    async fn a_text_has_the_vector_of_the_model_that_made_it_last() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("vectors.db");
        let vectors = SqliteVectors::new(path.clone());
        let two = vec![(ONE, vec![1, 2]), (OTHER, vec![3])];
        vectors.keep("a", two.clone()).await.unwrap();
        vectors.keep("b", vec![(OTHER, vec![4])]).await.unwrap();
        assert_eq!(all(&vectors, "a").await, two[..1]);
        drop(vectors);
        let again = SqliteVectors::new(path);
        assert_eq!(all(&again, "b").await, [(OTHER, vec![4])]);
    }

    // proves MD-13
    #[tokio::test]
    async fn a_vector_that_is_removed_is_not_in_the_file_any_more() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("vectors.db");
        let vectors = SqliteVectors::new(path.clone());
        let secret = b"the-vector-of-a-deleted-memory".to_vec();
        vectors
            .keep("a", vec![(ONE, secret.clone())])
            .await
            .unwrap();
        let has = || {
            fs::read(&path)
                .unwrap()
                .windows(secret.len())
                .any(|part| part == secret)
        };
        assert!(has());
        vectors.remove(vec![ONE]).await.unwrap();
        assert!(!has());
        assert_eq!(all(&vectors, "a").await, []);
    }

    // proves MD-11
    #[tokio::test]
    async fn a_file_that_cannot_be_used_is_set_aside() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("vectors.db");
        let other = "PRAGMA user_version = 7; CREATE TABLE people (name TEXT)";
        for case in ["no database", "of another program", "torn"] {
            let vectors = SqliteVectors::new(path.clone());
            vectors
                .keep("a", vec![(ONE, vec![7; 4_000])])
                .await
                .unwrap();
            drop(vectors);
            match case {
                "no database" => fs::write(&path, b"# my notes\n".repeat(100)).unwrap(),
                "of another program" => {
                    fs::remove_file(&path).unwrap();
                    let file = SqliteConnectOptions::new()
                        .filename(&path)
                        .create_if_missing(true);
                    file.connect().await.unwrap().execute(other).await.unwrap();
                }
                _ => {
                    let bytes = fs::read(&path).unwrap();
                    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
                }
            }
            let vectors = SqliteVectors::new(path.clone());
            assert_eq!(all(&vectors, "a").await, [], "{case}");
            vectors.keep("a", vec![(ONE, vec![8])]).await.unwrap();
            assert_eq!(all(&vectors, "a").await.len(), 1, "{case}");
            assert!(dir.path().join("vectors.db.damaged").exists(), "{case}");
        }
    }
}
