//! The budget of the tree that a turn belongs to: set aside before each model call, and settled after
//! it (SA-12).

use std::future::{Future, pending};
use std::time::Duration;

use samovar_core::{
    Author, Bounds, Broken, Budget, BudgetLimit, Entry, FinishReason, Kind, Message, Model, Price,
    PromptHashes, Quote, TurnId, planted,
};

use super::state::Runner;
use crate::budget::{Account, Ask};
use crate::context;
use crate::delegation::Refusal;
use crate::log::Draft;
use crate::state::Queued;
use crate::turn::Turn;

impl Runner {
    /// Notes that the model is to be asked, or that the budget has no room for that. Messages that join
    /// the turn come first, after the results of its calls, and share the commit (ADR 11).
    pub(super) async fn begin_step(&mut self, started: Kind) -> Result<(), Broken> {
        if self.is_budgeted() {
            // What the last call used is kept before others may use what it has left over.
            self.keep().await?;
        }
        // What joins is a part of the prompt; without room for it, it waits again at the turn's end.
        let steering = self.take_steering();
        let steering_tokens = steering.iter().map(|one| context::tokens(&one.message));
        let started = match self.reserve(started, steering_tokens.sum()) {
            Ok(started) => started,
            Err(limit) => {
                self.cut(limit);
                return Ok(());
            }
        };
        for queued in steering {
            let joined = Kind::MessageFinished {
                message: Message::clone(&queued.message),
                bounds: Bounds::default(),
                entry: Entry::Joined,
                situation: None,
            };
            // The end comes second: where only a part can be kept, it is never without the message.
            self.note_by(Author::User, joined);
            planted!("steers-twice", {
                continue;
            });
            self.pending.push(Draft {
                turn: Some(queued.turn),
                ..self.draft(Author::System, Turn::new().ended(FinishReason::Steered))
            });
        }
        self.note(started);
        Ok(())
    }

    /// The messages that are to join the turn. What people say is for the session's own agent.
    fn take_steering(&self) -> Vec<Queued> {
        if self.agent.depth() > 0 {
            return Vec::new();
        }
        self.session.state.take_steering()
    }

    /// Whether an account limits what it uses.
    pub(super) fn is_budgeted(&self) -> bool {
        self.session.state.lock().account(&self.turn_id).is_some()
    }

    /// The step with what the call may cost, and with as long an answer as the budget has room for.
    fn reserve(&mut self, mut started: Kind, steering: u64) -> Result<Kind, BudgetLimit> {
        let Kind::StepStarted {
            iteration,
            attempt,
            reserved_tokens,
            model,
            route,
            quote,
            told,
        } = &mut started
        else {
            return Ok(started);
        };
        let hashes = self.hashes();
        *told = (self.turn.told() != Some(&hashes)).then_some(hashes);
        let name = route.as_deref().or(model.as_deref());
        let price = self.parts.models.price(name.unwrap_or(self.turn.route()));
        if !self.is_budgeted() {
            *quote = unbudgeted(price);
            return Ok(started);
        }
        let longest = u32::try_from(*reserved_tokens).unwrap_or(u32::MAX);
        let prompt = context::size(&self.prompt(longest)) + steering;
        let ask = Ask {
            iteration: *iteration,
            attempt: *attempt,
            prompt,
            answer: *reserved_tokens,
            price,
        };
        let state = &self.session.state;
        let answer = state.reserve(&self.turn_id, &ask, self.now())?;
        *reserved_tokens = answer.unwrap_or(*reserved_tokens);
        *quote = Some(Quote {
            prompt_tokens: Some(prompt),
            price,
        });
        Ok(started)
    }

    /// The hashes of what its model is told now: they are made again when it is offered other tools.
    fn hashes(&mut self) -> PromptHashes {
        let offered = self.offered();
        match &self.hashed {
            Some((of, hashes)) if *of == offered => hashes.clone(),
            _ => {
                let hashes = self.told.hashes(&offered);
                self.hashed = Some((offered, hashes.clone()));
                hashes
            }
        }
    }

    /// Ends the turn, whose budget has no room for more.
    pub(super) fn cut(&mut self, limit: BudgetLimit) {
        self.note(self.turn.cut(limit));
    }

    /// Completes when the time of the budget is over; never without a limit of time.
    pub(super) fn out_of_time(&self) -> impl Future<Output = ()> + use<> {
        let deadline = {
            let state = self.session.state.lock();
            state.account(&self.turn_id).and_then(Account::deadline)
        };
        let now = self.now();
        let left = deadline.map(|at| u64::try_from(at.0.saturating_sub(now.0)).unwrap_or(0));
        async move {
            match left {
                Some(left) => tokio::time::sleep(Duration::from_millis(left)).await,
                None => pending().await,
            }
        }
    }

    /// Whether a model cannot be asked because its price is unknown and the budget limits money.
    pub(super) fn is_unpriced(&self, model: &Model) -> bool {
        let limits_cost = {
            let state = self.session.state.lock();
            let account = state.account(&self.turn_id);
            account.is_some_and(Account::limits_cost)
        };
        limits_cost && self.parts.models.price(&model.route).is_none()
    }

    /// The budget with which a child begins: a quarter of what is left for one in the background, and
    /// none for others, which draw from their caller's.
    pub(super) fn allot(
        &self,
        model: &Model,
        in_background: Option<&TurnId>,
    ) -> Result<Budget, Refusal> {
        let (state, now) = (&self.session.state, self.now());
        let Some(account) = state.account(&self.turn_id) else {
            return Ok(Budget::default());
        };
        if self.is_unpriced(model) {
            let why = format!(
                "the price of {} is unknown, and the budget limits money",
                model.name
            );
            return Err(Refusal::of_budget(why));
        }
        let allotted = if let Some(child) = in_background {
            state.quarter(&self.turn_id, child, now)
        } else {
            let exhausted = account.left(now).exhausted();
            exhausted.map_or(Ok(Budget::default()), Err)
        };
        allotted.map_err(|limit| Refusal::of_budget(crate::delegation::no_room(limit)))
    }
}

/// What is known about a call that no budget limits.
pub(crate) fn unbudgeted(price: Option<Price>) -> Option<Quote> {
    let price = price.filter(|price| !price.is_free())?;
    Some(Quote {
        prompt_tokens: None,
        price: Some(price),
    })
}
