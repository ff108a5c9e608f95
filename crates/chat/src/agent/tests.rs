use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use samovar_core::provider::{Answer, ModelKind};
use samovar_core::{
    Action, ChatMessage, ChatRole, Command, Future, Millis, Model, Prompt, Provider, ProviderEvent,
    Sender, Usage,
};
use samovar_stores::memory::MemoryJournal;
use serde_json::json;

use super::*;
use crate::{Bounds, ChatParts, Wakes};

/// A clock that ticks when it is read, ids that count, and a model with prepared answers.
#[derive(Clone, Default)]
struct World {
    ticks: Arc<AtomicU64>,
    answers: Arc<Mutex<VecDeque<Vec<ProviderEvent>>>>,
}

impl World {
    fn answering(answers: impl IntoIterator<Item = Vec<ProviderEvent>>) -> Self {
        let world = Self::default();
        world.answers.lock().unwrap().extend(answers);
        world
    }

    fn chat(&self) -> Chat {
        Chat::new(ChatParts {
            clock: Arc::new(self.clone()),
            boot: "boot".to_owned(),
            bounds: Bounds::default(),
            wakes: Wakes::Adaptive,
        })
    }

    fn agent(&self, chat: &Chat) -> AdaptiveAgent {
        let parts = AgentParts {
            chat: chat.clone(),
            journal: Arc::new(MemoryJournal::new()),
            models: Arc::new(self.clone()),
            toolbox: Arc::new(Toolbox::default()),
            clock: Arc::new(self.clone()),
            ids: Arc::new(self.clone()),
            settings: Settings::default(),
        };
        AdaptiveAgent::begin(parts).unwrap()
    }

    fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }
}

impl Clock for World {
    fn now(&self) -> Millis {
        Millis(4_000_000_000_000 + i64::try_from(self.tick()).unwrap())
    }
}

impl Ids for World {
    fn uuid(&self) -> String {
        format!("id-{}", self.tick())
    }
}

impl Models for World {
    fn resolve(&self, name: &str) -> Result<Model, Error> {
        Ok(Model {
            name: name.to_owned(),
            endpoint_name: name.to_owned(),
            kind: ModelKind::Local,
            provider: Arc::new(self.clone()),
        })
    }

    fn claim(&self, _name: &str) -> Result<(), Error> {
        Ok(())
    }

    fn default_name(&self) -> Future<'_, Result<String, Error>> {
        Box::pin(std::future::ready(Ok("prepared".to_owned())))
    }
}

impl Provider for World {
    fn stream(&self, _prompt: Prompt) -> Answer {
        let answer = self.answers.lock().unwrap().pop_front().unwrap();
        Box::pin(futures_util::stream::iter([answer]))
    }
}

fn whole(reason: &str) -> ProviderEvent {
    ProviderEvent::MessageComplete {
        finish_reason: reason.to_owned(),
        usage: Usage::default(),
    }
}

fn says(text: &str) -> Vec<ProviderEvent> {
    vec![ProviderEvent::TextDelta(text.to_owned()), whole("stop")]
}

fn asks(question: &str) -> Vec<ProviderEvent> {
    let call = ProviderEvent::ToolCallEnd {
        id: "1".to_owned(),
        name: "ask_user".to_owned(),
        args: json!({ "question": question }),
        provider_state: None,
    };
    let start = ProviderEvent::ToolCallStart {
        id: "1".to_owned(),
        name: "ask_user".to_owned(),
    };
    vec![start, call, whole("tool_calls")]
}

async fn sees(chat: &Chat, is_it: impl Fn(&ChatMessage) -> bool) -> Arc<ChatMessage> {
    let mut reader = chat.follow(0);
    loop {
        let page = reader.next().await.unwrap();
        if let Some(message) = page.messages.into_iter().find(|message| is_it(message)) {
            return message;
        }
    }
}

// proves CH-9, CH-13
#[tokio::test]
async fn a_turn_that_is_stopped_while_it_asks_leaves_a_note_and_no_question() {
    let world = World::answering([asks("When?"), says("Here I am.")]);
    let chat = world.chat();
    let agent = world.agent(&chat);
    assert!(agent.engine.get().is_none(), "nothing began yet");
    let asked = chat.post_user("book").await.unwrap();
    let question = sees(&chat, |message| message.text == "When?").await.id;

    let engine = agent.engine.get().unwrap();
    let open = engine.open_calls().await.unwrap().remove(0);
    let cancel = Command {
        by: Sender::Embedder,
        session: open.session,
        action: Action::Cancel { turn: None },
    };
    engine.submit(cancel).await.unwrap();

    let about = |id: u64| {
        move |message: &ChatMessage| {
            message.role == ChatRole::System && message.meta.reply_to == Some(id)
        }
    };
    let note = sees(&chat, about(asked)).await;
    assert!(note.text.contains("was stopped"), "{note:?}");
    sees(&chat, about(question)).await;
    assert_eq!(chat.state().pending_input, None);
    chat.post_user("are you there?").await.unwrap();
    sees(&chat, |message| message.text == "Here I am.").await;
    agent.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_signal_that_comes_late_and_was_seen_already_wakes_nobody_again() {
    let world = World::answering([says("Both."), says("Third.")]);
    let chat = world.chat();
    let early = chat
        .post_agent("master", "look", ChatMeta::default())
        .unwrap();
    chat.post_user("go").await.unwrap();
    let agent = world.agent(&chat);
    sees(&chat, |message| message.text == "Both.").await;

    chat.wake("master", early);
    let asked = chat.post_user("and?").await.unwrap();

    let third = sees(&chat, |message| message.text == "Third.").await;
    assert_eq!(third.meta, ChatMeta::reply_to(asked));
    agent.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn one_that_is_dropped_ends_at_once() {
    let world = World::answering([asks("When?")]);
    let chat = world.chat();
    let agent = world.agent(&chat);
    chat.post_user("go").await.unwrap();
    sees(&chat, |message| message.text == "When?").await;
    let engine = Arc::downgrade(agent.engine.get().unwrap());
    let tasks = agent.tasks.clone();

    drop(agent);

    tasks.close();
    tasks.wait().await;
    assert!(engine.upgrade().is_none());
}
