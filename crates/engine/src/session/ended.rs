//! What follows when a turn's task is gone: it is over, it parks, or its end has to be made.

use samovar_core::Seq;
use samovar_core::error::FaultCode;
use samovar_core::{Broken, TurnId, planted};
use tokio::task::JoinError;

use super::forward::refuse_late;
use super::load::fault_message;
use super::{Current, Mailbox, Progress};
use crate::projector::read_all;
use crate::runner::{Ended, How, Input, Whom};
use crate::turn::Turn;

impl Mailbox {
    pub(super) async fn turn_ended(&mut self, ended: Result<Ended, JoinError>) {
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
        match ended.how {
            How::Finished => open.current = None,
            How::Parked => {
                let (turn_id, state) = (
                    ended.turn_id.clone(),
                    Progress::Parked(Box::new(ended.turn)),
                );
                open.current = Some(Current { turn_id, state });
            }
            How::Left => {
                let (turn_id, state) = (ended.turn_id.clone(), Progress::Left);
                open.current = Some(Current { turn_id, state });
            }
            How::Broken(_) => self.set_stuck(FaultCode::StoreFailed),
        }
        // What came too late for the task is for this turn as it is now; but who means whichever runs
        // means the one that follows, if that was there already.
        let mut for_the_next = Vec::new();
        for input in ended.leftover {
            match input {
                input if self.is_current(&ended.turn_id) => self.forward(input).await,
                Input::Cancel(Whom::Running { next }, reply) => for_the_next.push((next, reply)),
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
            current.state = Progress::Stuck(code);
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
            state: Progress::Stuck(code),
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
}
