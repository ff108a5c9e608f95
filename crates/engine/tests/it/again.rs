//! A message that is sent again: it joins its turn, and there is never a second one.

use futures_util::future::join_all;
use samovar_core::command::Post;
use samovar_core::{Accepted, Action, Code, Delivery, FinishReason, Outcome, ToolReply};
use samovar_doubles::{Gate, TestTool, call, say};
use samovar_engine::Settings;
use serde_json::json;

use crate::rig::{Rig, named, said_as, send, session, settings, turn_of, well};

// proves SA-10
#[tokio::test(start_paused = true)]
async fn a_message_that_is_sent_again_joins_its_turn_and_another_content_is_refused() {
    let gate = Gate::default();
    let rig = Rig::new([say("one two").hold_after(1, &gate), say("three")]).await;
    rig.open(named("other")).await;
    let first = rig.submit(said_as("m-1", "go")).await;
    let queued = rig.submit(said_as("m-2", "and?")).await;
    let is_known = async |rig: &Rig| {
        assert_eq!(rig.submit(said_as("m-1", "go")).await, first);
        assert_eq!(rig.submit(said_as("m-2", "and?")).await, queued);
        for (id, text) in [("m-1", "and?"), ("m-2", "go")] {
            let refused = rig.refused(said_as(id, text)).await;
            assert_eq!(refused, Code::MessageConflict);
        }
        let elsewhere = send(&rig.engine, named("other"), said_as("m-1", "go")).await;
        assert_eq!(elsewhere.unwrap_err().code, Code::MessageConflict);
    };

    is_known(&rig).await;
    gate.open();
    rig.over(&turn_of(queued.clone())).await;
    is_known(&rig).await;
    let rig = rig.restart().await;
    is_known(&rig).await;

    assert_eq!(rig.world.model.prompts().len(), 2);
}

// proves SA-10
#[tokio::test(start_paused = true)]
async fn what_is_sent_again_after_a_restart_joins_the_turn_that_goes_on() {
    let held = say("one two").hold_after(1, &Gate::default());
    let rig = Rig::new([held, say("all of it")]).await;
    let first = turn_of(rig.submit(said_as("m-1", "go")).await);
    rig.speaks(&first).await;

    let rig = rig.restart().await;
    let joined = join_all((0..20).map(|_| rig.submit(said_as("m-1", "go")))).await;

    for posted in joined {
        assert_eq!(turn_of(posted), first);
    }
    assert_eq!(rig.over(&first).await, well());
    assert_eq!(rig.texts().await, ["go", "all of it"]);
    assert_eq!(
        rig.world.model.prompts().len(),
        2,
        "once before and once after"
    );
}

// proves SA-10
#[tokio::test(start_paused = true)]
async fn of_many_at_once_one_begins_the_turn_and_the_others_join_it() {
    let rig = Rig::by(|_, _| say("once"), [], settings()).await;
    for number in 0..20 {
        let id = format!("m-{number}");
        let posted = join_all((0..8).map(|_| rig.submit(said_as(&id, "go")))).await;
        assert!(posted.iter().all(|other| *other == posted[0]));
        rig.over(&turn_of(posted[0].clone())).await;
    }
    assert_eq!(rig.world.model.prompts().len(), 20);
    assert_eq!(rig.row().await.message_count, 40);
}

// proves SA-10
#[tokio::test(start_paused = true)]
async fn an_id_is_one_sessions_alone_however_close_the_two_are() {
    let patient = Settings {
        max_queue: 100,
        ..settings()
    };
    let rig = Rig::by(|_, _| say("once"), [], patient).await;
    rig.open(named("other")).await;
    for number in 0..100 {
        let post = |session| {
            let action = said_as(&format!("m-{number}"), "go");
            send(&rig.engine, session, action)
        };
        let (one, other) = tokio::join!(post(session()), post(named("other")));
        let refused = [one, other].into_iter().filter_map(Result::err);
        let refused: Vec<_> = refused.map(|error| error.code).collect();
        assert_eq!(refused, [Code::MessageConflict], "{number}");
    }
    while rig.engine.totals().await.unwrap().messages < 200 {
        tokio::task::yield_now().await;
    }
    assert_eq!(rig.world.model.prompts().len(), 100);
}

// proves AS-11, SA-10
#[tokio::test(start_paused = true)]
async fn what_has_steered_a_turn_joins_that_one_when_it_is_sent_again() {
    let gate = Gate::default();
    let look = TestTool::new("look", |_, _| async {
        ToolReply::Closed(Outcome::done("a file"))
    });
    let held = say("Let me look.")
        .and_call("look", json!({}))
        .hold_after(1, &gate);
    let world = samovar_doubles::World::answering([held, say("Quickly then.")]);
    let rig = Rig::with(world, [look], settings()).await;
    let first = rig.submit(said_as("m-1", "go")).await;
    rig.speaks(&turn_of(first.clone())).await;
    let steers = || {
        let mut action = said_as("m-2", "and be quick");
        if let Action::Post(Post { delivery, .. }) = &mut action {
            *delivery = Delivery::Steer;
        }
        action
    };
    let steering = rig.submit(steers()).await;
    assert_eq!(rig.submit(steers()).await, steering, "it still waits");
    gate.open();
    assert_eq!(rig.over(&turn_of(first.clone())).await, well());
    assert_eq!(rig.over(&turn_of(steering)).await, FinishReason::Steered);

    let joins = async |rig: &Rig| {
        let (Ok(Accepted::Posted { turn, after, .. }), Ok(first)) =
            (rig.submit(steers()).await, &first)
        else {
            panic!("it is refused");
        };
        let Accepted::Posted {
            turn: of,
            after: from,
            ..
        } = first
        else {
            panic!("{first:?}");
        };
        assert_eq!((&turn, &after), (of, from));
    };
    joins(&rig).await;
    let rig = rig.restart().await;
    joins(&rig).await;
    assert_eq!(rig.world.model.prompts().len(), 2);
}

// proves SA-10
#[tokio::test(start_paused = true)]
async fn what_was_refused_has_not_used_its_id_up() {
    let full = Settings {
        max_queue: 0,
        ..settings()
    };
    let rig = Rig::by(|_, _| call("look", json!({})), [], full).await;
    rig.open(named("other")).await;
    assert_eq!(rig.refused(said_as("m-1", "go")).await, Code::Busy);
    let elsewhere = send(&rig.engine, named("other"), said_as("m-1", "go")).await;
    let code = elsewhere.unwrap_err().code;
    assert_eq!(code, Code::Busy, "and not a conflict");
}

// proves SA-10
#[tokio::test]
async fn two_hundred_copies_of_a_message_at_once_are_all_accepted_as_one() {
    let rig = Rig::by(|_, _| say("well"), [], settings()).await;
    let mut copies: Vec<_> = (0..200)
        .map(|_| Box::pin(rig.submit(said_as("m", "go"))))
        .collect();
    for copy in &mut copies[..100] {
        assert!(futures_util::poll!(copy).is_pending());
    }
    // Clients that leave, the first among them, take nothing with them.
    copies.drain(..50);
    let answers = join_all(copies).await;
    let turn = turn_of(answers[0].clone());
    assert!(answers.into_iter().all(|answer| turn_of(answer) == turn));
    let other = rig.submit(said_as("m", "something else")).await;
    assert_eq!(other.unwrap_err().code, Code::MessageConflict);
    assert_eq!(rig.over(&turn).await, well());
    assert_eq!(rig.asked().await, ["go"]);
}
