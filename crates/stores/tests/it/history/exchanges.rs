//! Finished exchanges, as they are recalled.

use samovar_core::history::{Change, Exchange, ExchangeId, ExchangeQuery, Opened};
use samovar_core::{AgentPath, Beginner, Millis, Role};

use super::{TestHistory, finished, master, message, open, put, session_id, started, turn_id};

fn begun_by(by: Beginner) -> Change {
    let Change::Open(opened) = open() else {
        unreachable!()
    };
    Change::Open(Opened {
        begun_by: Some(by),
        ..opened
    })
}

fn guest() -> Beginner {
    Beginner::Token("guest".to_owned())
}

/// A turn with its question and answers.
fn turn(name: &str, said: &str, answers: &[&str]) -> Vec<Change> {
    let question = message(&format!("{name}-q"), Role::User, said);
    let mut changes = vec![put(question, Some(name), master()), started(name)];
    for (at, answer) in answers.iter().enumerate() {
        let answer = message(&format!("{name}-{at}"), Role::Assistant, answer);
        changes.push(put(answer, Some(name), master()));
    }
    changes.push(finished(name));
    changes
}

impl TestHistory {
    async fn holds(&self, session: &str, by: Beginner, turns: Vec<Change>) {
        let changes = [begun_by(by)].into_iter().chain(turns);
        self.project(session, (1..).zip(changes).collect()).await;
    }

    async fn exchanges(&self, by: Beginner, text: &str) -> Vec<Exchange> {
        let query = ExchangeQuery::Words {
            begun_by: by,
            text: text.to_owned(),
            limit: 20,
        };
        self.history.exchanges(query).await.unwrap()
    }

    /// What the answers of those are that have some of these words.
    async fn answers(&self, by: Beginner, text: &str) -> Vec<String> {
        let found = self.exchanges(by, text).await.into_iter();
        let with = found.filter(|it| text.split(' ').any(|word| it.said.contains(word)));
        with.map(|it| it.answer).collect()
    }
}

// proves MD-11
#[tokio::test]
async fn an_exchange_is_found_by_some_words_of_who_began_its_session() {
    let place = TestHistory::new().await;
    let first = turn(
        "t1",
        "which port has staging?",
        &["let me look", "It is 5433."],
    );
    let second = turn("t2", "which tea?", &["Green."]);
    place
        .holds("a", Beginner::Owner, [first, second].concat())
        .await;
    place
        .holds("b", guest(), turn("t3", "which port has mine?", &["7000."]))
        .await;
    place
        .holds("c", Beginner::Program, turn("t4", "which port?", &["1."]))
        .await;
    let unfinished = turn("t5", "which port has the portal?", &["8080."]);
    place
        .holds("d", Beginner::Owner, unfinished[..3].to_vec())
        .await;

    let found = place
        .exchanges(Beginner::Owner, "the port of staging")
        .await;
    let one = found.iter().find(|it| it.id.turn == turn_id("t1")).unwrap();
    assert_eq!(
        (one.said.as_str(), one.answer.as_str()),
        ("which port has staging?", "It is 5433.")
    );
    assert_eq!(
        (one.id.session.clone(), one.at, one.tainted),
        (session_id("a"), Millis(1000), false)
    );
    assert_eq!(
        place.answers(Beginner::Owner, "port").await,
        ["It is 5433."]
    );
    assert_eq!(place.answers(guest(), "port").await, ["7000."]);
    assert_eq!(
        place
            .answers(Beginner::Token("other".to_owned()), "port")
            .await,
        [""; 0]
    );

    let ids = place.history.exchange_ids(10).await.unwrap();
    let turns: Vec<_> = ids.iter().map(|id| id.turn.as_str()).collect();
    assert_eq!(turns, ["t3", "t2", "t1"]);
    assert_eq!(place.history.exchange_ids(2).await.unwrap(), ids[..2]);

    // Whose it is, is not taken from who asks.
    let stolen = ExchangeId {
        begun_by: guest(),
        ..ids[2].clone()
    };
    let these = ExchangeQuery::These(vec![stolen, ids[0].clone()]);
    let read = place.history.exchanges(these).await.unwrap();
    assert_eq!(
        read.into_iter().map(|it| it.answer).collect::<Vec<_>>(),
        ["7000."]
    );
}

// proves MD-11, MD-13
#[tokio::test]
async fn what_was_taken_back_or_deleted_is_no_exchange_and_a_mark_is_told() {
    let place = TestHistory::new().await;
    let turns = [
        turn("t1", "one port", &["1."]),
        turn("t2", "other port", &["2."]),
    ];
    place.holds("a", Beginner::Owner, turns.concat()).await;
    place
        .holds("b", Beginner::Owner, turn("t3", "third port", &["3."]))
        .await;
    let taint = Change::Set {
        model: None,
        route: None,
        title: None,
        approval: None,
        tainted: true,
        at: Millis(2000),
    };
    let forget = Change::Forget {
        turns: vec![turn_id("t2")],
        at: Millis(2000),
    };
    place.project("a", vec![(20, forget), (21, taint)]).await;
    let found = place.exchanges(Beginner::Owner, "port").await;
    let mut marks: Vec<_> = found
        .iter()
        .map(|it| (it.answer.as_str(), it.tainted))
        .collect();
    marks.sort_unstable();
    assert_eq!(marks, [("1.", true), ("3.", false)]);

    place.project("b", vec![(20, Change::Close)]).await;
    assert_eq!(place.answers(Beginner::Owner, "port").await, ["1."]);
    assert_eq!(place.history.exchange_ids(10).await.unwrap().len(), 1);
}

// proves MD-11
#[tokio::test]
async fn rare_words_find_an_old_exchange_behind_many_with_common_ones() {
    let place = TestHistory::new().await;
    let mut turns = turn("t0", "the code of the gate is zebra", &["Kept."]);
    for n in 1..1_200 {
        turns.extend(turn(&format!("t{n}"), "the gate again", &["the same"]));
    }
    place.holds("a", Beginner::Owner, turns).await;
    let found = place
        .exchanges(Beginner::Owner, "the zebra of the gate")
        .await;
    assert!(found.iter().any(|it| it.answer == "Kept."));
    // Called agents have none.
    let child = AgentPath::root("master").child("helper");
    let said = message("x", Role::User, "yak");
    place
        .project("a", vec![(9_000, put(said, Some("t0"), child))])
        .await;
    assert_eq!(place.answers(Beginner::Owner, "yak").await, [""; 0]);
    let forge = "UPDATE message_rows SET parts = replace(parts, 'zebra', 'horse')";
    place.sql().execute_batch(forge).unwrap();
    let found = place.exchanges(Beginner::Owner, "zebra").await;
    assert!(
        !found.iter().any(|it| it.answer == "Kept."),
        "it is damaged"
    );
}
