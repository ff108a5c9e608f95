//! What the model thought: kept with the signature that the provider gave it, and given back as it
//! came.
//!
//! A thought is bound to what was said before it, so the fingerprint of the request that it answers
//! is kept with it, and it goes back behind the same words alone (ADR 8).

use serde_json::{Value, json};

use super::block::Block;
use crate::specs::ProviderSpec;
use crate::state;

/// The field of the kept state.
const THINKING: &str = "thinking";

const SIGNATURE: &str = "signature";

const REDACTED: &str = "redacted";

const PREFIX: &str = "prefix";

/// The state to keep of a thought that can be read. One without a signature is kept apart from the
/// next one too, though it cannot go back.
pub(super) fn signed(spec: &ProviderSpec, signature: &str, prefix: &str) -> Value {
    state::write(
        spec,
        THINKING,
        json!({ SIGNATURE: signature, PREFIX: prefix }),
    )
}

/// The state to keep of a thought that nobody but the provider can read.
pub(super) fn redacted(spec: &ProviderSpec, data: &str, prefix: &str) -> Value {
    state::write(spec, THINKING, json!({ REDACTED: data, PREFIX: prefix }))
}

/// A thought as it goes back behind what has this fingerprint, if it may.
pub(super) fn block<'a>(
    spec: &ProviderSpec,
    thinking: &'a str,
    kept: Option<&'a Value>,
    prefix: &str,
) -> Option<Block<'a>> {
    let kept = state::read(kept, spec, THINKING)?;
    let field = |name| kept.get(name).and_then(Value::as_str);
    if field(PREFIX) != Some(prefix) {
        return None;
    }
    match (field(REDACTED), field(SIGNATURE)) {
        (Some(data), _) => Some(Block::RedactedThinking { data }),
        (None, Some(signature)) if !signature.is_empty() => Some(Block::Thinking {
            thinking,
            signature,
        }),
        (None, _) => None,
    }
}
