//! What models cost: estimates, from public price lists of the middle of 2025 or from whoever runs
//! the server.

use samovar_core::Usage;
use serde::{Deserialize, Serialize};

/// What a model costs, in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Read by the model, but for what its cache has a price for.
    pub input: f64,
    /// Written by the model, reasoning included.
    pub output: f64,
    /// Read from the provider's cache.
    pub cache_read: f64,
    /// Written to the provider's cache.
    pub cache_write: f64,
}

/// The built-in price of a model.
#[derive(Clone, Copy, Debug)]
pub struct ListPrice {
    /// The model as its endpoint calls it. A date, a short one or `latest` may follow, and nothing
    /// else: what is called otherwise costs otherwise.
    pub model: &'static str,
    /// The price.
    pub price: Price,
}

/// What runs on machines of one's own.
pub(crate) const FREE: Price = Price {
    input: 0.0,
    output: 0.0,
    cache_read: 0.0,
    cache_write: 0.0,
};

/// What a provider takes for plain input, cached input and output, which takes nothing for writing
/// its cache.
pub(crate) const fn list(
    model: &'static str,
    input: f64,
    cache_read: f64,
    output: f64,
) -> ListPrice {
    let price = Price {
        input,
        output,
        cache_read,
        cache_write: input,
    };
    ListPrice { model, price }
}

/// What `anthropic` takes: a tenth for what is read from its cache, and a quarter more for what is
/// written to it for five minutes.
pub(crate) const fn claude(model: &'static str, input: f64, output: f64) -> ListPrice {
    let price = Price {
        input,
        output,
        cache_read: input / 10.0,
        cache_write: input * 1.25,
    };
    ListPrice { model, price }
}

impl Price {
    /// The same in whole millionths of a dollar, as budgets count it.
    pub fn exact(&self) -> samovar_core::Price {
        samovar_core::Price {
            input: millionths(self.input),
            output: millionths(self.output),
            cache_read: millionths(self.cache_read),
            cache_write: millionths(self.cache_write),
        }
    }

    /// What a call cost, in US dollars.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let cached = usage.cache_read.saturating_add(usage.cache_write);
        let fresh = usage.input.saturating_sub(cached);
        let parts = [
            (fresh, self.input),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
            (usage.output, self.output),
        ];
        parts
            .map(|(tokens, price)| millions(tokens) * price)
            .iter()
            .sum()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a price of a few digits; one below zero counts as none"
)]
fn millionths(price: f64) -> u64 {
    (price * 1e6).round() as u64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "an estimate; tokens are exact up to 2^53"
)]
fn millions(tokens: u64) -> f64 {
    tokens as f64 / 1e6
}

impl ListPrice {
    /// Whether this is the price of the model that its endpoint calls `name`.
    pub(crate) fn is_of(&self, name: &str) -> bool {
        let Some(rest) = name.strip_prefix(self.model) else {
            return false;
        };
        rest.is_empty() || rest == "-latest" || rest.strip_prefix('-').is_some_and(is_date)
    }
}

/// `20250514`, `2024-08-06`, `0613`.
fn is_date(text: &str) -> bool {
    let shape: String = text
        .chars()
        .map(|letter| if letter.is_ascii_digit() { '0' } else { letter })
        .collect();
    ["00000000", "0000-00-00", "0000"].contains(&shape.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_costs_what_its_tokens_cost() {
        let price = Price {
            input: 3.0,
            output: 15.0,
            cache_read: 0.3,
            cache_write: 3.75,
        };
        for (input, output, cache_read, cache_write, wanted) in [
            (0, 0, 0, 0, 0.0),
            (1_000_000, 0, 0, 0, 3.0),
            (0, 1_000_000, 0, 0, 15.0),
            (1_000_000, 0, 1_000_000, 0, 0.3),
            (1_000_000, 0, 0, 1_000_000, 3.75),
            (4_000_000, 2_000_000, 1_000_000, 1_000_000, 40.05),
            // A server whose parts are more than its whole.
            (10, 0, 1_000_000, 0, 0.3),
        ] {
            let usage = Usage {
                input,
                output,
                cache_read,
                cache_write,
                reasoning: output,
            };
            let cost = price.cost(&usage);
            assert!((cost - wanted).abs() < 1e-9, "{usage:?} costs {cost}");
        }
    }

    #[test]
    fn a_list_price_is_of_its_model_alone() {
        let price = list("gpt-4o", 2.5, 1.25, 10.0);
        for name in [
            "gpt-4o",
            "gpt-4o-2024-08-06",
            "gpt-4o-20240806",
            "gpt-4o-0806",
            "gpt-4o-latest",
        ] {
            assert!(price.is_of(name), "{name}");
        }
        for name in [
            "gpt-4o-mini",
            "gpt-4o-5",
            "gpt-4o-4-20240806",
            "gpt-4o1",
            "gpt-4o-",
            "gpt-4",
            "GPT-4o",
            "ft:gpt-4o:acme",
        ] {
            assert!(!price.is_of(name), "{name}");
        }
    }
}
