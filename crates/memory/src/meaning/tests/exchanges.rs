//! What exchanges mean: when they get vectors, and when these go.

use samovar_core::history::{Exchange, ExchangeId, ExchangeQuery};
use samovar_core::{Beginner, Future, SessionId, TurnId};

use super::*;
use crate::exchange::{Exchanges, shared};

/// Exchanges as a test has them.
#[derive(Default)]
struct Said {
    all: Mutex<Vec<Exchange>>,
    is_busy: AtomicBool,
    /// Turns begin once they were looked at.
    turns_begin: bool,
    bytes: AtomicUsize,
}

impl Said {
    fn say(&self, turn: &str, by: Beginner, said: &str) {
        let id = ExchangeId {
            session: SessionId::new(&format!("s-{turn}")).unwrap(),
            turn: TurnId::new(turn).unwrap(),
            begun_by: by,
        };
        let mut all = self.all.lock().unwrap();
        let at = Millis(i64::try_from(all.len()).unwrap());
        all.push(Exchange {
            id,
            said: said.to_owned(),
            answer: "Noted.".to_owned(),
            at,
            tainted: false,
        });
    }
}

impl Exchanges for Said {
    fn ids(&self, most: u32) -> Future<'_, Result<Vec<ExchangeId>, String>> {
        self.is_busy.fetch_or(self.turns_begin, Ordering::Relaxed);
        let all = self.all.lock().unwrap();
        let newest = all.iter().rev().take(most as usize);
        let newest: Vec<_> = newest.map(|it| it.id.clone()).collect();
        Box::pin(async move { Ok(newest) })
    }

    fn read(&self, query: ExchangeQuery) -> Future<'_, Result<Vec<Exchange>, String>> {
        let all = self.all.lock().unwrap().clone().into_iter();
        let found: Vec<_> = match query {
            ExchangeQuery::These(ids) => all.filter(|it| ids.contains(&it.id)).collect(),
            ExchangeQuery::Words { .. } => Vec::new(),
        };
        Box::pin(async move { Ok(found) })
    }

    fn is_idle(&self) -> bool {
        !self.is_busy.load(Ordering::Relaxed)
    }

    fn weigh(&self, bytes: usize) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }
}

impl Place {
    fn open_with(&self, said: &Arc<Said>, most: u32) -> Arc<Memories> {
        let sessions = Sessions {
            exchanges: said.clone(),
            most,
            quiet: Duration::from_millis(5),
        };
        self.open_in(Some(sessions))
    }

    /// How many vectors of exchanges are kept.
    fn kept(&self, memories: &Memories) -> usize {
        let store = SqliteVectors::new(self.file("vectors.db"));
        let name = format!("{} of exchanges", samovar_embed::NAME);
        let meaning = memories.meaning.get().unwrap();
        meaning.runtime.block_on(store.load(&name)).unwrap().len()
    }
}

// proves MD-11
#[test]
fn what_was_only_said_takes_few_places_from_what_is_remembered() {
    for (limit, memories, exchanges, told) in [
        (8, 9, 9, (5, 3)),
        (8, 9, 1, (7, 1)),
        (8, 2, 9, (2, 6)),
        (8, 0, 9, (0, 8)),
        (20, 20, 20, (13, 7)),
        (1, 1, 1, (1, 0)),
    ] {
        assert_eq!(shared(limit, memories, exchanges), told, "{limit}");
    }
}

// proves MD-11, MD-13
#[tokio::test(flavor = "multi_thread")]
async fn the_newest_exchanges_get_vectors_while_no_turn_runs_until_they_are_deleted() {
    let (place, said) = (Place::new(), Arc::new(Said::default()));
    said.is_busy.store(true, Ordering::Relaxed);
    for (turn, text) in ["t1", "t2", "t3"].into_iter().zip(FACTS) {
        said.say(turn, Beginner::Owner, text);
    }
    said.say(
        "t4",
        Beginner::Token("guest".to_owned()),
        "Гость не ест мясо и рыбу.",
    );
    let memories = place.open_with(&said, 3);
    keep(&memories, "The person has a cat.");
    memories.turn_begins();
    tokio::task::block_in_place(|| {
        until("the memory is embedded", || memories.meant() == 1);
        assert_eq!(place.embedded(), 1, "a turn runs");
        said.is_busy.store(false, Ordering::Relaxed);
        until("the newest are embedded", || place.kept(&memories) == 3);
        assert_eq!(place.embedded(), 4);
        assert!(said.bytes.load(Ordering::Relaxed) > 5 * 384);
        let found = memories
            .recall("which port has staging?", &Asker::owner(), 5)
            .hits;
        let said_there = found.iter().find_map(|hit| match &hit.what {
            Remembered::Exchange(it) => Some(it.said.clone()),
            Remembered::Memory(_) => None,
        });
        assert_eq!(said_there.as_deref(), Some(FACTS[1]));
        let guests = |hit: &crate::Hit| match &hit.what {
            Remembered::Exchange(it) => it.id.begun_by != Beginner::Owner,
            Remembered::Memory(_) => false,
        };
        let food = memories
            .recall("food that one avoids", &Asker::owner(), 5)
            .hits;
        assert!(!food.iter().any(guests), "{food:?}");
        let far = memories.recall("zebra1", &Asker::owner(), 5).hits;
        let is_exchange = |hit: &crate::Hit| matches!(hit.what, Remembered::Exchange(_));
        assert!(!far.iter().any(is_exchange), "{far:?}");

        // One of them is taken back, and the oldest is among the newest again.
        let (session, turn) = {
            let gone = said.all.lock().unwrap().remove(1).id;
            (gone.session, gone.turn)
        };
        memories.forget_exchanges(&session, Some(&[turn]));
        until("its vector goes, and another is made", || {
            place.embedded() == 5 && place.kept(&memories) == 3
        });
        drop(memories);

        // Deleted while no server runs: its vector goes in the next quiet moment.
        said.all.lock().unwrap().remove(0);
        let again = place.open_with(&said, 3);
        again.turn_begins();
        until("what is not there any more is removed", || {
            place.kept(&again) == 2
        });
        assert_eq!(place.embedded(), 5, "none is made a second time");
    });
}

// proves MD-11
#[tokio::test(flavor = "multi_thread")]
async fn exchanges_that_come_faster_than_their_vectors_are_told() {
    let place = Place::new();
    let said = Arc::new(Said {
        turns_begin: true,
        ..Said::default()
    });
    for n in 0..MANY_EXCHANGES {
        said.say(&format!("t{n}"), Beginner::Owner, "hello");
    }
    let memories = place.open_with(&said, 1_000);
    memories.turn_begins();
    until("it is told", || !memories.problems().is_empty());
    let told = memories.problems();
    assert!(
        told[0].starts_with("100 exchanges of earlier sessions"),
        "{told:?}"
    );
}
