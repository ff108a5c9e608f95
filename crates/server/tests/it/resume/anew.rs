//! Readers whose place is lost: they are told so, with a snapshot, and go on behind it.

use samovar_model_server::{Gate, call, say};
use samovar_testkit::{App, AppBuilder, Frame, TestTool};
use serde_json::{Value, json};

use super::{back, post, read, whole, with_tools};
use crate::raw::Request;
use crate::shown::text;

/// The frames of a stream.
pub(crate) fn frames(body: &str) -> Vec<Frame> {
    let frames = body.split_terminator("\n\n").map(|frame| {
        let (data, id) = match frame.split_once("\nid: ") {
            Some((data, id)) => (data, Some(id)),
            None => (frame, None),
        };
        let data = data.strip_prefix("data: ").expect("a data line");
        Frame {
            id: id.map(str::to_owned),
            event: None,
            data: serde_json::from_str(data).unwrap_or(Value::String(data.to_owned())),
        }
    });
    frames.collect()
}

/// Ids that are none here, whatever the log holds at `last`.
fn garbage(last: &str) -> Vec<String> {
    let mut numbers = last.split('.').map(|number| number.parse::<u64>().unwrap());
    let (epoch, seq) = (numbers.next().unwrap(), numbers.next().unwrap());
    let mut ids: Vec<String> = [
        " ",
        ".",
        "..",
        "1",
        "-1",
        "-1.-1",
        "0.0",
        "1.1",
        "NaN",
        "null",
        "[DONE]",
        "восемь.девять",
        "\u{661}.\u{662}",
        "9999999999999999999999.1",
        "1e3.4",
        "0x1.0x2",
        "true.false",
        "' OR 1=1 --",
    ]
    .map(str::to_owned)
    .into();
    ids.extend([
        "9".repeat(4000),
        format!("{epoch}"),
        format!("{epoch}."),
        format!("{epoch}.-{seq}"),
        format!("{epoch}.0"),
        format!("{epoch}.{}", seq + 1),
        format!("{epoch}.{}", u64::MAX),
        format!("{}.{seq}", epoch + 1),
        format!("{}.{seq}", epoch - 1),
        format!("0{epoch}.{seq}"),
        format!("+{epoch}.{seq}"),
        format!("{epoch}.{seq}.0"),
        format!("{epoch}.{seq}.1"),
        format!("{epoch}.{seq}.7"),
        format!("{epoch}.{seq}.-1"),
        format!("{epoch}.{seq}.1.1"),
        format!("{epoch}.1.1"),
        format!("{epoch}.{seq}.{}", u64::MAX),
    ]);
    ids
}

// proves DU-7, AS-8
#[tokio::test]
async fn an_id_that_is_none_is_answered_with_a_reset_whatever_it_is() {
    let app = with_tools([
        call("late", json!({})).and_call("early", json!({})),
        say("done"),
        say("elsewhere"),
    ])
    .await;
    let session = app.session().await;
    let uncut = post(
        &app,
        "default",
        &json!({"sessionId": session, "content": "go"}),
    )
    .await;
    let (_, last) = whole(uncut.as_bytes());
    let last = last.unwrap();
    let elsewhere = app.session().await;
    let other = post(
        &app,
        "default",
        &json!({"sessionId": elsewhere, "content": "go"}),
    )
    .await;
    let mut ids = garbage(last);
    // The other log has fewer events, and its ids are this one's as well: an id alone does not say
    // of which session it is, so one that is good here is good.
    let (_, of_other) = whole(other.as_bytes());
    assert!(uncut.contains(&format!("id: {}\n", of_other.unwrap())) || of_other < Some(last));
    ids.push(last.replace('.', ","));

    for id in ids {
        let by_header = back(&app, &session, "").with("last-event-id", &id);
        let by_query = back(
            &app,
            &session,
            &format!("&after={}", crate::raw::encoded(&id)),
        );
        // HTTP strips white space, and an empty header says nothing.
        let by_header = (!id.trim().is_empty()).then_some(by_header);
        for request in by_header.into_iter().chain([by_query]) {
            let frames = frames(&read(request).await);
            let kinds: Vec<_> = frames.iter().map(Frame::kind).collect();
            assert_eq!(kinds, ["reset", "completed", ""], "{id:?}");
            let snapshot = &frames[0].data["snapshot"];
            assert_eq!(snapshot["state"], "finished");
            assert_eq!(snapshot["sessionId"], session);
            assert_eq!(frames[0].id.as_deref(), snapshot["after"].as_str());
            let said: Vec<_> = snapshot["messages"].as_array().unwrap().iter().collect();
            let kept = app.ok("getMessages", json!({"sessionId": session})).await;
            assert_eq!(said, kept.as_array().unwrap().iter().collect::<Vec<_>>());
            assert!(
                uncut.ends_with(&uncut[uncut.find(frames[1].id.as_deref().unwrap()).unwrap()..])
            );
        }
    }
}

// proves DU-7
#[tokio::test]
async fn a_place_inside_an_event_is_good_only_where_more_frames_follow() {
    let app = with_tools([
        call("late", json!({})).and_call("early", json!({})),
        say("done"),
    ])
    .await;
    let session = app.session().await;
    let uncut = post(
        &app,
        "default",
        &json!({"sessionId": session, "content": "go"}),
    )
    .await;
    let shown = frames(&uncut);
    let mut inner = shown.iter().filter_map(|frame| frame.id.as_deref());
    let inner = inner.rfind(|id| id.split('.').count() == 3).unwrap();
    let (event, part) = inner.rsplit_once('.').unwrap();
    let count = part.parse::<usize>().unwrap() + 1;

    for place in 1..count {
        let id = format!("{event}.{place}");
        let rest = read(back(&app, &session, &format!("&after={id}"))).await;
        let (_, expected) = uncut.split_once(&format!("id: {id}\n\n")).unwrap();
        assert_eq!(rest, expected, "behind {id}");
    }
    for (profile, place) in [("default", count), ("default", count + 1), ("full", 1)] {
        let query = format!("&profile={profile}&after={event}.{place}");
        let frames = frames(&read(back(&app, &session, &query)).await);
        assert_eq!(frames[0].kind(), "reset", "{query}");
    }
}

// proves DU-7, DU-9
#[tokio::test]
async fn a_snapshot_tells_a_running_turn_and_the_stream_goes_on_behind_it() {
    let gate = Gate::new("mid");
    let app = with_tools([
        call("late", json!({})).and_call("early", json!({})),
        say("one two three four").deltas_of(4).hold_after(2, &gate),
    ])
    .await;
    let session = app.session().await;
    let mut first = app.say(&session, "go").await;
    let mut shown = Vec::new();
    while text(&shown).len() < 8 {
        shown.extend(first.until("text_delta").await);
    }
    let request = |profile: &str| {
        let path = format!("{}?sessionId={session}&profile={profile}", super::STREAM);
        let request = app.request(reqwest::Method::GET, &path);
        request.header("last-event-id", "garbage").send()
    };

    let mut streams = Vec::new();
    for profile in super::PROFILES {
        let mut stream = samovar_testkit::EventStream::new(request(profile).await.unwrap());
        let reset = stream.next().await.unwrap();
        let snapshot = &reset.data["snapshot"];
        assert_eq!(reset.data["type"], "reset");
        assert_eq!(snapshot["state"], "running");
        assert_eq!(snapshot["text"], "one two ");
        assert_eq!(snapshot["iteration"], 2);
        let roles = snapshot["messages"].as_array().unwrap().iter();
        let roles: Vec<_> = roles
            .map(|message| message["role"].as_str().unwrap())
            .collect();
        assert_eq!(roles, ["user", "assistant", "tool", "tool"]);
        assert_eq!(
            snapshot["after"].as_str(),
            shown.last().unwrap().id.as_deref()
        );
        streams.push(stream);
    }
    app.model.open(&gate).unwrap();

    let rest = streams[0].rest().await;
    assert_eq!(text(&rest), "three four");
    assert_eq!(rest, first.rest().await);
    let full = streams[1].rest().await;
    assert!(full.iter().any(|frame| frame.kind() == "turn_finished"));
}

// proves DU-7
#[tokio::test]
async fn a_snapshot_says_that_a_turn_waits_for_somebody_and_with_which_calls() {
    let app = AppBuilder::new()
        .tools(TestTool::asks("ask").build())
        .start([call("ask", json!({"what": "tea?"}))])
        .await;
    let session = app.session().await;
    let mut first = app
        .stream(json!({"sessionId": session, "content": "go"}))
        .await;
    first.until("tool_call_start").await;
    let snapshot = async || {
        let path = format!("{}?sessionId={session}&after=x", super::STREAM);
        let response = app
            .request(reqwest::Method::GET, &path)
            .send()
            .await
            .unwrap();
        let reset = samovar_testkit::EventStream::new(response).next().await;
        reset.unwrap().data["snapshot"].clone()
    };

    let mut parked = snapshot().await;
    // The call is shown before its intent is kept.
    while parked["state"] == "running" {
        parked = snapshot().await;
    }

    assert_eq!(parked["state"], "parked");
    assert_eq!(parked["calls"][0]["name"], "ask");
    assert_eq!(parked["calls"][0]["args"], json!({"what": "tea?"}));
}

// proves DU-7
#[tokio::test]
async fn who_comes_back_too_late_is_told_that_no_turn_is_kept() {
    let app = AppBuilder::new()
        .with(|config| {
            config.settings.retention = std::time::Duration::ZERO;
            config.settings.sync_every = std::time::Duration::from_millis(20);
        })
        .start([say("gone soon")])
        .await;
    let session = app.session().await;
    let said = json!({"sessionId": session, "messageId": "m", "content": "go"});
    let uncut = post(&app, "default", &said).await;
    let (_, last) = whole(uncut.as_bytes());
    let read_again = back(&app, &session, "");
    let said_again = Request::new(&app, "POST", super::STREAM).json(said.to_string());

    for request in [read_again, said_again] {
        let request = request.with("last-event-id", last.unwrap());
        let body = loop {
            let response = request.clone().send().await;
            // 204 until it is no longer kept.
            if response.body.contains("reset") {
                break response.body;
            }
        };
        let frames = frames(&body);
        let kinds: Vec<_> = frames.iter().map(Frame::kind).collect();
        assert_eq!(kinds, ["reset", ""], "{body}");
        assert_eq!(frames[0].data["snapshot"]["state"], "idle");
        assert_eq!(frames[0].data["snapshot"]["turnId"], Value::Null);
    }
}

// proves AS-8, DU-7
#[tokio::test]
async fn who_sent_no_id_is_never_shown_a_reset() {
    let app = App::start([say("hello").forever()]).await;
    let session = app.session().await;
    let said = json!({"sessionId": session, "messageId": "m", "content": "go"});

    let first = post(&app, "default", &said).await;
    let again = post(&app, "default", &said).await;
    let back = read(back(&app, &session, "")).await;

    assert!(!first.contains("reset"), "{first}");
    assert_eq!((&again, &back), (&first, &first));
}
