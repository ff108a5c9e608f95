//! A reader comes back: which turn it reads, and from where it goes on (DU-7, AS-9).

use samovar_core::{Broken, Error, EventId, Seq, SessionId, TurnId};

use super::Engine;
use crate::log::{Follower, Log, TurnPlace};
use crate::parts::unknown;

/// What a reader has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReaderPosition {
    /// Nothing.
    Start,
    /// All up to this event, it says.
    Event(EventId),
    /// It has something, but cannot say what.
    Unknown,
}

/// Which turn a reader asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnChoice {
    /// That of the event up to which it has all; else the one that runs; else the last one.
    Latest,
    /// This one, whose first event stands behind this position.
    Turn(TurnId, Seq),
}

/// How a reader goes on with a turn.
pub struct Resumption {
    /// The turn.
    pub turn: TurnId,
    /// Stands in front of the turn's first event: who makes frames of events needs all of them.
    pub reader: Follower,
    /// What is to be shown.
    pub from: ResumeFrom,
    /// The last position that a snapshot can stand for: readers can see it, and the turn's end, if
    /// it has one, is behind it.
    pub settled: Seq,
    /// Whether the turn is over.
    pub is_over: bool,
}

/// What is to be shown of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeFrom {
    /// All of it.
    Start,
    /// What is behind this event. It is kept, and it is where it says.
    After(EventId),
    /// A snapshot, and what is behind that: what the reader has is not known.
    Snapshot,
}

impl Engine {
    /// Lets a reader go on; none when the turn that was named, or any turn of the session, is not
    /// kept any longer.
    ///
    /// # Errors
    /// [`Code::UnknownSession`](samovar_core::Code::UnknownSession),
    /// [`Code::SessionDamaged`](samovar_core::Code::SessionDamaged) when some of it is lost, and
    /// [`Code::Internal`](samovar_core::Code::Internal) when the journal cannot be read.
    pub async fn resume(
        &self,
        session: &SessionId,
        wanted: TurnChoice,
        since: ReaderPosition,
    ) -> Result<Option<Resumption>, Error> {
        let log = self.log(session).await?;
        let log = log.ok_or_else(|| unknown(session))?;
        let found = match wanted {
            TurnChoice::Turn(turn, after) => named(&log, &turn, after, since).await,
            TurnChoice::Latest => latest(&log, since).await,
        };
        let found = found.map_err(|broken| self.broke_in(session, &broken))?;
        Ok(found.and_then(|(place, from)| self.resumption(&log, place, from)))
    }

    fn resumption(&self, log: &Log, place: TurnPlace, from: ResumeFrom) -> Option<Resumption> {
        let first = place.first?;
        let from = match from {
            ResumeFrom::After(id) if id.seq < first => ResumeFrom::Start,
            from => from,
        };
        Some(Resumption {
            reader: self.reader(log, Seq(first.0 - 1)),
            turn: place.turn,
            from,
            settled: place.settled,
            is_over: place.finished.is_some(),
        })
    }
}

/// A turn that the reader names.
async fn named(
    log: &Log,
    turn: &TurnId,
    after: Seq,
    since: ReaderPosition,
) -> Result<Option<(TurnPlace, ResumeFrom)>, Broken> {
    let from = match since {
        ReaderPosition::Start => ResumeFrom::Start,
        ReaderPosition::Unknown => ResumeFrom::Snapshot,
        ReaderPosition::Event(id) => match log.find(id).await? {
            Some(_) => ResumeFrom::After(id),
            None => ResumeFrom::Snapshot,
        },
    };
    let turns = log.turns_from(after.next()).await?;
    let mut turns = turns.into_iter();
    Ok(turns
        .find(|place| place.turn == *turn)
        .map(|place| (place, from)))
}

/// The turn of the event up to which the reader has all, else the one that runs, else the last.
async fn latest(
    log: &Log,
    since: ReaderPosition,
) -> Result<Option<(TurnPlace, ResumeFrom)>, Broken> {
    let from = match since {
        ReaderPosition::Start => ResumeFrom::Start,
        ReaderPosition::Unknown => ResumeFrom::Snapshot,
        ReaderPosition::Event(id) => match turn_at(log, id).await? {
            EventTurn::Turn(place) => return Ok(Some((place, ResumeFrom::After(id)))),
            EventTurn::NoTurn => ResumeFrom::After(id),
            EventTurn::Nothing => ResumeFrom::Snapshot,
        },
    };
    let place = log.latest_turn().await?;
    Ok(place.map(|place| (place, from)))
}

/// What an id stands for.
enum EventTurn {
    /// An event of this turn, or of a turn below it.
    Turn(TurnPlace),
    /// An event that belongs to no turn.
    NoTurn,
    /// Nothing, or something whose turn is not kept from its start.
    Nothing,
}

async fn turn_at(log: &Log, id: EventId) -> Result<EventTurn, Broken> {
    let Some(event) = log.find(id).await? else {
        return Ok(EventTurn::Nothing);
    };
    let Some(turn) = &event.turn else {
        return Ok(EventTurn::NoTurn);
    };
    let turns = log.turns_from(id.seq).await?.into_iter();
    let place = if event.agent.depth() == 0 {
        turns.rev().find(|place| place.turn == *turn)
    } else {
        // One turn of the session's own agent runs at a time, and what is below belongs to it.
        let mut begun = turns.rev();
        begun.find(|place| place.started.is_some_and(|started| started < id.seq))
    };
    let place = place.filter(|place| place.first.is_some());
    Ok(place.map_or(EventTurn::Nothing, EventTurn::Turn))
}
