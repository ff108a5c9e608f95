//! One listener: it accepts connections and serves each.

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, header};
use futures_util::future::Either;
use hyper::body::{Body as _, Incoming};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use samovar_core::{Code, Error};
use samovar_descriptors::stems_from_exhaustion;
use samovar_locale as locale;
use samovar_wire::agent::ErrorBody;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::places::{Place, Places, Silence};
use crate::api::PROBES;
use crate::door::{self, MAX_HEAD_BYTES};
use crate::pace::{Paced, Stalled};
use crate::reply;
use crate::upgrade::ConnectionGuard;

/// How long one of the last places is given for a first head, and then for the answer to a probe.
const FIRST_HEAD: Duration = Duration::from_secs(1);

/// How long nothing is accepted after a failure, and how long one connection may take to be turned
/// away.
const REST: Duration = Duration::from_millis(50);

/// How long a connection must find a descriptor before a new shortage is logged.
const SHORTAGE_ENDS: Duration = Duration::from_mins(1);

/// Bytes of a request that are read before its connection is turned away, so that its client finds
/// the answer and not a reset.
const MAX_DROPPED_BYTES: usize = 16 * 1024;

/// The task that accepts connections.
pub(super) struct AcceptLoop {
    pub(super) router: Router,
    pub(super) stop: CancellationToken,
    pub(super) cut: CancellationToken,
    pub(super) tasks: TaskTracker,
    pub(super) places: Arc<Places>,
    /// For reading what is dropped.
    pub(super) turns: Arc<Semaphore>,
    pub(super) slow_client: Duration,
    pub(super) slow_reader: Duration,
}

impl AcceptLoop {
    pub(super) async fn run(self, listener: TcpListener) {
        let mut spare = Spare::hold();
        loop {
            // When all places are taken, one connection waits here and the others in the system's
            // queue.
            let accepting = async {
                let (stream, _) = listener.accept().await?;
                Ok::<_, io::Error>((stream, self.places.take().await))
            };
            let accepted = tokio::select! {
                accepted = accepting => accepted,
                () = self.stop.cancelled() => return,
            };
            match accepted {
                Ok((stream, place)) => {
                    self.tasks.spawn(self.connection(stream, place));
                    spare.take_back();
                }
                Err(error) if stems_from_exhaustion(&error) && spare.is_held() => {
                    spare.turn_away(&listener).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    sleep(REST).await;
                    spare.take_back();
                }
            }
        }
    }

    fn connection(&self, stream: TcpStream, place: Place) -> impl Future<Output = ()> + use<> {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection keeps its delay");
        }
        let silence = Silence::default();
        let stream = Paced::new(stream, self.slow_reader, self.turns.clone());
        let (permit, silent, patience, begun) = match place {
            Place::Connection(permit) => {
                let silent = self.places.silent(silence.clone());
                (permit, Some(silent), self.slow_client, stream.begun.clone())
            }
            Place::FirstHead(permit) => (permit, None, FIRST_HEAD, silence.heard.clone()),
        };
        let is_guest = silent.is_none();
        let (stop, cut) = (self.stop.clone(), self.cut.clone());
        let guard = ConnectionGuard::new(permit, self.tasks.token(), stop.clone(), cut.clone());
        let handling = Handling {
            router: TowerToHyperService::new(self.router.clone()),
            places: self.places.clone(),
            stalled: stream.stalled(),
            heard: silence.heard.clone(),
            guard,
            is_guest,
        };
        let slow_client = self.slow_client;
        async move {
            // Dropped last: the place is free before another stops waiting for it.
            let _silent = silent;
            let mut builder = hyper::server::conn::http1::Builder::new();
            builder
                .timer(TokioTimer::new())
                .header_read_timeout(slow_client)
                .max_buf_size(MAX_HEAD_BYTES);
            let service = service_fn(move |request| handling.handle(request));
            let connection = builder.serve_connection(TokioIo::new(stream), service);
            let mut connection = std::pin::pin!(connection.with_upgrades());
            let too_late = async {
                if timeout(patience, begun.cancelled()).await.is_ok() {
                    std::future::pending::<()>().await;
                }
            };
            let too_silent = async {
                tokio::select! {
                    biased;
                    () = silence.heard.cancelled() => std::future::pending().await,
                    () = silence.evicted.cancelled() => {}
                    () = too_late => {}
                }
            };
            let ended = tokio::select! {
                // First the connection: what it sent may not have been read yet.
                biased;
                ended = connection.as_mut() => ended,
                () = too_silent => return,
                () = stop.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    tokio::select! {
                        ended = connection => ended,
                        () = cut.cancelled() => return,
                    }
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended early");
            }
        }
    }
}

/// How the requests of one connection are handled.
struct Handling {
    router: TowerToHyperService<Router>,
    places: Arc<Places>,
    stalled: Stalled,
    /// Cancelled with the first whole head.
    heard: CancellationToken,
    guard: ConnectionGuard,
    /// Whether the connection has been given a place for its first head alone.
    is_guest: bool,
}

impl Handling {
    fn handle(
        &self,
        mut request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<Body>, Infallible>> + use<> {
        self.stalled.begin(!request.body().is_end_stream());
        self.heard.cancel();
        let answering = self.stalled.answers();
        let is_probe = PROBES.contains(&request.uri().path());
        let is_last = self.is_guest && !self.moves_in();
        if is_last && !is_probe {
            let refused = Error::new(Code::Unavailable, locale::server::no_place());
            let mut response = reply::refusal(&refused);
            door::seal(response.headers_mut());
            return Either::Left(std::future::ready(Ok(closing(response))));
        }
        request.extensions_mut().insert(self.stalled.clone());
        request.extensions_mut().insert(self.guard.clone());
        let answered = self.router.call(request);
        Either::Right(async move {
            let _answering = answering;
            if !is_last {
                return answered.await;
            }
            let response = timeout(FIRST_HEAD, answered).await;
            Ok(closing(response.unwrap_or_else(|_| Ok(late()))?))
        })
    }

    /// Takes a place for a connection that has none of its own, if one is free by now.
    fn moves_in(&self) -> bool {
        self.guard.is_moved()
            || self
                .places
                .free()
                .is_some_and(|place| self.guard.move_to(place))
    }
}

/// The answer to a probe whose body does not come.
fn late() -> Response<Body> {
    let late = Error::new(Code::RequestTimeout, locale::request::body_late());
    let mut response = reply::refusal(&late);
    door::seal(response.headers_mut());
    response
}

/// The last answer of a connection.
fn closing(mut response: Response<Body>) -> Response<Body> {
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    response
}

/// A descriptor that is given up to accept a connection which there is no other for: its client
/// hears that at once and does not wait in the system's queue.
struct Spare {
    held: Option<File>,
    /// When there was last no descriptor.
    short: Option<Instant>,
}

impl Spare {
    fn hold() -> Self {
        let mut spare = Self {
            held: None,
            short: None,
        };
        spare.take_back();
        spare
    }

    fn is_held(&self) -> bool {
        self.held.is_some()
    }

    fn take_back(&mut self) {
        if self.held.is_none() {
            self.held = File::open("/dev/null").ok();
        }
    }

    /// Answers the next connection that there is no place for.
    async fn turn_away(&mut self, listener: &TcpListener) {
        let last = self.short.replace(Instant::now());
        if last.is_none_or(|last| last.elapsed() > SHORTAGE_ENDS) {
            tracing::warn!("out of file descriptors: connections are turned away");
        }
        self.held = None;
        let turned_away = timeout(REST, async {
            let (mut stream, _) = listener.accept().await?;
            stream.write_all(&no_descriptor()).await?;
            stream.shutdown().await?;
            // What has come already; the rest is not waited for.
            let mut dropped = [0; MAX_DROPPED_BYTES];
            stream.try_read(&mut dropped)
        });
        let turned_away = turned_away.await;
        self.take_back();
        if !matches!(turned_away, Ok(Ok(_))) {
            sleep(REST).await;
        }
    }
}

/// The answer without a request: `503`.
fn no_descriptor() -> Vec<u8> {
    let refused = Error::new(Code::Unavailable, locale::server::no_descriptor());
    let body = serde_json::to_vec(&ErrorBody::from(&refused)).unwrap_or_default();
    let head = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body].concat()
}
