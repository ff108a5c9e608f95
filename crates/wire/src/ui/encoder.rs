//! From a session's log to the bytes of one turn's UI message stream.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use samovar_core::{CallId, Error, Event, Kind, MessageId, Role, Seq, TurnId};
use samovar_locale as locale;
use serde_json::{Map, Value};

use super::asking::Asking;
use super::chunk::{AgentChunk, UiChunk};
use super::rebuilt::Rebuilt;
use super::turn::{UiTurn, ended, summary};
use super::view::{Protocol, Subagents, UiView};
use crate::agent::Family;
use crate::{Spelling, sse};

/// Which part of a turn's stream is written. A turn that waits for the client ends its stream, and the
/// answer begins another one, a leg.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leg {
    /// Nothing up to this event is written: an earlier leg has it. 0 for the whole message.
    pub after: Seq,
    /// From this event on a turn that waits ends the stream; what it waited for earlier was answered.
    pub until: Seq,
}

/// Encodes one turn's stream. Its output depends only on its events, which must be those of the
/// session's log, in order, from the turn's start or earlier.
pub struct UiEncoder {
    turn: TurnId,
    view: UiView,
    leg: Leg,
    family: Family,
    root: UiTurn,
    /// What the turn itself asks where its client knows no approvals.
    asking: Asking,
    /// The agents that work for the turn.
    children: BTreeMap<TurnId, Child>,
    /// The turn whose message has a call, and the turn of each message.
    callers: HashMap<CallId, TurnId>,
    writers: HashMap<MessageId, TurnId>,
    is_begun: bool,
    is_over: bool,
}

/// A called agent.
struct Child {
    turn: UiTurn,
    seq: u64,
    status: &'static str,
    /// What it said last.
    summary: String,
    asking: Asking,
    rebuilt: Rebuilt,
}

impl UiEncoder {
    /// A turn without events.
    pub fn new(turn: TurnId, view: UiView, leg: Leg) -> Self {
        Self {
            root: UiTurn::new(turn.clone(), view.protocol, false),
            family: Family::new(turn.clone()),
            asking: Asking::default(),
            turn,
            view,
            leg,
            children: BTreeMap::new(),
            callers: HashMap::new(),
            writers: HashMap::new(),
            is_begun: leg.after == Seq::default(),
            is_over: false,
        }
    }

    /// Whether the turn waits for the client, after the events that were taken.
    pub fn is_parked(&self) -> bool {
        self.root.is_parked()
    }

    /// Keeps what was appended for an event, unless an earlier leg has it.
    fn write(&mut self, at: Seq, begun: usize, out: &mut Vec<u8>) {
        if at <= self.leg.after {
            out.truncate(begun);
            return;
        }
        if !self.is_begun && out.len() > begun {
            self.is_begun = true;
            let own = out.split_off(begun);
            sse::frame(None, &self.root.begins_again(), out);
            out.extend(own);
        }
        if self.is_over {
            sse::done(None, out);
        }
    }

    /// Learns which turn made which call.
    fn learn(&mut self, event: &Event) {
        let (Kind::MessageFinished { message, .. }, Some(turn)) = (&event.kind, &event.turn) else {
            return;
        };
        if message.role != Role::Assistant {
            return;
        }
        self.writers.insert(message.id.clone(), turn.clone());
        for call in message.calls() {
            self.callers.insert(call.id.clone(), turn.clone());
        }
    }

    fn take_below(&mut self, turn: &TurnId, event: &Event, out: &mut Vec<u8>) {
        let UiView {
            protocol,
            subagents,
        } = self.view;
        let child = self.children.entry(turn.clone());
        let child = child.or_insert_with(|| Child::new(turn.clone(), protocol));
        child.meet(event, &self.callers, &self.writers);
        let mut own = Vec::new();
        child.turn.take(event, &mut own);
        for chunk in &own {
            if subagents == Subagents::Messages {
                child.rebuilt.take(chunk);
                continue;
            }
            child.seq += 1;
            let data = AgentChunk {
                message_id: child.turn.id(),
                agent: child.turn.about(),
                seq: child.seq,
                chunk,
            };
            let transient = true;
            sse::frame(None, &UiChunk::SubagentChunk { data, transient }, out);
        }
        let mut chunks = Vec::new();
        child.asking.take(&child.turn, event, &mut chunks);
        match subagents {
            Subagents::Chunks if child.changes(event) => chunks.push(child.part(None)),
            Subagents::Messages if child.changes(event) || child.is_news(event) => {
                let message = child.rebuilt.show(child.turn.id(), event.at);
                chunks.push(child.part(Some(message)));
            }
            Subagents::Chunks | Subagents::Messages => {}
        }
        put(&chunks, out);
    }
}

fn put(chunks: &[UiChunk<'_>], out: &mut Vec<u8>) {
    for chunk in chunks {
        sse::frame(None, chunk, out);
    }
}

impl Spelling for UiEncoder {
    type Item = Arc<Event>;

    fn take(&mut self, event: &Arc<Event>, out: &mut Vec<u8>) {
        if self.is_over {
            return;
        }
        let begun = out.len();
        let is_ours = self.family.admit(event);
        self.learn(event);
        let mut chunks = Vec::new();
        match (&event.kind, &event.turn) {
            (Kind::SessionClosed, _) => {
                let error_text = locale::session::deleted().into();
                chunks.push(UiChunk::Error { error_text });
                self.is_over = true;
            }
            (kind, Some(turn)) if *turn == self.turn => {
                self.root.take(event, &mut chunks);
                let is_decision =
                    matches!(kind, Kind::ApprovalAsked { .. } | Kind::CallApproved { .. });
                if self.view.protocol == Protocol::V5 && is_decision {
                    self.asking.take(&self.root, event, &mut chunks);
                }
            }
            (_, Some(turn)) if is_ours => self.take_below(turn, event, out),
            _ => {}
        }
        if !self.is_over && self.root.is_parked() {
            self.root.park(&mut chunks);
            if event.seq >= self.leg.until {
                chunks.push(self.root.pause());
                self.is_over = true;
            }
        }
        self.is_over |= self.root.is_over();
        put(&chunks, out);
        self.write(event.seq, begun, out);
    }

    fn abort(&mut self, error: &Error, out: &mut Vec<u8>) {
        if self.is_over {
            return;
        }
        self.is_over = true;
        let error_text = Cow::Borrowed(error.message.as_ref());
        sse::frame(None, &UiChunk::Error { error_text }, out);
        sse::done(None, out);
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

impl Child {
    fn new(turn: TurnId, protocol: Protocol) -> Self {
        Self {
            turn: UiTurn::new(turn, protocol, true),
            seq: 0,
            status: "queued",
            summary: String::new(),
            asking: Asking::default(),
            rebuilt: Rebuilt::default(),
        }
    }

    /// Learns from its beginning which call it answers, and in whose message.
    fn meet(
        &mut self,
        event: &Event,
        callers: &HashMap<CallId, TurnId>,
        writers: &HashMap<MessageId, TurnId>,
    ) {
        match &event.kind {
            Kind::MessageFinished { message, .. } if self.status == "queued" => {
                let known = message.metadata.get("agent");
                let call = known.and_then(|agent| agent["toolCallId"].as_str());
                let parent = message.parent.as_ref();
                let parent = parent.and_then(|message| writers.get(message));
                if let (Some(call), Some(parent)) = (call, parent) {
                    self.turn.answers(call, parent.as_str());
                }
                self.turn.introduce(&event.agent, None);
            }
            Kind::TurnStarted {
                parent_call: Some(call),
                ..
            } => {
                let parent = callers.get(call).map_or("", TurnId::as_str);
                self.turn.answers(call.as_str(), parent);
            }
            _ => {}
        }
    }

    /// Whether its part has to be shown again.
    fn changes(&mut self, event: &Event) -> bool {
        let before = self.status;
        match &event.kind {
            Kind::MessageFinished { message, .. } if message.role == Role::Assistant => {
                let text = message.text();
                if !text.is_empty() {
                    self.summary = summary(&text);
                }
                return true;
            }
            Kind::TurnStarted { .. } => self.status = "running",
            Kind::TurnFinished { reason, .. } => {
                self.status = ended(reason);
            }
            Kind::ApprovalAsked { .. }
            | Kind::CallApproved { .. }
            | Kind::CallStarted { .. }
            | Kind::CallClosed { .. } => {
                let is_waiting = !self.asking.is_empty();
                self.status = if is_waiting { "waiting" } else { "running" };
            }
            _ => {}
        }
        self.status != before
    }

    /// Whether its message has to be shown again.
    fn is_news(&self, event: &Event) -> bool {
        match event.kind {
            Kind::CallClosed { .. } | Kind::TurnFinished { .. } => true,
            Kind::Delta { .. } => self.rebuilt.has_grown(event.at),
            _ => false,
        }
    }

    fn part(&self, message: Option<Value>) -> UiChunk<'static> {
        let mut data = Map::new();
        data.insert("messageId".into(), self.turn.id().into());
        data.insert("agent".into(), self.turn.about().clone().into());
        data.insert("status".into(), self.status.into());
        data.insert("summary".into(), self.summary.as_str().into());
        data.insert("usage".into(), self.turn.usage());
        if let Some(message) = message {
            data.insert("message".into(), message);
        }
        UiChunk::Subagent {
            id: self.turn.id().to_owned(),
            data: data.into(),
        }
    }
}
