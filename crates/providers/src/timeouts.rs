//! How long a model's server may take, and the watch that ends a call.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// How long a model's server may take (AS-14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To take the connection: 10 s.
    pub connect: Duration,
    /// From the request to the first piece of the answer: 120 s.
    pub first_token: Duration,
    /// From one piece of the answer to the next: 60 s.
    pub between_tokens: Duration,
    /// For everything: 600 s.
    pub whole_call: Duration,
    /// For the servers of this machine, all together, to say which models they have: 240 ms, so that
    /// whoever waits for them loses a quarter of a second at most (FC-4).
    pub probe: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_token: Duration::from_mins(2),
            between_tokens: Duration::from_mins(1),
            whole_call: Duration::from_mins(10),
            probe: Duration::from_millis(240),
        }
    }
}

/// What stands for a limit that is too long for the clock.
const NEVER: Duration = Duration::from_hours(24 * 365);

impl Timeouts {
    /// How long a limit is.
    pub(crate) fn length(&self, limit: Limit) -> Duration {
        match limit {
            Limit::FirstToken => self.first_token,
            Limit::BetweenTokens => self.between_tokens,
            Limit::WholeCall => self.whole_call,
        }
    }
}

/// The limit that a call ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    FirstToken,
    BetweenTokens,
    WholeCall,
}

/// Watches one call.
pub(crate) struct Watch {
    timeouts: Timeouts,
    began: Instant,
    /// When the last sign of life came that was no piece of the answer.
    alive: Instant,
    /// When the last piece of the answer came.
    heard: Option<Instant>,
    /// One timer for the whole call. It is not set back for every piece: it looks, when it rings,
    /// whether somebody spoke meanwhile.
    sleep: Pin<Box<Sleep>>,
}

impl Watch {
    /// Starts with the request.
    pub(crate) fn start(timeouts: Timeouts) -> Self {
        let began = Instant::now();
        let sleep = Box::pin(sleep_until(began));
        let mut watch = Self {
            timeouts,
            began,
            alive: began,
            heard: None,
            sleep,
        };
        watch.rewind();
        watch
    }

    /// Starts again, with a request that was not sent before.
    pub(crate) fn restart(&mut self) {
        *self = Self::start(self.timeouts);
    }

    /// A sign of life came that is no piece of the answer: the wait for the first piece begins again,
    /// within the whole call's limit.
    pub(crate) fn prolong(&mut self) {
        self.alive = Instant::now();
    }

    /// A piece of the answer came.
    pub(crate) fn hear(&mut self) {
        let is_first = self.heard.replace(Instant::now()).is_none();
        if is_first {
            self.rewind();
        }
    }

    /// Waits for `work`, but not beyond the next limit.
    pub(crate) async fn wait<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Limit> {
        let mut work = pin!(work);
        poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                // Who always has something to say is never waited for, and must end all the same.
                let (end, limit) = self.end((self.began, Limit::WholeCall));
                let is_late = Instant::now() >= end;
                return Poll::Ready(if is_late { Err(limit) } else { Ok(done) });
            }
            while self.sleep.as_mut().poll(context).is_ready() {
                let (due, limit) = self.next();
                if Instant::now() >= due {
                    return Poll::Ready(Err(limit));
                }
                self.sleep.as_mut().reset(due);
            }
            Poll::Pending
        })
        .await
    }

    fn rewind(&mut self) {
        let (due, _) = self.next();
        self.sleep.as_mut().reset(due);
    }

    fn next(&self) -> (Instant, Limit) {
        let quiet = match self.heard {
            None => (self.alive, Limit::FirstToken),
            Some(heard) => (heard, Limit::BetweenTokens),
        };
        let quiet = self.end(quiet);
        let whole = self.end((self.began, Limit::WholeCall));
        if whole.0 < quiet.0 { whole } else { quiet }
    }

    fn end(&self, (from, limit): (Instant, Limit)) -> (Instant, Limit) {
        let end = from.checked_add(self.timeouts.length(limit));
        (end.unwrap_or(from + NEVER), limit)
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    fn timeouts(first_token: u64, between_tokens: u64, whole_call: u64) -> Timeouts {
        Timeouts {
            first_token: Duration::from_secs(first_token),
            between_tokens: Duration::from_secs(between_tokens),
            whole_call: Duration::from_secs(whole_call),
            ..Timeouts::default()
        }
    }

    /// Hears something every second, so many times, and then waits for nothing; gives the limit,
    /// and the second at which it struck.
    async fn strike(timeouts: Timeouts, heard: u64) -> (Limit, u64) {
        let began = Instant::now();
        let mut watch = Watch::start(timeouts);
        let mut limit = None;
        for _ in 0..heard {
            let second = tokio::time::sleep(Duration::from_secs(1));
            limit = limit.or(watch.wait(second).await.err());
            watch.hear();
        }
        let limit = match limit {
            Some(limit) => limit,
            None => watch.wait(pending::<()>()).await.unwrap_err(),
        };
        (limit, began.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn who_always_has_something_to_say_is_cut_at_the_end_of_the_whole_call() {
        let mut watch = Watch::start(timeouts(60, 60, 5));
        for _ in 0..4 {
            assert_eq!(watch.wait(std::future::ready(())).await, Ok(()));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        let limit = watch.wait(std::future::ready(())).await;
        assert_eq!(limit, Err(Limit::WholeCall));
    }

    // proves AS-14
    #[tokio::test(start_paused = true)]
    async fn a_sign_of_life_prolongs_the_wait_for_the_first_piece_within_the_whole_call() {
        for (timeouts, heard, wanted) in [
            (timeouts(5, 60, 600), false, (Limit::FirstToken, 13)),
            (timeouts(5, 60, 11), false, (Limit::WholeCall, 11)),
            (timeouts(60, 5, 600), true, (Limit::BetweenTokens, 5)),
        ] {
            let began = Instant::now();
            let mut watch = Watch::start(timeouts);
            if heard {
                watch.hear();
            }
            let mut limit = None;
            for _ in 0..2 {
                let pause = tokio::time::sleep(Duration::from_secs(4));
                limit = limit.or(watch.wait(pause).await.err());
                watch.prolong();
            }
            let limit = match limit {
                Some(limit) => limit,
                None => watch.wait(pending::<()>()).await.unwrap_err(),
            };
            assert_eq!((limit, began.elapsed().as_secs()), wanted, "{timeouts:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_limit_that_ends_first_ends_the_call() {
        for (timeouts, heard, wanted) in [
            (timeouts(5, 60, 600), 0, (Limit::FirstToken, 5)),
            (timeouts(60, 5, 600), 1, (Limit::BetweenTokens, 6)),
            (timeouts(5, 60, 600), 1, (Limit::BetweenTokens, 61)),
            (timeouts(60, 5, 600), 30, (Limit::BetweenTokens, 35)),
            (timeouts(60, 60, 5), 0, (Limit::WholeCall, 5)),
            (timeouts(60, 60, 5), 3, (Limit::WholeCall, 5)),
            (timeouts(2, 2, 600), 20, (Limit::BetweenTokens, 22)),
            (timeouts(u64::MAX, 1, 7), 0, (Limit::WholeCall, 7)),
        ] {
            assert_eq!(
                strike(timeouts, heard).await,
                wanted,
                "{timeouts:?} {heard}"
            );
        }
    }
}
