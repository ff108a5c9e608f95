//! What a provider wants back verbatim, as it is kept.
//!
//! Each value is kept under a field's name together with the provider that sent it, and goes back to
//! that provider alone: another would refuse the field, or not know the signature in it.

use serde_json::{Map, Value};

use crate::specs::ProviderSpec;

/// The field that names the provider.
const FROM: &str = "from";

/// State to keep.
pub(crate) fn write(spec: &ProviderSpec, field: &str, value: Value) -> Value {
    let mut state = Map::new();
    state.insert(FROM.to_owned(), spec.name.into());
    state.insert(field.to_owned(), value);
    Value::Object(state)
}

/// Two states of one provider as one.
pub(crate) fn both(one: Option<Value>, other: Option<Value>) -> Option<Value> {
    match (one, other) {
        (Some(Value::Object(mut one)), Some(Value::Object(other))) => {
            one.extend(other);
            Some(Value::Object(one))
        }
        (one, other) => one.or(other),
    }
}

/// What this provider sent in this field, if it is from this provider.
pub(crate) fn read<'a>(
    state: Option<&'a Value>,
    spec: &ProviderSpec,
    field: &str,
) -> Option<&'a Value> {
    let state = state?;
    let is_ours = state.get(FROM).and_then(Value::as_str) == Some(spec.name);
    state.get(field).filter(|_| is_ours)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::specs::spec;

    #[test]
    fn state_goes_back_only_to_the_provider_that_it_came_from() {
        let (gemini, openai) = (spec("gemini").unwrap(), spec("openai").unwrap());
        let state = write(
            gemini,
            "extra",
            json!({"google": {"thought_signature": "x"}}),
        );
        assert_eq!(
            read(Some(&state), gemini, "extra"),
            Some(&json!({"google": {"thought_signature": "x"}}))
        );
        assert_eq!(read(Some(&state), openai, "extra"), None);
        assert_eq!(read(Some(&state), gemini, "other"), None);
        assert_eq!(read(None, gemini, "extra"), None);
    }
}
