//! The one table of routes: verb, path, scope, request type, response type. The router, the door's
//! rules and the GET forms are made from it.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Response;
use bytes::Bytes;
use samovar_core::{Error, Future};
use samovar_engine::Engine;
use samovar_wire::params;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::home::Shared;
use crate::pace::Stalled;
use crate::reply;
use crate::tokens::Guest;
use crate::upgrade::Upgrade;
use crate::{agent, api, chat, health, relay, tickets};

/// A verb that a route answers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// `GET`, with the parameters in the query.
    Get,
    /// `POST`, with the parameters in a JSON body.
    Post,
    /// `DELETE`, with the parameters in the path and the query.
    Delete,
}

impl Verb {
    /// The verb as it stands in a request.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// Who may use a route, and what a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Everybody, without a token.
    Public,
    /// Any token.
    Any,
    /// A token for one room of the relay in one role.
    Relay,
    /// A token that may read.
    Read,
    /// A token that may change sessions.
    Use,
    /// A token of the owner.
    Admin,
}

impl Scope {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Any => "any",
            Self::Relay => "relay",
            Self::Read => "read",
            Self::Use => "use",
            Self::Admin => "admin",
        }
    }

    /// Whether a token of this scope is let into a route of that one: each may what those before it
    /// may, but who may only read drives no host.
    pub fn covers(self, needed: Self) -> bool {
        match (self, needed) {
            (Self::Read, Self::Relay) => false,
            _ => self >= needed,
        }
    }
}

/// What a route is called with.
pub(crate) struct Call {
    pub(crate) shared: Arc<Shared>,
    pub(crate) by: Guest,
    /// The parts of the path that stand for something, by their names.
    pub(crate) segments: Vec<(String, String)>,
    /// The header `Last-Event-ID`, which a reader of a stream sends who comes back.
    pub(crate) last_event_id: Option<String>,
    /// Whether the client takes nothing of its answers.
    pub(crate) stalled: Stalled,
    /// What stands behind the `?`, decoded.
    pub(crate) query: Vec<(String, String)>,
    /// The JSON body of a `POST`.
    pub(crate) body: Bytes,
    /// Made of a request that asks to go on as a WebSocket; a route that can do so takes it.
    pub(crate) upgrade: Option<Upgrade>,
}

impl Call {
    /// The engine, waited for while the server starts.
    ///
    /// # Errors
    /// [`Code::Unavailable`](samovar_core::Code::Unavailable).
    pub(crate) async fn engine(&self) -> Result<Arc<Engine>, Error> {
        self.shared.slot.engine().await
    }

    /// A part of the path.
    pub(crate) fn segment(&self, name: &str) -> &str {
        let mut segments = self.segments.iter();
        segments
            .find(|(other, _)| other == name)
            .map_or("", |(_, value)| value)
    }
}

type Handler = Arc<dyn Fn(Verb, Call) -> Future<'static, Response<Body>> + Send + Sync>;

/// What is done to each answer at a path, refusals of what was sent there too.
type Finish = fn(&Shared, &mut Response<Body>);

/// A row of the table.
#[derive(Clone)]
pub struct Route {
    /// The verbs that it answers to, the main one first.
    pub verbs: &'static [Verb],
    /// Its path, with parts such as `{name}` that stand for something.
    pub path: String,
    /// Who may use it.
    pub scope: Scope,
    /// What it does, in one sentence.
    pub about: &'static str,
    /// The JSON Schema of its parameters; the generator keeps the types that it names.
    pub request: fn(&mut SchemaGenerator) -> Schema,
    /// The JSON Schema of its answer, or of one event of its stream.
    pub response: fn(&mut SchemaGenerator) -> Schema,
    pub(crate) handler: Handler,
    pub(crate) finish: Finish,
    /// Whether a ticket lets a `GET` of it in, as a browser needs for what it cannot give a header.
    pub takes_tickets: bool,
}

/// All routes of the server.
pub fn table() -> Vec<Route> {
    let mut routes = health::routes();
    routes.extend(agent::routes());
    routes.extend(api::routes());
    routes.extend(chat::routes());
    routes.extend(api::backup::routes());
    routes.extend(tickets::routes());
    routes.extend(relay::routes());
    routes
}

impl Route {
    /// A route that only reads: it answers to `POST` and, with the parameters in the query, to `GET`
    /// (AS-1).
    pub(crate) fn reading<Q, A, F>(path: String, about: &'static str, run: fn(Call, Q) -> F) -> Self
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        A: Serialize + JsonSchema + 'static,
        F: std::future::Future<Output = Result<A, Error>> + Send + 'static,
    {
        Self::answering(&[Verb::Post, Verb::Get], Scope::Read, path, about, run)
    }

    /// A route that changes something: it answers to `POST` alone.
    pub(crate) fn changing<Q, A, F>(
        path: String,
        about: &'static str,
        run: fn(Call, Q) -> F,
    ) -> Self
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        A: Serialize + JsonSchema + 'static,
        F: std::future::Future<Output = Result<A, Error>> + Send + 'static,
    {
        Self::answering(&[Verb::Post], Scope::Use, path, about, run)
    }

    /// A route whose answer is a stream of events.
    pub(crate) fn streaming<Q, A, F>(
        path: String,
        about: &'static str,
        run: fn(Call, Q) -> F,
    ) -> Self
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        A: JsonSchema + 'static,
        F: std::future::Future<Output = Result<Response<Body>, Error>> + Send + 'static,
    {
        let finish = |response| response;
        Self {
            verbs: &[Verb::Post],
            path,
            scope: Scope::Use,
            about,
            request: SchemaGenerator::subschema_for::<Q>,
            response: SchemaGenerator::subschema_for::<A>,
            handler: handle(run, finish),
            finish: as_it_is,
            takes_tickets: false,
        }
    }

    /// A route whose answer is a stream of events, and which changes nothing: it answers to `GET`.
    pub(crate) fn following<Q, A, F>(
        path: String,
        about: &'static str,
        run: fn(Call, Q) -> F,
    ) -> Self
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        A: JsonSchema + 'static,
        F: std::future::Future<Output = Result<Response<Body>, Error>> + Send + 'static,
    {
        Self {
            verbs: &[Verb::Get],
            scope: Scope::Read,
            ..Self::streaming::<Q, A, F>(path, about, run)
        }
    }

    pub(crate) fn answering<Q, A, F>(
        verbs: &'static [Verb],
        scope: Scope,
        path: String,
        about: &'static str,
        run: fn(Call, Q) -> F,
    ) -> Self
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        A: Serialize + JsonSchema + 'static,
        F: std::future::Future<Output = Result<A, Error>> + Send + 'static,
    {
        Self {
            verbs,
            path,
            scope,
            about,
            request: SchemaGenerator::subschema_for::<Q>,
            response: SchemaGenerator::subschema_for::<A>,
            handler: handle(run, |answer: A| reply::json(&answer)),
            finish: as_it_is,
            takes_tickets: false,
        }
    }
}

impl Route {
    /// The same with something done to each of its answers, once the door has let the request in.
    pub(crate) fn answered_with(self, finish: Finish) -> Self {
        Self { finish, ..self }
    }

    /// The same for another scope.
    pub(crate) fn with_scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// The same, also for who brings a ticket in place of a token.
    pub(crate) fn with_tickets(self) -> Self {
        Self {
            takes_tickets: true,
            ..self
        }
    }

    /// The names of the parts of its path that stand for something, in their order.
    pub(crate) fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        let parts = self.path.split('/');
        parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}

fn as_it_is(_: &Shared, _: &mut Response<Body>) {}

fn handle<Q, A, F>(run: fn(Call, Q) -> F, finish: fn(A) -> Response<Body>) -> Handler
where
    Q: DeserializeOwned + Send + 'static,
    A: 'static,
    F: std::future::Future<Output = Result<A, Error>> + Send + 'static,
{
    Arc::new(move |verb, mut call| {
        Box::pin(async move {
            let given = match verb {
                Verb::Get | Verb::Delete => {
                    let mut pairs = call.segments.clone();
                    pairs.append(&mut call.query);
                    params::from_query(pairs)
                }
                Verb::Post => params::from_body(&call.body),
            };
            let given = match given {
                Ok(given) => given,
                Err(error) => return reply::refusal(&error),
            };
            match run(call, given).await {
                Ok(answer) => finish(answer),
                Err(error) => reply::refusal(&error),
            }
        })
    })
}
