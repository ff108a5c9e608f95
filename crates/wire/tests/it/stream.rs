//! The default profile.

use samovar_core::error::FaultCode;
use samovar_core::event::{Fault, Fragment};
use samovar_core::{
    Code, Error, Event, FinishReason, Kind, Message, Part, Role, SessionChange, Usage,
};
use samovar_wire::agent::{Encoder, Profile};
use samovar_wire::sse::FrameId;
use serde_json::{Value, json};

use crate::log::{
    added, call_id, call_part, closed, delta, encode, encode_with, event, event_of, finished,
    frames, log, message, reset, said, speaks, started, step, stopped, text, text_part, turn,
    usage,
};

/// What the stream says, a line for each frame: its id and its data.
pub(crate) fn lines(events: &[Event]) -> Vec<String> {
    let frames = frames(&encode(Profile::Default, events)).into_iter();
    frames
        .map(|frame| {
            let id = frame.id.filter(|_| frame.data != "[DONE]");
            id.map_or(frame.data.clone(), |id| format!("{id} {}", frame.data))
        })
        .collect()
}

/// Checks what comes behind the start of a first pass, 7.1 and 7.2.
pub(crate) fn check(kinds: Vec<Kind>, expected: &[&str]) {
    let mut whole = vec![started(), step(1, 1)];
    whole.extend(kinds);
    assert_eq!(lines(&log(whole))[1..], *expected);
}

// proves AS-4, AS-5
#[test]
fn a_turn_is_frames_of_one_line_of_json_with_the_ids_of_its_events_and_done_at_last() {
    let turn = log(vec![
        started(),
        step(1, 1),
        speaks("m1"),
        text("Hi,\n"),
        text("\"Åsa\""),
        said("m1", vec![text_part("Hi,\n\"Åsa\"")]),
        stopped(),
    ]);

    let expected = [
        "data: {\"type\":\"iteration\",\"iteration\":1,\"maxIterations\":5,\"tokens\":0}\nid: 7.2\n\n",
        "data: {\"type\":\"text_delta\",\"content\":\"Hi,\\n\"}\nid: 7.4\n\n",
        "data: {\"type\":\"text_delta\",\"content\":\"\\\"Åsa\\\"\"}\nid: 7.5\n\n",
        "data: {\"type\":\"completed\",\"finishReason\":\"stop\",\"totalIterations\":1,\"tokens\":15}\nid: 7.7\n\n",
        "data: [DONE]\nid: 7.7\n\n",
    ];
    assert_eq!(encode(Profile::Default, &turn), expected.concat());
}

#[test]
fn what_no_live_event_has_shown_comes_with_the_finished_message_and_nothing_twice() {
    let whole = vec![
        text_part("Ёж, "),
        call_part("c1"),
        text_part("then."),
        call_part("c2"),
    ];
    let nothing_live = [
        r#"{"type":"text_delta","content":"Ёж, "}"#,
        r#"{"type":"tool_call_start","id":"c1","name":"look","args":{"at":"c1"}}"#,
        r#"{"type":"text_delta","content":"then."}"#,
        r#"{"type":"tool_call_start","id":"c2","name":"look","args":{"at":"c2"}}"#,
    ];
    let some_live = [
        r#"{"type":"text_delta","content":"Ё"}"#,
        r#"{"type":"text_delta","content":"ж, "}"#,
        nothing_live[1],
        nothing_live[2],
        nothing_live[3],
    ];
    let rows: [(Vec<Kind>, &[&str]); 4] = [
        (vec![], &nothing_live),
        (vec![text("Ё")], &some_live),
        (
            vec![text("Ё"), text("ж, "), added("m1", 1, call_part("c1"))],
            &some_live,
        ),
        (
            vec![text("Ё"), added("m1", 0, text_part("Ёж, ")), text("")],
            &some_live,
        ),
    ];
    for (live, expected) in rows {
        let mut kinds = vec![started(), step(1, 1), speaks("m1")];
        kinds.extend(live);
        kinds.push(said("m1", whole.clone()));
        let shown: Vec<_> = frames(&encode(Profile::Default, &log(kinds)))
            .into_iter()
            .map(|f| f.data)
            .collect();
        assert_eq!(shown[1..], *expected);
    }
}

#[test]
fn text_that_was_shown_of_one_message_is_not_taken_for_text_of_another() {
    check(
        vec![text("Hello"), said("m2", vec![text_part("Hello")])],
        &[
            r#"7.3 {"type":"text_delta","content":"Hello"}"#,
            r#"7.4 {"type":"text_delta","content":"Hello"}"#,
        ],
    );
}

// proves AS-6
#[test]
fn the_finish_reason_is_the_providers_word_or_ours_when_we_cut_the_turn() {
    let rows = [
        (FinishReason::Model("end_turn".to_owned()), "end_turn"),
        (FinishReason::Model("Länge".to_owned()), "Länge"),
        (FinishReason::MaxIterations, "max_iterations"),
        (FinishReason::Budget, "budget"),
        (FinishReason::Cancelled, "cancelled"),
    ];
    for (reason, word) in rows {
        let last = format!(
            r#"7.3 {{"type":"completed","finishReason":"{word}","totalIterations":4,"tokens":3}}"#
        );
        check(vec![finished(reason, 4, usage(2, 1))], &[&last, "[DONE]"]);
    }
}

// proves AS-5
#[test]
fn a_turn_that_fails_ends_with_an_error_and_its_code() {
    let fault = Fault {
        code: FaultCode::StreamCut,
        message: "the answer broke off; send the message again".to_owned(),
    };
    let fails = |fault| Kind::TurnFinished {
        reason: FinishReason::Error,
        iterations: 1,
        usage: usage(2, 1),
        fault,
        bill: samovar_core::Bill::default(),
    };
    check(
        vec![text("Hal"), fails(Some(fault))],
        &[
            r#"7.3 {"type":"text_delta","content":"Hal"}"#,
            r#"7.4 {"type":"error","message":"the answer broke off; send the message again","code":"stream_cut","tokens":3}"#,
            "[DONE]",
        ],
    );
    check(
        vec![fails(None)],
        &[
            r#"7.3 {"type":"error","message":"the turn ended with an error; its earlier messages are kept","code":"internal","tokens":3}"#,
            "[DONE]",
        ],
    );
}

// proves AS-7
#[test]
fn a_restarted_pass_repeats_its_number_and_nothing_of_the_void_attempt_is_taken_up() {
    check(
        vec![
            text("Hal"),
            added("m1", 1, call_part("c1")),
            reset(1, usage(4, 2)),
            step(1, 2),
            text("Hallo"),
            added("m1", 1, call_part("c2")),
            said("m1", vec![text_part("Hallo!"), call_part("c2")]),
            closed("c2", "two"),
        ],
        &[
            r#"7.3 {"type":"text_delta","content":"Hal"}"#,
            r#"7.4 {"type":"tool_call_start","id":"c1","name":"look","args":{"at":"c1"}}"#,
            r#"7.6 {"type":"iteration","iteration":1,"maxIterations":5,"tokens":6}"#,
            r#"7.7 {"type":"text_delta","content":"Hallo"}"#,
            r#"7.8 {"type":"tool_call_start","id":"c2","name":"look","args":{"at":"c2"}}"#,
            r#"7.9 {"type":"text_delta","content":"!"}"#,
            r#"7.10 {"type":"tool_call_result","id":"c2","name":"look","result":"two","status":"done","tokens":21}"#,
        ],
    );
}

// proves AS-8
#[test]
fn an_old_client_sees_nothing_but_the_six_types() {
    let mut child = event_of("child", 20, text("hidden"));
    child.agent = child.agent.child("browser");
    let note = Message {
        role: Role::User,
        ..message("u1", vec![text_part("hidden")])
    };
    let answer = Message {
        role: Role::Tool,
        ..message("c1", vec![text_part("hidden")])
    };
    let hidden = vec![
        Kind::SessionOpened {
            model: "hidden".to_owned(),
            route: None,
            metadata: serde_json::Map::new(),
            system_prompt: None,
            approval: None,
            begun_by: None,
        },
        speaks("m1"),
        delta("m1", 0, Fragment::Reasoning("hidden".to_owned())),
        added("m1", 0, reasoning("hidden")),
        Kind::finished(note),
        Kind::finished(answer),
        said("m1", vec![reasoning("hidden"), data("hidden")]),
        Kind::CallApproved {
            call: call_id("c1"),
            approval: samovar_core::ApprovalId::new("ask_1").unwrap(),
            args_hash: String::new(),
            answer: samovar_core::Answer::read("yes", "hidden"),
        },
        Kind::CallStarted {
            call: call_id("c1"),
            name: "hidden".to_owned(),
            effect: samovar_core::Effect::Unsafe,
            args_hash: String::new(),
            closer: samovar_core::Closer::Tool,
            deadline: None,
            probe: None,
            grounds: None,
            tainted: false,
        },
        Kind::StateChanged {
            state: json!("hidden"),
        },
        Kind::SessionChanged(SessionChange {
            model: Some("hidden".to_owned()),
            ..SessionChange::default()
        }),
        Kind::TurnUndone {
            below: Vec::new(),
            messages: 2,
            text: String::new(),
            files: None,
        },
    ];
    let mut events = log(hidden);
    events.push(child);
    assert_eq!(lines(&events), Vec::<String>::new());
}

fn reasoning(text: &str) -> Part {
    Part::Reasoning {
        text: text.to_owned(),
        provider_state: Some(Value::Null),
    }
}

fn data(name: &str) -> Part {
    Part::Data {
        name: name.to_owned(),
        data: Value::Null,
    }
}

#[test]
fn a_turn_that_waits_in_the_queue_is_silent_until_it_starts() {
    let input = Message {
        role: Role::User,
        usage: None,
        ..message("u1", vec![text_part("hidden")])
    };
    let events = [
        event(1, Kind::finished(input)),
        event_of("before", 2, step(3, 1)),
        event_of(
            "before",
            3,
            said("m9", vec![text_part("no"), call_part("c9")]),
        ),
        event_of("before", 4, stopped()),
        event(5, started()),
        event(6, step(1, 1)),
    ];

    let expected = r#"7.6 {"type":"iteration","iteration":1,"maxIterations":5,"tokens":0}"#;
    assert_eq!(lines(&events), [expected]);
}

#[test]
fn nothing_follows_done() {
    let mut encoder = Encoder::new(turn(crate::log::TURN), Profile::Default);
    let whole = encode_with(&mut encoder, &log(vec![started(), step(1, 1), stopped()]));

    assert!(whole.ends_with("data: [DONE]\nid: 7.3\n\n"));
    assert!(encoder.is_over());
    assert_eq!(
        encode_with(&mut encoder, &[event(4, text("more")), event(5, stopped())]),
        ""
    );
    let mut out = Vec::new();
    encoder.abort(&Error::new(Code::StoreFull, "full"), None, &mut out);
    assert_eq!(out, b"");
}

#[test]
fn a_stream_that_must_end_before_its_turn_says_so_and_repeats_the_last_id() {
    for profile in [Profile::Default, Profile::Full] {
        let mut encoder = Encoder::new(turn(crate::log::TURN), profile);
        encode_with(&mut encoder, &log(vec![started(), step(1, 1)]));
        assert!(!encoder.is_over());

        let mut out = Vec::new();
        encoder.abort(
            &Error::new(Code::Unavailable, "the server is stopping"),
            FrameId::read("7.2"),
            &mut out,
        );

        let expected = concat!(
            "data: {\"type\":\"error\",\"message\":\"the server is stopping\",\"code\":\"unavailable\"}\n\n",
            "data: [DONE]\nid: 7.2\n\n",
        );
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        assert!(encoder.is_over());
        assert_eq!(encode_with(&mut encoder, &[event(3, text("more"))]), "");
    }
}

#[test]
fn tokens_are_the_running_total_and_at_last_what_the_turn_says_it_cost() {
    let kinds = vec![
        started(),
        step(1, 1),
        reset(1, usage(3, 0)),
        step(1, 2),
        said("m1", vec![call_part("c1")]),
        closed("c1", "one"),
        step(2, 1),
        finished(
            FinishReason::Budget,
            2,
            Usage {
                cache_read: 9,
                ..usage(40, 2)
            },
        ),
    ];
    let frames = frames(&encode(Profile::Default, &log(kinds)));
    let tokens: Vec<_> = frames[..frames.len() - 1]
        .iter()
        .map(|frame| frame.json()["tokens"].as_u64())
        .collect();
    assert_eq!(
        tokens,
        [Some(0), Some(3), None, Some(18), Some(18), Some(42)]
    );
}
