//! Logs that a killed server left, and what is seen of a turn.

use std::sync::{Arc, Mutex};

use samovar_core::error::FaultCode;
use samovar_core::event::Fragment;
use samovar_core::journal::Batch;
use samovar_core::{
    AgentPath, Approval, Author, Bounds, CallId, Closer, Effect, Epoch, Event, FinishReason, Kind,
    Limits, Message, MessageId, Millis, Outcome, Part, Role, Seq, Status, ToolCall, ToolReply,
    TurnId,
};
use samovar_doubles::{Disk, TestTool};
use serde_json::{Map, json};

use crate::rig::{disk, named};

/// A time that no sweep has reached yet.
const NOW: Millis = Millis(4_000_000_000_000);

/// What was called, and under which key.
pub(crate) type Ran = Arc<Mutex<Vec<(String, CallId)>>>;

/// Stores whose session `s` has a turn `t` that the server was killed under; `live` are the deltas
/// after the facts.
pub(crate) async fn cut(facts: Vec<Kind>, live: Vec<Kind>) -> Disk {
    let disk = disk();
    keep_cut(&disk, "s", facts, live).await;
    disk
}

/// Keeps a session whose turn was cut.
pub(crate) async fn keep_cut(disk: &Disk, name: &str, facts: Vec<Kind>, live: Vec<Kind>) {
    let mut all = vec![(None, opened())];
    let message = format!("m-{name}");
    let first = [said(&message, "go"), started()];
    all.extend(first.into_iter().chain(facts).map(|kind| (Some("t"), kind)));
    let behind = all.len() as u64 + 1;
    let batch = batch(disk, name, 1, all);
    let live = live.into_iter().map(|kind| (Some("t"), kind));
    let batch = Batch {
        folded: events(behind, live),
        open_from: Some(Seq(2)),
        ..batch
    };
    disk.journal().commit(batch).await.unwrap();
}

/// Keeps a log whose only turn is not over.
pub(crate) async fn keep(disk: &Disk, name: &str, kinds: Vec<(Option<&str>, Kind)>) {
    let batch = Batch {
        open_from: Some(Seq(2)),
        ..batch(disk, name, 1, kinds)
    };
    disk.journal().commit(batch).await.unwrap();
}

/// What one commit keeps of a log, in which nothing is open then.
pub(crate) fn batch(disk: &Disk, name: &str, from: u64, kinds: Vec<(Option<&str>, Kind)>) -> Batch {
    let journal = disk.journal();
    let entry = journal.entry(&named(name)).unwrap();
    Batch {
        log: entry.map_or_else(|| journal.new_log(), |entry| entry.log),
        session: named(name),
        events: events(from, kinds),
        folded: Vec::new(),
        open_from: None,
    }
}

fn events<'a>(
    from: u64,
    kinds: impl IntoIterator<Item = (Option<&'a str>, Kind)>,
) -> Vec<Arc<Event>> {
    let event = |(seq, (turn, kind)): (u64, (Option<&str>, Kind))| {
        Arc::new(Event {
            seq: Seq(seq),
            epoch: Epoch(1),
            at: NOW,
            turn: turn.map(turn_id),
            agent: AgentPath::root("master"),
            author: Author::User,
            kind,
        })
    };
    (from..).zip(kinds).map(event).collect()
}

/// How many events a session's log has; none when it was deleted.
pub(crate) fn head(disk: &Disk, name: &str) -> Option<u64> {
    let entry = disk.journal().entry(&named(name)).unwrap();
    let entry = entry.filter(|entry| !entry.deleted);
    entry.map(|entry| entry.head.0)
}

pub(crate) fn turn_id(turn: &str) -> TurnId {
    TurnId::new(turn).unwrap()
}

pub(crate) fn opened() -> Kind {
    Kind::SessionOpened {
        model: "scripted".to_owned(),
        route: None,
        metadata: Map::new(),
        system_prompt: None,
        approval: None,
        begun_by: None,
    }
}

pub(crate) fn message(id: &str, role: Role, parts: Vec<Part>) -> Message {
    Message::new(MessageId::new(id).unwrap(), role, parts, NOW)
}

pub(crate) fn said(id: &str, text: &str) -> Kind {
    let text = text.to_owned();
    Kind::finished(message(id, Role::User, vec![Part::text(text)]))
}

pub(crate) fn started() -> Kind {
    Kind::TurnStarted {
        model: "scripted".to_owned(),
        route: None,
        limits: Limits::default(),
        approval: Approval::Auto,
        bounds: Bounds::default(),
        parent_call: None,
        background: false,
        definition: None,
    }
}

pub(crate) fn step() -> Kind {
    Kind::StepStarted {
        iteration: 1,
        attempt: 1,
        reserved_tokens: 4096,
        model: None,
        route: None,
        quote: None,
        told: None,
    }
}

pub(crate) fn call_id(name: &str) -> CallId {
    CallId::new(&format!("call_{name}")).unwrap()
}

/// The model asked for one call of each of these tools.
pub(crate) fn asked_for(names: &[&str]) -> Kind {
    let call = |name: &&str| Part::Call(ToolCall::new(call_id(name), *name, json!({})));
    let parts = names.iter().map(call).collect();
    Kind::finished(message("a", Role::Assistant, parts))
}

pub(crate) fn begun(name: &str, effect: Effect) -> Kind {
    Kind::CallStarted {
        call: call_id(name),
        name: name.to_owned(),
        effect,
        args_hash: String::new(),
        closer: Closer::Tool,
        deadline: None,
        probe: None,
        grounds: None,
        tainted: false,
    }
}

/// A call that somebody outside is to close.
pub(crate) fn left_open(name: &str) -> Kind {
    let mut begun = begun(name, Effect::Idempotent);
    if let Kind::CallStarted { closer, .. } = &mut begun {
        *closer = Closer::Outside;
    }
    begun
}

pub(crate) fn live(text: &str) -> Vec<Kind> {
    let id = || MessageId::new("half").unwrap();
    let delta = |text: &str| Kind::Delta {
        message: id(),
        part: 0,
        fragment: Fragment::Text(text.to_owned()),
    };
    let begin = Kind::MessageStarted {
        message: id(),
        role: Role::Assistant,
    };
    [begin]
        .into_iter()
        .chain(text.split_inclusive(' ').map(delta))
        .collect()
}

/// A tool that notes its calls.
pub(crate) fn noting(name: &'static str, ran: &Ran) -> TestTool {
    let ran = ran.clone();
    TestTool::new(name, move |_, context| {
        ran.lock().unwrap().push((name.to_owned(), context.key));
        async { ToolReply::Closed(Outcome::done("did it")) }
    })
}

pub(crate) fn outcomes(kinds: &[Kind]) -> Vec<(String, Status)> {
    let closed = kinds.iter().filter_map(|kind| match kind {
        Kind::CallClosed { name, outcome, .. } => Some((name.clone(), outcome.status)),
        _ => None,
    });
    let mut closed: Vec<_> = closed.collect();
    closed.sort_by(|one, other| one.0.cmp(&other.0));
    closed
}

pub(crate) fn continued(kinds: &[Kind]) -> Vec<u32> {
    let count = |kind: &Kind| match kind {
        Kind::TurnContinued { in_a_row } => Some(*in_a_row),
        _ => None,
    };
    kinds.iter().filter_map(count).collect()
}

pub(crate) fn end(kinds: &[Kind]) -> (FinishReason, Option<FaultCode>) {
    match kinds.last() {
        Some(Kind::TurnFinished { reason, fault, .. }) => {
            (reason.clone(), fault.as_ref().map(|fault| fault.code))
        }
        other => panic!("{other:?}"),
    }
}
