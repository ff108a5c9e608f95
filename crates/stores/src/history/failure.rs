//! What a failure of `SQLite` means to those who use the store.

use std::fmt;

use samovar_core::Broken;
use sqlx::migrate::MigrateError;

/// What a damaged FTS5 table fails with.
const CORRUPT_VTAB: i32 = 267;
/// What any damage of the file fails with, in the lowest byte.
const CORRUPT: i32 = 11;

/// Why something could not be read or written.
#[derive(Debug)]
pub(super) enum Failure {
    /// `SQLite`, or the way to it, failed.
    Sql(sqlx::Error),
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
        let names_index = |error: &sqlx::Error| {
            let said = error.to_string();
            said.contains("fts5") || said.contains("search_terms")
        };
        self.code() == Some(CORRUPT_VTAB)
            || matches!(self, Self::Sql(error @ sqlx::Error::Database(_)) if names_index(error))
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
            Self::Sql(sqlx::Error::Database(error)) => error.code()?.parse().ok(),
            Self::Sql(_) | Self::Odd(_) | Self::Foreign(_) => None,
        }
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

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<MigrateError> for Failure {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
                Self::Sql(error)
            }
            other => Self::Foreign(other.to_string()),
        }
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
                    error @ (sqlx::Error::ColumnDecode { .. }
                    | sqlx::Error::ColumnNotFound(_)
                    | sqlx::Error::Decode(_)),
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
    use std::borrow::Cow;
    use std::error::Error;
    use std::fmt;

    use sqlx::error::{DatabaseError, ErrorKind};

    use super::*;

    /// An error of the database with this extended code.
    #[derive(Debug)]
    pub(in super::super) struct Coded(i32);

    impl Coded {
        pub(in super::super) fn failure(code: i32) -> Failure {
            Failure::Sql(sqlx::Error::Database(Box::new(Self(code))))
        }
    }

    impl fmt::Display for Coded {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "code {}", self.0)
        }
    }

    impl Error for Coded {}

    impl DatabaseError for Coded {
        fn message(&self) -> &'static str {
            "coded"
        }
        fn code(&self) -> Option<Cow<'_, str>> {
            Some(self.0.to_string().into())
        }
        fn kind(&self) -> ErrorKind {
            ErrorKind::Other
        }
        fn as_error(&self) -> &(dyn Error + Send + Sync + 'static) {
            self
        }
        fn as_error_mut(&mut self) -> &mut (dyn Error + Send + Sync + 'static) {
            self
        }
        fn into_error(self: Box<Self>) -> Box<dyn Error + Send + Sync + 'static> {
            self
        }
    }

    #[test]
    fn a_code_of_the_database_says_what_is_broken() {
        let broken = |code| Broken::from(Coded::failure(code));
        let said = |code| format!("history: error returned from database: code {code}");
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
