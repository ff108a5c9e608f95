//! The turns that have begun: what comes for them, the ends of their runs, and what is done next.

use samovar_core::error::FaultCode;
use samovar_core::{Accepted, Author, Code, Error, Kind, TurnId, planted};
use samovar_locale as locale;
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::JoinError;

use super::ends::{leaving, not_kept};
use super::turns::{EndReason, LiveState};
use super::{KEPT_INPUTS, Mailbox};
use crate::log::Draft;
use crate::parts::refusal;
use crate::runner::{FinishedRun, Input, RunEnd, answer, refuse_call, refuse_decision};

impl Mailbox {
    /// Passes something on to a turn that runs, or keeps it for one that does not.
    pub(super) async fn forward(&mut self, turn_id: &TurnId, input: Input) {
        let Some(open) = &self.open else {
            return refuse_input(input, &self.missing());
        };
        let Some(live) = open.live.get(turn_id) else {
            return refuse_late(input);
        };
        let (input, error) = match &live.state {
            // The last places are for the ends of its children, each of which is sent but once.
            LiveState::Running(turn, _)
                if turn.capacity() <= KEPT_INPUTS
                    && !matches!(input, Input::Settle(_, _, None)) =>
            {
                (input, Error::new(Code::Busy, locale::turn::busy()))
            }
            LiveState::Running(turn, _) => match turn.try_send(input) {
                Ok(()) => return,
                Err(TrySendError::Closed(input)) => {
                    return Box::pin(self.forward_late(turn_id, input)).await;
                }
                Err(TrySendError::Full(input)) => {
                    (input, Error::new(Code::Busy, locale::turn::busy()))
                }
            },
            LiveState::Parked | LiveState::Cut(..) => {
                return Box::pin(self.wake(turn_id, input)).await;
            }
            LiveState::Ending(_) => (input, not_kept()),
            // The next server continues it, and takes this too.
            LiveState::Left => (input, leaving()),
        };
        refuse_input(input, &error);
    }

    /// Something comes for a turn whose run has just read its last: how that ended is heard first,
    /// since the turn may wait for this very thing.
    async fn forward_late(&mut self, turn: &TurnId, input: Input) {
        while let Some(ended) = self.turns.join_next().await {
            let is_it = ended.as_ref().is_ok_and(|ended| ended.turn_id == *turn);
            self.turn_ended(ended).await;
            if is_it {
                return self.forward(turn, input).await;
            }
        }
        refuse_late(input);
    }

    /// What follows from the end of a run.
    pub(super) async fn turn_ended(&mut self, ended: Ended) {
        let Some((turn_id, leftover)) = self.take_in_run(ended) else {
            return;
        };
        // Only now: what it sent may lead back to it.
        self.begin_children();
        self.end_due().await;
        self.tell_ends().await;
        for input in leftover {
            self.forward(&turn_id, input).await;
        }
    }

    /// Takes in how a run ended; gives what it had not read.
    pub(super) fn take_in_run(&mut self, ended: Ended) -> Option<(TurnId, Vec<Input>)> {
        // Only a server that stops takes runs away without a word of theirs.
        let FinishedRun {
            turn_id,
            leftover,
            unkept,
            how,
        } = *ended.ok()?;
        let open = self.open.as_mut()?;
        let live = open.live.get_mut(&turn_id)?;
        if live.is_root() {
            // What it had taken and could not keep waits again.
            open.session.state.give_back();
        }
        live.unkept = unkept;
        live.state = match how {
            RunEnd::Finished => {
                open.live.take(&turn_id);
                return Some((turn_id, leftover));
            }
            RunEnd::Parked => LiveState::Parked,
            RunEnd::Left => LiveState::Left,
            RunEnd::Stopped => LiveState::Ending(EndReason::Stopped),
            RunEnd::Broken(_) => LiveState::Ending(EndReason::Fault(FaultCode::StoreFailed)),
            RunEnd::Panicked => {
                tracing::error!(session = %self.id, turn = %turn_id, "a turn panicked");
                LiveState::Ending(EndReason::Fault(FaultCode::Internal))
            }
        };
        Some((turn_id, leftover))
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
        let kept = open.session.keep(vec![draft], None).await;
        kept.map_err(refusal)?;
        self.last_head = open.session.log.published();
        self.open = None;
        self.parts.damages.removed(&self.id);
        Ok(Accepted::Closed)
    }
}

/// The end of a run.
type Ended = Result<Box<FinishedRun>, JoinError>;

/// Answers what came for a turn that is not there: nothing is open.
fn refuse_late(input: Input) {
    match input {
        Input::Settle(call, _, reply) => refuse_call(&call, reply),
        Input::Decide(approval, _, reply) => refuse_decision(&approval, reply),
    }
}

fn refuse_input(input: Input, error: &Error) {
    match input {
        Input::Settle(_, _, Some(reply)) | Input::Decide(_, _, reply) => {
            answer(reply, Err(error.clone()));
        }
        // The end of a child is in the log.
        Input::Settle(_, _, None) => {}
    }
}
