//! What a reader of the chat gets next, however it is spelled: messages without a hole, or the word
//! that there is one.

use std::collections::VecDeque;
use std::sync::Arc;

use samovar_chat::{Chat, Page, Reader};
use samovar_core::ChatMessage;
use samovar_engine::FollowError;
use samovar_wire::chat::{Item, Marker, NEWEST, Restarted, Truncated};

use crate::stream::{Source, Unread};

/// Bytes of text that come at once, about: what a client that takes nothing holds up.
const CHUNK_BYTES: usize = 64 * 1024;

/// What one reader gets, from where it begins.
pub(super) struct Feed {
    reader: Reader,
    /// The last message that it has, or need not have.
    after: u64,
    /// What it is told before anything else.
    first: Option<Marker>,
    /// What was read and has not come yet.
    left: VecDeque<Arc<ChatMessage>>,
}

impl Feed {
    /// What is behind a message.
    pub(super) fn behind(chat: &Chat, after: u64) -> Self {
        let reader = chat.follow(after);
        Self {
            reader,
            after,
            first: None,
            left: VecDeque::new(),
        }
    }

    /// The newest messages, and what comes.
    pub(super) fn newest(chat: &Chat) -> Self {
        let page = chat.last(NEWEST as usize);
        let oldest = page.messages.first();
        // It reads by number from here on, so nothing that is said meanwhile is lost.
        Self::behind(chat, oldest.map_or(page.head, |message| message.id - 1))
    }

    /// The same for a reader whose place is one of an earlier run.
    pub(super) fn anew(chat: &Chat) -> Self {
        let boot_id = chat.boot().to_owned();
        Self {
            first: Some(Marker::Restarted(Restarted { boot_id })),
            ..Self::newest(chat)
        }
    }

    /// What comes next, at least one, waited for; none when the chat ends. Safe to drop halfway.
    pub(super) async fn next(&mut self) -> Option<Vec<Item>> {
        if let Some(marker) = self.first.take() {
            return Some(vec![Item::Marker(marker)]);
        }
        let mut items = Vec::new();
        if self.left.is_empty() {
            let Page {
                messages,
                first,
                is_truncated,
                ..
            } = self.reader.next().await?;
            let after = std::mem::replace(&mut self.after, messages.last()?.id);
            let gone = Marker::Truncated(Truncated { after, first });
            items.extend(is_truncated.then_some(Item::Marker(gone)));
            self.left = messages.into();
        }
        let mut bytes = 0;
        while bytes < CHUNK_BYTES
            && let Some(message) = self.left.pop_front()
        {
            bytes += message.text.len();
            items.push(Item::Message(message));
        }
        Some(items)
    }
}

impl Source for Feed {
    type Item = Item;

    async fn next(&mut self) -> Result<Vec<Item>, Unread> {
        let ended = Unread::Lost(FollowError::Stopping);
        Self::next(self).await.ok_or(ended)
    }
}
