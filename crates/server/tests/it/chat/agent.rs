//! The chat's own agent, in front of a scripted model server.

mod asking;
mod ending;
mod memory;
mod tools;
mod waking;

use std::sync::Arc;

use samovar_chat::{ADAPTIVE_AGENT, CHAT_AGENT, Chat};
use samovar_core::{ChatMessage, ChatRole};
use samovar_testkit::App;
use serde_json::Value;

/// The chat of a server.
fn chat(app: &App) -> Chat {
    app.server().home().chat().clone()
}

/// Waits for a message of the chat.
async fn sees(chat: &Chat, is_it: impl Fn(&ChatMessage) -> bool) -> Arc<ChatMessage> {
    let mut reader = chat.follow(0);
    loop {
        let page = reader.next().await.unwrap();
        if let Some(message) = page.messages.into_iter().find(|message| is_it(message)) {
            return message;
        }
    }
}

/// Waits until the agent says this.
async fn hears(chat: &Chat, text: &str) -> Arc<ChatMessage> {
    let is_it = |message: &ChatMessage| message.author == ADAPTIVE_AGENT && message.text == text;
    let said = sees(chat, is_it).await;
    assert_eq!(said.role, ChatRole::Agent);
    said
}

/// Waits for a note of the chat about a message.
async fn noted(chat: &Chat, about: u64) -> Arc<ChatMessage> {
    let is_it = |message: &ChatMessage| {
        message.role == ChatRole::System && message.meta.reply_to == Some(about)
    };
    let note = sees(chat, is_it).await;
    assert_eq!(note.author, CHAT_AGENT);
    note
}

/// The conversation of a prompt, as role and text. What comes from the user in a row stands as one
/// message there, with an empty line between its parts.
fn said(prompt: &Value) -> Vec<(&str, &str)> {
    let mut said = Vec::new();
    for message in prompt["messages"].as_array().unwrap() {
        let content = message["content"].as_str().unwrap_or_default();
        match message["role"].as_str().unwrap() {
            "system" => {}
            "user" => said.extend(content.split("\n\n").map(|part| ("user", part))),
            role => said.push((role, content)),
        }
    }
    said
}

/// The names of the tools that a prompt offers.
fn offered(prompt: &Value) -> Vec<&str> {
    let tools = prompt["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect()
}
