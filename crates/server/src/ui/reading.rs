//! Where a stream begins in the log, and from where on its turn may wait for the client.

use samovar_core::{Error, Seq, SessionId, TurnId};
use samovar_engine::{Engine, Follower, ReaderPosition, TurnChoice};
use samovar_wire::Spelling as _;
use samovar_wire::ui::{Leg, UiEncoder, UiView};

use crate::stream::lost;

/// A turn, read from its start.
pub(super) struct Place {
    turn: TurnId,
    reader: Follower,
    leg: Leg,
    is_over: bool,
}

/// The turn of a message that was accepted.
pub(super) async fn posted(
    engine: &Engine,
    session: &SessionId,
    turn: TurnId,
    after: Seq,
) -> Result<Place, Error> {
    let wanted = TurnChoice::Turn(turn.clone(), after);
    if let Some(place) = choose(engine, session, wanted).await? {
        return Ok(place);
    }
    // It waits for its beginning.
    let reader = engine.follow(session, after).await?;
    Ok(Place {
        turn,
        reader,
        leg: Leg::default(),
        is_over: false,
    })
}

/// The running turn, otherwise the last one, if it is kept.
///
/// # Errors
/// As [`Engine::resume`].
pub(super) async fn latest(engine: &Engine, session: &SessionId) -> Result<Option<Place>, Error> {
    choose(engine, session, TurnChoice::Latest).await
}

async fn choose(
    engine: &Engine,
    session: &SessionId,
    wanted: TurnChoice,
) -> Result<Option<Place>, Error> {
    let found = engine.resume(session, wanted, ReaderPosition::Start);
    Ok(found.await?.map(|found| Place {
        turn: found.turn,
        reader: found.reader,
        leg: Leg {
            after: Seq::default(),
            until: found.settled,
        },
        is_over: found.finished.is_some(),
    }))
}

impl Place {
    pub(super) fn turn(&self) -> &TurnId {
        &self.turn
    }

    /// Up to where it was kept.
    pub(super) fn settled(&self) -> Seq {
        self.leg.until
    }

    /// Whether it has not ended.
    pub(super) fn is_running(&self) -> bool {
        !self.is_over
    }

    /// The part of it after a position.
    pub(super) fn behind(mut self, after: Seq) -> Self {
        self.leg.after = after;
        self
    }

    /// Whether nothing of it runs, and it waits for the client.
    ///
    /// # Errors
    /// The log cannot be read.
    pub(super) async fn waits_for_client(mut self, view: UiView) -> Result<bool, Error> {
        let mut encoder = UiEncoder::new(self.turn, view, self.leg);
        let mut out = Vec::new();
        loop {
            let events = self.reader.next().await.map_err(|why| lost(why, None))?;
            for event in &events {
                if event.seq > self.leg.until {
                    return Ok(encoder.is_parked());
                }
                encoder.take(event, &mut out);
                out.clear();
                if event.seq == self.leg.until {
                    return Ok(encoder.is_parked());
                }
            }
        }
    }

    /// What writes it, and what it reads.
    pub(super) fn encoder(self, view: UiView) -> (UiEncoder, Follower) {
        (UiEncoder::new(self.turn, view, self.leg), self.reader)
    }
}
