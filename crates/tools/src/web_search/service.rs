//! The services: what each is asked, and what it answers.

use std::fmt;

use samovar_core::redact::Secret;
use samovar_egress::{Client, HeaderMap, HeaderName, HeaderValue, Method, Request, Target, header};
use serde_json::{Value, json};
use url::Url;

use crate::online;
use crate::web_fetch::plain;
use crate::web_search::Hit;

const SUBSCRIPTION: HeaderName = HeaderName::from_static("x-subscription-token");

/// A service that searches the web.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchService {
    /// Brave Search, with a key.
    Brave,
    /// Tavily, with a key.
    Tavily,
    /// A SearXNG server of the operator.
    Searxng,
}

/// Where `web_search` asks.
#[derive(Clone)]
pub struct WebSearch {
    /// The service.
    pub service: SearchService,
    /// Its key.
    pub key: Option<Secret>,
    /// The address of its server, without the path of its interface, instead of the usual one. The
    /// operator names it, so it need not be public.
    pub url: Option<Target>,
}

/// Without the key and the path.
impl fmt::Debug for WebSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSearch")
            .field("service", &self.service)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl SearchService {
    /// Every service, as configuration spells it.
    pub const ALL: [(&'static str, Self); 3] = [
        ("brave", Self::Brave),
        ("tavily", Self::Tavily),
        ("searxng", Self::Searxng),
    ];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Brave => "Brave",
            Self::Tavily => "Tavily",
            Self::Searxng => "SearXNG",
        }
    }

    /// Its usual address; `None` if each operator has another.
    fn usual_url(self) -> Option<&'static str> {
        match self {
            Self::Brave => Some("https://api.search.brave.com/"),
            Self::Tavily => Some("https://api.tavily.com/"),
            Self::Searxng => None,
        }
    }

    /// What was found, in the service's order; `None` if this is no answer of the service.
    pub(super) fn hits(self, answer: &Value) -> Option<Vec<Hit>> {
        let (results, snippet) = match self {
            // Without a hit there is no `web`.
            Self::Brave => match answer.get("web") {
                Some(web) => (web.get("results")?, "description"),
                None => return (answer.get("type")? == "search").then(Vec::new),
            },
            Self::Tavily | Self::Searxng => (answer.get("results")?, "content"),
        };
        let hits = results.as_array()?.iter().filter_map(|hit| {
            let text = |field: &str| hit[field].as_str().unwrap_or_default();
            // Brave's texts are HTML.
            if self == Self::Brave {
                return Hit::new(&plain(text("title")), text("url"), &plain(text(snippet)));
            }
            Hit::new(text("title"), text("url"), text(snippet))
        });
        Some(hits.collect())
    }
}

impl WebSearch {
    /// Whether it cannot be asked, because it has no key.
    pub fn lacks_key(&self) -> bool {
        self.service != SearchService::Searxng && self.key.is_none()
    }

    /// A client that may ask this service.
    pub(super) fn client(&self, client: &Client) -> Client {
        match &self.url {
            Some(url) => client.trusting(url),
            None => client.clone(),
        }
    }

    /// The request of a search.
    ///
    /// # Errors
    /// The address or the key cannot be sent; the error contains neither.
    pub(super) fn request(&self, query: &str, count: usize) -> Result<Request, String> {
        let path = match self.service {
            SearchService::Brave => "res/v1/web/search",
            SearchService::Tavily | SearchService::Searxng => "search",
        };
        let unusable = |_| "tools.web.search_url cannot be asked".to_owned();
        let named = self.url.as_ref().map(Target::expose);
        let base = named.or_else(|| self.service.usual_url());
        let base = base.ok_or("SearXNG needs its address in tools.web.search_url")?;
        let base = base
            .split(['?', '#'])
            .next()
            .unwrap_or(base)
            .trim_end_matches('/');
        let mut url = Url::parse(&format!("{base}/{path}")).map_err(unusable)?;
        let mut headers = online::headers("application/json");
        let (mut method, mut body) = (Method::GET, Vec::new());
        match self.service {
            SearchService::Brave => {
                let count = count.to_string();
                url.query_pairs_mut().extend_pairs([
                    ("q", query),
                    ("count", &count),
                    ("text_decorations", "false"),
                ]);
                self.sign(&mut headers, SUBSCRIPTION, "")?;
            }
            SearchService::Tavily => {
                method = Method::POST;
                let json = HeaderValue::from_static("application/json");
                headers.insert(header::CONTENT_TYPE, json);
                body = json!({ "query": query, "max_results": count })
                    .to_string()
                    .into_bytes();
                self.sign(&mut headers, header::AUTHORIZATION, "Bearer ")?;
            }
            SearchService::Searxng => {
                url.query_pairs_mut()
                    .extend_pairs([("q", query), ("format", "json")]);
            }
        }
        let target = Target::parse(url.as_str())
            .map_err(|_| "the query is too long as an address; use fewer words".to_owned())?;
        Ok(Request {
            method,
            target,
            headers,
            body: body.into(),
        })
    }

    fn sign(&self, headers: &mut HeaderMap, name: HeaderName, scheme: &str) -> Result<(), String> {
        let Some(key) = &self.key else {
            let name = self.service.name();
            return Err(format!("{name} needs a key in tools.web.search_api_key"));
        };
        let value = HeaderValue::from_str(&format!("{scheme}{}", key.expose()));
        let mut value = value.map_err(|_| "tools.web.search_api_key cannot be sent".to_owned())?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    }
}
