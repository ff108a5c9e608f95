//! Login links: each lets one browser in, once (TL-11).

use std::collections::VecDeque;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use samovar_core::{Code, Error};
use samovar_locale as locale;
use samovar_sandbox::SmallFiles;
use samovar_wire::api::{LoginLink, LoginLinkParams, TokenName, TokenScope};
use tokio::time::Instant;

use crate::cookie::ServerId;
use crate::token::{self, TokenHash};

/// How a browser's token is called, unless the link says otherwise.
const BROWSER: &str = "browser";

/// How long a link counts.
const LIFE: Duration = Duration::from_mins(10);

/// Links that are known at once, also those that count no more.
const MAX_LINKS: usize = 32;

/// The links of a server, and whether there is a page for them.
pub(crate) struct Logins {
    is_on: bool,
    server_id: ServerId,
    links: Mutex<VecDeque<Link>>,
    /// Where a browser finds the page; empty until a socket has a name.
    page: OnceLock<String>,
}

struct Link {
    sha256: TokenHash,
    until: Instant,
    /// What the browser gets; none when one has it.
    grants: Option<LoginGrant>,
}

/// What a browser that logs in gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoginGrant {
    pub(crate) name: TokenName,
    pub(crate) scope: TokenScope,
    /// Who made the link.
    pub(crate) by: String,
}

impl Logins {
    /// No links yet.
    ///
    /// # Errors
    /// When the system gives no random bits.
    pub(crate) fn open(files: &SmallFiles, is_on: bool) -> std::io::Result<Self> {
        Ok(Self {
            is_on,
            server_id: ServerId::of_data_dir(files)?,
            links: Mutex::default(),
            page: OnceLock::new(),
        })
    }

    /// Whether there is a page, and cookies count.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    pub(crate) fn server_id(&self) -> &ServerId {
        &self.server_id
    }

    /// Refuses logins on a server without a page.
    ///
    /// # Errors
    /// [`Code::PageOff`].
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.is_on {
            return Ok(());
        }
        Err(Error::new(Code::PageOff, locale::login::page_off()))
    }

    /// Makes a link; `by` says who.
    ///
    /// # Errors
    /// [`Code::PageOff`] when there is no page; [`Code::Busy`] when too many links wait.
    pub(crate) fn link(&self, params: LoginLinkParams, by: String) -> Result<LoginLink, Error> {
        self.check()?;
        let usual = || TokenName::new(BROWSER.to_owned()).expect("it has small letters alone");
        let name = params.name.unwrap_or_else(usual);
        let scope = params.scope.unwrap_or(TokenScope::Admin);
        let code = self.create(LoginGrant { name, scope, by })?;
        let page = self.page.get().map_or("", String::as_str);
        Ok(LoginLink {
            url: format!("{page}/#login={code}"),
            code,
            expires_in_ms: u64::try_from(LIFE.as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// Says where a browser finds the page. The first one who says so is believed: it is the socket
    /// for everybody.
    pub(crate) fn found_at(&self, page: &str) {
        self.page.get_or_init(|| page.to_owned());
    }

    /// Makes a code. The oldest link that counts no more makes room for it.
    ///
    /// # Errors
    /// [`Code::Busy`] when too many wait to be used.
    fn create(&self, grants: LoginGrant) -> Result<String, Error> {
        let code = token::random::<16>().map_err(|error| {
            let why = locale::login::not_made(error);
            Error::new(Code::Internal, why)
        })?;
        let now = Instant::now();
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if links.len() >= MAX_LINKS {
            let over = links.iter().position(|link| link.is_over(now));
            let over = over.ok_or_else(|| {
                let why = locale::login::too_many(MAX_LINKS as u64);
                Error::new(Code::Busy, why)
            })?;
            links.remove(over);
        }
        links.push_back(Link {
            sha256: TokenHash::of_bytes(code.as_bytes()),
            until: now + LIFE,
            grants: Some(grants),
        });
        Ok(code)
    }

    /// Uses a code up. Every one is compared, so that the time says nothing.
    ///
    /// # Errors
    /// [`Code::UnknownLogin`], [`Code::LoginUsed`] and [`Code::LoginExpired`].
    pub(crate) fn take(&self, code: &str) -> Result<LoginGrant, Error> {
        let given = TokenHash::of_bytes(code.as_bytes());
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = None;
        for link in links.iter_mut() {
            if link.sha256.equals(&given) {
                found = Some(link);
            }
        }
        let unknown = || Error::new(Code::UnknownLogin, locale::login::unknown());
        let link = found.ok_or_else(unknown)?;
        let used = || Error::new(Code::LoginUsed, locale::login::used());
        let is_late = link.until <= Instant::now();
        let grants = link.grants.take().ok_or_else(used)?;
        if is_late {
            link.grants = Some(grants);
            return Err(Error::new(Code::LoginExpired, locale::login::expired()));
        }
        Ok(grants)
    }
}

impl Link {
    fn is_over(&self, now: Instant) -> bool {
        self.grants.is_none() || self.until <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logins() -> Logins {
        let dir = tempfile::tempdir().unwrap();
        Logins::open(&SmallFiles::of(dir.path()).unwrap(), true).unwrap()
    }

    fn grants() -> LoginGrant {
        LoginGrant {
            name: TokenName::new("browser".to_owned()).unwrap(),
            scope: TokenScope::Admin,
            by: "owner".to_owned(),
        }
    }

    fn refused(logins: &Logins, code: &str) -> Code {
        logins.take(code).unwrap_err().code
    }

    // proves TL-11
    #[tokio::test(start_paused = true)]
    async fn a_link_counts_once_and_for_ten_minutes() {
        let logins = logins();
        let first = logins.create(grants()).unwrap();
        let second = logins.create(grants()).unwrap();
        assert_eq!(first.len(), 32);
        assert_eq!(refused(&logins, "nothing"), Code::UnknownLogin);
        assert_eq!(logins.take(&first).unwrap(), grants());
        assert_eq!(refused(&logins, &first), Code::LoginUsed);

        let last = Duration::from_millis(1);
        tokio::time::advance(LIFE.saturating_sub(last)).await;
        let third = logins.create(grants()).unwrap();
        tokio::time::advance(last).await;
        for _ in 0..2 {
            assert_eq!(refused(&logins, &second), Code::LoginExpired);
        }
        assert_eq!(refused(&logins, &first), Code::LoginUsed);
        logins.take(&third).unwrap();
    }

    // proves TL-11
    #[tokio::test(start_paused = true)]
    async fn so_many_links_wait_at_once_and_one_that_is_over_makes_room() {
        let logins = logins();
        let first = logins.create(grants()).unwrap();
        for _ in 1..MAX_LINKS {
            logins.create(grants()).unwrap();
        }
        assert_eq!(logins.create(grants()).unwrap_err().code, Code::Busy);
        logins.take(&first).unwrap();
        logins.create(grants()).unwrap();
        assert_eq!(logins.create(grants()).unwrap_err().code, Code::Busy);
        tokio::time::advance(LIFE).await;
        for _ in 0..2 * MAX_LINKS {
            let code = logins.create(grants()).unwrap();
            logins.take(&code).unwrap();
        }
    }

    // proves TL-11
    #[tokio::test]
    async fn of_all_who_open_a_link_at_once_one_is_let_in() {
        let logins = logins();
        for _ in 0..100 {
            let code = logins.create(grants()).unwrap();
            let let_in = std::thread::scope(|scope| {
                let openers = [(); 4].map(|()| scope.spawn(|| logins.take(&code).is_ok()));
                openers.map(|opener| opener.join().unwrap())
            });
            let let_in = let_in.into_iter().filter(|is_in| *is_in).count();
            assert_eq!(let_in, 1);
        }
    }
}
