//! Stores that a bad disk has changed while no server ran.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reqwest::Method;
use samovar_model_server::{Gate, ModelServer, When, say};
use samovar_testkit::{Program, Serving};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::setup::{messages, with_model};

/// Sessions that there are; in every second one a turn runs.
const SESSIONS: usize = 8;
/// Flipped records: of fewer, it happens that no one is read again.
const FLIPS: usize = 32;
/// Servers at once.
const AT_ONCE: usize = 4;

/// A data directory that a killed server left, and what it had accepted.
pub(crate) struct KilledData {
    program: Program,
    pub(crate) data: PathBuf,
    /// Session and message.
    accepted: Vec<(String, String)>,
    _model: ModelServer,
}

impl KilledData {
    pub(crate) async fn new() -> Self {
        let never = Gate::new("never");
        let (program, model) = with_model([
            say("it hangs")
                .hold_after(1, &never)
                .when(When::user("hang"))
                .forever(),
            say("an answer of some words ".repeat(20)).forever(),
        ])
        .await;
        let server = program.serve(&["--data-dir", "data"]).await;
        let mut accepted = Vec::new();
        let mut open = Vec::new();
        for number in 0..SESSIONS {
            let session = server.session().await;
            let said = format!("what was said here {number} ").repeat(8);
            for (place, content) in [said.as_str(), "hang"].iter().enumerate() {
                if place == 1 && number % 2 == 0 {
                    continue;
                }
                let message = format!("m{number}-{place}");
                let post = json!({"sessionId": session, "messageId": message, "content": content});
                let mut stream = server.stream(post).await;
                if place == 0 {
                    stream.rest().await;
                } else {
                    stream.until("text_delta").await;
                    open.push(stream);
                }
                accepted.push((session.clone(), message));
            }
        }
        server.kill().await;
        let data = program.folder().join("data");
        Self {
            program,
            data,
            accepted,
            _model: model,
        }
    }

    /// A copy in which something is changed.
    fn changed(&self, number: usize, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
        let copy = self.program.folder().join(format!("copy {number}"));
        fs::create_dir(&copy).unwrap();
        copy_all(&self.data, &copy);
        let path = copy.join(name);
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(&path, bytes).unwrap();
        copy
    }

    /// Starts a server there, again when the first one dies of what it finds.
    async fn serve(&self, data: &Path) -> Serving {
        let args = ["--data-dir", data.to_str().unwrap()];
        match self.program.try_serve(&args).await {
            Ok(server) => server,
            Err(first) => {
                let again = self.program.try_serve(&args).await;
                again.unwrap_or_else(|second| panic!("{first:?} {second:?}"))
            }
        }
    }

    /// Every message that was accepted is there, or its loss is reported; answers how many reports
    /// there are.
    async fn check(&self, data: &Path, what: &str) -> usize {
        let server = self.serve(data).await;
        let mut lost = Vec::new();
        for (session, message) in &self.accepted {
            let params = json!({"sessionId": session});
            let answer = server.request(Method::POST, "/services/agent/getMessages");
            let answer = answer.json(&params).send().await.unwrap();
            let status = answer.status().as_u16();
            let body: Value = answer.json().await.unwrap();
            let is_there = body
                .as_array()
                .is_some_and(|rows| rows.iter().any(|row| row["id"] == **message));
            if !is_there {
                lost.push((session, message, status, body["code"].clone()));
            }
        }
        let answer = server.request(Method::GET, "/api/damage").send().await;
        let reports: Value = answer.unwrap().json().await.unwrap();
        let reports = reports["items"].as_array().unwrap().clone();
        for (session, message, status, code) in lost {
            let is_set_aside = reports.iter().any(|report| report["part"] != "session");
            let is_reported = reports
                .iter()
                .any(|report| report["sessionId"] == **session);
            assert!(
                is_set_aside || (is_reported && code == "session_damaged"),
                "{what}: {message} is lost: {status} {code} {reports:#?}"
            );
        }
        server.kill().await;
        reports.len()
    }

    /// Checks flips at all of these places, some at once; how many of them were reported.
    pub(crate) async fn flip(self, places: Vec<usize>) -> usize {
        let (left, permits) = (Arc::new(self), Arc::new(Semaphore::new(AT_ONCE)));
        let mut tasks = JoinSet::new();
        for (number, at) in places.into_iter().enumerate() {
            let (left, permits) = (left.clone(), permits.clone());
            tasks.spawn(async move {
                let _permit = permits.acquire().await.unwrap();
                let flip = |bytes: &mut Vec<u8>| bytes[at] ^= 1 << (number % 8);
                let copy = left.changed(number, JOURNAL, flip);
                let reports = left.check(&copy, &format!("byte {at}")).await;
                fs::remove_dir_all(&copy).unwrap();
                reports
            });
        }
        let found = tasks.join_all().await;
        found.into_iter().filter(|reports| *reports > 0).count()
    }

    /// Checks so many flips in the journal's records; how many of them were reported.
    pub(crate) async fn flip_records(self, flips: usize) -> usize {
        let bytes = fs::read(self.data.join(JOURNAL)).unwrap();
        let needle = b"\"seq\":";
        let records = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(needle));
        // Pages that were written again leave copies of their records, and one of each counts.
        let mut copies: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
        for at in records {
            let record = &bytes[at..bytes.len().min(at + 60)];
            copies.entry(record).or_default().push(at);
        }
        let mut copies: Vec<_> = copies.into_iter().collect();
        // The last of each session are of the turns that hang: those are read again.
        copies.sort_by_key(|(record, _)| Reverse(seq(record)));
        let places = copies
            .into_iter()
            .flat_map(|(_, places)| places)
            .enumerate();
        let places = places.map(|(number, at)| at + number % 60);
        self.flip(places.take(flips).collect()).await
    }
}

/// The position in a record that begins with its name.
fn seq(record: &[u8]) -> usize {
    let digits = record.iter().skip(b"\"seq\":".len());
    let digits = digits.map_while(|digit| char::from(*digit).to_digit(10));
    digits.fold(0, |number, digit| number * 10 + digit as usize)
}

fn copy_all(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            copy_all(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

pub(crate) const JOURNAL: &str = "journal/data.mdb";

// proves DU-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_byte_that_flips_in_a_record_costs_its_session_at_most_and_is_told() {
    assert!(KilledData::new().await.flip_records(FLIPS).await > 0);
}

/// Changes a file of a data directory.
type Change = fn(&Path);

// proves DU-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_history_that_is_no_history_is_moved_aside_and_made_again_of_the_journal() {
    let left = KilledData::new().await;
    let half = |data: &Path| {
        let path = data.join("history.db");
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    };
    let noise: Change = |data| {
        fs::remove_file(data.join("history.db-wal")).unwrap();
        fs::write(data.join("history.db"), vec![0xff; 9000]).unwrap();
    };
    let script: Change = |data| {
        fs::remove_file(data.join("history.db-wal")).unwrap();
        fs::write(data.join("history.db"), "#!/bin/sh\n").unwrap();
    };
    let no_log: Change = |data| fs::remove_file(data.join("history.db-wal")).unwrap();
    let changes: [(&str, Change, bool); 4] = [
        // The log beside it has all of its pages still.
        ("half", half, false),
        ("noise", noise, true),
        ("script", script, true),
        ("no log", no_log, true),
    ];
    for (what, change, is_damage) in changes {
        let data = left.changed(what.len(), "history.db", |_| {});
        change(&data);
        let server = left.serve(&data).await;
        for (session, message) in &left.accepted {
            let rows = server
                .ok("getMessages", json!({"sessionId": session}))
                .await;
            let mut rows = rows.as_array().unwrap().iter();
            assert!(rows.any(|row| row["id"] == **message), "{what}: {message}");
        }
        server.kill().await;
        let told = ["doctor", "--json", "--data-dir", data.to_str().unwrap()];
        let told = left.program.run(told).await;
        let finding = format!("\"what\":\"damage\",\"ok\":{}", !is_damage);
        assert!(told.stdout.contains(&finding), "{what}: {told:?}");
        fs::remove_dir_all(&data).unwrap();
    }
}

// proves DU-13
#[tokio::test]
async fn a_damaged_session_is_refused_can_be_deleted_and_made_anew() {
    let left = KilledData::new().await;
    let (session, _) = &left.accepted[1];
    let needle = b"what was said here 1";
    let data = left.changed(0, JOURNAL, |bytes| {
        for at in 0..bytes.len() - needle.len() {
            if bytes[at..].starts_with(needle) {
                bytes[at] ^= 1;
            }
        }
    });
    // Only what the history lacks is read again from the journal.
    for name in ["history.db", "history.db-wal", "history.db-shm"] {
        fs::remove_file(data.join(name)).unwrap();
    }
    let fix = ["doctor", "--fix", "--data-dir", data.to_str().unwrap()];
    left.program.run(fix).await;
    let server = left.serve(&data).await;
    let post = json!({"sessionId": session, "content": "are you there?"});
    let path = "/services/agent/sendMessage";
    let refused = server.request(Method::POST, path).json(&post);
    let refused = refused.send().await.unwrap();
    assert_eq!(refused.status(), 409);
    let refused: Value = refused.json().await.unwrap();
    assert_eq!(refused["code"], "session_damaged");

    let args = ["sessions", "delete", session, "--yes", "--data-dir"];
    left.program
        .run(args.iter().chain([&data.to_str().unwrap()]))
        .await
        .exits(0);
    let reports = server.request(Method::GET, "/api/damage").send().await;
    let reports: Value = reports.unwrap().json().await.unwrap();
    let mut reports = reports["items"].as_array().unwrap().iter();
    assert!(
        reports.all(|report| report["part"] == "history"),
        "that it was missing"
    );
    server
        .ok("createSession", json!({"sessionId": session}))
        .await;
    server.turn(session, "anew").await;
    let rows = server
        .ok("getMessages", json!({"sessionId": session}))
        .await;
    assert_eq!(rows.as_array().unwrap().len(), 2, "{rows}");
}

// proves DU-13
#[tokio::test]
async fn a_start_that_died_is_followed_by_one_that_lets_another_process_read_first() {
    let left = KilledData::new().await;
    let data = left.changed(0, JOURNAL, |_| {});
    fs::write(data.join("run.json"), r#"{"state":"starting","epoch":7}"#).unwrap();
    assert_eq!(left.check(&data, "a sound journal").await, 0);

    // The epoch that is known is not forgotten, and the next start has no reason to look.
    let kept = fs::read_to_string(data.join("run.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["state"], "ready");
    assert!(kept["epoch"].as_u64() > Some(7), "{kept}");
}

// proves DU-13
#[tokio::test]
async fn kill_after_kill_the_stores_are_looked_at_and_what_the_look_leaves_is_no_damage() {
    let left = KilledData::new().await;
    let data = left.changed(0, JOURNAL, |_| {});
    assert!(data.join("history.db-wal").exists());
    let run = r#"{"state":"ready","epoch":7,"unclean":5}"#;
    fs::write(data.join("run.json"), run).unwrap();

    assert_eq!(left.check(&data, "a sound history").await, 0);
}

// proves DU-3, DU-13
#[tokio::test]
async fn an_unsynced_journal_that_a_power_cut_tore_is_wiped_and_that_is_told() {
    let (program, _model) = with_model([say("an answer").forever()]).await;
    let program = program.set("SAMOVAR__STORE__DURABILITY", "process");
    let args = ["--data-dir", "data"];
    let server = program.serve(&args).await;
    let session = server.session().await;
    server.turn(&session, "first").await;
    let rows = messages(&server, &session).await;
    server.kill().await;
    let data = program.folder().join("data");
    // Another start of the system; what it had in memory is gone.
    fs::write(data.join("journal/unsynced"), "another").unwrap();
    let mut torn = fs::read(data.join(JOURNAL)).unwrap();
    torn[4096..].fill(0);
    fs::write(data.join(JOURNAL), torn).unwrap();
    // Also after a start that died.
    for (told, state) in (1..).zip(["ready", "starting"]) {
        let run = format!(r#"{{"state":"{state}","epoch":7}}"#);
        fs::write(data.join("run.json"), run).unwrap();
        let server = program.serve(&args).await;
        assert_eq!(messages(&server, &session).await, rows, "{state}");
        let reports = server.request(Method::GET, "/api/damage");
        let reports = server.answer(reports).await.body["items"].clone();
        let reports = reports.as_array().unwrap();
        assert_eq!(reports.len(), told, "each loss is told: {reports:#?}");
        let report = reports.last().unwrap();
        assert_eq!(report["part"], "journal");
        assert_eq!(report["keptIn"], Value::Null, "it is wiped, not kept");
        server.kill().await;
        fs::write(data.join("journal/unsynced"), "another").unwrap();
        fs::write(data.join(JOURNAL), vec![7; 9000]).unwrap();
    }
}
