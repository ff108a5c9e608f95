//! The default budget of a turn, and what models cost.

use samovar_config::{ConfigError, Resolved};
use samovar_core::{Budget, Usd};
use samovar_locale as text;
use samovar_server::Config;
use samovar_server::providers::{Price, price_key};

/// Takes over what is set.
///
/// # Errors
/// [`ConfigError`]: an amount or a price is not valid.
pub(super) fn set_up(config: &mut Config, resolved: &Resolved) -> Result<(), ConfigError> {
    let defaults = &resolved.settings.defaults;
    let wrong = |key: &str, found: &str, right: &str| {
        let place = resolved.origin(key);
        super::elsewhere::unusable(resolved, key, place, found, right)
    };
    let cost = defaults.budget_usd.map(|dollars| {
        let written = dollars.to_string();
        let right = text::config::expected_dollars();
        Usd::parse(&written).ok_or_else(|| wrong("defaults.budget_usd", &written, right))
    });
    config.settings.limits.budget = Budget {
        steps: defaults.budget_steps,
        tokens: defaults.budget_tokens.map(u64::from),
        cost: cost.transpose()?,
        wall_ms: defaults
            .budget_wall_seconds
            .map(|seconds| u64::from(seconds) * 1000),
    };
    for written in &resolved.settings.models.prices {
        let right = text::config::expected_price();
        let (name, price) = price(written).ok_or_else(|| wrong("models.prices", written, right))?;
        let key = price_key(&name);
        let key = key.ok_or_else(|| {
            let right = text::config::expected_priced_model();
            wrong("models.prices", &name, right)
        })?;
        config.providers.prices.insert(key, price);
    }
    Ok(())
}

/// `openai/gpt-5-mini 0.25 2`, or with the prices of the provider's cache as well.
fn price(written: &str) -> Option<(String, Price)> {
    let mut words = written.split_whitespace();
    let name = words.next()?.to_owned();
    let prices: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
    let prices = prices.filter(|all| all.iter().all(|price| (0.0..=1e6).contains(price)))?;
    let (input, output, cache_read, cache_write) = match prices[..] {
        [input, output] => (input, output, input, input),
        [input, output, cache_read, cache_write] => (input, output, cache_read, cache_write),
        _ => return None,
    };
    let price = Price {
        input,
        output,
        cache_read,
        cache_write,
    };
    Some((name, price))
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves SA-12
    #[test]
    fn a_price_names_a_model_and_two_or_four_amounts() {
        let (name, four) = price("a/b 1 2 0.1 1.25").unwrap();
        assert_eq!(
            (name.as_str(), four.cache_read, four.cache_write),
            ("a/b", 0.1, 1.25)
        );
        let (_, two) = price(" a/b  0 2.5 ").unwrap();
        assert_eq!((two.output, two.cache_write), (2.5, 0.0));
        for wrong in [
            "",
            "a/b",
            "a/b 1",
            "a/b 1 2 3",
            "a/b 1 -2",
            "a/b 1 NaN",
            "1 2 3 4 5 6",
        ] {
            assert!(price(wrong).is_none(), "{wrong}");
        }
    }
}
