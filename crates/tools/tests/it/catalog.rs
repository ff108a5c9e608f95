//! What is known of the tools before they are called.

use std::time::Duration;

use jsonschema::validator_for;
use samovar_core::tool::{Origin, Sharing};
use samovar_core::{Asks, Closer, Effect};
use serde_json::{Value, json};

use crate::yard::Yard;

/// Each tool with arguments that its documentation promises, the required ones first.
fn examples() -> [(&'static str, &'static [&'static str], Value); 7] {
    [
        (
            "list_dir",
            &[],
            json!({ "path": "src", "depth": 2, "glob": "*.rs" }),
        ),
        (
            "read_file",
            &["path"],
            json!({ "path": "notes.txt", "offset": 1, "limit": 20 }),
        ),
        (
            "search_files",
            &["pattern"],
            json!({ "pattern": "fn main", "path": "src", "glob": "*.rs" }),
        ),
        (
            "edit_file",
            &["path", "old", "new"],
            json!({ "path": "notes.txt", "old": "a", "new": "b", "all": true }),
        ),
        (
            "write_file",
            &["path", "content"],
            json!({ "path": "notes.txt", "content": "hello\n" }),
        ),
        (
            "web_search",
            &["query"],
            json!({ "query": "tea", "count": 3 }),
        ),
        (
            "web_fetch",
            &["url"],
            json!({ "url": "https://example.com", "format": "text", "max_chars": 500 }),
        ),
    ]
}

// proves TL-1, TL-2
#[test]
fn the_catalog_lists_the_tools_with_what_they_do_and_need() {
    use Effect::{Read, Verifiable};
    use Sharing::{Exclusive, Parallel};
    let (yard, changes) = (Yard::new(), Some(Asks::because("changes files")));

    let rows: Vec<_> = yard
        .specs()
        .iter()
        .map(|spec| {
            assert_eq!((spec.closer, spec.origin), (Closer::Tool, Origin::BuiltIn));
            assert!(spec.description.ends_with('.'), "{}", spec.description);
            let seconds = spec.timeout.as_secs();
            (
                spec.name.clone(),
                spec.effect,
                spec.asks,
                spec.sharing,
                seconds,
            )
        })
        .collect();

    let expected = [
        ("list_dir", Read, None, Parallel, 60),
        ("read_file", Read, None, Parallel, 60),
        ("search_files", Read, None, Parallel, 30),
        ("edit_file", Verifiable, changes, Exclusive, 60),
        ("write_file", Verifiable, changes, Exclusive, 60),
        ("web_search", Read, None, Parallel, 30),
        ("web_fetch", Read, None, Parallel, 30),
        ("open_url", Effect::Idempotent, None, Parallel, 60),
        ("get_current_tab", Read, None, Parallel, 60),
        ("get_tabs", Read, None, Parallel, 60),
    ];
    let expected = expected.map(|(name, effect, asks, sharing, seconds)| {
        (name.to_owned(), effect, asks, sharing, seconds)
    });
    assert_eq!(rows, expected);
}

// proves TL-1
#[test]
fn a_schema_takes_its_example_and_refuses_what_it_does_not_know() {
    let yard = Yard::new();
    for (name, required, example) in examples() {
        let parameters = &yard.spec(name).parameters;
        let validator = validator_for(parameters).unwrap();
        assert!(validator.is_valid(&example), "{name}");

        let mut more = example.clone();
        more["verbose"] = json!(true);
        assert!(!validator.is_valid(&more), "{name} with an unknown field");

        for field in example.as_object().unwrap().keys() {
            let mut less = example.clone();
            less.as_object_mut().unwrap().shift_remove(field);
            let is_optional = !required.contains(&field.as_str());
            assert_eq!(
                validator.is_valid(&less),
                is_optional,
                "{name} without {field}"
            );

            let mut wrong = example.clone();
            wrong[field] = json!([]);
            assert!(!validator.is_valid(&wrong), "{name} with a list as {field}");
        }
    }
}

// proves TL-1
#[test]
fn a_schema_has_only_what_every_provider_takes() {
    const PLAIN: [&str; 9] = [
        "type",
        "description",
        "properties",
        "required",
        "additionalProperties",
        "minimum",
        "maximum",
        "enum",
        "items",
    ];
    let yard = Yard::new();
    for spec in yard.specs() {
        let schema = &spec.parameters;
        assert_eq!(schema["type"], "object", "{}", spec.name);
        assert_eq!(schema["additionalProperties"], false, "{}", spec.name);
        let fields = schema["properties"].as_object().unwrap();
        for piece in fields.values().chain([schema]) {
            let keys = piece.as_object().unwrap().keys();
            for key in keys {
                assert!(PLAIN.contains(&key.as_str()), "{}: {key}", spec.name);
            }
            assert!(piece["type"].is_string(), "{}: {piece}", spec.name);
        }
    }
}

// proves TL-1
#[test]
fn schema_and_description_are_derived_from_the_type_of_the_arguments() {
    let spec = Yard::new().spec("read_file");

    assert_eq!(
        spec.description,
        "Reads a text file; each line comes with its number and a tab. A long file comes in parts; \
         each says how to read the next."
    );
    assert_eq!(
        spec.parameters,
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "offset": {
                    "description": "The first line to show; leave it out to begin at the top.",
                    "type": "integer",
                    "minimum": 0,
                },
                "limit": {
                    "description": "How many lines; leave it out for as many as fit.",
                    "type": "integer",
                    "minimum": 1,
                },
            },
            "additionalProperties": false,
            "required": ["path"],
        })
    );
}

// proves TL-2
#[test]
fn no_text_of_a_tool_has_a_number_or_a_name_that_does_harm_when_copied() {
    let mut bytes = 0;
    for spec in Yard::new().specs() {
        let texts = format!("{} {}", spec.description, spec.parameters["properties"]);
        bytes += texts.len();
        let rules = ["\"minimum\":0", "\"minimum\":1", "\"maximum\":16"];
        let bare = rules
            .iter()
            .fold(texts, |text, rule| text.replace(rule, ""));
        assert!(!bare.contains(|c: char| c.is_ascii_digit()), "{bare}");
        assert!(!bare.contains("*."), "{bare}");
    }
    assert!(bytes < 3_000, "{bytes} bytes in every prompt");
}

// proves AS-13
#[test]
fn no_tool_is_without_a_timeout() {
    for spec in Yard::new().specs() {
        assert!(spec.timeout > Duration::ZERO, "{}", spec.name);
        assert!(spec.timeout <= Duration::from_mins(1), "{}", spec.name);
    }
}

// proves AS-12
#[tokio::test]
async fn arguments_that_do_not_fit_are_answered_with_the_reason() {
    let yard = Yard::new();
    for (name, args, why) in [
        ("read_file", json!({}), "missing field `path`"),
        (
            "read_file",
            json!({ "path": "a", "line": 1 }),
            "unknown field `line`",
        ),
        (
            "list_dir",
            json!({ "depth": "2" }),
            "invalid type: string \"2\"",
        ),
        ("write_file", json!("{\"path\":"), "invalid type: string"),
        ("search_files", json!(null), "invalid type: null"),
    ] {
        let text = yard.refusal(name, args).await;
        assert!(text.starts_with("the arguments do not fit: "), "{text}");
        assert!(text.contains(why), "{name}: {text}");
    }
}
