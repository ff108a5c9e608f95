//! Commands that outlive the server which answers them.

use reqwest::Method;
use samovar_model_server::{Gate, ModelServer, When, say};
use samovar_testkit::{EventStream, Finished, Program, Serving, Signal, send};
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::process::Child;

use crate::setup::{ended_with, messages, says, with_model};

/// A turn of a server, shown by `run` up to the middle of its answer.
struct CutTurn {
    program: Program,
    model: ModelServer,
    server: Serving,
    session: String,
    run: Child,
    /// What `run` has shown.
    shown: String,
}

impl CutTurn {
    /// The model's next answer is whole.
    async fn in_mid_answer(output: &str) -> Self {
        Self::with(output, "auto").await
    }

    /// The same, with a choice for `recovery.resume`.
    async fn with(output: &str, resume: &str) -> Self {
        let never = Gate::new("never");
        let (program, model) = with_model([
            say("half an answer").deltas_of(6).hold_after(1, &never),
            say("the whole answer"),
            say("well"),
        ])
        .await;
        let program = program
            .set("DATA_DIR", "data")
            .set("SAMOVAR__SERVER__DRAIN_SECONDS", "0")
            .set("SAMOVAR__RECOVERY__RESUME", resume);
        let server = program.serve(&[]).await;
        let session = server.session().await;
        let run = program.command(["run", "-o", output, "--session", &session, "go"]);
        let mut run = { run }.spawn().unwrap();
        let mut shown = String::new();
        let stdout = run.stdout.as_mut().unwrap();
        while !shown.contains("half a") {
            let mut piece = [0; 4096];
            let read = stdout.read(&mut piece).await.unwrap();
            assert!(read > 0, "it ended early: {shown}");
            shown.push_str(std::str::from_utf8(&piece[..read]).unwrap());
        }
        Self {
            program,
            model,
            server,
            session,
            run,
            shown,
        }
    }
}

/// All that `run` has shown in the end.
async fn ended(shown: &str, run: Child) -> Finished {
    let mut said = Finished::of(run).await;
    said.stdout.insert_str(0, shown);
    said
}

// proves FC-1, DU-6
#[tokio::test]
async fn a_run_whose_server_is_killed_and_stays_away_ends_its_turn_itself() {
    let cut = CutTurn::in_mid_answer("jsonl").await;

    cut.server.kill().await;
    let said = ended(&cut.shown, cut.run).await.exits(0);
    let last: Value = serde_json::from_str(said.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["type"], "turn_finished", "{said:?}");
    for word in ["lost the connection to the server", "it continues"] {
        assert!(said.stderr.contains(word), "{word}: {said:?}");
    }
    let session = ["run", "--session", &cut.session, "again"];
    let again = cut.program.run(session).await;
    assert_eq!(again.stdout, "well\n", "{again:?}");
    let server = cut.program.serve(&[]).await;
    let kept = messages(&server, &cut.session).await;
    assert_eq!(
        kept,
        [
            "user: go",
            "assistant: the whole answer",
            "user: again",
            "assistant: well"
        ]
    );
    assert_eq!(cut.model.requests().len(), 3, "nothing is asked twice");
}

// proves FC-1
#[tokio::test]
async fn a_terminal_keeps_an_unfinished_answer_that_is_said_to_be_void() {
    let never = Gate::new("never");
    let (program, _model) = with_model([
        say("half an answer").deltas_of(6).hold_after(1, &never),
        say("the whole answer"),
    ])
    .await;
    let program = program.set("DATA_DIR", "data");
    let server = program.serve(&[]).await;
    let terminal = program.at_terminal(["run", "go"]);
    terminal.sees("half a").await;
    server.kill().await;

    let left = terminal.leaves().await.exits(0);
    assert!(left.screen.contains("\nhalf a\n"), "{left:?}");
    assert!(
        left.screen.contains("discard the unfinished answer"),
        "{left:?}"
    );
    assert!(left.screen.ends_with("\nthe whole answer"), "{left:?}");
}

// proves FC-1, DU-10
#[tokio::test]
async fn a_run_that_is_stopped_while_its_server_is_away_has_stopped_its_turn() {
    let mut cut = CutTurn::in_mid_answer("jsonl").await;
    cut.server.kill().await;
    says(&mut cut.run, "lost the connection to the server").await;

    send(Signal::INT, &cut.run);
    let said = ended(&cut.shown, cut.run).await;

    ended_with(&said, 130, "cancelled");
    let again = ["run", "--session", &cut.session, "go on"];
    let again = cut.program.run(again).await;
    assert_eq!(again.stdout, "the whole answer\n", "{again:?}");
    assert_eq!(cut.model.requests().len(), 2, "the turn does not go on");
}

// proves FC-1
#[tokio::test]
async fn a_run_that_nobody_hears_when_it_is_stopped_does_not_say_that_its_turn_was() {
    let cut = CutTurn::in_mid_answer("jsonl").await;
    cut.server.pause();

    send(Signal::INT, &cut.run);
    let said = ended(&cut.shown, cut.run).await;

    ended_with(&said, 8, "server_unreachable");
    let command = format!("samovar sessions cancel {}", cut.session);
    assert!(said.stderr.contains(&command), "{said:?}");
    cut.server.send(Signal::CONT);
    let cancel = ["sessions", "cancel", &cut.session];
    assert_eq!(cut.program.run(cancel).await.code, Some(0));
}

// proves FC-1, DU-7
#[tokio::test]
async fn a_run_whose_server_is_killed_and_comes_back_goes_on_at_the_very_next_event() {
    let cut = CutTurn::in_mid_answer("jsonl").await;

    cut.server.kill().await;
    let server = cut.program.serve(&[]).await;
    let said = ended(&cut.shown, cut.run).await.exits(0);
    same_as_read_again(&server, &cut.session, &said.stdout).await;
}

// proves FC-1, DU-11
#[tokio::test]
async fn a_run_whose_server_is_stopped_and_started_again_goes_on() {
    let cut = CutTurn::in_mid_answer("jsonl").await;

    cut.server.send(Signal::TERM);
    assert_eq!(cut.server.end().await.code, Some(0));
    let server = cut.program.serve(&[]).await;
    let said = ended(&cut.shown, cut.run).await.exits(0);
    same_as_read_again(&server, &cut.session, &said.stdout).await;
}

// proves FC-1, DU-6
#[tokio::test]
async fn a_turn_that_waits_is_listed_and_goes_on_when_somebody_says_so() {
    let cut = CutTurn::with("jsonl", "ask").await;
    cut.server.kill().await;
    let server = cut.program.serve(&[]).await;
    let said = ended(&cut.shown, cut.run).await;
    ended_with(&said, 8, "turn_waits");

    let doctor = cut.program.run(["doctor", "--json"]).await;
    let command = format!("samovar sessions resume {}", cut.session);
    assert!(doctor.stdout.contains(&command), "{doctor:?}");
    let listed = cut.program.run(["sessions", "list"]).await;
    assert!(listed.stdout.contains("(interrupted)"), "{listed:?}");
    assert!(listed.stderr.contains(&command), "{listed:?}");

    let resumed = cut
        .program
        .run(["sessions", "resume", &cut.session])
        .await
        .exits(0);
    assert_eq!(resumed.stdout, "the whole answer\n", "{resumed:?}");
    let again = cut.program.run(["sessions", "resume", &cut.session]).await;
    ended_with(&again, 2, "unknown_turn");
    let listed = cut.program.run(["sessions", "list", "--json"]).await;
    assert!(!listed.stdout.contains("waitingTurnId"), "{listed:?}");
    server.send(Signal::TERM);
    let said = server.end().await.stderr;
    assert!(
        said.contains(" 1 waiting for samovar sessions resume;"),
        "{said}"
    );
}

// proves FC-1, DU-6
#[tokio::test]
async fn a_turn_that_waits_can_be_ended_instead() {
    let cut = CutTurn::with("jsonl", "ask").await;
    cut.server.kill().await;
    drop(cut.run);
    let _server = cut.program.serve(&[]).await;

    cut.program
        .run(["sessions", "cancel", &cut.session])
        .await
        .exits(0);
    let nothing = ["sessions", "cancel", &cut.session, "--json"];
    let nothing = cut.program.run(nothing).await;
    assert!(
        nothing.stdout.contains("\"cancelled\":false"),
        "{nothing:?}"
    );
    let again = cut.program.run(["run", "--session", &cut.session, "go on"]);
    assert_eq!(again.await.stdout, "the whole answer\n");
}

// proves FC-1, DU-6
#[tokio::test]
async fn what_a_killed_server_left_is_listed_and_goes_on_without_another_server() {
    let cut = CutTurn::in_mid_answer("jsonl").await;
    cut.server.kill().await;
    drop(cut.run);

    let listed = cut.program.run(["sessions", "list", "--json"]).await;
    assert!(listed.stdout.contains("waitingTurnId"), "{listed:?}");
    assert_eq!(cut.model.requests().len(), 1, "no turn went on");
    let resumed = cut
        .program
        .run(["sessions", "resume", &cut.session])
        .await
        .exits(0);
    assert_eq!(resumed.stdout, "the whole answer\n", "{resumed:?}");
}

/// Holds the events that a command printed against those of the turn's stream from its start.
async fn same_as_read_again(server: &Serving, session: &str, printed: &str) {
    let path = format!("/services/agent/sendMessage/stream?profile=full&sessionId={session}");
    let again = server.request(Method::GET, &path).send().await.unwrap();
    assert_eq!(again.status(), 200);
    let mut frames = EventStream::new(again).rest().await;
    assert!(frames.pop().unwrap().is_done());
    let printed: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ids: Vec<&str> = printed
        .iter()
        .map(|event| event["id"].as_str().unwrap())
        .collect();
    let read: Vec<&str> = frames
        .iter()
        .map(|frame| frame.id.as_deref().unwrap())
        .collect();
    assert_eq!(ids, read, "every event once, and none is missing");
    for (event, frame) in printed.iter().zip(&frames) {
        assert_eq!(event["type"], frame.data["type"]);
    }
}

// proves AS-11, FC-1
#[tokio::test]
async fn a_run_joins_the_turn_that_runs_or_takes_its_place_or_is_refused() {
    let held = Gate::new("held");
    let (program, model) = with_model([
        say("first words")
            .deltas_of(5)
            .hold_after(1, &held)
            .when(When::user("first")),
        say("the interrupting answer").when(When::user("third")),
        say("one answer to both").forever(),
    ])
    .await;
    let program = program.set("DATA_DIR", "data");
    let server = program.serve(&[]).await;
    let session = server.session().await;
    let first = program.command(["run", "--session", &session, "first"]);
    let first = { first }.spawn().unwrap();
    model.prompt(0).await.unwrap().written(1).await;
    let deliver = async |how: &str, what: &str| {
        program
            .run(["run", "--session", &session, "--delivery", how, what])
            .await
    };

    ended_with(&deliver("reject", "second").await, 8, "session_busy");
    let third = deliver("interrupt", "third").await;
    let first = Finished::of(first).await;

    assert_eq!(
        (third.code, third.stdout.as_str()),
        (Some(0), "the interrupting answer\n"),
        "{third:?}"
    );
    ended_with(&first, 130, "cancelled");
    assert_eq!(
        deliver("reject", "fourth").await.stdout,
        "one answer to both\n"
    );
}

// proves FC-1
#[tokio::test]
async fn a_message_after_an_interrupted_turn_says_what_it_waits_for() {
    let gate = Gate::new("later");
    let (program, model) = with_model([
        say("half").hold_head(&gate),
        say("the whole answer").hold_head(&gate),
        say("well"),
    ])
    .await;
    let mut first = program.command(["run", "go"]).spawn().unwrap();
    model.wait_for(|asked| asked.len() == 1).await;
    first.kill().await.unwrap();

    let mut again = program
        .command(["run", "--continue", "again"])
        .spawn()
        .unwrap();

    says(
        &mut again,
        "an earlier turn of this session is still running",
    )
    .await;
    model.open(&gate).unwrap();
    assert_eq!(Finished::of(again).await.exits(0).stdout, "well\n");
}
