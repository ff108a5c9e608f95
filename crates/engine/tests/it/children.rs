//! Turns below turns: told apart on one log, resumed after a stop, stopped by branch.

use std::collections::BTreeSet;
use std::sync::Arc;

use samovar_core::agent::{SubAgents, ToolKeys};
use samovar_core::command::Post;
use samovar_core::history::Speakers;
use samovar_core::{
    Action, Agent, AgentName, Approval, Delivery, Event, FinishReason, Kind, Prompt, Role, Seq,
    Status, TurnId,
};
use samovar_doubles::{Gate, Reply, ScriptedModel, TestTool, World, call, results, say, user};
use serde_json::{Value, json};

use crate::rig::{Rig, said, session, settings, texts_of, turn_of};

pub(crate) fn agent(name: &str, tools: &[&str], agents: &[&str]) -> Agent {
    let names =
        |all: &[&str]| -> BTreeSet<String> { all.iter().map(ToString::to_string).collect() };
    let agents = agents.iter().map(|name| AgentName::new(name).unwrap());
    Agent {
        name: AgentName::new(name).unwrap(),
        display_name: name.to_uppercase(),
        system_prompt: format!("You are {name}."),
        tools: ToolKeys::Only(names(tools)),
        sub_agents: SubAgents::Only(agents.collect()),
        ..Agent::master()
    }
}

pub(crate) fn delegate(name: &str, task: &str) -> Value {
    json!({"name": name, "task": task})
}

/// A model that looks at who it is, what it was told last, and how many results it has.
pub(crate) fn world(answer: impl Fn(&str, &str, usize) -> Reply + Send + Sync + 'static) -> World {
    World::with(ScriptedModel::by(move |prompt| {
        answer(&who(prompt), &user(prompt), results(prompt))
    }))
}

/// The name in a prompt of `agent`; `master` for the server's own words.
pub(crate) fn who(prompt: &Prompt) -> String {
    let own = prompt.layers.iter().find(|layer| layer.name == "agent");
    let name = own.and_then(|own| own.text.strip_prefix("You are ")?.strip_suffix('.'));
    name.unwrap_or("master").to_owned()
}

/// Everything up to the end of a turn.
pub(crate) async fn log(rig: &Rig, turn: &TurnId) -> Vec<Arc<Event>> {
    let mut reader = rig.engine.follow(&session(), Seq(0)).await.unwrap();
    let mut log = Vec::new();
    loop {
        for event in reader.next().await.unwrap() {
            let is_end = matches!(event.kind, Kind::TurnFinished { .. });
            let is_end = is_end && event.turn.as_ref() == Some(turn);
            log.push(event);
            if is_end {
                return log;
            }
        }
    }
}

/// The results that the turn's own model was given, as JSON.
pub(crate) fn outcomes(log: &[Arc<Event>], turn: &TurnId) -> Vec<Value> {
    let of_turn = log.iter().filter(|event| event.turn.as_ref() == Some(turn));
    let closed = of_turn.filter_map(|event| match &event.kind {
        Kind::CallClosed { outcome, .. } => Some(serde_json::from_str(&outcome.text).unwrap()),
        _ => None,
    });
    closed.collect()
}

pub(crate) fn ends(log: &[Arc<Event>]) -> Vec<(String, FinishReason)> {
    let ends = log.iter().filter_map(|event| match &event.kind {
        Kind::TurnFinished { reason, .. } => Some((event.agent.to_string(), reason.clone())),
        _ => None,
    });
    ends.collect()
}

fn stop() -> FinishReason {
    FinishReason::Model("stop".to_owned())
}

// proves SA-7, SA-8, SA-9, SA-18
#[tokio::test]
async fn two_children_and_a_grandchild_work_on_one_log_and_are_told_apart_by_path() {
    let world = world(|who, said, results| match (who, said, results) {
        ("master", _, 0) => say("I ask two. ")
            .and_call("subAgent", delegate("browser", "look up a"))
            .and_call("subAgent", delegate("helper", "b")),
        ("master", ..) => say("both are done"),
        ("browser", _, 0) => call("subAgent", delegate("helper", "look up a, too")),
        ("browser", ..) => say("a is 1"),
        ("helper", said, _) => say(&format!("did: {said}")),
        other => panic!("{other:?}"),
    });
    let agents = [
        agent("browser", &[], &["helper"]),
        agent("helper", &[], &[]),
    ];
    let rig = Rig::delegating(world, [], agents, settings()).await;

    let turn = rig.post("go").await;
    let log = log(&rig, &turn).await;

    let mut ends = ends(&log);
    assert_eq!(ends.pop(), Some(("master".to_owned(), stop())));
    ends.sort_by(|a, b| a.0.cmp(&b.0));
    let below = ["master/browser", "master/browser/helper", "master/helper"];
    assert_eq!(ends, below.map(|path| (path.to_owned(), stop())));
    let said: Vec<_> = outcomes(&log, &turn);
    let summaries: BTreeSet<_> = said
        .iter()
        .map(|said| said["summary"].as_str().unwrap())
        .collect();
    assert_eq!(summaries, BTreeSet::from(["a is 1", "did: b"]));
    // Each is stored once under the id that its caller was told, and below the message that called it.
    let rows = rig.messages(Speakers::All).await;
    for said in &said {
        let id = said["messageId"].as_str().unwrap();
        let row = rows.iter().filter(|row| row.message.id.as_str() == id);
        let [row] = row.collect::<Vec<_>>()[..] else {
            panic!("{id} is stored so often");
        };
        assert_eq!(row.agent.depth(), 1);
        let parent = row.message.parent.as_ref().unwrap();
        let parent = rows.iter().find(|row| row.message.id == *parent).unwrap();
        assert_eq!(parent.message.text(), "I ask two. ");
    }
    // What children say is for people: the caller's model reads the results of its calls alone.
    let last = rig.world.model.prompts().pop().unwrap();
    let shown: Vec<_> = last.messages.iter().map(|message| message.role).collect();
    assert_eq!(shown, [Role::User, Role::Assistant, Role::Tool, Role::Tool]);
    let next = rig.turn("again").await;
    assert_eq!(next, stop());
}

// proves SA-5, SA-18, SA-19
#[tokio::test]
async fn a_child_begins_with_its_own_words_tools_and_task_and_sees_nothing_else() {
    let world = world(|who, _, results| match (who, results) {
        ("master", 0) => {
            let context = json!({"url": "http://a"});
            let order = json!({"name": "browser", "task": "look", "context": context});
            call("subAgent", order)
        }
        ("master", _) => say("done"),
        _ => say(&"x".repeat(2_500)),
    });
    let tools = ["fetch", "write"].map(TestTool::asks);
    let agents = [agent("browser", &["fetch"], &[]), agent("other", &[], &[])];
    let rig = Rig::delegating(world, tools, agents, settings()).await;

    let turn = rig.post("a secret").await;
    let log = log(&rig, &turn).await;

    let prompts = rig.world.model.prompts();
    let of_child = &prompts[1];
    assert_eq!(who(of_child), "browser");
    let offered: Vec<_> = of_child
        .tools
        .iter()
        .map(|spec| spec.name.as_str())
        .collect();
    assert_eq!(offered, ["fetch"]);
    let [task] = &of_child.messages[..] else {
        panic!("it sees {:?}", of_child.messages);
    };
    assert_eq!(
        task.text(),
        "look\n\n```json\n{\n  \"url\": \"http://a\"\n}\n```"
    );
    let of_master: Vec<_> = prompts[0]
        .tools
        .iter()
        .map(|spec| spec.name.as_str())
        .collect();
    assert_eq!(of_master, ["fetch", "spawn", "subAgent", "write"]);
    let described = prompts[0]
        .tools
        .iter()
        .find(|spec| spec.name == "subAgent")
        .unwrap();
    assert!(
        described
            .description
            .ends_with("Agents:\n- browser: BROWSER\n- other: OTHER")
    );
    let [said] = &outcomes(&log, &turn)[..] else {
        panic!()
    };
    let summary = said["summary"].as_str().unwrap();
    assert!(summary.starts_with(&"x".repeat(2_000)) && summary.contains("500 more characters"));
}

// proves SA-6
#[tokio::test]
async fn what_must_not_be_called_is_refused_with_a_code_and_the_caller_continues() {
    let world = world(|who, said, results| match (who, results) {
        ("master", 0) => {
            let name = said.split(' ').next().unwrap();
            call("subAgent", delegate(name, said))
        }
        ("a", 0) => call("subAgent", delegate("b", said)),
        ("b", 0) => call("subAgent", delegate("c", said)),
        ("c", 0) => call("subAgent", delegate(said.split(' ').nth(1).unwrap(), said)),
        _ => say("I go on"),
    });
    let agents = [
        agent("a", &[], &["b"]),
        agent("b", &[], &["c"]),
        agent("c", &[], &["a", "d"]),
        agent("d", &[], &[]),
        Agent {
            max_depth: Some(0),
            ..agent("flat", &[], &[])
        },
    ];
    let rig = Rig::delegating(world, [], agents, settings()).await;
    let rows = [
        ("nobody-here", "SUBAGENT_UNKNOWN"),
        ("master", "SUBAGENT_UNKNOWN"),
        ("flat", "SUBAGENT_DEPTH"),
        ("a a", "SUBAGENT_CYCLE"),
        ("a b", "SUBAGENT_CYCLE"),
        ("a d", "SUBAGENT_DEPTH"),
        ("a flat", "SUBAGENT_NOT_ALLOWED"),
    ];
    let mut after = Seq(0);
    for (said, code) in rows {
        let turn = rig.post(said).await;
        let log = log(&rig, &turn).await;
        assert_eq!(ends(&log).pop().unwrap().0, "master");
        let mut refused = log
            .iter()
            .filter(|event| event.seq > after)
            .filter_map(|event| {
                let Kind::CallClosed { outcome, .. } = &event.kind else {
                    return None;
                };
                assert_eq!(outcome.is_error(), outcome.status != Status::Done);
                let said: Value = serde_json::from_str(&outcome.text).unwrap();
                said["code"].as_str().map(str::to_owned)
            });
        // Those above it gave up after that.
        assert_eq!(refused.next().as_deref(), Some(code), "{said}");
        after = log.last().unwrap().seq;
    }
}

// proves SA-6
#[tokio::test]
async fn more_than_eight_children_of_one_turn_are_refused_as_busy() {
    let world = world(|who, _, results| match (who, results) {
        ("master", 0) => (0..10).fold(say("ten"), |reply, number| {
            reply.and_call("subAgent", delegate("a", &number.to_string()))
        }),
        _ => say("done"),
    });
    let rig = Rig::delegating(world, [], [agent("a", &[], &[])], settings()).await;

    let turn = rig.post("go").await;
    let log = log(&rig, &turn).await;

    let outcomes = outcomes(&log, &turn);
    let busy = outcomes
        .iter()
        .filter(|said| said["code"] == "SUBAGENT_BUSY");
    assert_eq!((outcomes.len(), busy.count()), (10, 2));
}

// proves SA-7
#[tokio::test]
async fn a_turn_is_stopped_with_all_below_it_and_a_branch_alone() {
    let gate = Gate::default();
    let held = gate.clone();
    let world = world(move |who, said, results| match (who, results) {
        ("master", 0) if said == "branch" => say("")
            .and_call("subAgent", delegate("a", "branch"))
            .and_call("subAgent", delegate("b", "now")),
        ("master", 0) => call("subAgent", delegate("a", said)),
        ("a", 0) => call("subAgent", delegate("b", said)),
        ("b", 0) if said != "now" => say("half a word").hold_after(1, &held),
        _ => say("I go on"),
    });
    let agents = [agent("a", &[], &["b"]), agent("b", &[], &[])];
    let rig = Rig::delegating(world, [], agents, settings()).await;

    let turn = rig.post("all").await;
    rig.world.model.seen(3).await;
    assert!(rig.cancel(Some(&turn)).await);
    let stopped = log(&rig, &turn).await;
    let cancelled = ["master/a/b", "master/a", "master"];
    assert_eq!(
        ends(&stopped),
        cancelled.map(|path| (path.to_owned(), FinishReason::Cancelled))
    );

    let turn = rig.post("branch").await;
    rig.world.model.seen(7).await;
    let mut reader = rig.engine.follow(&session(), Seq(0)).await.unwrap();
    let branch = loop {
        let events = reader.next().await.unwrap();
        let born = events.iter().find(|event| {
            let begins = matches!(event.kind, Kind::TurnStarted { .. });
            begins
                && event.agent.to_string() == "master/a"
                && event.seq > stopped.last().unwrap().seq
        });
        if let Some(born) = born {
            break born.turn.clone().unwrap();
        }
    };
    assert!(rig.cancel(Some(&branch)).await);
    assert!(!rig.cancel(Some(&branch)).await);
    let log = log(&rig, &turn).await;
    assert_eq!(ends(&log).pop(), Some(("master".to_owned(), stop())));
    let said = outcomes(&log, &turn);
    let codes: BTreeSet<_> = said.iter().map(|said| said["code"].as_str()).collect();
    assert_eq!(codes, BTreeSet::from([None, Some("SUBAGENT_CANCELLED")]));
}

// proves SA-7
#[tokio::test]
async fn a_tree_that_a_stop_cut_is_resumed_and_no_child_begins_twice() {
    let gate = Gate::default();
    let held = gate.clone();
    let world = world(move |who, said, results| match (who, results) {
        ("master", 0) => say("")
            .and_call("subAgent", delegate("a", "deep"))
            .and_call("subAgent", delegate("b", "flat")),
        ("a", 0) => call("subAgent", delegate("b", said)),
        ("b", 0) => say("a long word").hold_after(1, &held),
        _ => say("done"),
    });
    let agents = [agent("a", &[], &["b"]), agent("b", &[], &[])];
    let rig = Rig::delegating(world, [], agents, settings()).await;
    let turn = rig.post("go").await;
    rig.world.model.seen(4).await;

    let rig = rig.restart().await;
    rig.world.model.seen(6).await;
    gate.open();

    let log = log(&rig, &turn).await;
    let begun = log
        .iter()
        .filter(|event| matches!(event.kind, Kind::TurnStarted { .. }));
    let mut begun: Vec<_> = begun.map(|event| event.agent.to_string()).collect();
    begun.sort();
    assert_eq!(begun, ["master", "master/a", "master/a/b", "master/b"]);
    assert_eq!(ends(&log).pop(), Some(("master".to_owned(), stop())));
    assert!(outcomes(&log, &turn).iter().all(|said| said["ok"] == true));
}

// proves SA-13
#[tokio::test]
async fn children_that_wait_for_a_person_wait_together_also_after_a_stop() {
    let world = world(|who, said, results| match (who, results) {
        ("master", 0) => say("")
            .and_call("subAgent", delegate("a", "one"))
            .and_call("subAgent", delegate("b", "two")),
        ("a" | "b", 0) => call("ask", json!({})),
        ("master", _) => say("done"),
        _ => say(&format!("{said} was answered")),
    });
    let agents = [agent("a", &["ask"], &[]), agent("b", &["ask"], &[])];
    let rig = Rig::delegating(world, [TestTool::asks("ask")], agents, settings()).await;
    let turn = rig.post("go").await;
    rig.calls(2).await;

    let rig = rig.restart().await;
    let open = rig.calls(2).await;

    let paths: BTreeSet<_> = open.iter().map(|open| open.agent.to_string()).collect();
    assert_eq!(paths, ["master/a", "master/b"].map(str::to_owned).into());
    for open in open {
        rig.settle(open.call.id).await;
    }
    let log = log(&rig, &turn).await;
    assert_eq!(ends(&log).pop(), Some(("master".to_owned(), stop())));
    assert!(outcomes(&log, &turn).iter().all(|said| said["ok"] == true));
}

// proves SA-11, SA-21
#[tokio::test]
async fn a_child_in_the_background_reports_with_a_message_of_the_system_that_begins_a_turn() {
    let gate = Gate::default();
    let held = gate.clone();
    let world = world(move |who, said, results| match (who, results) {
        ("master", 0) if said == "go" => (0..3).fold(say("three"), |reply, number| {
            let order = json!({"task": number.to_string(), "label": format!("job {number}")});
            reply.and_call("spawn", order)
        }),
        // It has the words of its caller.
        _ if said.parse::<u32>().is_ok() => say(&format!("did {said}")).hold(&held),
        _ => say("well"),
    });
    let tools = ["look", "ask_user"].map(TestTool::asks);
    let rig = Rig::delegating(world, tools, [agent("a", &[], &[])], settings()).await;

    let turn = rig.post("go").await;
    let log_of_turn = log(&rig, &turn).await;
    let told = outcomes(&log_of_turn, &turn);
    assert!(
        told.iter()
            .all(|said| said["ok"] == true && said["turnId"].is_string())
    );
    let rig = rig.restart().await;
    gate.open();

    let mut results = BTreeSet::new();
    let mut reader = rig.engine.follow(&session(), Seq(0)).await.unwrap();
    let mut after = Vec::new();
    while after.len() < 3 {
        for event in reader.next().await.unwrap() {
            match &event.kind {
                Kind::MessageFinished { message, .. }
                    if message.metadata.contains_key("background") =>
                {
                    assert_eq!((message.role, event.agent.depth()), (Role::System, 0));
                    results.insert(message.text());
                }
                Kind::TurnFinished { .. } if event.agent.depth() == 0 => {
                    after.extend(event.turn.clone().filter(|ended| *ended != turn));
                }
                _ => {}
            }
        }
    }
    let expected = (0..3).map(|number| format!("\"summary\":\"did {number}\""));
    for (result, expected) in results.iter().zip(expected) {
        assert!(result.contains(&expected), "{result}");
    }
    let prompts = rig.world.model.prompts();
    let of_child = prompts
        .iter()
        .find(|prompt| texts_of(prompt) == ["0"])
        .unwrap();
    let offered: Vec<_> = of_child
        .tools
        .iter()
        .map(|spec| spec.name.as_str())
        .collect();
    assert_eq!(offered, ["look"]);
}

// proves SA-11
#[tokio::test]
async fn a_result_of_the_background_begins_a_turn_with_the_bounds_of_the_message_that_led_to_it() {
    let world = world(|_, said, results| match (said, results) {
        ("go", 0) => call("spawn", json!({"task": "look"})),
        _ => say("well"),
    });
    let rig = Rig::delegating(world, [], [], settings()).await;
    let mut action = said("go", Delivery::Queue);
    if let Action::Post(Post { bounds, .. }) = &mut action {
        bounds.approval = Some(Approval::ReadOnly);
        bounds.no_input = true;
    }
    let turn = turn_of(rig.submit(action).await);
    rig.over(&turn).await;

    let second = rig.sees(|event| {
        let begins = matches!(event.kind, Kind::TurnStarted { .. });
        begins && event.agent.depth() == 0 && event.turn.as_ref() != Some(&turn)
    });

    let second = second.await;
    let Kind::TurnStarted {
        approval, bounds, ..
    } = &second.kind
    else {
        panic!("{second:?}");
    };
    assert_eq!((*approval, bounds.no_input), (Approval::ReadOnly, true));
}
