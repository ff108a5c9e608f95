//! A session as a copy: what another one takes over of it, and how a copy begins (AS-28).

use std::collections::HashSet;
use std::sync::Arc;

use samovar_core::history::{MessageRow, Speakers};
use samovar_core::{
    Accepted, AgentPath, Author, Beginner, Code, Error, Kind, MessageId, SessionChange,
    SessionCopy, failpoint,
};
use samovar_locale as locale;
use serde_json::json;

use super::Mailbox;
use crate::log::Draft;
use crate::parts::refusal;
use crate::projection;
use crate::relations;

/// Messages that are read at once.
const PAGE: usize = 1000;

impl Mailbox {
    /// The session and its messages, up to and with the message `last`; else up to its last one.
    /// Turns that run or wait are left out, with those that they called.
    pub(super) async fn to_copy(&self, last: Option<&MessageId>) -> Result<SessionCopy, Error> {
        let open = self.open.as_ref().ok_or_else(|| self.missing())?;
        // Only the history has all messages.
        let wait = self.parts.settings.read_wait;
        if !self.parts.projector.has_all_of(&self.id, wait).await {
            return Err(Error::new(Code::Unavailable, locale::session::not_copied()));
        }
        let session = self.parts.history.session(&self.id).await;
        let session = session.map_err(refusal)?.ok_or_else(|| self.missing())?;
        let mut rows = Vec::new();
        let all = Speakers::All;
        while !self
            .read_before(&mut rows, PAGE, all)
            .await
            .map_err(refusal)?
        {}
        let is_over = |row: &MessageRow| {
            let turn = row.turn.as_ref();
            row.has_begun && turn.is_none_or(|turn| open.session.log.first_of(turn).is_none())
        };
        relations::fill(&mut rows, &[]);
        if let Some(last) = last {
            rows.truncate(self.place_of(last, &rows, is_over)? + 1);
        }
        let mut taken = HashSet::new();
        rows.retain(|row| {
            let parent = row.message.parent.as_ref();
            let is_taken = is_over(row) && parent.is_none_or(|parent| taken.contains(parent));
            is_taken && taken.insert(row.message.id.clone())
        });
        Ok(SessionCopy {
            session,
            messages: rows,
        })
    }

    /// The place of the message that is to be the last of a copy.
    fn place_of(
        &self,
        last: &MessageId,
        rows: &[MessageRow],
        is_over: impl Fn(&MessageRow) -> bool,
    ) -> Result<usize, Error> {
        let found = rows.iter().position(|row| row.message.id == *last);
        let shown = locale::quoted(last.as_str());
        let why = match found {
            None => {
                let details = json!({"parameter": "messageId", "unknown": true});
                let why = locale::session::no_message(&self.id, shown);
                return Err(Error::new(Code::InvalidParams, why).with_details(details));
            }
            Some(at) if rows[at].agent.depth() > 0 => locale::session::message_of_called(shown),
            Some(at) if !is_over(&rows[at]) => {
                let why = locale::session::message_not_over(shown);
                return Err(Error::new(Code::SessionBusy, why));
            }
            Some(at) => return Ok(at),
        };
        let details = json!({"parameter": "messageId"});
        Err(Error::new(Code::InvalidParams, why).with_details(details))
    }

    /// Creates the session as a copy, with one commit. It belongs to the one who copies it.
    pub(super) async fn begin_as(
        &mut self,
        copy: SessionCopy,
        by: Beginner,
    ) -> Result<Accepted, Error> {
        if self.open.is_some() {
            let why = locale::session::exists(&self.id);
            return Err(Error::new(Code::SessionConflict, why));
        }
        let SessionCopy { session, messages } = copy;
        let own = AgentPath::root(&session.agent);
        let opened = Kind::SessionOpened {
            model: session.model,
            route: session.route,
            metadata: session.metadata,
            system_prompt: session.system_prompt,
            approval: session.approval,
            begun_by: Some(by),
        };
        let named = SessionChange {
            title: session.title,
            tainted: session.tainted,
            ..SessionChange::default()
        };
        let counted = SessionChange {
            context: session.context,
            usage: session.usage,
            ..SessionChange::default()
        };
        let changes = [named, counted].into_iter();
        let changes = changes.filter(|change| *change != SessionChange::default());
        let changes = changes.map(Kind::SessionChanged);
        let drafts = std::iter::once(opened).chain(changes);
        let drafts = drafts.map(|kind| Draft::new(None, Author::User, kind));
        let said = messages.into_iter().map(|row| {
            let author = Author::of(row.message.role);
            let said = Kind::finished(Arc::unwrap_or_clone(row.message));
            Draft::new(None, author, said).of(&row.agent)
        });
        let id = self.id.clone();
        failpoint!("copy.before");
        let (open, kept) = self.begin(own, drafts.chain(said).collect()).await?;
        failpoint!("copy.after");
        let row = projection::overlay_session(None, &id, &kept);
        drop(kept);
        let session = &open.session;
        let tools = session.parts.toolbox.shelf();
        session
            .taint
            .recall(open.state().transcript(None), true, &tools);
        let opened = row.map_or(Accepted::Opened, |row| Accepted::Copied(Box::new(row)));
        Ok(opened)
    }
}
