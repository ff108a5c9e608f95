//! What comes at the very moment at which a turn ends, waits, or is stopped.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{join_all, join3};
use samovar_core::command::Change;
use samovar_core::{
    Accepted, Action, CallId, Code, Delivery, Effect, Error, Event, FinishReason, Kind, Outcome,
    Seq, Status, ToolReply, TurnId,
};
use samovar_doubles::{Gate, TestTool, World, call, say};
use samovar_engine::Engine;
use serde_json::json;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

use crate::children::{agent, delegate, ends as ends_of, log, world};
use crate::kept::outcomes;
use crate::rig::{Rig, named, read_to, said, send, session, settings, turn_of, well};

type Answers = mpsc::Receiver<Result<Accepted, Error>>;

/// A tool that passes its question on, and at that moment something is sent to its turn.
fn asking(engine: &Arc<Engine>, action: fn(CallId) -> Action) -> (TestTool, Answers) {
    let (sender, answers) = mpsc::channel(1);
    let (engine, sending) = (engine.clone(), Arc::new(Mutex::new(JoinSet::new())));
    let mut tool = TestTool::new("ask", move |_, context| {
        let (engine, sender) = (engine.clone(), sender.clone());
        sending.lock().unwrap().spawn(async move {
            let answer = send(&engine, session(), action(context.key)).await;
            sender.send(answer).await.unwrap();
        });
        async { ToolReply::Open }
    });
    tool = tool.outside();
    (tool, answers)
}

/// A model that asks in each turn once.
async fn asked(action: fn(CallId) -> Action) -> (Rig, Answers) {
    let replies = |_: &str, results| match results {
        0 => call("ask", json!({})),
        _ => say("ok"),
    };
    let rig = Rig::by(replies, [], settings()).await;
    let (tool, answers) = asking(&rig.engine, action);
    rig.engine.toolbox().add(&tool.build()).unwrap();
    (rig, answers)
}

// proves TL-1
#[tokio::test(start_paused = true)]
async fn a_call_can_be_settled_from_the_moment_at_which_it_is_open() {
    let settle = |call| Action::Settle {
        call,
        outcome: Outcome::done("at noon"),
    };
    let (rig, mut answers) = asked(settle).await;
    for _ in 0..20 {
        let turn = rig.post("go").await;
        assert_eq!(answers.recv().await.unwrap(), Ok(Accepted::Settled));
        rig.over(&turn).await;
    }
}

// proves DU-10
#[tokio::test(start_paused = true)]
async fn a_turn_can_be_cancelled_at_the_moment_at_which_it_begins_to_wait() {
    let (rig, mut answers) = asked(|_| Action::Cancel { turn: None }).await;
    for _ in 0..20 {
        let turn = rig.post("go").await;
        let stopped = Ok(Accepted::Cancelled { stopped: true });
        assert_eq!(answers.recv().await.unwrap(), stopped);
        rig.over(&turn).await;
    }
}

fn ends(turn: TurnId) -> impl Fn(&Event) -> bool {
    move |event| {
        event.turn.as_ref() == Some(&turn) && matches!(event.kind, Kind::TurnFinished { .. })
    }
}

/// Does something at the moment at which a turn is seen to be over, before its session hears of it.
pub(crate) async fn at_the_end_of<F>(
    rig: &Rig,
    turn: &TurnId,
    act: impl FnOnce(Arc<Engine>) -> F,
) -> JoinSet<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    let (act, is_end) = (act(rig.engine.clone()), ends(turn.clone()));
    let mut reader = rig.engine.follow(&session(), Seq(0)).await.unwrap();
    // What is before the turn may be in the journal alone, whose threads take their time.
    let is_of_turn = |event: &Event| event.turn.as_ref() == Some(turn);
    read_to(&mut reader, is_of_turn).await;
    let mut acting = JoinSet::new();
    acting.spawn(async move {
        read_to(&mut reader, is_end).await;
        act.await
    });
    acting
}

// proves DU-10
#[tokio::test(start_paused = true)]
async fn who_stops_whatever_runs_while_one_turn_follows_another_stops_the_next() {
    let gates: Vec<_> = (0..20).map(|_| Gate::default()).collect();
    let (held, never) = (gates.clone(), Gate::default());
    let replies = move |user: &str, _| match user.strip_prefix("first ") {
        Some(n) => say("first").hold(&held[n.parse::<usize>().unwrap()]),
        None => say("second").hold(&never),
    };
    let rig = Rig::by(replies, [], settings()).await;
    for (n, gate) in gates.iter().enumerate() {
        let first = rig.post(&format!("first {n}")).await;
        let second = rig.post("second").await;
        let mut cancelling = at_the_end_of(&rig, &first, |engine| async move {
            send(&engine, session(), Action::Cancel { turn: None }).await
        })
        .await;

        gate.open();

        let stopped = cancelling.join_next().await.unwrap().unwrap();
        assert_eq!(stopped, Ok(Accepted::Cancelled { stopped: true }));
        rig.over(&second).await;
    }
}

// proves DU-10, AS-11
#[tokio::test(start_paused = true)]
async fn who_stops_a_turn_twice_stops_none_that_waited_behind_it() {
    let never = Gate::default();
    let replies = move |user: &str, _| match user {
        "first" => say("first").hold(&never),
        _ => say("second"),
    };
    let rig = Rig::by(replies, [], settings()).await;
    for _ in 0..10 {
        let first = rig.post("first").await;
        let second = rig.post("second").await;
        let stop = || send(&rig.engine, session(), Action::Cancel { turn: None });
        let stopped = tokio::join!(stop(), stop());
        let yes = Ok(Accepted::Cancelled { stopped: true });
        assert_eq!(stopped, (yes.clone(), yes));
        rig.over(&first).await;
        assert_eq!(rig.over(&second).await, well());
    }
}

// proves AS-11
#[tokio::test(start_paused = true)]
async fn of_two_that_interrupt_the_later_one_stops_the_turn_of_the_earlier_one() {
    let never = Gate::default();
    let replies = move |user: &str, _| match user {
        "last" => say("well"),
        _ => say("held").hold(&never),
    };
    let rig = Rig::by(replies, [], settings()).await;
    let running = rig.post("go").await;
    let interrupts = |text| rig.submit(said(text, Delivery::Interrupt));

    let (one, two) = tokio::join!(interrupts("first"), interrupts("last"));

    let rows = [
        (running, FinishReason::Cancelled),
        (turn_of(one), FinishReason::Cancelled),
        (turn_of(two), well()),
    ];
    for (turn, why) in rows {
        assert_eq!(rig.over(&turn).await, why);
    }
}

// proves DU-12
#[tokio::test(start_paused = true)]
async fn a_message_that_waits_for_room_begins_its_turn_however_often_its_session_is_asked() {
    let gate = Gate::default();
    let rig = Rig::new([say("one").hold(&gate), say("two")]).await;
    let first = rig.post("first").await;
    let second = rig.post("second").await;
    let disk = rig.disk.clone();
    let fill = |_| async move { disk.full_journal().set(true) };
    let mut filling = at_the_end_of(&rig, &first, fill).await;
    gate.open();
    filling.join_next().await.unwrap().unwrap();
    rig.disk.full_journal().refuses().await;

    let ask = async {
        loop {
            let turn = Some(TurnId::new("nobody's").unwrap());
            let stopped = rig.submit(Action::Cancel { turn }).await;
            assert_eq!(stopped, Ok(Accepted::Cancelled { stopped: false }));
            // Time goes by, although the engine is never idle.
            tokio::time::advance(Duration::from_millis(10)).await;
        }
    };
    rig.disk.full_journal().set(false);

    tokio::select! {
        _ = rig.over(&second) => {}
        () = ask => {}
    }
    assert_eq!(rig.world.model.prompts().len(), 2);
}

/// A tool that waits until it is let go, and says when it began.
fn held(name: &str) -> (TestTool, Arc<Notify>, Arc<Notify>) {
    let (began, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begins, goes) = (began.clone(), go.clone());
    let tool = TestTool::new(name, move |_, _| {
        begins.notify_one();
        let go = goes.clone();
        async move {
            go.notified().await;
            ToolReply::Closed(Outcome::done("done"))
        }
    });
    (tool, began, go)
}

// proves DU-10, DU-12
#[tokio::test(start_paused = true)]
async fn nothing_of_a_turn_comes_behind_its_end_when_it_is_stopped_while_it_waits_for_room() {
    let (slow, began, go) = held("slow");
    let both = call("ask", json!({})).and_call("slow", json!({}));
    let world = World::answering([both, say("next")]);
    let rig = Rig::with(world, [TestTool::asks("ask"), slow], settings()).await;
    let turn = rig.post("go").await;
    let is_asked = |event: &Event| matches!(event.kind, Kind::CallStarted { .. });
    let asked = rig.sees(is_asked).await;
    let Kind::CallStarted { call, .. } = asked.kind.clone() else {
        unreachable!()
    };
    began.notified().await;
    rig.disk.full_journal().set(true);
    let outcome = Outcome::done("at noon");
    let mut sending = JoinSet::new();
    let settle = Action::Settle { call, outcome };
    for action in [
        settle,
        Action::Cancel { turn: None },
        Action::Cancel { turn: None },
    ] {
        let engine = rig.engine.clone();
        sending.spawn(async move { send(&engine, session(), action).await });
        rig.disk.full_journal().refuses().await;
    }
    // It is there when the turn continues, and too late.
    go.notify_one();
    rig.disk.full_journal().refuses().await;
    rig.disk.full_journal().set(false);
    sending.join_all().await;
    rig.over(&turn).await;

    let next = rig.post("next").await;
    rig.over(&next).await;

    let mut reader = rig.engine.follow(&session(), Seq(0)).await.unwrap();
    let mut of_turn = Vec::new();
    let is_end = ends(next);
    'log: loop {
        for event in reader.next().await.unwrap() {
            if is_end(&event) {
                break 'log;
            }
            of_turn.extend((event.turn.as_ref() == Some(&turn)).then(|| event.kind.clone()));
        }
    }
    let is_end = |kind: &Kind| matches!(kind, Kind::TurnFinished { .. });
    assert_eq!(of_turn.iter().position(is_end), Some(of_turn.len() - 1));
}

// proves DU-10, DU-12
#[tokio::test(start_paused = true)]
async fn a_result_that_waits_for_room_is_kept_with_the_stop_of_its_turn() {
    let (slow, began, go) = held("slow");
    let world = World::answering([call("slow", json!({}))]);
    let rig = Rig::with(world, [slow], settings()).await;
    let turn = rig.post("go").await;
    began.notified().await;
    rig.disk.full_journal().set(true);
    go.notify_one();
    rig.disk.full_journal().refuses().await;

    let stop = || Action::Cancel { turn: None };
    assert_eq!(rig.refused(stop()).await, Code::StoreFull);
    rig.disk.full_journal().set(false);
    rig.over(&turn).await;

    let outcomes = outcomes(&rig.log_of(&turn).await);
    assert_eq!(outcomes, [("slow".to_owned(), Status::Done)]);
}

// proves SA-7
#[tokio::test(start_paused = true)]
async fn what_begins_while_its_caller_is_stopped_ends_before_it_or_works_on() {
    let background = json!({"task": "work", "agent": "a"});
    for (tool, order) in [("subAgent", delegate("a", "work")), ("spawn", background)] {
        let gate = Gate::default();
        let held = gate.clone();
        let world = world(move |who, said, results| match (who, said, results) {
            ("master", "go", 0) => call(tool, order.clone()).hold(&held),
            _ => say("well"),
        });
        let rig = Rig::delegating(world, [], [agent("a", &[], &[])], settings()).await;
        let turn = rig.post("go").await;
        rig.world.model.seen(1).await;
        // The start of the child is on its way to the store.
        rig.disk.hold(|| gate.open()).await;
        let rest = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            rig.disk.let_go();
        };

        let (is_stopped, ()) = tokio::join!(rig.cancel(Some(&turn)), rest);

        assert!(is_stopped);
        let ended = ends_of(&log(&rig, &turn).await);
        let stopped = |path: &str| (path.to_owned(), FinishReason::Cancelled);
        if tool == "subAgent" {
            assert_eq!(ended, [stopped("master/a"), stopped("master")]);
        } else {
            assert_eq!(ended, [stopped("master")]);
            rig.sees(|event| {
                let is_end = matches!(event.kind, Kind::TurnFinished { .. });
                is_end && event.agent.to_string() == "master/a"
            })
            .await;
        }
    }
}

// proves AS-11, DU-10
#[tokio::test(start_paused = true)]
async fn what_is_just_joining_a_turn_can_neither_be_cancelled_nor_is_it_said_to_be_gone() {
    let (slow, began, go) = held("slow");
    let world = World::answering([call("slow", json!({})), say("well")]);
    let rig = Rig::with(world, [slow], settings()).await;
    let turn = rig.post("go").await;
    began.notified().await;
    let steering = rig.deliver("and be quick", Delivery::Steer).await;
    let cancel = || Action::Cancel {
        turn: Some(steering.clone()),
    };
    rig.disk.full_journal().set(true);
    go.notify_one();
    rig.disk.full_journal().refuses().await;

    assert_eq!(rig.refused(cancel()).await, Code::Busy);

    rig.disk.full_journal().set(false);
    rig.over(&turn).await;
    rig.over(&steering).await;
    let late = rig.submit(cancel()).await;
    assert_eq!(late, Ok(Accepted::Cancelled { stopped: false }));
    assert_eq!(rig.asked().await, ["go", "and be quick"]);
    let prompts = rig.world.model.prompts();
    assert_eq!(prompts.len(), 2, "it has no turn of its own");
}

// proves DU-10
#[tokio::test(start_paused = true)]
async fn a_turn_can_be_cancelled_while_its_tool_looks_at_what_it_is_about_to_change() {
    let (slow, began, _go) = held("slow");
    let slow = slow.effect(Effect::Verifiable).looks_for_ever(&began);
    let world = World::answering([call("slow", json!({}))]);
    let rig = Rig::with(world, [slow], settings()).await;
    let turn = rig.post("go").await;
    began.notified().await;

    let stopped = rig.submit(Action::Cancel { turn: None }).await;

    assert_eq!(stopped, Ok(Accepted::Cancelled { stopped: true }));
    let is_about = |event: &Event| event.turn.as_ref() == Some(&turn);
    let ended = rig.sees(|event| {
        let is_told = matches!(
            event.kind,
            Kind::CallStarted { .. } | Kind::TurnFinished { .. }
        );
        is_told && is_about(event)
    });
    let ended = ended.await;
    assert!(
        matches!(ended.kind, Kind::TurnFinished { .. }),
        "it never began: {ended:?}"
    );
}

// proves DU-13
#[tokio::test(start_paused = true)]
async fn a_damaged_session_keeps_nobody_from_the_open_calls_of_the_others() {
    let other = named("other");
    let ask = TestTool::asks("ask");
    let rig = Rig::by(|_, _| call("ask", json!({})), [ask], settings()).await;
    rig.open(other.clone()).await;
    let go = || said("go", Delivery::Queue);
    rig.submit(go()).await.unwrap();
    send(&rig.engine, other.clone(), go()).await.unwrap();
    while rig.engine.open_calls().await.unwrap().len() < 2 {
        tokio::task::yield_now().await;
    }

    let rig = rig.damaged(other).await;

    let open = rig.engine.open_calls().await.unwrap();
    let [open] = open.as_slice() else {
        panic!("{open:?}");
    };
    assert_eq!(open.session, session());
    let (by, outcome) = (samovar_core::Sender::Embedder, Outcome::done("at noon"));
    let settled = rig.engine.settle(by, open.call.id.clone(), outcome).await;
    assert_eq!(settled, Ok(()));
}

// proves DU-1
#[tokio::test(start_paused = true)]
async fn the_journal_is_swept_although_something_new_comes_with_every_write_of_the_history() {
    let other = named("other");
    let rig = Rig::new([say("never")]).await;
    rig.open(other.clone()).await;
    rig.disk.keep_busy();
    let bustle = async {
        for number in 0_u64.. {
            tokio::time::advance(Duration::from_secs(1)).await;
            for session in [session(), other.clone()] {
                let title = samovar_core::Title::new(&number.to_string()).ok();
                let change = Action::Change(Change {
                    title,
                    ..Change::default()
                });
                send(&rig.engine, session, change).await.unwrap();
            }
        }
    };
    let swept = async {
        for _ in 0..3 {
            rig.disk.swept().await;
        }
    };

    tokio::select! {
        () = swept => {}
        () = bustle => {}
    }
}

// proves AS-19
#[tokio::test(start_paused = true)]
async fn a_session_is_deleted_however_much_its_turn_has_to_read_first() {
    let (slow, began, go) = held("slow");
    let never = say("never").hold(&Gate::default());
    let world = World::answering([call("slow", json!({})), never]);
    let rig = Rig::with(world, [slow], settings()).await;
    rig.post("go").await;
    began.notified().await;
    rig.disk.hold(|| go.notify_one()).await;
    let settle = |_| {
        let (call, outcome) = (CallId::new("nobody").unwrap(), Outcome::done("at noon"));
        rig.submit(Action::Settle { call, outcome })
    };
    let rest = async {
        // What was sent before has been read then, or waits for the disk.
        tokio::time::sleep(Duration::from_secs(1)).await;
        rig.disk.let_go();
    };

    // Each is sent in this order.
    let settling = join_all((0..32).map(settle));
    let (settled, closed, ()) = join3(settling, rig.submit(Action::Close), rest).await;

    assert_eq!(closed, Ok(Accepted::Closed));
    for settled in settled {
        assert_eq!(settled.unwrap_err().code, Code::UnknownCall);
    }
}

/// More at once than a mailbox has places for.
// proves AS-9
#[tokio::test]
async fn hundreds_of_readers_who_come_at_once_are_all_let_in() {
    let rig = Rig::with(World::answering([say("well")]), [], settings()).await;
    let turn = rig.post("go").await;
    rig.over(&turn).await;
    let (engine, session) = (rig.engine.clone(), session());
    let coming = (0..500).map(|_| engine.follow(&session, Seq(0)));
    let readers: Result<Vec<_>, _> = join_all(coming).await.into_iter().collect();
    assert_eq!(
        readers.map(|all| all.len()).map_err(|error| error.code),
        Ok(500)
    );
}
