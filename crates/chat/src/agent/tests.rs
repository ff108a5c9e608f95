use samovar_core::error::FaultCode;
use samovar_core::{Action, ChatMessage, ChatRole, Command, Sender};
use samovar_doubles::{Reply, World, call, fail, say};
use samovar_stores::memory::MemoryJournal;
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

fn agent(world: &World, chat: &Chat) -> AdaptiveAgent {
    let parts = AgentParts {
        chat: chat.clone(),
        journal: Arc::new(MemoryJournal::new()),
        models: Arc::new(world.model.clone()),
        toolbox: Arc::new(Toolbox::default()),
        clock: world.clock.clone(),
        ids: world.ids.clone(),
        settings: Settings::default(),
    };
    AdaptiveAgent::begin(parts).unwrap()
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

// proves CH-9, CH-13
#[tokio::test]
async fn a_turn_that_is_stopped_while_it_asks_leaves_a_note_and_no_question() {
    let offers = json!({"question": "When?", "options": ["Monday", "on Tuesday"]});
    let world = World::answering([call("ask_user", offers), say("Here I am.")]);
    let chat = chat(&world);
    let agent = agent(&world, &chat);
    assert!(agent.engine.get().is_none(), "nothing began yet");
    let asked = chat.post_user("book").await.unwrap();
    let text = "When?\n- Monday\n- on Tuesday";
    let question = sees(&chat, |message| message.text == text).await.id;

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
    let world = World::answering([say("Both."), say("Third.")]);
    let chat = chat(&world);
    let early = chat
        .post_agent("master", "look", ChatMeta::default())
        .unwrap();
    chat.post_user("go").await.unwrap();
    let agent = agent(&world, &chat);
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
    let agent = agent(&world, &chat);
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
    let agent = agent(&world, &chat);
    chat.post_user("go").await.unwrap();
    sees(&chat, |message| message.text == "When?").await;
    let engine = Arc::downgrade(agent.engine.get().unwrap());
    let tasks = agent.tasks.clone();

    drop(agent);

    tasks.close();
    tasks.wait().await;
    assert!(engine.upgrade().is_none());
}
