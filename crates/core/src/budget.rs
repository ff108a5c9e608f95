//! Budgets: what a tree of turns may use, what its model calls cost, and which limit ended it (SA-12).
//! Money is counted in whole billionths of a US dollar, never in floats.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::message::Usage;
use crate::words;

/// Billionths in a dollar.
const NANOS: u64 = 1_000_000_000;
/// Decimal places of an amount, at most.
const PLACES: usize = 9;

/// An amount of US dollars, in billionths.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Usd(u64);

impl Usd {
    /// An amount in billionths of a dollar.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The amount in billionths of a dollar.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Reads a decimal number such as `0.25`; `None` for anything else, for more than nine decimal
    /// places, and for an amount that does not fit.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, places) = text.split_once('.').unwrap_or((text, "0"));
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || places.is_empty() || places.len() > PLACES {
            return None;
        }
        if !is_digits(whole) || !is_digits(places) {
            return None;
        }
        let nanos: u64 = format!("{places:0<PLACES$}").parse().ok()?;
        let whole: u64 = whole.parse().ok()?;
        whole.checked_mul(NANOS)?.checked_add(nanos).map(Self)
    }

    /// The sum of two.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// What is left of it; nothing if `other` is more.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// The shortest decimal number: `0.25`.
impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:0PLACES$}", self.0 / NANOS, self.0 % NANOS);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// What a model costs, in millionths of a US dollar for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Read by the model, except what its cache has a price for.
    pub input: u64,
    /// Written by the model, including reasoning.
    pub output: u64,
    /// Read from the provider's cache.
    pub cache_read: u64,
    /// Written to the provider's cache.
    pub cache_write: u64,
}

impl Price {
    /// Whether nothing costs anything.
    pub fn is_free(&self) -> bool {
        *self == Self::default()
    }

    /// What a call cost, rounded up.
    pub fn cost(&self, usage: &Usage) -> Usd {
        let cached = usage.cache_read.saturating_add(usage.cache_write);
        let fresh = usage.input.saturating_sub(cached);
        rounded_up(&[
            (fresh, self.input),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
            (usage.output, self.output),
        ])
    }

    /// The most that a call of this size can cost, whatever the provider's cache does.
    pub fn most(&self, prompt: u64, answer: u64) -> Usd {
        let input = self.input.max(self.cache_read).max(self.cache_write);
        rounded_up(&[(prompt, input), (answer, self.output)])
    }

    /// The longest answer that this money pays for, in tokens.
    pub fn answer_for(&self, money: Usd) -> u64 {
        match u128::from(self.output) {
            0 => u64::MAX,
            output => u64::try_from(u128::from(money.0) * 1000 / output).unwrap_or(u64::MAX),
        }
    }
}

/// The cost of tokens, each kind with its price.
fn rounded_up(parts: &[(u64, u64)]) -> Usd {
    let parts = parts.iter();
    // A millionth of a dollar for a million tokens is a thousandth of a billionth for one.
    let thousandths = parts.fold(0_u128, |sum, (tokens, price)| {
        sum.saturating_add(u128::from(*tokens) * u128::from(*price))
    });
    Usd(u64::try_from(thousandths.div_ceil(1000)).unwrap_or(u64::MAX))
}

/// What a turn and all that it waits for may use together; `None` for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Tokens of all model calls.
    #[serde(rename = "budget_tokens", default)]
    pub tokens: Option<u64>,
    /// Iterations of all turns.
    #[serde(
        rename = "budget_steps",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub steps: Option<u32>,
    /// What all model calls cost.
    #[serde(
        rename = "budget_nano_usd",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub cost: Option<Usd>,
    /// Milliseconds since the first turn began, including those in which it waits.
    #[serde(
        rename = "budget_wall_ms",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub wall_ms: Option<u64>,
}

impl Budget {
    /// One of tokens alone.
    pub fn of_tokens(tokens: u64) -> Self {
        Self {
            tokens: Some(tokens),
            ..Self::default()
        }
    }

    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Each limit, or else that of `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            steps: self.steps.or(other.steps),
            tokens: self.tokens.or(other.tokens),
            cost: self.cost.or(other.cost),
            wall_ms: self.wall_ms.or(other.wall_ms),
        }
    }

    /// What is left after such a use; no less than nothing.
    #[must_use]
    pub fn minus(self, used: Used) -> Self {
        Self {
            steps: self.steps.map(|all| all.saturating_sub(used.steps)),
            tokens: self.tokens.map(|all| all.saturating_sub(used.tokens)),
            cost: self.cost.map(|all| all.minus(used.cost)),
            wall_ms: self.wall_ms.map(|all| all.saturating_sub(used.wall_ms)),
        }
    }

    /// The first limit of which nothing is left.
    pub fn exhausted(&self) -> Option<BudgetLimit> {
        let rows = [
            (self.wall_ms == Some(0), BudgetLimit::Wall),
            (self.steps == Some(0), BudgetLimit::Steps),
            (self.tokens == Some(0), BudgetLimit::Tokens),
            (self.cost == Some(Usd::default()), BudgetLimit::Cost),
        ];
        rows.into_iter()
            .find_map(|(is_out, limit)| is_out.then_some(limit))
    }
}

/// How much of a budget is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Iterations.
    pub steps: u32,
    /// Tokens.
    pub tokens: u64,
    /// Money.
    pub cost: Usd,
    /// Milliseconds.
    pub wall_ms: u64,
}

impl Used {
    /// The sum of two; time is not added up, because turns run at once.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            steps: self.steps.saturating_add(other.steps),
            tokens: self.tokens.saturating_add(other.tokens),
            cost: self.cost.plus(other.cost),
            wall_ms: self.wall_ms.max(other.wall_ms),
        }
    }
}

words! {
    /// The limit of a budget that ended a turn.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum BudgetLimit {
        /// Iterations.
        Steps = "steps",
        /// Tokens.
        Tokens = "tokens",
        /// Money.
        Cost = "cost",
        /// Time.
        Wall = "wall",
    }
}

/// What is known about a model call before it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    /// The estimated size of the prompt, in tokens; `None` without a budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// The model's price; `None` if nobody knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

/// What a turn's own model calls cost, and which limit ended it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bill {
    /// The cost, if the price was known.
    #[serde(rename = "nano_usd", default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Usd>,
    /// Tokens that no provider counted; in `cost`, but not in the turn's usage.
    #[serde(default, skip_serializing_if = "is_none_estimated")]
    pub estimated_tokens: u64,
    /// The limit of the budget that ended the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<BudgetLimit>,
}

impl Bill {
    /// Whether there is nothing on it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_none_estimated(tokens: &u64) -> bool {
    *tokens == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves SA-12
    #[test]
    fn money_is_read_and_shown_exactly() {
        for (text, nanos, shown) in [
            ("0", 0, "0"),
            ("1", NANOS, "1"),
            ("0.1", 100_000_000, "0.1"),
            ("12.000000001", 12_000_000_001, "12.000000001"),
            ("10.50", 10_500_000_000, "10.5"),
        ] {
            let usd = Usd::parse(text).unwrap();
            assert_eq!((usd.nanos(), usd.to_string().as_str()), (nanos, shown));
        }
        for wrong in [
            "",
            ".5",
            "1.",
            "-1",
            "1e3",
            "1.0000000001",
            "99999999999999999999",
        ] {
            assert_eq!(Usd::parse(wrong), None, "{wrong}");
        }
    }

    // proves SA-12
    #[test]
    fn a_call_costs_what_its_tokens_cost_and_never_more_than_the_most() {
        let price = Price {
            input: 3_000_000,
            output: 15_000_000,
            cache_read: 300_000,
            cache_write: 3_750_000,
        };
        for (input, output, cache_read, cache_write, nanos) in [
            (0, 0, 0, 0, 0),
            (1_000_000, 0, 0, 0, 3_000_000_000),
            (1, 0, 1, 0, 300),
            (10, 2, 4, 3, 9_000 + 30_000 + 1_200 + 11_250),
        ] {
            let usage = Usage {
                input,
                output,
                cache_read,
                cache_write,
                reasoning: 0,
            };
            assert_eq!(price.cost(&usage).nanos(), nanos, "{usage:?}");
            assert!(price.cost(&usage) <= price.most(input, output));
        }
        let cent = Usd::parse("0.01").unwrap();
        let answer = price.answer_for(cent);
        assert!(price.most(0, answer) <= cent && price.most(0, answer + 1) > cent);
        // A part of a billionth counts as one.
        let cheap = Price {
            input: 1,
            ..Price::default()
        };
        assert_eq!(cheap.most(1, 0).nanos(), 1);
    }
}
