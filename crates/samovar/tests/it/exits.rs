//! The exit codes of `run` (FC-2), each with its error in one line (FC-6) and nothing half-written.

use std::net::TcpListener;

use samovar_model_server::{Ending, ModelServer, Part, Point, call, fail, page, reset, say};
use samovar_model_server::{Failure, Finish, Reply};
use samovar_testkit::{Finished, MODEL, Program, Signal, send};
use serde_json::json;

use crate::setup::{ended_with, program, says, with_model};

const KEY: &str = "sk-a-wrong-key-of-32-letters-----";

/// Whether the program has left anything in its home.
fn has_kept(program: &Program) -> bool {
    program.home().read_dir().unwrap().next().is_some()
}

// proves FC-2, FC-6
#[tokio::test]
async fn what_was_typed_wrong_exits_2_before_anything_is_made() {
    for (args, code) in [
        (&["run"][..], "invalid_params"),
        (&["run", "go", "--bogus"], "invalid_params"),
        (&["run", "go", "--approval", "yolo"], "invalid_params"),
        (&["run", "go", "--max-iterations", "0"], "invalid_params"),
        (&["boil"], "invalid_params"),
        (&["memory", "show", ""], "invalid_params"),
        (&["memory", "forget", ""], "invalid_params"),
        (&["serve", "--host", "localhost"], "invalid_params"),
        (&["run", ""], "blank_content"),
        (&["run", " \t\u{3000}\n"], "blank_content"),
        (&["run", "go", "--session", "\u{7}"], "invalid_params"),
    ] {
        let program = program();
        let said = program.run(args).await;
        let first = said.stderr.lines().next().unwrap_or_default();
        assert_eq!(said.code, Some(2), "{args:?}: {said:?}");
        assert!(first.starts_with("samovar: "), "{args:?}: {said:?}");
        assert!(first.ends_with(&format!(" [{code}]")), "{args:?}: {said:?}");
        assert!(!has_kept(&program), "{args:?}");
    }
}

// proves FC-2
#[tokio::test]
async fn a_prompt_from_stdin_has_its_bounds() {
    let program = program();
    for (input, code) in [
        (vec![b'a'; 1024 * 1024 + 1], "body_too_large"),
        (b"\xff".to_vec(), "invalid_params"),
        (b" \n".to_vec(), "blank_content"),
        (Vec::new(), "blank_content"),
    ] {
        let said = program.run_with_stdin(["run", "-"], Some(input)).await;
        ended_with(&said, 2, code);
    }
    assert!(!has_kept(&program));
}

// proves FC-2
#[tokio::test]
async fn an_unknown_session_exits_2() {
    let said = program().run(["run", "--session", "nobody", "go"]).await;
    ended_with(&said, 2, "unknown_session");
}

// proves FC-2, FC-6
#[tokio::test]
async fn what_is_configured_wrong_exits_3() {
    for (name, value, code) in [
        ("SAMOVAR_TOKEN", "short", "config_wrong_value"),
        ("SAMOVAR_LOG", "a=b=c", "config_wrong_value"),
        ("SAMOVAR_PORT", "http", "config_wrong_type"),
        ("SAMOVAR_HOST", "localhost", "config_wrong_value"),
        ("SAMOVAR__SERVER__PROT", "1", "config_unknown_key"),
        ("AGENT_MODEL", "a\u{1b}b", "config_wrong_value"),
        ("DATA_DIR", "/dev/null", "data_dir_unusable"),
        ("DATA_DIR", "/proc/nowhere", "data_dir_unusable"),
        ("HOME", "", "data_dir_unusable"),
    ] {
        let program = program().set(name, value);
        program.file("data/not-ours", "");
        ended_with(&program.run(["serve"]).await, 3, code);
    }
    let said = program().run(["run", "--workspace", "nowhere", "go"]).await;
    ended_with(&said, 3, "workspace_unusable");
}

#[tokio::test]
async fn an_empty_variable_counts_as_none() {
    let mut program = program();
    for name in [
        "AGENT_MODEL",
        "DATA_DIR",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "SAMOVAR_LOG",
    ] {
        program = program.set(name, "");
    }
    program.run(["run", "hello"]).await.exits(0);
}

// proves FC-2, FC-4
#[tokio::test]
async fn a_model_that_cannot_be_used_exits_4_and_is_not_replaced() {
    for (name, value) in [
        ("AGENT_MODEL", "no-such-model"),
        ("AGENT_MODEL", "gpt-5-mini"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"),
        ("SAMOVAR_REQUIRE_MODEL", "1"),
    ] {
        let program = program().set(name, value);
        let said = program.run(["run", "go"]).await;
        ended_with(&said, 4, "unusable_model");
        assert_eq!(said.stdout, "");
        assert!(!has_kept(&program), "{value}");
    }
}

// proves FC-2, FC-6, AS-6
#[tokio::test]
async fn calls_that_failed_exit_1_only_where_nothing_was_done_or_the_same_failed_again() {
    let edit = || {
        call(
            "edit_file",
            json!({"path": "a.txt", "old": "none", "new": "x"}),
        )
    };
    let write = || call("write_file", json!({"path": "b.txt", "content": "x"}));
    let read = || call("read_file", json!({"path": "absent.txt"}));
    let stop = || say("That is all.");
    for (script, failed) in [
        (vec![read(), stop()], None),
        (vec![write(), edit(), stop(), stop()], None),
        (vec![edit(), stop(), stop()], Some("failed_call")),
        (vec![read(), read(), read()], Some("repeated_call")),
    ] {
        let (program, _model) = with_model(script).await;
        program.file("a.txt", "some\n");
        let said = program.run(["run", "go"]).await;
        match failed {
            None => assert_eq!((said.code, &*said.stdout), (Some(0), "That is all.\n")),
            Some(code) => ended_with(&said, 1, code),
        }
    }
}

// proves FC-2, FC-6
#[tokio::test]
async fn a_refused_key_exits_5() {
    let model = ModelServer::builder()
        .key("another")
        .start([say("no")])
        .await
        .unwrap();
    let program = program()
        .set("OPENAI_API_KEY", KEY)
        .set("OPENAI_BASE_URL", &model.base_url());
    let said = program.run(["run", "go"]).await;
    ended_with(&said, 5, "provider_auth");
    assert!(said.stderr.contains("check OPENAI_API_KEY"), "{said:?}");
    assert_eq!(said.stdout, "");
}

// proves FC-2, FC-6
#[tokio::test]
async fn a_model_server_that_is_down_exits_5() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let program = program()
        .set("CUSTOM_BASE_URL", &format!("http://127.0.0.1:{port}/v1"))
        .set("AGENT_MODEL", "custom/any");
    let said = program.run(["run", "go"]).await;
    ended_with(&said, 5, "provider_unreachable");
    assert_eq!(said.stdout, "");
}

// proves FC-2, FC-6
#[tokio::test]
async fn whatever_else_a_model_server_does_wrong_exits_5() {
    let cut = |reply: Reply| {
        reply.deltas_of(6).cut_at(
            Point::IntoDelta {
                deltas: 1,
                bytes: 9,
            },
            Ending::Close,
        )
    };
    for (reply, code, shown) in [
        (cut(say("half an answer")), "stream_cut", "half a\n"),
        (
            say("half an answer")
                .deltas_of(6)
                .cut_after(1, Ending::Reset),
            "stream_cut",
            "half a\n",
        ),
        (reset(), "stream_cut", ""),
        (fail(Failure::server_error()), "provider_error", ""),
        (fail(Failure::quota_exceeded()), "provider_rejected", ""),
        (
            fail(Failure::unknown_model("scripted")),
            "model_not_found",
            "",
        ),
        (
            page(200, "text/html", "<html>Please log in</html>"),
            "bad_response",
            "",
        ),
        (
            say("half a")
                .and(Part::Failure(Failure::overloaded()))
                .deltas_of(6),
            "provider_error",
            "half a\n",
        ),
        (say(""), "empty_answer", ""),
    ] {
        // An answer of nothing is asked for once more.
        let (program, _model) = with_model([reply.times(2)]).await;
        let said = program.run(["run", "go"]).await;
        ended_with(&said, 5, code);
        assert_eq!(said.stdout, shown, "{code}: {said:?}");
    }
}

// proves FC-2
#[tokio::test]
async fn a_call_that_is_denied_exits_6_and_changes_nothing() {
    for level in ["read-only", "supervised"] {
        let write = json!({"path": "new.txt", "content": "x"});
        let (program, _model) = with_model([call("write_file", write), say("I may not.")]).await;

        let said = program.run(["run", "--approval", level, "go"]).await;

        ended_with(&said, 6, "approval_denied");
        assert!(said.stderr.contains("\n! write_file: denied: "), "{said:?}");
        assert_eq!(said.stdout, "I may not.\n");
        assert!(!program.folder().join("new.txt").exists());
    }
}

// proves FC-2
#[tokio::test]
async fn a_turn_that_uses_up_its_passes_exits_7() {
    let (program, model) = with_model([call("list_dir", json!({"path": "."})).forever()]).await;
    let said = program.run(["run", "--max-iterations", "2", "go"]).await;
    ended_with(&said, 7, "max_iterations");
    assert_eq!(model.prompts().len(), 2);
}

// proves SA-12, SA-11, FC-2
#[tokio::test]
async fn a_turn_that_uses_up_its_budget_exits_7_and_the_list_shows_what_is_left() {
    let listing = call("list_dir", json!({"path": "."})).forever();
    let (program, model) = with_model([listing]).await;
    let money = ["run", "--budget-usd", "0.5", "--budget-steps", "2", "go"];
    let elsewhere = self::program()
        .set("CUSTOM_BASE_URL", "http://192.0.2.1/v1")
        .set("AGENT_MODEL", MODEL);
    ended_with(&elsewhere.run(money).await, 2, "unpriced_model");

    // A server of this machine costs nothing.
    let said = program.run(money).await;
    ended_with(&said, 7, "budget");
    assert_eq!(model.prompts().len(), 2);

    let program = program.set("SAMOVAR__MODELS__PRICES", "custom 1 2");
    let said = program.run(money).await;
    ended_with(&said, 7, "budget");
    assert!(
        said.stderr.contains("the budget of steps is used up"),
        "{said:?}"
    );
    let listed = program.run(["turns", "list"]).await.stdout;
    let [_, _free, shown] = listed.split("budget (steps)").collect::<Vec<_>>()[..] else {
        panic!("{listed}");
    };
    assert!(shown.contains("  $0.00"), "{listed}");
    assert!(shown.contains("  left: 0 steps, $0.49"), "{listed}");
}

// proves FC-2
#[tokio::test]
async fn a_data_directory_that_somebody_holds_who_does_not_answer_exits_8() {
    let program = program();
    program.file("data/journal/keep", "");
    let lock = std::fs::File::create(program.folder().join("data/lock")).unwrap();
    lock.lock().unwrap();
    for args in [&["sessions", "list"][..], &["serve"]] {
        let named = args.iter().chain(&["--data-dir", "data"]);
        let said = program.run(named).await;
        ended_with(&said, 8, "data_dir_busy");
        assert_eq!(said.stdout, "");
    }
    // Who wants a turn waits for who may be about to leave.
    let said = program
        .run(["run", "go", "--timeout", "1", "--data-dir", "data"])
        .await;
    ended_with(&said, 124, "timeout");
}

// proves AS-14, FC-6
#[tokio::test]
async fn a_run_whose_models_server_is_down_says_at_once_that_it_asks_again_and_can_be_stopped() {
    let program = program().set("CUSTOM_BASE_URL", "http://127.0.0.1:1/v1");
    let run = program.command(["run", "go", "--model", "custom/x"]);
    let mut run = { run }.spawn().unwrap();

    says(&mut run, "retrying in").await;
    send(Signal::INT, &run);

    let said = Finished::of(run).await;
    ended_with(&said, 130, "cancelled");
}

// proves FC-6
#[tokio::test]
async fn an_answer_that_was_cut_off_says_so() {
    let cut = say("The beginning").finish(Finish::Length).forever();
    let (program, _model) = with_model([cut]).await;
    let said = program.run(["run", "go"]).await.exits(0);
    assert!(said.stdout.starts_with("The beginning"), "{said:?}");
    assert!(said.stderr.contains("the answer was cut off"), "{said:?}");
}
