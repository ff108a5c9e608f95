//! What an answer cost, as it is told in pieces.

use samovar_core::Usage;
use serde::Deserialize;

use crate::json;

/// What the provider says of the cost, at the beginning and at the end of an answer. Every number
/// counts from the beginning on.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct Cost {
    /// Read, and neither from the cache nor written to it.
    #[serde(default, deserialize_with = "json::tokens")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "json::tokens")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "json::tokens")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "json::tokens")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "json::lenient")]
    output_tokens_details: Option<Details>,
}

#[derive(Clone, Copy, Deserialize)]
struct Details {
    #[serde(default, deserialize_with = "json::tokens")]
    thinking_tokens: Option<u64>,
}

/// What is known of the cost so far.
#[derive(Default)]
pub(super) struct Bill {
    fresh: u64,
    cache_write: u64,
    cache_read: u64,
    output: u64,
    reasoning: u64,
}

impl Bill {
    /// Takes what was said later: numbers grow, and those that are left out stay as they were.
    pub(super) fn take(&mut self, cost: Cost) {
        let details = cost.output_tokens_details;
        let reasoning = details.and_then(|details| details.thinking_tokens);
        for (known, said) in [
            (&mut self.fresh, cost.input_tokens),
            (&mut self.cache_write, cost.cache_creation_input_tokens),
            (&mut self.cache_read, cost.cache_read_input_tokens),
            (&mut self.output, cost.output_tokens),
            (&mut self.reasoning, reasoning),
        ] {
            *known = (*known).max(said.unwrap_or(0));
        }
    }

    /// The cost in our words, where the input is all that was read.
    pub(super) fn usage(&self) -> Usage {
        let cached = self.cache_write.saturating_add(self.cache_read);
        Usage {
            input: self.fresh.saturating_add(cached),
            output: self.output,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            reasoning: self.reasoning,
        }
    }
}
