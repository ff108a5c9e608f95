//! What is for the turn that has begun: it is passed on, or wakes a turn that waits.

use samovar_core::{Accepted, Code, Error, FinishReason, TurnId, planted};
use samovar_locale as locale;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;

use super::{Current, Mailbox, Progress, refusal};
use crate::runner::{Input, Reply, answer, not_open};

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
                // The last place is an interruption's, which nobody would send again.
                let sent = if turn.capacity() > 1 {
                    turn.try_send(input)
                } else {
                    Err(TrySendError::Full(input))
                };
                match sent {
                    Ok(()) => {}
                    // It has just ended, and the mailbox hears of that next.
                    Err(TrySendError::Closed(input)) => refuse_late(input),
                    Err(TrySendError::Full(input)) => {
                        let busy = Error::new(Code::Busy, locale::turn::busy());
                        refuse_input(input, &busy);
                    }
                }
                open.current = Some(Current {
                    turn_id,
                    state: Progress::Running(turn),
                });
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
            return self.forward(Input::Cancel(reply)).await;
        }
        // Taken out, it can neither begin nor join the turn that runs.
        let Some(taken) = turn.and_then(|turn| open.queue.take(&turn)) else {
            return answer(reply, Ok(Accepted::Cancelled { stopped: false }));
        };
        let ended = self
            .end_unstarted(&taken.1.turn, FinishReason::Cancelled, None)
            .await;
        // It waits on until its end is kept, or it would be lost until the next start.
        if ended.is_err()
            && let Some(open) = &mut self.open
        {
            open.queue.put_back(taken);
        }
        let stopped = ended.map(|()| Accepted::Cancelled { stopped: true });
        answer(reply, stopped.map_err(refusal));
    }

    /// Whether a message waits that is to end the turn which has begun.
    pub(super) fn is_interrupted(&self) -> bool {
        let open = self.open.as_ref();
        open.is_some_and(|open| open.current.is_some() && open.queue.interrupts())
    }

    /// Stops the turn that has begun, for a message that is kept and goes before all others. What
    /// cannot be stopped now ends in its own time, and the message waits for that.
    pub(super) async fn interrupt(&mut self) {
        let (told, _) = oneshot::channel();
        let running = self.open.as_ref().and_then(|open| match &open.current {
            Some(Current {
                state: Progress::Running(turn),
                ..
            }) => Some(turn.clone()),
            Some(_) | None => None,
        });
        let Some(turn) = running else {
            return self.forward(Input::Cancel(told)).await;
        };
        if turn.try_send(Input::Cancel(told)).is_err() {
            tracing::debug!(session = %self.id, "the turn ends already");
        }
    }
}

/// Answers what came for a turn that is not there: nothing is open, and nothing was stopped.
pub(super) fn refuse_late(input: Input) {
    match input {
        Input::Settle(call, _, reply) => answer(reply, Err(not_open(&call))),
        Input::Cancel(reply) => answer(reply, Ok(Accepted::Cancelled { stopped: false })),
    }
}

pub(super) fn refuse_input(input: Input, error: &Error) {
    match input {
        Input::Settle(_, _, reply) | Input::Cancel(reply) => answer(reply, Err(error.clone())),
    }
}
