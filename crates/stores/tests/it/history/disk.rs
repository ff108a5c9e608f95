//! What a message costs on the disk.

use samovar_core::history::{Change, Projection};
use samovar_core::message::Usage;
use samovar_core::{Message, Millis, Role, Seq};

use super::{TestHistory, master, message, open, put, session_id, started};

const MESSAGES: u64 = 10_000;
const SESSIONS: u64 = 40;

/// An id of the length of a UUID, random enough to spread over an index.
fn uuid(n: u64) -> String {
    let n = (u128::from(n) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    format!("{n:036x}")
}

/// A question or an answer of about 300 characters.
fn said(n: u64) -> Message {
    let text = "The three largest files here are these, by size:\n".repeat(6) + &n.to_string();
    let mut said = message(&uuid(n), Role::User, &text);
    said.created_at = Millis(1_795_000_000_000 + n.cast_signed());
    if n % 2 == 1 {
        said.role = Role::Assistant;
        said.model = Some("claude-sonnet-4-20250514".to_owned());
        said.finish_reason = Some("end_turn".to_owned());
        said.usage = Some(Usage {
            input: 4000 + n % 1000,
            output: 100 + n % 100,
            ..Usage::default()
        });
    }
    said
}

/// The log of one session: turns of a question and an answer.
fn log(session: u64) -> Vec<(Seq, Change)> {
    let mut changes = vec![open()];
    let first = session * MESSAGES / SESSIONS;
    for n in first..first + MESSAGES / SESSIONS {
        let turn = uuid(1_000_000 + n / 2);
        let said = put(said(n), Some(&turn), master());
        changes.push(said);
        if n % 2 == 0 {
            changes.push(started(&turn));
        }
    }
    (1..).map(Seq).zip(changes).collect()
}

// proves PF-1
#[tokio::test]
async fn a_message_costs_at_most_1_3_times_its_json() {
    let place = TestHistory::new().await;
    let json: usize = (0..MESSAGES)
        .map(|n| serde_json::to_string(&said(n)).unwrap().len())
        .sum();

    // Sessions grow side by side, as they do in life.
    let logs: Vec<_> = (0..SESSIONS).map(log).collect();
    let turns = logs[0].len().div_ceil(15);
    for turn in 0..turns {
        let grown = logs.iter().enumerate().map(|(session, log)| {
            let changes = &log[turn * 15..log.len().min(turn * 15 + 15)];
            Projection {
                session: session_id(&uuid(2_000_000 + session as u64)),
                up_to: changes.last().unwrap().0,
                changes: changes.to_vec(),
            }
        });
        place.history.project(grown.collect()).await.unwrap();
    }
    assert_eq!(place.history.totals().await.unwrap().messages, MESSAGES);
    // The index of the search has its own bound.
    let index = "SELECT CAST(sum(pgsize) AS TEXT) FROM dbstat WHERE name LIKE 'search_%'";
    let index: u64 = place.asked(index)[0].parse().unwrap();
    place.history.close().await.unwrap();

    let file = std::fs::metadata(place.folder.path().join("history.db")).unwrap();
    let (disk, json) = (file.len() - index, json as u64);
    println!(
        "a message: {} bytes of JSON, {} on disk",
        json / MESSAGES,
        disk / MESSAGES
    );
    assert!(
        disk * 10 <= json * 13,
        "{disk} bytes on disk for {json} of JSON"
    );
}
