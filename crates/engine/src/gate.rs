//! The gate that every call passes: schema, policy. Pure.

use std::fmt::Write as _;

use samovar_core::{Approval, Effect, ToolSpec};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// What the policy says of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    Allow,
    /// It does not, for this reason.
    Deny(String),
    /// A person decides, for this reason.
    Ask(String),
}

/// Decides whether a tool may be called at an approval level (TL-4).
pub fn judge(level: Approval, spec: &ToolSpec) -> Verdict {
    let (name, Some(asks)) = (&spec.name, spec.asks) else {
        return Verdict::Allow;
    };
    match level {
        Approval::Auto => Verdict::Allow,
        Approval::Supervised => Verdict::Ask(format!("{name} {}", asks.supervised)),
        Approval::ReadOnly if spec.effect == Effect::Read => Verdict::Allow,
        Approval::ReadOnly => {
            let why = asks.read_only;
            Verdict::Deny(format!("{name} {why}, and the approval level is read-only"))
        }
    }
}

/// SHA-256 of the canonical arguments (object keys sorted, no white space), in hex: what an
/// approval and an intent are bound to.
pub fn args_hash(args: &Value) -> String {
    let mut canonical = String::new();
    write_canonical(args, &mut canonical);
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(canonical.as_bytes()) {
        // Writing to a string cannot fail.
        let _infallible = write!(hex, "{byte:02x}");
    }
    hex
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<_> = map.iter().collect();
            pairs.sort_unstable_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (at, (key, value)) in pairs.into_iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samovar_core::Closer;
    use samovar_core::tool::{Asks, DEFAULT_TIMEOUT, Origin, Sharing};
    use serde_json::json;

    fn spec(asks: Option<Asks>, effect: Effect) -> ToolSpec {
        ToolSpec {
            name: "tool".to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
            effect,
            asks,
            origin: Origin::BuiltIn,
            timeout: DEFAULT_TIMEOUT,
            sharing: Sharing::Parallel,
            closer: Closer::Tool,
        }
    }

    // proves TL-4
    #[test]
    fn each_level_lets_through_what_its_name_says() {
        use Approval::{Auto, ReadOnly, Supervised};
        use Effect::{Idempotent, Read, Unsafe, Verifiable};
        let (writes, foreign) = (Some(Asks::because("changes files")), Some(Asks::FOREIGN));
        let read_only = ", and the approval level is read-only";
        let denied = |why: &str| Verdict::Deny(format!("tool {why}{read_only}"));
        let asked = |why: &str| Verdict::Ask(format!("tool {why}"));
        let rows = [
            (Auto, None, Read, Verdict::Allow),
            (Auto, writes, Verifiable, Verdict::Allow),
            (Auto, foreign, Unsafe, Verdict::Allow),
            (Supervised, None, Read, Verdict::Allow),
            (Supervised, None, Idempotent, Verdict::Allow),
            (Supervised, writes, Verifiable, asked("changes files")),
            (
                Supervised,
                foreign,
                Read,
                asked("was registered from outside"),
            ),
            (ReadOnly, None, Read, Verdict::Allow),
            (ReadOnly, None, Idempotent, Verdict::Allow),
            (ReadOnly, writes, Verifiable, denied("changes files")),
            (ReadOnly, foreign, Read, Verdict::Allow),
            (ReadOnly, foreign, Unsafe, denied("may change something")),
        ];
        for (level, asks, effect, expected) in rows {
            let verdict = judge(level, &spec(asks, effect));
            assert_eq!(verdict, expected, "{level:?} {asks:?} {effect:?}");
        }
    }

    #[test]
    fn the_hash_of_arguments_does_not_depend_on_the_order_of_keys() {
        let one = json!({"a": 1, "b": {"x": [1, {"p": 1, "q": 2}], "y": "é"}});
        let other = json!({"b": {"y": "é", "x": [1, {"q": 2, "p": 1}]}, "a": 1});
        assert_eq!(args_hash(&one), args_hash(&other));
        assert_ne!(args_hash(&one), args_hash(&json!({"a": 2})));
        assert_ne!(args_hash(&json!([1, 2])), args_hash(&json!([2, 1])));
    }
}
