//! Accepting what a person says.

use std::sync::Arc;

use samovar_core::{
    Accepted, Author, Bounds, Code, Delivery, Entry, Error, Kind, Message, MessageId, Part, Role,
    Seq, TurnId,
};
use samovar_locale as locale;
use serde_json::Map;

use super::{Mailbox, OpenSession, master, refusal};
use crate::log::Draft;
use crate::queue::Queued;

/// What is said.
pub(super) struct Post {
    /// The client's id for it; none lets the server make one.
    pub(super) id: Option<MessageId>,
    pub(super) text: String,
    pub(super) bounds: Bounds,
    pub(super) delivery: Delivery,
}

impl Mailbox {
    /// Keeps a message and its turn with one commit, then lets the turn run or wait (AS-10, AS-11).
    /// One that was kept before joins its turn.
    pub(super) async fn post(&mut self, post: Post) -> Result<Accepted, Error> {
        let Some(id) = post.id.clone() else {
            return self.accept(post).await;
        };
        if let Some(again) = self.known(&id, &post.text).await? {
            return Ok(again);
        }
        let accepted = self.accept(post).await;
        if accepted.is_err() {
            self.parts.projector.claims().give_back(&id, &self.id);
        }
        accepted
    }

    async fn accept(&mut self, post: Post) -> Result<Accepted, Error> {
        let missing = self.missing();
        let max_queue = self.parts.settings.max_queue;
        let open = self.open.as_mut().filter(|open| open.closing.is_empty());
        let open = open.ok_or(missing)?;
        // A model that cannot be used is refused before anything is kept (AS-18).
        let model = self.parts.models.resolve(&open.model)?;
        open.check(post.delivery, max_queue)?;
        let turn = TurnId::fresh(self.parts.ids.as_ref());
        let message = Arc::new(self.parts.user_message(post.id, post.text));
        let (bounds, entry) = (post.bounds, open.entry(post.delivery));
        let finished = Kind::MessageFinished {
            message: Message::clone(&message),
            bounds,
            entry,
        };
        let draft = |kind, author| Draft {
            turn: Some(turn.clone()),
            agent: master(),
            author,
            kind,
        };
        let mut drafts = vec![draft(finished, Author::User)];
        let begun = open.is_free().then(|| self.parts.begin(&model, bounds));
        if let Some((kinds, _)) = &begun {
            drafts.extend(kinds.iter().map(|kind| draft(kind.clone(), Author::System)));
        }
        let kept = open.log.append(drafts).await.map_err(refusal)?;
        self.parts.projector.mark(&open.log);
        open.note_joined();
        let after = kept
            .first()
            .map_or(Seq::default(), |event| Seq(event.seq.0 - 1));
        open.recent.remember(&message, turn.clone(), after);
        let posted = Accepted::Posted {
            message: message.id.clone(),
            turn: turn.clone(),
            after,
        };
        if let Some((_, state)) = begun {
            self.spawn(turn, message, state, model);
        } else {
            open.queue.push(Queued {
                turn,
                message,
                bounds,
                entry,
            });
            if entry == Entry::Interrupts {
                self.interrupt().await;
            }
        }
        Ok(posted)
    }
}

impl OpenSession {
    /// Whether a message begins its turn at once.
    fn is_free(&self) -> bool {
        self.current.is_none() && self.queue.is_empty()
    }

    fn check(&self, delivery: Delivery, max_queue: usize) -> Result<(), Error> {
        if delivery == Delivery::Reject && !self.is_free() {
            let why = locale::session::busy(self.log.session());
            return Err(Error::new(Code::SessionBusy, why));
        }
        let waiting = self.queue.len();
        if waiting >= max_queue {
            let why = locale::session::messages_wait(waiting as u64);
            return Err(Error::new(Code::Busy, why));
        }
        Ok(())
    }

    /// How a message comes into the conversation. Without a turn that has begun there is none to join
    /// or to end.
    fn entry(&self, delivery: Delivery) -> Entry {
        match delivery {
            Delivery::Steer if self.current.is_some() => Entry::Steers,
            Delivery::Interrupt if self.current.is_some() => Entry::Interrupts,
            Delivery::Queue | Delivery::Reject | Delivery::Steer | Delivery::Interrupt => {
                Entry::Own
            }
        }
    }
}

impl crate::parts::Parts {
    fn user_message(&self, id: Option<MessageId>, text: String) -> Message {
        let fresh = || MessageId::fresh(self.ids.as_ref());
        Message {
            id: id.unwrap_or_else(fresh),
            role: Role::User,
            parts: vec![Part::Text { text }],
            parent: None,
            usage: None,
            model: None,
            finish_reason: None,
            metadata: Map::new(),
            created_at: self.clock.now(),
        }
    }
}
