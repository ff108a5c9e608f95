//! What waits until a log is on the disk: nobody hears that a study session has ended before (RL-15).

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use samovar_core::relay::{MessageKind, RelayCode};

use crate::queue::Item;
use crate::room::{Key, Refusal};

/// Messages in their order, each behind the logs that were to be synced before it.
#[derive(Default)]
pub(crate) struct Held {
    waits: VecDeque<Wait>,
    last: u64,
}

/// A log that is to be synced, and what comes behind that.
struct Wait {
    number: u64,
    items: Vec<(Key, Item)>,
    /// Why it could not be synced.
    broken: Option<String>,
    is_done: bool,
}

impl Held {
    /// From now on all messages wait for a log; answers with its number.
    pub(crate) fn wait(&mut self) -> u64 {
        self.last += 1;
        self.waits.push_back(Wait {
            number: self.last,
            items: Vec::new(),
            broken: None,
            is_done: false,
        });
        self.last
    }

    /// Keeps a message back, or gives it back when it need not wait.
    pub(crate) fn keep_back(&mut self, to: Key, item: Item) -> Option<Item> {
        match self.waits.back_mut() {
            Some(wait) => {
                wait.items.push((to, item));
                None
            }
            None => Some(item),
        }
    }

    /// A log is synced, or cannot be: what waits for no other.
    pub(crate) fn done(&mut self, number: u64, synced: &io::Result<()>) -> Vec<(Key, Item)> {
        if let Some(wait) = self.waits.iter_mut().find(|wait| wait.number == number) {
            wait.is_done = true;
            wait.broken = synced.as_ref().err().map(io::Error::to_string);
        }
        let mut released = Vec::new();
        while let Some(wait) = self.waits.pop_front_if(|wait| wait.is_done) {
            let why = wait.broken;
            let honest = |(to, item)| match &why {
                Some(why) => (to, refused(item, why)),
                None => (to, item),
            };
            released.extend(wait.items.into_iter().map(honest));
        }
        released
    }
}

/// In the place of what says that a log is kept, that it is not.
fn refused(item: Item, why: &str) -> Item {
    if item.envelope.kind != MessageKind::SessionEnded {
        return item;
    }
    let why = format!("the study log may not be on the disk: {why}");
    let refusal = Refusal::new(RelayCode::ToolExecutionFailed, why);
    Item {
        envelope: Arc::new(refusal.envelope(item.envelope.reply_to.clone())),
        ..item
    }
}
