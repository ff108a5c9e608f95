//! Turns below other turns: they begin, and at their end the turn that waits for them hears of it
//! (SA-7).

use samovar_core::{
    AgentPath, Author, Bounds, Budget, CallId, Entry, Kind, Message, MessageId, Situation, TurnId,
    failpoint, planted,
};
use serde_json::json;
use tokio::sync::mpsc;

use super::Mailbox;
use super::turns::{EndReason, Live, LiveState};
use crate::delegation;
use crate::log::Draft;
use crate::parts::Parts;
use crate::runner::Newborn;
use crate::turn::Turn;

/// Children that have begun and do not run yet, at most: more than may live.
const MAX_NEWBORNS: usize = 4096;

/// What turns send to their session while they run. An idle session has no room for it.
#[derive(Default)]
pub(super) struct Newborns(Option<Channel>);

type Channel = (mpsc::Sender<Box<Newborn>>, mpsc::Receiver<Box<Newborn>>);

impl Newborns {
    /// What a turn sends it with.
    pub(super) fn sender(&mut self) -> mpsc::Sender<Box<Newborn>> {
        let make = || mpsc::channel(MAX_NEWBORNS);
        self.0.get_or_insert_with(make).0.clone()
    }

    /// Waits for the next. Safe to drop halfway.
    pub(super) async fn recv(&mut self) -> Box<Newborn> {
        let sent = match &mut self.0 {
            Some((_, sent)) => sent.recv().await,
            None => None,
        };
        match sent {
            Some(sent) => sent,
            None => std::future::pending().await,
        }
    }

    fn try_recv(&mut self) -> Option<Box<Newborn>> {
        let (_, sent) = self.0.as_mut()?;
        sent.try_recv().ok()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|(_, sent)| sent.is_empty())
    }
}

impl Mailbox {
    /// Runs all children that have begun.
    pub(super) fn begin_children(&mut self) {
        while let Some(newborn) = self.newborns.try_recv() {
            self.begin_child(*newborn);
        }
        if self.turns.is_empty() {
            self.newborns = Newborns::default();
        }
    }

    /// Runs a child whose start was kept with the call of its parent, unless it has ended since.
    pub(super) fn begin_child(&mut self, newborn: Newborn) {
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
            Some(child) if open.live.get(&turn_id).is_none() => child.parent.is_some(),
            Some(_) | None => return,
        };
        let above = open.live.get(&parent).map(|live| &live.state);
        let is_stopped = is_awaited && matches!(above, None | Some(LiveState::Ending(_)));
        let mut live = Live::new(agent, is_awaited.then_some(parent), LiveState::Left);
        live.slot = Some(slot);
        if is_stopped {
            live.state = LiveState::Ending(EndReason::Stopped);
            return open.live.put(turn_id, live);
        }
        live.told = told;
        self.spawn_runner(turn_id, live, model, None);
    }

    /// Tells turns of children whose ends they have not heard of.
    pub(super) async fn tell_ends(&mut self) {
        planted!("child-end-forgotten", {
            return;
        });
        let open = self.open.as_ref();
        let ended: Option<Vec<_>> = open.map(|open| open.state().ended().cloned().collect());
        for end in ended.unwrap_or_default() {
            failpoint!("child.end.after");
            self.tell_parent(end).await;
        }
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
