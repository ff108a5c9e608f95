use samovar_core::ChatMessage;
use samovar_core::error::FaultCode;
use samovar_doubles::{Reply, World, call, fail, say};
use samovar_engine::Ports;
use serde_json::json;

use super::*;
use crate::{Bounds, ChatParts, Wakes};

fn chat(world: &World) -> Chat {
    Chat::new(ChatParts {
        clock: world.clock.clone(),
        boot: "boot".to_owned(),
        bounds: Bounds::default(),
        wakes: Wakes::Adaptive,
    })
}

async fn agent(world: &World, chat: &Chat) -> AdaptiveAgent {
    let ports = Ports {
        journal: Arc::new(()),
        history: Arc::new(()),
        blobs: Arc::new(samovar_core::blob::MemoryBlobs::default()),
        models: Arc::new(world.model.clone()),
        toolbox: Arc::default(),
        agents: Arc::new(()),
        clock: world.clock.clone(),
        ids: world.ids.clone(),
        damages: Arc::new(()),
        audit: Arc::new(()),
    };
    let engine = Engine::start(ports, Settings::default()).await.unwrap();
    AdaptiveAgent::begin(chat.clone(), engine).unwrap()
}

fn asks(question: &str) -> Reply {
    call("ask_user", json!({ "question": question }))
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

#[tokio::test]
async fn a_signal_that_comes_late_and_was_seen_already_wakes_nobody_again() {
    let world = World::answering([say("Both."), say("Third.")]);
    let chat = chat(&world);
    let early = chat
        .post_agent("master", "look", ChatMeta::default())
        .unwrap();
    chat.post_user("go").await.unwrap();
    let agent = agent(&world, &chat).await;
    sees(&chat, |message| message.text == "Both.").await;

    chat.wake("master", early);
    let asked = chat.post_user("and?").await.unwrap();

    let third = sees(&chat, |message| message.text == "Third.").await;
    assert_eq!(third.meta, ChatMeta::reply_to(asked));
    agent.shutdown(Duration::ZERO).await;
}

// proves AS-15
#[tokio::test]
async fn a_context_limit_that_was_learned_holds_for_later_messages() {
    let full = fail(FaultCode::ContextFull, "too long").context(2_000, 1_000);
    let world = World::answering([full, say("One."), say("Two.")]);
    let chat = chat(&world);
    for _ in 0..8 {
        let long = "much was said ".repeat(100);
        chat.post_agent("master", &long, ChatMeta::default())
            .unwrap();
    }
    let agent = agent(&world, &chat).await;
    for answer in ["One.", "Two."] {
        chat.post_user("go on").await.unwrap();
        sees(&chat, |message| message.text == answer).await;
    }

    let prompts = world.model.prompts();
    let lengths: Vec<_> = prompts.iter().map(|prompt| prompt.messages.len()).collect();
    assert!(lengths[1] < lengths[0], "{lengths:?}");
    assert!(lengths[2] < lengths[0], "{lengths:?}");
    agent.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn one_that_is_dropped_ends_at_once() {
    let world = World::answering([asks("When?")]);
    let chat = chat(&world);
    let agent = agent(&world, &chat).await;
    chat.post_user("go").await.unwrap();
    sees(&chat, |message| message.text == "When?").await;
    let tasks = agent.tasks.clone();

    drop(agent);

    tasks.close();
    tasks.wait().await;
}
