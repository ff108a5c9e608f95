//! What a projection leaves in the tables.

use samovar_core::history::{Change, Totals};
use samovar_core::{ContextLimit, MessageId, Millis, Role, Seq, Usage};

use super::{
    TestHistory, asked, finished, last, master, message, open, open_with, projection, put,
    session_id, started, titled, tokens,
};

/// An answer of the session's own agent, with what it cost.
fn answered(id: &str, turn: &str, usage: Usage) -> Change {
    let mut answer = message(id, Role::Assistant, "here it is");
    answer.usage = Some(usage);
    put(answer, Some(turn), master())
}

// proves AS-18
#[tokio::test]
async fn every_message_of_every_role_counts_and_every_model_call_costs() {
    for place in TestHistory::every().await {
        let child = master().child("browser");
        let usage = Usage {
            input: 10,
            output: 5,
            cache_read: 3,
            cache_write: 2,
            reasoning: 1,
        };
        let context = ContextLimit::new("m", 8192);
        place
            .project(
                "s",
                vec![
                    (1, open()),
                    (2, asked("question", Some("t"))),
                    (3, started("t")),
                    (
                        4,
                        Change::Spent {
                            usage: tokens(100, 20),
                            context: Some(context.clone()),
                        },
                    ),
                    (5, answered("answer", "t", usage)),
                    (
                        6,
                        put(message("result", Role::Tool, "42"), Some("t"), master()),
                    ),
                    (
                        7,
                        put(message("aside", Role::Assistant, "hm"), Some("u"), child),
                    ),
                    (
                        8,
                        put(message("rules", Role::System, "be brief"), None, master()),
                    ),
                    (9, finished("t")),
                ],
            )
            .await;

        let session = place.session("s").await;
        let spent = Usage {
            input: 110,
            output: 25,
            ..usage
        };
        assert_eq!((session.message_count, session.usage), (5, spent));
        assert_eq!(session.projected, Seq(9));
        assert_eq!(session.context, Some(context));
        // The child's message is not in the conversation, nor is one whose turn has not begun.
        for (id, before) in [("rules", 3), ("result", 2), ("question", 0), ("unknown", 0)] {
            let message = MessageId::new(id).unwrap();
            let found = place.history.place(&session.id, &message).await;
            assert_eq!(found, Ok(before), "{id}");
        }
        let totals = Totals {
            sessions: 1,
            messages: 5,
            usage: spent,
        };
        assert_eq!(place.history.totals().await.unwrap(), totals);
    }
}

// proves AS-18
#[tokio::test]
async fn what_sessions_in_memory_use_is_added_to_the_totals() {
    for place in TestHistory::every().await {
        let usage = Usage {
            input: 1000,
            output: 100,
            cache_read: 10,
            cache_write: 5,
            reasoning: 1,
        };
        for _ in 0..2 {
            place.history.spend(usage).await.unwrap();
        }
        let totals = Totals {
            usage: usage.plus(usage),
            ..Totals::default()
        };
        assert_eq!(place.history.totals().await.unwrap(), totals);
    }
}

// proves AS-15
#[tokio::test]
async fn the_limit_of_a_model_is_forgotten_when_the_model_is_set() {
    for place in TestHistory::every().await {
        let usage = tokens(1, 1);
        let context = Some(ContextLimit::new("m", 8192));
        let set = |model: Option<&str>| Change::Set {
            model: model.map(str::to_owned),
            route: None,
            title: None,
            approval: None,
            tainted: false,
            at: Millis(9),
        };
        let spent = Change::Spent { usage, context };
        place
            .project("s", vec![(1, open()), (2, spent), (3, set(None))])
            .await;
        assert!(place.session("s").await.context.is_some());
        place.project("s", vec![(4, set(Some("m")))]).await;
        assert_eq!(place.session("s").await.context, None);
    }
}

// proves SA-10
#[tokio::test]
async fn a_message_put_again_is_one_row_with_the_new_content_in_the_old_place() {
    for place in TestHistory::every().await {
        place
            .project(
                "s",
                vec![(1, open()), (2, asked("a", None)), (3, asked("b", None))],
            )
            .await;

        let again = message("a", Role::User, "goodbye");
        place
            .project("s", vec![(4, put(again.clone(), None, master()))])
            .await;

        assert_eq!(place.ids(last("s", 9)).await, ["a", "b"]);
        let row = place.history.message(&again.id).await.unwrap().unwrap();
        assert_eq!(*row.message, again);
        let session = place.history.session(&row.session).await.unwrap().unwrap();
        assert_eq!(session.message_count, 2);
    }
}

#[tokio::test]
async fn a_message_of_one_session_is_never_overwritten_by_another() {
    for place in TestHistory::every().await {
        place
            .project("s", vec![(1, open()), (2, asked("a", None))])
            .await;

        let theirs = put(message("a", Role::User, "mine now"), None, master());
        place
            .project(
                "thief",
                vec![(1, open()), (2, theirs), (3, asked("b", None))],
            )
            .await;

        let row = place.message("a").await;
        assert_eq!(
            (row.session, row.message.text()),
            (session_id("s"), "hello".to_owned())
        );
        assert_eq!(place.ids(last("thief", 9)).await, ["b"]);
        let thief = place.session("thief").await;
        assert_eq!((thief.message_count, thief.projected), (1, Seq(3)));
    }
}

// proves AS-19
#[tokio::test]
async fn a_closed_session_leaves_nothing_and_may_be_made_anew() {
    for place in TestHistory::every().await {
        let log = vec![
            (1, open_with(titled("old"), 1)),
            (2, asked("a", Some("t"))),
            (3, started("t")),
            (4, answered("b", "t", tokens(7, 7))),
            (5, finished("t")),
        ];
        place
            .project("kept", vec![(1, open()), (2, asked("c", Some("t")))])
            .await;
        place.project("s", log).await;

        place.project("s", vec![(6, Change::Close)]).await;

        assert_eq!(place.history.session(&session_id("s")).await.unwrap(), None);
        assert_eq!(
            place
                .history
                .message(&super::message_id("a"))
                .await
                .unwrap(),
            None
        );
        let left = "SELECT (SELECT count(*) FROM sessions) || ' ' || (SELECT count(*) FROM turns) \
                || ' ' || (SELECT count(*) FROM message_rows)";
        place.has(left, &["1 1 1"]);
        assert_eq!(place.history.totals().await.unwrap().messages, 1);

        place
            .project(
                "s",
                vec![(1, open_with(titled("new"), 2)), (2, asked("a", None))],
            )
            .await;
        let session = place.session("s").await;
        assert_eq!(
            (session.metadata, session.message_count),
            (titled("new"), 1)
        );
        assert_eq!(
            (session.created_at, session.usage),
            (Millis(2), tokens(0, 0))
        );
    }
}

// proves AS-19, DU-1
#[tokio::test]
async fn no_replay_brings_a_closed_session_back() {
    for place in TestHistory::every().await {
        let log = || {
            let log = [
                open(),
                asked("a", Some("t")),
                started("t"),
                Change::Close,
                asked("late", None),
            ];
            (1..).zip(log).collect::<Vec<_>>()
        };
        place.project("s", log()).await;
        for from in 0..5 {
            place.project("s", log().split_off(from)).await;
            assert_eq!(
                place.history.session(&session_id("s")).await.unwrap(),
                None,
                "{from}"
            );
            place.has("SELECT id FROM message_rows", &[]);
        }
    }
}

#[tokio::test]
async fn the_newest_time_that_was_seen_is_when_a_session_last_changed() {
    for place in TestHistory::every().await {
        let at = |id: &str, at: i64| {
            let mut said = message(id, Role::User, "hello");
            said.created_at = Millis(at);
            put(said, None, master())
        };
        place
            .project(
                "s",
                vec![
                    (1, open_with(titled(""), 50)),
                    (2, at("a", 90)),
                    (3, at("b", 70)),
                ],
            )
            .await;

        let session = place.session("s").await;
        assert_eq!(
            (session.created_at, session.updated_at),
            (Millis(50), Millis(90))
        );
    }
}

#[tokio::test]
async fn a_position_without_changes_is_noted_and_never_goes_back() {
    for place in TestHistory::every().await {
        place.project("s", vec![(1, open())]).await;
        for (up_to, projected) in [(7, 7), (3, 7)] {
            let mut empty = projection("s", vec![]);
            empty.up_to = Seq(up_to);
            place.history.project(vec![empty]).await.unwrap();
            let session = place.session("s").await;
            assert_eq!(session.projected, Seq(projected));
        }
    }
}

#[tokio::test]
async fn what_was_projected_is_there_after_a_restart() {
    let place = TestHistory::new().await;
    place
        .project("s", vec![(1, open()), (2, asked("a", None))])
        .await;
    let place = place.reopened().await;
    assert_eq!(place.ids(last("s", 9)).await, ["a"]);
    place.project("s", vec![(3, asked("b", None))]).await;
    assert_eq!(place.ids(last("s", 9)).await, ["a", "b"]);
}

// proves DU-1
#[tokio::test]
async fn a_sync_commits_whatever_may_not_be_durable_and_nothing_else() {
    let place = TestHistory::new().await;
    let syncs = "SELECT CAST(count AS TEXT) FROM syncs";
    place.project("s", vec![(1, open())]).await;
    place.history.sync().await.unwrap();
    assert_eq!(place.asked(syncs), ["1"]);
    place.history.sync().await.unwrap();
    assert_eq!(place.asked(syncs), ["1"]);

    // What an earlier process wrote may never have been synced.
    let place = place.reopened().await;
    place.history.sync().await.unwrap();
    assert_eq!(place.asked(syncs), ["2"]);
}

// proves DU-1
#[tokio::test]
async fn what_was_projected_leaves_the_wal_without_a_restart() {
    let place = TestHistory::new().await;
    place.project("s", vec![(1, open())]).await;
    let database = place.folder.path().join("history.db");
    let before = std::fs::metadata(&database).unwrap().len();

    let many = (2..1002).map(|n| (n, asked(&format!("m{n}"), None)));
    place.project("s", many.collect()).await;

    let after = std::fs::metadata(&database).unwrap().len();
    assert!(after > before + 100 * 1000, "{before} {after}");
}

#[tokio::test]
async fn a_closed_history_answers_no_more() {
    let place = TestHistory::new().await;
    place.project("s", vec![(1, open())]).await;
    place.history.close().await.unwrap();
    let files = std::fs::read_dir(place.folder.path()).unwrap();
    assert_eq!(files.count(), 1, "the WAL went into the database");
    let late = projection("s", vec![(2, asked("a", None))]);
    assert!(place.history.project(vec![late]).await.is_err());
    assert!(place.history.sync().await.is_err());
    assert!(place.history.totals().await.is_err());
}
