//! How far a proof is: a line that is rewritten on a terminal, a line now and then elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use samovar_locale::prove as says;
use samovar_prove::Proof;

use crate::screen::say;

/// How often the line is rewritten on a terminal.
const ON_TERMINAL: Duration = Duration::from_millis(250);

/// How often a line is written where nobody watches.
const ELSEWHERE: Duration = Duration::from_secs(10);

/// Tells how far a proof is.
pub(super) struct Progress {
    proof: Proof,
    is_terminal: bool,
}

impl Progress {
    pub(super) fn new(proof: &Proof) -> Self {
        Self {
            proof: proof.clone(),
            is_terminal: io::stderr().is_terminal(),
        }
    }

    /// Tells it forever. Safe to drop halfway.
    pub(super) async fn show(&self) {
        loop {
            let every = if self.is_terminal {
                ON_TERMINAL
            } else {
                ELSEWHERE
            };
            tokio::time::sleep(every).await;
            let report = self.proof.report();
            let broken: u64 = report.broken.values().sum();
            let line = says::progress(
                report.counts.kills(),
                report.kills_wanted,
                report.counts.accepted,
                broken,
                report.took_ms / 1000,
            );
            if self.is_terminal {
                self.write(&format!("\r\u{1b}[K{line}"));
            } else {
                say(&line);
            }
        }
    }

    /// Takes the line away.
    pub(super) fn clear(&self) {
        if self.is_terminal {
            self.write("\r\u{1b}[K");
        }
    }

    #[expect(
        clippy::unused_self,
        reason = "only who tells the progress may move the cursor"
    )]
    fn write(&self, text: &str) {
        let _nobody_sees = io::stderr().write_all(text.as_bytes());
    }
}
