//! A host that is told what another one was told, and is held to what that one said.

use std::collections::VecDeque;

use samovar_core::Millis;
use samovar_core::relay::{
    Envelope, Host, HostContext, MessageGroup, MessageKind, PersonDeed, RelayRole,
};
use samovar_locale as locale;
use serde_json::Value;

use super::{Differs, person};
use crate::row::{self, Direction, Row, note};

/// Messages of the host that the log may have later, at most: an agent has far fewer requests open.
const MAX_AHEAD: usize = 4096;

/// From whose rows a log is played.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    /// From those of the host: what it got and what it sent.
    Host,
    /// From those of the agents, which a log of somebody else has alone.
    Agents,
}

/// A host while a log is played to it.
pub(super) struct Player<M> {
    view: View,
    make_host: M,
    host: Box<dyn Host>,
    /// What it has said and the log has not yet.
    said: VecDeque<Envelope>,
    /// When the log began.
    begun: Option<Millis>,
    /// What everybody gets was last found so in the log, and who has it.
    told: Option<(Envelope, Vec<Option<u64>>)>,
    /// Messages of the host that were compared.
    pub(super) compared: u64,
    is_ended: bool,
}

impl<M: Fn() -> Box<dyn Host>> Player<M> {
    pub(super) fn new(view: View, make_host: M) -> Self {
        Self {
            view,
            host: make_host(),
            make_host,
            said: VecDeque::new(),
            begun: None,
            told: None,
            compared: 0,
            is_ended: false,
        }
    }

    /// Plays a row; answers with what differs.
    pub(super) fn play(&mut self, row: &Row) -> Option<Differs> {
        let kind = MessageKind::from_word(&row.kind);
        self.begun = self.begun.or_else(|| row::at(row));
        match (self.direction(row), kind) {
            (Direction::Internal, _) => self.note(row),
            (Direction::Out, Some(kind)) if kind.group() == MessageGroup::ToHost => {
                self.tell(kind, row);
                let first = self.said.front().filter(|_| self.said.len() > MAX_AHEAD)?;
                return Some((brief(first), locale::replay::nothing().to_owned()));
            }
            (Direction::In, Some(kind)) if kind.group() == MessageGroup::ToAgents => {
                return self.hear(kind, row);
            }
            (Direction::In | Direction::Out, _) => {}
        }
        None
    }

    /// What the host has said behind the last row; none when nothing is missing.
    pub(super) fn missing(&self) -> Option<Differs> {
        let said = self.said.front().filter(|_| !self.is_ended)?;
        Some((brief(said), locale::replay::the_end().to_owned()))
    }

    /// Which way a row goes, seen from a relay with nothing but the host before it. A row of the
    /// other side goes no way.
    fn direction(&self, row: &Row) -> Direction {
        let is_of_host = row.role == Some(RelayRole::Host);
        match (self.view, row.direction) {
            (_, Direction::Internal) => Direction::Internal,
            (View::Host, direction) if is_of_host => direction,
            (View::Agents, Direction::In) if !is_of_host => Direction::Out,
            (View::Agents, Direction::Out) if !is_of_host => Direction::In,
            (View::Host | View::Agents, Direction::In | Direction::Out) => Direction::Internal,
        }
    }

    fn note(&mut self, row: &Row) {
        let is_new = row.kind == note::ENTERED && row.role == Some(RelayRole::Host);
        if is_new || row.kind == note::RESTARTED {
            self.host = (self.make_host)();
            let begun = self.begun.unwrap_or(Millis(0));
            self.host.resume(&row.session_id, begun);
            self.said.clear();
        }
        // A request to end it is none.
        self.is_ended |= row.direction == Direction::Internal && row.kind == note::ENDED;
    }

    fn tell(&mut self, kind: MessageKind, row: &Row) {
        let envelope = Envelope {
            kind,
            id: row.id.clone(),
            reply_to: row.reply_to.clone(),
            payload: row.payload.clone(),
        };
        let said = self.host.hear(&envelope, &context(row));
        self.said.extend(said);
    }

    fn hear(&mut self, kind: MessageKind, row: &Row) -> Option<Differs> {
        let found = Envelope {
            kind,
            id: None,
            reply_to: row.reply_to.clone(),
            payload: row.payload.clone(),
        };
        if self.is_told_again(&found, row.member) {
            return None;
        }
        if self.said.is_empty()
            && let Some(deed) = self.deed(&found, row)
        {
            let said = self.host.person(&deed, &context(row));
            self.said.extend(said.unwrap_or_default());
        }
        let Some(said) = self.said.pop_front() else {
            return Some((locale::replay::nothing().to_owned(), brief(&found)));
        };
        self.compared += 1;
        self.is_ended |= kind == MessageKind::SessionEnded;
        let differs = compare(&said, &found, self.view);
        self.told = (found.reply_to.is_none()).then(|| (found, vec![row.member]));
        differs
    }

    /// Whether another agent gets what everybody gets.
    fn is_told_again(&mut self, found: &Envelope, member: Option<u64>) -> bool {
        let told = self.told.as_mut().filter(|_| self.view == View::Agents);
        match told {
            Some((envelope, members)) if envelope == found && !members.contains(&member) => {
                members.push(member);
                true
            }
            Some(_) | None => false,
        }
    }

    /// What the person has done, when the host says this without being asked.
    fn deed(&mut self, found: &Envelope, row: &Row) -> Option<PersonDeed> {
        match found.kind {
            MessageKind::UserMessage => {
                let text = found.payload.get("text")?.as_str()?;
                Some(PersonDeed::Says(text.to_owned()))
            }
            MessageKind::StateUpdated => {
                let look = Envelope::new(MessageKind::SnapshotGet, serde_json::Map::new());
                let seen = self.host.hear(&look, &context(row));
                person::deed(&seen.first()?.payload, &found.payload)
            }
            other => match other.group() {
                MessageGroup::Relay | MessageGroup::ToHost | MessageGroup::ToAgents => None,
            },
        }
    }
}

fn context(row: &Row) -> HostContext {
    HostContext {
        now: row::at(row).unwrap_or(Millis(0)),
        room: row.relay_session_id.clone().unwrap_or_default(),
        study: row.session_id.clone(),
    }
}

/// Where two messages differ first.
fn compare(said: &Envelope, found: &Envelope, view: View) -> Option<Differs> {
    if said.kind != found.kind {
        return Some((brief(said), brief(found)));
    }
    if said.reply_to != found.reply_to {
        let to = |envelope: &Envelope| format!("replyTo {:?}", envelope.reply_to);
        return Some((to(said), to(found)));
    }
    let mut expected = said.payload.clone();
    // The relay itself says where the log lies.
    if view == View::Agents && said.kind == MessageKind::SessionEnded {
        for key in ["logFile", "stateReset"] {
            expected.remove(key);
            if let Some(value) = found.payload.get(key) {
                expected.insert(key.to_owned(), value.clone());
            }
        }
    }
    let (expected, found) = (
        Value::Object(expected),
        Value::Object(found.payload.clone()),
    );
    differs("payload", Some(&expected), Some(&found))
}

/// Where two values differ first, by the keys that lead there.
fn differs(path: &str, expected: Option<&Value>, found: Option<&Value>) -> Option<Differs> {
    if expected == found {
        return None;
    }
    match (expected, found) {
        (Some(Value::Object(expected)), Some(Value::Object(found))) => {
            let mut keys = expected.keys().chain(found.keys());
            keys.find_map(|key| {
                differs(&format!("{path}.{key}"), expected.get(key), found.get(key))
            })
        }
        (Some(Value::Array(expected)), Some(Value::Array(found))) => {
            let mut places = 0..expected.len().max(found.len());
            places.find_map(|at| differs(&format!("{path}[{at}]"), expected.get(at), found.get(at)))
        }
        (expected, found) => {
            let say = |value: Option<&Value>| match value {
                Some(value) => format!("{path} = {value}"),
                None => format!("no {path}"),
            };
            Some((say(expected), say(found)))
        }
    }
}

fn brief(envelope: &Envelope) -> String {
    let payload = Value::Object(envelope.payload.clone());
    format!("{} {payload}", envelope.kind.as_str())
}
