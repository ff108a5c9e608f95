//! What comes for a turn that waits for it: outcomes and decisions, which the mailbox keeps and a turn
//! that runs takes in from the state, and the ends of its children, which such a turn keeps itself.

use samovar_core::approval::Answer;
use samovar_core::{Accepted, ApprovalId, Author, CallId, Error, Kind, Outcome, TurnId, planted};

use super::Mailbox;
use super::ends::{leaving, not_kept};
use super::turns::LiveState;
use crate::log::Draft;
use crate::open_calls::Awaited;
use crate::parts::refusal;
use crate::runner::{decider, not_asked, not_open};
use crate::state::{ChildEnd, Claim, OpenTurn};

impl Mailbox {
    /// Closes a call for a client.
    ///
    /// # Errors
    /// It is not open, or cannot be closed now.
    pub(super) async fn settle(&self, call: CallId, outcome: Outcome) -> Result<Accepted, Error> {
        let (turn, known) = self.waiting(&Awaited::Outcome(call.clone()), || not_open(&call))?;
        let open = self.open.as_ref().ok_or_else(|| self.missing())?;
        let name = known.turn.waiting_tool(&call).map(str::to_owned);
        // Its tool may be about to close it.
        let state = &open.session.state;
        let name = name.filter(|_| state.claim(&turn, &call) == Claim::Granted);
        let name = name.ok_or_else(|| not_open(&call))?;
        let closed = Kind::CallClosed {
            call: call.clone(),
            name,
            outcome: outcome.readable(),
        };
        let kept = self.keep_for(&turn, known, [(Author::Host, closed)]).await;
        if kept.is_err() {
            state.give_up_claim(&turn, &call);
            self.ring(&turn);
        }
        kept.map(|()| Accepted::Settled)
    }

    /// Takes in a decision about a call.
    ///
    /// # Errors
    /// None waits for it, or it cannot be kept now.
    pub(super) async fn decide_call(
        &self,
        approval: &ApprovalId,
        given: Answer,
    ) -> Result<Accepted, Error> {
        let awaited = Awaited::Decision(approval.clone());
        let (turn, known) = self.waiting(&awaited, || not_asked(approval))?;
        planted!("decision-not-kept", {
            return Ok(Accepted::Decided);
        });
        let author = decider(&given);
        let facts = known.turn.decision(approval, given);
        let facts = facts.ok_or_else(|| not_asked(approval))?;
        let facts = facts.into_iter().map(|kind| (author, kind));
        let kept = self.keep_for(&turn, known, facts).await;
        kept.map(|()| Accepted::Decided)
    }

    /// The turn that waits for something, as the log has it.
    ///
    /// # Errors
    /// None does, or it can take nothing in now.
    fn waiting(
        &self,
        awaited: &Awaited,
        unwaited: impl Fn() -> Error,
    ) -> Result<(TurnId, OpenTurn), Error> {
        let open = self.open.as_ref().ok_or_else(|| self.missing())?;
        let turn = self.parts.open_calls.turn_of(&self.id, awaited);
        let turn = turn.ok_or_else(&unwaited)?;
        match open.live.get(&turn).map(|live| &live.state) {
            Some(LiveState::Running(..) | LiveState::Parked | LiveState::Cut(..)) => {}
            Some(LiveState::Ending(_)) => return Err(not_kept()),
            // The next server continues it, and takes this too.
            Some(LiveState::Left) => return Err(leaving()),
            None => return Err(unwaited()),
        }
        let known = open.state().turn(&turn).cloned();
        Ok((turn, known.ok_or_else(unwaited)?))
    }

    /// Closes the call that a child has answered, unless a turn that runs does so.
    pub(super) async fn tell_parent(&self, end: ChildEnd) {
        let ChildEnd {
            parent,
            call,
            outcome,
            ..
        } = end;
        let Some(open) = &self.open else { return };
        match open.live.get(&parent).map(|live| &live.state) {
            Some(LiveState::Running(news, _)) => return news.notify_one(),
            Some(LiveState::Parked | LiveState::Cut(..)) => {}
            Some(LiveState::Ending(_) | LiveState::Left) | None => return,
        }
        let Some(known) = open.state().turn(&parent).cloned() else {
            return;
        };
        planted!("child-answer-swapped", {
            let other = known.turn.delegated_calls().find(|other| other.id != call);
            let call = other.map_or(call, |other| other.id.clone());
            return self.tell(&parent, known, call, outcome).await;
        });
        self.tell(&parent, known, call, outcome).await;
    }

    async fn tell(&self, parent: &TurnId, known: OpenTurn, call: CallId, outcome: Outcome) {
        let Some(name) = known.turn.delegated_tool(&call).map(str::to_owned) else {
            return;
        };
        let closed = Kind::CallClosed {
            call,
            name,
            outcome: outcome.readable(),
        };
        let told = self.keep_for(parent, known, [(Author::System, closed)]);
        if let Err(why) = told.await {
            tracing::debug!(turn = %parent, %why, "the end of a child is to be told again");
        }
    }

    /// Keeps facts of a turn that were made for it, and lets a run of it look.
    async fn keep_for(
        &self,
        id: &TurnId,
        known: OpenTurn,
        facts: impl IntoIterator<Item = (Author, Kind)>,
    ) -> Result<(), Error> {
        let open = self.open.as_ref().ok_or_else(|| self.missing())?;
        let agent = &known.agent;
        let draft = |(author, kind)| Draft::new(Some(id.clone()), author, kind).of(agent);
        let drafts = facts.into_iter().map(draft).collect();
        open.session.keep(drafts).await.map_err(refusal)?;
        self.ring(id);
        Ok(())
    }

    /// Lets the run of a turn look, if it has one.
    fn ring(&self, turn: &TurnId) {
        let live = self.open.as_ref().and_then(|open| open.live.get(turn));
        if let Some(LiveState::Running(news, _)) = live.map(|live| &live.state) {
            news.notify_one();
        }
    }
}
