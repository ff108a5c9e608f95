//! The feeds: what happens in a session and in all of them, for readers that outlive a turn.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;
use samovar_core::Approval;
use samovar_model_server::{call, say};
use samovar_server::ChatAgent;
use samovar_testkit::{App, AppBuilder, EventStream, Frame};
use serde_json::{Value, json};

use crate::raw::Request;

const ALL: &str = "/api/events";

fn of(session: &str, query: &str) -> String {
    format!("/api/sessions/{session}/events{query}")
}

fn kinds(frames: &[Frame]) -> Vec<&str> {
    frames.iter().map(Frame::kind).collect()
}

fn id(frame: &Frame) -> &str {
    frame.id.as_deref().unwrap()
}

/// Frames up to the one of this kind, with it.
async fn up_to(stream: &mut EventStream, kind: &str) -> Vec<Frame> {
    stream.until(kind).await
}

async fn post(app: &App, path: &str, body: Value) -> Value {
    let request = app.request(Method::POST, path).json(&body);
    let answer = app.answer(request).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

/// A server whose agent writes a file and asks a person first.
async fn asking() -> App {
    let write = json!({"path": "w.txt", "content": "b"});
    AppBuilder::new()
        .with(|config| {
            config.settings.approval = Approval::Supervised;
            config.chat.agent = ChatAgent::Nobody;
        })
        .start([call("write_file", write), say("written")])
        .await
}

// proves UI-15, DU-7
#[tokio::test]
async fn a_session_is_followed_over_its_turns_and_a_reader_continues_where_it_was() {
    let app = App::start([say("one").deltas_of(1), say("two"), say("three")]).await;
    app.ok("createSession", json!({"sessionId": "s"})).await;
    let mut feed = app.follow(&of("s", "")).await;
    let first = feed.next().await.unwrap();
    assert_eq!(first.kind(), "reset");
    let snapshot = &first.data["snapshot"];
    assert_eq!(snapshot["session"]["id"], "s");
    assert_eq!(snapshot["turns"], json!([]));
    assert_eq!(snapshot["after"], id(&first));

    app.turn("s", "go").await;
    app.ok("updateSession", json!({"sessionId": "s", "title": "T"}))
        .await;
    app.turn("s", "on").await;
    let mut seen = up_to(&mut feed, "turn_finished").await;
    seen.extend(up_to(&mut feed, "turn_finished").await);
    let shown = kinds(&seen);
    assert_eq!(shown[..2], ["message_finished", "turn_started"]);
    assert_eq!(shown.iter().filter(|kind| **kind == "delta").count(), 4);
    assert!(shown.contains(&"session_changed"), "{shown:?}");

    // From every place, and after a restart: what is missing and no more.
    let all: Vec<String> = std::iter::once(&first)
        .chain(&seen)
        .map(|frame| id(frame).to_owned())
        .collect();
    let app = app.restart().await;
    for (place, from) in all.iter().enumerate().take(all.len() - 1) {
        let mut again = app.follow(&of("s", &format!("?after={from}"))).await;
        let mut rest = up_to(&mut again, "turn_finished").await;
        if rest.len() < seen.len() - place {
            rest.extend(up_to(&mut again, "turn_finished").await);
        }
        assert_eq!(rest, seen[place..], "from {from}");
    }

    // An id of nothing, and one of a place inside an event.
    let last = all.last().unwrap();
    for from in ["nonsense", "9999.1", &format!("{last}.1")] {
        let mut anew = app.follow(&of("s", &format!("?after={from}"))).await;
        assert_eq!(anew.next().await.unwrap().kind(), "reset", "{from}");
    }

    // The session's end is the feed's.
    let mut feed = app.follow(&of("s", &format!("?after={last}"))).await;
    app.ok("deleteSession", json!({"sessionId": "s"})).await;
    let rest = feed.rest().await;
    assert_eq!(rest[0].kind(), "session_closed");
    assert!(rest[1].is_done() && rest.len() == 2, "{rest:?}");
    let gone = app.get(&of("s", "")).await;
    assert_eq!((gone.status, gone.code()), (404, "unknown_session"));
}

// proves UI-15
#[tokio::test]
async fn who_begins_while_a_turn_waits_is_told_what_is_queued_runs_and_is_asked() {
    let app = asking().await;
    app.ok("createSession", json!({"sessionId": "s"})).await;
    let mut all = app.follow(ALL).await;
    let first = all.next().await.unwrap();
    assert_eq!(first.data["snapshot"]["sessions"]["totalCount"], 1);
    assert_eq!(first.data["snapshot"]["approvals"]["totalCount"], 0);

    let send = json!({"sessionId": "s", "content": "go", "waitSeconds": 0});
    let waiting = app.ok("sendMessage", send).await;
    let asked = up_to(&mut all, "approval_asked").await;
    let asked = asked.last().unwrap();
    assert_eq!(asked.data["sessionId"], "s");
    let approval = asked.data["asked"]["id"].as_str().unwrap();
    let mut queued = app.say("s", "next").await;

    for path in [of("s", ""), ALL.to_owned()] {
        let mut feed = app.follow(&path).await;
        let reset = feed.next().await.unwrap();
        let snapshot = &reset.data["snapshot"];
        let turns = snapshot["turns"].as_array().unwrap();
        let states: Vec<_> = turns.iter().map(|turn| &turn["state"]).collect();
        assert_eq!(states, ["waiting", "queued"], "{path}");
        assert_eq!(turns[0]["turnId"], waiting["turnId"], "{path}");
        let approvals = &snapshot["approvals"];
        let approvals = approvals.get("items").unwrap_or(approvals);
        assert_eq!(approvals[0]["id"], approval, "{path}");
    }
    let once = json!({"decision": "once"});
    post(&app, &format!("/api/approvals/{approval}"), once).await;
    queued.rest().await;
    let rest = up_to(&mut all, "turn_finished").await;
    assert!(kinds(&rest).contains(&"call_approved"), "{rest:?}");
    assert!(!kinds(&rest).contains(&"delta"), "{rest:?}");
}

// proves UI-15
#[tokio::test]
async fn the_feed_of_all_continues_in_its_run_and_is_reset_in_the_next() {
    let app = App::start([say("one").deltas_of(1), say("two")]).await;
    let mut all = app.follow(ALL).await;
    let first = all.next().await.unwrap();
    assert!(id(&first).ends_with(".0"), "{first:?}");
    let mut seen = Vec::new();
    for session in ["a", "b"] {
        app.ok("createSession", json!({"sessionId": session})).await;
        app.turn(session, "go").await;
        seen.extend(up_to(&mut all, "turn_finished").await);
    }
    let sessions: Vec<_> = seen
        .iter()
        .map(|frame| frame.data["sessionId"].clone())
        .collect();
    assert!(sessions.is_sorted_by_key(|id| id.as_str().unwrap().to_owned()));
    let numbers: Vec<_> = seen
        .iter()
        .map(|frame| id(frame).split('.').nth(1).unwrap())
        .collect();
    let expected: Vec<_> = (1..=seen.len()).map(|number| number.to_string()).collect();
    assert_eq!(numbers, expected);

    for (place, frame) in seen.iter().enumerate().take(seen.len() - 1) {
        let mut again = app.follow(&format!("{ALL}?after={}", id(frame))).await;
        assert_eq!(again.next().await.unwrap(), seen[place + 1]);
    }
    let last = id(seen.last().unwrap()).to_owned();
    let number: u64 = last.split('.').nth(1).unwrap().parse().unwrap();
    let ahead = last.replace(&number.to_string(), &(number + 1).to_string());
    let app = {
        for after in [ahead.as_str(), "1.1", "x"] {
            let mut anew = app.follow(&format!("{ALL}?after={after}")).await;
            assert_eq!(anew.next().await.unwrap().kind(), "reset", "{after}");
        }
        app.restart().await
    };
    let mut anew = app.follow(&format!("{ALL}?after={last}")).await;
    let reset = anew.next().await.unwrap();
    assert_eq!(reset.data["snapshot"]["sessions"]["totalCount"], 2);
}

// proves UI-15
#[tokio::test]
async fn whenever_a_reader_begins_it_hears_of_every_question_once_at_least() {
    let write = json!({"path": "w.txt", "content": "b"});
    let rules: Vec<_> = (0..12).map(|_| call("write_file", write.clone())).collect();
    let app = AppBuilder::new()
        .with(|config| {
            config.settings.approval = Approval::Supervised;
            config.chat.agent = ChatAgent::Nobody;
        })
        .start(rules)
        .await;
    let asking = (0..12).map(async |number| {
        let session = format!("s{number}");
        app.ok("createSession", json!({"sessionId": session})).await;
        let send = json!({"sessionId": session, "content": "go", "waitSeconds": 0});
        app.ok("sendMessage", send).await
    });
    let reading = (0..40).map(async |_| {
        let mut feed = app.follow(ALL).await;
        let reset = feed.next().await.unwrap();
        let items = &reset.data["snapshot"]["approvals"]["items"];
        let mut heard: HashSet<String> = items
            .as_array()
            .unwrap()
            .iter()
            .map(|approval| approval["sessionId"].as_str().unwrap().to_owned())
            .collect();
        while heard.len() < 12 {
            let asked = up_to(&mut feed, "approval_asked").await.pop().unwrap();
            heard.insert(asked.data["sessionId"].as_str().unwrap().to_owned());
        }
    });
    let heard = async { tokio::join!(join_all(asking), join_all(reading)) };
    let heard = tokio::time::timeout(Duration::from_mins(1), heard).await;
    assert!(heard.is_ok(), "a reader never heard of a question");
}

// proves UI-15, TL-11
#[tokio::test]
async fn a_feed_is_opened_by_a_ticket_of_a_token_that_may_read_and_by_no_other() {
    let app = App::start([say("one")]).await;
    let made = post(&app, "/api/tokens", json!({"name": "r", "scope": "read"})).await;
    let token = made["token"].as_str().unwrap();
    let with = |target: &str, token: &str| {
        Request::new(&app, "POST", target).set("authorization", format!("Bearer {token}"))
    };
    let ticket = with("/api/tickets", token).json("{}").send().await.json();
    let ticket = ticket["ticket"].as_str().unwrap();
    let path = format!("{ALL}?ticket={ticket}");
    let url = format!("http://{}{path}", app.address());
    let opened = reqwest::get(&url).await.unwrap();
    assert_eq!(opened.status(), 200);
    let first = EventStream::new(opened).next().await.unwrap();
    assert_eq!(first.kind(), "reset");
    let again = reqwest::get(&url).await.unwrap();
    assert_eq!(again.status(), 401);
}
