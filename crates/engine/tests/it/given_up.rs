//! Turns with children that a stop cut and that do not continue.

use samovar_core::{FinishReason, Kind, Role};
use samovar_doubles::{Gate, TestTool, call, say};
use samovar_engine::Resume;
use serde_json::json;

use crate::children::{agent, delegate, ends, log, outcomes, world};
use crate::rig::{Rig, settings};

// proves DU-6, SA-7
#[tokio::test]
async fn a_turn_that_may_not_continue_ends_after_the_children_that_it_waits_for() {
    let held = Gate::default();
    let world = world(move |who, _, results| match (who, results) {
        ("master", 0) => call("subAgent", delegate("a", "look")).and_call("x", json!({})),
        ("a", _) => say("half of it").hold_after(1, &held),
        _ => say("done"),
    });
    let never = TestTool::new("x", |_, _| std::future::pending());
    let rig = Rig::delegating(world, [never], [agent("a", &[], &[])], settings()).await;
    let turn = rig.post("go").await;
    rig.world.model.seen(2).await;

    let rig = rig
        .restart_with(|settings| settings.resume = Resume::Off)
        .await;

    let log = log(&rig, &turn).await;
    let ends = ends(&log);
    let expected = ["master/a", "master"].map(|path| (path.to_owned(), FinishReason::Error));
    assert_eq!(ends, expected);
}

// proves SA-5
#[tokio::test]
async fn what_a_child_had_begun_to_say_when_it_was_given_up_is_its_summary() {
    let held = Gate::default();
    let world = world(move |who, _, results| match (who, results) {
        ("master", 0) => call("subAgent", delegate("a", "look")),
        ("a", _) => say("half of it").hold_after(2, &held),
        _ => say("done"),
    });
    let rig = Rig::delegating(world, [], [agent("a", &[], &[])], settings()).await;
    let turn = rig.post("go").await;
    rig.sees(|event| matches!(event.kind, Kind::Delta { .. }))
        .await;

    let rig = rig
        .restart_with(|settings| settings.resume = Resume::Off)
        .await;

    let log = log(&rig, &turn).await;
    let [said] = &outcomes(&log, &turn)[..] else {
        panic!("{log:#?}")
    };
    let left = log.iter().find_map(|event| match &event.kind {
        Kind::MessageFinished { message, .. } if message.role == Role::Assistant => {
            Some(message).filter(|_| event.agent.depth() == 1)
        }
        _ => None,
    });
    let left = left.unwrap();
    assert!(!left.text().is_empty());
    assert_eq!(said["summary"], left.text());
    assert_eq!(said["messageId"], left.id.as_str());
    assert!(left.parent.is_some() && left.metadata["agent"]["toolCallId"].is_string());
}
