//! The relay of an opened data directory: its rooms, and the hosts that are in some of them from the
//! start.

use std::path::Path;
use std::sync::Arc;

use samovar_core::Error;
use samovar_movie_host::MovieHost;
use samovar_relay::Relay;

use crate::clock::SystemClock;
use crate::config::RelaySettings;

/// The relay, and what it was told.
pub(crate) struct Relaying {
    pub(crate) relay: Relay,
    settings: RelaySettings,
}

impl Relaying {
    /// A relay whose rooms are empty.
    pub(crate) fn open(data_dir: &Path, settings: &RelaySettings) -> Self {
        Self {
            relay: Relay::open(data_dir, Arc::new(SystemClock), settings.relay),
            settings: settings.clone(),
        }
    }

    /// What it was told.
    pub(crate) fn settings(&self) -> &RelaySettings {
        &self.settings
    }

    /// Puts the hosts into their rooms that are there from the start.
    pub(crate) fn begin(&self) {
        for room in &self.settings.movie_rooms {
            // The rest of the server is none the worse for it.
            if let Err(error) = self.attach_movie(room) {
                tracing::error!(%error, room, "a room has no movie host");
            }
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
        self.relay.close().await;
    }
}
