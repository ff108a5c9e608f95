//! The commands at a terminal: what a person sees there, and nobody else.

use std::process::Stdio;
use std::time::Duration;

use samovar_model_server::{Gate, When, call, say};
use samovar_testkit::keys;
use serde_json::json;

use crate::setup::{ended_with, program, with_model};

// proves FC-1
#[tokio::test]
async fn the_program_alone_talks_at_a_terminal_and_says_who_answers() {
    let (program, _model) = with_model([say("Hello, Ada.")]).await;
    let terminal = program.at_terminal([""; 0]);

    terminal
        .sees("model: custom/scripted, because AGENT_MODEL sets it")
        .await;
    terminal
        .sees("/help lists the commands, Ctrl-D leaves")
        .await;
    terminal.sees_prompt("> ").await;
    terminal.enters("I am Ada").await;
    terminal.sees("\nHello, Ada.\n>").await;
    terminal.types(keys::CTRL_D).await;

    assert_eq!(terminal.leaves().await.code, Some(0));
}

// proves FC-1
#[tokio::test]
async fn a_person_who_waits_sees_time_and_tokens_go_by_and_nothing_of_it_stays() {
    let (first, second) = (Gate::new("first"), Gate::new("second"));
    let (program, model) = with_model([
        call("list_dir", json!({"path": "."})).hold_head(&first),
        say("Nothing is here.").hold_head(&second),
    ])
    .await;
    let terminal = program.at_terminal(["run", "what is here?"]);

    terminal.sees(" 0 s").await;
    model.open(&first).unwrap();
    terminal.sees("  list_dir").await;
    terminal.sees(" tok").await;
    model.open(&second).unwrap();

    let left = terminal.leaves().await.exits(0);
    assert!(left.screen.ends_with("\nNothing is here."), "{left:?}");
    assert!(!left.screen.contains(" tok"), "{left:?}");
}

// proves FC-1
#[tokio::test]
async fn nothing_turns_in_the_middle_of_a_line() {
    // Slower than what turns, so it would if it could.
    let (program, _model) = with_model([say("half a line, and the rest")
        .deltas_of(7)
        .pace(Duration::from_millis(200))])
    .await;

    let left = program.at_terminal(["run", "go"]).leaves().await;

    let (_, shown) = left.written.split_once("half a").unwrap();
    assert_eq!(shown, " line, and the rest\r\n", "{left:?}");
    assert!(
        left.screen.ends_with("\nhalf a line, and the rest"),
        "{left:?}"
    );
}

// proves FC-1
#[tokio::test]
async fn where_only_one_end_is_a_terminal_the_other_gets_text_and_nothing_else() {
    let rest = Gate::new("rest");
    let (program, model) = with_model([say("the answer").hold_head(&rest).times(2)]).await;
    model.open(&rest).unwrap();

    let left = program
        .seat(["run", "go"])
        .stdout(Stdio::piped())
        .start()
        .leaves()
        .await;
    assert_eq!(
        (left.code, left.stdout.as_str()),
        (Some(0), "the answer\n"),
        "{left:?}"
    );
    assert!(!left.screen.contains("the answer"), "{left:?}");

    let left = program
        .seat(["run", "go"])
        .stderr(Stdio::piped())
        .start()
        .leaves()
        .await;
    assert_eq!(
        (left.code, left.screen.as_str()),
        (Some(0), "the answer"),
        "{left:?}"
    );
    assert_eq!(left.written, "the answer\r\n");
    assert!(!left.stderr.contains('\u{1b}'), "{left:?}");
}

#[tokio::test]
async fn a_terminal_obeys_nothing_that_a_model_or_a_tool_says() {
    let title = "\u{1b}]0;gone\u{7}\u{1b}[2J\u{1b}[5;5Hover here\r";
    let (program, _model) = with_model([
        say(title).and_call("read_file", json!({"path": title})),
        say("done"),
        say("really"),
    ])
    .await;
    program.file("notes.txt", title);

    let left = program.at_terminal(["run", "go"]).leaves().await;

    assert_eq!(
        left.code,
        Some(0),
        "a failed look-up is no failure: {left:?}"
    );
    assert!(left.screen.contains("done\nreally"), "{left:?}");
    for sequence in ["\u{1b}]", "\u{7}", "\u{1b}[2J", "\u{1b}[5;5H"] {
        assert!(!left.written.contains(sequence), "{left:?}");
    }
    assert!(
        left.screen.contains(r"\u{1b}]0;gone\u{7}\u{1b}[2J"),
        "{left:?}"
    );
    assert!(left.screen.starts_with("model: "), "{left:?}");
}

// proves FC-2
#[tokio::test]
async fn ctrl_c_at_a_terminal_stops_the_turn_and_exits_130() {
    let never = Gate::new("never");
    let (program, model) =
        with_model([say("half an answer").deltas_of(6).hold_after(1, &never)]).await;
    let terminal = program.at_terminal(["run", "go"]);
    terminal.sees("half a").await;

    terminal.types(keys::CTRL_C).await;

    let left = terminal.leaves().await.exits(130);
    let last = "the turn was stopped; finished work is kept [cancelled]";
    assert!(left.screen.ends_with(last), "{left:?}");
    model.wait_for_disconnect().await;
}

#[tokio::test]
async fn a_prompt_from_a_keyboard_ends_with_ctrl_d_and_is_not_waited_for_without_input() {
    let (program, model) = with_model([say("ok").when(When::user("typed\nin two lines"))]).await;
    let terminal = program.at_terminal(["run", "-"]);
    terminal
        .sees("samovar: reading the prompt from stdin; end it with Ctrl-D")
        .await;
    terminal.types("typed\rin two lines\r").await;
    terminal.types(keys::CTRL_D).await;
    terminal.leaves().await.exits(0);
    assert!(model.left_over().is_empty());

    let left = program
        .at_terminal(["run", "-", "--no-input"])
        .leaves()
        .await
        .exits(2);
    assert_eq!(
        left.screen,
        "samovar: --no-input allows no waiting for input, but stdin is a terminal; give the prompt as an argument or through a pipe [invalid_params]"
    );
}

// proves FC-1
#[tokio::test]
async fn a_session_is_deleted_when_the_person_says_yes_and_at_nothing_else() {
    let program = program();
    program.run(["run", "hello"]).await;
    let listed = async || program.run(["sessions", "list", "--json"]).await.stdout;
    let before: serde_json::Value = serde_json::from_str(&listed().await).unwrap();
    let id = before["items"][0]["id"].as_str().unwrap().to_owned();
    let question = format!("delete {id} \"hello\" and everything in it (2 messages)? [y/N]");

    for answer in ["", "n", "no", "maybe"] {
        let terminal = program.at_terminal(["sessions", "delete", &id]);
        terminal.sees(&question).await;
        terminal.enters(answer).await;
        let left = terminal.leaves().await.exits(0);
        assert!(
            left.screen.ends_with(&format!("\n{id} was not deleted")),
            "{left:?}"
        );
    }
    let terminal = program.at_terminal(["sessions", "delete", &id]);
    terminal.sees(&question).await;
    terminal.types(keys::CTRL_C).await;
    assert_ne!(terminal.leaves().await.code, Some(0));
    assert!(listed().await.contains(&id));

    let terminal = program.at_terminal(["sessions", "delete", &id]);
    terminal.sees(&question).await;
    terminal.enters("y").await;
    let left = terminal.leaves().await;
    assert!(
        left.screen.ends_with(&format!("\n{id} was deleted")),
        "{left:?}"
    );
    assert_eq!(program.run(["sessions", "list"]).await.stdout, "");
}

// proves FC-1
#[tokio::test]
async fn a_terminal_of_twenty_columns_shows_all_and_mixes_nothing() {
    let (first, second) = (Gate::new("first"), Gate::new("second"));
    let (program, model) = with_model([
        call("list_dir", json!({"path": "."})).hold_head(&first),
        say("an answer that is longer than twenty columns").hold_head(&second),
    ])
    .await;
    let terminal = program.seat(["run", "go"]).columns(20).start();

    terminal.sees(" 0 s").await;
    model.open(&first).unwrap();
    terminal.sees(" tok").await;
    model.open(&second).unwrap();

    let left = terminal.leaves().await.exits(0);
    let end = "\n  list_dir: 0\n  entries in this\n  folder\nan answer that is\nlonger than twenty\ncolumns";
    assert!(left.screen.ends_with(end), "{left:?}");
    for args in [
        &["--help"][..],
        &["sessions", "list"],
        &["doctor"],
        &["models", "list"],
    ] {
        let left = program.seat(args).columns(20).start().leaves().await;
        assert_eq!(left.code, Some(0), "{args:?}: {left:?}");
    }
}

// proves FC-1
#[tokio::test]
async fn a_terminal_shows_an_edit_as_a_coloured_diff_unless_colours_are_refused() {
    for (no_color, is_coloured) in [("", true), ("1", false)] {
        let edit = json!({"path": "a.py", "old": "PORT = 1", "new": "PORT = 2"});
        let (program, _model) = with_model([call("edit_file", edit), say("Done.")]).await;
        let program = program.set("NO_COLOR", no_color);
        program.file("a.py", "PORT = 1\n");

        let left = program.at_terminal(["run", "go"]).leaves().await.exits(0);
        let end = "\n  -PORT = 1\n  +PORT = 2\nDone.";
        assert!(left.screen.ends_with(end), "{left:?}");
        assert_eq!(
            left.written.contains("\u{1b}[31m  -PORT = 1"),
            is_coloured,
            "{left:?}"
        );
        assert_eq!(
            left.written.contains("\u{1b}[32m  +PORT = 2"),
            is_coloured,
            "{left:?}"
        );
    }
}

// proves FC-5
#[tokio::test]
async fn in_a_script_demo_that_could_do_nothing_is_no_answer() {
    let program = program();
    let question = "why is the sky blue?";
    // No person can be asked there.
    for request in [question, "ask me my name and greet me"] {
        let said = program.run(["run", request]).await;
        crate::setup::ended_with(&said, 4, "not_understood");
    }
    // As a shell at a terminal runs it in `x=$(…)`.
    let captured = program.seat(["run", question]).stdout(Stdio::null());
    assert_eq!(captured.start().leaves().await.code, Some(4));
    let left = program
        .at_terminal(["run", question])
        .leaves()
        .await
        .exits(0);
    assert!(
        left.screen.contains("I did not understand that."),
        "{left:?}"
    );
}

// proves FC-4
#[tokio::test]
async fn the_model_is_said_when_it_is_news_and_when_it_is_asked_for() {
    let (program, _model) = with_model([say("ok").forever()]).await;
    for (args, is_said) in [
        (&["run", "go"][..], true),
        (&["run", "go"], false),
        (&["run", "-v", "go"], true),
        (&["run", "--continue", "go"], false),
        (&["run", "--model", "demo", "2+2"], true),
        (&["run", "go"], true),
    ] {
        let said = program.run(args).await.exits(0);
        assert_eq!(
            said.stderr.contains("model: "),
            is_said,
            "{args:?}: {said:?}"
        );
    }
}

#[tokio::test]
async fn a_server_at_a_terminal_ends_at_ctrl_c() {
    let program = program();
    let terminal = program.at_terminal(["serve", "--port", "0"]);
    terminal.sees("\napproval: supervised").await;

    terminal.types(keys::CTRL_C).await;

    let left = terminal.leaves().await.exits(0);
    assert!(left.screen.contains("samovar: stopping; "), "{left:?}");
}

// proves FC-1
#[tokio::test]
async fn a_command_ends_with_its_terminal_and_frees_its_data_directory() {
    let never = Gate::new("never");
    let writes = || call("write_file", json!({"path": "a.txt", "content": "a"}));
    let asks = || call("ask_user", json!({"question": "When?"}));
    let chat = ["chat", "--approval", "supervised"];
    let run = ["run", "go"];
    for (args, answer, waits_at, is_stdout_here) in [
        (&chat[..], None, "> ", true),
        (&chat, Some(writes()), "> ", true),
        (&chat, Some(asks()), "> ", true),
        (&chat, Some(say("late").hold_head(&never)), "s", true),
        (&run, Some(asks()), "> ", true),
        (&run, Some(asks()), "> ", false),
    ] {
        for is_deaf in [false, true] {
            // A turn that needs no terminal may outlive it.
            if is_deaf && waits_at == "s" {
                continue;
            }
            let (mut program, model) = with_model([answer.clone().unwrap_or(say("unasked"))]).await;
            if is_deaf {
                program = program.ignoring_hang_up();
            }
            let mut seat = program.seat(args);
            if !is_stdout_here {
                seat = seat.stdout(Stdio::piped());
            }
            let terminal = seat.start();
            if args == chat {
                terminal.sees_prompt("> ").await;
                if answer.is_some() {
                    terminal.enters("go").await;
                    model.seen(1).await;
                }
            }
            let waits = |screen: &str| match waits_at {
                "> " => {
                    screen.ends_with("\n>")
                        && (answer.is_none()
                            || screen.contains("y yes")
                            || screen.contains("type the answer"))
                }
                _ => screen.ends_with(" s"),
            };
            terminal.sees_that(waits_at, waits).await;

            let code = terminal.closes().await;

            assert!(code.is_some(), "{args:?}, deaf: {is_deaf}");
            let listed = program.run(["sessions", "list"]).await.exits(0);
            assert!(!listed.stdout.contains("(interrupted)"), "{listed:?}");
        }
    }
}

/// What a folder's file may set only when it is trusted.
const UNTRUSTED: &str = "[providers.openai]\napi_base = \"http://127.0.0.1:9/v1\"\n";

// proves FC-1
#[tokio::test]
async fn a_question_of_a_command_and_an_agent_in_a_room_end_with_their_terminal_too() {
    let program = program().set("SAMOVAR__RELAY__MOVIE_ROOMS", "cinema");
    let _server = program.serve(&[]).await;
    let agent = ["relay", "agent", "--room", "cinema"];
    let terminal = program.at_terminal(agent);
    terminal.sees("joined room cinema").await;
    assert!(terminal.closes().await.is_some());

    program.file("samovar.toml", UNTRUSTED);
    for is_closed in [true, false] {
        let terminal = program.at_terminal(["config", "trust"]);
        terminal.sees("[y/N]").await;
        if is_closed {
            // Nothing is begun yet, so the hang-up itself may end it.
            terminal.closes().await;
        } else {
            terminal.types(keys::CTRL_D).await;
            assert_eq!(terminal.leaves().await.code, Some(0));
        }
        let said = program.run(["run", "go"]).await;
        ended_with(&said, 3, "config_untrusted");
    }
}

// proves FC-1
#[tokio::test]
async fn what_is_typed_while_a_turn_runs_stands_at_the_next_prompt() {
    for is_stopped in [false, true] {
        let rest = Gate::new("rest");
        let (program, model) = with_model([say("the answer").hold_head(&rest)]).await;
        let terminal = program.at_terminal(["chat"]);
        terminal.sees_prompt("> ").await;
        terminal.enters("go").await;
        terminal
            .sees_that("a spinner", |screen| screen.ends_with(" s"))
            .await;
        terminal.types("and nexs\u{7f}t").await;
        if is_stopped {
            terminal.types(keys::CTRL_C).await;
        } else {
            // It turns, and shows nothing of what was typed.
            terminal
                .sees_that("a later spinner", |screen| screen.ends_with(" 1 s"))
                .await;
            model.open(&rest).unwrap();
        }

        terminal.sees_prompt("> and next").await;
        assert_eq!(terminal.screen().matches("and nex").count(), 1);
    }
}

// proves TL-5, FC-1
#[tokio::test]
async fn an_approval_shows_a_change_once_and_a_denial_that_was_typed_is_no_error() {
    for (key, code) in [("y", 0), ("n", 6)] {
        let edit = json!({"path": "a.py", "old": "PORT = 1", "new": "PORT = 2"});
        let (program, _model) = with_model([call("edit_file", edit), say("Done.")]).await;
        program.file("a.py", "PORT = 1\n");
        let terminal = program.at_terminal(["run", "--approval", "supervised", "go"]);
        terminal
            .sees("\n• edit_file a.py\nallow edit_file a.py?\n")
            .await;
        terminal.sees_prompt("> ").await;

        terminal.enters(key).await;

        let left = terminal.leaves().await;
        assert_eq!(left.code, Some(code), "{left:?}");
        assert!(left.screen.ends_with("\nDone."), "{left:?}");
        assert_eq!(left.screen.matches("+PORT = 2").count(), 1, "{left:?}");
    }
}
