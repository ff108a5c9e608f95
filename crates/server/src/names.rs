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

    /// Those of a socket: its address, for a loopback one every name of that, and the hosts that the
    /// configuration names.
    pub(crate) fn of(address: SocketAddr, config: &Config) -> Self {
        let mut names = Self::default();
        if !address.ip().is_unspecified() {
            names = names.and("http", [address.to_string()]);
        }
        if address.ip().is_loopback() {
            let port = address.port();
            let hosts = ["localhost", "127.0.0.1", "[::1]"];
            names = names.and("http", hosts.map(|host| format!("{host}:{port}")));
        }
        let scheme = if config.behind_proxy { "https" } else { "http" };
        names.and(scheme, config.hosts.iter().map(Authority::as_str))
    }

    fn and(mut self, scheme: &str, more: impl IntoIterator<Item = impl Into<String>>) -> Self {
        for authority in more {
            let authority = authority.into().to_ascii_lowercase();
            if !self.authorities.contains(&authority) {
                self.origins.push(format!("{scheme}://{authority}"));
                self.authorities.push(authority);
            }
        }
        self
    }

    pub(crate) fn authorities(&self) -> &[String] {
        &self.authorities
    }

    pub(crate) fn has_authority(&self, authority: &str) -> bool {
        self.authorities.contains(&authority.to_ascii_lowercase())
    }

    pub(crate) fn has_origin(&self, origin: &HeaderValue) -> bool {
        let origin = origin.to_str().unwrap_or_default().to_ascii_lowercase();
        self.origins.contains(&origin)
    }
}

/// The origin of a web page as its browser sends it: `http://localhost:5173`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

/// The text is not an origin. `null`, a wildcard, and anything after the port are none either.
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
        // A browser leaves out the usual port.
        let usual = match scheme.as_str() {
            "http" => ":80",
            "https" => ":443",
            _ => "",
        };
        let authority = authority.strip_suffix(usual).unwrap_or(&authority);
        Ok(Self(format!("{scheme}://{authority}")))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
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
    use super::*;

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
