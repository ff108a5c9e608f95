//! The schema, and whether what it says is what is done.

use std::fs;

use jsonschema::Validator;
use samovar_config::{Key, Kind, Settings, schema};
use serde_json::{Value, json};

use crate::desk::Desk;

/// Every leaf of the schema, with its path.
fn leaves(schema: &Value, above: &str) -> Vec<(String, Value)> {
    let Some(properties) = schema["properties"].as_object() else {
        let each = &schema["additionalProperties"];
        if each.is_object() {
            return leaves(each, &format!("{above}.openai"));
        }
        return vec![(above.to_owned(), schema.clone())];
    };
    let path = |name: &str| format!("{above}.{name}").trim_start_matches('.').to_owned();
    properties
        .iter()
        .flat_map(|(name, below)| leaves(below, &path(name)))
        .collect()
}

// proves FC-3
#[test]
fn every_key_of_the_types_can_be_set_and_says_whether_it_opens_anything() {
    let keys = Desk::new().sources.keys;
    for (name, leaf) in leaves(&schema(), "") {
        let key = keys
            .get(&name)
            .unwrap_or_else(|| panic!("{name} has a shape nobody can set"));
        assert!(leaf["x-widens"].is_boolean(), "{name} is not classified");
        assert!(!key.purpose.is_empty(), "{name} says not what it is for");
        assert!(
            key.default.is_some() || key.example.is_some(),
            "{name} shows nobody what stands there"
        );
    }
}

#[test]
fn a_key_that_holds_a_secret_or_an_address_opens_something() {
    for key in Desk::new().sources.keys.iter() {
        let is_delicate =
            key.is_secret || matches!(key.kind, Kind::Folder | Kind::File | Kind::Address);
        assert!(key.widens || !is_delicate, "{}", key.name);
    }
}

/// A file with one key, as the schema and as we see it.
struct Judges {
    schema: Validator,
    desk: Desk,
}

impl Judges {
    fn new() -> Self {
        let schema = jsonschema::validator_for(&schema()).unwrap();
        let desk = Desk::new();
        Self { schema, desk }
    }

    fn verdicts(&self, name: &str, value: &Value) -> (bool, bool) {
        let nested = |below: Value, name: &str| json!({ name: below });
        let file = name.split('.').rev().fold(value.clone(), nested);
        fs::write(
            self.desk.user("samovar.toml"),
            format!("{name} = {value}\n"),
        )
        .unwrap();
        (
            self.schema.is_valid(&file),
            self.desk.sources.resolve().is_ok(),
        )
    }
}

/// Values around what the key takes.
fn tries(key: &Key) -> Vec<Value> {
    let mut tries = vec![
        json!(true),
        json!(-1),
        json!(0.5),
        json!(70_000_000),
        json!([]),
    ];
    tries.extend(key.default.clone());
    tries.extend(key.example.clone());
    match &key.kind {
        Kind::Integer { min, max } => {
            tries.extend([*min, *max, min - 1, max + 1].map(Value::from));
        }
        Kind::Number { min, max } => {
            tries.extend([*min, *max, min - 0.1, max + 0.1].map(Value::from));
        }
        Kind::Text { min, max } => {
            let text = |long: u64| json!("ф".repeat(usize::try_from(long).unwrap()));
            tries.extend([*min, *max, min - 1, max + 1].map(text));
        }
        Kind::Prose { max } => {
            let text = |long: u64| json!("ф".repeat(usize::try_from(long).unwrap()));
            tries.extend([1, *max, 0, max + 1].map(text));
            tries.push(json!("two\nlines"));
        }
        Kind::Choice(words) => {
            tries.extend(words.iter().map(|word| json!(word)));
            tries.push(json!("bogus"));
        }
        Kind::Folder | Kind::File | Kind::Switch => tries.push(json!("")),
        Kind::List { count, min, max } => {
            let text = |long: u64| "ф".repeat(usize::try_from(long).unwrap());
            let list = |length: u64| json!(vec![text(*max); usize::try_from(length).unwrap()]);
            tries.extend([*count, count + 1].map(list));
            tries.extend([*min, min - 1, max + 1].map(|long| json!([text(long)])));
            tries.extend([json!(["a", 1]), json!("a")]);
        }
        // That a text is an object as JSON is nothing that a schema can say.
        Kind::Json { max } => {
            let long = usize::try_from(*max).unwrap();
            tries.push(json!(format!("{{{}}}", " ".repeat(long - 2))));
            tries.push(json!(format!("{{{}}}", " ".repeat(long - 1))));
        }
        // That an address is one is not said in a way that all readers of schemas know.
        Kind::Address => {}
    }
    tries
}

// proves FC-3
#[test]
fn the_schema_takes_what_we_take_and_refuses_what_we_refuse() {
    let judges = Judges::new();
    for key in judges.desk.sources.keys.iter() {
        for value in tries(key) {
            let (by_schema, by_us) = judges.verdicts(&key.name, &value);
            assert_eq!(by_schema, by_us, "{} = {value:.50}", key.name);
        }
    }
    for name in ["bogus", "server.bogus", "providers.openai.bogus"] {
        assert_eq!(judges.verdicts(name, &json!(1)), (false, false), "{name}");
    }
}

#[test]
fn the_defaults_of_the_schema_are_those_of_the_types() {
    let mut defaults = json!({});
    for key in Desk::new().sources.keys.iter() {
        let Some(default) = &key.default else {
            continue;
        };
        let mut at = &mut defaults;
        for name in key.name.split('.') {
            at = &mut at[name];
        }
        *at = default.clone();
    }
    let read: Settings = serde_json::from_value(defaults).unwrap();
    assert_eq!(read, Settings::default());
}
