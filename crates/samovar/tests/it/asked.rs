//! Questions of a turn to the person: shown by `run` and `chat`, answered at their terminal, or not.

use std::process::Stdio;

use reqwest::Method;
use samovar_model_server::{Gate, ModelServer, call, say};
use samovar_testkit::{Program, Serving, Terminal, keys};
use serde_json::{Value, json};

use crate::setup::{says, with_model};

/// What a person sees before they type.
const HOW: &str = "type the answer; Ctrl-D sends none, Ctrl-C stops the turn";

/// A turn that asks this, and then says what it was told.
async fn asking(question: &str) -> (Program, ModelServer) {
    let asks = call("ask_user", json!({ "question": question }));
    with_model([asks, say("Noted.")]).await
}

/// What the model was told in its last prompt of the call before.
fn told(model: &ModelServer) -> String {
    let prompts = model.prompts();
    let body = prompts.last().unwrap().body().clone();
    let messages = body["messages"].as_array().unwrap();
    let result = messages.iter().rfind(|message| message["role"] == "tool");
    let told = result.map(|message| message["content"].clone());
    told.unwrap_or_default()
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Which of the tools that speak to a person the model was offered, in this prompt.
fn offered(model: &ModelServer, prompt: usize) -> Vec<String> {
    let body = model.prompts()[prompt].body().clone();
    let tools = body["tools"].as_array().unwrap().iter();
    let names = tools.filter_map(|tool| tool["function"]["name"].as_str());
    let for_people = names.filter(|name| ["ask_user", "post_message"].contains(name));
    for_people.map(str::to_owned).collect()
}

// proves CH-10
#[tokio::test]
async fn only_where_somebody_can_read_is_the_model_offered_to_ask_and_to_write() {
    for is_served in [false, true] {
        let (program, model) = with_model([say("One."), say("Two.")]).await;
        let mut server = None;
        if is_served {
            server = Some(program.serve(&[]).await);
        }
        program.run(["run", "go"]).await.exits(0);
        assert_eq!(offered(&model, 0), [""; 0]);

        program.at_terminal(["run", "go"]).leaves().await.exits(0);
        // A command without a server has no reader of its chat.
        let read: &[&str] = if is_served {
            &["ask_user", "post_message"]
        } else {
            &["ask_user"]
        };
        assert_eq!(offered(&model, 1), read);
        drop(server);
    }
}

async fn sees_question(terminal: &Terminal, question: &str) {
    terminal
        .sees(&format!("the agent asks: {question}\n{HOW}\n>"))
        .await;
    terminal.sees_prompt("> ").await;
}

/// Waits for the one open call of a server.
async fn open_call(server: &Serving) -> Value {
    loop {
        let listed = server
            .request(Method::GET, "/api/calls")
            .send()
            .await
            .unwrap();
        let listed: Value = listed.json().await.unwrap();
        if let Some(call) = listed["items"].get(0) {
            return call.clone();
        }
        tokio::task::yield_now().await;
    }
}

async fn settle(server: &Serving, call: &Value, how: Value) {
    let path = format!("/api/calls/{}", call["id"].as_str().unwrap());
    let settled = server.request(Method::POST, &path).json(&how).send().await;
    assert_eq!(settled.unwrap().status(), 200);
}

// proves CH-10, FC-1
#[tokio::test]
async fn a_question_is_shown_and_what_is_typed_is_the_answer_of_the_call() {
    let (program, model) = asking("When do you fly?").await;
    let terminal = program.at_terminal(["run", "book a flight"]);
    sees_question(&terminal, "When do you fly?").await;

    terminal.enters("   ").await;
    terminal
        .sees("type an answer with at least one visible character; Ctrl-D sends none\n>")
        .await;
    terminal.enters("  at noon ").await;

    let left = terminal.leaves().await.exits(0);
    assert!(
        left.screen.ends_with("\n  ask_user: at noon\nNoted."),
        "{left:?}"
    );
    assert_eq!(told(&model), "at noon");
}

// proves CH-10
#[tokio::test]
async fn a_text_that_is_pasted_is_one_answer_however_many_lines_it_has() {
    let (program, model) = asking("Where to?").await;
    let terminal = program.at_terminal(["run", "book a flight"]);
    sees_question(&terminal, "Where to?").await;
    terminal
        .types("\u{1b}[200~Riga\nor Tallinn\u{1b}[201~")
        .await;
    terminal.sees_prompt(". or Tallinn").await;
    terminal.types(keys::ENTER).await;
    assert_eq!(terminal.leaves().await.code, Some(0));
    assert_eq!(told(&model), "Riga\nor Tallinn");

    let (program, model) = asking("Where to?").await;
    let terminal = program
        .seat(["run", "book a flight"])
        .stdout(Stdio::piped())
        .start();
    sees_question(&terminal, "Where to?").await;
    terminal.types("Riga\nor Tallinn\n").await;
    let left = terminal.leaves().await;
    assert_eq!(
        (left.code, left.stdout.as_str()),
        (Some(0), "Noted.\n"),
        "{left:?}"
    );
    assert_eq!(told(&model), "Riga\nor Tallinn");
}

// proves CH-10, FC-2
#[tokio::test]
async fn ctrl_c_at_a_question_stops_the_turn_and_ctrl_d_lets_it_go_on_without_an_answer() {
    let (program, model) = asking("When?").await;
    let terminal = program.at_terminal(["run", "go"]);
    sees_question(&terminal, "When?").await;
    terminal.types("half an ans").await;
    terminal.sees_prompt("> half an ans").await;
    terminal.types(keys::CTRL_C).await;
    terminal.leaves().await.exits(130);
    assert_eq!(model.prompts().len(), 1);

    for stdout in [None, Some(Stdio::piped())] {
        let (program, model) = asking("When?").await;
        let mut seat = program.seat(["run", "go"]);
        if let Some(stdout) = stdout {
            seat = seat.stdout(stdout);
        }
        let terminal = seat.start();
        sees_question(&terminal, "When?").await;
        terminal.types(keys::CTRL_D).await;
        terminal.leaves().await.exits(0);
        assert!(
            told(&model).contains("the person gave no answer"),
            "{}",
            told(&model)
        );
    }
}

// proves CH-10, FC-1
#[tokio::test]
async fn where_nobody_is_the_model_is_told_so_and_what_is_for_programs_stays_clean() {
    for format in ["text", "json", "jsonl"] {
        let (program, model) = asking("When?").await;
        let said = program.run(["run", "-o", format, "go"]).await.exits(0);
        assert!(
            told(&model).contains("nobody is here to answer: "),
            "{}",
            told(&model)
        );
        assert!(
            said.stderr
                .contains("\nthe agent asks: When?\nsamovar: no one is here to answer; "),
            "{said:?}"
        );
        match format {
            "text" => assert_eq!(said.stdout, "Noted.\n"),
            _ => {
                for line in said.stdout.lines() {
                    serde_json::from_str::<Value>(line).unwrap();
                }
            }
        }
    }
    let (program, model) = asking("When?").await;
    program
        .at_terminal(["run", "--no-input", "go"])
        .leaves()
        .await
        .exits(0);
    assert!(
        told(&model).contains("nobody is here to answer: "),
        "{}",
        told(&model)
    );
}

// proves CH-10, FC-1
#[tokio::test]
async fn a_prompt_goes_away_when_somebody_else_was_faster() {
    for stdout in [None, Some(Stdio::piped())] {
        let (program, model) = asking("When?").await;
        let server = program.serve(&[]).await;
        let mut seat = program.seat(["run", "go"]);
        if let Some(stdout) = stdout {
            seat = seat.stdout(stdout);
        }
        let terminal = seat.start();
        sees_question(&terminal, "When?").await;
        terminal.types("half an ans").await;

        settle(
            &server,
            &open_call(&server).await,
            json!({"result": "at one"}),
        )
        .await;

        let left = terminal.leaves().await.exits(0);
        let end = "samovar: the question was answered elsewhere\n  ask_user: at one";
        assert!(left.screen.contains(end), "{left:?}");
        assert_eq!(told(&model), "at one");
    }
}

// proves CH-10, FC-1
#[tokio::test]
async fn who_cannot_answer_beside_a_server_says_who_can_and_waits() {
    let (program, model) = asking("When?").await;
    let server = program.serve(&[]).await;
    let mut run = program.command(["run", "go"]).spawn().unwrap();
    says(
        &mut run,
        "samovar: questions cannot be answered here, so the turn waits; ",
    )
    .await;

    settle(
        &server,
        &open_call(&server).await,
        json!({"result": "at two"}),
    )
    .await;

    let output = run.wait_with_output().await.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Noted.\n");
    assert_eq!(told(&model), "at two");
}

// proves CH-10
#[tokio::test]
async fn what_was_typed_before_a_question_is_no_answer_and_an_answer_is_no_line_of_the_chat() {
    let head = Gate::new("head");
    let asks = call("ask_user", json!({"question": "When?"}));
    let (program, model) = with_model([asks.hold_head(&head), say("Noted.")]).await;
    let terminal = program.at_terminal(["chat"]);
    terminal.sees_prompt("> ").await;
    terminal.enters("book").await;
    model.seen(1).await;
    terminal.types("typed ahead").await;
    terminal
        .sees_that("a later spinner", |screen| screen.ends_with(" 1 s"))
        .await;

    model.open(&head).unwrap();
    sees_question(&terminal, "When?").await;
    terminal.enters("at three").await;
    terminal
        .sees("\n  ask_user: at three\nNoted.\n> typed ahead")
        .await;

    terminal.types(keys::CTRL_U).await;
    terminal.sees_prompt("> ").await;
    terminal.types(keys::UP).await;
    terminal.sees_prompt("> book").await;
    terminal.types(keys::CTRL_C).await;
    terminal
        .sees("\npress Ctrl-C again or Ctrl-D to leave\n>")
        .await;
    terminal.types(keys::CTRL_D).await;
    assert_eq!(terminal.leaves().await.code, Some(0));
    assert_eq!(told(&model), "at three");
}

// proves CH-10, FC-1
#[tokio::test]
async fn a_question_outlives_its_server_and_is_asked_again_where_it_is_watched() {
    let (program, model) = asking("When?").await;
    let server = program.serve(&[]).await;
    let terminal = program.at_terminal(["run", "-v", "go"]);
    sees_question(&terminal, "When?").await;
    terminal.types("at f").await;
    terminal.sees_prompt("> at f").await;

    server.kill().await;
    let server = program.serve(&[]).await;

    terminal
        .sees("samovar: lost the connection to the server")
        .await;
    terminal
        .sees_that("the question again", |screen| {
            screen.matches("the agent asks: ").count() == 2
        })
        .await;
    terminal.sees_prompt("> at f").await;
    terminal.enters("our").await;
    terminal.leaves().await.exits(0);
    assert_eq!(told(&model), "at four");
    drop(server);
}

#[tokio::test]
async fn a_terminal_obeys_nothing_that_a_question_says() {
    let hostile = "\u{1b}]0;gone\u{7}\u{1b}[2JWhen?\nsamovar: all is well [ok]";
    let (program, _model) = asking(hostile).await;
    let terminal = program.at_terminal(["run", "go"]);
    terminal.sees(HOW).await;
    terminal.enters("no").await;
    let left = terminal.leaves().await;
    for sequence in ["\u{1b}]", "\u{7}", "\u{1b}[2J"] {
        assert!(!left.written.contains(sequence), "{left:?}");
    }
    assert!(
        left.screen.contains("When?\n  samovar: all is well [ok]\n"),
        "{left:?}"
    );
}

// proves CH-10, FC-1
#[tokio::test]
async fn a_turn_that_waits_for_an_answer_is_gone_on_with_by_its_session() {
    for serves in [true, false] {
        let (program, model) = asking("When?").await;
        let server = program.serve(&[]).await;
        let session = server.session().await;
        drop(server.say(&session, "go").await);
        open_call(&server).await;
        let server = if serves {
            Some(server)
        } else {
            server.kill().await;
            None
        };

        let terminal = program.at_terminal(["sessions", "resume", &session]);
        sees_question(&terminal, "When?").await;
        terminal.enters("at six").await;

        let left = terminal.leaves().await.exits(0);
        assert!(left.screen.ends_with("Noted."), "{left:?}");
        assert_eq!(told(&model), "at six");
        drop(server);
    }
}

// proves CH-14, FC-6
#[tokio::test]
async fn an_answer_that_is_refused_stands_in_the_line_again() {
    let (program, model) = asking("When?").await;
    let program = program.set("SAMOVAR__SERVER__MAX_BODY_BYTES", "2048");
    let terminal = program.at_terminal(["run", "go"]);
    sees_question(&terminal, "When?").await;
    let long = "x".repeat(2050);
    terminal
        .types(&format!("\u{1b}[200~{long}\u{1b}[201~"))
        .await;
    terminal.sees(&long).await;
    terminal.types(keys::ENTER).await;
    terminal.sees("[body_too_large]\n> xxx").await;
    terminal.types("\u{15}").await;
    terminal.sees_prompt("> ").await;
    terminal.enters("at one").await;

    terminal.leaves().await.exits(0);
    assert_eq!(told(&model), "at one");
}

// proves FC-2
#[tokio::test]
async fn a_question_that_is_not_answered_in_time_ends_with_its_turn() {
    let (program, model) = asking("When?").await;
    let terminal = program.at_terminal(["run", "--timeout", "1.5", "go"]);
    sees_question(&terminal, "When?").await;
    terminal.types("half an ans").await;
    let left = terminal.leaves().await.exits(124);
    assert!(!left.screen.contains("half an ans"), "{left:?}");
    assert_eq!(model.prompts().len(), 1);
}

// proves CH-10, FC-1
#[tokio::test]
async fn who_speaks_behind_a_question_is_told_where_it_is_answered() {
    let (program, model) = asking("When?").await;
    let server = program.serve(&[]).await;
    let session = server.session().await;
    drop(server.say(&session, "go").await);
    open_call(&server).await;
    model.push(say("And more."));

    let mut run = program.command(["run", "--session", &session, "and then?"]);
    let mut run = run.spawn().unwrap();
    let hint = format!("to answer, type: samovar sessions resume {session}\n");
    says(&mut run, &hint).await;
    settle(
        &server,
        &open_call(&server).await,
        json!({"result": "at two"}),
    )
    .await;

    let output = run.wait_with_output().await.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "And more.\n");
}

// proves CH-4, CH-10
#[tokio::test]
async fn questions_of_one_batch_are_asked_one_after_the_other() {
    let both = call("ask_user", json!({"question": "When?"}))
        .and_call("ask_user", json!({"question": "Where?"}));
    let (program, model) = with_model([both, say("Noted.")]).await;
    let terminal = program.at_terminal(["run", "go"]);
    sees_question(&terminal, "When?").await;
    assert!(!terminal.screen().contains("asks: Where?"));
    terminal.enters("at noon").await;
    sees_question(&terminal, "Where?").await;
    terminal.enters("in Riga").await;

    terminal.leaves().await.exits(0);
    assert_eq!(told(&model), "in Riga");
    let prompt = model.prompts().pop().unwrap().body().to_string();
    assert!(prompt.contains("at noon"), "{prompt}");
}

// proves CH-10
#[tokio::test]
async fn ctrl_c_at_a_question_of_a_chat_stops_the_turn_and_not_the_chat() {
    let asks = call("ask_user", json!({"question": "When?"}));
    let (program, _model) = with_model([asks, say("well")]).await;
    let terminal = program.at_terminal(["chat"]);
    terminal.sees_prompt("> ").await;
    terminal.enters("book").await;
    sees_question(&terminal, "When?").await;

    terminal.types(keys::CTRL_C).await;
    terminal.sees("[cancelled]\n>").await;
    terminal.enters("go on").await;
    terminal.sees("\nwell\n>").await;

    terminal.types(keys::CTRL_D).await;
    assert_eq!(terminal.leaves().await.code, Some(0));
}

// proves CH-10, FC-1
#[tokio::test]
async fn a_question_of_a_command_that_has_the_data_itself_is_answered_by_another_one() {
    let (program, model) = asking("When?").await;
    let terminal = program.at_terminal(["run", "go"]);
    sees_question(&terminal, "When?").await;
    let tail = program.at_terminal(["chat-global", "tail"]);
    tail.sees(" is waiting for an answer to 1; ").await;

    let said = program.run(["chat-global", "say", "at noon"]).await;
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(0), "2\n"),
        "{said:?}"
    );

    // Who reads on does not hold it up.
    terminal.leaves().await.exits(0);
    assert_eq!(told(&model), "at noon");
    tail.sees("samovar: lost the connection to the server")
        .await;
    tail.types(keys::CTRL_C).await;
    assert_eq!(tail.leaves().await.code, Some(130));
}
