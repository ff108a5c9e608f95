//! A room: who may say what, where a reply goes, what a loss closes (RL-3, RL-4, RL-6 to RL-11).
//!
//! Pure: what happens goes in with its time, and a [`Step`] comes out. It changes the room only when
//! [`Room::apply`] is called with its changes, after its rows are kept; what cannot be kept has not
//! happened.

mod messages;
mod pending;
mod shape;
mod step;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use samovar_core::relay::{Envelope, HostKind, MessageKind, Payload, RelayCode, RelayRole};
use serde_json::json;

use crate::queue::{Disconnected, RowAddress};
use crate::row::{CheckedPayload, NewRow, note};
pub(crate) use messages::not_joined;
use pending::Pending;
pub(crate) use shape::{Join, MAX_ROOM_BYTES, Strictness, join as read_join, shown};
pub(crate) use step::{Change, Delivery, Key, Move, Refusal, RoomTime, Step, cost};
use step::{Source, Subject, payload};

#[cfg(test)]
mod tests;

/// What holds in a room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) strictness: Strictness,
    /// How long a host has to answer.
    pub(crate) reply_timeout: Duration,
    /// Members, at most; a host has its place whatever that says.
    pub(crate) max_members: usize,
    /// Requests of one agent that are open, at most.
    pub(crate) max_open: usize,
}

/// The room's study session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Study {
    None,
    /// It has a log of this id.
    Open(String),
    /// Its log could not be written, for this reason.
    Stopped(String),
}

/// A room's state.
pub(crate) struct Room {
    name: String,
    rules: Rules,
    agents: BTreeMap<Key, Agent>,
    host: Option<(Key, HostKind)>,
    last_number: u64,
    pending: Pending,
    starting: Option<Starting>,
    /// The request whose answer ends the study session.
    ending: Option<String>,
    study: Study,
}

/// An agent in the room.
struct Agent {
    number: u64,
    /// Its requests that are open.
    open: usize,
}

/// A `session.start` that the host has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Starting {
    request: String,
    /// Its rows, which go where the answer goes.
    rows: Vec<NewRow>,
    /// Whose study it is.
    about: Payload,
}

impl Room {
    pub(crate) fn new(name: String, rules: Rules) -> Self {
        Self {
            name,
            rules,
            agents: BTreeMap::new(),
            host: None,
            last_number: 0,
            pending: Pending::default(),
            starting: None,
            ending: None,
            study: Study::None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.host.is_none() && self.agents.is_empty()
    }

    pub(crate) fn host(&self) -> Option<(Key, HostKind)> {
        self.host
    }

    pub(crate) fn agents(&self) -> usize {
        self.agents.len()
    }

    pub(crate) fn study(&self) -> &Study {
        &self.study
    }

    /// The study session has a log now, of this id.
    pub(crate) fn begun(&mut self, study: String) {
        self.study = Study::Open(study);
    }

    /// The study session is over.
    pub(crate) fn ended(&mut self) {
        self.study = Study::None;
    }

    /// Everybody in it, the host first.
    pub(crate) fn members(&self) -> Vec<Key> {
        let host = self.host.map(|(key, _)| key);
        host.into_iter()
            .chain(self.agents.keys().copied())
            .collect()
    }

    /// When something happens by itself.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.pending.deadline()
    }

    /// The role of a member; none when it is not in the room.
    pub(crate) fn role(&self, key: Key) -> Option<RelayRole> {
        self.who(key).map(|who| who.role)
    }

    fn who(&self, key: Key) -> Option<Subject> {
        if self.host.is_some_and(|(host, _)| host == key) {
            return Some(Subject {
                key,
                role: RelayRole::Host,
                member: None,
            });
        }
        self.agent(key)
    }

    fn agent(&self, key: Key) -> Option<Subject> {
        let agent = self.agents.get(&key)?;
        Some(Subject {
            key,
            role: RelayRole::Agent,
            member: Some(agent.number),
        })
    }

    fn all_agents(&self) -> Vec<Subject> {
        let keys = self.agents.keys();
        keys.filter_map(|key| self.agent(*key)).collect()
    }

    /// Whether somebody new has room in this role.
    pub(crate) fn has_place(&self, key: Key, role: RelayRole) -> Result<(), Refusal> {
        let members = self.agents.len() + usize::from(self.host.is_some());
        let is_full = members >= self.rules.max_members;
        if role == RelayRole::Host || !is_full || self.role(key).is_some() {
            return Ok(());
        }
        let why = format!("the room has {members} members, which is all it can have");
        Err(Refusal::inactive(why))
    }

    /// A member comes in by its `relay.join`, which has a place (see [`Room::has_place`]) and is in no
    /// other role here.
    pub(crate) fn joined(
        &self,
        key: Key,
        role: RelayRole,
        asked: &Envelope,
        now: RoomTime,
    ) -> Step {
        let source = Source {
            key,
            id: asked.id.clone(),
        };
        let mut step = Step::new(now.wall, Some(source));
        let is_new = self.role(key).is_none();
        let who = self.who(key).unwrap_or_else(|| self.newcomer(key, role));
        step.received(who, asked, &Arc::new(CheckedPayload::of(&asked.payload)));
        if is_new {
            self.enter(&mut step, who, HostKind::Socket);
        }
        // The original's hosts are told their own word for it, `frontend`.
        let word = asked.payload.get("role").cloned();
        let fields = payload([
            ("role", word.unwrap_or_else(|| role.as_str().into())),
            ("sessionId", self.name.as_str().into()),
        ]);
        let told = Arc::new(CheckedPayload::of(&fields));
        let joined = Envelope::new(MessageKind::RelayJoined, fields).replying_to(asked.id.clone());
        step.deliver(who, Arc::new(joined), &told);
        step
    }

    /// A host in this process takes its place.
    pub(crate) fn attached(&self, key: Key, now: RoomTime) -> Step {
        let mut step = Step::new(now.wall, None);
        let who = self.newcomer(key, RelayRole::Host);
        self.enter(&mut step, who, HostKind::BuiltIn);
        step
    }

    fn newcomer(&self, key: Key, role: RelayRole) -> Subject {
        let member = match role {
            RelayRole::Host => None,
            RelayRole::Agent => Some(self.last_number + 1),
        };
        Subject { key, role, member }
    }

    fn enter(&self, step: &mut Step, who: Subject, kind: HostKind) {
        match (who.role, self.host) {
            (RelayRole::Host, Some((old, _))) => self.replace(step, old),
            (RelayRole::Host, None) | (RelayRole::Agent, _) => {}
        }
        let mut noted = payload([("role", who.role.as_str().into())]);
        if who.role == RelayRole::Host {
            noted.insert("kind".to_owned(), kind.as_str().into());
        }
        step.note(note::ENTERED, Some(who), &noted);
        step.changes.push(Change::Enter(who.key, who.role, kind));
    }

    /// The older host goes for a newer one (RL-4).
    fn replace(&self, step: &mut Step, old: Key) {
        let who = Subject {
            key: old,
            role: RelayRole::Host,
            member: None,
        };
        step.note(note::REPLACED, Some(who), &payload([]));
        let why = "another host has joined this room and takes its place";
        step.error(who, &Refusal::inactive(why), None);
        let why = "another host took the place of this one before it answered";
        self.abandon(step, why);
        step.changes.push(Change::Oust(old));
        step.closes.push((old, Disconnected::Replaced));
    }

    /// A member is there no longer; so many messages were on their way to it.
    pub(crate) fn left(&self, key: Key, undelivered: usize, now: RoomTime) -> Step {
        let mut step = Step::new(now.wall, None);
        let Some(who) = self.who(key) else {
            return step;
        };
        let noted = payload([("undelivered", json!(undelivered))]);
        match who.role {
            RelayRole::Host => {
                step.note(note::LEFT, Some(who), &noted);
                self.abandon(&mut step, "the host left before it answered");
            }
            RelayRole::Agent => {
                step.note(note::LEFT, Some(who), &noted);
                let mine = self.pending.iter().filter(|(_, asked)| asked.agent == key);
                for (id, asked) in mine {
                    // A session that begins or ends does so for the whole room.
                    let is_for_all = matches!(
                        asked.kind,
                        MessageKind::SessionStart | MessageKind::SessionEnd
                    );
                    if !is_for_all {
                        step.changes.push(Change::Forget(id.to_owned()));
                    }
                }
            }
        }
        step.changes.push(Change::Leave(key));
        step
    }

    /// Notes that older states were taken out of a member's queue for the one that comes.
    pub(crate) fn note_coalesced(&self, step: &mut Step, to: Key, logged: &[RowAddress]) {
        let mut by_file: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for RowAddress { session, index } in logged {
            by_file.entry(session).or_default().push(*index);
        }
        for (session, indexes) in by_file {
            let noted = payload([
                ("sessionId", session.into()),
                ("eventIndexes", json!(indexes)),
            ]);
            step.note(note::COALESCED, self.who(to), &noted);
        }
    }

    /// Answers all that the host has not (RL-8).
    fn abandon(&self, step: &mut Step, why: &str) {
        self.flush_start(step, |_| true);
        let refusal = Refusal::inactive(why);
        for (id, asked) in self.pending.iter() {
            if let Some(agent) = self.agent(asked.agent).filter(|_| asked.is_awaited()) {
                step.refuse(agent, &refusal, asked.asked_as.clone());
            }
            step.changes.push(Change::Forget(id.to_owned()));
        }
    }

    /// The rows of a `session.start` that comes to nothing go where all rows go now.
    fn flush_start(&self, step: &mut Step, is_it: impl Fn(&str) -> bool) {
        if let Some(starting) = self.starting.as_ref().filter(|start| is_it(&start.request)) {
            step.rows.extend(starting.rows.iter().cloned());
        }
    }

    /// Gives up what no host has answered in time.
    pub(crate) fn tick(&self, now: RoomTime) -> Step {
        let mut step = Step::new(now.wall, None);
        let seconds = self.rules.reply_timeout.as_secs_f64();
        let why = format!("host did not answer in {seconds} s");
        let refusal = Refusal::new(RelayCode::ToolExecutionFailed, why);
        let due = |(_, asked): &(&str, &pending::Request)| asked.deadline <= now.since;
        for (id, asked) in self.pending.iter().take_while(due) {
            self.flush_start(&mut step, |request| request == id);
            if asked.is_awaited() {
                let agent = self.agent(asked.agent);
                let noted = payload([("id", id.into()), ("type", asked.kind.as_str().into())]);
                step.note(note::TIMEOUT, agent, &noted);
                if let Some(agent) = agent {
                    step.error(agent, &refusal, asked.asked_as.clone());
                }
            }
            step.changes.push(Change::Forget(id.to_owned()));
        }
        step
    }

    /// A member is refused something, such as what is no message (RL-1).
    pub(crate) fn refused(
        &self,
        key: Key,
        refusal: &Refusal,
        reply_to: Option<String>,
        now: RoomTime,
    ) -> Step {
        let id = reply_to.clone();
        let mut step = Step::new(now.wall, Some(Source { key, id }));
        if let Some(who) = self.who(key) {
            step.refuse(who, refusal, reply_to);
        }
        step
    }

    /// What happens instead of a step whose rows cannot be kept: nothing of it but what is so anyway,
    /// and nobody waits in vain.
    pub(crate) fn failed(&self, step: &Step, why: &str) -> Step {
        let mut instead = Step::new(step.at, None);
        instead.changes.extend(step.facts());
        let is_study = matches!(self.study, Study::Open(_)) || step.log != Move::Stays;
        let refusal = Refusal::new(
            RelayCode::ToolExecutionFailed,
            format!("the study log cannot be written: {why}"),
        );
        let mut asked: Vec<(Key, Option<String>)> = Vec::new();
        if let Some(Source { key, id }) = &step.source {
            asked.push((*key, id.clone()));
        }
        let answered = step.deliveries.iter();
        let answered = answered.filter(|delivery| delivery.envelope.reply_to.is_some());
        asked.extend(answered.map(|delivery| (delivery.to, delivery.envelope.reply_to.clone())));
        if is_study {
            for (id, open) in self.pending.iter() {
                if open.is_awaited() {
                    asked.push((open.agent, open.asked_as.clone()));
                }
                instead.changes.push(Change::Forget(id.to_owned()));
            }
            let told: Vec<Key> = asked.iter().map(|(key, _)| *key).collect();
            let untold = self.agents.keys().filter(|key| !told.contains(key));
            asked.extend(untold.map(|key| (*key, None)));
            instead.changes.push(Change::Stop(why.to_owned()));
        }
        let mut told: Vec<(Key, Option<String>)> = Vec::new();
        for (key, id) in asked {
            if !told.contains(&(key, id.clone())) {
                instead.error_unkept(key, &refusal, id.clone());
                told.push((key, id));
            }
        }
        instead
    }

    /// Makes a step's changes.
    pub(crate) fn apply(&mut self, changes: Vec<Change>) {
        for change in changes {
            self.change(change);
        }
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Enter(key, RelayRole::Host, kind) => self.host = Some((key, kind)),
            Change::Enter(key, RelayRole::Agent, _) => {
                self.last_number += 1;
                let number = self.last_number;
                self.agents.insert(key, Agent { number, open: 0 });
            }
            Change::Leave(key) | Change::Oust(key) => {
                self.agents.remove(&key);
                self.host = self.host.filter(|(host, _)| *host != key);
            }
            Change::Remember(id, request, made) => {
                let is_awaited = request.is_awaited();
                if let Some(agent) = self.agents.get_mut(&request.agent).filter(|_| is_awaited) {
                    agent.open += 1;
                }
                self.pending.remember(id, request, made);
            }
            Change::Forget(id) => {
                let request = self.pending.forget(&id);
                self.is_over(&id, request);
            }
            Change::Answered(id) => {
                let request = self.pending.answered(&id);
                self.is_over(&id, request);
            }
            Change::Starting(starting) => self.starting = Some(starting),
            Change::Ending(request) => self.ending = Some(request),
            Change::Stop(why) => self.study = Study::Stopped(why),
        }
    }

    fn is_over(&mut self, id: &str, request: Option<pending::Request>) {
        if let Some(request) = request
            && request.is_awaited()
            && let Some(agent) = self.agents.get_mut(&request.agent)
        {
            agent.open = agent.open.saturating_sub(1);
        }
        if self
            .starting
            .as_ref()
            .is_some_and(|starting| starting.request == id)
        {
            self.starting = None;
        }
        if self.ending.as_deref() == Some(id) {
            self.ending = None;
        }
    }
}
