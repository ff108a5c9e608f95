//! What somebody may have meant.

use crate::keys::Keys;

/// The key or table that `asked` may stand for: one that only spells the same words in another way
/// (`maxTokens`), one of the same name in another table, else one that few letters part from it.
pub(crate) fn nearest_key(keys: &Keys, asked: &str) -> Option<String> {
    let names = || {
        keys.iter()
            .map(|key| key.name.as_str())
            .chain(keys.tables())
    };
    let folded = fold(asked);
    if let Some(name) = names().find(|name| fold(name) == folded) {
        return Some(name.to_owned());
    }
    let asked_last = last(&folded).to_owned();
    let elsewhere = keys.iter().find(|key| last(&fold(&key.name)) == asked_last);
    if let Some(key) = elsewhere.filter(|_| !is_in_some_provider(asked)) {
        return Some(key.name.clone());
    }
    nearest(&folded, names())
}

/// Of these names the one that is nearest, if any is near.
pub fn nearest<'a>(asked: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let ranked = names.map(|name| (distance(&fold(asked), &fold(name)), name));
    let (far, name) = ranked.min_by_key(|(far, _)| *far)?;
    // A third of the letters may be wrong; with more, the guess would only mislead.
    (far * 3 <= name.chars().count().max(3)).then(|| name.to_owned())
}

/// In a table of a provider, the name of the provider is what is likely wrong.
fn is_in_some_provider(asked: &str) -> bool {
    asked.starts_with("providers.")
}

fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The letters and digits of each name, without their case.
pub(crate) fn fold(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric() || *c == '.');
    letters
        .flat_map(char::to_lowercase)
        .take(MAX_LETTERS)
        .collect()
}

/// Letters that are compared; longer names are like none of ours.
const MAX_LETTERS: usize = 128;

/// How many letters have to be put in, left out, changed or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let changed = above[j] + usize::from(from != to);
            let mut best = changed.min(above[j + 1] + 1).min(row[j] + 1);
            let is_swapped = i > 0 && j > 0 && *from == b[j - 1] && a[i - 1] == *to;
            if is_swapped {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::ProviderNames;

    fn keys() -> Keys {
        let names = ["openai", "lm-studio", "anthropic"];
        let provider = |name: &str| ProviderNames {
            name: name.to_owned(),
            ..ProviderNames::default()
        };
        Keys::new(&names.map(provider))
    }

    #[test]
    fn what_is_meant_is_found() {
        for (asked, meant) in [
            ("defaults.maxTokens", "defaults.max_tokens"),
            ("defaults.max-tokens", "defaults.max_tokens"),
            ("session.maxHistoryMessages", "session.max_history_messages"),
            ("defaults.modle", "defaults.model"),
            ("default.model", "defaults.model"),
            ("model", "defaults.model"),
            ("maxTokens", "defaults.max_tokens"),
            ("server.max_tokens", "defaults.max_tokens"),
            ("providers.openai.apiKey", "providers.openai.api_key"),
            ("providers.opnai.api_key", "providers.openai.api_key"),
            ("providers.opnai", "providers.openai"),
            ("providers.lm_studio", "providers.lm-studio"),
            ("provider", "providers"),
            ("Server", "server"),
            ("restrictToWorkspace", "tools.restrict_to_workspace"),
        ] {
            assert_eq!(
                nearest_key(&keys(), asked).as_deref(),
                Some(meant),
                "{asked}"
            );
        }
    }

    #[test]
    fn what_is_like_nothing_is_not_guessed_at() {
        let long = "x".repeat(100_000);
        for asked in [
            "",
            "xyz",
            "mcp",
            "mcp.servers",
            "providers.qqqqqq.zzzz",
            &long,
        ] {
            assert_eq!(nearest_key(&keys(), asked), None, "{asked:.20}");
        }
    }

    #[test]
    fn a_swap_is_one_mistake() {
        assert_eq!(distance("modle", "model"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("same", "same"), 0);
    }
}
