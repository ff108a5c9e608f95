//! Study sessions over restarts, hosts that name them badly, and logs that cannot be written.

use std::os::unix::fs::PermissionsExt;

use samovar_core::Code;
use samovar_core::relay::Envelope;
use samovar_core::relay::StudyView;
use samovar_relay::{Member, Pass, RelayConfig, row};
use serde_json::{Value, json};

use crate::support::{Bench, error_of, gets, is_quiet, join, kinds, message, passes, reply};

/// A host and an agent in a room.
pub(crate) async fn pair(bench: &Bench) -> (Member, Member) {
    let host = bench.joins("host", "r").await;
    (host, bench.joins("agent", "r").await)
}

/// What an agent asks, and the id under which the host has it.
async fn asked(agent: &Member, asks: Envelope, host: &mut Member) -> String {
    agent.say(asks).await;
    host.next().await.unwrap().id.clone().unwrap()
}

/// A study begins; the host says which.
async fn starts(agent: &mut Member, host: &mut Member, started: Value) {
    let start = message("session.start", Some("start"), json!({"studyId": "pilot"}));
    let id = asked(agent, start, host).await;
    let got = passes(host, reply("session.started", &id, started.clone()), agent).await;
    let wanted = reply("session.started", "start", started);
    assert_eq!(got, crate::support::short(&wanted), "delivered unchanged");
}

async fn ends(agent: &mut Member, host: &mut Member) -> String {
    let id = asked(agent, message("session.end", Some("end"), json!({})), host).await;
    passes(host, reply("session.ended", &id, json!({})), agent).await
}

async fn asks(agent: &Member, host: &mut Member, id: &str) {
    let call = json!({"toolName": "next", "reason": "so"});
    passes(agent, message("tool.call", Some(id), call), host).await;
}

// proves RL-16, RL-28
#[tokio::test]
async fn a_file_is_named_by_the_server_when_the_host_names_it_badly() {
    let bench = Bench::new();
    let (mut host, mut agent) = pair(&bench).await;
    for (started, why) in [
        (json!({}), "missing"),
        (json!({"sessionId": 7}), "missing"),
        (json!({"sessionId": "../../outside"}), "not usable"),
        (json!({"sessionId": "a/b"}), "not usable"),
        (json!({"sessionId": ""}), "not usable"),
        (json!({"sessionId": "x".repeat(65)}), "not usable"),
        (json!({"sessionId": "s-20260213-001"}), "used before"),
    ] {
        let before = bench.files("study");
        starts(&mut agent, &mut host, started.clone()).await;
        let mut new = bench.files("study");
        new.retain(|name| !before.contains(name));
        assert_eq!(new.len(), 1, "{new:?}");
        let rows = bench.rows(&format!("study/{}", new[0]));
        let renamed = rows
            .iter()
            .find(|row| row.kind == "session.renamed")
            .unwrap();
        assert_eq!(renamed.payload["why"], why);
        assert_eq!(rows[2].payload, *started.as_object().unwrap());
        let ended = ends(&mut agent, &mut host).await;
        let file = format!(r#""logFile":"logs/study/{}""#, new[0]);
        assert!(ended.contains(&file), "{ended}");
    }
    assert_eq!(bench.files("study").len(), 7);
    assert_eq!(bench.files("study")[6], "s-20260213-007.jsonl");
    let outside: Vec<_> = std::fs::read_dir(bench.path("")).unwrap().collect();
    assert_eq!(outside.len(), 1, "{outside:?}");
    for (place, mode) in [
        ("logs", 0o700),
        ("logs/study", 0o700),
        ("logs/study/s-20260213-001.jsonl", 0o600),
    ] {
        let found = std::fs::metadata(bench.path(place))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(found & 0o777, mode, "{place}");
    }
}

// proves RL-16
#[tokio::test]
async fn a_room_may_have_any_name_and_its_file_has_one_of_ours() {
    let bench = Bench::new();
    let names = [
        "../../etc/passwd",
        "a/b",
        "a\\b\u{0}",
        "..",
        "Комната",
        "a b",
        "ab",
        "AB",
    ];
    for name in names {
        bench.joins("agent", name).await;
    }
    let files = bench.files("room");
    assert_eq!(files.len(), names.len(), "{files:?}");
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    for file in &files {
        let id = file.strip_suffix(".jsonl").unwrap();
        assert!(id.bytes().all(is_plain), "{id}");
        assert_eq!(bench.rows(&format!("room/{file}"))[0].session_id, id);
    }
    assert!(files.iter().any(|file| file.starts_with("etcpasswd-")));
}

// proves RL-14, RL-28
#[tokio::test]
async fn a_study_goes_on_in_its_file_when_its_room_or_its_server_comes_back() {
    let first = Bench::new();
    let (mut host, mut agent) = pair(&first).await;
    starts(&mut agent, &mut host, json!({"sessionId": "mine"})).await;
    drop((host, agent));
    assert_eq!(first.relay.rooms(), []);
    let (host, _agent) = pair(&first).await;
    assert_eq!(first.relay.rooms()[0].study.as_deref(), Some("mine"));
    let rows = kinds(&first.rows("study/mine.jsonl"));
    assert_eq!(
        rows[5..8],
        [
            "internal relay.left host",
            "internal relay.left agent.1",
            "in relay.join host",
        ]
    );
    assert!(!rows.iter().any(|row| row.contains("server.restarted")));
    drop(host);

    let torn = first.path("logs/study/mine.jsonl");
    let mut text = std::fs::read_to_string(&torn).unwrap();
    text.push_str("{\"sessionId\":\"mine\",\"even");
    std::fs::write(&torn, text).unwrap();
    let second = first.after_a_kill();
    let mut agent = second.joins("agent", "r").await;
    let rows = kinds(&second.rows("study/mine.jsonl"));
    let tail = &rows[rows.len() - 4..];
    assert_eq!(
        tail,
        [
            "internal server.restarted -",
            "in relay.join agent.1",
            "internal relay.entered agent.1",
            "out relay.joined agent.1",
        ]
    );
    let mut host = second.joins("host", "r").await;
    assert!(
        ends(&mut agent, &mut host)
            .await
            .contains("logs/study/mine.jsonl")
    );
    let rows = kinds(&second.rows("study/mine.jsonl"));
    let restarts = rows.iter().filter(|row| row.contains("restarted")).count();
    assert_eq!(restarts, 1);
    assert_eq!(
        second.files("room").len(),
        1,
        "nothing marks it as open any more"
    );
}

#[tokio::test]
async fn a_new_study_takes_the_place_of_the_one_that_is_open() {
    let bench = Bench::new();
    let (mut host, mut agent) = pair(&bench).await;
    starts(&mut agent, &mut host, json!({"sessionId": "one"})).await;
    starts(&mut agent, &mut host, json!({"sessionId": "two"})).await;
    assert_eq!(
        kinds(&bench.rows("study/one.jsonl"))[5..],
        ["internal session.replaced -"]
    );
    assert_eq!(
        kinds(&bench.rows("study/two.jsonl"))[0],
        "in session.start agent.1"
    );
    assert_eq!(bench.relay.rooms()[0].study.as_deref(), Some("two"));
    let list = bench.relay.logs().list(None, 10);
    assert_eq!((list[0].is_ended, list[1].is_ended), (true, false));
}

// proves RL-14
#[tokio::test]
async fn a_study_whose_log_is_full_is_stopped_with_an_error_to_everybody() {
    let config = RelayConfig {
        max_log_bytes: 6000,
        ..RelayConfig::default()
    };
    let bench = Bench::with(config);
    let (mut host, mut agent) = pair(&bench).await;
    let mut other = bench.joins("agent", "r").await;
    starts(&mut agent, &mut host, json!({"sessionId": "mine"})).await;
    asks(&agent, &mut host, "open").await;
    let mut calls = 0;
    let refused = loop {
        let call = json!({"toolName": "next", "reason": "x".repeat(400)});
        agent
            .say(message("tool.call", Some(&format!("c{calls}")), call))
            .await;
        if is_quiet(&mut agent).await {
            calls += 1;
            gets(&mut host).await;
            continue;
        }
        break calls;
    };
    assert!(calls > 2, "{calls}");
    let bench_rows = bench.rows("study/mine.jsonl");
    assert!(
        bench_rows
            .iter()
            .all(|row| row.id != Some(format!("c{refused}")))
    );
    assert!(
        is_quiet(&mut host).await,
        "what cannot be kept is not delivered"
    );
    let (code, none) = error_of(&mut other).await;
    assert_eq!((code.as_str(), none), ("TOOL_EXECUTION_FAILED", None));
    agent
        .say(message(
            "tool.call",
            Some("later"),
            json!({"toolName": "next"}),
        ))
        .await;
    let mut answers = Vec::new();
    loop {
        let (code, id) = error_of(&mut agent).await;
        if id.as_deref() == Some("later") {
            assert_eq!(code, "SESSION_NOT_ACTIVE");
            break;
        }
        assert_eq!(code, "TOOL_EXECUTION_FAILED");
        answers.extend(id);
    }
    answers.sort();
    let mut wanted: Vec<_> = (0..refused - 1).map(|n| format!("c{n}")).collect();
    wanted.push("open".to_owned());
    wanted.sort();
    assert!(answers.len() >= wanted.len(), "{answers:?}");

    starts(&mut agent, &mut host, json!({"sessionId": "mine"})).await;
    asks(&agent, &mut host, "now").await;
    assert_eq!(
        bench.relay.rooms()[0].study.as_deref(),
        Some("s-20260213-001")
    );
}

#[tokio::test]
async fn what_is_no_log_of_ours_is_neither_followed_nor_written() {
    let bench = Bench::new();
    bench.joins("agent", "r").await;
    let file = bench.path("logs/room").join(&bench.files("room")[0]);
    let target = bench.path("target");
    std::fs::write(&target, "mine\n").unwrap();
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&target, &file).unwrap();
    let mut agent = bench.relay.enter(Pass::Any);
    agent.say(join("agent", "r")).await;
    assert_eq!(error_of(&mut agent).await.0, "TOOL_EXECUTION_FAILED");
    assert_eq!(bench.relay.rooms(), []);

    let (mut host, mut agent) = {
        let host = bench.joins("host", "other").await;
        (host, bench.joins("agent", "other").await)
    };
    std::os::unix::fs::symlink(&target, bench.path("logs/study/mine.jsonl")).unwrap_err();
    std::fs::create_dir(bench.path("logs/study")).unwrap();
    std::os::unix::fs::symlink(&target, bench.path("logs/study/mine.jsonl")).unwrap();
    starts(&mut agent, &mut host, json!({"sessionId": "mine"})).await;
    assert_eq!(
        bench.relay.rooms()[0].study.as_deref(),
        Some("s-20260213-001")
    );
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "mine\n");
    let unknown = bench
        .relay
        .logs()
        .rows("mine", StudyView::File, None, 10)
        .unwrap_err();
    assert_eq!(unknown.code, Code::StoreFailed);
}

#[tokio::test]
async fn a_study_that_cannot_begin_is_refused_and_the_next_one_can() {
    let bench = Bench::new();
    let (mut host, mut agent) = pair(&bench).await;
    std::fs::write(bench.path("logs/study"), "a file where the folder must be").unwrap();
    passes(
        &agent,
        message("session.start", Some("start"), json!({})),
        &mut host,
    )
    .await;
    host.say(reply(
        "session.started",
        "start",
        json!({"sessionId": "mine"}),
    ))
    .await;
    let refused = ("TOOL_EXECUTION_FAILED".to_owned(), Some("start".to_owned()));
    assert_eq!(error_of(&mut agent).await, refused);
    assert_eq!(error_of(&mut host).await.0, "TOOL_EXECUTION_FAILED");
    std::fs::remove_file(bench.path("logs/study")).unwrap();
    starts(&mut agent, &mut host, json!({"sessionId": "mine"})).await;
    assert_eq!(bench.rows("study/mine.jsonl")[0].kind, "session.start");
}

// proves RL-14
#[tokio::test]
async fn a_room_s_own_log_begins_anew_when_it_is_full_and_the_one_before_is_kept() {
    let config = RelayConfig {
        max_log_bytes: 3000,
        ..RelayConfig::default()
    };
    let bench = Bench::with(config);
    let (mut host, agent) = pair(&bench).await;
    for n in 0..20 {
        asks(&agent, &mut host, &format!("{n}")).await;
    }
    let files = bench.files("room");
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        assert!(bench.rows(&format!("room/{file}")).len() > 1);
    }
}

// proves RL-28
#[tokio::test]
async fn a_log_is_read_in_pages_as_its_host_would_write_it() {
    let bench = Bench::new();
    let (mut host, mut agent) = pair(&bench).await;
    starts(&mut agent, &mut host, json!({"sessionId": "a"})).await;
    asks(&agent, &mut host, "1").await;
    asks(&agent, &mut host, "2").await;
    ends(&mut agent, &mut host).await;
    let logs = bench.relay.logs();

    let of_host = |after, limit| logs.rows("a", StudyView::Host, after, limit).unwrap();
    let all = of_host(None, 100);
    let words = |row: &row::Row| format!("{} {:?} {}", row.event_index, row.direction, row.kind);
    let said = all.iter().map(words).collect::<Vec<_>>().join(", ");
    assert_eq!(
        said,
        "0 In session.start, 1 Out session.started, 2 Internal session.start, 3 In tool.call, \
         4 In tool.call, 5 In session.end, 6 Out session.ended, 7 Internal session.end"
    );
    assert!(
        all.iter()
            .all(|row| row.role.is_none() && row.check.is_empty())
    );
    assert_eq!(of_host(Some(2), 2), all[3..5]);
    assert_eq!(of_host(Some(7), 2), []);
}

// proves RL-13
#[tokio::test]
async fn the_logs_are_listed_and_read_in_pages() {
    let bench = Bench::new();
    assert_eq!(bench.relay.logs().list(None, 10), []);
    let (mut host, mut agent) = pair(&bench).await;
    for study in ["b", "a"] {
        starts(&mut agent, &mut host, json!({"sessionId": study})).await;
        asks(&agent, &mut host, "1").await;
        asks(&agent, &mut host, "2").await;
        ends(&mut agent, &mut host).await;
    }
    std::fs::write(bench.path("logs/study/not a log.jsonl"), "").unwrap();
    let logs = bench.relay.logs();
    let ids = |after, limit| -> Vec<String> {
        logs.list(after, limit)
            .into_iter()
            .map(|info| info.id)
            .collect()
    };
    assert_eq!(ids(None, 10), ["a", "b"]);
    assert_eq!(ids(Some("a"), 10), ["b"]);
    assert_eq!(ids(None, 1), ["a"]);
    let info = &logs.list(None, 1)[0];
    assert_eq!(
        (info.room.as_deref(), info.study_id.as_deref()),
        (Some("r"), Some("pilot"))
    );
    assert_eq!(
        (info.tools["next"], info.unreadable, info.is_ended),
        (2, 0, true)
    );
    let rows = logs.rows("a", StudyView::File, None, 100).unwrap();
    assert_eq!((info.rows, info.length_ms > 0), (rows.len() as u64, true));
    assert_eq!(rows[1].check, row::check(&rows[0].check, &rows[1]));
    assert_eq!(
        logs.rows("a", StudyView::File, Some(3), 2).unwrap(),
        rows[4..6]
    );
    for wrong in ["c", "../a", "a.jsonl", "not a log"] {
        assert_eq!(
            logs.rows(wrong, StudyView::File, None, 1).unwrap_err().code,
            Code::UnknownStudy
        );
    }
    let path = bench.path("logs/study/a.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replacen("\"sessionId\":\"a\"", "\"sessionId\" \"a\"", 1),
    )
    .unwrap();
    assert_eq!(logs.list(None, 1)[0].unreadable, 1);
    let damaged = logs.rows("a", StudyView::File, None, 100).unwrap_err();
    assert!(damaged.message.contains("line 1"), "{damaged}");
}

#[tokio::test]
async fn a_summary_stays_short_whatever_an_agent_calls_things() {
    let bench = Bench::new();
    let (mut host, mut agent) = pair(&bench).await;
    starts(&mut agent, &mut host, json!({"sessionId": "mine"})).await;
    for n in 0..150 {
        let call = json!({"toolName": format!("{n} {}", "x".repeat(500))});
        passes(&agent, message("tool.call", None, call), &mut host).await;
    }
    let info = &bench.relay.logs().list(None, 1)[0];
    assert_eq!((info.tools.len(), info.tools["…"]), (101, 50));
    assert!(info.tools.keys().all(|name| name.chars().count() <= 101));
}

// proves RL-16
#[tokio::test]
async fn a_marker_that_is_none_of_ours_opens_nothing() {
    let bench = Bench::new();
    let (mut host, mut agent) = pair(&bench).await;
    starts(&mut agent, &mut host, json!({"sessionId": "over"})).await;
    ends(&mut agent, &mut host).await;
    drop((host, agent));
    let room = bench.files("room")[0].clone();
    let marker = bench
        .path("logs/room")
        .join(room.replace(".jsonl", ".json"));
    std::fs::write(bench.path("target"), r#"{"study":"over","run":"x"}"#).unwrap();
    let over = std::fs::read(bench.path("logs/study/over.jsonl")).unwrap();

    for (text, is_wrong) in [
        ("", true),
        ("{}", true),
        (r#"{"study":"../../target","run":"x"}"#, true),
        (r#"{"study":"nowhere","run":"x"}"#, false),
        (r#"{"study":"over","run":"x"}"#, false),
    ] {
        std::fs::write(&marker, text).unwrap();
        let (mut host, mut agent) = pair(&bench).await;
        assert_eq!(bench.relay.rooms()[0].study, None, "{text}");
        let call = message("tool.call", Some("q"), json!({"toolName": "next"}));
        agent.say(call).await;
        if is_wrong {
            let refused = ("SESSION_NOT_ACTIVE".to_owned(), Some("q".to_owned()));
            assert_eq!(error_of(&mut agent).await, refused, "{text}");
        } else {
            assert!(gets(&mut host).await.starts_with("tool.call q"), "{text}");
            assert!(!marker.exists(), "{text}");
        }
    }
    std::fs::remove_file(&marker).unwrap_or_default();
    std::os::unix::fs::symlink(bench.path("target"), &marker).unwrap();
    let (mut host, mut agent) = pair(&bench).await;
    starts(&mut agent, &mut host, json!({"sessionId": "next"})).await;
    assert_eq!(bench.relay.rooms()[0].study.as_deref(), Some("next"));
    let target = std::fs::read_to_string(bench.path("target")).unwrap();
    assert_eq!(
        target, r#"{"study":"over","run":"x"}"#,
        "nothing is written through a link"
    );
    let now = std::fs::read(bench.path("logs/study/over.jsonl")).unwrap();
    assert_eq!(now, over, "what is over stays as it is");
}
