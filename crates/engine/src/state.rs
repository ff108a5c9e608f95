//! The state of a session: a fold of its log, the same while it runs and after a restart. Pure.
//!
//! [`State::apply`] takes what happened, [`State::actions`] says what is to be done; what runs, and
//! who waits for an answer, is the mailbox's.

use std::collections::BTreeMap;
use std::sync::Arc;

use samovar_core::history::SessionRow;
use samovar_core::{
    AgentPath, Approval, Author, Beginner, CallId, Entry, Event, Kind, Message, MessageId, Outcome,
    Role, Seq, SessionChange, SystemPrompt, TurnId, planted,
};

use self::accounts::Accounts;
use self::recent::Recent;
use crate::budget::Account;
use crate::context::Transcript;
use crate::delegation;
use crate::log::weight;
use crate::turn::{Step, Turn};

pub(crate) use self::queued::Queued;
pub(crate) use self::shared::{Claim, Removal, SharedState, StateGuard};

mod accounts;
mod compared;
mod queued;
pub(crate) mod recent;
mod reserved;
mod shared;
#[cfg(test)]
mod tests;

/// What is to be done for a session now.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Begin the turn of the message that is next.
    Begin(TurnId),
    /// Do what a turn is about to do.
    Run(TurnId, Step),
    /// Continue a turn, or end it, that ran when the server stopped.
    TakeUp(TurnId),
    /// Close a call of a turn, which a child has answered.
    Close(ChildEnd),
}

/// The end of a child that the turn which waits for it has not heard of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChildEnd {
    /// The child; `None` where the stores have lost it.
    pub(crate) child: Option<TurnId>,
    pub(crate) parent: TurnId,
    pub(crate) call: CallId,
    pub(crate) outcome: Outcome,
}

/// The state of a session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    /// The most messages in a window.
    max: usize,
    /// How its model is found.
    pub(crate) model: String,
    pub(crate) system_prompt: Option<SystemPrompt>,
    pub(crate) approval: Option<Approval>,
    /// Who began it; `None` where nothing says so.
    pub(crate) begun_by: Option<Beginner>,
    /// Whether text from outside may be in it.
    pub(crate) is_tainted: bool,
    /// What was accepted lately.
    pub(crate) recent: Recent,
    /// The turns that were accepted and are not over. In boxes, because the map has places for many
    /// turns, and an idle session has none.
    turns: BTreeMap<TurnId, Box<OpenTurn>>,
    ended: Vec<ChildEnd>,
    accounts: Accounts,
    /// What the session's own agent is shown.
    transcript: Transcript,
    /// The last event that was applied.
    at: Seq,
    /// The conversation was read from the history up to here.
    read_to: Seq,
    /// Whether a stop of the server cut the turns that ran: all that a restart must know besides.
    was_stopped: bool,
    /// Where the log last changed the model while a turn of the session's own agent ran.
    model_at: Seq,
}

/// A turn that was accepted and is not over.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpenTurn {
    /// The position of its first event, if that was read.
    at: Option<Seq>,
    pub(crate) agent: AgentPath,
    /// The turn that waits for it.
    pub(crate) parent: Option<TurnId>,
    pub(crate) turn: Turn,
    /// The message that is to begin it; `None` once it has.
    said: Option<Queued>,
    /// What a child's model is shown.
    transcript: Transcript,
}

impl State {
    /// A session of which nothing is known yet. Its windows have `max` messages at most.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            model: String::new(),
            system_prompt: None,
            approval: None,
            begun_by: None,
            is_tainted: false,
            recent: Recent::default(),
            turns: BTreeMap::new(),
            ended: Vec::new(),
            accounts: Accounts::default(),
            transcript: Transcript::default(),
            at: Seq::default(),
            read_to: Seq::default(),
            was_stopped: false,
            model_at: Seq::default(),
        }
    }

    /// The open turns that these events tell of, and their accounts; the windows are of no use.
    pub(crate) fn of(events: &[Arc<Event>]) -> Self {
        let mut state = Self::new(0);
        for event in events {
            state.apply(event);
        }
        state
    }

    /// What the history and the newer events say of a session, before its open turns are applied: a
    /// conversation that is read up to a position follows.
    pub(crate) fn loaded(row: SessionRow, max: usize) -> Self {
        Self {
            model: row.route.unwrap_or(row.model),
            system_prompt: row.system_prompt,
            approval: row.approval,
            begun_by: row.begun_by,
            is_tainted: row.tainted,
            at: row.projected,
            read_to: Seq(u64::MAX),
            was_stopped: true,
            ..Self::new(max)
        }
    }

    /// Takes the conversation of its own agent as it was read up to a position.
    pub(crate) fn read(&mut self, transcript: Transcript, up_to: Seq) {
        (self.transcript, self.read_to) = (transcript, up_to);
    }

    /// Whether it has what an event says that is kept.
    pub(crate) fn has(&self, seq: Seq) -> bool {
        seq <= self.at
    }

    /// Takes in what happened.
    pub(crate) fn apply(&mut self, event: &Event) {
        self.at = self.at.max(event.seq);
        match (&event.kind, &event.turn) {
            (
                Kind::SessionOpened {
                    model,
                    route,
                    system_prompt,
                    approval,
                    begun_by,
                    ..
                },
                _,
            ) => {
                self.model.clone_from(route.as_ref().unwrap_or(model));
                self.system_prompt.clone_from(system_prompt);
                self.approval = *approval;
                self.begun_by.clone_from(begun_by);
            }
            (Kind::SessionChanged(change), _) => self.change(change, event),
            (Kind::SessionClosed, _) => *self = Self::new(self.max),
            (Kind::TurnUndone { .. }, Some(turn)) => self.recent.forget(turn),
            (_, Some(turn)) => self.apply_to(turn, event),
            (Kind::MessageFinished { message, .. }, None) => {
                if event.seq > self.read_to && event.agent.depth() == 0 {
                    self.transcript.append(Arc::new(message.clone()), self.max);
                }
            }
            (_, None) => {}
        }
    }

    fn change(&mut self, change: &SessionChange, event: &Event) {
        self.approval = change.approval.or(self.approval);
        self.is_tainted |= change.tainted;
        if let Some(model) = change.route.as_ref().or(change.model.as_ref()) {
            self.model.clone_from(model);
            // A turn that has begun keeps the old model and what is known of its window.
            self.model_at = event.seq;
            if self.root().is_none() {
                self.forget_limit();
            }
        }
        if let Some(transcript) = self.transcript_of(event) {
            transcript.take(event);
        }
    }

    fn forget_limit(&mut self) {
        let before = std::mem::take(&mut self.model_at);
        self.transcript.forget_limit(before);
    }

    /// The conversation that an event is a part of, unless it was read with that.
    fn transcript_of(&mut self, event: &Event) -> Option<&mut Transcript> {
        if event.agent.depth() == 0 {
            return (event.seq > self.read_to).then_some(&mut self.transcript);
        }
        let open = self.turns.get_mut(event.turn.as_ref()?)?;
        Some(&mut open.transcript)
    }

    fn apply_to(&mut self, id: &TurnId, event: &Event) {
        match &event.kind {
            Kind::TurnStarted {
                parent_call,
                background,
                ..
            } => {
                let caller = parent_call.as_ref().and_then(|call| self.waits_for(call));
                let caller = caller.cloned();
                self.accounts.begin(id, caller.as_ref(), event);
                self.begin(id, caller.filter(|_| !background), event);
            }
            Kind::TurnFinished { .. } => {
                self.accounts.take(id, &event.kind);
                self.finish(id, event);
            }
            Kind::MessageFinished { message, entry, .. }
                if *entry != Entry::Joined && !self.has_begun(id) =>
            {
                if message.is_input() {
                    self.wait(id, event);
                }
            }
            kind => {
                let Some(open) = self.turns.get_mut(id) else {
                    return;
                };
                open.turn.apply(kind);
                self.accounts.take(id, kind);
                if let Some(transcript) = self.transcript_of(event) {
                    transcript.take(event);
                }
                self.follow(id, kind);
            }
        }
    }

    /// What else follows from a fact of a turn that has begun.
    fn follow(&mut self, id: &TurnId, kind: &Kind) {
        match kind {
            Kind::CallClosed { call, .. } => self
                .ended
                .retain(|end| end.call != *call || end.parent != *id),
            Kind::MessageFinished {
                message,
                entry: Entry::Joined,
                ..
            } => {
                if let Some(before) = self.before(id) {
                    self.recent.join(message, id, before);
                }
            }
            _ => {}
        }
    }

    /// A message was accepted that is to begin a turn.
    fn wait(&mut self, id: &TurnId, event: &Event) {
        let Some(said) = Queued::of(id, &event.kind) else {
            return;
        };
        if event.author == Author::User {
            let before = Seq(event.seq.0.saturating_sub(1));
            self.recent.remember(&said.message, id.clone(), before);
        }
        let mut open = OpenTurn::new(event);
        open.turn.apply(&event.kind);
        (open.at, open.said) = (Some(event.seq), Some(said));
        self.turns.insert(id.clone(), Box::new(open));
    }

    fn begin(&mut self, id: &TurnId, parent: Option<TurnId>, event: &Event) {
        let is_unread = event.seq > self.read_to;
        let fresh = || Box::new(OpenTurn::new(event));
        let open = self.turns.entry(id.clone()).or_insert_with(fresh);
        open.turn.apply(&event.kind);
        open.parent = parent;
        let Some(said) = open.said.take() else { return };
        if event.agent.depth() > 0 {
            open.transcript.begin_turn(said.message, self.max);
        } else if is_unread {
            self.transcript.begin_turn(said.message, self.max);
        }
    }

    fn finish(&mut self, id: &TurnId, event: &Event) {
        let Some(mut open) = self.turns.remove(id) else {
            return;
        };
        if self.turns.is_empty() {
            // An emptied map keeps the room of its last turns.
            self.turns = BTreeMap::new();
        }
        if open.is_root() {
            self.forget_limit();
        }
        let below = self.turns.values_mut();
        let orphans = below.filter(|below| below.parent.as_ref() == Some(id));
        orphans.for_each(|orphan| orphan.parent = None);
        self.ended.retain(|end| end.parent != *id);
        open.turn.apply(&event.kind);
        if open.said.is_some() {
            // What has joined another turn is known with that, here or in the history.
            self.recent.forget(id);
        }
        let call = open.turn.place().parent_call.clone();
        let (Some(parent), Some(call), Some(end)) = (open.parent, call, open.turn.outcome()) else {
            return;
        };
        if self.waits_for(&call) == Some(&parent) {
            let last = delegation::last_said(open.transcript.messages());
            self.ended.push(ChildEnd {
                child: Some(id.clone()),
                parent,
                call,
                outcome: delegation::outcome(end, last),
            });
        }
    }

    /// The turn that waits for the child which a call began.
    fn waits_for(&self, call: &CallId) -> Option<&TurnId> {
        let mut turns = self.turns.iter();
        let waits = |open: &OpenTurn| open.turn.delegated_calls().any(|it| it.id == *call);
        turns.find(|(_, open)| waits(open)).map(|(id, _)| id)
    }

    /// Takes in that the stores have lost children, as after a restore: those that wait for them are to
    /// hear so.
    pub(crate) fn miss_children(&mut self) {
        let open = self.turns.iter();
        let calls = open.flat_map(|(id, it)| it.turn.delegated_calls().map(move |call| (id, call)));
        let is_known = |call: &CallId| {
            let mut turns = self.turns.values();
            turns.any(|open| open.turn.place().parent_call.as_ref() == Some(call))
                || self.ended.iter().any(|end| end.call == *call)
        };
        let lost = calls.filter(|(_, call)| !is_known(&call.id));
        let lost = lost.map(|(parent, call)| ChildEnd {
            child: None,
            parent: parent.clone(),
            call: call.id.clone(),
            outcome: delegation::lost(),
        });
        let lost: Vec<_> = lost.collect();
        self.ended.extend(lost);
    }
}

impl State {
    /// What is to be done now, the oldest turn first.
    pub(crate) fn actions(&self) -> Vec<Action> {
        let closes = self.ended.iter().cloned().map(Action::Close);
        let runs = self.begun().filter_map(|(id, open)| {
            if self.was_stopped {
                return (!open.turn.is_parked()).then(|| Action::TakeUp(id.clone()));
            }
            match open.turn.next() {
                Step::Wait | Step::Over => None,
                step => Some(Action::Run(id.clone(), step)),
            }
        });
        let begins = self.to_begin();
        let begins = begins.map(|said| Action::Begin(said.turn.clone()));
        closes.chain(runs).chain(begins).collect()
    }

    /// The turns that a stop of the server cut are taken up.
    pub(crate) fn takes_up(&mut self) {
        self.was_stopped = false;
    }

    /// The message whose turn is to begin: none while one of the session's own agent runs.
    pub(crate) fn to_begin(&self) -> Option<&Queued> {
        self.next().filter(|_| self.root().is_none())
    }

    /// A turn that has begun and is not over.
    pub(crate) fn turn(&self, id: &TurnId) -> Option<&OpenTurn> {
        let open = self.turns.get(id).map(Box::as_ref);
        open.filter(|open| open.has_begun())
    }

    fn has_begun(&self, id: &TurnId) -> bool {
        self.turn(id).is_some()
    }

    /// The turns that have begun and are not over, by id: ids are made in the order of time.
    pub(crate) fn begun(&self) -> impl Iterator<Item = (&TurnId, &OpenTurn)> {
        let turns = self.turns.iter().filter(|(_, open)| open.has_begun());
        turns.map(|(id, open)| (id, open.as_ref()))
    }

    /// The turn of the session's own agent that has begun.
    pub(crate) fn root(&self) -> Option<&TurnId> {
        let mut begun = self.begun();
        begun.find(|(_, open)| open.is_root()).map(|(id, _)| id)
    }

    /// A turn and all that it waits for.
    pub(crate) fn tree(&self, top: &TurnId) -> Vec<TurnId> {
        let mut tree = vec![top.clone()];
        let mut at = 0;
        while let Some(above) = tree.get(at).cloned() {
            let below = self
                .begun()
                .filter(|(_, open)| open.parent.as_ref() == Some(&above));
            tree.extend(below.map(|(id, _)| id.clone()));
            at += 1;
        }
        tree
    }

    /// The position in front of a turn that is not over.
    fn before(&self, id: &TurnId) -> Option<Seq> {
        let first = self.turns.get(id)?.at?;
        Some(Seq(first.0.saturating_sub(1)))
    }

    /// The account from which a turn draws.
    pub(crate) fn account(&self, turn: &TurnId) -> Option<&Account> {
        self.accounts.of(turn)
    }

    /// Whether a turn was accepted and is not over.
    pub(crate) fn is_open(&self, id: &TurnId) -> bool {
        self.turns.contains_key(id)
    }

    /// The ends of children that their callers have not heard of.
    pub(crate) fn ended(&self) -> impl Iterator<Item = &ChildEnd> {
        self.ended.iter()
    }

    /// The messages that wait for their turn or to join one, in the order of their turns: one that
    /// interrupts goes before all that do not.
    pub(crate) fn waiting(&self) -> Vec<&Queued> {
        let own = self.turns.values().filter(|open| open.agent.depth() == 0);
        let mut waiting: Vec<_> = own
            .filter_map(|open| Some((open, open.said.as_ref()?)))
            .collect();
        let goes_first = |said: &Queued| {
            planted!("interrupt-waits", {
                return false;
            });
            said.entry == Entry::Interrupts
        };
        waiting.sort_by_key(|(open, said)| (!goes_first(said), open.at));
        waiting.into_iter().map(|(_, said)| said).collect()
    }

    /// The message whose turn is next.
    pub(crate) fn next(&self) -> Option<&Queued> {
        self.waiting().into_iter().next()
    }

    /// How many of those that wait are results of children in the background.
    pub(crate) fn results(&self) -> usize {
        let is_result = |said: &&&Queued| said.message.role == Role::System;
        self.waiting().iter().filter(is_result).count()
    }

    /// Whether a message waits that is to end the turn which runs.
    pub(crate) fn interrupts(&self) -> bool {
        let next = self.next();
        next.is_some_and(|said| said.entry == Entry::Interrupts)
    }

    /// What the model of a turn is shown, or the session's own.
    pub(crate) fn transcript(&self, turn: Option<&TurnId>) -> &Transcript {
        let open = turn.and_then(|turn| self.turn(turn));
        match open {
            Some(open) if !open.is_root() => &open.transcript,
            Some(_) | None => &self.transcript,
        }
    }

    pub(crate) fn transcript_mut(&mut self, turn: &TurnId) -> &mut Transcript {
        match self.turns.get_mut(turn) {
            Some(open) if open.agent.depth() > 0 => &mut open.transcript,
            Some(_) | None => &mut self.transcript,
        }
    }

    /// How much memory its conversations take, in bytes, and what waits.
    pub(crate) fn bytes(&self) -> (usize, usize) {
        let children = self.turns.values().map(|open| open.transcript.bytes());
        let conversations = self.transcript.bytes() + children.sum::<usize>();
        let waiting = self.turns.values().filter_map(|open| open.said.as_ref());
        let waiting = waiting.map(|said| {
            let situation = said.situation.as_ref();
            weight::of_message(&said.message) + situation.map_or(0, |situation| situation.bytes())
        });
        let prompt = self.system_prompt.as_ref();
        let prompt = prompt.map_or(0, |prompt| prompt.as_str().len());
        (conversations, waiting.sum::<usize>() + prompt)
    }
}

impl OpenTurn {
    fn new(event: &Event) -> Self {
        Self {
            at: None,
            agent: event.agent.clone(),
            parent: None,
            turn: Turn::new(),
            said: None,
            transcript: Transcript::default(),
        }
    }

    fn has_begun(&self) -> bool {
        self.said.is_none()
    }

    fn is_root(&self) -> bool {
        self.agent.depth() == 0 && self.has_begun()
    }

    /// The message with the call that a child answers.
    pub(crate) fn called_by(&self) -> Option<&MessageId> {
        self.transcript.parent()
    }

    /// What was said in it, if it is a child.
    pub(crate) fn messages(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.transcript.messages()
    }
}
