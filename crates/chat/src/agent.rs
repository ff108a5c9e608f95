//! The chat's own agent: it answers messages in the chat that no open question waits for (CH-9).
//!
//! It runs the ordinary loop, in sessions in memory of the server's engine that begin with what was
//! said in the chat. The first begins with the first reason to work, so the agent does nothing before
//! a person or another agent has written something.

use std::sync::Arc;
use std::time::Duration;

use samovar_core::{ChatMeta, ContextLimit, Error};
use samovar_engine::{Beginning, Engine, MemorySession, Settings, Toolbox};
use samovar_locale as locale;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use self::burst::Burst;
use crate::chat::{Chat, Wake};
use crate::tools::{Name, tools};

mod burst;
mod conversation;
#[cfg(test)]
mod tests;
mod words;

/// What it is told about the chat, after what the server says of itself.
const NOTE: &str = include_str!("agent/NOTE.md");
/// Messages that may wait in a session; see [`burst::MAX_TURNS`].
const MAX_QUEUE: usize = 4 * burst::MAX_TURNS;
/// How long the last words of a turn may take into the chat when the server stops.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The chat's own agent. It ends with [`AdaptiveAgent::shutdown`], or at once when it is dropped.
pub struct AdaptiveAgent {
    chat: Chat,
    stopping: CancellationToken,
    cut: CancellationToken,
    end: DropGuard,
    tasks: TaskTracker,
}

impl AdaptiveAgent {
    /// Waits for the first reason to work: one task, until then. The chat has
    /// [`Wakes::Adaptive`](crate::Wakes). The agent has those tools of the engine that a tool closes,
    /// and two more: to speak and to ask.
    ///
    /// # Errors
    /// [`Code::InvalidParams`](samovar_core::Code) when its own tools do not fit into a toolbox.
    pub fn begin(chat: Chat, engine: Arc<Engine>) -> Result<Self, Error> {
        let toolbox = Toolbox::over(engine.toolbox().clone());
        toolbox.add_built_in(&tools(&chat, Name::Adaptive))?;
        let (stopping, cut) = (CancellationToken::new(), CancellationToken::new());
        let end = CancellationToken::new();
        let agent = Self {
            chat: chat.clone(),
            stopping: stopping.clone(),
            cut: cut.clone(),
            end: end.clone().drop_guard(),
            tasks: TaskTracker::new(),
        };
        let worker = Worker {
            chat,
            settings: settings(engine.settings()),
            engine,
            toolbox: Arc::new(toolbox),
            stopping,
            cut,
        };
        agent.tasks.spawn(async move {
            tokio::select! {
                () = end.cancelled() => {}
                () = worker.work() => {}
            }
        });
        Ok(agent)
    }

    /// Takes no new reason to work, gives a turn that runs `drain` to end, and lets go of everything.
    /// One that waits for the person is not waited for.
    pub async fn shutdown(&self, drain: Duration) {
        self.stopping.cancel();
        self.chat.rest();
        self.tasks.close();
        if tokio::time::timeout(drain, self.tasks.wait()).await.is_ok() {
            return;
        }
        self.cut.cancel();
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
    chat: Chat,
    engine: Arc<Engine>,
    toolbox: Arc<Toolbox>,
    settings: Settings,
    stopping: CancellationToken,
    /// Cancelled when a turn that still runs is given up.
    cut: CancellationToken,
}

/// What it has learned.
#[derive(Default)]
struct Known {
    /// The newest message of the chat that a model has been told of.
    told: u64,
    /// The default model, and the name that leads to its provider.
    model: Option<(String, String)>,
    /// What the last refused prompt revealed, in whatever session.
    limit: Option<ContextLimit>,
}

impl Worker {
    /// Works until it is stopped.
    async fn work(&self) {
        let mut known = Known::default();
        loop {
            let wake = tokio::select! {
                biased;
                () = self.stopping.cancelled() => return,
                wake = self.chat.next_wake() => wake,
            };
            self.attend(&mut known, &wake).await;
        }
    }

    /// Does what it was woken for, in a session that is gone afterwards.
    async fn attend(&self, known: &mut Known, wake: &Wake) {
        if wake.message <= known.told {
            return; // It came a moment late, and was seen among what was said before.
        }
        let Some(message) = self.chat.message(wake.message) else {
            tracing::warn!(wake.message, "the chat has lost what was to wake its agent");
            return;
        };
        let session = self.begin(known, wake.message).await;
        let burst = match session {
            Ok(session) => Burst::begin(self, known, session, &message).await,
            Err(error) => Err(error),
        };
        match burst {
            Ok(burst) => burst.run().await,
            Err(error) => self.refused(message.id, &error),
        }
    }

    /// A session that has what stands in the chat before a message as its conversation.
    async fn begin(&self, known: &mut Known, message: u64) -> Result<MemorySession, Error> {
        let model = self.model(known).await?;
        let max = self.settings.max_history_messages;
        self.engine.begin_in_memory(Beginning {
            model,
            toolbox: self.toolbox.clone(),
            settings: self.settings.clone(),
            conversation: conversation::before(&self.chat, message, max, known.limit.clone()),
        })
    }

    /// The default model, at the provider where it was found first: the chat does not go to another.
    async fn model(&self, known: &mut Known) -> Result<String, Error> {
        let models = self.engine.models();
        let name = models.default_name().await?;
        if let Some((of, route)) = &known.model
            && *of == name
        {
            return Ok(route.clone());
        }
        let route = models.find(&name).await?.route;
        known.model = Some((name, route.clone()));
        Ok(route)
    }

    /// Notes that something will not be answered.
    fn refused(&self, message: u64, error: &Error) {
        let note = locale::global_chat::agent_did_not_begin(&error.message);
        self.note(message, &note);
    }

    fn note(&self, message: u64, text: &str) {
        self.chat.note(text, ChatMeta::reply_to(message));
    }
}

/// The server's settings, as far as they fit sessions that last as long as their turns.
fn settings(of_server: &Settings) -> Settings {
    let workspace_note = format!("{}\n\n{NOTE}", of_server.workspace_note);
    Settings {
        max_queue: MAX_QUEUE,
        workspace_note: workspace_note.trim().to_owned(),
        ..of_server.clone()
    }
}
