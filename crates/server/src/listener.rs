//! The socket: accepts connections, with a bound on each and on all.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, Response, header};
use axum::middleware::{self, Next};
use axum::routing::{MethodFilter, MethodRouter, on};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use samovar_core::{Code, Error, Sender};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::door::{self, Door, MAX_HEAD_BYTES};
use crate::home::{Home, OpenError, Shared};
use crate::reply;
use crate::route::{self, Call, Route, Scope, Verb};
use crate::token::TokenHash;

/// How long a connection that has nothing to say is kept after the server was asked to stop.
const LINGER: Duration = Duration::from_secs(2);

/// A server that listens.
pub struct Server {
    home: Home,
    address: SocketAddr,
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data directory cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The address cannot be used.
    #[error("cannot listen on {address}: {source}; choose another port with --port")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The address would let others in.
    #[error(
        "{0} is not a loopback address; a server that others can reach needs TLS, \
         which this version does not have: listen on 127.0.0.1 and put a proxy in front"
    )]
    NotLoopback(std::net::IpAddr),
}

impl StartError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Open(error) => error.code(),
            Self::Listen { .. } => "address_unusable",
            Self::NotLoopback(_) => "address_refused",
        }
    }
}

impl Server {
    /// Opens the data directory and listens.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left open then.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        if !config.host.is_loopback() {
            return Err(StartError::NotLoopback(config.host));
        }
        // The lock comes before the port, so that who is second on a data directory hears of that;
        // the port before the engine, so that no turn begins in a server that cannot start.
        let lock = Home::hold(&config)?;
        let address = SocketAddr::new(config.host, config.port);
        let listen = |source| StartError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let home = Home::open_held(&config, lock).await?;
        let door = Arc::new(Door::new(TokenHash::of(home.token()), address));
        let router = router(&home.shared, &door);
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let accepting = Accepting {
            router,
            stop: stop.clone(),
            tasks: tasks.clone(),
            permits: Arc::new(Semaphore::new(config.max_connections)),
            slow_client: config.slow_client,
        };
        tasks.spawn(accepting.run(listener));
        Ok(Self {
            home,
            address,
            stop,
            tasks,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it serves.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Stops: no new turns, running ones get their time to end, then everything is written out.
    pub async fn stop(self) {
        self.home.shared.engine.shutdown(self.home.drain()).await;
        self.hang_up().await;
    }

    /// Stops at once; turns that run are found by the next start.
    pub async fn stop_now(self) {
        self.home.shared.engine.shutdown(Duration::ZERO).await;
        self.hang_up().await;
    }

    async fn hang_up(self) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(LINGER, self.tasks.wait())
            .await
            .is_err()
        {
            tracing::debug!("connections that did not end are dropped");
        }
    }
}

/// The router, made from the table.
fn router(shared: &Arc<Shared>, door: &Arc<Door>) -> Router {
    let table: Arc<[Route]> = route::table().into();
    let mut router = Router::new();
    for route in table.iter() {
        router = router.route(&route.path, endpoint(route, shared));
    }
    let guard = Guard {
        door: door.clone(),
        routes: table,
    };
    router
        .fallback(|request: Request| async move { unknown(request.uri().path()) })
        .layer(middleware::from_fn_with_state(guard, admit))
}

fn endpoint(route: &Route, shared: &Arc<Shared>) -> MethodRouter {
    let mut methods = MethodRouter::new();
    for &verb in route.verbs {
        let filter = match verb {
            Verb::Get => MethodFilter::GET,
            Verb::Post => MethodFilter::POST,
        };
        let (route, shared) = (route.clone(), shared.clone());
        methods = methods.merge(on(filter, move |request: Request| async move {
            serve(&route, verb, shared, request).await
        }));
    }
    let allowed: Vec<_> = route.verbs.iter().map(|verb| verb.as_str()).collect();
    let allowed = allowed.join(" or ");
    methods.fallback(move |request: Request| async move {
        let why = format!(
            "{} takes {allowed}, not {}",
            request.uri().path(),
            request.method()
        );
        reply::refusal(&Error::new(Code::WrongVerb, why))
    })
}

/// What the door works with, in front of every route.
#[derive(Clone)]
struct Guard {
    door: Arc<Door>,
    routes: Arc<[Route]>,
}

/// One layer before every route, and before the answer that there is none: deny by default.
async fn admit(State(guard): State<Guard>, request: Request, next: Next) -> Response<Body> {
    let (mut parts, body) = request.into_parts();
    let path = parts
        .extensions
        .get::<MatchedPath>()
        .map(MatchedPath::as_str);
    let route = guard.routes.iter().find(|route| path == Some(&route.path));
    let scope = route.map_or(Scope::Use, |route| route.scope);
    let mut response = match guard.door.admit(&parts, scope) {
        Ok(sender) => {
            parts.extensions.insert(sender);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(error) => reply::refusal(&error),
    };
    door::seal(response.headers_mut());
    response
}

async fn serve(route: &Route, verb: Verb, shared: Arc<Shared>, request: Request) -> Response<Body> {
    let (mut parts, body) = request.into_parts();
    let Some(by) = parts.extensions.remove::<Sender>() else {
        return reply::refusal(&Error::new(Code::Unauthorized, "the door was passed by"));
    };
    let query = match axum::extract::Query::try_from_uri(&parts.uri) {
        Ok(axum::extract::Query(query)) => query,
        Err(error) => {
            let why = format!("the query cannot be read: {error}");
            return reply::refusal(&Error::new(Code::InvalidParams, why));
        }
    };
    let body = match read_body(&shared, &parts.headers, body).await {
        Ok(body) => body,
        Err(error) => return reply::refusal(&error),
    };
    (route.handler)(
        verb,
        Call {
            shared,
            by,
            query,
            body,
        },
    )
    .await
}

async fn read_body(
    shared: &Shared,
    headers: &HeaderMap,
    body: Body,
) -> Result<bytes::Bytes, Error> {
    let max = shared.max_body_bytes;
    let too_large = || {
        let why = format!("the body is larger than {max} bytes");
        Error::new(Code::BodyTooLarge, why)
    };
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok());
    let announced = announced
        .and_then(|text| text.parse::<u64>().ok())
        .unwrap_or(0);
    if usize::try_from(announced).map_or(true, |bytes| bytes > max) {
        return Err(too_large());
    }
    let limited = http_body_util::Limited::new(body, max);
    let read = http_body_util::BodyExt::collect(limited);
    match tokio::time::timeout(shared.slow_client, read).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(Error::new(
            Code::InvalidJson,
            format!("the body ended early: {error}"),
        )),
        Err(_) => Err(Error::new(
            Code::RequestTimeout,
            "the body took too long to arrive",
        )),
    }
}

fn unknown(path: &str) -> Response<Body> {
    let why = format!("there is nothing at {path}; the methods are under /services/agent/");
    reply::refusal(&Error::new(Code::UnknownMethod, why))
}

/// The task that accepts connections.
struct Accepting {
    router: Router,
    stop: CancellationToken,
    tasks: TaskTracker,
    permits: Arc<Semaphore>,
    slow_client: Duration,
}

impl Accepting {
    async fn run(self, listener: TcpListener) {
        loop {
            // Who comes when all places are taken waits in the system's queue.
            let accepting = async {
                let permit = self.permits.clone().acquire_owned().await;
                (permit, listener.accept().await)
            };
            let (Ok(permit), accepted) = (tokio::select! {
                accepted = accepting => accepted,
                () = self.stop.cancelled() => return,
            }) else {
                return;
            };
            match accepted {
                Ok((stream, _)) => {
                    let connection = self.connection(stream);
                    self.tasks.spawn(async move {
                        connection.await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    // Out of descriptors, most likely: some may come back.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    fn connection(&self, stream: TcpStream) -> impl Future<Output = ()> + use<> {
        let service = TowerToHyperService::new(self.router.clone());
        let (stop, slow_client) = (self.stop.clone(), self.slow_client);
        async move {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "a connection keeps its delay");
            }
            let mut builder = hyper::server::conn::http1::Builder::new();
            builder
                .timer(TokioTimer::new())
                .header_read_timeout(slow_client)
                .max_buf_size(MAX_HEAD_BYTES);
            let connection = builder.serve_connection(TokioIo::new(stream), service);
            let mut connection = std::pin::pin!(connection.with_upgrades());
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = stop.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended early");
            }
        }
    }
}
