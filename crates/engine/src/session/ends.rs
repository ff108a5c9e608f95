//! Turns that do not end by themselves: they are stopped, a fault ends them, or their session is
//! deleted. Their runs are taken away first; what ends them is made from what the log has of them.

use std::cmp::Reverse;

use samovar_core::{
    Accepted, Author, Broken, Code, Error, Event, FinishReason, Kind, Message, Seq, TurnId, planted,
};
use samovar_locale as locale;
use std::sync::Arc;

use super::load::fault_message;
use super::turns::{ContinueWhen, EndReason, Live, LiveState};
use super::{Mailbox, OpenSession};
use crate::answer::{self, Answer, Ending};
use crate::delegation;
use crate::keep::is_taint;
use crate::log::Draft;
use crate::parts::refusal;
use crate::projector::read_those;
use crate::runner::{Reply, answer};
use crate::state::{OpenTurn, Removal};
use crate::turn::Turn;

/// Why a turn that was stopped ended, for its calls that were open.
const STOPPED: &str = "the turn was stopped";

impl Mailbox {
    /// Stops a turn, or the one that runs: who stops whichever runs means the next one if that ends by
    /// itself meanwhile.
    pub(super) async fn cancel(&mut self, turn: Option<TurnId>, reply: Reply) {
        let Some(open) = &self.open else {
            return answer(reply, Err(self.missing()));
        };
        let live = match &turn {
            Some(turn) => open.live.get(turn).map(|_| turn.clone()),
            None => open.live.root().cloned(),
        };
        let nothing = Ok(Accepted::Cancelled { stopped: false });
        let Some(live) = live else {
            let taken_out = match turn {
                Some(turn) => self.take_out(&turn).await,
                None => nothing,
            };
            return answer(reply, taken_out);
        };
        planted!("cancelled-turn-continues", {
            return answer(reply, Ok(Accepted::Cancelled { stopped: true }));
        });
        let next = open.state().next().map(|said| said.turn.clone());
        let stopped = self.stop(&live).await;
        if let (Ok(false), None, Some(next)) = (&stopped, turn, next) {
            self.act().await;
            return Box::pin(self.cancel(Some(next), reply)).await;
        }
        self.was_stopped = stopped == Ok(true);
        answer(
            reply,
            stopped.map(|stopped| Accepted::Cancelled { stopped }),
        );
    }

    /// Ends a turn that waits for its beginning.
    async fn take_out(&self, turn: &TurnId) -> Result<Accepted, Error> {
        let missing = self.missing();
        let state = &self.open.as_ref().ok_or(missing)?.session.state;
        // Taken out, it can neither begin nor join the turn that runs.
        match state.take_out(turn) {
            Removal::Out => {}
            Removal::Joining => return Err(Error::new(Code::Busy, locale::turn::joining())),
            Removal::Nothing => return Ok(Accepted::Cancelled { stopped: false }),
        }
        let ended = self.end_unstarted(turn, FinishReason::Cancelled, None);
        if let Err(broken) = ended.await {
            state.put_back();
            return Err(refusal(broken));
        }
        Ok(Accepted::Cancelled { stopped: true })
    }

    /// Whether a message waits that is to end the turn which has begun.
    pub(super) fn is_interrupted(&self) -> bool {
        let open = self.open.as_ref();
        open.is_some_and(|open| open.live.root().is_some() && open.state().interrupts())
    }

    /// Stops the session's own turn for an interrupting message.
    ///
    /// # Errors
    /// It cannot be stopped now, and ends in its own time.
    pub(super) async fn interrupt(&mut self) -> Result<(), Error> {
        let root = self
            .open
            .as_ref()
            .and_then(|open| open.live.root().cloned());
        match root {
            Some(root) => self.stop(&root).await.map(drop),
            None => Ok(()),
        }
    }

    /// Stops a turn and all that it waits for. False if it was over by itself.
    ///
    /// # Errors
    /// Its end cannot be kept yet, or another server continues it.
    pub(super) async fn stop(&mut self, turn: &TurnId) -> Result<bool, Error> {
        self.begin_children();
        let Some(open) = &self.open else {
            return Err(self.missing());
        };
        let tree = open.state().tree(turn);
        let left = |turn: &TurnId| {
            let live = open.live.get(turn);
            live.is_some_and(|live| matches!(live.state, LiveState::Left))
        };
        if tree.iter().any(left) {
            return Err(leaving());
        }
        self.take_away(&tree).await;
        let open = self.open.as_ref();
        let was_over = open.is_none_or(|open| {
            let live = open.live.get(turn);
            let is_noted = |live: &Live| live.unkept.iter().any(|draft| ends(draft, turn));
            live.is_none_or(is_noted) || !open.state().is_open(turn)
        });
        let is_kept = self.end_due().await;
        self.tell_ends().await;
        if is_kept {
            Ok(!was_over)
        } else {
            Err(not_kept())
        }
    }

    /// Deletes the session, with all turns that it has.
    pub(super) async fn close(&mut self, reply: Reply) {
        let Some(open) = &self.open else {
            let is_damaged = self.parts.damages.is_damaged(&self.id);
            // A reader that was slower than the deletion may have told of it again.
            self.parts.damages.removed(&self.id);
            let closed = is_damaged.then_some(Accepted::Closed);
            return answer(reply, closed.ok_or_else(|| self.missing()));
        };
        let mut all = open.live.tops();
        all.retain(|_| self.parts.settings.recovery.runs_turns());
        for turn in all {
            if let Err(refused) = self.stop(&turn).await {
                return answer(reply, Err(refused));
            }
        }
        let deleted = self.delete().await;
        answer(reply, deleted);
    }

    /// Takes the runs of turns away, which are to end.
    async fn take_away(&mut self, turns: &[TurnId]) {
        let Some(open) = &self.open else { return };
        for turn in turns {
            if let Some(LiveState::Running(_, stop)) = open.live.get(turn).map(|it| &it.state) {
                stop.cancel();
            }
        }
        let runs = |it: &Self| {
            let open = it.open.as_ref();
            open.is_some_and(|open| open.live.running().any(|turn| turns.contains(turn)))
        };
        while runs(self)
            && let Some(ended) = self.turns.join_next().await
        {
            self.take_in_run(ended);
        }
        self.begin_children();
        if let Some(open) = &mut self.open {
            for turn in turns {
                open.is_to_end(turn);
            }
        }
    }

    /// Ends the turns that are to end, with all that they wait for. Whether none is left.
    pub(super) async fn end_due(&mut self) -> bool {
        if let Err(broken) = self.end_all().await {
            tracing::error!(session = %self.id, %broken, "a turn's end cannot be kept yet");
            return false;
        }
        true
    }

    /// Keeps the ends of the turns that are to end with one commit, the deepest first.
    ///
    /// # Errors
    /// [`Broken`] when they cannot be kept; they are due then.
    pub(super) async fn end_all(&mut self) -> Result<(), Broken> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        let tops = open.live.ending();
        if tops.is_empty() {
            return Ok(());
        }
        let trees = tops.iter().flat_map(|top| open.state().tree(top));
        let trees: Vec<_> = trees.collect();
        Box::pin(self.take_away(&trees)).await;
        let Some(open) = &self.open else {
            return Ok(());
        };
        let mut ending = open.live.ending();
        ending.sort_by_key(|turn| Reverse(open.live.get(turn).map(|live| live.agent.depth())));
        let mut drafts = Vec::new();
        for turn in &ending {
            drafts.extend(self.end_of(open, turn).await?);
        }
        if !drafts.is_empty() {
            open.session.keep(drafts).await?;
        }
        if let Some(open) = &mut self.open {
            for turn in &ending {
                open.live.take(turn);
                let waits =
                    |state: &LiveState| matches!(state, LiveState::Cut(ContinueWhen::Asked, _));
                let ledger = &self.parts.ledger;
                ledger.waits_no_more(&self.id, turn, open.live.find(waits));
            }
        }
        Ok(())
    }

    /// What ends a turn: what happened in it and is not kept, what its model had said when it was
    /// asked, the ends of its calls, and its own.
    async fn end_of(&self, open: &OpenSession, id: &TurnId) -> Result<Vec<Draft>, Broken> {
        let live = open.live.get(id);
        let Some((live, LiveState::Ending(reason))) = live.map(|live| (live, &live.state)) else {
            return Ok(Vec::new());
        };
        if !open.state().is_open(id) {
            return Ok(Vec::new());
        }
        let known = open.state().turn(id).cloned();
        // One that could not be begun is not known.
        let mut turn = known
            .as_ref()
            .map_or_else(Turn::new, |known| known.turn.clone());
        let mut drafts = happened(id, &live.unkept);
        let own = |draft: &&Draft| draft.turn.as_ref() == Some(id);
        drafts
            .iter()
            .filter(own)
            .for_each(|draft| turn.apply(&draft.kind));
        if known.is_some() && turn.is_over() {
            return Ok(drafts);
        }
        let mut note = |author, kind: Kind, turn: &mut Turn| {
            turn.apply(&kind);
            drafts.push(Draft::new(Some(id.clone()), author, kind).of(&live.agent));
        };
        if let Some(known) = known.as_ref().filter(|_| turn.is_asking()) {
            let said = self.said_by(open, (id, known), *reason).await?;
            if let Some(said) = said {
                note(Author::Agent, Kind::finished(said), &mut turn);
            }
        }
        // A turn that was at work ends as one that ends by itself.
        let (by, end) = match reason {
            EndReason::Stopped if turn.is_parked() => (Author::System, turn.cancelled(STOPPED)),
            EndReason::Stopped => (Author::Agent, turn.cancelled(STOPPED)),
            EndReason::Fault(code) => (Author::System, turn.failed(*code, fault_message(*code))),
        };
        for kind in end {
            let is_end = matches!(kind, Kind::TurnFinished { .. });
            note(if is_end { by } else { Author::System }, kind, &mut turn);
        }
        let kept = known.iter().flat_map(OpenTurn::messages);
        let noted = drafts.iter().filter_map(|draft| match &draft.kind {
            Kind::MessageFinished { message, .. } => Some(message),
            _ => None,
        });
        let last = delegation::last_said(kept.chain(noted));
        let result = self.result_of(id, &live.agent, (&turn, last));
        drafts.extend(result);
        Ok(drafts)
    }

    /// What the model of a turn had said when its answer was cut, as readers have seen it; nothing where
    /// the log can no longer be read, which must not keep the turn from its end.
    async fn said_by(
        &self,
        open: &OpenSession,
        (id, known): (&TurnId, &OpenTurn),
        reason: EndReason,
    ) -> Result<Option<Message>, Broken> {
        let events = match events_of(open, id).await {
            Err(broken) if !broken.may_pass() => {
                tracing::error!(session = %self.id, turn = %id, %broken, "a cut answer is not kept");
                return Ok(None);
            }
            read => read?,
        };
        let reason = match reason {
            EndReason::Stopped => answer::CANCELLED,
            EndReason::Fault(_) => answer::FAILED,
        };
        let ending = Ending {
            reason: reason.to_owned(),
            usage: None,
        };
        let of_turn = events.iter().map(|event| &event.kind);
        let said = Answer::kept(of_turn, known.turn.asked_model());
        let said = said.and_then(|said| said.salvage(ending, self.parts.clock.now()));
        Ok(said.map(|said| described(said, known)))
    }
}

impl OpenSession {
    fn is_to_end(&mut self, turn: &TurnId) {
        let stopped = LiveState::Ending(EndReason::Stopped);
        if let Some(live) = self.live.get_mut(turn) {
            if !matches!(live.state, LiveState::Ending(_)) {
                live.state = stopped;
            }
            return;
        }
        // The run that began it was taken away before it could say so.
        let known = self.state().turn(turn).cloned();
        if let Some(known) = known {
            let live = Live::new(known.agent, known.parent, stopped);
            self.live.put(turn.clone(), live);
        }
    }
}

async fn events_of(open: &OpenSession, turn: &TurnId) -> Result<Vec<Arc<Event>>, Broken> {
    let Some(first) = open.session.log.first_of(turn) else {
        return Ok(Vec::new());
    };
    let (after, to) = (Seq(first.0 - 1), open.session.log.published());
    let is_of_turn = |event: &Event| event.turn.as_ref() == Some(turn);
    read_those(&open.session.log, after, (to, usize::MAX), is_of_turn).await
}

/// What of a run's last facts has happened: not what was about to begin, here or in other turns. With
/// the end of the turn, all of it.
fn happened(turn: &TurnId, unkept: &[Draft]) -> Vec<Draft> {
    if unkept.iter().any(|draft| ends(draft, turn)) {
        return unkept.to_vec();
    }
    let begins = |closed: &Kind| {
        let Kind::CallClosed { call: closed, .. } = closed else {
            return false;
        };
        let mut all = unkept.iter();
        all.any(|draft| matches!(&draft.kind, Kind::CallStarted { call, .. } if call == closed))
    };
    let has_happened = |draft: &&Draft| {
        let is_own = draft.turn.as_ref() == Some(turn);
        is_own && (!draft.kind.can_wait() || is_taint(&draft.kind)) && !begins(&draft.kind)
    };
    unkept.iter().filter(has_happened).cloned().collect()
}

fn ends(draft: &Draft, turn: &TurnId) -> bool {
    let is_end = matches!(draft.kind, Kind::TurnFinished { .. });
    is_end && draft.turn.as_ref() == Some(turn)
}

/// A message of a turn, which says whose it is.
fn described(mut said: Message, known: &OpenTurn) -> Message {
    let place = known.turn.place();
    if let Some(agent) = &place.definition {
        if place.parent_call.is_some() {
            said.parent = known.called_by().cloned();
        }
        delegation::describe(&mut said, &agent.display_name, place.parent_call.as_ref());
    }
    said
}

/// The end of a turn has no room.
pub(super) fn not_kept() -> Error {
    Error::new(Code::StoreFull, locale::turn::end_not_kept())
}

/// The server stops.
pub(super) fn leaving() -> Error {
    Error::new(Code::Unavailable, locale::server::stopping())
}
