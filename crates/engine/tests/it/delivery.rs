//! What happens to a message while another turn runs (AS-11).

use samovar_core::{Code, Delivery, FinishReason, Outcome, ToolReply, TurnId};
use samovar_doubles::{Gate, TestTool, World, call, say};
use samovar_engine::Settings;
use serde_json::json;

use crate::rig::{Rig, said, settings, texts_of, well};

fn look() -> TestTool {
    TestTool::new("look", |_, _| async {
        ToolReply::Closed(Outcome::done("a file"))
    })
}

/// A turn whose model is in the middle of a call, and a message that steers it.
async fn steered(
    gate: &Gate,
    replies: impl IntoIterator<Item = samovar_doubles::Reply>,
) -> (Rig, TurnId, TurnId) {
    let held = say("Let me look.")
        .and_call("look", json!({}))
        .hold_after(1, gate);
    let world = World::answering([held]);
    world.model.will(replies);
    let rig = Rig::with(world, [look()], settings()).await;
    let running = rig.post("go").await;
    rig.speaks(&running).await;
    let steering = rig.deliver("and be quick", Delivery::Steer).await;
    (rig, running, steering)
}

const TALK: [&str; 5] = [
    "go",
    "Let me look.",
    "a file",
    "and be quick",
    "Quickly then.",
];

// proves AS-11
#[tokio::test(start_paused = true)]
async fn what_steers_stands_between_the_results_and_the_next_answer_and_counts_once() {
    let gate = Gate::default();
    let replies = [say("Quickly then."), say("Again.")];
    let (rig, running, steering) = steered(&gate, replies).await;
    gate.open();

    assert_eq!(rig.over(&running).await, well());
    assert_eq!(rig.over(&steering).await, FinishReason::Steered);
    assert_eq!(rig.shown(), TALK[..4]);
    assert_eq!(rig.texts().await, TALK);
    assert_eq!(rig.row().await.message_count, 5);

    // Another run of the server shows the model the same.
    let rig = rig.restart().await;
    rig.turn("more").await;
    assert_eq!(rig.shown(), [&TALK[..], &["more"]].concat());

    // Taking the turn back takes back both that was said in it.
    rig.undo().await;
    rig.undo().await;
    assert_eq!(rig.texts().await, [""; 0]);
    assert_eq!(rig.row().await.message_count, 0);
}

// proves AS-11
#[tokio::test(start_paused = true)]
async fn what_steers_too_late_or_where_nothing_runs_begins_a_turn_of_its_own() {
    let gate = Gate::default();
    let held = say("one two").hold_after(1, &gate);
    let rig = Rig::new([held, say("three"), say("alone")]).await;
    let running = rig.post("go").await;
    rig.speaks(&running).await;
    let late = rig.deliver("and then?", Delivery::Steer).await;
    gate.open();

    assert_eq!(rig.over(&running).await, well());
    assert_eq!(rig.over(&late).await, well());
    let alone = rig.deliver("go", Delivery::Steer).await;
    assert_eq!(rig.over(&alone).await, well());
    let said = ["go", "one two", "and then?", "three", "go", "alone"];
    assert_eq!(rig.texts().await, said);
}

// proves AS-11, DU-10
#[tokio::test(start_paused = true)]
async fn what_is_to_steer_can_be_cancelled_before_it_does() {
    let gate = Gate::default();
    let (rig, running, steering) = steered(&gate, [say("Done.")]).await;

    assert!(rig.cancel(Some(&steering)).await);
    gate.open();

    assert_eq!(rig.over(&steering).await, FinishReason::Cancelled);
    assert_eq!(rig.over(&running).await, well());
    assert_eq!(rig.shown(), TALK[..3]);
}

// proves AS-11
#[tokio::test(start_paused = true)]
async fn what_steers_survives_a_stop_of_the_server_and_joins_the_turn_that_goes_on() {
    let replies = [call("look", json!({})), say("Quickly then.")];
    let (rig, running, steering) = steered(&Gate::default(), replies).await;

    let rig = rig.restart().await;

    assert_eq!(rig.over(&running).await, well());
    assert_eq!(rig.over(&steering).await, FinishReason::Steered);
    assert_eq!(
        texts_of(&rig.world.model.prompts()[1]),
        ["go", "and be quick"]
    );
    let said = ["go", "and be quick", "", "a file", "Quickly then."];
    assert_eq!(rig.texts().await, said);
    assert_eq!(rig.world.model.prompts().len(), 3);
}

/// A turn that never ends by itself, with a message behind it, and room for one more.
async fn busy() -> (Rig, TurnId, TurnId) {
    let never = Gate::default();
    let replies = move |user: &str, _| match user {
        "go" => say("one two").hold_after(1, &never),
        user => say(&format!("answer to {user}")),
    };
    let small = Settings {
        max_queue: 2,
        ..settings()
    };
    let rig = Rig::by(replies, [], small).await;
    let running = rig.deliver("go", Delivery::Reject).await;
    rig.speaks(&running).await;
    let queued = rig.post("queued").await;
    (rig, running, queued)
}

// proves AS-11, DU-10
#[tokio::test(start_paused = true)]
async fn what_interrupts_stops_the_turn_that_runs_and_goes_before_what_waits() {
    let (rig, running, queued) = busy().await;

    let urgent = rig.deliver("stop", Delivery::Interrupt).await;

    assert_eq!(rig.over(&running).await, FinishReason::Cancelled);
    assert_eq!(rig.over(&urgent).await, well());
    assert_eq!(rig.over(&queued).await, well());
    assert_eq!(
        rig.texts().await,
        [
            "go",
            "one ",
            "stop",
            "answer to stop",
            "queued",
            "answer to queued"
        ],
        "results so far are kept"
    );
}

// proves AS-11
#[tokio::test(start_paused = true)]
async fn what_interrupts_is_not_lost_by_a_stop_of_the_server() {
    let (rig, _, queued) = busy().await;
    let urgent = rig.deliver("stop", Delivery::Interrupt).await;

    let rig = rig.restart().await;

    assert_eq!(rig.over(&urgent).await, well());
    assert_eq!(rig.over(&queued).await, well());
    let prompts = rig.world.model.prompts();
    let asked = prompts.iter().map(samovar_doubles::user);
    let mut asked: Vec<_> = asked.filter(|text| text != "go").collect();
    // Its turn may have asked before the stop; then it asks again.
    asked.dedup();
    assert_eq!(asked, ["stop", "queued"]);
}

// proves AS-11
#[tokio::test(start_paused = true)]
async fn a_busy_session_refuses_what_wants_to_be_refused_and_what_it_has_no_room_for() {
    let (rig, ..) = busy().await;
    let refused = async |delivery| rig.refused(said("x", delivery)).await;

    assert_eq!(refused(Delivery::Reject).await, Code::SessionBusy);
    rig.post("queued too").await;
    for delivery in [Delivery::Queue, Delivery::Steer, Delivery::Interrupt] {
        assert_eq!(refused(delivery).await, Code::Busy, "{delivery:?}");
    }
    let prompts = rig.world.model.prompts();
    assert_eq!(prompts.len(), 1, "what was refused has done nothing");
}

// proves AS-11
#[tokio::test(start_paused = true)]
async fn a_turn_that_waits_for_somebody_outside_is_interrupted_too() {
    let world = World::answering([call("ask", json!({})), say("then this")]);
    let rig = Rig::with(world, [TestTool::asks("ask")], settings()).await;
    let parked = rig.post("go").await;
    rig.asked_outside().await;

    let urgent = rig.deliver("never mind", Delivery::Interrupt).await;

    assert_eq!(rig.over(&parked).await, FinishReason::Cancelled);
    assert_eq!(rig.over(&urgent).await, well());
}
