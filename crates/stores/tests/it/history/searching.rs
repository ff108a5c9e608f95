//! The search over messages.

#[path = "../../search/language.rs"]
mod language;

use samovar_core::history::{Change, Hits, SearchQuery};
use samovar_core::message::Outcome;
use samovar_core::{CallId, MessageId, Millis, Part, Role, Status};
use samovar_stores::read_history;

use self::language::{Dice, LANGUAGES};

use super::{TestHistory, master, message, message_id, open, put, session_id, started, turn_id};

fn query(text: &str) -> SearchQuery {
    SearchQuery {
        edit_forks: true,
        text: text.to_owned(),
        limit: 20,
        before: None,
    }
}

impl TestHistory {
    async fn hits(&self, query: SearchQuery) -> Hits {
        self.history.search(query).await.unwrap()
    }

    /// The messages that are found, best first.
    async fn found(&self, text: &str) -> String {
        let hits = self.hits(query(text)).await.items;
        let ids: Vec<_> = hits.iter().map(|hit| hit.message.as_str()).collect();
        ids.join(" ")
    }

    /// Makes the file one of the first format, with what is in it.
    fn becomes_format_1(&self) {
        let back = "DROP TRIGGER message_is_gone; DROP TABLE search_terms; \
                    DROP TABLE search_range; ALTER TABLE turns DROP COLUMN fault; \
                    ALTER TABLE sessions DROP COLUMN begun_by; \
                    DELETE FROM _sqlx_migrations WHERE version > 1";
        self.sql().execute_batch(back).unwrap();
    }
}

fn said(id: &str, text: &str, at: i64) -> Change {
    let mut message = message(id, Role::User, text);
    message.created_at = Millis(at);
    put(message, None, master())
}

fn in_turn(id: &str, text: &str, turn: &str) -> Change {
    put(message(id, Role::User, text), Some(turn), master())
}

fn numbered(changes: Vec<Change>) -> Vec<(u64, Change)> {
    (1..).zip(changes).collect()
}

// proves AS-27
#[tokio::test]
async fn each_of_sixty_queries_in_four_languages_finds_its_message_among_the_first_three() {
    let messages = include_str!("../../search/messages.tsv").lines();
    let messages = messages.map(|line| line.split_once('\t').unwrap());
    let place = TestHistory::new().await;
    let log = messages.zip(1..).map(|((id, text), at)| said(id, text, at));
    let log = [open()].into_iter().chain(log).collect();
    place.project("s", numbered(log)).await;

    let queries = include_str!("../../search/queries.tsv").lines();
    let queries: Vec<_> = queries.map(|line| line.split_once('\t').unwrap()).collect();
    let mut missed = Vec::new();
    for (id, text) in &queries {
        let found = place.found(text).await;
        if !found.split(' ').take(3).any(|hit| hit == *id) {
            missed.push(format!("{id} {text}: {found}"));
        }
    }

    assert_eq!(place.found("糖").await, "zh-22 zh-4");
    assert_eq!(queries.len(), 60);
    assert!(missed.is_empty(), "{missed:#?}");
}

// proves AS-27
#[tokio::test]
async fn a_message_is_found_however_much_was_said_after_it() {
    for place in TestHistory::every().await {
        let filler = "lorem ipsum ".repeat(630);
        let mut log = vec![open(), said("first", &format!("zebrafish {filler}"), 1)];
        for n in 0..70 {
            log.push(said(&format!("m{n}"), &filler, 2 + n));
            let last = u64::try_from(log.len()).unwrap();
            place
                .project("s", vec![(last, log.last().unwrap().clone())])
                .await;
            if n == 0 {
                place.project("s", numbered(log.clone())).await;
            }
            assert_eq!(place.found("zebrafish").await, "first", "{n}");
        }
    }
}

// proves AS-27
#[tokio::test]
async fn a_hit_names_its_session_and_role_and_the_newest_of_equal_ones_is_first() {
    for place in TestHistory::every().await {
        let mut result = message("result", Role::Tool, "");
        result.parts = vec![Part::Outcome {
            call: CallId::new("c").unwrap(),
            name: "web_fetch".to_owned(),
            outcome: Outcome::new(Status::Done, "a blue bicycle"),
        }];
        let mut thought = message("thought", Role::Assistant, "yes");
        thought.parts.push(Part::Reasoning {
            text: "bicycle".to_owned(),
            provider_state: None,
        });
        let log = vec![
            open(),
            said("old", "Blue Bicycle", 5),
            said("new", "blue bicycle", 7),
            put(thought, None, master()),
        ];
        place.project("s", numbered(log)).await;
        let child = put(result, None, master().child("browser"));
        place.project("t", numbered(vec![open(), child])).await;

        let hits = place.hits(query("BICYCLE blue")).await;

        assert!(hits.is_indexed);
        let found = hits.items.iter();
        let found = found.map(|hit| (hit.message.as_str(), hit.session.as_str(), hit.role));
        let found: Vec<_> = found.collect();
        assert!(found.contains(&("result", "t", Role::Tool)), "{found:?}");
        let mine: Vec<_> = hits.items.iter().filter(|hit| hit.at.0 < 10).collect();
        let shown: Vec<_> = mine
            .iter()
            .map(|hit| (hit.text.as_str(), hit.at.0))
            .collect();
        assert_eq!(shown, [("blue bicycle", 7), ("Blue Bicycle", 5)]);
        for (text, limit, before) in [("", 9, None), ("…", 9, None), ("blue", 0, None)] {
            let query = SearchQuery {
                edit_forks: true,
                limit,
                before,
                ..query(text)
            };
            assert_eq!(place.hits(query).await.items, [], "{text}");
        }
    }
}

// proves AS-27
#[tokio::test]
async fn pages_follow_one_another_and_an_unknown_place_has_none_after_it() {
    for place in TestHistory::every().await {
        let log = (1..=5).map(|n| said(&format!("m{n}"), "tea", n));
        let log = [open()].into_iter().chain(log).collect();
        place.project("s", numbered(log)).await;
        let page = async |before: Option<MessageId>| {
            let query = SearchQuery {
                edit_forks: true,
                limit: 2,
                before,
                ..query("tea")
            };
            let hits = place.hits(query).await.items;
            hits.into_iter()
                .map(|hit| hit.message.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(page(None).await, ["m5", "m4"]);
        assert_eq!(page(Some(message_id("m4"))).await, ["m3", "m2"]);
        assert_eq!(page(Some(message_id("m2"))).await, ["m1"]);
        assert_eq!(page(Some(message_id("m1"))).await, [""; 0]);
        assert_eq!(page(Some(message_id("nothing"))).await, [""; 0]);
    }
}

// proves AS-27
#[tokio::test]
async fn what_is_undone_replaced_deleted_or_discarded_is_found_no_more() {
    // With no more messages after them they are not in the index yet.
    for (place, more) in twice().await {
        let log = vec![
            open(),
            in_turn("undone", "apple pie", "t"),
            started("t"),
            in_turn("waits", "apple juice", "u"),
            said("changed", "apple tree", 1),
        ];
        place.project("s", numbered(log)).await;
        let [b, c] = [("b", "apple cake", 2), ("c", "apple wine", 3)];
        for (id, (message, text, at)) in [("d", b), ("e", c)] {
            let log = vec![open(), said(message, text, at)];
            place.project(id, numbered(log)).await;
        }
        for n in 0..more {
            let log = vec![open(), said(&format!("m{n}"), "pear", 4)];
            place.project(&format!("f{n}"), numbered(log)).await;
        }
        assert_eq!(place.found("apple").await, "waits undone c b changed");
        place
            .project("s", vec![(6, said("changed", "plum tree", 1))])
            .await;
        assert_eq!(place.found("apple tree").await, "");
        assert_eq!(place.found("plum tree").await, "changed");

        let turns = vec![turn_id("t"), turn_id("u")];
        let at = Millis(9);
        place
            .project("s", vec![(7, Change::Forget { turns, at })])
            .await;
        assert_eq!(place.found("apple").await, "c b");
        place.project("d", vec![(3, Change::Close)]).await;
        assert_eq!(place.found("apple").await, "c");
        place.history.discard(&session_id("e")).await.unwrap();
        assert_eq!(place.found("apple").await, "");

        // The last keys are free, and used again.
        for n in 0..more {
            let session = format!("f{n}");
            place.project(&session, vec![(3, Change::Close)]).await;
        }
        let log = vec![open(), said("again", "apple and pear", 5)];
        place.project("g", numbered(log)).await;
        assert_eq!(place.found("pear").await, "again");
        place.verifies().await;
    }
}

/// Every history twice, with a number of messages that come after others.
async fn twice() -> Vec<(TestHistory, u32)> {
    let (few, many) = (TestHistory::every().await, TestHistory::every().await);
    let few = few.into_iter().map(|place| (place, 0));
    few.chain(many.into_iter().map(|place| (place, 150)))
        .collect()
}

// proves AS-27, DU-13
#[tokio::test]
async fn a_store_without_an_index_gets_it_in_steps_that_a_restart_continues() {
    let place = TestHistory::new().await;
    let log = (0..450).map(|n| said(&format!("m{n}"), &format!("number n{n}"), n));
    let log = [open()].into_iter().chain(log).collect();
    place.project("s", numbered(log)).await;
    let gone = (1..=50).map(|n| (n, in_turn(&format!("g{n}"), "gone", "t")));
    let gone = [(0, open())]
        .into_iter()
        .chain(gone)
        .map(|(n, change)| (n + 1, change));
    place.project("g", gone.collect()).await;
    place.history.close().await.unwrap();
    place.becomes_format_1();
    let mut place = TestHistory::open(place.folder).await;

    assert!(!place.hits(query("n449")).await.is_indexed);
    assert_eq!(place.found("n449").await, "");
    // Taken back before its words were in the index.
    let (turns, at) = (vec![turn_id("t")], Millis(9));
    place
        .project("g", vec![(99, Change::Forget { turns, at })])
        .await;
    place
        .project("s", vec![(500, said("late", "number n500", 500))])
        .await;
    assert_eq!(place.found("n500").await, "late");

    assert!(place.history.index().await.unwrap());
    assert_eq!(place.found("n449").await, "m449");
    assert_eq!(place.found("n0").await, "");
    place = place.reopened().await;
    assert!(!place.hits(query("n0")).await.is_indexed);
    while place.history.index().await.unwrap() {}

    assert!(place.hits(query("number")).await.is_indexed);
    assert_eq!(place.found("n0").await, "m0");
    assert_eq!(place.found("gone").await, "");
    place.verifies().await;
}

// proves AS-27, DU-13
#[tokio::test]
async fn a_damaged_index_is_reported_emptied_and_filled_again() {
    let place = TestHistory::new().await;
    let log = (1..200).map(|n| said(&format!("m{n}"), &format!("number n{n}"), n));
    let log: Vec<_> = [open()].into_iter().chain(log).collect();
    place.project("s", numbered(log)).await;
    let damage =
        "UPDATE search_terms_data SET block = x'0000000001ffffffffffffffffffff' WHERE id = 10";
    place.sql().execute_batch(damage).unwrap();
    let read = read_history(place.folder.path()).await.unwrap();
    assert_eq!((read.odd.len(), read.damaged.len()), (1, 0), "{read:?}");

    let place = place.reopened().await;
    assert_eq!(place.hits(query("n7")).await, Hits::default());
    assert_eq!(place.message("m7").await.message.text(), "number n7");
    place
        .project("s", vec![(999, said("late", "number n999", 1))])
        .await;
    while place.history.index().await.unwrap() {}

    assert_eq!(place.found("n7").await, "m7");
    assert_eq!(place.found("n999").await, "late");
    place.verifies().await;
}

// proves AS-27
#[tokio::test]
async fn the_index_is_much_smaller_than_the_text() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let docs = std::fs::read_dir(docs).unwrap().flatten();
    let docs = docs.filter(|file| file.path().is_file());
    let english: String = docs
        .map(|file| std::fs::read_to_string(file.path()).unwrap())
        .collect();
    let mut dice = Dice(7);
    let [_, language] = LANGUAGES;
    let chinese = language.text(&mut dice, 1_000_000);
    // A small index has more parts that are not merged yet than one of 100,000 messages, for which the
    // bounds are 35 and 80. With a copy of the text it would have
    // twice as much.
    for (name, text, max_percent) in [("English", english, 50), (language.name, chinese, 120)] {
        let place = TestHistory::new().await;
        place.project("s", vec![(1, open())]).await;
        let chars: Vec<_> = text.chars().collect();
        for (said_now, n) in chars.chunks(600).zip(2..) {
            let said_now: String = said_now.iter().collect();
            let said = said(&format!("m{n}"), &said_now, 1);
            place.project("s", vec![(n, said)]).await;
        }

        let pages = "SELECT CAST(sum(pgsize) AS TEXT) FROM dbstat WHERE name LIKE 'search_%'";
        let index: usize = place.asked(pages)[0].parse().unwrap();

        let percent = index * 100 / text.len();
        assert!(percent <= max_percent, "{name}: {percent} %");
    }
}
