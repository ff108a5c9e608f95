//! Readers that come back to a stream, through real sockets.

use samovar_core::{Outcome, ToolReply};
use samovar_model_server::{Gate, When, call, say, think};
use samovar_testkit::{App, AppBuilder, TestTool};
use serde_json::{Value, json};

use crate::raw::{Request, encoded};

pub(crate) mod anew;

pub(crate) const STREAM: &str = "/services/agent/sendMessage/stream";
const PROFILES: [&str; 2] = ["default", "full"];

/// A server with two tools, of which the one that is called first answers last.
async fn with_tools(script: impl Into<samovar_model_server::Script>) -> App {
    let (sender, told) = tokio::sync::watch::channel(false);
    let late = TestTool::new("late", move |_, _| {
        let mut told = told.clone();
        async move {
            let _told = told.wait_for(|told| *told).await.is_ok();
            ToolReply::Closed(Outcome::done("late"))
        }
    });
    let early = TestTool::new("early", move |_, _| {
        sender.send_replace(true);
        async { ToolReply::Closed(Outcome::done("early")) }
    });
    AppBuilder::new()
        .tools(late.build())
        .tools(early.build())
        .start(script)
        .await
}

/// Says something and reads the stream, byte for byte.
async fn post(app: &App, profile: &str, body: &Value) -> String {
    let request = Request::new(app, "POST", &format!("{STREAM}?profile={profile}"));
    let response = request.json(body.to_string()).send().await;
    assert_eq!(response.status, 200, "{}", response.body);
    response.body
}

/// Comes back, with what stands behind the `?`.
pub(crate) fn back(app: &App, session: &str, query: &str) -> Request {
    let session = encoded(session);
    Request::new(app, "GET", &format!("{STREAM}?sessionId={session}{query}"))
}

pub(crate) async fn read(request: Request) -> String {
    let response = request.send().await;
    assert_eq!(response.status, 200, "{}", response.body);
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    response.body
}

/// The whole frames of what has come, and the id of the last of them that has one.
pub(crate) fn whole(bytes: &[u8]) -> (usize, Option<&str>) {
    let text = std::str::from_utf8(bytes).unwrap_or_else(|error| {
        std::str::from_utf8(&bytes[..error.valid_up_to()]).expect("it is valid up to there")
    });
    let end = text.rfind("\n\n").map_or(0, |at| at + 2);
    let ids = text[..end].lines();
    let mut ids = ids.filter_map(|line| line.strip_prefix("id: "));
    (end, ids.next_back())
}

/// A turn with thoughts, text, parallel calls whose results come out of order, and an end.
fn busy_turn() -> [samovar_model_server::Rule; 2] {
    [
        think("hm, два")
            .and_say("first — so: ")
            .and_call("late", json!({"of": "two"}))
            .and_call("early", json!({}))
            .deltas_of(4)
            .into(),
        say("done, all of it").deltas_of(3).into(),
    ]
}

// proves DU-7, AS-4, AS-9
#[tokio::test]
async fn a_stream_that_is_cut_at_any_byte_goes_on_with_the_very_next_one() {
    for profile in PROFILES {
        let app = with_tools(busy_turn()).await;
        let session = app.session().await;
        let said = json!({"sessionId": session, "messageId": "m", "content": "go"});
        let uncut = post(&app, profile, &said).await;
        assert!(uncut.len() > 900, "{uncut}");
        if profile == "default" {
            assert!(
                uncut.contains(".1\n\ndata"),
                "no event makes several: {uncut}"
            );
        }

        let mut known: Option<(String, String)> = None;
        let mut cuts = 0;
        for cut in 0..=uncut.len() {
            let (end, id) = whole(&uncut.as_bytes()[..cut]);
            let id = id.unwrap_or_default().to_owned();
            if known.as_ref().is_none_or(|(last, _)| *last != id) {
                let query = format!("&profile={profile}");
                let again = match id.as_str() {
                    "" => read(back(&app, &session, &query)).await,
                    id if whole(uncut.as_bytes()).1 == Some(id) => {
                        read(back(&app, &session, &format!("{query}&after={id}"))).await
                    }
                    id => read(back(&app, &session, &query).with("last-event-id", id)).await,
                };
                cuts += 1;
                known = Some((id, again));
            }
            let again = known.as_ref().map_or("", |(_, again)| again);
            // Who has `[DONE]` does not come back.
            if end < uncut.len() {
                assert_eq!(format!("{}{again}", &uncut[..end]), uncut, "cut at {cut}");
            }
        }
        assert!(cuts > 12, "{cuts}");

        let again = post(&app, profile, &said).await;
        assert_eq!(again, uncut, "the message that is sent again");
        let (_, first) = whole(&uncut.as_bytes()[..uncut.len() / 2]);
        let query = format!("{STREAM}?profile={profile}&after={}", first.unwrap());
        let rest = Request::new(&app, "POST", &query).json(said.to_string());
        let rest = read(rest).await;
        assert!(uncut.ends_with(&rest) && rest.len() < uncut.len(), "{rest}");
    }
}

// proves DU-7, DU-9
#[tokio::test]
async fn a_reader_that_comes_back_while_the_turn_runs_sees_the_rest_as_it_comes() {
    for profile in PROFILES {
        let gate = Gate::new("mid");
        let app = with_tools([
            call("late", json!({})).and_call("early", json!({})),
            say("one two three four").deltas_of(4).hold_after(2, &gate),
        ])
        .await;
        let session = app.session().await;
        let body = json!({"sessionId": session, "content": "go"});
        let mut first = app.stream(body).await;
        let mut shown = first.until("iteration").await;
        shown.extend(first.until("iteration").await);
        shown.extend(first.until("text_delta").await);
        drop(first);

        let ids = shown.iter().filter_map(|frame| frame.id.as_deref());
        let query = format!("&profile={profile}");
        let ids = ids.map(|id| Some(id.to_owned())).chain([None]);
        let mut readers = tokio::task::JoinSet::new();
        for id in ids {
            let request = back(&app, &session, &query);
            let request = match &id {
                Some(id) => request.with("last-event-id", id),
                None => request,
            };
            readers.spawn(async move { (id, read(request).await) });
        }
        app.model.open(&gate).unwrap();
        let mut read_on = readers.join_all().await;
        let whole = read_on.iter().position(|(id, _)| id.is_none()).unwrap();
        let (_, uncut) = read_on.swap_remove(whole);

        assert!(uncut.contains("data: [DONE]\n"), "{uncut}");
        for (id, rest) in read_on {
            let id = id.unwrap();
            match uncut.split_once(&format!("id: {id}\n\n")) {
                Some((_, expected)) => assert_eq!(rest, expected, "{profile} behind {id}"),
                // One of several frames of the default profile, which the full one never gave out.
                None => assert!(id.split('.').count() == 3 && rest.contains("reset"), "{id}"),
            }
        }
        assert_eq!(
            read(back(&app, &session, &query)).await,
            uncut,
            "after its end"
        );
    }
}

// proves AS-9
#[tokio::test]
async fn without_an_id_a_reader_sees_the_turn_that_runs_else_the_last_one_from_its_start() {
    let gate = Gate::new("never");
    let app = App::start([
        say("the first").when(When::user("one")),
        say("the second")
            .hold_after(1, &gate)
            .when(When::user("two")),
        say("the third").when(When::user("three")),
    ])
    .await;
    let session = app.session().await;
    let nothing = back(&app, &session, "").send().await;
    assert_eq!(
        (nothing.status, nothing.code().as_str()),
        (404, "unknown_turn")
    );
    let unknown = back(&app, "nobody", "").send().await;
    assert_eq!(
        (unknown.status, unknown.code().as_str()),
        (404, "unknown_session")
    );

    let one = post(
        &app,
        "default",
        &json!({"sessionId": session, "content": "one"}),
    )
    .await;
    assert_eq!(read(back(&app, &session, "")).await, one);

    let mut two = app.say(&session, "two").await;
    let shown = two.until("text_delta").await;
    let three = app.say(&session, "three").await;
    let (_, last_of_one) = whole(one.as_bytes());
    let last_of_one = last_of_one.unwrap();
    let of_one = back(&app, &session, &format!("&after={last_of_one}"));
    assert_eq!(
        read(of_one).await,
        format!("data: [DONE]\nid: {last_of_one}\n\n"),
        "the end of its own turn"
    );
    let response = app
        .request(
            reqwest::Method::GET,
            &format!("{STREAM}?sessionId={session}"),
        )
        .send()
        .await
        .unwrap();
    let mut running = samovar_testkit::EventStream::new(response);
    assert_eq!(
        running.until("text_delta").await,
        shown,
        "the one that runs, not the last"
    );
    app.ok("cancel", json!({"sessionId": session})).await;
    assert_eq!(running.rest().await, two.rest().await);
    drop(three);
}

// proves DU-7
#[tokio::test]
async fn a_stream_goes_on_behind_its_id_after_the_server_was_stopped_and_started() {
    let app = with_tools(busy_turn()).await;
    let session = app.session().await;
    let uncut = post(
        &app,
        "default",
        &json!({"sessionId": session, "content": "go"}),
    )
    .await;
    let full = read(back(&app, &session, "&profile=full")).await;

    let app = app.restart().await;

    assert_eq!(read(back(&app, &session, "")).await, uncut);
    for uncut in [uncut, full] {
        let profile = if uncut.contains("turn_started") {
            "full"
        } else {
            "default"
        };
        for frame in uncut
            .split_inclusive("\n\n")
            .filter(|frame| !frame.starts_with("data: [DONE]"))
        {
            let (_, id) = frame.trim_end().split_once("\nid: ").unwrap();
            let query = format!("&profile={profile}&after={id}");
            let rest = read(back(&app, &session, &query)).await;
            let (_, expected) = uncut.split_once(frame).unwrap();
            assert_eq!(rest, expected, "behind {id}");
        }
    }
}

// proves DU-11, AS-8
#[tokio::test]
async fn a_server_that_stops_names_the_id_behind_which_the_next_one_goes_on() {
    for (profile, kind) in [("default", "text_delta"), ("full", "delta")] {
        let never = Gate::new("never");
        let held = say("some words and more of them").deltas_of(5);
        let mut app = App::start([held.hold_after(2, &never), say("the whole")]).await;
        let session = app.session().await;
        let path = format!("{STREAM}?profile={profile}");
        let said = json!({"sessionId": session, "content": "go"});
        let said = app.request(reqwest::Method::POST, &path).json(&said);
        let mut stream = samovar_testkit::EventStream::new(said.send().await.unwrap());
        let mut shown = stream.until(kind).await;
        let (rest, ()) = tokio::join!(stream.rest(), app.stop_now());
        shown.extend(rest);

        let (done, left) = (shown.pop().unwrap(), shown.pop().unwrap());
        assert!(done.is_done() && left.id.is_none());
        let named = if profile == "full" {
            assert_eq!(left.kind(), "server-restart");
            left.data["after"].as_str()
        } else {
            assert_eq!(
                (left.kind(), &left.data["code"]),
                ("error", &json!("server_restart"))
            );
            left.data["message"]
                .as_str()
                .unwrap()
                .split(' ')
                .next_back()
        };
        let named = named.unwrap().to_owned();

        let app = app.restart().await;
        let query = format!("&profile={profile}");
        let rest = read(back(&app, &session, &query).with("last-event-id", &named)).await;
        let whole = read(back(&app, &session, &query)).await;
        shown.extend(anew::frames(&rest));
        assert_eq!(shown, anew::frames(&whole), "behind {named}");
        assert!(
            rest.contains("completed") || rest.contains("turn_finished"),
            "{rest}"
        );
    }
}
