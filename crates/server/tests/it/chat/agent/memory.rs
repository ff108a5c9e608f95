//! How much it holds, however much it is asked, on a journal that the test can look into.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::stream;
use samovar_chat::{AdaptiveAgent, AgentParts, Bounds, Chat, ChatParts, Wakes};
use samovar_core::provider::{Answer, ModelKind};
use samovar_core::{
    Clock, Error, Future, Ids, Millis, Model, Models, Prompt, Provider, ProviderEvent, Usage,
};
use samovar_engine::{Settings, Toolbox};
use samovar_stores::memory::{Held, MemoryJournal};

use super::hears;

/// The world: a clock, ids, and a model that repeats what it was told last.
#[derive(Default)]
struct World {
    ticks: AtomicU64,
    /// Messages of the longest prompt.
    longest: AtomicU64,
}

#[derive(Clone)]
struct Echo(Arc<World>);

impl Clock for World {
    fn now(&self) -> Millis {
        // A second goes by each time that it is asked.
        let ticks = self.ticks.fetch_add(1, Ordering::SeqCst);
        Millis(4_000_000_000_000 + i64::try_from(ticks).unwrap() * 1000)
    }
}

impl Ids for World {
    fn uuid(&self) -> String {
        format!("id-{}", self.ticks.fetch_add(1, Ordering::SeqCst))
    }
}

impl Models for Echo {
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
        Box::pin(std::future::ready(Ok("echo".to_owned())))
    }
}

impl Provider for Echo {
    fn stream(&self, prompt: Prompt) -> Answer {
        let count = u64::try_from(prompt.messages.len()).unwrap();
        self.0.longest.fetch_max(count, Ordering::SeqCst);
        let told = prompt.messages.last().unwrap().text();
        let complete = ProviderEvent::MessageComplete {
            finish_reason: "stop".to_owned(),
            usage: Usage::default(),
        };
        let words = told.split_inclusive(' ');
        let mut said: Vec<_> = words
            .map(|word| vec![ProviderEvent::TextDelta(word.to_owned())])
            .collect();
        said.push(vec![complete]);
        Box::pin(stream::iter(said))
    }
}

// proves CH-8, CH-9
#[tokio::test]
async fn two_thousand_times_awake_leave_no_more_behind_than_once() {
    let world = Arc::new(World::default());
    let journal = Arc::new(MemoryJournal::new());
    let chat = Chat::new(ChatParts {
        clock: world.clone(),
        boot: "boot".to_owned(),
        bounds: Bounds {
            max_messages: 200,
            max_bytes: 1024 * 1024,
        },
        wakes: Wakes::Adaptive,
    });
    let settings = Settings::default();
    let most = u64::try_from(settings.max_history_messages).unwrap();
    let agent = AdaptiveAgent::begin(AgentParts {
        chat: chat.clone(),
        journal: journal.clone(),
        models: Arc::new(Echo(world.clone())),
        toolbox: Arc::new(Toolbox::default()),
        clock: world.clone(),
        ids: world.clone(),
        settings,
    });
    let agent = agent.unwrap();
    assert_eq!(journal.held(), Held::default());

    let (mut events, mut bytes) = (0, 0);
    for number in 1..=2_000 {
        let text = format!("word {number} of many");
        chat.post_user(&text).await.unwrap();
        hears(&chat, &text).await;
        let held = journal.held();
        events = events.max(held.events);
        bytes = bytes.max(held.bytes);
    }
    assert!(events > 0 && bytes > 0, "it keeps its turns there");
    assert_eq!(chat.last(1000).messages.len(), 200);
    assert!(world.longest.load(Ordering::SeqCst) <= most + 1);

    // What was deleted last goes with the next look of its history.
    while journal.held() != Held::default() {
        tokio::task::yield_now().await;
    }
    agent.shutdown(std::time::Duration::ZERO).await;
}
