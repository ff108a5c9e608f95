//! What the model is shown of a long conversation (AS-15, AS-25).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use samovar_core::error::FaultCode;
use samovar_core::{Effect, FinishReason, Kind, Outcome, Prompt, ToolReply};
use samovar_doubles::{Reply, ScriptedModel, TestTool, World, call, fail, results, say, user};
use serde_json::json;

use crate::rig::{Rig, settings, texts_of};

/// A tool whose results differ, each of about so many bytes.
fn look(bytes: usize) -> TestTool {
    let count = AtomicUsize::new(0);
    let tool = TestTool::new("look", move |_, _| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        let result = Outcome::done(format!("{number} {}", "x".repeat(bytes)));
        async { ToolReply::Closed(result) }
    });
    tool.effect(Effect::Read)
}

/// Calls a tool as often as the user says, then answers.
fn as_told(prompt: &Prompt) -> Reply {
    let rounds = user(prompt).parse().unwrap_or(0);
    if results(prompt) < rounds {
        return call("look", json!({}));
    }
    say("done")
}

/// What happens between the last turn and the next message.
#[derive(Clone, Copy, Debug)]
enum Meanwhile {
    Nothing,
    Restart,
    Eviction,
}

/// The conversation that the model is shown after these turns, and after a last one.
async fn after(turns: &[usize], meanwhile: Meanwhile) -> Vec<String> {
    let world = World::with(ScriptedModel::by(as_told));
    let mut rig = Rig::with(world, [look(1)], settings()).await;
    for rounds in turns {
        rig.turn(&rounds.to_string()).await;
    }
    match meanwhile {
        Meanwhile::Nothing => {}
        Meanwhile::Restart => rig = rig.restart().await,
        Meanwhile::Eviction => tokio::time::sleep(Duration::from_mins(1)).await,
    }
    rig.turn("what did you do?").await;
    rig.shown()
}

// proves AS-15, AS-25
#[tokio::test(start_paused = true)]
async fn the_window_is_the_same_before_and_after_a_restart_and_an_eviction() {
    // A turn of 20 rounds is cut by the limit of its iterations.
    let cases: [(&[usize], usize); 6] = [
        (&[0, 20], 43),
        (&[0, 0, 0, 0, 0, 20], 39),
        (&[19, 19], 39),
        (&[18, 3, 20, 0], 39),
        (&[1; 30], 39),
        (&[0; 100], 39),
    ];
    for (turns, least) in cases {
        let known = after(turns, Meanwhile::Nothing).await;
        assert!(
            (least..=52).contains(&known.len()),
            "{turns:?}: {}",
            known.len()
        );
        let is_users = |text: &String| text.parse::<usize>().is_ok();
        assert!(
            known.first().is_some_and(is_users),
            "{turns:?}: {:?}",
            known.first()
        );
        for meanwhile in [Meanwhile::Restart, Meanwhile::Eviction] {
            let again = after(turns, meanwhile).await;
            assert_eq!(again, known, "{turns:?}, {meanwhile:?}");
        }
    }
}

fn bytes(prompt: &Prompt) -> u64 {
    texts_of(prompt).iter().map(|text| text.len() as u64).sum()
}

/// As [`as_told`], with a window of so many bytes, which it counts as twice as many tokens.
fn narrow(limit: u64) -> ScriptedModel {
    ScriptedModel::by(move |prompt| {
        let used = bytes(prompt);
        if used > limit {
            let refusal = fail(FaultCode::ContextFull, "too long");
            return refusal.context(2 * used, 2 * limit);
        }
        as_told(prompt)
    })
}

fn refusals(kinds: &[Kind]) -> usize {
    let is_refusal = |kind: &&Kind| {
        matches!(
            kind,
            Kind::StepReset {
                code: Some(FaultCode::ContextFull),
                context: Some(_),
                ..
            }
        )
    };
    kinds.iter().filter(is_refusal).count()
}

// proves AS-15
#[tokio::test(start_paused = true)]
async fn a_full_context_shrinks_what_is_shown_and_is_remembered() {
    let world = World::with(narrow(20_000));
    let mut rig = Rig::with(world, [look(9_000)], settings()).await;

    let turn = rig.post("6").await;
    let kinds = rig.log_of(&turn).await;

    assert!(matches!(
        kinds.last(),
        Some(Kind::TurnFinished {
            reason: FinishReason::Model(_),
            ..
        })
    ));
    assert_eq!(refusals(&kinds), 1, "one refusal reveals the limit");
    for restarts in [false, true] {
        if restarts {
            rig = rig.restart().await;
        }
        let turn = rig.post("2").await;
        assert_eq!(
            refusals(&rig.log_of(&turn).await),
            0,
            "restarted: {restarts}"
        );
    }
}

// proves AS-15
#[tokio::test(start_paused = true)]
async fn one_huge_result_and_a_server_that_names_no_number_end_well() {
    for (limit, names) in [(3_000, true), (3_000, false), (20_000, false)] {
        let model = ScriptedModel::by(move |prompt| match bytes(prompt) {
            used if used > limit && names => {
                fail(FaultCode::ContextFull, "too long").context(used, limit)
            }
            used if used > limit => fail(FaultCode::ContextFull, "too long"),
            _ => as_told(prompt),
        });
        let rig = Rig::with(World::with(model), [look(5_000_000)], settings()).await;
        let reason = rig.turn("1").await;
        assert_eq!(
            reason,
            FinishReason::Model("stop".to_owned()),
            "{limit} {names}"
        );
    }
}

// proves AS-15
#[tokio::test(start_paused = true)]
async fn a_message_that_can_never_fit_ends_its_turn_and_can_be_taken_back() {
    let rig = Rig::with(World::with(narrow(20_000)), [look(1)], settings()).await;

    let turn = rig.post(&"word ".repeat(9_000)).await;
    let kinds = rig.log_of(&turn).await;

    let Some(Kind::TurnFinished {
        fault: Some(fault), ..
    }) = kinds.last()
    else {
        panic!("{kinds:?}")
    };
    assert_eq!(fault.code, FaultCode::ContextFull);
    assert!(fault.message.contains("/undo"), "{}", fault.message);
    rig.undo().await;
    assert_eq!(rig.turn("1").await, FinishReason::Model("stop".to_owned()));
}
