//! Turns below other turns: they begin, they are stopped with the turn that waits for them, and at
//! their end that turn hears of it (SA-7).

use samovar_core::{
    Accepted, AgentPath, Author, Bounds, Budget, CallId, Code, Entry, Error, Kind, Message,
    MessageId, Situation, TurnId, failpoint, planted,
};
use samovar_locale as locale;
use serde_json::json;
use tokio::sync::mpsc;

use super::Mailbox;
use super::turns::{Live, LiveState};
use crate::delegation;
use crate::log::Draft;
use crate::parts::Parts;
use crate::runner::{Cancel, FromTurn, Input, Newborn, answer};
use crate::state::ChildEnd;
use crate::turn::Turn;

/// What turns have sent and the session has not heard, at most: more than the children that may live
/// and what can be sent to all of them at once.
const MAX_FROM_TURNS: usize = 4096;

/// What turns send to their session while they run. An idle session has no room for it.
#[derive(Default)]
pub(super) struct FromTurns(Option<(mpsc::Sender<FromTurn>, mpsc::Receiver<FromTurn>)>);

impl FromTurns {
    /// What a turn sends it with.
    pub(super) fn sender(&mut self) -> mpsc::Sender<FromTurn> {
        let make = || mpsc::channel(MAX_FROM_TURNS);
        self.0.get_or_insert_with(make).0.clone()
    }

    /// Waits for the next. Safe to drop halfway.
    pub(super) async fn recv(&mut self) -> FromTurn {
        let sent = match &mut self.0 {
            Some((_, sent)) => sent.recv().await,
            None => None,
        };
        match sent {
            Some(sent) => sent,
            None => std::future::pending().await,
        }
    }

    fn try_recv(&mut self) -> Option<FromTurn> {
        let (_, sent) = self.0.as_mut()?;
        sent.try_recv().ok()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|(_, sent)| sent.is_empty())
    }
}

impl Mailbox {
    /// Takes in all that turns have sent while they ran.
    pub(super) async fn hear_all(&mut self) {
        while let Some(said) = self.from_turns.try_recv() {
            Box::pin(self.hear(said)).await;
        }
        if self.turns.is_empty() {
            self.from_turns = FromTurns::default();
        }
    }

    pub(super) async fn hear(&mut self, said: FromTurn) {
        match said {
            FromTurn::Born(newborn) => self.begin_child(*newborn).await,
            FromTurn::Stopping(turn, cancel) => self.stop_children_first(turn, *cancel).await,
            FromTurn::EndNotKept(turn) => self.end_is_not_kept(&turn),
        }
    }

    /// Runs a child whose start was kept with the call of its parent.
    async fn begin_child(&mut self, newborn: Newborn) {
        let Some(open) = &mut self.open else { return };
        let Newborn {
            turn_id,
            agent,
            parent,
            model,
            slot,
            told,
        } = newborn;
        let is_awaited = match open.state().turn(&turn_id) {
            Some(child) => child.parent.is_some(),
            None => return,
        };
        let is_stopped = !open.closing.is_empty()
            || is_awaited
                && open
                    .live
                    .get(&parent)
                    .is_none_or(|parent| parent.is_stopping);
        let mut live = Live::new(agent, is_awaited.then_some(parent), LiveState::Left);
        live.slot = Some(slot);
        live.told = told;
        self.spawn_runner(turn_id.clone(), live, model, None);
        if is_stopped {
            self.stop_unasked(turn_id).await;
        }
    }

    /// Stops a turn that does not run, or that has passed this back: those that it waits for first, so
    /// that what they say comes before its end.
    pub(super) async fn stop_children_first(&mut self, turn: TurnId, mut cancel: Cancel) {
        let Some(open) = &mut self.open else { return };
        let children = open.live.children(&turn);
        if children.is_empty() {
            cancel.is_last = true;
            return Box::pin(self.forward(&turn, Input::Cancel(cancel))).await;
        }
        if let Some(live) = open.live.get_mut(&turn) {
            live.is_stopping = true;
            if !cancel.reply.is_closed() {
                live.stopping.push(cancel);
            }
        }
        for child in children {
            self.stop_unasked(child).await;
        }
    }

    /// Answers those that stop a turn above one whose end cannot be kept yet, as at the end of any
    /// other turn.
    fn end_is_not_kept(&mut self, turn: &TurnId) {
        let Some(open) = &mut self.open else { return };
        let mut above = open.live.get(turn).and_then(|live| live.parent.clone());
        while let Some(live) = above.as_ref().and_then(|parent| open.live.get_mut(parent)) {
            for Cancel { reply, .. } in live.stopping.drain(..) {
                let why = locale::turn::end_not_kept();
                answer(reply, Err(Error::new(Code::StoreFull, why)));
            }
            above.clone_from(&live.parent);
        }
    }

    /// What follows from the end of a turn that is no more among those that live.
    pub(super) async fn is_over(&mut self, turn_id: &TurnId, live: Live) {
        for Cancel { reply, .. } in live.stopping {
            answer(reply, Ok(Accepted::Cancelled { stopped: true }));
        }
        let orphans = self.open.as_ref().map(|open| open.live.children(turn_id));
        for orphan in orphans.unwrap_or_default() {
            self.stop_unasked(orphan).await;
        }
        drop(live.slot);
        let open = self.open.as_ref();
        let end = open.and_then(|open| open.state().end_of(turn_id).cloned());
        if let Some(end) = end {
            failpoint!("child.end.after");
            self.tell_parent(end).await;
        }
    }

    /// Tells turns again what there was no room to keep.
    pub(super) async fn tell_due(&mut self) {
        let due = self.open.as_mut().map(|open| open.live.take_due());
        for turn in due.unwrap_or_default() {
            self.stop_unasked(turn).await;
        }
        self.tell_ends().await;
    }

    /// Tells turns of children whose ends they have not heard of.
    pub(super) async fn tell_ends(&mut self) {
        planted!("child-end-forgotten", {
            return;
        });
        let open = self.open.as_ref();
        let ended: Option<Vec<_>> = open.map(|open| open.state().ended().cloned().collect());
        for end in ended.unwrap_or_default() {
            self.tell_parent(end).await;
        }
    }

    /// Closes the call that a child has answered; a parent that is to be stopped is stopped after the
    /// last of its children instead.
    async fn tell_parent(&mut self, end: ChildEnd) {
        let ChildEnd {
            parent,
            call,
            outcome,
            ..
        } = end;
        let (parent, Some(open)) = (&parent, &self.open) else {
            return;
        };
        let has_children = !open.live.children(parent).is_empty();
        let Some(live) = open.live.get(parent) else {
            return;
        };
        if !live.is_stopping {
            planted!("child-answer-swapped", {
                let other = match (&live.state, open.state().turn(parent)) {
                    (LiveState::Parked, Some(parent)) => {
                        let mut calls = parent.turn.delegated_calls();
                        let other = calls.find(|other| other.id != call);
                        other.map(|other| other.id.clone())
                    }
                    _ => None,
                };
                let input = Input::Settle(other.unwrap_or(call), outcome, None);
                return Box::pin(self.forward(parent, input)).await;
            });
            let input = Input::Settle(call, outcome, None);
            return Box::pin(self.forward(parent, input)).await;
        }
        if has_children {
            return;
        }
        // At its end all hear of it that wait for that.
        let last = Cancel {
            is_last: true,
            ..Cancel::unasked()
        };
        Box::pin(self.forward(parent, Input::Cancel(last))).await;
    }
}

impl Parts {
    /// The message that a child in the background leaves at its end, which begins a turn with what is
    /// left of its budget.
    pub(crate) fn result_of(
        &self,
        turn_id: &TurnId,
        agent: &AgentPath,
        (turn, last): (&Turn, Option<&Message>),
        left: Option<Budget>,
    ) -> Option<Draft> {
        let end = turn.outcome().filter(|_| turn.place().is_background)?;
        planted!("background-result-lost", {
            return None;
        });
        let about = json!({
            "turnId": turn_id.as_str(),
            "path": agent.names().collect::<Vec<_>>(),
            "toolCallId": turn.place().parent_call.as_ref().map(CallId::as_str),
        });
        let said = delegation::outcome(end, last).text;
        let name = turn.place().definition.as_ref();
        let name = name.map_or_else(|| agent.name(), |agent| agent.display_name.as_str());
        let text = format!("The background task {name:?} is over: {said}");
        let id = MessageId::fresh(self.ids.as_ref());
        let message = Message::of_background(id, text, about, self.clock.now());
        let kind = Kind::MessageFinished {
            message,
            // What bound the child binds the turn that reads its words.
            bounds: Bounds {
                approval: turn.bounds().approval,
                no_input: turn.bounds().no_input,
                spawned: turn.bounds().spawned,
                budget: left.unwrap_or_default(),
                ..Bounds::default()
            },
            entry: Entry::Own,
            // What the person sees by then is not known, and what they do is not less delicate.
            situation: turn.place().situation.as_ref().and_then(|situation| {
                let situation = Situation::clone(situation);
                Situation {
                    context: None,
                    ..situation
                }
                .shared()
            }),
        };
        let own = TurnId::fresh(self.ids.as_ref());
        Some(Draft::new(Some(own), Author::System, kind))
    }
}
