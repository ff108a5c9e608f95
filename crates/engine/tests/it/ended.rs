//! How turns end whose calls fail: reminded once, cut at the third equal failure, or as a success.

use std::sync::Arc;

use samovar_core::{Effect, Event, FinishReason, Kind, Outcome, Role, Status, ToolReply};
use samovar_doubles::{Reply, TestTool, World, call, say};
use serde_json::{Value, json};

use crate::children::{agent, delegate, ends, log, world};
use crate::rig::{Rig, settings, well};

/// A tool that changes something, if its argument says so, and otherwise fails.
fn edit() -> TestTool {
    let run = |args: Value, _| async move {
        ToolReply::Closed(match args["old"].as_str() {
            Some("there") => Outcome::done("edited"),
            Some(_) => Outcome::failed("the disk is full"),
            None => Outcome::correctable("old is empty; give the text to be replaced"),
        })
    };
    TestTool::new("edit", run).effect(Effect::Verifiable)
}

/// Takes a number.
fn picky() -> TestTool {
    let run = |_, _| async { ToolReply::Closed(Outcome::done("fine")) };
    TestTool::new("picky", run).takes(json!({
        "type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}},
    }))
}

// proves AS-10
#[tokio::test(start_paused = true)]
async fn a_model_that_gives_up_where_other_arguments_help_is_reminded_once_in_the_log() {
    let (unfit, there) = (json!({}), json!({"old": "there"}));
    let stops = || say("It cannot be done.");
    let rows = [
        (
            vec![call("edit", unfit.clone()), stops(), stops()],
            "failed_call",
            "old is empty",
        ),
        (
            vec![call("edit", unfit), stops(), call("edit", there), stops()],
            "stop",
            "old is empty",
        ),
        (
            vec![call("picky", json!({"n": true})), stops(), stops()],
            "stop",
            "n must be",
        ),
    ];
    for (replies, end, why) in rows {
        let rig = Rig::with(World::answering(replies), [edit(), picky()], settings()).await;
        let turn = rig.post("go").await;
        let kinds = rig.log_of(&turn).await;

        let reminders = kinds.iter().filter_map(|kind| match kind {
            Kind::MessageFinished { message, .. } if message.role == Role::System => {
                Some(message.text())
            }
            _ => None,
        });
        let reminders: Vec<_> = reminders.collect();
        let [reminder] = &reminders[..] else {
            panic!("{reminders:?}");
        };
        assert!(
            reminder.contains(why) && reminder.contains("again"),
            "{reminder}"
        );
        assert!(rig.shown().iter().any(|text| text == reminder));
        assert_eq!(rig.over(&turn).await.as_str(), end);
    }
}

// proves AS-6
#[tokio::test(start_paused = true)]
async fn the_third_equal_failing_call_ends_the_turn_also_when_its_tool_cannot_run_it() {
    let rows = [
        ("edit", json!({"old": "gone"})),
        ("picky", json!({"n": true})),
        // Cut at the token limit.
        ("picky", json!("{\"n\": ")),
        ("nothing", json!({})),
    ];
    for (name, args) in rows {
        let made = args.clone();
        let world = world(move |_, said, _| match said {
            "go" => call(name, made.clone()),
            _ => say("well"),
        });
        let rig = Rig::with(world, [edit(), picky()], settings()).await;

        assert_eq!(
            rig.turn("go").await,
            FinishReason::RepeatedCall,
            "{name} {args}"
        );
        assert_eq!(rig.world.model.prompts().len(), 3, "{name} {args}");
        let rig = rig.restart().await;
        assert_eq!(rig.turn("and now?").await, well());
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_asked_again_and_again_and_answers_is_no_repetition() {
    let world = world(|_, _, results| match results {
        0..=5 => call("picky", json!({"n": 1})),
        _ => say("well"),
    });
    let rig = Rig::with(world, [picky()], settings()).await;

    assert_eq!(rig.turn("go").await, well());
}

/// What a child does, how its turn ends, what its caller is told of it, and how the caller's turn
/// ends, whose own last call fails or is that of the child.
type Row = (fn(usize) -> Reply, &'static str, Value, [&'static str; 2]);

/// Holds what a caller is told of its child against this.
#[track_caller]
fn assert_told(log: &[Arc<Event>], told: &Value) {
    let outcome = log.iter().find_map(|event| match &event.kind {
        Kind::CallClosed { name, outcome, .. } => Some(outcome).filter(|_| name == "subAgent"),
        _ => None,
    });
    let outcome = outcome.unwrap();
    assert_eq!(outcome.status == Status::Done, told["ok"] == true);
    let data = outcome.data.as_ref().unwrap();
    for key in ["ok", "code", "acted"] {
        assert_eq!(data[key], told[key], "{data}");
    }
}

// proves AS-6, SA-5
#[tokio::test(start_paused = true)]
async fn a_child_that_answered_is_a_success_and_what_it_changed_counts_for_its_caller() {
    let rows: [Row; 4] = [
        (
            |results| match results {
                0 => call("picky", json!({"n": 1})),
                _ => say("It is 1."),
            },
            "stop",
            json!({"ok": true}),
            ["failed_call", "stop"],
        ),
        (
            |results| match results {
                0 => call("edit", json!({"old": "gone"})),
                _ => say("I could not."),
            },
            "failed_call",
            json!({"ok": true}),
            ["failed_call", "stop"],
        ),
        (
            |results| match results {
                0 => call("edit", json!({"old": "there"})),
                _ => say("Done."),
            },
            "stop",
            json!({"ok": true, "acted": true}),
            ["stop", "stop"],
        ),
        (
            |results| match results {
                0 => call("edit", json!({"old": "there"})),
                _ => call("nothing", json!({})),
            },
            "repeated_call",
            json!({"ok": false, "code": "SUBAGENT_FAILED", "acted": true}),
            ["stop", "stop"],
        ),
    ];
    for (does, end, told, callers) in rows {
        for (calls_itself, ends_so) in [true, false].into_iter().zip(callers) {
            let world = world(move |who, _, results| match (who, results) {
                ("a", results) => does(results),
                (_, 0) => call("subAgent", delegate("a", "go")),
                (_, 1) if calls_itself => call("edit", json!({"old": "gone"})),
                _ => say("well"),
            });
            let agents = [agent("a", &["edit", "picky"], &[])];
            let rig = Rig::delegating(world, [edit(), picky()], agents, settings()).await;
            let turn = rig.post("go").await;
            let log = log(&rig, &turn).await;

            let ended: Vec<_> = ends(&log).into_iter().map(|(_, end)| end).collect();
            let ended: Vec<_> = ended.iter().map(FinishReason::as_str).collect();
            assert_eq!(ended, [end, ends_so]);
            assert_told(&log, &told);
            // Nothing asked for a second run.
            assert_eq!(ends(&log).len(), 2);
            let by_system = log.iter().filter(|event| match &event.kind {
                Kind::MessageFinished { message, .. } => message.reminder().is_some(),
                _ => false,
            });
            assert_eq!(by_system.count(), 0);
        }
    }
}

// proves SA-5
#[tokio::test(start_paused = true)]
async fn a_call_of_an_agent_with_bad_arguments_is_not_asked_for_again() {
    let world = world(|_, _, results| match results {
        0 => call("subAgent", json!({"name": "a"})),
        _ => say("well"),
    });
    let rig = Rig::delegating(world, [], [agent("a", &[], &[])], settings()).await;
    let turn = rig.post("go").await;

    let log = log(&rig, &turn).await;
    assert_eq!(rig.world.model.prompts().len(), 2);
    assert_eq!(
        ends(&log),
        [("master".to_owned(), FinishReason::FailedCall)]
    );
}
