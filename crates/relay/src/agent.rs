//! The built-in agent of a room (RL-23): it reads the host's screen, listens to the person, and
//! calls the host's tools.
//!
//! It runs the ordinary loop in a separate engine, whose journal and history are in memory. It has
//! the host's tools and no others: a host's screen is untrusted text, which may talk a model into
//! using anything it has. That engine starts with the person's first message.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use samovar_core::{Approval, Broken, Clock, Ids, Journal, Limits, Models};
use samovar_engine::{Engine, Ports, Recovery, Settings, Toolbox};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use self::state::AgentState;

use self::tools::Tools;
use self::work::Worker;
use crate::link::{Connection, Connector};
use crate::memory::Memory;

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
/// How long what a turn has said is still followed; its one reader is at its heels.
const RETENTION: Duration = Duration::from_mins(1);
/// How often the journal is rid of what nobody needs.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
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
    /// Where its turns are kept, in memory: it is closed with the agent.
    pub journal: Arc<dyn Journal>,
    /// The models.
    pub models: Arc<dyn Models>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn Ids>,
    /// How the engine behaves.
    pub settings: Settings,
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
    engine: Arc<OnceLock<Arc<Engine>>>,
    stopping: CancellationToken,
    end: DropGuard,
    tasks: TaskTracker,
}

impl RelayAgent {
    /// Joins the room, as soon as the relay can be reached and again whenever it was lost, and works
    /// for the person there.
    pub fn begin(parts: AgentParts) -> Self {
        let (engine, end) = (Arc::<OnceLock<_>>::default(), CancellationToken::new());
        let stopping = CancellationToken::new();
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
            is_leaving: false,
            mind: AgentEngine {
                model: parts.model,
                journal: parts.journal,
                models: parts.models,
                clock: parts.clock,
                ids: parts.ids,
                settings: settings(&parts.settings),
                engine: engine.clone(),
            },
        };
        let agent = Self {
            engine: engine.clone(),
            stopping,
            end: end.clone().drop_guard(),
            tasks: TaskTracker::new(),
        };
        agent.tasks.spawn(async move {
            tokio::select! {
                () = end.cancelled() => {}
                () = worker.work() => {}
            }
            if let Some(engine) = engine.get() {
                engine.shutdown(Duration::ZERO).await;
            }
        });
        agent
    }

    /// Hears nothing more from the person, gives a turn that runs `drain` to end, and leaves the room.
    pub async fn shutdown(&self, drain: Duration) {
        self.stopping.cancel();
        if let Some(engine) = self.engine.get() {
            engine.shutdown(drain).await;
        }
        self.tasks.close();
        let ended = tokio::time::timeout(LAST_WORDS, self.tasks.wait()).await;
        if ended.is_err() {
            tracing::warn!("a relay's agent is cut off");
            self.end.token().cancel();
            self.tasks.wait().await;
        }
    }
}

/// What the agent thinks with, once there is something to think about.
struct AgentEngine {
    model: Option<String>,
    journal: Arc<dyn Journal>,
    models: Arc<dyn Models>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    settings: Settings,
    engine: Arc<OnceLock<Arc<Engine>>>,
}

impl AgentEngine {
    async fn wake(&self, toolbox: &Arc<Toolbox>) -> Result<Arc<Engine>, Broken> {
        if let Some(engine) = self.engine.get() {
            return Ok(engine.clone());
        }
        let ports = Ports {
            journal: self.journal.clone(),
            history: Arc::new(Memory::default()),
            models: self.models.clone(),
            toolbox: toolbox.clone(),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            damages: Arc::new(()),
        };
        let engine = Engine::start(ports, self.settings.clone()).await?;
        Ok(self.engine.get_or_init(|| engine).clone())
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
        limits,
        approval: Approval::Auto,
        retention: RETENTION,
        sync_every: SWEEP_EVERY,
        recovery: Recovery::EverySession,
        workspace_note: NOTE.trim().to_owned(),
        ..of_server.clone()
    }
}
