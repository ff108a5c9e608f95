//! How much it holds, however much it is asked, on a journal that the test can look into.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use samovar_chat::{AdaptiveAgent, AgentParts, Bounds, Chat, ChatParts, Wakes};
use samovar_core::Millis;
use samovar_doubles::{CountedIds, ScriptedModel, TestClock, say};
use samovar_engine::{Settings, Toolbox};
use samovar_stores::memory::{MemoryJournal, MemoryUse};

use super::hears;

// proves AS-25, CH-8, CH-9
#[tokio::test]
async fn two_thousand_times_awake_leave_no_more_behind_than_once() {
    let longest = Arc::new(AtomicUsize::new(0));
    let beginnings = Arc::new(Mutex::new(Vec::new()));
    let model = {
        let (longest, beginnings) = (longest.clone(), beginnings.clone());
        ScriptedModel::by(move |prompt| {
            longest.fetch_max(prompt.messages.len(), Ordering::SeqCst);
            beginnings.lock().unwrap().push(prompt.messages[0].text());
            // It repeats what it was told last.
            say(&prompt.messages.last().unwrap().text())
        })
    };
    // A second goes by each time that it is asked.
    let clock = Arc::new(TestClock::ticking(Millis(4_000_000_000_000), 1000));
    let journal = Arc::new(MemoryJournal::new());
    let chat = Chat::new(ChatParts {
        clock: clock.clone(),
        boot: "boot".to_owned(),
        bounds: Bounds {
            max_messages: 200,
            max_bytes: 1024 * 1024,
        },
        wakes: Wakes::Adaptive,
    });
    let settings = Settings::default();
    let most = settings.max_history_messages;
    let agent = AdaptiveAgent::begin(AgentParts {
        chat: chat.clone(),
        journal: journal.clone(),
        models: Arc::new(model),
        toolbox: Arc::new(Toolbox::default()),
        clock,
        ids: Arc::new(CountedIds::default()),
        settings,
    });
    let agent = agent.unwrap();
    assert_eq!(journal.held(), MemoryUse::default());

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
    assert!(longest.load(Ordering::SeqCst) <= most + 1);
    // The window moves a quarter at a time; each time adds two messages to the chat.
    let mut beginnings = beginnings.lock().unwrap().clone();
    assert_eq!(beginnings.len(), 2_000);
    beginnings.dedup();
    assert!(beginnings.len() <= 2_000 * 2 / (most / 4) + 1);

    // What was deleted last goes with the next look of its history.
    while journal.held() != MemoryUse::default() {
        tokio::task::yield_now().await;
    }
    agent.shutdown(std::time::Duration::ZERO).await;
}
