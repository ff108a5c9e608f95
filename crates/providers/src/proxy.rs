//! The proxy through which models elsewhere are asked, and who is asked without it.

use std::fmt;
use std::io::ErrorKind;
use std::net::{IpAddr, UdpSocket};

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Url;
use samovar_core::redact::Secret;
use samovar_locale as locale;

use crate::probe::shown;

/// The proxies for models; nothing else uses them. Servers of this machine are never asked through
/// one.
#[derive(Clone, Debug, Default)]
pub struct ProxyConfig {
    /// For addresses that begin with `http:`.
    pub http: Option<ProxySetting>,
    /// For addresses that begin with `https:`.
    pub https: Option<ProxySetting>,
    /// The hosts that are asked directly, as curl reads `NO_PROXY`: names with all below them,
    /// addresses, ranges, or `*`.
    pub direct: Vec<String>,
    /// Where that list was set, for people.
    pub direct_origin: String,
}

/// A proxy as it was set.
#[derive(Clone, Debug)]
pub struct ProxySetting {
    /// Where, for people: a variable, a file.
    pub origin: String,
    /// The proxy; an error if it is ignored.
    pub proxy: Result<Proxy, ProxyError>,
}

/// A proxy that speaks HTTP. Its text is its address without what is secret in it.
#[derive(Clone)]
pub struct Proxy(Url);

/// Why a proxy cannot be used. Its text says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProxyError {
    /// It is of another kind, such as `socks5`.
    Scheme(String),
    /// It is not an address.
    Malformed,
}

/// How a server is asked.
#[derive(Clone, Debug)]
pub enum Way {
    /// Directly: no proxy is set for it, or it runs on this machine.
    Direct,
    /// Directly, although a proxy is set: the list that was set here names it.
    Exempt(String),
    /// Directly, because the proxy that was set here cannot be used.
    Ignored(String, ProxyError),
    /// Through this proxy, which was set here.
    Through(String, Proxy),
}

impl ProxyConfig {
    /// How the server at an address is asked.
    pub fn way(&self, url: &Url) -> Way {
        let setting = match url.scheme() {
            "https" => &self.https,
            _ => &self.http,
        };
        match setting {
            None => Way::Direct,
            Some(_) if is_own(url) => Way::Direct,
            Some(_) if self.exempts(url) => Way::Exempt(self.direct_origin.clone()),
            Some(ProxySetting { origin, proxy }) => match proxy {
                Ok(proxy) => Way::Through(origin.clone(), proxy.clone()),
                Err(error) => Way::Ignored(origin.clone(), error.clone()),
            },
        }
    }

    /// Each proxy that was set, once.
    pub fn settings(&self) -> impl Iterator<Item = &ProxySetting> {
        let https = self.https.as_ref();
        let is_other = |http: &&ProxySetting| https.is_none_or(|https| https.origin != http.origin);
        https.into_iter().chain(self.http.as_ref().filter(is_other))
    }

    fn exempts(&self, url: &Url) -> bool {
        // `*.example.com` is how people write what curl calls `.example.com`.
        let names = self.direct.iter();
        let names = names.map(|name| {
            name.strip_prefix('*')
                .filter(|rest| rest.starts_with('.'))
                .unwrap_or(name)
        });
        let list = names.collect::<Vec<_>>().join(",");
        !is_intercepted(Matcher::builder().all("http://proxy").no(list), url)
    }
}

/// Whether a request to an address would go to a proxy.
fn is_intercepted(matcher: hyper_util::client::proxy::matcher::Builder, url: &Url) -> bool {
    let uri = url.as_str().parse();
    uri.is_ok_and(|uri| matcher.build().intercept(&uri).is_some())
}

/// Whether an address is this machine's: its loopback, or one that a socket can be bound to. Names
/// are not looked up.
fn is_own(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    if host == "localhost" || host.ends_with(".localhost") {
        return true;
    }
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let Ok(address) = address.parse::<IpAddr>() else {
        return false;
    };
    let address = address.to_canonical();
    if address.is_loopback() {
        return true;
    }
    let bound = UdpSocket::bind((address, 0));
    // In doubt it is, such as without a free descriptor.
    bound.map_or_else(
        |error| error.kind() != ErrorKind::AddrNotAvailable,
        |_| true,
    )
}

impl Proxy {
    /// Reads an address; `http` is the scheme of one that has none.
    ///
    /// # Errors
    /// [`ProxyError`].
    pub fn parse(written: &str) -> Result<Self, ProxyError> {
        let written = written.trim();
        let whole = match written.split_once("://") {
            Some(_) => written.to_owned(),
            None => format!("http://{written}"),
        };
        let url = Url::parse(&whole).map_err(|_| ProxyError::Malformed)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(ProxyError::Scheme(url.scheme().to_owned()));
        }
        // What the client cannot read, it would pass over in silence.
        let matcher = Matcher::builder().all(url.as_str());
        let is_usable = url.has_host() && is_intercepted(matcher, &url);
        is_usable.then_some(Self(url)).ok_or(ProxyError::Malformed)
    }

    /// Its password, as it is sent.
    pub fn password(&self) -> Option<Secret> {
        let user = Some(self.0.username()).filter(|user| !user.is_empty());
        self.0
            .password()
            .or(user)
            .and_then(|word| Secret::new(&decoded(word)))
    }

    /// Whether it is spoken to over TLS.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// It, for a client's requests.
    pub(crate) fn for_client(&self) -> reqwest::Result<reqwest::Proxy> {
        reqwest::Proxy::all(self.0.clone())
    }
}

/// A part of a URL without its percent-encoding.
fn decoded(word: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = word.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|two| std::str::from_utf8(two).ok());
        if let Some(byte) = digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Way {
    /// The proxy, if there is one.
    pub(crate) fn proxy(&self) -> Option<&Proxy> {
        match self {
            Self::Through(_, proxy) => Some(proxy),
            Self::Direct | Self::Exempt(_) | Self::Ignored(..) => None,
        }
    }

    /// A failure, with what a person must know of the proxy to find its cause.
    pub(crate) fn explain(&self, failure: String) -> String {
        match self {
            Self::Direct => failure,
            Self::Exempt(origin) => locale::provider::asked_directly(failure, origin),
            Self::Ignored(origin, error) => locale::provider::proxy_ignored(failure, origin, error),
            Self::Through(origin, proxy) => locale::provider::asked_through(failure, proxy, origin),
        }
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(shown(&self.0).trim_end_matches('/'))
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({self})")
    }
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self {
            Self::Scheme(scheme) => locale::provider::proxy_scheme(scheme),
            Self::Malformed => locale::provider::proxy_malformed().to_owned(),
        })
    }
}
