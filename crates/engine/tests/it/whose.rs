//! Whose each row is, in a tree of agents.

use std::sync::Arc;

use samovar_core::history::{MessageQuery, MessageRow, Speakers};
use samovar_core::{CallId, Event, Kind, Outcome, ToolReply};
use samovar_doubles::{TestTool, call, say};
use serde_json::{Value, json};

use crate::children::{agent, delegate, log, world};
use crate::forked::forked;
use crate::rig::{Rig, session, settings};

/// Whose a message is: its id, its agent's path and name for people, its caller's message, its call.
type Whose = (String, String, Value, Option<String>, Value);

fn whose_in(row: &MessageRow) -> Whose {
    let about = row.message.metadata.get("agent").cloned();
    let about = about.unwrap_or_default();
    (
        row.message.id.to_string(),
        row.agent.to_string(),
        about["displayName"].clone(),
        row.message.parent.as_ref().map(ToString::to_string),
        about["toolCallId"].clone(),
    )
}

/// The messages of a log, results included, each with what the starts of turns say of its agent.
fn whose(log: &[Arc<Event>]) -> Vec<Whose> {
    let answered = |event: &Event| {
        let mut starts = log.iter().filter(|start| start.turn == event.turn);
        starts.find_map(|start| match &start.kind {
            Kind::TurnStarted { parent_call, .. } => parent_call.clone(),
            _ => None,
        })
    };
    let caller = |call: &CallId| {
        log.iter().find_map(|event| match &event.kind {
            Kind::MessageFinished { message, .. } => {
                let mut calls = message.calls();
                calls
                    .any(|made| made.id == *call)
                    .then(|| message.id.to_string())
            }
            _ => None,
        })
    };
    let rows = log.iter().filter_map(|event| {
        let id = match &event.kind {
            Kind::MessageFinished { message, .. } => message.id.to_string(),
            Kind::CallClosed { call, .. } => call.as_message().to_string(),
            _ => return None,
        };
        let call = answered(event);
        let name = match event.agent.name() {
            "master" => Value::Null,
            name => name.to_uppercase().into(),
        };
        let parent = call.as_ref().and_then(caller);
        let call = call.map_or(Value::Null, |call| call.as_str().into());
        Some((id, event.agent.to_string(), name, parent, call))
    });
    rows.collect()
}

// proves SA-8, SA-9, AS-17
#[tokio::test]
async fn every_row_of_a_nested_tree_says_whose_it_is_in_the_order_of_the_log() {
    let world = world(|who, said, results| match (who, said, results) {
        ("master", _, 0) => say("I ask. ").and_call("subAgent", delegate("browser", "a")),
        ("browser", _, 0) => call("subAgent", delegate("helper", "b")).and_call("x", json!({})),
        ("helper", _, 0) => call("x", json!({})),
        _ => say("done"),
    });
    let agents = [
        agent("browser", &["x"], &["helper"]),
        agent("helper", &["x"], &[]),
    ];
    let tools = [TestTool::new("x", |_, _| async {
        ToolReply::Closed(Outcome::done("seen"))
    })];
    let rig = Rig::delegating(world, tools, agents, settings()).await;
    let turn = rig.post("go").await;
    let expected = whose(&log(&rig, &turn).await);
    assert_eq!(expected.len(), 13);

    let rows = rig.messages(Speakers::All).await;
    let shown: Vec<_> = rows.iter().map(whose_in).collect();
    assert_eq!(shown, expected);
    // On a separate page each says the same.
    let mut before = None;
    for whose in expected.iter().rev() {
        let query = MessageQuery {
            session: session(),
            limit: 1,
            before: before.take(),
            of: Speakers::All,
        };
        let page = rig.engine.messages(query).await.unwrap();
        assert_eq!(whose_in(&page[0]), *whose);
        before = Some(page[0].message.id.clone());
    }
    let copied = forked(&rig, None, "f").await;
    let of_called = copied.iter().filter(|row| row.agent.depth() > 0);
    let all: Vec<_> = of_called.map(whose_in).collect();
    assert!(
        all.iter()
            .all(|whose| whose.3.is_some() && !whose.4.is_null()),
        "{all:?}"
    );
}
