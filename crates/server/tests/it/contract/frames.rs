//! Streams, byte for byte.

use std::time::Duration;

use samovar_core::{Outcome, Reminders, ToolReply};
use samovar_model_server::{Gate, TokenCounts, say, think};
use samovar_testkit::{App, AppBuilder, TestTool};
use serde_json::{Value, json};

use crate::raw::{Request, Response};
use crate::shown::{kinds, last, text};

const STREAM: &str = "/services/agent/sendMessage/stream";

/// A frame, as it came.
struct Bytes<'a> {
    /// What stands behind `id: `.
    id: Option<&'a str>,
    /// What stands behind `data: `.
    data: &'a str,
}

/// Takes a stream apart, and accepts nothing but what AS-4 allows.
fn frames(body: &str) -> Vec<Bytes<'_>> {
    assert!(!body.contains('\r'), "lines end in LF alone");
    let frames = body.split_inclusive("\n\n").map(|frame| {
        let lines = frame
            .strip_suffix("\n\n")
            .expect("a frame ends in a blank line");
        let (data, id) = match lines.split_once('\n') {
            Some((data, id)) => (data, Some(id.strip_prefix("id: ").expect("an id line"))),
            None => (lines, None),
        };
        let data = data.strip_prefix("data: ").expect("a data line");
        assert!(!data.starts_with(' ') && !data.contains('\n'), "{frame:?}");
        Bytes { id, data }
    });
    frames.collect()
}

/// `epoch.seq` or `epoch.seq.k`, so that they can be compared; the frame without `k` is the last
/// of its event.
fn place(id: &str) -> (u64, u64, u64) {
    let mut numbers = id
        .split('.')
        .map(|number| number.parse::<u64>().expect("a number"));
    let (epoch, seq) = (numbers.next().unwrap(), numbers.next().unwrap());
    let part = numbers.next().unwrap_or(u64::MAX);
    assert_eq!(numbers.next(), None, "{id}");
    (epoch, seq, part)
}

async fn post(app: &App, target: &str, content: &str) -> Response {
    let body = json!({"sessionId": app.session().await, "content": content});
    let request = Request::new(app, "POST", target).with("accept", "text/event-stream");
    let response = request.json(body.to_string()).send().await;
    assert_eq!(response.status, 200, "{}", response.body);
    response
}

fn counts(input: u64, output: u64) -> TokenCounts {
    TokenCounts {
        input,
        output,
        ..TokenCounts::default()
    }
}

// proves AS-4, AS-5
#[tokio::test]
async fn a_stream_is_one_line_of_json_a_frame_with_its_id_and_done_at_the_end() {
    let answer = say("Hi there").deltas_of(3).usage(counts(10, 2));
    let app = App::start([answer]).await;

    let response = post(&app, STREAM, "hello").await;

    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    assert_eq!(response.header("cache-control"), Some("no-cache"));
    assert_eq!(response.header("x-accel-buffering"), Some("no"));
    let frames = frames(&response.body);
    let data: Vec<_> = frames.iter().map(|frame| frame.data).collect();
    let expected = [
        r#"{"type":"iteration","iteration":1,"maxIterations":20,"tokens":0}"#,
        r#"{"type":"text_delta","content":"Hi "}"#,
        r#"{"type":"text_delta","content":"the"}"#,
        r#"{"type":"text_delta","content":"re"}"#,
        r#"{"type":"completed","finishReason":"stop","totalIterations":1,"tokens":12}"#,
        "[DONE]",
    ];
    assert_eq!(data, expected);
    let ids: Vec<_> = frames.iter().filter_map(|frame| frame.id).collect();
    let (done, of_events) = ids.split_last().unwrap();
    assert_eq!(ids.len(), expected.len());
    assert_eq!(done, of_events.last().unwrap());
    assert!(
        of_events.is_sorted_by(|one, other| place(one) < place(other)),
        "{ids:?}"
    );
    let epoch = app.server().home().epoch();
    assert!(ids.iter().all(|id| place(id).0 == epoch), "{ids:?}");
}

// proves AS-4
#[tokio::test]
async fn no_text_of_a_model_can_break_its_frame() {
    let said = "a\nb\r\n\r\n\u{0}\u{85}\u{2028}\u{2029}\"\\ 😀й\n\ndata: [DONE]\n\nid: 1.1\n\n";
    let app = App::start([say(said).deltas_of(0), say(said).deltas_of(1)]).await;
    for _ in 0..2 {
        let response = post(&app, STREAM, "hello").await;
        let frames = frames(&response.body);
        let contents = frames
            .iter()
            .filter(|frame| frame.data != "[DONE]")
            .map(|frame| {
                let data: Value = serde_json::from_str(frame.data).expect(frame.data);
                data["content"].as_str().unwrap_or_default().to_owned()
            });
        assert_eq!(contents.collect::<String>(), said);
        assert_eq!(
            frames.iter().filter(|frame| frame.data == "[DONE]").count(),
            1
        );
    }
}

// proves AS-4
#[tokio::test]
async fn a_stream_that_has_nothing_to_say_says_that_it_lives() {
    let gate = Gate::new("silence");
    let app = AppBuilder::new()
        .with(|config| config.server.ping_every = Duration::from_millis(10))
        .start([say("late").hold_head(&gate)])
        .await;
    let session = app.session().await;
    let message = json!({"sessionId": session, "content": "hello"});
    let mut response = app.post_stream(message).await;

    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).ends_with(": ping\n: ping\n") {
        read.extend(response.chunk().await.unwrap().expect("the stream goes on"));
    }
    app.model.open(&gate).unwrap();
    while let Some(chunk) = response.chunk().await.unwrap() {
        read.extend(chunk);
    }

    let read = String::from_utf8(read).unwrap().replace(": ping\n", "");
    assert_eq!(frames(&read).len(), 4, "{read}");
    assert!(
        read.contains(r#""content":"late""#) && frames(&read).last().unwrap().data == "[DONE]",
        "{read}"
    );
}

// proves AS-4
#[tokio::test]
async fn a_stream_says_that_it_lives_while_what_comes_is_not_shown_in_it() {
    let thoughts = think("hm ".repeat(60)).deltas_of(3);
    let app = AppBuilder::new()
        .with(|config| config.server.ping_every = Duration::from_millis(200))
        .start([thoughts.and_say("well").pace(Duration::from_millis(10))])
        .await;
    let session = app.session().await;
    let message = json!({"sessionId": session, "content": "hello"});
    let read = app.post_stream(message).await.text().await.unwrap();
    let (before, _) = read.split_once("text_delta").expect(&read);
    assert!(before.contains(": ping\n"), "{read}");
}

// proves AS-4, AS-5
#[tokio::test]
async fn a_call_is_shown_whole_and_its_result_is_a_text() {
    let echo = TestTool::new("echo", |args, _| async move {
        ToolReply::Closed(Outcome::done(args.to_string()).with_data(json!({"more": 1})))
    });
    let asked = think("hm").and_call("echo", json!({"word": "tea", "n": [1]}));
    let app = AppBuilder::new()
        .tools(echo.build())
        .start([asked.usage(counts(5, 1)), say("done").usage(counts(7, 1))])
        .await;
    let session = app.session().await;

    let frames = app.turn(&session, "go").await;

    let kinds = kinds(&frames);
    let mut distinct = kinds.clone();
    distinct.dedup();
    let expected = [
        "iteration",
        "tool_call_start",
        "tool_call_result",
        "iteration",
        "text_delta",
        "completed",
        "[DONE]",
    ];
    assert_eq!(distinct, expected, "and nothing of the reasoning");
    let (start, result) = (&frames[1].data, &frames[2].data);
    let id = &start["id"];
    let args = json!({"word": "tea", "n": [1]});
    let call = json!({"type": "tool_call_start", "id": id, "name": "echo", "args": args});
    assert_eq!(*start, call);
    let text = r#"{"word":"tea","n":[1]}"#;
    let answer = json!({
        "type": "tool_call_result", "id": id, "name": "echo", "result": text, "status": "done", "tokens": 6,
    });
    assert_eq!(*result, answer);
    assert_eq!(frames[3].data["tokens"], 6, "what the turn has cost so far");
    let completed = json!({
        "type": "completed", "finishReason": "stop", "totalIterations": 2, "tokens": 14,
    });
    assert_eq!(*last(&frames), completed);
}

/// A server that asks no model once more.
fn unreminded() -> AppBuilder {
    AppBuilder::new().with(|config| config.settings.limits.reminders = Reminders::default())
}

// proves AS-6
#[tokio::test]
async fn the_providers_own_word_for_the_end_is_passed_on() {
    use samovar_model_server::Finish;
    let words = [
        (Finish::Length, "length"),
        (Finish::ContentFilter, "content_filter"),
        (Finish::Other("eos".to_owned()), "eos"),
    ];
    for (finish, word) in words {
        let app = unreminded().start([say("so far").finish(finish)]).await;
        let frames = app.turn(&app.session().await, "go").await;
        assert_eq!(last(&frames)["finishReason"], word);
        assert_eq!(text(&frames), "so far");
    }
}

// proves AS-8
#[tokio::test]
async fn the_full_profile_shows_the_logs_events_and_the_default_one_only_six_types() {
    let script = || think("hm").and_say("hi").and_call("nobody", json!({}));
    let app = unreminded();
    let app = app.start([script(), say("done"), script(), say("done")]);
    let app = app.await;

    let plain = post(&app, STREAM, "go").await;
    let full = post(&app, &format!("{STREAM}?profile=full"), "go").await;

    let types = |body: &str| {
        let frames = frames(body);
        let (done, events) = frames.split_last().unwrap();
        assert_eq!(done.data, "[DONE]");
        let types = events.iter().map(|frame| {
            assert!(frame.id.is_some(), "{}", frame.data);
            let data: Value = serde_json::from_str(frame.data).expect(frame.data);
            data["type"].as_str().expect("a type").to_owned()
        });
        let mut types: Vec<_> = types.collect();
        types.dedup();
        types
    };
    let shown =
        "iteration text_delta tool_call_start tool_call_result iteration text_delta completed";
    assert_eq!(types(&plain.body).join(" "), shown);
    let logged = types(&full.body);
    for kind in [
        "turn_started",
        "step_started",
        "message_started",
        "delta",
        "part_added",
        "message_finished",
        "call_closed",
        "turn_finished",
    ] {
        assert!(
            logged.iter().any(|logged| logged == kind),
            "{kind}: {logged:?}"
        );
    }
    assert!(full.body.contains("hm"), "the reasoning is there");

    let body = json!({"sessionId": app.session().await, "content": "go"}).to_string();
    let request = Request::new(&app, "POST", &format!("{STREAM}?profile=some")).json(body);
    let response = request.send().await;
    assert_eq!(
        (response.status, response.code().as_str()),
        (400, "invalid_params")
    );
}

// proves AS-3, AS-4
#[tokio::test]
async fn what_is_refused_is_no_stream() {
    let app = App::start([say("hi")]).await;
    let body = json!({"sessionId": "nobody", "content": "hello"}).to_string();
    let request = Request::new(&app, "POST", STREAM).with("accept", "text/event-stream");
    let response = request.json(body).send().await;
    assert_eq!(
        (response.status, response.code().as_str()),
        (404, "unknown_session")
    );
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert!(!response.body.contains("data:"), "{}", response.body);
}
