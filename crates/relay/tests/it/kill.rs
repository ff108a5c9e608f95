//! Real kills at the named points: this test binary starts itself again, and that process ends in the
//! middle of a step.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use samovar_core::failpoint::{self, LifeStage, POINTS};
use samovar_core::relay::RelayRole;
use samovar_relay::row::{Direction, Row};
use samovar_relay::{Member, RelayConfig};
use serde_json::json;

use crate::support::{Bench, gets, message, reply};

const DATA_DIR: &str = "SAMOVAR_TEST_DATA_DIR";
const POINT: &str = "SAMOVAR_TEST_POINT";
const VISIT: &str = "SAMOVAR_TEST_VISIT";

/// Where this process ends, and at which visit.
static END: OnceLock<(String, u32)> = OnceLock::new();
static VISITS: AtomicU32 = AtomicU32::new(0);

fn end_here(name: &'static str) {
    let Some((point, visit)) = END.get() else {
        return;
    };
    if point == name && VISITS.fetch_add(1, Ordering::Relaxed) + 1 == *visit {
        std::process::abort();
    }
}

/// Takes what comes to a member, and tells the parent.
async fn takes(role: &str, member: &mut Member) {
    let mut got = gets(member).await;
    got.truncate(got.find(" {").unwrap_or(got.len()));
    let mut stdout = std::io::stdout();
    writeln!(stdout, "=> {role} {got}").unwrap();
    stdout.flush().unwrap();
}

/// Two studies, the second of which does not end.
async fn studies(bench: &Bench) {
    let mut host = bench.joins("host", "r").await;
    let mut agent = bench.joins("agent", "r").await;
    for n in 1..=2 {
        let study = json!({"sessionId": format!("study-{n}")});
        let mut talk = vec![("session.start", "session.started", json!({}), study)];
        for _ in 0..2 {
            let call = json!({"toolName": "next", "reason": "so"});
            talk.push(("tool.call", "tool.result", call, json!({"ok": true})));
        }
        if n == 1 {
            talk.push(("session.end", "session.ended", json!({}), json!({})));
        }
        for (at, (asked, answer, payload, answered)) in talk.into_iter().enumerate() {
            let id = format!("{n}.{at}");
            agent.say(message(asked, Some(&id), payload)).await;
            takes("host", &mut host).await;
            host.say(reply(answer, &id, answered)).await;
            takes("agent", &mut agent).await;
        }
    }
}

/// Runs this test in a process of its own, which ends at a point: what its members got, or none when
/// it came to its end.
fn ends_at(test: &str, dir: &Path, point: &str, visit: u32) -> Option<Vec<String>> {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(DATA_DIR, dir)
        .env(POINT, point)
        .env(VISIT, visit.to_string())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    if child.status.success() {
        return None;
    }
    let said = String::from_utf8(child.stdout).unwrap();
    let got = said.lines().filter_map(|line| line.split_once("=> "));
    Some(got.map(|(_, what)| what.to_owned()).collect())
}

/// All rows of all files, each file in its order.
fn all_rows(bench: &Bench) -> Vec<Row> {
    let mut rows = Vec::new();
    for folder in ["study", "room"] {
        for file in bench
            .files(folder)
            .iter()
            .filter(|name| !name.ends_with("json"))
        {
            rows.extend(bench.rows(&format!("{folder}/{file}")));
        }
    }
    rows
}

/// A row as its receiver has told of it.
fn told(row: &Row) -> String {
    let role = row.role.map_or("-", RelayRole::as_str);
    let [id, reply_to] = [&row.id, &row.reply_to].map(|id| id.as_deref().unwrap_or_default());
    format!("{role} {} {id}>{reply_to}", row.kind)
}

async fn check(dir: &Path, got: &[String], place: &str) {
    let bench = Bench::at(dir, RelayConfig::default());
    // Who comes first cuts off what is torn.
    let mut host = bench.joins("host", "r").await;
    let mut agent = bench.joins("agent", "r").await;
    let rows = all_rows(&bench);
    let out: Vec<_> = rows
        .iter()
        .filter(|row| row.direction == Direction::Out)
        .map(told)
        .collect();
    for what in got {
        // A start stands in the log with its answer.
        let is_start = what.starts_with("host session.start");
        assert!(
            out.contains(what) || is_start,
            "{place}: {what} was got, and is in no log"
        );
    }
    let is_open = |study: &str| {
        let begun = got.contains(&format!("agent session.started >{study}.0"));
        begun
            && !rows.iter().any(|row| {
                let is_last = row.kind == "session.end" && row.direction == Direction::Internal;
                is_last && row.session_id == format!("study-{study}")
            })
    };
    let open = bench.relay.rooms()[0].study.clone();
    for study in ["1", "2"] {
        let id = format!("study-{study}");
        if is_open(study) {
            assert_eq!(open.as_ref(), Some(&id), "{place}: it goes on");
            let restarts = rows.iter().filter(|row| row.kind == "server.restarted");
            assert_eq!(
                restarts.filter(|row| row.session_id == id).count(),
                1,
                "{place}"
            );
        }
    }
    agent
        .say(message("session.start", Some("new"), json!({})))
        .await;
    gets(&mut host).await;
    host.say(reply(
        "session.started",
        "new",
        json!({"sessionId": "study-3"}),
    ))
    .await;
    assert!(
        gets(&mut agent).await.starts_with("session.started"),
        "{place}"
    );
    all_rows(&bench);
}

// proves RL-14, RL-28
#[tokio::test]
async fn a_kill_in_the_middle_of_any_step_loses_no_row_that_somebody_got() {
    let name = "kill::a_kill_in_the_middle_of_any_step_loses_no_row_that_somebody_got";
    if let Some(dir) = std::env::var_os(DATA_DIR).map(PathBuf::from) {
        let visit = std::env::var_os(VISIT).unwrap().into_string().unwrap();
        let point = std::env::var_os(POINT).unwrap().into_string().unwrap();
        END.set((point, visit.parse().unwrap())).unwrap();
        failpoint::arm(end_here).unwrap();
        return studies(&Bench::at(&dir, RelayConfig::default())).await;
    }
    for point in POINTS.iter().filter(|point| point.when == LifeStage::Relay) {
        let mut visit = 1;
        loop {
            let dir = tempfile::tempdir().unwrap();
            let Some(got) = ends_at(name, dir.path(), point.name, visit) else {
                break;
            };
            check(dir.path(), &got, &format!("{}:{visit}", point.name)).await;
            visit += 1;
        }
        assert!(visit > 1, "{} is never reached", point.name);
    }
}
