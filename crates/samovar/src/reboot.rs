//! Restarts a server in place after its store failed: the same process, arguments, environment and
//! port (DU-12). After a failed fsync, only a new start can tell what the file holds.

use std::fmt::Display;
use std::os::unix::process::CommandExt;
use std::time::Duration;

use samovar_locale as text;
use samovar_server::Config;
use tokio::time::Instant;

use crate::config;
use crate::exit::{Exit, Failure};
use crate::screen::say;
use crate::stop::Stop;
use crate::stores::is_begun;

/// How often in a row it restarts, at most.
const TIMES: u32 = 5;
/// How long it serves well before the count starts over.
const WELL: Duration = Duration::from_mins(10);
/// How long it waits before the first time; twice as long before each next one.
const PAUSE: Duration = Duration::from_secs(1);

/// How often this process has restarted, and where it listened then.
pub(crate) struct Reboot {
    times: u32,
    port: Option<u16>,
    since: Instant,
}

impl Reboot {
    /// What the run before this one in the same process has left.
    pub(crate) fn begin() -> Self {
        let left = config::booted_again().and_then(|left| read(&left));
        let (times, port) = left.map_or((0, None), |(times, port)| (times, Some(port)));
        Self {
            times,
            port,
            since: Instant::now(),
        }
    }

    /// The port to listen on: where the system chose one before, that one again.
    pub(crate) fn port(&self, asked: u16) -> u16 {
        self.port.filter(|_| asked == 0).unwrap_or(asked)
    }

    /// Whether this run was begun because a store had failed.
    pub(crate) fn is_again(&self) -> bool {
        self.times > 0
    }

    /// Restarts after a pause, unless it did so too often or is asked to stop meanwhile. Comes back
    /// only then.
    ///
    /// # Errors
    /// It was too often, or the program cannot be started.
    pub(crate) async fn boot(
        self,
        why: &impl Display,
        config: &Config,
        stop: &mut Stop,
    ) -> Result<Exit, Failure> {
        let times = if self.since.elapsed() >= WELL {
            0
        } else {
            self.times
        };
        if times >= TIMES {
            let why = text::serve::store_given_up(why, u64::from(times));
            return Err(Failure::new(Exit::TurnFailed, "store_failed", why));
        }
        let pause = PAUSE * 2_u32.pow(times);
        let seconds = pause.as_secs();
        say(&if is_begun(&config.data_dir) {
            text::serve::store_failed(why, seconds)
        } else {
            text::serve::stores_gone(why, seconds)
        });
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.asked() => return Ok(Exit::Ok),
        }
        // It raises the limit again, and remembers what this one found.
        if let Err(error) = samovar_descriptors::restore() {
            tracing::debug!(%error, "the limit of file descriptors stays raised");
        }
        let left = format!("{}:{}", times + 1, config.server.port);
        // The memory with the keys lives until the new program has it.
        let (mut program, _memory) = config::handed::again_with_keys();
        let failed = program.env(config::BOOTED_AGAIN, left).exec();
        Err(Failure::broken(&failed))
    }
}

fn read(left: &str) -> Option<(u32, u16)> {
    let (times, port) = left.split_once(':')?;
    Some((times.parse().ok()?, port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_leaves_for_the_next_is_read_or_not_there() {
        assert_eq!(read("2:4747"), Some((2, 4747)));
        for odd in ["", "2", "x:4747", "2:70000", "-1:1"] {
            assert_eq!(read(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_port_that_the_system_chose_is_taken_again_and_one_that_is_named_counts() {
        let again = |port| Reboot {
            times: 1,
            port,
            since: Instant::now(),
        };
        assert_eq!(again(Some(4100)).port(0), 4100);
        assert_eq!(again(Some(4100)).port(4747), 4747);
        assert_eq!(again(None).port(0), 0);
    }
}
