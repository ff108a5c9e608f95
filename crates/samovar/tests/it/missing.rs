//! Stores that are gone, empty or another directory's: the start is refused, and `doctor --fix` makes
//! the next one possible.

use std::fs;
use std::path::Path;

use samovar_model_server::{ModelServer, say};
use samovar_testkit::{Program, Serving, Signal};

use crate::setup::{ended_with, messages, program, with_model};

const SESSION: &str = "s";
const SAID: [&str; 2] = ["user: first", "assistant: an answer"];
const HISTORY: [&str; 3] = ["history.db", "history.db-wal", "history.db-shm"];
/// What a deep look says that found nothing wrong.
const READ: &str = "rows read of the journal";
/// The variable that names a point where the process ends.
const ARMED: &str = "SAMOVAR_FAILPOINT";

fn remove(data: &Path, names: &[&str]) {
    for name in names {
        let path = data.join(name);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else if path.exists() {
            fs::remove_file(path).unwrap();
        }
    }
}

fn copy(from: &Path, to: &Path, but_for: &[&str]) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if but_for.iter().any(|name| entry.file_name() == *name) {
        } else if entry.path().is_dir() {
            copy(&entry.path(), &target, &[]);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Puts files of another data directory in the place of one's own.
fn exchange(data: &Path, other: &Path, names: &[&str]) {
    remove(data, names);
    for name in names {
        let from = other.join(name);
        if from.is_dir() {
            copy(&from, &data.join(name), &[]);
        } else if from.exists() {
            fs::copy(from, data.join(name)).unwrap();
        }
    }
}

async fn serve(program: &Program, data: &str) -> Serving {
    program.serve(&["--data-dir", data]).await
}

/// Two data directories of one conversation each: `stopped`, and `killed`.
async fn two() -> (Program, ModelServer) {
    let (program, model) = with_model([say("an answer").forever()]).await;
    for data in ["stopped", "killed"] {
        let server = serve(&program, data).await;
        let session = serde_json::json!({"sessionId": SESSION});
        server.ok("createSession", session).await;
        server.turn(SESSION, "first").await;
        assert_eq!(messages(&server, SESSION).await, SAID);
        if data == "stopped" {
            server.send(Signal::TERM);
            assert_eq!(server.end().await.code, Some(0));
        } else {
            server.kill().await;
        }
    }
    (program, model)
}

/// What is done to a data directory, beside which lies another.
type Hurt = fn(&Path, &Path);

/// What is done, which code the start is refused with, and whether what was said can be kept.
fn hurts() -> [(&'static str, Hurt, &'static str, bool); 10] {
    let gone: Hurt = |data, _| remove(data, &HISTORY);
    let gone_but_for_its_log: Hurt = |data, _| remove(data, &HISTORY[..1]);
    let empty: Hurt = |data, _| {
        remove(data, &HISTORY);
        fs::write(data.join("history.db"), "").unwrap();
    };
    let others: Hurt = |data, other| exchange(data, other, &HISTORY);
    let no_journal: Hurt = |data, _| remove(data, &["journal", "spool"]);
    let no_file: Hurt = |data, _| remove(data, &["journal/data.mdb"]);
    let empty_file: Hurt = |data, _| fs::write(data.join("journal/data.mdb"), "").unwrap();
    let others_journal: Hurt = |data, other| exchange(data, other, &["journal", "spool"]);
    let neither: Hurt = |data, _| {
        remove(data, &HISTORY);
        remove(data, &["journal", "spool"]);
    };
    let both_others: Hurt = |data, other| {
        exchange(data, other, &HISTORY);
        exchange(data, other, &["journal", "spool"]);
    };
    [
        ("no history", gone, "history_missing", true),
        ("a log alone", gone_but_for_its_log, "history_missing", true),
        ("an empty history", empty, "history_missing", true),
        ("another's history", others, "history_missing", true),
        ("no journal", no_journal, "journal_missing", true),
        ("no file of it", no_file, "journal_missing", true),
        ("an empty journal", empty_file, "journal_missing", true),
        ("another's journal", others_journal, "journal_missing", true),
        ("neither", neither, "history_missing", false),
        ("both another's", both_others, "history_missing", true),
    ]
}

// proves DU-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_missing_refuses_the_start_until_doctor_is_told_to_fix_it() {
    let (program, _model) = two().await;
    for from in ["stopped", "killed"] {
        let other = if from == "stopped" {
            "killed"
        } else {
            "stopped"
        };
        for (what, hurt, code, is_kept) in hurts() {
            let data = format!("{from}, {what}");
            let folder = program.folder().join(&data);
            copy(&program.folder().join(from), &folder, &[]);
            hurt(&folder, &program.folder().join(other));
            let before = fs::read(folder.join("run.json")).unwrap();

            for _ in 0..2 {
                let said = program
                    .run(["serve", "--port", "0", "--data-dir", &data])
                    .await;
                ended_with(&said, 3, code);
                for command in ["samovar restore", "samovar doctor --fix"] {
                    assert!(said.stderr.contains(command), "{data}: {said:?}");
                }
            }
            assert_eq!(fs::read(folder.join("run.json")).unwrap(), before, "{data}");
            assert!(!folder.join("damaged").exists(), "{data}");
            let looked = program.run(["doctor", "--data-dir", &data]).await;
            assert_eq!(looked.code, Some(3), "{data}: {looked:?}");
            let fix = "samovar doctor --fix --data-dir ";
            assert!(looked.stdout.contains(fix), "{data}: {looked:?}");

            let fixed = program.run(["doctor", "--fix", "--data-dir", &data]).await;
            assert!(fixed.stdout.contains("stores"), "{data}: {fixed:?}");
            assert_eq!(fixed.code, Some(0), "{data}: {fixed:?}");
            for _ in 0..2 {
                let server = serve(&program, &data).await;
                if is_kept {
                    assert_eq!(messages(&server, SESSION).await, SAID, "{data}");
                } else {
                    let stats = server.ok("getStats", serde_json::json!({})).await;
                    assert_eq!(stats["sessions"], 0, "{data}");
                }
                server.kill().await;
            }
            let again = program.run(["doctor", "--deep", "--data-dir", &data]).await;
            assert!(again.stdout.contains(READ), "{data}: {again:?}");
            fs::remove_dir_all(folder).unwrap();
        }
    }
    let look = ["doctor", "--deep", "--data-dir", "stopped"];
    let healthy = program.run(look).await.exits(0);
    assert!(healthy.stdout.contains(READ), "{healthy:?}");
    let file = program.folder().join("stopped/history.db");
    let mut bytes = fs::read(&file).unwrap();
    for at in 0..bytes.len() {
        if bytes[at..].starts_with(b"an answer") {
            bytes[at] ^= 1;
        }
    }
    fs::write(file, bytes).unwrap();
    let deep = program.run(look).await.exits(1);
    assert!(!deep.stdout.contains(READ), "{deep:?}");
    assert!(deep.stdout.contains("sessions delete s"), "{deep:?}");
}

// proves DU-13
#[tokio::test]
async fn a_first_start_that_is_killed_between_its_stores_is_finished_by_the_next() {
    const POINTS: [&str; 3] = [
        "stores.plan.after",
        "stamp.journal.after",
        "stamp.history.after",
    ];
    let mut program = program();
    for point in POINTS {
        program = program.set(ARMED, &format!("{point}:1"));
        let args = ["serve", "--port", "0", "--data-dir", point];
        let killed = program.run(args).await;
        assert_eq!(killed.code, None, "{point}: {killed:?}");
        program = program.set(ARMED, "");
        for _ in 0..2 {
            serve(&program, point).await.kill().await;
        }
        let folder = program.folder().join(point);
        assert!(!folder.join("damaged").exists(), "{point}");
        // From here on it is known what belongs together.
        remove(&folder, &HISTORY);
        ended_with(&program.run(args).await, 3, "history_missing");
    }
}

// proves DU-12, DU-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_files_are_taken_away_ends_and_makes_nothing_new() {
    let all: Hurt = |data, _| fs::remove_dir_all(data).unwrap();
    let moved: Hurt = |data, other| fs::rename(data, other).unwrap();
    let history: Hurt = |data, _| remove(data, &HISTORY);
    let journal: Hurt = |data, _| remove(data, &["journal"]);
    let rows: [(&str, Hurt, &str); 4] = [
        ("all", all, "data_dir_unusable"),
        ("moved", moved, "data_dir_unusable"),
        ("history", history, "history_missing"),
        ("journal", journal, "journal_missing"),
    ];
    let (program, _model) = with_model([say("an answer").forever()]).await;
    let mut servers = Vec::new();
    for (data, hurt, code) in rows {
        let server = serve(&program, data).await;
        let session = serde_json::json!({"sessionId": SESSION});
        server.ok("createSession", session).await;
        server.turn(SESSION, "first").await;
        let folder = program.folder().join(data);
        hurt(&folder, &program.folder().join("elsewhere"));
        servers.push((server, data, code));
    }
    for (server, data, code) in servers {
        let said = server.end().await;
        ended_with(&said, 3, code);
        assert!(said.stderr.contains("was removed or replaced"), "{said:?}");
        let is_kept = said.stderr.contains("accepted messages are kept");
        assert_eq!(is_kept, code != "data_dir_unusable", "{said:?}");
        let left = program.folder().join(data);
        assert!(
            !left.join("history.db").exists() || code == "journal_missing",
            "{data}"
        );
    }
    let server = serve(&program, "elsewhere").await;
    assert_eq!(messages(&server, SESSION).await, SAID, "it is all there");
}
