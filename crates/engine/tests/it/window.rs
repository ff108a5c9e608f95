//! What the model is shown of a long conversation (AS-15, AS-25).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use samovar_core::command::Change;
use samovar_core::error::FaultCode;
use samovar_core::{
    Action, Delivery, Effect, FinishReason, Kind, Outcome, Prompt, Role, ToolReply,
};
use samovar_doubles::{
    Gate, Reply, ScriptedModel, TestTool, World, call, fail, results, say, user,
};
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

/// As [`as_told`], with a window of so many bytes, of which it counts each as a token.
fn narrow(limit: u64) -> ScriptedModel {
    ScriptedModel::by(move |prompt| {
        let used = bytes(prompt);
        if used > limit {
            return fail(FaultCode::ContextFull, "too long").context(used, limit);
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

// proves MD-8
#[tokio::test(start_paused = true)]
async fn a_window_smaller_than_the_system_prompt_ends_the_turn_and_names_the_largest_layer() {
    let model = ScriptedModel::by(|_| fail(FaultCode::ContextFull, "too long").context(300, 100));
    let rig = Rig::with(World::with(model), [look(1)], settings()).await;

    let turn = rig.post("1").await;
    let kinds = rig.log_of(&turn).await;

    let Some(Kind::TurnFinished {
        fault: Some(fault), ..
    }) = kinds.last()
    else {
        panic!("{kinds:?}")
    };
    assert_eq!(fault.code, FaultCode::ContextFull);
    let expected = "its largest layer is \"agents\"";
    assert!(fault.message.contains(expected), "{}", fault.message);
    assert_eq!(rig.world.model.prompts().len(), 1, "no second one is sent");
}

/// The number of the newest result that a model is shown.
fn newest(prompt: &Prompt) -> Option<usize> {
    let mut from_last = prompt.messages.iter().rev();
    let result = from_last.find(|message| message.role == Role::Tool)?.text();
    result.split(' ').next()?.parse().ok()
}

/// What the model is shown in a turn of 70 rounds, of which it sees the newest 25, and in the next one.
async fn long_turn(is_steered: bool, is_killed: bool, restarts: bool) -> Vec<Vec<String>> {
    let model = ScriptedModel::by(|prompt| match (user(prompt).as_str(), newest(prompt)) {
        ("hello" | "what did you do?", _) | (_, Some(69)) => say("done"),
        _ if bytes(prompt) > 25_000 => {
            fail(FaultCode::ContextFull, "too long").context(bytes(prompt), 25_000)
        }
        _ => call("look", json!({})),
    });
    let (steered, killed) = ((Gate::default(), Gate::default()), Gate::default());
    if !is_steered {
        steered.1.open();
    }
    let (count, kills) = (Arc::new(AtomicUsize::new(0)), AtomicBool::new(is_killed));
    let kills = Arc::new(kills);
    let gates = (steered.clone(), killed.clone());
    let look = TestTool::new("look", move |_, _| {
        let ((reached, steered), killed) = gates.clone();
        let (count, kills) = (count.clone(), kills.clone());
        async move {
            let number = count.load(Ordering::Relaxed);
            if number == 30 {
                reached.open();
                steered.passed().await;
            }
            if number == 60 && kills.swap(false, Ordering::Relaxed) {
                killed.open();
                std::future::pending::<()>().await;
            }
            count.fetch_add(1, Ordering::Relaxed);
            ToolReply::Closed(Outcome::done(format!("{number} {}", "x".repeat(900))))
        }
    });
    let mut settings = settings();
    settings.limits.max_iterations = 99;
    let mut rig = Rig::with(World::with(model), [look.effect(Effect::Read)], settings).await;
    rig.turn("hello").await;
    let turn = rig.post("look").await;
    if is_steered {
        steered.0.passed().await;
        rig.deliver("be brief", Delivery::Steer).await;
        steered.1.open();
    }
    if is_killed {
        killed.passed().await;
        rig = rig.restart().await;
    }
    assert_eq!(
        rig.over(&turn).await,
        FinishReason::Model("stop".to_owned())
    );
    if restarts {
        rig = rig.restart().await;
    }
    rig.turn("what did you do?").await;
    rig.world.model.prompts().iter().map(texts_of).collect()
}

// proves AS-15, AS-25
#[tokio::test(start_paused = true)]
async fn a_turn_longer_than_the_window_keeps_its_message_when_it_is_steered_and_killed() {
    for is_steered in [false, true] {
        let known = long_turn(is_steered, false, false).await;
        let count = |said: &str| {
            // A note of what is left out may follow.
            let has = |shown: &&Vec<String>| shown.iter().any(|text| text.starts_with(said));
            known.iter().filter(has).count()
        };
        assert_eq!(count("look"), known.len() - 1, "in each but hello's");
        assert_eq!(count("be brief") > 0, is_steered);
        let mut shown = known.iter();
        assert!(
            shown.any(|shown| shown[0].starts_with("look")),
            "older turns leave first"
        );
        for (is_killed, restarts) in [(true, false), (false, true), (true, true)] {
            let again = long_turn(is_steered, is_killed, restarts).await;
            assert_eq!(again, known, "{is_steered} {is_killed} {restarts}");
        }
    }
}

// proves AS-15
#[tokio::test(start_paused = true)]
async fn a_limit_is_forgotten_when_the_model_is_set_again() {
    for restarts in [false, true] {
        let mut rig = Rig::with(World::with(narrow(20_000)), [look(9_000)], settings()).await;
        rig.turn("6").await;
        let turn = rig.post("3").await;
        assert_eq!(refusals(&rig.log_of(&turn).await), 0, "it is known");
        rig.submit(Action::Change(Change {
            model: Some("scripted".to_owned()),
            ..Change::default()
        }))
        .await
        .unwrap();
        if restarts {
            rig = rig.restart().await;
        }
        let turn = rig.post("0").await;
        assert_eq!(refusals(&rig.log_of(&turn).await), 1, "{restarts}");
    }
}
