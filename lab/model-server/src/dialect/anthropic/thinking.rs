//! Whether the model is to think, and what that forbids.

use serde_json::Value;

use super::fields::{Object, check_known, check_word, object, optional, refused, required, string};
use crate::script::Failure;

/// Fewest tokens to think with.
const LEAST_BUDGET: u64 = 1024;

/// With thinking, as much of the probable must be kept.
const LEAST_TOP_P: f64 = 0.95;

/// Whether the model is to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thinking {
    Disabled,
    /// Before all that it says.
    Enabled,
    /// When it finds it useful.
    Adaptive,
}

/// Reads the parameter, and refuses what does not go with it.
pub(super) fn read(body: &Object, max_tokens: u64) -> Result<Thinking, Failure> {
    let Some(value) = optional(body, "thinking") else {
        return Ok(Thinking::Disabled);
    };
    let thinking = object(value, "thinking")?;
    let thinking = match string(thinking, "thinking", "type")? {
        "disabled" => {
            check_known(thinking, "thinking.disabled", &["type"])?;
            return Ok(Thinking::Disabled);
        }
        "enabled" => {
            let known = ["type", "budget_tokens", "display"];
            check_known(thinking, "thinking.enabled", &known)?;
            check_budget(thinking, max_tokens)?;
            Thinking::Enabled
        }
        "adaptive" => {
            check_known(thinking, "thinking.adaptive", &["type", "display"])?;
            Thinking::Adaptive
        }
        other => {
            let why = format!(
                "Input tag '{other}' found using 'type' does not match any of the expected tags: \
                 'adaptive', 'disabled', 'enabled'"
            );
            return Err(refused("thinking", &why));
        }
    };
    if let Some(display) = value.get("display").and_then(Value::as_str) {
        check_word(display, "thinking.display", &["omitted", "summarized"])?;
    }
    check_company(body)?;
    Ok(thinking)
}

fn check_budget(thinking: &Object, max_tokens: u64) -> Result<(), Failure> {
    let at = "thinking.enabled.budget_tokens";
    let budget = required(thinking, "thinking.enabled", "budget_tokens")?.as_u64();
    let budget = budget.ok_or_else(|| refused(at, "Input should be a valid integer"))?;
    if budget < LEAST_BUDGET {
        let why = format!("Input should be greater than or equal to {LEAST_BUDGET}");
        return Err(refused(at, &why));
    }
    if budget >= max_tokens {
        let message = "`max_tokens` must be greater than `thinking.budget_tokens`.";
        return Err(Failure::new(400, message));
    }
    Ok(())
}

/// Refuses parameters that thinking does not go with.
fn check_company(body: &Object) -> Result<(), Failure> {
    let number = |name: &str| optional(body, name).and_then(Value::as_f64);
    let forces = |word: &Value| word == "any" || word == "tool";
    let choice = optional(body, "tool_choice").and_then(|choice| choice.get("type"));
    let why = if number("temperature").is_some_and(|temperature| temperature < 1.0) {
        "`temperature` may only be set to 1 when thinking is enabled."
    } else if number("top_k").is_some() {
        "`top_k` must be unset when thinking is enabled."
    } else if number("top_p").is_some_and(|top_p| top_p < LEAST_TOP_P) {
        "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."
    } else if choice.is_some_and(forces) {
        "Thinking may not be enabled when tool_choice forces tool use."
    } else {
        return Ok(());
    };
    Err(Failure::new(400, why))
}
