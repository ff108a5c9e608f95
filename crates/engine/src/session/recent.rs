//! The messages that a session accepted lately, for clients that send one again.

use std::collections::VecDeque;

use samovar_core::{Message, MessageId, Seq, TurnId};
use sha2::{Digest, Sha256};

use crate::queue::Joined;

/// Messages that are remembered, at most.
const MAX_RECENT: usize = 1024;

/// What was accepted lately.
#[derive(Default)]
pub(super) struct Recent {
    posts: VecDeque<Post>,
}

/// A message that was accepted: what joins its turn again.
pub(super) struct Post {
    id: MessageId,
    content: [u8; 32],
    pub(super) turn: TurnId,
    /// The position in front of the message.
    pub(super) after: Seq,
}

impl Recent {
    pub(super) fn remember(&mut self, message: &Message, turn: TurnId, after: Seq) {
        if self.posts.len() == MAX_RECENT {
            self.posts.pop_front();
        }
        let content = digest(&message.text());
        let id = message.id.clone();
        self.posts.push_back(Post {
            id,
            content,
            turn,
            after,
        });
    }

    /// Forgets what began a turn.
    pub(super) fn forget(&mut self, turn: &TurnId) {
        self.posts.retain(|post| post.turn != *turn);
    }

    /// Notes that what began a turn has joined another one.
    pub(super) fn join(&mut self, joined: &Joined) {
        for post in self.posts.iter_mut().filter(|post| post.turn == joined.was) {
            post.turn = joined.now.clone();
            post.after = joined.after;
        }
    }

    pub(super) fn recall(&self, id: &MessageId) -> Option<&Post> {
        self.posts.iter().find(|post| post.id == *id)
    }
}

impl Post {
    pub(super) fn says(&self, text: &str) -> bool {
        self.content == digest(text)
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}
