//! What happens to a message while another turn runs (AS-11).

use samovar_model_server::{Gate, Reply, When, call, say};
use samovar_testkit::{App, AppBuilder, EventStream, TestTool};
use serde_json::{Value, json};

use crate::shown::{kinds, last, text};

async fn deliver(app: &App, session: &str, content: &str, delivery: &str) -> EventStream {
    let params = json!({"sessionId": session, "content": content, "delivery": delivery});
    app.stream(params).await
}

/// A reply that calls a tool, and waits at the gate before it is whole.
fn held_call(gate: &Gate) -> Reply {
    say("Let me look.")
        .deltas_of(0)
        .and_call("list_dir", json!({"path": "."}))
        .hold_after(1, gate)
}

/// The conversation of a prompt, as role and text.
fn said(prompt: &Value) -> Vec<(&str, &str)> {
    let messages = prompt["messages"].as_array().unwrap().iter();
    messages
        .filter(|message| message["role"] != "system")
        .map(|message| {
            let role = message["role"].as_str().unwrap();
            let content = message["content"].as_str().unwrap_or_default();
            (role, if role == "tool" { "" } else { content })
        })
        .collect()
}

async fn roles(app: &App, session: &str) -> Vec<String> {
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| row["role"].as_str().unwrap().to_owned())
        .collect()
}

/// A turn whose model is in the middle of a call, and a message that steers it.
async fn steered(gate: &Gate, script: impl IntoIterator<Item = Reply>) -> (App, String, Streams) {
    let mut replies = vec![held_call(gate)];
    replies.extend(script);
    let app = App::start(replies).await;
    let session = app.session().await;
    let mut running = app.say(&session, "go").await;
    running.until("text_delta").await;
    let steering = deliver(&app, &session, "and be quick", "steer").await;
    (app, session, Streams { running, steering })
}

struct Streams {
    running: EventStream,
    steering: EventStream,
}

const STEERED: [&str; 5] = ["user", "assistant", "tool", "user", "assistant"];

// proves AS-11
#[tokio::test]
async fn what_steers_stands_between_the_results_and_the_next_answer_and_counts_once() {
    let gate = Gate::new("call");
    let replies = [say("Quickly then."), say("Again.")];
    let (app, session, mut streams) = steered(&gate, replies).await;
    app.model.open(&gate).unwrap();

    let rest = streams.running.rest().await;
    let steering = streams.steering.rest().await;

    assert_eq!(text(&rest), "Quickly then.");
    assert_eq!(last(&rest)["finishReason"], "stop");
    assert_eq!(kinds(&steering), ["completed", "[DONE]"]);
    assert_eq!(last(&steering)["finishReason"], "steered");
    assert_eq!(last(&steering)["totalIterations"], 0);
    let second = app.model.prompt(1).await.unwrap();
    let shown = [
        ("user", "go"),
        ("assistant", "Let me look."),
        ("tool", ""),
        ("user", "and be quick"),
    ];
    assert_eq!(said(second.body()), shown);
    assert_eq!(roles(&app, &session).await, STEERED);
    let info = app.ok("getSession", json!({"sessionId": session})).await;
    assert_eq!(info["messageCount"], 5);

    // Another run of the server shows the model the same.
    let app = app.restart().await;
    app.turn(&session, "more").await;
    let third = app.model.prompt(2).await.unwrap();
    assert_eq!(said(third.body())[..4], shown);
    assert_eq!(
        said(third.body())[4..],
        [("assistant", "Quickly then."), ("user", "more")]
    );

    // Taking the turn back takes back both that was said in it.
    app.ok("undo", json!({"sessionId": session})).await;
    app.ok("undo", json!({"sessionId": session})).await;
    assert_eq!(roles(&app, &session).await.len(), 0);
    assert_eq!(
        app.ok("getSession", json!({"sessionId": session})).await["messageCount"],
        0
    );
}

// proves AS-11
#[tokio::test]
async fn what_steers_too_late_begins_a_turn_of_its_own() {
    let gate = Gate::new("answer");
    let held = say("one two").deltas_of(3).hold_after(1, &gate);
    let app = App::start([held, say("three")]).await;
    let session = app.session().await;
    let mut running = app.say(&session, "go").await;
    running.until("text_delta").await;
    let mut steering = deliver(&app, &session, "and then?", "steer").await;
    app.model.open(&gate).unwrap();

    assert_eq!(last(&running.rest().await)["finishReason"], "stop");
    let own = steering.rest().await;
    assert_eq!(text(&own), "three");
    assert_eq!(last(&own)["finishReason"], "stop");
    // Where nothing runs there is nothing to steer.
    let app = App::start([say("alone")]).await;
    let session = app.session().await;
    let frames = deliver(&app, &session, "go", "steer").await.rest().await;
    assert_eq!(text(&frames), "alone");
}

// proves AS-11, DU-10
#[tokio::test]
async fn what_is_to_steer_can_be_cancelled_before_it_does() {
    let gate = Gate::new("call");
    let (app, session, mut streams) = steered(&gate, [say("Done.")]).await;
    let turn = steering_turn(&app, &session).await;

    let cancel = json!({"sessionId": session, "turnId": turn});
    assert_eq!(app.ok("cancel", cancel).await["cancelled"], true);
    app.model.open(&gate).unwrap();

    assert_eq!(
        last(&streams.steering.rest().await)["finishReason"],
        "cancelled"
    );
    assert_eq!(text(&streams.running.rest().await), "Done.");
    let second = app.model.prompt(1).await.unwrap();
    let users = said(second.body())
        .into_iter()
        .filter(|(role, _)| *role == "user");
    assert_eq!(users.count(), 1);
}

/// The turn of the message that was sent last.
async fn steering_turn(app: &App, session: &str) -> String {
    let engine = app.server().home().engine();
    let session = samovar_core::SessionId::new(session).unwrap();
    let query = samovar_core::history::MessageQuery {
        session,
        limit: 10,
        before: None,
        of: samovar_core::history::Speakers::All,
    };
    let rows = engine.messages(query).await.unwrap();
    rows.last().unwrap().turn.clone().unwrap().to_string()
}

// proves AS-11
#[tokio::test]
async fn what_steers_survives_a_stop_of_the_server_and_joins_the_turn_that_goes_on() {
    let gate = Gate::new("never");
    let replies = [call("list_dir", json!({"path": "."})), say("Quickly then.")];
    let (app, session, streams) = steered(&gate, replies).await;
    drop(streams);

    let app = app.restart().await;

    let prompt = app.model.prompt(1).await.unwrap();
    assert_eq!(said(prompt.body()), [("user", "go\n\nand be quick")]);
    let follow = format!("/services/agent/getMessages?sessionId={session}");
    loop {
        let rows = app.answer(app.request(reqwest::Method::GET, &follow)).await;
        if rows.body.as_array().unwrap().len() == 5 {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(
        roles(&app, &session).await,
        ["user", "user", "assistant", "tool", "assistant"]
    );
    assert_eq!(app.model.prompts().len(), 3);
}

// proves AS-11
#[tokio::test]
async fn a_message_that_may_join_another_turn_sets_nothing_for_its_own() {
    let app = App::start([say("never")]).await;
    let session = app.session().await;
    for bounds in [
        json!({"maxIterations": 1}),
        json!({"budgetTokens": 1}),
        json!({"approval": "auto"}),
    ] {
        let mut params = json!({"sessionId": session, "content": "go", "delivery": "steer"});
        for (name, value) in bounds.as_object().unwrap() {
            params[name] = value.clone();
        }
        let refused = app.call("sendMessage", params).await;
        assert_eq!((refused.status, refused.code()), (400, "invalid_params"));
        assert_eq!(refused.body["details"]["parameter"], "delivery");
    }
    assert_eq!(app.model.prompts().len(), 0);
}

/// A turn that never ends by itself, with a message behind it.
async fn busy(
    rest: impl IntoIterator<Item = impl Into<samovar_model_server::Rule>>,
) -> (App, String, EventStream, EventStream) {
    let held = say("one two")
        .deltas_of(3)
        .hold_after(1, &Gate::new("never"));
    let rules =
        std::iter::once(held.when(When::user("go"))).chain(rest.into_iter().map(Into::into));
    let app = AppBuilder::new()
        .with(|config| config.settings.max_queue = 2)
        .start(rules.collect::<samovar_model_server::Script>())
        .await;
    let session = app.session().await;
    let mut running = app.say(&session, "go").await;
    running.until("text_delta").await;
    let queued = app.say(&session, "queued").await;
    (app, session, running, queued)
}

fn answers() -> [Reply; 2] {
    [say("first of the two"), say("second of the two")]
}

// proves AS-11, DU-10
#[tokio::test]
async fn what_interrupts_stops_the_turn_that_runs_and_goes_before_what_waits() {
    let (app, session, mut running, mut queued) = busy(answers()).await;

    let mut urgent = deliver(&app, &session, "stop, this first", "interrupt").await;

    let stopped = running.rest().await;
    assert_eq!(last(&stopped)["finishReason"], "cancelled");
    assert_eq!(text(&urgent.rest().await), "first of the two");
    assert_eq!(text(&queued.rest().await), "second of the two");
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    let rows = rows.as_array().unwrap().iter();
    let contents: Vec<_> = rows.map(|row| row["content"].as_str().unwrap()).collect();
    assert_eq!(
        contents,
        [
            "go",
            "one",
            "stop, this first",
            "first of the two",
            "queued",
            "second of the two"
        ],
        "results so far are kept"
    );
}

// proves AS-11
#[tokio::test]
async fn what_interrupts_is_not_lost_by_a_stop_of_the_server() {
    let answers = [say("an answer").forever()];
    let (app, session, running, queued) = busy(answers).await;
    let urgent = deliver(&app, &session, "stop, this first", "interrupt").await;
    drop((running, queued, urgent));

    let app = app.restart().await;

    // Its turn may have asked before the stop; then it asks again.
    let mut asked = Vec::new();
    while asked.last().is_none_or(|text| text != "queued") {
        let prompt = app.model.prompt(asked.len() as u64 + 1).await.unwrap();
        let text = said(prompt.body()).last().unwrap().1;
        asked.push(text.to_owned());
    }
    asked.dedup();
    assert_eq!(asked, ["stop, this first", "queued"]);
}

// proves AS-11
#[tokio::test]
async fn a_busy_session_refuses_what_wants_to_be_refused_and_what_it_has_no_room_for() {
    let (app, session, _running, _queued) = busy(answers()).await;
    let params =
        |delivery: &str| json!({"sessionId": session, "content": "x", "delivery": delivery});

    let refused = app.call("sendMessage", params("reject")).await;
    assert_eq!((refused.status, refused.code()), (409, "session_busy"));

    let _second = deliver(&app, &session, "queued too", "queue").await;
    for delivery in ["queue", "steer", "interrupt"] {
        let full = app.call("sendMessage", params(delivery)).await;
        assert_eq!((full.status, full.code()), (429, "busy"), "{delivery}");
        assert!(full.headers.contains_key("retry-after"));
    }
    // What was refused has done nothing.
    assert_eq!(app.model.prompts().len(), 1);

    let free = app.session().await;
    let frames = deliver(&app, &free, "alone", "reject").await.rest().await;
    assert_eq!(text(&frames), "first of the two");
    let odd = json!({"sessionId": free, "content": "x", "delivery": "later"});
    let refused = app.call("sendMessage", odd).await;
    assert_eq!((refused.status, refused.code()), (400, "invalid_params"));
}

// proves AS-11
#[tokio::test]
async fn a_turn_that_waits_for_somebody_outside_is_interrupted_too() {
    let app = AppBuilder::new()
        .tools(TestTool::asks("ask").build())
        .start([call("ask", json!({})), say("then this")])
        .await;
    let session = app.session().await;
    let mut parked = app.say(&session, "go").await;
    parked.until("tool_call_start").await;

    let frames = deliver(&app, &session, "never mind", "interrupt")
        .await
        .rest()
        .await;

    assert_eq!(last(&parked.rest().await)["finishReason"], "cancelled");
    assert_eq!(text(&frames), "then this");
}
