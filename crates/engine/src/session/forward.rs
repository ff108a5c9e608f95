//! What is for the turn that has begun: it is passed on, or wakes a turn that waits.

use samovar_core::{Accepted, Code, Error, FinishReason, TurnId, planted};
use samovar_locale as locale;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;

use super::{Current, Mailbox, Progress, refusal};
use crate::queue::Taken;
use crate::runner::{Input, Reply, Whom, answer, not_open};

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
                state: Progress::Running(turn),
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
                    state: Progress::Running(turn),
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
                state: Progress::Parked(turn),
            }) => {
                self.wake(turn_id, turn, input, None).await;
            }
            Some(Current {
                turn_id,
                state: Progress::Cut(turn, goes),
            }) => {
                self.wake(turn_id, turn, input, Some(goes)).await;
            }
            Some(Current {
                turn_id,
                state: state @ Progress::Stuck(_),
            }) => {
                open.current = Some(Current { turn_id, state });
                let full = Error::new(Code::StoreFull, locale::turn::end_not_kept());
                refuse_input(input, &full);
            }
            // The next server goes on with it, and takes this too.
            Some(Current {
                turn_id,
                state: Progress::Left,
            }) => {
                let state = Progress::Left;
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
            Input::Cancel(Whom::Running { next }, reply) => {
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
            let whom = turn.map_or(Whom::Running { next }, |_| Whom::This);
            return self.forward(Input::Cancel(whom, reply)).await;
        }
        // Taken out, it can neither begin nor join the turn that runs.
        let taken = turn.map_or(Taken::Nothing, |turn| open.queue.take(&turn));
        let (at, queued) = match taken {
            Taken::Out(at, queued) => (at, queued),
            Taken::Joining => {
                return answer(reply, Err(Error::new(Code::Busy, locale::turn::joining())));
            }
            Taken::Nothing => {
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

    /// Stops the turn that has begun, for whom nobody has to answer: a message that is kept and goes
    /// before all others, or the session's end. What cannot be stopped now ends in its own time.
    pub(super) async fn interrupt(&mut self) {
        let (told, _) = oneshot::channel();
        self.forward(Input::Cancel(Whom::This, told)).await;
    }
}

/// Answers what came for a turn that is not there: nothing is open, and nothing was stopped.
pub(super) fn refuse_late(input: Input) {
    match input {
        Input::Settle(call, _, reply) => answer(reply, Err(not_open(&call))),
        Input::Cancel(_, reply) => answer(reply, Ok(Accepted::Cancelled { stopped: false })),
    }
}

pub(super) fn refuse_input(input: Input, error: &Error) {
    match input {
        Input::Settle(_, _, reply) | Input::Cancel(_, reply) => answer(reply, Err(error.clone())),
    }
}
