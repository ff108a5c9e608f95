//! What changes how items are shown.

use serde_json::{Value, json};

use crate::theater::{Came, Theater};

// proves RL-19
#[test]
fn a_filter_compares_by_its_operator() {
    let check = |stage: &str, field: &str, operator: &str, value: Value, expected: &[&str]| {
        let mut theater = Theater::at(stage);
        let params = json!({"field": field, "operator": operator, "value": value});
        let (came, why) = theater.call("filter", params.clone());
        assert_eq!(came, Came::Ok { changed: true }, "{params} {why}");
        assert_eq!(theater.visible(), expected, "{params}");
        assert_eq!(theater.spec()["modification"]["filter"], json!([params]));
        assert!(theater.spec()["items"].as_array().unwrap().len() > expected.len());
    };
    check("movie", "genre", "eq", json!("comedy"), &["m2", "m5"]);
    check(
        "movie",
        "genre",
        "neq",
        json!("Comedy"),
        &["m1", "m3", "m4", "m6", "m7", "m8"],
    );
    check(
        "movie",
        "title",
        "contains",
        json!("THE "),
        &["m1", "m5", "m6", "m8"],
    );
    check("movie", "rating", "gt", json!(8.1), &["m4"]);
    check("movie", "rating", "gte", json!(8.1), &["m3", "m4"]);
    check("movie", "duration", "lt", json!(95), &["m7"]);
    check("movie", "duration", "lte", json!(95.0), &["m7", "m8"]);
    check(
        "movie",
        "genre",
        "in",
        json!(["Drama", "horror"]),
        &["m4", "m8"],
    );
    check("movie", "duration", "in", json!([88, 142]), &["m3", "m7"]);
    check(
        "date",
        "date",
        "gte",
        json!("2026-12-12"),
        &["2026-12-12", "2026-12-13"],
    );
    check("theater", "distance", "lt", json!(1), &["t1"]);
}

// proves RL-9, RL-19
#[test]
fn a_filter_that_compares_what_cannot_be_compared_is_refused() {
    let wrong = [
        ("genre", "gt", json!(5)),
        ("genre", "in", json!("Comedy")),
        ("genre", "in", json!(["Comedy", 1])),
        ("genre", "in", json!([])),
        ("genre", "in", json!(vec!["x"; 21])),
        ("genre", "eq", json!(["Comedy"])),
        ("genre", "eq", json!(null)),
        ("genre", "eq", json!(true)),
        ("genre", "eq", json!({})),
        ("genre", "eq", json!("x".repeat(201))),
        ("rating", "contains", json!("8")),
        ("rating", "contains", json!(8)),
        ("rating", "lt", json!("8")),
        ("price", "lt", json!(8)),
        ("Genre", "eq", json!("Comedy")),
    ];
    let mut theater = Theater::started();
    for (field, operator, value) in wrong {
        let params = json!({"field": field, "operator": operator, "value": value});
        let (came, why) = theater.call("filter", params.clone());
        assert_eq!(came, Came::Refused("INVALID_PARAMS".to_owned()), "{params}");
        assert!(why.len() < 400, "{why}");
    }
    for missing in ["field", "operator", "value"] {
        let mut params = json!({"field": "genre", "operator": "eq", "value": "Comedy"});
        params.as_object_mut().unwrap().remove(missing);
        let (_, why) = theater.call("filter", params);
        assert_eq!(why, format!("filter requires {missing}, which is missing"));
    }
}

// proves RL-19
#[test]
fn filters_hold_together_and_the_order_is_that_of_a_field() {
    let mut theater = Theater::started();
    theater.ok(
        "filter",
        json!({"field": "rating", "operator": "gt", "value": 7}),
    );
    theater.ok(
        "filter",
        json!({"field": "duration", "operator": "lt", "value": 115}),
    );
    assert_eq!(theater.visible(), ["m2", "m6", "m7"]);
    theater.ok("sort", json!({"field": "duration", "order": "asc"}));
    assert_eq!(theater.visible(), ["m7", "m2", "m6"]);
    theater.ok("sort", json!({"field": "title", "order": "desc"}));
    assert_eq!(theater.visible(), ["m2", "m7", "m6"]);
    // The same comparison of the same field once more takes the place of the first.
    theater.ok(
        "filter",
        json!({"field": "duration", "operator": "lt", "value": 100}),
    );
    assert_eq!(theater.visible(), ["m2", "m7"]);
    theater.ok("clearModification", json!({"type": "filter"}));
    assert_eq!(theater.visible().len(), 8);
    assert_eq!(theater.visible()[0], "m8");
    theater.ok("clearModification", json!({}));
    assert_eq!(theater.visible()[0], "m1");
}

// proves RL-18, RL-19
#[test]
fn other_words_and_highlights_are_shown_and_choose_nothing() {
    let mut theater = Theater::started();
    theater.ok(
        "augment",
        json!({"items": [{"itemId": "m2", "value": "for you"}]}),
    );
    theater.ok("augment", json!({"items": [{"itemId": "m2", "value": "for both"}, {"itemId": "m1", "value": "long"}]}));
    theater.ok(
        "highlight",
        json!({"itemIds": ["m2", "m5"], "style": "badge"}),
    );

    let spec = theater.spec();
    let shown = json!([{"id": "m1", "value": "long"}, {"id": "m2", "value": "for both"}]);
    assert_eq!(
        spec["visibleItems"].as_array().unwrap()[..2],
        shown.as_array().unwrap()[..]
    );
    assert_eq!(spec["items"][1]["title"], "Two Left Umbrellas");
    assert_eq!(spec["state"]["highlighted"], json!(["m2", "m5"]));
    assert_eq!(spec["modification"]["highlight"]["style"], "badge");
    assert_eq!(spec["state"].get("selected"), None);

    // What is booked is what the item is, whatever it was called.
    theater.ok("select", json!({"itemId": "m2"}));
    let booking = theater.spec()["state"]["booking"].clone();
    assert_eq!(booking["movie"]["title"], "Two Left Umbrellas");
    // Another stage is shown as it is.
    theater.ok("next", json!({}));
    theater.ok("prev", json!({}));
    assert_eq!(
        theater.spec()["modification"],
        Theater::started().spec()["modification"]
    );
}
