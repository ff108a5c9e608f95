use std::sync::Arc;

use samovar_doubles::talk;
use serde_json::json;

use super::*;

fn plain_of(parameters: &Value) -> Value {
    let tool = ToolSpec {
        parameters: parameters.clone(),
        origin: Origin::Registered,
        ..Arc::unwrap_or_clone(talk::tool("look"))
    };
    plain(&tool).into_owned()
}

// proves MD-20
#[test]
fn a_schema_has_no_truth_values_and_no_references() {
    for (schema, wanted) in [
        (
            json!({"properties": {"d": true, "never": false}}),
            json!({"properties": {"d": {}}}),
        ),
        (
            json!({"properties": {"d": {"default": true, "enum": [true]}}, "additionalProperties": true}),
            json!({"properties": {"d": {"default": true, "enum": [true]}}, "additionalProperties": true}),
        ),
        (
            json!({"properties": {"p": {"$ref": "#/$defs/point", "description": "where"}}, "$defs": {"point": {"items": true}}}),
            json!({"properties": {"p": {"items": {}, "description": "where"}}}),
        ),
        (
            json!({"properties": {"true": {"anyOf": [true, {"type": "null"}]}}}),
            json!({"properties": {"true": {"anyOf": [{}, {"type": "null"}]}}}),
        ),
    ] {
        assert_eq!(plain_of(&schema), wanted, "{schema}");
    }
}

#[test]
fn a_schema_that_leads_to_itself_or_grows_without_end_keeps_its_references() {
    let tree = json!({"$ref": "#/$defs/n", "$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}, "d": true}}}});
    let wanted = json!({"$ref": "#/$defs/n", "$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}, "d": {}}}}});
    assert_eq!(plain_of(&tree), wanted);
    let mut defs = Map::new();
    for level in 0..20 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        defs.insert(format!("l{level}"), json!({"anyOf": [next, next]}));
    }
    defs.insert("l20".to_owned(), json!({"type": "string"}));
    let wide = json!({"properties": {"w": {"$ref": "#/$defs/l0"}}, "$defs": defs});
    assert_eq!(plain_of(&wide), wide);
    let away = json!({"properties": {"w": {"$ref": "https://example.com/s.json"}}});
    assert_eq!(plain_of(&away), away);
}
