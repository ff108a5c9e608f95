//! The file: who may read it, how it is opened, which tables it has.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use samovar_core::Broken;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, SqlSafeStr, SqliteConnection, SqlitePool};

use super::failure::Failure;
use crate::data_dir;

/// How many reads run at once; more wait for one of them.
const READERS: u32 = 4;
/// How long a connection waits for a lock that another process holds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The WAL is cut to this after a checkpoint.
const MAX_IDLE_WAL_BYTES: &str = "16777216";

/// The tables' versions, in order. Never change one that was released: add the next.
pub(super) const VERSIONS: [Version; 12] = [
    (
        1,
        "history",
        include_str!("../../migrations/0001_history.sql"),
    ),
    (
        2,
        "titles",
        include_str!("../../migrations/0002_titles.sql"),
    ),
    (
        3,
        "context",
        include_str!("../../migrations/0003_context.sql"),
    ),
    (4, "route", include_str!("../../migrations/0004_route.sql")),
    (
        5,
        "checksums",
        include_str!("../../migrations/0005_checksums.sql"),
    ),
    (
        6,
        "agents",
        include_str!("../../migrations/0006_agents.sql"),
    ),
    (7, "spent", include_str!("../../migrations/0007_spent.sql")),
    (
        8,
        "prompt",
        include_str!("../../migrations/0008_prompt.sql"),
    ),
    (9, "costs", include_str!("../../migrations/0009_costs.sql")),
    (
        10,
        "counts",
        include_str!("../../migrations/0010_counts.sql"),
    ),
    (11, "audit", include_str!("../../migrations/0011_audit.sql")),
    (12, "level", include_str!("../../migrations/0012_level.sql")),
];

/// How the file's connections are opened.
pub(super) struct Options(SqliteConnectOptions);

impl Options {
    /// Makes the file when there is none.
    pub(super) fn new(path: &Path) -> Result<Self, Broken> {
        let path = create(path)
            .map_err(|error| Broken::Io(format!("history: {}: {error}", path.display())))?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(false)
            .busy_timeout(BUSY_TIMEOUT)
            .foreign_keys(true)
            .pragma("cell_size_check", "ON")
            .pragma("trusted_schema", "OFF")
            .thread_name(|number| format!("history-{number}"))
            .disable_statement_logging();
        Ok(Self(options))
    }

    /// The one connection that writes. It folds the WAL itself, see [`super::writer`].
    pub(super) fn writer(&self) -> SqliteConnectOptions {
        self.0
            .clone()
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .pragma("wal_autocheckpoint", "0")
            .pragma("journal_size_limit", MAX_IDLE_WAL_BYTES)
    }

    /// The connections that read, opened when they are needed.
    pub(super) fn readers(&self) -> SqlitePool {
        let options = self.0.clone().read_only(true);
        SqlitePoolOptions::new()
            .max_connections(READERS)
            .test_before_acquire(false)
            .max_lifetime(None)
            // As long as one of them is there, `SQLite` leaves the WAL where it is when the writer's
            // connection fails; a WAL that is missing after a crash means that somebody removed it.
            .idle_timeout(None)
            .connect_lazy_with(options)
    }
}

/// How a file is looked at that is not opened yet. Without a log beside it, it has everything, and
/// `SQLite` is told that it does not change, or it would make a log.
pub(super) fn looking(path: &Path) -> Result<SqliteConnectOptions, Failure> {
    let path = std::path::absolute(path).map_err(sqlx::Error::Io)?;
    let mut log = path.clone().into_os_string();
    log.push("-wal");
    Ok(SqliteConnectOptions::new()
        .filename(&path)
        .create_if_missing(false)
        .busy_timeout(BUSY_TIMEOUT)
        .read_only(true)
        .immutable(!Path::new(&log).exists())
        .pragma("cell_size_check", "ON")
        .pragma("trusted_schema", "OFF")
        .disable_statement_logging())
}

/// Makes an empty file that only its owner may read, durably, unless there is one: `SQLite` gives
/// the WAL and its index the mode of the file. Answers the absolute path: `SQLite` would read a
/// relative one that begins with `file:` as a URI.
fn create(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    match data_dir::create(&path) {
        Ok(_) => {
            if let Some(folder) = path.parent() {
                File::open(folder)?.sync_all()?;
            }
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    Ok(path)
}

/// Opens a connection and brings the tables up to date, each version in a transaction of its own.
pub(super) async fn migrate(options: &SqliteConnectOptions) -> Result<SqliteConnection, Failure> {
    apply(options, &VERSIONS).await
}

/// A version of the tables: its number, its name, the statements that lead to it.
type Version = (i64, &'static str, &'static str);

pub(super) async fn apply(
    options: &SqliteConnectOptions,
    versions: &[Version],
) -> Result<SqliteConnection, Failure> {
    let versions = versions.iter().map(|(version, name, sql)| {
        let sql = (*sql).into_sql_str();
        Migration::new(*version, (*name).into(), MigrationType::Simple, sql, false)
    });
    let versions: Vec<_> = versions.collect();
    let one = SqlitePoolOptions::new().max_connections(1);
    let one = one.after_connect(|connection, _| Box::pin(stop_at_commits(connection)));
    let one = one.connect_with(options.clone()).await?;
    let migrator = Migrator::with_migrations(versions);
    migrator.run(&one).await?;
    let mut migrated = one.acquire().await?.detach();
    migrated.lock_handle().await?.remove_commit_hook();
    Ok(migrated)
}

/// Lets a proof end the process in the middle of each transaction.
async fn stop_at_commits(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    connection.lock_handle().await?.set_commit_hook(|| {
        samovar_core::failpoint!("history.migrate.before");
        true
    });
    Ok(())
}
