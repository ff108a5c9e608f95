//! The accounts of a session's trees, as its log has them: which turn draws from which (SA-12).

use std::collections::BTreeMap;

use samovar_core::{Event, Kind, TurnId};

use crate::budget::Account;

/// The accounts of the trees that live, each by the turn that opened it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Accounts {
    open: BTreeMap<TurnId, Account>,
    /// From whose account a turn draws.
    of: BTreeMap<TurnId, TurnId>,
}

impl Accounts {
    /// The account from which a turn draws.
    pub(super) fn of(&self, turn: &TurnId) -> Option<&Account> {
        self.open.get(self.of.get(turn)?)
    }

    /// The turn that opened the account from which a turn draws.
    pub(super) fn owner(&self, turn: &TurnId) -> Option<&TurnId> {
        self.of.get(turn)
    }

    fn of_mut(&mut self, turn: &TurnId) -> Option<&mut Account> {
        self.open.get_mut(self.of.get(turn)?)
    }

    /// A turn begins, called by another one or by none. One in the background is given its budget out of
    /// its caller's; others that are called draw from their caller's account.
    pub(super) fn begin(&mut self, turn: &TurnId, caller: Option<&TurnId>, event: &Event) {
        let Kind::TurnStarted {
            limits,
            parent_call,
            background,
            ..
        } = &event.kind
        else {
            return;
        };
        let budget = &limits.budget;
        if parent_call.is_some() && !background {
            let owner = caller.and_then(|caller| self.of.get(caller)).cloned();
            if let Some(owner) = owner {
                self.of.insert(turn.clone(), owner);
            }
            return;
        }
        if let Some(above) = caller.and_then(|caller| self.of_mut(caller)) {
            above.give(budget);
        }
        if !budget.is_empty() {
            let account = Account::new(*budget, event.at);
            self.open.insert(turn.clone(), account);
            self.of.insert(turn.clone(), turn.clone());
        }
    }

    /// Takes in what happened in a turn.
    pub(super) fn take(&mut self, turn: &TurnId, kind: &Kind) {
        if let Some(account) = self.of_mut(turn) {
            account.take(turn, kind);
        }
        if matches!(kind, Kind::TurnFinished { .. }) {
            self.of.remove(turn);
            // What is below it then is stopped; the log may not go back to its beginning any more.
            if self.open.remove(turn).is_some() {
                self.of.retain(|_, owner| owner != turn);
            }
        }
    }
}
