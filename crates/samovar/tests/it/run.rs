//! `samovar run`: what a person types and reads.

use std::process::Stdio;

use samovar_model_server::{Gate, When, call, say};
use samovar_testkit::{Finished, Signal, send};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStdout};

use crate::setup::{ended_with, messages, program, with_model};

/// Reads a program's stdout until this stands in it.
async fn read_until(stdout: &mut ChildStdout, text: &str) {
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains(text) {
        let count = stdout.read_buf(&mut read).await.unwrap();
        assert_ne!(
            count,
            0,
            "it ended with {:?}",
            String::from_utf8_lossy(&read)
        );
    }
}

/// A program that shows the beginning of an answer which is never finished.
async fn in_mid_answer(child: &mut Child) -> ChildStdout {
    let mut stdout = child.stdout.take().unwrap();
    read_until(&mut stdout, "half a").await;
    stdout
}

// proves FC-4, FC-5
#[tokio::test]
async fn a_plain_sentence_does_real_work_without_any_model_and_says_so() {
    for (sentence, into, expected) in [
        (
            "list the three largest files here and write their names to largest.txt",
            "largest.txt",
            "an old film.mkv\nphoto 1.jpg\nnotes.md\n",
        ),
        (
            "list the two smallest files here and write their names to small.txt",
            "small.txt",
            "empty note\nlist.csv\n",
        ),
        (
            "перечисли два самых больших файла здесь и запиши их имена в итог.txt",
            "итог.txt",
            "an old film.mkv\nphoto 1.jpg\n",
        ),
    ] {
        let program = program();
        program
            .file("photo 1.jpg", [0; 900])
            .file("an old film.mkv", vec![0; 70_000])
            .file("notes.md", "some\nwords\n")
            .file("list.csv", "a,b\n")
            .file("empty note", "");

        let said = program.run(["run", sentence]).await.exits(0);
        let written = std::fs::read_to_string(program.folder().join(into)).unwrap();
        assert_eq!(written, expected, "{said:?}");
        assert!(
            said.stderr
                .starts_with("model: demo (rules, not a language model)")
        );
        assert!(said.stderr.contains("\n• write_file "), "{said:?}");
    }
}

// proves FC-1
#[tokio::test]
async fn long_arguments_are_counted_on_stderr_each_time_they_double() {
    let content = "x".repeat(20 * 1024);
    let write = call("write_file", json!({"path": "x.txt", "content": content}));
    let (program, _model) = with_model([write, say("Done.")]).await;

    let said = program.run(["run", "write"]).await.exits(0);
    let count = said.stderr.matches("KiB of arguments so far").count();
    assert!((1..=3).contains(&count), "{}", said.stderr);
}

// proves FC-1
#[tokio::test]
async fn the_text_goes_to_stdout_and_everything_else_to_stderr() {
    let (program, model) = with_model([
        say("I look. ").and_call("list_dir", json!({"path": "."})),
        say("There is one file,\nand it is small."),
    ])
    .await;
    program.file("one.txt", "1");

    let said = program.run(["run", "-v", "what is here?"]).await.exits(0);
    // What was said before the call is no answer.
    assert_eq!(said.stdout, "There is one file,\nand it is small.\n");
    let lines: Vec<_> = said.stderr.lines().collect();
    let beginnings = [
        "model: custom/scripted",
        "data: ",
        "session: ",
        "• list_dir",
        "  list_dir",
        "tokens: ",
    ];
    assert_eq!(lines.len(), beginnings.len(), "{lines:#?}");
    for (line, beginning) in lines.iter().zip(beginnings) {
        assert!(line.starts_with(beginning), "{lines:#?}");
    }
    assert!(
        lines[0].ends_with(", because AGENT_MODEL sets it"),
        "{lines:#?}"
    );
    assert!(model.left_over().is_empty());
}

// proves FC-1
#[tokio::test]
async fn a_dash_reads_the_prompt_from_stdin() {
    let (program, model) = with_model([say("ok").when(When::user("from the pipe"))]).await;

    let said = program
        .run_with_stdin(["run", "-"], Some(b"a prompt\nfrom the pipe\n".to_vec()))
        .await;

    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(0), "ok\n"),
        "{said:?}"
    );
    assert!(model.left_over().is_empty());
}

// proves FC-1, FC-4
#[tokio::test]
async fn a_session_goes_on_with_its_history_and_its_model() {
    let (program, model) = with_model([say("Hello, Ada."), say("Your name is Ada.")]).await;
    let first = program.run(["run", "-v", "I am Ada"]).await;
    let session = first.stderr.split("session: ").nth(1).unwrap();
    let session = session.lines().next().unwrap();

    let second = program
        .run(["run", "-v", "--session", session, "who am I?"])
        .await;
    assert_eq!(second.stdout, "Your name is Ada.\n", "{second:?}");
    assert!(
        second.stderr.contains("it is the session's model"),
        "{second:?}"
    );
    let prompt = model.prompt(1).await.unwrap();
    assert!(prompt.body().to_string().contains("I am Ada"));

    let other = ["run", "--session", session, "--model", "demo", "2+2"];
    let said = program.run(other).await;
    assert!(said.stdout.contains("2+2 = 4"), "{said:?}");
    let said = program.run(["run", "--continue", "what is 2+3"]).await;
    assert!(said.stdout.contains("2+3 = 5"), "the model stays: {said:?}");
    assert_eq!(model.prompts().len(), 2);
}

// proves FC-2
#[tokio::test]
async fn ctrl_c_stops_the_turn_keeps_what_was_finished_and_exits_130() {
    let never = Gate::new("never");
    let (program, model) = with_model([
        call("list_dir", json!({"path": "."})),
        say("half an answer").deltas_of(6).hold_after(1, &never),
    ])
    .await;
    let mut child = program
        .command(["run", "-o", "jsonl", "--data-dir", "data", "go"])
        .spawn()
        .unwrap();
    let stdout = in_mid_answer(&mut child).await;

    send(Signal::INT, &child);
    let said = Finished::of(child).await;
    drop(stdout);

    ended_with(&said, 130, "cancelled");
    model.wait_for_disconnect().await;
    let server = program.serve(&[]).await;
    let sessions = server.ok("listSessions", json!({})).await;
    let kept = messages(&server, sessions["items"][0]["id"].as_str().unwrap()).await;
    assert_eq!(kept.len(), 4, "{kept:?}");
    assert_eq!(kept[0], "user: go");
    assert_eq!(kept[3], "assistant: half a");
}

#[tokio::test]
async fn a_closed_pipe_stops_the_turn_and_ends_quietly() {
    let (more, never) = (Gate::new("more"), Gate::new("never"));
    let (program, model) = with_model([say("half an answer and more")
        .deltas_of(6)
        .hold_after(1, &more)
        .hold_after(3, &never)])
    .await;
    let mut command = program.command(["run", "-o", "jsonl", "go"]);
    let mut child = command.spawn().unwrap();
    let stdout = in_mid_answer(&mut child).await;

    drop(stdout);
    model.open(&more).unwrap();
    let said = Finished::of(child).await.exits(0);
    assert!(!said.stderr.contains("\nsamovar: "), "{said:?}");
    model.wait_for_disconnect().await;
}

#[tokio::test]
async fn nobody_has_to_read_stderr() {
    let (program, model) = with_model([say("ok")]).await;
    let program = program.set("SAMOVAR_LOG", "trace");
    let mut child = program.command(["run", "-v", "go"]).spawn().unwrap();

    drop(child.stderr.take());
    let said = Finished::of(child).await;

    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(0), "ok\n"),
        "{said:?}"
    );
    assert!(model.left_over().is_empty());
}

// proves FC-2
#[tokio::test]
async fn a_full_disk_under_stdout_is_an_error_and_stops_the_turn() {
    let never = Gate::new("never");
    let (program, _model) =
        with_model([say("half an answer").deltas_of(6).hold_after(1, &never)]).await;
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = program.command(["run", "-o", "jsonl", "go"]);

    let said = Finished::of(command.stdout(Stdio::from(full)).spawn().unwrap()).await;

    ended_with(&said, 1, "output_failed");
    let left = program.run(["sessions", "list", "--json"]).await.stdout;
    assert!(
        left.contains("\"totalCount\":1") && !left.contains("waitingTurnId"),
        "{left}"
    );
}

#[tokio::test]
async fn what_a_model_says_is_shown_and_not_obeyed() {
    let (program, _model) = with_model([
        call("read_file", json!({"path": "\u{1b}]0;title\u{7}"})),
        say("done \u{1b}[31m bell \u{7}"),
    ])
    .await;

    let said = program.run(["run", "go"]).await;

    assert_eq!(said.stdout, "done \\u{1b}[31m bell \\u{7}\n");
    let is_plain = |text: &str| !text.chars().any(|c| c.is_control() && c != '\n');
    assert!(is_plain(&said.stderr), "{said:?}");
}
