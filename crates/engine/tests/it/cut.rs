//! A turn that a killed server left continues: what becomes of its open step and of each of its
//! calls.

use samovar_core::command::Opening;
use samovar_core::error::FaultCode;
use samovar_core::{
    Accepted, Action, CallId, Code, Effect, FinishReason, Kind, MessageId, Outcome, Part, Probed,
    Resume, Sender, Seq, Status,
};
use samovar_doubles::{Disk, Gate, ScriptedModel, TestTool, World, fail, say};
use samovar_engine::{Recovery, Settings};
use serde_json::json;

use crate::kept::{
    Ran, asked_for, begun, call_id, continued, cut, end, keep_cut, left_open, live, noting,
    outcomes, step, turn_id,
};
use crate::rig::{Rig, disk, session, settings, well};

/// The next run, in which nothing continues before it is used.
fn used() -> Settings {
    Settings {
        recovery: Recovery::UsedSessions,
        ..settings()
    }
}

/// The next run.
async fn open(disk: &Disk, tools: impl IntoIterator<Item = TestTool>, settings: Settings) -> Rig {
    let model = ScriptedModel::by(|_| say("the end"));
    Rig::on(disk.clone(), World::with(model), tools, settings).await
}

/// Every event of the turn, to its end.
async fn whole_turn(rig: &Rig) -> Vec<Kind> {
    rig.log_of(&turn_id("t")).await
}

// proves DU-5, DU-6
#[tokio::test(start_paused = true)]
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
    let disk = cut(facts, Vec::new()).await;
    let ran = Ran::default();
    let rig = open(
        &disk,
        [
            noting("again", &ran).effect(Effect::Idempotent),
            noting("done", &ran).probed(Probed::Done(Outcome::done("it is there"))),
            noting("fresh", &ran),
            noting("lost", &ran).probed(Probed::Unknown),
            noting("never", &ran).effect(Effect::Unsafe),
            noting("undone", &ran).probed(Probed::NotDone),
        ],
        used(),
    )
    .await;

    let kinds = whole_turn(&rig).await;

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
    let said = rig.texts().await.join("\n");
    assert_eq!(said.matches("the end").count(), 1, "{said}");
    let shown = serde_json::to_string(&kinds).unwrap();
    assert_eq!(shown.matches("outcome unknown").count(), 2, "{shown}");
    let found = rig.engine.recovered();
    assert_eq!((found.continued, found.unknown_calls), (1, 2));
}

// proves DU-5
#[tokio::test(start_paused = true)]
async fn a_tool_that_is_gone_or_stricter_by_now_is_not_called_again() {
    let facts = vec![
        step(),
        asked_for(&["gone", "strict"]),
        begun("gone", Effect::Idempotent),
        begun("strict", Effect::Idempotent),
    ];
    let disk = cut(facts, Vec::new()).await;
    let ran = Ran::default();
    let strict = noting("strict", &ran).effect(Effect::Unsafe);
    let rig = open(&disk, [strict], used()).await;

    let kinds = whole_turn(&rig).await;

    assert_eq!(*ran.lock().unwrap(), []);
    let unknown = |name: &str| (name.to_owned(), Status::Unknown);
    assert_eq!(outcomes(&kinds), [unknown("gone"), unknown("strict")]);
}

// proves DU-6, DU-18
#[tokio::test(start_paused = true)]
async fn what_an_open_step_had_said_is_void_before_the_model_is_asked_again() {
    let disk = cut(vec![step()], live("half an answer")).await;
    let rig = open(&disk, [], used()).await;

    let kinds = whole_turn(&rig).await;

    let place = |wanted: fn(&Kind) -> bool| kinds.iter().position(wanted).unwrap();
    let half = place(|kind| matches!(kind, Kind::Delta { .. }));
    let reset = place(|kind| matches!(kind, Kind::StepReset { .. }));
    let goes_on = place(|kind| matches!(kind, Kind::TurnContinued { .. }));
    let again = kinds
        .iter()
        .rposition(|kind| matches!(kind, Kind::StepStarted { attempt: 2, .. }))
        .unwrap();
    assert!(half < reset && reset < goes_on && goes_on < again);
    assert_eq!(rig.texts().await, ["go", "the end"]);
    assert_eq!(rig.world.model.prompts().len(), 1);
}

// proves DU-6
#[tokio::test(start_paused = true)]
async fn a_turn_that_went_on_five_times_in_a_row_ends_with_the_text_that_was_kept() {
    let facts = vec![step(), Kind::TurnContinued { in_a_row: 5 }];
    let disk = cut(facts, live("half an answer")).await;
    let rig = open(&disk, [], used()).await;

    let kinds = whole_turn(&rig).await;

    let exhausted = Some(FaultCode::RecoveryExhausted);
    assert_eq!(end(&kinds), (FinishReason::Error, exhausted));
    assert_eq!(rig.texts().await, ["go", "half an answer"]);
    assert_eq!(rig.world.model.prompts().len(), 0);
    assert_eq!(rig.engine.recovered().ended, 1);
}

// proves DU-6
#[tokio::test(start_paused = true)]
async fn a_stop_that_was_asked_for_is_not_counted_and_progress_begins_the_count_anew() {
    let stuck = vec![step(), Kind::TurnContinued { in_a_row: 5 }];
    let disk = cut(stuck, Vec::new()).await;
    disk.boot().await.close().await.unwrap();
    let rig = open(&disk, [], used()).await;
    assert_eq!(continued(&whole_turn(&rig).await), [5, 5]);

    let progress = vec![
        step(),
        Kind::TurnContinued { in_a_row: 5 },
        asked_for(&["list_dir"]),
    ];
    let disk = cut(progress, Vec::new()).await;
    let rig = open(&disk, [], used()).await;
    assert_eq!(continued(&whole_turn(&rig).await), [5, 1]);
}

// proves DU-6
#[tokio::test(start_paused = true)]
async fn where_turns_do_not_go_on_a_cut_one_ends_as_interrupted_with_its_text() {
    let disk = cut(vec![step()], live("half an answer")).await;
    let settings = Settings {
        resume: Resume::Off,
        ..used()
    };
    let rig = open(&disk, [], settings).await;

    let kinds = whole_turn(&rig).await;

    let interrupted = Some(FaultCode::Interrupted);
    assert_eq!(end(&kinds), (FinishReason::Error, interrupted));
    assert_eq!(rig.texts().await, ["go", "half an answer"]);
    assert_eq!(rig.world.model.prompts().len(), 0);
}

// proves DU-6
#[tokio::test(start_paused = true)]
async fn where_somebody_is_to_be_asked_a_cut_turn_waits_until_it_is_told_to_go_on_or_to_end() {
    for goes_on in [true, false] {
        let facts = vec![
            step(),
            asked_for(&["never"]),
            begun("never", Effect::Unsafe),
        ];
        let disk = cut(facts, Vec::new()).await;
        let settings = Settings {
            resume: Resume::Ask,
            ..used()
        };
        let rig = open(&disk, [], settings).await;
        let mut reader = rig.engine.follow(&session(), Seq(1)).await.unwrap();
        let seen = reader.next().await.unwrap();
        let kinds: Vec<_> = seen.iter().map(|event| event.kind.clone()).collect();
        assert_eq!(continued(&kinds), [0; 0]);
        let waiting = rig.engine.recovered().waiting;
        assert_eq!(json!(waiting), json!({"s": "t"}));

        if goes_on {
            let told = rig.submit(Action::Continue).await;
            assert_eq!(told, Ok(Accepted::Continued));
            let kinds = whole_turn(&rig).await;
            assert_eq!(continued(&kinds), [1]);
            assert_eq!(end(&kinds).0, FinishReason::Model("stop".to_owned()));
        } else {
            let stopped = rig.submit(Action::Cancel { turn: None }).await;
            assert_eq!(stopped, Ok(Accepted::Cancelled { stopped: true }));
            let kinds = whole_turn(&rig).await;
            assert_eq!(end(&kinds).0, FinishReason::Cancelled);
            let unknown = ("never".to_owned(), Status::Unknown);
            assert_eq!(outcomes(&kinds), [unknown]);
        }
        assert_eq!(rig.engine.recovered().waiting.len(), 0);
        let refused = rig.submit(Action::Continue).await.unwrap_err();
        assert_eq!(refused.code, Code::UnknownTurn);
    }
}

// proves DU-6
#[tokio::test(start_paused = true)]
async fn what_a_waiting_turn_has_asked_somebody_outside_can_be_answered_meanwhile() {
    let facts = vec![
        step(),
        asked_for(&["ask", "never"]),
        left_open("ask"),
        begun("never", Effect::Unsafe),
    ];
    let disk = cut(facts, Vec::new()).await;
    let settings = Settings {
        resume: Resume::Ask,
        ..used()
    };
    let rig = open(&disk, [], settings).await;
    let engine = &rig.engine;
    let _reader = engine.follow(&session(), Seq(1)).await.unwrap();

    let outcome = Outcome::done("at noon");
    let settled = engine
        .settle(Sender::Embedder, call_id("ask"), outcome)
        .await;

    assert_eq!(settled, Ok(()));
    let told = rig.submit(Action::Continue).await;
    assert_eq!(told, Ok(Accepted::Continued));
    let status = [("ask", Status::Done), ("never", Status::Unknown)];
    let status = status.map(|(name, status)| (name.to_owned(), status));
    assert_eq!(outcomes(&whole_turn(&rig).await), status);
}

// proves DU-6
#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_turn_that_cannot_go_on_because_its_model_is_gone() {
    let disk = cut(vec![step()], Vec::new()).await;
    let rig = open(&disk, [], used()).await;
    rig.world.model.lose("scripted");
    let _reader = rig.engine.follow(&session(), Seq(1)).await.unwrap();

    let kinds = whole_turn(&rig).await;
    let found = rig.engine.settled().await;

    let gone = Some(FaultCode::UnusableModel);
    assert_eq!(end(&kinds), (FinishReason::Error, gone));
    assert_eq!((found.continued, found.ended), (0, 1));
}

// proves DU-6, MD-2, AS-14
#[tokio::test(start_paused = true)]
async fn a_turn_continues_with_the_provider_that_it_began_with_or_fell_back_to() {
    let refused = || fail(FaultCode::ProviderAuth, "no key");
    for (failures, lost, asked) in [
        (vec![], None, vec!["near/gpt"; 2]),
        (
            vec![refused()],
            None,
            vec!["near/gpt", "near/big", "near/big"],
        ),
        (
            vec![refused()],
            Some("near/gpt"),
            vec!["near/gpt", "near/big", "near/big"],
        ),
        (
            vec![refused()],
            Some("near/big"),
            vec!["near/gpt", "near/big", "near/small"],
        ),
    ] {
        let gate = Gate::default();
        let held = [say("one").hold(&gate), say("two")];
        let world = World::answering(failures.into_iter().chain(held));
        let models = world.model.clone();
        let names = ["gpt", "big", "small"];
        for name in names {
            models.lead(name, &format!("near/{name}"));
        }
        let settings = Settings {
            fallback: vec!["big".to_owned(), "small".to_owned()],
            recovery: Recovery::EverySession,
            ..settings()
        };
        let rig = Rig::on(disk(), world, [], settings).await;
        let open = Action::Open(Opening {
            model: Some("gpt".to_owned()),
            ..Opening::default()
        });
        rig.submit(open).await.unwrap();
        let turn = rig.post("go").await;
        models.seen(asked.len() - 1).await;

        for name in ["gpt", "big"] {
            models.lead(name, &format!("far/{name}"));
        }
        if let Some(lost) = lost {
            models.lose(lost);
            models.lose(lost.replace("near", "far").as_str());
        }
        let rig = rig.restart().await;

        assert_eq!(rig.over(&turn).await, well());
        let prompts = models.prompts().into_iter().map(|prompt| prompt.model);
        assert_eq!(prompts.collect::<Vec<_>>(), asked);
    }
}

// proves DU-6, AS-25
#[tokio::test(start_paused = true)]
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
    let disk = cut(facts, Vec::new()).await;
    let mut settings = used();
    settings.limits.max_iterations = 99;
    let rig = open(&disk, [], settings).await;

    whole_turn(&rig).await;

    let shown = rig.shown();
    assert_eq!(shown[0], "go");
    let results = shown.iter().filter(|text| *text == "a file");
    assert_eq!(results.count(), 40);
}

// proves DU-6
#[tokio::test(start_paused = true)]
async fn a_turn_that_goes_on_makes_room_for_another_once_the_world_has_answered_it() {
    let gate = Gate::default();
    let replies = [say("the end").hold(&gate), say("the end"), say("the end")];
    let disk = disk();
    for name in ["s", "s2", "s3"] {
        keep_cut(&disk, name, vec![step()], Vec::new()).await;
    }
    let settings = Settings {
        recovery: Recovery::EverySession,
        continuing_at_once: 1,
        ..settings()
    };

    let rig = Rig::on(disk, World::answering(replies), [], settings).await;
    let model = &rig.world.model;
    model.seen(1).await;
    assert_eq!(rig.engine.recovered().continued, 1, "the others wait");
    gate.open();
    model.seen(3).await;
    whole_turn(&rig).await;

    assert_eq!(rig.engine.recovered().continued, 3);
}
