//! What never leaves a host: `backendData`, at whatever depth it stands (RL-12).

use samovar_core::planted;
use samovar_core::relay::Payload;
use serde_json::Value;

/// The key that is taken out.
const HIDDEN: &str = "backendData";

/// Takes the key out of a payload, wherever it stands; what else is there keeps its order.
pub(crate) fn tidy(payload: &mut Payload) {
    planted!("relay-secret-out", {
        return;
    });
    payload.retain(|key, _| key != HIDDEN);
    payload.values_mut().for_each(tidy_value);
}

fn tidy_value(value: &mut Value) {
    match value {
        Value::Object(fields) => tidy(fields),
        Value::Array(items) => items.iter_mut().for_each(tidy_value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // proves RL-12
    #[test]
    fn backend_data_is_taken_out_at_every_depth_and_nothing_else_is() {
        let mut given = json!({
            "z": 1,
            "backendData": {"secret": 1},
            "uiSpec": {"items": [{"id": "m1", "backendData": 2}, [[{"backendData": [3]}]]],
                       "state": {"a": {"b": {"c": {"backendData": null, "kept": "backendData"}}}}},
            "backenddata": "another key",
        });
        tidy(given.as_object_mut().unwrap());

        let left = json!({
            "z": 1,
            "uiSpec": {"items": [{"id": "m1"}, [[{}]]],
                       "state": {"a": {"b": {"c": {"kept": "backendData"}}}}},
            "backenddata": "another key",
        });
        assert_eq!(given.to_string(), left.to_string());
    }
}
