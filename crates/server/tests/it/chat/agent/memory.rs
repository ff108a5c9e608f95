//! How much it holds, however much it is asked.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use samovar_chat::{AdaptiveAgent, Bounds, Chat, ChatParts, Wakes};
use samovar_core::Millis;
use samovar_doubles::{CountedIds, ScriptedModel, TestClock, say};
use samovar_engine::{Engine, Ports, Settings};

use super::hears;

// proves AS-25, CH-8, CH-9
#[tokio::test]
async fn two_thousand_times_awake_leave_no_more_behind_than_once() {
    let longest = Arc::new(AtomicUsize::new(0));
    let beginnings = Arc::new(Mutex::new(Vec::new()));
    let (held, engine) = (Arc::new(AtomicUsize::new(0)), Arc::new(OnceLock::new()));
    let model = {
        let (longest, beginnings) = (longest.clone(), beginnings.clone());
        let (held, engine) = (held.clone(), engine.clone());
        ScriptedModel::by(move |prompt| {
            let now = engine.get().and_then(Weak::upgrade);
            let now = now.map_or(0, |engine: Arc<Engine>| engine.memory());
            held.fetch_max(now, Ordering::SeqCst);
            longest.fetch_max(prompt.messages.len(), Ordering::SeqCst);
            beginnings.lock().unwrap().push(prompt.messages[0].text());
            // It repeats what it was told last.
            say(&prompt.messages.last().unwrap().text())
        })
    };
    // A second goes by each time that it is asked.
    let clock = Arc::new(TestClock::ticking(Millis(4_000_000_000_000), 1000));
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
    let ports = Ports {
        journal: Arc::new(()),
        history: Arc::new(()),
        blobs: Arc::new(samovar_core::blob::MemoryBlobs::default()),
        models: Arc::new(model),
        toolbox: Arc::default(),
        agents: Arc::new(()),
        clock,
        ids: Arc::new(CountedIds::default()),
        damages: Arc::new(()),
        audit: Arc::new(()),
    };
    let weak = engine;
    let engine = Engine::start(ports, settings).await.unwrap();
    weak.set(Arc::downgrade(&engine)).unwrap();
    let agent = AdaptiveAgent::begin(chat.clone(), engine.clone()).unwrap();
    assert_eq!(engine.memory(), 0);

    for number in 1..=2_000 {
        let text = format!("word {number} of many");
        chat.post_user(&text).await.unwrap();
        hears(&chat, &text).await;
    }
    let held = held.load(Ordering::SeqCst);
    assert!(held > 0, "a session is in memory while it is asked");
    assert!(held < 200_000, "one at a time: {held} bytes");
    assert_eq!(chat.last(1000).messages.len(), 200);
    assert!(longest.load(Ordering::SeqCst) <= most + 1);
    // The window moves a quarter at a time; each time adds two messages to the chat.
    let mut beginnings = beginnings.lock().unwrap().clone();
    assert_eq!(beginnings.len(), 2_000);
    beginnings.dedup();
    assert!(beginnings.len() <= 2_000 * 2 / (most / 4) + 1);

    while engine.memory() > 0 {
        tokio::task::yield_now().await;
    }
    agent.shutdown(std::time::Duration::ZERO).await;
}
