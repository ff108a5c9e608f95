//! The server's tools for an external agent (RL-24): a host whose screen is the tool catalogue.
//!
//! A call becomes a turn of a durable session whose model only repeats the agent's request (ADR
//! 17). So the gate, the approval level, the intents and the recovery after a kill are those of
//! every turn, and there is no second way to a tool.

use std::sync::Arc;

use samovar_core::relay::RelayRole;
use samovar_core::{Clock, Code, Error, SessionId};
use samovar_engine::Engine;
use samovar_locale as locale;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use self::drive::Driver;
use self::history::Notes;
use self::work::Worker;
use crate::in_process::InProcess;
use crate::link::Connection;
use crate::logs::room_id;
use crate::relay::Relay;
use crate::room::MAX_ROOM_BYTES;

mod drive;
mod history;
#[cfg(test)]
mod tests;
mod work;

/// What a host of tools works with.
pub struct ToolHostParts {
    /// The relay.
    pub relay: Relay,
    /// The room.
    pub room: String,
    /// Who runs the calls.
    pub engine: Arc<Engine>,
    /// The model of the session that the calls are turns of: one that makes the call that it is given,
    /// and nothing else.
    pub model: String,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

/// A host of tools in a room, until it is dropped or another host replaces it.
pub struct ToolHost {
    end: DropGuard,
    tasks: TaskTracker,
}

impl ToolHost {
    /// Joins the room as its host, and again whenever the relay was lost.
    ///
    /// # Errors
    /// [`Code::InvalidParams`] for a name that no room can have.
    pub fn begin(parts: ToolHostParts) -> Result<Self, Error> {
        let room = parts.room.trim().to_owned();
        if room.is_empty() || room.len() > MAX_ROOM_BYTES {
            let why = locale::relay::room_unnamed(MAX_ROOM_BYTES);
            return Err(Error::new(Code::InvalidParams, why));
        }
        let session = SessionId::new(&format!("relay-{}", room_id(&room)))?;
        let way = InProcess::new(&parts.relay, &room, RelayRole::Host);
        let reply_timeout = parts.relay.config().reply_timeout;
        let (relay, clock) = (parts.relay, parts.clock.clone());
        Ok(Self::start(Worker {
            room,
            line: Connection::new(Box::new(way)),
            driver: Driver::new(parts.engine, session, parts.model, reply_timeout),
            clock: parts.clock,
            studies: Box::new(move || relay.logs().propose(clock.now())),
            study: None,
            notes: Notes::default(),
        }))
    }

    fn start(worker: Worker) -> Self {
        let end = CancellationToken::new();
        let host = Self {
            end: end.clone().drop_guard(),
            tasks: TaskTracker::new(),
        };
        host.tasks.spawn(async move {
            tokio::select! {
                () = end.cancelled() => {}
                () = worker.work() => {}
            }
        });
        host
    }

    /// Leaves the room. A call that runs is a turn of the engine, which ends it or finds it again.
    pub async fn shutdown(&self) {
        self.end.token().cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
