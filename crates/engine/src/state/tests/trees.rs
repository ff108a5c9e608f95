//! Budgets of random trees: what is set aside before the log has it, and what the log says.

use samovar_core::budget::Used;
use samovar_core::error::FaultCode;
use samovar_core::{Budget, Price, Quote, Usd};

use super::*;
use crate::budget::{Ask, given};

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
    /// Which of the sums it belongs to.
    of: usize,
    /// Prompt and answer that are set aside.
    asking: Option<(u64, u64)>,
    iteration: u32,
    attempt: u32,
}

struct Tree {
    random: Random,
    shared: SharedState,
    events: Vec<Arc<Event>>,
    members: Vec<Member>,
    sums: Vec<Sums>,
}

fn turn(number: usize) -> TurnId {
    super::turn(&format!("t{number}"))
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
            shared: SharedState::new(State::new(8), Gauge::default()),
            events: Vec::new(),
            members: Vec::new(),
            sums: Vec::new(),
        };
        tree.join(Some(limit), 0);
        tree.happens(0, began(None, false, limit));
        tree
    }

    fn join(&mut self, own: Option<Budget>, above: usize) {
        let of = own.map_or(above, |limit| {
            let used = Used::default();
            self.sums.push(Sums { limit, used });
            self.sums.len() - 1
        });
        self.members.push(Member {
            id: turn(self.members.len()),
            of,
            asking: None,
            iteration: 0,
            attempt: 1,
        });
    }

    /// Keeps a fact of a turn.
    fn happens(&mut self, at: usize, kind: Kind) {
        let member = &self.members[at];
        let event = Arc::new(Event {
            seq: Seq(self.events.len() as u64 + 1),
            epoch: Epoch(1),
            at: Millis(0),
            turn: Some(member.id.clone()),
            agent: AgentPath::root("master"),
            author: Author::System,
            kind,
        });
        self.shared.apply(std::slice::from_ref(&event));
        self.events.push(event);
    }

    /// What is left for a turn; `None` where nothing limits it.
    fn left(&self, at: usize) -> Option<Budget> {
        let account = self.shared.account(&self.members[at].id);
        account.map(|account| account.left(Millis(0)))
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
        let Ok(longest) = self.shared.reserve(&member.id, &ask, Millis(0)) else {
            return;
        };
        let answer = longest.unwrap_or(answer);
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
        let (id, of) = (self.members[at].id.clone(), self.members[at].of);
        let number = self.members.len();
        let budget = if is_background {
            let child = turn(number);
            let Ok(quarter) = self.shared.quarter(&id, &child, Millis(0)) else {
                return;
            };
            self.sums[of].used = self.sums[of].used.plus(given(&quarter));
            quarter
        } else {
            Budget::default()
        };
        let call = call(&format!("c{number}"));
        self.happens(at, asks("asks", [call.clone()]));
        self.happens(at, calls(&call, Closer::Child));
        let begins = began(Some(call.id.clone()), is_background, budget);
        self.join(is_background.then_some(budget), of);
        self.happens(number, begins);
        if is_background {
            self.happens(at, closed(&call));
        }
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
            let at = self.members.iter().position(|member| member.of == of);
            let left = (!limit.is_empty()).then(|| limit.minus(total));
            assert_eq!(self.left(at.unwrap()), left);
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
        let left = tree.left(0);
        exhausted += u64::from(left.is_some_and(|left| left.exhausted().is_some()));
        let mut replayed = State::new(8);
        tree.events.iter().for_each(|event| replayed.apply(event));
        assert_eq!(*tree.shared.lock(), replayed, "seed {seed}");
    }
    assert!(exhausted > TREES / 20, "{exhausted} budgets were used up");
}
