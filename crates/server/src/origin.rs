//! Authorities, and the origins of pages that may use the server (TL-12).

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

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
pub(crate) fn without_usual_port<'a>(scheme: &str, authority: &'a str) -> &'a str {
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
