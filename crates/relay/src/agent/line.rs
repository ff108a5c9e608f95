//! The way to the relay: somebody joins on it, loses it, and comes back.

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

/// A connection to a relay: a socket, or a place in a relay of this very process. Dropping it leaves.
pub trait Link: Send {
    /// Says something. An error is a connection that is no more, and why, for a log.
    ///
    /// # Errors
    /// Why the connection is no more.
    fn say(&mut self, envelope: Envelope) -> Future<'_, Result<(), String>>;

    /// What comes next. Dropping the future halfway loses nothing.
    ///
    /// # Errors
    /// Why the connection is no more.
    fn next(&mut self) -> Future<'_, Result<Arc<Envelope>, String>>;
}

/// How a connection to a relay is made, as often as it is lost.
pub trait Way: Send {
    /// Makes one. Dropping the future halfway makes none.
    fn open(&self) -> Future<'static, Result<Box<dyn Link>, String>>;
}

/// A connection that is there, or being made.
pub(super) struct Line {
    way: Box<dyn Way>,
    state: State,
    pause: Duration,
}

enum State {
    Up(Box<dyn Link>),
    Coming(Future<'static, Result<Box<dyn Link>, String>>),
}

/// What comes of a line.
pub(super) enum Heard {
    /// It is there now, and nobody has joined on it.
    Up,
    /// It is no more, for this reason.
    Lost(String),
    /// Somebody said this.
    Said(Arc<Envelope>),
}

impl Line {
    pub(super) fn new(way: Box<dyn Way>) -> Self {
        let state = State::Coming(way.open());
        let pause = FIRST_PAUSE;
        Self { way, state, pause }
    }

    /// What comes next. Dropping the future halfway loses nothing: what is under way goes on with the
    /// next one.
    pub(super) async fn next(&mut self) -> Heard {
        loop {
            match &mut self.state {
                State::Up(link) => match link.next().await {
                    Ok(said) => return Heard::Said(said),
                    Err(why) => {
                        self.lose();
                        return Heard::Lost(why);
                    }
                },
                State::Coming(link) => match link.await {
                    Ok(link) => {
                        self.state = State::Up(link);
                        return Heard::Up;
                    }
                    Err(why) => {
                        tracing::debug!(why, "the relay is out of reach");
                        self.lose();
                    }
                },
            }
        }
    }

    /// Says something; what cannot be said is lost with the line, which [`Line::next`] tells of.
    pub(super) async fn say(&mut self, envelope: Envelope) -> Result<(), String> {
        let State::Up(link) = &mut self.state else {
            return Err("the line is not up".to_owned());
        };
        let said = tokio::time::timeout(SAYING, link.say(envelope)).await;
        said.unwrap_or_else(|_| Err("nobody takes what is said".to_owned()))
    }

    /// Gives the connection up; another one is made after a pause, a longer one each time.
    pub(super) fn lose(&mut self) {
        let (pause, open) = (self.pause, self.way.open());
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        self.state = State::Coming(Box::pin(async move {
            tokio::time::sleep(pause).await;
            open.await
        }));
    }

    /// The other side is well: the next loss is a new one.
    pub(super) fn is_well(&mut self) {
        self.pause = FIRST_PAUSE;
    }
}
