//! What only a host's own back end knows.

use serde_json::{Value, json};

use super::{Peer, all_logs, app, call, envelope, reply, start_study};

/// Something with a secret at five depths, and what is left of it.
fn planted() -> (Value, Value) {
    let secret = || json!({"price": "SECRET"});
    let full = json!({
        "backendData": secret(),
        "ok": true,
        "uiSpec": {
            "backendData": ["SECRET"],
            "visibleItems": [
                {"id": "m1", "backendData": "SECRET"},
                [{"deep": {"backendData": null, "kept": 1}}],
            ],
            "meta": {"a": {"b": {"backendData": secret(), "c": [[{"backendData": 1, "d": 2}]]}}},
        },
        "text": "the word backendData alone is no secret",
        "BackendData": "another key",
    });
    let left = json!({
        "ok": true,
        "uiSpec": {
            "visibleItems": [{"id": "m1"}, [{"deep": {"kept": 1}}]],
            "meta": {"a": {"b": {"c": [[{"d": 2}]]}}},
        },
        "text": "the word backendData alone is no secret",
        "BackendData": "another key",
    });
    (full, left)
}

// proves RL-12
#[tokio::test]
async fn what_a_host_must_not_show_is_in_no_frame_and_in_no_file() {
    let app = app().await;
    let (full, left) = planted();
    let mut host = Peer::open(&app).await;
    let mut joining = full.clone();
    joining["role"] = json!("host");
    assert_eq!(
        host.asks("relay.join", "j", joining).await["type"],
        "relay.joined"
    );
    let mut agent = Peer::agent(&app).await;

    for kind in [
        "state.updated",
        "user.message",
        "snapshot.state",
        "tool.result",
        "error",
    ] {
        host.say(json!({"type": kind, "payload": full})).await;
        assert_eq!(agent.hears_a(kind).await["payload"], left);
    }
    start_study(&mut agent, &mut host, "study").await;
    for (asks, answers) in [
        ("tool.call", "tool.result"),
        ("tool.call", "error"),
        ("snapshot.get", "snapshot.state"),
    ] {
        agent
            .say(envelope(asks, "a", json!({"toolName": "next"})))
            .await;
        let asked = host.hears_a(asks).await;
        host.say(reply(answers, &asked["id"], full.clone())).await;
        assert_eq!(agent.hears_a(answers).await["payload"], left);
    }
    // What is refused or dropped is written down as well.
    host.say(reply("tool.result", &json!("nobody's"), full.clone()))
        .await;
    host.say(envelope("tool.call", "forged", full.clone()))
        .await;
    let (code, _, why) = host.refused().await;
    assert!(
        code == "INVALID_MESSAGE" && !why.contains("SECRET"),
        "{why}"
    );
    for part in ["payload", "type", "v", "replyTo"] {
        let mut broken = json!({"type": "state.updated", "payload": {}});
        broken[part] = json!([full]);
        host.say(broken).await;
        assert_eq!(host.refused().await.0, "INVALID_MESSAGE", "{part}");
    }
    host.say(json!([full])).await;
    assert_eq!(host.refused().await.0, "INVALID_MESSAGE");
    agent.say(call("open")).await;
    host.hears_a("tool.call").await;
    host.say(reply("session.started", &json!("open"), full.clone()))
        .await;
    assert_eq!(host.refused().await.0, "INVALID_MESSAGE");
    let end = envelope("session.end", "end", json!({}));
    agent.say(end).await;
    let asked = host.hears_a("session.end").await;
    host.say(reply("session.ended", &asked["id"], full)).await;
    let ended = agent.hears_a("session.ended").await;
    assert!(!ended.to_string().contains("SECRET"), "{ended}");

    let logs = all_logs(&app);
    assert!(logs.contains("another key"));
    assert!(!logs.contains("SECRET"), "{logs}");
    assert!(!logs.contains(r#""backendData":"#), "{logs}");
}
