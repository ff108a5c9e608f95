//! `exec`: commands in the sandbox of a server that runs.

mod environment;
mod guarded;
mod projects;
mod replaced;
mod shown;
mod undone;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::time::Duration;

use samovar_model_server::{Rule, When, call, say};
use samovar_testkit::{EventStream, Program, Serving};
use serde_json::{Value, json};

use crate::audit::audit;
use crate::setup::{last, program, with_model};

const SERVE: [&str; 2] = ["--data-dir", "data"];

/// Whether the machine gives the sandbox. Where it does not, the test says so by its name.
#[expect(
    clippy::print_stdout,
    reason = "who runs the tests is to see what was not shown"
)]
async fn is_provable(test: &str) -> bool {
    let said = program().run(["doctor", "--json"]).await;
    let said: Value = serde_json::from_str(&said.stdout).unwrap();
    let findings = said["findings"].as_array().unwrap();
    let sandbox = findings
        .iter()
        .find(|row| row["what"] == "sandbox")
        .unwrap();
    if sandbox["ok"] != true {
        println!("not provable here: {test}: {}", sandbox["fact"]);
    }
    sandbox["ok"] == true
}

/// A command, further arguments, and a piece of its result.
type Row<'a> = (&'a str, Value, &'a str);

/// What git obeys, and is not there.
fn rows_of_git() -> Vec<Row<'static>> {
    vec![
        (
            "echo x > .git/commondir; sleep 20",
            json!({}),
            "ended because .git/commondir was made",
        ),
        (
            "echo x > .git/config.worktree",
            json!({}),
            "it is called .git/config.worktree.from-exec-",
        ),
        (
            "mkdir .git/modules",
            json!({}),
            "it is called .git/modules.from-exec-",
        ),
    ]
}

fn rows() -> Vec<Row<'static>> {
    vec![
        (
            "echo out; echo err >&2",
            json!({}),
            "exit code 0\nstdout:\nout\nstderr:\nerr",
        ),
        ("exit 3", json!({}), "exit code 3"),
        ("kill -9 $$", json!({}), "ended by signal 9"),
        ("pwd; echo $HOME", json!({"cwd": "below"}), "/below\n"),
        ("echo $HOME; ls -A ~; echo x > ~/x", json!({}), "/data/home"),
        ("cat ~/x; true > made.txt", json!({}), "stdout:\nx"),
        ("ls", json!({"cwd": "../"}), "outside"),
        ("ls", json!({"cwd": "missing"}), "cwd cannot be entered"),
        (
            "sleep 60",
            json!({"timeout_s": 1}),
            "ended after 1 s, its limit",
        ),
        (
            "printf '\\033[31mred\\033[0m\\n'",
            json!({}),
            "stdout:\nred",
        ),
        (
            "cat data/token; ls data",
            json!({}),
            "exit code 0\nstderr:\ncat: data/token: No such file",
        ),
        (
            "cat data/../secret.txt; echo x > made.txt",
            json!({}),
            "exit code 0",
        ),
        (
            "env | cut -d= -f1 | sort | grep -c API_KEY",
            json!({}),
            "exit code 1\nstdout:\n0",
        ),
        ("echo $SAMOVAR_CALL_ID | wc -w", json!({}), "stdout:\n1"),
        (
            "echo x > samovar.toml",
            json!({}),
            "it is called samovar.toml.from-exec-",
        ),
        (
            "rm AGENTS.md && echo x > AGENTS.md",
            json!({}),
            "the change was moved to AGENTS.md.from-exec-",
        ),
        ("echo x >> .git/config", json!({}), "Read-only file system"),
        (
            "echo x >> docs/AGENTS.md",
            json!({}),
            "Read-only file system",
        ),
        ("true\0", json!({}), "NUL character"),
        (
            "exec 3<>/dev/tcp/127.0.0.1/9 && echo open",
            json!({}),
            "exit code 1",
        ),
    ]
}

/// Whether what a command made under this name has another one now.
fn is_aside(program: &Program, name: &str) -> bool {
    let mut entries = fs::read_dir(program.folder()).unwrap().flatten();
    let start = format!("{name}.from-exec-");
    entries.any(|entry| entry.file_name().to_string_lossy().starts_with(&start))
}

/// The results of a turn's calls, in order.
fn results(prompt: &Value) -> Vec<String> {
    let messages = prompt["messages"].as_array().unwrap().iter();
    let results = messages.filter(|message| message["role"] == "tool");
    results
        .map(|result| result["content"].as_str().unwrap().to_owned())
        .collect()
}

fn exec(command: &str, more: &Value) -> Value {
    let mut args = json!({ "command": command });
    args.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    args
}

async fn turn(server: &Serving) -> Value {
    server.ok("createSession", json!({"sessionId": "s"})).await;
    let post = json!({"sessionId": "s", "messageId": "m", "content": "go"});
    let mut stream = server.stream(post).await;
    last(&stream.rest().await).clone()
}

// proves TL-2, TL-6, TL-18
#[tokio::test]
async fn a_command_runs_in_the_sandbox_and_the_model_reads_what_became_of_it() {
    if !is_provable("a_command_runs_in_the_sandbox_and_the_model_reads_what_became_of_it").await {
        return;
    }
    let rows = [rows(), rows_of_git()].concat();
    let mut calls = call("list_dir", json!({}));
    for (command, more, _) in &rows {
        calls = calls.and_call("exec", exec(command, more));
    }
    let (program, model) = with_model([Rule::from(calls), Rule::from(say("done"))]).await;
    let program = program
        .set("PATH", "/usr/bin:/bin")
        .set("OPENAI_API_KEY", "sk-a-key-of-ours");
    program.file("below/x", "").file("secret.txt", "mine");
    program.file("docs/AGENTS.md", "Speak plainly.");
    program.file(".git/config", "[core]\n");
    symlink("docs/AGENTS.md", program.folder().join("AGENTS.md")).unwrap();
    let server = program
        .serve(&[&SERVE[..], &["--approval", "auto"]].concat())
        .await;

    assert_eq!(turn(&server).await["type"], "completed");

    let found = results(model.prompts()[1].body());
    assert_eq!(found.len(), rows.len() + 1);
    for ((command, _, expected), result) in rows.iter().zip(&found[1..]) {
        assert!(result.contains(expected), "{command}: {result}");
    }
    assert!(program.folder().join("made.txt").exists());
    let trusted = [".git/commondir", ".git/config.worktree", ".git/modules"];
    for name in trusted.into_iter().chain(["samovar.toml"]) {
        assert!(!program.folder().join(name).exists(), "{name}");
    }
    assert!(is_aside(&program, "samovar.toml"));
    let link = fs::read_link(program.folder().join("AGENTS.md")).unwrap();
    assert_eq!(link, PathBuf::from("docs/AGENTS.md"));
}

// proves TL-2
#[tokio::test]
async fn an_output_that_is_too_long_is_shown_in_part_and_can_be_read_whole() {
    if !is_provable("an_output_that_is_too_long_is_shown_in_part_and_can_be_read_whole").await {
        return;
    }
    let calls = call("exec", json!({"command": "seq 100000; echo end"}));
    let (program, model) = with_model([Rule::from(calls), Rule::from(say("done"))]).await;
    let server = program
        .serve(&[&SERVE[..], &["--approval", "auto"]].concat())
        .await;
    assert_eq!(turn(&server).await["type"], "completed");

    let shown = &results(model.prompts()[1].body())[0];

    assert!(shown.len() < 70 * 1024, "{}", shown.len());
    assert!(shown.contains("stdout:\n1\n2\n") && shown.contains("\n100000\nend"));
    assert!(shown.contains("bytes are left out here]"));
    let (_, name) = shown.rsplit_once("[all of it: read_file ").unwrap();
    let name = name.trim_end_matches(']');
    let read = json!({"args": {"path": name, "offset": 50_000, "limit": 1}});
    let request = server.request(reqwest::Method::POST, "/api/tools/read_file/call");
    let read = server.answer(request.json(&read)).await;
    assert!(read.body.to_string().contains("50000"), "{}", read.body);

    let outputs = || {
        fs::read_dir(program.folder().join("data/outputs"))
            .unwrap()
            .count()
    };
    assert_eq!(outputs(), 1);
    server.ok("deleteSession", json!({"sessionId": "s"})).await;
    while outputs() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The calls that wait for a decision, once there is one.
async fn asked(server: &Serving) -> Value {
    loop {
        let listed = server.get("/api/approvals").await;
        match listed.body["items"].get(0) {
            Some(item) => return item.clone(),
            None => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

async fn decide(server: &Serving, asked: &Value, decision: &str) {
    let path = format!("/api/approvals/{}", asked["id"].as_str().unwrap());
    let request = server.request(reqwest::Method::POST, &path);
    let request = request.json(&json!({"decision": decision}));
    assert_eq!(server.answer(request).await.status, 200);
}

// proves TL-4, TL-5, TL-7
#[tokio::test]
async fn what_reads_runs_unasked_and_what_a_person_allowed_always_is_not_asked_again() {
    if !is_provable("what_reads_runs_unasked_and_what_a_person_allowed_always_is_not_asked_again")
        .await
    {
        return;
    }
    let runs = |command: &str| {
        call("exec", json!({ "command": command })).when(When::ToolResultsSinceUser(0))
    };
    let one = |command: &str| call("exec", json!({"command": command}));
    let script = [
        runs("ls && cat notes.txt | wc -l"),
        Rule::from(one("mkdir -p made")),
        Rule::from(one("mkdir -p made/again && ls")),
        Rule::from(one("touch $(echo evil)")),
        Rule::from(say("done")),
    ];
    let (program, model) = with_model(script).await;
    program.file("notes.txt", "tea\n");
    let server = program.serve(&SERVE).await;
    server.ok("createSession", json!({"sessionId": "s"})).await;
    let post = json!({"sessionId": "s", "messageId": "m", "content": "go"});
    let mut stream = server.stream(post).await;

    let first = asked(&server).await;
    assert_eq!(first["args"]["command"], "mkdir -p made");
    assert_eq!(first["grant"]["programs"], json!(["mkdir"]));
    assert_eq!(first["preview"], "$ mkdir -p made");
    decide(&server, &first, "always").await;
    let second = loop {
        let found = asked(&server).await;
        if found["id"] != first["id"] {
            break found;
        }
    };
    assert_eq!(second["args"]["command"], "touch $(echo evil)");
    assert!(second["grant"].is_null(), "{second}");
    decide(&server, &second, "deny").await;
    stream.rest().await;

    let found = results(model.prompts()[4].body());
    assert!(
        found[0].contains("stdout:\n") && found[0].contains('1'),
        "{found:?}"
    );
    assert!(program.folder().join("made/again").exists());
    assert!(!program.folder().join("evil").exists());
    let rules = server.get("/api/rules").await;
    assert_eq!(rules.body[0]["programs"], json!(["mkdir"]));
}

// proves TL-7
#[tokio::test]
async fn the_network_is_named_to_the_person_and_what_runs_unasked_gets_no_more_time() {
    if !is_provable("the_network_is_named_to_the_person_and_what_runs_unasked_gets_no_more_time")
        .await
    {
        return;
    }
    let sleeps = json!({"command": "sleep 60", "timeout_s": 50});
    let script = [
        Rule::from(call("exec", sleeps)),
        Rule::from(call("exec", json!({"command": "true", "network": true}))),
        Rule::from(say("done")),
    ];
    let (program, model) = with_model(script).await;
    let program = program.set("SAMOVAR__TOOLS__EXEC__TIMEOUT", "1");
    let server = program.serve(&SERVE).await;
    server.ok("createSession", json!({"sessionId": "s"})).await;
    let post = json!({"sessionId": "s", "messageId": "m", "content": "go"});
    let mut stream = server.stream(post).await;

    let network = asked(&server).await;
    assert_eq!(network["preview"], "with the network: $ true");
    decide(&server, &network, "deny").await;
    stream.rest().await;

    let found = results(model.prompts()[1].body());
    assert!(found[0].contains("ended after 1 s, its limit"), "{found:?}");
}

// proves TL-4, TL-7
#[tokio::test]
async fn an_old_git_is_asked_about_and_always_counts_for_the_folder_of_the_command() {
    if !is_provable("an_old_git_is_asked_about_and_always_counts_for_the_folder_of_the_command")
        .await
    {
        return;
    }
    let one = |args: Value| Rule::from(call("exec", args));
    let script = [
        one(json!({"command": "git status"})),
        one(json!({"command": "./build.sh", "cwd": "below"})),
        Rule::from(say("done")),
    ];
    let (program, _model) = with_model(script).await;
    let bin = program.home().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("git"), "#!/bin/sh\necho git version 2.34.1\n").unwrap();
    program.file("below/build.sh", "");
    fs::set_permissions(bin.join("git"), Permissions::from_mode(0o755)).unwrap();
    let program = program.set("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
    let server = program.serve(&SERVE).await;
    server.ok("createSession", json!({"sessionId": "s"})).await;
    let post = json!({"sessionId": "s", "messageId": "m", "content": "go"});
    let mut stream = server.stream(post).await;

    let mut decided = Value::Null;
    for (command, programs) in [
        ("git status", Value::Null),
        ("./build.sh", json!(["cd below && ./build.sh"])),
    ] {
        let question = loop {
            let found = asked(&server).await;
            if found["id"] != decided {
                break found;
            }
        };
        assert_eq!(question["args"]["command"], command);
        assert_eq!(question["grant"]["programs"], programs, "{question}");
        decide(&server, &question, "deny").await;
        decided = question["id"].clone();
    }
    stream.rest().await;
}

/// Waits until a command has made this file.
async fn made(program: &Program, name: &str) {
    while !program.folder().join(name).exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

// proves TL-6, TL-18, DU-5, DU-18
#[tokio::test]
async fn a_command_dies_with_its_server_and_is_never_run_again() {
    if !is_provable("a_command_dies_with_its_server_and_is_never_run_again").await {
        return;
    }
    let command = "echo once >> effects; echo x > agents; echo x > SOUL.md; echo '[' > samovar.toml; \
                   (setsid sleep 600 &); touch began; sleep 600; echo twice >> effects";
    let calls = call("exec", json!({ "command": command }));
    let (program, model) = with_model([Rule::from(calls), say("done").forever()]).await;
    program.file("AGENTS.md", "old");
    let serve = [&SERVE[..], &["--approval", "auto"]].concat();
    let server = program.serve(&serve).await;
    server.ok("createSession", json!({"sessionId": "s"})).await;
    let post = json!({"sessionId": "s", "messageId": "m", "content": "go"});
    let stream: EventStream = server.stream(post.clone()).await;
    made(&program, "began").await;
    server.kill().await;
    drop(stream);
    // No one can tell any more that this is not the command's.
    program.file("saved", "new");
    let at = |name: &str| program.folder().join(name);
    fs::rename(at("saved"), at("AGENTS.md")).unwrap();

    let server = program.serve(&serve).await;

    // What the command made is not trusted by its name, and nothing of it lives.
    for name in ["agents", "SOUL.md", "samovar.toml"] {
        assert!(!at(name).exists(), "{name}");
        assert!(is_aside(&program, name), "{name}");
    }
    assert_eq!(fs::read_to_string(at("AGENTS.md")).unwrap(), "old");
    assert!(is_aside(&program, "AGENTS.md"));
    let (_, shown) = audit(&program, &["show"]).await;
    let mut records = shown["items"].as_array().unwrap().iter();
    let put_aside = records.find(|record| record["event"] == "put_aside");
    let about = "samovar.toml, SOUL.md, AGENTS.md, agents";
    assert_eq!(put_aside.unwrap()["about"], about);
    let folder = program.folder();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let cwds = entries.filter_map(|entry| fs::read_link(entry.path().join("cwd")).ok());
    let own = fs::read_link(format!("/proc/{}/cwd", server.pid().as_raw_pid())).unwrap();
    assert_eq!(
        cwds.filter(|cwd| cwd.starts_with(&folder) && *cwd != own)
            .count(),
        0
    );
    let mut stream = server.stream(post).await;
    stream.rest().await;
    let found = results(model.prompts().last().unwrap().body());
    assert!(found[0].contains("outcome unknown"), "{found:?}");
    assert_eq!(fs::read_to_string(at("effects")).unwrap(), "once\n");
}

// proves TL-6, DU-10
#[tokio::test]
async fn a_cancelled_turn_takes_its_command_down() {
    if !is_provable("a_cancelled_turn_takes_its_command_down").await {
        return;
    }
    let command = "(setsid sleep 600 &); touch began; trap '' TERM; while :; do sleep 1; done";
    let calls = call("exec", json!({ "command": command }));
    let (program, _model) = with_model([Rule::from(calls), say("done").forever()]).await;
    let server = program
        .serve(&[&SERVE[..], &["--approval", "auto"]].concat())
        .await;
    server.ok("createSession", json!({"sessionId": "s"})).await;
    let post = json!({"sessionId": "s", "messageId": "m", "content": "go"});
    let mut stream = server.stream(post).await;
    made(&program, "began").await;

    server.ok("cancel", json!({"sessionId": "s"})).await;

    stream.rest().await;
    let is_left = || {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let mut commands = entries.filter_map(|it| fs::read(it.path().join("environ")).ok());
        let mark = format!("HOME={}", program.folder().display());
        commands.any(|env| {
            let env = String::from_utf8_lossy(&env).into_owned();
            env.contains("SAMOVAR_CALL_ID") && env.contains(&mark)
        })
    };
    while is_left() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
