use samovar_core::{
    Bounds, Closer, Effect, Epoch, FinishReason, Limits, Millis, Part, Status, ToolCall, Usage,
};
use serde_json::{Value, json};

use super::*;
use crate::counts::Gauge;
use crate::log::master;

mod logs;
mod trees;

fn turn(name: &str) -> TurnId {
    TurnId::new(name).unwrap()
}

fn message(name: &str, role: Role, parts: Vec<Part>) -> Message {
    Message::new(MessageId::new(name).unwrap(), role, parts, Millis(0))
}

fn said(name: &str, entry: Entry) -> Kind {
    Kind::MessageFinished {
        message: message(name, Role::User, Vec::new()),
        bounds: Bounds::default(),
        entry,
        situation: None,
    }
}

fn started(parent_call: Option<CallId>) -> Kind {
    Kind::TurnStarted {
        model: "m".to_owned(),
        route: None,
        limits: Limits::default(),
        approval: Approval::Auto,
        bounds: Bounds::default(),
        parent_call,
        background: false,
        definition: None,
    }
}

fn over(reason: FinishReason) -> Kind {
    Kind::TurnFinished {
        reason,
        iterations: 1,
        usage: Usage::default(),
        fault: None,
        bill: samovar_core::Bill::default(),
    }
}

fn call(name: &str) -> ToolCall {
    ToolCall::new(CallId::new(name).unwrap(), "subAgent".to_owned(), json!({}))
}

fn asks(name: &str, calls: impl IntoIterator<Item = ToolCall>) -> Kind {
    let parts = calls.into_iter().map(Part::Call).collect();
    let mut asks = message(name, Role::Assistant, parts);
    asks.finish_reason = Some("tool_use".to_owned());
    Kind::finished(asks)
}

fn calls(call: &ToolCall, closer: Closer) -> Kind {
    Kind::CallStarted {
        call: call.id.clone(),
        name: call.name.clone(),
        effect: Effect::Verifiable,
        args_hash: String::new(),
        closer,
        deadline: None,
        probe: None,
        grounds: None,
        tainted: false,
    }
}

fn closed(call: &ToolCall) -> Kind {
    Kind::CallClosed {
        call: call.id.clone(),
        name: call.name.clone(),
        outcome: Outcome::done("done"),
    }
}

/// A log and the state that it makes.
struct Logged {
    events: Vec<Arc<Event>>,
    state: State,
}

impl Logged {
    fn new() -> Self {
        Self {
            events: Vec::new(),
            state: State::new(8),
        }
    }

    fn happens(&mut self, of: Option<&TurnId>, agent: &AgentPath, kind: Kind) {
        let author = match &kind {
            Kind::MessageFinished { message, .. } => Author::of(message.role),
            _ => Author::System,
        };
        let event = Event {
            seq: Seq(1 + self.events.len() as u64),
            epoch: Epoch(1),
            at: Millis(0),
            turn: of.cloned(),
            agent: agent.clone(),
            author,
            kind,
        };
        self.state.apply(&event);
        self.events.push(Arc::new(event));
    }

    /// A fact of a turn of the session's own agent.
    fn own(&mut self, of: &str, kind: Kind) {
        self.happens(Some(&turn(of)), &master(), kind);
    }

    /// Messages that wait, each under the name of its turn.
    fn waiting(entries: &[(&str, Entry)]) -> Self {
        let mut log = Self::new();
        for (name, entry) in entries {
            log.own(name, said(name, *entry));
        }
        log
    }
}

fn order(state: &State) -> Vec<&str> {
    let waiting = state.waiting().into_iter();
    waiting.map(|said| said.turn.as_str()).collect()
}

const MIXED: [(&str, Entry); 5] = [
    ("a", Entry::Own),
    ("s", Entry::Steers),
    ("i", Entry::Interrupts),
    ("b", Entry::Own),
    ("j", Entry::Interrupts),
];

// proves AS-11
#[test]
fn what_interrupts_goes_first_and_each_kind_keeps_its_order() {
    let mut log = Logged::waiting(&MIXED);
    assert!(log.state.interrupts());
    assert_eq!(order(&log.state), ["i", "j", "a", "s", "b"]);
    assert_eq!(log.state.actions(), [Action::Begin(turn("i"))]);

    log.own("i", started(None));
    log.own("j", over(FinishReason::Cancelled));

    assert!(!log.state.interrupts());
    assert_eq!(order(&log.state), ["a", "s", "b"]);
    let Action::Run(runs, Step::Record(_)) = &log.state.actions()[0] else {
        panic!("{:?}", log.state.actions());
    };
    assert_eq!(*runs, turn("i"));
    assert_eq!(
        log.state.actions().len(),
        1,
        "one turn of its own at a time"
    );
}

// proves AS-11, SA-10
#[test]
fn what_joins_a_turn_waits_no_more_and_is_known_as_a_part_of_it() {
    let mut log = Logged::waiting(&[("a", Entry::Own), ("s", Entry::Steers)]);
    log.own("a", started(None));
    log.own("a", said("s", Entry::Joined));
    log.own("s", over(FinishReason::Steered));

    assert_eq!(order(&log.state), [""; 0]);
    let known = log.state.recent.recall(&MessageId::new("s").unwrap());
    let known = known.map(|known| (known.turn.clone(), known.after));
    assert_eq!(known, Some((turn("a"), Seq(0))));
}

// proves AS-11
#[test]
fn what_the_running_turn_has_taken_is_nobody_elses_until_it_is_given_back() {
    let mut log = Logged::waiting(&MIXED);
    log.own("i", started(None));
    let shared = SharedState::new(log.state, Gauge::default());

    assert_eq!(shared.take_steering().len(), 1);
    assert_eq!(shared.take_out(&turn("s")), Removal::Joining);
    assert_eq!(shared.lock().waiting().len(), 4, "it may come back");
    shared.give_back();

    assert_eq!(shared.take_out(&turn("s")), Removal::Out);
    assert_eq!(shared.take_steering().len(), 0);
    shared.put_back();
    assert_eq!(shared.take_steering().len(), 1);
    assert_eq!(shared.take_out(&turn("i")), Removal::Nothing);
}

/// A turn with a call that a child answers.
fn delegating() -> (Logged, ToolCall) {
    let (mut log, call) = (Logged::waiting(&[("t", Entry::Own)]), call("call_1"));
    log.own("t", started(None));
    log.own("t", asks("answer", [call.clone()]));
    log.own("t", calls(&call, Closer::Child));
    (log, call)
}

// proves SA-7
#[test]
fn a_turn_whose_child_the_stores_have_lost_hears_so() {
    let (mut log, call) = delegating();

    log.state.miss_children();

    let ended: Vec<_> = log.state.ended().collect();
    assert_eq!((&ended[0].parent, &ended[0].call), (&turn("t"), &call.id));
    let said: Value = serde_json::from_str(&ended[0].outcome.text).unwrap();
    assert_eq!((ended.len(), &said["code"]), (1, &json!("SUBAGENT_LOST")));
}

// proves SA-7
#[test]
fn the_end_of_a_child_is_to_be_told_until_its_call_is_closed() {
    let (mut log, call) = delegating();
    let (child, agent) = (turn("u"), master().child("helper"));
    log.happens(Some(&child), &agent, said("task", Entry::Own));
    assert_eq!(order(&log.state), [""; 0], "no person waits for it");
    log.happens(Some(&child), &agent, started(Some(call.id.clone())));
    log.state.miss_children();
    assert_eq!(log.state.ended().count(), 0);
    let parent = log.state.turn(&child).unwrap().parent.clone();
    assert_eq!(parent, Some(turn("t")));

    log.happens(
        Some(&child),
        &agent,
        over(FinishReason::Model("stop".into())),
    );

    let Some(Action::Close(end)) = log.state.actions().into_iter().next() else {
        panic!("{:?}", log.state.actions());
    };
    assert_eq!((end.child, end.parent), (Some(child.clone()), turn("t")));
    assert_eq!(end.outcome.status, Status::Done);
    log.own("t", closed(&call));
    assert_eq!(log.state.ended().count(), 0);
}
