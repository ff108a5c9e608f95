//! The log of a session while it is warm: numbers events, keeps them, then shows them.
//!
//! Keep, then publish: what followers see is the longest gapless run of kept events. Durable events
//! are kept by a commit that is awaited; live ones by the spool, at once, on the caller's thread
//! (DU-3). Followers pull by cursor, so that a slow one costs nothing to the turn (DU-8).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use samovar_core::journal::{Batch, LogNo};
use samovar_core::{
    AgentPath, Author, Broken, Clock, Event, Journal, Kind, Seq, SessionId, TurnId, failpoint,
    redact,
};
use tokio::sync::watch;

use self::feed::Feed;
use self::places::TurnGaps;
use self::tail::Tail;
use crate::edges;
use crate::memory::{self, Held};

pub(crate) mod feed;
mod follower;
mod places;
mod run;
mod tail;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod weight;

pub use feed::{FeedEvent, FeedNews, FeedReader};
pub use follower::{FollowError, Follower};
pub(crate) use places::TurnPlace;

pub(crate) use samovar_core::agent::MASTER;

/// The path of the agent that a session runs unless it names another.
pub(crate) fn master() -> AgentPath {
    AgentPath::root(MASTER)
}

/// An event that has no number yet.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) turn: Option<TurnId>,
    /// `None` for the session's own agent.
    pub(crate) agent: Option<AgentPath>,
    pub(crate) author: Author,
    pub(crate) kind: Kind,
}

/// How long a session is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// In the stores.
    Durable,
    /// In memory, as long as its owner wants it.
    Memory,
}

/// Where a log continues, or begins.
pub(crate) struct LogStart {
    pub(crate) keeping: Keeping,
    pub(crate) session: SessionId,
    /// The session's own agent.
    pub(crate) own: AgentPath,
    pub(crate) log: LogNo,
    /// The last position that was ever given out.
    pub(crate) head: Seq,
    /// Turns that are accepted and not finished, each with the position of its first event.
    pub(crate) open: Vec<(Seq, TurnId)>,
    pub(crate) tail_bytes: usize,
    /// What the log takes of the budget for memory.
    pub(crate) held: Held,
    /// Whether the journal keeps the events of a turn that is over long enough for a reader that is
    /// about to come.
    pub(crate) is_retained: bool,
    /// Where readers of all sessions are shown what those of this one are.
    pub(crate) feed: Option<Arc<Feed>>,
}

/// A cheap handle to a session's log.
#[derive(Clone)]
pub(crate) struct Log {
    shared: Arc<Shared>,
}

/// A log that may have left memory.
#[derive(Clone)]
pub(crate) struct WeakLog(Weak<Shared>);

impl WeakLog {
    pub(crate) fn upgrade(&self) -> Option<Log> {
        self.0.upgrade().map(|shared| Log { shared })
    }
}

struct Shared {
    session: SessionId,
    own: AgentPath,
    log: LogNo,
    keeping: Keeping,
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    feed: Option<Arc<Feed>>,
    state: Mutex<LogState>,
    /// Held by whoever commits: the journal gets a log's commits in the order of their numbers.
    turnstile: tokio::sync::Mutex<()>,
    published: watch::Sender<Seq>,
}

struct LogState {
    tail: Tail,
    held: Held,
    /// How much memory the session's conversation takes, and the messages that wait, in bytes.
    conversation: usize,
    queue: usize,
    /// Turns that are accepted and not finished, each with the position of its first event.
    open: Vec<(Seq, TurnId)>,
    quiet: TurnGaps,
    /// How many followers there are.
    readers: usize,
    /// The history has what comes before this, and this.
    projected: Seq,
    is_retained: bool,
    /// Events for positions that were given out but not stored for lack of room, when later ones
    /// existed already. The next commit keeps them, so that readers can pass (DU-12).
    owed: Vec<Arc<Event>>,
    /// What readers of the session can see and those of the feed cannot yet.
    unfed: VecDeque<Arc<Event>>,
    /// All that follows from the events up to here can be found.
    settled: Seq,
    /// Set when a commit failed for good and later numbers were given out already: the log has a
    /// hole that only a new start can mend.
    broken: Option<Broken>,
}

/// Live events that were not kept, returned for another attempt.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) why: Broken,
    pub(crate) drafts: Vec<Draft>,
}

impl Log {
    pub(crate) fn new(start: LogStart, journal: Arc<dyn Journal>, clock: Arc<dyn Clock>) -> Self {
        let tail = Tail::new(start.head, start.tail_bytes, start.keeping);
        let mut quiet = TurnGaps::default();
        if start.open.is_empty() {
            quiet.note(start.head);
        }
        let mut state = LogState {
            tail,
            held: start.held,
            conversation: 0,
            queue: 0,
            open: start.open,
            quiet,
            readers: 0,
            projected: Seq::default(),
            is_retained: start.is_retained,
            owed: Vec::new(),
            unfed: VecDeque::new(),
            settled: start.head,
            broken: None,
        };
        state.weigh();
        let (published, _) = watch::channel(start.head);
        let shared = Shared {
            session: start.session,
            own: start.own,
            log: start.log,
            keeping: start.keeping,
            journal,
            clock,
            feed: start.feed,
            state: Mutex::new(state),
            turnstile: tokio::sync::Mutex::default(),
            published,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    pub(crate) fn session(&self) -> &SessionId {
        &self.shared.session
    }

    /// The session's own agent.
    pub(crate) fn own(&self) -> &AgentPath {
        &self.shared.own
    }

    pub(crate) fn number(&self) -> LogNo {
        self.shared.log
    }

    pub(crate) fn keeping(&self) -> Keeping {
        self.shared.keeping
    }

    /// The last position that readers can see.
    pub(crate) fn published(&self) -> Seq {
        *self.shared.published.borrow()
    }

    /// The position of the first event of an unfinished turn.
    pub(crate) fn first_of(&self, turn: &TurnId) -> Option<Seq> {
        let state = self.shared.state();
        state
            .open
            .iter()
            .find(|(_, other)| other == turn)
            .map(|(seq, _)| *seq)
    }

    pub(crate) fn downgrade(&self) -> WeakLog {
        WeakLog(Arc::downgrade(&self.shared))
    }

    /// Whether anything but the caller holds this log.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.shared) > 1
    }

    /// Keeps durable events with one commit, which takes along whatever live events of this log
    /// are only in the spool so far; then shows them.
    ///
    /// # Errors
    /// [`Broken`]; nothing was kept or shown then.
    pub(crate) async fn append(&self, drafts: Vec<Draft>) -> Result<Vec<Arc<Event>>, Broken> {
        self.append_noting(drafts, |_| {}).await
    }

    /// The same with something done between the two: who has seen an event finds all that follows
    /// from it. Called with the log locked, so `note` is quick and asks nothing of it.
    ///
    /// # Errors
    /// As [`Log::append`].
    pub(crate) async fn append_noting(
        &self,
        drafts: Vec<Draft>,
        note: impl FnOnce(&[Arc<Event>]),
    ) -> Result<Vec<Arc<Event>>, Broken> {
        edges::before(drafts.iter().map(|draft| &draft.kind));
        let _in_order = self.shared.turnstile.lock().await;
        let ((batch, fold), (before, owed, events)) = {
            let mut state = self.shared.state();
            state.check()?;
            let before = state.open.clone();
            let (folded, fold) = state.tail.fold();
            let events = self.shared.number_all(&mut state, drafts);
            state.note_turns(&events);
            let open_from = state.open.iter().map(|(seq, _)| *seq).min();
            let owed = state.owed.clone();
            let batch = Batch {
                log: self.shared.log,
                session: self.shared.session.clone(),
                events: owed.iter().chain(&events).cloned().collect(),
                folded,
                open_from,
            };
            ((batch, fold), (before, owed, events))
        };
        let kept = self.shared.journal.commit(batch).await;
        let mut state = self.shared.state();
        match kept {
            Ok(()) => {
                edges::after(&events);
                state.tail.folded();
                if let Some(last) = events.last().filter(|_| state.open.is_empty()) {
                    state.quiet.note(last.seq);
                    state.tail.over(last.seq);
                }
                state.tail.kept(&owed);
                state.owed.clear();
                note(&events);
                self.shared.show(&mut state, &events);
                Ok(events)
            }
            Err(broken) => {
                state.tail.unfold(fold);
                state.undo(&events, before, &broken);
                Err(broken)
            }
        }
    }

    /// Keeps live events with one write and shows them, without waiting for anything.
    ///
    /// # Errors
    /// [`Refused`]; nothing was kept or shown then.
    pub(crate) fn live(&self, drafts: Vec<Draft>) -> Result<(), Refused> {
        let mut state = self.shared.state();
        if let Err(why) = state.check() {
            return Err(Refused { why, drafts });
        }
        let events = self.shared.number_all(&mut state, drafts);
        if let Err(why) = self.shared.journal.spool(self.number(), &events) {
            let open = state.open.clone();
            state.undo(&events, open, &why);
            let drafts = events.into_iter().map(Draft::again).collect();
            return Err(Refused { why, drafts });
        }
        failpoint!("show.before");
        self.shared.show(&mut state, &events);
        if !state.unfed.iter().any(|event| event.kind.is_durable()) {
            let all = state.tail.published();
            self.shared.feed(&mut state, all);
        }
        drop(state);
        failpoint!("show.after");
        Ok(())
    }

    /// Notes that all that follows from the events up to a position can be found, in the history and
    /// among the open calls; the readers of all sessions can see them from now on (UI-15).
    pub(crate) fn settle(&self, up_to: Seq) {
        let mut state = self.shared.state();
        state.settled = state.settled.max(up_to);
        self.shared.feed(&mut state, up_to);
    }

    /// The last position that was settled.
    pub(crate) fn settled(&self) -> Seq {
        self.shared.state().settled
    }

    /// Whether so much is only in the spool that memory grows past its bound, or readers wait for
    /// what is owed: time to [`Log::fold`].
    pub(crate) fn wants_folding(&self) -> bool {
        let state = self.shared.state();
        state.tail.is_over_full() || !state.owed.is_empty()
    }

    /// Whether a turn waits for its fold before it adds more: the tail has several times its bound, or
    /// the server's memory is nearly used up.
    pub(crate) fn waits_for_fold(&self) -> bool {
        let state = self.shared.state();
        state.tail.is_flooded() || state.held.is_near()
    }

    /// Moves live events from the spool to the journal, so that memory can let go of them.
    ///
    /// # Errors
    /// [`Broken`]; they stay where they are then.
    pub(crate) async fn fold(&self) -> Result<(), Broken> {
        failpoint!("fold.before");
        self.append(Vec::new()).await?;
        failpoint!("fold.after");
        Ok(())
    }

    /// Notes how much memory the session's conversation takes, and the messages that wait, in bytes.
    pub(crate) fn has(&self, conversation: usize, queue: usize) {
        let mut state = self.shared.state();
        (state.conversation, state.queue) = (conversation, queue);
        state.weigh();
    }

    /// The published durable events after a position and up to another, at most so many, if all are in
    /// memory.
    pub(crate) fn durable(&self, after: Seq, to: Seq, most: usize) -> Option<Vec<Arc<Event>>> {
        self.shared.state().tail.durable(after, to, most)
    }

    /// Notes how far the log is in the history.
    pub(crate) fn is_projected(&self, up_to: Seq) {
        let mut state = self.shared.state();
        state.projected = state.projected.max(up_to);
        state.release();
    }

    /// A reader that begins behind a position.
    pub(crate) fn follow(&self, after: Seq) -> Follower {
        let mut state = self.shared.state();
        state.readers += 1;
        state.tail.is_read(Some(after));
        drop(state);
        Follower::new(self.clone(), after, self.shared.published.subscribe())
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, LogState> {
        // A panic while the lock was held leaves the numbers consistent: they are set last.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number_all(&self, state: &mut LogState, drafts: Vec<Draft>) -> Vec<Arc<Event>> {
        let (at, epoch) = (self.clock.now(), self.journal.epoch());
        let number = |draft: Draft| {
            let Draft {
                turn,
                agent,
                author,
                kind,
            } = draft;
            let seq = state.tail.head().next();
            let event = Arc::new(Event {
                seq,
                epoch,
                at,
                turn,
                agent: agent.unwrap_or_else(|| self.own.clone()),
                author,
                kind,
            });
            state.tail.push(event.clone());
            event
        };
        drafts.into_iter().map(number).collect()
    }

    /// Readers see kept events once all before them are kept, too.
    fn show(&self, state: &mut LogState, kept: &[Arc<Event>]) {
        state.tail.kept(kept);
        let (seen, shown) = state.tail.advance();
        state.weigh();
        if self.feed.is_some() {
            state.unfed.extend(shown);
        }
        self.published.send_if_modified(|published| {
            let grows = *published < seen;
            *published = seen;
            grows
        });
    }

    /// Shows events up to a position to the readers of all sessions.
    fn feed(&self, state: &mut LogState, up_to: Seq) {
        let Some(feed) = &self.feed else { return };
        let seen = state.unfed.partition_point(|event| event.seq <= up_to);
        feed.take(&self.session, state.unfed.drain(..seen));
    }
}

impl LogState {
    fn check(&self) -> Result<(), Broken> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// Lets go of what memory holds once nothing needs it there: no turn is open, no reader is about
    /// to pull it, and the history has it. A later reader finds it in the journal.
    fn release(&mut self) {
        let is_idle = self.open.is_empty() && self.readers == 0;
        if is_idle && self.is_retained && self.projected >= self.tail.published() {
            self.tail.release();
            self.weigh();
        }
    }

    fn weigh(&mut self) {
        let session = memory::SESSION + self.conversation + self.queue;
        self.held.set(session + self.tail.bytes());
    }

    fn note_turns(&mut self, events: &[Arc<Event>]) {
        for event in events {
            note_turn(&mut self.open, event);
        }
    }

    /// Takes numbers back that were given to events which could not be kept. Where later ones stand
    /// behind them, others are owed in their place.
    fn undo(&mut self, events: &[Arc<Event>], open: Vec<(Seq, TurnId)>, broken: &Broken) {
        if self.tail.take_back(events) {
            self.open = open;
        } else if broken.may_pass() {
            self.open = open;
            let in_place = events.iter().map(|event| {
                let (turn, author) = (None, Author::System);
                let kind = Kind::EventsLost { first: event.seq };
                Arc::new(Event {
                    turn,
                    author,
                    kind,
                    ..Event::clone(event)
                })
            });
            let in_place: Vec<_> = in_place.collect();
            self.tail.replace(&in_place);
            self.owed.extend(in_place);
        } else {
            self.broken = Some(broken.clone());
        }
    }
}

impl Draft {
    /// A fact, of the session's own agent unless [`Draft::of`] names another. It is redacted before
    /// anything is made of it: the journal, the history, streams and the turn agree.
    pub(crate) fn new(turn: Option<TurnId>, author: Author, mut kind: Kind) -> Self {
        redact::own().redact_kind(&mut kind);
        Self {
            turn,
            agent: None,
            author,
            kind,
        }
    }

    /// The same, of an agent.
    pub(crate) fn of(self, agent: &AgentPath) -> Self {
        Self {
            agent: Some(agent.clone()),
            ..self
        }
    }

    /// What an event was made from that was not kept.
    fn again(event: Arc<Event>) -> Self {
        let Event {
            turn,
            agent,
            author,
            kind,
            ..
        } = Arc::unwrap_or_clone(event);
        Self {
            turn,
            agent: Some(agent),
            author,
            kind,
        }
    }
}

/// Keeps the list of unfinished turns, each with the position of its first event.
pub(crate) fn note_turn(open: &mut Vec<(Seq, TurnId)>, event: &Event) {
    let Some(turn) = &event.turn else {
        if matches!(event.kind, Kind::SessionClosed) {
            open.clear();
        }
        return;
    };
    let known = open.iter().position(|(_, other)| other == turn);
    match (&event.kind, known) {
        (Kind::TurnFinished { .. }, Some(at)) => {
            open.remove(at);
        }
        (Kind::TurnFinished { .. } | Kind::TurnUndone { .. }, None) | (_, Some(_)) => {}
        (_, None) => open.push((event.seq, turn.clone())),
    }
}
