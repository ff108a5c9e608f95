//! The relay: what agents were told, held against the logs as they lie on the disk, and the logs
//! against themselves.

mod links;
mod logs;
mod studies;

use serde_json::Value;

use crate::observed::{Observed, Relay};
use crate::verdict::Verdict;
use crate::violation::Broken;

use links::Links;
use logs::Log;
#[cfg(test)]
pub(super) use logs::checked;

/// What a host keeps for itself.
const SECRET: &str = "backendData";

pub(super) fn judge(observed: &Observed, verdict: &mut Verdict) {
    let relay = &observed.relay;
    let logs: Vec<_> = relay
        .logs
        .iter()
        .map(|log| Log::read(log, verdict))
        .collect();
    let rows = logs.iter().map(|log| log.rows.len()).sum::<usize>();
    verdict.counts.relay.rows = u64::try_from(rows).unwrap_or(u64::MAX);
    secrets(relay, &logs, verdict);
    let links = Links::of(relay, &logs);
    links.judge(relay, verdict);
    studies::judge(relay, &logs, &links, verdict);
    for mark in &relay.unanswered {
        verdict.find(Broken::RequestUnanswered, mark, "");
    }
}

/// What a host keeps for itself is in no envelope and in no row.
fn secrets(relay: &Relay, logs: &[Log<'_>], verdict: &mut Verdict) {
    for link in &relay.links {
        for got in &link.got {
            if has_secret(&got.payload) {
                verdict.find(Broken::SecretOut, &link.room, got.payload.to_string());
            }
        }
    }
    for log in logs {
        for row in &log.rows {
            if has_secret(row.payload()) {
                verdict.find(Broken::SecretOut, log.path, row.payload().to_string());
            }
        }
    }
}

fn has_secret(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            let mut fields = fields.iter();
            fields.any(|(name, value)| name == SECRET || has_secret(value))
        }
        Value::Array(values) => values.iter().any(has_secret),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
