//! A study from its start to its end.

use serde_json::json;

use crate::support::{Bench, error_of, is_quiet, kinds, message, passes, reply};

const STUDY: &str = "s-20260213-001";

// proves RL-3, RL-6, RL-7, RL-13, RL-14, RL-15, RL-25, RL-28
#[tokio::test]
async fn a_study_goes_from_its_start_to_its_end_and_each_message_stands_in_its_log() {
    let bench = Bench::new();
    let mut host = bench.joins("frontend", "  default ").await;
    let mut agent = bench.joins("agent", "").await;

    let start = message(
        "session.start",
        Some("req-001"),
        json!({"studyId": "pilot-01", "participantId": "P07"}),
    );
    assert_eq!(
        passes(&agent, start, &mut host).await,
        r#"session.start req-001> {"studyId":"pilot-01","participantId":"P07"}"#
    );
    let started = reply("session.started", "req-001", json!({"sessionId": STUDY}));
    assert_eq!(
        passes(&host, started, &mut agent).await,
        r#"session.started >req-001 {"sessionId":"s-20260213-001"}"#
    );
    let call = json!({"toolName": "select", "params": {"itemId": "m1"}, "reason": "first"});
    let call = message("tool.call", Some("req-003"), call);
    assert_eq!(
        passes(&agent, call, &mut host).await,
        r#"tool.call req-003> {"toolName":"select","params":{"itemId":"m1"},"reason":"first"}"#
    );
    let result = reply(
        "tool.result",
        "req-003",
        json!({"toolName": "select", "ok": true}),
    );
    assert_eq!(
        passes(&host, result, &mut agent).await,
        r#"tool.result >req-003 {"toolName":"select","ok":true}"#
    );
    let end = message("session.end", Some("req-999"), json!({"reason": "done"}));
    passes(&agent, end, &mut host).await;
    let ended = json!({"sessionId": STUDY, "logFile": "elsewhere", "more": 1});
    let ended = reply("session.ended", "req-999", ended);
    assert_eq!(
        passes(&host, ended, &mut agent).await,
        r#"session.ended >req-999 {"sessionId":"s-20260213-001","logFile":"logs/study/s-20260213-001.jsonl","more":1,"stateReset":true}"#
    );
    assert!(is_quiet(&mut host).await);

    its_rows(&bench);
    agent
        .say(message("session.end", Some("again"), json!({})))
        .await;
    let refused = ("SESSION_NOT_ACTIVE".to_owned(), Some("again".to_owned()));
    assert_eq!(error_of(&mut agent).await, refused);
    let room = kinds(&bench.room_rows());
    let last = [
        "in session.end agent.1",
        "internal message.refused agent.1",
        "out error agent.1",
    ];
    assert_eq!(room[room.len() - 3..], last);
}

fn its_rows(bench: &Bench) {
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
    assert_eq!(rows[11].payload["logFile"], "elsewhere");
    for row in &rows {
        assert_eq!(row.session_id, STUDY);
        assert_eq!(row.relay_session_id.as_deref(), Some("default"));
        assert_eq!(row.timestamp.len(), "2026-02-13T10:22:17.123Z".len());
        assert!(row.timestamp.starts_with("2026-02-13T10:22:17."));
    }
}
