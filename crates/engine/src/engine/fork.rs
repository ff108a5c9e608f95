//! A session is forked: a new one begins with what it has (AS-28).

use std::collections::HashSet;
use std::sync::Arc;

use samovar_core::command::Post;
use samovar_core::history::SessionRow;
use samovar_core::message::FORKED_FROM;
use samovar_core::redact;
use samovar_core::{
    Accepted, Action, Code, Command, Error, MessageId, Sender, SessionCopy, SessionId, Title,
};
use serde_json::json;
use tokio::sync::oneshot;

use super::{Engine, stopping};
use crate::copying::{self, WHOLE};
use crate::projector::Claim;
use crate::session::Letter;

/// Which session is forked, and into which.
#[derive(Clone, Debug)]
pub struct Fork {
    /// The session.
    pub session: SessionId,
    /// The last message of the fork; `None` for the last that there is.
    pub last: Option<MessageId>,
    /// The id of the fork; `None` to have one generated.
    pub into: Option<SessionId>,
    /// The title of the fork; `None` for that of the session.
    pub title: Option<Title>,
    /// Whether it keeps what an edit takes back (UI-14).
    pub is_edit: bool,
}

/// What became of a session that was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The session.
    pub session: SessionId,
    /// The number of its messages in the file.
    pub messages: usize,
    /// How many of them have another id here.
    pub renamed: usize,
}

impl Engine {
    /// Forks a session. The fork is kept whole or not at all; its calls that have no result have an
    /// unknown outcome, and its level is no wider than its sender may set. Asked for again under the
    /// same id, it is the same fork.
    ///
    /// # Errors
    /// `unknown_session`; `invalid_params` for a blank id, a message that is not there or another agent's,
    /// `session_busy` for one of a turn that is not over, `session_conflict` if the fork exists; or a
    /// store's refusal.
    pub async fn fork(&self, by: Sender, fork: Fork) -> Result<SessionRow, Error> {
        let is_whole = fork.last.is_none();
        if let Some(into) = &fork.into {
            into.check_new("newSessionId")?;
        }
        // The copies name the blobs of the messages that may be deleted meanwhile.
        let naming = self.parts.blobs.naming().await;
        let copy = self.to_copy(&fork.session, fork.last).await?;
        let now = self.parts.clock.now();
        let mut copy = copying::forked(copy, is_whole, self.parts.ids.as_ref(), now);
        let mark = copy.session.metadata.entry(FORKED_FROM);
        let mark = mark.or_insert_with(|| json!({}));
        if fork.is_edit {
            mark["edit"] = true.into();
        }
        let from = mark.clone();
        copy.session.title = fork.title.or(copy.session.title);
        let server = self.parts.settings.approval;
        let level = copy.session.approval.as_mut();
        if let Some(level) = level.filter(|_| !by.may_widen()) {
            *level = server.max(*level);
        }
        let into = fork
            .into
            .unwrap_or_else(|| SessionId::fresh(self.parts.ids.as_ref()));
        let action = Action::Copy(Box::new(copy));
        let session = into.clone();
        let command = Command {
            by,
            session,
            action,
        };
        let submitted = self.submit(command).await;
        naming.named();
        match submitted {
            Err(refused) if refused.code == Code::SessionConflict => {
                // Asked again, it is the same fork.
                let known = self.session(&into).await?;
                let mark = known.metadata.get(FORKED_FROM);
                let is_same = |field| mark.is_some_and(|mark| mark[field] == from[field]);
                // More may have been said since a whole session was forked.
                let is_same =
                    is_same("sessionId") && is_same(WHOLE) && (is_whole || is_same("messageId"));
                if is_same { Ok(known) } else { Err(refused) }
            }
            // A long one takes a while to be in the history.
            Ok(Accepted::Copied(row)) => Ok(*row),
            Ok(_) => self.session(&into).await,
            Err(refused) => Err(refused),
        }
    }

    /// Sends the session's message of the post's id again: the session is forked first, then the
    /// message's turn and all later ones are taken back, and the new message begins a turn, with one
    /// commit (UI-14). What their tools did remains.
    ///
    /// # Errors
    /// `session_busy` while a turn runs or waits; `invalid_params` if the message begins no turn of the
    /// session's own agent; and as [`Engine::submit`].
    pub async fn rewrite(
        &self,
        by: Sender,
        session: &SessionId,
        post: Post,
    ) -> Result<Accepted, Error> {
        let fork = Fork {
            session: session.clone(),
            last: None,
            into: None,
            title: None,
            is_edit: true,
        };
        let kept = self.fork(by.clone(), fork).await?;
        let command = |session: &SessionId, action| Command {
            by: by.clone(),
            session: session.clone(),
            action,
        };
        let rewritten = self.submit(command(session, Action::Rewrite(post))).await;
        if rewritten.is_err() {
            // Nothing was taken back.
            self.submit(command(&kept.id, Action::Close)).await.ok();
        }
        rewritten
    }

    /// A session and its messages, as a file may have them: without what runs or waits, and without a
    /// key that this server knows.
    ///
    /// # Errors
    /// `unknown_session`, or a store's refusal.
    pub async fn export(&self, session: &SessionId) -> Result<SessionCopy, Error> {
        let mut copy = self.to_copy(session, None).await?;
        for row in &mut copy.messages {
            let message = Arc::make_mut(&mut row.message);
            message.export();
            redact::own().redact_message(message);
        }
        let mut action = Action::Copy(Box::new(copy));
        redact::own().redact_action(&mut action);
        match action {
            Action::Copy(copy) => Ok(*copy),
            _ => Err(stopping()),
        }
    }

    /// Takes in a session of a file, whole or not at all, under its own ids where these are free. It is
    /// text from outside, and has the server's approval level.
    ///
    /// # Errors
    /// A store's refusal.
    pub async fn import(&self, by: Sender, file: SessionCopy) -> Result<Import, Error> {
        // One at a time: each sees which ids those before it have taken.
        let _alone = self.importing.lock().await;
        let into = match self.session(&file.session.id).await {
            Err(unknown) if unknown.code == Code::UnknownSession => file.session.id.clone(),
            _ => SessionId::fresh(self.parts.ids.as_ref()),
        };
        let taken = match self.taken(&file, &into).await {
            Ok(taken) => taken,
            Err(refused) => {
                self.let_go(&file, &into);
                return Err(refused);
            }
        };
        let messages = file.messages.len();
        let ids = file.messages.iter().map(|row| row.message.id.clone());
        let ids: HashSet<_> = ids.collect();
        let now = self.parts.clock.now();
        let copy = copying::imported(file, &taken, self.parts.ids.as_ref(), now);
        let same = copy
            .messages
            .iter()
            .filter(|row| ids.contains(&row.message.id));
        let renamed = messages - same.count();
        let claimed = copy.clone();
        let command = Command {
            by,
            session: into.clone(),
            action: Action::Copy(Box::new(copy)),
        };
        let kept = self.submit(command).await;
        if kept.is_err() {
            self.let_go(&claimed, &into);
        }
        kept.map(|_| Import {
            session: into,
            messages,
            renamed,
        })
    }

    /// The ids in a file that something here has; the others are this session's from now on.
    async fn taken(
        &self,
        file: &SessionCopy,
        into: &SessionId,
    ) -> Result<HashSet<MessageId>, Error> {
        // What was accepted and is not in the history yet has its id claimed.
        self.parts
            .projector
            .took_over(self.parts.settings.read_wait)
            .await;
        let (mut taken, mut seen) = (HashSet::new(), HashSet::new());
        for row in &file.messages {
            let id = &row.message.id;
            if !seen.insert(id) {
                continue;
            }
            let known = self.parts.history.message(id).await;
            let known = known.map_err(|broken| self.refused(broken))?;
            let claims = self.parts.projector.claims();
            if known.is_some() || claims.take(id, into) != Claim::Taken {
                taken.insert(id.clone());
            }
        }
        Ok(taken)
    }

    fn let_go(&self, file: &SessionCopy, into: &SessionId) {
        let claims = self.parts.projector.claims();
        for row in &file.messages {
            claims.give_back(&row.message.id, into);
        }
    }

    async fn to_copy(
        &self,
        session: &SessionId,
        last: Option<MessageId>,
    ) -> Result<SessionCopy, Error> {
        let (reply, copy) = oneshot::channel();
        let letter = Letter::Copy(last.map(Box::new), reply);
        self.bus.send(session, letter)?;
        copy.await.map_err(|_| stopping())?
    }
}
