#!/usr/bin/env bash
# A prepared statement with `LIMIT ?` in SQLite is compiled again whenever another value is bound.
#
# rusqlite 0.43.0 with its SQLite 3.54.1. A program that reads pages keeps its statements to compile each once.
# Since the planner looks at the value of a limit, a statement whose limit is a parameter expires when that
# parameter gets another value, and the next step compiles it in silence; only the counter
# SQLITE_STMTSTATUS_REPREPARE and a profile show it. One with the limit in its text, or with the parameter in an
# expression, is compiled once. The option SQLITE_DBCONFIG_ENABLE_QPSG, "the query planner stability guarantee",
# ends it for a connection.
#
# Seen, how often each of four statements was compiled again in 100 uses, in turn with 7 and 8: limit 100,
# expression 0, where 0, and the first with the option, stable 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >Cargo.toml <<'TOML'
[package]
name = "limits"
version = "0.0.0"
edition = "2021"
[dependencies]
rusqlite = { version = "=0.43.0", features = ["bundled"] }
TOML
mkdir src
cat >src/main.rs <<'RS'
use rusqlite::config::DbConfig;
use rusqlite::{Connection, StatementStatus};

fn again(file: &Connection, sql: &str) -> i32 {
    let mut page = file.prepare(sql).unwrap();
    for number in 0..100 {
        let mut rows = page.query([number % 2 + 7]).unwrap();
        while rows.next().unwrap().is_some() {}
    }
    page.get_status(StatementStatus::RePrepare)
}

fn main() {
    println!("sqlite {}", rusqlite::version());
    let file = Connection::open_in_memory().unwrap();
    file.execute_batch("CREATE TABLE notes (key INTEGER PRIMARY KEY)").unwrap();
    let page = "SELECT key FROM notes ORDER BY key LIMIT ?1";
    println!("limit {}", again(&file, page));
    println!("expression {}", again(&file, "SELECT key FROM notes ORDER BY key LIMIT +?1 + 0"));
    println!("where {}", again(&file, "SELECT key FROM notes WHERE key > ?1 ORDER BY key LIMIT 7"));
    file.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).unwrap();
    println!("stable {}", again(&file, page));
}
RS
cargo build --release --quiet
said=$(./target/release/limits)
echo "$said"
[ "$said" = "sqlite 3.54.1
limit 100
expression 0
where 0
stable 0" ]
echo "as seen"
