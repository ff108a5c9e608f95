//! The relay of an opened data directory: its rooms, and the hosts that are in some of them from the
//! start.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use samovar_core::blob::MemoryBlobs;
use samovar_core::relay::RelayRole;
use samovar_core::{Code, Error, Models};
use samovar_engine::{Engine, Ports, Recovery, Settings};
use samovar_locale as locale;
use samovar_movie_host::MovieHost;
use samovar_providers::EXTERNAL;
use samovar_relay::agent::{AgentParts, RelayAgent, Study};
use samovar_relay::toolhost::{ToolHost, ToolHostParts};
use samovar_relay::{Connector, InProcess, Relay, RelayConfig};

use crate::clock::{SystemClock, UuidV7};
use crate::config::Config;
use crate::endpoint;

/// A call of one of its routes.
pub(crate) type Call = endpoint::Call<Arc<Relaying>>;
/// One of its routes.
pub(crate) type Endpoint = endpoint::Endpoint<Arc<Relaying>>;

/// The relay, and what it was told.
pub(crate) struct Relaying {
    pub(crate) relay: Relay,
    settings: samovar_config::Relay,
    ping_every: Duration,
    /// Empty until the engine is there.
    bridge: OnceLock<Bridge>,
}

impl Relaying {
    /// A relay whose rooms are empty.
    pub(crate) fn open(config: &Config) -> Self {
        let settings = &config.relay;
        let bounds = RelayConfig {
            strict: settings.strict,
            reply_timeout: settings.reply_timeout,
            max_rooms: settings.max_rooms,
            ..config.relay_bounds
        };
        Self {
            relay: Relay::open(&config.data_dir, Arc::new(SystemClock), bounds),
            settings: settings.clone(),
            ping_every: config.relay_ping,
            bridge: OnceLock::new(),
        }
    }

    /// How often a socket is asked whether it is there.
    pub(crate) fn ping_every(&self) -> Duration {
        self.ping_every
    }

    /// Puts the movie host into its rooms: those of the settings, and those where it had an open study
    /// when the last run ended. Then the agents join theirs. A program that runs turns of its own alone
    /// has no members in its rooms, and so nothing in its logs.
    pub(crate) async fn begin(&self, engine: &Arc<Engine>) {
        match engine.settings().recovery {
            Recovery::EverySession => {}
            Recovery::UsedSessions | Recovery::NoTurns => return,
        }
        let logs = self.relay.logs().clone();
        let mut rooms = tokio::task::spawn_blocking(move || logs.interrupted_rooms())
            .await
            .unwrap_or_default();
        rooms.extend(
            self.settings
                .movie_rooms
                .iter()
                .map(|room| room.trim().to_owned()),
        );
        rooms.sort_unstable();
        rooms.dedup();
        for room in &rooms {
            // The rest of the server works without it.
            if let Err(error) = self.attach_movie(room) {
                tracing::error!(%error, room, "a room has no movie host");
            }
        }
        let bridge = Bridge::begin(&self.relay, &self.settings, engine);
        if self.bridge.set(bridge).is_err() {
            tracing::error!("the relay has its agents already");
        }
    }

    /// Makes the tools of this server the host of a room.
    ///
    /// # Errors
    /// [`Code::InvalidParams`] for a name that no room can have; [`Code::Unavailable`] where nobody
    /// works in rooms.
    pub(crate) fn attach_tools(&self, room: &str) -> Result<(), Error> {
        let bridge = self.bridge.get();
        let bridge =
            bridge.ok_or_else(|| Error::new(Code::Unavailable, locale::server::no_turns()))?;
        bridge.show_tools(room)
    }

    /// Gives the turns of its agents that run `drain` to end, and has everybody of ours leave.
    pub(crate) async fn rest(&self, drain: Duration) {
        if let Some(bridge) = self.bridge.get() {
            bridge.rest(drain).await;
        }
    }

    /// Makes the booking of a movie the host of a room.
    ///
    /// # Errors
    /// As [`Relay::attach`].
    pub(crate) fn attach_movie(&self, room: &str) -> Result<(), Error> {
        self.relay.attach(room, Box::new(MovieHost::new()))
    }

    /// Tells its members that it is over, and has the study logs on the disk when it is done.
    pub(crate) async fn end(&self) {
        if let Some(bridge) = self.bridge.get() {
            bridge.end().await;
        }
        self.relay.close().await;
    }
}

/// Our own agents in rooms, and the rooms in which external agents find our tools.
struct Bridge {
    relay: Relay,
    engine: Arc<Engine>,
    agents: Vec<RelayAgent>,
    hosts: Mutex<HashMap<String, ToolHost>>,
}

impl Bridge {
    /// Sends our agent and our tools into their rooms. Nothing is waited for: who cannot get in tries
    /// again.
    fn begin(relay: &Relay, settings: &samovar_config::Relay, engine: &Arc<Engine>) -> Self {
        let agents = settings.agent_rooms.iter().map(|room| {
            let way = InProcess::new(relay, room, RelayRole::Agent);
            let model = settings.agent_model.clone();
            let room = room.trim().to_owned();
            relay_agent(room, Box::new(way), model, engine.clone())
        });
        let bridge = Self {
            agents: agents.collect(),
            relay: relay.clone(),
            engine: engine.clone(),
            hosts: Mutex::default(),
        };
        for room in &settings.tool_rooms {
            if let Err(error) = bridge.show_tools(room) {
                tracing::error!(room, %error, "a room has no tools");
            }
        }
        bridge
    }

    /// Shows the tools of this server in a room, in the place of the host that is there.
    ///
    /// # Errors
    /// [`Code::InvalidParams`](samovar_core::Code) for a name that no room can have.
    fn show_tools(&self, room: &str) -> Result<(), Error> {
        let host = ToolHost::begin(ToolHostParts {
            relay: self.relay.clone(),
            room: room.to_owned(),
            engine: self.engine.clone(),
            model: EXTERNAL.to_owned(),
            clock: Arc::new(SystemClock),
        })?;
        self.lock().insert(room.trim().to_owned(), host);
        Ok(())
    }

    /// Has the agents leave; turns of theirs that run get `drain` to end.
    async fn rest(&self, drain: Duration) {
        join_all(self.agents.iter().map(|agent| agent.shutdown(drain))).await;
    }

    /// Has the hosts of tools leave, once the engine has ended: its turns are their calls.
    async fn end(&self) {
        let hosts = std::mem::take(&mut *self.lock());
        join_all(hosts.values().map(ToolHost::shutdown)).await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, ToolHost>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets an agent of ours join a room of a relay (RL-23), with a session in memory of this engine. It
/// has no tools but those of the room's host; `model` is the one that answers, `None` for the default
/// one of the moment.
pub fn relay_agent(
    room: String,
    way: Box<dyn Connector>,
    model: Option<String>,
    engine: Arc<Engine>,
) -> RelayAgent {
    RelayAgent::begin(AgentParts {
        room,
        way,
        study: Study::default(),
        model,
        engine,
    })
}

/// An engine without stores or tools, for a process whose sessions are all in memory.
///
/// # Errors
/// [`Code::Internal`], which nothing leads to today.
pub async fn memory_engine(
    models: Arc<dyn Models>,
    settings: Settings,
) -> Result<Arc<Engine>, Error> {
    let ports = Ports {
        journal: Arc::new(()),
        history: Arc::new(()),
        blobs: Arc::new(MemoryBlobs::default()),
        models,
        toolbox: Arc::default(),
        agents: Arc::new(()),
        clock: Arc::new(SystemClock),
        ids: Arc::new(UuidV7),
        damages: Arc::new(()),
        audit: Arc::new(()),
    };
    let begun = Engine::start(ports, settings).await;
    begun.map_err(|broken| Error::new(Code::Internal, broken.to_string()))
}
