//! What a person has done at a host, by what is on the screen before and after (RL-18).

use samovar_core::relay::{Payload, PersonDeed};
use serde_json::{Map, Value, json};

/// The stages in their order.
const STAGES: [&str; 7] = [
    "movie", "theater", "date", "time", "seat", "ticket", "confirm",
];

/// The deed that leads from one state of the host to the other; none when nothing does that a person
/// can do.
pub(super) fn deed(before: &Payload, after: &Payload) -> Option<PersonDeed> {
    let (was, is) = (before.get("uiSpec")?, after.get("uiSpec")?);
    let (tool, params) = moved(was, is)
        .or_else(|| chosen(&was["state"], &is["state"]))
        .or_else(|| modified(&was["modification"], &is["modification"]))
        .or_else(|| said(after))?;
    let Value::Object(params) = params else {
        return None;
    };
    let tool = tool.to_owned();
    Some(PersonDeed::Calls { tool, params })
}

/// A tool, and its parameters.
type Call = (&'static str, Value);

fn moved(was: &Value, is: &Value) -> Option<Call> {
    let place = |spec: &Value| STAGES.iter().position(|stage| spec["stage"] == *stage);
    // Behind the last stage there is no screen.
    let (from, to) = (place(was)?, place(is).unwrap_or(STAGES.len()));
    match from.cmp(&to) {
        std::cmp::Ordering::Less => Some(("next", json!({}))),
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => Some(("prev", json!({}))),
    }
}

fn chosen(was: &Value, is: &Value) -> Option<Call> {
    if was["selected"] != is["selected"] {
        return Some(("select", json!({"itemId": is["selected"]})));
    }
    let seats = |state: &Value| {
        state["selectedList"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    };
    let (had, has) = (seats(was), seats(is));
    let taken = has.iter().find(|seat| !had.contains(seat));
    let changed = taken.or_else(|| had.iter().find(|seat| !has.contains(seat)));
    if let Some(seat) = changed {
        return Some(("select", json!({"itemId": seat})));
    }
    let mut quantities = is["quantities"].as_object()?.iter();
    let (of, count) = quantities.find(|(of, count)| was["quantities"][of.as_str()] != **count)?;
    Some(("setQuantity", json!({"typeId": of, "quantity": count})))
}

fn modified(was: &Value, is: &Value) -> Option<Call> {
    let list = |of: &Value, name: &str| of[name].as_array().cloned().unwrap_or_default();
    let added = |name: &str| {
        let had = list(was, name);
        let mut added = list(is, name);
        added.retain(|one| !had.contains(one));
        added
    };
    if let Some(filter) = added("filter").into_iter().next() {
        return Some(("filter", filter));
    }
    let items = added("augment");
    if !items.is_empty() {
        return Some(("augment", json!({"items": items})));
    }
    for tool in ["sort", "highlight"] {
        if was[tool] != is[tool] && !is[tool].is_null() {
            return Some((tool, is[tool].clone()));
        }
    }
    let gone = |name: &&str| was[*name] != is[*name];
    let gone: Vec<_> = ["filter", "sort", "highlight", "augment"]
        .into_iter()
        .filter(gone)
        .collect();
    match gone[..] {
        [] => None,
        [one] => Some(("clearModification", json!({"type": one}))),
        [..] => Some(("clearModification", Map::new().into())),
    }
}

fn said(after: &Payload) -> Option<Call> {
    let last = after.get("messageHistory")?.as_array()?.last()?;
    let text = last.get("text").filter(|_| last["type"] == "user")?;
    Some(("postMessage", json!({"text": text})))
}
