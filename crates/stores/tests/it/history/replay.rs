//! Whatever is written is read back, however often it is written.

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use samovar_core::error::FaultCode;
use samovar_core::event::Fault;
use samovar_core::history::{
    Change, MessageRow, Projection, SessionQuery, SessionRow, Totals, WAITING,
};
use samovar_core::{
    AgentPath, Approval, Bill, Budget, CallId, FinishReason, Message, Millis, Seq, Title,
};

use super::said::{any_message, role, usage};
use super::{
    TestHistory, last, master, message, message_id, open_with, put, session_id, titled, turn_id,
};

fn run<T>(test: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(test)
}

/// Everything that the tables say.
#[derive(Debug, PartialEq)]
struct Contents {
    sessions: (Vec<SessionRow>, u64),
    messages: Vec<Vec<MessageRow>>,
    /// Where the history has tables.
    turns: Vec<String>,
    totals: Totals,
}

impl Contents {
    async fn of(place: &TestHistory) -> Self {
        let query = SessionQuery {
            edit_forks: true,
            limit: 99,
            ..SessionQuery::default()
        };
        let mut sessions = place.history.sessions(query).await.unwrap();
        // Sessions that changed at the same time are listed in the order of their making.
        sessions.0.sort_by_key(|session| session.id.clone());
        let mut messages = Vec::new();
        for session in &sessions.0 {
            let query = last(session.id.as_str(), 999);
            messages.push(place.history.messages(query).await.unwrap());
        }
        place.verifies().await;
        let turns = "SELECT json_array(s.id, t.id, t.agent, parent_call, turn_seq, finish_reason, \
                     tokens_input, tokens_reasoning, started_at, finished_at) \
                     FROM turns AS t JOIN sessions AS s ON s.key = t.session_key \
                     ORDER BY s.id, t.id";
        Self {
            sessions,
            messages,
            turns: if place.has_tables() {
                place.asked(turns)
            } else {
                Vec::new()
            },
            totals: place.history.totals().await.unwrap(),
        }
    }
}

/// A session's log as the projection sees it; what is not at every position.
type Log = Vec<(u64, Change)>;

fn agent() -> impl Strategy<Value = AgentPath> {
    prop_oneof![Just(master()), Just(master().child("browser"))]
}

/// A change, with few enough names that they meet again.
fn change(session: usize) -> impl Strategy<Value = Change> {
    let turn = || proptest::sample::select(vec!["t1", "t2", "t3"]);
    let said = (0..5_u8, role(), any::<i32>(), option::of(usage()));
    let said = said.prop_map(move |(name, role, at, usage)| Message {
        usage,
        created_at: Millis(at.into()),
        parent: (name % 2 == 1).then(|| message_id(&format!("{session}-{}", name - 1))),
        ..message(&format!("{session}-{name}"), role, &format!("at {at}"))
    });
    prop_oneof![
        4 => (said, option::of(turn()), agent())
            .prop_map(|(said, turn, agent)| put(said, turn, agent)),
        2 => (turn(), agent(), any::<i32>(), any::<[bool; 2]>()).prop_map(
            |(turn, agent, at, [is_called, background])| Change::TurnStarted {
                turn: turn_id(turn),
                agent,
                parent_call: is_called.then(|| CallId::new("c").unwrap()),
                background,
                budget: Budget::default(),
                at: Millis(at.into()),
            }
        ),
        1 => usage().prop_map(|usage| Change::Spent {
            usage,
            context: None,
        }),
        1 => (turn(), any::<i32>()).prop_map(|(turn, at)| Change::Forget {
            turns: vec![turn_id(turn)],
            at: Millis(at.into()),
        }),
        1 => (option::of(0..3_u8), option::of(0..3_u8), any::<i32>()).prop_map(|(model, title, at)| {
            Change::Set {
                model: model.map(|model| format!("m{model}")),
                route: model.filter(|model| *model > 0).map(|model| format!("r{model}")),
                title: title.map(|title| Title::new(&"t".repeat(title.into())).unwrap()),
                approval: title.map(|title| Approval::ALL[usize::from(title) % 3]),
                tainted: title == Some(0),
                at: Millis(at.into()),
            }
        }),
        1 => (turn(), usage(), any::<i32>()).prop_map(|(turn, usage, at)| Change::TurnFinished {
            turn: turn_id(turn),
            reason: FinishReason::Error,
            fault: Some(Fault { code: FaultCode::Internal, message: at.to_string() }),
            usage,
            iterations: 1,
            bill: Bill::default(),
            at: Millis(at.into()),
        }),
    ]
}

fn log(session: usize) -> impl Strategy<Value = Log> {
    let open = any::<i32>().prop_map(|at| open_with(titled(&at.to_string()), at.into()));
    let close = proptest::bool::weighted(0.2).prop_map(|closes| closes.then_some(Change::Close));
    let steps = vec(1..4_u64, 16);
    (open, vec(change(session), 0..12), close, steps).prop_map(|(open, changes, close, steps)| {
        let changes = std::iter::once(open).chain(changes).chain(close);
        let mut seq = 0;
        let seqs = steps.into_iter().map(move |step| {
            seq += step;
            seq
        });
        seqs.zip(changes).collect()
    })
}

/// How a log is written: a piece of it, from at or before what was written to at or behind that.
fn projection(session: usize, log: &Log, piece: Range<usize>) -> Projection {
    super::projection(&format!("s{session}"), log[piece].to_vec())
}

/// Writes the logs piece by piece, with pieces that were written before, and each to its end.
async fn write(place: &TestHistory, logs: &[Log], pieces: &[(usize, f64, f64, bool)]) {
    let mut written = vec![0; logs.len()];
    let mut batch = Vec::new();
    for &(session, back, on, ends_batch) in pieces {
        let (session, log) = (session % logs.len(), &logs[session % logs.len()]);
        let from = scale(back, written[session]);
        let to = from.max(scale(on, log.len()));
        written[session] = to.max(written[session]);
        batch.push(projection(session, log, from..to));
        if ends_batch {
            place
                .history
                .project(std::mem::take(&mut batch))
                .await
                .unwrap();
        }
    }
    for (session, log) in logs.iter().enumerate() {
        batch.push(projection(session, log, written[session] / 2..log.len()));
    }
    place.history.project(batch).await.unwrap();
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a part of a small length"
)]
fn scale(part: f64, whole: usize) -> usize {
    (part * whole as f64) as usize
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    // proves DU-1, DU-13
    #[test]
    fn a_log_leaves_the_same_rows_however_it_is_cut_and_repeated(
        logs in (log(0), log(1), log(2)).prop_map(|(a, b, c)| [a, b, c]),
        pieces in vec((0..3_usize, 0.0..=1.0, 0.0..=1.0, any::<bool>()), 0..12),
    ) {
        let written = run(async {
            let mut written = Vec::new();
            for (once, often) in TestHistory::every().await.into_iter().zip(TestHistory::every().await) {
                for (session, log) in logs.iter().enumerate() {
                    let whole = projection(session, log, 0..log.len());
                    once.history.project(vec![whole]).await.unwrap();
                }
                write(&often, &logs, &pieces).await;
                write(&often, &logs, &pieces).await;
                written.push((Contents::of(&once).await, Contents::of(&often).await));
            }
            written
        });
        for (once, often) in written {
            prop_assert_eq!(once, often);
        }
    }

    // proves DU-15, MD-3
    #[test]
    fn a_message_is_read_back_exactly(said in any_message(), depth in 0..3_u8) {
        let agent = (0..depth).fold(master(), |path, _| path.child("helper"));
        let rows = run(async {
            let mut rows = Vec::new();
            for place in TestHistory::every().await {
                let change = put(said.clone(), Some("t"), agent.clone());
                place.project("s", vec![(1, super::open()), (2, change)]).await;
                rows.push(place.history.message(&said.id).await.unwrap());
            }
            rows
        });
        let written = MessageRow {
            session: session_id("s"),
            turn: Some(turn_id("t")),
            agent,
            // Its turn has said nothing of a start.
            has_begun: false,
            place: WAITING,
            message: Arc::new(said),
        };
        for row in rows {
            prop_assert_eq!(row.as_ref(), Some(&written));
        }
    }
}

#[tokio::test]
async fn a_session_is_read_back_exactly() {
    for place in TestHistory::every().await {
        let metadata =
            serde_json::json!({"z": "\u{0} й", "a": [1, 0.1, {"title": null}], "title": 7});
        let serde_json::Value::Object(metadata) = metadata else {
            panic!("not an object")
        };
        let begun_by = Some(samovar_core::Beginner::Token("чат".to_owned()));
        let mut open = open_with(metadata.clone(), -5);
        if let Change::Open(opened) = &mut open {
            opened.begun_by = begun_by.clone();
        }
        place.project("чат №1", vec![(3, open)]).await;

        let session = place.history.session(&session_id("чат №1")).await.unwrap();
        let written = SessionRow {
            id: session_id("чат №1"),
            model: "demo".to_owned(),
            route: Some("first".to_owned()),
            title: None,
            approval: Some(Approval::Supervised),
            begun_by,
            tainted: false,
            agent: "master".to_owned(),
            system_prompt: samovar_core::SystemPrompt::new("Be brief.\nSpeak French.").ok(),
            metadata,
            created_at: Millis(-5),
            updated_at: Millis(-5),
            message_count: 0,
            preview: None,
            usage: super::tokens(0, 0),
            context: None,
            projected: Seq(3),
        };
        assert_eq!(session, Some(written));
    }
}
