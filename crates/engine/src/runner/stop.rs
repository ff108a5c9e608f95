//! The stop of a turn: after the children that it waits for, and without those that never began.

use std::future::pending;

use samovar_core::{Broken, CallId, Closer, Kind};

use super::inbox::{Cancel, FromTurn, Input};
use super::state::Runner;
use crate::log::Draft;

impl Runner {
    /// Ends the turn at a client's or its session's wish; one that waits for children ends after them.
    /// Whether it is ended now.
    pub(super) fn cancel(&mut self, cancel: Cancel) -> bool {
        if cancel.is_last || !self.has_children() {
            self.drop_unborn();
            self.stop(cancel.reply);
            return true;
        }
        self.pass_back(cancel);
        false
    }

    /// Takes back the starts of children that are not kept.
    pub(super) fn drop_unborn(&mut self) {
        let starts = self.pending.iter().filter_map(|draft| match &draft.kind {
            Kind::CallStarted {
                call,
                closer: Closer::Child,
                ..
            } => Some(call.clone()),
            _ => None,
        });
        let starts: Vec<_> = starts.collect();
        let depth = self.agent.depth();
        let is_unborn = |draft: &mut Draft| match &draft.kind {
            Kind::CallStarted { call, .. } | Kind::CallClosed { call, .. } => starts.contains(call),
            _ => draft.depth() > depth,
        };
        for draft in self.pending.extract_if(.., is_unborn) {
            if draft.depth() == depth {
                self.turn.take_back(&draft.kind);
            } else if let (Kind::TurnStarted { .. }, Some(child)) = (&draft.kind, &draft.turn) {
                self.session.state.take_back(child);
            }
        }
    }

    /// Has the session stop the children first.
    pub(super) fn pass_back(&mut self, cancel: Cancel) {
        self.is_stopping = true;
        self.drop_unborn();
        let stopping = FromTurn::Stopping(self.turn_id.clone(), Box::new(cancel));
        // A session that ends meanwhile leaves both to the next start.
        drop(self.mailbox.try_send(stopping));
    }

    /// Whether it waits for a child whose start is kept.
    pub(super) fn has_children(&self) -> bool {
        let is_pending = |call: &CallId| {
            let mut pending = self.pending.iter();
            pending.any(
                |draft| matches!(&draft.kind, Kind::CallStarted { call: of, .. } if of == call),
            )
        };
        let mut calls = self.turn.delegated_calls();
        calls.any(|call| !is_pending(&call.id))
    }

    /// Waits for the stop that was passed back, which its session sends once its children are over.
    pub(super) async fn wait_for_stop(&mut self) -> Result<(), Broken> {
        while self.is_stopping && !self.turn.is_over() {
            match self.inbox.recv().await {
                Some(Input::Settle(call, outcome, reply)) => {
                    self.settle(call, outcome, reply).await?;
                }
                Some(Input::Decide(approval, answer, reply)) => {
                    self.decide(&approval, answer, reply).await?;
                }
                Some(Input::Cancel(cancel)) => drop(self.cancel(cancel)),
                // Its session is gone, and ends the task.
                None => pending().await,
            }
        }
        Ok(())
    }
}
