//! Names by which clients reach the server (TL-12).

use std::net::SocketAddr;

use axum::http::HeaderValue;

use crate::config::Config;
use crate::origin::{Authority, without_usual_port};

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
        let scheme = if config.server.behind_proxy {
            "https"
        } else {
            "http"
        };
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

    /// Where a person's browser reaches the server: at a proxy with TLS, if there is one, else as
    /// other clients do.
    pub(crate) fn page(&self) -> &str {
        let mut origins = self.origins.iter();
        let secure = origins.find(|origin| origin.starts_with("https:"));
        secure.map_or_else(|| self.url(), String::as_str)
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
        self.origin_of(authority).is_some()
    }

    /// The origin of the page that a browser finds at this authority; `None` if it is not ours.
    pub(crate) fn origin_of(&self, authority: &str) -> Option<&str> {
        let given = authority.to_ascii_lowercase();
        let mut ours = self.authorities.iter().zip(&self.origins);
        // Clients leave out the usual port, with TLS at a proxy that of TLS.
        let found = ours.find(|(ours, _)| {
            let usual = ["http", "https"].map(|scheme| without_usual_port(scheme, ours));
            **ours == given || usual.contains(&given.as_str())
        });
        found.map(|(_, origin)| origin.as_str())
    }

    pub(crate) fn has_origin(&self, origin: &HeaderValue) -> bool {
        self.origins.iter().any(|ours| origin == ours.as_str())
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
            config.server.behind_proxy = true;
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
}
