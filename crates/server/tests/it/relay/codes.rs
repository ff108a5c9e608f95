//! The codes, each where it belongs, and what strictness changes.

use serde_json::{Value, json};

use super::{Peer, app, app_with, call, end_study, envelope, reply, rows, start_study, study_file};

/// Messages that are too deep, also where a reader of JSON would read on in a text, and one whose id is
/// too long.
fn too_much() -> [String; 3] {
    let deep = format!("{}{}", "[".repeat(70), "]".repeat(70));
    let hidden = (0..12).fold("1".to_owned(), |inner, _| {
        let inner = json!({"$serde_json::private::RawValue": inner});
        format!("{}{inner}{}", "[".repeat(120), "]".repeat(120))
    });
    let with = |x| format!(r#"{{"type":"snapshot.get","id":"a","payload":{{"x":{x}}}}}"#);
    let id = "x".repeat(300);
    let long = format!(r#"{{"type":"snapshot.get","id":"{id}"}}"#);
    [with(deep), with(hidden), long]
}

// proves RL-1, RL-9
#[tokio::test]
async fn what_is_no_envelope_is_refused_and_the_socket_stays_open() {
    let app = app().await;
    let mut host = Peer::host(&app).await;
    for mut peer in [
        Peer::open(&app).await,
        Peer::agent(&app).await,
        Peer::joined(&app, "host", "b").await,
    ] {
        for (text, reply_to) in [
            ("", Value::Null),
            ("hello", Value::Null),
            ("[]", Value::Null),
            ("null", Value::Null),
            (r#"{"type":"snapshot.get""#, Value::Null),
            (
                r#"{"v":"mvp-0.1","type":"snapshot.get","id":"a"}"#,
                json!("a"),
            ),
            (r#"{"v":null,"type":"snapshot.get","id":"a"}"#, json!("a")),
            (r#"{"v":2,"type":"snapshot.get","id":"a"}"#, json!("a")),
            (
                r#"{"v":"mvp-0.1","type":"relay.join","id":"a","payload":{"role":"agent"}}"#,
                json!("a"),
            ),
            (r#"{"id":"a"}"#, json!("a")),
            (r#"{"type":7,"id":"a"}"#, json!("a")),
            (r#"{"type":"tool.calls","id":"a"}"#, json!("a")),
            (
                r#"{"type":"snapshot.get","id":"a","payload":null}"#,
                json!("a"),
            ),
            (
                r#"{"type":"snapshot.get","id":"a","payload":[]}"#,
                json!("a"),
            ),
            (r#"{"type":"snapshot.get","id":1}"#, Value::Null),
            (
                r#"{"type":"snapshot.get","id":"a","replyTo":1}"#,
                json!("a"),
            ),
        ] {
            peer.say_text(text).await;
            let (code, to, why) = peer.refused().await;
            assert_eq!(
                (code.as_str(), to),
                ("INVALID_MESSAGE", reply_to),
                "{text}: {why}"
            );
        }
        for text in too_much() {
            peer.say_text(text).await;
            assert_eq!(peer.refused().await.0, "INVALID_MESSAGE");
        }
        assert_eq!(peer.join("agent", "default").await["type"], "relay.joined");
    }
    host.heard_nothing().await;
}

/// Messages whose payload is amiss: the type, the payload, the field, the code.
const AMISS: &str = r#"
tool.call | {} | toolName | INVALID_MESSAGE
tool.call | {"toolName": null} | toolName | INVALID_MESSAGE
tool.call | {"toolName": 1} | toolName | INVALID_MESSAGE
tool.call | {"toolName": "t", "params": []} | params | INVALID_MESSAGE
tool.call | {"toolName": "t", "params": null} | params | INVALID_MESSAGE
tool.call | {"toolName": "t", "params": "{}"} | params | INVALID_MESSAGE
tool.call | {"toolName": "t", "reason": 1} | reason | INVALID_MESSAGE
agent.message | {} | text | INVALID_MESSAGE
agent.message | {"text": ["x"]} | text | INVALID_MESSAGE
agent.message | {"text": ""} | text | INVALID_PARAMS
agent.message | {"text": " \n\t"} | text | INVALID_PARAMS
agent.message | {"text": "\u200b\u2060"} | text | INVALID_PARAMS
session.start | {"studyId": 1} | studyId | INVALID_MESSAGE
session.start | {"participantId": {}} | participantId | INVALID_MESSAGE
session.end | {"reason": 1} | reason | INVALID_MESSAGE
"#;

// proves RL-9, RL-25
#[tokio::test]
async fn fields_of_the_wrong_kind_are_named_and_reach_no_host() {
    let app = app().await;
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    for row in AMISS.trim().lines() {
        let cells: Vec<_> = row.split(" | ").collect();
        let payload = serde_json::from_str(cells[1]).unwrap();
        agent.say(envelope(cells[0], "a", payload)).await;
        let (code, reply_to, why) = agent.refused().await;
        assert_eq!(
            (code.as_str(), reply_to),
            (cells[3], json!("a")),
            "{row}: {why}"
        );
        assert!(why.contains(cells[2]), "{row}: {why}");
    }
    host.heard_nothing().await;
}

// proves RL-8, RL-9
#[tokio::test]
async fn without_a_host_every_request_is_answered_at_once() {
    let app = app().await;
    let mut agent = Peer::agent(&app).await;
    for (kind, payload) in [
        ("session.start", json!({})),
        ("snapshot.get", json!({})),
        ("tool.call", json!({"toolName": "next"})),
        ("agent.message", json!({"text": "is anybody there?"})),
        ("session.end", json!({})),
    ] {
        let message = envelope(kind, "a", payload);
        assert_eq!(agent.code_of(message).await, "SESSION_NOT_ACTIVE", "{kind}");
    }
}

// proves RL-9
#[tokio::test]
async fn the_codes_of_a_host_reach_who_asked_as_the_host_says_them() {
    let app = app().await;
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    for code in [
        "INVALID_MESSAGE",
        "SESSION_NOT_ACTIVE",
        "UNKNOWN_TOOL",
        "INVALID_PARAMS",
        "NO_ACTIVE_SPEC",
        "TOOL_EXECUTION_FAILED",
        "SOMETHING_OF_ITS_OWN",
    ] {
        agent.say(call(code)).await;
        host.hears_a("tool.call").await;
        let error = reply(
            "error",
            &json!(code),
            json!({"code": code, "message": "why not"}),
        );
        host.say(error.clone()).await;
        assert_eq!(agent.hears().await, error);
    }
    // Also what it thinks of words, which await no answer.
    agent
        .say(envelope("agent.message", "words", json!({"text": "hello"})))
        .await;
    host.hears_a("agent.message").await;
    let error = reply(
        "error",
        &json!("words"),
        json!({"code": "INVALID_PARAMS", "message": "no"}),
    );
    host.say(error.clone()).await;
    assert_eq!(agent.hears().await, error);
}

// proves RL-11
#[tokio::test]
async fn a_strict_relay_wants_a_study_session_and_a_reason() {
    let app = app_with(|config| config.relay.strict = true).await;
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    let words = || envelope("agent.message", "w", json!({"text": "hello"}));
    assert_eq!(agent.code_of(call("c")).await, "SESSION_NOT_ACTIVE");
    assert_eq!(agent.code_of(words()).await, "SESSION_NOT_ACTIVE");
    agent.say(envelope("snapshot.get", "s", json!({}))).await;
    host.hears_a("snapshot.get").await;

    start_study(&mut agent, &mut host, "strictly").await;
    for payload in [
        json!({"toolName": "next", "params": {}}),
        json!({"toolName": "next", "params": {}, "reason": ""}),
        json!({"toolName": "next", "params": {}, "reason": " \u{200b}"}),
    ] {
        let without = envelope("tool.call", "c", payload);
        assert_eq!(agent.code_of(without).await, "INVALID_PARAMS");
    }
    host.heard_nothing().await;
    agent.say(call("c")).await;
    host.hears_a("tool.call").await;
    agent.say(words()).await;
    host.hears_a("agent.message").await;
    end_study(&mut agent, &mut host).await;
    assert_eq!(agent.code_of(call("d")).await, "SESSION_NOT_ACTIVE");
}

// proves RL-11
#[tokio::test]
async fn a_permissive_relay_notes_that_a_reason_is_missing() {
    let app = app().await;
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    start_study(&mut agent, &mut host, "lenient").await;
    agent
        .say(envelope("tool.call", "c", json!({"toolName": "next"})))
        .await;
    host.hears_a("tool.call").await;
    agent.say(call("d")).await;
    host.hears_a("tool.call").await;
    let noted = rows(&study_file(&app, "lenient"));
    let noted: Vec<_> = noted
        .iter()
        .filter(|row| row["type"] == "reason.missing")
        .collect();
    assert_eq!(noted.len(), 1, "{noted:?}");
    assert_eq!(noted[0]["direction"], "internal");
}
