//! A reader of the global chat: it hears all of each life, loses its connection, and comes back.

use std::sync::Arc;

use serde_json::Value;

use crate::client::{Address, ChatCursor, Frames, ServerGone, StreamItem};
use crate::dice::Dice;
use crate::observed::{ChatMessage, Frame, Incident};
use crate::stage::Stage;

/// Listens for as long as it is let.
pub(crate) struct Listener {
    pub(crate) stage: Arc<Stage>,
    pub(crate) dice: Dice,
}

impl Listener {
    pub(crate) async fn listen(mut self) {
        // The life that it has heard of, and the last that it has heard of it.
        let (mut life, mut last) = (0, 0);
        loop {
            let at = self.stage.server().await;
            if at.life != life {
                (life, last) = (at.life, 0);
            }
            let after = match self.dice.within(0..=1) {
                0 if last > 0 => ChatCursor::Header(last),
                _ => ChatCursor::Query(last),
            };
            match self.stage.client.listen(&at, &after).await {
                Ok(Ok((frames, boot))) => {
                    self.stage.boots(life, &boot);
                    last = self.follow(&at, frames, last).await;
                }
                Ok(Err(refusal)) if self.stage.is_put_off(&refusal) => {}
                Ok(Err(refusal)) => {
                    let (message, why) = ("/chat/stream".to_owned(), refusal.body);
                    self.stage.note(Incident::Refused { message, why });
                }
                Err(ServerGone) => self.stage.is_over(life).await,
            }
            tokio::time::sleep(self.dice.millis(2..=15)).await;
        }
    }

    /// Hears one connection until it ends or is left, and gives the last id that it has shown.
    async fn follow(&mut self, at: &Address, mut frames: Frames, after: u64) -> u64 {
        let place = self.stage.listens(at.life, after);
        let leaves_at = self.dice.percent(50).then(|| self.dice.within(1..=20));
        let (mut last, mut count) = (after, 0);
        while leaves_at.is_none_or(|most| count < most) {
            let came = tokio::select! {
                biased;
                came = frames.next() => came,
                // What a dead server has sent is heard before.
                () = self.stage.is_over(at.life) => frames.rest().await,
            };
            let message = match came {
                StreamItem::Frame(frame) => message_of(&frame).ok_or_else(|| format!("{frame:?}")),
                StreamItem::Malformed(text) => Err(text),
                StreamItem::Done | StreamItem::Broken => break,
            };
            let message = match message {
                Ok(message) => message,
                Err(text) => {
                    self.stage.note(Incident::Malformed(text));
                    continue;
                }
            };
            (last, count) = (message.id, count + 1);
            self.stage.hears(place, message);
        }
        last
    }
}

/// A message as its frame shows it, which has the same id.
fn message_of(frame: &Frame) -> Option<ChatMessage> {
    let message = message(&serde_json::from_str(&frame.data).ok()?)?;
    let id = frame.id.as_deref()?.parse::<u64>().ok()?;
    Some(message).filter(|message| message.id == id)
}

/// A message as it is spelled; none when it is not.
pub(crate) fn message(value: &Value) -> Option<ChatMessage> {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    let reply_to = &value["meta"]["reply_to"];
    Some(ChatMessage {
        id: value["id"].as_u64()?,
        ts: text("ts")?,
        role: text("role")?,
        author: text("author")?,
        text: text("text")?,
        reply_to: reply_to.as_u64(),
    })
}
