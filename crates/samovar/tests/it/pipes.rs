//! The commands where nobody looks: in a pipe that is read, closed, or full.

use std::io;
use std::process::Stdio;

use samovar_model_server::{Gate, When, call, say};
use samovar_testkit::{Finished, Program};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::setup::{ended_with, program, with_model};

/// Every command that only shows something, with the schema of what it shows to a program.
const LISTS: [(&[&str], &str); 7] = [
    (&["sessions", "list"], "samovar.sessions/1"),
    (&["sessions", "show", "SESSION"], "samovar.session/1"),
    (&["tools", "list"], "samovar.tool/1"),
    (&["models", "list"], "samovar.models/1"),
    (&["token", "list"], "samovar.token/1"),
    (&["stats"], "samovar.stats/1"),
    (&["doctor"], ""),
];

/// A program that has a session and a token, and the session's id.
async fn furnished() -> (Program, String) {
    let program = program();
    let said = program.run(["run", "-v", "hello"]).await;
    let id = said.stderr.split("session: ").nth(1).unwrap();
    let id = id.lines().next().unwrap().to_owned();
    program.run(["token", "create", "ci"]).await;
    (program, id)
}

fn args<'a>(typed: &[&'a str], session: &'a str) -> Vec<&'a str> {
    let put = |word: &&'a str| if *word == "SESSION" { session } else { word };
    typed.iter().map(put).collect()
}

// proves FC-1
#[tokio::test]
async fn nothing_moves_the_cursor_of_whoever_reads_a_pipe() {
    let (program, id) = furnished().await;
    let more: [&[&str]; 6] = [
        &[],
        &["--help"],
        &["run", "--help"],
        &["run", "list the files here"],
        &["chat"],
        &["boil"],
    ];
    for typed in LISTS.map(|(typed, _)| typed).iter().chain(&more) {
        let said = program.run(args(typed, &id)).await;
        assert!(
            !said.stdout.contains(['\u{1b}', '\r']),
            "{typed:?}: {said:?}"
        );
        assert!(
            !said.stderr.contains(['\u{1b}', '\r']),
            "{typed:?}: {said:?}"
        );
    }
}

// proves FC-1
#[tokio::test]
async fn a_document_and_every_line_say_which_schema_they_have() {
    let (program, id) = furnished().await;
    for (typed, schema) in LISTS.into_iter().filter(|(_, schema)| !schema.is_empty()) {
        let typed = args(typed, &id);
        let said = program.run(typed.iter().chain(&["--json"])).await;
        let document: Value = serde_json::from_str(&said.stdout).unwrap();
        assert_eq!(
            (said.code, &document["schema"]),
            (Some(0), &json!(schema)),
            "{said:?}"
        );
        assert_eq!(said.stdout.lines().count(), 1);
        let said = program.run(typed.iter().chain(&["--jsonl"])).await.exits(0);
        assert!(said.stdout.lines().count() > 0);
        for line in said.stdout.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let schema = line["schema"].as_str().unwrap();
            assert!(
                schema.starts_with("samovar.") && schema.ends_with("/1"),
                "{line}"
            );
        }
    }
}

// proves FC-1
#[tokio::test]
async fn a_turn_is_one_document_or_a_line_for_every_event() {
    let (program, _model) = with_model([
        call("list_dir", json!({"path": "."})),
        say("nothing"),
        call("list_dir", json!({"path": "."})),
        say("nothing"),
    ])
    .await;
    let said = program.run(["run", "-o", "json", "go"]).await;
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(document["schema"], "samovar.turn/1");
    assert_eq!(document["text"], "nothing");
    assert_eq!(document["calls"][0]["name"], "list_dir");

    let said = program.run(["run", "-o", "jsonl", "go"]).await;
    let lines: Vec<Value> = said
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(
        lines.iter().all(|line| line["schema"] == "samovar.event/1"),
        "{said:?}"
    );
    assert!(lines.len() > 5, "{said:?}");
}

// proves FC-1
#[tokio::test]
async fn the_document_of_a_turn_lists_the_files_that_file_tools_changed() {
    let write = |path: &str| call("write_file", json!({"path": path, "content": "x\n"}));
    let order = json!({"name": "helper", "task": "write one"});
    let edit = |path: &str| call("edit_file", json!({"path": path, "old": "x", "new": "y"}));
    let (program, _model) = with_model([
        write("sub/../z.txt"),
        edit("./z.txt"),
        edit("absent.txt"),
        call("subAgent", order),
        write("b/a.txt"),
        say("written"),
        say("all written"),
        say("nothing to do"),
    ])
    .await;
    let added = ["agents", "add", "helper", "--tools", "write_file"];
    assert_eq!(program.run(added).await.code, Some(0));
    for changed in [json!(["b/a.txt", "z.txt"]), json!([])] {
        let said = program.run(["run", "-o", "json", "go"]).await;
        let document: Value = serde_json::from_str(&said.stdout).unwrap();
        assert_eq!(document["changed"], changed, "{said:?}");
    }
}

// proves FC-1
#[tokio::test]
async fn a_closed_pipe_ends_every_command_quietly() {
    let (program, id) = furnished().await;
    let more: [&[&str]; 4] = [
        &[],
        &["--help"],
        &["completions", "bash"],
        &["run", "hello"],
    ];
    for typed in LISTS.map(|(typed, _)| typed).iter().chain(&more) {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut command = program.command(args(typed, &id));
        let said = Finished::of(command.stdout(Stdio::from(writer)).spawn().unwrap()).await;
        assert_eq!(said.code, Some(0), "{typed:?}: {said:?}");
        assert!(!said.stderr.contains("samovar: "), "{typed:?}: {said:?}");
    }
}

// proves FC-2, FC-6
#[tokio::test]
async fn a_full_disk_under_stdout_is_an_error_of_every_command() {
    let (program, id) = furnished().await;
    let more: [&[&str]; 4] = [
        &[],
        &["--help"],
        &["completions", "bash"],
        &["run", "hello"],
    ];
    for typed in LISTS.map(|(typed, _)| typed).iter().chain(&more) {
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let mut command = program.command(args(typed, &id));
        let said = Finished::of(command.stdout(Stdio::from(full)).spawn().unwrap()).await;
        ended_with(&said, 1, "output_failed");
    }
}

#[tokio::test]
async fn nothing_depends_on_a_stdin_or_a_stdout_that_is_closed() {
    let (program, id) = furnished().await;
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        for typed in LISTS
            .map(|(typed, _)| typed)
            .iter()
            .chain(&[&["run", "hello"][..]])
        {
            let shell = in_shell(&program, &args(typed, &id), closed);
            let said = Finished::with_stdin(shell, None).await;
            assert_eq!(said.code, Some(0), "{typed:?} {closed}: {said:?}");
        }
    }
    let shell = in_shell(&program, &["run", "-"], "<&-");
    ended_with(&Finished::with_stdin(shell, None).await, 2, "blank_content");
}

/// A command behind a redirection of a shell.
fn in_shell(program: &Program, typed: &[&str], redirected: &str) -> Command {
    let command = program.command(typed);
    let command = command.as_std();
    let mut shell = Command::new("/bin/sh");
    shell
        .arg("-c")
        .arg(format!("exec \"$0\" \"$@\" {redirected}"))
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .current_dir(program.folder())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    for (name, value) in command.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    shell
}

// proves FC-1
#[tokio::test]
async fn every_shell_gets_a_script_that_knows_the_commands() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let said = program().run(["completions", shell]).await;
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{shell}");
        for word in ["sessions", "completions", "budget-tokens"] {
            assert!(said.stdout.contains(word), "{shell}: {word}");
        }
    }
}

// proves FC-1
#[tokio::test]
async fn a_pipe_deletes_nothing_without_a_yes() {
    let (program, id) = furnished().await;
    let said = program.run(["sessions", "delete", &id]).await;
    ended_with(&said, 2, "invalid_params");
    assert!(said.stderr.contains("--yes"), "{said:?}");
    let said = program.run(["sessions", "delete", &id, "--yes"]).await;
    assert_eq!(
        (said.code, said.stdout),
        (Some(0), format!("{id} was deleted\n"))
    );
    assert_eq!(program.run(["sessions", "list"]).await.stdout, "");
}

// proves FC-2
#[tokio::test]
async fn a_turn_that_takes_too_long_is_stopped_and_exits_124() {
    let never = Gate::new("never");
    let (program, model) =
        with_model([say("half an answer").deltas_of(6).hold_after(1, &never)]).await;

    // Long enough for the model to be asked, on a busy machine too.
    let said = program.run(["run", "--timeout", "5", "go"]).await;

    ended_with(&said, 124, "timeout");
    assert_eq!(model.wait_for_disconnect().await.number(), 0);
}

// proves FC-2
#[tokio::test]
async fn a_turn_that_costs_more_than_it_may_exits_7() {
    let (program, model) = with_model([call("list_dir", json!({"path": "."})).forever()]).await;
    let said = program.run(["run", "--budget-tokens", "1", "go"]).await;
    ended_with(&said, 7, "budget");
    assert_eq!(model.prompts().len(), 0, "its prompt alone is longer");
}

// proves FC-1
#[tokio::test]
async fn the_last_session_of_this_folder_goes_on_and_not_that_of_another() {
    let (program, model) = with_model([
        say("one").when(When::user("in this folder")),
        say("two").when(When::user("in another")),
        say("three").when(When::user("and on")),
    ])
    .await;
    program.file("other/file", "");
    program.run(["run", "in this folder"]).await;
    program
        .run(["run", "--workspace", "other", "in another"])
        .await;

    let said = program.run(["run", "--continue", "and on"]).await;

    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(0), "three\n"),
        "{said:?}"
    );
    let prompt = model.prompt(2).await.unwrap().body().to_string();
    assert!(
        prompt.contains("in this folder") && !prompt.contains("in another"),
        "{prompt}"
    );
}
