//! Accepting what a person says.

use std::fmt::Display;
use std::sync::Arc;

use samovar_core::{
    Accepted, Author, Bounds, Code, Error, Kind, Message, MessageId, Part, Role, Seq, TurnId,
    planted,
};
use samovar_locale as locale;
use serde_json::Map;

use super::{Mailbox, Queued, master, refusal};
use crate::log::Draft;

impl Mailbox {
    /// Keeps a message and its turn with one commit, then lets the turn run or wait (AS-10, AS-11).
    pub(super) async fn post(
        &mut self,
        id: Option<MessageId>,
        text: String,
        bounds: Bounds,
    ) -> Result<Accepted, Error> {
        if let Some(again) = self.known(id.as_ref(), &text).await? {
            return Ok(again);
        }
        let Some(open) = &mut self.open else {
            return Err(self.missing());
        };
        if !open.closing.is_empty() {
            return Err(self.missing());
        }
        // A model that cannot be used is refused before anything is kept (AS-18).
        let model = self.parts.models.resolve(&open.model)?;
        if open.queue.len() >= self.parts.settings.max_queue {
            let why = locale::session::messages_wait(open.queue.len() as u64);
            return Err(Error::new(Code::Busy, why));
        }
        let turn = new_turn(&self.parts);
        let message = Arc::new(self.parts.user_message(id, text));
        let finished = Kind::MessageFinished {
            message: Message::clone(&message),
            bounds,
        };
        let draft = |kind, author| Draft {
            turn: Some(turn.clone()),
            agent: master(),
            author,
            kind,
        };
        let mut drafts = vec![draft(finished, Author::User)];
        let starts = open.current.is_none() && open.queue.is_empty();
        let begun = starts.then(|| self.parts.begin(&model, bounds));
        if let Some((kinds, _)) = &begun {
            drafts.extend(kinds.iter().map(|kind| draft(kind.clone(), Author::System)));
        }
        let kept = open.log.append(drafts).await.map_err(refusal)?;
        self.parts.projector.mark(&open.log);
        let after = kept
            .first()
            .map_or(Seq::default(), |event| Seq(event.seq.0 - 1));
        open.recent.remember(&message, turn.clone(), after);
        let posted = Accepted::Posted {
            message: message.id.clone(),
            turn: turn.clone(),
            after,
        };
        match begun {
            Some((_, state)) => self.spawn(turn, message, state, model),
            None => open.queue.push_back(Queued {
                turn,
                message,
                bounds,
            }),
        }
        Ok(posted)
    }

    /// A message that was accepted before: the same content joins its turn, another is refused
    /// (SA-10).
    async fn known(&self, id: Option<&MessageId>, text: &str) -> Result<Option<Accepted>, Error> {
        let (Some(id), Some(open)) = (id, &self.open) else {
            return Ok(None);
        };
        planted!("forget-duplicate", {
            return Ok(None);
        });
        if let Some(recent) = open.recent.recall(id) {
            if !recent.says(text) {
                return Err(conflict(locale::message::another_content(shown(id))));
            }
            let (turn, after) = (recent.turn.clone(), recent.after);
            return Ok(Some(Accepted::Posted {
                message: id.clone(),
                turn,
                after,
            }));
        }
        let stored = self.parts.history.message(id).await.map_err(refusal)?;
        match stored {
            None => Ok(None),
            Some(row) if row.session != self.id => {
                Err(conflict(locale::message::another_session(shown(id))))
            }
            Some(_) => Err(conflict(locale::message::already_kept(shown(id)))),
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

fn new_turn(parts: &crate::parts::Parts) -> TurnId {
    TurnId::fresh(parts.ids.as_ref())
}

fn conflict(why: String) -> Error {
    Error::new(Code::MessageConflict, why)
}

fn shown(id: &MessageId) -> impl Display {
    locale::quoted(id.as_str())
}
