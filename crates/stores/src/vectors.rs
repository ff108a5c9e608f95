//! The third store: what texts mean, in one `SQLite` file (DU-1, MD-11).
//!
//! Everything in it can be made again from the texts, so it opens when it is first used, is in no
//! backup, and costs nothing when it is lost: what cannot be read is renamed, and an empty file takes
//! its place. It is no matter whose file it is: a vector belongs to a text and a model.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, Error, OpenFlags};
use samovar_core::{Future, TextHash, TextVector, Vectors};
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
    open: Arc<Mutex<Option<Connection>>>,
}

impl SqliteVectors {
    /// Those of a file, which is made and opened when it is first used.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            open: Arc::default(),
        }
    }

    /// Does a task on a thread that may block.
    async fn run(&self, task: Task) -> Result<Rows, String> {
        let mut open = self.open.clone().lock_owned().await;
        let path = self.path.clone();
        let done = tokio::task::spawn_blocking(move || run(&path, &mut open, &task)).await;
        let done = done.map_err(|error| error.to_string());
        let done = done.and_then(|done| done.map_err(|error| error.to_string()));
        done.map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

type Rows = Vec<TextVector>;

/// What is done with the file.
enum Task {
    Load(String),
    Keep(String, Rows),
    Remove(Vec<TextHash>),
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error(transparent)]
    Sql(#[from] Error),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("format {0}")]
    Format(u32),
}

/// Does a task. A file that is damaged, or of another program, is set aside, and the same is done with an
/// empty one.
fn run(path: &Path, open: &mut Option<Connection>, task: &Task) -> Result<Rows, Unusable> {
    match once(path, open, task) {
        Err(error) if error.is_damage() => {
            drop(open.take());
            let shown = path.display();
            tracing::warn!(path = %shown, %error, "the vectors of memories cannot be read; they are made again");
            set_aside(path)?;
            once(path, open, task)
        }
        done => done,
    }
}

fn once(path: &Path, open: &mut Option<Connection>, task: &Task) -> Result<Rows, Unusable> {
    let file = match open {
        Some(file) => file,
        None => open.insert(connect(path)?),
    };
    task.run(file)
}

impl Task {
    fn run(&self, file: &mut Connection) -> Result<Rows, Unusable> {
        let all = file.transaction()?;
        let mut found = Vec::new();
        match self {
            Self::Load(model) => {
                let load = "SELECT text, vector FROM vectors WHERE model = ?1";
                let mut load = all.prepare_cached(load)?;
                let mut rows = load.query([model])?;
                while let Some(row) = rows.next()? {
                    let text: Vec<u8> = row.get(0)?;
                    let text = TextHash::try_from(text).ok();
                    found.extend(text.zip(Some(row.get(1)?)));
                }
            }
            Self::Keep(model, vectors) => {
                let keep =
                    "INSERT OR REPLACE INTO vectors (text, model, vector) VALUES (?1, ?2, ?3)";
                let mut keep = all.prepare_cached(keep)?;
                for (text, vector) in vectors {
                    keep.execute((text, model, vector))?;
                }
            }
            Self::Remove(texts) => {
                let mut remove = all.prepare_cached("DELETE FROM vectors WHERE text = ?1")?;
                for text in texts {
                    remove.execute([text])?;
                }
            }
        }
        all.commit()?;
        Ok(found)
    }
}

impl Vectors for SqliteVectors {
    fn is_there(&self) -> bool {
        self.path.exists()
    }

    fn load<'a>(&'a self, model: &'a str) -> Future<'a, Result<Rows, String>> {
        Box::pin(self.run(Task::Load(model.to_owned())))
    }

    fn keep<'a>(&'a self, model: &'a str, vectors: Rows) -> Future<'a, Result<(), String>> {
        let keep = Task::Keep(model.to_owned(), vectors);
        Box::pin(async move { self.run(keep).await.map(drop) })
    }

    fn remove(&self, texts: Vec<TextHash>) -> Future<'_, Result<(), String>> {
        Box::pin(async move { self.run(Task::Remove(texts)).await.map(drop) })
    }
}

fn connect(path: &Path) -> Result<Connection, Unusable> {
    let path = std::path::absolute(path)?;
    match data_dir::create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
        _ => {}
    }
    // Only one thread at a time has the connection.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let file = Connection::open_with_flags(&path, flags)?;
    file.busy_timeout(BUSY_TIMEOUT)?;
    // What is removed is overwritten.
    file.pragma_update(None, "secure_delete", true)?;
    file.pragma_update(None, "journal_mode", "DELETE")?;
    file.pragma_update(None, "synchronous", "NORMAL")?;
    file.pragma_update(None, "cell_size_check", true)?;
    file.pragma_update(None, "trusted_schema", false)?;
    let number = |sql| file.query_row(sql, [], |row| row.get::<_, u32>(0));
    let format = number("PRAGMA user_version")?;
    match (format, number("SELECT count(*) FROM sqlite_schema")?) {
        (0, 0) => file.execute_batch(TABLE)?,
        (FORMAT, 1) => {}
        _ => return Err(Unusable::Format(format)),
    }
    Ok(file)
}

impl Unusable {
    /// Whether the file is damaged or of another program.
    fn is_damage(&self) -> bool {
        const CORRUPT: i32 = 11;
        const NOT_A_DATABASE: i32 = 26;
        /// A table or a column is missing.
        const OTHER_TABLES: i32 = 1;
        let code = match self {
            Self::Format(_)
            | Self::Sql(
                Error::FromSqlConversionFailure(..)
                | Error::InvalidColumnType(..)
                | Error::IntegralValueOutOfRange(..),
            ) => return true,
            Self::Sql(Error::SqlInputError { error, .. } | Error::SqliteFailure(error, _)) => {
                error.extended_code & 0xff
            }
            Self::Sql(_) | Self::Io(_) => return false,
        };
        [CORRUPT, NOT_A_DATABASE, OTHER_TABLES].contains(&code)
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
                    let file = Connection::open(&path).unwrap();
                    file.execute_batch(other).unwrap();
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
