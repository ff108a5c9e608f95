//! What is known of how much a model's window holds (AS-15).

use serde::{Deserialize, Serialize};

/// How much a model's window holds, as far as that is known (AS-15).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextLimit {
    /// The model, by its canonical name.
    pub model: String,
    /// Tokens, as the model's server counts them.
    pub tokens: u64,
    /// How many of those a thousand estimated ones are. In logs older than this field the limit is in
    /// estimated tokens.
    #[serde(default = "per_mille", skip_serializing_if = "is_per_mille")]
    pub per_mille: u32,
    /// How it is known.
    #[serde(default, skip_serializing_if = "is_refusal")]
    pub source: LimitSource,
    /// What a person or the server's list named then; another number there replaces this limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named: Option<u64>,
}

impl ContextLimit {
    /// The limit that a refusal reveals, where the estimate is right.
    pub fn new(model: impl Into<String>, tokens: u64) -> Self {
        Self {
            model: model.into(),
            tokens,
            per_mille: per_mille(),
            source: LimitSource::Refusal,
            named: None,
        }
    }
}

/// How a window's limit is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitSource {
    /// A prompt was refused.
    #[default]
    Refusal,
    /// A prompt was refused in words that do not say why, and half of it may be taken.
    Guess,
    /// The server's list of models names it.
    List,
    /// A person set it.
    Setting,
    /// The server counted less of a longer prompt, so it reads only a part.
    SilentCut,
    /// A guess was wrong: nothing is known.
    Nothing,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the shape that serde calls"
)]
fn is_refusal(source: &LimitSource) -> bool {
    *source == LimitSource::Refusal
}

/// The ratio of an estimate that is right.
fn per_mille() -> u32 {
    1000
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the shape that serde calls"
)]
fn is_per_mille(number: &u32) -> bool {
    *number == per_mille()
}
