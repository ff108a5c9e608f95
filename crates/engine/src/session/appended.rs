//! A message that belongs to no turn: a client appends it as it is, and no turn begins (AS-17).

use std::sync::Arc;

use samovar_core::command::Appended;
use samovar_core::history::MessageRow;
use samovar_core::{
    Accepted, Author, CallId, Code, Error, Kind, Message, MessageId, Part, Role, failpoint,
};
use samovar_locale as locale;
use serde_json::json;

use super::Mailbox;
use super::resent::{another_content, another_session};
use crate::keep::tainted;
use crate::log::Draft;
use crate::parts::refusal;

impl Mailbox {
    /// Keeps a message that starts no turn. The same message under the same id is kept once (SA-10).
    pub(super) async fn append(&mut self, appended: Appended) -> Result<Accepted, Error> {
        if self.open.is_none() {
            return Err(self.missing());
        }
        let is_named = appended.message.is_some();
        let mut message = self.message_of(appended);
        let known = match self.find_or_claim(&message.id).await {
            Ok(row) => row.map(|row| self.is_same(row, message.clone())),
            Err(refused) => Some(Err(refused)),
        };
        match known {
            None => {}
            // Clients restart the numbers of their calls in each session, so the id of a call may be taken.
            Some(Err(refused)) if !is_named && refused.code == Code::MessageConflict => {
                message.id = MessageId::fresh(self.parts.ids.as_ref());
            }
            Some(answer) => return answer,
        }
        let id = message.id.clone();
        let kept = match self.check_appended(&mut message) {
            Ok(()) => self.keep_appended(message).await,
            Err(refused) => Err(refused),
        };
        if kept.is_err() {
            self.parts.projector.claims().give_back(&id, &self.id);
        }
        kept
    }

    fn message_of(&self, appended: Appended) -> Message {
        // The result of a call has an id of its own already.
        let of_result = appended.parts.iter().find_map(|part| match part {
            Part::Outcome { call, .. } => Some(call.as_message()),
            _ => None,
        });
        let fresh = || MessageId::fresh(self.parts.ids.as_ref());
        let id = appended.message.or(of_result).unwrap_or_else(fresh);
        let now = self.parts.clock.now();
        let mut message = Message::new(id, appended.role, appended.parts, now);
        message.usage = appended.usage;
        message.appended()
    }

    /// The answer to a message whose id is known.
    fn is_same(&self, row: MessageRow, mut message: Message) -> Result<Accepted, Error> {
        if row.session != self.id {
            return Err(another_session(&message.id));
        }
        name_result(&mut message, |_| row.message.parts.iter().find_map(tool_of));
        if !row.message.is_appended()
            || row.message.role != message.role
            || row.message.parts != message.parts
        {
            return Err(another_content(&message.id));
        }
        let (message, agent) = (row.message, row.agent);
        Ok(Accepted::Appended { message, agent })
    }

    /// Refuses what cannot stand at the end of the conversation: anything while a turn has it, and a
    /// result that no call waits for.
    fn check_appended(&self, message: &mut Message) -> Result<(), Error> {
        let missing = self.missing();
        let open = self.open.as_ref().ok_or(missing)?;
        if !open.live.is_empty() || open.state().next().is_some() {
            let why = locale::session::busy(&self.id);
            return Err(Error::new(Code::SessionBusy, why));
        }
        let state = open.state();
        let asked = state.transcript(None).open_calls();
        let named = |call: &CallId| {
            let call = asked.iter().find(|asked| asked.id == *call)?;
            Some(call.name.clone())
        };
        match name_result(message, named) {
            Some(call) => {
                let why = locale::message::no_call(locale::quoted(call.as_str()));
                let details = json!({"parameter": "message.toolCallId"});
                Err(Error::new(Code::InvalidParams, why).with_details(details))
            }
            None => Ok(()),
        }
    }

    async fn keep_appended(&self, message: Message) -> Result<Accepted, Error> {
        let missing = self.missing();
        let open = self.open.as_ref().ok_or(missing)?;
        let said = Kind::finished(message.clone());
        let mut drafts = vec![Draft::new(None, Author::of(message.role), said)];
        if message.role == Role::Tool && !open.session.taint.is_tainted() {
            drafts.insert(0, Draft::new(None, Author::System, tainted()));
        }
        failpoint!("append.before");
        open.session.keep(drafts).await.map_err(refusal)?;
        failpoint!("append.after");
        if message.role == Role::User {
            open.session.taint.hear(&message.text());
        }
        let message = Arc::new(message);
        let agent = open.session.log.own().clone();
        Ok(Accepted::Appended { message, agent })
    }
}

/// Names the tool whose result a message is. Returns the call if no open call has its id.
fn name_result(message: &mut Message, named: impl Fn(&CallId) -> Option<String>) -> Option<CallId> {
    message.parts.iter_mut().find_map(|part| match part {
        Part::Outcome { call, name, .. } => match named(call) {
            Some(tool) => {
                *name = tool;
                None
            }
            None => Some(call.clone()),
        },
        _ => None,
    })
}

fn tool_of(part: &Part) -> Option<String> {
    match part {
        Part::Outcome { name, .. } => Some(name.clone()),
        _ => None,
    }
}
