//! Removes `backendData`, which never leaves a host, at any depth (RL-12).

use samovar_core::planted;
use samovar_core::relay::Payload;
use serde_json::Value;

/// The key that is taken out.
const HIDDEN: &str = "backendData";

/// Takes the key out of a payload, wherever it stands; what else is there keeps its order.
pub(crate) fn strip_backend_data(payload: &mut Payload) {
    planted!("relay-secret-out", {
        return;
    });
    payload.retain(|key, _| key != HIDDEN);
    payload.values_mut().for_each(strip_value);
}

/// What our JSON library takes for a sign of its own when an object begins with it: what is written
/// so is read back as something else.
const SIGN: &str = "$serde_json::private::RawValue";

/// Whether a payload that is written can be read back as it is.
pub(crate) fn is_keepable(payload: &Payload) -> bool {
    payload.keys().next().is_none_or(|key| key != SIGN) && payload.values().all(is_value_keepable)
}

fn is_value_keepable(value: &Value) -> bool {
    match value {
        Value::Object(fields) => is_keepable(fields),
        Value::Array(items) => items.iter().all(is_value_keepable),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

fn strip_value(value: &mut Value) {
    match value {
        Value::Object(fields) => strip_backend_data(fields),
        Value::Array(items) => items.iter_mut().for_each(strip_value),
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
        strip_backend_data(given.as_object_mut().unwrap());

        let left = json!({
            "z": 1,
            "uiSpec": {"items": [{"id": "m1"}, [[{}]]],
                       "state": {"a": {"b": {"c": {"kept": "backendData"}}}}},
            "backenddata": "another key",
        });
        assert_eq!(given.to_string(), left.to_string());
    }

    #[test]
    fn what_could_not_be_read_back_is_known() {
        let mut payload = Payload::new();
        payload.insert(HIDDEN.to_owned(), json!(1));
        payload.insert(SIGN.to_owned(), json!("{\"backendData\":1}"));
        let mut whole = Payload::new();
        whole.insert(
            "items".to_owned(),
            Value::Array(vec![Value::Object(payload)]),
        );
        assert!(is_keepable(&whole), "it is not the first");
        strip_backend_data(&mut whole);
        assert!(!is_keepable(&whole));
        let text = Value::Object(whole.clone()).to_string();
        assert_ne!(serde_json::from_str::<Payload>(&text).ok(), Some(whole));
    }
}
