//! The files that a relay with a host of this process writes, played again.

use samovar_core::relay::{Payload, PersonDeed};
use samovar_movie_host::MovieHost;
use samovar_relay::replay::{Mismatch, Report, replay};
use samovar_relay::{Member, RelayConfig};
use serde_json::{Value, json};

use crate::support::{Bench, fields, message, passes, reply};

/// What an agent is answered to a message, whatever else it gets meanwhile.
async fn asks(agent: &mut Member, kind: &str, payload: Value) -> Payload {
    agent.say(message(kind, Some("same"), payload)).await;
    loop {
        let got = agent.next().await.unwrap();
        if got.reply_to.as_deref() == Some("same") {
            return got.payload.clone();
        }
    }
}

async fn calls(agent: &mut Member, tool: &str, params: Value) {
    let call = json!({"toolName": tool, "params": params, "reason": "to go on"});
    let result = asks(agent, "tool.call", call).await;
    assert_eq!(result["ok"], true, "{result:?}");
}

/// Chooses the first item that can be had, and continues.
async fn goes_on(agent: &mut Member) {
    let snapshot = asks(agent, "snapshot.get", json!({})).await;
    let spec = &snapshot["uiSpec"];
    let mut items = spec["visibleItems"].as_array().unwrap().iter();
    let item = &items.find(|item| item["isDisabled"] != true).unwrap()["id"];
    match spec["stage"].as_str().unwrap() {
        "confirm" => {}
        "ticket" => calls(agent, "setQuantity", json!({"typeId": item, "quantity": 1})).await,
        _ => calls(agent, "select", json!({"itemId": item})).await,
    }
    calls(agent, "next", json!({})).await;
}

fn played(bytes: &[u8]) -> Report {
    replay(bytes, || Box::new(MovieHost::new())).unwrap()
}

// proves RL-17
#[tokio::test]
async fn a_study_that_a_relay_has_logged_replays_also_over_a_restart() {
    let bench = Bench::new();
    bench
        .relay
        .attach("default", Box::new(MovieHost::new()))
        .unwrap();
    let mut agent = bench.joins("agent", "default").await;
    let other = bench.joins("agent", "default").await;
    let started = asks(&mut agent, "session.start", json!({"studyId": "pilot"})).await;
    let study = started["sessionId"].as_str().unwrap().to_owned();
    let says = PersonDeed::Says("anything short".to_owned());
    bench.relay.person("default", &says).unwrap();
    let tool = "sort".to_owned();
    let params = fields(json!({"field": "duration", "order": "asc"}));
    let sorts = PersonDeed::Calls { tool, params };
    bench.relay.person("default", &sorts).unwrap();
    goes_on(&mut agent).await;
    drop(other);
    drop(agent);

    let bench = bench.again(RelayConfig::default()).await;
    bench
        .relay
        .attach("default", Box::new(MovieHost::new()))
        .unwrap();
    let mut agent = bench.joins("agent", "default").await;
    for _ in 0..7 {
        goes_on(&mut agent).await;
    }
    let snapshot = asks(&mut agent, "snapshot.get", json!({})).await;
    assert_eq!(snapshot["uiSpec"], Value::Null);
    asks(&mut agent, "session.end", json!({})).await;

    let file = bench.path("logs/study").join(format!("{study}.jsonl"));
    let log = std::fs::read(file).unwrap();
    let report = played(&log);
    assert_eq!(report.difference, None);
    assert!(report.is_checked && report.compared > 40, "{report:?}");
    assert_eq!(
        report.rows,
        bench.rows(&format!("study/{study}.jsonl")).len() as u64
    );
    let is_restart = |row: &samovar_relay::Row| row.kind == "server.restarted";
    assert!(
        bench
            .rows(&format!("study/{study}.jsonl"))
            .iter()
            .any(is_restart)
    );

    for at in (0..log.len()).step_by(log.len() / 12) {
        let mut changed = log.clone();
        changed[at] ^= 4;
        let line = log[..at].split(|byte| *byte == b'\n').count() as u64;
        let difference = played(&changed).difference.unwrap();
        assert_eq!(difference.line, line, "byte {at}");
        assert_ne!(difference.what, Mismatch::Host);
    }
}

/// A host of somebody else gives a study this id.
async fn announces(bench: &Bench, study: &str) {
    let mut host = bench.joins("host", "other").await;
    let mut agent = bench.joins("agent", "other").await;
    let start = message("session.start", Some("start"), json!({}));
    passes(&agent, start, &mut host).await;
    let started = reply("session.started", "start", json!({"sessionId": study}));
    passes(&host, started, &mut agent).await;
    let end = message("session.end", Some("end"), json!({}));
    passes(&agent, end, &mut host).await;
    passes(&host, reply("session.ended", "end", json!({})), &mut agent).await;
}

// proves RL-16, RL-17
#[tokio::test]
async fn a_study_replays_whatever_ids_other_hosts_have_made_up() {
    let bench = Bench::new();
    announces(&bench, "s-20260213-001").await;
    announces(&bench, &format!("s-20260213-{}", u64::MAX)).await;

    let bench = bench.again(RelayConfig::default()).await;
    bench
        .relay
        .attach("default", Box::new(MovieHost::new()))
        .unwrap();
    let mut agent = bench.joins("agent", "default").await;
    for study in ["s-20260213-002", "s-20260213-004"] {
        let started = asks(&mut agent, "session.start", json!({})).await;
        assert_eq!(started["sessionId"], study);
        goes_on(&mut agent).await;
        asks(&mut agent, "session.end", json!({})).await;
        let file = bench.path("logs/study").join(format!("{study}.jsonl"));
        let report = played(&std::fs::read(file).unwrap());
        assert_eq!(report.difference, None);
        assert!(report.compared > 4, "{report:?}");
        announces(&bench, "s-20260213-003").await;
    }
}
