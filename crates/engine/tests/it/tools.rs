//! The loop and its tools: results, faults, batches, the gate, calls that somebody outside closes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use samovar_core::error::FaultCode;
use samovar_core::tool::{MAX_PROGRESS_BYTES, Progress};
use samovar_core::{
    Approval, Effect, FinishReason, Kind, Outcome, Part, Reminders, Sender, ToolReply,
};
use samovar_doubles::{TestTool, World, call, fail, say};
use samovar_engine::Settings;
use serde_json::json;
use tokio::sync::Barrier;

use crate::rig::{Rig, settings, well};

/// What the model is told of the calls of a turn that calls once and is done, sorted.
async fn told(
    asked: samovar_doubles::Reply,
    tools: impl IntoIterator<Item = TestTool>,
    settings: Settings,
) -> (Rig, Vec<String>) {
    let world = World::answering([asked, say("I see")]);
    let rig = Rig::with(world, tools, settings).await;
    assert_eq!(rig.turn("go").await, well());
    let mut told = rig.shown().split_off(2);
    told.sort();
    (rig, told)
}

// proves AS-12
#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_in_a_tool_comes_back_as_a_result_the_model_can_read() {
    let schema = json!({
        "type": "object", "required": ["n"],
        "properties": {"n": {"type": "integer", "maximum": 3}},
    });
    let picky = TestTool::new("picky", |_, _| async {
        ToolReply::Closed(Outcome::done("fine"))
    });
    let panics = TestTool::new("panics", |_, _| async { panic!("on purpose") });
    let slow = TestTool::new("slow", |_, _| async {
        std::future::pending::<()>().await;
        ToolReply::Open
    });
    let silent = TestTool::new("silent", |_, _| async { ToolReply::Open });
    let asked = call("picky", json!({"n": 9}))
        .and_call("nobody", json!({}))
        .and_call("panics", json!({}))
        .and_call("slow", json!({}))
        .and_call("silent", json!({}))
        .and_call("picky", json!({"n": 3}));
    let tools = [picky.takes(schema), panics, slow, silent];

    let mut settings = settings();
    settings.limits.reminders = Reminders::default();
    let (_, told) = told(asked, tools, settings).await;

    assert_eq!(told.len(), 6);
    for words in [
        "n must be at most 3, not 9",
        "unknown tool",
        "broke off",
        "longer than",
        "no result",
        "fine",
    ] {
        assert!(
            told.iter().any(|result| result.contains(words)),
            "{words}: {told:?}"
        );
    }
}

// proves AS-13
#[tokio::test(start_paused = true)]
async fn eight_calls_of_a_batch_run_at_once_and_a_ninth_waits() {
    let together = Arc::new(Barrier::new(8));
    let counts = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let counted = counts.clone();
    let meet = TestTool::new("meet", move |_, _| {
        let (together, counted) = (together.clone(), counted.clone());
        async move {
            let (running, most) = &*counted;
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            // Nobody passes before eight are here: with fewer at once this would never end.
            together.wait().await;
            running.fetch_sub(1, Ordering::SeqCst);
            ToolReply::Closed(Outcome::done("met"))
        }
    });
    let asked = (0..16).fold(say(""), |asked, _| asked.and_call("meet", json!({})));

    let (_, told) = told(asked, [meet], settings()).await;

    assert_eq!(told, ["met"; 16]);
    assert_eq!(counts.1.load(Ordering::SeqCst), 8);
}

// proves AS-13
#[tokio::test(start_paused = true)]
async fn an_exclusive_call_runs_alone() {
    let running = Arc::new(AtomicUsize::new(0));
    let counted = |name: &str| {
        let running = running.clone();
        TestTool::new(name, move |_, _| {
            let running = running.clone();
            async move {
                let others = running.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(5)).await;
                running.fetch_sub(1, Ordering::SeqCst);
                ToolReply::Closed(Outcome::done(others.to_string()))
            }
        })
    };
    let names = ["shared", "alone", "alone", "shared"];
    let asked = names
        .iter()
        .fold(say(""), |asked, name| asked.and_call(name, json!({})));

    let (_, told) = told(
        asked,
        [counted("shared"), counted("alone").alone()],
        settings(),
    )
    .await;

    assert_eq!(told, ["0"; 4]);
}

// proves TL-4
#[tokio::test(start_paused = true)]
async fn a_call_that_asks_is_refused_with_the_reason_where_no_person_is() {
    let touch = TestTool::new("touch", |_, _| async { panic!("it is not called") });
    let supervised = Settings {
        approval: Approval::Supervised,
        is_unattended: true,
        ..settings()
    };

    let touch = touch.effect(Effect::Unsafe);
    let (_, told) = told(call("touch", json!({})), [touch], supervised).await;

    assert!(told[0].contains("needs a person's approval"), "{told:?}");
}

// proves AS-6
#[tokio::test(start_paused = true)]
async fn a_good_answer_on_the_last_pass_is_not_called_a_cut() {
    let mut two = settings();
    two.limits.max_iterations = 2;
    let spin = || {
        TestTool::new("spin", |_, _| async {
            ToolReply::Closed(Outcome::done("again"))
        })
    };
    told(call("spin", json!({})), [spin()], two.clone()).await;

    let rig = Rig::by(|_, _| call("spin", json!({})), [spin()], two).await;
    assert_eq!(rig.turn("go").await, FinishReason::MaxIterations);
    assert_eq!(rig.texts().await, ["go", "", "again", "", "again"]);
}

// proves AS-10
#[tokio::test(start_paused = true)]
async fn what_a_turn_had_done_before_a_fault_stays_done() {
    let echo = TestTool::new("echo", |_, _| async {
        ToolReply::Closed(Outcome::done("tea"))
    });
    let asked = say("let me see").and_call("echo", json!({})).usage(10, 2);
    let fault = fail(FaultCode::ProviderRejected, "no");
    let world = World::answering([asked, fault, say("it was tea")]);
    let rig = Rig::with(world, [echo], settings()).await;

    assert_eq!(rig.turn("go").await, FinishReason::Error);

    assert_eq!(rig.texts().await, ["go", "let me see", "tea"]);
    let usage = rig.row().await.usage;
    assert_eq!((usage.input, usage.output), (10, 2));
    assert_eq!(rig.turn("and?").await, well());
    assert_eq!(rig.shown(), ["go", "let me see", "tea", "and?"]);
}

/// A session whose turn waits for somebody outside, and has cost one call of the model.
async fn parked() -> (Rig, samovar_core::TurnId, samovar_core::CallId) {
    let world = World::answering([call("ask", json!({})), say("ok"), say("well")]);
    world.model.lead("scripted", "near/scripted");
    let rig = Rig::with(world, [TestTool::asks("ask")], settings()).await;
    let turn = rig.post("go").await;
    let open = rig.asked_outside().await.call.id;
    rig.world.model.lead("scripted", "far/scripted");
    (rig, turn, open)
}

async fn settle(rig: &Rig, call: &samovar_core::CallId) -> bool {
    let outcome = Outcome::done("at noon");
    let settled = rig.engine.settle(Sender::Embedder, call.clone(), outcome);
    settled.await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn a_parked_turn_goes_on_with_its_answer_also_over_a_restart_before_what_waits() {
    for restarts in [false, true] {
        let (mut rig, turn, open) = parked().await;
        // One root turn at a time: a parked one is still the session's turn.
        let queued = rig.post("more").await;
        if restarts {
            rig = rig.restart().await;
        }
        assert_eq!(rig.world.model.prompts().len(), 1);

        assert!(settle(&rig, &open).await);

        assert_eq!(rig.over(&turn).await, well());
        assert_eq!(rig.over(&queued).await, well());
        let said = ["go", "", "at noon", "ok", "more", "well"];
        assert_eq!(rig.texts().await, said);
        assert!(!settle(&rig, &open).await, "it is closed once");
        let prompts = rig.world.model.prompts();
        let asked = prompts.iter().map(|prompt| prompt.model.as_str());
        assert_eq!(asked.collect::<Vec<_>>(), ["near/scripted"; 3]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_parked_turn_can_be_cancelled() {
    let (rig, turn, open) = parked().await;

    assert!(rig.cancel(None).await);

    assert_eq!(rig.over(&turn).await, FinishReason::Cancelled);
    assert!(!settle(&rig, &open).await);
    let log = rig.log_of(&turn).await;
    let closed = log
        .iter()
        .filter(|kind| matches!(kind, Kind::CallClosed { .. }));
    assert_eq!(closed.count(), 1);
}

// proves TL-2
#[tokio::test(start_paused = true)]
async fn a_call_that_takes_long_is_shown_while_it_runs_and_its_model_reads_none_of_that() {
    let slow = TestTool::new("long", |_, context| async move {
        for step in 1..=3 {
            context.progress.show(Progress {
                elapsed_ms: step * 1000,
                output_bytes: 9,
                last: format!("{}end {step}", "é".repeat(MAX_PROGRESS_BYTES)),
                note: None,
            });
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        ToolReply::Closed(Outcome::done("over"))
    });
    let other = TestTool::new("other", |_, _| async {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        ToolReply::Closed(Outcome::done("other"))
    });
    let asked = call("long", json!({})).and_call("other", json!({}));
    let world = World::answering([asked, say("I see")]);
    let rig = Rig::with(world, [slow, other], settings()).await;

    let turn = rig.post("go").await;
    let log = rig.log_of(&turn).await;

    let mut asking = None;
    let mut seen = Vec::new();
    for kind in &log {
        match kind {
            Kind::MessageFinished { message, .. } => {
                let calls = message
                    .parts
                    .iter()
                    .any(|part| matches!(part, Part::Call(_)));
                asking = asking.or(calls.then(|| message.id.clone()));
            }
            Kind::CallProgress {
                message, progress, ..
            } => {
                assert_eq!(Some(message), asking.as_ref());
                assert!(progress.last.len() <= MAX_PROGRESS_BYTES);
                let end = progress.last.trim_start_matches('é');
                seen.push(format!("{end} {}", progress.elapsed_ms));
            }
            Kind::CallClosed { name, .. } => seen.push(name.clone()),
            _ => {}
        }
    }
    assert_eq!(
        seen,
        ["end 1 1000", "end 2 2000", "other", "end 3 3000", "long"]
    );
    assert!(!rig.shown().concat().contains("end"));
    // A reader that comes after a restart sees the same.
    let rig = rig.restart().await;
    assert_eq!(rig.log_of(&turn).await, log);
}
