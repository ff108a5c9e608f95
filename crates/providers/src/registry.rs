//! Which provider answers under which model's name.

mod choice;
mod idle;
mod lists;
mod overview;
mod probing;
mod refusal;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use reqwest::Url;
use samovar_core::provider::ModelKind;
use samovar_core::redact::Secret;
use samovar_core::{Error, Future, Model, Models, Provider};
use samovar_locale as locale;
use serde::Serialize;

use self::lists::{Lists, expect};
use self::probing::LastProbe;
use self::refusal::{refuse, shown};
use crate::dialect::{CallForm, Remote};
use crate::endpoint::{Clients, Endpoint};
use crate::external::{EXTERNAL, External};
use crate::price::{FREE, Price};
use crate::probe::Probing;
use crate::proxy::ProxyConfig;
use crate::specs::{self, ProviderSpec, SPECS};
use crate::timeouts::Timeouts;
use crate::unbuilt::Unbuilt;

pub use choice::{Choice, Reason};
pub use overview::Row;

/// The longest name of a model, in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 256;

/// The configuration of the providers. The caller that reads the environment and the files fills it
/// in.
#[derive(Clone, Debug)]
pub struct ProviderConfig {
    /// Keys, by the provider's name in [`SPECS`].
    pub keys: BTreeMap<String, Secret>,
    /// Where a key was found, by the same name, for people: a variable, a file. Not every key needs
    /// one.
    pub key_origins: BTreeMap<String, String>,
    /// Base URLs that were set by hand, by the provider's name in [`SPECS`].
    pub base_urls: BTreeMap<String, String>,
    /// The model for who asked for none (`AGENT_MODEL`).
    pub default_model: Option<String>,
    /// The providers without a row whose keys are set, so that they can be named.
    pub unbuilt: Vec<&'static Unbuilt>,
    /// What models cost, by their canonical names, or by their provider's name in [`SPECS`] for all
    /// others of it; before the built-in prices.
    pub prices: BTreeMap<String, Price>,
    /// Which servers are asked for their models when no model is named.
    pub probing: Probing,
    /// Whether `demo` may answer.
    pub demo: DemoUse,
    /// How many tokens the models of a provider hold, by its name in [`SPECS`], where a person knows.
    pub windows: BTreeMap<String, u64>,
    /// Whether the models of a provider take images, by its name in [`SPECS`], where a person knows.
    pub images: BTreeMap<String, bool>,
    /// How long a model's server may take.
    pub timeouts: Timeouts,
    /// Connections without a request that are kept open for each host, at most; they are closed
    /// after 20 s.
    pub max_idle: usize,
    /// The proxies through which models elsewhere are asked.
    pub proxies: ProxyConfig,
}

impl Default for ProviderConfig {
    fn default() -> Self {
        Self {
            keys: BTreeMap::new(),
            key_origins: BTreeMap::new(),
            base_urls: BTreeMap::new(),
            default_model: None,
            unbuilt: Vec::new(),
            prices: BTreeMap::new(),
            probing: Probing::default(),
            demo: DemoUse::default(),
            windows: BTreeMap::new(),
            images: BTreeMap::new(),
            timeouts: Timeouts::default(),
            max_idle: 32,
            proxies: ProxyConfig::default(),
        }
    }
}

/// Whether `demo` may answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DemoUse {
    /// When nothing else can, or when it is asked for.
    #[default]
    Allowed,
    /// Never (`SAMOVAR_REQUIRE_MODEL=1`).
    Forbidden,
}

/// How a provider can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// With its key.
    Key,
    /// Without one: it is local, or its address was set by hand.
    Open,
    /// Not at all: it wants a key or an address.
    Missing,
}

/// The providers of [`SPECS`] as they are set up. Makes each at its first use.
pub struct Registry {
    config: ProviderConfig,
    clients: Arc<Clients>,
    demo: Arc<dyn Provider>,
    /// As [`SPECS`].
    made: Vec<OnceLock<Made>>,
    last_probe: LastProbe,
    lists: Lists,
}

/// A provider, and its endpoint if it is asked over HTTP.
#[derive(Clone)]
struct Made {
    provider: Arc<dyn Provider>,
    endpoint: Option<Arc<Endpoint>>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").finish_non_exhaustive()
    }
}

impl Registry {
    /// Takes the configuration and the provider for the row `demo`; opens and reads nothing.
    pub fn new(config: ProviderConfig, demo: Arc<dyn Provider>) -> Self {
        let clients = |connect, idle| Clients::new(connect, idle).with_proxies(&config.proxies);
        let made = SPECS.iter().map(|_| OnceLock::new()).collect();
        // No probe shares a connection with a prompt.
        let last_probe = LastProbe::none(Arc::new(clients(config.timeouts.probe, 1)));
        Self {
            clients: Arc::new(clients(config.timeouts.connect, config.max_idle)),
            config,
            demo,
            made,
            last_probe,
            lists: Lists::default(),
        }
    }

    /// The configured default model.
    pub fn asked(&self) -> Option<&str> {
        self.config.default_model.as_deref()
    }

    /// Every provider, and how it can be used.
    pub fn providers(&self) -> impl Iterator<Item = (&'static ProviderSpec, Access)> {
        SPECS.iter().map(|spec| (spec, self.access(spec)))
    }

    /// What a model costs, an estimate: as configured, else as its provider's list says. What runs on
    /// machines of one's own costs nothing; what a server elsewhere costs whose address was set by hand
    /// is not known.
    pub fn price(&self, model: &str) -> Option<Price> {
        let (spec, endpoint_name) = self.row_of(model.trim()).ok()?;
        let prices = &self.config.prices;
        let of_model = prices.get(&spec.canonical(&endpoint_name));
        if let Some(price) = of_model.or_else(|| prices.get(spec.name)) {
            return Some(*price);
        }
        if self.kind(spec) != ModelKind::Remote {
            Some(FREE)
        } else if self.is_by_hand(spec) {
            None
        } else {
            spec.list_price(&endpoint_name)
        }
    }

    fn access(&self, spec: &ProviderSpec) -> Access {
        if spec.is_demo() {
            return match self.config.demo {
                DemoUse::Allowed => Access::Open,
                DemoUse::Forbidden => Access::Missing,
            };
        }
        if self.address(spec).is_none() {
            Access::Missing
        } else if self.config.keys.contains_key(spec.name) {
            Access::Key
        } else if spec.is_local || self.is_by_hand(spec) {
            Access::Open
        } else {
            Access::Missing
        }
    }

    fn address(&self, spec: &ProviderSpec) -> Option<&str> {
        self.set_address(spec).or(spec.default_api_base)
    }

    /// The address that stands for a row's usual one, if any.
    fn set_address(&self, spec: &ProviderSpec) -> Option<&str> {
        let by_hand = self.config.base_urls.get(spec.name).map(String::as_str);
        by_hand.or_else(|| self.config.probing.address(spec))
    }

    fn base(&self, spec: &ProviderSpec) -> Result<Url, Error> {
        spec.base_url(self.set_address(spec))
    }

    fn is_by_hand(&self, spec: &ProviderSpec) -> bool {
        self.config.base_urls.contains_key(spec.name)
    }

    fn is_usable(&self, spec: &ProviderSpec) -> bool {
        self.access(spec) != Access::Missing
    }

    /// The rows whose base URL was set by hand.
    fn set_by_hand(&self) -> Vec<&'static ProviderSpec> {
        let is_by_hand = |spec: &&ProviderSpec| !spec.is_demo() && self.is_by_hand(spec);
        SPECS.iter().filter(is_by_hand).collect()
    }

    /// The row that claims a name, whether or not it can be used, and what the endpoint calls the
    /// model.
    fn row_of(&self, name: &str) -> Result<(&'static ProviderSpec, String), Error> {
        if name.is_empty() || name.ends_with('/') || name.len() > MAX_NAME_BYTES {
            let why = locale::models::bad_name(locale::quoted(&shown(name)), MAX_NAME_BYTES);
            return Err(refuse(why, name));
        }
        let (spec, endpoint_name) = self.route(name)?;
        if spec.is_demo() && endpoint_name != spec.name {
            let why = locale::models::demo_has_one(locale::quoted(&shown(name)));
            return Err(refuse(why, name));
        }
        Ok((spec, endpoint_name))
    }

    /// The first of these that applies (MD-2):
    ///
    /// 1. a name that only one provider spells like this, or `provider/model`;
    /// 2. a server that listed this very name when it was probed last;
    /// 3. the only base URL that was set by hand; not when its server listed other models, and a
    ///    keyword leads to a provider with a key;
    /// 4. for `vendor/model` of a vendor without a row: a gateway with a key, unless a base URL was
    ///    set by hand, because then nothing may leave for elsewhere unasked;
    /// 5. a keyword: the first usable row that has it, else the first.
    fn route(&self, name: &str) -> Result<(&'static ProviderSpec, String), Error> {
        if let Some(spec) = owner(name) {
            return Ok((spec, name.to_owned()));
        }
        if let Some((spec, model)) = explicit(name) {
            return Ok((spec, spec.endpoint_name(model)));
        }
        let by_hand = self.set_by_hand();
        let only = match by_hand.as_slice() {
            &[spec] => Some(spec),
            _ => None,
        };
        let keyword = self.keyword(name);
        let elsewhere = keyword.is_some_and(|spec| self.is_usable(spec));
        let only = only.filter(|spec| !(elsewhere && self.lists_others(spec)));
        let claimed = self.listing(name).or(only);
        let claimed = claimed.or_else(|| self.gateway(name, &by_hand));
        match claimed.or(keyword) {
            Some(spec) => Ok((spec, name.to_owned())),
            None => Err(self.unclaimed(name)),
        }
    }

    /// Whether a probed server listed its models.
    fn lists_others(&self, spec: &ProviderSpec) -> bool {
        let probed = self.last_probed();
        probed.models_of(spec.name).next().is_some()
    }

    /// The first probed server that lists this very name.
    fn listing(&self, name: &str) -> Option<&'static ProviderSpec> {
        let probed = self.last_probed();
        let mut models = probed.models.iter();
        models.find_map(|model| {
            let spec = specs::spec(model.provider)?;
            (spec.canonical(name) == model.name).then_some(spec)
        })
    }

    fn gateway(&self, name: &str, by_hand: &[&ProviderSpec]) -> Option<&'static ProviderSpec> {
        let is_open = name.contains('/') && by_hand.iter().all(|spec| spec.is_gateway);
        let mut gateways = SPECS
            .iter()
            .filter(|spec| spec.is_gateway && self.is_usable(spec));
        is_open.then(|| gateways.next()).flatten()
    }

    fn keyword(&self, name: &str) -> Option<&'static ProviderSpec> {
        let claims = || SPECS.iter().filter(|spec| spec.has_keyword(name));
        let usable = claims().find(|spec| self.is_usable(spec));
        usable.or_else(|| claims().next())
    }

    fn make(&self, spec: &'static ProviderSpec) -> Result<Made, Error> {
        let place = SPECS.iter().position(|row| row.name == spec.name);
        let place = place.and_then(|at| self.made.get(at));
        if let Some(made) = place.and_then(OnceLock::get) {
            return Ok(made.clone());
        }
        let made = match spec.dialect {
            None => Made {
                provider: Arc::clone(&self.demo),
                endpoint: None,
            },
            Some(dialect) => {
                let endpoint = Arc::new(self.endpoint(spec)?);
                let remote = Remote {
                    dialect,
                    endpoint: Arc::clone(&endpoint),
                    calls: self.call_form(spec),
                };
                Made {
                    provider: Arc::new(remote),
                    endpoint: Some(endpoint),
                }
            }
        };
        Ok(match place {
            Some(place) => place.get_or_init(|| made).clone(),
            None => made,
        })
    }

    /// A service with its own address knows its models' templates.
    fn call_form(&self, spec: &ProviderSpec) -> CallForm {
        if spec.is_local || self.is_by_hand(spec) {
            CallForm::OrText
        } else {
            CallForm::Dialect
        }
    }

    /// The model of a name, after a look for it where its name says nothing of its provider.
    async fn found(&self, name: &str) -> Result<Model, Error> {
        let known = self.resolve(name);
        if known.is_ok() && (self.has_probed() || has_provider(name.trim())) {
            return known;
        }
        self.look_for(name).await;
        self.resolve(name)
    }

    fn endpoint(&self, spec: &'static ProviderSpec) -> Result<Endpoint, Error> {
        let base = self.base(spec)?;
        let endpoint = Endpoint::new(spec, base, self.config.timeouts, Arc::clone(&self.clients));
        match self.config.keys.get(spec.name) {
            Some(key) => endpoint.with_key(key),
            None => Ok(endpoint),
        }
    }

    /// Where a `provider/model` is asked, and the model's name there.
    pub(crate) fn endpoint_of(&self, name: &str) -> Result<(Endpoint, String), Error> {
        let found = explicit(name.trim()).filter(|(spec, _)| !spec.is_demo());
        let (spec, model) = found.ok_or_else(|| {
            let why = locale::models::no_embeddings(locale::quoted(name));
            refuse(why, name)
        })?;
        if !self.is_usable(spec) {
            return Err(self.unusable(spec, name));
        }
        Ok((self.endpoint(spec)?, model.to_owned()))
    }

    fn demo(&self, spec: &'static ProviderSpec, name: &str) -> Result<Model, Error> {
        if !self.is_usable(spec) {
            let why = locale::models::demo_forbidden();
            return Err(refuse(why.to_owned(), name));
        }
        Ok(Model {
            name: spec.name.to_owned(),
            endpoint_name: spec.name.to_owned(),
            route: spec.name.to_owned(),
            kind: ModelKind::Demo,
            window: None,
            is_blind: true,
            provider: self.make(spec)?.provider,
        })
    }

    fn kind(&self, spec: &ProviderSpec) -> ModelKind {
        let is_near = || self.base(spec).is_ok_and(|url| is_loopback(&url));
        if spec.is_demo() {
            ModelKind::Demo
        } else if spec.is_local || is_near() {
            ModelKind::Local
        } else {
            ModelKind::Remote
        }
    }
}

impl Models for Registry {
    fn resolve(&self, name: &str) -> Result<Model, Error> {
        let name = name.trim();
        if name == EXTERNAL {
            return Ok(external());
        }
        let (spec, endpoint_name) = self.row_of(name)?;
        if spec.is_demo() {
            return self.demo(spec, name);
        }
        if !self.is_usable(spec) {
            return Err(self.unusable(spec, name));
        }
        let name = spec.canonical(&endpoint_name);
        let route = if has_provider(&name) {
            name.clone()
        } else {
            format!("{}/{name}", spec.name)
        };
        let made = self.make(spec)?;
        let listed = self.listed(spec, &name);
        if let (Some(endpoint), Some(listed)) = (&made.endpoint, &listed) {
            expect(endpoint, &endpoint_name, listed);
        }
        Ok(Model {
            name,
            route,
            kind: self.kind(spec),
            window: self.window(spec, listed.as_ref()),
            is_blind: self.takes_images(spec, &endpoint_name) == Some(false),
            provider: made.provider,
            endpoint_name,
        })
    }

    fn claim(&self, name: &str) -> Result<(), Error> {
        let name = name.trim();
        if name == EXTERNAL {
            return Ok(());
        }
        self.row_of(name).map(drop)
    }

    fn with_images(&self, name: &str) -> Vec<String> {
        self.seeing(name)
    }

    fn price(&self, name: &str) -> Option<samovar_core::Price> {
        Self::price(self, name).map(|price| price.exact())
    }

    fn look_for<'a>(&'a self, name: &'a str) -> Future<'a, ()> {
        Box::pin(async move {
            if !has_provider(name.trim()) {
                self.probe().await;
            }
        })
    }

    fn find<'a>(&'a self, name: &'a str) -> Future<'a, Result<Model, Error>> {
        Box::pin(async move {
            let known = self.found(name).await;
            if self.list_for(name).await {
                return self.resolve(name);
            }
            known
        })
    }

    fn default_name(&self) -> Future<'_, Result<String, Error>> {
        Box::pin(async { Ok(self.choice().await?.name) })
    }
}

/// Not in the table: nobody can set it up, and it is never chosen for who names no model.
fn external() -> Model {
    Model {
        name: EXTERNAL.to_owned(),
        endpoint_name: EXTERNAL.to_owned(),
        route: EXTERNAL.to_owned(),
        kind: ModelKind::Demo,
        window: None,
        is_blind: true,
        provider: Arc::new(External),
    }
}

/// The key in [`ProviderConfig::prices`] of what a person calls a provider, for all its models, or a
/// model; `None` for what belongs to no provider.
pub fn price_key(written: &str) -> Option<String> {
    if let Some(spec) = specs::spec(&written.to_lowercase()) {
        return Some(spec.name.to_owned());
    }
    if let Some(spec) = owner(written) {
        return Some(spec.canonical(written));
    }
    match explicit(written) {
        Some((_, "")) => None,
        Some((spec, model)) => Some(spec.canonical(&spec.endpoint_name(model))),
        None => {
            let is_claimed = SPECS.iter().any(|spec| spec.claims(written));
            is_claimed.then(|| written.to_owned())
        }
    }
}

/// Whether a name says itself whose model it is, whatever the servers of this machine list.
fn has_provider(name: &str) -> bool {
    name == EXTERNAL || owner(name).is_some() || explicit(name).is_some()
}

/// The provider that alone spells its names like this.
fn owner(name: &str) -> Option<&'static ProviderSpec> {
    SPECS.iter().find(|spec| spec.owns(name))
}

/// `provider/model`, or `demo`, which has no other model.
fn explicit(name: &str) -> Option<(&'static ProviderSpec, &str)> {
    let (provider, model) = match name.split_once('/') {
        Some((provider, model)) => (provider.to_lowercase(), model),
        None if name == "demo" => (name.to_owned(), name),
        None => return None,
    };
    Some((specs::spec(&provider)?, model))
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse();
    host == "localhost" || address.is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests;
