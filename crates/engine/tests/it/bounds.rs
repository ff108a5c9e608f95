//! What a message sets for its own turn.

use std::time::Duration;

use samovar_core::command::{Change, Opening, Post};
use samovar_core::{
    Action, Approval, Bounds, Code, Delivery, Effect, FinishReason, Kind, MessageId, Outcome,
    Status, ToolReply, TurnId,
};
use samovar_doubles::{Gate, ScriptedModel, TestTool, World, call, say};
use samovar_engine::Settings;
use serde_json::json;

use crate::rig::{Rig, disk, named, said, send, settings, texts_of, turn_of, well};

/// A tool that changes something.
fn write() -> TestTool {
    let tool = TestTool::new("write", |_, _| async {
        ToolReply::Closed(Outcome::done("written"))
    });
    tool.effect(Effect::Unsafe)
}

fn bounded(text: &str, bounds: Bounds) -> Action {
    let mut action = said(text, Delivery::Queue);
    if let Action::Post(Post { bounds: own, .. }) = &mut action {
        *own = bounds;
    }
    action
}

fn approval(level: Approval) -> Bounds {
    Bounds {
        approval: Some(level),
        ..Bounds::default()
    }
}

/// How a turn's first call was closed, and why it ended.
async fn outcome(rig: &Rig, turn: &TurnId) -> (Option<Status>, FinishReason) {
    let log = rig.log_of(turn).await;
    let closed = log.iter().find_map(|kind| match kind {
        Kind::CallClosed { outcome, .. } => Some(outcome.status),
        _ => None,
    });
    (closed, rig.over(turn).await)
}

// proves AS-10
#[tokio::test(start_paused = true)]
async fn a_message_bounds_the_passes_and_the_tokens_of_its_turn_and_of_no_other() {
    let replies = |user: &str, _| match user {
        "go on" => say("done"),
        _ => call("write", json!({})).usage(1, 1),
    };
    let rig = Rig::by(replies, [write()], settings()).await;
    let passes = Bounds {
        max_iterations: Some(2),
        ..Bounds::default()
    };
    let tokens = Bounds {
        budget: samovar_core::Budget::of_tokens(1),
        ..Bounds::default()
    };
    let rows = [
        (passes, FinishReason::MaxIterations, 2),
        (tokens, FinishReason::Budget, 0),
    ];
    for (bounds, why, passes) in rows {
        let turn = turn_of(rig.submit(bounded("look", bounds)).await);
        let log = rig.log_of(&turn).await;
        let Some(Kind::TurnFinished {
            reason, iterations, ..
        }) = log.last()
        else {
            panic!("{log:?}")
        };
        assert_eq!((reason, *iterations), (&why, passes));
    }

    assert_eq!(rig.turn("go on").await, well());
    assert_eq!(rig.world.model.prompts().last().unwrap().max_tokens, 4096);
}

// proves TL-4
#[tokio::test(start_paused = true)]
async fn a_message_sets_the_approval_level_of_its_turn_and_of_no_other() {
    let replies = |_: &str, results| match results {
        0 => call("write", json!({})),
        _ => say("done"),
    };
    let supervised = Settings {
        approval: Approval::Supervised,
        ..settings()
    };
    let rig = Rig::by(replies, [write()], supervised).await;
    let alone = Bounds {
        no_input: true,
        ..Bounds::default()
    };
    let rows = [
        (approval(Approval::Auto), Status::Done),
        (alone, Status::Denied),
        (approval(Approval::ReadOnly), Status::Denied),
    ];
    for (bounds, status) in rows {
        let turn = turn_of(rig.submit(bounded("go", bounds)).await);
        assert_eq!(
            outcome(&rig, &turn).await,
            (Some(status), well()),
            "{bounds:?}"
        );
    }
}

// proves CH-10, DU-16
#[tokio::test(start_paused = true)]
async fn bounds_hold_for_a_turn_that_waits_and_over_a_restart() {
    let never = Gate::default();
    let replies = move |user: &str, _| match user {
        "first" => say("some words").hold_after(1, &never),
        _ => call("write", json!({})),
    };
    let read_only = Settings {
        approval: Approval::ReadOnly,
        for_people: vec!["write".to_owned()],
        ..settings()
    };
    let rig = Rig::by(replies, [write()], read_only).await;
    let first = rig.post("first").await;
    rig.speaks(&first).await;
    let bounds = |passes, level| {
        let mut action = bounded(
            "second",
            Bounds {
                max_iterations: Some(passes),
                no_input: true,
                ..approval(level)
            },
        );
        if let Action::Post(Post { message, .. }) = &mut action {
            *message = MessageId::new("m2").ok();
        }
        action
    };
    let second = turn_of(rig.submit(bounds(1, Approval::Auto)).await);

    let rig = rig.restart().await;
    // What was accepted joins its turn, whatever bounds come with it now.
    let again = turn_of(rig.submit(bounds(7, Approval::ReadOnly)).await);

    assert_eq!(again, second);
    // The turn before it continues, and never ends by itself.
    assert!(rig.cancel(Some(&first)).await);
    let ended = outcome(&rig, &second).await;
    assert_eq!(ended, (Some(Status::Done), FinishReason::MaxIterations));
    assert_eq!(rig.asked().await, ["first", "second"]);
    let prompts = rig.world.model.prompts();
    let offered: Vec<_> = prompts.iter().map(|prompt| prompt.tools.len()).collect();
    assert_eq!(offered, [1, 1, 0], "what is for people, in the first twice");
}

// proves AS-10
#[tokio::test(start_paused = true)]
async fn the_rest_of_a_cut_answer_is_asked_for_unless_a_length_or_a_budget_was_set() {
    let budget = Bounds {
        budget: samovar_core::Budget::of_tokens(9999),
        ..Bounds::default()
    };
    let rows = [
        (4096, Bounds::default(), 2),
        (100, Bounds::default(), 1),
        (4096, budget, 1),
    ];
    for (length, bounds, asked) in rows {
        let mut settings = settings();
        settings.limits.max_output_tokens = length;
        let rig = Rig::by(|_, _| say("Once").finish("length"), [], settings).await;
        let turn = turn_of(rig.submit(bounded("go", bounds)).await);
        assert_eq!(
            rig.over(&turn).await,
            FinishReason::Model("length".to_owned())
        );
        assert_eq!(
            rig.world.model.prompts().len(),
            asked,
            "{length} {bounds:?}"
        );
    }
}

/// How a session gets its model.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Given {
    AtItsOpening,
    ByAChange,
    /// At its first message: it led nowhere before.
    ByAMessage,
}

// proves TL-4
#[tokio::test(start_paused = true)]
async fn a_turn_has_the_level_of_its_message_else_of_its_session_else_of_the_server() {
    let replies = |_: &str, _| call("write", json!({}));
    let settings = Settings {
        approval: Approval::ReadOnly,
        ..settings()
    };
    let mut rig = Rig::by(replies, [write()], settings).await;
    let level = |approval| {
        Action::Change(Change {
            approval: Some(approval),
            ..Change::default()
        })
    };
    for (set, asked, wanted) in [
        (None, None, Status::Denied),
        (None, Some(Approval::Auto), Status::Done),
        (Some(Approval::Auto), None, Status::Done),
        (None, Some(Approval::ReadOnly), Status::Denied),
        (None, None, Status::Done),
        (Some(Approval::ReadOnly), None, Status::Denied),
        (None, Some(Approval::Auto), Status::Done),
    ] {
        if let Some(set) = set {
            rig.submit(level(set)).await.unwrap();
            rig = rig.restart().await;
        }
        let bounds = Bounds {
            approval: asked,
            max_iterations: Some(1),
            ..Bounds::default()
        };
        let turn = turn_of(rig.submit(bounded("go", bounds)).await);
        let (closed, _) = outcome(&rig, &turn).await;
        assert_eq!(closed, Some(wanted), "{set:?} {asked:?}");
    }
    assert_eq!(rig.row().await.approval, Some(Approval::ReadOnly));
}

// proves MD-2
#[tokio::test(start_paused = true)]
async fn a_session_stays_with_the_provider_that_its_model_was_found_at() {
    for given in [Given::AtItsOpening, Given::ByAChange, Given::ByAMessage] {
        let world = World::with(ScriptedModel::by(|_| say("well")));
        let rig = Rig::on(disk(), world, [], settings()).await;
        let models = rig.world.model.clone();
        if given != Given::ByAMessage {
            models.lead("gpt", "near/gpt");
        }
        let named = Some("gpt".to_owned());
        let model = named.clone().filter(|_| given != Given::ByAChange);
        let open = Action::Open(Opening {
            model,
            ..Opening::default()
        });
        rig.submit(open).await.unwrap();
        match given {
            Given::AtItsOpening => {}
            Given::ByAChange => {
                let change = Change {
                    model: named,
                    ..Change::default()
                };
                rig.submit(Action::Change(change)).await.unwrap();
            }
            Given::ByAMessage => models.lead("gpt", "near/gpt"),
        }
        assert_eq!(rig.turn("one").await, well());

        models.lead("gpt", "far/gpt");
        assert_eq!(rig.turn("two").await, well());
        let rig = rig.restart().await;
        assert_eq!(rig.turn("three").await, well());

        let asked = models.prompts().into_iter().map(|prompt| prompt.model);
        let asked: Vec<_> = asked.collect();
        assert_eq!(asked, ["near/gpt"; 3], "{given:?}");
        assert_eq!(rig.row().await.model, "gpt");
        models.lose("near/gpt");
        assert_eq!(
            rig.refused(said("four", Delivery::Queue)).await,
            Code::UnusableModel
        );
    }
}

// proves AS-14
#[tokio::test(start_paused = true)]
async fn turns_wait_in_line_for_a_place_to_ask_and_can_be_cancelled_there() {
    let gate = Gate::default();
    let held = gate.clone();
    let replies = move |user: &str, _| match user {
        "first" => say("the end").hold(&held),
        _ => say("the end"),
    };
    let settings = Settings {
        asking_at_once: 1,
        ..settings()
    };
    let rig = Rig::by(replies, [], settings).await;
    let first = rig.post("first").await;
    rig.world.model.seen(1).await;
    let mut waiting = Vec::new();
    for session in ["s2", "s3", "s4"] {
        rig.open(named(session)).await;
        let message = said(session, Delivery::Queue);
        let posted = send(&rig.engine, named(session), message).await;
        waiting.push(turn_of(posted));
        // Each waits in line before the next comes.
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let cancel = Action::Cancel {
        turn: Some(waiting[1].clone()),
    };
    send(&rig.engine, named("s3"), cancel).await.unwrap();
    // Longer than any model may take.
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(rig.world.model.prompts().len(), 1);

    gate.open();
    rig.world.model.seen(3).await;

    assert_eq!(rig.over(&first).await, well());
    let asked: Vec<_> = rig.world.model.prompts().iter().map(texts_of).collect();
    let asked: Vec<_> = asked.iter().map(|texts| texts.last().unwrap()).collect();
    assert_eq!(asked, ["first", "s2", "s4"]);
}
