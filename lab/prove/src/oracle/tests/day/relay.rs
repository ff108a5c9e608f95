//! A room with two agents and a host over a socket, its study over a kill, and both logs. The agents
//! use the same ids.

use serde_json::{Value, json};

use crate::observed::{Ending, Envelope, Link, LogFile, Observed, Relay, SentMessage};
use crate::oracle::relay::checked;

pub(in crate::oracle::tests) const ROOM: &str = "logs/room/r-1.jsonl";
pub(in crate::oracle::tests) const STUDY: &str = "logs/study/s-1.jsonl";

/// Adds all that was seen of them.
pub(super) fn add(observed: &mut Observed) {
    let mut room = Vec::new();
    let mut study = Vec::new();
    let mut links = [link(1), link(1), link(2)];
    for (member, link) in [1, 2].into_iter().zip(&mut links) {
        join(&mut room, (member, link), "1.1.1");
    }
    let start = asked("a1", "1.1.2", "session.start");
    let begun = json!({ "sessionId": "s-1", "echo": "a1" });
    exchange(
        &mut study,
        (1, &mut links[0]),
        start,
        "session.started",
        begun,
    );
    let call = asked("b2", "1.1.2", "tool.call");
    let done = json!({ "ok": true, "toolName": "press", "echo": "b2" });
    exchange(&mut study, (2, &mut links[1]), call, "tool.result", done);
    let state = json!({ "source": "host", "uiSpec": {} });
    study.push(row("in", "host", "state.updated", &state));
    for (member, link) in [1, 2].into_iter().zip(&mut links) {
        tell(&mut study, (member, link), "state.updated", &state);
    }
    study.push(row("internal", "", "server.restarted", &json!({})));
    join(&mut study, (1, &mut links[2]), "2.1.1");
    let end = asked("c2", "2.1.2", "session.end");
    let ended = json!({ "sessionId": "s-1", "logFile": STUDY, "echo": "c2" });
    exchange(&mut study, (1, &mut links[2]), end, "session.ended", ended);
    study.push(row("internal", "", "session.end", &json!({})));
    observed.relay = Relay {
        links: links.into(),
        asked: ["a1", "b2", "c2"].map(str::to_owned).into(),
        logs: vec![log(ROOM, room), log(STUDY, study)],
        endings: vec![Ending {
            mark: "c2".to_owned(),
            log_file: STUDY.to_owned(),
            is_there: true,
        }],
        unanswered: Vec::new(),
    };
}

fn link(life: u64) -> Link {
    Link {
        life,
        room: "r".to_owned(),
        ..Link::default()
    }
}

fn asked(mark: &str, id: &str, kind: &str) -> SentMessage {
    SentMessage {
        mark: mark.to_owned(),
        id: id.to_owned(),
        kind: kind.to_owned(),
        payload: json!({ "mark": mark }),
    }
}

/// A row, but for what depends on where it stands.
pub(in crate::oracle::tests) fn row(
    direction: &str,
    role: &str,
    kind: &str,
    payload: &Value,
) -> Value {
    json!({
        "timestamp": "2026-02-13T10:22:17.123Z",
        "direction": direction,
        "type": kind,
        "payload": payload,
        "relaySessionId": "r",
        "role": role,
    })
}

fn join(rows: &mut Vec<Value>, (member, link): (u64, &mut Link), id: &str) {
    let said = asked(&format!("{id} of {member}"), id, "relay.join");
    let mut asks = row("in", "agent", "relay.join", &said.payload);
    (asks["member"], asks["id"]) = (member.into(), id.into());
    rows.push(asks);
    reply(rows, (member, link), &said, "relay.joined", json!({}));
    link.said.push(said);
}

/// A request on its way to the host, and the answer on its way back.
fn exchange(
    rows: &mut Vec<Value>,
    (member, link): (u64, &mut Link),
    said: SentMessage,
    kind: &str,
    payload: Value,
) {
    let mut asks = row("in", "agent", &said.kind, &said.payload);
    (asks["member"], asks["id"]) = (member.into(), said.id.as_str().into());
    rows.push(asks);
    rows.push(row("out", "host", &said.kind, &said.payload));
    rows.push(row("in", "host", kind, &payload));
    reply(rows, (member, link), &said, kind, payload);
    link.said.push(said);
}

fn reply(
    rows: &mut Vec<Value>,
    (member, link): (u64, &mut Link),
    said: &SentMessage,
    kind: &str,
    payload: Value,
) {
    let mut told = row("out", "agent", kind, &payload);
    (told["member"], told["replyTo"]) = (member.into(), said.id.as_str().into());
    rows.push(told);
    link.got.push(Envelope {
        kind: kind.to_owned(),
        id: None,
        reply_to: Some(said.id.clone()),
        payload,
    });
}

fn tell(rows: &mut Vec<Value>, (member, link): (u64, &mut Link), kind: &str, payload: &Value) {
    let mut told = row("out", "agent", kind, payload);
    told["member"] = member.into();
    rows.push(told);
    link.got.push(Envelope {
        kind: kind.to_owned(),
        payload: payload.clone(),
        ..Envelope::default()
    });
}

/// A log of these rows, each with its index and its check.
pub(in crate::oracle::tests) fn log(path: &str, rows: Vec<Value>) -> LogFile {
    let id = path.rsplit('/').next().unwrap().strip_suffix(".jsonl");
    let (mut text, mut check) = (String::new(), String::new());
    for (index, mut row) in rows.into_iter().enumerate() {
        row["sessionId"] = id.into();
        if row.get("eventIndex").is_none() {
            row["eventIndex"] = index.into();
        }
        check = checked(&row, &check);
        row["check"] = check.as_str().into();
        text.extend([row.to_string().as_str(), "\n"]);
    }
    LogFile {
        path: path.to_owned(),
        text,
    }
}

/// Spoils the rows of a log, which are checked and counted as if they had been written so.
pub(in crate::oracle::tests) fn rewrite(
    day: &mut Observed,
    path: &str,
    spoil: impl FnOnce(&mut Vec<Value>),
) {
    let file = day.relay.logs.iter_mut().find(|log| log.path == path);
    let file = file.unwrap();
    let mut rows: Vec<Value> = file
        .text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for row in &mut rows {
        let fields = row.as_object_mut().unwrap();
        fields.retain(|name, _| !["eventIndex", "check"].contains(&name.as_str()));
    }
    spoil(&mut rows);
    *file = log(path, rows);
}
