//! What grows is bounded.

use serde_json::{Value, json};

use crate::theater::Theater;

/// A message may have so many bytes (RL-2).
const MAX_MESSAGE: usize = 1024 * 1024;

// proves RL-21
#[test]
fn the_history_keeps_its_end_within_a_bound() {
    let mut theater = Theater::started();
    for at in 0..1_050 {
        theater.hear("agent.message", json!({"text": format!("message {at}")}));
    }
    let snapshot = theater.snapshot();
    let history = snapshot["messageHistory"].as_array().unwrap();
    assert_eq!(history.len(), 1_000);
    assert_eq!(history[999]["text"], "message 1049");
    assert_eq!(history[0]["text"], "message 50");
    // An id is never used again.
    assert_eq!(history[999]["id"], "h-1051");
}

// proves RL-21
#[test]
fn a_screen_that_is_as_large_as_agents_can_make_it_fits_one_message() {
    let mut theater = Theater::at("seat");
    let control = |len: usize| "\u{1}".repeat(len);
    let operators = ["eq", "neq", "contains", "gt", "lt", "gte", "lte"];
    let text = "é\u{1}".repeat(8_000);
    for _ in 0..40 {
        theater.hear("agent.message", json!({"text": text}));
    }
    for field in ["seat", "row", "zone"] {
        for operator in operators {
            let value = control(200);
            theater.ok(
                "filter",
                json!({"field": field, "operator": operator, "value": value}),
            );
        }
        let values: Vec<_> = (0..20).map(|at| format!("{}{at}", control(197))).collect();
        theater.ok(
            "filter",
            json!({"field": field, "operator": "in", "value": values}),
        );
    }
    assert_eq!(
        theater.spec()["modification"]["filter"]
            .as_array()
            .unwrap()
            .len(),
        8
    );
    let items: Vec<_> = theater.spec()["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| json!({"itemId": item["id"], "value": control(200)}))
        .collect();
    theater.ok("augment", json!({"items": items}));
    theater.ok("clearModification", json!({"type": "filter"}));
    let ids: Vec<_> = items.iter().map(|item| item["itemId"].clone()).collect();
    theater.ok("highlight", json!({"itemIds": ids, "style": "glow"}));

    let bytes = Value::Object(theater.snapshot()).to_string().len();
    assert!(bytes > 200_000 && bytes < MAX_MESSAGE, "{bytes}");
}
