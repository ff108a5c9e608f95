//! The turns that have begun: the ends of their runs, and what is done next.

use samovar_core::error::FaultCode;
use samovar_core::{Accepted, Author, Code, Error, Kind, planted};
use samovar_locale as locale;
use tokio::task::JoinError;

use super::Mailbox;
use super::turns::{EndReason, LiveState};
use crate::log::Draft;
use crate::parts::refusal;
use crate::runner::{FinishedRun, RunEnd};

impl Mailbox {
    /// What follows from the end of a run.
    pub(super) async fn turn_ended(&mut self, ended: Ended) {
        self.take_in_run(ended);
        self.begin_children();
        self.end_due().await;
        self.tell_ends().await;
    }

    /// Takes in how a run ended.
    pub(super) fn take_in_run(&mut self, ended: Ended) {
        // Only a server that stops takes runs away without a word of theirs.
        let (Ok(ended), Some(open)) = (ended, &mut self.open) else {
            return;
        };
        let FinishedRun {
            turn_id,
            unkept,
            how,
        } = *ended;
        let Some(live) = open.live.get_mut(&turn_id) else {
            return;
        };
        if live.is_root() {
            // What it had taken and could not keep waits again.
            open.session.state.give_back();
        }
        live.state = match how {
            RunEnd::Finished => return drop(open.live.take(&turn_id)),
            RunEnd::Parked => LiveState::Parked,
            RunEnd::Left => LiveState::Left,
            RunEnd::Stopped => LiveState::Ending(EndReason::Stopped),
            RunEnd::Broken(_) => LiveState::Ending(EndReason::Fault(FaultCode::StoreFailed)),
            RunEnd::Panicked => {
                tracing::error!(session = %self.id, turn = %turn_id, "a turn panicked");
                LiveState::Ending(EndReason::Fault(FaultCode::Internal))
            }
        };
        // One that only waits has kept all.
        if matches!(live.state, LiveState::Ending(_)) {
            live.unkept = unkept;
        }
    }

    /// Does all that is to be done now: children run that have begun, turns continue that have
    /// something to do again, what interrupts ends the turn that runs, and the next turn begins.
    pub(super) async fn act(&mut self) {
        self.begin_children();
        self.resume_all().await;
        planted!("lost-wakeup", {
            return;
        });
        loop {
            let Some(open) = &self.open else { return };
            let is_free = open.live.root().is_none() && !open.waits_for_room;
            if self.is_interrupted() {
                if self.interrupt().await.is_err() {
                    return;
                }
            } else if !is_free || !self.start_next().await {
                return;
            }
        }
    }

    /// Refuses unless the session has no messages. The mailbox accepts none before the caller
    /// returns, so the answer stays true.
    pub(super) async fn check_empty(&self) -> Result<(), Error> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        let wait = self.parts.settings.read_wait;
        if open.is_free() && self.parts.projector.has_all_of(&self.id, wait).await {
            let row = self.parts.history.session(&self.id).await;
            if row
                .map_err(refusal)?
                .is_none_or(|row| row.message_count == 0)
            {
                return Ok(());
            }
        }
        let why = locale::session::not_empty(&self.id);
        Err(Error::new(Code::SessionConflict, why))
    }

    /// Deletes the session. The deletion is an event, so that a crash in between is finished at the next
    /// start, and a replay brings nothing back (AS-19).
    pub(super) async fn delete(&mut self) -> Result<Accepted, Error> {
        let missing = self.missing();
        let open = self.open.as_ref().ok_or(missing)?;
        // A deletion takes the events away that the audit may lack.
        let projector = &self.parts.projector;
        let recorded = projector.record_before_deletion(&open.session.log).await;
        recorded.map_err(refusal)?;
        // Before the end is kept: a stop in between leaves a session whose files stay as they are.
        let changes = self.parts.toolbox.changes();
        changes.forget_session(&self.id).await;
        let draft = Draft::new(None, Author::User, Kind::SessionClosed);
        let kept = open.session.keep(vec![draft]).await;
        kept.map_err(refusal)?;
        self.last_head = open.session.log.published();
        self.open = None;
        self.parts.damages.removed(&self.id);
        Ok(Accepted::Closed)
    }
}

/// The end of a run.
type Ended = Result<Box<FinishedRun>, JoinError>;
