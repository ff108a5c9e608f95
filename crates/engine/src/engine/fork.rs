//! A session is forked: a new one begins with what it has (AS-28).

use samovar_core::message::FORKED_FROM;
use samovar_core::{
    Action, Code, Command, Error, MessageId, Sender, SessionCopy, SessionId, Title,
};
use tokio::sync::oneshot;

use super::{Engine, stopping};
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
}

impl Engine {
    /// Forks a session. The fork is kept whole or not at all; its calls that have no result have an
    /// unknown outcome, and its level is no wider than its sender may set. Asked for again under the
    /// same id, it is the same fork.
    ///
    /// # Errors
    /// `unknown_session`; `invalid_params` for a message that is not there or another agent's,
    /// `session_busy` for one of a turn that is not over, `session_conflict` if the fork exists; or a
    /// store's refusal.
    pub async fn fork(&self, by: Sender, fork: Fork) -> Result<SessionId, Error> {
        let mut copy = self.to_copy(&fork.session, fork.last).await?;
        let from = copy.session.metadata.get(FORKED_FROM).cloned();
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
        match self.submit(command).await {
            Err(refused) if refused.code == Code::SessionConflict => {
                // Asked again, it is the same fork.
                let known = self.session(&into).await?;
                if known.metadata.get(FORKED_FROM) == from.as_ref() {
                    Ok(into)
                } else {
                    Err(refused)
                }
            }
            done => done.map(|_| into),
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
