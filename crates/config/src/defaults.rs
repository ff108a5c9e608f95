//! What a session and its turns have unless a client asks for something else.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The defaults of a session.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Defaults {
    /// The model for sessions that name none; by default samovar looks for one.
    #[schemars(
        with = "String", example = &"openai/gpt-5-mini",
        length(min = 1, max = 256),
        extend("x-widens" = false, "x-variables" = ["AGENT_MODEL"])
    )]
    pub model: Option<String>,
    /// The models to try, in this order, when a turn's model keeps failing.
    // It opens something: what a person says to one provider goes to another.
    #[schemars(length(max = 16), inner(length(min = 1, max = 256)))]
    #[schemars(extend("x-widens" = true, "examples" = [["anthropic/claude-sonnet-4-5"]]))]
    pub fallback: Vec<String>,
    /// The most tokens in one answer of a model.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-widens" = false))]
    pub max_tokens: u32,
    /// The sampling temperature to request from models.
    #[schemars(range(min = 0.0, max = 2.0), extend("x-widens" = false))]
    pub temperature: f64,
    /// The most iterations of the agent loop in a turn.
    #[schemars(range(min = 1, max = 1_000), extend("x-widens" = false))]
    pub max_iterations: u32,
    /// The most iterations of a turn and of the turns that it waits for; by default no limit.
    // A folder could give back what a person has limited; so with the next three.
    #[schemars(with = "u32", example = 100, range(min = 1, max = 1_000_000), extend("x-widens" = true))]
    pub budget_steps: Option<u32>,
    /// The most tokens that they may use together; by default no limit.
    #[schemars(with = "u32", example = 200_000, range(min = 1, max = 4_294_967_295_u32), extend("x-widens" = true))]
    pub budget_tokens: Option<u32>,
    /// The most US dollars that their model calls may cost; by default no limit. Messages to a model
    /// whose price is unknown are then refused.
    #[schemars(with = "f64", example = 0.5, range(min = 0.000_001, max = 1_000_000.0), extend("x-widens" = true))]
    pub budget_usd: Option<f64>,
    /// The most seconds that they may take, waiting included; by default no limit.
    #[schemars(with = "u32", example = 3_600, range(min = 1, max = 31_622_400), extend("x-widens" = true))]
    pub budget_wall_seconds: Option<u32>,
    /// What to tell every agent besides its own prompt, in every session.
    // It opens something: whoever writes it speaks to each agent as the operator.
    #[schemars(
        with = "String", example = &"Answer in English.",
        length(min = 1, max = 16_384),
        extend("contentMediaType" = "text/plain", "x-widens" = true)
    )]
    pub system_prompt: Option<String>,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            model: None,
            fallback: Vec::new(),
            max_tokens: 4096,
            temperature: 0.7,
            max_iterations: 20,
            budget_steps: None,
            budget_tokens: None,
            budget_usd: None,
            budget_wall_seconds: None,
            system_prompt: None,
        }
    }
}
