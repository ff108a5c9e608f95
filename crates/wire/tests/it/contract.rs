//! The types of the contract: their JSON, their schema, and a turn collected into one answer.

use std::sync::Arc;
use std::time::Duration;

use samovar_core::history::{MessageRow, SessionRow, Totals};
use samovar_core::tool::Origin;
use samovar_core::{
    AgentPath, Closer, Code, Effect, Error, Event, FinishReason, Kind, Message, Millis, Outcome,
    Part, Role, Seq, SessionId, Status, Title, ToolSpec,
};
use samovar_wire::agent::{
    AgentMessage, AgentStreamEvent, CancelResult, Collector, CreateSessionParams, ErrorBody,
    PaginatedResult, PaginationParams, Profile, SendMessageResult, SessionInfo, Stats,
    ToolDefinition,
};
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::log::{
    Frame, TURN, call_id, call_part, closed, encode, event, event_of, finished, frames, log,
    message, reset, said, started, step, stopped, text, text_part, turn, usage,
};

/// Checks a type's JSON, that it is read back, and that its schema names all of its keys.
fn check<T>(value: &T, expected: &Value)
where
    T: Serialize + DeserializeOwned + JsonSchema,
{
    let json = serde_json::to_string(value).expect("it is JSON");
    assert_eq!(json, expected.to_string());
    let again: T = serde_json::from_str(&json).expect("it is read back");
    assert_eq!(&serde_json::to_value(again).expect("it is JSON"), expected);

    let schema = schema_for!(T);
    let known = schema.as_value()["properties"]
        .as_object()
        .expect("an object's schema");
    for key in expected.as_object().expect("an object").keys() {
        assert!(known.contains_key(key), "{key} is not in {schema:?}");
    }
}

fn session() -> SessionRow {
    SessionRow {
        id: SessionId::new("чат №1").expect("a short id"),
        model: "qwen-max".to_owned(),
        route: Some("ollama/qwen-max".to_owned()),
        title: Title::new("Tea").ok(),
        agent: "master".to_owned(),
        system_prompt: None,
        approval: None,
        begun_by: None,
        tainted: true,
        metadata: Map::from_iter([("source".to_owned(), json!("page"))]),
        created_at: Millis(1),
        updated_at: Millis(2),
        message_count: 3,
        preview: Some("Which tea".to_owned()),
        usage: usage(4, 5),
        context: None,
        projected: Seq(6),
    }
}

// proves AS-18
#[test]
fn a_session_has_its_id_twice_the_model_as_it_was_asked_for_and_its_metadata() {
    let expected = json!({
        "id": "чат №1",
        "sessionId": "чат №1",
        "title": "Tea",
        "model": "qwen-max",
        "agent": "master",
        "tainted": true,
        "createdAt": 1,
        "updatedAt": 2,
        "messageCount": 3,
        "preview": "Which tea",
        "tokens": {"total": 9, "input": 4, "output": 5},
        "metadata": {"source": "page", "model": "qwen-max"},
    });
    let info = SessionInfo::from(&session());
    check(&info, &expected);
    let untitled = SessionRow {
        title: None,
        ..session()
    };
    assert_eq!(SessionInfo::from(&untitled).title, None);
    check(
        &PaginatedResult {
            items: vec![info],
            total_count: 9,
        },
        &json!({"items": [expected], "totalCount": 9}),
    );
}

fn row(message: Message) -> AgentMessage {
    AgentMessage::from(&MessageRow {
        session: SessionId::new("s").expect("a short id"),
        turn: Some(turn(TURN)),
        agent: AgentPath::root("master"),
        has_begun: true,
        place: Seq::default(),
        message: Arc::new(message),
    })
}

// proves AS-17
#[test]
fn a_message_has_its_text_its_calls_and_its_parts_without_what_only_the_provider_reads() {
    let mut whole = message(
        "m1",
        vec![
            Part::Reasoning {
                text: "Hm".to_owned(),
                provider_state: Some(json!("signature")),
            },
            text_part("Let me "),
            text_part("look."),
            call_part("c1"),
            Part::Data {
                name: "chart".to_owned(),
                data: json!([1]),
            },
        ],
    );
    whole.metadata.insert("origin".to_owned(), json!("page"));
    let call = json!({"id": "c1", "name": "look", "args": {"at": "c1"}});
    check(
        &row(whole),
        &json!({
            "id": "m1",
            "sessionId": "s",
            "role": "assistant",
            "content": "Let me look.",
            "toolCalls": [call],
            "tokenUsage": 15,
            "createdAt": 2000,
            "parts": [
                {"type": "reasoning", "text": "Hm"},
                {"type": "text", "text": "Let me "},
                {"type": "text", "text": "look."},
                {"type": "call", "id": "c1", "name": "look", "args": {"at": "c1"}},
                {"type": "data", "name": "chart", "data": [1]},
            ],
            "metadata": {"origin": "page", "agent": of_master(), "turnId": TURN},
        }),
    );
}

// proves AS-17
#[test]
fn a_result_is_a_message_of_role_tool_that_says_whether_the_call_failed() {
    let rows = [
        (
            Outcome::done("seen").with_data(json!({"n": 1})),
            false,
            "done",
        ),
        (Outcome::failed("no such place"), true, "failed"),
        (
            Outcome::new(Status::Unknown, "outcome unknown"),
            true,
            "unknown",
        ),
    ];
    for (outcome, is_error, status) in rows {
        let text = outcome.text.clone();
        let mut part = json!({
            "type": "outcome", "call": "c1", "name": "look", "status": status, "text": text,
        });
        if let Some(data) = &outcome.data {
            part["data"] = data.clone();
        }
        let part_of_log = Part::Outcome {
            call: call_id("c1"),
            name: "look".to_owned(),
            outcome,
        };
        let answer = Message {
            role: Role::Tool,
            usage: None,
            ..message("c1", vec![part_of_log])
        };
        check(
            &row(answer),
            &json!({
                "id": "c1",
                "sessionId": "s",
                "role": "tool",
                "content": text,
                "toolCallId": "c1",
                "name": "look",
                "isError": is_error,
                "tokenUsage": 0,
                "createdAt": 2000,
                "parts": [part],
                "metadata": {"agent": of_master(), "turnId": TURN},
            }),
        );
    }
}

// proves AS-3
#[test]
fn an_error_has_a_sentence_a_code_and_facts_when_there_are_any() {
    let error = Error::new(Code::UnknownSession, "no session \"x\"");
    check(
        &ErrorBody::from(&error),
        &json!({"error": "no session \"x\"", "code": "unknown_session"}),
    );
    let error = error.with_details(json!({"sessionId": "x"}));
    check(
        &ErrorBody::from(&error),
        &json!({
            "error": "no session \"x\"", "code": "unknown_session", "details": {"sessionId": "x"},
        }),
    );
}

#[test]
fn tools_totals_and_cancelling_have_the_shapes_of_the_contract() {
    let spec = ToolSpec {
        name: "look".to_owned(),
        description: "Looks.".to_owned(),
        parameters: json!({"type": "object"}),
        effect: Effect::Read,
        asks: None,
        origin: Origin::BuiltIn,
        closed: false,
        timeout: Duration::from_secs(1),
        sharing: samovar_core::tool::Sharing::Parallel,
        closer: Closer::Tool,
    };
    check(
        &ToolDefinition::from(&spec),
        &json!({"name": "look", "description": "Looks.", "parameters": {"type": "object"}}),
    );
    let totals = Totals {
        sessions: 1,
        messages: 2,
        usage: usage(3, 4),
    };
    check(
        &Stats::from(totals),
        &json!({"sessions": 1, "messages": 2, "tokens": {"total": 7, "input": 3, "output": 4}}),
    );
    check(
        &CancelResult { cancelled: true },
        &json!({"cancelled": true}),
    );
    check(&CreateSessionParams::default(), &json!({}));
}

#[test]
fn the_schema_of_a_bounded_number_names_its_bounds() {
    let schema = schema_for!(PaginationParams);
    let limit = &schema.as_value()["properties"]["limit"];
    assert_eq!(
        (&limit["minimum"], &limit["maximum"]),
        (&json!(0), &json!(200)),
        "{limit}"
    );
}

fn collect(events: &[Event]) -> Vec<SendMessageResult> {
    let mut collector = Collector::new(turn(TURN));
    events
        .iter()
        .filter_map(|event| collector.collect(event))
        .collect()
}

// proves AS-5
#[test]
fn a_collected_turn_is_what_its_stream_says_with_the_last_message_and_the_cost() {
    let mut events = log(vec![
        started(),
        step(1, 1),
        text("Lo"),
        reset(1, usage(2, 1)),
        step(1, 2),
        said("m1", vec![text_part("Looking."), call_part("c1")]),
        closed("c1", "seen"),
        step(2, 1),
        said("m2", vec![text_part("It is "), text_part("there.")]),
        finished(FinishReason::Model("end_turn".to_owned()), 2, usage(22, 11)),
        stopped(),
    ]);
    events.insert(9, event_of("other", 99, said("m3", vec![text_part("no")])));

    let results = collect(&events);

    assert_eq!(results.len(), 1);
    let said: Vec<Value> = said_by_stream(&events);
    check(
        &results[0],
        &json!({
            "turnId": "t1",
            "messageId": "m2",
            "text": "It is there.",
            "events": said,
            "finishReason": "end_turn",
            "usage": {"total": 33, "input": 22, "output": 11},
        }),
    );
}

fn said_by_stream(events: &[Event]) -> Vec<Value> {
    let mut frames = frames(&encode(Profile::Default, events));
    assert_eq!(
        frames.pop().map(|done| done.data).as_deref(),
        Some("[DONE]")
    );
    frames.iter().map(Frame::json).collect()
}

#[test]
fn a_turn_that_finished_no_message_is_collected_without_one() {
    let failed = Kind::TurnFinished {
        reason: FinishReason::Error,
        iterations: 1,
        usage: usage(0, 0),
        fault: None,
        bill: samovar_core::Bill::default(),
    };
    let input = Kind::finished(Message {
        role: Role::User,
        ..message("u1", vec![text_part("look")])
    });
    let result = collect(&log(vec![input, started(), step(1, 1), text("Lo"), failed])).remove(0);
    assert_eq!((result.message_id, result.text.as_str()), (None, ""));
    assert_eq!(result.finish_reason, "error");

    let mut events = log(vec![started(), step(1, 1)]);
    events.push(Event {
        turn: None,
        ..event(3, Kind::SessionClosed)
    });
    assert_eq!(collect(&events).remove(0).finish_reason, "cancelled");
}

#[test]
fn every_event_of_a_stream_is_read_back_as_it_was_written() {
    let kinds = vec![
        started(),
        step(1, 1),
        text("Hi"),
        said("m1", vec![text_part("Hi"), call_part("c1")]),
        closed("c1", "seen"),
        stopped(),
    ];
    for said in said_by_stream(&log(kinds)) {
        let read: AgentStreamEvent<'static> = serde_json::from_value(said.clone()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), said);
    }
}

/// What the metadata of a message of the session's own agent says of it.
fn of_master() -> Value {
    json!({
        "kind": "master", "name": "master", "displayName": "Master", "depth": 0, "path": ["master"],
    })
}
