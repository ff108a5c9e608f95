//! Where the turns of a log stand: what a reader needs to know who comes back to one (DU-7).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use samovar_core::event::Group;
use samovar_core::journal::LogNo;
use samovar_core::{Broken, CallId, Closer, Event, EventId, Journal, Kind, Seq, TurnId, planted};

use super::Log;

/// Bytes of rows that are looked at in one go.
const LOOK_BYTES: usize = 1024 * 1024;
/// Quiet positions that are remembered, at most.
const MAX_QUIET: usize = 64;

/// A turn of the session's own agent, as far as the log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TurnPlace {
    pub(crate) turn: TurnId,
    /// The position of its first event; none when that is not kept any longer.
    pub(crate) first: Option<Seq>,
    pub(crate) started: Option<Seq>,
    pub(crate) finished: Option<Seq>,
    /// The last position in front of its end that readers can see.
    pub(crate) settled: Seq,
    is_undone: bool,
}

/// The turns of a part of a log.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// Those of the session's own agent, oldest first.
    pub(crate) roots: Vec<TurnPlace>,
    /// The call that each turn below another one answers, and the turn that made it.
    answered: HashMap<TurnId, CallId>,
    called_by: HashMap<CallId, TurnId>,
}

/// Positions at which no turn was unfinished: no turn spans one of them. The newest last.
#[derive(Default)]
pub(super) struct TurnGaps(VecDeque<Seq>);

impl TurnGaps {
    /// Nothing is unfinished at this position.
    pub(super) fn note(&mut self, seq: Seq) {
        if self.0.len() == MAX_QUIET {
            self.0.pop_front();
        }
        self.0.push_back(seq);
    }

    /// The last one in front of a position; the log's beginning when none is known.
    fn before(&self, seq: Seq) -> Seq {
        let mut newest_first = self.0.iter().rev();
        newest_first
            .find(|quiet| **quiet < seq)
            .copied()
            .unwrap_or_default()
    }
}

impl Log {
    /// The event that has this id, if readers can see it.
    ///
    /// # Errors
    /// [`Broken`] when the journal cannot be read.
    pub(crate) async fn find(&self, id: EventId) -> Result<Option<Arc<Event>>, Broken> {
        let found = self.at(id.seq).await?;
        planted!("missing-epoch-check", {
            return Ok(found);
        });
        Ok(found.filter(|event| event.id() == id))
    }

    /// The event at a position, or what stands there for it, if readers can see it.
    ///
    /// # Errors
    /// [`Broken`] when the journal cannot be read.
    pub(crate) async fn at(&self, seq: Seq) -> Result<Option<Arc<Event>>, Broken> {
        if seq == Seq::default() || seq > self.published() {
            return Ok(None);
        }
        let before = Seq(seq.0 - 1);
        let in_memory = self.shared.state().tail.read(before, 1);
        match in_memory.and_then(|events| events.into_iter().next()) {
            Some(event) => Ok(Some(event)),
            None => self.read_one(before).await,
        }
    }

    async fn read_one(&self, before: Seq) -> Result<Option<Arc<Event>>, Broken> {
        let shared = self.shared.clone();
        let read = move || shared.journal.read(shared.log, before, 1);
        let read = tokio::task::spawn_blocking(read).await;
        let events = read.map_err(|panic| Broken::Io(panic.to_string()))??;
        Ok(events.into_iter().next().map(Arc::new))
    }

    /// The turns that may stand at a position, and all behind it that readers can see, oldest
    /// first. Looks at no more of the log than it must.
    ///
    /// # Errors
    /// [`Broken`] when the journal cannot be read.
    pub(crate) async fn turns_from(&self, seq: Seq) -> Result<Turns, Broken> {
        let (from, to) = {
            let state = self.shared.state();
            let from = state.quiet.before(seq);
            (from, self.published())
        };
        let shared = self.shared.clone();
        let look = move || look(shared.journal.as_ref(), shared.log, from, to);
        let turns = tokio::task::spawn_blocking(look).await;
        turns.map_err(|panic| Broken::Io(panic.to_string()))?
    }

    /// The turn that runs, else the last one.
    ///
    /// # Errors
    /// [`Broken`] when the journal cannot be read.
    pub(crate) async fn latest_turn(&self) -> Result<Option<TurnPlace>, Broken> {
        let near = latest(self.turns_from(self.published()).await?.roots);
        if near.as_ref().is_some_and(|turn| turn.started.is_some()) {
            return Ok(near);
        }
        // None has begun since all was quiet.
        Ok(latest(self.turns_from(Seq::default()).await?.roots))
    }
}

impl TurnPlace {
    fn new(turn: TurnId, first: Option<Seq>) -> Self {
        Self {
            turn,
            first,
            started: None,
            finished: None,
            settled: Seq::default(),
            is_undone: false,
        }
    }

    fn note(&mut self, event: &Event) {
        match &event.kind {
            Kind::TurnStarted { .. } => self.started = Some(event.seq),
            Kind::TurnFinished { .. } => self.finished = Some(event.seq),
            Kind::TurnUndone { .. } => self.is_undone = true,
            // Its beginning is gone, and what was taken for it was said to it later.
            Kind::StepStarted { .. } if self.started.is_none() => self.first = None,
            other => match other.group() {
                Group::Session | Group::Turn | Group::Live(_) | Group::Message | Group::Call => {}
            },
        }
    }
}

/// The turn that stands for a session: the one that runs, else the one that began last, else the
/// one that was accepted last. One that was taken back does not.
fn latest(turns: Vec<TurnPlace>) -> Option<TurnPlace> {
    let standing = turns.into_iter();
    let standing = standing.filter(|turn| !turn.is_undone && turn.first.is_some());
    standing.max_by_key(|turn| {
        let runs = turn.started.is_some() && turn.finished.is_none();
        (runs, turn.started, turn.first)
    })
}

/// Reads the turns that have events between two positions.
fn look(journal: &dyn Journal, log: LogNo, from: Seq, to: Seq) -> Result<Turns, Broken> {
    let mut turns = Turns::default();
    let mut at = from;
    while at < to {
        let (events, seen) = journal.read_durable(log, at, LOOK_BYTES)?;
        for event in events.iter().filter(|event| event.seq <= to) {
            turns.take(event);
        }
        if seen <= at {
            break;
        }
        at = seen;
    }
    for place in &mut turns.roots {
        place.settled = place.finished.map_or(to, |end| Seq(end.0 - 1));
    }
    Ok(turns)
}

impl Turns {
    /// The turn of the session's own agent to whose tree a turn belongs: a turn in the background may
    /// outlive it, while another one runs.
    pub(crate) fn root_of(mut self, turn: &TurnId) -> Option<TurnPlace> {
        let mut root = turn;
        while let Some(call) = self.answered.get(root) {
            root = self.called_by.get(call)?;
        }
        let at = self.roots.iter().rposition(|place| place.turn == *root)?;
        Some(self.roots.swap_remove(at))
    }

    fn take(&mut self, event: &Event) {
        let Some(turn) = &event.turn else { return };
        if let Kind::CallStarted { call, closer, .. } = &event.kind
            && *closer == Closer::Child
        {
            self.called_by.insert(call.clone(), turn.clone());
        }
        if let Kind::TurnStarted { parent_call, .. } = &event.kind
            && let Some(call) = parent_call
        {
            self.answered.insert(turn.clone(), call.clone());
        }
        if event.agent.depth() > 0 {
            return;
        }
        // What is asked about is near the end, mostly.
        let known = self.roots.iter().rposition(|place| place.turn == *turn);
        let place = known.unwrap_or_else(|| {
            // A turn whose beginning was removed already cannot be shown.
            let first = begins_turn(&event.kind).then_some(event.seq);
            self.roots.push(TurnPlace::new(turn.clone(), first));
            self.roots.len() - 1
        });
        self.roots[place].note(event);
    }
}

/// Whether a turn begins with such an event: with what the user says.
fn begins_turn(kind: &Kind) -> bool {
    matches!(kind, Kind::MessageFinished { message, .. } if message.is_input())
}
