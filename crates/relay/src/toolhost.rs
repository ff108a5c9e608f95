//! Our tools for an external agent (RL-24): a host whose screen is the catalogue of a server's tools.
//!
//! A call becomes a turn of a durable session whose model only repeats what the agent asks for (ADR
//! 17). So the gate, the approval level, the intents and what a kill leaves are those of every turn,
//! and there is no second way to a tool.

use std::sync::Arc;

use samovar_core::{Clock, SessionId};
use samovar_engine::Engine;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use self::drive::Driver;
use self::work::Worker;
use crate::link::{Line, Way};

mod drive;
mod history;
#[cfg(test)]
mod tests;
mod work;

/// What a host of tools works with.
pub struct ToolHostParts {
    /// The room.
    pub room: String,
    /// How it comes to the relay.
    pub way: Box<dyn Way>,
    /// Who runs the calls.
    pub engine: Arc<Engine>,
    /// The session that its calls are the turns of: the same one after a restart.
    pub session: SessionId,
    /// The model of that session: one that makes the call that it is given, and nothing else.
    pub model: String,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// An id for a study session, which no log has yet.
    pub studies: Box<dyn Fn() -> String + Send>,
}

/// A host of tools in a room, until it is dropped or somebody else becomes the room's host.
pub struct ToolHost {
    end: DropGuard,
    tasks: TaskTracker,
}

impl ToolHost {
    /// Joins the room as its host, and again whenever the relay was lost.
    pub fn begin(parts: ToolHostParts) -> Self {
        let end = CancellationToken::new();
        let host = Self {
            end: end.clone().drop_guard(),
            tasks: TaskTracker::new(),
        };
        let driver = Driver::new(parts.engine, parts.session, parts.model);
        let worker = Worker {
            room: parts.room,
            line: Line::new(parts.way),
            driver,
            clock: parts.clock,
            studies: parts.studies,
            study: None,
            notes: history::Notes::default(),
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
