//! A session's mailbox: the one owner of its state. Commands come in one at a time and are accepted
//! or refused at once; turns run beside it and report when they end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use samovar_core::command::Change;
use samovar_core::event::Fault;
use samovar_core::{
    Accepted, Action, AgentPath, Author, Beginner, Bill, Broken, Command, Error, FinishReason,
    Kind, MessageId, Sender, Seq, SessionChange, SessionCopy, SessionId, TurnId, Usage, failpoint,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::keep::Session;
use crate::log::{Draft, Keeping, Log, master};
use crate::parts::{Parts, refusal, unknown};
use crate::runner::{FinishedRun, Reply, answer};
use crate::state::StateGuard;
use crate::told::OfSession;

use self::children::Newborns;
use self::turns::{LiveState, LiveTurns};
use self::undo::Reach;

pub use self::in_memory::Conversation;

mod appended;
mod awaited;
mod children;
mod copied;
mod current;
mod ends;
mod in_memory;
pub(crate) mod load;
mod own;
mod post;
mod recovery;
mod resent;
mod turns;
mod undo;
mod unremembered;

/// How long a session stays in memory when that is nearly used up and nothing needs it there.
const SOON: Duration = Duration::from_millis(100);
/// How long a session waits before it tries again to keep a turn's end, or its beginning.
const RETRY: Duration = Duration::from_secs(1);

/// What reaches a session.
pub(crate) enum Letter {
    /// A command, and its sender. In a box, because a mailbox has places for many letters.
    Command(Box<Command>, Reply),
    /// Somebody wants to read the log.
    Follow(oneshot::Sender<Result<Option<Log>, Error>>),
    /// Read the session for a copy that ends with this message, or with the last.
    Copy(
        Option<Box<MessageId>>,
        oneshot::Sender<Result<SessionCopy, Error>>,
    ),
    /// Compare its state with what a restart would make of the stores.
    Compare(oneshot::Sender<Result<Option<String>, Error>>),
    /// Memory is nearly used up: leave if idle.
    Leave,
}

impl Letter {
    /// Tells the sender that nobody can read it.
    pub(crate) fn refuse(self, why: &Error) {
        match self {
            Self::Command(_, reply) => answer(reply, Err(why.clone())),
            Self::Follow(reply) => {
                if reply.send(Err(why.clone())).is_err() {
                    tracing::debug!("a reader left before its answer");
                }
            }
            Self::Copy(_, reply) => drop(reply.send(Err(why.clone()))),
            Self::Compare(reply) => drop(reply.send(Err(why.clone()))),
            Self::Leave => {}
        }
    }
}

/// The mailbox's state.
pub(crate) struct Mailbox {
    parts: Arc<Parts>,
    id: SessionId,
    /// `None` while there is no such session.
    open: Option<OpenSession>,
    /// Where a session that is created again continues counting.
    last_head: Seq,
    /// In boxes, because the task of an idle session has places for one.
    turns: JoinSet<Box<FinishedRun>>,
    newborns: Newborns,
    /// Letters that were read ahead.
    late: VecDeque<Letter>,
    /// Whether the letter that was read last has stopped a turn.
    was_stopped: bool,
    stop: CancellationToken,
}

/// A session that exists.
struct OpenSession {
    session: Session,
    live: LiveTurns,
    /// Whether the next message's turn could not begin because there was no room to keep that.
    waits_for_room: bool,
}

impl Mailbox {
    /// Works until the session is idle or the server stops.
    pub(crate) async fn run(&mut self, letters: &mut mpsc::Receiver<Letter>) {
        let mut again = None;
        loop {
            let looks_at = self.looks_at(&mut again);
            let continuing = self.parts.continuing.clone();
            // All are safe to drop halfway: letters and ended turns wait where they are.
            tokio::select! {
                letter = next(&mut self.late, letters) => match letter {
                    Some(Letter::Leave) if self.is_idle() => return,
                    // Boxed, like the others here, so that the task of an idle session is small.
                    Some(letter) => Box::pin(self.read(letter)).await,
                    None => return,
                },
                Some(ended) = self.turns.join_next() => {
                    Box::pin(self.turn_ended(ended)).await;
                }
                newborn = self.newborns.recv() => self.begin_child(*newborn),
                () = self.stop.cancelled() => return,
                Ok(permit) = continuing.acquire_owned(), if self.wants_to_go_on() => {
                    Box::pin(self.take_up(permit)).await;
                }
                () = tokio::time::sleep_until(looks_at), if self.looks_after() => {
                    again = None;
                    if Box::pin(self.look_after()).await && self.is_idle() {
                        return;
                    }
                }
            }
            if std::mem::take(&mut self.was_stopped) {
                self.answer_repeated(letters);
            }
            Box::pin(self.act()).await;
        }
    }

    /// Answers those who have stopped whichever turn runs while it was being stopped: they do not mean
    /// the next one.
    fn answer_repeated(&mut self, letters: &mut mpsc::Receiver<Letter>) {
        while let Ok(letter) = letters.try_recv() {
            match letter {
                Letter::Command(command, reply)
                    if matches!(command.action, Action::Cancel { turn: None }) =>
                {
                    answer(reply, Ok(Accepted::Cancelled { stopped: true }));
                }
                letter => self.late.push_back(letter),
            }
        }
    }

    /// Whether it looks after itself by and by: while turns run, only for what they wait for.
    fn looks_after(&self) -> bool {
        let is_due = |open: &OpenSession| open.waits_for_room || open.is_stuck() || open.has_due();
        self.turns.is_empty() || self.open.as_ref().is_some_and(is_due)
    }

    /// Does what could not be done before. Whether nothing is left to do.
    async fn look_after(&mut self) -> bool {
        if !self.end_due().await {
            return false;
        }
        self.tell_ends().await;
        !self.open.as_mut().is_some_and(OpenSession::looks_for_room)
    }

    /// When the session looks after itself: once nothing has come for a while; or `again`, which no
    /// letter puts off, when something could not be done.
    fn looks_at(&self, again: &mut Option<Instant>) -> Instant {
        let idle = match &self.open {
            None => Duration::ZERO,
            Some(open)
                if open.waits_for_room
                    || open.is_stuck()
                    || open.has_due()
                    || self.is_interrupted() =>
            {
                return *again.get_or_insert_with(|| Instant::now() + RETRY);
            }
            Some(_) if self.parts.memory.is_near() && self.parts.settings.is_retained() => {
                self.parts.settings.idle.min(SOON)
            }
            Some(_) => self.parts.settings.idle,
        };
        *again = None;
        Instant::now() + idle
    }

    /// Whether nothing of it needs memory.
    fn is_idle(&self) -> bool {
        let Some(open) = &self.open else { return true };
        if self.parts.keeping == Keeping::Memory {
            return false; // It cannot come back.
        }
        let is_heard = self.newborns.is_empty() && self.turns.is_empty();
        is_heard && open.state().next().is_none() && open.live.are_idle() && !open.has_due()
    }

    /// Whether somebody else holds the session's log, so that it must stay the only one.
    pub(crate) fn is_followed(&self) -> bool {
        self.open
            .as_ref()
            .is_some_and(|open| open.session.log.is_shared())
    }

    /// Leaves the projector's memory.
    pub(crate) fn forget(&self) {
        if let Some(open) = &self.open {
            self.parts.projector.forget(open.session.log.number());
        }
    }

    async fn read(&mut self, letter: Letter) {
        match letter {
            Letter::Follow(reply) => {
                let log = self.open.as_ref().map(|open| open.session.log.clone());
                if reply.send(Ok(log)).is_err() {
                    tracing::debug!("a reader went away before it began");
                }
            }
            Letter::Copy(last, reply) => {
                Box::pin(self.hear_ends()).await;
                drop(reply.send(self.to_copy(last.as_deref()).await));
            }
            Letter::Compare(reply) => {
                drop(reply.send(self.difference().await.map_err(refusal)));
            }
            Letter::Leave => {}
            Letter::Command(command, reply) => {
                let Command { action, by, .. } = *command;
                tracing::debug!(session = %self.id, ?by, "command");
                Box::pin(self.hear_ends()).await;
                if let Err(refused) = self.check_level(&action, &by) {
                    return answer(reply, Err(refused));
                }
                self.decide(action, by, reply).await;
            }
        }
    }

    async fn decide(&mut self, mut action: Action, by: Sender, reply: Reply) {
        let open = self.open.as_ref();
        let is_owners = open.is_some_and(|open| open.state().begun_by == Some(Beginner::Owner));
        if let Action::Post(post) | Action::Rewrite(post) = &mut action
            && is_owners
            && by.beginner() != Beginner::Owner
        {
            post.posted = std::mem::take(&mut post.posted).by_guest();
        }
        match action {
            Action::Open(opening) => {
                let opened = self.create(opening, by.beginner()).await;
                answer(reply, opened.map(|()| Accepted::Opened));
            }
            Action::Post(post) => {
                let posted = self.post(post).await;
                failpoint!("reply.before");
                answer(reply, posted);
                failpoint!("reply.after");
            }
            Action::Rewrite(post) => answer(reply, self.rewrite(post, &by).await),
            Action::Copy(copy) => answer(reply, self.begin_as(*copy, by.beginner()).await),
            Action::Append(appended) => answer(reply, self.append(*appended).await),
            Action::Change(change) => {
                let changed = self.change(change).await;
                answer(reply, changed.map(|()| Accepted::Changed));
            }
            Action::Undo { turn } => {
                answer(reply, self.undo(Reach::Messages, turn, &by).await);
            }
            Action::UndoWithFiles { turn } => {
                answer(reply, self.undo(Reach::Files, turn, &by).await);
            }
            Action::Settle { call, outcome } => answer(reply, self.settle(call, outcome).await),
            Action::Decide {
                approval,
                answer: given,
            } => answer(reply, self.decide_call(&approval, given).await),
            Action::Continue => answer(reply, self.tell_to_go_on()),
            Action::Cancel { turn } => self.cancel(turn, reply).await,
            Action::Close => self.close(reply).await,
            Action::CloseEmpty => match self.check_empty().await {
                Ok(()) => self.close(reply).await,
                Err(refused) => answer(reply, Err(refused)),
            },
        }
    }

    fn missing(&self) -> Error {
        unknown(&self.id)
    }

    /// Keeps a change. A turn that has begun continues with what it began with.
    async fn change(&mut self, change: Change) -> Result<(), Error> {
        let Change {
            model,
            title,
            approval,
            usage,
        } = change;
        let missing = self.missing();
        let Some(open) = self.open.as_ref() else {
            return Err(missing);
        };
        let mut new_route = None;
        if let Some(model) = &model {
            self.parts.models.look_for(model).await;
            new_route = self.parts.models.resolve(model)?.route_beside(model);
        }
        if model.is_none() && title.is_none() && approval.is_none() && usage.is_zero() {
            return Ok(());
        }
        let change = SessionChange {
            model,
            route: new_route,
            title,
            approval,
            usage,
            ..SessionChange::default()
        };
        let draft = Draft::new(None, Author::User, Kind::SessionChanged(change));
        let kept = open.session.keep(vec![draft]).await;
        kept.map(drop).map_err(refusal)
    }

    /// Ends a turn that never began.
    async fn end_unstarted(
        &self,
        turn: &TurnId,
        reason: FinishReason,
        fault: Option<Fault>,
    ) -> Result<(), Broken> {
        let usage = Usage::default();
        let kind = Kind::TurnFinished {
            reason,
            iterations: 0,
            usage,
            fault,
            bill: Bill::default(),
        };
        let open = self.open.as_ref();
        let own = open.map_or_else(master, |open| open.session.log.own().clone());
        self.record(turn, &own, [(Author::System, kind)], None)
            .await
    }

    /// Keeps facts about a turn that does not run, and what it leaves if it is a child in the
    /// background.
    async fn record(
        &self,
        turn: &TurnId,
        agent: &AgentPath,
        facts: impl IntoIterator<Item = (Author, Kind)>,
        result: Option<Draft>,
    ) -> Result<(), Broken> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        let draft = |(author, kind)| Draft::new(Some(turn.clone()), author, kind).of(agent);
        let drafts = facts.into_iter().map(draft).chain(result).collect();
        open.session.keep(drafts).await.map(drop)
    }
}

impl OpenSession {
    fn new(session: Session) -> Self {
        Self {
            session,
            live: LiveTurns::default(),
            waits_for_room: false,
        }
    }

    /// The session as its log has it, locked for a moment.
    fn state(&self) -> StateGuard<'_> {
        self.session.state.lock()
    }

    /// What it gives its own agent.
    fn gives(&self) -> OfSession {
        let state = self.state();
        let log = Some(self.session.log.number());
        OfSession::new(state.system_prompt.as_ref(), state.begun_by.as_ref(), log)
    }

    /// Whether a turn that does not run is to be told something again.
    fn has_due(&self) -> bool {
        let does_not_run = |turn: &TurnId| {
            let live = self.live.get(turn);
            live.is_some_and(|live| !matches!(live.state, LiveState::Running(..) | LiveState::Left))
        };
        self.state().ended().any(|end| does_not_run(&end.parent))
    }

    /// Whether the end of a turn could not be kept yet.
    fn is_stuck(&self) -> bool {
        !self.live.ending().is_empty()
    }

    /// Whether it waited for room until now, and is to look again.
    fn looks_for_room(&mut self) -> bool {
        std::mem::take(&mut self.waits_for_room)
    }
}

/// The next letter: those that were read ahead come first. Safe to drop halfway.
async fn next(late: &mut VecDeque<Letter>, letters: &mut mpsc::Receiver<Letter>) -> Option<Letter> {
    match late.pop_front() {
        Some(letter) => Some(letter),
        None => letters.recv().await,
    }
}
