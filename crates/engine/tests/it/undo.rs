//! The last turn is taken back.

use samovar_core::error::FaultCode;
use samovar_core::{
    Accepted, Action, Code, FinishReason, Kind, Outcome, Sender, Seq, ToolReply, TurnId,
};
use samovar_doubles::{Gate, TestTool, call, fail, say};
use serde_json::json;

use crate::rig::{Rig, named, said_as, send, session, settings, turn_of, well};

// proves AS-18
#[tokio::test(start_paused = true)]
async fn the_last_turn_leaves_the_conversation_and_its_cost_stays() {
    let look = TestTool::new("look", |_, _| async {
        ToolReply::Closed(Outcome::done("a file"))
    });
    let replies = |user: &str, results| match (user, results) {
        ("two", 0) => call("look", json!({})).usage(7, 5),
        _ => say("an answer").usage(3, 2),
    };
    let rig = Rig::by(replies, [look], settings()).await;
    rig.turn("one").await;
    rig.turn("two").await;
    let before = rig.row().await;
    assert_eq!(before.message_count, 6);

    assert_eq!(rig.undo().await, "two");

    assert_eq!(rig.texts().await, ["one", "an answer"]);
    let after = rig.row().await;
    assert_eq!(after.message_count, 2);
    assert_eq!((before.usage.input, before.usage.output), (13, 9));
    assert_eq!(after.usage, before.usage, "what was spent is spent");
    assert!(after.updated_at >= before.updated_at);
    assert_eq!(rig.engine.totals().await.unwrap().messages, 2);

    assert_eq!(rig.turn("three").await, well());
    assert_eq!(rig.shown(), ["one", "an answer", "three"]);
    assert_eq!(rig.undo().await, "three");
    assert_eq!(rig.undo().await, "one");
    assert_eq!(rig.texts().await, [""; 0]);
    assert_eq!(
        rig.refused(Action::Undo { turn: None }).await,
        Code::UnknownTurn
    );
}

// proves AS-18, DU-1
#[tokio::test(start_paused = true)]
async fn an_undo_that_names_its_turn_can_be_sent_again_and_takes_no_other_back() {
    let rig = Rig::by(|_, _| say("an answer"), [], settings()).await;
    let one = rig.post("one").await;
    rig.over(&one).await;
    let two = rig.post("two").await;
    rig.over(&two).await;
    let undo = |turn: &TurnId| Action::Undo {
        turn: Some(turn.clone()),
    };
    assert_eq!(rig.refused(undo(&one)).await, Code::UnknownTurn);
    let (first, same) = tokio::join!(rig.submit(undo(&two)), rig.submit(undo(&two)));
    assert!(matches!(&first, Ok(Accepted::Undone { text, .. }) if text == "two"));
    assert_eq!(same, first, "two at once");

    // Its answer was lost, or a kill came before it.
    assert_eq!(rig.submit(undo(&two)).await, first);
    let rig = rig.restart().await;
    assert_eq!(rig.submit(undo(&two)).await, first);
    assert_eq!(rig.texts().await, ["one", "an answer"]);
    assert_eq!(rig.undo().await, "one");
    assert_eq!(rig.submit(undo(&two)).await, first);
    let other = TurnId::new("other").unwrap();
    assert_eq!(rig.refused(undo(&other)).await, Code::UnknownTurn);
}

// proves DU-1
#[tokio::test(start_paused = true)]
async fn what_was_taken_back_stays_away_after_a_restart() {
    let rig = Rig::by(|_, _| say("an answer"), [], settings()).await;
    rig.turn("one").await;
    rig.turn("two").await;
    rig.undo().await;
    let before = rig.row().await;

    let rig = rig.restart().await;

    let mut reader = rig.engine.follow(&session(), Seq(0)).await.unwrap();
    let log = reader.next().await.unwrap();
    let last = log.last().map(|event| &event.kind);
    assert!(
        matches!(last, Some(Kind::TurnUndone { messages: 2, .. })),
        "nothing was left to be done: {last:?}"
    );
    drop(reader);
    assert_eq!(rig.row().await, before);
    assert_eq!(rig.texts().await, ["one", "an answer"]);
    rig.turn("three").await;
    assert_eq!(rig.shown(), ["one", "an answer", "three"]);
    let rig = rig.restart().await;
    assert_eq!(rig.undo().await, "three");
    assert_eq!(rig.undo().await, "one");
}

// proves SA-10
#[tokio::test(start_paused = true)]
async fn a_message_that_was_taken_back_can_be_said_again_under_its_id_as_a_new_one() {
    let rig = Rig::new([say("first answer"), say("second answer"), say("third")]).await;
    let post = async |rig: &Rig, text| {
        let turn = turn_of(rig.submit(said_as("m", text)).await);
        rig.over(&turn).await;
        turn
    };
    let first = post(&rig, "hello").await;
    rig.undo().await;

    let second = post(&rig, "hello").await;
    assert_ne!(first, second);
    assert_eq!(rig.texts().await, ["hello", "second answer"]);
    rig.undo().await;

    let rig = rig.restart().await;
    let third = post(&rig, "other words").await;
    assert_eq!(rig.texts().await, ["other words", "third"]);
    let again = post(&rig, "other words").await;
    assert_eq!(again, third, "joined, not said once more");
}

// proves AS-3
#[tokio::test(start_paused = true)]
async fn nothing_is_taken_back_while_a_turn_runs_waits_or_is_queued() {
    let gate = Gate::default();
    let held = gate.clone();
    let replies = move |user: &str, results| match (user, results) {
        ("second", _) => say("one two").hold_after(1, &held),
        ("third", 0) => call("ask", json!({})),
        _ => say("done"),
    };
    let rig = Rig::by(replies, [TestTool::asks("ask")], settings()).await;
    rig.turn("first").await;
    let second = rig.post("second").await;
    rig.speaks(&second).await;
    let third = rig.post("third").await;

    assert_eq!(
        rig.refused(Action::Undo { turn: None }).await,
        Code::SessionBusy
    );
    gate.open();
    rig.over(&second).await;
    let open = rig.asked_outside().await;
    assert_eq!(
        rig.refused(Action::Undo { turn: None }).await,
        Code::SessionBusy
    );
    let outcome = Outcome::done("yes");
    let settled = rig.engine.settle(Sender::Embedder, open.call.id, outcome);
    settled.await.unwrap();
    assert_eq!(rig.over(&third).await, well());

    assert_eq!(rig.undo().await, "third");
    let unknown = send(&rig.engine, named("nobody"), Action::Undo { turn: None }).await;
    assert_eq!(unknown.unwrap_err().code, Code::UnknownSession);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_failed_or_was_stopped_can_be_taken_back() {
    let held = say("some words").hold_after(1, &Gate::default());
    let no = fail(FaultCode::ProviderRejected, "no");
    let rig = Rig::new([no, held, say("fine")]).await;
    assert_eq!(rig.turn("fails").await, FinishReason::Error);
    assert_eq!(rig.undo().await, "fails");
    let stops = rig.post("stops").await;
    rig.speaks(&stops).await;
    assert!(rig.cancel(None).await);
    assert_eq!(rig.over(&stops).await, FinishReason::Cancelled);

    assert_eq!(rig.undo().await, "stops");

    rig.turn("fine").await;
    assert_eq!(rig.shown(), ["fine"]);
}

// proves AS-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_whose_end_was_read_can_be_taken_back_at_once() {
    let rig = Rig::by(|_, _| say("an answer"), [], settings()).await;
    for _ in 0..200 {
        rig.turn("one").await;
        assert_eq!(rig.undo().await, "one");
    }
}
