//! The queue, cancel, deletion.

use std::future::pending;

use samovar_core::command::Change;
use samovar_core::history::SessionQuery;
use samovar_core::{Accepted, Action, Code, Delivery, Effect, Kind, Outcome, Sender, Status};
use samovar_doubles::{Gate, TestTool, call, say};
use serde_json::json;

use crate::rig::{Rig, said, session, settings, texts_of, well};

// proves AS-11
#[tokio::test(start_paused = true)]
async fn a_second_message_waits_in_the_queue_for_a_turn_of_its_own() {
    let gate = Gate::default();
    let rig = Rig::new([say("one two").hold_after(1, &gate), say("three")]).await;
    let first = rig.post("first").await;
    rig.speaks(&first).await;
    let second = rig.post("second").await;

    gate.open();

    assert_eq!(rig.over(&first).await, well());
    assert_eq!(rig.over(&second).await, well());
    assert_eq!(rig.texts().await, ["first", "one two", "second", "three"]);
    assert_eq!(rig.shown(), ["first", "one two", "second"]);
}

#[tokio::test(start_paused = true)]
async fn cancel_stops_running_tools_and_says_what_may_have_happened() {
    for (effect, status) in [
        (Effect::Unsafe, Status::Unknown),
        (Effect::Read, Status::Cancelled),
    ] {
        let hang = TestTool::new("hang", |_, _| pending()).effect(effect);
        let replies = |user: &str, _| match user {
            "go" => call("hang", json!({})),
            _ => say("I see"),
        };
        let rig = Rig::by(replies, [hang], settings()).await;
        let turn = rig.post("go").await;
        let starts = |kind: &Kind| matches!(kind, Kind::CallStarted { .. });
        let begun = |kind: &Kind| match kind {
            Kind::MessageFinished { message, .. } => message.calls().next().is_some(),
            kind => starts(kind),
        };
        rig.sees(|event| begun(&event.kind)).await;

        assert!(rig.cancel(None).await);

        let log = rig.log_of(&turn).await;
        let closed = log.iter().find_map(|kind| match kind {
            Kind::CallClosed { outcome, .. } => Some(outcome.status),
            _ => None,
        });
        assert_eq!(closed, Some(status), "{effect:?}");
        assert_eq!(rig.turn("next").await, well());
    }
}

#[tokio::test(start_paused = true)]
async fn a_queued_message_can_be_cancelled_by_its_turn_and_is_shown_to_no_model() {
    let gate = Gate::default();
    let held = say("one two").hold_after(1, &gate);
    let rig = Rig::new([held, say("fine"), say("well")]).await;
    let first = rig.post("first").await;
    rig.speaks(&first).await;
    let second = rig.post("second").await;

    assert!(rig.cancel(Some(&second)).await);
    assert!(!rig.cancel(Some(&second)).await);

    gate.open();
    rig.over(&first).await;
    rig.turn("third").await;
    assert_eq!(rig.shown(), ["first", "one two", "third"]);
    let rig = rig.restart().await;
    rig.turn("fourth").await;
    let shown = ["first", "one two", "third", "fine", "fourth"];
    assert_eq!(rig.shown(), shown);
    let said = rig.asked().await;
    assert!(said.contains(&"second".to_owned()), "people still see it");
}

// proves AS-19
#[tokio::test(start_paused = true)]
async fn only_an_empty_session_is_deleted_if_it_is_to_be_empty() {
    let gate = Gate::default();
    let rig = Rig::new([say("some words").hold_after(1, &gate)]).await;
    let turn = rig.post("go").await;
    rig.speaks(&turn).await;
    assert_eq!(rig.refused(Action::CloseEmpty).await, Code::SessionConflict);
    gate.open();
    assert_eq!(rig.over(&turn).await, well());
    assert_eq!(rig.refused(Action::CloseEmpty).await, Code::SessionConflict);
    let rig = rig.restart().await;
    assert_eq!(rig.refused(Action::CloseEmpty).await, Code::SessionConflict);
    assert_eq!(rig.texts().await, ["go", "some words"]);

    assert!(rig.submit(Action::Undo { turn: None }).await.is_ok());
    for _ in 0..2 {
        assert_eq!(rig.submit(Action::CloseEmpty).await, Ok(Accepted::Closed));
        assert_eq!(rig.refused(Action::CloseEmpty).await, Code::UnknownSession);
        rig.open(session()).await;
    }
}

// proves AS-19
#[tokio::test(start_paused = true)]
async fn a_deleted_session_is_gone_while_its_turn_runs_and_can_be_made_anew() {
    let held = say("some words").hold_after(1, &Gate::default());
    let rig = Rig::new([held, say("fresh")]).await;
    let turn = rig.post("go").await;
    rig.speaks(&turn).await;
    let reader = rig.engine.follow(&session(), samovar_core::Seq(0)).await;

    assert_eq!(rig.submit(Action::Close).await, Ok(Accepted::Closed));

    let mut reader = reader.unwrap();
    let mut last = None;
    while let Ok(events) = reader.next().await {
        last = events.last().map(|event| event.kind.clone()).or(last);
        if last == Some(Kind::SessionClosed) {
            break;
        }
    }
    let session_of = rig.engine.session(&session()).await;
    assert_eq!(session_of.unwrap_err().code, Code::UnknownSession);
    for action in [
        Action::Close,
        Action::Undo { turn: None },
        Action::Cancel { turn: None },
    ] {
        assert_eq!(rig.refused(action).await, Code::UnknownSession);
    }
    assert_eq!(rig.engine.totals().await.unwrap().sessions, 0);

    rig.open(session()).await;
    assert_eq!(rig.texts().await, [""; 0]);
    let posted = rig.submit(said("hello", Delivery::Queue)).await;
    let Ok(Accepted::Posted { turn, after, .. }) = posted else {
        panic!("{posted:?}")
    };
    rig.log_from(after, &turn).await;
    assert_eq!(texts_of(&rig.world.model.prompts()[1]), ["hello"]);
    let rig = rig.restart().await;
    assert_eq!(rig.texts().await, ["hello", "fresh"]);
    let all = SessionQuery {
        edit_forks: true,
        limit: 9,
        ..SessionQuery::default()
    };
    assert_eq!(rig.engine.sessions(all).await.unwrap().1, 1);
}

// proves AS-18
#[tokio::test(start_paused = true)]
async fn a_new_model_answers_the_next_turn_that_begins_and_none_that_runs_or_waits() {
    let gate = Gate::default();
    let held = gate.clone();
    let replies = move |user: &str, results| match (user, results) {
        ("asks", 0) => call("ask", json!({})),
        ("asks", _) => say("well").hold(&held),
        _ => say("three"),
    };
    let rig = Rig::by(replies, [TestTool::asks("ask")], settings()).await;
    let first = rig.post("asks").await;
    let open = rig.asked_outside().await;
    let second = rig.post("second").await;

    let change = Action::Change(Change {
        model: Some("other".to_owned()),
        ..Change::default()
    });
    assert_eq!(rig.submit(change).await, Ok(Accepted::Changed));
    let outcome = Outcome::done("at noon");
    let settled = rig.engine.settle(Sender::Embedder, open.call.id, outcome);
    settled.await.unwrap();
    gate.open();

    rig.over(&first).await;
    rig.over(&second).await;
    let rig = rig.restart().await;
    rig.turn("third").await;
    let prompts = rig.world.model.prompts().into_iter();
    let asked: Vec<_> = prompts.map(|prompt| prompt.model).collect();
    assert_eq!(asked, ["scripted", "scripted", "other", "other"]);
}
