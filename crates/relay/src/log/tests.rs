//! A file of rows that is torn, full, or not ours.

use std::fs::OpenOptions;
use std::path::Path;

use samovar_core::Millis;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::row::{CheckedPayload, Direction, Row, note};

const NO_BOUND: u64 = u64::MAX;

fn row(text: &str) -> NewRow {
    NewRow {
        at: Millis(0),
        direction: Direction::Internal,
        kind: note::ENTERED,
        payload: Arc::new(CheckedPayload::of(
            json!({"text": text}).as_object().unwrap(),
        )),
        role: None,
        member: None,
        id: None,
        reply_to: None,
    }
}

fn open(path: &Path) -> std::fs::File {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path).unwrap()
}

fn recover(path: &Path) -> io::Result<(LogFile, LogTail)> {
    LogFile::recover(open(path), "s-1".into(), "r".into())
}

/// The texts of the rows in a file, whose places and checks are as they must be.
fn texts(path: &Path) -> Vec<String> {
    let (mut texts, mut previous) = (Vec::new(), String::new());
    for (index, line) in std::fs::read_to_string(path).unwrap().lines().enumerate() {
        let row: Row = serde_json::from_str(line).unwrap();
        assert_eq!(
            (row.event_index, &row.check),
            (index as u64, &row::check(&previous, &row))
        );
        previous = row.check;
        texts.push(row.payload["text"].as_str().unwrap().to_owned());
    }
    texts
}

fn with_rows(dir: &TempDir) -> std::path::PathBuf {
    let path = dir.path().join("log");
    let (mut log, _) = recover(&path).unwrap();
    assert_eq!(log.append(&[row("a"), row("b")], NO_BOUND).unwrap(), 0);
    assert_eq!(log.append(&[row("c")], NO_BOUND).unwrap(), 2);
    path
}

// proves RL-14
#[test]
fn a_file_goes_on_behind_its_last_whole_row_whatever_stands_behind_that() {
    let (huge, zeros) = (vec![b'x'; 3 << 20], vec![0; 100_000]);
    let ends: [&[u8]; 6] = [
        b"",
        b"{\"sessionId\":\"s-1\",\"eventIn",
        b"torn\nand more\n{}\n",
        &zeros,
        b"\n\n\n",
        &huge,
    ];
    for end in ends {
        let dir = tempfile::tempdir().unwrap();
        let path = with_rows(&dir);
        let whole = std::fs::metadata(&path).unwrap().len();
        open(&path).write_all_at(end, whole).unwrap();

        let (mut log, found) = recover(&path).unwrap();
        assert_eq!((log.len(), found.torn), (whole, end.len() as u64));
        assert_eq!(found.last.unwrap().payload["text"], "c");
        assert_eq!(log.append(&[row("d")], NO_BOUND).unwrap(), 3);
        assert_eq!(texts(&path), ["a", "b", "c", "d"]);
    }
}

#[test]
fn a_last_row_of_a_megabyte_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = with_rows(&dir);
    let (mut log, _) = recover(&path).unwrap();
    let text = "x".repeat(2 << 20);
    log.append(&[row(&text)], NO_BOUND).unwrap();
    let (mut log, found) = recover(&path).unwrap();
    assert_eq!(found.torn, 0);
    assert_eq!(log.append(&[row("e")], NO_BOUND).unwrap(), 4);
    assert_eq!(texts(&path)[3..], [text, "e".to_owned()]);
}

#[test]
fn a_file_without_a_row_in_its_end_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = with_rows(&dir);
    let whole = std::fs::metadata(&path).unwrap().len();
    open(&path)
        .write_all_at(&vec![b'\n'; 5 << 20], whole)
        .unwrap();
    let error = recover(&path).map(drop).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), whole + (5 << 20));
    std::fs::write(&path, "no log at all").unwrap();
    let (log, found) = recover(&path).unwrap();
    assert_eq!((log.len(), found.last), (0, None));
}

#[test]
fn rows_that_have_no_room_are_not_there_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let path = with_rows(&dir);
    let (mut log, _) = recover(&path).unwrap();
    let bound = log.len() + 400;
    let error = log
        .append(&[row("d"), row("e"), row("f")], bound)
        .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    assert_eq!(log.append(&[row("g")], bound).unwrap(), 3);
    assert_eq!(texts(&path), ["a", "b", "c", "g"]);

    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut log = LogFile::new((full, None), "s-1".into(), "r".into());
    for _ in 0..2 {
        let error = log.append(&[row("a")], NO_BOUND).unwrap_err();
        // What was written cannot be taken back there, so nothing more is taken.
        let expected = [io::ErrorKind::StorageFull, io::ErrorKind::InvalidInput];
        assert!(expected.contains(&error.kind()), "{error}");
    }
}

#[test]
fn a_file_that_could_not_be_synced_takes_no_more() {
    // It takes what is written and cannot be synced.
    let null = OpenOptions::new().write(true).open("/dev/null").unwrap();
    let mut log = LogFile::new((null, None), "s-1".into(), "r".into());
    log.append(&[row("a")], NO_BOUND).unwrap();
    log.synced().sync().unwrap_err();
    log.append(&[row("b")], NO_BOUND).unwrap_err();
}
