//! Every message of the protocol, as the page that it comes from spells it.

use serde_json::{Value, json};

use super::{Peer, app, call, envelope, reply};

/// What an agent says and what the host answers to it, in the protocol's own examples.
const EXCHANGES: &str = r#"
{"v":"mvp-0.2","type":"session.start","id":"req-001","payload":{"studyId":"pilot-01","participantId":"P07"}}
{"v":"mvp-0.2","type":"session.started","replyTo":"req-001","payload":{"sessionId":"s-20260213-001"}}
{"v":"mvp-0.2","type":"snapshot.get","id":"req-002","payload":{}}
{"v":"mvp-0.2","type":"snapshot.state","replyTo":"req-002","payload":{"sessionId":"s-20260213-001","uiSpec":{},"messageHistory":[],"toolSchema":[]}}
{"v":"mvp-0.2","type":"tool.call","id":"req-003","payload":{"toolName":"select","params":{"itemId":"m1"},"reason":"Pick the first available movie option to continue the flow."}}
{"v":"mvp-0.2","type":"tool.result","replyTo":"req-003","payload":{"ok":true,"toolName":"select","uiSpec":{}}}
{"v":"mvp-0.2","type":"tool.call","id":"req-003b","payload":{"toolName":"setQuantity","params":{"quantity":-1}}}
{"v":"mvp-0.2","type":"error","replyTo":"req-003b","payload":{"code":"INVALID_PARAMS","message":"setQuantity requires quantity >= 0"}}
{"v":"mvp-0.2","type":"tool.call","id":"req-003c","payload":{"toolName":"next","params":{}}}
{"v":"mvp-0.2","type":"tool.result","replyTo":"req-003c","payload":{"ok":false,"toolName":"next"}}
{"v":"mvp-0.2","type":"session.end","id":"req-999","payload":{"reason":"study-complete"}}
{"v":"mvp-0.2","type":"session.ended","replyTo":"req-999","payload":{"sessionId":"s-20260213-001","logFile":"logs/study/s-20260213-001.jsonl","stateReset":true}}
"#;

/// What the one or the other says without an answer.
const SAID: &str = r#"
{"v":"mvp-0.2","type":"agent.message","id":"req-004","payload":{"text":"I will choose a date next to narrow available showtimes."}}
{"v":"mvp-0.2","type":"state.updated","payload":{"source":"host","uiSpec":{},"messageHistory":[],"toolSchema":[]}}
{"v":"mvp-0.2","type":"user.message","payload":{"text":"I prefer evening showtimes.","stage":"time"}}
"#;

// proves RL-6, RL-7, RL-25
#[tokio::test]
async fn every_message_of_the_protocol_goes_through_as_it_was_sent() {
    let app = app().await;
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    let exchanges: Vec<_> = EXCHANGES.trim().lines().collect();
    for exchange in exchanges.chunks(2) {
        agent.say_text(exchange[0]).await;
        assert_eq!(host.hears().await.to_string(), exchange[0]);
        host.say_text(exchange[1]).await;
        assert_eq!(agent.hears().await.to_string(), exchange[1]);
    }
    for said in SAID.trim().lines() {
        let (speaker, hearer) = if said.contains("agent.message") {
            (&mut agent, &mut host)
        } else {
            (&mut host, &mut agent)
        };
        speaker.say_text(said).await;
        assert_eq!(hearer.hears().await.to_string(), said);
    }
}

// proves RL-1, RL-27
#[tokio::test]
async fn what_nobody_knows_is_kept_in_its_order_and_what_may_be_missing_is_not_made_up() {
    let app = app().await;
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    agent
        .say_text(r#"{"type":"tool.call","id":"a","x":1,"payload":{"zeta":[{"b":1,"a":2}],"toolName":"t","params":{"z":1,"y":2},"alpha":null}}"#)
        .await;
    let heard = host.hears().await;
    assert_eq!(
        heard.to_string(),
        r#"{"v":"mvp-0.2","type":"tool.call","id":"a","payload":{"zeta":[{"b":1,"a":2}],"toolName":"t","params":{"z":1,"y":2},"alpha":null}}"#
    );
    // A reply without an answer's fields, and one that nobody asked for.
    host.say_text(r#"{"type":"tool.result","replyTo":"a"}"#)
        .await;
    let bare = json!({"v": "mvp-0.2", "type": "tool.result", "replyTo": "a", "payload": {}});
    assert_eq!(agent.hears().await, bare);

    // A call without an id is answered without one.
    agent
        .say(json!({"type": "tool.call", "payload": {"toolName": "next"}}))
        .await;
    let asked = host.hears_a("tool.call").await;
    assert_eq!(asked["payload"], json!({"toolName": "next", "params": {}}));
    assert!(asked["id"].is_string(), "{asked}");
    host.say(reply("tool.result", &asked["id"], json!({"ok": true})))
        .await;
    let result = agent.hears_a("tool.result").await;
    assert_eq!(result.get("replyTo"), None, "{result}");
}

// proves RL-6
#[tokio::test]
async fn what_the_other_side_says_is_refused_from_whoever_forges_it() {
    let app = app().await;
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    let payload = json!({
        "text": "x", "code": "INVALID_PARAMS", "message": "m", "role": "host", "toolName": "t",
        "params": {}, "sessionId": "default", "source": "host",
    });
    for kind in [
        "session.started",
        "snapshot.state",
        "tool.result",
        "state.updated",
        "user.message",
        "session.ended",
        "error",
        "relay.joined",
    ] {
        let forged = envelope(kind, "f", payload.clone());
        assert_eq!(agent.code_of(forged).await, "INVALID_MESSAGE", "{kind}");
    }
    for kind in [
        "session.start",
        "snapshot.get",
        "tool.call",
        "agent.message",
        "session.end",
        "relay.joined",
    ] {
        let forged = envelope(kind, "f", payload.clone());
        assert_eq!(host.code_of(forged).await, "INVALID_MESSAGE", "{kind}");
    }
    host.heard_nothing().await;
    agent.heard_nothing().await;
}

// proves RL-7
#[tokio::test]
async fn a_reply_goes_to_who_asked_also_when_two_use_the_same_id() {
    let app = app().await;
    let mut host = Peer::host(&app).await;
    let mut agents = [Peer::agent(&app).await, Peer::agent(&app).await];
    let mut asked = Vec::new();
    for (number, agent) in agents.iter_mut().enumerate() {
        let params = json!({"toolName": "t", "params": {"of": number}});
        agent.say(envelope("tool.call", "same", params)).await;
        asked.push(host.hears_a("tool.call").await);
    }
    assert_ne!(asked[0]["id"], asked[1]["id"]);
    // The later one first.
    for message in asked.iter().rev() {
        let of = message["payload"]["params"]["of"].clone();
        host.say(reply(
            "tool.result",
            &message["id"],
            json!({"ok": true, "of": of}),
        ))
        .await;
    }
    for (number, agent) in agents.iter_mut().enumerate() {
        let result = agent.hears_a("tool.result").await;
        assert_eq!(
            (&result["replyTo"], &result["payload"]["of"]),
            (&json!("same"), &json!(number))
        );
        agent.heard_nothing().await;
    }
}

// proves RL-7
#[tokio::test]
async fn what_answers_nobody_in_particular_goes_to_all_agents_and_no_other_room() {
    let app = app().await;
    let mut host = Peer::host(&app).await;
    let mut agents = [Peer::agent(&app).await, Peer::agent(&app).await];
    let mut elsewhere = Peer::joined(&app, "agent", "elsewhere").await;
    for kind in [
        "state.updated",
        "user.message",
        "snapshot.state",
        "tool.result",
        "error",
    ] {
        let message = json!({"v": "mvp-0.2", "type": kind, "payload": {"x": kind}});
        host.say(message.clone()).await;
        for agent in &mut agents {
            assert_eq!(agent.hears().await, message);
        }
    }
    elsewhere.heard_nothing().await;
    // What an agent does is its own: the other hears of the state alone.
    agents[0].say(call("c")).await;
    host.hears_a("tool.call").await;
    agents[1].heard_nothing().await;
}

// proves RL-10
#[tokio::test]
async fn who_comes_back_sees_what_there_is_by_asking_for_it() {
    let app = app().await;
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    agent.say(call("lost")).await;
    host.hears_a("tool.call").await;
    agent.leave().await;
    host.say(json!({"type": "state.updated", "payload": {"uiSpec": {"stage": "theater"}}}))
        .await;
    host.say(reply("tool.result", &json!("lost"), json!({"ok": true})))
        .await;
    host.heard_nothing().await;

    let mut agent = Peer::agent(&app).await;
    agent
        .say(envelope("snapshot.get", "again", json!({})))
        .await;
    let asked = host.hears_a("snapshot.get").await;
    let state = json!({"sessionId": null, "uiSpec": {"stage": "theater"}, "messageHistory": [], "toolSchema": []});
    host.say(reply("snapshot.state", &asked["id"], state.clone()))
        .await;
    let snapshot = agent.hears_a("snapshot.state").await;
    assert_eq!(
        (&snapshot["replyTo"], &snapshot["payload"]),
        (&json!("again"), &state)
    );
    assert_eq!(snapshot["v"], Value::from("mvp-0.2"));
}
