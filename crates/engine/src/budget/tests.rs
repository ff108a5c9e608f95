//! Random trees of turns that draw from one account, against plain sums of their logs.

use std::sync::Arc;

use samovar_core::{
    AgentPath, Approval, Author, Bounds, CallId, Closer, Effect, Epoch, Event, Limits, Message,
    MessageId, Outcome, Seq,
};

use super::*;

/// Trees of one run.
const TREES: u64 = 100_000;
const PRICE: Price = Price {
    input: 700_001,
    output: 3_000_007,
    cache_read: 70_000,
    cache_write: 900_000,
};

/// A generator of numbers, always the same for one seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// What the log says of one account, added up without it.
#[derive(Clone, Copy, Default)]
struct Sums {
    limit: Budget,
    used: Used,
}

/// A turn of the tree.
struct Member {
    id: TurnId,
    purse: Purse,
    /// Which of the sums it belongs to.
    of: usize,
    /// Prompt and answer that are set aside.
    asking: Option<(u64, u64)>,
    iteration: u32,
    attempt: u32,
}

struct Tree {
    random: Random,
    events: Vec<Arc<Event>>,
    members: Vec<Member>,
    sums: Vec<Sums>,
}

fn turn(number: usize) -> TurnId {
    TurnId::new(&format!("t{number}")).unwrap()
}

fn began(call: Option<CallId>, background: bool, budget: Budget) -> Kind {
    Kind::TurnStarted {
        model: "m".to_owned(),
        route: None,
        limits: Limits {
            budget,
            ..Limits::default()
        },
        approval: Approval::Auto,
        bounds: Bounds::default(),
        parent_call: call,
        background,
        definition: None,
    }
}

impl Tree {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed * 2 + 1);
        let limit = Budget {
            steps: (random.below(3) > 0).then_some(1 + u32::try_from(random.below(20)).unwrap()),
            tokens: (random.below(3) > 0).then_some(1 + random.below(9_000)),
            cost: (random.below(3) > 0).then_some(Usd::from_nanos(1 + random.below(9_000_000))),
            wall_ms: None,
        };
        let mut tree = Self {
            random,
            events: Vec::new(),
            members: Vec::new(),
            sums: Vec::new(),
        };
        tree.join(Purse::new(limit, Millis(0)), Some(limit), 0);
        tree.happens(0, began(None, false, limit));
        tree
    }

    fn join(&mut self, purse: Purse, own: Option<Budget>, above: usize) {
        let of = own.map_or(above, |limit| {
            let used = Used::default();
            self.sums.push(Sums { limit, used });
            self.sums.len() - 1
        });
        self.members.push(Member {
            id: turn(self.members.len()),
            purse,
            of,
            asking: None,
            iteration: 0,
            attempt: 1,
        });
    }

    /// Keeps a fact of a turn, and lets its account take it in as the engine does.
    fn happens(&mut self, at: usize, kind: Kind) {
        let member = &self.members[at];
        member.purse.lock().take(&member.id, &kind);
        self.events.push(Arc::new(Event {
            seq: Seq(self.events.len() as u64 + 1),
            epoch: Epoch(1),
            at: Millis(0),
            turn: Some(member.id.clone()),
            agent: AgentPath::root("master"),
            author: Author::System,
            kind,
        }));
    }

    fn goes_on(&mut self) {
        let at = usize::try_from(self.random.below(self.members.len() as u64)).unwrap();
        match (self.members[at].asking, self.random.below(8)) {
            (None, 0..5) => self.ask(at),
            (None, choice) if self.members.len() < 8 => self.call(at, choice == 7),
            (Some(asked), choice) => self.hear(at, asked, choice),
            (None, _) => {}
        }
    }

    fn ask(&mut self, at: usize) {
        let (prompt, answer) = (self.random.below(900), 1 + self.random.below(900));
        let member = &mut self.members[at];
        let ask = Ask {
            iteration: member.iteration + u32::from(member.attempt == 1),
            attempt: member.attempt,
            prompt,
            answer,
            price: Some(PRICE),
        };
        let Ok(answer) = member.purse.lock().reserve(&member.id, &ask, Millis(0)) else {
            return;
        };
        (member.iteration, member.asking) = (ask.iteration, Some((prompt, answer)));
        self.sums[member.of].used.steps += u32::from(ask.attempt == 1);
        self.happens(
            at,
            Kind::StepStarted {
                iteration: ask.iteration,
                attempt: ask.attempt,
                reserved_tokens: answer,
                model: None,
                route: None,
                quote: Some(Quote {
                    prompt_tokens: Some(prompt),
                    price: Some(PRICE),
                }),
                told: None,
            },
        );
    }

    fn hear(&mut self, at: usize, (prompt, answer): (u64, u64), choice: u64) {
        let usage = Usage {
            input: self.random.below(prompt + 1),
            output: 1 + self.random.below(answer),
            ..Usage::default()
        };
        let reset = |code, usage| Kind::StepReset {
            iteration: 1,
            usage,
            reason: String::new(),
            code: Some(code),
            context: None,
        };
        let (kind, tokens, cost, attempt) = match choice {
            0 => (
                reset(FaultCode::Interrupted, Usage::default()),
                prompt + answer,
                PRICE.most(prompt, answer),
                2,
            ),
            1 => (
                reset(FaultCode::ProviderUnreachable, Usage::default()),
                0,
                Usd::default(),
                2,
            ),
            2 => (
                reset(FaultCode::StreamCut, usage),
                usage.total(),
                PRICE.cost(&usage),
                2,
            ),
            _ => {
                let id = MessageId::new("m").unwrap();
                let mut message = Message::new(id, Role::Assistant, Vec::new(), Millis(0));
                message.usage = Some(usage);
                (
                    Kind::finished(message),
                    usage.total(),
                    PRICE.cost(&usage),
                    1,
                )
            }
        };
        let member = &mut self.members[at];
        (member.asking, member.attempt) = (None, attempt);
        let used = &mut self.sums[member.of].used;
        (used.tokens, used.cost) = (used.tokens + tokens, used.cost.plus(cost));
        self.happens(at, kind);
    }

    fn call(&mut self, at: usize, is_background: bool) {
        let (purse, of) = (self.members[at].purse.clone(), self.members[at].of);
        let (purse, budget) = if is_background {
            let Ok(quarter) = purse.lock().quarter(Millis(0)) else {
                return;
            };
            self.sums[of].used = self.sums[of].used.plus(given(&quarter));
            (Purse::new(quarter, Millis(0)), quarter)
        } else {
            (purse, Budget::default())
        };
        let number = self.members.len();
        let call = CallId::new(&format!("c{number}")).unwrap();
        self.happens(
            at,
            Kind::CallStarted {
                call: call.clone(),
                name: "subAgent".to_owned(),
                effect: Effect::Unsafe,
                args_hash: String::new(),
                closer: Closer::Child,
                deadline: None,
                probe: None,
                grounds: None,
                tainted: false,
            },
        );
        if is_background {
            self.happens(
                at,
                Kind::CallClosed {
                    call: call.clone(),
                    name: "spawn".to_owned(),
                    outcome: Outcome::done("ok"),
                },
            );
        }
        self.join(purse, is_background.then_some(budget), of);
        self.happens(number, began(Some(call), is_background, budget));
    }

    /// What each account has used and set aside, by plain sums.
    fn total(&self, of: usize) -> Used {
        let asking = self.members.iter().filter(|member| member.of == of);
        asking.filter_map(|member| member.asking).fold(
            self.sums[of].used,
            |used, (prompt, answer)| Used {
                tokens: used.tokens + prompt + answer,
                cost: used.cost.plus(PRICE.most(prompt, answer)),
                ..used
            },
        )
    }

    fn check(&self) {
        for (of, Sums { limit, .. }) in self.sums.iter().enumerate() {
            let total = self.total(of);
            assert!(limit.steps.is_none_or(|most| total.steps <= most));
            assert!(limit.tokens.is_none_or(|most| total.tokens <= most));
            assert!(limit.cost.is_none_or(|most| total.cost <= most));
            let member = self.members.iter().find(|member| member.of == of).unwrap();
            assert_eq!(member.purse.lock().left(Millis(0)), limit.minus(total));
        }
    }
}

// proves SA-12
#[test]
fn no_random_tree_of_turns_exceeds_its_budget_and_its_log_gives_back_the_same_account() {
    let mut exhausted = 0;
    for seed in 1..=TREES {
        let mut tree = Tree::new(seed);
        for _ in 0..16 {
            tree.goes_on();
            tree.check();
        }
        let left = tree.members[0].purse.lock().left(Millis(0));
        exhausted += u64::from(left.exhausted().is_some());
        if seed % 8 > 0 {
            continue;
        }
        let replayed = replay(&tree.events);
        for member in &tree.members {
            let left = replayed
                .get(&member.id)
                .map(|purse| purse.lock().left(Millis(0)));
            let limits = !tree.sums[member.of].limit.is_empty();
            let live = limits.then(|| member.purse.lock().left(Millis(0)));
            assert_eq!(left, live, "seed {seed}");
        }
    }
    assert!(exhausted > TREES / 20, "{exhausted} budgets were used up");
}

// proves SA-12
#[test]
fn an_answer_gets_what_is_left_and_the_first_limit_without_room_is_named() {
    let ask = Ask {
        iteration: 1,
        attempt: 1,
        prompt: 100,
        answer: 50,
        price: Some(PRICE),
    };
    let unpriced = Ask { price: None, ..ask };
    let again = Ask { attempt: 2, ..ask };
    let none = Budget::default();
    let tokens = |tokens| Budget {
        tokens: Some(tokens),
        ..none
    };
    let cost = |nanos| Budget {
        cost: Some(Usd::from_nanos(nanos)),
        ..none
    };
    let steps = Budget {
        steps: Some(0),
        ..none
    };
    let wall = Budget {
        wall_ms: Some(10),
        ..none
    };
    // 100 tokens in cost 90,000 billionths at most, and 10 out 30,001.
    for (limit, ask, now, found) in [
        (none, ask, 0, Ok(50)),
        (tokens(150), ask, 0, Ok(50)),
        (tokens(101), ask, 0, Ok(1)),
        (tokens(100), ask, 0, Err(BudgetLimit::Tokens)),
        (cost(120_001), ask, 0, Ok(10)),
        (cost(120_000), ask, 0, Ok(9)),
        (cost(90_000), ask, 0, Err(BudgetLimit::Cost)),
        (cost(9_000_000), unpriced, 0, Err(BudgetLimit::Cost)),
        (steps, ask, 0, Err(BudgetLimit::Steps)),
        (steps, again, 0, Ok(50)),
        (wall, ask, 9, Ok(50)),
        (wall, ask, 10, Err(BudgetLimit::Wall)),
    ] {
        let mut account = Account::new(limit, Millis(0));
        let reserved = account.reserve(&turn(0), &ask, Millis(now));
        assert_eq!(reserved, found, "{limit:?}");
    }
}

// proves SA-12
#[test]
fn a_call_that_no_provider_counted_is_estimated_and_one_that_was_refused_costs_nothing() {
    let step = Kind::StepStarted {
        iteration: 1,
        attempt: 1,
        reserved_tokens: 50,
        model: None,
        route: None,
        quote: Some(Quote {
            prompt_tokens: Some(100),
            price: Some(PRICE),
        }),
        told: None,
    };
    let hold = Hold::of(&step).unwrap();
    let reset = |code| Kind::StepReset {
        iteration: 1,
        usage: Usage::default(),
        reason: String::new(),
        code: Some(code),
        context: None,
    };
    let id = MessageId::new("m").unwrap();
    let parts = vec![samovar_core::Part::text("123456")];
    let said = Message::new(id, Role::Assistant, parts, Millis(0));
    let cut = |reason: &str| {
        let reason = Some(reason.to_owned());
        Kind::finished(Message {
            finish_reason: reason,
            ..said.clone()
        })
    };
    for (kind, tokens) in [
        (cut("stop"), 114),
        // A call of which nothing was kept may have come after the words.
        (cut("cancelled"), 150),
        (cut("error"), 150),
        (cut("budget"), 150),
        (reset(FaultCode::Interrupted), 150),
        (reset(FaultCode::StreamCut), 150),
        (reset(FaultCode::ProviderRateLimited), 0),
        (Kind::finished(said.clone()), 114),
    ] {
        let spent = hold.settled(&kind).unwrap();
        assert_eq!(
            (spent.tokens, spent.estimated),
            (tokens, tokens),
            "{kind:?}"
        );
        let mut bill = Bill::default();
        hold.charge(&mut bill, spent);
        assert_eq!(bill.estimated_tokens, tokens);
    }
}

// proves SA-12
#[test]
fn what_was_given_to_a_turn_that_never_began_comes_back() {
    let limit = Budget {
        steps: Some(9),
        tokens: Some(1_000),
        cost: Some(Usd::from_nanos(1_000)),
        wall_ms: Some(1_000),
    };
    let mut account = Account::new(limit, Millis(0));
    let quarter = account.quarter(Millis(0)).unwrap();
    assert_ne!(account.left(Millis(0)), limit);

    account.take_back(&quarter);

    assert_eq!(account.left(Millis(0)), limit);
}
