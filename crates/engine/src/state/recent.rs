//! What was accepted lately, so that a message which is sent again joins its turn.

use std::collections::VecDeque;

use samovar_core::command::Post;
use samovar_core::{BlobHash, Image, Message, MessageId, Seq, TurnId};
use sha2::{Digest, Sha256};

/// Messages that are remembered, at most.
const MAX_RECENT: usize = 1024;

/// What was accepted lately.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Recent {
    seen: VecDeque<Known>,
}

/// An accepted message: a copy that is sent again joins its turn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    id: MessageId,
    pub(crate) content: Content,
    pub(crate) turn: TurnId,
    /// The position in front of the message, or of the turn that it joined.
    pub(crate) after: Seq,
}

impl Recent {
    pub(super) fn remember(&mut self, message: &Message, turn: TurnId, after: Seq) {
        if self.seen.len() == MAX_RECENT {
            self.seen.pop_front();
        }
        self.seen.push_back(Known {
            id: message.id.clone(),
            content: Content::of_message(message),
            turn,
            after,
        });
    }

    /// Forgets what began a turn.
    pub(super) fn forget(&mut self, turn: &TurnId) {
        self.seen.retain(|known| known.turn != *turn);
    }

    /// Notes that a message has joined a turn, which begins behind `after`.
    pub(super) fn join(&mut self, message: &Message, turn: &TurnId, after: Seq) {
        let Some(known) = self.seen.iter_mut().find(|known| known.id == message.id) else {
            return self.remember(message, turn.clone(), after);
        };
        known.turn.clone_from(turn);
        known.after = after;
    }

    /// The first that is known otherwise, or not at all, by another one.
    pub(super) fn differs(&self, other: &Self) -> Option<&Known> {
        let mut all = self.seen.iter();
        all.find(|known| other.recall(&known.id) != Some(known))
    }

    /// What is known of a message by its id.
    pub(crate) fn recall(&self, id: &MessageId) -> Option<&Known> {
        self.seen.iter().find(|known| known.id == *id)
    }
}

/// The hash of a message's text and of its images' hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content([u8; 32]);

impl Content {
    pub(crate) fn of_post(post: &Post) -> Self {
        Self::of(post.text.as_str(), post.images.iter().map(Image::hash))
    }

    pub(crate) fn of_message(message: &Message) -> Self {
        Self::of(&message.text(), message.blobs())
    }

    fn of<'a>(text: &str, blobs: impl Iterator<Item = &'a BlobHash>) -> Self {
        let mut hash = Sha256::new();
        hash.update(Sha256::digest(text.as_bytes()));
        for blob in blobs {
            hash.update(blob.as_str());
        }
        Self(hash.finalize().into())
    }
}
