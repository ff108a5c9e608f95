//! How tools use the web.

use samovar_config::{ConfigError, Origin, Resolved, SearchEngine};
use samovar_locale as text;
use samovar_server::egress::Target;
use samovar_server::providers::Secret;
use samovar_server::{SearchService, WebSearch};

use super::elsewhere::unusable;

const KEY: &str = "tools.web.search_api_key";
const BRAVE: &str = "BRAVE_API_KEY";
const TAVILY: &str = "TAVILY_API_KEY";

/// Where `web_search` asks; `None` if nothing is set.
///
/// # Errors
/// [`ConfigError`]: the address is not one.
pub(super) fn search(resolved: &Resolved) -> Result<Option<WebSearch>, ConfigError> {
    let web = &resolved.settings.tools.web;
    let name = "tools.web.search_url";
    let url = web.search_url.as_deref().map(|written| {
        Target::parse(written).map_err(|_| {
            let right = text::config::expected_search_url();
            unusable(resolved, name, resolved.origin(name), written, right)
        })
    });
    let url = url.transpose()?;
    let from_tavily = matches!(resolved.origin(KEY), Origin::Variable { name } if name == TAVILY);
    let service = match web.search {
        Some(SearchEngine::Brave) => SearchService::Brave,
        Some(SearchEngine::Tavily) => SearchService::Tavily,
        Some(SearchEngine::Searxng) => SearchService::Searxng,
        None if from_tavily => SearchService::Tavily,
        None if web.search_api_key.is_some() => SearchService::Brave,
        None if url.is_some() => SearchService::Searxng,
        None => return Ok(None),
    };
    // The variable of the one service has no key of the other.
    let foreign = match service {
        SearchService::Brave => &[TAVILY][..],
        SearchService::Tavily => &[BRAVE],
        SearchService::Searxng => &[BRAVE, TAVILY],
    };
    let key = resolved
        .secrets_of(KEY)
        .into_iter()
        .find(|(from, _)| !foreign.contains(&from.as_str()));
    let key = key.and_then(|(_, key)| Secret::new(key.expose()));
    Ok(Some(WebSearch { service, key, url }))
}

#[cfg(test)]
mod tests;
