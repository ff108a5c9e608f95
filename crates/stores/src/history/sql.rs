//! Statements: each is compiled once for a connection, and its rows are read one by one.

use std::ops::ControlFlow;

use rusqlite::types::FromSql;
use rusqlite::{Connection, Params, Row};

use super::failure::Failure;

/// Executes a statement that answers nothing; how many rows it changed.
pub(super) fn execute(
    connection: &Connection,
    sql: &str,
    values: impl Params,
) -> Result<usize, Failure> {
    Ok(connection.prepare_cached(sql)?.execute(values)?)
}

/// Reads the rows until one is enough.
pub(super) fn each(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    mut take: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, Failure>,
) -> Result<(), Failure> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        if take(row)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Whether the rows that were read are enough.
pub(super) fn until(is_enough: bool) -> ControlFlow<()> {
    if is_enough {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

/// Reads all rows.
pub(super) fn all<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let mut found = Vec::new();
    each(connection, sql, values, |row| {
        found.push(read(row)?);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// Reads the first row, if there is one.
pub(super) fn first<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T, Failure>,
) -> Result<Option<T>, Failure> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    rows.next()?.map(read).transpose()
}

/// The one value of the one row.
pub(super) fn value<T: FromSql>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
) -> Result<T, Failure> {
    let found = first(connection, sql, values, |row| Ok(row.get(0)?))?;
    found.ok_or(Failure::Sql(rusqlite::Error::QueryReturnedNoRows))
}
