//! The turn that has begun: what comes for it, its end, and what follows that: the next turn, or the
//! session's deletion.

use samovar_core::error::FaultCode;
use samovar_core::{
    Accepted, Author, Broken, Code, Error, FinishReason, Kind, Seq, TurnId, planted,
};
use samovar_locale as locale;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;
use tokio::task::JoinError;

use super::load::fault_message;
use super::{Current, CurrentState, Mailbox};
use crate::log::Draft;
use crate::parts::refusal;
use crate::projector::read_all;
use crate::queue::Removal;
use crate::runner::{CancelTarget, FinishedRun, Input, Reply, RunEnd, answer, not_open};
use crate::turn::Turn;

impl Mailbox {
    /// Passes something on to the turn that runs, or wakes the one that is parked.
    pub(super) async fn forward(&mut self, input: Input) {
        let Some(open) = &mut self.open else {
            return refuse_input(input, &self.missing());
        };
        match open.current.take() {
            None => refuse_late(input),
            Some(Current {
                turn_id,
                state: CurrentState::Running(turn),
            }) => {
                // The last place is for who stops the turn: an interruption is sent but once.
                let has_room = turn.capacity() > 1 || matches!(input, Input::Cancel(..));
                let sent = if has_room {
                    turn.try_send(input)
                } else {
                    Err(TrySendError::Full(input))
                };
                let current = turn_id.clone();
                open.current = Some(Current {
                    turn_id,
                    state: CurrentState::Running(turn),
                });
                match sent {
                    Ok(()) => {}
                    Err(TrySendError::Closed(input)) => {
                        Box::pin(self.forward_late(&current, input)).await;
                    }
                    Err(TrySendError::Full(input)) => {
                        let busy = Error::new(Code::Busy, locale::turn::busy());
                        refuse_input(input, &busy);
                    }
                }
            }
            Some(Current {
                turn_id,
                state: CurrentState::Parked(turn),
            }) => {
                self.wake(turn_id, turn, input, None).await;
            }
            Some(Current {
                turn_id,
                state: CurrentState::Cut(turn, goes),
            }) => {
                self.wake(turn_id, turn, input, Some(goes)).await;
            }
            Some(Current {
                turn_id,
                state: state @ CurrentState::Stuck(_),
            }) => {
                open.current = Some(Current { turn_id, state });
                let full = Error::new(Code::StoreFull, locale::turn::end_not_kept());
                refuse_input(input, &full);
            }
            // The next server goes on with it, and takes this too.
            Some(Current {
                turn_id,
                state: CurrentState::Left,
            }) => {
                let state = CurrentState::Left;
                open.current = Some(Current { turn_id, state });
                let stopping = Error::new(Code::Unavailable, locale::server::stopping());
                refuse_input(input, &stopping);
            }
        }
    }

    /// Something comes for a turn whose task has just read its last: how that ended is heard first,
    /// since the turn may wait for this very thing.
    async fn forward_late(&mut self, turn: &TurnId, input: Input) {
        let mut was_stopped = false;
        if let Some(ended) = self.turns.join_next().await {
            was_stopped = ended.as_ref().is_ok_and(|ended| ended.was_stopped);
            self.turn_ended(ended).await;
        }
        match input {
            input if self.is_current(turn) => self.forward(input).await,
            Input::Cancel(CancelTarget::Running { next }, reply) => {
                self.cancel_late(was_stopped, next, reply).await;
            }
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
        let Some(open) = &mut self.open else {
            return answer(reply, Err(self.missing()));
        };
        let current = open.current.as_ref().map(|current| &current.turn_id);
        let is_current = turn.as_ref().is_none_or(|turn| current == Some(turn));
        if is_current && current.is_some() {
            planted!("cancelled-turn-continues", {
                return answer(reply, Ok(Accepted::Cancelled { stopped: true }));
            });
            let next = open.queue.next();
            let whom = turn.map_or(CancelTarget::Running { next }, |_| CancelTarget::This);
            return self.forward(Input::Cancel(whom, reply)).await;
        }
        // Taken out, it can neither begin nor join the turn that runs.
        let taken = turn.map_or(Removal::Nothing, |turn| open.queue.take(&turn));
        let (at, queued) = match taken {
            Removal::Out(at, queued) => (at, queued),
            Removal::Joining => {
                return answer(reply, Err(Error::new(Code::Busy, locale::turn::joining())));
            }
            Removal::Nothing => {
                return answer(reply, Ok(Accepted::Cancelled { stopped: false }));
            }
        };
        let ended = self
            .end_unstarted(&queued.turn, FinishReason::Cancelled, None)
            .await;
        // It waits on until its end is kept, or it would be lost until the next start.
        if ended.is_err()
            && let Some(open) = &mut self.open
        {
            open.queue.put_back(at, queued);
        }
        let stopped = ended.map(|()| Accepted::Cancelled { stopped: true });
        answer(reply, stopped.map_err(refusal));
    }

    /// Whether a message waits that is to end the turn which has begun.
    pub(super) fn is_interrupted(&self) -> bool {
        let open = self.open.as_ref();
        open.is_some_and(|open| open.current.is_some() && open.queue.interrupts())
    }

    /// Cancels the current turn without a caller waiting: for an interrupting message or a session
    /// delete. A turn that cannot be stopped now ends in its own time.
    pub(super) async fn interrupt(&mut self) {
        let (told, _) = oneshot::channel();
        self.forward(Input::Cancel(CancelTarget::This, told)).await;
    }

    pub(super) async fn turn_ended(&mut self, ended: Result<FinishedRun, JoinError>) {
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => {
                tracing::error!(session = %self.id, %error, "a turn panicked");
                self.take_back_steering();
                self.set_stuck(FaultCode::Internal);
                // Before anything may start that shows it to a model.
                self.restore_transcript().await;
                self.unstick().await;
                return;
            }
        };
        self.take_back_steering();
        let Some(open) = &mut self.open else { return };
        open.transcript = ended.transcript;
        open.transcript
            .forget_limit(std::mem::take(&mut open.model_at));
        match ended.how {
            RunEnd::Finished => open.current = None,
            RunEnd::Parked => {
                let (turn_id, state) = (
                    ended.turn_id.clone(),
                    CurrentState::Parked(Box::new(ended.turn)),
                );
                open.current = Some(Current { turn_id, state });
            }
            RunEnd::Left => {
                let (turn_id, state) = (ended.turn_id.clone(), CurrentState::Left);
                open.current = Some(Current { turn_id, state });
            }
            RunEnd::Broken(_) => self.set_stuck(FaultCode::StoreFailed),
        }
        if let Some(open) = &self.open {
            open.weigh();
        }
        // What came too late for the task is for this turn as it is now; but who means whichever runs
        // means the one that follows, if that was there already.
        let mut for_the_next = Vec::new();
        for input in ended.leftover {
            match input {
                input if self.is_current(&ended.turn_id) => self.forward(input).await,
                Input::Cancel(CancelTarget::Running { next }, reply) => {
                    for_the_next.push((next, reply));
                }
                input => refuse_late(input),
            }
        }
        self.unstick().await;
        planted!("lost-wakeup", {
            return;
        });
        self.go_on().await;
        for (next, reply) in for_the_next {
            self.cancel_late(ended.was_stopped, next, reply).await;
        }
    }

    /// What a turn had taken and could not keep waits again.
    fn take_back_steering(&self) {
        if let Some(open) = &self.open {
            open.queue.give_back();
        }
    }

    pub(super) fn is_current(&self, turn: &TurnId) -> bool {
        let current = self.open.as_ref().and_then(|open| open.current.as_ref());
        current.is_some_and(|current| current.turn_id == *turn)
    }

    /// A turn's task is gone without an end, which is made from what the log has of the turn.
    fn set_stuck(&mut self, code: FaultCode) {
        if let Some(current) = self.open.as_mut().and_then(|open| open.current.as_mut()) {
            current.state = CurrentState::Stuck(code);
        }
    }

    /// What is to be done when no turn runs: delete, or start the next one, which may be interrupted
    /// already.
    pub(super) async fn go_on(&mut self) {
        let Some(open) = &self.open else { return };
        match (&open.current, open.closing.is_empty()) {
            (Some(_), _) => {}
            (None, true) => self.start_next().await,
            (None, false) => self.finish_close().await,
        }
        // What interrupts goes before what has parked, or begun, in between.
        if self.is_interrupted() {
            self.interrupt().await;
        }
    }

    /// Keeps the end of a turn whose task is gone, made from what the log has of it. Whether the
    /// session is free of such a turn.
    pub(super) async fn unstick(&mut self) -> bool {
        let Some(open) = &self.open else { return true };
        let Some(Current {
            turn_id,
            state: CurrentState::Stuck(code),
        }) = &open.current
        else {
            return true;
        };
        let (turn_id, code) = (turn_id.clone(), *code);
        if let Err(broken) = self.end_from_log(&turn_id, code).await {
            tracing::error!(session = %self.id, %broken, "a turn's end cannot be kept yet");
            return false;
        }
        if let Some(open) = &mut self.open {
            open.current = None;
        }
        Box::pin(self.go_on()).await;
        true
    }

    async fn end_from_log(&mut self, turn_id: &TurnId, code: FaultCode) -> Result<(), Broken> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        let Some(first) = open.log.first_of(turn_id) else {
            return Ok(());
        };
        let events = read_all(&open.log, Seq(first.0 - 1), open.log.published()).await?;
        let mut turn = Turn::new();
        for event in events
            .iter()
            .filter(|event| event.turn.as_ref() == Some(turn_id))
        {
            turn.apply(&event.kind);
        }
        let kinds = turn.failed(code, fault_message(code));
        self.record(turn_id, kinds).await
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
        if open.current.is_some() && self.parts.settings.recovery.runs_turns() {
            self.interrupt().await;
        } else {
            self.finish_close().await;
        }
    }

    /// Refuses unless the session has no messages. The mailbox accepts none before the caller
    /// returns, so the answer stays true.
    pub(super) async fn check_empty(&self) -> Result<(), Error> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        let wait = self.parts.settings.read_wait;
        if open.is_free() && self.parts.projector.caught_up(wait).await {
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
        let closed = Kind::SessionClosed;
        let draft = Draft::new(None, Author::User, closed);
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

/// Answers what came for a turn that is not there: nothing is open, and nothing was stopped.
fn refuse_late(input: Input) {
    match input {
        Input::Settle(call, _, reply) => answer(reply, Err(not_open(&call))),
        Input::Cancel(_, reply) => answer(reply, Ok(Accepted::Cancelled { stopped: false })),
    }
}

fn refuse_input(input: Input, error: &Error) {
    match input {
        Input::Settle(_, _, reply) | Input::Cancel(_, reply) => answer(reply, Err(error.clone())),
    }
}
