//! The way to the data directory: the server that holds it, or this process itself (FC-1).

use std::time::Duration;

use samovar_engine::Recovery;
use samovar_locale as text;
use samovar_server::{Address, Config, Home, OpenError, Opening, Server, StartError};
use samovar_wire::api::ServerInfo;
use tokio::time::Instant;

use crate::client::Client;
use crate::exit::{Exit, Failure};
use crate::screen::say;

/// How long a command waits for another that holds the data directory for a moment.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// How long turns of other commands may run on when this one is done.
pub(crate) const FOR_OTHERS: Duration = Duration::from_mins(10);

/// How soon a command says that it waits for another.
const SILENT: Duration = Duration::from_secs(1);

/// How long a server may take to say that it is there.
const GREETING: Duration = Duration::from_secs(2);

/// How often it looks meanwhile.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a command wants of the data directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To look and to tidy up: no turn starts or continues by it.
    Rows,
    /// To run turns. Other commands find this process as they find a server, as long as it lasts.
    Turns,
}

/// A client, and what this process opened for it.
pub(crate) struct Access {
    pub(crate) client: Client,
    opened: Opened,
}

enum Opened {
    /// A server that runs elsewhere has it.
    Elsewhere,
    Here(Home),
    /// With a socket for others.
    Shared(Server),
}

impl Access {
    /// Finds the server that holds the data directory, else opens it. Another command that holds it
    /// for a moment is waited for.
    ///
    /// # Errors
    /// The data directory cannot be opened, or is held by something that does not answer.
    pub(crate) async fn data_dir(config: &Config, purpose: Purpose) -> Result<Self, Failure> {
        let began = Instant::now();
        let mut was_told = false;
        loop {
            let held = match Box::pin(open(config, purpose)).await {
                Ok(reached) => return Ok(reached),
                Err(StartError::Open(held)) if held.code() == "data_dir_busy" => held,
                Err(error) => return Err(error.into()),
            };
            let has_address = Address::read(&config.data_dir).is_some();
            if let Some(client) = running(config).await {
                let opened = Opened::Elsewhere;
                return Ok(Self { client, opened });
            }
            // Who has no address is about to leave, or has none to give.
            let is_worth_it = purpose == Purpose::Turns && !has_address;
            let patience = if is_worth_it { FOR_OTHERS } else { PATIENCE };
            if began.elapsed() >= patience {
                return Err(unreachable(&held));
            }
            if !was_told && began.elapsed() >= SILENT {
                was_told = true;
                say(text::client::waits_for_holder());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Whether another process holds the data directory.
    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(self.opened, Opened::Elsewhere)
    }

    /// Closes what was opened: turns that run get their time to end, those of other commands too.
    pub(crate) async fn close(self) {
        match self.opened {
            Opened::Elsewhere => {}
            Opened::Here(home) => Box::pin(home.close()).await,
            Opened::Shared(server) => {
                let stopped = server.stop();
                tokio::pin!(stopped);
                if tokio::time::timeout(SILENT, &mut stopped).await.is_err() {
                    say(text::client::waits_for_others());
                    stopped.await;
                }
            }
        }
    }

    /// Closes what was opened, at once; turns that run are found by the next start.
    pub(crate) async fn close_now(self) {
        match self.opened {
            Opened::Elsewhere => {}
            Opened::Here(home) => Box::pin(home.close_now()).await,
            Opened::Shared(server) => server.stop_now().await,
        }
    }
}

async fn open(config: &Config, purpose: Purpose) -> Result<Access, StartError> {
    let mut config = config.clone();
    // A browser's page would be gone with this command.
    config.page = false;
    match purpose {
        Purpose::Rows => {
            config.settings.recovery = Recovery::NoTurns;
            let opening = Opening::begin(&config)?;
            let home = opening.finish().await?;
            let client = Client::inside(home.way_in());
            let opened = Opened::Here(home);
            Ok(Access { client, opened })
        }
        Purpose::Turns => {
            config.settings.recovery = Recovery::UsedSessions;
            config.server.host = std::net::Ipv4Addr::LOCALHOST.into();
            config.server.port = 0;
            // Its own turns are over when it leaves: what runs then is what others asked for.
            config.server.drain = FOR_OTHERS;
            let server = Server::start(config).await?;
            let client = Client::inside(server.home().way_in());
            let opened = Opened::Shared(server);
            Ok(Access { client, opened })
        }
    }
}

/// A client of the server that holds the data directory, if it answers.
pub(crate) async fn running(config: &Config) -> Option<Client> {
    holder(config).await.map(|(client, _)| client)
}

/// Whether a server holds the data directory that stays when no turn is left.
pub(crate) async fn is_served(config: &Config) -> bool {
    holder(config).await.is_some_and(|(_, server)| server.stays)
}

async fn holder(config: &Config) -> Option<(Client, ServerInfo)> {
    let address = Address::read(&config.data_dir)?;
    let client = Client::outside(address);
    let answer = client.get::<ServerInfo>("/api/server");
    match tokio::time::timeout(GREETING, answer).await {
        Ok(Ok(server)) => Some((client, server)),
        Err(_) => {
            tracing::debug!("the holder of the data directory is silent");
            None
        }
        Ok(Err(failure)) => {
            tracing::debug!(?failure, "the holder of the data directory does not answer");
            None
        }
    }
}

fn unreachable(held: &OpenError) -> Failure {
    let why = text::client::held(held);
    Failure::new(Exit::Busy, held.code(), why)
}
