//! What a server of this dialect wants back verbatim: `extra_content` on a call (`gemini`),
//! `reasoning_details` on a message (`openrouter`).

use serde_json::{Map, Value};

/// The field of a call.
pub(super) const EXTRA_CONTENT: &str = "extra_content";

/// The field of a message.
pub(super) const REASONING_DETAILS: &str = "reasoning_details";

/// Adds pieces of `reasoning_details` to those before: a text that is sent in pieces is one entry.
pub(super) fn gather(entries: &mut Vec<Value>, pieces: Vec<Value>) {
    for piece in pieces {
        match (entries.last_mut(), piece) {
            (Some(Value::Object(last)), Value::Object(piece)) if continues(last, &piece) => {
                extend(last, piece);
            }
            (_, piece) => entries.push(piece),
        }
    }
}

/// The fields of an entry that come in pieces.
const TEXTS: [&str; 2] = ["text", "summary"];

fn continues(last: &Map<String, Value>, piece: &Map<String, Value>) -> bool {
    let has_text = |entry: &Map<String, Value>| TEXTS.iter().any(|name| entry.contains_key(*name));
    let same = |name| last.get(name) == piece.get(name);
    has_text(last) && has_text(piece) && same("type") && same("index")
}

fn extend(entry: &mut Map<String, Value>, piece: Map<String, Value>) {
    for (name, value) in piece {
        match (entry.get_mut(&name), value) {
            (Some(Value::String(text)), Value::String(more)) if TEXTS.contains(&name.as_str()) => {
                text.push_str(&more);
            }
            (Some(_), Value::Null) => {}
            (_, value) => {
                entry.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reasoning_that_comes_in_pieces_is_given_back_as_one_entry() {
        let mut entries = Vec::new();
        for piece in [
            json!({"type": "reasoning.text", "index": 0, "text": "Let", "signature": null}),
            json!({"type": "reasoning.text", "index": 0, "text": " me", "signature": null}),
            json!({"type": "reasoning.text", "index": 0, "text": "", "signature": "s1"}),
            json!({"type": "reasoning.text", "index": 1, "text": "Then"}),
            json!({"type": "reasoning.encrypted", "index": 1, "data": "AA"}),
            json!({"type": "reasoning.encrypted", "index": 1, "data": "BB"}),
        ] {
            gather(&mut entries, vec![piece]);
        }
        let wanted = json!([
            {"type": "reasoning.text", "index": 0, "text": "Let me", "signature": "s1"},
            {"type": "reasoning.text", "index": 1, "text": "Then"},
            {"type": "reasoning.encrypted", "index": 1, "data": "AA"},
            {"type": "reasoning.encrypted", "index": 1, "data": "BB"},
        ]);
        assert_eq!(Value::Array(entries), wanted);
    }
}
