//! What turns that run have set aside of their accounts and the log does not have yet.

use samovar_core::{Budget, BudgetLimit, Event, Kind, Millis, TurnId};

use super::State;
use super::accounts::Accounts;
use crate::budget::{Account, Ask, Hold};

/// What was set aside, in the order in which that was done.
#[derive(Debug, Default)]
pub(super) struct Reserved(Vec<Reservation>);

#[derive(Debug)]
struct Reservation {
    turn: TurnId,
    what: What,
}

#[derive(Debug)]
enum What {
    /// For a model call.
    Call(Hold),
    /// For a child in the background.
    Child(TurnId, Budget),
}

impl Reserved {
    /// The account from which a turn draws, with all that is set aside.
    pub(super) fn account(&self, accounts: &Accounts, turn: &TurnId) -> Option<Account> {
        let (owner, mut account) = (accounts.owner(turn)?, accounts.of(turn)?.clone());
        let is_its = |of: &&Reservation| accounts.owner(&of.turn) == Some(owner);
        for Reservation { turn, what } in self.0.iter().filter(is_its) {
            match what {
                What::Call(hold) => account.hold(turn, *hold),
                What::Child(_, budget) => account.give(budget),
            }
        }
        Some(account)
    }

    /// Sets aside what a model call may use; the longest answer that there is room for, in tokens, or
    /// `None` where no account limits it.
    ///
    /// # Errors
    /// The limit that leaves no room.
    pub(super) fn reserve(
        &mut self,
        state: &State,
        (turn, ask): (&TurnId, &Ask),
        now: Millis,
    ) -> Result<Option<u64>, BudgetLimit> {
        let Some(account) = self.account(&state.accounts, turn) else {
            return Ok(None);
        };
        let hold = account.room_for(ask, now)?;
        self.push(turn, What::Call(hold));
        Ok(Some(hold.longest()))
    }

    /// Sets a quarter of what is left aside for a child in the background.
    ///
    /// # Errors
    /// The limit of which there is not enough left.
    pub(super) fn quarter(
        &mut self,
        state: &State,
        (turn, child): (&TurnId, &TurnId),
        now: Millis,
    ) -> Result<Budget, BudgetLimit> {
        let Some(account) = self.account(&state.accounts, turn) else {
            return Ok(Budget::default());
        };
        let quarter = account.quarter(now)?;
        self.push(turn, What::Child(child.clone(), quarter));
        Ok(quarter)
    }

    fn push(&mut self, turn: &TurnId, what: What) {
        let turn = turn.clone();
        self.0.push(Reservation { turn, what });
    }

    /// The call of a turn does not begin.
    pub(super) fn give_back(&mut self, of: &TurnId) {
        let is_call = |it: &Reservation| matches!(it.what, What::Call(..));
        self.0.retain(|it| it.turn != *of || !is_call(it));
    }

    /// A child in the background does not begin.
    pub(super) fn take_back(&mut self, of: &TurnId) {
        self.0
            .retain(|it| !matches!(&it.what, What::Child(child, _) if child == of));
    }

    /// The log has an event now, and with it what was set aside for that.
    pub(super) fn is_kept(&mut self, event: &Event) {
        let Some(turn) = event.turn.as_ref().filter(|_| !self.0.is_empty()) else {
            return;
        };
        match event.kind {
            Kind::StepStarted { .. } => self.give_back(turn),
            Kind::TurnStarted { .. } => self.take_back(turn),
            Kind::TurnFinished { .. } => self.0.retain(|it| it.turn != *turn),
            _ => {}
        }
    }
}
