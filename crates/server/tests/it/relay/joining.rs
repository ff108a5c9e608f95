//! How rooms are joined, shared and left.

use serde_json::{Value, json};

use super::{Peer, app, call, closed, envelope, reply};

/// The rooms, as the owner sees them.
async fn rooms(app: &samovar_testkit::App) -> Value {
    let answer = app.get("/api/relay/rooms").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

// proves RL-3
#[tokio::test]
async fn a_join_is_answered_with_the_role_and_the_room_that_it_came_to() {
    let app = app().await;
    for (payload, role, room) in [
        (
            json!({"role": "agent", "sessionId": "default"}),
            "agent",
            "default",
        ),
        (json!({"role": "agent"}), "agent", "default"),
        (
            json!({"role": "agent", "sessionId": ""}),
            "agent",
            "default",
        ),
        (
            json!({"role": "agent", "sessionId": " \t "}),
            "agent",
            "default",
        ),
        (
            json!({"role": "agent", "sessionId": "  the lab\n"}),
            "agent",
            "the lab",
        ),
        (
            json!({"role": "host", "sessionId": "комната"}),
            "host",
            "комната",
        ),
        (
            json!({"role": "frontend", "sessionId": "lab2"}),
            "frontend",
            "lab2",
        ),
        (
            json!({"role": "agent", "sessionId": "x".repeat(200), "more": [1]}),
            "agent",
            &"x".repeat(200),
        ),
    ] {
        let mut peer = Peer::open(&app).await;
        let joined = peer.asks("relay.join", "join-001", payload.clone()).await;
        let expected = json!({
            "v": "mvp-0.2", "type": "relay.joined", "replyTo": "join-001",
            "payload": {"role": role, "sessionId": room},
        });
        assert_eq!(joined, expected, "{payload}");
    }
    // Without an id there is nothing to name.
    let mut peer = Peer::open(&app).await;
    peer.say(json!({"type": "relay.join", "payload": {"role": "agent"}}))
        .await;
    let joined = peer.hears().await;
    assert_eq!(
        (&joined["type"], joined.get("replyTo")),
        (&json!("relay.joined"), None)
    );
}

// proves RL-3, RL-25
#[tokio::test]
async fn a_join_that_is_none_leaves_its_sender_where_it_was() {
    let app = app().await;
    let mut peer = Peer::open(&app).await;
    let wrong = [
        json!({}),
        json!({"role": "observer"}),
        json!({"role": "Host"}),
        json!({"role": "admin"}),
        json!({"role": ""}),
        json!({"role": null}),
        json!({"role": 1}),
        json!({"role": ["host"]}),
        json!({"role": "agent", "sessionId": 7}),
        json!({"role": "agent", "sessionId": null}),
        json!({"role": "agent", "sessionId": {}}),
        json!({"role": "agent", "sessionId": "x".repeat(201)}),
        json!({"role": "host", "sessionId": "ä".repeat(101)}),
    ];
    for payload in &wrong {
        let message = envelope("relay.join", "j", payload.clone());
        assert_eq!(peer.code_of(message).await, "INVALID_MESSAGE", "{payload}");
    }
    assert_eq!(rooms(&app).await, json!([]));
    assert_eq!(peer.code_of(call("c")).await, "SESSION_NOT_ACTIVE");
    peer.join("agent", "lab").await;
    for payload in wrong {
        let message = envelope("relay.join", "j", payload);
        assert_eq!(peer.code_of(message).await, "INVALID_MESSAGE");
    }
    assert_eq!(rooms(&app).await, json!([{"room": "lab", "agents": 1}]));
}

// proves RL-3
#[tokio::test]
async fn before_the_join_nothing_is_heard_and_nothing_is_sent() {
    let app = app().await;
    let mut early = Peer::open(&app).await;
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    host.say(json!({"type": "state.updated", "payload": {"source": "host"}}))
        .await;
    agent.hears_a("state.updated").await;
    for kind in [
        "session.start",
        "snapshot.get",
        "tool.call",
        "agent.message",
        "session.end",
        "session.started",
        "snapshot.state",
        "tool.result",
        "state.updated",
        "user.message",
        "session.ended",
        "relay.joined",
        "error",
    ] {
        let message = envelope(
            kind,
            "a",
            json!({"text": "x", "toolName": "next", "params": {}}),
        );
        assert_eq!(early.code_of(message).await, "SESSION_NOT_ACTIVE", "{kind}");
    }
    early.heard_nothing().await;
    host.heard_nothing().await;
    agent.heard_nothing().await;
}

// proves RL-3
#[tokio::test]
async fn who_joins_again_moves_and_a_room_that_is_empty_is_gone() {
    let app = app().await;
    let mut host = Peer::joined(&app, "host", "a").await;
    let mut agent = Peer::joined(&app, "agent", "a").await;
    let both = json!([{"room": "a", "host": "socket", "agents": 1}]);
    assert_eq!(rooms(&app).await, both);

    // The same place again changes nothing.
    assert_eq!(agent.join("agent", "a").await["type"], "relay.joined");
    assert_eq!(host.join("host", "a").await["type"], "relay.joined");
    assert_eq!(rooms(&app).await, both);

    agent.say(call("left open")).await;
    host.hears_a("tool.call").await;
    assert_eq!(agent.join("agent", "b").await["payload"]["sessionId"], "b");
    // What it had asked in the other room is nothing to it any more.
    host.say(reply(
        "tool.result",
        &json!("left open"),
        json!({"ok": true}),
    ))
    .await;
    host.say(json!({"type": "state.updated", "payload": {}}))
        .await;
    host.heard_nothing().await;
    agent.heard_nothing().await;

    // Another role in the same room is another place, too.
    assert_eq!(host.join("agent", "a").await["payload"]["role"], "agent");
    assert_eq!(
        rooms(&app).await,
        json!([{"room": "a", "agents": 1}, {"room": "b", "agents": 1}])
    );
    host.leave().await;
    agent.leave().await;
    assert_eq!(rooms(&app).await, json!([]));
}

// proves RL-4
#[tokio::test]
async fn a_newer_host_takes_the_place_of_the_older_which_is_told_and_closed() {
    let app = app().await;
    let mut old = Peer::host(&app).await;
    let mut agents = [Peer::agent(&app).await, Peer::agent(&app).await];
    agents[0].say(call("open")).await;
    old.hears_a("tool.call").await;

    let mut new = Peer::host(&app).await;

    let (code, reply_to, _) = old.refused().await;
    assert_eq!(
        (code.as_str(), reply_to),
        ("SESSION_NOT_ACTIVE", Value::Null)
    );
    assert_eq!(old.end().await, closed(1000, "SESSION_NOT_ACTIVE"));
    let (code, reply_to, _) = agents[0].refused().await;
    assert_eq!(
        (code.as_str(), reply_to),
        ("SESSION_NOT_ACTIVE", json!("open"))
    );
    for (number, agent) in agents.iter_mut().enumerate() {
        let id = format!("{number}");
        agent.say(call(&id)).await;
        assert_eq!(new.hears_a("tool.call").await["id"], id);
        new.say(reply("tool.result", &json!(id), json!({"ok": true})))
            .await;
        assert_eq!(agent.hears_a("tool.result").await["replyTo"], id);
    }
    assert_eq!(
        rooms(&app).await,
        json!([{"room": "default", "host": "socket", "agents": 2}])
    );
}

// proves RL-4
#[tokio::test]
async fn a_room_takes_no_more_agents_than_it_may_and_a_relay_no_more_rooms() {
    let app = super::app_with(|config| {
        config.relay_bounds.max_members = 3;
        config.relay.max_rooms = 2;
    })
    .await;
    let mut host = Peer::joined(&app, "host", "a").await;
    let _agents = [
        Peer::joined(&app, "agent", "a").await,
        Peer::joined(&app, "agent", "a").await,
    ];
    let mut late = Peer::open(&app).await;
    let full = late.join("agent", "a").await;
    assert_eq!(full["payload"]["code"], "SESSION_NOT_ACTIVE", "{full}");
    assert_eq!(late.join("agent", "b").await["type"], "relay.joined");
    let many = Peer::open(&app).await.join("agent", "c").await;
    assert_eq!(many["payload"]["code"], "SESSION_NOT_ACTIVE", "{many}");
    host.heard_nothing().await;
    late.heard_nothing().await;
}
