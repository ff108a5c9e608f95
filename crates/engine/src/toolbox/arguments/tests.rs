use std::time::Duration;

use samovar_core::Effect;
use samovar_core::tool::Sharing;
use serde_json::json;

use super::*;

fn spec() -> ToolSpec {
    ToolSpec {
        name: "pick".to_owned(),
        description: "Picks.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "glob": {"type": "string"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 9},
                "ratio": {"type": "number"},
                "all": {"type": "boolean"},
                "size": {"enum": ["S", "L"]},
                "note": {"type": ["string", "null"]},
                "filter": {
                    "type": "object",
                    "properties": {"name": {"type": "string", "pattern": "^x"}},
                    "required": ["name"],
                    "additionalProperties": false,
                },
            },
            "required": ["path"],
            "additionalProperties": false,
        }),
        effect: Effect::Read,
        asks: None,
        origin: Origin::BuiltIn,
        closed: false,
        timeout: Duration::from_secs(1),
        sharing: Sharing::Parallel,
        closer: Closer::Tool,
    }
}

/// The arguments that the tool gets, or what the model reads.
fn given(spec: &ToolSpec, mut args: Value) -> Result<Value, String> {
    let validator = jsonschema::validator_for(&spec.parameters).unwrap();
    mend(spec, &mut args);
    check(spec, &validator, &args).map(|()| args)
}

// proves AS-12
#[test]
fn small_slips_in_arguments_are_mended() {
    let foreign = ToolSpec {
        origin: Origin::Registered,
        ..spec()
    };
    let outside = ToolSpec {
        closer: Closer::Outside,
        ..spec()
    };
    for (args, built_in, of_others) in [
        (
            json!({"path": "a", "glob": ""}),
            json!({"path": "a"}),
            json!({"path": "a", "glob": ""}),
        ),
        (
            json!({"path": "", "glob": null}),
            json!({"path": ""}),
            json!({"path": ""}),
        ),
        (
            json!({"path": "a", "note": null}),
            json!({"path": "a", "note": null}),
            json!({"path": "a", "note": null}),
        ),
        (
            json!({"path": "2", "limit": " 2 "}),
            json!({"path": "2", "limit": 2}),
            json!({"path": "2", "limit": 2}),
        ),
        (
            json!({"path": "a", "limit": 2.0}),
            json!({"path": "a", "limit": 2}),
            json!({"path": "a", "limit": 2}),
        ),
        (
            json!({"path": "a", "limit": "2.0"}),
            json!({"path": "a", "limit": 2}),
            json!({"path": "a", "limit": 2}),
        ),
        (
            json!({"path": "a", "ratio": "0.5"}),
            json!({"path": "a", "ratio": 0.5}),
            json!({"path": "a", "ratio": 0.5}),
        ),
        (
            json!({"path": "a", "all": "True"}),
            json!({"path": "a", "all": true}),
            json!({"path": "a", "all": true}),
        ),
    ] {
        assert_eq!(given(&spec(), args.clone()), Ok(built_in), "{args}");
        assert_eq!(given(&foreign, args.clone()), Ok(of_others), "{args}");
        // The client that closes it reads the model's own arguments.
        let mut kept = args.clone();
        mend(&outside, &mut kept);
        assert_eq!(kept, args);
    }
}

// proves AS-12
#[test]
fn a_wrong_argument_is_told_with_its_name_and_its_rule() {
    const TAKES: &str = "; pick takes path, glob?, limit?, ratio?, all?, size?, note?, filter?";
    for (args, why) in [
        (json!({}), "path is missing"),
        (
            json!({"path": null}),
            "path must be of type string, not null",
        ),
        (
            json!({"file_path": "a", "path": "b"}),
            "unknown argument file_path",
        ),
        (
            json!({"x": 1, "path": "b", "y": 2}),
            "unknown arguments x, y",
        ),
        (
            json!({"path": "a", "limit": "two"}),
            "limit must be of type integer, not \"two\"",
        ),
        (
            json!({"path": "a", "limit": 2.5}),
            "limit must be of type integer, not 2.5",
        ),
        (
            json!({"path": "a", "limit": 0}),
            "limit must be at least 1, not 0",
        ),
        (
            json!({"path": "a", "limit": "10"}),
            "limit must be at most 9, not 10",
        ),
        (
            json!({"path": "a", "size": "M"}),
            "size must be one of [\"S\",\"L\"], not \"M\"",
        ),
        (
            json!({"path": "a", "note": 1}),
            "note must be of type null or string, not 1",
        ),
        (json!({"path": "a", "filter": {}}), "filter.name is missing"),
        (
            json!({"path": "a", "filter": {"name": "x", "n": 1}}),
            "unknown argument filter.n",
        ),
        (
            json!({"path": "a", "filter": {"name": "y"}}),
            "filter.name: \"y\" does not match \"^x\" (rule /properties/filter/properties/name/pattern)",
        ),
    ] {
        assert_eq!(
            given(&spec(), args.clone()),
            Err(format!("{why}{TAKES}")),
            "{args}"
        );
    }
}

// proves AS-12
#[test]
fn a_long_value_is_cut_and_a_tool_without_arguments_says_so() {
    let long = given(&spec(), json!({"path": ["é".repeat(100)]})).unwrap_err();
    assert!(
        long.contains(&format!("not [\"{}…;", "é".repeat(58))),
        "{long}"
    );
    let bare = ToolSpec {
        parameters: json!({"type": "object", "maxProperties": 0}),
        ..spec()
    };
    assert!(
        given(&bare, json!({"a": 1}))
            .unwrap_err()
            .ends_with("; pick takes no arguments")
    );
    let raw = given(&spec(), json!("[1]")).unwrap_err();
    assert_eq!(
        raw,
        "the arguments are not a JSON object (not an object); call again with one JSON object"
    );
    for cut in [r#"{"path": "a.txt", "content": "The be"#, r#"{"path""#, "{"] {
        let why = given(&spec(), json!(cut)).unwrap_err();
        assert!(why.contains("token limit"), "{cut}: {why}");
    }
}
