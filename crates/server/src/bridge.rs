//! What the bridge between the relay and our own loop and tools is put together from (RL-23, RL-24).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use samovar_core::relay::RelayRole;
use samovar_core::{Error, Models};
use samovar_engine::Engine;
use samovar_providers::EXTERNAL;
use samovar_relay::agent::RelayAgent;
use samovar_relay::toolhost::{ToolHost, ToolHostParts};
use samovar_relay::{InProcess, Relay};

use crate::clock::SystemClock;
use crate::config::RelaySettings;
use crate::relay_agent::relay_agent;

/// Our own agents in rooms, and the rooms in which external agents find our tools.
pub(crate) struct Bridge {
    relay: Relay,
    engine: Arc<Engine>,
    agents: Vec<RelayAgent>,
    hosts: Mutex<HashMap<String, ToolHost>>,
}

impl Bridge {
    /// Sends our agent and our tools into their rooms. Nothing is waited for: who cannot get in tries
    /// again.
    pub(crate) fn begin(
        relay: &Relay,
        settings: &RelaySettings,
        engine: &Arc<Engine>,
        models: &Arc<dyn Models>,
    ) -> Self {
        let agents = settings.agent_rooms.iter().map(|room| {
            let way = InProcess::new(relay, room, RelayRole::Agent);
            let (model, models) = (settings.agent_model.clone(), models.clone());
            let room = room.trim().to_owned();
            relay_agent(room, Box::new(way), model, models, engine.settings())
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
    pub(crate) fn show_tools(&self, room: &str) -> Result<(), Error> {
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
    pub(crate) async fn rest(&self, drain: Duration) {
        join_all(self.agents.iter().map(|agent| agent.shutdown(drain))).await;
    }

    /// Has the hosts of tools leave, once the engine has ended: its turns are their calls.
    pub(crate) async fn end(&self) {
        let hosts = std::mem::take(&mut *self.lock());
        join_all(hosts.values().map(ToolHost::shutdown)).await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, ToolHost>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
