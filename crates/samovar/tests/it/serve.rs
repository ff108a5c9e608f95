//! `samovar serve`: how it starts, how it is refused, how it ends.

use std::net::TcpListener;
use std::time::Duration;

use reqwest::Method;
use samovar_model_server::{Gate, When, say};
use samovar_testkit::{Finished, Serving, Signal};
use serde_json::json;

use crate::setup::{ended_with, last, messages, program, text, with_model};

/// Shorter than the time that a drain gives to running turns, and much longer than any other step.
const BEFORE_THE_DRAIN_ENDS: Duration = Duration::from_secs(9);

/// Waits until a probe says that the server takes no more work.
async fn not_ready(server: &Serving) {
    let mut status = 200;
    while status == 200 {
        status = server
            .answer(server.request(Method::GET, "/readyz"))
            .await
            .status;
    }
    assert_eq!(status, 503);
}

// proves FC-1, FC-4, TL-11
#[tokio::test]
async fn the_banner_says_where_it_is_what_it_keeps_and_who_answers() {
    let program = program();
    let server = program.serve(&[]).await;

    let work = program.folder().canonicalize().unwrap();
    let work = work.display();
    let code = server.banner.split("/#login=").nth(1).unwrap();
    let code = code.split(' ').next().unwrap();
    let expected = format!(
        "samovar listens on http://{address}\n\
         page: http://{address}/#login={code} (works once, within ten minutes; samovar open makes \
         another)\n\
         token: in {work}/data/token\n\
         data: {work}/data, because no other folder was named\n\
         workspace: {work}\n\
         model: demo (rules, not a language model), because no provider key is set; \
         to connect one: export OPENAI_API_KEY=YOUR_KEY\n\
         approval: supervised\n",
        address = server.address
    );
    assert_eq!(server.banner, expected);
    assert_eq!(code.len(), 32);
    let session = server.session().await;
    assert!(text(&server.turn(&session, "hello").await).contains("demo"));
}

#[tokio::test]
async fn a_folder_named_data_that_is_not_ours_is_left_alone() {
    let program = program();
    program.file("data/prices.csv", "a,b\n");

    let server = program.serve(&[]).await;

    let elsewhere = program.home().join(".local/share/samovar");
    assert!(
        server.banner.contains(&elsewhere.display().to_string()),
        "{}",
        server.banner
    );
    let entries: Vec<_> = program.folder().join("data").read_dir().unwrap().collect();
    assert_eq!(entries.len(), 1);
}

// proves FC-2, FC-6
#[tokio::test]
async fn a_second_server_on_a_data_directory_says_so_and_exits_8() {
    let program = program();
    let first = program.serve(&[]).await;

    let second = program.run(["serve", "--port", "0"]).await;

    ended_with(&second, 8, "data_dir_busy");
    first.session().await;
}

// proves FC-2, FC-6
#[tokio::test]
async fn a_port_that_is_taken_exits_8_and_lets_go_of_the_data_directory() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let program = program();

    let said = program.run(["serve", "--port", &port]).await;

    ended_with(&said, 8, "address_unusable");
    assert!(
        said.stderr.contains(&port) && said.stderr.contains("--port"),
        "{said:?}"
    );
    program.serve(&[]).await.session().await;
}

// proves TL-12, FC-2
#[tokio::test]
async fn an_address_that_others_can_reach_is_refused_before_anything_is_made() {
    for host in ["0.0.0.0", "::", "192.0.2.1"] {
        let program = program();
        let said = program.run(["serve", "--host", host]).await;
        ended_with(&said, 3, "address_refused");
        assert!(!program.folder().join("data").exists());
    }
}

// proves TL-12, FC-1
#[tokio::test]
async fn the_owners_commands_reach_a_server_that_listens_for_a_proxy() {
    let program = program()
        .set("SAMOVAR_TOKEN", "the-token-of-an-operator")
        .set("SAMOVAR__SERVER__HOSTS", "samovar.example");
    // No loopback address by its form, and yet no other machine reaches it.
    let mapped = ["--host", "::ffff:127.0.0.1", "--behind-proxy"];
    let server = program.serve(&mapped).await;
    assert!(server.address.starts_with("[::ffff:127.0.0.1]:"));
    program.run(["stats"]).await.exits(0);
    let shown = program.run(["token", "show"]).await;
    assert_eq!(shown.stdout, "the-token-of-an-operator\n");
}

// proves TL-11, FC-1
#[tokio::test]
async fn the_owners_token_is_shown_with_a_server_and_without_one() {
    let program = program();
    let none = program.run(["token", "show"]).await;
    ended_with(&none, 2, "unknown_token");
    assert!(!program.folder().join("data").exists());

    let server = program.serve(&[]).await;
    let token = std::fs::read_to_string(program.folder().join("data/token")).unwrap();
    let shown = program.run(["token", "show"]).await;
    assert_eq!((shown.code, &shown.stdout), (Some(0), &token), "{shown:?}");
    let mut other = program.command(["token", "show"]);
    other.env("SAMOVAR_TOKEN", "the-token-of-another-shell");
    let other = Finished::with_stdin(other, None).await;
    ended_with(&other, 2, "unauthorized");

    server.kill().await;
    let json = program.run(["token", "show", "--json"]).await;
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["token"], token.trim());
    assert_eq!(json["schema"], "samovar.owner_token/1");
}

// proves FC-4
#[tokio::test]
async fn a_named_model_that_cannot_be_used_ends_the_start() {
    let program = program();
    let said = program.run(["serve", "--model", "no-such-model"]).await;
    ended_with(&said, 4, "unusable_model");
    assert!(!program.folder().join("data").exists());
}

// proves FC-4
#[tokio::test]
async fn a_server_that_must_not_use_demo_serves_and_says_that_it_has_no_model() {
    let program = program().set("SAMOVAR_REQUIRE_MODEL", "1");
    let server = program.serve(&[]).await;
    assert!(
        server.banner.contains("\nmodel: none, because "),
        "{}",
        server.banner
    );
    let refused = server.call("createSession", json!({})).await;
    assert_eq!((refused.status, refused.code()), (422, "unusable_model"));
}

// proves TL-11
#[tokio::test]
async fn the_token_is_made_once_and_nobody_comes_in_without_it() {
    let program = program();
    let server = program.serve(&[]).await;
    server.session().await;
    let token = std::fs::read_to_string(program.folder().join("data/token")).unwrap();
    assert_eq!(token.trim().len(), 64);
    assert!(!server.banner.contains(token.trim()), "{}", server.banner);
    let stranger = samovar_testkit::Api::new(&server.address, "not-the-token");
    assert_eq!(stranger.call("listTools", json!({})).await.status, 401);

    server.kill().await;
    program.serve(&[]).await;
    let again = std::fs::read_to_string(program.folder().join("data/token")).unwrap();
    assert_eq!(again, token);
}

// proves DU-11
#[tokio::test]
async fn sigterm_lets_a_running_turn_end_and_takes_no_new_one() {
    let rest = Gate::new("rest");
    let (program, model) =
        with_model([say("half an answer").deltas_of(6).hold_after(1, &rest)]).await;
    let server = program.serve(&[]).await;
    let session = server.session().await;
    let mut stream = server.say(&session, "go").await;
    stream.until("text_delta").await;

    server.send(Signal::TERM);
    not_ready(&server).await;
    let post = json!({"sessionId": session, "content": "more"});
    for (method, params) in [("sendMessage", post), ("createSession", json!({}))] {
        let refused = server.call(method, params).await;
        assert_eq!(
            (refused.status, refused.code()),
            (503, "unavailable"),
            "{method}"
        );
        assert!(refused.headers.contains_key("retry-after"), "{method}");
    }
    assert_eq!(messages(&server, &session).await, ["user: go"]);
    model.open(&rest).unwrap();

    assert_eq!(last(&stream.rest().await)["type"], "completed");
    server.end().await.exits(0);
    let server = program.serve(&[]).await;
    let kept = messages(&server, &session).await;
    assert_eq!(kept, ["user: go", "assistant: half an answer"]);
    assert_eq!(model.prompts().len(), 1);
}

// proves DU-11
#[tokio::test]
async fn a_message_that_waits_when_sigterm_comes_is_left_to_the_next_start() {
    let rest = Gate::new("rest");
    let (program, model) = with_model([
        say("half an answer").deltas_of(6).hold_after(1, &rest),
        say("the second answer"),
    ])
    .await;
    let server = program.serve(&[]).await;
    let session = server.session().await;
    let mut first = server.say(&session, "first").await;
    first.until("text_delta").await;
    let waiting = json!({"sessionId": session, "messageId": "m2", "content": "second"});
    let mut second = server.stream(waiting.clone()).await;

    server.send(Signal::TERM);
    not_ready(&server).await;
    model.open(&rest).unwrap();

    assert_eq!(last(&first.rest().await)["type"], "completed");
    assert_eq!(last(&second.rest().await)["code"], "server_restart");
    assert_eq!(server.end().await.code, Some(0));
    assert_eq!(model.prompts().len(), 1);
    let server = program.serve(&[]).await;
    let answer = server.stream(waiting).await.rest().await;
    assert_eq!(text(&answer), "the second answer");
}

// proves DU-11
#[tokio::test]
async fn a_second_signal_stops_at_once_and_leaves_the_turn_to_the_next_start() {
    let never = Gate::new("never");
    let (program, model) = with_model([
        say("half an answer")
            .deltas_of(6)
            .hold_after(1, &never)
            .when(When::user("first")),
        say("well").when(When::user("second")),
    ])
    .await;
    let server = program.serve(&[]).await;
    let session = server.session().await;
    let mut stream = server.say(&session, "first").await;
    stream.until("text_delta").await;

    server.send(Signal::TERM);
    not_ready(&server).await;
    server.send(Signal::INT);
    let said = tokio::time::timeout(BEFORE_THE_DRAIN_ENDS, server.end())
        .await
        .unwrap();

    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(!said.stderr.contains("ERROR"), "{said:?}");
    assert_eq!(last(&stream.rest().await)["code"], "server_restart");
    model.wait_for_disconnect().await;
    let server = program.serve(&[]).await;
    assert_eq!(text(&server.turn(&session, "second").await), "well");
    let kept = messages(&server, &session).await;
    assert_eq!(kept, ["user: first", "user: second", "assistant: well"]);
}

#[tokio::test]
async fn an_idle_server_ends_at_the_first_signal() {
    for signal in [Signal::TERM, Signal::INT] {
        let program = program();
        let server = program.serve(&[]).await;
        server.session().await;
        server.send(signal);
        server.end().await.exits(0);
    }
}
