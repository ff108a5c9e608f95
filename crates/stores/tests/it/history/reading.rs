//! Which messages and sessions a reader is given, in which order.

use samovar_core::history::{Change, MessageQuery, SessionQuery, Speakers};
use samovar_core::{Millis, Role, Title};

use super::{
    TestHistory, asked, finished, last, master, message, message_id, open, open_with, put,
    session_id, started, titled, turn_id,
};

fn said(id: &str, turn: &str) -> Change {
    put(message(id, Role::Assistant, "so"), Some(turn), master())
}

/// A session in which two questions came while a turn ran.
async fn busy(place: &TestHistory) {
    let log = [
        open(),
        asked("q1", Some("t1")),
        started("t1"),
        asked("q2", Some("t2")),
        asked("q3", Some("t3")),
        said("a1", "t1"),
        finished("t1"),
    ];
    place.project("s", (1..).zip(log).collect()).await;
}

// proves AS-11
#[tokio::test]
async fn messages_stand_in_the_order_in_which_their_turns_ran() {
    for place in TestHistory::every().await {
        busy(&place).await;
        assert_eq!(place.ids(last("s", 9)).await, ["q1", "a1", "q2", "q3"]);

        let log = [
            started("t3"),
            said("a3", "t3"),
            started("t2"),
            said("a2", "t2"),
        ];
        place.project("s", (8..).zip(log).collect()).await;

        let ran = ["q1", "a1", "q3", "a3", "q2", "a2"];
        assert_eq!(place.ids(last("s", 9)).await, ran);
        let place = place.reopened().await;
        assert_eq!(place.ids(last("s", 9)).await, ran);
    }
}

#[tokio::test]
async fn a_question_whose_turn_never_ran_keeps_the_place_where_that_was_decided() {
    for place in TestHistory::every().await {
        busy(&place).await;
        let log = [finished("t2"), started("t3"), said("a3", "t3")];
        place.project("s", (8..).zip(log).collect()).await;
        assert_eq!(
            place.ids(last("s", 9)).await,
            ["q1", "a1", "q2", "q3", "a3"]
        );
    }
}

#[tokio::test]
async fn a_message_without_a_turn_stands_where_it_was_put() {
    for place in TestHistory::every().await {
        let log = [
            open(),
            asked("before", None),
            started("t1"),
            said("a1", "t1"),
            asked("between", None),
            started("t2"),
            said("a2", "t2"),
            asked("waits", Some("t3")),
            asked("after", None),
        ];
        place.project("s", (1..).zip(log).collect()).await;
        let order = ["before", "a1", "between", "a2", "after", "waits"];
        assert_eq!(place.ids(last("s", 9)).await, order);
    }
}

// proves SA-8
#[tokio::test]
async fn the_first_answer_of_a_turn_is_found_however_far_it_is() {
    for place in TestHistory::every().await {
        let log = [
            open(),
            asked("q1", Some("t1")),
            started("t1"),
            asked("q2", Some("t2")),
            started("t2"),
            said("a1", "t1"),
            said("a2", "t2"),
            said("a3", "t2"),
        ];
        place.project("s", (1..).zip(log).collect()).await;

        for (turn, answer) in [("t1", Some("a1")), ("t2", Some("a2")), ("t3", None)] {
            let (session, turn) = (session_id("s"), turn_id(turn));
            let found = place.history.answer_of(&session, &turn).await.unwrap();
            let found = found.map(|row| row.message.id.clone());
            assert_eq!(found, answer.map(message_id));
        }
    }
}

// proves AS-17
#[tokio::test]
async fn pages_go_back_from_the_newest_without_a_gap_or_a_repeat() {
    for place in TestHistory::every().await {
        let put = |n: u64| (n + 2, asked(&format!("m{n}"), None));
        let opening = std::iter::once((1, open()));
        place
            .project("s", opening.chain((0..25).map(put)).collect())
            .await;
        place
            .project("other", vec![(1, open()), (2, asked("theirs", None))])
            .await;

        let mut pages = Vec::new();
        let mut query = last("s", 10);
        loop {
            let page = place.ids(query.clone()).await;
            let Some(oldest) = page.first() else { break };
            query.before = Some(message_id(oldest));
            pages.push(page);
        }

        let sizes: Vec<_> = pages.iter().map(Vec::len).collect();
        assert_eq!(sizes, [10, 10, 5]);
        pages.reverse();
        let all: Vec<_> = (0..25).map(|n| format!("m{n}")).collect();
        assert_eq!(pages.concat(), all);
    }
}

#[tokio::test]
async fn nothing_is_before_a_message_that_the_session_does_not_have() {
    for place in TestHistory::every().await {
        place
            .project("s", vec![(1, open()), (2, asked("a", None))])
            .await;
        place
            .project("other", vec![(1, open()), (5, asked("b", None))])
            .await;
        for unknown in ["b", "c"] {
            let query = MessageQuery {
                before: Some(message_id(unknown)),
                ..last("s", 9)
            };
            assert_eq!(place.ids(query).await, [""; 0], "{unknown}");
        }
        assert_eq!(place.ids(last("nobody", 9)).await, [""; 0]);
    }
}

#[tokio::test]
async fn a_model_is_shown_only_what_its_own_agent_said_and_heard() {
    for place in TestHistory::every().await {
        let child = || master().child("browser");
        let log = [
            open(),
            started("t1"),
            said("a1", "t1"),
            put(message("task", Role::User, "look"), Some("t2"), child()),
            put(
                message("found", Role::Assistant, "this"),
                Some("t2"),
                child(),
            ),
            put(
                message("deep", Role::Assistant, "this"),
                Some("t3"),
                child().child("reader"),
            ),
            said("a2", "t1"),
        ];
        place.project("s", (1..).zip(log).collect()).await;

        let own = |limit| MessageQuery {
            of: Speakers::Master,
            ..last("s", limit)
        };
        assert_eq!(place.ids(own(9)).await, ["a1", "a2"]);
        assert_eq!(place.ids(own(1)).await, ["a2"]);
        assert_eq!(place.ids(last("s", 9)).await.len(), 5);
        let found = place.message("found").await;
        assert_eq!(
            (found.agent, found.turn),
            (child(), Some(super::turn_id("t2")))
        );
        assert_eq!(found.session, session_id("s"));
    }
}

async fn listed(place: &TestHistory, query: SessionQuery) -> (Vec<String>, u64) {
    let (page, all) = place.history.sessions(query).await.unwrap();
    let ids = page.iter().map(|session| session.id.to_string());
    (ids.collect(), all)
}

// proves AS-18
#[tokio::test]
async fn a_preview_is_of_the_first_message_in_the_order_in_which_turns_ran() {
    let said = |text: &str, turn| put(message(text, Role::User, text), Some(turn), master());
    let log = [
        open(),
        said("first", "t1"),
        said("second", "t2"),
        started("t2"),
        started("t1"),
        finished("t2"),
    ];
    for cut in 1..log.len() {
        let place = TestHistory::new().await;
        let mut before: Vec<_> = (1..).zip(log.clone()).collect();
        let after = before.split_off(cut);
        place.project("s", before).await;
        place.verifies().await;
        place.project("s", after).await;
        place.verifies().await;
        let preview = place.session("s").await.preview;
        assert_eq!(preview.as_deref(), Some("second"), "{cut}");
    }
}

// proves AS-18
#[tokio::test]
async fn sessions_are_listed_from_the_one_that_changed_last() {
    for place in TestHistory::every().await {
        for (at, id) in [(30, "b"), (10, "a"), (40, "d"), (20, "c")] {
            place
                .project(id, vec![(1, open_with(titled(id), at))])
                .await;
        }
        let page = |offset, limit| SessionQuery {
            edit_forks: true,
            offset,
            limit,
            matching: None,
        };
        let ids = |ids: &[&str]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            listed(&place, page(0, 9)).await,
            (ids(&["d", "b", "c", "a"]), 4)
        );
        assert_eq!(listed(&place, page(1, 2)).await, (ids(&["b", "c"]), 4));
        assert_eq!(listed(&place, page(9, 2)).await, (ids(&[]), 4));

        let mut late = message("m", Role::User, "hello");
        late.created_at = samovar_core::Millis(50);
        place
            .project("a", vec![(2, put(late, None, master()))])
            .await;
        assert_eq!(listed(&place, page(0, 1)).await, (ids(&["a"]), 4));
    }
}

#[tokio::test]
async fn sessions_are_found_by_a_piece_of_id_title_or_first_words_in_any_case() {
    for place in TestHistory::every().await {
        let titles = [
            ("One-1", "100% чай"),
            ("two_2", "Самовар"),
            ("three", "a\\b"),
            ("four", ""),
        ];
        for (id, title) in titles {
            place
                .project(id, vec![(1, open_with(titled(title), 1))])
                .await;
        }
        let words = put(
            message("m", Role::User, "Где\n мой Чайник?"),
            None,
            master(),
        );
        place.project("four", vec![(2, words)]).await;
        let check = async |text: &str, found: &[&str]| {
            let query = SessionQuery {
                edit_forks: true,
                offset: 0,
                limit: 9,
                matching: Some(text.to_owned()),
            };
            let (mut ids, all) = listed(&place, query).await;
            ids.sort();
            assert_eq!((ids.len() as u64, all), (found.len() as u64, all), "{text}");
            assert_eq!(ids, found, "{text}");
        };
        check("one", &["One-1"]).await;
        check("САМОВАР", &["two_2"]).await;
        check("мов", &["two_2"]).await;
        check("%", &["One-1"]).await;
        check("_", &["two_2"]).await;
        check("\\", &["three"]).await;
        check("2самовар", &[]).await;
        if place.has_tables() {
            check("где мой чайник", &["four"]).await;
        }
        check("O", &["One-1", "four", "two_2"]).await;
        check("", &["One-1", "four", "three", "two_2"]).await;
    }
}

// proves AS-18
#[tokio::test]
async fn a_session_is_shown_and_found_by_the_title_and_model_that_it_has_now() {
    for place in TestHistory::every().await {
        let set = |model: Option<&str>, title: Option<&str>, at| Change::Set {
            model: model.map(str::to_owned),
            route: model.map(|model| format!("at/{model}")),
            title: title.map(|title| Title::new(title).unwrap()),
            approval: None,
            tainted: false,
            at: Millis(at),
        };
        let shown = async || {
            let session = place.history.session(&session_id("s")).await;
            let session = session.unwrap().unwrap();
            let title = session.title.map(String::from);
            let model = (session.model, session.route.unwrap_or_default());
            (model, title.unwrap_or_default(), session.updated_at)
        };
        let model = |name: &str, route: &str| (name.to_owned(), route.to_owned());
        let found = async |text: &str| {
            let query = SessionQuery {
                edit_forks: true,
                offset: 0,
                limit: 9,
                matching: Some(text.to_owned()),
            };
            listed(&place, query).await.1 == 1
        };
        place
            .project("s", vec![(1, open_with(titled("Old"), 1))])
            .await;
        assert_eq!(
            shown().await,
            (model("demo", "first"), "Old".to_owned(), Millis(1))
        );

        place
            .project("s", vec![(2, set(None, Some("Ёлка"), 2))])
            .await;
        assert_eq!(
            shown().await,
            (model("demo", "first"), "Ёлка".to_owned(), Millis(2))
        );
        assert!(found("ёлк").await && found("s").await && !found("old").await);

        place.project("s", vec![(3, set(Some("m"), None, 3))]).await;
        assert_eq!(
            shown().await,
            (model("m", "at/m"), "Ёлка".to_owned(), Millis(3))
        );
        assert!(found("ёлк").await);

        place.project("s", vec![(4, set(None, Some(""), 4))]).await;
        assert_eq!(
            shown().await,
            (model("m", "at/m"), String::new(), Millis(4))
        );
        assert!(!found("ёлк").await && found("s").await);

        // Not even a change brings a session back that is gone.
        place
            .project(
                "s",
                vec![(5, Change::Close), (6, set(Some("m"), Some("t"), 6))],
            )
            .await;
        assert_eq!(place.history.session(&session_id("s")).await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_session_that_is_not_there_is_none() {
    for place in TestHistory::every().await {
        assert_eq!(place.history.session(&session_id("s")).await.unwrap(), None);
        place.project("s", vec![(5, asked("a", None))]).await;
        assert_eq!(place.history.session(&session_id("s")).await.unwrap(), None);
        assert_eq!(place.history.message(&message_id("a")).await.unwrap(), None);
    }
}

// proves AS-19
#[tokio::test]
async fn a_session_of_an_older_store_with_a_blank_id_is_read_and_deleted() {
    for place in TestHistory::every().await {
        place
            .project(" ", vec![(1, open()), (2, asked("q", None))])
            .await;
        let place = place.reopened().await;
        assert_eq!(place.session(" ").await.message_count, 1);
        assert_eq!(place.ids(last(" ", 9)).await, ["q"]);
        let query = SessionQuery {
            limit: 9,
            ..SessionQuery::default()
        };
        assert_eq!(listed(&place, query).await, (vec![" ".to_owned()], 1));
        place.verifies().await;

        place.project(" ", vec![(3, Change::Close)]).await;
        let found = place.history.session(&session_id(" ")).await;
        assert_eq!(found.unwrap(), None);
    }
}
