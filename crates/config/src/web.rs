//! What the web tools are set up with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settings::Secret;

/// How tools use the web.
#[derive(Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Web {
    /// The service of `web_search`; by default the one whose key is set, else `searxng` if
    /// `search_url` is set.
    #[schemars(with = "SearchEngine", example = &"searxng", extend("x-widens" = true))]
    pub search: Option<SearchEngine>,
    /// The key of Brave or Tavily; without `search` it is one of Brave, unless it comes from
    /// `TAVILY_API_KEY`.
    #[schemars(
        with = "Secret", example = &"YOUR_KEY",
        length(min = 1, max = 4_096),
        extend(
            "x-widens" = true, "writeOnly" = true,
            "x-variables" = ["BRAVE_API_KEY", "TAVILY_API_KEY"]
        )
    )]
    pub search_api_key: Option<Secret>,
    /// The address of a SearXNG server, or of a server that Brave or Tavily is reached through. It
    /// need not be public, and only `web_search` may contact it.
    #[schemars(with = "String", example = &"http://127.0.0.1:8888", length(min = 1, max = 2_048), extend("x-widens" = true))]
    pub search_url: Option<String>,
}

/// A service that searches the web.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SearchEngine {
    /// Brave Search, with a key.
    Brave,
    /// Tavily, with a key.
    Tavily,
    /// A SearXNG server.
    Searxng,
}

/// The address may contain a key, too.
impl std::fmt::Debug for Web {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let url = self.search_url.as_deref();
        f.debug_struct("Web")
            .field("search", &self.search)
            .field("search_api_key", &self.search_api_key)
            .field("search_url", &url.map(samovar_locale::without_secrets))
            .finish()
    }
}
