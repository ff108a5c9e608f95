//! A connection to a relay: an agent joins on it, loses it, and reconnects.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use samovar_core::Future;
use samovar_core::relay::Envelope;

/// The pause before the second attempt; each one after that is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long a message may take until the other side has taken it.
const SAYING: Duration = Duration::from_secs(10);

/// Why a connection is no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disconnect {
    /// Somebody else is in this one's place: to come back would be to throw them out.
    Replaced,
    /// Something else, in words for a log: another connection may be better.
    Broken(String),
}

impl fmt::Display for Disconnect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replaced => f.write_str("somebody else took its place"),
            Self::Broken(why) => f.write_str(why),
        }
    }
}

/// A connection to a relay: a socket, or a place in a relay of this very process. Dropping it leaves.
pub trait Link: Send {
    /// Says something.
    ///
    /// # Errors
    /// Why the connection is no more.
    fn say(&mut self, envelope: Envelope) -> Future<'_, Result<(), Disconnect>>;

    /// What comes next. Dropping the future halfway loses nothing.
    ///
    /// # Errors
    /// Why the connection is no more.
    fn next(&mut self) -> Future<'_, Result<Arc<Envelope>, Disconnect>>;
}

/// Makes a connection to a relay, as often as it is lost.
pub trait Connector: Send {
    /// Makes one. Dropping the future halfway makes none.
    fn open(&self) -> Future<'static, Result<Box<dyn Link>, String>>;
}

/// A connection that is there, or being made.
pub(crate) struct Connection {
    way: Box<dyn Connector>,
    state: State,
    pause: Duration,
}

enum State {
    Up(Box<dyn Link>),
    Coming(Future<'static, Result<Box<dyn Link>, String>>),
}

/// What comes of a line.
pub(crate) enum LinkEvent {
    /// It is there now, and nobody has joined on it.
    Up,
    /// It is no more, for this reason.
    Lost(Disconnect),
    /// Somebody said this.
    Said(Arc<Envelope>),
}

impl Connection {
    pub(crate) fn new(way: Box<dyn Connector>) -> Self {
        let state = State::Coming(way.open());
        let pause = FIRST_PAUSE;
        Self { way, state, pause }
    }

    /// What comes next. Dropping the future halfway loses nothing: what is under way continues with
    /// the next one.
    pub(crate) async fn next(&mut self) -> LinkEvent {
        loop {
            match &mut self.state {
                State::Up(link) => match link.next().await {
                    Ok(said) => return LinkEvent::Said(said),
                    Err(cut) => {
                        self.lose();
                        return LinkEvent::Lost(cut);
                    }
                },
                State::Coming(link) => match link.await {
                    Ok(link) => {
                        self.state = State::Up(link);
                        return LinkEvent::Up;
                    }
                    Err(why) => {
                        tracing::debug!(why, "the relay is out of reach");
                        self.lose();
                    }
                },
            }
        }
    }

    /// Says something; what cannot be said is lost with the line, which [`Connection::next`] tells
    /// of.
    pub(crate) async fn say(&mut self, envelope: Envelope) -> Result<(), Disconnect> {
        let State::Up(link) = &mut self.state else {
            return Err(Disconnect::Broken("it is not there yet".to_owned()));
        };
        let said = tokio::time::timeout(SAYING, link.say(envelope)).await;
        said.unwrap_or_else(|_| Err(Disconnect::Broken("nobody takes what is said".to_owned())))
    }

    /// Gives the connection up; another one is made after a pause, a longer one each time.
    pub(crate) fn lose(&mut self) {
        let (pause, open) = (self.pause, self.way.open());
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        self.state = State::Coming(Box::pin(async move {
            tokio::time::sleep(pause).await;
            open.await
        }));
    }

    /// The other side is well: the next loss is a new one.
    pub(crate) fn is_well(&mut self) {
        self.pause = FIRST_PAUSE;
    }
}
