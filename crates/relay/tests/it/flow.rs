//! A study from its start to its end.

use serde_json::json;

use crate::support::{Bench, error_of, gets, is_quiet, kinds, message, reply};

// proves RL-3, RL-6, RL-7, RL-13, RL-14, RL-15, RL-25, RL-28
#[tokio::test]
async fn a_study_goes_from_its_start_to_its_end_and_each_message_stands_in_its_log() {
    let bench = Bench::new();
    let mut host = bench.joins("frontend", "  default ").await;
    let mut agent = bench.joins("agent", "").await;

    let about = json!({"studyId": "pilot-01", "participantId": "P07"});
    agent
        .say(message("session.start", Some("req-001"), about.clone()))
        .await;
    assert_eq!(
        gets(&mut host).await,
        format!("session.start req-001> {about}")
    );
    host.say(reply(
        "session.started",
        "req-001",
        json!({"sessionId": "s-20260213-001"}),
    ))
    .await;
    let started = r#"session.started >req-001 {"sessionId":"s-20260213-001"}"#;
    assert_eq!(gets(&mut agent).await, started);

    let call = json!({"toolName": "select", "params": {"itemId": "m1"}, "reason": "first"});
    agent
        .say(message("tool.call", Some("req-003"), call.clone()))
        .await;
    assert_eq!(gets(&mut host).await, format!("tool.call req-003> {call}"));
    host.say(reply(
        "tool.result",
        "req-003",
        json!({"toolName": "select", "ok": true}),
    ))
    .await;
    let result = r#"tool.result >req-003 {"toolName":"select","ok":true}"#;
    assert_eq!(gets(&mut agent).await, result);

    agent
        .say(message(
            "session.end",
            Some("req-999"),
            json!({"reason": "done"}),
        ))
        .await;
    gets(&mut host).await;
    let ended = json!({"sessionId": "s-20260213-001", "logFile": "elsewhere", "more": 1});
    host.say(reply("session.ended", "req-999", ended)).await;
    let ended = r#"session.ended >req-999 {"sessionId":"s-20260213-001","logFile":"logs/study/s-20260213-001.jsonl","more":1,"stateReset":true}"#;
    assert_eq!(gets(&mut agent).await, ended);
    assert!(is_quiet(&mut host).await);

    let rows = bench.rows("study/s-20260213-001.jsonl");
    let wanted = [
        "in session.start agent.1",
        "out session.start host",
        "in session.started host",
        "out session.started agent.1",
        "internal session.start -",
        "in tool.call agent.1",
        "out tool.call host",
        "in tool.result host",
        "out tool.result agent.1",
        "in session.end agent.1",
        "out session.end host",
        "in session.ended host",
        "out session.ended agent.1",
        "internal session.end -",
    ];
    assert_eq!(kinds(&rows), wanted);
    assert_eq!(rows[0].payload["participantId"], "P07");
    assert!(rows.iter().all(|row| row.session_id == "s-20260213-001"));
    assert!(
        rows.iter()
            .all(|row| row.relay_session_id.as_deref() == Some("default"))
    );
    assert!(
        rows[0].timestamp.starts_with("2026-02-13T10:22:17.") && rows[0].timestamp.ends_with('Z')
    );

    agent
        .say(message("session.end", Some("req-1000"), json!({})))
        .await;
    let refused = ("SESSION_NOT_ACTIVE".to_owned(), Some("req-1000".to_owned()));
    assert_eq!(error_of(&mut agent).await, refused);
    let room = kinds(&bench.room_rows());
    assert_eq!(
        room[room.len() - 3..],
        [
            "in session.end agent.1",
            "internal message.refused agent.1",
            "out error agent.1",
        ]
    );
}
