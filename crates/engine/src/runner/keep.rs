//! A turn that finds the store full: it holds its unsaved events, waits, and continues when there
//! is room (DU-12).

use samovar_core::{Broken, Code, Error, Kind};
use samovar_locale as locale;

use super::inbox::{FromTurn, Input, Reply, answer};
use super::state::{Runner, Stop};
use crate::log::Draft;
use crate::parts::refusal;

impl Runner {
    /// Keeps what was noted, with one commit. While there is no room it waits: first what cannot
    /// wait is kept, with the room that there is for that.
    ///
    /// # Errors
    /// [`Broken`] when the store failed in a way that does not pass.
    pub(super) async fn keep(&mut self) -> Result<(), Broken> {
        let mut part = self.pending.len();
        while !self.pending.is_empty() {
            let Err(broken) = self.keep_part(part).await else {
                part = self.pending.len();
                continue;
            };
            let urgent = self.pending[..part].iter();
            let urgent = urgent.take_while(|draft| !draft.kind.can_wait()).count();
            if broken.may_pass() && (1..part).contains(&urgent) {
                part = urgent;
                continue;
            }
            if let Some(reply) = self.wait_for_room(broken).await? {
                self.stop_unbegun(reply);
            }
            part = self.pending.len();
        }
        Ok(())
    }

    /// Notes that something could be kept, so that others who wait for room try, too.
    pub(super) fn has_room(&mut self) {
        if std::mem::take(&mut self.is_waiting) {
            self.parts.disk_space.found();
        }
    }

    /// Waits a moment for room; answers with who wants the turn to stop.
    ///
    /// # Errors
    /// What does not pass by itself.
    pub(super) async fn wait_for_room(&mut self, broken: Broken) -> Result<Option<Reply>, Broken> {
        if !broken.may_pass() {
            return Err(broken);
        }
        tracing::debug!(turn = %self.turn_id, %broken, "a turn waits for room");
        for reply in self.stopped_for.drain(..) {
            // It has stopped; that this will be found after a crash cannot be promised yet.
            let why = locale::turn::end_not_kept();
            answer(reply, Err(Error::new(Code::StoreFull, why)));
        }
        if self.stop != Stop::No && self.agent.depth() > 0 {
            // The next moment tells it again.
            drop(
                self.mailbox
                    .try_send(FromTurn::EndNotKept(self.turn_id.clone())),
            );
        }
        self.is_waiting = true;
        let room = &self.parts.disk_space;
        // Both are safe to drop halfway: a channel keeps its items.
        tokio::select! {
            () = room.wait() => Ok(None),
            Some(input) = self.inbox.recv() => match input {
                Input::Cancel(cancel) if cancel.is_last || !self.has_children() => {
                    Ok(Some(cancel.reply))
                }
                Input::Cancel(cancel) => {
                    self.pass_back(cancel);
                    Ok(None)
                }
                Input::Settle(_, _, Some(reply)) | Input::Decide(_, _, reply) => {
                    answer(reply, Err(refusal(broken)));
                    Ok(None)
                }
                Input::Settle(call, outcome, None) => {
                    self.note_child_end(call, outcome);
                    Ok(None)
                }
            },
        }
    }

    /// Stops the turn before what it was about to begin.
    fn stop_unbegun(&mut self, reply: Reply) {
        if self.turn.is_over() {
            return self.stop(reply);
        }
        let own = self.turn_id.clone();
        self.drop_unborn();
        let is_unbegun =
            |draft: &mut Draft| draft.kind.can_wait() || draft.turn.as_ref() != Some(&own);
        for draft in self.pending.extract_if(.., is_unbegun) {
            if draft.turn.as_ref() == Some(&own) {
                self.turn.take_back(&draft.kind);
                if let Kind::StepStarted { .. } = &draft.kind {
                    self.session.state.unreserve(&own);
                }
            }
        }
        // What was about to join begins a turn of its own.
        if self.agent.depth() == 0 {
            self.session.state.give_back();
        }
        self.stop(reply);
    }
}
