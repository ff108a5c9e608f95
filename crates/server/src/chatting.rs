//! The chat of an opened data directory: what joins it to the engine.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use samovar_chat::{
    AdaptiveAgent, Bounds, CHAT_AGENT, Chat, ChatParts, Name, Wakes, ask_for_turns,
};
use samovar_config::ChatAgent;
use samovar_core::{ChatMeta, Ids, Toolset};
use samovar_engine::{Engine, Recovery};
use tokio_util::task::TaskTracker;

use crate::clock::{SystemClock, UuidV7};

/// The chat, and what works for it.
pub(crate) struct Chatting {
    pub(crate) chat: Chat,
    /// Who hears what nobody waits for; none where nobody does.
    agent: OnceLock<AdaptiveAgent>,
    wakes: Wakes,
    tasks: TaskTracker,
}

impl Chatting {
    /// A chat that has nothing but its greeting.
    pub(crate) fn open(config: &samovar_config::Chat, recovery: Recovery) -> Self {
        let wakes = wakes(config.agent, recovery);
        let chat = Chat::new(ChatParts {
            clock: Arc::new(SystemClock),
            boot: UuidV7.uuid(),
            bounds: Bounds {
                max_messages: config.max_messages,
                max_bytes: config.max_bytes,
            },
            wakes,
        });
        if let Some(greeting) = &config.greeting
            && let Err(error) = chat.post_agent(CHAT_AGENT, greeting, ChatMeta::default())
        {
            tracing::warn!(%error, "the chat has no greeting");
        }
        Self {
            chat,
            agent: OnceLock::new(),
            wakes,
            tasks: TaskTracker::new(),
        }
    }

    /// The tools through which the agents of sessions reach it.
    pub(crate) fn tools(&self) -> Arc<dyn Toolset> {
        samovar_chat::tools(&self.chat, Name::Path)
    }

    /// Asks what the turns of sessions ask, from those on that an earlier run left, and lets the
    /// chat's own agent listen (CH-9).
    pub(crate) fn begin(&self, engine: &Arc<Engine>) {
        let asking = ask_for_turns(self.chat.clone(), engine.clone(), Name::Path);
        self.tasks.spawn(asking);
        match self.wakes {
            Wakes::Adaptive => {}
            Wakes::Nobody => return,
        }
        match AdaptiveAgent::begin(self.chat.clone(), engine.clone()) {
            Ok(agent) => {
                if self.agent.set(agent).is_err() {
                    tracing::error!("the chat has an agent already");
                }
            }
            Err(error) => tracing::error!(%error, "the chat has no agent"),
        }
    }

    /// Ends the engine and what works for the chat; turns of sessions and of the chat's agent that run
    /// get the same time to end. `first` is done when nothing new is accepted any more.
    pub(crate) async fn end(
        &self,
        engine: &Engine,
        drain: Duration,
        first: impl Future<Output = ()>,
    ) {
        let sessions = Box::pin(async {
            engine.accept_no_more();
            first.await;
            engine.shutdown(drain).await;
        });
        let agent = Box::pin(async {
            if let Some(agent) = self.agent.get() {
                agent.shutdown(drain).await;
            }
        });
        tokio::join!(sessions, agent);
        self.close().await;
    }

    async fn close(&self) {
        self.chat.close();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Which agent the chat wakes. A one-shot command wakes none: the chat's messages are not meant for
/// its folder or approval level.
fn wakes(agent: ChatAgent, recovery: Recovery) -> Wakes {
    match (agent, recovery) {
        (ChatAgent::Adaptive, Recovery::EverySession) => Wakes::Adaptive,
        (ChatAgent::Adaptive, Recovery::UsedSessions | Recovery::NoTurns)
        | (ChatAgent::Nobody, _) => Wakes::Nobody,
    }
}
