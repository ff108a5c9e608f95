//! A call that two would close at one moment, and what comes for a turn while it looks elsewhere.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use samovar_core::{Action, Code, Effect, Outcome, Status, ToolReply, TurnId};
use samovar_doubles::{Gate, TestTool, World, call, say};
use serde_json::json;
use tokio::task::JoinSet;

use crate::children::{agent, delegate, world};
use crate::kept::outcomes;
use crate::rig::{Rig, send, session, settings, well};

/// A turn that waits for a client, whose tool gives up once the gate is open, and what the client sends.
async fn asked() -> (Gate, Rig, TurnId, Action) {
    let gate = Gate::default();
    let gives_up = gate.clone();
    let tool = TestTool::new("ask", move |_, _| {
        let gate = gives_up.clone();
        async move {
            gate.passed().await;
            ToolReply::Closed(Outcome::failed("the host is gone"))
        }
    });
    let world = World::answering([call("ask", json!({})), say("ok")]);
    let rig = Rig::with(world, [tool.outside()], settings()).await;
    let turn = rig.post("go").await;
    let settle = Action::Settle {
        call: rig.asked_outside().await.call.id,
        outcome: Outcome::done("at noon"),
    };
    (gate, rig, turn, settle)
}

// proves TL-1
#[tokio::test(start_paused = true)]
async fn a_call_that_its_tool_gives_up_while_a_client_closes_it_is_closed_once() {
    for is_client_first in [true, false] {
        let (gate, rig, turn, settle) = asked().await;
        let (engine, mut settling) = (rig.engine.clone(), JoinSet::new());
        let client = || settling.spawn(async move { send(&engine, session(), settle).await });
        if is_client_first {
            rig.disk.hold(|| drop(client())).await;
            gate.open();
        } else {
            rig.disk.hold(|| gate.open()).await;
            client();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        rig.disk.let_go();

        let settled = settling.join_next().await.unwrap().unwrap();
        let status = if is_client_first {
            Status::Done
        } else {
            Status::Failed
        };
        assert_eq!(settled.is_ok(), is_client_first, "{settled:?}");
        rig.over(&turn).await;
        let closed = outcomes(&rig.log_of(&turn).await);
        assert_eq!(closed, [("ask".to_owned(), status)]);
    }
}

// proves TL-1
#[tokio::test(start_paused = true)]
async fn a_call_closed_for_a_client_while_another_is_looked_at_lets_no_third_run_again() {
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = looks.clone();
    let look = TestTool::new("look", move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { ToolReply::Closed(Outcome::done("seen")) }
    });
    let gate = Gate::default();
    let held = Arc::new(Mutex::new(Some(gate.clone())));
    let change = TestTool::new("change", |_, _| async {
        ToolReply::Closed(Outcome::done("done"))
    });
    let change = change.effect(Effect::Verifiable).alone().held_by(&held);
    let all = call("ask", json!({}))
        .and_call("look", json!({}))
        .and_call("change", json!({}));
    let tools = [TestTool::asks("ask"), look.alone(), change];
    let rig = Rig::with(World::answering([all, say("ok")]), tools, settings()).await;
    let turn = rig.post("go").await;
    let open = rig.asked_outside().await.call.id;
    // By now the result of the look waits for its commit.
    tokio::time::sleep(Duration::from_secs(1)).await;

    rig.settle(open).await;
    gate.open();

    assert_eq!(rig.over(&turn).await, well());
    assert_eq!(looks.load(Ordering::SeqCst), 1);
    assert_eq!(outcomes(&rig.log_of(&turn).await).len(), 3);
}

// proves TL-1, DU-12
#[tokio::test(start_paused = true)]
async fn a_call_that_its_tool_gives_up_is_closed_when_a_client_could_not_close_it() {
    let (gate, rig, turn, settle) = asked().await;
    let engine = rig.engine.clone();
    let mut settling = JoinSet::new();
    rig.disk.slow_next(&gate, true);
    settling.spawn(async move { send(&engine, session(), settle).await });

    let settled = settling.join_next().await.unwrap().unwrap();
    assert_eq!(settled.unwrap_err().code, Code::StoreFull);
    rig.over(&turn).await;
    let closed = outcomes(&rig.log_of(&turn).await);
    assert_eq!(closed, [("ask".to_owned(), Status::Failed)]);
}

// proves SA-7, DU-10
#[tokio::test(start_paused = true)]
async fn the_end_of_a_child_that_comes_as_its_caller_begins_to_wait_is_told_once() {
    let (ends, reads) = (Gate::default(), Gate::default());
    let (held, never) = (ends.clone(), Gate::default());
    let world = world(move |who, _, results| match (who, results) {
        ("master", 0) => call("look", json!({}))
            .and_call("subAgent", delegate("a", "one"))
            .and_call("subAgent", delegate("b", "two")),
        ("a", _) => say("a").hold(&held),
        _ => say("b").hold(&never),
    });
    let passes = reads.clone();
    let look = TestTool::new("look", move |_, _| {
        let gate = passes.clone();
        async move {
            gate.passed().await;
            ToolReply::Closed(Outcome::done("seen"))
        }
    });
    let agents = [agent("a", &[], &[]), agent("b", &[], &[])];
    let rig = Rig::delegating(world, [look], agents, settings()).await;
    let turn = rig.post("go").await;
    rig.world.model.seen(3).await;
    // The end of the child is kept right before the result, whose commit takes a while.
    rig.disk.hold(|| ends.open()).await;
    rig.disk.slow_next(&Gate::default(), false);
    reads.open();
    tokio::time::sleep(Duration::from_millis(10)).await;
    rig.disk.let_go();
    tokio::time::sleep(Duration::from_secs(1)).await;

    assert!(rig.cancel(Some(&turn)).await);
    assert_eq!(outcomes(&rig.log_of(&turn).await).len(), 3);
}
