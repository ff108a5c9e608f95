//! The door: what every request passes before its route sees it (TL-11 to TL-13).

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use samovar_core::{Code, Error};
use samovar_locale as locale;
use samovar_wire::api::Brought;

use crate::cookie::{Change, Scheme, ServerId};
use crate::endpoint::Route;
use crate::names::Names;
use crate::origin::Origin;
use crate::tickets::Tickets;
use crate::tokens::{Guest, Scope, Tokens};
use crate::upgrade::names_websocket;

/// Bytes of a request's target and headers, at most.
pub(crate) const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The rules of a server's door.
pub(crate) struct Door {
    names: Names,
    /// Pages of other origins that may use the server.
    origins: Vec<Origin>,
    /// Where a ticket counts.
    ticketed: Vec<String>,
    /// Whose cookies count; none without a page.
    cookies: Option<ServerId>,
}

impl Door {
    pub(crate) fn new<'a>(
        names: Names,
        origins: Vec<Origin>,
        routes: impl Iterator<Item = &'a Route>,
        cookies: Option<ServerId>,
    ) -> Self {
        let ticketed = routes.filter(|route| route.takes_tickets);
        let ticketed = ticketed.map(|route| route.path.clone()).collect();
        Self {
            names,
            origins,
            ticketed,
            cookies,
        }
    }

    /// Lets a request in that brings a token, or a ticket where one counts, or says why not.
    pub(crate) fn admit(
        &self,
        request: &Parts,
        tokens: &Tokens,
        tickets: &Tickets,
    ) -> Result<Guest, Error> {
        self.check(request)?;
        let guest = match self.ticket(request) {
            Some(ticket) => tickets.take(ticket).and_then(|token| tokens.of(&token)),
            None => self.known(request, tokens)?,
        };
        let guest = guest.ok_or_else(|| {
            // One text for a missing and a wrong one.
            Error::new(Code::Unauthorized, locale::request::no_token())
        })?;
        if let Some(grant) = &guest.grant {
            grant.spend()?;
        }
        check_media_type(request)?;
        Ok(guest)
    }

    /// Lets a request in that needs no token, with the rights of the token that it brings, if any.
    pub(crate) fn greet(&self, request: &Parts, tokens: &Tokens) -> Result<Guest, Error> {
        self.check(request)?;
        if acts(request) && self.page(&request.headers).is_some() {
            // It brings a token, and no browser logs in there.
            let why = locale::request::other_origin();
            return Err(Error::new(Code::OriginRefused, why));
        }
        check_media_type(request)?;
        let known = self.known(request, tokens).ok().flatten();
        Ok(known.unwrap_or_else(Guest::stranger))
    }

    /// Whose token or cookie a request brings, if any.
    fn known(&self, request: &Parts, tokens: &Tokens) -> Result<Option<Guest>, Error> {
        if request.headers.contains_key(header::AUTHORIZATION) {
            return Ok(recognise(&request.headers, tokens));
        }
        self.by_cookie(request, tokens)
    }

    /// Whose cookie a request brings. A browser sends it with whatever a page asks for, so what acts
    /// must come from the server's own page, and says so.
    fn by_cookie(&self, request: &Parts, tokens: &Tokens) -> Result<Option<Guest>, Error> {
        let Some(cookies) = &self.cookies else {
            return Ok(None);
        };
        // An allowed page of another origin brings a token.
        if self.page(&request.headers).is_some() {
            return Ok(None);
        }
        let mut kept = cookies
            .kept(&request.headers, self.scheme(request))
            .peekable();
        if kept.peek().is_none() {
            return Ok(None);
        }
        if acts(request) && !self.is_of_own_page(request) {
            let why = locale::request::cookie_elsewhere();
            return Err(Error::new(Code::OriginRefused, why));
        }
        let guest = kept.find_map(|token| tokens.recognise(token));
        let guest = guest.ok_or_else(|| {
            let why = locale::request::login_over();
            Error::new(Code::Unauthorized, why)
        })?;
        let by = Brought::Cookie;
        Ok(Some(Guest { by, ..guest }))
    }

    /// The header that tells a browser what becomes of its cookie.
    pub(crate) fn told(&self, change: &Change, scheme: Scheme) -> Option<HeaderValue> {
        self.cookies.as_ref()?.told(change, scheme)
    }

    /// How a browser reaches the server at the address that a request names.
    pub(crate) fn scheme(&self, request: &Parts) -> Scheme {
        match self.own_origin(request) {
            Some(origin) if origin.starts_with("https:") => Scheme::Https,
            Some(_) | None => Scheme::Http,
        }
    }

    /// The origin of the server's own page at the address that a request names.
    fn own_origin(&self, request: &Parts) -> Option<&str> {
        let host = only(&request.headers, &header::HOST).and_then(|host| host.to_str().ok());
        let target = request.uri.authority();
        let target = target.map(axum::http::uri::Authority::as_str);
        self.names.origin_of(host.or(target)?)
    }

    /// Whether a browser says that the server's own page, at this address, sends a request.
    fn is_of_own_page(&self, request: &Parts) -> bool {
        let given = |name: HeaderName| only(&request.headers, &name);
        if let Some(origin) = given(header::ORIGIN) {
            return self.own_origin(request).is_some_and(|ours| origin == ours);
        }
        given(HeaderName::from_static("sec-fetch-site")).is_some_and(|site| site == "same-origin")
    }

    /// Every request must be meant for this server and not be sent by a foreign page.
    pub(crate) fn check(&self, request: &Parts) -> Result<(), Error> {
        check_size(request)?;
        self.check_host(request)?;
        self.check_origin(request)
    }

    /// The ticket of a request that may come with one and brings no token.
    fn ticket<'a>(&self, request: &'a Parts) -> Option<&'a str> {
        let counts = request.method == Method::GET
            && !request.headers.contains_key(header::AUTHORIZATION)
            && self.ticketed.iter().any(|path| path == request.uri.path());
        let mut pairs = request.uri.query().filter(|_| counts)?.split('&');
        pairs.find_map(|pair| pair.strip_prefix("ticket="))
    }

    /// The page that sends a request, if it is of another origin that is allowed.
    pub(crate) fn page(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let page = only(headers, &header::ORIGIN)?;
        let mut allowed = self.origins.iter();
        let is_allowed = allowed.any(|origin| page == origin.as_str());
        is_allowed.then(|| page.clone())
    }

    fn check_host(&self, request: &Parts) -> Result<(), Error> {
        if request.headers.get_all(header::HOST).iter().count() > 1 {
            let why = locale::request::two_hosts();
            return Err(Error::new(Code::InvalidParams, why));
        }
        // An absolute target is a name, too; each that is given must be ours.
        let target = request.uri.authority();
        let target = target.map(axum::http::uri::Authority::as_str);
        let header = request.headers.get(header::HOST);
        let header = header.map(|host| host.to_str().unwrap_or_default());
        let foreign = match (target, header) {
            (None, None) => Some(""),
            (target, header) => {
                let mut given = target.into_iter().chain(header);
                given.find(|host| !self.names.has_authority(host))
            }
        };
        let Some(host) = foreign else {
            return Ok(());
        };
        let ours = self.names.authorities().join(", ");
        let why = locale::request::other_host(locale::quoted(host), ours);
        Err(Error::new(Code::HostRefused, why))
    }

    /// A page of another origin must not use the person's server, token or not, unless the
    /// configuration names it.
    fn check_origin(&self, request: &Parts) -> Result<(), Error> {
        let headers = &request.headers;
        if self.page(headers).is_some() {
            return Ok(());
        }
        let is_ours = match only(headers, &header::ORIGIN) {
            Some(origin) => self.names.has_origin(origin),
            None => !headers.contains_key(header::ORIGIN),
        };
        if !is_ours {
            let why = locale::request::other_origin();
            return Err(Error::new(Code::OriginRefused, why));
        }
        // A browser sends this also where it sends no origin. Another port of this host is
        // `same-site`, and any program may serve pages there.
        let mut sites = headers.get_all("sec-fetch-site").iter();
        let is_ours = sites.all(|site| site == "same-origin" || site == "none");
        if is_ours || is_link(request) {
            return Ok(());
        }
        let why = locale::request::other_site();
        Err(Error::new(Code::OriginRefused, why))
    }
}

/// Whether a person follows a link to the server's address, which shows no more than the address
/// itself does; a frame is no link.
fn is_link(request: &Parts) -> bool {
    let is = |name: &'static str, value: &str| {
        let given = only(&request.headers, &HeaderName::from_static(name));
        given.is_some_and(|given| given == value)
    };
    request.method == Method::GET
        && request.uri.path() == "/"
        && is("sec-fetch-mode", "navigate")
        && is("sec-fetch-dest", "document")
}

/// Whether a request may change something, or opens a channel that does.
fn acts(request: &Parts) -> bool {
    !matches!(request.method, Method::GET | Method::HEAD | Method::OPTIONS)
        || names_websocket(&request.headers)
}

fn recognise(headers: &HeaderMap, tokens: &Tokens) -> Option<Guest> {
    let given = only(headers, &header::AUTHORIZATION);
    let given = given.map_or(&b""[..], HeaderValue::as_bytes);
    let token = match given.split_at_checked(7) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"bearer ") => token,
        Some(_) | None => b"",
    };
    tokens.recognise(token.trim_ascii())
}

/// Whether a token covers what is asked.
///
/// # Errors
/// [`Code::Forbidden`].
pub(crate) fn check_scope(guest: &Guest, needed: Scope) -> Result<(), Error> {
    if guest.scope.covers(needed) {
        return Ok(());
    }
    let (has, needs) = (guest.scope.as_str(), needed.as_str());
    let why = locale::request::scope_too_small(has, needs);
    Err(Error::new(Code::Forbidden, why))
}

/// The buffer that a head is read into is bounded too, but not to the byte.
fn check_size(request: &Parts) -> Result<(), Error> {
    let target = request.uri.path_and_query();
    let headers = request.headers.iter();
    let headers = headers.map(|(name, value)| name.as_str().len() + value.len());
    let bytes = target.map_or(0, |target| target.as_str().len()) + headers.sum::<usize>();
    if bytes <= MAX_HEAD_BYTES {
        return Ok(());
    }
    let why = locale::request::head_too_large(MAX_HEAD_BYTES as u64);
    Err(Error::new(Code::HeadersTooLarge, why))
}

/// A page of another origin can send a form without asking first, but not JSON.
fn check_media_type(request: &Parts) -> Result<(), Error> {
    if request.method != Method::POST && request.method != Method::PUT {
        return Ok(());
    }
    let given = only(&request.headers, &header::CONTENT_TYPE);
    let given = given.and_then(|given| given.to_str().ok());
    let given = given.unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let why = locale::request::wrong_media_type(locale::quoted(given));
    Err(Error::new(Code::UnsupportedMediaType, why))
}

/// A header that is given once. Two are read differently by different programs.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut given = headers.get_all(name).iter();
    given.next().filter(|_| given.next().is_none())
}

/// Puts on every answer what keeps browsers from guessing and storing.
pub(crate) fn seal(headers: &mut HeaderMap) {
    let no_sniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, no_sniff);
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
}
