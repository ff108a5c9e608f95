//! The sockets: they accept connections, with a bound on each and on all.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use samovar_locale as locale;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::address::AddressFile;
use crate::config::Config;
use crate::door::MAX_HEAD_BYTES;
use crate::error::OpenError;
use crate::home::{Home, Opening};
use crate::names::Names;
use crate::pace::{self, Paced};
use crate::router;
use crate::upgrade::ConnectionGuard;

#[cfg(test)]
mod tests;

/// Connections of the owner's own commands beside a socket for other machines, at most.
const OWNERS_CONNECTIONS: usize = 64;

/// How long a connection gets to end after the server was asked to stop.
const LINGER: Duration = Duration::from_secs(2);

/// A listening server. End it with [`Server::stop`]. If it is dropped instead, it disconnects its
/// clients at once and writes its state out in the background.
pub struct Server {
    // In the order in which they go: nobody new is sent here, nobody is served, and then nothing is
    // open any more.
    /// Tells the owner's own commands where it listens.
    file: AddressFile,
    socket: Socket,
    home: Home,
    address: SocketAddr,
    url: String,
}

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data directory cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The address cannot be used.
    #[error("{}", locale::server::address_taken(.address, .source))]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The owner's own commands cannot be told where it is.
    #[error("{}", locale::data_dir::address_unwritable(.0))]
    Address(std::io::Error),
    /// Other machines could reach the address, and something that they need is not configured.
    #[error("{}", exposed(*.address, *.lack))]
    Exposed {
        /// The address.
        address: IpAddr,
        /// What is missing.
        lack: Lack,
    },
}

/// What a server lacks that other machines could reach (TL-12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// A token that its operator has set.
    Token,
    /// A proxy that speaks TLS.
    Proxy,
    /// The names that clients use for it: its address stands for every address of the machine.
    Hosts,
}

fn exposed(address: IpAddr, lack: Lack) -> String {
    match lack {
        Lack::Token => locale::server::exposed_without_token(address),
        Lack::Proxy => locale::server::exposed_without_tls(address),
        Lack::Hosts => locale::server::exposed_without_hosts(address),
    }
}

/// Refuses to listen for other machines without what that needs.
fn check_exposure(config: &Config) -> Result<(), StartError> {
    let address = config.host;
    let lack = match config {
        _ if address.is_loopback() => return Ok(()),
        Config { token: None, .. } => Lack::Token,
        Config {
            behind_proxy: false,
            ..
        } => Lack::Proxy,
        Config { hosts, .. } if hosts.is_empty() && address.is_unspecified() => Lack::Hosts,
        Config { .. } => return Ok(()),
    };
    Err(StartError::Exposed { address, lack })
}

impl StartError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Open(error) => error.code(),
            Self::Listen { .. } => "address_unusable",
            Self::Address(_) => "data_dir_unusable",
            Self::Exposed { .. } => "address_refused",
        }
    }
}

impl Server {
    /// Opens the data directory and listens.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left open then.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        check_exposure(&config)?;
        // The lock comes before the port, so that who is second on a data directory hears of that;
        // the port before the engine, so that no turn begins in a server that cannot start.
        let opening = Opening::begin(&config)?;
        let address = SocketAddr::new(config.host, config.port);
        let listen = |source| StartError::Listen { address, source };
        let listener = pace::listen(address).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let names = Names::of(address, &config);
        let url = names.url().to_owned();
        let mut doors = vec![(listener, names, config.max_connections)];
        let mut local = address;
        if !address.ip().is_loopback() {
            // The owner's own commands send the token of this run, which is for no other machine.
            local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            let listen = |source| StartError::Listen {
                address: local,
                source,
            };
            let listener = pace::listen(local).map_err(listen)?;
            local = listener.local_addr().map_err(listen)?;
            doors.push((listener, Names::of(local, &config), OWNERS_CONNECTIONS));
        }
        let routed = doors
            .into_iter()
            .map(|(listener, names, max)| (listener, router::router(&opening.shared, names), max));
        let socket = Socket::open(routed, &config);
        let local = opening.address(local, url.clone());
        // On the heap: what starts a server is large, and so would be whoever starts one.
        let home = match Box::pin(opening.finish()).await {
            Ok(home) => home,
            Err(error) => {
                socket.close().await;
                return Err(error.into());
            }
        };
        match AddressFile::write(home.small_files(), &local) {
            Ok(file) => Ok(Self {
                file,
                socket,
                home,
                address,
                url,
            }),
            Err(error) => {
                home.leave();
                home.engine().shutdown(Duration::ZERO).await;
                socket.close().await;
                home.close_now().await;
                Err(StartError::Address(error))
            }
        }
    }

    /// Waits until the server asks for a restart; never returns if the caller does not offer one.
    pub async fn restart_asked(&self) {
        match &self.home.shared.api.restart {
            Some(restart) => restart.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where clients reach it, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What it serves.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Stops: no new turns, running ones get their time to end, then everything is written out.
    pub async fn stop(self) {
        let drain = self.home.drain();
        self.end(drain).await;
    }

    /// Stops at once; turns that run are found by the next start.
    pub async fn stop_now(self) {
        self.end(Duration::ZERO).await;
    }

    async fn end(self, drain: Duration) {
        // First, so that no command of the owner's comes to a server that is leaving.
        drop(self.file);
        self.home.leave();
        let chatting = &self.home.shared.chatting;
        chatting.end(self.home.engine(), drain).await;
        // Behind the turns: what they do may be for who is in a room.
        self.home.shared.relaying.end().await;
        self.socket.close().await;
        self.home.close_now().await;
    }
}

/// All that is open to the network.
struct Socket {
    /// No new connections, and those that there are end when they have answered.
    stop: CancellationToken,
    /// They end where they are.
    cut: CancellationToken,
    tasks: TaskTracker,
}

impl Socket {
    /// Each listener with its routes and the most connections that it has.
    fn open(doors: impl Iterator<Item = (TcpListener, Router, usize)>, config: &Config) -> Self {
        let socket = Self {
            stop: CancellationToken::new(),
            cut: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        for (listener, router, max_connections) in doors {
            let accepting = AcceptLoop {
                router,
                stop: socket.stop.clone(),
                cut: socket.cut.clone(),
                tasks: socket.tasks.clone(),
                permits: Arc::new(Semaphore::new(max_connections)),
                slow_client: config.slow_client,
                slow_reader: config.slow_reader,
            };
            socket.tasks.spawn(accepting.run(listener));
        }
        socket
    }

    /// Nothing of it is left behind: what a connection holds, it holds open.
    async fn close(self) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(LINGER, self.tasks.wait())
            .await
            .is_err()
        {
            tracing::debug!("connections that did not end are cut");
            self.cut.cancel();
            self.tasks.wait().await;
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.stop.cancel();
        self.cut.cancel();
    }
}

/// The task that accepts connections.
struct AcceptLoop {
    router: Router,
    stop: CancellationToken,
    cut: CancellationToken,
    tasks: TaskTracker,
    permits: Arc<Semaphore>,
    slow_client: Duration,
    slow_reader: Duration,
}

impl AcceptLoop {
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
                    let place = self.place(permit);
                    self.tasks.spawn(self.connection(stream, place));
                }
                Err(error) => {
                    // Out of descriptors, most likely: some may come back.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    /// What a connection has here, and whoever goes on with it after an upgrade.
    fn place(&self, permit: OwnedSemaphorePermit) -> ConnectionGuard {
        ConnectionGuard::new(
            permit,
            self.tasks.token(),
            self.stop.clone(),
            self.cut.clone(),
        )
    }

    fn connection(
        &self,
        stream: TcpStream,
        place: ConnectionGuard,
    ) -> impl Future<Output = ()> + use<> {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection keeps its delay");
        }
        let stream = Paced::new(stream, self.slow_reader);
        let (stalled, router) = (
            stream.stalled(),
            TowerToHyperService::new(self.router.clone()),
        );
        let service = service_fn(move |mut request: Request<Incoming>| {
            stalled.forget();
            request.extensions_mut().insert(stalled.clone());
            request.extensions_mut().insert(place.clone());
            router.call(request)
        });
        let (stop, cut) = (self.stop.clone(), self.cut.clone());
        let slow_client = self.slow_client;
        async move {
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
