//! The account of a tree of turns: what its model calls have used, and what is set aside for those
//! that run (SA-12). Pure.

use std::collections::{HashMap, HashSet};

use samovar_core::budget::Used;
use samovar_core::error::FaultCode;
use samovar_core::history::TurnRow;
use samovar_core::{
    Bill, Budget, BudgetLimit, Kind, Millis, Price, Quote, Role, TurnId, Usage, Usd,
};

use crate::{answer, context};

#[cfg(test)]
mod tests;

/// What is set aside for one model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    iteration: u32,
    attempt: u32,
    quote: Quote,
    /// The longest answer, in tokens.
    answer: u64,
}

/// What a model call used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    tokens: u64,
    cost: Usd,
    /// Of `tokens`: those that no provider counted.
    estimated: u64,
}

/// What a turn wants to ask its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) iteration: u32,
    pub(crate) attempt: u32,
    /// The estimated size of the prompt, in tokens.
    pub(crate) prompt: u64,
    /// The longest answer that is wanted, in tokens.
    pub(crate) answer: u64,
    pub(crate) price: Option<Price>,
}

/// What a tree of turns may use, and what it has used.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Account {
    limit: Budget,
    began: Millis,
    used: Used,
    holds: HashMap<TurnId, Hold>,
}

impl Hold {
    /// The longest answer, in tokens.
    pub(crate) fn longest(&self) -> u64 {
        self.answer
    }

    /// What a step has set aside; `None` for another fact, or if nothing was known about the call.
    pub(crate) fn of(kind: &Kind) -> Option<Self> {
        match kind {
            Kind::StepStarted {
                iteration,
                attempt,
                reserved_tokens,
                quote: Some(quote),
                ..
            } => Some(Self {
                iteration: *iteration,
                attempt: *attempt,
                quote: *quote,
                answer: *reserved_tokens,
            }),
            _ => None,
        }
    }

    fn tokens(&self) -> u64 {
        let prompt = self.quote.prompt_tokens.unwrap_or_default();
        prompt.saturating_add(self.answer)
    }

    fn most(&self) -> Usd {
        let prompt = self.quote.prompt_tokens.unwrap_or_default();
        self.price().most(prompt, self.answer)
    }

    fn price(&self) -> Price {
        self.quote.price.unwrap_or_default()
    }

    /// What the call used, given the fact that ended it; `None` for a fact that ends no call.
    pub(crate) fn settled(&self, kind: &Kind) -> Option<Spent> {
        match kind {
            Kind::MessageFinished { message, .. } if message.role == Role::Assistant => {
                let usage = message.usage.unwrap_or_default();
                Some(self.counted(usage).unwrap_or_else(|| {
                    if answer::is_cut(message) {
                        return self.whole();
                    }
                    let answer = context::tokens(message).min(self.answer);
                    self.estimated(answer)
                }))
            }
            Kind::StepReset { usage, code, .. } => {
                let uncounted = || match code {
                    Some(code) if may_have_cost(*code) => self.whole(),
                    Some(_) | None => Spent::default(),
                };
                Some(self.counted(*usage).unwrap_or_else(uncounted))
            }
            Kind::TurnFinished { .. } => Some(self.whole()),
            _ => None,
        }
    }

    fn counted(&self, usage: Usage) -> Option<Spent> {
        (usage.total() > 0).then(|| Spent {
            tokens: usage.total(),
            cost: self.price().cost(&usage),
            estimated: 0,
        })
    }

    /// A call of which no provider told what it used counts as all that was set aside.
    pub(crate) fn whole(&self) -> Spent {
        self.estimated(self.answer)
    }

    fn estimated(&self, answer: u64) -> Spent {
        let Some(prompt) = self.quote.prompt_tokens else {
            return Spent::default(); // Without a budget nothing was estimated.
        };
        let tokens = prompt.saturating_add(answer);
        Spent {
            tokens,
            cost: self.price().most(prompt, answer),
            estimated: tokens,
        }
    }

    /// Adds what a call used to its turn's bill.
    pub(crate) fn charge(&self, bill: &mut Bill, spent: Spent) {
        if self.quote.price.is_some() {
            bill.cost = Some(bill.cost.unwrap_or_default().plus(spent.cost));
        }
        bill.estimated_tokens = bill.estimated_tokens.saturating_add(spent.estimated);
    }
}

/// Whether a provider may have begun to answer a call that ended like this.
fn may_have_cost(code: FaultCode) -> bool {
    match code {
        FaultCode::Interrupted
        | FaultCode::StreamCut
        | FaultCode::ProviderTimeout
        | FaultCode::BadResponse
        | FaultCode::EmptyAnswer => true,
        FaultCode::ProviderUnreachable
        | FaultCode::ProviderAuth
        | FaultCode::ProviderRateLimited
        | FaultCode::ProviderError
        | FaultCode::ProviderRejected
        | FaultCode::ContextFull
        | FaultCode::ImagesRefused
        | FaultCode::ModelNotFound
        | FaultCode::UnusableModel
        | FaultCode::UnusableAgent
        | FaultCode::StoreFailed
        | FaultCode::RecoveryExhausted
        | FaultCode::Internal => false,
    }
}

impl Account {
    pub(crate) fn new(limit: Budget, began: Millis) -> Self {
        Self {
            limit,
            began,
            used: Used::default(),
            holds: HashMap::new(),
        }
    }

    /// What is neither used nor set aside.
    pub(crate) fn left(&self, now: Millis) -> Budget {
        let held = self.holds.values().map(|hold| Used {
            tokens: hold.tokens(),
            cost: hold.most(),
            ..Used::default()
        });
        let used = held.fold(self.used, Used::plus);
        let wall_ms = u64::try_from(now.0.saturating_sub(self.began.0)).unwrap_or(0);
        self.limit.minus(Used { wall_ms, ..used })
    }

    /// When its time is over.
    pub(crate) fn deadline(&self) -> Option<Millis> {
        let wall = i64::try_from(self.limit.wall_ms?).unwrap_or(i64::MAX);
        Some(Millis(self.began.0.saturating_add(wall)))
    }

    /// Whether it limits money, so that every model in it needs a price.
    pub(crate) fn limits_cost(&self) -> bool {
        self.limit.cost.is_some()
    }

    /// What may be set aside for a model call, with the longest answer that there is room for.
    ///
    /// # Errors
    /// The limit that leaves no room.
    pub(crate) fn room_for(&self, ask: &Ask, now: Millis) -> Result<Hold, BudgetLimit> {
        let left = self.left(now);
        let is_new = ask.attempt == 1;
        if left.wall_ms == Some(0) {
            return Err(BudgetLimit::Wall);
        }
        if is_new && left.steps == Some(0) {
            return Err(BudgetLimit::Steps);
        }
        let mut answer = ask.answer.max(1);
        if let Some(tokens) = left.tokens {
            answer = answer.min(tokens.saturating_sub(ask.prompt));
        }
        if answer == 0 {
            return Err(BudgetLimit::Tokens);
        }
        if let Some(money) = left.cost {
            let price = ask.price.ok_or(BudgetLimit::Cost)?;
            let prompt = price.most(ask.prompt, 0);
            if prompt > money {
                return Err(BudgetLimit::Cost);
            }
            answer = answer.min(price.answer_for(money.minus(prompt)));
            // Each of the two was rounded up alone.
            while answer > 0 && price.most(ask.prompt, answer) > money {
                answer -= 1;
            }
        }
        if answer == 0 {
            return Err(BudgetLimit::Cost);
        }
        let quote = Quote {
            prompt_tokens: Some(ask.prompt),
            price: ask.price,
        };
        let (iteration, attempt) = (ask.iteration, ask.attempt);
        Ok(Hold {
            iteration,
            attempt,
            quote,
            answer,
        })
    }

    /// Sets aside what a call of a turn may use.
    pub(crate) fn hold(&mut self, turn: &TurnId, hold: Hold) {
        self.used.steps += u32::from(hold.attempt == 1);
        if let Some(before) = self.holds.insert(turn.clone(), hold) {
            self.spend(before.whole());
        }
    }

    /// A quarter of what is left, as the budget of a turn in the background.
    ///
    /// # Errors
    /// The limit of which there is not enough left.
    pub(crate) fn quarter(&self, now: Millis) -> Result<Budget, BudgetLimit> {
        let left = self.left(now);
        let quarter = Budget {
            steps: left.steps.map(|steps| steps / 4),
            tokens: left.tokens.map(|tokens| tokens / 4),
            cost: left.cost.map(|cost| Usd::from_nanos(cost.nanos() / 4)),
            wall_ms: left.wall_ms.map(|wall| wall / 4),
        };
        quarter.exhausted().map_or(Ok(quarter), Err)
    }

    /// Gives a part of it to another account, for good.
    pub(crate) fn give(&mut self, part: &Budget) {
        self.used = self.used.plus(given(part));
    }

    /// Takes in what happened in a turn that draws from it.
    pub(crate) fn take(&mut self, turn: &TurnId, kind: &Kind) {
        if let Some(hold) = Hold::of(kind) {
            let known = self.holds.get(turn);
            let is_known = known.is_some_and(|known| {
                (known.iteration, known.attempt) == (hold.iteration, hold.attempt)
            });
            if !is_known {
                self.hold(turn, hold);
            }
        }
        let settled = self.holds.get(turn).and_then(|hold| hold.settled(kind));
        if let Some(spent) = settled {
            self.holds.remove(turn);
            self.spend(spent);
        }
    }

    fn spend(&mut self, spent: Spent) {
        self.used = self.used.plus(Used {
            tokens: spent.tokens,
            cost: spent.cost,
            ..Used::default()
        });
    }
}

/// What a part of an account that was given away counts as.
pub(crate) fn given(part: &Budget) -> Used {
    Used {
        steps: part.steps.unwrap_or_default(),
        tokens: part.tokens.unwrap_or_default(),
        cost: part.cost.unwrap_or_default(),
        wall_ms: 0,
    }
}

/// What is left of the budget of a turn that is over, given all rows of its tree.
pub(crate) fn left_at_end(root: &TurnRow, rows: &[TurnRow]) -> Option<Budget> {
    let (Some((_, end)), Some(start)) = (&root.end, root.started_at) else {
        return None;
    };
    let mut tree = HashSet::from([&root.turn]);
    let mut used = root.used();
    // A turn is older than those that it calls.
    for row in rows {
        if !row
            .parent
            .as_ref()
            .is_some_and(|parent| tree.contains(parent))
        {
            continue;
        }
        used = used.plus(if row.budget.is_empty() {
            tree.insert(&row.turn);
            row.used()
        } else {
            given(&row.budget)
        });
    }
    let wall_ms = u64::try_from(end.0.saturating_sub(start.0)).unwrap_or(0);
    Some(root.budget.minus(Used { wall_ms, ..used }))
}
