//! The agents in `examples`, run as a reader runs them: each books a ticket in a room of a real server,
//! and the log of that plays again.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use samovar_testkit::{Finished, Program, Serving, Socket};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::setup::program;

const NO_PYTHON: &str = "examples/relay-python has no packages; install Python 3.11 or later with \
    its module venv, and then: python3 -m venv examples/relay-python/.venv && \
    examples/relay-python/.venv/bin/pip install -r examples/relay-python/requirements.txt";

const NO_NODE: &str = "examples/relay-typescript has no packages; install Node 20.3 or later with \
    npm, and then: npm ci --prefix examples/relay-typescript";

/// The longest that an example may be, so that it is read at a sitting.
const MOST_LINES: usize = 150;

fn examples() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap().join("examples")
}

/// A server with the booking of a movie in a room.
async fn cinema() -> (Program, Serving) {
    let program = program().set("SAMOVAR__RELAY__MOVIE_ROOMS", "cinema");
    let server = program.serve(&[]).await;
    (program, server)
}

/// Lets an example book, as a reader types it.
async fn book(agent: Command, program: &Program, server: &Serving) -> Finished {
    run(agent, program, server).await.exits(0)
}

/// Runs an example until it ends.
async fn run(mut agent: Command, program: &Program, server: &Serving) -> Finished {
    let url = format!("ws://{}/agent/ws", server.address);
    agent.args(["--url", &url, "--room", "cinema"]);
    agent.arg("--token-file").arg("data/token");
    agent.current_dir(program.folder()).kill_on_drop(true);
    agent.stdout(std::process::Stdio::piped());
    agent.stderr(std::process::Stdio::piped());
    Finished::with_stdin(agent, None).await
}

/// What the log of the study says that an example ended.
fn rows(program: &Program, said: &Finished) -> (PathBuf, Vec<Value>) {
    let last = said.stdout.lines().next_back().unwrap();
    let (study, file) = last.split_once(" is in ").unwrap();
    let study = study.strip_prefix("study ").unwrap();
    assert_eq!(file, format!("logs/study/{study}.jsonl"));
    let file = program.folder().join("data").join(file);
    let text = std::fs::read_to_string(&file).unwrap();
    let rows = text.lines().map(|row| serde_json::from_str(row).unwrap());
    (file, rows.collect())
}

/// The item of a stage with this id, as the screen showed it.
fn item<'a>(rows: &'a [Value], stage: &str, id: &Value) -> &'a Value {
    let screens = rows.iter().map(|row| &row["payload"]["uiSpec"]);
    let of_stage = screens.filter(|spec| spec["stage"] == stage);
    let mut items = of_stage.flat_map(|spec| spec["items"].as_array().unwrap());
    let found = items.find(|item| item["id"] == *id);
    found.unwrap_or_else(|| panic!("{id} was never shown at {stage}"))
}

/// Holds what was booked against what was wanted: the first comedy, after six, two free seats side by
/// side; every call had its reason.
#[track_caller]
fn is_what_was_wanted(rows: &[Value]) {
    let calls: Vec<_> = rows
        .iter()
        .filter(|row| is(row, "in", "tool.call"))
        .collect();
    assert!(calls.len() >= 10, "{calls:?}");
    for call in calls {
        assert!(!call["payload"]["reason"].as_str().unwrap().is_empty());
    }
    let mut receipts = rows.iter().filter_map(|row| {
        let history = row["payload"]["messageHistory"].as_array()?;
        let spec = &history.last()?["spec"];
        spec["meta"]["bookingNumber"].is_string().then_some(spec)
    });
    let booking = &receipts.next_back().unwrap()["state"]["booking"];
    let movies = rows
        .iter()
        .find_map(|row| row["payload"]["uiSpec"]["items"].as_array());
    let mut comedies = movies.unwrap().iter();
    let first = comedies.find(|movie| movie["genre"] == "Comedy").unwrap();
    assert_eq!(booking["movie"]["id"], first["id"]);
    let showing = item(rows, "time", &booking["showing"]["id"]);
    assert!(showing["time"].as_str().unwrap() >= "18:00", "{showing}");
    let seats: Vec<_> = booking["seats"].as_array().unwrap().iter().collect();
    let [left, right] = [0, 1].map(|at| item(rows, "seat", seats[at]));
    assert_eq!(seats.len(), 2);
    assert_eq!(left["row"], right["row"]);
    let number = |seat: &Value| seat["number"].as_u64().unwrap();
    assert_eq!(number(left) + 1, number(right));
    assert_eq!(
        [&left["isDisabled"], &right["isDisabled"]],
        [&Value::Null; 2]
    );
}

fn is(row: &Value, direction: &str, kind: &str) -> bool {
    row["role"] == "agent" && row["direction"] == direction && row["type"] == kind
}

fn python() -> Command {
    let folder = examples().join("relay-python");
    let python = folder.join(".venv/bin/python");
    let packages = folder.join(".venv/lib");
    assert!(python.exists() && packages.is_dir(), "{NO_PYTHON}");
    let mut agent = Command::new(python);
    agent.arg(folder.join("agent.py"));
    agent
}

/// The agent in TypeScript, compiled into a folder that has to live as long.
async fn typescript() -> (Command, TempDir) {
    let folder = examples().join("relay-typescript");
    let tsc = folder.join("node_modules/typescript/bin/tsc");
    assert!(tsc.is_file(), "{NO_NODE}");
    let compiled = tempfile::tempdir().unwrap();
    // It says that the compiled file is a module.
    std::fs::copy(
        folder.join("package.json"),
        compiled.path().join("package.json"),
    )
    .unwrap();
    symlink(
        folder.join("node_modules"),
        compiled.path().join("node_modules"),
    )
    .unwrap();
    let mut node = Command::new("node");
    node.arg(tsc).arg("--project").arg(&folder);
    node.arg("--outDir").arg(compiled.path());
    let node = node.stdout(std::process::Stdio::piped()).spawn();
    Finished::of(node.expect(NO_NODE)).await.exits(0);
    let mut agent = Command::new("node");
    agent.arg(compiled.path().join("agent.js"));
    (agent, compiled)
}

// proves RL-13, RL-14, RL-15, RL-17, RL-19
#[tokio::test]
async fn needs_python_the_agent_in_python_books_what_was_wanted_and_its_log_plays_again() {
    let (program, server) = cinema().await;

    let said = book(python(), &program, &server).await;

    assert!(said.stdout.contains("\nbooked: "), "{said:?}");
    let (file, rows) = rows(&program, &said);
    is_what_was_wanted(&rows);
    plays_again(&program, &file).await;
}

// proves RL-13, RL-14, RL-15, RL-17, RL-19
#[tokio::test]
async fn needs_npm_the_agent_in_typescript_books_what_was_wanted_and_its_log_plays_again() {
    let (agent, _compiled) = typescript().await;
    let (program, server) = cinema().await;

    let said = book(agent, &program, &server).await;

    assert!(said.stdout.contains("\nbooked: "), "{said:?}");
    let (file, rows) = rows(&program, &said);
    is_what_was_wanted(&rows);
    plays_again(&program, &file).await;
}

/// A host on whose screen nothing can be chosen; it ends when it is asked for the same again and again.
async fn shows_nothing(mut host: Socket) {
    let mut calls = 0;
    let screen = json!({"stage": "movie", "visibleItems": [], "items": [], "state": {}});
    while let Some(asked) = host.json().await.filter(|_| calls < 3) {
        let (kind, payload) = match asked["type"].as_str() {
            Some("session.start") => ("session.started", json!({"sessionId": "s-nothing"})),
            Some("snapshot.get") => ("snapshot.state", json!({"uiSpec": screen})),
            Some("tool.call") => ("error", json!({"code": "UNKNOWN_TOOL", "message": "no"})),
            _ => continue,
        };
        calls += u32::from(kind == "error");
        let answer = json!({"type": kind, "replyTo": asked["id"], "payload": payload});
        host.say(answer.to_string()).await;
    }
}

#[tokio::test]
async fn needs_npm_needs_python_the_agents_give_up_where_nothing_fits() {
    let (typescript, _compiled) = typescript().await;
    for agent in [python(), typescript] {
        let program = program();
        let server = program.serve(&[]).await;
        let mut host = server.socket("/agent/ws").await;
        let join = json!({"role": "host", "sessionId": "cinema"});
        host.say(json!({"type": "relay.join", "payload": join}).to_string())
            .await;
        assert_eq!(host.json().await.unwrap()["type"], "relay.joined");

        tokio::select! {
            said = run(agent, &program, &server) => {
                assert_eq!(said.code, Some(1), "{said:?}");
                assert!(said.stderr.contains("Nothing here fits"), "{said:?}");
            }
            () = shows_nothing(host) => panic!("it never gives up"),
        }
    }
}

async fn plays_again(program: &Program, file: &Path) {
    program
        .run(["relay".as_ref(), "replay".as_ref(), file.as_os_str()])
        .await
        .exits(0);
}

#[test]
fn an_example_is_read_at_a_sitting() {
    for agent in ["relay-python/agent.py", "relay-typescript/agent.ts"] {
        let text = std::fs::read_to_string(examples().join(agent)).unwrap();
        let lines = text.lines().count();
        assert!(lines < MOST_LINES, "{agent} has {lines} lines");
    }
}

#[test]
fn the_packages_of_the_examples_are_told_by_their_content_and_not_by_a_place() {
    let lock = std::fs::read_to_string(examples().join("relay-typescript/package-lock.json"));
    let lock: Value = serde_json::from_str(&lock.unwrap()).unwrap();
    let packages = lock["packages"].as_object().unwrap();
    assert!(packages.contains_key("node_modules/ws"));
    for (name, package) in packages.iter().filter(|(name, _)| !name.is_empty()) {
        assert!(package.get("resolved").is_none(), "{name} has a place");
        assert!(package.get("integrity").is_some(), "{name} has no hash");
    }
    let list = std::fs::read_to_string(examples().join("relay-python/requirements.txt")).unwrap();
    let mut packages = list.lines().filter(|line| !line.starts_with('#'));
    assert!(packages.all(|line| line.contains("==") && line.contains("--hash=sha256:")));
}
