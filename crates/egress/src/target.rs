//! An address as it may be asked.

use std::fmt;
use std::net::IpAddr;

use samovar_locale as locale;
use url::{Host, Url};

/// Bytes of an address, at most.
const MAX_URL_BYTES: usize = 2_048;

/// An `http` or `https` address without user info, its host in the form that is resolved. Its path
/// and query may contain a key, so neither is printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Target(Url);

/// Why an address cannot be asked, whatever it leads to. None of them repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// It is none.
    #[error("{}", locale::egress::no_address())]
    Unreadable,
    /// It is longer than 2,048 bytes.
    #[error("{}", locale::egress::address_too_long(MAX_URL_BYTES))]
    TooLong,
    /// It is for neither `http` nor `https`.
    #[error("{}", locale::egress::other_scheme())]
    Scheme,
    /// A name or a password stands before its host.
    #[error("{}", locale::egress::user_info())]
    UserInfo,
}

impl Target {
    /// Takes an address.
    ///
    /// # Errors
    /// [`TargetError`].
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        if text.len() > MAX_URL_BYTES {
            return Err(TargetError::TooLong);
        }
        Url::parse(text)
            .map_err(|_| TargetError::Unreadable)
            .and_then(Self::new)
    }

    /// Where a redirect from here leads.
    pub(crate) fn join(&self, location: &str) -> Result<Self, TargetError> {
        if location.len() > MAX_URL_BYTES {
            return Err(TargetError::TooLong);
        }
        self.0
            .join(location)
            .map_err(|_| TargetError::Unreadable)
            .and_then(Self::new)
    }

    fn new(mut url: Url) -> Result<Self, TargetError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(TargetError::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TargetError::UserInfo);
        }
        if url.host().is_none() || url.port_or_known_default().is_none() {
            return Err(TargetError::Unreadable);
        }
        url.set_fragment(None);
        Ok(Self(url))
    }

    /// The whole address, for whoever asks it or keeps it.
    pub fn expose(&self) -> &str {
        self.0.as_str()
    }

    /// The host, in ASCII; an IPv6 address without its brackets.
    pub fn host(&self) -> &str {
        let host = self.0.host_str().unwrap_or_default();
        host.trim_start_matches('[').trim_end_matches(']')
    }

    /// The address that the host is, when it is one and no name.
    pub fn literal(&self) -> Option<IpAddr> {
        match self.0.host()? {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
        }
    }

    /// The port, said or not.
    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or(0)
    }

    /// Whether it is asked over TLS.
    pub fn is_secure(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// What stands in the header `Host`.
    pub(crate) fn authority(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        match self.0.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// What stands in the first line of a request.
    pub(crate) fn path(&self) -> String {
        match self.0.query() {
            Some(query) => format!("{}?{query}", self.0.path()),
            None => self.0.path().to_owned(),
        }
    }

    /// The whole address, which may have a key in its path or query.
    pub fn whole(&self) -> &str {
        self.0.as_str()
    }

    /// Whether what is told the one may be told the other.
    pub(crate) fn is_same_origin(&self, other: &Self) -> bool {
        self.0.origin() == other.0.origin()
    }
}

/// The scheme and the host alone.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.0.scheme(), self.authority())
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves TL-9
    #[test]
    fn an_address_is_http_without_user_info_and_its_host_is_normalised() {
        for (text, host, port) in [
            ("http://Example.COM", "example.com", 80),
            ("https://example.com:8443/a?b#c", "example.com", 8443),
            ("http://bücher.example/", "xn--bcher-kva.example", 80),
            ("http://ｅｘａｍｐｌｅ.com/", "example.com", 80),
            ("http://0x7f.1/", "127.0.0.1", 80),
            ("http://2130706433/", "127.0.0.1", 80),
            ("http://0177.0.0.1/", "127.0.0.1", 80),
            ("http://１２７.0.0.1/", "127.0.0.1", 80),
            ("http://[::ffff:7f00:1]/", "::ffff:7f00:1", 80),
            ("HTTP://127.0.0.1:0/", "127.0.0.1", 0),
        ] {
            let target = Target::parse(text).unwrap();
            assert_eq!((target.host(), target.port()), (host, port), "{text}");
        }
        for (text, error) in [
            ("example.com", TargetError::Unreadable),
            ("http://", TargetError::Unreadable),
            ("http://exa mple.com", TargetError::Unreadable),
            ("http://[::1", TargetError::Unreadable),
            ("http://1.2.3.4.5/", TargetError::Unreadable),
            ("ftp://example.com", TargetError::Scheme),
            ("file:///etc/passwd", TargetError::Scheme),
            ("gopher://example.com:70", TargetError::Scheme),
            ("http://me@example.com", TargetError::UserInfo),
            ("http://:secret@example.com", TargetError::UserInfo),
        ] {
            assert_eq!(Target::parse(text), Err(error), "{text}");
        }
        let long = format!("http://example.com/{}", "a".repeat(MAX_URL_BYTES));
        assert_eq!(Target::parse(&long), Err(TargetError::TooLong));
    }

    #[test]
    fn what_may_hold_a_key_is_not_printed() {
        let target = Target::parse("https://example.com/hook/s3cret?key=s3cret").unwrap();
        assert_eq!(target.to_string(), "https://example.com");
        assert!(!format!("{target:?}").contains("s3cret"));
        assert_eq!(target.path(), "/hook/s3cret?key=s3cret");
    }
}
