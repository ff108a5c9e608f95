//! Turns that are taken back.

use samovar_core::history::{Change, LastTurn};
use samovar_core::message::{Part, ToolCall};
use samovar_core::{AgentPath, Bill, Budget, CallId, FinishReason, Millis, Role, TurnId};
use serde_json::json;

use super::{
    TestHistory, asked, finished, last, master, message, open, put, session_id, started, tokens,
    turn_id,
};

fn forget(turns: &[&str]) -> Change {
    Change::Forget {
        turns: turns.iter().map(|turn| turn_id(turn)).collect(),
        at: Millis(2000),
    }
}

fn child() -> AgentPath {
    master().child("browser")
}

/// An answer that asks for a child.
fn asks(id: &str, call: &str) -> samovar_core::Message {
    let mut asks = message(id, Role::Assistant, "let me ask");
    asks.usage = Some(tokens(10, 1));
    asks.parts.push(Part::Call(ToolCall::new(
        CallId::new(call).unwrap(),
        "browser",
        json!({}),
    )));
    asks
}

fn answers(turn: &str, call: &str) -> Change {
    Change::TurnStarted {
        turn: turn_id(turn),
        agent: child(),
        parent_call: Some(CallId::new(call).unwrap()),
        background: false,
        budget: Budget::default(),
        at: Millis(1000),
    }
}

/// A turn `t1`, and a turn `t2` whose child `c` has a child `d`.
async fn talk(place: &TestHistory) {
    let log = [
        open(),
        asked("q1", Some("t1")),
        started("t1"),
        put(message("a1", Role::Assistant, "yes"), Some("t1"), master()),
        finished("t1"),
        asked("q2", Some("t2")),
        started("t2"),
        put(asks("a2", "call_1"), Some("t2"), master()),
        put(message("task", Role::User, "look"), Some("c"), child()),
        answers("c", "call_1"),
        put(asks("a3", "call_2"), Some("c"), child()),
        answers("d", "call_2"),
        put(
            message("a4", Role::Assistant, "deep"),
            Some("d"),
            child().child("x"),
        ),
        finished("d"),
        finished("c"),
        put(message("r", Role::Tool, "found"), Some("t2"), master()),
        finished("t2"),
    ];
    place.project("s", (1..).zip(log).collect()).await;
}

/// The last turn with those below it, what began it, and how many messages they have.
async fn last_turn(place: &TestHistory) -> Option<(String, String, u64)> {
    let last = place
        .history
        .last_turn(&session_id("s"), None)
        .await
        .unwrap();
    let LastTurn {
        turn,
        below,
        said,
        messages,
    } = last?;
    let turns: Vec<_> = std::iter::once(&turn)
        .chain(&below)
        .map(TurnId::as_str)
        .collect();
    Some((turns.join(" "), said.id.to_string(), messages))
}

fn named(turn: &str, said: &str, messages: u64) -> (String, String, u64) {
    (turn.to_owned(), said.to_owned(), messages)
}

// proves DU-15
#[tokio::test]
async fn a_turn_that_is_taken_back_goes_with_all_below_it_and_what_it_cost_stays() {
    for place in TestHistory::every().await {
        talk(&place).await;
        let before = place.session("s").await;
        assert_eq!(last_turn(&place).await, Some(named("t2 c d", "q2", 6)));

        place
            .project("s", vec![(18, forget(&["t2", "c", "d"]))])
            .await;

        assert_eq!(place.ids(last("s", 9)).await, ["q1", "a1"]);
        let after = place.session("s").await;
        assert_eq!((before.message_count, after.message_count), (8, 2));
        assert_eq!(after.usage, before.usage);
        assert_eq!(after.updated_at, Millis(2000));
        place.has("SELECT group_concat(id) FROM turns", &["t1"]);
        assert_eq!(last_turn(&place).await, Some(named("t1", "q1", 2)));

        place.project("s", vec![(19, forget(&["t1"]))]).await;
        assert_eq!(place.ids(last("s", 9)).await, [""; 0]);
        assert_eq!(last_turn(&place).await, None);
        assert_eq!(place.history.totals().await.unwrap().messages, 0);
    }
}

// proves DU-1
#[tokio::test]
async fn what_was_taken_back_is_not_brought_back_and_its_ids_are_free() {
    for place in TestHistory::every().await {
        talk(&place).await;
        let again = vec![(17, finished("t2")), (18, forget(&["t2", "c", "d"]))];
        place.project("s", again.clone()).await;
        place.project("s", again).await;
        place
            .project(
                "s",
                vec![(19, forget(&["t2", "c", "d"])), (20, forget(&["nobody"]))],
            )
            .await;
        let session = place.session("s").await;
        assert_eq!(session.message_count, 2);

        let anew = vec![(21, asked("q2", Some("t3"))), (22, started("t3"))];
        place.project("s", anew).await;

        assert_eq!(place.ids(last("s", 9)).await, ["q1", "a1", "q2"]);
        let row = place.message("q2").await;
        assert_eq!(row.turn, Some(turn_id("t3")));
        let session = place.session("s").await;
        assert_eq!(session.message_count, 3);
    }
}

#[tokio::test]
async fn the_last_turn_is_the_last_one_of_the_sessions_own_agent_that_has_a_place() {
    for place in TestHistory::every().await {
        assert_eq!(last_turn(&place).await, None);
        place
            .project("s", vec![(1, open()), (2, asked("note", None))])
            .await;
        assert_eq!(last_turn(&place).await, None, "no turn at all");
        place.project("s", vec![(3, asked("q1", Some("t1")))]).await;
        assert_eq!(last_turn(&place).await, None, "it waits");
        place
            .project("s", vec![(4, started("t1")), (5, asked("q2", Some("t2")))])
            .await;
        assert_eq!(
            last_turn(&place).await,
            Some(named("t1", "q1", 1)),
            "t2 waits"
        );

        let cancelled = Change::TurnFinished {
            turn: turn_id("t2"),
            reason: FinishReason::Cancelled,
            fault: None,
            usage: tokens(0, 0),
            iterations: 0,
            bill: Bill::default(),
            at: Millis(1000),
        };
        place.project("s", vec![(6, cancelled)]).await;

        assert_eq!(last_turn(&place).await, Some(named("t2", "q2", 1)));
        let rows = place.history.messages(last("s", 9)).await.unwrap();
        let begun: Vec<_> = rows.iter().map(|row| row.has_begun).collect();
        assert_eq!(begun, [true, true, false], "of no turn, t1, t2");
    }
}
