//! The sockets: they accept connections, with a bound on each and on all.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use samovar_core::Sender;
use samovar_descriptors::LEAST;
use samovar_locale as locale;
use samovar_wire::api::LoginLinkParams;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::address::AddressFile;
use crate::config::Config;
use crate::error::OpenError;
use crate::home::{Home, Opening};
use crate::names::Names;
use crate::pace;
use crate::router;

use self::accept::AcceptLoop;
use self::places::Places;

mod accept;
pub(crate) mod places;
#[cfg(test)]
mod tests;

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
    /// The process may open too few file descriptors.
    #[error("{}", locale::server::descriptors_few(LEAST, .0))]
    Descriptors(u64),
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
    let address = config.server.host;
    let lack = match config {
        _ if address.is_loopback() => return Ok(()),
        Config { token: None, .. } => Lack::Token,
        Config { server, .. } if !server.behind_proxy => Lack::Proxy,
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
            Self::Descriptors(_) => "descriptors_few",
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
        let budget = config.budget();
        if !budget.is_enough() {
            return Err(StartError::Descriptors(budget.limit));
        }
        // The lock comes before the port, so that who is second on a data directory hears of that;
        // the port before the engine, so that no turn begins in a server that cannot start.
        let opening = Opening::begin(&config)?;
        let address = SocketAddr::new(config.server.host, config.server.port);
        let listen = |source| StartError::Listen { address, source };
        let listener = pace::listen(address).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let names = Names::of(address, &config);
        let url = names.url().to_owned();
        let places = |connections| Places::new(connections, budget.first_heads);
        let mut doors = vec![(listener, names, places(budget.connections))];
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
            doors.push((listener, Names::of(local, &config), places(budget.owners)));
        }
        let routed = doors.into_iter().map(|(listener, names, places)| {
            (listener, router::router(&opening.shared, names), places)
        });
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

    /// A login link for the owner's browser; `None` if the server has no page.
    pub fn login_link(&self) -> Option<String> {
        let by = Sender::CommandLine.name().to_owned();
        let made = self
            .home
            .shared
            .api
            .logins
            .link(LoginLinkParams::default(), by);
        made.ok().map(|link| link.url)
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
        let shared = &self.home.shared;
        shared.end_turns(self.home.engine(), drain).await;
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
    /// Each listener with its routes and the places of its connections.
    fn open(doors: impl Iterator<Item = (TcpListener, Router, Places)>, config: &Config) -> Self {
        let socket = Self {
            stop: CancellationToken::new(),
            cut: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        let turns = Arc::new(Semaphore::new(pace::LINGER_TURNS));
        for (listener, router, places) in doors {
            let accepting = AcceptLoop {
                router,
                stop: socket.stop.clone(),
                cut: socket.cut.clone(),
                tasks: socket.tasks.clone(),
                places: Arc::new(places),
                turns: turns.clone(),
                slow_client: config.server.slow_client,
                slow_reader: config.stream.patience,
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
