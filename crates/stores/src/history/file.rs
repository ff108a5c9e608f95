//! The file: who may read it, how it is opened, which tables it has.

use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};
use samovar_core::Broken;
use samovar_locale as locale;
use sha2::{Digest, Sha384};

use super::failure::Failure;
use super::sql;
use crate::data_dir;

/// How long a connection waits for a lock that another process holds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The WAL is cut to this after a checkpoint.
const MAX_IDLE_WAL_BYTES: u32 = 16 << 20;
/// Statements that a connection keeps compiled; there are some fewer.
const MAX_STATEMENTS: usize = 100;

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
/// Where it stands which of them were made, under the name and with the columns that the first version
/// of the program gave it.
const FORMATS: &str = "_sqlx_migrations";
const MAKE_FORMATS: &str = "CREATE TABLE IF NOT EXISTS _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
)";
const MADE_FORMATS: &str = "SELECT version, success, checksum FROM _sqlx_migrations";
const IS_MADE: &str = "INSERT INTO _sqlx_migrations \
     (version, description, success, checksum, execution_time) VALUES (?1, ?2, TRUE, ?3, 0)";
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

/// Makes the file unless it exists; answers where it is.
pub(super) fn make(path: &Path) -> Result<PathBuf, Broken> {
    create(path).map_err(|error| Broken::Io(format!("history: {}: {error}", path.display())))
}

/// The one connection that writes. It folds the WAL itself, see [`super::writer`].
pub(super) fn writer(path: &Path) -> Result<Connection, Failure> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "journal_size_limit", MAX_IDLE_WAL_BYTES)?;
    Ok(connection)
}

/// A connection that reads.
pub(super) fn reader(path: &Path) -> Result<Connection, Failure> {
    open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

/// A connection to a file that is not opened yet. Without a log beside it, it has everything, and
/// `SQLite` is told that it does not change, or it would make a log.
pub(super) fn looking(path: &Path) -> Result<Connection, Failure> {
    let path = std::path::absolute(path).map_err(|error| Failure::Foreign(error.to_string()))?;
    let mut log = path.clone().into_os_string();
    log.push("-wal");
    if Path::new(&log).exists() {
        return reader(&path);
    }
    let mut address = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        let _ = match byte {
            b'/' | b'-' | b'.' | b'_' => write!(address, "{}", char::from(*byte)),
            _ if byte.is_ascii_alphanumeric() => write!(address, "{}", char::from(*byte)),
            _ => write!(address, "%{byte:02X}"),
        };
    }
    address.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    open(Path::new(&address), flags)
}

fn open(path: &Path, flags: OpenFlags) -> Result<Connection, Failure> {
    // Only one thread at a time has a connection.
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(MAX_STATEMENTS);
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // Or each statement with `LIMIT ?` would be prepared again for each value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// Makes an empty file that only its owner may read, unless there is one: `SQLite` gives the WAL and
/// its index the mode of the file, and syncs the folder in its first transaction. Answers the absolute
/// path: `SQLite` would read a relative one that begins with `file:` as a URI.
fn create(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    match data_dir::create(&path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => Ok(path),
    }
}

/// Refuses a file whose tables are those of a later format, or of none, or not those of the migrations
/// that it says were made. One without any table is new.
pub(super) fn check_format(connection: &Connection) -> Result<(), Failure> {
    let foreign = || Failure::Foreign(locale::store::history_format(FORMAT));
    let tables = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') \
                  AND name NOT LIKE 'sqlite_%'";
    let tables = sql::all(connection, tables, [], |row| Ok(row.get::<_, String>(0)?))?;
    let has = |name: &str| tables.iter().any(|table| table == name);
    let formats: Vec<i64> = if has(FORMATS) {
        let formats = "SELECT version FROM _sqlx_migrations ORDER BY version";
        sql::all(connection, formats, [], |row| Ok(row.get(0)?))?
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
        let find = "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2";
        let found = sql::first(connection, find, (table, column), |_| Ok(()))?;
        let has_column = found.is_some();
        has_all &= has_column == (format <= last);
    }
    if is_new || (known.take(formats.len()).eq(&formats) && last > 0 && has_all) {
        Ok(())
    } else {
        Err(foreign())
    }
}

/// Opens the connection that writes and brings the tables up to date, each migration in a transaction.
pub(super) fn migrate(path: &Path) -> Result<Connection, Failure> {
    let mut connection = writer(path)?;
    // Lets a proof end the process in the middle of each transaction.
    connection.commit_hook(Some(|| {
        samovar_core::failpoint!("history.migrate.before");
        false
    }))?;
    check_format(&connection)?;
    connection.execute_batch(MAKE_FORMATS)?;
    let made = sql::all(&connection, MADE_FORMATS, [], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?, row.get(2)?))
    })?;
    for (format, name, statements) in MIGRATIONS {
        let checksum = Sha384::digest(statements);
        let known = made.iter().find(|(made, _, _)| *made == format);
        match known {
            Some((_, true, kept)) if <[u8]>::eq(&checksum, &Vec::<u8>::clone(kept)) => {}
            Some(_) => {
                let why = locale::store::history_format(FORMAT);
                return Err(Failure::Foreign(why));
            }
            None => {
                let change = begin(&mut connection)?;
                change.execute_batch(statements)?;
                sql::execute(&change, IS_MADE, params![format, name, &checksum[..]])?;
                change.commit()?;
            }
        }
    }
    connection.commit_hook(None::<fn() -> bool>)?;
    Ok(connection)
}

/// Begins a transaction that writes.
pub(super) fn begin(connection: &mut Connection) -> Result<Transaction<'_>, Failure> {
    Ok(connection.transaction_with_behavior(TransactionBehavior::Immediate)?)
}
