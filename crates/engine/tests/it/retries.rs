//! What follows a failure of the model: the same one again, another one, and at last the end.

use std::time::Duration;

use samovar_core::error::FaultCode::{
    self, EmptyAnswer, ProviderAuth, ProviderError, ProviderRateLimited, ProviderRejected,
    StreamCut,
};
use samovar_core::{FinishReason, Kind, Outcome, TurnId};
use samovar_doubles::{Reply, TestTool, World, call, fail, say, think};
use samovar_engine::Settings;
use serde_json::json;

use crate::rig::{Rig, settings, well};

/// A session whose model is tried so often, and then others.
async fn trying(count: u32, to: &[&str], replies: impl IntoIterator<Item = Reply>) -> Rig {
    let mut settings = Settings {
        fallback: to.iter().map(|name| (*name).to_owned()).collect(),
        ..settings()
    };
    settings.retry.count = count;
    let list = TestTool::new("list", |_, _| async {
        samovar_core::ToolReply::Closed(Outcome::done("a file"))
    });
    Rig::with(World::answering(replies), [list], settings).await
}

fn list() -> Reply {
    call("list", json!({}))
}

fn broken() -> Reply {
    fail(ProviderError, "on purpose")
}

/// Says something: why the turn failed, if it did.
async fn fault(rig: &Rig) -> Option<FaultCode> {
    let turn = rig.post("go").await;
    match rig.log_of(&turn).await.pop() {
        Some(Kind::TurnFinished { fault, .. }) => fault.map(|fault| fault.code),
        other => panic!("{other:?}"),
    }
}

/// The models that were asked.
fn asked(rig: &Rig) -> Vec<String> {
    let prompts = rig.world.model.prompts().into_iter();
    prompts.map(|prompt| prompt.model).collect()
}

// proves AS-14
#[tokio::test(start_paused = true)]
async fn the_budget_is_the_turns_over_all_of_its_passes() {
    let replies = [broken(), list(), broken(), list(), broken(), say("well")];
    let rig = trying(2, &[], replies).await;

    assert_eq!(fault(&rig).await, Some(ProviderError));

    assert_eq!(asked(&rig).len(), 5, "the sixth is not asked");
    assert_eq!(rig.turn("again").await, well(), "the next turn has its own");
}

// proves AS-14
#[tokio::test(start_paused = true)]
async fn what_cannot_pass_or_asks_for_more_patience_than_there_is_is_not_asked_again() {
    let hour = broken_for(Duration::from_hours(1));
    for (reply, code) in [
        (fail(ProviderRejected, "no"), ProviderRejected),
        (fail(ProviderAuth, "no"), ProviderAuth),
        (hour, ProviderRateLimited),
    ] {
        let rig = trying(5, &[], [reply, say("never")]).await;
        assert_eq!(fault(&rig).await, Some(code));
        assert_eq!(asked(&rig).len(), 1, "{code:?}");
    }
}

fn broken_for(wait: Duration) -> Reply {
    fail(ProviderRateLimited, "too many").retry_after(wait)
}

/// A turn that waits for the next attempt.
async fn waiting() -> (Rig, TurnId) {
    let minute = broken_for(Duration::from_mins(1));
    let rig = trying(5, &[], [minute, say("well")]).await;
    let turn = rig.post("go").await;
    let reset = rig.sees(|event| matches!(event.kind, Kind::StepReset { .. }));
    let reset = reset.await;
    let Kind::StepReset { reason, .. } = &reset.kind else {
        unreachable!()
    };
    assert!(reason.ends_with("retrying in 60 s"), "{reason}");
    (rig, turn)
}

// proves AS-14
#[tokio::test(start_paused = true)]
async fn retry_after_is_honoured_and_its_wait_ends_with_a_cancel() {
    let (rig, turn) = waiting().await;
    let began = tokio::time::Instant::now();
    assert_eq!(rig.over(&turn).await, well());
    assert!(began.elapsed() >= Duration::from_secs(59));

    let (rig, turn) = waiting().await;
    assert!(rig.cancel(None).await);
    assert_eq!(rig.over(&turn).await, FinishReason::Cancelled);
    assert_eq!(asked(&rig).len(), 1);
}

// proves AS-14, DU-11
#[tokio::test(start_paused = true)]
async fn a_server_that_stops_does_not_wait_for_the_next_attempt() {
    let (rig, _) = waiting().await;
    let began = tokio::time::Instant::now();

    rig.engine.shutdown(Duration::from_hours(1)).await;

    assert!(began.elapsed() < Duration::from_secs(50));
    assert_eq!(asked(&rig).len(), 1);
}

// proves AS-14
#[tokio::test(start_paused = true)]
async fn fallback_models_are_asked_in_their_order_and_the_step_names_who_is_asked() {
    let refused = fail(ProviderAuth, "no key");
    let replies = [
        broken(),
        broken(),
        refused,
        list(),
        say("well"),
        say("next"),
    ];
    let rig = trying(1, &["gone", "second", "third"], replies).await;
    rig.world.model.lose("gone");
    rig.world.model.hide("second");

    let turn = rig.post("go").await;
    let log = rig.log_of(&turn).await;

    let third = ["scripted", "scripted", "second", "third", "third"];
    assert_eq!(asked(&rig), third, "the one that answers stays");
    let named = log.iter().filter_map(|kind| match kind {
        Kind::StepStarted { model, .. } => Some(model.as_deref()),
        _ => None,
    });
    let named: Vec<_> = named.collect();
    let third = Some("third");
    assert_eq!(named, [None, None, Some("second"), third, third]);
    let answers = log.iter().rev().find_map(|kind| match kind {
        Kind::MessageFinished { message, .. } => message.model.as_deref(),
        _ => None,
    });
    assert_eq!(answers, third);
    rig.turn("next").await;
    assert_eq!(
        asked(&rig)[5],
        "scripted",
        "the next turn begins with its own"
    );
}

// proves AS-14
#[tokio::test(start_paused = true)]
async fn a_fallback_model_that_is_named_twice_is_asked_once_and_the_last_failure_is_told() {
    let half = say("so far ").and_fail(StreamCut, "cut");
    let replies = [fail(ProviderAuth, "first"), broken(), half, say("never")];
    let rig = trying(0, &["second", "third", "second"], replies).await;

    assert_eq!(fault(&rig).await, Some(StreamCut));

    assert_eq!(asked(&rig), ["scripted", "second", "third"]);
    assert_eq!(rig.texts().await, ["go", "so far "]);
}

// proves FC-6, AS-14, AS-18
#[tokio::test(start_paused = true)]
async fn an_answer_of_nothing_is_paid_for_asked_for_once_more_and_then_an_error_of_its_own() {
    for nothing in [say(""), think("hm"), say(" \n")] {
        let nothing = nothing.usage(10, 7);
        let rig = trying(5, &[], [nothing.clone(), nothing.clone()]).await;
        assert_eq!(fault(&rig).await, Some(EmptyAnswer));
        assert_eq!(asked(&rig).len(), 2);
        // What is blank is shown while it comes, but is no message.
        assert_eq!(rig.texts().await, ["go"]);
        let usage = rig.engine.totals().await.unwrap().usage;
        assert_eq!((usage.input, usage.output), (20, 14));

        let rig = trying(0, &[], [nothing, say("well")]).await;
        assert_eq!(rig.turn("go").await, well());
    }
}

// proves AS-6
#[tokio::test(start_paused = true)]
async fn a_refusal_without_a_word_ends_the_turn_in_the_providers_own_word() {
    for word in ["content_filter", "refusal"] {
        let rig = trying(5, &[], [say("").finish(word), say("well")]).await;
        assert_eq!(rig.turn("go").await, FinishReason::Model(word.to_owned()));
        assert_eq!(rig.texts().await, ["go"]);
        assert_eq!(rig.turn("again").await, well());
    }
}

// proves AS-10
#[tokio::test(start_paused = true)]
async fn a_model_that_pauses_goes_on_from_what_it_has_said() {
    let paused = say("First, ").finish("pause_turn");
    let rig = trying(0, &[], [paused, say("then.")]).await;
    assert_eq!(rig.turn("go").await, well());
    assert_eq!(rig.shown(), ["go", "First, "]);
    assert_eq!(rig.texts().await, ["go", "First, ", "then."]);
}
