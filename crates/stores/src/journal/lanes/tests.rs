use std::sync::Arc;

use samovar_core::journal::{Batch, LogNo};
use samovar_core::{AgentPath, Author, Epoch, Event, Kind, Millis, Seq, SessionId};
use tokio::sync::oneshot;

use super::super::keep::PackedBatch;
use super::*;

/// A batch of a log with one event of about so many bytes.
fn batch(log: u64, bytes: usize) -> Job {
    let event = Event {
        seq: Seq(1),
        epoch: Epoch(1),
        at: Millis(1),
        turn: None,
        agent: AgentPath::root("master"),
        author: Author::System,
        kind: Kind::StateChanged {
            state: "x".repeat(bytes).into(),
        },
    };
    let batch = Batch {
        log: LogNo(log),
        session: SessionId::new("s").unwrap(),
        events: vec![Arc::new(event)],
        folded: Vec::new(),
        open_from: None,
    };
    let packed = PackedBatch::pack(&batch, Epoch(1)).unwrap();
    Job::Commit((packed, oneshot::channel().0))
}

fn lanes(waiting: Vec<Job>) -> Lanes {
    let (sender, jobs) = mpsc::channel(64);
    for job in waiting {
        sender.try_send(job).ok().unwrap();
    }
    Lanes::new(jobs)
}

/// The logs of each group, in their order; other jobs by a letter.
fn order(lanes: &mut Lanes) -> Vec<String> {
    let mut order = Vec::new();
    loop {
        let next = match lanes.next() {
            NextWork::Commits(group) => {
                let logs = group.iter().map(|(batch, _)| batch.log.0.to_string());
                logs.collect::<Vec<_>>().join(" ")
            }
            NextWork::Job(Job::Sweep(..)) => "sweep".to_owned(),
            NextWork::Job(_) => "last".to_owned(),
            NextWork::Nothing | NextWork::Over => return order,
        };
        order.push(next);
    }
}

const BIG: usize = 900_000;

// proves DU-3
#[test]
fn small_work_passes_big_batches_which_get_every_second_transaction() {
    let waiter = || oneshot::channel().0;
    let mut lanes = lanes(vec![
        batch(1, BIG),
        batch(2, BIG),
        batch(3, BIG),
        batch(4, 10),
        Job::Sweep(Millis(1), waiter()),
        batch(5, 10),
    ]);

    assert_eq!(order(&mut lanes), ["4", "1 2", "sweep", "3", "5"]);
}

// proves DU-3
#[test]
fn batches_of_one_log_keep_their_order_in_either_lane() {
    let mut lanes = lanes(vec![
        batch(1, BIG),
        batch(1, 10),
        batch(2, 10),
        batch(3, 10),
        batch(3, BIG),
        batch(4, 10),
    ]);

    assert_eq!(order(&mut lanes), ["2 3 3 4", "1 1"]);
}

// proves DU-3
#[test]
fn what_ends_a_log_or_the_journal_comes_after_all_that_came_before() {
    let mut lanes = lanes(vec![
        batch(1, BIG),
        batch(2, 10),
        Job::Close(oneshot::channel().0),
        batch(3, 10),
    ]);

    assert_eq!(order(&mut lanes), ["2", "1", "last", "3"]);
}
