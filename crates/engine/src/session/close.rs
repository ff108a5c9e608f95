//! Deleting a session.

use samovar_core::{Accepted, Author, Broken, Kind};

use super::{Mailbox, master, refusal};
use crate::log::Draft;
use crate::runner::{Reply, answer};

impl Mailbox {
    /// Stops the turn, then deletes the session. The deletion is an event, so that a crash in
    /// between is finished at the next start, and a replay brings nothing back (AS-19).
    pub(super) async fn close(&mut self, reply: Reply) {
        let Some(open) = &mut self.open else {
            let is_damaged = self.parts.damages.is_damaged(&self.id);
            // A reader that was slower than the deletion may have told of it again.
            self.parts.damages.removed(&self.id);
            let closed = is_damaged.then_some(Accepted::Closed);
            return answer(reply, closed.ok_or_else(|| self.missing()));
        };
        open.closing.push(reply);
        if open.closing.len() > 1 {
            return;
        }
        if open.current.is_some() && self.parts.settings.recovery.runs_turns() {
            self.interrupt().await;
        } else {
            self.finish_close().await;
        }
    }

    pub(super) async fn finish_close(&mut self) {
        let Some(mut open) = self.open.take() else {
            return;
        };
        let closed = Kind::SessionClosed;
        let draft = Draft {
            turn: None,
            agent: master(),
            author: Author::User,
            kind: closed,
        };
        let kept = open.log.append(vec![draft]).await;
        let closing = std::mem::take(&mut open.closing);
        match kept {
            Ok(_) => {
                self.last_head = open.log.published();
                self.parts.projector.mark(&open.log);
                self.parts.damages.removed(&self.id);
                for reply in closing {
                    answer(reply, Ok(Accepted::Closed));
                }
            }
            Err(broken) => {
                self.open = Some(open);
                for reply in closing {
                    answer(reply, Err(refusal(broken.clone())));
                }
                Box::pin(self.go_on()).await;
            }
        }
    }

    /// Gives a deletion up that could not stop the session's turn.
    pub(super) fn give_up_closing(&mut self, broken: &Broken) {
        let closing = self
            .open
            .as_mut()
            .map(|open| std::mem::take(&mut open.closing));
        for reply in closing.unwrap_or_default() {
            answer(reply, Err(refusal(broken.clone())));
        }
    }
}
