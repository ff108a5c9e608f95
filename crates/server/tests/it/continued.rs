//! A turn that a killed server left goes on: what becomes of its open step and of each of its calls.

mod setup;

use std::sync::Arc;

use samovar_core::error::FaultCode;
use samovar_core::{
    Accepted, Action, CallId, Code, Effect, Event, FinishReason, Journal, Kind, MessageId, Outcome,
    Part, Probed, Sender, Seq, Status,
};
use samovar_engine::{Recovery, Resume};
use samovar_model_server::{Gate, say};
use serde_json::json;

use self::setup::{
    Cut, Ran, asked_for, begun, call_id, continued, end, keep, left_open, live, noting, outcomes,
    session, step, submit, texts, whole_turn,
};

// proves DU-5, DU-6
#[tokio::test]
async fn a_turn_goes_on_and_each_call_that_had_begun_is_run_again_looked_up_or_owned_up_to() {
    let names = ["again", "done", "fresh", "lost", "never", "undone"];
    let facts = vec![
        step(),
        asked_for(&names),
        begun("again", Effect::Idempotent),
        begun("done", Effect::Verifiable),
        begun("lost", Effect::Verifiable),
        begun("never", Effect::Unsafe),
        begun("undone", Effect::Verifiable),
    ];
    let cut = Cut::after(facts, Vec::new()).await;
    let ran = Ran::default();
    let home = cut
        .open(vec![
            noting("again", &ran).effect(Effect::Idempotent),
            noting("done", &ran).probed(Probed::Done(Outcome::done("it is there"))),
            noting("fresh", &ran),
            noting("lost", &ran).probed(Probed::Unknown),
            noting("never", &ran).effect(Effect::Unsafe),
            noting("undone", &ran).probed(Probed::NotDone),
        ])
        .await;

    let kinds = whole_turn(&home).await;

    let mut ran = ran.lock().unwrap().clone();
    ran.sort();
    let expected = ["again", "fresh", "undone"].map(|name| (name.to_owned(), call_id(name)));
    assert_eq!(ran, expected, "each once, under the key that it had");
    let status = [
        ("again", Status::Done),
        ("done", Status::Done),
        ("fresh", Status::Done),
        ("lost", Status::Unknown),
        ("never", Status::Unknown),
        ("undone", Status::Done),
    ];
    let status = status.map(|(name, status)| (name.to_owned(), status));
    assert_eq!(outcomes(&kinds), status);
    assert_eq!(continued(&kinds), [1]);
    let begun_again = kinds
        .iter()
        .filter(|kind| matches!(kind, Kind::CallStarted { .. }));
    assert_eq!(begun_again.count(), 5, "no intent is kept twice");
    assert_eq!(end(&kinds), (FinishReason::Model("stop".to_owned()), None));
    let said = texts(&home).await.join("\n");
    assert_eq!(said.matches("the end").count(), 1, "{said}");
    let shown = serde_json::to_string(&kinds).unwrap();
    assert_eq!(shown.matches("outcome unknown").count(), 2, "{shown}");
    let found = home.engine().recovered();
    assert_eq!((found.continued, found.unknown_calls), (1, 2));
    home.close().await;
}

// proves DU-5
#[tokio::test]
async fn a_tool_that_is_gone_or_stricter_by_now_is_not_called_again() {
    let facts = vec![
        step(),
        asked_for(&["gone", "strict"]),
        begun("gone", Effect::Idempotent),
        begun("strict", Effect::Idempotent),
    ];
    let cut = Cut::after(facts, Vec::new()).await;
    let ran = Ran::default();
    let strict = noting("strict", &ran).effect(Effect::Unsafe);
    let home = cut.open(vec![strict]).await;

    let kinds = whole_turn(&home).await;

    assert_eq!(*ran.lock().unwrap(), []);
    let unknown = |name: &str| (name.to_owned(), Status::Unknown);
    assert_eq!(outcomes(&kinds), [unknown("gone"), unknown("strict")]);
    home.close().await;
}

// proves AS-22, DU-6
#[tokio::test]
async fn the_tools_of_the_program_around_the_server_are_there_before_any_turn_goes_on() {
    let facts = vec![
        step(),
        asked_for(&["again"]),
        begun("again", Effect::Idempotent),
    ];
    let cut = Cut::after(facts, Vec::new()).await;
    let cut = cut.with(|config| config.settings.recovery = Recovery::EverySession);
    let ran = Ran::default();
    let again = noting("again", &ran).effect(Effect::Idempotent);
    let home = cut.open(vec![again]).await;

    let kinds = whole_turn(&home).await;

    assert_eq!(outcomes(&kinds), [("again".to_owned(), Status::Done)]);
    assert_eq!(ran.lock().unwrap().len(), 1);
    home.close().await;
}

// proves DU-6, DU-18
#[tokio::test]
async fn what_an_open_step_had_said_is_void_before_the_model_is_asked_again() {
    let cut = Cut::after(vec![step()], live("half an answer")).await;
    let home = cut.open(Vec::new()).await;

    let kinds = whole_turn(&home).await;

    let place = |wanted: fn(&Kind) -> bool| kinds.iter().position(wanted).unwrap();
    let half = place(|kind| matches!(kind, Kind::Delta { .. }));
    let reset = place(|kind| matches!(kind, Kind::StepReset { .. }));
    let goes_on = place(|kind| matches!(kind, Kind::TurnContinued { .. }));
    let again = kinds
        .iter()
        .rposition(|kind| matches!(kind, Kind::StepStarted { attempt: 2, .. }))
        .unwrap();
    assert!(half < reset && reset < goes_on && goes_on < again);
    assert_eq!(texts(&home).await, ["go", "the end"]);
    assert_eq!(cut.model.requests().len(), 1);
    home.close().await;
}

// proves DU-6
#[tokio::test]
async fn a_turn_that_went_on_five_times_in_a_row_ends_with_the_text_that_was_kept() {
    let facts = vec![step(), Kind::TurnContinued { in_a_row: 5 }];
    let cut = Cut::after(facts, live("half an answer")).await;
    let home = cut.open(Vec::new()).await;

    let kinds = whole_turn(&home).await;

    let exhausted = Some(FaultCode::RecoveryExhausted);
    assert_eq!(end(&kinds), (FinishReason::Error, exhausted));
    assert_eq!(texts(&home).await, ["go", "half an answer"]);
    assert_eq!(cut.model.requests().len(), 0);
    assert_eq!(home.engine().recovered().ended, 1);
    home.close().await;
}

// proves DU-6
#[tokio::test]
async fn a_stop_that_was_asked_for_is_not_counted_and_progress_begins_the_count_anew() {
    let stuck = vec![step(), Kind::TurnContinued { in_a_row: 5 }];
    let cut = Cut::after(stuck, Vec::new()).await;
    let journal = cut.journal();
    journal.close().await.unwrap();
    drop(journal);
    let home = cut.open(Vec::new()).await;
    assert_eq!(continued(&whole_turn(&home).await), [5, 5]);
    home.close().await;

    let progress = vec![
        step(),
        Kind::TurnContinued { in_a_row: 5 },
        asked_for(&["list_dir"]),
    ];
    let cut = Cut::after(progress, Vec::new()).await;
    let home = cut.open(Vec::new()).await;
    assert_eq!(continued(&whole_turn(&home).await), [5, 1]);
    home.close().await;
}

// proves DU-6
#[tokio::test]
async fn where_turns_do_not_go_on_a_cut_one_ends_as_interrupted_with_its_text() {
    let cut = Cut::after(vec![step()], live("half an answer")).await;
    let cut = cut.with(|config| config.settings.resume = Resume::Off);
    let home = cut.open(Vec::new()).await;

    let kinds = whole_turn(&home).await;

    let interrupted = Some(FaultCode::Interrupted);
    assert_eq!(end(&kinds), (FinishReason::Error, interrupted));
    assert_eq!(texts(&home).await, ["go", "half an answer"]);
    assert_eq!(cut.model.requests().len(), 0);
    home.close().await;
}

// proves DU-6
#[tokio::test]
async fn where_somebody_is_to_be_asked_a_cut_turn_waits_until_it_is_told_to_go_on_or_to_end() {
    for goes_on in [true, false] {
        let facts = vec![
            step(),
            asked_for(&["never"]),
            begun("never", Effect::Unsafe),
        ];
        let cut = Cut::after(facts, Vec::new()).await;
        let cut = cut.with(|config| config.settings.resume = Resume::Ask);
        let home = cut.open(Vec::new()).await;
        let mut reader = home.engine().follow(&session(), Seq(1)).await.unwrap();
        let seen = reader.next().await.unwrap();
        assert_eq!(continued(&kinds_of(&seen)), [0; 0]);
        let waiting = home.engine().recovered().waiting;
        assert_eq!(json!(waiting), json!({"s": "t"}));

        if goes_on {
            let told = submit(&home, Action::Continue).await;
            assert_eq!(told, Ok(Accepted::Continued));
            let kinds = whole_turn(&home).await;
            assert_eq!(continued(&kinds), [1]);
            assert_eq!(end(&kinds).0, FinishReason::Model("stop".to_owned()));
        } else {
            let stopped = submit(&home, Action::Cancel { turn: None }).await;
            assert_eq!(stopped, Ok(Accepted::Cancelled { stopped: true }));
            let kinds = whole_turn(&home).await;
            assert_eq!(end(&kinds).0, FinishReason::Cancelled);
            let unknown = ("never".to_owned(), Status::Unknown);
            assert_eq!(outcomes(&kinds), [unknown]);
        }
        assert_eq!(home.engine().recovered().waiting.len(), 0);
        let refused = submit(&home, Action::Continue).await.unwrap_err();
        assert_eq!(refused.code, Code::UnknownTurn);
        home.close().await;
    }
}

// proves DU-6
#[tokio::test]
async fn what_a_waiting_turn_has_asked_somebody_outside_can_be_answered_meanwhile() {
    let facts = vec![
        step(),
        asked_for(&["ask", "never"]),
        left_open("ask"),
        begun("never", Effect::Unsafe),
    ];
    let cut = Cut::after(facts, Vec::new()).await;
    let cut = cut.with(|config| config.settings.resume = Resume::Ask);
    let home = cut.open(Vec::new()).await;
    let engine = home.engine();
    let _reader = engine.follow(&session(), Seq(1)).await.unwrap();

    let outcome = Outcome::done("at noon");
    let settled = engine
        .settle(Sender::Embedder, call_id("ask"), outcome)
        .await;

    assert_eq!(settled, Ok(()));
    let told = submit(&home, Action::Continue).await;
    assert_eq!(told, Ok(Accepted::Continued));
    let status = [("ask", Status::Done), ("never", Status::Unknown)];
    let status = status.map(|(name, status)| (name.to_owned(), status));
    assert_eq!(outcomes(&whole_turn(&home).await), status);
    home.close().await;
}

// proves DU-6
#[tokio::test]
async fn nobody_waits_for_a_turn_that_cannot_go_on_because_its_model_is_gone() {
    let cut = Cut::after(vec![step()], Vec::new()).await;
    let cut = cut.with(|config| config.providers.base_urls.clear());
    let home = cut.open(Vec::new()).await;
    let _reader = home.engine().follow(&session(), Seq(1)).await.unwrap();

    let kinds = whole_turn(&home).await;
    let found = home.engine().settled().await;

    let gone = Some(FaultCode::UnusableModel);
    assert_eq!(end(&kinds), (FinishReason::Error, gone));
    assert_eq!((found.continued, found.ended), (0, 1));
    home.close().await;
}

fn kinds_of(events: &[Arc<Event>]) -> Vec<Kind> {
    events.iter().map(|event| event.kind.clone()).collect()
}

// proves DU-6, AS-25
#[tokio::test]
async fn a_turn_that_is_longer_than_the_window_goes_on_with_its_own_beginning() {
    let mut facts = vec![step()];
    for pass in 0..40 {
        let Kind::MessageFinished { mut message, .. } = asked_for(&["list_dir"]) else {
            unreachable!()
        };
        message.id = MessageId::new(&format!("a{pass}")).unwrap();
        let call = CallId::new(&format!("call_{pass}")).unwrap();
        if let Some(Part::Call(asked)) = message.parts.first_mut() {
            asked.id = call.clone();
        }
        facts.push(Kind::finished(message));
        facts.push(Kind::CallClosed {
            call,
            name: "list_dir".to_owned(),
            outcome: Outcome::done("a file"),
        });
    }
    let cut = Cut::after(facts, Vec::new()).await;
    let cut = cut.with(|config| config.settings.limits.max_iterations = 99);
    let home = cut.open(Vec::new()).await;

    whole_turn(&home).await;

    let prompts = cut.model.prompts();
    let shown = format!("{:?}", prompts[0]);
    assert!(shown.contains(r#"String("go")"#));
    assert_eq!(shown.matches(r#"String("a file")"#).count(), 40);
    home.close().await;
}

// proves DU-6
#[tokio::test]
async fn a_turn_that_goes_on_makes_room_for_another_once_the_world_has_answered_it() {
    let held = Gate::new("held");
    let script = [
        say("the end").hold_head(&held),
        say("the end"),
        say("the end"),
    ];
    let cut = Cut::before(script).await.with(|config| {
        config.settings.recovery = Recovery::EverySession;
        config.settings.continuing_at_once = 1;
    });
    let journal = cut.journal();
    for name in ["s", "s2", "s3"] {
        keep(&journal, name, vec![step()], Vec::new()).await;
    }
    drop(journal);

    let home = cut.open(Vec::new()).await;
    cut.model.seen(1).await;
    assert_eq!(home.engine().recovered().continued, 1, "the others wait");
    cut.model.open(&held).unwrap();
    cut.model.seen(3).await;
    whole_turn(&home).await;

    assert_eq!(home.engine().recovered().continued, 3);
    home.close().await;
}
