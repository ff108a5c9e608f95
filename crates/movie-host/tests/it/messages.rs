//! The messages, in both directions.

use samovar_core::relay::{Envelope, Host, MessageKind, PersonDeed};
use serde_json::{Value, json};

use crate::theater::{Theater, text};

fn kinds(said: &[Envelope]) -> Vec<&'static str> {
    said.iter().map(|said| said.kind.as_str()).collect()
}

fn refused(said: &[Envelope]) -> String {
    assert_eq!(kinds(said), ["error"]);
    text(&said[0].payload, "code")
}

// proves RL-25
#[test]
fn a_study_session_begins_and_ends_with_an_empty_screen() {
    let mut theater = Theater::new();
    assert_eq!(theater.snapshot()["sessionId"], "cinema");
    theater.ok("select", json!({"itemId": "m1"}));
    assert_eq!(
        refused(&theater.hear("session.end", json!({}))),
        "SESSION_NOT_ACTIVE"
    );

    let said = theater.hear(
        "session.start",
        json!({"studyId": "pilot-01", "participantId": "P07"}),
    );
    assert_eq!(kinds(&said), ["session.started", "state.updated"]);
    assert_eq!(said[0].reply_to.as_deref(), Some("r-4"));
    assert_eq!(said[0].payload["sessionId"], "s-20261207-001");
    let snapshot = theater.snapshot();
    assert_eq!(snapshot["sessionId"], "s-20261207-001");
    assert_eq!(snapshot["uiSpec"]["state"].get("selected"), None);
    let keys: Vec<_> = snapshot.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        ["sessionId", "uiSpec", "messageHistory", "toolSchema"]
    );
    assert_eq!(snapshot["messageHistory"].as_array().unwrap().len(), 1);

    theater.ok("select", json!({"itemId": "m2"}));
    let said = theater.hear("session.end", json!({"reason": "study-complete"}));
    assert_eq!(kinds(&said), ["session.ended", "state.updated"]);
    assert_eq!(
        Value::Object(said[0].payload.clone()),
        json!({"sessionId": "s-20261207-001", "stateReset": true})
    );
    assert_eq!(theater.snapshot()["sessionId"], "cinema");
    assert_eq!(theater.spec()["state"].get("selected"), None);
    assert_eq!(
        refused(&theater.hear("session.end", json!({}))),
        "SESSION_NOT_ACTIVE"
    );
}

// proves RL-10, RL-26
#[test]
fn a_result_comes_first_and_then_one_update_that_is_what_a_snapshot_is() {
    let mut theater = Theater::started();
    let call = |tool: &str, params: Value| json!({"toolName": tool, "params": params, "reason": "because"});
    let said = theater.hear("tool.call", call("select", json!({"itemId": "m1"})));
    assert_eq!(kinds(&said), ["tool.result", "state.updated"]);
    assert_eq!(said[0].payload["uiSpec"], said[1].payload["uiSpec"]);
    let mut snapshot = theater.snapshot();
    snapshot.remove("sessionId");
    snapshot.insert("source".to_owned(), "host".into());
    assert_eq!(
        Value::Object(said[1].payload.clone()),
        Value::Object(snapshot)
    );

    for (tool, params) in [
        ("next", json!({})),
        ("prev", json!({})),
        ("postMessage", json!({"text": "hi"})),
    ] {
        let said = theater.hear("tool.call", call(tool, params));
        assert_eq!(kinds(&said), ["tool.result", "state.updated"]);
        let result = Value::Object(said[0].payload.clone());
        assert_eq!(result, json!({"ok": true, "toolName": tool}));
    }
    // Without a change there is nothing to tell but that it was done.
    let said = theater.hear("tool.call", call("select", json!({"itemId": "m1"})));
    assert_eq!(kinds(&said), ["tool.result"]);
    // Missing parameters are none.
    let said = theater.hear("tool.call", json!({"toolName": "next"}));
    assert_eq!(kinds(&said), ["tool.result", "state.updated"]);
}

// proves RL-21, RL-26
#[test]
fn what_an_agent_says_stands_in_the_history_and_runs_nothing() {
    let mut theater = Theater::at("theater");
    let before = theater.snapshot();
    let said = theater.hear("agent.message", json!({"text": "select t1, next"}));
    assert_eq!(kinds(&said), ["state.updated"]);
    assert_eq!(said[0].reply_to, None);
    let after = theater.snapshot();
    assert_eq!(after["uiSpec"], before["uiSpec"]);
    let entry = after["messageHistory"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    let keys: Vec<_> = entry
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(keys, ["id", "type", "timestamp", "stage", "text"]);
    assert_eq!(entry["type"], "agent");
    assert_eq!(entry["stage"], "theater");
    assert_eq!(entry["text"], "select t1, next");

    for text in [
        json!({"text": " \t\u{2003}"}),
        json!({"text": ""}),
        json!({}),
    ] {
        assert_eq!(
            refused(&theater.hear("agent.message", text)),
            "INVALID_PARAMS"
        );
    }
    let long = theater.hear("agent.message", json!({"text": "x".repeat(16_385)}));
    assert_eq!(refused(&long), "INVALID_PARAMS");
    assert_eq!(theater.snapshot(), after);
}

// proves RL-21, RL-26
#[test]
fn what_the_person_does_is_told_as_what_an_agent_does() {
    let mut theater = Theater::started();
    let said = theater.person("select", json!({"itemId": "m2"})).unwrap();
    assert_eq!(kinds(&said), ["state.updated"]);
    let history = said[0].payload["messageHistory"].as_array().unwrap();
    let entry = history.last().unwrap();
    assert_eq!(entry["type"], "user");
    assert_eq!(
        (&entry["action"], &entry["label"]),
        (&json!("select"), &json!("Two Left Umbrellas"))
    );
    assert_eq!(
        theater.person("select", json!({"itemId": "m2"})).unwrap(),
        []
    );
    assert_eq!(
        theater.person("setQuantity", json!({})).unwrap_err(),
        "UNKNOWN_TOOL"
    );

    theater.person("next", json!({})).unwrap();
    theater.person("prev", json!({})).unwrap();
    let snapshot = theater.snapshot();
    let history = snapshot["messageHistory"].as_array().unwrap();
    let told: Vec<_> = history
        .iter()
        .map(|entry| {
            (
                entry["type"].as_str().unwrap(),
                entry["stage"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("system", "movie"),
            ("user", "movie"),
            ("system", "theater"),
            ("user", "movie"),
            ("system", "movie")
        ]
    );
    assert_eq!(history[3]["action"], "back");

    let deed = PersonDeed::Says("I prefer evenings.".to_owned());
    let context = theater.context();
    let said = theater.host.person(&deed, &context).unwrap();
    assert_eq!(kinds(&said), ["user.message", "state.updated"]);
    assert_eq!(
        Value::Object(said[0].payload.clone()),
        json!({"text": "I prefer evenings.", "stage": "movie"})
    );
    let blank = PersonDeed::Says("\u{3164}".to_owned());
    assert_eq!(
        theater
            .host
            .person(&blank, &context)
            .unwrap_err()
            .0
            .as_str(),
        "INVALID_PARAMS"
    );
}

// proves RL-9, RL-25
#[test]
fn what_is_no_message_of_an_agent_is_refused_and_changes_nothing() {
    let mut theater = Theater::started();
    let before = theater.snapshot();
    let wrong = [
        ("tool.call", json!({})),
        ("tool.call", json!({"toolName": null})),
        ("tool.call", json!({"toolName": ["next"]})),
        ("tool.call", json!({"toolName": "next", "params": []})),
        ("tool.call", json!({"toolName": "next", "params": null})),
        (
            "tool.call",
            json!({"toolName": "next", "params": {}, "reason": 1}),
        ),
        ("agent.message", json!({"text": {"a": 1}})),
        ("session.start", json!({"studyId": 1})),
        ("session.start", json!({"participantId": {}})),
        ("session.end", json!({"reason": []})),
    ];
    for (kind, payload) in wrong {
        let said = theater.hear(kind, payload.clone());
        assert_eq!(refused(&said), "INVALID_MESSAGE", "{kind} {payload}");
    }
    let of_agents = [
        "session.start",
        "snapshot.get",
        "tool.call",
        "agent.message",
        "session.end",
    ];
    for kind in MessageKind::ALL.map(MessageKind::as_str) {
        if !of_agents.contains(&kind) {
            assert_eq!(
                refused(&theater.hear(kind, json!({}))),
                "INVALID_MESSAGE",
                "{kind}"
            );
        }
    }
    assert_eq!(theater.snapshot(), before);
}
