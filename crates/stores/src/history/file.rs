//! The file: who may read it, how it is opened, which tables it has.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use samovar_core::Broken;
use samovar_locale as locale;
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

/// The migrations, in order; each leads to the format of its number. Never change one: add the next.
const MIGRATIONS: [(i64, &str, &str); 4] = [
    (
        1,
        "format 1",
        include_str!("../../migrations/0001_format_1.sql"),
    ),
    (
        2,
        "search",
        include_str!("../../migrations/0002_search.sql"),
    ),
    (3, "fault", include_str!("../../migrations/0003_fault.sql")),
    (
        FORMAT,
        "begun by",
        include_str!("../../migrations/0004_begun_by.sql"),
    ),
];
const FORMAT: i64 = 4;
/// Where the migrator keeps which of them it has made.
const FORMATS: &str = "_sqlx_migrations";
/// The tables and views of format 1, which are in each.
const TABLES: [&str; 11] = [
    "audit_head",
    "generation",
    "message_parts",
    "message_rows",
    "messages",
    "sessions",
    "spent_in_memory",
    "sub_agent_definitions",
    "sub_agent_versions",
    "syncs",
    "turns",
];
/// Those that later formats added, with the first that has each.
const LATER_TABLES: [(i64, &str); 2] = [(2, "search_range"), (2, "search_terms")];
/// The columns that later formats added to a table.
const LATER_COLUMNS: [(i64, &str, &str); 2] = [(3, "turns", "fault"), (4, "sessions", "begun_by")];

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

/// Makes an empty file that only its owner may read, unless there is one: `SQLite` gives the WAL and
/// its index the mode of the file, and syncs the folder in its first transaction. Answers the absolute path: `SQLite` would read a
/// relative one that begins with `file:` as a URI.
fn create(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    match data_dir::create(&path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => Ok(path),
    }
}

/// Refuses a file whose tables are those of a later format, or of none, or not those of the migrations
/// that it says were made. One without any table is new.
pub(super) async fn check_format(connection: &mut SqliteConnection) -> Result<(), Failure> {
    let foreign = || Failure::Foreign(locale::store::history_format(FORMAT));
    let tables = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') \
                  AND name NOT LIKE 'sqlite_%'";
    let tables: Vec<String> = sqlx::query_scalar(tables)
        .fetch_all(&mut *connection)
        .await?;
    let has = |name: &str| tables.iter().any(|table| table == name);
    let formats: Vec<i64> = if has(FORMATS) {
        let formats = "SELECT version FROM _sqlx_migrations ORDER BY version";
        sqlx::query_scalar(formats)
            .fetch_all(&mut *connection)
            .await?
    } else {
        Vec::new()
    };
    let is_new = formats.is_empty() && tables.iter().all(|table| table == FORMATS);
    let known = MIGRATIONS.iter().map(|(format, _, _)| format);
    let last = formats.last().copied().unwrap_or_default();
    let mut later = LATER_TABLES.iter();
    let mut has_all =
        TABLES.into_iter().all(has) && later.all(|(format, table)| has(table) == (*format <= last));
    for (format, table, column) in LATER_COLUMNS {
        let column = sqlx::query("SELECT 1 FROM pragma_table_info(?) WHERE name = ?")
            .bind(table)
            .bind(column);
        let has_column = column.fetch_optional(&mut *connection).await?.is_some();
        has_all &= has_column == (format <= last);
    }
    if is_new || (known.take(formats.len()).eq(&formats) && last > 0 && has_all) {
        Ok(())
    } else {
        Err(foreign())
    }
}

/// Opens a connection and brings the tables up to date, each migration in a transaction.
pub(super) async fn migrate(options: &SqliteConnectOptions) -> Result<SqliteConnection, Failure> {
    let migrations = MIGRATIONS.into_iter().map(|(format, name, sql)| {
        let sql = sql.into_sql_str();
        Migration::new(format, name.into(), MigrationType::Simple, sql, false)
    });
    let migrator = Migrator::with_migrations(migrations.collect());
    let one = SqlitePoolOptions::new().max_connections(1);
    let one = one.after_connect(|connection, _| Box::pin(stop_at_commits(connection)));
    let one = one.connect_with(options.clone()).await?;
    check_format(&mut *one.acquire().await?).await?;
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
