//! Stores that fail for a while: what is refused then has not happened.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use samovar_core::command::Change;
use samovar_core::file_changes::{ClosedCall, TakenBack};
use samovar_core::{
    Accepted, Action, Blobs, Code, Delivery, Effect, Error, FileChanges, FinishReason, Future,
    Image, Outcome, Sender, SessionId, Title, ToolReply, TurnId,
};
use samovar_doubles::{Gate, TestTool, World, call, say};
use samovar_engine::Settings;
use serde_json::json;

use crate::rig::{Rig, said, said_as, session, settings, turn_of, well};

fn rename(title: &str) -> Action {
    Action::Change(Change {
        model: Some("other".to_owned()),
        title: Title::new(title).ok(),
        ..Change::default()
    })
}

// proves DU-12
#[tokio::test(start_paused = true)]
async fn a_message_whose_cancel_could_not_be_kept_waits_on() {
    let gate = Gate::default();
    let rig = Rig::new([say("one two").hold_after(1, &gate), say("three")]).await;
    rig.post("first").await;
    let second = rig.post("second").await;
    let cancel = || Action::Cancel {
        turn: Some(second.clone()),
    };

    rig.disk.full_journal().set(true);
    assert_eq!(rig.refused(cancel()).await, Code::StoreFull);
    rig.disk.full_journal().set(false);
    gate.open();
    rig.over(&second).await;

    assert_eq!(rig.world.model.prompts().len(), 2, "its turn came");
    let late = rig.submit(cancel()).await;
    assert_eq!(late, Ok(Accepted::Cancelled { stopped: false }));
}

// proves DU-10, DU-12
#[tokio::test(start_paused = true)]
async fn a_turn_that_was_over_before_its_stop_is_not_said_to_be_stopped() {
    let gate = Gate::default();
    let rig = Rig::new([say("one two").hold_after(1, &gate)]).await;
    let turn = rig.post("first").await;
    rig.speaks(&turn).await;
    rig.disk.full_journal().set(true);
    gate.open();
    rig.disk.full_journal().refuses().await;
    let stop = Action::Cancel {
        turn: Some(turn.clone()),
    };
    // The stop comes before the turn has tried again.
    rig.disk.full_journal().set(false);

    let stopped = rig.submit(stop).await;

    assert_eq!(stopped, Ok(Accepted::Cancelled { stopped: false }));
    assert_eq!(rig.over(&turn).await, well());
}

// proves DU-12
#[tokio::test(start_paused = true)]
async fn a_turn_whose_log_can_no_longer_be_read_ends_without_the_words_of_its_answer() {
    let gate = Gate::default();
    let settings = Settings {
        tail_bytes: 1,
        ..settings()
    };
    let answer = say("one two").hold_after(1, &gate);
    let rig = Rig::with(World::answering([answer]), [], settings).await;
    let turn = rig.post("first").await;
    rig.speaks(&turn).await;
    // The words that were shown leave memory with this commit.
    rig.submit(rename("Tea")).await.unwrap();

    rig.disk.damage(session());
    assert!(rig.cancel(Some(&turn)).await);

    assert!(!rig.cancel(Some(&turn)).await, "it is over");
}

// proves DU-12
#[tokio::test(start_paused = true)]
async fn a_session_is_not_deleted_while_the_end_of_its_turn_finds_no_room() {
    let gate = Gate::default();
    let rig = Rig::new([say("one two").hold_after(1, &gate)]).await;
    let turn = rig.post("first").await;
    rig.speaks(&turn).await;

    rig.disk.full_journal().set(true);
    assert_eq!(rig.refused(Action::Close).await, Code::StoreFull);
    rig.disk.full_journal().set(false);

    assert_eq!(rig.over(&turn).await, FinishReason::Cancelled);
    assert_eq!(rig.asked().await, ["first"], "the session is still there");
    assert_eq!(rig.submit(Action::Close).await, Ok(Accepted::Closed));
}

// proves DU-12
#[tokio::test(start_paused = true)]
async fn a_change_or_an_undo_that_cannot_be_kept_is_refused_and_has_not_happened() {
    let rig = Rig::by(|_, _| say("an answer"), [], settings()).await;
    let turn = rig.post("first").await;
    rig.over(&turn).await;
    let before = rig.row().await;

    rig.disk.full_journal().set(true);
    assert_eq!(rig.refused(rename("Tea")).await, Code::StoreFull);
    assert_eq!(
        rig.refused(Action::Undo { turn: None }).await,
        Code::StoreFull
    );
    rig.disk.full_journal().set(false);

    assert_eq!(rig.row().await, before);
    let turn = rig.post("second").await;
    rig.over(&turn).await;
    let prompt = rig.world.model.prompts().pop().unwrap();
    assert_eq!(prompt.model, "scripted");
    assert_eq!(rig.asked().await, ["first", "second"]);
    let undone = rig.submit(Action::Undo { turn: None }).await;
    assert!(matches!(undone, Ok(Accepted::Undone { text, .. }) if text == "second"));
}

// proves DU-2
#[tokio::test(start_paused = true)]
async fn reads_show_a_change_that_the_history_cannot_take_yet_and_an_undo_waits_for_it() {
    let rig = Rig::by(|_, _| say("an answer"), [], settings()).await;
    let turn = rig.post("first").await;
    rig.over(&turn).await;
    assert_eq!(rig.asked().await, ["first"]);

    rig.disk.full_history().set(true);
    rig.submit(rename("Tea")).await.unwrap();
    let turn = rig.post("second").await;
    rig.over(&turn).await;

    let row = rig.row().await;
    assert_eq!(row.title.as_ref().map(Title::as_str), Some("Tea"));
    assert_eq!((row.model.as_str(), row.message_count), ("other", 4));
    assert_eq!(rig.asked().await, ["first", "second"]);
    assert_eq!(
        rig.refused(Action::Undo { turn: None }).await,
        Code::StoreFull
    );
    assert_eq!(rig.asked().await, ["first", "second"]);

    rig.disk.full_history().set(false);
    let undone = loop {
        // The projector rests between its tries.
        match rig.submit(Action::Undo { turn: None }).await {
            Err(error) if error.code == Code::StoreFull => {}
            undone => break undone,
        }
    };
    assert!(matches!(undone, Ok(Accepted::Undone { text, .. }) if text == "second"));
    assert_eq!(rig.asked().await, ["first"]);
}

// proves TL-15
#[tokio::test(start_paused = true)]
async fn a_session_is_deleted_only_once_the_audit_has_its_calls_which_no_history_delays() {
    let send = TestTool::new("send", |_, _| async {
        ToolReply::Closed(Outcome::done("sent"))
    });
    let world = World::answering([call("send", json!({})), say("done")]);
    let rig = Rig::with(world, [send.effect(Effect::Unsafe)], settings()).await;
    let audit = rig.disk.audit();
    rig.disk.full_history().set(true);
    audit.full().set(true);
    let turn = rig.post("go").await;
    rig.over(&turn).await;

    assert_eq!(rig.refused(Action::Close).await, Code::StoreFull);
    assert_eq!(audit.calls(), [""; 0]);
    audit.full().set(false);
    assert_eq!(rig.submit(Action::Close).await, Ok(Accepted::Closed));

    let calls = ["call_started send", "call_closed send"];
    assert_eq!(audit.calls(), calls);
    // Nothing is recorded again when the history takes in what was left.
    rig.disk.full_history().set(false);
    let rig = rig.restart().await;
    while rig.engine.lag().logs > 0 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(audit.calls(), calls);
}

/// Tells what an undo has deleted and brought back.
#[derive(Default)]
struct Remembered(Mutex<Vec<String>>);

impl FileChanges for Remembered {
    fn take_back<'a>(
        &'a self,
        _by: &'a Sender,
        _session: &'a SessionId,
        _turns: &'a [TurnId],
        _calls: Vec<ClosedCall>,
    ) -> Future<'a, Result<TakenBack, Error>> {
        Box::pin(std::future::ready(Ok(TakenBack::default())))
    }

    fn unremember<'a>(
        &'a self,
        _by: &'a Sender,
        turns: &'a [TurnId],
    ) -> Future<'a, Result<Vec<String>, Error>> {
        self.0.lock().unwrap().push(format!("gone {}", turns.len()));
        Box::pin(std::future::ready(Ok(vec!["m1".to_owned()])))
    }

    fn put_back<'a>(&'a self, _by: &'a Sender, ids: &'a [String]) -> Future<'a, ()> {
        self.0.lock().unwrap().push(format!("back {ids:?}"));
        Box::pin(std::future::ready(()))
    }

    fn forget<'a>(&'a self, _session: &'a SessionId, _turns: &'a [TurnId]) -> Future<'a, ()> {
        self.0.lock().unwrap().push("over".to_owned());
        Box::pin(std::future::ready(()))
    }

    fn forget_session<'a>(&'a self, _session: &'a SessionId) -> Future<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

// proves MD-13, DU-12
#[tokio::test(start_paused = true)]
async fn what_a_turn_remembered_is_put_back_when_its_undo_cannot_be_kept() {
    let changes = Arc::new(Remembered::default());
    let world = World::answering([say("an answer"), say("another")]);
    let rig = Rig::changing(world, changes.clone()).await;
    rig.open(session()).await;
    let turn = turn_of(rig.submit(said_as("m1", "one")).await);
    rig.over(&turn).await;
    let Action::Post(post) = said_as("m1", "one") else {
        panic!("a message is posted");
    };
    let seen = || std::mem::take(&mut *changes.0.lock().unwrap());
    for rewrites in [false, true] {
        let undo = Action::Undo { turn: None };
        let action = if rewrites {
            Action::Rewrite(post.clone())
        } else {
            undo
        };
        rig.disk.full_journal().set(true);
        assert_eq!(rig.refused(action).await, Code::StoreFull);
        assert_eq!(seen(), ["gone 1", "back [\"m1\"]"], "{rewrites}");
        assert_eq!(rig.texts().await, ["one", "an answer"]);
        rig.disk.full_journal().set(false);
    }
    rig.undo().await;
    assert_eq!(seen(), ["gone 1", "over"]);
}

// proves AS-30, DU-12
#[tokio::test(start_paused = true)]
async fn an_image_goes_when_the_disk_was_full_before_its_message_was_kept() {
    let rig = Rig::new([]).await;
    rig.open(session()).await;
    let red = include_bytes!("../../../samovar/src/model_test/red.png");
    let mut action = said("look", Delivery::Queue);
    if let Action::Post(post) = &mut action {
        post.images = vec![Image::new(red.to_vec()).unwrap()];
    }
    rig.disk.full_journal().set(true);

    assert_eq!(rig.refused(action).await, Code::StoreFull);

    let blobs = rig.disk.blobs();
    let gone = async {
        while !blobs.list().await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), gone)
        .await
        .unwrap();
    assert!(rig.texts().await.is_empty());
}
