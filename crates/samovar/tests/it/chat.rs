//! `samovar chat`: at a terminal, with its line editor, and in a pipe.

use samovar_model_server::{Failure, Gate, When, call, fail, say};
use samovar_testkit::{Program, Terminal, keys};
use serde_json::json;

use crate::setup::{ended_with, program, with_model};

/// A chat that waits for its first line.
async fn chat(program: &Program) -> Terminal {
    let terminal = program.at_terminal(["chat"]);
    terminal.sees_prompt("> ").await;
    terminal
}

/// Enters a line, and waits until what it gives and the next prompt are there.
async fn enter(terminal: &Terminal, line: &str, answer: &str) {
    terminal.enters(line).await;
    let is_there = |screen: &str| {
        let end = screen.rsplit_once(&format!("> {line}\n"));
        end.is_some_and(|(_, end)| end.contains(answer) && end.ends_with("\n>"))
    };
    terminal.sees_that(answer, is_there).await;
}

// proves FC-1
#[tokio::test]
async fn every_line_is_a_turn_of_one_session() {
    let (program, model) = with_model([say("Hello, Ada."), say("Your name is Ada.")]).await;
    let terminal = chat(&program).await;

    enter(&terminal, "I am Ada", "Hello, Ada.").await;
    enter(&terminal, "who am I?", "Your name is Ada.").await;
    terminal.enters("   ").await;
    terminal.sees("\n>\n>").await;
    terminal.enters("/quit").await;
    assert_eq!(terminal.leaves().await.code, Some(0));

    let prompt = model.prompt(1).await.unwrap();
    assert!(prompt.body().to_string().contains("I am Ada"));
    assert_eq!(model.prompts().len(), 2);
}

// proves FC-1
#[tokio::test]
async fn the_arrow_up_brings_back_what_was_said() {
    let (program, model) = with_model([
        say("one").when(When::user("the first")),
        say("two").when(When::user("the second")),
        say("one again").when(When::user("the first, again")),
    ])
    .await;
    let terminal = chat(&program).await;
    enter(&terminal, "the first", "one").await;
    enter(&terminal, "the second", "two").await;

    terminal.types(keys::UP).await;
    terminal.sees_prompt("> the second").await;
    terminal.types(keys::UP).await;
    terminal.sees_prompt("> the first").await;
    terminal.types(", again").await;
    terminal.sees_prompt("> the first, again").await;
    terminal.types(keys::ENTER).await;
    terminal.sees("\none again\n>").await;

    assert!(model.left_over().is_empty());
    terminal.types(keys::CTRL_D).await;
    assert_eq!(terminal.leaves().await.code, Some(0));
}

// proves FC-1
#[tokio::test]
async fn ctrl_c_stops_the_turn_and_not_the_chat() {
    let never = Gate::new("never");
    let (program, model) = with_model([
        say("half an answer").deltas_of(6).hold_after(1, &never),
        say("well"),
    ])
    .await;
    let terminal = chat(&program).await;
    terminal.types(keys::CTRL_C).await;
    terminal
        .sees("\npress Ctrl-C again or Ctrl-D to leave\n>")
        .await;

    terminal.enters("go").await;
    terminal.sees("\nhalf a").await;
    terminal.types(keys::CTRL_C).await;
    terminal
        .sees("the turn was stopped; finished work is kept [cancelled]\n>")
        .await;
    model.wait_for_disconnect().await;
    enter(&terminal, "go on", "well").await;

    terminal.types(keys::CTRL_D).await;
    assert_eq!(terminal.leaves().await.code, Some(0));
}

// proves FC-1
#[tokio::test]
async fn a_backslash_continues_the_line_new_begins_a_session_and_exit_leaves() {
    let (program, model) = with_model([say("two lines"), say("a fresh one")]).await;
    let terminal = chat(&program).await;
    terminal.enters("alpha\\").await;
    terminal.enters("omega").await;
    terminal.sees("\ntwo lines\n>").await;
    enter(&terminal, "/model custom/other", "model: custom/other").await;
    terminal.enters("/new").await;
    terminal.sees("> /new\nsession: ").await;
    enter(&terminal, "hello", "a fresh one").await;
    terminal.enters("exit").await;
    assert_eq!(terminal.leaves().await.code, Some(0));

    let prompts = model.prompts();
    assert!(prompts[0].body().to_string().contains("alpha\\nomega"));
    assert!(!prompts[1].body().to_string().contains("alpha"));
    assert_eq!(prompts[1].body()["model"], "other", "/new keeps it");
    let again = chat(&program).await;
    again.types(keys::CTRL_C).await;
    again.sees("or Ctrl-D to leave\n>").await;
    again.types(keys::CTRL_C).await;
    assert_eq!(again.leaves().await.code, Some(0));
    let listed = program.run(["sessions", "list", "--json"]).await.stdout;
    assert!(listed.contains("\"totalCount\":2"), "{listed}");
}

// proves FC-1, FC-6
#[tokio::test]
async fn lines_with_a_slash_are_commands_and_a_wrong_one_leaves_the_chat_as_it_is() {
    let (program, _model) = with_model([say("ok")]).await;
    let first = program.run(["run", "-v", "the first session"]).await;
    let first = first.stderr.split("session: ").nth(1).unwrap();
    let first = first.lines().next().unwrap();
    let terminal = chat(&program).await;

    enter(
        &terminal,
        "/help",
        "/undo            take back the last turn",
    )
    .await;
    enter(
        &terminal,
        "/cost",
        "tokens used by this session: 0 (0 input, 0 output)",
    )
    .await;
    let end = &first[first.len() - 8..];
    enter(&terminal, "/sessions", end).await;
    enter(
        &terminal,
        "/nothing",
        "samovar: \"/nothing\" is not a command; /help lists them [invalid_params]",
    )
    .await;
    enter(&terminal, "/agents", "no agent is at work in this session").await;
    terminal.sees("browser   code  on").await;
    enter(&terminal, "/sessions nobody", "[unknown_session]").await;
    enter(&terminal, "/model openai/gpt-5", "[unusable_model]").await;
    enter(&terminal, "/model demo", "this session's model: demo").await;
    enter(&terminal, "/model", "*  custom").await;
    enter(&terminal, &format!("/sessions {end}"), ", messages: 2").await;
    enter(&terminal, "/context", "--- soul").await;
    enter(&terminal, "/model", "this session's model: custom/scripted").await;
    terminal.enters("/quit").await;

    assert_eq!(terminal.leaves().await.code, Some(0));
}

// proves FC-1, FC-6
#[tokio::test]
async fn a_turn_that_fails_leaves_the_chat_as_it_is() {
    let (program, _model) = with_model([fail(Failure::server_error()), say("well")]).await;
    let terminal = chat(&program).await;

    enter(&terminal, "go", "[provider_error]").await;
    enter(&terminal, "again", "well").await;

    terminal.types(keys::CTRL_D).await;
    assert_eq!(terminal.leaves().await.code, Some(0));
}

// proves FC-1, FC-2
#[tokio::test]
async fn in_a_pipe_every_line_is_a_turn_and_the_last_one_decides_the_exit_code() {
    let (program, model) = with_model([
        say("Hello, Ada."),
        call("list_dir", json!({"path": "."})),
        say("Nothing."),
        fail(Failure::refused_key()),
    ])
    .await;

    let input = b"I am Ada\n\n  \t \n/cost\nwhat is here?".to_vec();
    let said = program.run_with_stdin(["chat"], Some(input)).await.exits(0);
    assert_eq!(said.stdout, "Hello, Ada.\nNothing.\n");
    assert!(
        said.stderr.contains("\ntokens used by this session: "),
        "{said:?}"
    );
    assert!(said.stderr.contains("\n• list_dir "), "{said:?}");
    assert!(!said.stderr.contains('\u{1b}'), "{said:?}");
    assert_eq!(model.prompts().len(), 3);

    let failed = program
        .run_with_stdin(["chat"], Some(b"go\n".to_vec()))
        .await;
    ended_with(&failed, 5, "provider_auth");
    assert_eq!(failed.stdout, "");
}

// proves FC-2
#[tokio::test]
async fn in_a_pipe_leaving_keeps_how_the_last_turn_ended() {
    let (program, _model) = with_model([fail(Failure::refused_key())]).await;
    let said = program
        .run_with_stdin(["chat"], Some(b"go\n/quit\nnever\n".to_vec()))
        .await;
    ended_with(&said, 5, "provider_auth");
}

// proves FC-2
#[tokio::test]
async fn a_wrong_line_in_a_pipe_does_not_keep_the_next_from_being_a_turn() {
    let program = program();
    for (input, exit, code) in [
        (&b"/nothing\nhello\n"[..], 0, ""),
        (b"hello\n/nothing\n", 2, "invalid_params"),
        (b"hello\n\xff\nhello\n", 2, "invalid_params"),
    ] {
        let said = program.run_with_stdin(["chat"], Some(input.to_vec())).await;
        assert_eq!(said.code, Some(exit), "{said:?}");
        assert!(said.stdout.contains("Hello!"), "{said:?}");
        if exit != 0 {
            ended_with(&said, exit, code);
        }
    }
}

// proves FC-1
#[tokio::test]
async fn what_is_taken_back_stands_in_the_line_again_and_the_model_no_longer_knows_it() {
    let (program, model) = with_model([
        say("the first answer").when(When::user("first words")),
        say("the second answer").when(When::user("second words")),
    ])
    .await;
    let terminal = chat(&program).await;
    enter(&terminal, "first words", "the first answer").await;
    terminal.enters("/undo").await;
    terminal.sees("the last turn was taken back").await;
    // What was said stands there to be changed; Ctrl-U takes it away.
    terminal.sees_prompt("> first words").await;
    terminal.types("\u{15}").await;
    enter(&terminal, "second words", "the second answer").await;
    terminal.types(keys::CTRL_D).await;
    assert_eq!(terminal.leaves().await.code, Some(0));

    let prompts = model.prompts();
    let last = prompts.last().unwrap().body().to_string();
    assert!(last.contains("second words"), "{last}");
    assert!(!last.contains("first words"), "{last}");
    assert!(!last.contains("the first answer"), "{last}");
}

// proves FC-1
#[tokio::test]
async fn agents_shows_the_agents_and_the_tree_at_work_at_any_width() {
    for columns in [40, 200] {
        let water = Gate::new("water");
        let (program, model) = with_model([
            call("spawn", json!({"task": "boil water"})).when(When::user("go")),
            say("It boils.")
                .hold_head(&water)
                .when(When::user("boil water")),
            say("I began it.").when(When::user("go")),
            say("Tea is ready.").into(),
        ])
        .await;
        let terminal = program.seat(["chat"]).columns(columns).start();
        terminal.sees_prompt("> ").await;
        terminal.enters("go").await;
        let is_begun = |screen: &str| screen.ends_with("I began it.\n>");
        terminal.sees_that("the end of its turn", is_begun).await;

        terminal.enters("/agents").await;
        let is_shown = |screen: &str| {
            let shown = screen.rsplit_once("> /agents\n").map(|(_, shown)| shown);
            shown
                .is_some_and(|shown| shown.contains("browser   code  on") && shown.ends_with("\n>"))
        };
        terminal.sees_that("the agents", is_shown).await;
        let screen = terminal.screen();
        let shown = screen.rsplit_once("> /agents\n").unwrap().1;
        // The turn that ended is there, since what it began is at work.
        let root = shown
            .lines()
            .position(|line| line.starts_with("master  stop  "));
        let child = shown
            .lines()
            .position(|line| line.starts_with("  ") && line.contains("running"));
        assert!(root.is_some() && root < child, "{screen}");
        let fits = |line: &str| line.chars().count() <= usize::from(columns);
        assert!(shown.lines().all(fits), "{screen}");
        model.open(&water).unwrap();
        terminal.enters("/quit").await;
        terminal.leaves().await;
    }
}
