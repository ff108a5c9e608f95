#![cfg(feature = "embedded-model")]

mod exchanges;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use jiff::tz::TimeZone;
use samovar_core::{Clock, Millis};
use samovar_stores::SqliteVectors;
use tempfile::TempDir;

use super::*;
use crate::{Asker, Embedded, Memories, MemoryId, Origin, Remembered, Section, Settings};

struct Never;

impl Clock for Never {
    fn now(&self) -> Millis {
        Millis(1_795_996_770_000)
    }
}

/// The model in the binary, counted; it can be told to fail as a server does.
struct Counted {
    model: Embedded,
    passages: AtomicUsize,
    is_down: AtomicBool,
}

impl Embedder for Counted {
    fn model(&self) -> &str {
        self.model.model()
    }

    fn embed(&self, side: Side, text: &str) -> Result<Vector, String> {
        if self.is_down.load(Ordering::Relaxed) || text.contains("never") {
            return Err("the server is away".to_owned());
        }
        if side == Side::Passage {
            self.passages.fetch_add(1, Ordering::Relaxed);
        }
        self.model.embed(side, text)
    }

    fn centred(&self, texts: &[(&str, &Vector)]) -> Vec<Vector> {
        self.model.centred(texts)
    }
}

struct Place {
    dir: TempDir,
    embedder: Arc<Counted>,
}

impl Place {
    fn new() -> Self {
        Self {
            dir: TempDir::new().unwrap(),
            embedder: Arc::new(Counted {
                model: Embedded::new().unwrap(),
                passages: AtomicUsize::new(0),
                is_down: AtomicBool::new(false),
            }),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn open(&self) -> Arc<Memories> {
        self.open_in(None)
    }

    fn open_in(&self, sessions: Option<Sessions>) -> Arc<Memories> {
        let settings = Settings {
            long_term: self.file("MEMORY.md"),
            person: None,
            daily: self.file("memory"),
            window_days: 3,
            zone: TimeZone::UTC,
            remarks: Vec::new(),
        };
        let memories = Arc::new(Memories::open(settings, Arc::new(Never)));
        if let Some(sessions) = sessions {
            memories.know_sessions(sessions);
        }
        let store = Arc::new(SqliteVectors::new(self.file("vectors.db")));
        memories.know_meaning(Meaning::new(self.embedder.clone(), store));
        memories
    }

    fn embedded(&self) -> usize {
        self.embedder.passages.load(Ordering::Relaxed)
    }
}

fn keep(memories: &Memories, text: &str) -> MemoryId {
    let origin = Origin {
        id: MemoryId::of_call("session", text),
        turn: None,
        is_tainted: false,
    };
    memories.remember(text, Section::Facts, origin).unwrap().id
}

/// Waits until something is so.
#[expect(
    clippy::disallowed_methods,
    reason = "a thread of the system is waited for"
)]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_mins(1), "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn found(memories: &Memories, query: &str) -> Vec<String> {
    let found = memories.recall(query, &Asker::owner(), 3).hits.into_iter();
    let texts = found.map(|hit| match hit.what {
        Remembered::Memory(memory) => memory.entry.text,
        Remembered::Exchange(exchange) => exchange.answer,
    });
    texts.collect()
}

const FACTS: [&str; 3] = [
    "Пользователь не ест мясо и рыбу.",
    "The staging database listens on port 5433.",
    "用户喜欢晚上的场次。",
];

// proves MD-11, MD-15
#[tokio::test(flavor = "multi_thread")]
async fn a_memory_is_found_by_its_meaning_and_its_vector_is_kept() {
    let place = Place::new();
    let memories = place.open();
    for fact in FACTS {
        keep(&memories, fact);
    }
    let question = "is there any food that the person avoids?";
    until("all are embedded", || memories.meant() == FACTS.len());
    assert_eq!(
        found(&memories, question).first().map(String::as_str),
        Some(FACTS[0])
    );
    assert_eq!(
        found(&memories, "5433").first().map(String::as_str),
        Some(FACTS[1])
    );
    drop(memories);

    let again = place.open();
    // Nothing waits but the query itself.
    assert_eq!(
        found(&again, question).first().map(String::as_str),
        Some(FACTS[0])
    );
    assert_eq!(place.embedded(), FACTS.len(), "none is made a second time");
}

// proves MD-13
#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_memory_leaves_no_vector_also_when_its_removal_is_cut() {
    let place = Place::new();
    let memories = place.open();
    let ids = FACTS.map(|fact| keep(&memories, fact));
    until("all are embedded", || memories.meant() == FACTS.len());
    let vector = {
        let meaning = memories.meaning.get().unwrap().clone();
        let state = meaning.state.lock().unwrap();
        state.known.as_ref().unwrap()[&hash(FACTS[0])].bytes()
    };
    let has = || {
        let file = fs::read(place.file("vectors.db")).unwrap();
        file.windows(64).any(|part| part == &vector[..64])
    };
    until("it is kept", has);
    memories.forget(&ids[0]).unwrap();
    assert!(!found(&memories, "food that the person avoids").contains(&FACTS[0].to_owned()));
    until("it is removed", || !has());
    drop(memories);

    // The rest go by hand while no server runs, as after a kill between the line and the vector.
    fs::remove_file(place.file("MEMORY.md")).unwrap();
    let again = place.open();
    let store = SqliteVectors::new(place.file("vectors.db"));
    let left = || {
        let left = again
            .meaning
            .get()
            .unwrap()
            .clone()
            .runtime
            .block_on(store.load(samovar_embed::NAME));
        left.unwrap().len()
    };
    tokio::task::block_in_place(|| until("what nothing remembers is removed", || left() == 0));
}

// proves MD-11
#[tokio::test(flavor = "multi_thread")]
async fn without_vectors_words_find_what_they_can() {
    let place = Place::new();
    place.embedder.is_down.store(true, Ordering::Relaxed);
    let memories = place.open();
    keep(&memories, FACTS[1]);
    until("a failure is told", || !memories.problems().is_empty());
    assert!(memories.problems()[0].contains("the server is away"));
    assert_eq!(found(&memories, "staging database port"), [FACTS[1]]);
    assert_eq!(memories.meant(), 0);
}

// proves MD-11
#[tokio::test(flavor = "multi_thread")]
async fn a_text_without_a_vector_keeps_no_other_waiting() {
    let place = Place::new();
    let memories = place.open();
    keep(&memories, FACTS[0]);
    keep(&memories, "this text never gets one");
    until("the others are embedded", || memories.meant() == 1);
}
