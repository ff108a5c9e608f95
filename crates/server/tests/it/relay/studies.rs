//! Study sessions and their logs, as they lie on the disk and as the owner reads them.

use std::path::Path;

use samovar_model_server::Rule;
use samovar_testkit::{AppBuilder, SmallDisk};
use serde_json::{Value, json};

use super::{Peer, app, app_with, call, end_study, envelope, reply, rows, start_study, study_file};

/// Every file below a folder.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
    }
    found
}

// proves RL-13, RL-14, RL-28
#[tokio::test]
async fn the_log_has_what_an_agent_sent_and_got_and_the_hosts_side_beside_it() {
    let app = app().await;
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    let mut other = Peer::agent(&app).await;
    start_study(&mut agent, &mut host, "s-1").await;
    agent.say(call("c")).await;
    host.hears_a("tool.call").await;
    host.say(reply("tool.result", &json!("c"), json!({"ok": true})))
        .await;
    agent.hears_a("tool.result").await;
    host.say(json!({"type": "state.updated", "payload": {"source": "host"}}))
        .await;
    agent.hears_a("state.updated").await;
    other.hears_a("state.updated").await;
    end_study(&mut agent, &mut host).await;

    let rows = rows(&study_file(&app, "s-1"));
    for row in &rows {
        assert_eq!(
            (&row["sessionId"], &row["relaySessionId"]),
            (&json!("s-1"), &json!("default"))
        );
        let stamp = row["timestamp"].as_str().unwrap();
        assert!(stamp.len() == 24 && stamp.ends_with('Z'), "{stamp}");
    }
    let of = |member: u64| -> Vec<(Value, Value)> {
        let of = rows
            .iter()
            .filter(|row| row["role"] == "agent" && row["member"] == member);
        of.map(|row| (row["direction"].clone(), row["type"].clone()))
            .collect()
    };
    let said = |direction: &str, kind: &str| (json!(direction), json!(kind));
    assert_eq!(
        of(1),
        [
            said("in", "session.start"),
            said("out", "session.started"),
            said("in", "tool.call"),
            said("out", "tool.result"),
            said("out", "state.updated"),
            said("in", "session.end"),
            said("out", "session.ended"),
        ]
    );
    assert_eq!(of(2), [said("out", "state.updated")]);
    let hosts = rows.iter().filter(|row| row["role"] == "host");
    let hosts: Vec<_> = hosts.map(|row| row["type"].as_str().unwrap()).collect();
    assert_eq!(
        hosts,
        [
            "session.start",
            "session.started",
            "tool.call",
            "tool.result",
            "state.updated",
            "session.end",
            "session.ended",
        ]
    );
    assert_eq!(rows[0]["payload"], json!({"studyId": "pilot"}));
}

// proves RL-16
#[tokio::test]
async fn no_name_that_somebody_sends_becomes_a_path() {
    let app = app().await;
    let names = [
        "../../../escape",
        "/etc/passwd",
        "a/b",
        "..",
        ".",
        "nul\0byte",
        "con:",
        "a\\b",
        "-rf",
        "~",
        "%2e%2e%2f",
        "\u{202e}gnp",
        ".hidden",
        "line\nbreak",
        &"long".repeat(50),
    ];
    for name in names {
        let mut host = Peer::joined(&app, "host", name).await;
        let mut agent = Peer::joined(&app, "agent", name).await;
        agent
            .say(envelope(
                "session.start",
                "start",
                json!({"studyId": name, "participantId": name}),
            ))
            .await;
        let asked = host.hears_a("session.start").await;
        host.say(reply(
            "session.started",
            &asked["id"],
            json!({"sessionId": name}),
        ))
        .await;
        // It is delivered as the host calls it, and the file is called otherwise.
        let started = agent.hears_a("session.started").await;
        assert_eq!(started["payload"]["sessionId"], name);
        let ended = end_study(&mut agent, &mut host).await;
        let file = ended["payload"]["logFile"].as_str().unwrap();
        let stem = file
            .strip_prefix("logs/study/")
            .unwrap()
            .strip_suffix(".jsonl")
            .unwrap();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        assert!(stem.bytes().all(is_plain), "{file}");
        assert!(app.data_dir().join(file).is_file(), "{file}");
        host.leave().await;
        agent.leave().await;
    }
    let parent = app.data_dir().parent().unwrap().to_owned();
    assert!(!parent.join("escape").exists() && !parent.join("escape.jsonl").exists());
    let logs = files(&app.data_dir().join("logs"));
    assert!(logs.len() >= 2 * names.len(), "{logs:?}");
    for name in logs {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        assert!(name.bytes().all(is_plain), "{name}");
    }
}

// proves RL-14, RL-28
#[tokio::test]
async fn a_study_goes_on_in_the_same_file_after_a_restart() {
    let app = app().await;
    {
        let mut host = Peer::host(&app).await;
        let mut agent = Peer::agent(&app).await;
        start_study(&mut agent, &mut host, "over-restarts").await;
        agent.say(call("before")).await;
        host.hears_a("tool.call").await;
    }
    let app = Box::pin(app.restart()).await;
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    agent.say(call("after")).await;
    host.hears_a("tool.call").await;
    let ended = end_study(&mut agent, &mut host).await;
    assert_eq!(
        ended["payload"]["logFile"],
        "logs/study/over-restarts.jsonl"
    );

    let rows = rows(&study_file(&app, "over-restarts"));
    let at = |kind: &str, id: Value| {
        let found = rows
            .iter()
            .position(|row| row["type"] == kind && row["id"] == id);
        found.unwrap_or_else(|| panic!("{kind} {id}"))
    };
    let restarted = at("server.restarted", Value::Null);
    assert!(at("tool.call", json!("before")) < restarted);
    assert!(restarted < at("tool.call", json!("after")));
}

// proves RL-14
#[tokio::test]
async fn the_owner_reads_the_newest_rows_of_a_room_outside_its_studies() {
    let app = app().await;
    let path = "/api/relay/rooms/default/log";
    assert_eq!(app.get(path).await.body, json!([]));
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    let params = json!({"toolName": "next", "params": {}, "reason": "outside"});
    agent.say(envelope("tool.call", "c", params.clone())).await;
    host.hears_a("tool.call").await;
    start_study(&mut agent, &mut host, "a").await;
    agent.say(envelope("tool.call", "d", params)).await;
    host.hears_a("tool.call").await;

    let all = app.get(path).await.body;
    let calls = |rows: &Value| {
        let rows = rows.as_array().unwrap().iter();
        let calls = rows.filter(|row| row["type"] == "tool.call" && row["role"] == "agent");
        calls.map(|row| row["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(calls(&all), ["c"]);
    let (first, second) = (&all[0], &all[1]);
    let index = &first["eventIndex"];
    let page = app.get(&format!("{path}?after={index}&limit=1")).await.body;
    assert_eq!(page, json!([second]));
}

// proves RL-14, RL-17
#[tokio::test]
async fn the_owner_lists_the_studies_and_reads_their_rows_in_pages() {
    let app = app().await;
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    assert_eq!(app.get("/api/relay/logs").await.body, json!([]));
    for id in ["a", "b", "c"] {
        start_study(&mut agent, &mut host, id).await;
        for tool in ["select", "next", "next"] {
            let params = json!({"toolName": tool, "params": {}, "reason": "r"});
            agent.say(envelope("tool.call", tool, params)).await;
            let asked = host.hears_a("tool.call").await;
            host.say(reply("tool.result", &asked["id"], json!({"ok": true})))
                .await;
            agent.hears_a("tool.result").await;
        }
        if id != "c" {
            end_study(&mut agent, &mut host).await;
        }
    }
    let listed = app.get("/api/relay/logs").await.body;
    let shown: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|study| {
            (
                study["id"].clone(),
                study["isEnded"].clone(),
                study["tools"].clone(),
                study["studyId"].clone(),
            )
        })
        .collect();
    let tools = json!({"next": 2, "select": 1});
    let study = |id: &str, ended: bool| (json!(id), json!(ended), tools.clone(), json!("pilot"));
    assert_eq!(
        shown,
        [study("a", true), study("b", true), study("c", false)]
    );
    let page = app.get("/api/relay/logs?after=a&limit=1").await.body;
    assert_eq!(
        (page.as_array().unwrap().len(), &page[0]["id"]),
        (1, &json!("b"))
    );

    let kept = rows(&study_file(&app, "a"));
    assert_eq!(app.get("/api/relay/logs/a").await.body, json!(kept));
    let mut read = Vec::new();
    loop {
        let last: Option<&Value> = read.last();
        let after = last.map_or(String::new(), |row| format!("&after={}", row["eventIndex"]));
        let page = app
            .get(&format!("/api/relay/logs/a?limit=5{after}"))
            .await
            .body;
        let Value::Array(page) = page else {
            panic!("{page}")
        };
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 5);
        read.extend(page);
    }
    assert_eq!(read, kept);
}

// proves RL-16
#[tokio::test]
async fn a_log_that_there_is_not_is_asked_for_in_vain() {
    let app = app().await;
    for (path, status, code) in [
        ("logs/nothing", 404, "unknown_study"),
        ("logs/..%2F..%2Ftoken", 404, "unknown_study"),
        ("logs/a.jsonl", 404, "unknown_study"),
        ("logs/a?limit=0", 400, "invalid_params"),
        ("logs/a?after=x", 400, "invalid_params"),
        ("logs?limit=201", 400, "invalid_params"),
    ] {
        let refused = app.get(&format!("/api/relay/{path}")).await;
        assert_eq!((refused.status, refused.code()), (status, code), "{path}");
    }
}

// proves RL-14, RL-15
#[tokio::test]
async fn a_full_disk_stops_the_study_with_an_error_and_another_begins_when_there_is_room() {
    let name = "relay::studies::a_full_disk_stops_the_study_with_an_error_and_another_begins_when_there_is_room";
    let Some(disk) = SmallDisk::of_test(name, 40 << 20) else {
        return;
    };
    let builder = AppBuilder::new().with(|config| config.data_dir = disk.path().join("data"));
    let app = builder.start(Vec::<Rule>::new()).await;
    let mut host = Peer::host(&app).await;
    let mut agents = [Peer::agent(&app).await, Peer::agent(&app).await];
    start_study(&mut agents[0], &mut host, "full").await;
    let kept = rows(&disk.path().join("data/logs/study/full.jsonl"));
    disk.fill();
    let text = "x".repeat(20_000);
    agents[0]
        .say(envelope("agent.message", "m", json!({ "text": text })))
        .await;
    for (agent, id) in agents.iter_mut().zip([json!("m"), Value::Null]) {
        let (code, reply_to, why) = agent.refused().await;
        assert_eq!(
            (code.as_str(), reply_to),
            ("TOOL_EXECUTION_FAILED", id),
            "{why}"
        );
        assert!(why.contains("log cannot be written"), "{why}");
    }
    let (code, _, why) = {
        agents[0].say(call("c")).await;
        agents[0].refused().await
    };
    assert!(
        ["SESSION_NOT_ACTIVE", "TOOL_EXECUTION_FAILED"].contains(&code.as_str()),
        "{code} {why}"
    );

    disk.make_room();
    assert_eq!(agents[0].code_of(call("d")).await, "SESSION_NOT_ACTIVE");
    host.heard_nothing().await;
    start_study(&mut agents[0], &mut host, "room-again").await;
    agents[0].say(call("e")).await;
    assert_eq!(host.hears_a("tool.call").await["id"], "e");
    // What was kept is whole, and nothing of what was refused stands behind it.
    let after = rows(&disk.path().join("data/logs/study/full.jsonl"));
    assert_eq!(after[..kept.len()], kept);
    assert!(!format!("{after:?}").contains("xxxx"));
}

// proves RL-4, RL-13
#[tokio::test]
async fn a_second_study_in_a_room_takes_the_place_of_the_first() {
    let app = app_with(|config| config.relay.strict = true).await;
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    start_study(&mut agent, &mut host, "first").await;
    start_study(&mut agent, &mut host, "second").await;
    agent.say(call("c")).await;
    host.hears_a("tool.call").await;
    let first = rows(&study_file(&app, "first"));
    assert_eq!(first.last().unwrap()["type"], "session.replaced");
    let second = rows(&study_file(&app, "second"));
    assert!(second.iter().any(|row| row["id"] == "c"), "{second:?}");
    let ended = end_study(&mut agent, &mut host).await;
    assert_eq!(ended["payload"]["logFile"], "logs/study/second.jsonl");
}
