//! A journal that is slow: what runs is read on, and what is new waits outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use samovar_core::journal::Batch;
use samovar_core::{Broken, Code, Delivery, Future, Journal, Kind, Seq};
use samovar_doubles::{Disk, Gate, MemoryJournal, Over, OverJournal, World, say};
use samovar_engine::Settings;
use tokio::time::timeout;

use crate::rig::{Rig, said, session, settings, well};

/// A journal that keeps no fold before its gate opens.
#[derive(Default)]
struct SlowJournal {
    below: Arc<MemoryJournal>,
    folds: Gate,
    is_behind: AtomicBool,
}

impl OverJournal for SlowJournal {
    fn journal(&self) -> &dyn Journal {
        self.below.as_ref()
    }

    fn commit(&self, batch: Batch) -> Future<'static, Result<(), Broken>> {
        let (below, folds) = (self.below.clone(), self.folds.clone());
        Box::pin(async move {
            if batch.events.is_empty() {
                folds.passed().await;
            }
            below.commit(batch).await
        })
    }

    fn is_behind(&self) -> bool {
        self.is_behind.load(Ordering::SeqCst)
    }
}

const WORDS: usize = 40;

async fn rig(journal: &Arc<Over<SlowJournal>>, settings: Settings) -> (Rig, String) {
    let text = format!("{} ", "x".repeat(499)).repeat(WORDS);
    let (disk, world) = (Disk::on(journal.clone()), World::answering([say(&text)]));
    let rig = Rig::on(disk, world, [], settings).await;
    rig.open(session()).await;
    (rig, text)
}

// proves DU-3
#[tokio::test(start_paused = true)]
async fn a_fold_that_waits_does_not_stop_the_reading_before_four_times_the_bound() {
    let journal = Arc::new(Over(SlowJournal::default()));
    let bound = 2_000;
    let settings = Settings {
        tail_bytes: bound,
        ..settings()
    };
    let (rig, text) = rig(&journal, settings).await;
    let turn = rig.post("go").await;
    let mut reader = rig.engine.follow(&session(), Seq(0)).await.unwrap();
    let mut words = 0;
    while let Ok(events) = timeout(Duration::from_secs(1), reader.next()).await {
        let events = events.unwrap();
        words += events
            .iter()
            .filter(|event| matches!(event.kind, Kind::Delta { .. }))
            .count();
    }
    assert!(words * 500 > 2 * bound, "{words}");
    assert!(words < WORDS, "memory is bounded all the same");

    journal.folds.open();

    assert_eq!(rig.over(&turn).await, well());
    assert_eq!(rig.texts().await[1].trim_end(), text.trim_end());
}

// proves DU-3
#[tokio::test]
async fn a_journal_that_lags_refuses_what_is_new_and_takes_what_ends() {
    let journal = Arc::new(Over(SlowJournal::default()));
    let (rig, _) = rig(&journal, settings()).await;
    journal.is_behind.store(true, Ordering::SeqCst);

    let refused = rig.refused(said("go", Delivery::Queue)).await;

    assert_eq!(refused, Code::Busy);
    assert!(!rig.cancel(None).await, "nothing runs");
    journal.is_behind.store(false, Ordering::SeqCst);
    assert_eq!(rig.turn("go").await, well());
}
