//! What is told of providers beside their setup: where addresses come from, and keys without a row.

use std::collections::BTreeMap;

use samovar_config::{Resolved, Sources};
use samovar_server::Config;
use samovar_server::providers::{UNBUILT, Unbuilt};

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
