//! The built-in agent of a room (RL-23): it reads the host's screen, listens to the person, and
//! calls the host's tools.
//!
//! It runs the ordinary loop, in a session in memory. That has the host's tools and no others: a
//! host's screen is untrusted text, which may talk a model into using anything it has. The session
//! begins with the person's first message.

use std::sync::Arc;
use std::time::Duration;

use samovar_core::{Approval, Limits};
use samovar_engine::{Engine, Settings};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use self::state::AgentState;
use self::tools::Tools;
use self::work::Worker;
use crate::link::{Connection, Connector};

mod state;

mod schema;
mod screen;
mod talk;
#[cfg(test)]
mod tests;
mod tools;
mod work;

/// What it is told about the room.
const NOTE: &str = include_str!("agent/NOTE.md");
/// Passes of the loop for one thing that a person says, at least: a screen takes many small steps.
const MIN_ITERATIONS: u32 = 60;
/// How long the last words of a turn may take into the room when the agent stops.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What an agent in a room works with.
pub struct AgentParts {
    /// The room.
    pub room: String,
    /// How it comes to the relay.
    pub way: Box<dyn Connector>,
    /// What it says of itself when it begins a study session.
    pub study: Study,
    /// The model; `None` for the current default.
    pub model: Option<String>,
    /// The engine of its sessions.
    pub engine: Arc<Engine>,
}

/// What a `session.start` brings (RL-13).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Study {
    /// The study.
    pub study: Option<String>,
    /// Who takes part in it.
    pub participant: Option<String>,
}

/// An agent in a room. It ends with [`RelayAgent::shutdown`], or at once when it is dropped.
pub struct RelayAgent {
    stopping: CancellationToken,
    cut: CancellationToken,
    end: DropGuard,
    tasks: TaskTracker,
}

impl RelayAgent {
    /// Joins the room, as soon as the relay can be reached and again whenever it was lost, and works
    /// for the person there.
    pub fn begin(parts: AgentParts) -> Self {
        let (stopping, cut) = (CancellationToken::new(), CancellationToken::new());
        let end = CancellationToken::new();
        // One call at a time; see `schema`.
        let (asks, asked) = mpsc::channel(1);
        let worker = Worker {
            line: Connection::new(parts.way),
            state: AgentState::new(parts.room, parts.study),
            tools: Tools::new(asks),
            asked,
            waiting: None,
            talk: None,
            stopping: stopping.clone(),
            cut: cut.clone(),
            is_leaving: false,
            model: parts.model,
            settings: settings(parts.engine.settings()),
            engine: parts.engine,
        };
        let agent = Self {
            stopping,
            cut,
            end: end.clone().drop_guard(),
            tasks: TaskTracker::new(),
        };
        agent.tasks.spawn(async move {
            tokio::select! {
                () = end.cancelled() => {}
                () = worker.work() => {}
            }
        });
        agent
    }

    /// Hears nothing more from the person, gives a turn that runs `drain` to end, and leaves the room.
    pub async fn shutdown(&self, drain: Duration) {
        self.stopping.cancel();
        self.tasks.close();
        if tokio::time::timeout(drain, self.tasks.wait()).await.is_ok() {
            return;
        }
        self.cut.cancel();
        let ended = tokio::time::timeout(LAST_WORDS, self.tasks.wait()).await;
        if ended.is_err() {
            tracing::warn!("a relay's agent is cut off");
            self.end.token().cancel();
            self.tasks.wait().await;
        }
    }
}

/// The server's settings, as far as they fit sessions that only a room knows of. Nobody is asked for an
/// approval: what a host lets its agents do it has said in its tools.
fn settings(of_server: &Settings) -> Settings {
    let limits = Limits {
        max_iterations: of_server.limits.max_iterations.max(MIN_ITERATIONS),
        ..of_server.limits
    };
    Settings {
        is_unattended: true,
        limits,
        approval: Approval::Auto,
        workspace_note: NOTE.trim().to_owned(),
        guide: of_server.guide.clone().apart(),
        ..of_server.clone()
    }
}
