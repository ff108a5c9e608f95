//! Calls in the default profile.

use samovar_core::event::Fragment;
use samovar_core::{FinishReason, Kind, Outcome, Part, Status};
use serde_json::json;

use crate::log::{
    added, call_id, call_part, closed, delta, finished, log, said, started, step, text_part, usage,
};
use crate::stream::{check, lines};

// proves AS-5
#[test]
fn a_tool_round_shows_each_call_once_its_arguments_are_complete_and_then_its_result() {
    check(
        vec![
            delta(
                "m1",
                0,
                Fragment::Call {
                    id: call_id("c1"),
                    name: "look".to_owned(),
                },
            ),
            delta("m1", 0, Fragment::Args("{\"at\":\"c1\"}".to_owned())),
            added("m1", 0, call_part("c1")),
            said("m1", vec![call_part("c1")]),
            closed("c1", "seen"),
            step(2, 1),
            delta("m2", 0, Fragment::Text("Done.".to_owned())),
            said("m2", vec![text_part("Done.")]),
            finished(FinishReason::Model("end_turn".to_owned()), 2, usage(20, 10)),
        ],
        &[
            r#"7.5 {"type":"tool_call_start","id":"c1","name":"look","args":{"at":"c1"}}"#,
            r#"7.7 {"type":"tool_call_result","id":"c1","name":"look","result":"seen","status":"done","tokens":15}"#,
            r#"7.8 {"type":"iteration","iteration":2,"maxIterations":5,"tokens":15}"#,
            r#"7.9 {"type":"text_delta","content":"Done."}"#,
            r#"7.11 {"type":"completed","finishReason":"end_turn","totalIterations":2,"tokens":30}"#,
            "[DONE]",
        ],
    );
}

// proves AS-5
#[test]
fn results_come_in_the_order_of_the_calls_whoever_was_faster() {
    check(
        vec![
            said(
                "m1",
                vec![call_part("c1"), call_part("c2"), call_part("c3")],
            ),
            closed("c3", "three"),
            closed("c2", "two"),
            closed("c1", "one"),
            step(2, 1),
        ],
        &[
            r#"7.3.1 {"type":"tool_call_start","id":"c1","name":"look","args":{"at":"c1"}}"#,
            r#"7.3.2 {"type":"tool_call_start","id":"c2","name":"look","args":{"at":"c2"}}"#,
            r#"7.3 {"type":"tool_call_start","id":"c3","name":"look","args":{"at":"c3"}}"#,
            r#"7.6.1 {"type":"tool_call_result","id":"c1","name":"look","result":"one","status":"done","tokens":15}"#,
            r#"7.6.2 {"type":"tool_call_result","id":"c2","name":"look","result":"two","status":"done","tokens":15}"#,
            r#"7.6 {"type":"tool_call_result","id":"c3","name":"look","result":"three","status":"done","tokens":15}"#,
            r#"7.7 {"type":"iteration","iteration":2,"maxIterations":5,"tokens":15}"#,
        ],
    );
}

#[test]
fn the_finished_message_decides_the_order_of_calls_that_came_live_in_another() {
    check(
        vec![
            added("m1", 1, call_part("c2")),
            added("m1", 0, call_part("c1")),
            said("m1", vec![call_part("c1"), call_part("c2")]),
            closed("c2", "two"),
            closed("c1", "one"),
        ],
        &[
            r#"7.3 {"type":"tool_call_start","id":"c2","name":"look","args":{"at":"c2"}}"#,
            r#"7.4 {"type":"tool_call_start","id":"c1","name":"look","args":{"at":"c1"}}"#,
            r#"7.7.1 {"type":"tool_call_result","id":"c1","name":"look","result":"one","status":"done","tokens":15}"#,
            r#"7.7 {"type":"tool_call_result","id":"c2","name":"look","result":"two","status":"done","tokens":15}"#,
        ],
    );
}

#[test]
fn a_call_is_answered_once_and_one_that_was_never_shown_not_at_all() {
    check(
        vec![
            said("m1", vec![call_part("c1"), call_part("c2")]),
            closed("c2", "first"),
            closed("c2", "second"),
            closed("nobody's", "?"),
            closed("c1", "one"),
            closed("c1", "again"),
        ],
        &[
            r#"7.3.1 {"type":"tool_call_start","id":"c1","name":"look","args":{"at":"c1"}}"#,
            r#"7.3 {"type":"tool_call_start","id":"c2","name":"look","args":{"at":"c2"}}"#,
            r#"7.7.1 {"type":"tool_call_result","id":"c1","name":"look","result":"one","status":"done","tokens":15}"#,
            r#"7.7 {"type":"tool_call_result","id":"c2","name":"look","result":"first","status":"done","tokens":15}"#,
        ],
    );
}

#[test]
fn arguments_that_are_no_object_and_results_of_failed_calls_are_shown_as_they_are() {
    let mut odd = call_part("c1");
    if let Part::Call(call) = &mut odd {
        call.args = json!("{\"at\": ");
    }
    let failed = Kind::CallClosed {
        call: call_id("c1"),
        name: "look".to_owned(),
        outcome: Outcome::new(Status::Failed, "not an object").with_data(json!({"at": 7})),
    };
    check(
        vec![said("m1", vec![odd]), failed],
        &[
            r#"7.3 {"type":"tool_call_start","id":"c1","name":"look","args":"{\"at\": "}"#,
            r#"7.4 {"type":"tool_call_result","id":"c1","name":"look","result":"not an object","status":"failed","tokens":15}"#,
        ],
    );
}

#[test]
fn a_result_that_was_held_back_is_not_lost_when_something_ends_with_a_call_open() {
    let rows = [
        (
            step(2, 1),
            r#"{"type":"iteration","iteration":2,"maxIterations":5,"tokens":15}"#,
        ),
        (
            finished(FinishReason::Budget, 3, usage(10, 5)),
            r#"{"type":"completed","finishReason":"budget","totalIterations":3,"tokens":15}"#,
        ),
        (
            Kind::SessionClosed,
            r#"{"type":"completed","finishReason":"cancelled","totalIterations":1,"tokens":15}"#,
        ),
    ];
    for (end, last) in rows {
        let calls = vec![call_part("c1"), call_part("c2")];
        let kinds = vec![
            started(),
            step(1, 1),
            said("m1", calls),
            closed("c2", "two"),
            end,
        ];
        let held_back = r#"7.5.1 {"type":"tool_call_result","id":"c2","name":"look","result":"two","status":"done","tokens":15}"#;
        assert_eq!(
            lines(&log(kinds))[3..5],
            [held_back, &format!("7.5 {last}")]
        );
    }
}
