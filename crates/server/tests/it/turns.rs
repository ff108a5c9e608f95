//! A message over HTTP: what it sets, what refuses it, clients that go away, and what an undo leaves to
//! streams. What turns do with it is tested beside the engine.

use samovar_model_server::{ExchangeEnd, Gate, call, say};
use samovar_testkit::{App, AppBuilder, EventStream};
use serde_json::{Value, json};

use crate::shown::{kinds, last, text};

fn with(session: &str, more: &Value) -> Value {
    let mut params = json!({"sessionId": session, "content": "go"});
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    params
}

// proves AS-9
#[tokio::test]
async fn a_client_that_goes_away_does_not_stop_the_turn() {
    let gate = Gate::new("mid");
    let app = App::start([say("a long answer").hold_after(1, &gate), say("ok")]).await;
    let session = app.session().await;

    let mut stream = app.say(&session, "go").await;
    stream.until("text_delta").await;
    drop(stream);
    app.model.open(&gate).unwrap();

    assert_eq!(
        app.model.prompt(0).await.unwrap().end().await,
        ExchangeEnd::Complete
    );
    app.turn(&session, "more").await;
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    assert_eq!(rows[1]["content"], "a long answer");
}

// proves AS-9
#[tokio::test]
async fn cancel_closes_the_models_stream_and_keeps_what_was_said() {
    let gate = Gate::new("never");
    let app = App::start([say("some words").hold_after(1, &gate), say("again")]).await;
    let session = app.session().await;
    let mut stream = app.say(&session, "go").await;
    stream.until("text_delta").await;

    let cancelled = app.ok("cancel", json!({"sessionId": session})).await;

    assert_eq!(cancelled, json!({"cancelled": true}));
    assert_eq!(
        app.model.prompt(0).await.unwrap().end().await,
        ExchangeEnd::ClientLeft
    );
    let rest = stream.rest().await;
    assert_eq!(rest[rest.len() - 2].data["finishReason"], "cancelled");
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    assert_eq!(rows[1]["content"], "some");
    let again = app.ok("cancel", json!({"sessionId": session})).await;
    assert_eq!(again, json!({"cancelled": false}));
    assert_eq!(text(&app.turn(&session, "next").await), "again");
}

// proves AS-8
#[tokio::test]
async fn streams_of_both_profiles_go_on_after_an_undo_as_if_nothing_had_been() {
    let app = App::start([say("an answer").forever()]).await;
    let session = app.session().await;
    let frames = app.turn(&session, "one").await;
    app.ok("undo", json!({"sessionId": session})).await;
    let again = app.turn(&session, "one").await;
    assert_eq!(kinds(&again), kinds(&frames));

    let path = "/services/agent/sendMessage/stream?profile=full";
    let body = json!({"sessionId": session, "content": "two"});
    let request = app.request(reqwest::Method::POST, path).json(&body);
    let full = EventStream::new(request.send().await.unwrap()).rest().await;
    assert_eq!(full[0].kind(), "message_finished");
    assert_eq!(last(&full)["type"], "turn_finished");
}

// proves AS-10
#[tokio::test]
async fn a_message_bounds_its_own_turn() {
    let app = App::start([call("list_dir", json!({})).forever()]).await;
    let session = app.session().await;
    for (bounds, finish_reason, iterations) in [
        (json!({"maxIterations": 2}), "max_iterations", 2),
        (json!({"budgetTokens": 1}), "budget", 0),
        (json!({"budgetSteps": 3}), "budget", 3),
    ] {
        let frames = app.stream(with(&session, &bounds)).await.rest().await;
        assert_eq!(last(&frames)["finishReason"], finish_reason);
        assert_eq!(last(&frames)["totalIterations"], iterations);
    }
}

// proves AS-3, AS-11
#[tokio::test]
async fn bounds_that_are_none_or_not_its_own_are_refused_and_nothing_is_kept() {
    let app = App::start([say("never")]).await;
    let session = app.session().await;
    for (bounds, parameter) in [
        (json!({"maxIterations": 0}), "maxIterations"),
        (json!({"maxIterations": 1001}), "maxIterations"),
        (json!({"budgetTokens": 0}), "budgetTokens"),
        (json!({"budgetSteps": 0}), "budgetSteps"),
        (json!({"budgetUsd": 0}), "budgetUsd"),
        (json!({"budgetUsd": 0.123_456_789_1}), "budgetUsd"),
        (json!({"budgetUsd": -1}), "budgetUsd"),
        (json!({"budgetWallSeconds": 0}), "budgetWallSeconds"),
        (json!({"approval": "yolo"}), "approval"),
        (json!({"delivery": "later"}), "delivery"),
        (json!({"maxIterations": 1, "delivery": "steer"}), "delivery"),
        (json!({"budgetTokens": 1, "delivery": "steer"}), "delivery"),
        (json!({"approval": "auto", "delivery": "steer"}), "delivery"),
    ] {
        let refused = app.call("sendMessage", with(&session, &bounds)).await;
        assert_eq!((refused.status, refused.code()), (400, "invalid_params"));
        assert_eq!(refused.body["details"]["parameter"], parameter, "{bounds}");
    }
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    assert_eq!(rows, json!([]));
}

// proves SA-12, SA-11
#[tokio::test]
async fn a_budget_is_shown_with_what_is_left_and_the_limit_that_cut_it() {
    // The price of a server on another machine is not known.
    let elsewhere = ("custom".to_owned(), "http://192.0.2.1/v1".to_owned());
    let app = AppBuilder::new()
        .provider("vllm", "here")
        .with(|config| config.providers.base_urls.extend([elsewhere]))
        .start([call("list_dir", json!({})).forever()])
        .await;
    let unpriced = json!({"sessionId": "unpriced", "model": "custom/there"});
    app.ok("createSession", unpriced).await;
    let money = with("unpriced", &json!({"budgetUsd": 0.5}));
    let refused = app.call("sendMessage", money).await;
    assert_eq!((refused.status, refused.code()), (422, "unpriced_model"));

    let session = app.session().await;
    let budget = json!({"budgetSteps": 2, "budgetTokens": 900_000});
    let frames = app.stream(with(&session, &budget)).await.rest().await;
    assert_eq!(last(&frames)["limit"], "steps");

    let path = format!("/api/turns?sessionId={session}");
    let request = app.request(reqwest::Method::GET, &path);
    let turns: Value = request.send().await.unwrap().json().await.unwrap();
    let [turn] = &turns.as_array().unwrap()[..] else {
        panic!("{turns}");
    };
    assert_eq!(
        (&turn["limit"], &turn["finishReason"]),
        (&json!("steps"), &json!("budget"))
    );
    assert_eq!(turn["budget"], json!({"steps": 2, "tokens": 900_000}));
    let tokens = turn["tokens"].as_u64().unwrap();
    assert_eq!(
        turn["left"],
        json!({"steps": 0, "tokens": 900_000 - tokens})
    );
}

// proves AS-11
#[tokio::test]
async fn a_busy_session_is_interrupted_steered_or_refuses_as_a_message_asks() {
    let never = Gate::new("never");
    let held = say("one two").deltas_of(3).hold_after(1, &never);
    let app = App::start([held.forever()]).await;
    let session = app.session().await;
    let mut running = app.say(&session, "go").await;
    running.until("text_delta").await;
    let deliver = |delivery: &str| with(&session, &json!({"delivery": delivery}));

    let busy = app.call("sendMessage", deliver("reject")).await;
    assert_eq!((busy.status, busy.code()), (409, "session_busy"));
    let _queued = app.stream(deliver("queue")).await;
    let _steers = app.stream(deliver("steer")).await;
    let mut urgent = app.stream(deliver("interrupt")).await;
    assert_eq!(last(&running.rest().await)["finishReason"], "cancelled");
    urgent.until("text_delta").await;
    assert_eq!(app.model.prompts().len(), 2, "it went before what waits");
}
