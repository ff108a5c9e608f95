//! A row of the route table: method, path, and the handler. Each family of handlers has its own
//! state, `S`; the table at the top gives each family its part.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use bytes::Bytes;
use samovar_core::{Accepted, Action, Command, Error, Future, SessionId, words};
use samovar_engine::{Admission, Engine};
use samovar_wire::params;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::at_work::Place;
use crate::engine_cell::EngineCell;
use crate::pace::Stalled;
use crate::reply;
use crate::tokens::{Guest, Scope};
use crate::upgrade::Upgrade;

words! {
    /// A verb that a route answers to.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Verb {
        /// `GET`, with the parameters in the query.
        Get = "GET",
        /// `POST`, with the parameters in a JSON body.
        Post = "POST",
        /// `PUT`, with the parameters in a JSON body and the path.
        Put = "PUT",
        /// `DELETE`, with the parameters in the path and the query.
        Delete = "DELETE",
    }
}

/// What a handler is called with.
pub(crate) struct Call<S> {
    /// What its family works with.
    pub(crate) state: S,
    pub(crate) engine: EngineCell,
    pub(crate) by: Guest,
    /// The parts of the path that stand for something, by their names.
    pub(crate) segments: Vec<(String, String)>,
    /// The header `Last-Event-ID`, which a returning reader of a stream sends.
    pub(crate) last_event_id: Option<String>,
    /// The header that says which stream of the AI SDK is wanted.
    pub(crate) view: Option<String>,
    /// Whether the client takes nothing of its answers.
    pub(crate) stalled: Stalled,
    /// How often a silent stream is pinged.
    pub(crate) ping_every: Duration,
    /// The query, decoded.
    pub(crate) query: Vec<(String, String)>,
    /// The JSON body of a `POST` or a `PUT`.
    pub(crate) body: Bytes,
    /// What a long body takes of the budget for memory.
    pub(crate) admission: Option<Admission>,
    /// Its place among those that are worked on.
    pub(crate) place: Option<Place>,
    /// The WebSocket upgrade, if the request asked for one; a route that serves one takes it.
    pub(crate) upgrade: Option<Upgrade>,
}

impl<S> Call<S> {
    /// The engine, waited for while the server starts.
    ///
    /// # Errors
    /// [`Code::Unavailable`](samovar_core::Code::Unavailable).
    pub(crate) async fn engine(&self) -> Result<Arc<Engine>, Error> {
        self.engine.wait().await
    }

    /// Waits until a long body may be worked on.
    pub(crate) async fn begin(&self) {
        if let Some(place) = &self.place {
            place.take().await;
        }
    }

    /// Has the engine do something in a session, for who called.
    ///
    /// # Errors
    /// As [`Engine::submit`].
    pub(crate) async fn submit(
        &self,
        session: &SessionId,
        action: Action,
    ) -> Result<Accepted, Error> {
        let command = Command {
            by: self.by.sender.clone(),
            session: session.clone(),
            action,
        };
        let accepted = self.engine().await?.submit(command).await;
        // The log has it, and counts it.
        if let Some(admission) = &self.admission {
            admission.give_back();
        }
        if let Some(place) = &self.place {
            place.leave();
        }
        accepted
    }

    /// A part of the path.
    pub(crate) fn segment(&self, name: &str) -> &str {
        let mut segments = self.segments.iter();
        segments
            .find(|(other, _)| other == name)
            .map_or("", |(_, value)| value)
    }

    fn with_state<T>(self, state: T) -> Call<T> {
        Call {
            state,
            engine: self.engine,
            by: self.by,
            segments: self.segments,
            last_event_id: self.last_event_id,
            view: self.view,
            stalled: self.stalled,
            ping_every: self.ping_every,
            query: self.query,
            body: self.body,
            admission: self.admission,
            place: self.place,
            upgrade: self.upgrade,
        }
    }
}

type Handler<S> = Arc<dyn Fn(Verb, Call<S>) -> Future<'static, Response<Body>> + Send + Sync>;

/// What is done to each answer at a path, refusals of what was sent there too.
type Finish<S> = Arc<dyn Fn(&S, &mut Response<Body>) + Send + Sync>;

/// What is known of a route: a row of the table.
#[derive(Clone)]
pub struct Route {
    /// The verbs that it answers to, the main one first.
    pub verbs: &'static [Verb],
    /// Its path, with placeholders such as `{name}`.
    pub path: String,
    /// Who may use it.
    pub scope: Scope,
    /// What it does, in one sentence.
    pub about: &'static str,
    /// The JSON Schema of its parameters; the generator keeps the types that it names.
    pub request: fn(&mut SchemaGenerator) -> Schema,
    /// The JSON Schema of its answer, or of one event of its stream.
    pub response: fn(&mut SchemaGenerator) -> Schema,
    /// By how many bytes a body may be longer than the server's setting says.
    pub more_body_bytes: usize,
    /// How many bytes of a body these may be.
    pub more_in_body: fn(&[u8]) -> usize,
    /// How many bytes of a longer body are kept at most, if all but the last of its messages are passed
    /// over; 0 if all of it is kept.
    pub kept_body_bytes: usize,
    /// Whether a ticket lets a `GET` of it in, as a browser needs for what it cannot give a header.
    pub takes_tickets: bool,
}

impl Route {
    /// The names of the parts of its path that stand for something, in their order.
    pub(crate) fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        let parts = self.path.split('/');
        parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}

/// A route with its handler.
#[derive(Clone)]
pub(crate) struct Endpoint<S> {
    pub(crate) route: Route,
    pub(crate) handler: Handler<S>,
    pub(crate) finish: Finish<S>,
}

/// What a route takes.
pub(crate) trait Params: DeserializeOwned + JsonSchema + Send + 'static {}
impl<Q: DeserializeOwned + JsonSchema + Send + 'static> Params for Q {}

/// What a handler comes to.
pub(crate) trait Answers<A>:
    std::future::Future<Output = Result<A, Error>> + Send + 'static
{
}
impl<A, F: std::future::Future<Output = Result<A, Error>> + Send + 'static> Answers<A> for F {}

impl<S: Send + Sync + 'static> Endpoint<S> {
    /// A route that only reads: it answers to `POST` and, with the parameters in the query, to `GET`
    /// (AS-1).
    pub(crate) fn reading<Q: Params, A: Serialize + JsonSchema + 'static, F: Answers<A>>(
        path: String,
        about: &'static str,
        run: fn(Call<S>, Q) -> F,
    ) -> Self {
        Self::answering(&[Verb::Post, Verb::Get], Scope::Read, path, about, run)
    }

    /// A route that only reads, and answers to `GET` alone.
    pub(crate) fn showing<Q: Params, A: Serialize + JsonSchema + 'static, F: Answers<A>>(
        path: String,
        about: &'static str,
        run: fn(Call<S>, Q) -> F,
    ) -> Self {
        Self::answering(&[Verb::Get], Scope::Read, path, about, run)
    }

    /// A route that changes something: it answers to `POST` alone.
    pub(crate) fn changing<Q: Params, A: Serialize + JsonSchema + 'static, F: Answers<A>>(
        path: String,
        about: &'static str,
        run: fn(Call<S>, Q) -> F,
    ) -> Self {
        Self::answering(&[Verb::Post], Scope::Use, path, about, run)
    }

    /// A route whose answer is a stream of events.
    pub(crate) fn streaming<Q: Params, A: JsonSchema, F: Answers<Response<Body>>>(
        path: String,
        about: &'static str,
        run: fn(Call<S>, Q) -> F,
    ) -> Self {
        Self::new::<Q, A>(path, about, handle(run, |response| response))
    }

    /// A route whose answer is a stream of events, and which changes nothing: it answers to `GET`.
    pub(crate) fn following<Q: Params, A: JsonSchema, F: Answers<Response<Body>>>(
        path: String,
        about: &'static str,
        run: fn(Call<S>, Q) -> F,
    ) -> Self {
        let mut following = Self::streaming::<Q, A, F>(path, about, run);
        following.route.verbs = &[Verb::Get];
        following.with_scope(Scope::Read)
    }

    pub(crate) fn answering<Q: Params, A: Serialize + JsonSchema + 'static, F: Answers<A>>(
        verbs: &'static [Verb],
        scope: Scope,
        path: String,
        about: &'static str,
        run: fn(Call<S>, Q) -> F,
    ) -> Self {
        let handler = handle(run, |answer: A| reply::json(&answer));
        let mut answering = Self::new::<Q, A>(path, about, handler);
        answering.route.verbs = verbs;
        answering.with_scope(scope)
    }

    /// A route that reads its body itself; `Q` is one line of it.
    pub(crate) fn taking_bytes<Q, A, F>(
        path: String,
        about: &'static str,
        run: fn(Call<S>) -> F,
    ) -> Self
    where
        Q: JsonSchema,
        A: Serialize + JsonSchema + 'static,
        F: Answers<A>,
    {
        let handler: Handler<S> = Arc::new(move |_, call| {
            Box::pin(async move {
                let answer = run(call).await;
                answer.map_or_else(
                    |error| reply::refusal(&error),
                    |answer| reply::json(&answer),
                )
            })
        });
        Self::new::<Q, A>(path, about, handler)
    }

    /// A route that reads its body itself, and whose answer is a stream of events.
    pub(crate) fn streaming_bytes<Q, A, F>(
        path: String,
        about: &'static str,
        run: fn(Call<S>) -> F,
    ) -> Self
    where
        Q: JsonSchema,
        A: JsonSchema,
        F: Answers<Response<Body>>,
    {
        let handler: Handler<S> = Arc::new(move |_, call| {
            Box::pin(async move {
                run(call)
                    .await
                    .unwrap_or_else(|error| reply::refusal(&error))
            })
        });
        Self::new::<Q, A>(path, about, handler)
    }

    /// A route for everybody that has the same answer for all.
    pub(crate) fn fixed(
        path: String,
        about: &'static str,
        answer: impl Fn(&S) -> Response<Body> + Send + Sync + 'static,
    ) -> Self {
        let handler: Handler<S> = Arc::new(move |_, call| {
            let response = answer(&call.state);
            Box::pin(std::future::ready(response))
        });
        let mut fixed = Self::new::<(), String>(path, about, handler);
        fixed.route.verbs = &[Verb::Get];
        fixed.with_scope(Scope::Public)
    }

    fn new<Q: JsonSchema, A: JsonSchema>(
        path: String,
        about: &'static str,
        handler: Handler<S>,
    ) -> Self {
        let route = Route {
            verbs: &[Verb::Post],
            path,
            scope: Scope::Use,
            about,
            request: SchemaGenerator::subschema_for::<Q>,
            response: SchemaGenerator::subschema_for::<A>,
            more_body_bytes: 0,
            more_in_body: |_| 0,
            kept_body_bytes: 0,
            takes_tickets: false,
        };
        Self {
            route,
            handler,
            finish: Arc::new(|_, _| {}),
        }
    }

    /// The same with something done to each of its answers, once the door has let the request in.
    pub(crate) fn answered_with(self, finish: fn(&S, &mut Response<Body>)) -> Self {
        let finish = Arc::new(finish);
        Self { finish, ..self }
    }

    /// The same for another scope.
    pub(crate) fn with_scope(mut self, scope: Scope) -> Self {
        self.route.scope = scope;
        self
    }

    /// The same with longer bodies than others, for a part of the body that is measured.
    pub(crate) fn with_longer_bodies(
        mut self,
        more_bytes: usize,
        in_body: fn(&[u8]) -> usize,
    ) -> Self {
        self.route.more_body_bytes = more_bytes;
        self.route.more_in_body = in_body;
        self
    }

    /// The same with bodies of which so many bytes are kept, at most.
    pub(crate) fn with_kept_body(mut self, bytes: usize) -> Self {
        self.route.kept_body_bytes = bytes;
        self
    }

    /// The same, also for who brings a ticket in place of a token.
    pub(crate) fn with_tickets(mut self) -> Self {
        self.route.takes_tickets = true;
        self
    }

    /// The same in a table whose state has this one's as a part.
    pub(crate) fn with_part<T: Send + Sync + 'static>(self, part: fn(&T) -> S) -> Endpoint<T> {
        let Self {
            route,
            handler,
            finish,
        } = self;
        Endpoint {
            route,
            handler: Arc::new(move |verb, call| {
                let state = part(&call.state);
                handler(verb, call.with_state(state))
            }),
            finish: Arc::new(move |state, response| finish(&part(state), response)),
        }
    }
}

fn handle<S, Q, A, F>(run: fn(Call<S>, Q) -> F, finish: fn(A) -> Response<Body>) -> Handler<S>
where
    S: Send + Sync + 'static,
    Q: Params,
    A: 'static,
    F: Answers<A>,
{
    Arc::new(move |verb, mut call| {
        Box::pin(async move {
            call.begin().await;
            let given = match verb {
                Verb::Get | Verb::Delete => {
                    let mut pairs = call.segments.clone();
                    pairs.append(&mut call.query);
                    params::from_query(pairs)
                }
                // It may be long, and is not kept while the handler works.
                Verb::Post | Verb::Put => params::from_body(&std::mem::take(&mut call.body)),
            };
            if let Some(place) = &call.place {
                place.is_parsed();
            }
            let answer = match given {
                Ok(given) => run(call, given).await,
                Err(error) => Err(error),
            };
            answer.map_or_else(|error| reply::refusal(&error), finish)
        })
    })
}

#[cfg(test)]
mod tests;
