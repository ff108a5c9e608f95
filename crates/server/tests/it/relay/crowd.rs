//! Many rooms at once, whose agents use the same ids.

use std::sync::Arc;

use samovar_testkit::App;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Peer, app, call, envelope, reply};

const ROOMS: usize = 100;
const CALLS: usize = 20;

// proves RL-7, RL-14
#[tokio::test(flavor = "multi_thread")]
async fn in_a_hundred_rooms_with_two_agents_every_reply_finds_its_asker() {
    let app = Arc::new(app().await);
    let mut rooms = JoinSet::new();
    for room in 0..ROOMS {
        let app = app.clone();
        rooms.spawn(async move { work(&app, &format!("room {room}")).await });
    }
    let answered: usize = rooms.join_all().await.into_iter().sum();
    assert_eq!(answered, ROOMS * 2 * CALLS);
    let none = app.get("/api/relay/rooms").await.body;
    assert_eq!(none, json!([]));
}

/// Calls of both agents of a room, each under the same ids: how many were answered to whom they
/// should.
async fn work(app: &App, room: &str) -> usize {
    let mut host = Peer::joined(app, "host", room).await;
    let mut agents = [
        Peer::joined(app, "agent", room).await,
        Peer::joined(app, "agent", room).await,
    ];
    let mut answered = 0;
    for number in 0..CALLS {
        let id = format!("req-{number}");
        for (at, agent) in agents.iter_mut().enumerate() {
            let params = json!({"toolName": "t", "params": {"room": room, "agent": at}});
            agent.say(envelope("tool.call", &id, params)).await;
        }
        let mut asked = [
            host.hears_a("tool.call").await,
            host.hears_a("tool.call").await,
        ];
        // Now this one first, now that one.
        asked.rotate_left(number % 2);
        for asked in &asked {
            let params = asked["payload"]["params"].clone();
            host.say(reply(
                "tool.result",
                &asked["id"],
                json!({"ok": true, "of": params}),
            ))
            .await;
        }
        for (at, agent) in agents.iter_mut().enumerate() {
            let result = agent.hears_a("tool.result").await;
            assert_eq!(result["replyTo"], id);
            assert_eq!(result["payload"]["of"], json!({"room": room, "agent": at}));
            answered += 1;
        }
    }
    let [first, second] = agents;
    first.leave().await;
    second.leave().await;
    host.leave().await;
    answered
}

// proves RL-8
#[tokio::test]
async fn an_agent_has_so_many_requests_open_and_no_more() {
    let app = super::app_with(|config| config.relay_bounds.max_open = 3).await;
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    for number in 0..3 {
        agent.say(call(&number.to_string())).await;
        host.hears_a("tool.call").await;
    }
    assert_eq!(agent.code_of(call("3")).await, "TOOL_EXECUTION_FAILED");
    host.say(reply(
        "tool.result",
        &json!("1"),
        Value::Object(serde_json::Map::new()),
    ))
    .await;
    agent.hears_a("tool.result").await;
    agent.say(call("4")).await;
    host.hears_a("tool.call").await;
}
