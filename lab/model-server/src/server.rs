//! The server: from its start to its end.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use hyper::{server::conn::http1, service::service_fn};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::{
    desk::{Desk, Settings, UnknownGate},
    exchange::{Ended, until},
    model::Model,
    request::{Request, Requests},
    script::{Gate, Reply, Rule, Script},
    service,
    socket::{Socket, Wire},
    surface::Surface,
};

/// Connections open at once; further ones wait to be accepted.
const MAX_CONNECTIONS: usize = 8_192;

/// Bytes of a request's body unless the builder says otherwise.
const MAX_BODY_BYTES: usize = 16 << 20;

/// How long accepting rests after an error, which means that the process has no more files.
const ACCEPT_REST: Duration = Duration::from_millis(10);

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
    desk: Arc<Desk>,
    /// The task that accepts and owns the connections; a set ends its tasks when it is dropped.
    tasks: JoinSet<()>,
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

    /// Adds a rule behind those that are there.
    pub fn push(&self, rule: impl Into<Rule>) {
        self.desk.push(rule.into());
    }

    /// Opens a gate for good: replies that wait there go on, later ones do not stop.
    ///
    /// # Errors
    ///
    /// When no rule of the script has this gate, so that a wrong name does not hang a test.
    pub fn open(&self, gate: &Gate) -> Result<(), UnknownGate> {
        self.desk.gates.open(gate)
    }

    /// The requests so far in order of arrival, the lists of models and the refused included;
    /// the latest 16,384, or fewer when their bodies exceed 64 MiB.
    pub fn requests(&self) -> Vec<Request> {
        self.desk.requests(Requests::all)
    }

    /// Those of [`requests`](Self::requests) that ask a model.
    pub fn prompts(&self) -> Vec<Request> {
        let mut requests = self.requests();
        requests.retain(|request| request.prompt().is_some());
        requests
    }

    /// How many requests that ask a model have arrived.
    pub fn prompt_count(&self) -> u64 {
        self.desk.requests(Requests::next_prompt)
    }

    /// Waits for the prompt with this number, counted from 0; none when the server has already
    /// forgotten it.
    pub async fn prompt(&self, number: u64) -> Option<Request> {
        let look = || {
            self.desk
                .requests(|all| (number < all.next_prompt()).then(|| all.prompt(number)))
        };
        until(&self.desk.changed, look).await
    }

    /// Waits until `count` prompts have arrived.
    pub async fn seen(&self, count: u64) {
        let look = || {
            let seen = self.desk.requests(Requests::next_prompt);
            (seen >= count).then_some(())
        };
        until(&self.desk.changed, look).await;
    }

    /// Waits until `holds` holds of the requests so far, looking again at each arrival, each
    /// delta that is written, and each end.
    pub async fn wait_for(&self, mut holds: impl FnMut(&[Request]) -> bool) -> Vec<Request> {
        let look = || Some(self.requests()).filter(|requests| holds(requests));
        until(&self.desk.changed, look).await
    }

    /// Waits until a client has gone away before its answer was out, and returns that request.
    pub async fn wait_for_disconnect(&self) -> Request {
        let look = || {
            let mut requests = self.requests().into_iter();
            requests.find(|request| request.ended() == Some(Ended::ClientLeft))
        };
        until(&self.desk.changed, look).await
    }

    /// The rules that have still to answer a prompt, by index; those that answer forever are
    /// never left over.
    pub fn left_over(&self) -> Vec<usize> {
        self.desk.left_over()
    }

    /// Ends the server, and returns when its port and connections are closed.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
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

    /// Passes for this local server to those who look what is there.
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
        let desk = Arc::new(Desk::new(self.settings));
        for rule in script.into().rules {
            desk.push(rule);
        }
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, desk.clone()));
        Ok(ModelServer {
            address,
            desk,
            tasks,
        })
    }
}

async fn accept(listener: TcpListener, desk: Arc<Desk>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.len() >= MAX_CONNECTIONS {
            connections.join_next().await;
        }
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve(stream, desk.clone()));
                }
                Err(_) => tokio::time::sleep(ACCEPT_REST).await,
            }
        }
    }
}

async fn serve(stream: TcpStream, desk: Arc<Desk>) {
    // Without it, small writes wait for the peer; a socket that refuses it still works.
    stream.set_nodelay(true).ok();
    let wire = Arc::new(Wire::default());
    let socket = Socket::new(stream, wire.clone());
    let answer = service_fn(|request| service::answer(desk.clone(), wire.clone(), request));
    let connection = http1::Builder::new().serve_connection(socket, answer);
    // Clients that leave and scripted cuts end in errors; the exchanges know which it was.
    connection.await.ok();
}
