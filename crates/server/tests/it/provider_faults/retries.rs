//! What follows a failure: the same model again, another one, and at last the end.

use std::time::Duration;

use samovar_model_server::{
    Ending, Failure, Finish, Part, Reply, TokenCounts, call, fail, hang_up, reset, say, think,
};
use samovar_testkit::{App, AppBuilder, Frame};
use serde_json::{Value, json};

use super::check_messages;
use crate::shown::{kinds, last, text};

/// A server that tries so often, and soon.
fn trying(count: u32) -> AppBuilder {
    AppBuilder::new().with(|config| {
        let retry = &mut config.settings.retry;
        retry.count = count;
        retry.first_wait = Duration::from_millis(4);
        retry.longest_wait = Duration::from_millis(20);
    })
}

/// The events of these types in a stream of the full profile.
fn whole<'f>(frames: &'f [Frame], kind: &str) -> Vec<&'f Value> {
    let of_kind = frames.iter().filter(|frame| frame.kind() == kind);
    of_kind.map(|frame| &frame.data).collect()
}

async fn full_turn(app: &App, session: &str) -> Vec<Frame> {
    let path = "/services/agent/sendMessage/stream?profile=full";
    let params = json!({"sessionId": session, "content": "go"});
    let request = app.request(reqwest::Method::POST, path).json(&params);
    let response = request.send().await.unwrap();
    samovar_testkit::EventStream::new(response).rest().await
}

// proves AS-14, AS-7
#[tokio::test]
async fn what_passes_is_tried_again_and_the_void_attempts_stand_in_the_log() {
    let ways: [(&str, Reply); 11] = [
        ("provider_timeout", fail(Failure::new(408, "late"))),
        ("provider_error", fail(Failure::new(409, "conflict"))),
        (
            "provider_rate_limited",
            fail(Failure::rate_limited(Duration::ZERO)),
        ),
        ("provider_error", fail(Failure::server_error())),
        ("provider_error", fail(Failure::overloaded())),
        ("provider_error", fail(Failure::new(529, "hot"))),
        ("stream_cut", hang_up()),
        ("stream_cut", reset()),
        (
            "stream_cut",
            say("half an answer").cut_after(2, Ending::Close),
        ),
        ("stream_cut", say("half an answer").finish(Finish::Absent)),
        (
            "provider_error",
            say("half an answer").and(Part::Failure(Failure::overloaded())),
        ),
    ];
    let count = u32::try_from(ways.len()).unwrap();
    let codes: Vec<&str> = ways.iter().map(|(code, _)| *code).collect();
    let mut script: Vec<Reply> = ways.into_iter().map(|(_, reply)| reply).collect();
    script.push(say("well"));
    let app = trying(count).start(script).await;
    let session = app.session().await;

    let frames = full_turn(&app, &session).await;

    let resets = whole(&frames, "step_reset");
    let told: Vec<_> = resets
        .iter()
        .map(|reset| reset["code"].as_str().unwrap())
        .collect();
    assert_eq!(told, codes);
    let starts = whole(&frames, "step_started");
    let attempts: Vec<_> = starts
        .iter()
        .map(|start| start["attempt"].as_u64().unwrap())
        .collect();
    assert_eq!(attempts, (1..=12).collect::<Vec<_>>());
    assert!(starts.iter().all(|start| start["iteration"] == 1));
    for (at, frame) in frames.iter().enumerate() {
        if frame.kind() == "step_reset" {
            assert_eq!(
                frames[at + 1].kind(),
                "step_started",
                "nothing between the two"
            );
        }
    }
    let last = whole(&frames, "turn_finished");
    assert_eq!(last[0]["reason"], json!({"model": "stop"}));
    check_messages(&app, &session, &["go", "well"]).await;
}

// proves AS-14, AS-7
#[tokio::test]
async fn an_old_client_sees_the_pass_begin_again() {
    let half = say("half an answer")
        .deltas_of(4)
        .cut_after(2, Ending::Close);
    let app = trying(1).start([half, say("well")]).await;
    let frames = app.turn(&app.session().await, "go").await;
    let mut kinds = kinds(&frames);
    kinds.dedup();
    assert_eq!(
        kinds,
        [
            "iteration",
            "text_delta",
            "iteration",
            "text_delta",
            "completed",
            "[DONE]"
        ]
    );
    let iterations = frames.iter().filter(|frame| frame.kind() == "iteration");
    assert!(
        iterations
            .map(|frame| &frame.data["iteration"])
            .eq([&json!(1), &json!(1)])
    );
    assert_eq!(text(&frames), "half an well");
}

// proves AS-14
#[tokio::test]
async fn the_budget_is_the_turns_over_all_of_its_passes() {
    let again = || fail(Failure::server_error());
    let list = || call("list_dir", json!({"path": "."}));
    let script = [again(), list(), again(), list(), again(), say("never")];
    let app = trying(2).start(script).await;
    let session = app.session().await;

    let frames = app.turn(&session, "go").await;

    assert_eq!(last(&frames)["code"], "provider_error");
    assert_eq!(app.model.prompts().len(), 5, "the sixth is not asked");
    // The next turn has a budget of its own.
    assert_eq!(text(&app.turn(&session, "again").await), "never");
}

// proves AS-14
#[tokio::test]
async fn what_the_same_question_would_meet_again_is_not_asked_again() {
    for (status, code) in [
        (400, "provider_rejected"),
        (401, "provider_auth"),
        (404, "provider_rejected"),
        (422, "provider_rejected"),
    ] {
        let app = trying(5)
            .start([fail(Failure::new(status, "no")), say("never")])
            .await;
        let frames = app.turn(&app.session().await, "go").await;
        assert_eq!(last(&frames)["code"], code);
        assert_eq!(app.model.prompts().len(), 1, "{status}");
    }
}

// proves AS-14
#[tokio::test]
async fn a_server_that_asks_for_more_patience_than_there_is_is_not_waited_for() {
    let hour = fail(Failure::rate_limited(Duration::from_hours(1)));
    let app = trying(5).start([hour, say("never")]).await;
    let session = app.session().await;
    let frames = app.turn(&session, "go").await;
    assert_eq!(last(&frames)["code"], "provider_rate_limited");
    assert_eq!(app.model.prompts().len(), 1);
}

// proves AS-14
#[tokio::test]
async fn retry_after_is_honoured_and_its_wait_ends_with_a_cancel() {
    let minute = || fail(Failure::rate_limited(Duration::from_mins(1)));
    let app = trying(5).start([minute(), say("never")]).await;
    let session = app.session().await;
    let path = "/services/agent/sendMessage/stream?profile=full";
    let params = json!({"sessionId": session, "content": "go"});
    let request = app.request(reqwest::Method::POST, path).json(&params);
    let mut stream = samovar_testkit::EventStream::new(request.send().await.unwrap());
    let waits = stream.until("step_reset").await;
    let reason = waits.last().unwrap().data["reason"].as_str().unwrap();
    assert!(reason.ends_with("retrying in 60 s"), "{reason}");

    let stopped = app.ok("cancel", json!({"sessionId": session})).await;

    assert_eq!(stopped["cancelled"], true);
    let rest = stream.rest().await;
    let ends: Vec<_> = rest.iter().map(Frame::kind).collect();
    assert_eq!(ends, ["turn_finished", ""]);
    assert_eq!(rest[0].data["reason"], "cancelled");
    assert_eq!(app.model.prompts().len(), 1);
}

// proves AS-14, DU-11
#[tokio::test]
async fn a_server_that_stops_does_not_wait_for_the_next_attempt() {
    let minute = fail(Failure::rate_limited(Duration::from_mins(1)));
    let app = trying(5)
        .with(|config| config.drain = Duration::from_hours(1))
        .start([minute, say("never")])
        .await;
    let session = app.session().await;
    let path = "/services/agent/sendMessage/stream?profile=full";
    let params = json!({"sessionId": session, "content": "go"});
    let request = app.request(reqwest::Method::POST, path).json(&params);
    let mut stream = samovar_testkit::EventStream::new(request.send().await.unwrap());
    stream.until("step_reset").await;

    // It would take an hour if the turn were waited for.
    app.stop().await;

    let rest = stream.rest().await;
    assert!(
        rest.iter().all(|frame| frame.kind() != "turn_finished"),
        "{rest:?}"
    );
}

/// A server whose model falls back to others of the same model server.
fn falling_back(count: u32, to: &[&str]) -> AppBuilder {
    let to: Vec<String> = to.iter().map(|name| (*name).to_owned()).collect();
    trying(count).with(|config| config.settings.fallback = to)
}

fn asked(app: &App) -> Vec<String> {
    let prompts = app.model.prompts();
    let names = prompts
        .iter()
        .map(|prompt| prompt.body()["model"].as_str().unwrap().to_owned());
    names.collect()
}

// proves AS-14
#[tokio::test]
async fn fallback_models_are_asked_in_their_order_and_the_step_names_who_is_asked() {
    let script = [
        fail(Failure::server_error()),
        fail(Failure::server_error()),
        fail(Failure::refused_key()),
        call("list_dir", json!({"path": "."})),
        say("well"),
        say("and again"),
    ];
    let to = ["openai/gpt-5", "custom/second", "custom/third"];
    let app = falling_back(1, &to).start(script).await;
    let session = app.session().await;

    let frames = full_turn(&app, &session).await;

    let third = ["scripted", "scripted", "second", "third", "third"];
    assert_eq!(
        asked(&app),
        third,
        "the one that answers stays for the turn"
    );
    let starts = whole(&frames, "step_started");
    let named: Vec<_> = starts.iter().map(|start| start["model"].as_str()).collect();
    let third = Some("custom/third");
    assert_eq!(named, [None, None, Some("custom/second"), third, third]);
    let messages = whole(&frames, "message_finished");
    let answer = &messages.last().unwrap()["message"];
    assert_eq!(answer["model"], "custom/third");
    app.turn(&session, "next").await;
    assert_eq!(
        asked(&app).last().unwrap(),
        "scripted",
        "the next turn begins with its own"
    );
}

// proves AS-14
#[tokio::test]
async fn a_fallback_model_that_is_named_twice_is_asked_once() {
    let nobody = fail(Failure::server_error()).times(9);
    let to = ["custom/second", "custom/third", "custom/second"];
    let app = falling_back(0, &to).start([nobody]).await;

    let frames = app.turn(&app.session().await, "go").await;

    assert_eq!(last(&frames)["code"], "provider_error");
    assert_eq!(asked(&app), ["scripted", "second", "third"]);
}

// proves AS-14
#[tokio::test]
async fn when_nobody_answers_there_is_one_error_with_what_the_last_one_said() {
    let script = [
        fail(Failure::new(401, "first")),
        fail(Failure::new(404, "second")),
        say("so far so good")
            .deltas_of(4)
            .cut_after(2, Ending::Close),
    ];
    let app = falling_back(0, &["custom/second", "custom/third"])
        .start(script)
        .await;
    let session = app.session().await;

    let frames = app.turn(&session, "go").await;

    let errors = kinds(&frames)
        .iter()
        .filter(|kind| **kind == "error")
        .count();
    assert_eq!((errors, &last(&frames)["code"]), (1, &json!("stream_cut")));
    check_messages(&app, &session, &["go", "so far s"]).await;
}

// proves FC-6, AS-14
#[tokio::test]
async fn an_answer_of_nothing_is_asked_for_once_more_and_then_an_error_of_its_own() {
    for nothing in [Reply::default(), think("hm"), say(" \n")] {
        let app = trying(5).start([nothing.clone().times(2)]).await;
        let session = app.session().await;
        let frames = app.turn(&session, "go").await;
        assert_eq!(last(&frames)["code"], "empty_answer");
        let message = last(&frames)["message"].as_str().unwrap();
        assert!(
            message.contains("kept, send the message again"),
            "{message}"
        );
        assert_eq!(app.model.prompts().len(), 2);
        // What is blank is shown while it comes, but is no message.
        check_messages(&app, &session, &["go"]).await;

        let app = trying(0).start([nothing, say("well")]).await;
        assert_eq!(
            text(&app.turn(&app.session().await, "go").await).trim(),
            "well"
        );
    }
}

// proves AS-18
#[tokio::test]
async fn an_answer_that_is_void_is_paid_for_all_the_same() {
    let counts = TokenCounts {
        input: 10,
        output: 7,
        ..TokenCounts::default()
    };
    let app = App::start([think("hm").usage(counts).times(2)]).await;
    let frames = app.turn(&app.session().await, "go").await;
    assert_eq!(last(&frames)["tokens"], 34);
    let tokens = json!({"total": 34, "input": 20, "output": 14});
    assert_eq!(app.ok("getStats", json!({})).await["tokens"], tokens);
}

// proves AS-6
#[tokio::test]
async fn a_refusal_without_a_word_ends_the_turn_in_the_providers_own_word() {
    let no = Reply::default().finish(Finish::ContentFilter);
    let app = trying(5).start([no, say("well")]).await;
    let session = app.session().await;
    let frames = app.turn(&session, "go").await;
    assert_eq!(last(&frames)["finishReason"], "content_filter");
    check_messages(&app, &session, &["go"]).await;
    assert_eq!(text(&app.turn(&session, "again").await), "well");

    let no = Reply::default().finish(Finish::Other("refusal".to_owned()));
    let app = AppBuilder::new()
        .provider("anthropic", "claude-x")
        .start([no])
        .await;
    let frames = app.turn(&app.session().await, "go").await;
    assert_eq!(last(&frames)["finishReason"], "refusal");
}

// proves AS-10
#[tokio::test]
async fn a_model_that_pauses_goes_on_from_what_it_has_said() {
    let paused = say("First, ").finish(Finish::Other("pause_turn".to_owned()));
    let app = AppBuilder::new()
        .provider("anthropic", "claude-x")
        .start([paused, say("then.")])
        .await;
    let session = app.session().await;

    let frames = app.turn(&session, "go").await;

    assert_eq!(text(&frames), "First, then.");
    assert_eq!(last(&frames)["totalIterations"], 2);
    let second = app.model.prompt(1).await.unwrap();
    let said = second.body()["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!(said["role"], "assistant");
    check_messages(&app, &session, &["go", "First, ", "then."]).await;
}
