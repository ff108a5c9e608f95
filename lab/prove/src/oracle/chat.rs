//! The global chat of each life: one run of ids from 1 on, which everybody hears alike; and the boots
//! by which its lives are told apart.

use std::collections::BTreeMap;

use crate::observed::{Chat, ChatConnection, ChatMessage};
use crate::verdict::Verdict;
use crate::violation::Broken;

/// All that was heard of each life, by the life and the id.
pub(super) struct Logs<'c>(BTreeMap<u64, BTreeMap<u64, &'c ChatMessage>>);

impl<'c> Logs<'c> {
    fn of(chat: &'c Chat) -> Self {
        let mut logs: BTreeMap<u64, BTreeMap<u64, &ChatMessage>> = BTreeMap::new();
        for heard in &chat.heard {
            let log = logs.entry(heard.life).or_default();
            for message in &heard.messages {
                log.entry(message.id).or_insert(message);
            }
        }
        Self(logs)
    }

    /// Each life that was heard of, with its messages by their ids.
    pub(super) fn lives(
        &self,
    ) -> impl Iterator<Item = (u64, &BTreeMap<u64, &'c ChatMessage>)> + Clone {
        self.0.iter().map(|(life, log)| (*life, log))
    }

    /// A life's message of this id.
    pub(super) fn get(&self, life: u64, id: u64) -> Option<&'c ChatMessage> {
        self.0.get(&life)?.get(&id).copied()
    }

    /// Every message, with its life.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, &'c ChatMessage)> {
        let lives = self.0.iter();
        lives.flat_map(|(life, log)| log.values().map(|message| (*life, *message)))
    }

    /// Whether a life may have shown something under this id that nobody has heard.
    pub(super) fn is_open_at(&self, life: u64, id: u64) -> bool {
        let last = self.0.get(&life).and_then(|log| log.keys().next_back());
        last.is_none_or(|last| *last < id)
    }
}

/// Judges the chat of every life for itself.
pub(super) fn judge<'c>(chat: &'c Chat, verdict: &mut Verdict) -> Logs<'c> {
    boots(chat, verdict);
    let logs = Logs::of(chat);
    for heard in &chat.heard {
        in_a_row(heard, verdict);
        alike(heard, &logs, verdict);
    }
    for (life, log) in logs.lives() {
        whole(life, log, verdict);
    }
    logs
}

/// One life has one boot, and another life another.
fn boots(chat: &Chat, verdict: &mut Verdict) {
    for (place, (life, boot)) in chat.boots.iter().enumerate() {
        let earlier = &chat.boots[..place];
        let is_wrong = |(of, known): &&(u64, String)| (of == life) != (known == boot);
        if let Some((of, known)) = earlier.iter().find(is_wrong) {
            let found = format!("{boot:?} behind {known:?} of life {of}");
            verdict.find(Broken::DuplicateId, &chat_of(*life), found);
        }
    }
}

/// A connection shows what stands right behind the id that it was opened behind, and on without a
/// hole.
fn in_a_row(heard: &ChatConnection, verdict: &mut Verdict) {
    let mut last = heard.after;
    for message in &heard.messages {
        let found = format!("{} behind {last}", message.id);
        let place = chat_of(heard.life);
        match message.id {
            id if id == last + 1 => {}
            id if id == last => verdict.find(Broken::Repeat, &place, found),
            id if id < last => verdict.find(Broken::Reorder, &place, found),
            _ => verdict.find(Broken::Gap, &place, found),
        }
        last = message.id;
    }
}

/// What an id shows, it shows to everybody.
fn alike(heard: &ChatConnection, logs: &Logs<'_>, verdict: &mut Verdict) {
    for message in &heard.messages {
        if let Some(first) = logs.get(heard.life, message.id)
            && first != message
        {
            let found = format!("{message:?} / {first:?}");
            verdict.find(Broken::Changed, &chat_of(heard.life), found);
        }
    }
}

/// The ids of a life begin at 1 and leave none out; its times never fall.
fn whole(life: u64, log: &BTreeMap<u64, &ChatMessage>, verdict: &mut Verdict) {
    let missing = (1..).zip(log.keys()).find(|(wanted, id)| wanted != *id);
    if let Some((missing, id)) = missing {
        let found = format!("{missing} before {id}");
        verdict.find(Broken::Gap, &chat_of(life), found);
    }
    let messages: Vec<_> = log.values().collect();
    let falls = messages.windows(2).find(|pair| match pair {
        [before, after] => before.ts > after.ts,
        _ => false,
    });
    if let Some([before, after]) = falls {
        let found = format!("{} before {} of {}", before.ts, after.ts, after.id);
        verdict.find(Broken::Reorder, &chat_of(life), found);
    }
}

/// How the chat of a life is named in what is found.
pub(super) fn chat_of(life: u64) -> String {
    format!("chat of life {life}")
}
