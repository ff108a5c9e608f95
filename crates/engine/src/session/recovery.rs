//! A turn that a server stop interrupted: it continues, waits for the command to continue, or ends
//! (DU-6).

use samovar_core::error::FaultCode;
use samovar_core::{
    Accepted, Author, Broken, Code, Error, Event, Kind, Seq, TurnId, Usage, planted,
};
use samovar_locale as locale;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

use super::load::fault_message;
use super::{ContinueWhen, Current, CurrentState, Mailbox};
use crate::answer::{Answer, Ending};
use crate::projector::read_those;
use crate::runner::Continuation;
use crate::settings::Resume;
use crate::turn::Turn;

impl Mailbox {
    /// Looks after a turn that was running when the server stopped, before anybody can read the
    /// session: what its open step had said is void from here on, so that a reader that comes back
    /// meets that before the new attempt (ADR 9).
    pub(super) async fn found_cut(
        &mut self,
        turn_id: TurnId,
        mut turn: Turn,
    ) -> Result<(), Broken> {
        let goes = match self.parts.settings.resume {
            Resume::Auto => ContinueWhen::Possible,
            Resume::Ask => ContinueWhen::Asked,
            Resume::Off => return self.end_cut(&turn_id, &turn, FaultCode::Interrupted).await,
        };
        if self.in_a_row(&turn) > self.parts.settings.max_continuations {
            let code = FaultCode::RecoveryExhausted;
            return self.end_cut(&turn_id, &turn, code).await;
        }
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
                self.set_cut(turn_id, turn, goes);
                return Ok(());
            });
            self.record(&turn_id, vec![reset]).await?;
        }
        match goes {
            ContinueWhen::Possible => self.undecided = Some(self.parts.ledger.undecided()),
            ContinueWhen::Asked => self.parts.ledger.waits(&self.id, &turn_id),
        }
        self.set_cut(turn_id, turn, goes);
        Ok(())
    }

    fn set_cut(&mut self, turn_id: TurnId, turn: Turn, goes: ContinueWhen) {
        self.parts.open_calls.note(&self.id, &turn_id, &turn);
        if let Some(open) = &mut self.open {
            let state = CurrentState::Cut(Box::new(turn), goes);
            open.current = Some(Current { turn_id, state });
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
        turn: &Turn,
        code: FaultCode,
    ) -> Result<(), Broken> {
        let mut salvaged = None;
        if turn.is_asking() {
            let events = self.events_of(turn_id).await?;
            let of_turn = events.iter().map(|event| &event.kind);
            let ending = Ending {
                reason: "error".to_owned(),
                usage: None,
            };
            let said = Answer::kept(of_turn, turn.asked_model());
            let said = said.and_then(|said| said.salvage(ending, self.parts.clock.now()));
            salvaged = said.map(Kind::finished);
        }
        // The fold sees what was said, so that the end counts with it.
        let mut turn = turn.clone();
        if let Some(kind) = &salvaged {
            turn.apply(kind);
        }
        let end = turn.failed(code, fault_message(code));
        let said = salvaged.map(|kind| (Author::Agent, kind));
        let end = end.into_iter().map(|kind| (Author::System, kind));
        self.record_by(turn_id, said.into_iter().chain(end)).await?;
        self.parts.ledger.ended();
        self.parts.ledger.unknown_calls(turn.cut_calls().len());
        Ok(())
    }

    async fn events_of(&self, turn_id: &TurnId) -> Result<Vec<Arc<Event>>, Broken> {
        let Some(open) = &self.open else {
            return Ok(Vec::new());
        };
        let Some(first) = open.log.first_of(turn_id) else {
            return Ok(Vec::new());
        };
        let (after, to) = (Seq(first.0 - 1), open.log.published());
        let is_of_turn = |event: &Event| event.turn.as_ref() == Some(turn_id);
        read_those(&open.log, after, to, is_of_turn).await
    }

    /// Whether a turn that was cut waits for nothing but room.
    pub(super) fn wants_to_go_on(&self) -> bool {
        planted!("continuation-lost", {
            return false;
        });
        let state = self.open.as_ref().and_then(|open| open.current.as_ref());
        let goes = matches!(
            state,
            Some(Current {
                state: CurrentState::Cut(_, ContinueWhen::Possible),
                ..
            })
        );
        goes && !self.parts.stopping.is_cancelled()
    }

    /// Lets a turn go on that waits to be told so.
    pub(super) fn tell_to_go_on(&mut self) -> Result<Accepted, Error> {
        let Some(open) = &mut self.open else {
            return Err(self.missing());
        };
        let state = open.current.as_mut().map(|current| &mut current.state);
        let Some(CurrentState::Cut(_, goes)) = state else {
            return Err(Error::new(Code::UnknownTurn, locale::turn::none_waits()));
        };
        *goes = ContinueWhen::Possible;
        self.parts.ledger.waits_no_more(&self.id);
        Ok(Accepted::Continued)
    }

    /// Continues the turn that was cut.
    pub(super) async fn take_up(&mut self, room: OwnedSemaphorePermit) {
        let Some(open) = &mut self.open else { return };
        let Some(Current { turn_id, state }) = open.current.take() else {
            return;
        };
        let CurrentState::Cut(turn, _) = state else {
            open.current = Some(Current { turn_id, state });
            return;
        };
        match self.parts.model_of(&turn).await {
            Ok(model) => {
                // Who is told right after this that no turn waits can see why.
                self.parts.ledger.continued();
                let continuation = Continuation {
                    in_a_row: self.in_a_row(&turn),
                    _room: room,
                    undecided: self.undecided.take(),
                };
                self.spawn_runner(turn_id, *turn, model, Some(continuation));
            }
            Err(error) => {
                tracing::error!(session = %self.id, %error, "a turn that was cut lost its model");
                self.lose_model(turn_id).await;
            }
        }
    }
}
