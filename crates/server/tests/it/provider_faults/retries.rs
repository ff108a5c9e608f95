//! What follows a failure: the same model again, another one, and at last the end.

use std::time::Duration;

use samovar_model_server::{Ending, Failure, Finish, Part, Reply, fail, hang_up, reset, say};
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
        (
            "stream_cut",
            say("half an answer")
                .finish(Finish::Absent)
                .without_terminal(),
        ),
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
