//! A reader of the chat: it pulls by number, so that it holds no queue, and a slow one costs nobody
//! anything.

use tokio::sync::watch;

use crate::chat::{Chat, Head};
use crate::log::Page;

/// Messages that one pull brings, at most.
const AT_ONCE: usize = 256;
/// Bytes that one pull brings, at most, unless a message alone is longer: what a slow reader holds.
const MAX_BYTES: usize = 256 * 1024;

/// Reads the chat from behind an id, as it comes.
pub struct Reader {
    chat: Chat,
    head: watch::Receiver<Head>,
    after: u64,
}

impl Reader {
    pub(crate) fn new(chat: Chat, head: watch::Receiver<Head>, after: u64) -> Self {
        Self { chat, head, after }
    }

    /// What comes next, waited for: at least one message. None when the chat has ended and all was
    /// read. Safe to drop halfway: the reader moves only when it has something.
    pub async fn next(&mut self) -> Option<Page> {
        let after = self.after;
        let is_there = |head: &Head| head.id > after || head.is_closed;
        self.head.wait_for(is_there).await.ok()?;
        let page = self.chat.read_some(after, AT_ONCE, MAX_BYTES);
        self.after = page.messages.last()?.id;
        Some(page)
    }
}
