//! What is open when somebody leaves, does not answer, or nothing can be kept.

use super::*;

fn none() -> [String; 0] {
    []
}

// proves RL-7
#[test]
fn one_id_of_two_agents_is_two_requests() {
    let mut scene = Scene::full();
    let first = scene.asks(AGENT, MessageKind::ToolCall, "1");
    let second = scene.asks(OTHER, MessageKind::ToolCall, "1");
    assert_eq!(sent(&first), ["1 tool.call 1>"]);
    assert_eq!(sent(&second), ["1 tool.call relay-1>"]);
    assert_eq!(
        sent(&scene.answers(MessageKind::ToolResult, "relay-1")),
        ["3 tool.result >1"]
    );
    assert_eq!(
        sent(&scene.answers(MessageKind::ToolResult, "1")),
        ["2 tool.result >1"]
    );
    let third = scene.asks(OTHER, MessageKind::ToolCall, "relay-2");
    assert_eq!(sent(&third), ["1 tool.call relay-2>"]);
    let no_id = message(MessageKind::SnapshotGet, &json!({}));
    assert_eq!(sent(&scene.says(AGENT, no_id)), ["1 snapshot.get relay-3>"]);
    assert_eq!(
        sent(&scene.answers(MessageKind::SnapshotState, "relay-3")),
        ["2 snapshot.state >"]
    );
}

// proves RL-7, RL-8
#[test]
fn a_second_answer_is_none_to_the_next_question_under_the_same_id() {
    let mut scene = Scene::full();
    scene.asks(AGENT, MessageKind::ToolCall, "1");
    scene.answers(MessageKind::ToolResult, "1");
    let again = scene.asks(AGENT, MessageKind::ToolCall, "1");
    assert_eq!(sent(&again), ["1 tool.call relay-1>"]);
    assert_eq!(sent(&scene.answers(MessageKind::ToolResult, "1")), none());
    assert_eq!(
        sent(&scene.answers(MessageKind::ToolResult, "relay-1")),
        ["2 tool.result >1"]
    );
}

// proves RL-8
#[test]
fn who_waits_for_a_host_that_leaves_is_told_at_once() {
    let mut scene = Scene::full();
    scene.asks(AGENT, MessageKind::ToolCall, "a");
    scene.asks(AGENT, MessageKind::AgentMessage, "words");
    scene.asks(OTHER, MessageKind::SessionStart, "a");
    let step = scene.leaves(HOST);

    assert_eq!(
        sent(&step),
        ["2 SESSION_NOT_ACTIVE >a", "3 SESSION_NOT_ACTIVE >a"]
    );
    let rows = [
        "internal relay.left host",
        "in session.start 2",
        "out session.start host",
        "internal message.refused 1",
        "out error 1",
        "internal message.refused 2",
        "out error 2",
    ];
    assert_eq!(noted(&step), rows);
    assert_eq!(
        sent(&scene.asks(AGENT, MessageKind::ToolCall, "b")),
        ["2 SESSION_NOT_ACTIVE >b"]
    );
    scene.enters(HOST, RelayRole::Host);
    assert_eq!(
        sent(&scene.answers(MessageKind::ToolResult, "a")),
        none(),
        "by a newer host"
    );
    assert_eq!(
        sent(&scene.asks(OTHER, MessageKind::SessionStart, "c")),
        ["1 session.start c>"]
    );
}

// proves RL-8
#[test]
fn a_request_is_given_up_after_its_time_and_its_late_answer_is_nobodys() {
    let mut scene = Scene::full();
    scene.asks(AGENT, MessageKind::ToolCall, "a");
    scene.passes(10);
    scene.asks(AGENT, MessageKind::AgentMessage, "words");
    scene.asks(OTHER, MessageKind::SessionStart, "b");
    assert_eq!(sent(&scene.passes(19)), none());
    assert_eq!(scene.room.deadline(), Some(Duration::from_secs(30)));
    let step = scene.passes(1);
    assert_eq!(sent(&step), ["2 TOOL_EXECUTION_FAILED >a"]);
    let why = &step.deliveries[0].envelope.payload["message"];
    assert_eq!(why, "host did not answer in 30 s");
    assert_eq!(noted(&step), ["internal request.timeout 1", "out error 1"]);

    let late = scene.answers(MessageKind::ToolResult, "a");
    assert_eq!(
        noted(&late),
        ["in tool.result host", "internal reply.dropped host"]
    );
    assert_eq!(sent(&late), none());
    let again = scene.asks(AGENT, MessageKind::ToolCall, "a");
    assert_eq!(
        sent(&again),
        ["1 tool.call relay-1>"],
        "a late answer cannot be taken for its"
    );
    let refused = scene.answers(MessageKind::Error, "words");
    assert_eq!(sent(&refused), ["2 UNKNOWN_TOOL >words"]);
    let step = scene.passes(10);
    assert_eq!(sent(&step), ["3 TOOL_EXECUTION_FAILED >b"]);
    assert_eq!(
        noted(&step)[..2],
        ["in session.start 2", "out session.start host"]
    );
    assert_eq!(
        sent(&scene.asks(OTHER, MessageKind::SessionStart, "c")),
        ["1 session.start c>"]
    );
}

// proves RL-4
#[test]
fn a_newer_host_takes_the_place_of_the_older() {
    let mut scene = Scene::full();
    scene.asks(AGENT, MessageKind::ToolCall, "a");
    let step = scene.enters(9, RelayRole::Host);
    let wanted = [
        "1 SESSION_NOT_ACTIVE >",
        "2 SESSION_NOT_ACTIVE >a",
        "9 relay.joined >join",
    ];
    assert_eq!(sent(&step), wanted);
    assert_eq!(step.closes, [(HOST, Disconnected::Replaced)]);
    assert!(noted(&step).contains(&"internal relay.replaced host".to_owned()));
    assert_eq!(scene.room.role(HOST), None);
    assert_eq!(scene.room.host(), Some((9, HostKind::Socket)));
    assert_eq!(scene.room.agents(), 2, "several agents may be there");
    let twice = scene.enters(9, RelayRole::Host);
    assert_eq!(sent(&twice), ["9 relay.joined >join"]);
    assert_eq!(
        noted(&twice),
        ["in relay.join host", "out relay.joined host"]
    );
}

#[test]
fn what_an_agent_asked_that_left_is_nobodys_but_a_session_begins_all_the_same() {
    let mut scene = Scene::full();
    scene.asks(AGENT, MessageKind::ToolCall, "a");
    scene.asks(AGENT, MessageKind::SessionStart, "b");
    assert_eq!(sent(&scene.leaves(AGENT)), none());
    assert_eq!(sent(&scene.answers(MessageKind::ToolResult, "a")), none());
    let step = scene.answers(MessageKind::SessionStarted, "b");
    assert_eq!(step.log, Move::Begins(Some("s-1".to_owned())));
    assert_eq!(sent(&step), none());
    assert_eq!(*scene.room.study(), Study::Open("s-1".to_owned()));
}

// proves RL-13
#[test]
fn a_host_that_answers_without_naming_the_request_begins_and_ends_a_session_too() {
    let mut scene = Scene::full();
    scene.asks(AGENT, MessageKind::SessionStart, "b");
    let step = scene.says(HOST, message(MessageKind::SessionStarted, &json!({})));
    assert_eq!(step.log, Move::Begins(None));
    assert_eq!(sent(&step), ["2 session.started >", "3 session.started >"]);
    assert_eq!(sent(&scene.passes(60)), none());
    scene.asks(OTHER, MessageKind::SessionEnd, "c");
    let step = scene.says(HOST, message(MessageKind::SessionEnded, &json!({})));
    assert_eq!(step.log, Move::Ends);
    assert_eq!(step.deliveries[0].envelope.payload["sessionId"], "s-1");
    assert_eq!(sent(&scene.passes(60)), none());

    let by_itself = scene.says(HOST, message(MessageKind::SessionEnded, &json!({"x": 1})));
    assert_eq!(by_itself.log, Move::Stays);
    assert_eq!(
        by_itself.deliveries[0].envelope.payload.get("logFile"),
        None
    );
}

#[test]
fn a_session_that_is_refused_leaves_its_rows_where_all_rows_go() {
    let mut scene = Scene::full().studies();
    scene.asks(AGENT, MessageKind::SessionStart, "b");
    let step = scene.answers(MessageKind::Error, "b");
    assert_eq!(step.log, Move::Stays);
    let rows = [
        "in session.start 1",
        "out session.start host",
        "in error host",
        "out error 1",
    ];
    assert_eq!(noted(&step), rows);
    assert_eq!(*scene.room.study(), Study::Open("s-1".to_owned()));
    assert_eq!(
        sent(&scene.asks(AGENT, MessageKind::SessionEnd, "c")),
        ["1 session.end c>"]
    );
}

#[test]
fn an_agent_has_no_more_open_than_it_may_and_a_room_no_more_members() {
    let rules = Rules {
        max_open: 2,
        max_members: 3,
        ..RULES
    };
    let mut scene = Scene::empty(rules).with_all();
    for id in ["a", "b"] {
        scene.asks(AGENT, MessageKind::ToolCall, id);
    }
    scene.asks(AGENT, MessageKind::AgentMessage, "words count for nothing");
    let step = scene.asks(AGENT, MessageKind::ToolCall, "c");
    assert_eq!(sent(&step), ["2 TOOL_EXECUTION_FAILED >c"]);
    assert_eq!(
        scene.asks(OTHER, MessageKind::ToolCall, "c").deliveries[0].to,
        HOST
    );
    scene.answers(MessageKind::ToolResult, "a");
    assert_eq!(
        scene.asks(AGENT, MessageKind::ToolCall, "d").deliveries[0].to,
        HOST
    );

    let refusal = scene.room.has_place(9, RelayRole::Agent).unwrap_err();
    assert_eq!(refusal.code, RelayCode::SessionNotActive);
    assert_eq!(scene.room.has_place(9, RelayRole::Host), Ok(()));
    assert_eq!(scene.room.has_place(AGENT, RelayRole::Agent), Ok(()));
}

#[test]
fn words_that_an_error_could_answer_are_forgotten_when_they_are_too_many() {
    let mut scene = Scene::full();
    for n in 0..300 {
        scene.asks(AGENT, MessageKind::AgentMessage, &format!("w{n}"));
    }
    assert_eq!(sent(&scene.answers(MessageKind::Error, "w0")), none());
    assert_eq!(
        sent(&scene.answers(MessageKind::Error, "w299")),
        ["2 UNKNOWN_TOOL >w299"]
    );
}

// What is open is answered once when nothing can be kept, and only what is so anyway stays.
#[test]
fn a_step_that_cannot_be_kept_stops_the_study_and_answers_everybody() {
    let mut scene = Scene::full().studies();
    scene.asks(AGENT, MessageKind::ToolCall, "a");
    let reply = message(MessageKind::ToolResult, &json!({}));
    let step = scene
        .room
        .said(HOST, reply.replying_to(Some("a".to_owned())), scene.now);
    let instead = scene.room.failed(&step, "no room");
    let wanted = [
        "1 TOOL_EXECUTION_FAILED >",
        "2 TOOL_EXECUTION_FAILED >a",
        "3 TOOL_EXECUTION_FAILED >",
    ];
    assert_eq!(sent(&instead), wanted);
    assert!(instead.rows.is_empty());
    let why = &instead.deliveries[0].envelope.payload["message"];
    assert_eq!(why, "the study log cannot be written: no room");
    scene.happens(instead);
    assert_eq!(
        sent(&scene.asks(AGENT, MessageKind::ToolCall, "b")),
        ["2 SESSION_NOT_ACTIVE >b"]
    );
    assert_eq!(
        sent(&scene.asks(AGENT, MessageKind::SnapshotGet, "c")),
        ["1 snapshot.get c>"]
    );
    scene.asks(AGENT, MessageKind::SessionStart, "d");
    scene.answers(MessageKind::SessionStarted, "d");
    assert_eq!(
        sent(&scene.asks(AGENT, MessageKind::ToolCall, "e")),
        ["1 tool.call e>"]
    );
}

#[test]
fn outside_a_study_only_who_asked_is_told_that_nothing_can_be_kept() {
    let scene = Scene::full();
    let call = message(MessageKind::ToolCall, &fitting(MessageKind::ToolCall)).with_id("a");
    let step = scene.room.said(AGENT, call, scene.now);
    let instead = scene.room.failed(&step, "no room");
    assert_eq!(sent(&instead), ["2 TOOL_EXECUTION_FAILED >a"]);
    assert_eq!(instead.changes, []);

    let asked = message(MessageKind::RelayJoin, &json!({"role": "host"})).with_id("j");
    let step = scene.room.joined(9, RelayRole::Host, &asked, scene.now);
    let instead = scene.room.failed(&step, "no room");
    assert_eq!(sent(&instead), ["9 TOOL_EXECUTION_FAILED >j"]);
    assert_eq!(instead.changes, [], "the older host stays");

    let step = scene.room.left(HOST, 0, scene.now);
    let instead = scene.room.failed(&step, "no room");
    assert_eq!(
        instead.changes,
        [Change::Leave(HOST)],
        "who is gone is gone"
    );
}

#[test]
fn a_flood_of_what_is_answered_makes_no_late_answer_somebody_elses() {
    let mut scene = Scene::full();
    scene.asks(AGENT, MessageKind::ToolCall, "late");
    scene.passes(30);
    for n in 0..3000 {
        let id = format!("{n}");
        scene.asks(AGENT, MessageKind::AgentMessage, &format!("w{n}"));
        scene.asks(AGENT, MessageKind::SnapshotGet, &id);
        scene.answers(MessageKind::SnapshotState, &id);
    }
    let asked = scene.asks(OTHER, MessageKind::ToolCall, "late");
    assert_eq!(sent(&asked), ["1 tool.call relay-1>"]);
    assert_eq!(
        sent(&scene.answers(MessageKind::ToolResult, "late")),
        none()
    );
}
