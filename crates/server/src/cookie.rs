//! The cookie in which a browser keeps its token (TL-11).

use axum::http::{HeaderMap, HeaderValue, header};
use samovar_sandbox::{SmallFiles, Survival};

use crate::config::Token;
use crate::token;
use crate::tokens::LOGIN_LIFE;

const NAME: &str = "server-id";

/// Bytes of that file, at most.
const MAX_BYTES: u64 = 64;

/// Cookies of our name that are looked at. A browser sends more than one when a program at another
/// port has set one, too.
const MAX_COOKIES: usize = 4;

/// What an answer does with the cookie of the browser that reads it.
#[derive(Clone)]
pub(crate) enum Change {
    /// The browser keeps this token.
    Keep(Token),
    /// The browser forgets its token.
    Forget,
}

/// The id of a data directory. A browser sends a cookie to every port of its host, so the cookies of
/// two servers need different names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerId(String);

impl ServerId {
    /// That of a data directory, made at first start. One that cannot be kept counts for this run.
    ///
    /// # Errors
    /// When the system gives no random bits.
    pub(crate) fn of_data_dir(files: &SmallFiles) -> std::io::Result<Self> {
        if let Ok(Some(kept)) = files.read(NAME, MAX_BYTES)
            && let id = kept.trim()
            && id.len() == 16
            && id.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            return Ok(Self(id.to_owned()));
        }
        let id = token::random::<8>()?;
        if let Err(error) = files.write(NAME, format!("{id}\n").as_bytes(), Survival::Content) {
            tracing::warn!(%error, "the server's id is not kept, so logins end with this run");
        }
        Ok(Self(id))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The tokens that a browser has kept for this server.
    pub(crate) fn kept<'a>(
        &self,
        headers: &'a HeaderMap,
        scheme: Scheme,
    ) -> impl Iterator<Item = &'a [u8]> {
        let name = self.cookie(scheme);
        let cookies = headers.get_all(header::COOKIE).iter();
        let pairs = cookies.flat_map(|line| line.as_bytes().split(|&byte| byte == b';'));
        let ours = pairs.filter_map(move |pair| {
            let value = pair.trim_ascii().strip_prefix(name.as_bytes())?;
            value.strip_prefix(b"=")
        });
        ours.take(MAX_COOKIES)
    }

    /// The header that tells the browser of a change. No script reads the cookie, and no request that
    /// begins at another site brings it.
    pub(crate) fn told(&self, change: &Change, scheme: Scheme) -> Option<HeaderValue> {
        let (value, seconds) = match change {
            Change::Keep(token) => (token.expose(), LOGIN_LIFE.as_secs()),
            Change::Forget => ("", 0),
        };
        let name = self.cookie(scheme);
        let secure = match scheme {
            Scheme::Http => "",
            Scheme::Https => "; Secure",
        };
        let cookie =
            format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
        let mut told = HeaderValue::from_str(&cookie).ok()?;
        told.set_sensitive(true);
        Some(told)
    }

    fn cookie(&self, scheme: Scheme) -> String {
        match scheme {
            Scheme::Http => format!("samovar_{}", self.0),
            // A browser takes it from this very host alone, and over TLS.
            Scheme::Https => format!("__Host-samovar_{}", self.0),
        }
    }
}

/// How a browser reaches the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// Without TLS.
    Http,
    /// With TLS, at a proxy.
    Https,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::COOKIE, HeaderValue::from_str(line).unwrap());
        }
        headers
    }

    // proves TL-11
    #[test]
    fn a_data_dir_has_one_id_and_a_damaged_one_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let files = SmallFiles::of(dir.path()).unwrap();
        let id = ServerId::of_data_dir(&files).unwrap();
        assert_eq!(id.as_str().len(), 16);
        assert_eq!(ServerId::of_data_dir(&files).unwrap(), id);
        for damaged in ["", "0123", "0123456789abcde;", "0123456789abcdef0"] {
            std::fs::write(dir.path().join(NAME), damaged).unwrap();
            let next = ServerId::of_data_dir(&files).unwrap();
            assert_ne!(next, id, "{damaged}");
            assert_eq!(ServerId::of_data_dir(&files).unwrap(), next, "{damaged}");
        }
    }

    // proves TL-11
    #[test]
    fn a_cookie_counts_by_its_whole_name() {
        let id = ServerId("0123456789abcdef".to_owned());
        for (lines, scheme, expected) in [
            (
                &["samovar_0123456789abcdef=a"][..],
                Scheme::Http,
                &["a"][..],
            ),
            (
                &["x=y; samovar_0123456789abcdef=a;z="],
                Scheme::Http,
                &["a"],
            ),
            (
                &["samovar_0123456789abcdef=a", "samovar_0123456789abcdef=b=c"],
                Scheme::Http,
                &["a", "b=c"],
            ),
            (&["samovar_0123456789abcdef=a"], Scheme::Https, &[]),
            (
                &["__Host-samovar_0123456789abcdef=a"],
                Scheme::Https,
                &["a"],
            ),
            (&["__Host-samovar_0123456789abcdef=a"], Scheme::Http, &[]),
            (
                &["samovar_0123456789abcdee=a; samovar_0123456789abcdef0=b"],
                Scheme::Http,
                &[],
            ),
            (&["samovar_0123456789abcdef", ""], Scheme::Http, &[]),
        ] {
            let headers = headers(lines);
            let kept: Vec<_> = id.kept(&headers, scheme).collect();
            let expected: Vec<_> = expected.iter().map(|text| text.as_bytes()).collect();
            assert_eq!(kept, expected, "{lines:?}");
        }
        let many = vec!["samovar_0123456789abcdef=a; samovar_0123456789abcdef=b"; 1000];
        let many = headers(&many);
        assert_eq!(id.kept(&many, Scheme::Http).count(), MAX_COOKIES);
    }
}
