//! The server: from its start to its end.

use std::{io, net::SocketAddr, sync::Arc};

use axum::Router;
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    exchange::{ExchangeEnd, until},
    matcher::{Matcher, Settings, UnknownGate},
    model::Model,
    request::{Request, Requests},
    script::{Gate, Reply, Rule, Script},
    service,
    socket::{Connection, Listener},
    surface::Surface,
};

/// Bytes of a request's body unless the builder says otherwise.
const MAX_BODY_BYTES: usize = 16 << 20;

/// A running server on a free port of 127.0.0.1; dropped, it ends with all its connections.
///
/// ```no_run
/// use samovar_model_server::{ModelServer, call, say};
/// use serde_json::json;
///
/// # async fn example() -> std::io::Result<()> {
/// let server = ModelServer::start([
///     call("list_dir", json!({"path": "."})),
///     say("There are three files."),
/// ])
/// .await?;
/// let base_url = server.base_url();
/// // .. a client of the model at `base_url` takes a turn ..
/// server.seen(2).await;
/// assert!(server.left_over().is_empty());
/// # Ok(())
/// # }
/// ```
pub struct ModelServer {
    address: SocketAddr,
    matcher: Arc<Matcher>,
    /// Ends the connections when it is dropped.
    stop: DropGuard,
    /// The task that accepts connections and waits for their end.
    tasks: JoinSet<io::Result<()>>,
}

/// What a server insists on, before it starts.
#[derive(Debug, Clone)]
pub struct Builder {
    settings: Settings,
}

impl ModelServer {
    /// Starts a server that plays `script`, takes any model name, and wants no key.
    ///
    /// # Errors
    ///
    /// When the system has no free port or socket.
    pub async fn start(script: impl Into<Script>) -> io::Result<ModelServer> {
        ModelServer::builder().start(script).await
    }

    /// For a server that insists on a key, knows its models, or passes for another one.
    pub fn builder() -> Builder {
        Builder {
            settings: Settings {
                key: None,
                models: Vec::new(),
                surface: Surface::Hosted,
                always: None,
                max_body_bytes: MAX_BODY_BYTES,
            },
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL for a client of Chat Completions, `http://127.0.0.1:PORT/v1`.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.origin())
    }

    /// The base URL for clients that add `/v1` themselves, as those of Anthropic Messages do:
    /// `http://127.0.0.1:PORT`.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds a rule after those that are there.
    pub fn push(&self, rule: impl Into<Rule>) {
        self.matcher.push(rule.into());
    }

    /// Opens a gate for good: replies that wait there continue, later ones do not stop.
    ///
    /// # Errors
    ///
    /// When no rule of the script has this gate, so that a wrong name does not hang a test.
    pub fn open(&self, gate: &Gate) -> Result<(), UnknownGate> {
        self.matcher.gates.open(gate)
    }

    /// The requests so far in order of arrival, the lists of models and the refused included;
    /// the latest 16,384, or fewer when their bodies exceed 64 MiB.
    pub fn requests(&self) -> Vec<Request> {
        self.matcher.requests(Requests::all)
    }

    /// Those of [`requests`](Self::requests) that ask a model.
    pub fn prompts(&self) -> Vec<Request> {
        let mut requests = self.requests();
        requests.retain(|request| request.prompt().is_some());
        requests
    }

    /// How many requests that ask a model have arrived.
    pub fn prompt_count(&self) -> u64 {
        self.matcher.requests(Requests::next_prompt)
    }

    /// Waits for the prompt with this number, counted from 0; `None` if the server has already
    /// forgotten it.
    pub async fn prompt(&self, number: u64) -> Option<Request> {
        let look = || {
            self.matcher
                .requests(|all| (number < all.next_prompt()).then(|| all.prompt(number)))
        };
        until(&self.matcher.changed, look).await
    }

    /// Waits until `count` prompts have arrived.
    pub async fn seen(&self, count: u64) {
        let look = || {
            let seen = self.matcher.requests(Requests::next_prompt);
            (seen >= count).then_some(())
        };
        until(&self.matcher.changed, look).await;
    }

    /// Waits until `holds` holds of the requests so far, looking again at each arrival, each
    /// delta that is written, and each end.
    pub async fn wait_for(&self, mut holds: impl FnMut(&[Request]) -> bool) -> Vec<Request> {
        let look = || Some(self.requests()).filter(|requests| holds(requests));
        until(&self.matcher.changed, look).await
    }

    /// Waits until a client has gone away before its answer was out, and returns that request.
    pub async fn wait_for_disconnect(&self) -> Request {
        let look = || {
            let mut requests = self.requests().into_iter();
            requests.find(|request| request.ended() == Some(ExchangeEnd::ClientLeft))
        };
        until(&self.matcher.changed, look).await
    }

    /// The rules that still have to answer a prompt, by index; those that answer forever are
    /// never left over.
    pub fn left_over(&self) -> Vec<usize> {
        self.matcher.left_over()
    }

    /// Ends the server, and returns when its port and connections are closed.
    pub async fn stop(self) {
        drop(self.stop);
        self.tasks.join_all().await;
    }
}

impl std::fmt::Debug for ModelServer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ModelServer")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Refuses requests that do not carry this key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Builder {
        self.settings.key = Some(key.into());
        self
    }

    /// Has this model, and after the first call no others than those named so.
    #[must_use]
    pub fn model(mut self, model: impl Into<Model>) -> Builder {
        self.settings.models.push(model.into());
        self
    }

    /// Passes for this local server to clients that probe it.
    #[must_use]
    pub fn surface(mut self, surface: Surface) -> Builder {
        self.settings.surface = surface;
        self
    }

    /// Answers every request with this reply, whatever its path: a page of a captive portal,
    /// silence, an endless body. The script is not asked.
    #[must_use]
    pub fn always(mut self, reply: Reply) -> Builder {
        self.settings.always = Some(Arc::new(reply));
        self
    }

    /// Refuses bodies over this many bytes; 16 MiB unless it is set.
    #[must_use]
    pub fn max_body_bytes(mut self, max_body_bytes: usize) -> Builder {
        self.settings.max_body_bytes = max_body_bytes;
        self
    }

    /// Starts the server with `script`.
    ///
    /// # Errors
    ///
    /// When the system has no free port or socket.
    pub async fn start(self, script: impl Into<Script>) -> io::Result<ModelServer> {
        let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let matcher = Arc::new(Matcher::new(self.settings));
        for rule in script.into().rules {
            matcher.push(rule);
        }
        let stop = CancellationToken::new();
        let service = Router::new()
            .fallback(service::answer)
            .with_state(matcher.clone())
            .into_make_service_with_connect_info::<Connection>();
        let served = axum::serve(Listener::new(listener, stop.clone()), service)
            .with_graceful_shutdown(stop.clone().cancelled_owned());
        let mut tasks = JoinSet::new();
        tasks.spawn(served.into_future());
        Ok(ModelServer {
            address,
            matcher,
            stop: stop.drop_guard(),
            tasks,
        })
    }
}
