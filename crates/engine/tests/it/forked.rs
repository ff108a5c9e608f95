//! A session is forked: another one begins with what it has.

use samovar_core::command::{Appended, Opening};
use samovar_core::history::{MessageQuery, MessageRow, Speakers};
use samovar_core::message::FORKED_FROM;
use samovar_core::{
    Action, Approval, CallId, Code, Delivery, Error, Kind, MessageId, Outcome, Part, Role, Sender,
    Seq, SessionId, Status, Title, ToolCall, ToolReply, Usage,
};
use samovar_doubles::{Reply, TestTool, World, call, say};
use samovar_engine::{Engine, Fork};
use serde_json::json;
use tokio::time::Instant;

use crate::children::{agent, delegate, world};
use crate::rig::{Rig, named, read_to, said, send, session, settings, turn_of};

fn fork(last: Option<&MessageId>, into: &str) -> Fork {
    Fork {
        session: session(),
        last: last.cloned(),
        into: Some(named(into)),
        title: None,
        is_edit: false,
    }
}

pub(crate) async fn forked(rig: &Rig, last: Option<&MessageId>, into: &str) -> Vec<MessageRow> {
    let made = rig
        .engine
        .fork(Sender::Embedder, fork(last, into))
        .await
        .map(|row| row.id);
    assert_eq!(made, Ok(named(into)));
    rows(&rig.engine, named(into)).await
}

async fn refused(rig: &Rig, last: Option<&MessageId>, into: &str) -> Code {
    let refused = rig.engine.fork(Sender::Embedder, fork(last, into)).await;
    let Error { code, .. } = refused.unwrap_err();
    if into != "s" {
        let made = rig.engine.session(&named(into)).await;
        assert_eq!(made.unwrap_err().code, Code::UnknownSession);
    }
    code
}

async fn append(rig: &Rig, role: Role, part: Part) {
    let appended = Appended {
        message: None,
        role,
        parts: vec![part],
        usage: None,
    };
    let appended = rig.submit(Action::Append(Box::new(appended))).await;
    assert!(appended.is_ok(), "{appended:?}");
}

async fn rows(engine: &Engine, session: SessionId) -> Vec<MessageRow> {
    let query = MessageQuery {
        session,
        limit: 9999,
        before: None,
        of: Speakers::All,
    };
    engine.messages(query).await.unwrap()
}

fn texts(rows: &[MessageRow]) -> Vec<String> {
    rows.iter().map(|row| row.message.text()).collect()
}

/// Says something in a session; what its model was shown.
async fn shown_in(rig: &Rig, session: &str, text: &str) -> Vec<String> {
    let posted = send(&rig.engine, named(session), said(text, Delivery::Queue));
    let turn = turn_of(posted.await);
    let session = named(session);
    let mut reader = rig.engine.follow(&session, Seq(0)).await.unwrap();
    read_to(&mut reader, |event| {
        event.turn.as_ref() == Some(&turn) && matches!(event.kind, Kind::TurnFinished { .. })
    })
    .await;
    rig.shown()
}

// proves AS-28
#[tokio::test(start_paused = true)]
async fn a_fork_goes_on_from_its_message_and_leaves_the_session_alone() {
    let rig = Rig::by(
        |said, _| say(&format!("re {said}")).usage(7, 5),
        [],
        settings(),
    )
    .await;
    for text in ["one", "two", "three"] {
        rig.turn(text).await;
    }
    let before = (rig.row().await, rig.messages(Speakers::All).await);
    let last = before.1[3].message.id.clone();

    let copies = forked(&rig, Some(&last), "f").await;

    assert_eq!(texts(&copies), ["one", "re one", "two", "re two"]);
    for (copy, row) in copies.iter().zip(&before.1) {
        let from = json!({"sessionId": "s", "messageId": row.message.id});
        assert_eq!(copy.message.metadata[FORKED_FROM], from);
        assert_ne!(copy.message.id, row.message.id);
        assert_eq!(copy.message.created_at, row.message.created_at);
        assert_eq!((copy.turn.as_ref(), copy.message.usage), (None, None));
    }
    let made = rig.engine.session(&named("f")).await.unwrap();
    let from = json!({"sessionId": "s", "messageId": last});
    assert_eq!(made.metadata[FORKED_FROM], from);
    assert_eq!((made.message_count, made.usage), (4, Usage::default()));
    assert_eq!((rig.row().await, rig.messages(Speakers::All).await), before);

    // The same window, now and after a restart.
    let shown = ["one", "re one", "two", "re two", "other"];
    assert_eq!(shown_in(&rig, "f", "other").await, shown);
    let undo = send(&rig.engine, named("f"), Action::Undo { turn: None }).await;
    assert!(undo.is_ok(), "{undo:?}");
    let rig = rig.restart().await;
    assert_eq!(shown_in(&rig, "f", "other").await, shown);
    assert!(
        send(&rig.engine, named("f"), Action::Undo { turn: None })
            .await
            .is_ok()
    );
    let undo = send(&rig.engine, named("f"), Action::Undo { turn: None }).await;
    assert_eq!(undo.unwrap_err().code, Code::UnknownTurn, "copies stay");
}

// proves AS-28
#[tokio::test(start_paused = true)]
async fn a_long_fork_shows_the_window_that_its_session_shows() {
    let mut settings = settings();
    settings.max_history_messages = 8;
    let rig = Rig::by(|said, _| say(&format!("re {said}")), [], settings).await;
    for number in 0..9 {
        rig.turn(&format!("{number}")).await;
    }
    forked(&rig, None, "f").await;
    forked(&rig, None, "g").await;
    let rig = rig.restart().await;
    let wanted = shown_in(&rig, "s", "now").await;
    assert_eq!(shown_in(&rig, "f", "now").await, wanted);
    forked(&rig, None, "h").await;
    assert_eq!(shown_in(&rig, "g", "now").await, wanted);
}

// proves AS-28
#[tokio::test(start_paused = true)]
async fn a_fork_inside_a_turn_ends_there_with_unknown_outcomes() {
    let look = TestTool::new("look", |_, _| async {
        ToolReply::Closed(Outcome::done("a file"))
    });
    let replies = |_: &str, results| match results {
        0 => call("look", json!({})).and_call("look", json!({"again": true})),
        _ => say("seen"),
    };
    let rig = Rig::by(replies, [look], settings()).await;
    rig.turn("go").await;
    let rows = rig.messages(Speakers::All).await;

    let copies = forked(&rig, Some(&rows[2].message.id), "f").await;

    let roles: Vec<_> = copies.iter().map(|row| row.message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Tool]);
    let calls: Vec<_> = copies[1].message.calls().map(|call| &call.id).collect();
    let statuses = copies[2..].iter().map(|row| match &row.message.parts[..] {
        [Part::Outcome { call, outcome, .. }] => (call, outcome.status),
        other => panic!("{other:?}"),
    });
    let statuses: Vec<_> = statuses.collect();
    assert_eq!(
        statuses,
        [(calls[0], Status::Done), (calls[1], Status::Unknown)]
    );
    assert!(copies[3].message.text().contains("outcome unknown"));
}

// proves AS-28
#[tokio::test]
async fn called_agents_come_along_under_their_callers_and_are_no_place_to_fork() {
    let world = world(|who, _, results| match (who, results) {
        ("master", 0) => call("subAgent", delegate("helper", "look")),
        ("helper", _) => say("seen"),
        _ => say("done"),
    });
    let rig = Rig::delegating(world, [], [agent("helper", &[], &[])], settings()).await;
    rig.turn("go").await;
    let rows = rig.messages(Speakers::All).await;
    let of_child = rows.iter().find(|row| row.agent.depth() == 1).unwrap();

    let copies = forked(&rig, None, "f").await;

    assert_eq!(texts(&copies), texts(&rows));
    for (copy, row) in copies.iter().zip(&rows) {
        let place = |all: &[MessageRow], of: &MessageRow| {
            let parent = of.message.parent.as_ref()?;
            all.iter().position(|row| row.message.id == *parent)
        };
        assert_eq!(copy.agent, row.agent);
        assert_eq!(place(&copies, copy), place(&rows, row));
    }
    let child = Some(&of_child.message.id);
    assert_eq!(refused(&rig, child, "g").await, Code::InvalidParams);
}

// proves AS-28
#[tokio::test(start_paused = true)]
async fn what_is_not_over_is_not_copied() {
    let ask = TestTool::new("ask", |_, _| async { ToolReply::Open });
    let replies = |said: &str, results| match (said, results) {
        ("wait", 0) => call("ask", json!({})),
        _ => say("ok"),
    };
    let rig = Rig::by(replies, [ask.outside()], settings()).await;
    rig.turn("one").await;
    rig.post("wait").await;
    rig.post("behind").await;
    rig.asked_outside().await;
    let rows = rig.messages(Speakers::All).await;
    let asked = rows.iter().map(|row| (row.message.text(), &row.message.id));
    for (text, id) in asked.filter(|(text, _)| ["wait", "behind"].contains(&text.as_str())) {
        assert_eq!(
            refused(&rig, Some(id), "g").await,
            Code::SessionBusy,
            "{text}"
        );
    }
    assert_eq!(texts(&forked(&rig, None, "f").await), ["one", "ok"]);
    let nobody = MessageId::new("nobody").unwrap();
    assert_eq!(refused(&rig, Some(&nobody), "g").await, Code::InvalidParams);
    assert_eq!(refused(&rig, None, "s").await, Code::SessionConflict);
    let mut none = fork(None, "g");
    none.session = named("none");
    let refused = rig.engine.fork(Sender::Embedder, none).await;
    assert_eq!(refused.unwrap_err().code, Code::UnknownSession);
}

// proves AS-28
#[tokio::test(start_paused = true)]
async fn a_fork_has_the_title_taint_and_level_of_its_session_and_no_wider_one() {
    let mut strict = settings();
    strict.approval = Approval::Supervised;
    let world = World::answering([say("a page")] as [Reply; 1]);
    let rig = Rig::on(crate::rig::disk(), world, [], strict).await;
    let opening = Opening {
        approval: Some(Approval::Auto),
        metadata: json!({"title": "a trip"}).as_object().unwrap().clone(),
        ..Opening::default()
    };
    let opened = send(&rig.engine, session(), Action::Open(opening)).await;
    assert!(opened.is_ok(), "{opened:?}");
    let stranger = Sender::Token {
        name: "a".into(),
        is_owner: false,
    };
    for (by, level) in [
        (Sender::CommandLine, Approval::Auto),
        (stranger, Approval::Supervised),
    ] {
        let into = format!("as-{}", level.as_str());
        let named = Fork {
            title: Title::new("mine").ok(),
            ..fork(None, &into)
        };
        let made = rig.engine.fork(by, named).await.unwrap();

        assert_eq!(made.approval, Some(level));
        assert_eq!(made.title, Title::new("mine").ok());
        assert!(!made.tainted);
    }
    let asks = Part::Call(ToolCall::new(CallId::new("c").unwrap(), "read", json!({})));
    let answers = Part::Outcome {
        call: CallId::new("c").unwrap(),
        name: "read".to_owned(),
        outcome: Outcome::done("text from outside"),
    };
    for (role, part) in [(Role::Assistant, asks), (Role::Tool, answers)] {
        append(&rig, role, part).await;
    }
    forked(&rig, None, "f").await;
    let made = rig.engine.session(&named("f")).await.unwrap();
    assert_eq!(made.title.unwrap().as_str(), "a trip");
    assert!(made.tainted);
    // Asked for again, it is the same fork, whatever came since; for another message, another one.
    rig.turn("more").await;
    assert_eq!(forked(&rig, None, "f").await.len(), 2);
    let first = rig.messages(Speakers::All).await[0].message.id.clone();
    let again = rig
        .engine
        .fork(Sender::Embedder, fork(Some(&first), "f"))
        .await;
    assert_eq!(again.unwrap_err().code, Code::SessionConflict);
    // A part of the session is not the whole of it.
    forked(&rig, Some(&first), "part").await;
    let whole = rig.engine.fork(Sender::Embedder, fork(None, "part")).await;
    assert_eq!(whole.unwrap_err().code, Code::SessionConflict);
}

// proves AS-28, DU-2
#[tokio::test(start_paused = true)]
async fn a_long_fork_comes_into_the_history_in_parts_and_no_session_waits_for_another_one() {
    let rig = Rig::by(|_, _| say("an answer"), [], settings()).await;
    for number in 0..2_500 {
        let text = format!("line {number}");
        append(&rig, Role::User, Part::Text { text }).await;
    }

    // All of it is known before it is in the history.
    let made = rig.engine.fork(Sender::Embedder, fork(None, "f")).await;
    assert_eq!(made.unwrap().message_count, 2_500);
    assert_eq!(rows(&rig.engine, named("f")).await.len(), 2_500);
    let most = rig.disk.most_changes();
    assert!(most <= 1_000, "{most}");

    rig.disk.full_history().set(true);
    let made = rig.engine.fork(Sender::Embedder, fork(None, "g")).await;
    assert_eq!(made.unwrap().message_count, 2_500);
    // Of this one the history has all, of that one nothing.
    let before = Instant::now();
    let made = rig.engine.fork(Sender::Embedder, fork(None, "h")).await;
    assert_eq!(made.unwrap().message_count, 2_500);
    assert!(before.elapsed() < settings().read_wait);
    let of_fork = Fork {
        session: named("g"),
        ..fork(None, "i")
    };
    let made = rig.engine.fork(Sender::Embedder, of_fork).await;
    assert_eq!(made.unwrap_err().code, Code::Unavailable);
}

// proves AS-28
#[tokio::test(start_paused = true)]
async fn a_session_that_is_deleted_meanwhile_is_forked_whole_or_not_at_all() {
    for is_forked_first in [true, false] {
        let rig = Rig::new([say("re one")]).await;
        rig.turn("one").await;

        let made = rig.engine.fork(Sender::Embedder, fork(None, "f"));
        let deleted = rig.submit(Action::Close);
        let made = if is_forked_first {
            tokio::join!(made, deleted).0
        } else {
            tokio::join!(deleted, made).1
        };

        let left = rig.engine.session(&session()).await;
        assert_eq!(left.unwrap_err().code, Code::UnknownSession);
        if is_forked_first {
            let copies = rows(&rig.engine, made.unwrap().id).await;
            assert_eq!(texts(&copies), ["one", "re one"]);
        } else {
            assert_eq!(made.unwrap_err().code, Code::UnknownSession);
            let made = rig.engine.session(&named("f")).await;
            assert_eq!(made.unwrap_err().code, Code::UnknownSession);
        }
    }
}
