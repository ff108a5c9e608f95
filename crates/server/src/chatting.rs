//! The chat of an opened data directory: what joins it to the engine.

use std::sync::Arc;

use samovar_chat::{Bounds, CHAT_AGENT, Chat, ChatParts, Name, Wakes, ask_for_turns};
use samovar_core::{ChatMeta, Ids, Toolset};
use samovar_engine::Engine;
use tokio_util::task::TaskTracker;

use crate::clock::{SystemClock, UuidV7};
use crate::config::{ChatAgent, ChatConfig};

/// The chat, and what works for it.
pub(crate) struct Chatting {
    pub(crate) chat: Chat,
    tasks: TaskTracker,
}

impl Chatting {
    /// A chat that has nothing but its greeting.
    pub(crate) fn open(config: &ChatConfig) -> Self {
        let chat = Chat::new(ChatParts {
            clock: Arc::new(SystemClock),
            boot: UuidV7.uuid(),
            bounds: Bounds {
                max_messages: config.max_messages,
                max_bytes: config.max_bytes,
            },
            wakes: match config.agent {
                ChatAgent::Adaptive => Wakes::Adaptive,
                ChatAgent::Nobody => Wakes::Nobody,
            },
        });
        if let Some(greeting) = &config.greeting
            && let Err(error) = chat.post_agent(CHAT_AGENT, greeting, ChatMeta::default())
        {
            tracing::warn!(%error, "the chat has no greeting");
        }
        let tasks = TaskTracker::new();
        Self { chat, tasks }
    }

    /// The tools through which the agents of sessions reach it.
    pub(crate) fn tools(&self) -> Arc<dyn Toolset> {
        samovar_chat::tools(&self.chat, Name::Path)
    }

    /// Asks what the turns of sessions ask, from those on that an earlier run left.
    pub(crate) fn begin(&self, engine: &Arc<Engine>) {
        let asking = ask_for_turns(self.chat.clone(), engine.clone(), Name::Path);
        self.tasks.spawn(asking);
    }

    /// Ends what works for it, once the engine has ended.
    pub(crate) async fn close(&self) {
        self.chat.close();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
