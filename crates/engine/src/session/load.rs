//! A session comes into memory: from the history what is in it, from the journal the rest.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use samovar_core::error::FaultCode;
use samovar_core::history::{MessageQuery, MessageRow, SessionRow, Speakers};
use samovar_core::journal::{Batch, LogEntry, LogNo};
use samovar_core::{AgentPath, Broken, Event, Kind, Seq, SessionId, TurnId};
use samovar_locale as locale;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::children::Newborns;
use super::turns::{Live, LiveState};
use super::{Mailbox, OpenSession};
use crate::context::{self, Transcript};
use crate::keep::Session;
use crate::log::{Keeping, Log, LogStart, MASTER, note_turn};
use crate::parts::Parts;
use crate::projection;
use crate::projector::read_kept;
use crate::state::{Action, State};

/// How long a session waits that a new history does not know yet.
const REOPENING: Duration = Duration::from_secs(30);

/// Messages that are read besides the window's, so that one read mostly finds where it begins.
const PAGE_MARGIN: usize = 16;

/// What the stores have of a session.
struct Stored {
    row: Option<SessionRow>,
    entry: Option<LogEntry>,
    /// The durable events that the history lacks or that unfinished turns need.
    events: Vec<Arc<Event>>,
}

impl Mailbox {
    /// Reads a session from the stores. A turn that was running when the server stopped continues,
    /// one that waits for somebody outside waits on, and messages whose turn had not begun begin it;
    /// where no turns run, all of them stay as they are.
    ///
    /// # Errors
    /// [`Broken`] when a store cannot be read.
    pub(crate) async fn load(
        parts: Arc<Parts>,
        id: SessionId,
        stop: CancellationToken,
    ) -> Result<Self, Broken> {
        let projector = parts.projector.clone();
        let _loading = projector.loads(&id);
        let mut found = Stored::read(&parts, &id).await?;
        if found.lacks_opening() {
            // The history is new; the projector is about to open the session there again.
            parts.projector.has_all_of(&id, REOPENING).await;
            found = Stored::read(&parts, &id).await?;
        }
        found.keep_up(&parts, &id).await?;
        let last_head = found.head();
        let mut mailbox = Self {
            parts,
            id,
            open: None,
            last_head,
            turns: JoinSet::new(),
            newborns: Newborns::default(),
            late: VecDeque::new(),
            was_stopped: false,
            stop,
        };
        if found.row.is_none() && found.entry.is_none() {
            return Ok(mailbox);
        }
        let cut = mailbox.take_in(found).await?;
        if !mailbox.parts.settings.recovery.runs_turns() {
            // They are left to a run that does.
            return Ok(mailbox);
        }
        mailbox.found_all_cut(cut).await?;
        mailbox.tell_ends().await;
        // A message may have been accepted that was to end the turn, when the server stopped.
        mailbox.act().await;
        Ok(mailbox)
    }

    /// A log for a session that is about to begin.
    pub(super) fn new_log(&self, own: AgentPath) -> Log {
        self.log(own, self.parts.journal.new_log(), Vec::new())
    }

    fn log(&self, own: AgentPath, log: LogNo, open: Vec<(Seq, TurnId)>) -> Log {
        let (session, head) = (self.id.clone(), self.last_head);
        let settings = &self.parts.settings;
        let tail_bytes = settings.tail_bytes;
        let start = LogStart {
            keeping: self.parts.keeping,
            session,
            own,
            log,
            head,
            open,
            tail_bytes,
            held: self.parts.memory.share(),
            is_retained: settings.is_retained(),
            feed: (self.parts.keeping == Keeping::Durable).then(|| self.parts.feed.clone()),
        };
        Log::new(start, self.parts.journal.clone(), self.parts.clock.clone())
    }

    /// Takes the session in; gives the turns that were running when the server stopped.
    async fn take_in(&mut self, found: Stored) -> Result<Vec<TurnId>, Broken> {
        let number = found.entry.as_ref().map(|entry| entry.log);
        let is_unprojected = found.entry.as_ref().is_some_and(|entry| entry.unprojected);
        let row = found.newest(&self.id);
        let own = row.as_ref().map_or(MASTER, |row| row.agent.as_str());
        let log = self.log(
            AgentPath::root(own),
            number.unwrap_or_else(|| self.parts.journal.new_log()),
            open_turns(&found.events),
        );
        // A log of a session that was created again begins behind the one that was deleted.
        let first = found.events.first().map(|event| Seq(event.seq.0 - 1));
        let projected = found.projected().max(first.unwrap_or_default());
        self.parts.projector.begin(&log, projected);
        if is_unprojected {
            self.parts.projector.mark(&log);
        }
        let Some(row) = row else {
            self.parts.projector.forget(log.number());
            return Ok(Vec::new());
        };
        let state = self.state_of(&found, row).await?;
        let mut open = OpenSession::new(Session::new(self.parts.clone(), log, state));
        let cut = self.begun_in(&mut open);
        open.session.weigh();
        self.open = Some(open);
        Ok(cut)
    }

    /// The state of a session, of what the stores have of it.
    async fn state_of(&self, found: &Stored, row: SessionRow) -> Result<State, Broken> {
        let mut state = State::loaded(row, self.parts.settings.max_history_messages);
        for event in &found.events {
            state.apply(event);
        }
        let transcript = self.transcript(&found.newer(), state.root()).await?;
        state.read(transcript, found.head());
        Ok(state)
    }

    /// How the session's state differs from what a restart would make of the stores; `None` where it
    /// does not. Asked until nothing is kept meanwhile.
    pub(super) async fn difference(&self) -> Result<Option<String>, Broken> {
        let Some(open) = &self.open else {
            return Ok(None);
        };
        loop {
            let live = open.state().clone();
            let found = Stored::read(&self.parts, &self.id).await?;
            let row = found.newest(&self.id);
            let Some(row) = row else {
                return Ok(Some("the stores do not have it".to_owned()));
            };
            let loaded = self.state_of(&found, row).await?;
            // The stores have an event a moment before the state does.
            let last = found.events.last().map(|event| event.seq);
            let last = last.unwrap_or_default().max(found.projected());
            if live.has(last) && *open.state() == live {
                return Ok(loaded.difference(live));
            }
            tokio::task::yield_now().await;
        }
    }

    /// Takes in what else there is to know about the turns that had begun; those that were running.
    fn begun_in(&self, open: &mut OpenSession) -> Vec<TurnId> {
        let tools = self.parts.toolbox.shelf();
        let mut state = open.session.state.lock();
        state.miss_children();
        let cut = state
            .actions()
            .into_iter()
            .filter_map(|action| match action {
                Action::TakeUp(turn) => Some(turn),
                Action::Begin(_) | Action::Run(..) | Action::Close(_) => None,
            });
        let cut: Vec<_> = cut.collect();
        state.takes_up();
        let taint = &open.session.taint;
        taint.keep(state.is_tainted);
        taint.recall(state.transcript(None), true, &tools);
        for (turn_id, known) in state.begun() {
            let parent = known.parent.clone();
            let mut live = Live::new(known.agent.clone(), parent.clone(), LiveState::Left);
            if !live.is_root() {
                taint.recall(state.transcript(Some(turn_id)), false, &tools);
                live.slot = Some(open.session.slots.take(parent).0);
            }
            let open_calls = &self.parts.open_calls;
            open_calls.note(&self.id, turn_id, &known.agent, &known.turn);
            if !cut.contains(turn_id) {
                live.state = LiveState::Parked;
            }
            open.live.put(turn_id.clone(), live);
        }
        cut
    }

    /// The conversation that the session's model is shown next, or that a turn which has begun was
    /// shown: the history plus events not yet projected.
    pub(super) async fn transcript(
        &self,
        newer: &[Arc<Event>],
        current: Option<&TurnId>,
    ) -> Result<Transcript, Broken> {
        let is_undone = |event: &Arc<Event>| matches!(event.kind, Kind::TurnUndone { .. });
        if newer.iter().any(is_undone) {
            // A turn that was taken back would leave less of what is before it.
            let read_wait = self.parts.settings.read_wait;
            self.parts.projector.has_all_of(&self.id, read_wait).await;
        }
        // A session that was deleted and created again may still be the deleted one in the history.
        let is_new = projection::is_opened(newer);
        let row = self.parts.history.session(&self.id).await?;
        let row = projection::overlay_session(row, &self.id, newer);
        let limit = row.and_then(|row| row.context);
        let max = self.parts.settings.max_history_messages;
        // Whatever of `newer` the history has by now is in the first page, or it would count twice.
        let size = max + PAGE_MARGIN + newer.len();
        let of_master = newer.iter().filter(|event| event.agent.depth() == 0);
        let of_master: Vec<_> = of_master.cloned().collect();
        let mut rows = Vec::new();
        loop {
            let is_whole = is_new || self.read_before(&mut rows, size, Speakers::Master).await?;
            let before = match rows.first() {
                Some(MessageRow { message, .. }) if !is_whole => {
                    let place = self.parts.history.place(&self.id, &message.id).await?;
                    usize::try_from(place).unwrap_or(usize::MAX)
                }
                Some(_) | None => 0,
            };
            let mut known = projection::overlay_messages(rows.clone(), &self.id, &of_master);
            known.retain(|row| row.has_begun);
            let turns = turn_starts(&known, before);
            if let Some(start) = window_start(&known, &turns, before, current, max) {
                let messages = known.into_iter().map(|row| row.message).collect();
                let mut transcript = Transcript::new(before, messages, turns, limit);
                transcript.begin_at(start);
                return Ok(transcript);
            }
        }
    }

    /// Reads the messages of the history before those that are known. Returns true at the beginning
    /// of the session.
    pub(super) async fn read_before(
        &self,
        rows: &mut Vec<MessageRow>,
        size: usize,
        of: Speakers,
    ) -> Result<bool, Broken> {
        let limit = u32::try_from(size).unwrap_or(u32::MAX);
        let query = MessageQuery {
            session: self.id.clone(),
            limit,
            before: rows.first().map(|row| row.message.id.clone()),
            of,
        };
        let earlier = self.parts.history.messages(query).await?;
        let is_whole = earlier.len() < limit as usize;
        rows.splice(..0, earlier);
        Ok(is_whole)
    }
}

/// The places where turns begin in a conversation whose messages from the place `before` on are
/// known.
fn turn_starts(known: &[MessageRow], before: usize) -> Vec<usize> {
    let is_start = |at: &usize| {
        let earlier = at.checked_sub(1).and_then(|earlier| known.get(earlier));
        let row = &known[*at];
        // A chat's messages have no turn.
        let begins =
            row.turn.is_none() || earlier.map_or(before == 0, |earlier| earlier.turn != row.turn);
        begins && row.message.is_input()
    };
    let starts = (0..known.len()).filter(is_start);
    starts.map(|at| before + at).collect()
}

/// Where the window begins: before the turn `current`, or before the next one. `None` when what
/// decides that was not read yet: the beginnings of `current` and of the turn that the window cuts.
fn window_start(
    known: &[MessageRow],
    turns: &[usize],
    before: usize,
    current: Option<&TurnId>,
    max: usize,
) -> Option<usize> {
    let of_current = |row: &MessageRow| current.is_some() && row.turn.as_ref() == current;
    let first = known.iter().position(of_current);
    let earlier = &known[..first.unwrap_or(known.len())];
    let start = context::start(before + earlier.len(), max);
    let is_enough = first != Some(0) && turns.first().is_some_and(|turn| *turn <= start);
    (before == 0 || is_enough).then(|| {
        let earlier = earlier.iter().map(|row| row.message.clone());
        context::shortened(start, before, &earlier.collect::<Vec<_>>(), max)
    })
}

/// The turns that are accepted and not over, each with the position of its first event.
fn open_turns(events: &[Arc<Event>]) -> Vec<(Seq, TurnId)> {
    let mut open = Vec::new();
    for event in events {
        note_turn(&mut open, event);
    }
    open
}

impl Stored {
    async fn read(parts: &Parts, id: &SessionId) -> Result<Self, Broken> {
        // The history first: what it lacks then is still in the journal when that is read.
        let row = parts.history.session(id).await?;
        let projected = row.as_ref().map_or(Seq::default(), |row| row.projected);
        let (journal, id) = (parts.journal.clone(), id.clone());
        let read = tokio::task::spawn_blocking(move || {
            let Some(entry) = journal.entry(&id)? else {
                return Ok((None, Vec::new()));
            };
            if entry.deleted {
                // Nobody needs what stands before the deletion, and some of it may be damaged.
                return Ok((Some(entry), Vec::new()));
            }
            let lacks = entry.unprojected.then_some(projected);
            let needs = entry.open_from.map(|seq| Seq(seq.0.saturating_sub(1)));
            let Some(from) = lacks.into_iter().chain(needs).min() else {
                return Ok((Some(entry), Vec::new()));
            };
            let events = read_kept(journal.as_ref(), entry.log, from, (entry.head, usize::MAX))?;
            Ok((Some(entry), events))
        });
        let read: Result<_, Broken> = read.await.map_err(|error| Broken::Io(error.to_string()))?;
        let (entry, events) = read?;
        Ok(Self { row, entry, events })
    }

    /// Whether nothing says how the session began: the history does not know it, and the journal does
    /// not go back so far.
    fn lacks_opening(&self) -> bool {
        let is_alive = self.entry.as_ref().is_some_and(|entry| !entry.deleted);
        self.row.is_none() && is_alive && !projection::is_opened(&self.events)
    }

    /// Gives up what the history of a restored data directory knows to be over: its journal may be
    /// older, and must neither go on with such a turn nor give out a position again.
    async fn keep_up(&mut self, parts: &Parts, id: &SessionId) -> Result<(), Broken> {
        let projected = self.projected();
        let Some(entry) = self.entry.as_mut().filter(|entry| projected > entry.head) else {
            return Ok(());
        };
        let (mut over, mut open_from) = (HashSet::new(), None);
        for (seq, turn) in open_turns(&self.events) {
            if parts.history.is_over(id, &turn).await? {
                over.insert(turn);
            } else {
                open_from = open_from.or(Some(seq));
            }
        }
        let is_over = |turn: &Option<TurnId>| turn.as_ref().is_some_and(|turn| over.contains(turn));
        self.events.retain(|event| !is_over(&event.turn));
        let settled = Batch {
            log: entry.log,
            session: id.clone(),
            events: Vec::new(),
            folded: Vec::new(),
            open_from,
        };
        parts.journal.commit(settled).await?;
        parts
            .journal
            .give_up(entry.log, projected, parts.clock.now())
            .await?;
        (entry.head, entry.open_from) = (projected, open_from);
        Ok(())
    }

    /// The session as it is with all that the history lacks; `None` of one that is deleted.
    fn newest(&self, id: &SessionId) -> Option<SessionRow> {
        let is_deleted = self.entry.as_ref().is_some_and(|entry| entry.deleted);
        let row = self.row.clone().filter(|_| !is_deleted);
        projection::overlay_session(row, id, &self.events).filter(|_| !is_deleted)
    }

    fn projected(&self) -> Seq {
        self.row
            .as_ref()
            .map_or(Seq::default(), |row| row.projected)
    }

    fn head(&self) -> Seq {
        let head = self
            .entry
            .as_ref()
            .map_or(Seq::default(), |entry| entry.head);
        head.max(self.projected())
    }

    /// What the history lacks.
    fn newer(&self) -> Vec<Arc<Event>> {
        let projected = self.projected();
        let newer = self.events.iter().filter(|event| event.seq > projected);
        newer.cloned().collect()
    }
}

/// What happened, what was kept, one thing to do (FC-6).
pub(super) fn fault_message(code: FaultCode) -> &'static str {
    match code {
        FaultCode::Interrupted => locale::turn::interrupted(),
        FaultCode::StoreFailed => locale::turn::store_failed(),
        FaultCode::RecoveryExhausted => locale::turn::recovery_exhausted(),
        FaultCode::UnusableModel => locale::turn::model_unusable(),
        FaultCode::UnusableAgent => locale::turn::agent_unusable(),
        FaultCode::ProviderUnreachable
        | FaultCode::ProviderTimeout
        | FaultCode::ProviderAuth
        | FaultCode::ProviderRateLimited
        | FaultCode::ProviderError
        | FaultCode::ProviderRejected
        | FaultCode::ContextFull
        | FaultCode::ImagesRefused
        | FaultCode::ModelNotFound
        | FaultCode::StreamCut
        | FaultCode::BadResponse
        | FaultCode::EmptyAnswer
        | FaultCode::Internal => locale::turn::broken(),
    }
}
