//! `samovar relay replay`: whether a study log plays again.

use std::ffi::CString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use samovar_testkit::{Finished, Program};
use serde_json::{Value, json};

use super::{Agent, cinema};
use crate::setup::{ended_with, program};

/// A study log with a call in it, and the program in whose folder it lies.
async fn studied() -> (Program, PathBuf) {
    let (program, server) = cinema().await;
    let study = Agent::join(&server, "cinema").await.study().await;
    let file = program
        .folder()
        .join(format!("data/logs/study/{study}.jsonl"));
    server.kill().await;
    (program, file)
}

async fn replay(program: &Program, file: &Path, more: &[&str]) -> Finished {
    let args = ["relay".as_ref(), "replay".as_ref(), file.as_os_str()];
    program
        .run(args.into_iter().chain(more.iter().map(AsRef::as_ref)))
        .await
}

// proves RL-17, FC-1, FC-2
#[tokio::test]
async fn a_study_plays_again_and_one_changed_byte_is_found_at_its_row() {
    let (program, file) = studied().await;
    let kept = std::fs::read_to_string(&file).unwrap();
    let rows = kept.lines().count();

    let same = replay(&program, &file, &[]).await;
    let document = replay(&program, &file, &["--json"]).await;

    assert_eq!(same.code, Some(0), "{same:?}");
    let words = format!("{rows} rows, no difference; ");
    assert!(same.stdout.starts_with(&words), "{same:?}");
    let document: Value = serde_json::from_str(&document.stdout).unwrap();
    assert_eq!(document["schema"], "samovar.relay_replay/1");
    assert_eq!(
        (&document["same"], &document["rows"]),
        (&json!(true), &json!(rows))
    );
    assert_eq!(
        (&document["checked"], &document["difference"]),
        (&json!(true), &Value::Null)
    );
    assert!(document["compared"].as_u64().unwrap() > 3, "{document}");
    assert_eq!(document["ended"], true);
    // Rows that are missing at the end leave no other trace.
    let is_end = |row: &&str| row.contains(r#""type":"session.end""#);
    let begun: Vec<_> = kept.lines().take_while(|row| !is_end(row)).collect();
    program.file("open.jsonl", begun.join("\n") + "\n");
    let open = replay(&program, &program.folder().join("open.jsonl"), &[])
        .await
        .exits(0);
    assert!(open.stdout.contains("has no end in this log"), "{open:?}");
    let line = kept
        .lines()
        .position(|row| row.contains("because of select"))
        .unwrap();
    let changed = kept.replacen("because of select", "because of selecT", 1);
    program.file("changed.jsonl", changed);
    let changed = program.folder().join("changed.jsonl");
    let differs = replay(&program, &changed, &[]).await;
    let document = replay(&program, &changed, &["--json"]).await;
    assert_eq!(
        (differs.code, &*differs.stderr),
        (Some(1), ""),
        "{differs:?}"
    );
    let words = format!("line {}", line + 1);
    assert!(
        differs.stdout.contains(&words),
        "{words} is not in {differs:?}"
    );
    assert_eq!(document.code, Some(1));
    let document: Value = serde_json::from_str(&document.stdout).unwrap();
    assert_eq!(document["same"], false);
    let difference = &document["difference"];
    assert_eq!(
        (&difference["line"], &difference["eventIndex"]),
        (&json!(line + 1), &json!(line))
    );
    assert_eq!(difference["what"], "check");
}

// proves FC-2, FC-6
#[tokio::test]
async fn what_is_no_log_is_told_and_read_no_further_than_a_line_may_be() {
    let program = program();
    let at = |name: &str| program.folder().join(name);
    std::fs::create_dir(at("folder")).unwrap();
    program.file("empty", "");
    let pipe = CString::new(at("pipe").as_os_str().as_bytes()).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, pipe.as_c_str(), rustix::fs::Mode::RUSR).unwrap();
    for (name, words) in [
        ("missing", "No such file"),
        ("folder", "not a regular file"),
        ("pipe", "not a regular file"),
        ("empty", "it has no rows"),
    ] {
        let said = replay(&program, &at(name), &[]).await;
        ended_with(&said, 2, "invalid_params");
        assert!(said.stderr.contains(words), "{name}: {said:?}");
        assert_eq!(said.stdout, "", "{name}");
    }
    // A line of two gigabytes, which takes no room.
    File::create(at("huge")).unwrap().set_len(2 << 30).unwrap();
    program.file("words", "this is no log\n");
    program.file("json", "{\"a\": 1}\n");
    program.file("bytes", [0xff, 0xfe, b'\n']);
    for name in ["huge", "words", "json", "bytes"] {
        let said = replay(&program, &at(name), &["--json"]).await;
        assert_eq!(said.code, Some(1), "{name}: {said:?}");
        let document: Value = serde_json::from_str(&said.stdout).unwrap();
        let difference = &document["difference"];
        assert_eq!(
            (&difference["line"], &difference["what"]),
            (&json!(1), &json!("row"))
        );
    }
    let none = program.run(["relay", "replay"]).await;
    ended_with(&none, 2, "invalid_params");
}
