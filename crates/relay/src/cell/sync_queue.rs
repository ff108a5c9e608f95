//! Messages held until a log is on the disk: no member learns before that a study session has ended
//! (RL-15).

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;

use samovar_core::relay::{MessageKind, RelayCode};

use crate::queue::Item;
use crate::room::{Key, Refusal};

/// Messages in their order, each behind the logs that were to be synced before it.
#[derive(Default)]
pub(crate) struct SyncQueue {
    waits: VecDeque<Wait>,
    last: u64,
    /// What is kept back for each member, in bytes.
    bytes: HashMap<Key, usize>,
}

/// A log that is to be synced, and what comes behind that.
struct Wait {
    number: u64,
    items: Vec<(Key, Item)>,
    /// Why it could not be synced.
    broken: Option<String>,
    is_done: bool,
}

/// What becomes of a message.
#[derive(Debug)]
pub(crate) enum Admission {
    /// It need not wait.
    Goes(Item),
    /// It waits.
    Waits,
    /// Its member has more to wait for than it may have.
    Overruns,
}

impl SyncQueue {
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

    /// Keeps a message back when it has to wait, and no more than so many bytes of a member's.
    pub(crate) fn keep_back(&mut self, to: Key, item: Item, max_bytes: usize) -> Admission {
        let Some(wait) = self.waits.back_mut() else {
            return Admission::Goes(item);
        };
        let bytes = self.bytes.entry(to).or_default();
        *bytes += item.bytes;
        if *bytes > max_bytes {
            return Admission::Overruns;
        }
        wait.items.push((to, item));
        Admission::Waits
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
        for (to, item) in &released {
            if let Some(bytes) = self.bytes.get_mut(to) {
                *bytes = bytes.saturating_sub(item.bytes);
            }
        }
        if self.waits.is_empty() {
            self.bytes.clear();
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

#[cfg(test)]
mod tests {
    use samovar_core::relay::Envelope;
    use serde_json::Map;

    use super::*;

    fn item(kind: MessageKind) -> Item {
        Item {
            envelope: Arc::new(Envelope::new(kind, Map::new()).replying_to(Some("q".to_owned()))),
            bytes: 1,
            logged: None,
        }
    }

    fn kinds(released: &[(Key, Item)]) -> Vec<(Key, MessageKind)> {
        let kind = |(to, item): &(Key, Item)| (*to, item.envelope.kind);
        released.iter().map(kind).collect()
    }

    // proves RL-15
    #[test]
    fn what_comes_behind_the_end_of_a_study_waits_until_that_is_on_the_disk() {
        use MessageKind::{SessionEnded, StateUpdated, UserMessage};

        let mut sync_queue = SyncQueue::default();
        let goes = |fate: &Admission| matches!(fate, Admission::Goes(_));
        assert!(
            goes(&sync_queue.keep_back(1, item(StateUpdated), 9)),
            "nothing to wait for"
        );
        let first = sync_queue.wait();
        assert!(!goes(&sync_queue.keep_back(1, item(SessionEnded), 9)));
        assert!(!goes(&sync_queue.keep_back(2, item(UserMessage), 9)));
        let second = sync_queue.wait();
        assert!(!goes(&sync_queue.keep_back(3, item(SessionEnded), 9)));
        assert!(
            sync_queue.done(second, &Ok(())).is_empty(),
            "the first is not there yet"
        );
        let released = sync_queue.done(first, &Ok(()));
        let wanted = [(1, SessionEnded), (2, UserMessage), (3, SessionEnded)];
        assert_eq!(kinds(&released), wanted);
        assert!(goes(&sync_queue.keep_back(1, item(StateUpdated), 9)));
    }

    #[test]
    fn an_end_that_may_not_be_on_the_disk_is_an_error() {
        let mut sync_queue = SyncQueue::default();
        let number = sync_queue.wait();
        sync_queue.keep_back(1, item(MessageKind::SessionEnded), 9);
        sync_queue.keep_back(2, item(MessageKind::UserMessage), 9);
        let released = sync_queue.done(number, &Err(io::Error::other("no disk")));
        assert_eq!(
            kinds(&released),
            [(1, MessageKind::Error), (2, MessageKind::UserMessage)]
        );
        let error = &released[0].1.envelope;
        assert_eq!(error.reply_to.as_deref(), Some("q"));
        assert_eq!(
            error.payload["code"],
            RelayCode::ToolExecutionFailed.as_str()
        );
    }

    #[test]
    fn what_waits_for_a_member_is_bounded() {
        let mut sync_queue = SyncQueue::default();
        let number = sync_queue.wait();
        let fates =
            [1, 1, 2, 1].map(|to| sync_queue.keep_back(to, item(MessageKind::UserMessage), 2));
        assert!(matches!(
            fates,
            [
                Admission::Waits,
                Admission::Waits,
                Admission::Waits,
                Admission::Overruns
            ]
        ));
        assert_eq!(sync_queue.done(number, &Ok(())).len(), 3);
    }
}
