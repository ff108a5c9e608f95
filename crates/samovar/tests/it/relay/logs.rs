//! `samovar relay logs`: the study logs, one of them, and its rows as CSV.

use serde_json::{Value, json};

use super::{Agent, cinema};
use crate::setup::{ended_with, program};

// proves RL-17, FC-1
#[tokio::test]
async fn studies_are_listed_with_counts_length_and_tools_with_a_server_and_without() {
    let (program, server) = cinema().await;
    let mut agent = Agent::join(&server, "cinema").await;
    let over = agent.study().await;
    agent.ask("session.start", json!({})).await;

    let with = program.run(["relay", "logs"]).await;
    let listed = program.run(["relay", "logs", "--json"]).await;

    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<_> = with.stdout.lines().map(words).collect();
    let [first, second] = lines.as_slice() else {
        panic!("{with:?}");
    };
    assert!(
        first.starts_with(&format!("{over} cinema 0 min 0 s ")),
        "{first}"
    );
    assert!(first.ends_with(" rows over 1 × select"), "{first}");
    assert!(second.contains(" cinema 0 min 0 s "), "{second}");
    assert!(second.ends_with(" rows open"), "{second}");
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["schema"], "samovar.relay_study/1");
    let study = &listed["items"][0];
    assert_eq!(
        (&study["id"], &study["studyId"]),
        (&json!(over), &json!("pilot"))
    );
    assert_eq!(study["tools"], json!({"select": 1}));
    let file = program
        .folder()
        .join(format!("data/logs/study/{over}.jsonl"));
    let rows = std::fs::read_to_string(file).unwrap().lines().count();
    assert_eq!(study["rows"], rows);
    drop(agent);
    server.kill().await;
    let without = program.run(["relay", "logs", "--jsonl"]).await;
    let first: Value = serde_json::from_str(without.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["id"], &first["tools"]),
        (&study["id"], &study["tools"])
    );
}

// proves RL-14, RL-17, FC-1
#[tokio::test]
async fn the_rows_of_a_study_are_shown_as_they_stand_in_its_file() {
    let (program, server) = cinema().await;
    let study = Agent::join(&server, "cinema").await.study().await;
    let file = program
        .folder()
        .join(format!("data/logs/study/{study}.jsonl"));
    let kept = std::fs::read_to_string(file).unwrap();
    let kept: Vec<Value> = kept
        .lines()
        .map(|row| serde_json::from_str(row).unwrap())
        .collect();

    let whole = program.run(["relay", "logs", &study, "--json"]).await;
    let lines = program.run(["relay", "logs", &study, "--jsonl"]).await;
    let shown = program.run(["relay", "logs", &study]).await;

    let whole: Value = serde_json::from_str(&whole.stdout).unwrap();
    assert_eq!(
        whole,
        json!({"schema": "samovar.relay_row/1", "items": kept})
    );
    let lines = lines
        .stdout
        .lines()
        .map(|row| serde_json::from_str::<Value>(row).unwrap());
    for (mut line, kept) in lines.zip(&kept) {
        let fields = line.as_object_mut().unwrap();
        assert_eq!(fields.remove("schema"), Some(json!("samovar.relay_row/1")));
        assert_eq!(line, *kept);
    }
    assert_eq!(shown.stdout.lines().count(), kept.len());
    let call = shown
        .stdout
        .lines()
        .find(|line| line.contains(" in agent 1 tool.call "));
    let call = call.unwrap_or_else(|| panic!("{shown:?}"));
    let what = "select {\"itemId\":\"m2\"} (=because of select, \"said\" so)";
    assert!(call.ends_with(what), "{call}");
}

// proves RL-28, FC-1
#[tokio::test]
async fn the_hosts_view_has_each_message_once_with_the_fields_of_the_original() {
    let (program, server) = cinema().await;
    let study = Agent::join(&server, "cinema").await.study().await;

    let shown = program
        .run(["relay", "logs", &study, "--host-view", "--jsonl"])
        .await;

    let rows: Vec<Value> = shown
        .stdout
        .lines()
        .map(|row| serde_json::from_str(row).unwrap())
        .collect();
    let of =
        |kind: &str| -> Vec<&Value> { rows.iter().filter(|row| row["type"] == kind).collect() };
    for (kind, direction) in [
        ("tool.call", "in"),
        ("tool.result", "out"),
        ("session.ended", "out"),
    ] {
        let [row] = of(kind)[..] else {
            panic!("{kind} is not there once: {shown:?}");
        };
        assert_eq!(row["direction"], direction, "{kind}");
        for field in ["sessionId", "eventIndex", "timestamp", "type", "payload"] {
            assert!(!row[field].is_null(), "{field}");
        }
        assert!(row["role"].is_null() && row["check"].is_null());
    }
    let indexes = rows.iter().map(|row| row["eventIndex"].as_u64().unwrap());
    assert!(indexes.eq(0..rows.len() as u64));
    let csv = program
        .run(["relay", "logs", &study, "--host-view", "--csv"])
        .await;
    assert_eq!(records(&csv.stdout).len(), rows.len() + 1);
}

// proves RL-17, RL-28
#[tokio::test]
async fn rows_are_exported_as_csv_those_of_agents_or_all_and_no_cell_is_a_formula() {
    let (program, server) = cinema().await;
    let study = Agent::join(&server, "cinema").await.study().await;
    let whole = program.run(["relay", "logs", &study, "--json"]).await;
    let whole: Value = serde_json::from_str(&whole.stdout).unwrap();
    let rows = whole["items"].as_array().unwrap();
    let of_agents = rows.iter().filter(|row| row["role"] == "agent").count();
    assert!(of_agents < rows.len());

    let printed = program.run(["relay", "logs", &study, "--csv"]).await;
    let exported = program
        .run(["relay", "logs", &study, "--csv", "a.csv"])
        .await;
    let all = program
        .run(["relay", "logs", &study, "--all", "--csv", "all.csv"])
        .await;

    assert_eq!(exported.stderr, format!("{of_agents} rows are in a.csv\n"));
    assert_eq!(exported.stdout, "");
    let file = |name: &str| std::fs::read_to_string(program.folder().join(name)).unwrap();
    assert_eq!(printed.stdout, file("a.csv"));
    assert_eq!(all.stderr, format!("{} rows are in all.csv\n", rows.len()));
    for (csv, count) in [(file("a.csv"), of_agents), (file("all.csv"), rows.len())] {
        let records = records(&csv);
        assert_eq!(records.len(), count + 1);
        assert!(records.iter().all(|record| record.len() == 15), "{csv}");
        assert_eq!(records[0][..3], ["sessionId", "eventIndex", "timestamp"]);
    }
    let records = records(&file("a.csv"));
    let call = records
        .iter()
        .find(|record| record[4] == "tool.call")
        .unwrap();
    assert_eq!(call[10], "select");
    assert_eq!(call[11], "'=because of select, \"said\" so");
    let row = rows.iter().find(|row| row["type"] == "tool.call").unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&call[14]).unwrap(),
        row["payload"]
    );
}

/// Reads CSV as RFC 4180 has it.
fn records(csv: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut cell) = (Vec::new(), Vec::new(), String::new());
    let (mut is_quoted, mut characters) = (false, csv.chars().peekable());
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                cell.extend(characters.next());
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => record.push(std::mem::take(&mut cell)),
            '\r' if !is_quoted => {
                assert_eq!(characters.next(), Some('\n'));
                record.push(std::mem::take(&mut cell));
                records.push(std::mem::take(&mut record));
            }
            other => cell.push(other),
        }
    }
    assert!(record.is_empty() && cell.is_empty() && !is_quoted);
    records
}

// proves RL-16, FC-2, FC-6
#[tokio::test]
async fn a_log_that_is_not_there_and_a_file_that_cannot_be_written_are_told() {
    let (program, server) = cinema().await;
    let study = Agent::join(&server, "cinema").await.study().await;
    std::fs::create_dir(program.folder().join("folder")).unwrap();
    program.file("there.csv", "mine");
    let long = "s".repeat(65);
    for (args, code, words) in [
        (&["s-20200101-001"][..], "unknown_study", "s-20200101-001"),
        (
            &["s-20200101-001", "--csv", "none.csv"],
            "unknown_study",
            "s-20200101-001",
        ),
        (
            &["../../token"],
            "invalid_params",
            "cannot be \"../../token\"",
        ),
        (&[&long], "invalid_params", "cannot be \"sss"),
        (&[""], "invalid_params", "cannot be \"\""),
        (
            &[&study, "--csv", "there.csv"],
            "output_failed",
            "there.csv already",
        ),
        (
            &[&study, "--csv", "folder"],
            "output_failed",
            "folder already",
        ),
        (
            &[&study, "--csv", "no/such/a.csv"],
            "output_failed",
            "no/such/a.csv cannot be written",
        ),
        (
            &[&study, "--csv", "a.csv", "--json"],
            "invalid_params",
            "cannot be used together",
        ),
        (&["--csv", "a.csv"], "invalid_params", "ID"),
        (&["--all"], "invalid_params", "--csv"),
        (&[&study, "--all"], "invalid_params", "--csv"),
    ] {
        let said = program.run(["relay", "logs"].iter().chain(args)).await;
        ended_with(&said, 2, code);
        assert!(said.stderr.contains(words), "{args:?}: {said:?}");
        assert_eq!(said.stdout, "", "{args:?}");
    }
    let kept = std::fs::read_to_string(program.folder().join("there.csv")).unwrap();
    assert_eq!(kept, "mine");
    assert!(!program.folder().join("none.csv").exists());
}

#[tokio::test]
async fn where_nothing_was_studied_there_is_no_log() {
    let program = program().set("DATA_DIR", "data");

    let shown = program.run(["relay", "logs"]).await;

    let said = (shown.code, &*shown.stdout, &*shown.stderr);
    assert_eq!(said, (Some(0), "", "there are no study logs\n"));
}
