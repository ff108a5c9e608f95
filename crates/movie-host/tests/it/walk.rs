//! An agent that calls anything: whatever it does, the host stays true to its word.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::theater::{Came, Theater};

/// The same numbers in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len())].clone()
    }
}

const JUNK: [&str; 6] = ["", "m1", "A1", "nothing", "\u{0}", "🎬🎬🎬"];

fn junk(dice: &mut Dice) -> Value {
    match dice.roll(8) {
        0 => json!(null),
        1 => json!(-1),
        2 => json!(1e308),
        3 => json!([[[]]]),
        4 => json!({"a": {"backendData": 1}}),
        5 => json!("long ".repeat(5_000)),
        _ => json!(dice.pick(&JUNK)),
    }
}

/// Parameters that mostly fit.
fn params(tool: &str, spec: &Value, dice: &mut Dice) -> Value {
    let items = spec["items"].as_array().cloned().unwrap_or_default();
    let item = |dice: &mut Dice| {
        if items.is_empty() || dice.roll(12) == 0 {
            return junk(dice);
        }
        dice.pick(&items)["id"].clone()
    };
    let mut params = match tool {
        "filter" => {
            let item = dice.pick(&if items.is_empty() {
                vec![json!({"id": "x"})]
            } else {
                items.clone()
            });
            let fields: Vec<_> = item.as_object().unwrap().iter().collect();
            let (field, value) = dice.pick(&fields);
            let operator = dice.pick(&["eq", "neq", "contains", "gt", "lt", "gte", "lte", "in"]);
            let value = if operator == "in" {
                json!([value])
            } else {
                value.clone()
            };
            json!({"field": field, "operator": operator, "value": value})
        }
        "sort" => {
            json!({"field": dice.pick(&["title", "time", "row", "price", "genre", "name"]), "order": dice.pick(&["asc", "desc"])})
        }
        "highlight" => json!({"itemIds": [item(dice), item(dice)], "style": "glow"}),
        "augment" => json!({"items": [{"itemId": item(dice), "value": dice.pick(&JUNK)}]}),
        "clearModification" if dice.roll(2) == 0 => {
            json!({"type": dice.pick(&["filter", "sort", "highlight", "augment"])})
        }
        "select" => json!({"itemId": item(dice)}),
        "setQuantity" => json!({"typeId": item(dice), "quantity": dice.roll(3)}),
        "postMessage" => json!({"text": dice.pick(&JUNK)}),
        _ => json!({}),
    };
    if dice.roll(15) == 0 {
        let keys: Vec<_> = params.as_object().unwrap().keys().cloned().collect();
        let key = if keys.is_empty() {
            "more".to_owned()
        } else {
            dice.pick(&keys)
        };
        params[key] = junk(dice);
    }
    params
}

/// What must hold of any snapshot, with the prices and free seats that were seen on the way.
fn check(spec: &Value, seen: &mut HashMap<String, Value>) {
    let booking = &spec["state"]["booking"];
    let stage = spec["stage"].as_str().unwrap();
    seen.insert(stage.to_owned(), spec["items"].clone());
    let is_free = |stage: &str, id: &Value| {
        let items = seen[stage].as_array().unwrap();
        items
            .iter()
            .any(|item| item["id"] == *id && item["isDisabled"] != true)
    };
    let chosen = [
        ("movie", &booking["movie"]["id"]),
        ("theater", &booking["theater"]["id"]),
        ("date", &booking["date"]),
        ("time", &booking["showing"]["id"]),
    ];
    for (at, id) in chosen.into_iter().filter(|(_, id)| !id.is_null()) {
        assert!(is_free(at, id), "{at} {id} is disabled: {booking}");
    }
    for seat in booking["seats"].as_array().unwrap() {
        assert!(is_free("seat", seat), "seat {seat} is taken: {booking}");
    }
    let tickets = booking["tickets"].as_array().unwrap();
    let counts = tickets.iter().map(|of| of["quantity"].as_u64().unwrap());
    let costs = tickets
        .iter()
        .map(|of| of["price"].as_f64().unwrap() * of["quantity"].as_f64().unwrap());
    if stage == "confirm" {
        let seats = booking["seats"].as_array().unwrap().len() as u64;
        assert!(seats > 0 && seats == counts.sum::<u64>(), "{booking}");
        assert_eq!(
            spec["meta"]["total"],
            format!("{:.2} EUR", costs.sum::<f64>())
        );
    }
}

const TOOLS: [&str; 12] = [
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
    "Next",
    "",
];

/// A call of an agent or the person, and the code with which it was refused.
fn step(theater: &mut Theater, dice: &mut Dice) -> Option<String> {
    let before = theater.snapshot();
    let onwards = ["clearModification", "select", "setQuantity", "next"];
    let tool = match dice.roll(3) {
        0 => dice.pick(&TOOLS),
        _ => dice.pick(&onwards),
    };
    let params = params(tool, &before["uiSpec"], dice);
    let came = if dice.roll(4) == 0 {
        match theater.person(tool, params.clone()) {
            Ok(said) => Came::Ok {
                changed: !said.is_empty(),
            },
            Err(code) => Came::Refused(code),
        }
    } else {
        theater.call(tool, params.clone()).0
    };
    let after = theater.snapshot();
    let mut told = before["toolSchema"].as_array().unwrap().iter();
    let is_told = told.any(|known| known["name"] == tool);
    match came {
        Came::Ok { changed } => {
            assert!(is_told, "{tool} {params}");
            assert_eq!(changed, before != after, "{tool} {params}");
            None
        }
        Came::Refused(code) => {
            assert_eq!(before, after, "{tool} {params}");
            let is_untold = matches!(&*code, "UNKNOWN_TOOL" | "NO_ACTIVE_SPEC");
            assert_eq!(is_told, !is_untold, "{code}");
            Some(code)
        }
    }
}

// proves RL-9, RL-18, RL-26
#[test]
fn whatever_an_agent_calls_the_host_keeps_its_word() {
    let (mut booked, mut refused) = (0, HashMap::new());
    for seed in 1..=3 {
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
        let mut theater = Theater::started();
        let mut seen = HashMap::new();
        for _ in 0..900 {
            if let Some(code) = step(&mut theater, &mut dice) {
                *refused.entry(code).or_insert(0) += 1;
            }
            let spec = theater.spec();
            if spec.is_null() {
                booked += 1;
                theater.hear("session.start", json!({}));
                seen.clear();
            } else {
                check(&spec, &mut seen);
            }
        }
    }
    assert!(booked >= 5, "only {booked} bookings were made");
    for code in ["UNKNOWN_TOOL", "INVALID_PARAMS", "TOOL_EXECUTION_FAILED"] {
        assert!(refused[code] > 50, "{refused:?}");
    }
}
