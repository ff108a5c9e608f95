//! A room whose logs take their time to reach the disk.

use samovar_core::Millis;
use samovar_core::relay::Payload;
use samovar_doubles::TestClock;
use serde_json::json;

use super::*;
use crate::room::Strictness;

fn cell(dir: &tempfile::TempDir) -> Arc<Cell> {
    let rules = Rules {
        strictness: Strictness::Permissive,
        reply_timeout: Duration::from_secs(30),
        max_members: 64,
        max_open: 256,
    };
    let shared = Shared {
        clock: Arc::new(TestClock::default()),
        logs: StudyLogs::new(dir.path(), Millis(0), 1 << 20),
        rules,
        began: Instant::now(),
    };
    Arc::new(Cell::new("r", Arc::new(shared)))
}

fn join(cell: &Arc<Cell>, key: Key, role: RelayRole) -> Arc<Queue> {
    let queue = Arc::new(Queue::new(1 << 20));
    let asked = Envelope::new(MessageKind::RelayJoin, Payload::new());
    assert!(matches!(cell.join((key, &queue), role, &asked), Ok(true)));
    assert!(queue.pop().unwrap().is_some(), "it has joined");
    queue
}

fn texts(queue: &Queue) -> Vec<String> {
    let next = || queue.pop().unwrap();
    let texts = std::iter::from_fn(next).map(|said| said.payload["text"].to_string());
    texts.collect()
}

// proves RL-15
#[test]
fn what_waited_for_one_log_comes_before_what_waits_for_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let cell = cell(&dir);
    let _host = join(&cell, 1, RelayRole::Host);
    let queue = join(&cell, 2, RelayRole::Agent);
    let says = |text: &str| {
        let mut payload = Payload::new();
        payload.insert("text".to_owned(), json!(text));
        cell.said(1, Envelope::new(MessageKind::UserMessage, payload));
    };

    let first = cell.state().sync_queue.wait();
    says("a");
    let second = cell.state().sync_queue.wait();
    says("b");
    cell.flushed(first, &Ok(()));
    assert_eq!(texts(&queue), ["\"a\""]);
    says("c");
    cell.flushed(second, &Ok(()));
    says("d");

    assert_eq!(texts(&queue), ["\"b\"", "\"c\"", "\"d\""]);
}
