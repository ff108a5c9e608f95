//! The table of providers, and what is known about each.

mod prices;
mod table;

use reqwest::Url;
use samovar_core::{Code, Error};
use samovar_locale as locale;

use crate::dialect::Dialect;
use crate::price::{ListPrice, Price};
use crate::words::{begins_word, has_word};

pub use table::SPECS;

/// A provider: one row of [`SPECS`].
#[derive(Clone, Copy, Debug)]
pub struct ProviderSpec {
    /// The name in `name/model` and in the configuration: lower case, words joined by `-`.
    pub name: &'static str,
    /// The name for people.
    pub display_name: &'static str,
    /// What it speaks. `None` for `demo`, whose provider the server hands to
    /// [`Registry::new`](crate::Registry::new).
    pub dialect: Option<&'static Dialect>,
    /// Whole words, in lower case, by which a model's name is known to be its own.
    pub keywords: &'static [&'static str],
    /// Environment variables that may hold its key; messages name the first.
    pub env_vars: &'static [&'static str],
    /// Its base URL; `None` if the user must give one.
    pub default_api_base: Option<&'static str>,
    /// A variable for its address besides [`ProviderSpec::base_url_var`], as the provider's own
    /// programs read it.
    pub address_var: Option<&'static str>,
    /// The path added to a configured address that has none, as the provider's own programs do.
    pub usual_path: Option<&'static str>,
    /// The default model; `None` if it depends on what is installed.
    pub default_model: Option<&'static str>,
    /// The prefix of a model's canonical name, before its `/` (MD-21). `None` if the bare name is
    /// canonical.
    pub prefix: Option<&'static str>,
    /// How names begin that are canonical as they are, and always this provider's.
    pub skip_prefix: &'static [&'static str],
    /// What single models want; the first row whose pattern fits counts.
    pub model_overrides: &'static [ModelOverride],
    /// Whether its models take images: whole words of their names in lower case, or `*` for all; the
    /// first that fits counts.
    pub images: &'static [(&'static str, bool)],
    /// What sets its endpoint apart from others of its dialect.
    pub quirks: &'static [Quirk],
    /// How it lists the models that it has.
    pub listing: Listing,
    /// What its models cost, as far as that is known: estimates.
    pub prices: &'static [ListPrice],
    /// Whether it passes prompts on to other providers, whose names are a part of its models'.
    pub is_gateway: bool,
    /// Whether it runs on the user's own machines and needs no key.
    pub is_local: bool,
}

/// How an endpoint lists the models that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// By name alone, where its dialect has that list.
    Names,
    /// As Ollama does, which tells of each model what it can do.
    Ollama,
    /// As LM Studio does, which tells what each model can do and whether it is loaded.
    LmStudio,
    /// By name, and the one model that it serves tells how it is spoken to.
    LlamaCpp,
}

/// What a single model wants.
#[derive(Clone, Copy, Debug)]
pub struct ModelOverride {
    /// A whole word of the model's name in lower case, or `*` for every model.
    pub pattern: &'static str,
    /// The lowest temperature that it takes.
    pub min_temperature: Option<f32>,
    /// The highest temperature that it takes.
    pub max_temperature: Option<f32>,
    /// The most tokens that its answer may have.
    pub max_tokens: Option<u32>,
    /// What is not sent.
    pub drops: &'static [Param],
}

/// A parameter that not every model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// `temperature`.
    Temperature,
    /// `max_tokens`; `max_completion_tokens` is sent in its place.
    MaxTokens,
    /// `tools`: the model cannot call any.
    Tools,
}

/// Where an endpoint departs from what others of its dialect take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quirk {
    /// Refuses `stream_options`, and sends the usage unasked.
    NoStreamOptions,
    /// Takes only ids of exactly nine letters and digits for calls.
    NineLetterIds,
    /// Wants something said by the assistant between a result and a user's message.
    AnswerAfterResult,
    /// Wants back what its model thought before a call.
    ReasoningBack,
    /// Takes a call's arguments back as any text, not only as a JSON object.
    AnyArguments,
    /// Wants its key in the header `api-key`.
    ApiKeyHeader,
}

impl ModelOverride {
    /// The temperature to send, if any.
    pub(crate) fn temperature(&self, wanted: f32) -> Option<f32> {
        let lowest = self.min_temperature.unwrap_or(f32::NEG_INFINITY);
        let highest = self.max_temperature.unwrap_or(f32::INFINITY);
        (!self.drops.contains(&Param::Temperature)).then(|| wanted.max(lowest).min(highest))
    }

    /// The limit on the answer's length to send.
    pub(crate) fn limit(&self, wanted: u32) -> u32 {
        wanted.min(self.max_tokens.unwrap_or(u32::MAX))
    }
}

/// What a model wants that no override names: nothing.
const NO_OVERRIDE: ModelOverride = ModelOverride {
    pattern: "*",
    min_temperature: None,
    max_temperature: None,
    max_tokens: None,
    drops: &[],
};

/// The row of this name.
pub fn spec(name: &str) -> Option<&'static ProviderSpec> {
    SPECS.iter().find(|spec| spec.name == name)
}

impl ProviderSpec {
    /// Whether it is the demo model, which runs in the server.
    pub fn is_demo(&self) -> bool {
        self.dialect.is_none()
    }

    /// The variable that sets its base URL: `LM_STUDIO_BASE_URL` for `lm-studio`.
    pub fn base_url_var(&self) -> String {
        format!("{}_BASE_URL", self.name.replace('-', "_").to_uppercase())
    }

    /// What one of its models wants.
    pub fn overrides(&self, model: &str) -> &'static ModelOverride {
        let fits = |row: &&ModelOverride| row.pattern == "*" || has_word(model, row.pattern);
        self.model_overrides
            .iter()
            .find(fits)
            .unwrap_or(&NO_OVERRIDE)
    }

    /// Whether one of its models takes images; `None` if that is not known.
    pub fn takes_images(&self, model: &str) -> Option<bool> {
        let fits = |(word, _): &&(&str, bool)| *word == "*" || has_word(model, word);
        self.images.iter().find(fits).map(|(_, takes)| *takes)
    }

    /// What the model that its endpoint calls `model` costs, if its list says so.
    pub fn list_price(&self, model: &str) -> Option<Price> {
        let listed = self.prices.iter().find(|listed| listed.is_of(model));
        listed.map(|listed| listed.price)
    }

    /// The canonical name (MD-21) of the model that its endpoint calls `model`. From a canonical
    /// name the same provider and model are found again.
    pub fn canonical(&self, model: &str) -> String {
        match self.prefix {
            Some(_) if self.owns(model) => model.to_owned(),
            Some(prefix) if self.is_gateway && model.starts_with(prefix) => model.to_owned(),
            Some(prefix) => format!("{prefix}{model}"),
            None if self.claims(model) || model == self.name => model.to_owned(),
            None => format!("{}/{model}", self.name),
        }
    }

    /// The name that its endpoint uses for what stands behind `name/`. A gateway's models always
    /// name their vendor, and where none is named it is the gateway itself: `openrouter/auto`.
    pub(crate) fn endpoint_name(&self, model: &str) -> String {
        match self.prefix {
            Some(prefix) if self.is_gateway && !model.contains('/') => format!("{prefix}{model}"),
            Some(_) | None => model.to_owned(),
        }
    }

    /// Whether a bare name is known to be one of its models.
    pub(crate) fn claims(&self, model: &str) -> bool {
        !model.contains('/') && self.has_keyword(model)
    }

    /// Whether one of its keywords begins a word of a name.
    pub(crate) fn has_keyword(&self, model: &str) -> bool {
        self.keywords.iter().any(|word| begins_word(model, word))
    }

    /// Whether a name is spelled as only this provider spells its own.
    pub(crate) fn owns(&self, model: &str) -> bool {
        self.skip_prefix
            .iter()
            .any(|prefix| model.starts_with(prefix))
    }

    pub(crate) fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }

    /// The base URL, from what was set by hand or else its own.
    ///
    /// A local server's address may leave out what its programs leave out too: scheme and port; and
    /// some rows' the path.
    ///
    /// # Errors
    /// [`Code::UnusableModel`] when there is none, or it is not an address of a web server.
    pub(crate) fn base_url(&self, by_hand: Option<&str>) -> Result<Url, Error> {
        let Some(raw) = by_hand.or(self.default_api_base) else {
            let why = locale::models::no_base_url(self.name, self.base_url_var());
            return Err(Error::new(Code::UnusableModel, why));
        };
        self.read_url(raw).ok_or_else(|| {
            let shown = locale::without_secrets(raw);
            let (url, variable) = (locale::quoted(&shown), self.base_url_var());
            let example = self.default_api_base.unwrap_or("http://127.0.0.1:8000/v1");
            let why = locale::models::bad_base_url(self.name, url, variable, example);
            Error::new(Code::UnusableModel, why)
        })
    }

    fn read_url(&self, raw: &str) -> Option<Url> {
        let raw = raw.trim();
        let url = match Url::parse(raw) {
            Ok(url) if raw.contains("://") => url,
            Ok(_) | Err(_) if self.is_local => self.short_address(raw)?,
            Ok(_) | Err(_) => return None,
        };
        let url = self.with_path(url);
        let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        is_web.then_some(url)
    }

    /// `host`, `host:port`: what `OLLAMA_HOST` holds.
    fn short_address(&self, raw: &str) -> Option<Url> {
        let usual = Url::parse(self.default_api_base?).ok()?;
        let mut url = Url::parse(&format!("http://{raw}")).ok()?;
        if url.port().is_none() {
            url.set_port(usual.port()).ok()?;
        }
        Some(url)
    }

    fn with_path(&self, mut url: Url) -> Url {
        if let (Some(path), "/") = (self.usual_path, url.path()) {
            url.set_path(path);
        }
        url
    }
}

#[cfg(test)]
mod tests;
