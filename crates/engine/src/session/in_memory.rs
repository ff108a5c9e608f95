//! A session that memory alone has: it begins with what its owner says, and cannot be read again.

use std::collections::HashMap;
use std::sync::Arc;

use samovar_core::{ContextLimit, Event, Message, Seq, SessionId};
use tokio::task::JoinSet;

use super::children::FromTurns;
use super::{Mailbox, OpenSession};
use crate::context::Transcript;
use crate::keep::Session;
use crate::log::{Log, master};
use crate::parts::Parts;
use crate::projector::read_all;

/// The end of a conversation that an owner has elsewhere.
#[derive(Default)]
pub struct Conversation {
    /// How many messages stand before these.
    pub before: usize,
    /// Messages, oldest first.
    pub messages: Vec<Arc<Message>>,
    /// What is known about the window of the model.
    pub limit: Option<ContextLimit>,
}

impl Mailbox {
    /// A session with a conversation, and its log.
    pub(crate) fn in_memory(
        parts: Arc<Parts>,
        id: SessionId,
        model: String,
        conversation: Conversation,
    ) -> (Self, Log) {
        let (stop, max) = (parts.stop.clone(), parts.settings.max_history_messages);
        let mut mailbox = Self {
            parts,
            id,
            open: None,
            last_head: Seq::default(),
            turns: JoinSet::new(),
            tasks: HashMap::new(),
            from_turns: FromTurns::default(),
            stop,
        };
        let log = mailbox.new_log(master());
        let mut open = OpenSession::new(
            Session::new(mailbox.parts.clone(), log.clone()),
            model,
            None,
        );
        let Conversation {
            before,
            messages,
            limit,
        } = conversation;
        if before > 0 || !messages.is_empty() {
            // What was written before, and after which text from outside, is not known.
            open.session.taint.taint();
        }
        open.transcript = Transcript::beginning_with(before, messages, limit, max);
        open.weigh();
        mailbox.open = Some(open);
        (mailbox, log)
    }

    /// Puts the conversation together again after it was lost with a task that panicked: what it was
    /// when the turn began, and what the log has of that.
    pub(super) async fn rebuild_transcript(&mut self) {
        let Some(open) = &mut self.open else { return };
        let mut transcript = open.as_begun.clone();
        if let Some(root) = open.live.root()
            && let Some(first) = open.session.log.first_of(root)
        {
            let events = read_all(
                &open.session.log,
                Seq(first.0 - 1),
                open.session.log.published(),
            )
            .await;
            // All of an open turn is in memory.
            let events = events.unwrap_or_default();
            let of_turn = |event: &&Arc<Event>| event.turn.as_ref() == Some(root);
            for event in events.iter().filter(of_turn).skip(1) {
                transcript.take(event);
            }
        }
        open.transcript = transcript;
        open.weigh();
    }
}
