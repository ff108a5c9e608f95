//! What the stream of the AI SDK costs: CPU time of encoding a turn of 6,000 deltas by eight called agents,
//! and of a turn that calls none.
//!
//! ```sh
//! cargo run --release -p samovar-wire --example ui_cost
//! ```

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::cast_precision_loss,
    reason = "it is a measurement that a person reads"
)]

use std::sync::Arc;
use std::time::Instant;

use samovar_core::event::{Author, Fragment, Limits, Reminders};
use samovar_core::{
    AgentPath, Approval, Bill, Bounds, Budget, CallId, Epoch, Event, FinishReason, Kind, Message,
    MessageId, Millis, Part, Role, Seq, ToolCall, TurnId, Usage,
};
use samovar_wire::Spelling as _;
use samovar_wire::ui::{Leg, Subagents, UiEncoder, UiView};

const CHILDREN: usize = 8;
const DELTAS: usize = 6000;
const ROUNDS: u32 = 20;

struct Log(Vec<Arc<Event>>);

impl Log {
    fn add(&mut self, turn: &TurnId, agent: &AgentPath, kind: Kind) {
        let seq = self.0.len() as u64 + 1;
        self.0.push(Arc::new(Event {
            seq: Seq(seq),
            epoch: Epoch(1),
            at: Millis(i64::try_from(seq).unwrap_or_default() * 2),
            turn: Some(turn.clone()),
            agent: agent.clone(),
            author: Author::Agent,
            kind,
        }));
    }

    fn begin(&mut self, turn: &TurnId, agent: &AgentPath, parent_call: Option<CallId>) {
        let limits = Limits {
            max_iterations: 9,
            max_output_tokens: 1000,
            budget: Budget::default(),
            temperature: 0.0,
            reminders: Reminders::default(),
        };
        let started = Kind::TurnStarted {
            model: "openai/any".to_owned(),
            route: None,
            limits,
            approval: Approval::Auto,
            bounds: Bounds::default(),
            parent_call,
            background: false,
            definition: None,
        };
        self.add(turn, agent, started);
        let step = Kind::StepStarted {
            iteration: 1,
            attempt: 1,
            reserved_tokens: 0,
            model: None,
            route: None,
            quote: None,
            told: None,
        };
        self.add(turn, agent, step);
    }

    fn end(&mut self, turn: &TurnId, agent: &AgentPath) {
        let finished = Kind::TurnFinished {
            reason: FinishReason::Model("stop".to_owned()),
            iterations: 1,
            usage: Usage::default(),
            fault: None,
            bill: Bill::default(),
        };
        self.add(turn, agent, finished);
    }
}

fn id<T: serde::de::DeserializeOwned>(text: &str) -> T {
    serde_json::from_value(text.into()).expect("an id")
}

fn delta(message: &MessageId) -> Kind {
    Kind::Delta {
        message: message.clone(),
        part: 0,
        fragment: Fragment::Text("ten bytes. ".to_owned()),
    }
}

/// A turn whose deltas are its own, or those of agents that it calls at once.
fn turn(children: usize) -> Vec<Arc<Event>> {
    let mut log = Log(Vec::new());
    let (root, master): (TurnId, _) = (id("turn-root"), AgentPath::root("master"));
    log.begin(&root, &master, None);
    let message: MessageId = id("message-root");
    let calls: Vec<CallId> = (0..children).map(|at| id(&format!("call-{at}"))).collect();
    let parts = calls.iter().map(|call| {
        let args = serde_json::json!({"name": "worker", "task": "do it"});
        Part::Call(ToolCall::new(call.clone(), "subAgent", args))
    });
    let asked = Message::new(message.clone(), Role::Assistant, parts.collect(), Millis(1));
    if children > 0 {
        log.add(&root, &master, Kind::finished(asked));
    }
    let agent = master.child("worker");
    let turns: Vec<TurnId> = (0..children).map(|at| id(&format!("turn-{at}"))).collect();
    for (turn, call) in turns.iter().zip(&calls) {
        log.begin(turn, &agent, Some(call.clone()));
    }
    for at in 0..DELTAS {
        match turns.get(at % children.max(1)) {
            Some(turn) => log.add(turn, &agent, delta(&id(&format!("message-{turn}")))),
            None => log.add(&root, &master, delta(&message)),
        }
    }
    for turn in &turns {
        log.end(turn, &agent);
    }
    log.end(&root, &master);
    log.0
}

fn main() {
    for (name, children, subagents) in [
        ("no agent called", 0, Subagents::Chunks),
        ("eight agents, as chunks", CHILDREN, Subagents::Chunks),
        ("eight agents, as messages", CHILDREN, Subagents::Messages),
    ] {
        let events = turn(children);
        let view = UiView {
            subagents,
            ..UiView::default()
        };
        let mut out = Vec::new();
        let begun = Instant::now();
        for _ in 0..ROUNDS {
            out.clear();
            let mut encoder = UiEncoder::new(id("turn-root"), view, Leg::default());
            for event in &events {
                encoder.take(event, &mut out);
            }
        }
        let each = begun.elapsed() / ROUNDS;
        let per_delta = each.as_secs_f64() * 1e6 / DELTAS as f64;
        let text = DELTAS * "ten bytes. ".len();
        println!(
            "{name}: {:.1} ms a turn of {DELTAS} deltas, {per_delta:.2} µs a delta, {:.1} bytes a byte of text",
            each.as_secs_f64() * 1e3,
            out.len() as f64 / text as f64,
        );
    }
}
