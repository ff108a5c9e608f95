//! The global chat: who hears it, what it begins with, and who waits for the person in it.

use samovar_locale::doctor as text;
use samovar_server::ChatAgent;
use samovar_wire::chat::{BASE_PATH, ChatStateInfo};

use super::Finding;
use crate::client::Client;
use crate::config::Setup;

/// What is set.
pub(super) fn set(found: &Setup) -> Vec<Finding> {
    let chat = &found.config.chat;
    let heard = match chat.agent {
        ChatAgent::Adaptive => text::chat_adaptive(),
        ChatAgent::Nobody => text::chat_nobody(),
    };
    let mut findings = vec![Finding::good("chat", heard.to_owned(), text::chat_why())];
    if let Some(greeting) = &chat.greeting {
        let fact = text::greeting(greeting);
        findings.push(Finding::good("greeting", fact, text::greeting_why()));
    }
    findings
}

/// The question that waits for an answer; none when nobody waits, or the server has gone meanwhile.
pub(super) async fn question(client: &Client) -> Option<Finding> {
    let path = format!("{BASE_PATH}/state");
    let state: ChatStateInfo = client.get(&path).await.ok()?;
    let asks = state.pending_input?.requested_by;
    let fact = match state.waiting {
        0 => text::question_alone(asks),
        behind => text::question(asks, behind),
    };
    let finding = Finding::good("question", fact, text::question_why());
    Some(finding.with_command("samovar chat-global history"))
}
