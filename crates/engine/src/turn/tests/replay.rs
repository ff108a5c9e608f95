//! A turn in a world that answers at random and kills the server at random: every prefix of its log
//! replays to the same next step, and no prefix asks for what must not happen again.

use std::collections::HashSet;

use proptest::prelude::*;
use samovar_core::event::Fragment;
use samovar_core::{Role, Seq};

use super::*;

const MAX_ITERATIONS: u32 = 6;

/// One log while it is written, by the rules of the loop.
struct World {
    turn: Turn,
    log: Vec<Kind>,
    /// The next step behind each event.
    steps: Vec<Step>,
    /// Calls that the model asked for so far.
    calls: usize,
    /// Calls that had begun and must never begin again.
    begun_for_good: HashSet<CallId>,
    closed: HashSet<CallId>,
}

impl World {
    fn new() -> Self {
        let limits = Limits {
            max_iterations: MAX_ITERATIONS,
            reminders: Reminders {
                failed_call: true,
                cut_answer: true,
            },
            ..Limits::default()
        };
        let mut world = Self {
            turn: Turn::new(),
            log: Vec::new(),
            steps: Vec::new(),
            calls: 0,
            begun_for_good: HashSet::new(),
            closed: HashSet::new(),
        };
        world.happens(started(limits));
        world
    }

    fn happens(&mut self, kind: Kind) {
        match &kind {
            Kind::CallStarted { call, effect, .. } if *effect == Effect::Unsafe => {
                self.begun_for_good.insert(call.clone());
            }
            Kind::CallClosed { call, .. } => {
                self.closed.insert(call.clone());
            }
            _ => {}
        }
        self.turn.apply(&kind);
        self.log.push(kind);
        self.steps.push(self.turn.next());
    }

    /// Brings what comes next, chosen by a random number; whether there was anything.
    fn goes_on(&mut self, choice: u8) -> bool {
        if choice.is_multiple_of(11) && self.turn.next() != Step::Over {
            self.is_killed(choice);
            return true;
        }
        for noise in noise(choice) {
            self.happens(noise);
        }
        let next = match self.turn.next() {
            Step::CallModel { .. } => Some(self.model(choice)),
            Step::CallTools(calls) => tools(&calls[usize::from(choice) % calls.len()], choice),
            Step::Wait => self.open_call().map(closed_as),
            Step::Record(kind) => Some(kind),
            Step::Remind(reminder, words) => {
                let id = MessageId::new("r").unwrap();
                Some(Kind::finished(Message::of_reminder(
                    id,
                    reminder,
                    words,
                    Millis(0),
                )))
            }
            Step::Over => None,
        };
        next.map(|kind| self.happens(kind)).is_some()
    }

    fn model(&mut self, choice: u8) -> Kind {
        let code = match choice % 16 {
            3 => Some(FaultCode::ProviderTimeout),
            7 => Some(FaultCode::EmptyAnswer),
            5 => None,
            _ => {
                let wanted = usize::from(choice % 4);
                self.calls += wanted;
                let parts = (self.calls - wanted..self.calls).map(call).collect();
                return answer(parts, u64::from(choice));
            }
        };
        let usage = Usage {
            input: 3,
            ..Usage::default()
        };
        let (iteration, reason) = (self.turn.iteration(), "fault".to_owned());
        Kind::StepReset {
            iteration,
            usage,
            reason,
            code,
            context: None,
        }
    }

    fn open_call(&self) -> Option<CallId> {
        let mut open = self.turn.calls.iter();
        let open = open.find(|open| open.state != CallState::Closed)?;
        Some(open.call.id.clone())
    }

    /// The server is killed, and the next one takes the turn up: what it keeps is what the engine
    /// keeps then.
    fn is_killed(&mut self, choice: u8) {
        let parked = self.turn.is_parked();
        if choice.is_multiple_of(2) {
            self.happens(Kind::EventsLost { first: Seq(1) });
        }
        if parked {
            return;
        }
        if self.turn.is_asking() {
            let iteration = self.turn.iteration();
            self.happens(Kind::StepReset {
                iteration,
                usage: Usage::default(),
                reason: "interrupted".to_owned(),
                code: Some(FaultCode::Interrupted),
                context: None,
            });
        }
        for cut in self.turn.cut_calls() {
            if cut.effect == Effect::Unsafe {
                self.happens(closed_as(cut.call.id));
            }
        }
        let in_a_row = self.turn.continuations() + 1;
        self.happens(Kind::TurnContinued { in_a_row });
    }

    /// What may not be asked for, whatever happened.
    fn check(&self) -> Result<(), TestCaseError> {
        prop_assert!(self.turn.iteration() <= MAX_ITERATIONS);
        match self.turn.next() {
            Step::CallTools(calls) => {
                for call in calls {
                    prop_assert!(!self.begun_for_good.contains(&call.id), "{call:?} again");
                    prop_assert!(!self.closed.contains(&call.id), "{call:?} after its result");
                }
            }
            Step::Remind(reminder, _) => {
                prop_assert!(!self.turn.reminded.has(reminder), "reminded twice");
            }
            Step::Record(_) | Step::CallModel { .. } | Step::Wait | Step::Over => {}
        }
        Ok(())
    }
}

/// What a log has besides, which no step depends on.
fn noise(choice: u8) -> Vec<Kind> {
    let message = MessageId::new("a").unwrap();
    match choice % 5 {
        0 => vec![
            Kind::MessageStarted {
                message: message.clone(),
                role: Role::Assistant,
            },
            Kind::Delta {
                message,
                part: 0,
                fragment: Fragment::Text("half".to_owned()),
            },
        ],
        1 => vec![Kind::StateChanged { state: json!(1) }],
        // Somebody steers.
        2 => vec![Kind::finished(Message::new(
            MessageId::new("u").unwrap(),
            Role::User,
            Vec::new(),
            Millis(0),
        ))],
        _ => Vec::new(),
    }
}

/// A call is closed at once, or begins: for whoever closes it, of whichever class.
fn tools(call: &ToolCall, choice: u8) -> Option<Kind> {
    let number = call.id.as_str().strip_prefix("call_")?.parse().ok()?;
    let effect = match choice % 4 {
        0 if choice.is_multiple_of(8) => return Some(failed(number)),
        0 => return Some(closed(number)),
        1 => Effect::Unsafe,
        2 => Effect::Verifiable,
        _ => Effect::Idempotent,
    };
    let closer = if choice.is_multiple_of(3) {
        Closer::Outside
    } else {
        Closer::Tool
    };
    match begun(number, closer) {
        Kind::CallStarted {
            call,
            name,
            args_hash,
            deadline,
            ..
        } => Some(Kind::CallStarted {
            call,
            name,
            effect,
            args_hash,
            closer,
            deadline,
            probe: Some(json!({"before": null})),
            grounds: None,
            tainted: false,
        }),
        other => Some(other),
    }
}

fn closed_as(call: CallId) -> Kind {
    Kind::CallClosed {
        call,
        name: "tool".to_owned(),
        outcome: Outcome::done("ok"),
    }
}

/// The state as the journal gives it back.
fn replayed(log: &[Kind]) -> Turn {
    let mut turn = Turn::new();
    for kind in log {
        let stored = serde_json::to_string(kind).unwrap();
        turn.apply(&serde_json::from_str(&stored).unwrap());
    }
    turn
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Every prefix of a recorded log replays to the same next step, over any number of kills, and
    /// what must not happen twice is not asked for twice.
    #[test]
    fn every_prefix_of_a_log_replays_to_the_same_next_step(
        choices in prop::collection::vec(any::<u8>(), 1..120),
    ) {
        let mut world = World::new();
        for choice in choices {
            if !world.goes_on(choice) {
                break;
            }
            world.check()?;
        }
        for (length, step) in (1..).zip(&world.steps) {
            prop_assert_eq!(&replayed(&world.log[..length]).next(), step);
        }
        prop_assert_eq!(replayed(&world.log), world.turn);
    }
}
