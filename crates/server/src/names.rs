//! Names by which clients reach the server, and the origins of pages that may use it (TL-12).

use std::fmt;
use std::net::{Ipv6Addr, SocketAddr};
use std::str::FromStr;

use axum::http::HeaderValue;

use crate::config::Config;

/// A host with or without a port, as clients name a server in `Host`: `samovar.example`,
/// `samovar.example:8443`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority(String);

/// The text is not an authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAnAuthority;

impl Authority {
    /// The authority in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Authority {
    type Err = NotAnAuthority;

    fn from_str(text: &str) -> Result<Self, NotAnAuthority> {
        authority(text).map(Self).ok_or(NotAnAuthority)
    }
}

/// The authorities that mean this server, and the origins of its own pages there.
#[derive(Clone, Default)]
pub(crate) struct Names {
    authorities: Vec<String>,
    origins: Vec<String>,
}

impl Names {
    /// Authorities that a program serves without TLS.
    pub(crate) fn new(authorities: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::default().and("http", authorities)
    }

    /// Those of a socket: its address, the other loopback names if that is on loopback, and the hosts
    /// of the configuration. The name that clients should use comes first.
    pub(crate) fn of(address: SocketAddr, config: &Config) -> Self {
        let scheme = if config.behind_proxy { "https" } else { "http" };
        let hosts = config.hosts.iter().map(Authority::as_str);
        if address.ip().is_loopback() {
            let port = address.port();
            let loopback = ["localhost", "127.0.0.1", "[::1]"];
            let names = Self::new([address.to_string()]);
            let names = names.and("http", loopback.map(|host| format!("{host}:{port}")));
            return names.and(scheme, hosts);
        }
        let names = Self::default().and(scheme, hosts);
        let is_one = !address.ip().is_unspecified();
        names.and("http", is_one.then(|| address.to_string()))
    }

    /// Where clients reach the server; empty without a name.
    pub(crate) fn url(&self) -> &str {
        self.origins.first().map_or("", String::as_str)
    }

    fn and(mut self, scheme: &str, more: impl IntoIterator<Item = impl Into<String>>) -> Self {
        for authority in more {
            let authority = authority.into().to_ascii_lowercase();
            let origin = format!("{scheme}://{}", without_usual_port(scheme, &authority));
            if !self.origins.contains(&origin) {
                self.origins.push(origin);
                self.authorities.push(authority);
            }
        }
        self
    }

    pub(crate) fn authorities(&self) -> &[String] {
        &self.authorities
    }

    pub(crate) fn has_authority(&self, authority: &str) -> bool {
        let given = authority.to_ascii_lowercase();
        let mut ours = self.authorities.iter();
        // Clients leave out the usual port, with TLS at a proxy that of TLS.
        ours.any(|ours| {
            let usual = ["http", "https"].map(|scheme| without_usual_port(scheme, ours));
            *ours == given || usual.contains(&given.as_str())
        })
    }

    pub(crate) fn has_origin(&self, origin: &HeaderValue) -> bool {
        self.origins.iter().any(|ours| origin == ours.as_str())
    }
}

/// The origin of a web page as its browser sends it: `http://localhost:5173`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

/// The text is not an origin. Neither is `null`, a wildcard, or one with anything after the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAnOrigin;

impl Origin {
    /// The origin as in the header `Origin`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Origin {
    type Err = NotAnOrigin;

    fn from_str(text: &str) -> Result<Self, NotAnOrigin> {
        let (scheme, rest) = text.split_once("://").ok_or(NotAnOrigin)?;
        let scheme = scheme.to_ascii_lowercase();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        if !scheme.starts_with(|first: char| first.is_ascii_lowercase())
            || !scheme.bytes().all(is_plain)
        {
            return Err(NotAnOrigin);
        }
        let authority = authority(rest).ok_or(NotAnOrigin)?;
        let authority = without_usual_port(&scheme, &authority);
        Ok(Self(format!("{scheme}://{authority}")))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An authority as browsers send it in a URL of this scheme.
fn without_usual_port<'a>(scheme: &str, authority: &'a str) -> &'a str {
    let usual = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => "",
    };
    authority.strip_suffix(usual).unwrap_or(authority)
}

/// A host with or without a port, in the spelling that browsers send.
fn authority(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        Some(_) | None => (text.as_str(), None),
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let bracketed = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let host = match bracketed {
        Some(address) => format!("[{}]", address.parse::<Ipv6Addr>().ok()?),
        None if !host.is_empty() && host.bytes().all(is_plain) => host.to_owned(),
        None => return None,
    };
    match port {
        None => Some(host),
        Some(port) => {
            let number = port.parse::<u16>().ok().filter(|&number| number > 0)?;
            (number.to_string() == port).then(|| format!("{host}:{port}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    // proves TL-12
    #[test]
    fn a_usual_port_counts_as_clients_send_it() {
        for (listens, hosts, given, is_ours, url) in [
            (
                "0.0.0.0:4747",
                "a.example:443",
                "A.example",
                true,
                "https://a.example",
            ),
            (
                "0.0.0.0:4747",
                "a.example:443",
                "a.example:443",
                true,
                "https://a.example",
            ),
            (
                "0.0.0.0:4747",
                "a.example",
                "a.example:443",
                false,
                "https://a.example",
            ),
            (
                "0.0.0.0:4747",
                "a.example:8443",
                "a.example",
                false,
                "https://a.example:8443",
            ),
            (
                "192.0.2.1:80",
                "a.example",
                "192.0.2.1",
                true,
                "https://a.example",
            ),
            (
                "127.0.0.1:80",
                "a.example:443",
                "localhost",
                true,
                "http://127.0.0.1",
            ),
            (
                "127.0.0.1:4747",
                "a.example",
                "127.0.0.1",
                false,
                "http://127.0.0.1:4747",
            ),
        ] {
            let mut config = Config::new("/data".into(), "/work".into());
            config.behind_proxy = true;
            config.hosts = vec![hosts.parse().unwrap()];
            let names = Names::of(listens.parse().unwrap(), &config);
            assert_eq!(
                names.has_authority(given),
                is_ours,
                "{listens} {hosts} {given}"
            );
            assert_eq!(names.url(), url, "{listens} {hosts}");
            let once: BTreeSet<_> = names.authorities().iter().collect();
            assert_eq!(once.len(), names.authorities().len(), "{once:?}");
            assert!(
                names.has_origin(&HeaderValue::from_str(url).unwrap()),
                "{url}"
            );
        }
    }

    // proves TL-12
    #[test]
    fn an_origin_is_what_a_browser_sends() {
        for (written, origin) in [
            ("http://localhost:5173", "http://localhost:5173"),
            ("HTTPS://App.Example:443", "https://app.example"),
            ("http://app.example:80", "http://app.example"),
            ("https://app.example:80", "https://app.example:80"),
            ("http://[0:0::1]:8080", "http://[::1]:8080"),
            ("chrome-extension://abcdef", "chrome-extension://abcdef"),
        ] {
            let read = written.parse::<Origin>();
            assert_eq!(read.as_ref().map(Origin::as_str), Ok(origin), "{written}");
        }
        for written in [
            "",
            "null",
            "*",
            "localhost:5173",
            "//localhost",
            "http://",
            "http:/localhost",
            "http://localhost:5173/",
            "http://localhost/app",
            "http://*.example",
            "http://*",
            "http://localhost:*",
            "http://localhost:0",
            "http://localhost:65536",
            "http://localhost:05173",
            "http://localhost:",
            "http://a@localhost",
            "http://a b",
            "http://localhost?x",
            "http://localhost#x",
            "http://::1",
            "http://[::1",
            "http://ü.example",
            "1http://localhost",
            "file://",
            " http://localhost",
        ] {
            assert_eq!(written.parse::<Origin>(), Err(NotAnOrigin), "{written}");
        }
    }
}
