//! A turn that a server stop interrupted: it continues, waits for the command to continue, or ends
//! (DU-6).

use std::collections::HashMap;

use samovar_core::error::FaultCode;
use samovar_core::{
    Accepted, Author, Broken, Code, Error, Kind, Model, Resume, TurnId, Usage, planted,
};
use samovar_locale as locale;
use tokio::sync::OwnedSemaphorePermit;

use super::turns::{ContinueWhen, EndReason, LiveState};
use super::{Mailbox, OpenSession};
use crate::runner::Continuation;
use crate::turn::Turn;

impl Mailbox {
    /// Looks after the turns that were running when the server stopped. Those that end do so after
    /// the others are here to hear of it, and with all that they wait for.
    pub(super) async fn found_all_cut(&mut self, cut: Vec<TurnId>) -> Result<(), Broken> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        let cut = self.with_those_that_wait(open, cut);
        let fates = cut.iter().map(|id| {
            let fate = open
                .state()
                .turn(id)
                .and_then(|known| self.fate(&known.turn));
            (id.clone(), fate)
        });
        let fates: HashMap<_, _> = fates.collect();
        let mut ending = Vec::new();
        let mut continuing = Vec::new();
        for turn_id in cut {
            match fate_of_tree(open, &turn_id, &fates) {
                Some(code) => ending.push((turn_id, code)),
                None => continuing.push(turn_id),
            }
        }
        add_parked_below(open, &mut ending);
        // They hear of no child any more.
        let mut unknown_calls = 0;
        if let Some(open) = &mut self.open {
            for (turn_id, code) in &ending {
                let known = open.session.state.lock().turn(turn_id).cloned();
                unknown_calls += known.map_or(0, |known| known.turn.cut_calls().len());
                if let Some(live) = open.live.get_mut(turn_id) {
                    live.state = LiveState::Ending(EndReason::Fault(*code));
                }
            }
        }
        for turn_id in continuing {
            self.found_cut(&turn_id).await?;
        }
        self.end_all().await?;
        for _ in &ending {
            self.parts.ledger.ended();
        }
        self.parts.ledger.unknown_calls(unknown_calls);
        Ok(())
    }

    /// Where no turn continues after a stop, those that wait for one which was cut end with it.
    fn with_those_that_wait(&self, open: &OpenSession, mut cut: Vec<TurnId>) -> Vec<TurnId> {
        if self.parts.settings.resume != Resume::Off {
            return cut;
        }
        let mut at = 0;
        while let Some(turn_id) = cut.get(at) {
            let parent = open.live.get(turn_id).and_then(|live| live.parent.clone());
            cut.extend(
                parent.filter(|parent| open.live.is_parked(parent) && !cut.contains(parent)),
            );
            at += 1;
        }
        cut
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
    async fn found_cut(&mut self, turn_id: &TurnId) -> Result<(), Broken> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let (ledger, settings) = (&self.parts.ledger, &self.parts.settings);
        let state = match settings.resume {
            Resume::Auto | Resume::Off => {
                LiveState::Cut(ContinueWhen::Possible, Some(ledger.undecided()))
            }
            Resume::Ask => {
                ledger.waits(&self.id, turn_id);
                LiveState::Cut(ContinueWhen::Asked, None)
            }
        };
        let Some(live) = open.live.get_mut(turn_id) else {
            return Ok(());
        };
        live.state = state;
        let agent = live.agent.clone();
        let asking = open
            .state()
            .turn(turn_id)
            .map(|known| &known.turn)
            .and_then(reset_of);
        let Some(reset) = asking else { return Ok(()) };
        planted!("no-reset-after-continuation", {
            return Ok(());
        });
        self.record(turn_id, &agent, [(Author::System, reset)], None)
            .await
    }

    /// How many times in a row it would have gone on. A stop that was asked for does not count.
    fn in_a_row(&self, turn: &Turn) -> u32 {
        turn.continuations() + u32::from(!self.parts.journal.was_closed())
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
            if let LiveState::Cut(goes, _) = state {
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
        let turn = open.state().turn(&turn_id).map(|known| known.turn.clone());
        let Some(turn) = turn else { return };
        match self.parts.model_of(&turn).await {
            Ok(model) => self.continue_cut(turn_id, (&turn, model), room),
            Err(error) => {
                tracing::error!(session = %self.id, %error, "a turn that was cut lost its model");
                self.parts.ledger.ended();
                self.lose_model(&turn_id).await;
            }
        }
    }

    fn continue_cut(
        &mut self,
        turn_id: TurnId,
        (turn, model): (&Turn, Model),
        room: OwnedSemaphorePermit,
    ) {
        let live = self.open.as_mut().and_then(|open| open.live.take(&turn_id));
        let Some(mut live) = live else { return };
        let state = std::mem::replace(&mut live.state, LiveState::Left);
        let LiveState::Cut(_, undecided) = state else {
            return;
        };
        // Who is told right after this that no turn waits can see why.
        self.parts.ledger.continued();
        let continuation = Continuation {
            in_a_row: self.in_a_row(turn),
            _room: room,
            undecided,
        };
        self.spawn_runner(turn_id, live, model, Some(continuation));
    }
}

/// The first reason why a turn, or one of those above it, does not continue.
fn fate_of_tree(
    open: &OpenSession,
    turn: &TurnId,
    fates: &HashMap<TurnId, Option<FaultCode>>,
) -> Option<FaultCode> {
    let mut above = Some(turn);
    let mut fate = None;
    while let Some(id) = above {
        fate = fate.or(fates.get(id).copied().flatten());
        above = open.live.get(id).and_then(|live| live.parent.as_ref());
    }
    fate
}

/// Adds the parked children of turns that end, so that those end after them.
fn add_parked_below(open: &OpenSession, ending: &mut Vec<(TurnId, FaultCode)>) {
    let mut at = 0;
    while let Some((turn_id, code)) = ending.get(at).cloned() {
        let below = open.live.children(&turn_id).into_iter();
        let below = below.filter(|child| open.live.is_parked(child));
        let is_new = |child: &TurnId| !ending.iter().any(|(known, _)| known == child);
        let below: Vec<_> = below.filter(is_new).collect();
        ending.extend(below.into_iter().map(|child| (child, code)));
        at += 1;
    }
}

/// The fact that what a turn's open step had said is void, if its model is being asked.
fn reset_of(turn: &Turn) -> Option<Kind> {
    turn.is_asking().then(|| Kind::StepReset {
        iteration: turn.iteration(),
        usage: Usage::default(),
        reason: locale::turn::step_interrupted().to_owned(),
        code: Some(FaultCode::Interrupted),
        context: None,
    })
}

/// Whether a turn that was cut waits for nothing but room.
fn waits_for_room(state: &LiveState) -> bool {
    matches!(state, LiveState::Cut(ContinueWhen::Possible, _))
}
