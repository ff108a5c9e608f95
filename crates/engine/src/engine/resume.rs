//! A returning reader: which turn it reads, and from which event it continues (DU-7, AS-9). And readers
//! that outlive a turn, of one session and of all (UI-15).

use samovar_core::{Broken, Error, EventId, Seq, SessionId, TurnId};

use super::Engine;
use crate::log::{FeedReader, Follower, Log, TurnPlace};
use crate::parts::unknown;

/// The reader's position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReaderPosition {
    /// Nothing.
    Start,
    /// The reader says it has everything up to this event.
    Event(EventId),
    /// It has something, but its position is not valid.
    Unknown,
}

/// The turn that a reader asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnChoice {
    /// The turn of the reader's last event; otherwise the running turn; otherwise the last one.
    Latest,
    /// This turn, whose first event is after this position.
    Turn(TurnId, Seq),
}

/// What a reader needs to continue with a turn.
pub struct Resumption {
    /// The turn.
    pub turn: TurnId,
    /// A follower before the turn's first event: making frames needs all of its events.
    pub reader: Follower,
    /// Where the reader continues.
    pub from: ResumeFrom,
    /// The last position that a snapshot can cover: readers can see it, and the turn's end, if any,
    /// comes after it.
    pub settled: Seq,
    /// The position of the turn's end; `None` while it runs.
    pub finished: Option<Seq>,
}

/// Where a reader continues in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeFrom {
    /// At the turn's start.
    Start,
    /// After this event, which is kept at that position.
    After(EventId),
    /// After a snapshot, because the reader's position is not known.
    Snapshot,
}

/// A reader of everything that happens in a session.
pub struct SessionFeed {
    /// The reader.
    pub reader: Follower,
    /// Where it begins, if that is not where it was: whatever follows from the events up to here can be
    /// read already. `None` if it continues.
    pub from: Option<EventId>,
}

impl Engine {
    /// Reads everything that happens in a session, after an event that the reader has; without one, or
    /// where that event is not kept, after the last one whose consequences can be read.
    ///
    /// # Errors
    /// [`Code::UnknownSession`](samovar_core::Code::UnknownSession),
    /// [`Code::SessionDamaged`](samovar_core::Code::SessionDamaged) when some of it is lost, and
    /// [`Code::Internal`](samovar_core::Code::Internal) when the journal cannot be read.
    pub async fn session_feed(
        &self,
        session: &SessionId,
        since: Option<EventId>,
    ) -> Result<SessionFeed, Error> {
        let log = self.log(session).await?;
        let log = log.ok_or_else(|| unknown(session))?;
        let known = match since {
            None => None,
            Some(id) => {
                let found = log.find(id).await;
                found.map_err(|broken| self.broke_in(session, &broken))?
            }
        };
        if let Some(event) = known {
            let reader = self.reader(&log, event.seq);
            return Ok(SessionFeed { reader, from: None });
        }
        let settled = log.settled();
        // Before it is asked what this event was: what follows must not be let go of meanwhile.
        let reader = self.reader(&log, settled);
        let last = log.at(settled).await;
        let last = last.map_err(|broken| self.broke_in(session, &broken))?;
        let epoch = last.map_or_else(|| self.parts.journal.epoch(), |event| event.epoch);
        let from = Some(EventId {
            epoch,
            seq: settled,
        });
        Ok(SessionFeed { reader, from })
    }

    /// Reads what happens in all sessions from now on, and says after which id: whatever follows from
    /// the events up to there can be read already.
    pub fn feed(&self) -> (EventId, FeedReader) {
        let epoch = self.parts.journal.epoch();
        self.parts.feed.follow(epoch, self.parts.stop.clone())
    }

    /// The same after an id of this run's feed; `None` for one that says nothing here, or no more.
    pub fn feed_after(&self, id: EventId) -> Option<FeedReader> {
        let is_of_this_run = id.epoch == self.parts.journal.epoch();
        let reader = || self.parts.feed.after(id, self.parts.stop.clone());
        is_of_this_run.then(reader).flatten()
    }

    /// Resumes a reader. `None` if the named turn, or every turn of the session, is no longer kept.
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
            finished: place.finished,
        })
    }
}

/// The turn that the reader names.
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
    let mut turns = turns.roots.into_iter();
    Ok(turns
        .find(|place| place.turn == *turn)
        .map(|place| (place, from)))
}

/// The turn of the reader's last event, otherwise the running one, otherwise the last.
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

/// The turn of an event id.
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
    let place = log.turns_from(id.seq).await?.root_of(turn);
    let place = place.filter(|place| place.first.is_some());
    Ok(place.map_or(EventTurn::Nothing, EventTurn::Turn))
}
