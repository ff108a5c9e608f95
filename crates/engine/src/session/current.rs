//! The turn that has begun: what comes for it, its end, and what follows that: the next turn, or the
//! session's deletion.

use samovar_core::error::FaultCode;
use samovar_core::{Accepted, Author, Broken, Code, Error, FinishReason, Kind, TurnId, planted};
use samovar_locale as locale;
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::{Id, JoinError};

use super::load::fault_message;
use super::turns::{Live, LiveState};
use super::{KEPT_INPUTS, Mailbox};
use crate::log::Draft;
use crate::parts::refusal;
use crate::runner::{
    Cancel, CancelTarget, FinishedRun, Input, Reply, RunEnd, answer, refuse_call, refuse_decision,
};
use crate::state::Removal;
use crate::turn::Turn;

impl Mailbox {
    /// Passes something on to a turn that runs, or wakes one that is parked.
    pub(super) async fn forward(&mut self, turn_id: &TurnId, input: Input) {
        let Some(open) = &mut self.open else {
            return refuse_input(input, &self.missing());
        };
        let Some(live) = open.live.get_mut(turn_id) else {
            return refuse_late(input);
        };
        let refused = match &live.state {
            // The last places are for its children and for what stops it: both are sent but once.
            LiveState::Running(turn)
                if turn.capacity() <= KEPT_INPUTS
                    && matches!(input, Input::Settle(_, _, Some(_)) | Input::Decide(..)) =>
            {
                let busy = Error::new(Code::Busy, locale::turn::busy());
                (input, busy)
            }
            LiveState::Running(turn) => match turn.try_send(input) {
                Ok(()) => return,
                Err(TrySendError::Closed(input)) => {
                    return Box::pin(self.forward_late(turn_id, input)).await;
                }
                Err(TrySendError::Full(input)) => {
                    live.is_stop_due |= is_unasked_stop(&input);
                    let busy = Error::new(Code::Busy, locale::turn::busy());
                    (input, busy)
                }
            },
            LiveState::Parked | LiveState::Cut(..) => {
                let input = match input {
                    Input::Cancel(cancel) if !cancel.is_last => {
                        return self.stop_children_first(turn_id.clone(), cancel).await;
                    }
                    input => input,
                };
                if let Some(live) = open.live.take(turn_id) {
                    Box::pin(self.wake(turn_id.clone(), live, input)).await;
                }
                return;
            }
            LiveState::Stuck(_) => {
                let full = Error::new(Code::StoreFull, locale::turn::end_not_kept());
                (input, full)
            }
            // The next server continues it, and takes this too.
            LiveState::Left => {
                let stopping = Error::new(Code::Unavailable, locale::server::stopping());
                (input, stopping)
            }
        };
        refuse_input(refused.0, &refused.1);
    }

    /// Something comes for a turn whose task has just read its last: how that ended is heard first,
    /// since the turn may wait for this very thing.
    async fn forward_late(&mut self, turn: &TurnId, input: Input) {
        let (mut was_stopped, mut is_here) = (false, false);
        while let Some(ended) = self.turns.join_next_with_id().await {
            let of = self.turn_of(&ended);
            let is_it = of.as_ref() == Some(turn);
            was_stopped = is_it && ended.as_ref().is_ok_and(|(_, ended)| ended.was_stopped);
            self.turn_ended(ended).await;
            if is_it {
                is_here = true;
                break;
            }
        }
        match input {
            input if is_here && self.is_live(turn) => self.forward(turn, input).await,
            Input::Cancel(Cancel {
                target: CancelTarget::Running { next },
                reply,
                ..
            }) => self.cancel_late(was_stopped, next, reply).await,
            input => refuse_late(input),
        }
    }

    /// Stops the turn that has followed the one which ran when that was asked for. Who stops twice, or
    /// stops and then says something else, means no turn but the first.
    pub(super) async fn cancel_late(
        &mut self,
        was_stopped: bool,
        next: Option<TurnId>,
        reply: Reply,
    ) {
        if let Some(next) = next.filter(|_| !was_stopped) {
            return self.cancel(Some(next), reply).await;
        }
        let stopped = was_stopped;
        answer(reply, Ok(Accepted::Cancelled { stopped }));
    }

    pub(super) async fn cancel(&mut self, turn: Option<TurnId>, reply: Reply) {
        self.hear_all().await;
        let Some(open) = &mut self.open else {
            return answer(reply, Err(self.missing()));
        };
        let live = match &turn {
            Some(turn) => open.live.get(turn).map(|_| turn.clone()),
            None => open.live.root().cloned(),
        };
        if let Some(live) = live {
            planted!("cancelled-turn-continues", {
                return answer(reply, Ok(Accepted::Cancelled { stopped: true }));
            });
            let next = open.state().next().map(|said| said.turn.clone());
            let target = turn.map_or(CancelTarget::Running { next }, |_| CancelTarget::This);
            let is_last = false;
            let cancel = Cancel {
                target,
                reply,
                is_last,
            };
            return self.forward(&live, Input::Cancel(cancel)).await;
        }
        let nothing = Accepted::Cancelled { stopped: false };
        let Some(turn) = turn else {
            return answer(reply, Ok(nothing));
        };
        // Taken out, it can neither begin nor join the turn that runs.
        let state = open.session.state.clone();
        match state.take_out(&turn) {
            Removal::Out => {}
            Removal::Joining => {
                return answer(reply, Err(Error::new(Code::Busy, locale::turn::joining())));
            }
            Removal::Nothing => return answer(reply, Ok(nothing)),
        }
        let ended = self.end_unstarted(&turn, FinishReason::Cancelled, None);
        let ended = ended.await;
        if ended.is_err() {
            state.put_back();
        }
        let stopped = ended.map(|()| Accepted::Cancelled { stopped: true });
        answer(reply, stopped.map_err(refusal));
    }

    /// Whether a message waits that is to end the turn which has begun.
    pub(super) fn is_interrupted(&self) -> bool {
        let open = self.open.as_ref();
        open.is_some_and(|open| open.live.root().is_some() && open.state().interrupts())
    }

    /// Cancels the session's own turn without a caller waiting: for an interrupting message. A turn
    /// that cannot be stopped now ends in its own time.
    pub(super) async fn interrupt(&mut self) {
        let root = self
            .open
            .as_ref()
            .and_then(|open| open.live.root().cloned());
        if let Some(root) = root {
            self.stop_unasked(root).await;
        }
    }

    /// Cancels a turn without a caller waiting.
    pub(super) async fn stop_unasked(&mut self, turn: TurnId) {
        let cancel = Input::Cancel(Cancel::unasked());
        Box::pin(self.forward(&turn, cancel)).await;
    }

    pub(super) async fn turn_ended(&mut self, ended: Ended) {
        let of = self.turn_of(&ended);
        let ended = match ended {
            Ok((task, ended)) => {
                self.tasks.remove(&task);
                ended
            }
            Err(error) => {
                self.tasks.remove(&error.id());
                tracing::error!(session = %self.id, %error, "a turn panicked");
                if let Some(turn) = of {
                    self.broke_off(&turn).await;
                }
                return;
            }
        };
        let FinishedRun {
            turn_id,
            leftover,
            was_stopped,
            how,
        } = *ended;
        self.take_back_steering(&turn_id);
        let Some(open) = &mut self.open else { return };
        let Some(live) = open.live.get_mut(&turn_id) else {
            return;
        };
        let mut over = None;
        match how {
            RunEnd::Finished => over = open.live.take(&turn_id),
            RunEnd::Parked => live.state = LiveState::Parked,
            RunEnd::Left => live.state = LiveState::Left,
            RunEnd::Broken(_) => live.state = LiveState::Stuck(FaultCode::StoreFailed),
        }
        // Only now: what it sent may lead back to it.
        self.hear_all().await;
        if let Some(live) = over {
            self.is_over(&turn_id, live).await;
        }
        let for_the_next = self.pass_on_late(&turn_id, leftover).await;
        self.unstick().await;
        planted!("lost-wakeup", {
            return;
        });
        self.go_on().await;
        for (next, reply) in for_the_next {
            self.cancel_late(was_stopped, next, reply).await;
        }
    }

    /// Passes on what came too late for a task; gives those that mean the turn which follows.
    async fn pass_on_late(
        &mut self,
        turn_id: &TurnId,
        leftover: Vec<Input>,
    ) -> Vec<(Option<TurnId>, Reply)> {
        // What came too late for the task is for this turn as it is now; but who means whichever runs
        // means the one that follows, if that was there already.
        let mut for_the_next = Vec::new();
        for input in leftover {
            match input {
                input if self.is_live(turn_id) => self.forward(turn_id, input).await,
                Input::Cancel(Cancel {
                    target: CancelTarget::Running { next },
                    reply,
                    ..
                }) => for_the_next.push((next, reply)),
                input => refuse_late(input),
            }
        }
        for_the_next
    }

    /// A turn's task panicked: its end is made from what the log has of it.
    async fn broke_off(&mut self, turn: &TurnId) {
        self.take_back_steering(turn);
        let Some(open) = &mut self.open else { return };
        let Some(live) = open.live.get_mut(turn) else {
            return;
        };
        live.state = LiveState::Stuck(FaultCode::Internal);
        self.hear_all().await;
        self.unstick().await;
    }

    fn turn_of(&self, ended: &Ended) -> Option<TurnId> {
        let task = match ended {
            Ok((task, _)) => *task,
            Err(error) => error.id(),
        };
        self.tasks.get(&task).cloned()
    }

    /// What a turn had taken and could not keep waits again.
    fn take_back_steering(&self, turn: &TurnId) {
        if let Some(open) = &self.open
            && open.live.get(turn).is_some_and(Live::is_root)
        {
            open.session.state.give_back();
        }
    }

    pub(super) fn is_live(&self, turn: &TurnId) -> bool {
        let open = self.open.as_ref();
        open.is_some_and(|open| open.live.get(turn).is_some())
    }

    /// What is to be done when no turn of the session's own agent runs: delete, or start the next one,
    /// which may be interrupted already.
    pub(super) async fn go_on(&mut self) {
        let Some(open) = &self.open else { return };
        match (open.live.root(), open.closing.is_empty()) {
            (None, true) => self.start_next().await,
            (_, false) if open.live.is_empty() => self.finish_close().await,
            (Some(_), _) | (None, false) => {}
        }
        // What interrupts goes before what has parked, or begun, in between.
        if self.is_interrupted() {
            self.interrupt().await;
        }
    }

    /// Keeps the ends of turns whose tasks are gone, made from what the log has of them. Whether the
    /// session is free of such turns.
    pub(super) async fn unstick(&mut self) -> bool {
        let is_stuck = |state: &LiveState| matches!(state, LiveState::Stuck(_));
        while let Some(open) = &self.open {
            let Some(turn_id) = open.live.find(is_stuck).cloned() else {
                return true;
            };
            if let Err(broken) = self.end_stuck(&turn_id).await {
                tracing::error!(session = %self.id, %broken, "a turn's end cannot be kept yet");
                return false;
            }
            let live = self.open.as_mut().and_then(|open| open.live.take(&turn_id));
            if let Some(live) = live {
                Box::pin(self.is_over(&turn_id, live)).await;
            }
            Box::pin(self.go_on()).await;
        }
        true
    }

    /// Keeps the end of a turn whose task is gone, unless the log has it.
    async fn end_stuck(&self, turn_id: &TurnId) -> Result<(), Broken> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        let live = open.live.get(turn_id);
        let Some((agent, LiveState::Stuck(code))) = live.map(|live| (&live.agent, &live.state))
        else {
            return Ok(());
        };
        let is_open = open.state().is_open(turn_id);
        let known = open.state().turn(turn_id).cloned();
        if !is_open {
            return Ok(());
        }
        let (mut turn, last) = match &known {
            Some(known) => (known.turn.clone(), known.last_said()),
            // It could not be begun.
            None => (Turn::new(), None),
        };
        let kinds = turn.failed(*code, fault_message(*code));
        for kind in &kinds {
            turn.apply(kind);
        }
        let result = self.result_of(turn_id, agent, (&turn, last));
        let facts = kinds.into_iter().map(|kind| (Author::System, kind));
        self.record(turn_id, agent, facts, result).await
    }

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
        let live = open.live.ids();
        if live.is_empty() || !self.parts.settings.recovery.runs_turns() {
            return self.finish_close().await;
        }
        for turn in live {
            self.stop_unasked(turn).await;
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

    pub(super) async fn finish_close(&mut self) {
        let Some(mut open) = self.open.take() else {
            return;
        };
        // A deletion takes the events away that the audit may lack.
        let projector = &self.parts.projector;
        let recorded = projector.record_before_deletion(&open.session.log).await;
        let kept = match recorded {
            Ok(()) => {
                // Before the end is kept: a stop in between leaves a session whose files stay as they are.
                let changes = self.parts.toolbox.changes();
                changes.forget_session(&self.id).await;
                let draft = Draft::new(None, Author::User, Kind::SessionClosed);
                open.session.keep(vec![draft], None).await
            }
            Err(broken) => Err(broken),
        };
        let closing = std::mem::take(&mut open.closing);
        match kept {
            Ok(_) => {
                self.last_head = open.session.log.published();
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

/// A task's end, with its id.
type Ended = Result<(Id, Box<FinishedRun>), JoinError>;

/// Answers what came for a turn that is not there: nothing is open, and nothing was stopped.
fn refuse_late(input: Input) {
    match input {
        Input::Settle(call, _, reply) => refuse_call(&call, reply),
        Input::Decide(approval, _, reply) => refuse_decision(&approval, reply),
        Input::Cancel(cancel) => {
            answer(cancel.reply, Ok(Accepted::Cancelled { stopped: false }));
        }
    }
}

fn refuse_input(input: Input, error: &Error) {
    match input {
        Input::Settle(_, _, Some(reply))
        | Input::Decide(_, _, reply)
        | Input::Cancel(Cancel { reply, .. }) => {
            answer(reply, Err(error.clone()));
        }
        // The end of a child is in the log.
        Input::Settle(_, _, None) => {}
    }
}

/// Whether an input stops a turn and no client waits for that.
pub(super) fn is_unasked_stop(input: &Input) -> bool {
    matches!(input, Input::Cancel(cancel) if cancel.reply.is_closed())
}
