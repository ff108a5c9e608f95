//! Bits that a disk flips in rows: none is served as what was written.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use rusqlite::{OptionalExtension, Row};
use samovar_core::history::{
    Change, MessageQuery, Projection, SearchQuery, SessionQuery, Speakers, TurnQuery,
};
use samovar_core::{Damages, History, Role, Seq, SessionId};
use samovar_stores::disk::Disk;
use samovar_stores::history::SqliteHistory;
use samovar_stores::read_history;
use tempfile::TempDir;

use super::{TestHistory, asked, finished, last, master, message, open_with, put, started, titled};
use super::{open, session_id, tokens, turn_id};

/// Flips in each table.
const FLIPS: usize = 64;

/// What is read, and by itself: one read may tell what another does not.
const SPEAKERS: [Speakers; 2] = [Speakers::All, Speakers::Master];

/// Keeps which sessions were reported.
#[derive(Default)]
struct Told(Mutex<BTreeSet<String>>);

impl Damages for Told {
    fn session(&self, session: &SessionId, _why: &str) {
        self.0.lock().unwrap().insert(session.to_string());
    }

    fn is_damaged(&self, session: &SessionId) -> bool {
        self.0.lock().unwrap().contains(session.as_str())
    }

    fn removed(&self, _session: &SessionId) {}

    fn history(&self, why: &str) {
        self.0.lock().unwrap().insert(why.to_owned());
    }
}

/// What the routes' ports say of a history, with the messages of these speakers: text of what is
/// served, and whether damage was told.
async fn served(folder: &TempDir, of: Speakers) -> (Vec<String>, bool) {
    let told = Arc::new(Told::default());
    let path = folder.path().join("history.db");
    let disk = Disk::with_ballast(folder.path(), 0);
    let opened = SqliteHistory::open_on(&disk, &path, told.clone()).await;
    let Ok(history) = opened else {
        return (Vec::new(), true);
    };
    let mut is_told = false;
    let mut texts = Vec::new();
    let mut note = |answer: Result<String, samovar_core::Broken>| match answer {
        Ok(text) => texts.push(text),
        Err(_) => is_told = true,
    };
    for matching in [None, Some("tea".to_owned())] {
        let query = SessionQuery {
            edit_forks: true,
            limit: 99,
            matching,
            ..SessionQuery::default()
        };
        let list = history.sessions(query).await;
        note(list.map(|list| format!("{list:?}")));
    }
    let totals = history.totals().await;
    note(totals.map(|totals| format!("{totals:?}")));
    let query = TurnQuery {
        session: None,
        among: Vec::new(),
        unfinished: false,
        limit: 99,
    };
    let turns = history.turns(query).await;
    note(turns.map(|turns| format!("{turns:?}")));
    for session in ["s0", "s1", "s2"] {
        let row = history.session(&session_id(session)).await;
        note(row.map(|row| format!("{row:?}")));
        let query = MessageQuery {
            of,
            ..last(session, 99)
        };
        let rows = history.messages(query).await;
        note(rows.map(|rows| format!("{rows:?}")));
        let turn = history.last_turn(&session_id(session), None).await;
        note(turn.map(|turn| format!("{turn:?}")));
        let over = history.is_over(&session_id(session), &turn_id("t2")).await;
        note(over.map(|over| format!("{over}")));
    }
    history.close().await.unwrap();
    let is_told = is_told || !told.0.lock().unwrap().is_empty();
    (texts, is_told)
}

/// Three sessions with turns, calls' results and a title each.
async fn content() -> TestHistory {
    let place = TestHistory::new().await;
    for number in 0..3 {
        let said = |n: usize, role, turn| {
            let mut said = message(&format!("m{number}-{n}"), role, &format!("about tea {n}"));
            said.usage = Some(tokens(7, 5));
            said.model = Some("demo".to_owned());
            said.metadata = titled("of a message");
            put(said, Some(turn), master())
        };
        let log = [
            open_with(titled(&format!("Tea {number}")), 1000 + number),
            said(0, Role::User, "t1"),
            started("t1"),
            said(1, Role::Assistant, "t1"),
            finished("t1"),
            said(2, Role::User, "t2"),
            started("t2"),
            said(3, Role::Assistant, "t2"),
            finished("t2"),
            asked(&format!("m{number}-4"), None),
        ];
        let log = (1..).zip(log).collect();
        place.project(&format!("s{number}"), log).await;
    }
    place.history.spend(tokens(70, 50)).await.unwrap();
    place.history.close().await.unwrap();
    place
}

/// A value as a disk's flip leaves it: one bit of an integer, or of a byte of a text.
fn flipped(value: &Row<'_>, random: usize) -> Option<String> {
    let kind: String = value.get("kind").unwrap();
    match kind.as_str() {
        "integer" => {
            let number: i64 = value.get("number").unwrap();
            Some((number ^ (1 << (random % 63))).to_string())
        }
        "text" => {
            let mut bytes: Vec<u8> = value.get("bytes").unwrap();
            let at = random % bytes.len().max(1);
            *bytes.get_mut(at)? ^= 1 << (random / 7 % 8);
            let digits: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            Some(format!("CAST(x'{}' AS TEXT)", digits.concat()))
        }
        _ => None,
    }
}

const TABLES: [&str; 6] = [
    "sessions",
    "message_rows",
    "turns",
    "syncs",
    "generation",
    "spent_in_memory",
];

// proves DU-13
#[tokio::test]
async fn a_bit_that_flips_in_any_column_of_any_table_is_without_effect_or_reported() {
    let place = content().await;
    let mut whole = Vec::new();
    for of in SPEAKERS {
        let (texts, is_told) = served(&place.folder, of).await;
        assert!(!is_told, "nothing is damaged yet: {texts:?}");
        whole.push(texts);
    }
    let database = place.folder.path().join("history.db");
    let good = std::fs::read(&database).unwrap();
    // A linear congruence: the same flips at every run.
    let mut seed = 20_261_123_usize;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        seed >> 33
    };
    for table in TABLES {
        let columns = place.asked(&format!("SELECT name FROM pragma_table_info('{table}')"));
        let (mut flips, mut reported) = (0, 0);
        for number in 0..2 * FLIPS {
            let column = &columns[number % columns.len()];
            let find = format!(
                "SELECT rowid AS row, typeof({column}) AS kind, CAST({column} AS BLOB) AS bytes, \
                 CAST({column} AS INTEGER) AS number FROM {table} ORDER BY rowid \
                 LIMIT 1 OFFSET {} % max(1, (SELECT count(*) FROM {table}))",
                random() % 64
            );
            let sql = place.sql();
            let found = sql.query_row(&find, [], |row| {
                let value = flipped(row, random());
                Ok(value.zip(Some(row.get::<_, i64>("row")?)))
            });
            let Some((value, row)) = found.optional().unwrap().flatten() else {
                continue;
            };
            let flip = format!(
                "PRAGMA foreign_keys = OFF; UPDATE {table} SET {column} = {value} \
                 WHERE rowid = {row}"
            );
            let is_done = sql.execute_batch(&flip).is_ok();
            drop(sql);
            if is_done {
                flips += 1;
                let mut is_reported = false;
                for (of, whole) in SPEAKERS.into_iter().zip(&whole) {
                    let (texts, is_told) = served(&place.folder, of).await;
                    assert!(is_told || texts == *whole, "{of:?}: {flip}\n{texts:#?}");
                    is_reported |= is_told;
                }
                reported += usize::from(is_reported);
            }
            std::fs::write(&database, &good).unwrap();
            if flips >= FLIPS {
                break;
            }
        }
        println!("{table}: {flips} flips, {reported} reported");
        let serves = !["syncs", "generation"].contains(&table);
        assert!(
            !serves || flips >= FLIPS && reported > FLIPS / 2,
            "{table}: {flips} {reported}"
        );
    }
}

// proves DU-13
#[tokio::test]
async fn a_byte_that_flips_anywhere_in_the_file_is_without_effect_or_reported() {
    // A page of an index, which has no checksum, can hide a row from a list.
    const MAX_SILENT: usize = 2;
    let place = content().await;
    let whole = served(&place.folder, Speakers::All).await;
    let database = place.folder.path().join("history.db");
    let good = std::fs::read(&database).unwrap();
    let (mut reported, mut silent) = (0, 0);
    for number in 0..200_usize {
        let mut bad = good.clone();
        let at = number * 7919 % good.len();
        bad[at] ^= 1 << (number % 8);
        std::fs::write(&database, &bad).unwrap();
        for name in ["history.db-wal", "history.db-shm"] {
            drop(std::fs::remove_file(place.folder.path().join(name)));
        }
        let (texts, is_told) = served(&place.folder, Speakers::All).await;
        reported += usize::from(is_told);
        if !is_told && texts != whole.0 {
            let read = read_history(place.folder.path()).await;
            let is_found = read.as_ref().map_or(true, |read| {
                !read.odd.is_empty() || !read.damaged.is_empty()
            });
            assert!(is_found, "byte {at}, flip {number}: {read:?}\n{texts:#?}");
            silent += 1;
        }
    }
    println!("{reported} of 200 reported, {silent} only by who reads all");
    assert!(silent <= MAX_SILENT, "{silent}");
}

/// Sessions that are searched, and where the file has the pages of the index.
async fn indexed() -> (TestHistory, Vec<usize>) {
    let place = TestHistory::new().await;
    for session in 0..3 {
        let said = |n: u64| {
            let id = format!("m{session}-{n}");
            let text = format!("about tea {n} of {session} and word{}", n * 7919 % 997);
            (n, put(message(&id, Role::User, &text), None, master()))
        };
        let log = [(1, open())].into_iter().chain((2..300).map(said));
        place.project(&format!("s{session}"), log.collect()).await;
    }
    let pages = "SELECT CAST(pageno AS TEXT) FROM dbstat WHERE name LIKE 'search_terms%'";
    let pages = place.asked(pages);
    let pages = pages.iter().map(|page| page.parse::<usize>().unwrap() - 1);
    let pages = pages.collect();
    place.history.close().await.unwrap();
    (place, pages)
}

// proves AS-27, DU-13
#[tokio::test]
async fn whatever_flips_in_the_index_sessions_are_deleted_and_it_is_filled_again() {
    let (place, pages) = indexed().await;
    let database = place.folder.path().join("history.db");
    let good = std::fs::read(&database).unwrap();
    let mut mended = 0;
    for number in 0..150_usize {
        let mut bad = good.clone();
        let page = pages[number % pages.len()] * 4096;
        // Every other one in the page's head, where a flip does the most.
        let at = page + number * 7919 % if number % 2 == 0 { 64 } else { 4096 };
        bad[at] ^= 1 << (number % 8);
        std::fs::write(&database, &bad).unwrap();
        for name in ["history.db-wal", "history.db-shm"] {
            drop(std::fs::remove_file(place.folder.path().join(name)));
        }
        let told = format!("byte {at}, flip {number}");
        let history = SqliteHistory::open(&database).await.unwrap();
        let query = |text: &str| SearchQuery {
            edit_forks: true,
            text: text.to_owned(),
            limit: 20,
            before: None,
        };
        let found = history.search(query("tea 7")).await;
        found.unwrap_or_else(|broken| panic!("{told}: {broken}"));
        let close = Projection {
            session: session_id("s0"),
            up_to: Seq(300),
            changes: vec![(Seq(300), Change::Close)],
        };
        let closed = history.project(vec![close]).await;
        closed.unwrap_or_else(|broken| panic!("{told}: {broken}"));
        let gone = history.discard(&session_id("s1")).await;
        gone.unwrap_or_else(|broken| panic!("{told}: {broken}"));
        while history.index().await.unwrap() {}
        mended += usize::from(history.search(query("tea")).await.unwrap().is_indexed);
        history.close().await.unwrap();
        let read = read_history(place.folder.path()).await.unwrap();
        assert_eq!(
            (read.sessions, read.damaged.len()),
            (1, 0),
            "{told}: {read:?}"
        );
    }
    assert_eq!(mended, 150, "each is filled again");
}

// proves AS-27, DU-13
#[tokio::test]
async fn a_search_that_meets_damage_elsewhere_does_not_wait_for_the_writer() {
    let (place, _) = indexed().await;
    let database = place.folder.path().join("history.db");
    let leaves = "SELECT CAST(pageno AS TEXT) FROM dbstat \
         WHERE name = 'message_rows' AND pagetype = 'leaf'";
    let leaves = place.asked(leaves);
    let mut bytes = std::fs::read(&database).unwrap();
    for page in leaves {
        let at = (page.parse::<usize>().unwrap() - 1) * 4096;
        bytes[at..at + 8].fill(0xff);
    }
    std::fs::write(&database, &bytes).unwrap();
    let history = SqliteHistory::open(&database).await.unwrap();
    let query = || SearchQuery {
        edit_forks: true,
        text: "tea 7".to_owned(),
        limit: 20,
        before: None,
    };
    // Another program holds the file, so the writer waits for it, and holds on to its connection.
    let other = place.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let close = Projection {
        session: session_id("s0"),
        up_to: Seq(300),
        changes: vec![(Seq(300), Change::Close)],
    };
    let mut written = history.project(vec![close]);
    assert!(futures_util::poll!(&mut written).is_pending());
    for _ in 0..2 {
        tokio::select! {
            biased;
            _ = &mut written => panic!("the search waited for the writer"),
            found = history.search(query()) => assert!(found.is_err(), "{found:?}"),
        }
    }
}
