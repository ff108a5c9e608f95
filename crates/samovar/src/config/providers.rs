//! What is told of providers beside their setup: where addresses come from, and keys without a row.

use std::collections::BTreeMap;

use samovar_config::{Resolved, Sources};
use samovar_server::Config;
use samovar_server::providers::{SPECS, UNBUILT, Unbuilt};

/// Where each base URL was set.
pub(super) fn base_origins(config: &Config, resolved: &Resolved) -> BTreeMap<String, String> {
    let names = config.providers.base_urls.keys();
    let origin = |name: &String| resolved.origin(&format!("providers.{name}.api_base"));
    names
        .map(|name| (name.clone(), origin(name).to_string()))
        .collect()
}

/// The providers without a row whose keys are set.
pub(super) fn unbuilt(sources: &Sources) -> Vec<&'static Unbuilt> {
    let is_set = |unbuilt: &&Unbuilt| {
        let mut variables = sources.environment.iter();
        variables.any(|(name, value)| name == unbuilt.variable && !value.is_empty())
    };
    UNBUILT.iter().filter(is_set).collect()
}

/// Variables that set no key and are spelled almost like one that does, which is not set: each with
/// that one.
pub(super) fn misspelled(sources: &Sources) -> Vec<(String, &'static str)> {
    let set = sources
        .environment
        .iter()
        .filter(|(_, value)| !value.is_empty());
    let set: Vec<_> = set.filter_map(|(name, _)| name.to_str()).collect();
    let known: Vec<_> = SPECS
        .iter()
        .flat_map(|spec| spec.env_vars)
        .copied()
        .collect();
    let meant = |name: &&str| {
        let is_meant = |known: &&&str| bare(known) == bare(name) && !set.contains(*known);
        let nearest = known.iter().find(is_meant);
        let is_known = known.contains(name);
        Some(((*name).to_owned(), *nearest.filter(|_| !is_known)?))
    };
    set.iter().filter_map(meant).collect()
}

/// What is left of a name without what is mistyped: `OPENAI_APIKEY`, `OPENAI_KEY`, `openai_api_keys`.
fn bare(name: &str) -> String {
    let bare = name.to_uppercase().replace('_', "").replace("API", "");
    bare.trim_end_matches('S').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves FC-4
    #[test]
    fn a_variable_that_was_mistyped_names_the_one_that_was_meant() {
        for (set, meant) in [
            (&["OPENAI_APIKEY"][..], Some("OPENAI_API_KEY")),
            (&["OPENAI_KEY"], Some("OPENAI_API_KEY")),
            (&["openai_api_key"], Some("OPENAI_API_KEY")),
            (&["OPENAI_APIKEY", "OPENAI_API_KEY"], None),
            (&["HOME", "SSH_KEY", "KEY", "API_KEY"], None),
        ] {
            let sources = Sources {
                environment: set.iter().map(|name| (name.into(), "x".into())).collect(),
                ..Sources::default()
            };
            let found = misspelled(&sources);
            assert_eq!(found.first().map(|(_, meant)| *meant), meant, "{set:?}");
        }
    }
}
