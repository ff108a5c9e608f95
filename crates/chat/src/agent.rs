//! The chat's own agent: it answers messages in the chat that no open question waits for (CH-9).
//!
//! It runs the ordinary loop in a separate engine, whose journal is in memory and whose history is
//! the chat. That engine starts with the first reason to work, so the agent does nothing before a
//! person or another agent has written something.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use samovar_core::{Broken, ChatMeta, Clock, Code, Error, Ids, Journal, Models, SessionId};
use samovar_engine::{CallWatch, Engine, Ports, Recovery, Settings, Toolbox};
use samovar_locale as locale;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use self::burst::Burst;
use self::history::{ChatHistory, Conversation};
use crate::asking::Asking;
use crate::chat::{Chat, Wake};
use crate::tools::{Name, tools};

mod burst;
mod history;
#[cfg(test)]
mod tests;
mod words;

/// What it is told about the chat, behind what the server says of itself.
const NOTE: &str = include_str!("agent/NOTE.md");
/// How long what a turn has said is still followed; each reader is its own one, and at its heels.
const RETENTION: Duration = Duration::from_mins(1);
/// How often the journal is rid of what nobody needs.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// Messages that may wait in a session; see [`burst::MAX_TURNS`].
const MAX_QUEUE: usize = 4 * burst::MAX_TURNS;
/// How long the last words of a turn may take into the chat when the server stops.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What the chat's own agent works with.
pub struct AgentParts {
    /// The chat, which has [`Wakes::Adaptive`](crate::Wakes).
    pub chat: Chat,
    /// Where its turns are kept, in memory: it is closed with the agent.
    pub journal: Arc<dyn Journal>,
    /// The models.
    pub models: Arc<dyn Models>,
    /// The tools of the server's other agents. The chat's agent has those that a tool closes, and
    /// two more: to speak and to ask.
    pub toolbox: Arc<Toolbox>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn Ids>,
    /// How the engine behaves.
    pub settings: Settings,
}

/// The chat's own agent. It ends with [`AdaptiveAgent::shutdown`], or at once when it is dropped.
pub struct AdaptiveAgent {
    chat: Chat,
    engine: Arc<OnceLock<Arc<Engine>>>,
    stopping: CancellationToken,
    end: DropGuard,
    tasks: TaskTracker,
}

impl AdaptiveAgent {
    /// Waits for the first reason to work: one task, until then.
    ///
    /// # Errors
    /// [`Code::InvalidParams`] when its own tools do not fit into a toolbox.
    pub fn begin(parts: AgentParts) -> Result<Self, Error> {
        let toolbox = Toolbox::over(parts.toolbox.clone());
        toolbox.add_built_in(&tools(&parts.chat, Name::Adaptive))?;
        let (engine, end) = (Arc::default(), CancellationToken::new());
        let agent = Self {
            chat: parts.chat.clone(),
            engine,
            stopping: CancellationToken::new(),
            end: end.clone().drop_guard(),
            tasks: TaskTracker::new(),
        };
        let worker = Worker {
            history: Arc::new(ChatHistory::new(parts.chat.clone())),
            toolbox: Arc::new(toolbox),
            parts,
            engine: agent.engine.clone(),
            stopping: agent.stopping.clone(),
        };
        agent.tasks.spawn(async move {
            tokio::select! {
                () = end.cancelled() => {}
                () = worker.work() => {}
            }
            if let Some(engine) = worker.engine.get() {
                engine.shutdown(Duration::ZERO).await;
            }
        });
        Ok(agent)
    }

    /// Takes no new reason to work, gives a turn that runs `drain` to end, and lets go of everything.
    /// One that waits for the person is not waited for.
    pub async fn shutdown(&self, drain: Duration) {
        self.stopping.cancel();
        self.chat.rest();
        if let Some(engine) = self.engine.get() {
            engine.shutdown(drain).await;
        }
        self.tasks.close();
        let ended = tokio::time::timeout(LAST_WORDS, self.tasks.wait()).await;
        if ended.is_err() {
            tracing::warn!("the chat's agent is cut off");
            self.end.token().cancel();
            self.tasks.wait().await;
        }
    }
}

/// Who does the work.
struct Worker {
    parts: AgentParts,
    history: Arc<ChatHistory>,
    toolbox: Arc<Toolbox>,
    engine: Arc<OnceLock<Arc<Engine>>>,
    stopping: CancellationToken,
}

/// What it works with once it was woken.
struct WokenAgent {
    engine: Arc<Engine>,
    watch: CallWatch,
    asking: Asking,
    /// The newest message of the chat that a model has been told of.
    told: u64,
    /// The default model, and the name that leads to its provider.
    model: Option<(String, String)>,
}

impl Worker {
    /// Works until it is stopped.
    async fn work(&self) {
        let mut awake = None;
        loop {
            let wake = tokio::select! {
                biased;
                () = self.stopping.cancelled() => return,
                wake = self.parts.chat.next_wake() => wake,
            };
            let awake = match &mut awake {
                Some(awake) => awake,
                none => match self.wake_up().await {
                    Ok(awake) => none.insert(awake),
                    Err(broken) => {
                        tracing::error!(%broken, "the chat's agent cannot begin");
                        let why = Error::new(Code::Internal, locale::turn::broken());
                        self.refused(wake.message, &why);
                        continue;
                    }
                },
            };
            // A stop that came before the engine was there did not stop that.
            if self.stopping.is_cancelled() {
                return;
            }
            self.attend(awake, &wake).await;
        }
    }

    async fn wake_up(&self) -> Result<WokenAgent, Broken> {
        let parts = &self.parts;
        let leaves = Ports {
            journal: parts.journal.clone(),
            history: self.history.clone(),
            models: parts.models.clone(),
            toolbox: self.toolbox.clone(),
            clock: parts.clock.clone(),
            ids: parts.ids.clone(),
            damages: Arc::new(()),
        };
        let engine = Engine::start(leaves, settings(&parts.settings)).await?;
        let engine = self.engine.get_or_init(|| engine).clone();
        Ok(WokenAgent {
            watch: engine.watch_calls(),
            asking: Asking::new(parts.chat.clone(), &engine, Name::Adaptive),
            engine,
            told: 0,
            model: None,
        })
    }

    /// Does what it was woken for, in a session that is gone afterwards.
    async fn attend(&self, awake: &mut WokenAgent, wake: &Wake) {
        if wake.message <= awake.told {
            return; // It came a moment late, and was seen among what was said before.
        }
        let Some(message) = self.parts.chat.message(wake.message) else {
            tracing::warn!(wake.message, "the chat has lost what was to wake its agent");
            return;
        };
        let model = match self.model(awake).await {
            Ok(model) => model,
            Err(error) => return self.refused(wake.message, &error),
        };
        let session = SessionId::fresh(self.parts.ids.as_ref());
        self.history.begin(Conversation {
            session: session.clone(),
            model,
            before: message.id,
        });
        match Burst::begin(self, awake, session, &message).await {
            Ok(burst) => burst.run().await,
            Err(error) => self.refused(message.id, &error),
        }
        self.history.end();
    }

    /// The default model, at the provider where it was found first: the chat does not go to another.
    async fn model(&self, awake: &mut WokenAgent) -> Result<String, Error> {
        let name = self.parts.models.default_name().await?;
        if let Some((known, route)) = &awake.model
            && *known == name
        {
            return Ok(route.clone());
        }
        let route = self.parts.models.find(&name).await?.route;
        awake.model = Some((name, route.clone()));
        Ok(route)
    }

    /// Notes that something will not be answered.
    fn refused(&self, message: u64, error: &Error) {
        let note = locale::global_chat::agent_did_not_begin(&error.message);
        self.note(message, &note);
    }

    fn note(&self, message: u64, text: &str) {
        self.parts.chat.note(text, ChatMeta::reply_to(message));
    }
}

/// The server's settings, as far as they fit sessions that last as long as their turns.
fn settings(of_server: &Settings) -> Settings {
    let workspace_note = format!("{}\n\n{NOTE}", of_server.workspace_note);
    Settings {
        max_queue: MAX_QUEUE,
        retention: RETENTION,
        sync_every: SWEEP_EVERY,
        recovery: Recovery::EverySession,
        workspace_note: workspace_note.trim().to_owned(),
        ..of_server.clone()
    }
}
