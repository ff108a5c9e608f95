//! One provider's server: its address, its key, and the wording of its failures.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, Url};
use samovar_core::error::FaultCode;
use samovar_core::redact::Secret;
use samovar_core::{Code, Error, ProviderEvent};
use samovar_descriptors::{PATIENCE, stems_from_exhaustion};
use samovar_locale as locale;

use crate::fault::{Fault, cause};
use crate::habits::{Change, Habits};
use crate::proxy::{Proxy, ProxyConfig, Way};
use crate::specs::{ProviderSpec, Quirk};
use crate::timeouts::{Limit, Timeouts};

/// How long a connection without a request is kept: long enough for the next step of a turn, and
/// for an answer of the person.
const IDLE: Duration = Duration::from_secs(20);

/// The HTTP clients, one for each scheme and for each with its proxy, each made at its first use and
/// shared by all providers. A failure is not kept, because it may come from a lack of descriptors.
///
/// One that never speaks TLS asks for no system certificates: a machine without any can still use a
/// local server, and nobody pays for reading them who needs none.
pub(crate) struct Clients {
    connect: Duration,
    /// Connections without a request that are kept for each host, at most.
    max_idle: usize,
    proxies: ProxyConfig,
    plain: OnceLock<Client>,
    encrypted: OnceLock<Client>,
    plain_by_proxy: OnceLock<Client>,
    encrypted_by_proxy: OnceLock<Client>,
}

impl Clients {
    pub(crate) fn new(connect: Duration, max_idle: usize) -> Self {
        Self {
            connect,
            max_idle,
            proxies: ProxyConfig::default(),
            plain: OnceLock::new(),
            encrypted: OnceLock::new(),
            plain_by_proxy: OnceLock::new(),
            encrypted_by_proxy: OnceLock::new(),
        }
    }

    pub(crate) fn with_proxies(mut self, proxies: &ProxyConfig) -> Self {
        self.proxies = proxies.clone();
        self
    }

    /// The client for an address, which is asked this way.
    fn client(&self, url: &Url, way: &Way) -> Result<Client, Fault> {
        let (is_encrypted, proxy) = (url.scheme() == "https", way.proxy());
        let kept = match (is_encrypted, proxy) {
            (false, None) => &self.plain,
            (true, None) => &self.encrypted,
            (false, Some(_)) => &self.plain_by_proxy,
            (true, Some(_)) => &self.encrypted_by_proxy,
        };
        if let Some(client) = kept.get() {
            return Ok(client.clone());
        }
        let mut builder = self.builder();
        if !is_encrypted && !proxy.is_some_and(Proxy::is_encrypted) {
            builder = builder.tls_certs_only([]);
        }
        let made = proxy.map(Proxy::for_client).transpose();
        let made = made.map_err(|error| locale::provider::no_client(cause(&error)));
        let made = made.and_then(|proxy| match proxy {
            Some(proxy) => build(builder.proxy(proxy)),
            None => build(builder),
        });
        let made = made.map_err(|why| Fault::new(FaultCode::Internal, why))?;
        Ok(kept.get_or_init(|| made).clone())
    }

    /// Nothing from the environment, no hop that the configuration does not name.
    fn builder(&self) -> ClientBuilder {
        Client::builder()
            .connect_timeout(self.connect)
            .pool_max_idle_per_host(self.max_idle)
            .pool_idle_timeout(IDLE)
            .tcp_nodelay(true)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("samovar/", env!("CARGO_PKG_VERSION")))
    }
}

fn build(builder: ClientBuilder) -> Result<Client, String> {
    // reqwest panics where it finds none.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        return Err(locale::provider::no_tls().to_owned());
    }
    builder
        .build()
        .map_err(|error| locale::provider::no_client(cause(&error)))
}

/// One provider's server.
pub(crate) struct Endpoint {
    pub(crate) spec: &'static ProviderSpec,
    pub(crate) base: Url,
    pub(crate) timeouts: Timeouts,
    key: Option<(Secret, HeaderValue)>,
    way: Way,
    clients: Arc<Clients>,
    /// How its models want their requests, as far as that was found.
    habits: Mutex<HashMap<String, Habits>>,
}

impl Endpoint {
    pub(crate) fn new(
        spec: &'static ProviderSpec,
        base: Url,
        timeouts: Timeouts,
        clients: Arc<Clients>,
    ) -> Self {
        Self {
            spec,
            way: clients.proxies.way(&base),
            base,
            timeouts,
            key: None,
            clients,
            habits: Mutex::default(),
        }
    }

    /// Adds the key.
    ///
    /// # Errors
    /// [`Code::UnusableModel`] when no header can carry it.
    pub(crate) fn with_key(mut self, key: &Secret) -> Result<Self, Error> {
        let value = match self.key_header() {
            Some(_) => key.expose().to_owned(),
            None => format!("Bearer {}", key.expose()),
        };
        let mut header = HeaderValue::try_from(value).map_err(|_| {
            let name = self.spec.name;
            let why = match self.key_var() {
                Some(variable) => locale::models::key_unsendable_variable(name, variable),
                None => locale::models::key_unsendable(name),
            };
            Error::new(Code::UnusableModel, why)
        })?;
        header.set_sensitive(true);
        self.key = Some((key.clone(), header));
        Ok(self)
    }

    pub(crate) fn client(&self) -> Result<Client, Fault> {
        self.clients.client(&self.base, &self.way)
    }

    /// Whether it is the address of the provider's maker, and not a server that goes by its name.
    pub(crate) fn is_makers_own(&self) -> bool {
        let default = self.spec.default_api_base.map(Url::parse);
        match default {
            Some(Ok(makers)) => makers.host_str() == self.base.host_str(),
            Some(Err(_)) => false,
            None => self
                .base
                .host_str()
                .is_some_and(|host| host.ends_with(".azure.com")),
        }
    }

    /// How a model wants its requests.
    pub(crate) fn habits(&self, model: &str) -> Habits {
        let habits = self.habits.lock().unwrap_or_else(PoisonError::into_inner);
        let known = habits.get(model).cloned();
        known.unwrap_or_else(|| Habits::of(self.spec, model))
    }

    /// Notes what was found of a model.
    pub(crate) fn change(&self, model: &str, change: Change) {
        self.note(model, |habits| habits.learn(change));
    }

    /// Notes something of a model.
    pub(crate) fn note(&self, model: &str, note: impl FnOnce(&mut Habits)) {
        let mut habits = self.habits.lock().unwrap_or_else(PoisonError::into_inner);
        let known = habits.entry(model.to_owned());
        note(known.or_insert_with(|| Habits::of(self.spec, model)));
    }

    /// The header that carries the key.
    pub(crate) fn credentials(&self) -> Option<(HeaderName, HeaderValue)> {
        let (_, value) = self.key.as_ref()?;
        let name = self.key_header().map(HeaderName::from_static);
        Some((name.unwrap_or(AUTHORIZATION), value.clone()))
    }

    /// The header that holds the bare key; none where it is a bearer's.
    fn key_header(&self) -> Option<&'static str> {
        let of_dialect = self.spec.dialect.and_then(|dialect| dialect.key_header);
        let of_row = || self.spec.has(Quirk::ApiKeyHeader).then_some("api-key");
        of_dialect.or_else(of_row)
    }

    /// The address of something below the base URL.
    pub(crate) fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    /// The address of one of the server's own routes, which stand beside the `v1` of its base URL.
    pub(crate) fn root_url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        let is_versioned = url.path().trim_end_matches('/').ends_with("/v1");
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty();
            if is_versioned {
                segments.pop();
            }
            segments.extend(path);
        }
        url
    }

    /// The last event of an answer that is void: who failed, how, what to check. Whatever a server
    /// repeats, the key is not in it.
    pub(crate) fn failed(&self, fault: &Fault, model: &str) -> ProviderEvent {
        let (provider, host, what) = (self.spec.name, self.host(), &fault.message);
        let advice = if fault.is_too_large {
            Some(locale::provider::ask_for_less().to_owned())
        } else {
            self.advice(fault.code, model)
        };
        let mut message = match advice {
            Some(advice) => locale::provider::failure_with_advice(provider, host, what, advice),
            None => locale::provider::failure(provider, host, what),
        };
        message = self.way.explain(message);
        if let Some((key, _)) = &self.key {
            message = message.replace(key.expose(), "***");
        }
        ProviderEvent::Failed {
            code: fault.code,
            message,
            retry_after: fault.retry_after,
            context: fault.context,
            is_final: fault.is_final,
        }
    }

    fn advice(&self, code: FaultCode, model: &str) -> Option<String> {
        match code {
            FaultCode::ProviderAuth => Some(self.advice_on_key()),
            FaultCode::ProviderUnreachable if self.spec.is_local => {
                Some(locale::provider::check_local(self.spec.base_url_var()))
            }
            FaultCode::ProviderUnreachable => {
                Some(locale::provider::check_network(self.spec.base_url_var()))
            }
            FaultCode::BadResponse => Some(locale::provider::check_server().to_owned()),
            FaultCode::ImagesRefused => Some(locale::provider::send_text().to_owned()),
            FaultCode::ModelNotFound => Some(locale::provider::asked_for(locale::quoted(model))),
            FaultCode::ProviderTimeout
            | FaultCode::ProviderRateLimited
            | FaultCode::ProviderError
            | FaultCode::ProviderRejected
            | FaultCode::ContextFull
            | FaultCode::StreamCut
            | FaultCode::EmptyAnswer
            | FaultCode::Interrupted
            | FaultCode::UnusableModel
            | FaultCode::UnusableAgent
            | FaultCode::StoreFailed
            | FaultCode::RecoveryExhausted
            | FaultCode::Internal => None,
        }
    }

    fn advice_on_key(&self) -> String {
        match (&self.key, self.key_var()) {
            (Some(_), Some(variable)) => locale::provider::check_variable(variable),
            (Some(_), None) => locale::provider::check_key().to_owned(),
            (None, Some(variable)) => locale::provider::set_variable(variable),
            (None, None) => locale::provider::set_key().to_owned(),
        }
    }

    /// The variable that its key is read from, if any.
    fn key_var(&self) -> Option<&'static str> {
        self.spec.env_vars.first().copied()
    }

    /// The server's name, with its port where that is not the usual one.
    pub(crate) fn host(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        match self.base.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// A request that brought no response.
    pub(crate) fn unanswered(&self, error: &reqwest::Error) -> Fault {
        if error.is_connect() && error.is_timeout() {
            let seconds = self.timeouts.connect.as_secs_f64();
            let why = locale::provider::no_connection(seconds);
            return Fault::new(FaultCode::ProviderTimeout, why);
        }
        if stems_from_exhaustion(error) {
            let why = locale::provider::no_descriptor(PATIENCE.as_secs());
            return Fault::new(FaultCode::Internal, why);
        }
        let cause = cause(error);
        if error.is_connect() && cause.ends_with("proxy authorization required") {
            return Self::locked_proxy();
        }
        if error.is_connect() {
            let why = locale::provider::unreachable(cause);
            return Fault::new(FaultCode::ProviderUnreachable, why);
        }
        let why = locale::provider::closed(cause);
        Fault::new(FaultCode::StreamCut, why)
    }

    /// The proxy wants a user that the configuration does not name. No wait helps.
    pub(crate) fn locked_proxy() -> Fault {
        let why = locale::provider::proxy_locked();
        Fault::new(FaultCode::ProviderRejected, why)
    }

    /// A call that ran into one of its limits.
    pub(crate) fn late(&self, limit: Limit) -> Fault {
        let seconds = self.timeouts.length(limit).as_secs_f64();
        let why = match limit {
            Limit::FirstToken => locale::provider::late_start(seconds),
            Limit::BetweenTokens => locale::provider::late_middle(seconds),
            Limit::WholeCall => locale::provider::late_end(seconds),
        };
        Fault::new(FaultCode::ProviderTimeout, why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specs::spec;

    fn endpoint(base: &str) -> Endpoint {
        let clients = Arc::new(Clients::new(Duration::from_secs(1), 1));
        let base = Url::parse(base).unwrap();
        Endpoint::new(spec("custom").unwrap(), base, Timeouts::default(), clients)
    }

    #[test]
    fn a_path_is_put_behind_the_bases_own_and_before_its_query() {
        for (base, wanted) in [
            ("http://box/v1", "http://box/v1/chat/completions"),
            ("http://box/v1/", "http://box/v1/chat/completions"),
            ("http://box", "http://box/chat/completions"),
            (
                "http://box/a?version=2",
                "http://box/a/chat/completions?version=2",
            ),
        ] {
            assert_eq!(
                endpoint(base).url(&["chat", "completions"]).as_str(),
                wanted
            );
        }
    }

    // No other test of this binary installs a TLS provider.
    #[test]
    fn a_process_without_a_tls_provider_is_told_so_until_it_has_one() {
        let plain = endpoint("http://box/v1");
        for endpoint in [&plain, &endpoint("https://box/v1")] {
            let fault = endpoint.client().unwrap_err();
            assert_eq!(fault.code, FaultCode::Internal);
            assert!(
                fault.message.contains("no TLS provider"),
                "{}",
                fault.message
            );
        }
        let provider = rustls::crypto::ring::default_provider();
        provider.install_default().unwrap();
        assert!(plain.client().is_ok());
    }
}
