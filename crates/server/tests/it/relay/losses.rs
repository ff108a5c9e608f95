//! What becomes of requests whose host leaves, is silent, or answers amiss.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Peer, all_logs, app, app_with, call, end_study, envelope, reply, start_study, study_file,
};

// proves RL-8
#[tokio::test]
async fn a_host_that_leaves_has_answered_everything() {
    let app = app().await;
    let mut host = Peer::host(&app).await;
    let mut agents = [Peer::agent(&app).await, Peer::agent(&app).await];
    for agent in &mut agents {
        for kind in ["tool.call", "snapshot.get"] {
            agent
                .say(envelope(kind, kind, json!({"toolName": "next"})))
                .await;
            host.hears_a(kind).await;
        }
    }
    // Without a word, as a machine that is switched off.
    drop(host);
    for agent in &mut agents {
        for kind in ["tool.call", "snapshot.get"] {
            let (code, reply_to, why) = agent.refused().await;
            assert_eq!(
                (code.as_str(), reply_to),
                ("SESSION_NOT_ACTIVE", json!(kind)),
                "{why}"
            );
        }
        assert_eq!(agent.code_of(call("after")).await, "SESSION_NOT_ACTIVE");
    }
}

// proves RL-8
#[tokio::test]
async fn a_host_that_is_silent_is_given_up_and_its_late_answer_is_dropped() {
    let short = Duration::from_millis(200);
    let app = app_with(|config| config.relay.reply_timeout = short).await;
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    start_study(&mut agent, &mut host, "silent").await;
    agent.say(call("late")).await;
    let asked = host.hears_a("tool.call").await;
    let (code, reply_to, why) = agent.refused().await;
    assert_eq!(
        (code.as_str(), reply_to),
        ("TOOL_EXECUTION_FAILED", json!("late"))
    );
    assert!(why.contains("host did not answer"), "{why}");

    host.say(reply("tool.result", &asked["id"], json!({"ok": true})))
        .await;
    host.heard_nothing().await;
    agent.heard_nothing().await;
    // The id is not given to another request that the late answer could be taken for.
    agent.say(call("late")).await;
    let again = host.hears_a("tool.call").await;
    assert_ne!(again["id"], asked["id"]);
    host.say(reply("tool.result", &asked["id"], json!({"ok": false})))
        .await;
    host.say(reply("tool.result", &again["id"], json!({"ok": true})))
        .await;
    let result = agent.hears_a("tool.result").await;
    assert_eq!(
        (&result["replyTo"], &result["payload"]["ok"]),
        (&json!("late"), &json!(true))
    );

    let types: Vec<Value> = super::rows(&study_file(&app, "silent"))
        .into_iter()
        .filter(|row| row["direction"] == "internal")
        .map(|row| row["type"].clone())
        .collect();
    assert!(types.contains(&json!("request.timeout")), "{types:?}");
    assert!(types.contains(&json!("reply.dropped")), "{types:?}");
}

// proves RL-7, RL-8
#[tokio::test]
async fn a_second_answer_a_wrong_one_and_one_to_nobody_reach_nobody() {
    let app = app().await;
    let mut host = Peer::host(&app).await;
    let mut agents = [Peer::agent(&app).await, Peer::agent(&app).await];
    agents[0].say(call("a")).await;
    host.hears_a("tool.call").await;

    // Another kind of answer leaves the question open.
    for kind in ["snapshot.state", "session.started", "session.ended"] {
        host.say(reply(kind, &json!("a"), json!({"sessionId": "x"})))
            .await;
        assert_eq!(host.refused().await.0, "INVALID_MESSAGE", "{kind}");
    }
    host.say(reply(
        "tool.result",
        &json!("nobody's"),
        json!({"ok": true}),
    ))
    .await;
    host.say(reply(
        "error",
        &json!("b"),
        json!({"code": "INVALID_PARAMS", "message": "m"}),
    ))
    .await;
    host.say(reply("tool.result", &json!(""), json!({"ok": true})))
        .await;
    host.say(reply(
        "tool.result",
        &json!("a"),
        json!({"ok": true, "n": 1}),
    ))
    .await;
    host.say(reply(
        "tool.result",
        &json!("a"),
        json!({"ok": true, "n": 2}),
    ))
    .await;
    host.say(reply(
        "error",
        &json!("a"),
        json!({"code": "INVALID_PARAMS", "message": "m"}),
    ))
    .await;
    host.heard_nothing().await;

    assert_eq!(agents[0].hears_a("tool.result").await["payload"]["n"], 1);
    agents[0].heard_nothing().await;
    agents[1].heard_nothing().await;
    let dropped = all_logs(&app).matches(r#""type":"reply.dropped""#).count();
    assert_eq!(dropped, 5);
}

// proves RL-8, RL-15
#[tokio::test]
async fn a_study_session_ends_once_and_another_can_begin_on_the_same_sockets() {
    let app = app().await;
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    let end = || envelope("session.end", "e", json!({}));
    assert_eq!(agent.code_of(end()).await, "SESSION_NOT_ACTIVE");
    for id in ["one", "two"] {
        start_study(&mut agent, &mut host, id).await;
        agent.say(envelope("session.end", "end", json!({}))).await;
        let asked = host.hears_a("session.end").await;
        assert_eq!(agent.code_of(end()).await, "SESSION_NOT_ACTIVE");
        host.say(reply("session.ended", &asked["id"], json!({})))
            .await;
        let ended = agent.hears_a("session.ended").await;
        assert_eq!(
            ended["payload"]["logFile"],
            format!("logs/study/{id}.jsonl")
        );
        assert_eq!(agent.code_of(end()).await, "SESSION_NOT_ACTIVE");
    }
    host.heard_nothing().await;
}

// proves RL-8
#[tokio::test]
async fn one_start_is_under_way_at_a_time_and_a_host_that_refuses_it_begins_nothing() {
    let app = app().await;
    let mut host = Peer::host(&app).await;
    let mut agents = [Peer::agent(&app).await, Peer::agent(&app).await];
    let start = |id: &str| envelope("session.start", id, json!({}));
    agents[0].say(start("first")).await;
    let asked = host.hears_a("session.start").await;
    assert_eq!(
        agents[1].code_of(start("second")).await,
        "SESSION_NOT_ACTIVE"
    );
    let no = json!({"code": "TOOL_EXECUTION_FAILED", "message": "not now"});
    host.say(reply("error", &asked["id"], no)).await;
    assert_eq!(agents[0].refused().await.0, "TOOL_EXECUTION_FAILED");
    let end = envelope("session.end", "e", json!({}));
    assert_eq!(agents[0].code_of(end).await, "SESSION_NOT_ACTIVE");
    assert!(!app.data_dir().join("logs/study").exists());

    let [first, _] = &mut agents;
    start_study(first, &mut host, "third").await;
    assert_eq!(
        end_study(first, &mut host).await["payload"]["sessionId"],
        "third"
    );
}
