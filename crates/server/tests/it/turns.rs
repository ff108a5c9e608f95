//! The loop: calls, limits, the queue, cancel, calls that are closed from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use samovar_core::{Accepted, Action, CallId, Command, Effect, Outcome, Reply, Sender, SessionId};
use samovar_model_server::{Ended, Gate, When, call, say};
use samovar_testkit::{App, AppBuilder, Frame, TestTool};
use serde_json::{Value, json};
use tokio::sync::Barrier;

fn kinds(frames: &[Frame]) -> Vec<&str> {
    frames
        .iter()
        .map(|frame| {
            if frame.is_done() {
                "[DONE]"
            } else {
                frame.kind()
            }
        })
        .collect()
}

fn texts(frames: &[Frame]) -> String {
    frames
        .iter()
        .filter_map(|frame| frame.data["content"].as_str())
        .collect()
}

fn results(frames: &[Frame]) -> Vec<&str> {
    let results = frames
        .iter()
        .filter(|frame| frame.kind() == "tool_call_result");
    results
        .filter_map(|frame| frame.data["result"].as_str())
        .collect()
}

/// The messages of role `tool` in a prompt, as the model server got them.
fn told(prompt: &Value) -> Vec<&str> {
    let messages = prompt["messages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let tools = messages.iter().filter(|message| message["role"] == "tool");
    tools
        .filter_map(|message| message["content"].as_str())
        .collect()
}

/// Sends a command as the program that has the server inside.
async fn command(
    app: &App,
    session: &str,
    action: Action,
) -> Result<Accepted, samovar_core::Error> {
    let (by, session) = (Sender::Embedder, SessionId::new(session).unwrap());
    app.server()
        .home()
        .engine()
        .submit(Command {
            by,
            session,
            action,
        })
        .await
}

// proves AS-5, AS-10
#[tokio::test]
async fn a_tools_result_reaches_the_model_before_its_next_answer() {
    let echo = TestTool::new("echo", |args, _| async move {
        Reply::Closed(Outcome::done(format!("echo of {}", args["word"])))
    });
    let app = AppBuilder::new()
        .tools(echo.build())
        .start([
            call("echo", json!({"word": "tea"})).and_say("let me see"),
            say("done"),
        ])
        .await;
    let session = app.session().await;

    let frames = app.turn(&session, "say tea").await;

    let shown = kinds(&frames);
    let (first, rest) = shown.split_at(1);
    assert_eq!(first, ["iteration"]);
    assert!(rest.ends_with(&["completed", "[DONE]"]), "{shown:?}");
    assert_eq!(results(&frames), ["echo of \"tea\""]);
    assert_eq!(
        frames
            .iter()
            .filter(|frame| frame.kind() == "iteration")
            .count(),
        2
    );
    let prompts = app.model.prompts();
    assert_eq!(told(prompts[1].body()), ["echo of \"tea\""]);
}

// proves AS-12
#[tokio::test]
async fn whatever_goes_wrong_in_a_tool_comes_back_as_a_result_the_model_can_read() {
    let schema = json!({
        "type": "object", "required": ["n"],
        "properties": {"n": {"type": "integer", "maximum": 3}},
    });
    let picky = TestTool::new("picky", |_, _| async {
        Reply::Closed(Outcome::done("fine"))
    });
    let panics = TestTool::new("panics", |_, _| async { panic!("on purpose") });
    let slow = TestTool::new("slow", |_, _| async {
        std::future::pending::<()>().await;
        Reply::Open
    });
    let silent = TestTool::new("silent", |_, _| async { Reply::Open });
    let asked = call("picky", json!({"n": 9}))
        .and_call("nobody", json!({}))
        .and_call("panics", json!({}))
        .and_call("slow", json!({}))
        .and_call("silent", json!({}))
        .and_call("picky", json!({"n": 3}));
    let app = AppBuilder::new()
        .tools(picky.takes(schema).build())
        .tools(panics.build())
        .tools(slow.timeout(Duration::from_millis(50)).build())
        .tools(silent.build())
        .start([asked, say("I see")])
        .await;
    let session = app.session().await;

    let frames = app.turn(&session, "go").await;

    let words = [
        "/n",
        "unknown tool",
        "broke off",
        "longer than",
        "no result",
        "fine",
    ];
    let results = results(&frames);
    assert_eq!(results.len(), words.len());
    for (result, word) in results.iter().zip(words) {
        assert!(result.contains(word), "{word}: {result}");
    }
    assert!(
        results[0].contains("maximum"),
        "the rule is named: {}",
        results[0]
    );
    let messages = app.ok("getMessages", json!({"sessionId": session})).await;
    let is_error = |name: &str| {
        let rows = messages.as_array().unwrap().iter();
        let mut errors = rows
            .filter(|row| row["name"] == name)
            .map(|row| row["isError"].clone());
        errors.next().unwrap()
    };
    assert_eq!(is_error("panics"), true);
    assert_eq!(told(app.model.prompts()[1].body()).len(), 6);
}

// proves AS-13
#[tokio::test]
async fn eight_calls_of_a_batch_run_at_once_and_a_ninth_waits() {
    let together = Arc::new(Barrier::new(8));
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counts = (running.clone(), most.clone());
    let meet = TestTool::new("meet", move |_, _| {
        let (together, (running, most)) = (together.clone(), counts.clone());
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            // Nobody passes before eight are here: with fewer at once this would never end.
            together.wait().await;
            running.fetch_sub(1, Ordering::SeqCst);
            Reply::Closed(Outcome::done("met"))
        }
    });
    let asked = (1..16).fold(call("meet", json!({})), |asked, _| {
        asked.and_call("meet", json!({}))
    });
    let app = AppBuilder::new()
        .tools(meet.build())
        .start([asked, say("ok")])
        .await;
    let session = app.session().await;

    let frames = app.turn(&session, "go").await;

    assert_eq!(results(&frames), ["met"; 16]);
    assert_eq!(most.load(Ordering::SeqCst), 8);
}

// proves AS-13
#[tokio::test]
async fn an_exclusive_call_runs_alone() {
    let running = Arc::new(AtomicUsize::new(0));
    let counted = |name: &str| {
        let running = running.clone();
        TestTool::new(name, move |_, _| {
            let running = running.clone();
            async move {
                let others = running.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                tokio::time::sleep(Duration::from_millis(5)).await;
                running.fetch_sub(1, Ordering::SeqCst);
                Reply::Closed(Outcome::done(others.to_string()))
            }
        })
    };
    let asked = call("shared", json!({}))
        .and_call("alone", json!({}))
        .and_call("alone", json!({}))
        .and_call("shared", json!({}));
    let app = AppBuilder::new()
        .tools(counted("shared").build())
        .tools(counted("alone").alone().build())
        .start([asked, say("ok")])
        .await;
    let session = app.session().await;

    let frames = app.turn(&session, "go").await;

    assert_eq!(results(&frames), ["0"; 4]);
}

// proves AS-6
#[tokio::test]
async fn a_good_answer_on_the_last_pass_is_not_called_a_cut() {
    let spin = || {
        TestTool::new("spin", |_, _| async {
            Reply::Closed(Outcome::done("again"))
        })
    };
    let two = |config: &mut samovar_server::Config| config.settings.limits.max_iterations = 2;
    let answer = [call("spin", json!({})), say("done")];
    let good = AppBuilder::new()
        .with(two)
        .tools(spin().build())
        .start(answer)
        .await;
    let session = good.session().await;
    let frames = good.turn(&session, "go").await;
    let completed = &frames[frames.len() - 2].data;
    assert_eq!(
        (&completed["finishReason"], &completed["totalIterations"]),
        (&json!("stop"), &json!(2))
    );

    let wants = call("spin", json!({})).forever();
    let cut = AppBuilder::new()
        .with(two)
        .tools(spin().build())
        .start([wants])
        .await;
    let session = cut.session().await;
    let frames = cut.turn(&session, "go").await;
    assert_eq!(
        frames[frames.len() - 2].data["finishReason"],
        "max_iterations"
    );
    assert_eq!(results(&frames).len(), 2);
}

// proves AS-11
#[tokio::test]
async fn a_second_message_waits_in_the_queue_and_its_stream_shows_its_own_turn() {
    let gate = Gate::new("first");
    let app = App::start([
        say("one two")
            .hold_after(1, &gate)
            .when(When::user("first")),
        say("three").when(When::user("second")),
    ])
    .await;
    let session = app.session().await;

    let mut first = app.say(&session, "first").await;
    first.until("text_delta").await;
    let mut second = app.say(&session, "second").await;
    app.model.open(&gate).unwrap();
    let (first, second) = (first.rest().await, second.rest().await);

    assert!(kinds(&first).ends_with(&["completed", "[DONE]"]));
    assert_eq!(texts(&second), "three");
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    let said: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["content"].clone())
        .collect();
    assert_eq!(said, ["first", "one two", "second", "three"]);
    let prompts = app.model.prompts();
    assert_eq!(
        prompts[1].body()["messages"].as_array().unwrap().len(),
        4,
        "system and three"
    );
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
        Ended::Complete
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
        Ended::ClientLeft
    );
    let rest = stream.rest().await;
    assert_eq!(rest[rest.len() - 2].data["finishReason"], "cancelled");
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    assert_eq!(rows[1]["content"], "some");
    let again = app.ok("cancel", json!({"sessionId": session})).await;
    assert_eq!(again, json!({"cancelled": false}));
    assert_eq!(texts(&app.turn(&session, "next").await), "again");
}

#[tokio::test]
async fn cancel_stops_running_tools_and_owns_up_to_what_may_have_happened() {
    let hang = TestTool::new("hang", |_, _| std::future::pending()).effect(Effect::Unsafe);
    let asked = call("hang", json!({}));
    let app = AppBuilder::new()
        .tools(hang.build())
        .start([asked, say("I see")])
        .await;
    let session = app.session().await;
    let mut stream = app.say(&session, "go").await;
    stream.until("tool_call_start").await;

    let cancelled = app.ok("cancel", json!({"sessionId": session})).await;

    assert_eq!(cancelled, json!({"cancelled": true}));
    let rest = stream.rest().await;
    assert_eq!(kinds(&rest), ["tool_call_result", "completed", "[DONE]"]);
    let result = results(&rest)[0];
    assert!(
        result.contains("outcome unknown") || result.contains("stopped"),
        "{result}"
    );
    app.turn(&session, "next").await;
    assert_eq!(
        told(app.model.prompts()[1].body()).len(),
        1,
        "the call has its result"
    );
}

#[tokio::test]
async fn a_queued_message_can_be_cancelled_by_its_turn() {
    let gate = Gate::new("first");
    let app = App::start([say("one two").hold_after(1, &gate)]).await;
    let session = app.session().await;
    let mut first = app.say(&session, "first").await;
    first.until("text_delta").await;
    let second = Action::Post {
        message: None,
        text: samovar_core::command::Text::new("second".to_owned()).unwrap(),
    };
    let Ok(Accepted::Posted { turn, .. }) = command(&app, &session, second).await else {
        panic!()
    };

    let params = json!({"sessionId": session, "turnId": turn.as_str()});
    assert_eq!(
        app.ok("cancel", params.clone()).await,
        json!({"cancelled": true})
    );
    assert_eq!(app.ok("cancel", params).await, json!({"cancelled": false}));

    app.model.open(&gate).unwrap();
    first.rest().await;
    assert_eq!(app.model.prompts().len(), 1);
}

// proves SA-10
#[tokio::test]
async fn a_message_that_is_sent_again_joins_its_turn_and_another_content_is_refused() {
    let app = App::start([say("once")]).await;
    let session = app.session().await;
    let params = json!({"sessionId": session, "content": "hi", "messageId": "m-1"});

    let first = app.ok("sendMessage", params.clone()).await;
    let again = app.ok("sendMessage", params).await;
    let other = json!({"sessionId": session, "content": "ho", "messageId": "m-1"});
    let refused = app.call("sendMessage", other).await;
    let elsewhere = json!({"sessionId": app.session().await, "content": "hi", "messageId": "m-1"});
    let foreign = app.call("sendMessage", elsewhere).await;

    assert_eq!(first, again);
    assert_eq!((refused.status, refused.code()), (409, "message_conflict"));
    assert_eq!((foreign.status, foreign.code()), (409, "message_conflict"));
    assert_eq!(app.model.prompts().len(), 1);
}

/// The call that a turn waits for.
async fn open_call(app: &App, session: &str) -> CallId {
    let (session, after) = (SessionId::new(session).unwrap(), samovar_core::Seq(0));
    let mut reader = app
        .server()
        .home()
        .engine()
        .follow(&session, after)
        .await
        .unwrap();
    loop {
        for event in reader.next().await.unwrap() {
            if let samovar_core::Kind::CallStarted { call, .. } = &event.kind {
                return call.clone();
            }
        }
    }
}

async fn settle(app: &App, session: &str, call: &CallId, text: &str) -> Result<(), String> {
    let action = Action::Settle {
        call: call.clone(),
        outcome: Outcome::done(text),
    };
    let settled = command(app, session, action).await;
    settled.map(drop).map_err(|error| error.code.to_string())
}

#[tokio::test]
async fn a_call_is_closed_from_outside_and_the_parked_turn_goes_on() {
    let asked = call("ask", json!({"question": "when?"}));
    let app = AppBuilder::new()
        .tools(TestTool::asks("ask").build())
        .start([asked, say("ok")])
        .await;
    let session = app.session().await;
    let mut stream = app.say(&session, "go").await;
    let open = open_call(&app, &session).await;

    // One root turn at a time: a parked one is still the session's turn.
    let mut queued = app.say(&session, "more").await;
    settle(&app, &session, &open, "at noon").await.unwrap();

    let frames = stream.rest().await;
    assert_eq!(results(&frames), ["at noon"]);
    assert_eq!(texts(&frames), "ok");
    assert_eq!(
        settle(&app, &session, &open, "at one").await,
        Err("unknown_call".to_owned())
    );
    assert!(queued.next().await.is_some());
}

#[tokio::test]
async fn a_parked_turn_waits_over_a_restart_and_costs_no_model_call() {
    let asked = call("ask", json!({}));
    let ask = TestTool::asks("ask").build();
    let app = AppBuilder::new().tools(ask).start([asked, say("ok")]).await;
    let session = app.session().await;
    drop(app.say(&session, "go").await);
    let open = open_call(&app, &session).await;

    let app = app.restart().await;
    assert_eq!(app.model.prompts().len(), 1);
    settle(&app, &session, &open, "at noon").await.unwrap();

    app.model.seen(2).await;
    let prompts = app.model.prompts();
    assert_eq!(told(prompts[1].body()), ["at noon"]);
    let params = json!({"sessionId": session, "content": "and now?"});
    drop(app.post_stream(params).await);
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    let said: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["role"].clone())
        .collect();
    assert_eq!(said[..4], ["user", "assistant", "tool", "assistant"]);
}

#[tokio::test]
async fn a_parked_turn_can_be_cancelled() {
    let asked = call("ask", json!({}));
    let app = AppBuilder::new()
        .tools(TestTool::asks("ask").build())
        .start([asked])
        .await;
    let session = app.session().await;
    let mut stream = app.say(&session, "go").await;
    let open = open_call(&app, &session).await;

    assert_eq!(
        app.ok("cancel", json!({"sessionId": session})).await,
        json!({"cancelled": true})
    );

    assert_eq!(kinds(&stream.rest().await).last(), Some(&"[DONE]"));
    assert_eq!(
        settle(&app, &session, &open, "late").await,
        Err("unknown_call".to_owned())
    );
}

// proves TL-4
#[tokio::test]
async fn a_call_that_would_have_to_be_asked_for_is_refused_with_the_reason() {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = ran.clone();
    let touch = TestTool::new("touch", move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        async { Reply::Closed(Outcome::done("touched")) }
    });
    let app = AppBuilder::new()
        .with(|config| config.settings.approval = samovar_core::Approval::Supervised)
        .tools(touch.effect(Effect::Unsafe).build())
        .start([call("touch", json!({})), say("then not")])
        .await;
    let session = app.session().await;

    let frames = app.turn(&session, "go").await;

    assert!(
        results(&frames)[0].contains("supervised"),
        "{:?}",
        results(&frames)
    );
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    assert_eq!(texts(&frames), "then not");
}

// proves AS-19
#[tokio::test]
async fn a_deleted_session_is_gone_while_its_turn_runs_and_can_be_made_anew() {
    let gate = Gate::new("never");
    let app = App::start([say("some words").hold_after(1, &gate), say("fresh")]).await;
    let made = json!({"sessionId": "s", "metadata": {"title": "old"}});
    app.ok("createSession", made).await;
    let mut stream = app.say("s", "go").await;
    stream.until("text_delta").await;

    assert_eq!(
        app.ok("deleteSession", json!({"sessionId": "s"})).await,
        Value::Null
    );

    assert_eq!(kinds(&stream.rest().await).last(), Some(&"[DONE]"));
    for method in ["getSession", "getMessages", "deleteSession", "cancel"] {
        let answer = app.call(method, json!({"sessionId": "s"})).await;
        assert_eq!(
            (answer.status, answer.code()),
            (404, "unknown_session"),
            "{method}"
        );
    }
    assert_eq!(app.ok("getStats", json!({})).await["sessions"], 0);

    app.ok("createSession", json!({"sessionId": "s"})).await;
    assert_eq!(
        app.ok("getMessages", json!({"sessionId": "s"})).await,
        json!([])
    );
    let frames = app.turn("s", "hello").await;
    assert_eq!(texts(&frames), "fresh");

    let app = app.restart().await;
    let rows = app.ok("getMessages", json!({"sessionId": "s"})).await;
    assert_eq!(rows.as_array().unwrap().len(), 2);
}
