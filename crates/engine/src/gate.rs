//! The gate that every call passes: schema, capability, policy. Pure.

use std::fmt::Write as _;

use samovar_core::{Approval, Capability, Effect, ToolSpec};
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
    let name = &spec.name;
    match (level, spec.capability) {
        (_, Capability::ReadWorkspace | Capability::Person) | (Approval::Auto, _) => Verdict::Allow,
        (Approval::Supervised, Capability::WriteWorkspace) => {
            Verdict::Ask(format!("{name} changes files"))
        }
        (Approval::Supervised, Capability::Registered) => {
            Verdict::Ask(format!("{name} was registered from outside"))
        }
        (Approval::ReadOnly, Capability::WriteWorkspace) => Verdict::Deny(format!(
            "{name} changes files, and the approval level is read-only"
        )),
        (Approval::ReadOnly, Capability::Registered) if spec.effect == Effect::Read => {
            Verdict::Allow
        }
        (Approval::ReadOnly, Capability::Registered) => Verdict::Deny(format!(
            "{name} may change something, and the approval level is read-only"
        )),
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
    use samovar_core::tool::{DEFAULT_TIMEOUT, Sharing};
    use serde_json::json;

    fn spec(capability: Capability, effect: Effect) -> ToolSpec {
        ToolSpec {
            name: "tool".to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
            effect,
            capability,
            timeout: DEFAULT_TIMEOUT,
            sharing: Sharing::Parallel,
            closer: Closer::Tool,
        }
    }

    // proves TL-4
    #[test]
    fn each_level_lets_through_what_its_name_says() {
        use Approval::{Auto, ReadOnly, Supervised};
        use Capability::{Person, ReadWorkspace, Registered, WriteWorkspace};
        let rows = [
            (Auto, ReadWorkspace, Effect::Read, "allow"),
            (Auto, WriteWorkspace, Effect::Verifiable, "allow"),
            (Auto, Registered, Effect::Unsafe, "allow"),
            (Supervised, ReadWorkspace, Effect::Read, "allow"),
            (Supervised, WriteWorkspace, Effect::Verifiable, "ask"),
            (Supervised, Registered, Effect::Read, "ask"),
            (ReadOnly, ReadWorkspace, Effect::Read, "allow"),
            (ReadOnly, WriteWorkspace, Effect::Verifiable, "deny"),
            (Supervised, Person, Effect::Idempotent, "allow"),
            (ReadOnly, Person, Effect::Idempotent, "allow"),
            (ReadOnly, Registered, Effect::Read, "allow"),
            (ReadOnly, Registered, Effect::Unsafe, "deny"),
        ];
        for (level, capability, effect, expected) in rows {
            let verdict = match judge(level, &spec(capability, effect)) {
                Verdict::Allow => "allow",
                Verdict::Deny(_) => "deny",
                Verdict::Ask(_) => "ask",
            };
            assert_eq!(verdict, expected, "{level:?} {capability:?} {effect:?}");
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
