//! Each stage with each tool: called rightly, wrongly, and out of turn.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::theater::{Came, STAGES, Theater};

/// At each stage, for each tool: what comes of a right call when the stage is complete, of a call
/// whose parameters are wrong, and of one that would be right elsewhere, or later.
const TABLE: &str = "
movie   filter            ok    INVALID_PARAMS INVALID_PARAMS
movie   sort              ok    INVALID_PARAMS INVALID_PARAMS
movie   highlight         ok    INVALID_PARAMS INVALID_PARAMS
movie   augment           ok    INVALID_PARAMS INVALID_PARAMS
movie   clearModification idle  INVALID_PARAMS idle
movie   select            ok    INVALID_PARAMS INVALID_PARAMS
movie   setQuantity       UNKNOWN_TOOL UNKNOWN_TOOL UNKNOWN_TOOL
movie   next              ok    INVALID_PARAMS UNKNOWN_TOOL
movie   prev              UNKNOWN_TOOL UNKNOWN_TOOL UNKNOWN_TOOL
movie   postMessage       ok    INVALID_PARAMS ok
theater filter            ok    INVALID_PARAMS INVALID_PARAMS
theater sort              ok    INVALID_PARAMS INVALID_PARAMS
theater highlight         ok    INVALID_PARAMS INVALID_PARAMS
theater augment           ok    INVALID_PARAMS INVALID_PARAMS
theater clearModification idle  INVALID_PARAMS idle
theater select            ok    INVALID_PARAMS INVALID_PARAMS
theater setQuantity       UNKNOWN_TOOL UNKNOWN_TOOL UNKNOWN_TOOL
theater next              ok    INVALID_PARAMS UNKNOWN_TOOL
theater prev              ok    INVALID_PARAMS ok
theater postMessage       ok    INVALID_PARAMS ok
date    filter            ok    INVALID_PARAMS INVALID_PARAMS
date    sort              ok    INVALID_PARAMS INVALID_PARAMS
date    highlight         ok    INVALID_PARAMS INVALID_PARAMS
date    augment           ok    INVALID_PARAMS INVALID_PARAMS
date    clearModification idle  INVALID_PARAMS idle
date    select            ok    INVALID_PARAMS INVALID_PARAMS
date    setQuantity       UNKNOWN_TOOL UNKNOWN_TOOL UNKNOWN_TOOL
date    next              ok    INVALID_PARAMS UNKNOWN_TOOL
date    prev              ok    INVALID_PARAMS ok
date    postMessage       ok    INVALID_PARAMS ok
time    filter            ok    INVALID_PARAMS INVALID_PARAMS
time    sort              ok    INVALID_PARAMS INVALID_PARAMS
time    highlight         ok    INVALID_PARAMS INVALID_PARAMS
time    augment           ok    INVALID_PARAMS INVALID_PARAMS
time    clearModification idle  INVALID_PARAMS idle
time    select            ok    INVALID_PARAMS INVALID_PARAMS
time    setQuantity       UNKNOWN_TOOL UNKNOWN_TOOL UNKNOWN_TOOL
time    next              ok    INVALID_PARAMS UNKNOWN_TOOL
time    prev              ok    INVALID_PARAMS ok
time    postMessage       ok    INVALID_PARAMS ok
seat    filter            ok    INVALID_PARAMS INVALID_PARAMS
seat    sort              ok    INVALID_PARAMS INVALID_PARAMS
seat    highlight         ok    INVALID_PARAMS INVALID_PARAMS
seat    augment           ok    INVALID_PARAMS INVALID_PARAMS
seat    clearModification idle  INVALID_PARAMS idle
seat    select            ok    INVALID_PARAMS INVALID_PARAMS
seat    setQuantity       UNKNOWN_TOOL UNKNOWN_TOOL UNKNOWN_TOOL
seat    next              ok    INVALID_PARAMS UNKNOWN_TOOL
seat    prev              ok    INVALID_PARAMS ok
seat    postMessage       ok    INVALID_PARAMS ok
ticket  filter            ok    INVALID_PARAMS INVALID_PARAMS
ticket  sort              ok    INVALID_PARAMS INVALID_PARAMS
ticket  highlight         ok    INVALID_PARAMS INVALID_PARAMS
ticket  augment           ok    INVALID_PARAMS INVALID_PARAMS
ticket  clearModification idle  INVALID_PARAMS idle
ticket  select            UNKNOWN_TOOL UNKNOWN_TOOL UNKNOWN_TOOL
ticket  setQuantity       ok    INVALID_PARAMS INVALID_PARAMS
ticket  next              ok    INVALID_PARAMS UNKNOWN_TOOL
ticket  prev              ok    INVALID_PARAMS ok
ticket  postMessage       ok    INVALID_PARAMS ok
confirm filter            ok    INVALID_PARAMS INVALID_PARAMS
confirm sort              ok    INVALID_PARAMS INVALID_PARAMS
confirm highlight         ok    INVALID_PARAMS INVALID_PARAMS
confirm augment           ok    INVALID_PARAMS INVALID_PARAMS
confirm clearModification idle  INVALID_PARAMS idle
confirm select            UNKNOWN_TOOL UNKNOWN_TOOL UNKNOWN_TOOL
confirm setQuantity       UNKNOWN_TOOL UNKNOWN_TOOL UNKNOWN_TOOL
confirm next              ok    INVALID_PARAMS ok
confirm prev              ok    INVALID_PARAMS ok
confirm postMessage       ok    INVALID_PARAMS ok
";

const TOOLS: [&str; 10] = [
    "filter",
    "sort",
    "highlight",
    "augment",
    "clearModification",
    "select",
    "setQuantity",
    "next",
    "prev",
    "postMessage",
];

/// A text field and an item of each stage, in their order.
const OF_STAGE: [[&str; 2]; 7] = [
    ["title", "m3"],
    ["name", "t2"],
    ["date", "2026-12-09"],
    ["time", "m1-t2-d1-1"],
    ["seat", "A1"],
    ["price", "adult"],
    ["line", "total"],
];

fn call(tool: &str, field: &str, item: &str) -> Value {
    match tool {
        "filter" => {
            json!({"field": field, "operator": "neq", "value": if field == "price" { json!(1) } else { json!("x") }})
        }
        "sort" => json!({"field": field, "order": "desc"}),
        "highlight" => json!({"itemIds": [item], "style": "glow"}),
        "augment" => json!({"items": [{"itemId": item, "value": "look"}]}),
        "select" => json!({"itemId": item}),
        "setQuantity" => json!({"typeId": item, "quantity": 1}),
        "postMessage" => json!({"text": "hello"}),
        _ => json!({}),
    }
}

fn wrong(tool: &str, field: &str, item: &str) -> Value {
    let mut params = call(tool, field, item);
    match tool {
        "filter" => params["operator"] = "like".into(),
        "sort" => params["order"] = "up".into(),
        "highlight" => params["style"] = "blink".into(),
        "augment" => params["items"] = json!([]),
        "clearModification" => params["type"] = "all".into(),
        "select" => params["itemId"] = json!(5),
        "setQuantity" => params["quantity"] = json!(-1),
        "postMessage" => params["text"] = " \u{200b}\n".into(),
        _ => params["quickly"] = true.into(),
    }
    params
}

fn brief(came: Came) -> String {
    match came {
        Came::Ok { changed: true } => "ok".to_owned(),
        Came::Ok { changed: false } => "idle".to_owned(),
        Came::Refused(code) => code,
    }
}

// proves RL-9, RL-19
#[test]
fn each_tool_at_each_stage_does_what_it_is_there_for_and_is_refused_otherwise() {
    let mut seen = HashSet::new();
    for row in TABLE.trim().lines() {
        let cells: Vec<_> = row.split_whitespace().collect();
        let ([stage, tool], expected) = ([cells[0], cells[1]], &cells[2..]);
        seen.insert((stage, tool));
        let at = STAGES.iter().position(|known| *known == stage).unwrap();
        let elsewhere = OF_STAGE[(at + 1) % OF_STAGE.len()];
        let mut complete = Theater::at(stage);
        complete.complete();
        let item = match (stage, tool) {
            ("theater" | "date" | "time" | "seat", "select") => complete.free().pop().unwrap(),
            (_, "setQuantity") => "child".to_owned(),
            _ => complete.visible().pop().unwrap(),
        };
        let field = OF_STAGE[at][0];
        let mut again = Theater::at(stage);
        again.complete();
        let came = [
            complete.call(tool, call(tool, field, &item)),
            again.call(tool, wrong(tool, field, &item)),
            Theater::at(stage).call(tool, call(tool, elsewhere[0], elsewhere[1])),
        ];
        let came = came.map(|(came, why)| {
            // A refusal says which tool it was, and there is something to do.
            assert!(
                why.is_empty() || why.contains(tool) || why.contains("use the id"),
                "{row}: {why}"
            );
            brief(came)
        });
        assert_eq!(came, expected, "{row}");
    }
    let all = STAGES
        .iter()
        .flat_map(|stage| TOOLS.map(|tool| (*stage, tool)));
    assert_eq!(seen, all.collect(), "a cell is missing");
}

// proves RL-9, RL-19
#[test]
fn after_the_booking_there_is_no_spec_and_every_tool_but_a_message_is_refused_for_that() {
    let mut theater = Theater::at("confirm");
    theater.ok("next", json!({}));

    let snapshot = theater.snapshot();
    assert_eq!(snapshot["uiSpec"], Value::Null);
    assert_eq!(theater.tools(), ["postMessage"]);
    let others = TOOLS.into_iter().filter(|tool| *tool != "postMessage");
    for tool in others.chain(["fly"]) {
        let (came, _) = theater.call(tool, call(tool, "title", "m1"));
        assert_eq!(came, Came::Refused("NO_ACTIVE_SPEC".to_owned()), "{tool}");
    }
    assert_eq!(theater.snapshot(), snapshot);
    theater.ok("postMessage", json!({"text": "Enjoy it."}));
}

// proves RL-9, RL-19
#[test]
fn what_is_told_of_the_tools_is_what_can_be_called() {
    for stage in STAGES {
        for complete in [false, true] {
            let mut theater = Theater::at(stage);
            if complete {
                theater.complete();
            }
            let told = theater.tools();
            for tool in TOOLS {
                let (came, why) = theater.call(tool, json!({"surplus": 1}));
                let code = if told.iter().any(|known| known == tool) {
                    assert!(why.contains("takes no \"surplus\""), "{why}");
                    "INVALID_PARAMS"
                } else {
                    assert!(why.contains(&told.join(", ")), "{why}");
                    "UNKNOWN_TOOL"
                };
                assert_eq!(came, Came::Refused(code.to_owned()), "{stage} {tool}");
            }
        }
    }
}

// proves RL-19
#[test]
fn nothing_can_be_selected_when_no_enabled_item_is_visible() {
    for stage in ["movie", "theater", "date", "time", "seat"] {
        let mut theater = Theater::at(stage);
        let field = OF_STAGE[STAGES.iter().position(|known| *known == stage).unwrap()][0];
        let item = theater.free().remove(0);
        theater.ok(
            "filter",
            json!({"field": field, "operator": "eq", "value": "nothing"}),
        );

        assert_eq!(theater.visible(), [""; 0]);
        assert!(!theater.tools().contains(&"select".to_owned()));
        let (came, why) = theater.call("select", json!({"itemId": item}));
        assert_eq!(came, Came::Refused("UNKNOWN_TOOL".to_owned()), "{why}");

        theater.ok("clearModification", json!({"type": "filter"}));
        theater.ok("select", json!({"itemId": item}));
    }
}
