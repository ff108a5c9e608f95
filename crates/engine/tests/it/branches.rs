//! The ends of turns below turns: with those that wait for them, within their bounds, and where
//! something of them is lost.

use std::sync::Arc;

use samovar_core::command::Post;
use samovar_core::history::TurnQuery;
use samovar_core::{
    Action, Code, Delivery, Event, FinishReason, Kind, Outcome, Resume, Role, Sender, Status,
    ToolReply,
};
use samovar_doubles::{Gate, ScriptedModel, TestTool, World, call, say, user};
use serde_json::json;
use tokio::sync::Notify;

use crate::children::{agent, delegate, ends, log, outcomes, who, world};
use crate::races::at_the_end_of;
use crate::rig::{Rig, said, session, settings, turn_of, well};

// proves DU-6, SA-7
#[tokio::test]
async fn a_turn_that_may_not_continue_ends_after_the_children_that_it_waits_for() {
    let held = Gate::default();
    let world = world(move |who, _, results| match (who, results) {
        ("master", 0) => call("subAgent", delegate("a", "look")).and_call("x", json!({})),
        ("a", _) => say("half of it").hold_after(1, &held),
        _ => say("done"),
    });
    let never = TestTool::new("x", |_, _| std::future::pending());
    let rig = Rig::delegating(world, [never], [agent("a", &[], &[])], settings()).await;
    let turn = rig.post("go").await;
    rig.world.model.seen(2).await;

    let rig = rig
        .restart_with(|settings| settings.resume = Resume::Off)
        .await;

    let log = log(&rig, &turn).await;
    let ends = ends(&log);
    let expected = ["master/a", "master"].map(|path| (path.to_owned(), FinishReason::Error));
    assert_eq!(ends, expected);
}

// proves DU-6
#[tokio::test]
async fn a_parked_turn_that_waits_for_one_which_may_not_continue_ends_with_it() {
    let held = Gate::default();
    let world = world(move |who, _, results| match (who, results) {
        ("master", 0) => call("subAgent", delegate("a", "look")),
        ("a", 0) => call("subAgent", delegate("b", "look")),
        ("b", _) => say("half of it").hold_after(1, &held),
        _ => say("I continue"),
    });
    let agents = [agent("a", &[], &["b"]), agent("b", &[], &[])];
    let rig = Rig::delegating(world, [], agents, settings()).await;
    let turn = rig.post("go").await;
    rig.world.model.seen(3).await;

    let rig = rig
        .restart_with(|settings| settings.resume = Resume::Off)
        .await;

    let paths = ["master/a/b", "master/a", "master"];
    let expected = paths.map(|path| (path.to_owned(), FinishReason::Error));
    assert_eq!(ends(&log(&rig, &turn).await), expected);
}

// proves SA-6
#[tokio::test]
async fn children_in_the_background_count_as_children_of_the_turn() {
    let held = Gate::default();
    let world = world(move |_, said, results| match (said, results) {
        ("go", 0) => (0..10).fold(say("ten"), |reply, number| {
            reply.and_call("spawn", json!({"task": number.to_string()}))
        }),
        ("go", _) => say("well"),
        _ => say("later").hold(&held),
    });
    let rig = Rig::delegating(world, [], [], settings()).await;

    let turn = rig.post("go").await;
    let log = log(&rig, &turn).await;

    let outcomes = outcomes(&log, &turn);
    let busy = outcomes
        .iter()
        .filter(|said| said["code"] == "SUBAGENT_BUSY");
    assert_eq!((outcomes.len(), busy.count()), (10, 2));
}

// proves SA-7, SA-18
#[tokio::test]
async fn what_a_child_said_before_its_task_broke_off_is_in_its_result() {
    let world = world(|who, _, results| match (who, results) {
        ("master", 0) => call("subAgent", delegate("a", "look")),
        ("a", 0) => say("so far so good").and_call("look", json!({})),
        ("a", _) => panic!("a fault of the engine"),
        _ => say("done"),
    });
    let look = TestTool::new("look", |_, _| async {
        ToolReply::Closed(Outcome::done("seen"))
    });
    let rig = Rig::delegating(world, [look], [agent("a", &["look"], &[])], settings()).await;

    let turn = rig.post("go").await;
    let log = log(&rig, &turn).await;

    let said = &outcomes(&log, &turn)[0];
    let told = (said["code"].as_str(), said["summary"].as_str());
    assert_eq!(told, (Some("SUBAGENT_FAILED"), Some("so far so good")));
}

// proves SA-6
#[tokio::test]
async fn a_message_that_allows_few_steps_allows_no_more_to_the_children_of_its_turn() {
    let world = world(|who, _, results| match (who, results) {
        ("master", 0) => call("subAgent", delegate("a", "look")),
        ("a", _) => call("look", json!({})),
        _ => say("done"),
    });
    let look = TestTool::new("look", |_, _| async {
        ToolReply::Closed(Outcome::done("seen"))
    });
    let rig = Rig::delegating(world, [look], [agent("a", &["look"], &[])], settings()).await;
    let mut action = said("go", Delivery::Queue);
    if let Action::Post(Post { bounds, .. }) = &mut action {
        bounds.max_iterations = Some(3);
    }

    let turn = turn_of(rig.submit(action).await);
    let log = log(&rig, &turn).await;

    assert_eq!(outcomes(&log, &turn)[0]["code"], "SUBAGENT_STEPS");
    let prompts = rig.world.model.prompts();
    let of_child = prompts.iter().filter(|prompt| who(prompt) == "a");
    assert_eq!(of_child.count(), 3);
}

// proves DU-12, SA-7
#[tokio::test(start_paused = true)]
async fn a_stop_that_waits_for_a_child_hears_that_its_end_cannot_be_kept() {
    let held = Gate::default();
    let world = world(move |who, _, results| match (who, results) {
        ("master", 0) => call("subAgent", delegate("a", "look")),
        ("a", 0) => call("subAgent", delegate("b", "look")),
        _ => say("half of it").hold_after(1, &held),
    });
    let agents = [agent("a", &[], &["b"]), agent("b", &[], &[])];
    let rig = Rig::delegating(world, [], agents, settings()).await;
    let turn = rig.post("go").await;
    rig.world.model.seen(3).await;

    rig.disk.full_journal().set(true);
    let cancel = Action::Cancel {
        turn: Some(turn.clone()),
    };
    assert_eq!(rig.refused(cancel).await, Code::StoreFull);
    rig.disk.full_journal().set(false);

    assert_eq!(rig.over(&turn).await, FinishReason::Cancelled);
}

// proves SA-8
#[tokio::test]
async fn what_a_child_had_begun_to_say_when_it_was_given_up_is_a_message_of_its_own() {
    let held = Gate::default();
    let world = world(move |who, _, results| match (who, results) {
        ("master", 0) => call("subAgent", delegate("a", "look")),
        ("a", _) => say("half of it").hold_after(2, &held),
        _ => say("done"),
    });
    let rig = Rig::delegating(world, [], [agent("a", &[], &[])], settings()).await;
    let turn = rig.post("go").await;
    // The master's call is a delta, too.
    rig.sees(|event| event.agent.depth() == 1 && matches!(event.kind, Kind::Delta { .. }))
        .await;

    let rig = rig
        .restart_with(|settings| settings.resume = Resume::Off)
        .await;

    let log = log(&rig, &turn).await;
    let left = log.iter().find_map(|event| match &event.kind {
        Kind::MessageFinished { message, .. } if message.role == Role::Assistant => {
            Some(message).filter(|_| event.agent.depth() == 1)
        }
        _ => None,
    });
    let left = left.unwrap();
    assert!(!left.text().is_empty());
    assert!(left.parent.is_some() && left.metadata["agent"]["toolCallId"].is_string());
}

// proves SA-21
#[tokio::test]
async fn tasks_in_the_background_follow_one_another_only_so_often_without_a_person() {
    let world = World::with(ScriptedModel::by(|prompt| {
        let last = prompt.messages.last().map(|message| message.role);
        match last {
            _ if user(prompt) == "look" => say("seen"),
            Some(Role::Tool) => say("well"),
            _ => call("spawn", json!({"task": "look"})),
        }
    }));
    let rig = Rig::delegating(world, [], [], settings()).await;
    rig.post("go").await;

    let refused = |event: &Event| match &event.kind {
        Kind::CallClosed { outcome, .. } => outcome.text.contains("SUBAGENT_DEPTH"),
        _ => false,
    };
    rig.sees(refused).await;

    let prompts = rig.world.model.prompts();
    let tasks = prompts.iter().filter(|prompt| user(prompt) == "look");
    assert_eq!(tasks.count(), 16);
}

// proves DU-6, SA-7
#[tokio::test(start_paused = true)]
async fn a_child_that_waits_for_a_person_ends_before_the_turn_that_may_not_continue() {
    let world = world(|who, _, results| match (who, results) {
        ("master", 0) => call("subAgent", delegate("a", "look")).and_call("x", json!({})),
        ("a", 0) => call("ask_user", json!({})),
        _ => say("I continue"),
    });
    let tools = [
        TestTool::new("x", |_, _| std::future::pending()),
        TestTool::asks("ask_user"),
    ];
    let agents = [agent("a", &["ask_user"], &[])];
    let rig = Rig::delegating(world, tools, agents, settings()).await;
    let turn = rig.post("go").await;
    rig.calls(1).await;

    let rig = rig
        .restart_with(|settings| settings.resume = Resume::Off)
        .await;

    let expected = ["master/a", "master"].map(|path| (path.to_owned(), FinishReason::Error));
    assert_eq!(ends(&log(&rig, &turn).await), expected);
    assert!(rig.engine.open_calls().await.unwrap().is_empty());
}

// proves DU-6
#[tokio::test]
async fn of_two_cut_children_the_other_is_still_listed_when_one_is_stopped() {
    let held = Gate::default();
    let world = world(move |who, _, results| match (who, results) {
        ("master", 0) => call("subAgent", delegate("a", "look"))
            .and_call("subAgent", delegate("a", "look there")),
        _ => say("half of it").hold_after(1, &held),
    });
    let rig = Rig::delegating(world, [], [agent("a", &[], &[])], settings()).await;
    rig.post("go").await;
    rig.world.model.seen(3).await;
    let rig = rig
        .restart_with(|settings| settings.resume = Resume::Ask)
        .await;
    rig.sees(|event| matches!(event.kind, Kind::StepReset { .. }))
        .await;

    let first = rig.engine.recovered().waiting[&session()].clone();
    assert!(rig.cancel(Some(&first)).await);

    let other = rig.engine.recovered().waiting[&session()].clone();
    assert_ne!(first, other);
    assert!(rig.cancel(Some(&other)).await);
    assert_eq!(rig.engine.recovered().waiting.len(), 0);
}

// proves DU-12, SA-21
#[tokio::test(start_paused = true)]
async fn a_message_that_waits_for_room_begins_its_turn_while_a_task_in_the_background_runs() {
    let (held, gate) = (Gate::default(), Gate::default());
    let root = gate.clone();
    let world = world(move |_, said, results| match (said, results) {
        ("go", 0) => call("spawn", json!({"task": "later"})),
        ("go", _) => say("well").hold(&root),
        ("later", _) => say("later").hold(&held),
        _ => say("next"),
    });
    let rig = Rig::delegating(world, [], [], settings()).await;
    let turn = rig.post("go").await;
    rig.world.model.seen(3).await;
    let next = rig.post("next").await;
    let disk = rig.disk.clone();
    let fill = |_| async move { disk.full_journal().set(true) };
    let mut filling = at_the_end_of(&rig, &turn, fill).await;

    gate.open();
    filling.join_next().await.unwrap().unwrap();
    rig.disk.full_journal().refuses().await;
    rig.disk.full_journal().set(false);

    assert_eq!(rig.over(&next).await, well());
}

// proves SA-6
#[tokio::test]
async fn tasks_of_a_called_agent_count_until_their_results_are_read_and_lock_no_person_out() {
    let world = world(|who, said, results| match (who, said, results) {
        ("master", "go", 0) => call("subAgent", delegate("a", "look")),
        ("a", "look", 0..=80) => (0..8).fold(say("eight"), |reply, number| {
            reply.and_call("spawn", json!({"task": number.to_string()}))
        }),
        ("a", "look", _) => call("wait", json!({})),
        _ => say("well"),
    });
    let waits = Arc::new(Notify::new());
    let waiting = waits.clone();
    let wait = TestTool::new("wait", move |_, _| {
        waits.notify_one();
        std::future::pending()
    });
    let agents = [agent("a", &["wait", "spawn"], &[])];
    let rig = Rig::delegating(world, [wait], agents, settings()).await;
    let turn = rig.post("go").await;
    waiting.notified().await;

    let begun = rig.engine.turns(TurnQuery {
        session: None,
        among: Vec::new(),
        unfinished: false,
        limit: 999,
    });
    let begun = begun.await.unwrap();
    let tasks = begun.iter().filter(|row| row.agent.depth() == 2);
    assert!(tasks.count() <= 64);
    let posted = rig.submit(said("stop that", Delivery::Interrupt)).await;
    assert!(posted.is_ok(), "{posted:?}");
    assert_eq!(rig.over(&turn).await, FinishReason::Cancelled);
}

// proves SA-7, SA-13
#[tokio::test]
async fn the_question_of_a_branch_that_is_stopped_is_closed_and_its_caller_continues() {
    let world = world(|who, _, results| match (who, results) {
        ("master", 0) => call("subAgent", delegate("a", "look")),
        ("a", 0) => call("subAgent", delegate("b", "look")),
        ("b", _) => call("ask", json!({})),
        _ => say("I continue"),
    });
    let agents = [agent("a", &["ask"], &["b"]), agent("b", &["ask"], &[])];
    for restarts in [false, true] {
        let world = world.clone();
        let mut rig =
            Rig::delegating(world, [TestTool::asks("ask")], agents.clone(), settings()).await;
        let turn = rig.post("go").await;
        if restarts {
            rig.calls(1).await;
            rig = rig.restart().await;
        }
        let open = rig.calls(1).await.remove(0);
        assert_eq!(open.agent.to_string(), "master/a/b");

        assert!(rig.cancel(Some(&open.turn)).await);

        rig.calls(0).await;
        let id = open.call.id;
        let late = rig
            .engine
            .settle(Sender::Embedder, id.clone(), Outcome::done("yes"));
        assert_eq!(late.await.unwrap_err().code, Code::UnknownCall);
        assert!(!rig.cancel(Some(&open.turn)).await);
        let log = log(&rig, &turn).await;
        // Readers learn that it is closed.
        let closed = log.iter().filter_map(|event| match &event.kind {
            Kind::CallClosed { call, outcome, .. } if *call == id => Some(outcome.status),
            _ => None,
        });
        assert_eq!(closed.collect::<Vec<_>>(), [Status::Cancelled]);
        let stop = FinishReason::Model("stop".to_owned());
        let expected = [
            ("master/a/b", FinishReason::Cancelled),
            ("master/a", stop.clone()),
            ("master", stop),
        ];
        assert_eq!(
            ends(&log),
            expected.map(|(path, end)| (path.to_owned(), end))
        );
    }
}

// proves SA-11
#[tokio::test]
async fn each_turn_of_a_tree_says_what_happened_last_in_it_also_after_a_restart_and_its_end() {
    let world = world(|who, _, results| match (who, results) {
        ("master", 0) => call("subAgent", delegate("a", "look")),
        ("a", 0) => call("ask", json!({})),
        _ => say("done"),
    });
    let agents = [agent("a", &["ask"], &[])];
    let rig = Rig::delegating(world, [TestTool::asks("ask")], agents, settings()).await;
    let turn = rig.post("go").await;
    let open = rig.calls(1).await.remove(0);
    let last = async |rig: &Rig| {
        let query = TurnQuery {
            session: None,
            among: Vec::new(),
            unfinished: false,
            limit: 9,
        };
        let turns = rig.engine.turns(query).await.unwrap();
        let last = turns.iter().map(|turn| turn.last.unwrap());
        last.map(|last| (last.name, last.at)).collect::<Vec<_>>()
    };
    let at_work = last(&rig).await;
    let names: Vec<_> = at_work.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["call_started", "call_started"]);

    let rig = rig.restart().await;
    rig.calls(1).await;
    assert_eq!(last(&rig).await, at_work, "the journal has it");

    rig.settle(open.call.id).await;
    let log = log(&rig, &turn).await;
    let ends = log.iter().rev().filter(|event| match &event.kind {
        Kind::TurnFinished { .. } => true,
        kind => {
            let kept = serde_json::to_value(kind).unwrap();
            assert_eq!(kept["type"], kind.name());
            false
        }
    });
    let ends: Vec<_> = ends.map(|end| (end.kind.name(), end.at)).collect();
    assert_eq!(last(&rig).await, ends);
}
