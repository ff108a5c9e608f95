//! What a failure of `SQLite` means to those who use the store.

use std::fmt;

use rusqlite::Error;
use rusqlite::ffi;
use rusqlite::types::FromSqlError;
use samovar_core::Broken;

/// What a damaged FTS5 table fails with.
const CORRUPT_VTAB: i32 = 267;
/// What any damage of the file fails with, in the lowest byte.
const CORRUPT: i32 = 11;

/// Why something could not be read or written.
#[derive(Debug)]
pub(super) enum Failure {
    /// `SQLite`, or the way to it, failed.
    Sql(Error),
    /// A value cannot be what was written.
    Odd(String),
    /// The tables are not those of this program, and not for that damaged.
    Foreign(String),
}

impl Failure {
    /// Whether a file may have lost what `SQLite` believes is on the disk. After a failed fsync the
    /// kernel forgets the pages that it could not write, and the next one succeeds without them.
    pub(super) fn is_lost_sync(&self) -> bool {
        const IOERR_FSYNC: i32 = 1034;
        const IOERR_DIR_FSYNC: i32 = 1290;
        matches!(self.code(), Some(IOERR_FSYNC | IOERR_DIR_FSYNC))
    }

    /// Whether the index of the search is damaged, which the rows can make again: it says so, or it cannot
    /// be opened.
    pub(super) fn is_of_index(&self) -> bool {
        let names_index = |error: &Error| {
            let said = error.to_string();
            said.contains("fts5") || said.contains("search_terms")
        };
        self.code() == Some(CORRUPT_VTAB)
            || matches!(self, Self::Sql(error) if told(error).is_some() && names_index(error))
    }

    /// Whether the file is damaged somewhere, in the index maybe.
    pub(super) fn is_somewhere(&self) -> bool {
        self.code().is_some_and(|code| code & 0xff == CORRUPT)
    }

    /// Says which row could not be read.
    pub(super) fn within(self, row: &str) -> Self {
        match self {
            Self::Sql(error) => Self::Odd(format!("{row}: {error}")),
            Self::Odd(why) => Self::Odd(format!("{row}: {why}")),
            Self::Foreign(why) => Self::Foreign(format!("{row}: {why}")),
        }
    }

    /// `SQLite`'s extended result code.
    fn code(&self) -> Option<i32> {
        match self {
            Self::Sql(error) => told(error).map(|error| error.extended_code),
            Self::Odd(_) | Self::Foreign(_) => None,
        }
    }
}

/// What `SQLite` itself says of an error.
fn told(error: &Error) -> Option<&ffi::Error> {
    match error {
        Error::SqlInputError { error, .. } => Some(error),
        other => other.sqlite_error(),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sql(error) => error.fmt(f),
            Self::Odd(why) | Self::Foreign(why) => f.write_str(why),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Sql(error)
    }
}

impl From<FromSqlError> for Failure {
    fn from(error: FromSqlError) -> Self {
        Self::Odd(error.to_string())
    }
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        const READ_ONLY: i32 = 8;
        const FULL: i32 = 13;
        const NOT_A_DATABASE: i32 = 26;
        // The lowest byte of an extended code is the plain one.
        let code = failure.code().filter(|code| *code != CORRUPT_VTAB);
        let code = code.map(|code| code & 0xff);
        match (failure, code) {
            (Failure::Sql(error), Some(FULL)) => Self::Full(format!("history: {error}")),
            (Failure::Sql(error), Some(READ_ONLY)) => Self::ReadOnly(format!("history: {error}")),
            (Failure::Sql(error), Some(CORRUPT | NOT_A_DATABASE)) => {
                Self::Damaged(format!("history: {error}"))
            }
            (
                Failure::Sql(
                    error @ (Error::FromSqlConversionFailure(..)
                    | Error::IntegralValueOutOfRange(..)
                    | Error::InvalidColumnName(_)
                    | Error::InvalidColumnType(..)
                    | Error::Utf8Error(..)),
                ),
                _,
            ) => Self::Damaged(format!("history: {error}")),
            (Failure::Sql(error), _) => Self::Io(format!("history: {error}")),
            // Another program can read it, so it must not be set aside.
            (Failure::Foreign(why), _) => Self::Io(format!("history: {why}")),
            (Failure::Odd(why), _) => Self::Damaged(format!("history: {why}")),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A failure of the database with this extended code.
    pub(in super::super) fn coded(code: i32) -> Failure {
        let why = Some(format!("code {code}"));
        Failure::Sql(Error::SqliteFailure(ffi::Error::new(code), why))
    }

    #[test]
    fn a_code_of_the_database_says_what_is_broken() {
        let broken = |code| Broken::from(coded(code));
        let said = |code| format!("history: code {code}");
        assert_eq!(broken(13), Broken::Full(said(13)));
        for damaged in [11, 26, 523] {
            assert_eq!(broken(damaged), Broken::Damaged(said(damaged)));
        }
        for read_only in [8, 1544] {
            assert_eq!(broken(read_only), Broken::ReadOnly(said(read_only)));
        }
        // The index of the search is no damage: the rows can make it again.
        for io in [5, 10, 778, 14, 267] {
            assert_eq!(broken(io), Broken::Io(said(io)));
        }
    }
}
