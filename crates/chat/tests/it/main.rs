//! The chat as other parts of a program use it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use samovar_chat::{Bounds, Chat, ChatParts, Wakes};
use samovar_core::{ChatMessage, Error};
use samovar_doubles::TestClock;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

mod asked;
mod bounds;
mod questions;
mod said;

/// A chat that keeps so much.
fn bounded(bounds: Bounds) -> (Chat, Arc<TestClock>) {
    let clock = Arc::new(TestClock::default());
    let chat = Chat::new(ChatParts {
        clock: clock.clone(),
        boot: "boot".to_owned(),
        bounds,
        wakes: Wakes::Adaptive,
    });
    (chat, clock)
}

/// A chat as it is by default.
fn chat() -> Chat {
    bounded(Bounds::default()).0
}

/// All that it keeps.
fn all(chat: &Chat) -> Vec<Arc<ChatMessage>> {
    chat.read(0, usize::MAX).messages
}

/// Author and text of all that it keeps.
fn lines(chat: &Chat) -> Vec<(String, String)> {
    let all = all(chat);
    all.iter()
        .map(|message| (message.author.clone(), message.text.clone()))
        .collect()
}

/// Somebody who waits for the user.
fn waits(chat: &Chat, name: &'static str) -> JoinHandle<Result<String, Error>> {
    let chat = chat.clone();
    TaskTracker::new().spawn(async move { chat.wait_user(name).await })
}
