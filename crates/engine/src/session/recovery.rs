//! A turn that a server stop interrupted: it continues, waits for the command to continue, or ends
//! (DU-6).

use samovar_core::error::FaultCode;
use samovar_core::{
    Accepted, Author, Broken, Code, Error, Event, Kind, Message, Resume, Seq, TurnId, Usage,
    planted,
};
use samovar_locale as locale;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

use super::Mailbox;
use super::load::fault_message;
use super::turns::{ContinueWhen, Live, LiveState};
use crate::answer::{self, Answer, Ending};
use crate::delegation;
use crate::projector::read_those;
use crate::runner::Continuation;
use crate::turn::Turn;

impl Mailbox {
    /// Looks after the turns that were running when the server stopped. Those that end do so after
    /// the others are here to hear of it, the deepest first, and with all that they wait for.
    pub(super) async fn found_all_cut(
        &mut self,
        interrupted: Vec<(TurnId, Live, Turn)>,
    ) -> Result<(), Broken> {
        let interrupted = self.with_those_that_wait(interrupted);
        let fates: HashMap<_, _> = interrupted
            .iter()
            .map(|(id, live, turn)| (id.clone(), (live.parent.clone(), self.fate(turn))))
            .collect();
        let mut ending = Vec::new();
        for (turn_id, live, turn) in interrupted {
            match self.fate_of_tree(&turn_id, &fates) {
                Some(code) => ending.push((turn_id, live, turn, code)),
                None => self.found_cut(turn_id, live, turn).await?,
            }
        }
        self.add_parked_below(&mut ending);
        ending.sort_by_key(|(_, live, ..)| Reverse(live.agent.depth()));
        for (turn_id, live, turn, code) in ending {
            self.end_cut(&turn_id, live, turn, code).await?;
        }
        Ok(())
    }

    /// Where no turn continues after a stop, those that wait for one which was cut end with it.
    fn with_those_that_wait(
        &mut self,
        mut cut: Vec<(TurnId, Live, Turn)>,
    ) -> Vec<(TurnId, Live, Turn)> {
        let is_off = self.parts.settings.resume == Resume::Off;
        let Some(open) = self.open.as_mut().filter(|_| is_off) else {
            return cut;
        };
        let mut at = 0;
        while let Some((_, live, _)) = cut.get(at) {
            if let Some(parent) = live.parent.clone()
                && let Some((live, turn)) = open.live.take_parked(&parent)
            {
                cut.push((parent, live, turn));
            }
            at += 1;
        }
        cut
    }

    /// The first reason why a turn, or one of those above it, does not continue.
    fn fate_of_tree(
        &self,
        turn: &TurnId,
        fates: &HashMap<TurnId, (Option<TurnId>, Option<FaultCode>)>,
    ) -> Option<FaultCode> {
        let live = &self.open.as_ref()?.live;
        let mut above = Some(turn);
        let mut fate = None;
        while let Some(id) = above {
            above = if let Some((parent, own)) = fates.get(id) {
                fate = fate.or(*own);
                parent.as_ref()
            } else {
                live.get(id).and_then(|parked| parked.parent.as_ref())
            };
        }
        fate
    }

    /// Takes out the parked children of turns that end, so that those end after them.
    fn add_parked_below(&mut self, ending: &mut Vec<(TurnId, Live, Turn, FaultCode)>) {
        let Some(open) = &mut self.open else { return };
        let mut at = 0;
        while let Some((turn_id, _, _, code)) = ending.get(at) {
            let code = *code;
            for child in open.live.children(turn_id) {
                if let Some((live, turn)) = open.live.take_parked(&child) {
                    ending.push((child, live, turn, code));
                }
            }
            at += 1;
        }
    }

    /// Why a turn that was cut does not continue, if it does not.
    fn fate(&self, turn: &Turn) -> Option<FaultCode> {
        let settings = &self.parts.settings;
        if settings.resume == Resume::Off {
            return Some(FaultCode::Interrupted);
        }
        let is_exhausted = self.in_a_row(turn) > settings.max_continuations;
        is_exhausted.then_some(FaultCode::RecoveryExhausted)
    }

    /// Looks after a turn that continues, before a reader can see the session: what its open step had
    /// said is void from here on, so that a reader that comes back meets that before the new attempt
    /// (ADR 9).
    async fn found_cut(
        &mut self,
        turn_id: TurnId,
        live: Live,
        mut turn: Turn,
    ) -> Result<(), Broken> {
        let goes = match self.parts.settings.resume {
            Resume::Auto | Resume::Off => ContinueWhen::Possible,
            Resume::Ask => ContinueWhen::Asked,
        };
        if turn.is_asking() {
            let reset = Kind::StepReset {
                iteration: turn.iteration(),
                usage: Usage::default(),
                reason: locale::turn::step_interrupted().to_owned(),
                code: Some(FaultCode::Interrupted),
                context: None,
            };
            turn.apply(&reset);
            planted!("no-reset-after-continuation", {
                self.set_cut(turn_id, live, turn, goes);
                return Ok(());
            });
            self.record(&turn_id, &live.agent, vec![reset]).await?;
        }
        self.set_cut(turn_id, live, turn, goes);
        Ok(())
    }

    fn set_cut(&mut self, turn_id: TurnId, mut live: Live, turn: Turn, goes: ContinueWhen) {
        let ledger = &self.parts.ledger;
        let undecided = match goes {
            ContinueWhen::Possible => Some(ledger.undecided()),
            ContinueWhen::Asked => {
                ledger.waits(&self.id, &turn_id);
                None
            }
        };
        let open_calls = &self.parts.open_calls;
        open_calls.note(&self.id, &turn_id, &live.agent, &turn);
        live.state = LiveState::Cut(Box::new(turn), goes, undecided);
        if let Some(open) = &mut self.open {
            open.live.put(turn_id, live);
        }
    }

    /// How many times in a row it would have gone on. A stop that was asked for does not count.
    fn in_a_row(&self, turn: &Turn) -> u32 {
        turn.continuations() + u32::from(!self.parts.journal.was_closed())
    }

    /// Ends a turn that does not go on; what its open step had said before its first call stays.
    pub(super) async fn end_cut(
        &mut self,
        turn_id: &TurnId,
        mut live: Live,
        mut turn: Turn,
        code: FaultCode,
    ) -> Result<(), Broken> {
        let mut salvaged = None;
        if turn.is_asking() {
            let events = self.events_of(turn_id).await?;
            let of_turn = events.iter().map(|event| &event.kind);
            let ending = Ending {
                reason: answer::FAILED.to_owned(),
                usage: None,
            };
            let said = Answer::kept(of_turn, turn.asked_model());
            let said = said.and_then(|said| said.salvage(ending, self.parts.clock.now()));
            let said = said.map(|said| live.takes_in(said, &turn));
            salvaged = said.map(Kind::finished);
        }
        // The fold sees what was said, so that the end counts with it.
        if let Some(kind) = &salvaged {
            turn.apply(kind);
        }
        let unknown_calls = turn.cut_calls().len();
        let end = turn.failed(code, fault_message(code));
        for kind in &end {
            turn.apply(kind);
        }
        let said = salvaged.map(|kind| (Author::Agent, kind));
        let end = end.into_iter().map(|kind| (Author::System, kind));
        let facts = said.into_iter().chain(end);
        let last = delegation::last_said(live.transcript.messages());
        let result = self.parts.result_of(turn_id, &live.agent, &turn, last, &[]);
        self.record_by(turn_id, &live.agent, facts, result).await?;
        self.parts.ledger.ended();
        self.parts.ledger.unknown_calls(unknown_calls);
        self.is_over(turn_id, live, &turn).await;
        Ok(())
    }

    async fn events_of(&self, turn_id: &TurnId) -> Result<Vec<Arc<Event>>, Broken> {
        let Some(open) = &self.open else {
            return Ok(Vec::new());
        };
        let Some(first) = open.session.log.first_of(turn_id) else {
            return Ok(Vec::new());
        };
        let (after, to) = (Seq(first.0 - 1), open.session.log.published());
        let is_of_turn = |event: &Event| event.turn.as_ref() == Some(turn_id);
        read_those(&open.session.log, after, (to, usize::MAX), is_of_turn).await
    }

    /// Whether a turn that was cut waits for nothing but room.
    pub(super) fn wants_to_go_on(&self) -> bool {
        planted!("continuation-lost", {
            return false;
        });
        let waits = self
            .open
            .as_ref()
            .and_then(|open| open.live.find(waits_for_room));
        waits.is_some() && !self.parts.stopping.is_cancelled()
    }

    /// Lets a turn go on that waits to be told so.
    pub(super) fn tell_to_go_on(&mut self) -> Result<Accepted, Error> {
        let Some(open) = &mut self.open else {
            return Err(self.missing());
        };
        let mut is_one = false;
        for state in open.live.states_mut() {
            if let LiveState::Cut(_, goes, _) = state {
                *goes = ContinueWhen::Possible;
                is_one = true;
            }
        }
        if !is_one {
            return Err(Error::new(Code::UnknownTurn, locale::turn::none_waits()));
        }
        self.parts.ledger.none_waits(&self.id);
        Ok(Accepted::Continued)
    }

    /// Continues the turn that was cut.
    pub(super) async fn take_up(&mut self, room: OwnedSemaphorePermit) {
        let Some(open) = &mut self.open else { return };
        let Some(turn_id) = open.live.find(waits_for_room).cloned() else {
            return;
        };
        let Some(mut live) = open.live.take(&turn_id) else {
            return;
        };
        let state = std::mem::replace(&mut live.state, LiveState::Left);
        let LiveState::Cut(turn, _, undecided) = state else {
            return;
        };
        match self.parts.model_of(&turn).await {
            Ok(model) => {
                // Who is told right after this that no turn waits can see why.
                self.parts.ledger.continued();
                let continuation = Continuation {
                    in_a_row: self.in_a_row(&turn),
                    _room: room,
                    undecided,
                };
                self.spawn_runner(turn_id, live, *turn, model, Some(continuation));
            }
            Err(error) => {
                tracing::error!(session = %self.id, %error, "a turn that was cut lost its model");
                self.parts.ledger.ended();
                self.lose_model(turn_id, live).await;
            }
        }
    }
}

impl Live {
    /// Adds what a child's turn has said to its conversation; the message, which says whose it is.
    fn takes_in(&mut self, mut said: Message, turn: &Turn) -> Message {
        let place = turn.place();
        if let (Some(call), Some(agent)) = (&place.parent_call, &place.definition) {
            said.parent = self.transcript.parent().cloned();
            delegation::describe(&mut said, &agent.display_name, Some(call));
            self.transcript.push(Arc::new(said.clone()));
        } else if let Some(agent) = &place.definition {
            delegation::describe(&mut said, &agent.display_name, None);
        }
        said
    }
}

/// Whether a turn that was cut waits for nothing but room.
fn waits_for_room(state: &LiveState) -> bool {
    matches!(state, LiveState::Cut(_, ContinueWhen::Possible, _))
}
