//! The router: what a request passes on its way from the socket, or from this very process, to the
//! route that answers it.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts, RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::http::{Response, header};
use axum::middleware::{self, Next};
use axum::routing::{MethodFilter, MethodRouter, on};
use samovar_core::{Code, Error};
use samovar_engine::Engine;
use samovar_locale as locale;

use crate::body::{self, Bodies};
use crate::chatting::Chatting;
use crate::config::MemoryConfig;
use crate::days::Days;
use crate::door::{self, Door};
use crate::endpoint::{Call, Route, Verb};
use crate::engine_cell::EngineCell;
use crate::names::Names;
use crate::origin::Origin;
use crate::pace::Stalled;
use crate::relaying::Relaying;
use crate::tickets::Tickets;
use crate::tokens::{Guest, Scope};
use crate::upgrade::{Pace, Upgrade};
use crate::{agent, api, chat, cookie, cors, endpoint, page, relay, reply, tickets, ui};

type Endpoint = endpoint::Endpoint<Arc<Shared>>;

/// What the routes work with; each family of handlers is given its part of it.
pub(crate) struct Shared {
    pub(crate) engine: EngineCell,
    pub(crate) api: Arc<api::State>,
    pub(crate) chatting: Arc<Chatting>,
    pub(crate) relaying: Arc<Relaying>,
    pub(crate) days: Days,
    pub(crate) tickets: Arc<Tickets>,
    pub(crate) origins: Vec<Origin>,
    pub(crate) ping_every: Duration,
    pub(crate) bodies: Bodies,
    pub(crate) slow_reader: Duration,
}

impl Shared {
    /// Begins what the server does by itself: the chat's agent, and the reading of days that are over.
    pub(crate) fn begin_work(&self, engine: &Arc<Engine>, memory: &MemoryConfig) {
        self.chatting.begin(engine);
        self.days.begin(engine, &self.api, memory);
    }

    /// Ends the turns of sessions and of the chat's agent, which get the same time, and the stores.
    /// The audit has the stop, whichever of those that may ask for it comes first.
    pub(crate) async fn end_turns(&self, engine: &Engine, drain: Duration) {
        let noted = self.api.note_stop(engine);
        // The chat takes no more from the first moment on.
        tokio::join!(self.chatting.end(engine, drain, noted), self.days.end());
    }
}

/// All routes of the server.
pub fn table() -> Vec<Route> {
    endpoints().into_iter().map(|one| one.route).collect()
}

fn endpoints() -> Vec<Endpoint> {
    let mut all = given(api::probes(), |shared| shared.api.clone());
    all.extend(given(agent::routes(), |shared| shared.api.approval));
    all.extend(given(api::routes(), |shared| shared.api.clone()));
    all.extend(given(chat::routes(), |shared| shared.chatting.chat.clone()));
    all.extend(given(ui::routes(), |_| ()));
    all.extend(given(api::backup::routes(), |shared| shared.api.clone()));
    all.extend(given(tickets::routes(), |shared| shared.tickets.clone()));
    all.extend(given(relay::routes(), |shared| shared.relaying.clone()));
    all.extend(given(page::routes(), |shared| shared.api.logins.is_on()));
    all
}

/// Routes of a family, with the part of the state that its handlers need.
fn given<S: Send + Sync + 'static>(
    family: Vec<endpoint::Endpoint<S>>,
    part: fn(&Arc<Shared>) -> S,
) -> Vec<Endpoint> {
    let rows = family.into_iter().map(|row| row.with_part(part));
    rows.collect()
}

/// The router, made from the table. It answers to these names, and knows no path but its own:
/// another program may mount it below a prefix.
pub(crate) fn router(shared: &Arc<Shared>, names: Names) -> Router {
    let logins = &shared.api.logins;
    let mut table = endpoints();
    table.retain(|row| logins.is_on() || !page::is_part(&row.route.path));
    logins.found_at(names.page());
    let routes = table.iter().map(|row| &row.route);
    let cookies = logins.is_on().then(|| logins.server_id().clone());
    let door = Arc::new(Door::new(names, shared.origins.clone(), routes, cookies));
    let (open, closed): (Vec<_>, Vec<_>) = table
        .into_iter()
        .partition(|row| row.route.scope == Scope::Public);
    let guard = Guard {
        door,
        shared: shared.clone(),
    };
    // Deny by default: what is not in the table passes the layer that wants a token, too.
    let paths: Arc<[String]> = closed.iter().map(|row| row.route.path.clone()).collect();
    let closed = routed(&closed, shared)
        .fallback(move |request: Request| async move { unknown(request.uri().path(), &paths) })
        .layer(middleware::from_fn_with_state(guard.clone(), admit));
    let open = routed(&open, shared).layer(middleware::from_fn_with_state(guard, greet));
    closed.merge(open)
}

fn routed(rows: &[Endpoint], shared: &Arc<Shared>) -> Router {
    let mut paths: Vec<_> = rows.iter().map(|row| row.route.path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.into_iter().fold(Router::new(), |router, path| {
        let rows: Vec<_> = rows.iter().filter(|row| row.route.path == path).collect();
        router.route(path, endpoint(&rows, shared))
    })
}

/// The rows of one path, each for its verbs.
fn endpoint(rows: &[&Endpoint], shared: &Arc<Shared>) -> MethodRouter {
    let mut methods = MethodRouter::new();
    let mut allowed = Vec::new();
    for (row, &verb) in rows
        .iter()
        .flat_map(|row| row.route.verbs.iter().map(move |verb| (row, verb)))
    {
        allowed.push(verb.as_str().to_owned());
        let (row, shared) = (Endpoint::clone(row), shared.clone());
        methods = methods.merge(on(filter(verb), move |request: Request| async move {
            serve(&row, verb, shared, request).await
        }));
    }
    let allowed = allowed
        .into_iter()
        .reduce(locale::request::verb_or_verb)
        .unwrap_or_default();
    let finishes: Vec<_> = rows.iter().map(|row| row.finish.clone()).collect();
    let shared = shared.clone();
    methods.fallback(move |request: Request| async move {
        let path = request.uri().path();
        let why = locale::request::wrong_verb(path, allowed, request.method());
        let mut response = reply::refusal(&Error::new(Code::WrongVerb, why));
        for finish in &finishes {
            finish(&shared, &mut response);
        }
        response
    })
}

fn filter(verb: Verb) -> MethodFilter {
    match verb {
        Verb::Get => MethodFilter::GET,
        Verb::Post => MethodFilter::POST,
        Verb::Put => MethodFilter::PUT,
        Verb::Delete => MethodFilter::DELETE,
    }
}

/// What the door works with, in front of every route.
#[derive(Clone)]
struct Guard {
    door: Arc<Door>,
    shared: Arc<Shared>,
}

/// One layer before every route that wants a token, and before the answer that there is none.
async fn admit(State(guard): State<Guard>, request: Request, next: Next) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Shared { api, tickets, .. } = &*guard.shared;
    let admitted = guard.door.admit(&parts, &api.tokens, tickets);
    if matches!(&admitted, Err(error) if error.code == Code::Unauthorized) {
        api.failures.add();
        api.record_failures(api::audit::Pace::Minutely).await;
    }
    pass(&guard.door, admitted, parts, body, next).await
}

/// The layer before what needs no token, but may show more with one.
async fn greet(State(guard): State<Guard>, request: Request, next: Next) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let greeted = guard.door.greet(&parts, &guard.shared.api.tokens);
    pass(&guard.door, greeted, parts, body, next).await
}

async fn pass(
    door: &Door,
    guest: Result<Guest, Error>,
    mut parts: Parts,
    body: Body,
    next: Next,
) -> Response<Body> {
    let page = door.page(&parts.headers);
    let path = parts.uri.path().to_owned();
    let scheme = door.scheme(&parts);
    let known = page::known(&parts.headers);
    let mut response = match guest {
        // A browser sends no token with it.
        _ if page.is_some() && cors::is_preflight(&parts) => match door.check(&parts) {
            Ok(()) => cors::preflight(&parts.headers),
            Err(error) => reply::refusal(&error),
        },
        Ok(guest) => {
            let grant = guest.grant.clone();
            parts.extensions.insert(guest);
            let request = Request::from_parts(parts, body);
            match grant {
                Some(grant) => grant.serve(request, next).await,
                None => next.run(request).await,
            }
        }
        Err(error) => reply::refusal(&error),
    };
    if path.contains(samovar_wire::ui::BASE_PATH) {
        ui::in_words(&(), &mut response);
    }
    if let Some(change) = response.extensions_mut().remove::<cookie::Change>()
        && let Some(told) = door.told(&change, scheme)
    {
        response.headers_mut().insert(header::SET_COOKIE, told);
    }
    page::leave_out(&known, &mut response);
    door::seal(response.headers_mut());
    if let Some(page) = page {
        cors::share(response.headers_mut(), page);
    }
    response
}

async fn serve(
    row: &Endpoint,
    verb: Verb,
    shared: Arc<Shared>,
    request: Request,
) -> Response<Body> {
    let answer = answer(row, verb, shared.clone(), request).await;
    let mut response = answer.unwrap_or_else(|error| reply::refusal(&error));
    (row.finish)(&shared, &mut response);
    response
}

async fn answer(
    row: &Endpoint,
    verb: Verb,
    shared: Arc<Shared>,
    request: Request,
) -> Result<Response<Body>, Error> {
    let (mut parts, body) = request.into_parts();
    let segments = segments(&row.route, &mut parts).await;
    let missed = || Error::new(Code::Unauthorized, locale::request::door_missed());
    let by = parts.extensions.remove::<Guest>().ok_or_else(missed)?;
    door::check_scope(&by, row.route.scope)?;
    let segments = segments?;
    let query = axum::extract::Query::try_from_uri(&parts.uri).map_err(|error| {
        let why = locale::request::query_unreadable(error);
        Error::new(Code::InvalidParams, why)
    })?;
    // None where another program serves the routes.
    let stalled = parts.extensions.remove::<Stalled>().unwrap_or_default();
    let pace = Pace {
        ping_every: shared.ping_every,
        patience: shared.slow_reader,
        stalled: stalled.clone(),
    };
    let upgrade = Upgrade::asked(&mut parts, pace).await;
    let view = parts.headers.get(samovar_wire::ui::VIEW_HEADER);
    let view = view.map(|view| String::from_utf8_lossy(view.as_bytes()).into_owned());
    let last_event_id = parts.headers.get("last-event-id");
    // What is no text is no id either, and is told apart from a header that is not there.
    let last_event_id = last_event_id.map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned());
    let read = body::read(&shared.bodies, &row.route, &parts.headers, body).await?;
    stalled.has_read();
    let call = Call {
        engine: shared.engine.clone(),
        ping_every: shared.ping_every,
        state: shared,
        by,
        segments,
        last_event_id,
        view,
        stalled,
        query: query.0,
        body: read.bytes,
        admission: read.admission,
        place: read.place,
        upgrade,
    };
    Ok((row.handler)(verb, call).await)
}

/// The parts of the route's own path that stand for something, such as a tool's name, decoded. Whoever
/// mounts the routes below a path may have parts of that kind in it, which are none of ours.
async fn segments(route: &Route, parts: &mut Parts) -> Result<Vec<(String, String)>, Error> {
    let names: Vec<_> = route.segments().collect();
    let found = match RawPathParams::from_request_parts(parts, &()).await {
        Ok(found) => found,
        Err(_) if names.is_empty() => return Ok(Vec::new()),
        Err(_) => {
            let why = locale::request::path_not_text(parts.uri.path());
            return Err(Error::new(Code::InvalidParams, why));
        }
    };
    let values: Vec<_> = found.iter().map(|(_, value)| value.to_owned()).collect();
    // Ours come last, whatever stands before them and however it is called.
    let ours = values.into_iter().rev();
    let pairs = names.into_iter().rev().map(str::to_owned).zip(ours);
    Ok(pairs.collect())
}

/// Letters by which a mistyped path may differ from the one that is meant.
const TYPO: usize = 2;

fn unknown(path: &str, paths: &[String]) -> Response<Body> {
    let distance = |known: &&String| strsim::osa_distance(path, known);
    let whole = paths.iter().filter(|known| !known.contains('{'));
    // First, since the distance costs the product of both lengths, and a path may have 64 KiB.
    let as_long = whole.filter(|known| known.len().abs_diff(path.len()) <= TYPO);
    let nearest = as_long.min_by_key(distance);
    let nearest = nearest.filter(|known| distance(known) <= TYPO);
    let why = match nearest {
        Some(nearest) => locale::request::unknown_path_near(path, nearest),
        None => locale::request::unknown_path(path),
    };
    reply::refusal(&Error::new(Code::UnknownMethod, why))
}
