//! A session that memory alone has: it begins with what its owner says, and cannot be read again.

use std::collections::VecDeque;
use std::sync::Arc;

use samovar_core::{ContextLimit, Message, Seq, SessionId};
use tokio::task::JoinSet;

use super::children::Newborns;
use super::{Mailbox, OpenSession};
use crate::context::Transcript;
use crate::keep::Session;
use crate::log::{Log, master};
use crate::parts::Parts;
use crate::state::State;

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
            newborns: Newborns::default(),
            late: VecDeque::new(),
            was_stopped: false,
            stop,
        };
        let log = mailbox.new_log(master());
        let Conversation {
            before,
            messages,
            limit,
        } = conversation;
        // What was written before, and after which text from outside, is not known.
        let is_known = before == 0 && messages.is_empty();
        let mut state = State::new(max);
        state.model = model;
        let transcript = Transcript::beginning_with(before, messages, limit, max);
        state.read(transcript, Seq::default());
        let session = Session::new(mailbox.parts.clone(), log.clone(), state);
        if !is_known {
            session.taint.taint();
        }
        session.weigh();
        mailbox.open = Some(OpenSession::new(session));
        (mailbox, log)
    }
}
