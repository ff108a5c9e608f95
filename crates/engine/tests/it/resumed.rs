//! A reader that comes back reads the tree that its last event belongs to.

use std::sync::Arc;

use samovar_core::{Event, EventId, Kind, TurnId};
use samovar_doubles::{Gate, Reply, ScriptedModel, World, call, results, say, user};
use samovar_engine::{ReaderPosition, ResumeFrom, TurnChoice};
use serde_json::json;

use crate::rig::{Rig, session, settings};

/// A model that lets an agent work in the background at `go`, and at `again`; the agents' own words
/// wait for their gates.
fn model(held: [Gate; 2]) -> World {
    let [first, second] = held;
    World::with(ScriptedModel::by(move |prompt| -> Reply {
        match (user(prompt).as_str(), results(prompt)) {
            ("go", 0) => call("spawn", json!({"task": "one"})),
            ("again", 0) => call("spawn", json!({"task": "two"})),
            ("one", _) => say("the first is done").hold(&first),
            ("two", _) => say("the second is done").hold(&second),
            _ => say("well"),
        }
    }))
}

/// The first event of which this is true.
async fn event(rig: &Rig, is_it: impl Fn(&Event) -> bool) -> Arc<Event> {
    rig.sees(is_it).await
}

/// The turn that a reader with this as its last event reads, and from where.
async fn resumed(rig: &Rig, last: EventId) -> Option<(TurnId, ResumeFrom)> {
    let position = ReaderPosition::Event(last);
    let resumed = rig
        .engine
        .resume(&session(), TurnChoice::Latest, position)
        .await;
    let resumption = resumed.unwrap();
    resumption.map(|resumption| (resumption.turn, resumption.from))
}

// proves DU-7, SA-8, SA-11
#[tokio::test]
async fn a_reader_comes_back_to_the_tree_of_its_last_event_while_another_turn_runs() {
    let gates = [Gate::default(), Gate::default()];
    let rig = Rig::delegating(model(gates.clone()), [], [], settings()).await;
    let first = rig.post("go").await;
    rig.over(&first).await;
    let second = rig.post("again").await;
    rig.over(&second).await;
    let begun = event(&rig, |event| {
        let begins = matches!(event.kind, Kind::TurnStarted { .. });
        begins && event.agent.depth() == 1
    });
    let of_first = begun.await.turn.clone();

    let rig = rig.restart().await;
    gates[0].open();
    // It speaks long after both turns are over.
    let late = event(&rig, |event| {
        let is_end = matches!(event.kind, Kind::TurnFinished { .. });
        is_end && event.turn == of_first
    });
    let late = late.await;

    let last = late.id();
    assert_eq!(
        resumed(&rig, last).await,
        Some((first, ResumeFrom::After(last)))
    );
    // What the session's own agent did belongs to its own turn.
    let own = event(&rig, |event| {
        let is_end = matches!(event.kind, Kind::TurnFinished { .. });
        is_end && event.turn.as_ref() == Some(&second)
    });
    let last = own.await.id();
    assert_eq!(
        resumed(&rig, last).await,
        Some((second, ResumeFrom::After(last)))
    );
    gates[1].open();
}
