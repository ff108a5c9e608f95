//! What a restart finds, and what it costs to keep it. Hard kills are proven on the real binary.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use samovar_core::{Code, Effect, Outcome, Sender, SessionId, ToolReply};
use samovar_engine::Recovery;
use samovar_model_server::{Gate, Rule, When, call, say};
use samovar_testkit::{App, AppBuilder, TestTool};
use serde_json::json;
use tokio::sync::Notify;

use crate::shown;

/// The first message's answer stops in the middle until the gate is opened.
fn first_held(gate: &Gate) -> [Rule; 2] {
    [
        say("one two").hold_after(1, gate).when(When::user("first")),
        say("three").when(When::user("second")),
    ]
}

// proves DU-4
#[tokio::test]
async fn a_text_answer_costs_two_synced_commits_and_a_tool_step_two_more() {
    let touch = || {
        TestTool::new("touch", |_, _| async {
            ToolReply::Closed(Outcome::done("ok"))
        })
    };
    let long = "a word and ".repeat(100);
    let app = AppBuilder::new()
        .tools(touch().build())
        .start([
            say(long).when(When::user("talk")),
            call("touch", json!({})).when(When::user("act").and(When::ToolResultsSinceUser(0))),
            say("done").when(When::user("act")),
        ])
        .await;
    let session = app.session().await;
    let home = app.server().home();
    let cost = async |content: &str| {
        let before = home.commits();
        app.turn(&session, content).await;
        home.commits() - before
    };

    assert!(cost("talk").await <= 2, "a text answer");
    // A call that only reads has no intent: the message with the call, the result with the next
    // step, and the turn's first and last.
    assert!(cost("act").await <= 4, "a tool step");
}

// proves DU-4
#[tokio::test]
async fn a_call_that_changes_something_costs_no_commit_beside_its_intent() {
    let touch = TestTool::new("touch", |_, _| async {
        ToolReply::Closed(Outcome::done("ok"))
    });
    let asked = call("touch", json!({}))
        .and_call("touch", json!({}))
        .and_call("touch", json!({}));
    let app = AppBuilder::new()
        .tools(touch.effect(Effect::Unsafe).build())
        .start([asked, say("done")])
        .await;
    let session = app.session().await;
    let before = app.server().home().commits();

    app.turn(&session, "go").await;

    // Begin; message with calls and intents; one to three results; end.
    let spent = app.server().home().commits() - before;
    assert!((4..=6).contains(&spent), "{spent}");
}

// proves DU-7
#[tokio::test]
async fn ids_go_on_over_a_restart_and_never_repeat() {
    let app = App::start([say("one"), say("two")]).await;
    let session = app.session().await;
    let ids = |frames: &[samovar_testkit::Frame]| -> Vec<(u64, u64)> {
        let ids = frames.iter().filter_map(|frame| frame.id.as_deref());
        let split = |id: &str| {
            let mut numbers = id.split('.').map(|number| number.parse().unwrap());
            (numbers.next().unwrap(), numbers.next().unwrap())
        };
        ids.map(split).collect()
    };

    let before = ids(&app.turn(&session, "a").await);
    let app = app.restart().await;
    let after = ids(&app.turn(&session, "b").await);

    assert!(before.is_sorted() && after.is_sorted());
    let (last, first) = (before.last().unwrap(), after.first().unwrap());
    assert!(first.0 > last.0, "a new epoch");
    assert!(first.1 > last.1, "the same count");
}

// proves DU-2
#[tokio::test]
async fn a_read_sees_what_was_accepted_before_it() {
    let app = App::start([say("ok").forever()]).await;
    for turn in 0..20 {
        let session = format!("s{turn}");
        app.ok("createSession", json!({"sessionId": session})).await;
        assert_eq!(
            app.ok("getSession", json!({"sessionId": session})).await["messageCount"],
            0
        );
        app.ok(
            "sendMessage",
            json!({"sessionId": session, "content": "hi"}),
        )
        .await;
        let rows = app.ok("getMessages", json!({"sessionId": session})).await;
        assert_eq!(rows.as_array().unwrap().len(), 2);
        let list = app.ok("listSessions", json!({})).await;
        assert_eq!(list["items"][0]["id"], *session);
        assert_eq!(
            app.ok("getStats", json!({})).await["messages"],
            (turn + 1) * 2
        );
    }
}

// proves DU-1
#[tokio::test]
async fn a_restart_projects_again_what_the_history_has_not_and_counts_nothing_twice() {
    let mut app = App::start([say("ok").forever()]).await;
    app.ok("createSession", json!({"sessionId": "s"})).await;
    for turn in 1..=5 {
        app.ok("sendMessage", json!({"sessionId": "s", "content": "hi"}))
            .await;
        app = app.restart().await;
        let session = app.ok("getSession", json!({"sessionId": "s"})).await;
        assert_eq!(session["messageCount"], turn * 2);
        let rows = app.ok("getMessages", json!({"sessionId": "s"})).await;
        assert_eq!(rows.as_array().unwrap().len(), turn * 2);
    }
    let prompt = app.model.prompts().pop().unwrap();
    let messages = prompt.body()["messages"].as_array().unwrap().len();
    assert_eq!(
        messages,
        1 + 4 * 2 + 1,
        "the model sees the whole conversation after a restart"
    );
}

// proves AS-8
#[tokio::test]
async fn a_stream_that_the_server_leaves_says_so_and_where_to_go_on() {
    let gate = Gate::new("never");
    let mut app = App::start([say("some words").hold_after(1, &gate)]).await;
    let session = app.session().await;
    let mut stream = app.say(&session, "go").await;
    let shown = stream.until("text_delta").await;
    let last = shown.last().and_then(|frame| frame.id.clone()).unwrap();

    let (rest, ()) = tokio::join!(stream.rest(), app.stop_now());

    let (error, done) = (&rest[rest.len() - 2], &rest[rest.len() - 1]);
    assert_eq!(error.data["code"], "server_restart");
    let message = error.data["message"].as_str().unwrap();
    assert!(message.contains(&last), "{message} names {last}");
    assert!(error.id.is_none() && done.is_done());
}

// proves DU-11
#[tokio::test]
async fn a_server_that_stops_begins_no_turn_and_the_next_one_does() {
    let gate = Gate::new("first");
    let app = App::start(first_held(&gate)).await;
    let session = app.session().await;
    let mut first = app.say(&session, "first").await;
    first.until("text_delta").await;
    let second = app.say(&session, "second").await;

    let engine = app.server().home().engine().clone();
    let stopping = engine.shutdown(std::time::Duration::from_mins(1));
    let finishing = async {
        while !engine.is_stopping() {
            tokio::task::yield_now().await;
        }
        app.model.open(&gate).unwrap();
        first.rest().await
    };
    let ((), first) = tokio::join!(stopping, finishing);

    assert_eq!(shown::last(&first)["finishReason"], "stop");
    assert_eq!(app.model.prompts().len(), 1);
    drop((second, engine));
    let app = app.restart().await;
    app.model.seen(2).await;
}

// proves AS-29, DU-11
#[tokio::test]
async fn an_import_that_finds_the_stores_closed_is_to_be_sent_again() {
    let app = App::start([say("hi")]).await;
    let session = app.session().await;
    app.say(&session, "hello").await.rest().await;
    let engine = app.server().home().engine().clone();
    let id = SessionId::new(&session).unwrap();
    let copy = engine.export(&id).await.unwrap();
    engine.shutdown(std::time::Duration::ZERO).await;

    let refused = engine.import(Sender::Embedder, copy).await;

    assert_eq!(refused.unwrap_err().code, Code::Unavailable);
}

#[tokio::test]
async fn a_server_whose_port_is_taken_begins_no_turn() {
    let gate = Gate::new("never");
    let mut app = App::start(first_held(&gate)).await;
    let session = app.session().await;
    let mut first = app.say(&session, "first").await;
    first.until("text_delta").await;
    drop(app.say(&session, "second").await);
    app.stop_now().await;

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = app.config().clone();
    config.server.port = taken.local_addr().unwrap().port();
    config
        .providers
        .base_urls
        .insert("custom".to_owned(), app.model.base_url());
    let refused = samovar_server::Server::start(config).await;
    assert_eq!(refused.err().unwrap().code(), "address_unusable");
    assert_eq!(app.model.prompts().len(), 1);

    let app = app.restart().await;
    app.model.seen(2).await;
}

// proves AS-22, DU-6
#[tokio::test]
async fn the_tools_of_the_program_around_the_server_are_there_before_any_turn_goes_on() {
    let (runs, began) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let (counted, begins) = (runs.clone(), began.clone());
    let again = TestTool::new("again", move |_, _| {
        let is_first = counted.fetch_add(1, Ordering::SeqCst) == 0;
        begins.notify_one();
        async move {
            if is_first {
                std::future::pending::<()>().await;
            }
            ToolReply::Closed(Outcome::done("did it"))
        }
    });
    let app = AppBuilder::new()
        .tools(again.effect(Effect::Idempotent).build())
        .start([call("again", json!({})), say("the end")])
        .await;
    let session = app.session().await;
    drop(app.say(&session, "go").await);
    began.notified().await;

    let app = app.restart().await;

    let prompt = app.model.prompt(1).await.unwrap();
    assert_eq!(shown::told(prompt.body()), ["did it"]);
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

// proves CH-9
#[tokio::test]
async fn where_only_used_sessions_are_looked_after_the_chats_agent_is_not_woken() {
    let app = AppBuilder::new()
        .with(|config| config.settings.recovery = Recovery::UsedSessions)
        .start([say("done").forever()])
        .await;
    let chat = app.server().home().chat();
    chat.post_user("is anybody there?").await.unwrap();
    chat.signal("master", "wake up").unwrap();
    let session = app.session().await;
    app.turn(&session, "go").await;

    let prompts = app.model.prompts();
    assert_eq!(prompts.len(), 1);
    assert!(prompts[0].body().to_string().contains("go"));
    app.stop().await;
}
