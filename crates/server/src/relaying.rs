//! The relay of an opened data directory: its rooms, and the hosts that are in some of them from the
//! start.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use samovar_core::{Code, Error, Models};
use samovar_engine::{Engine, Recovery};
use samovar_locale as locale;
use samovar_movie_host::MovieHost;
use samovar_relay::Relay;

use crate::bridge::Bridge;
use crate::clock::SystemClock;
use crate::config::RelaySettings;

/// The relay, and what it was told.
pub(crate) struct Relaying {
    pub(crate) relay: Relay,
    settings: RelaySettings,
    /// Empty until the engine is there.
    bridge: OnceLock<Bridge>,
}

impl Relaying {
    /// A relay whose rooms are empty.
    pub(crate) fn open(data_dir: &Path, settings: &RelaySettings) -> Self {
        Self {
            relay: Relay::open(data_dir, Arc::new(SystemClock), settings.relay),
            settings: settings.clone(),
            bridge: OnceLock::new(),
        }
    }

    /// What it was told.
    pub(crate) fn settings(&self) -> &RelaySettings {
        &self.settings
    }

    /// Puts the hosts into their rooms that are there from the start, and then who works there. A
    /// program that runs turns of its own alone has nobody in its rooms, and so nothing in its logs.
    pub(crate) fn begin(&self, engine: &Arc<Engine>, models: &Arc<dyn Models>) {
        match engine.settings().recovery {
            Recovery::EverySession => {}
            Recovery::UsedSessions | Recovery::NoTurns => return,
        }
        for room in &self.settings.movie_rooms {
            // The rest of the server is none the worse for it.
            if let Err(error) = self.attach_movie(room) {
                tracing::error!(%error, room, "a room has no movie host");
            }
        }
        let bridge = Bridge::begin(&self.relay, &self.settings, engine, models);
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
