//! What turns on a terminal while nothing else is said: elapsed time, tokens, and what a running
//! command has written last.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use samovar_core::Kind;
use samovar_locale as text;
use tokio::time::Instant;

use crate::screen::visible;
use crate::style::{columns, cut};

/// How often it turns.
const EVERY: Duration = Duration::from_millis(120);

const FACES: [char; 4] = ['|', '/', '-', '\\'];

/// A line at the bottom of a terminal, which goes before anything else is written. Where stderr is
/// no terminal there is none.
pub(crate) struct Spinner {
    is_wanted: bool,
    is_shown: bool,
    began: Instant,
    turns: usize,
    /// The last line of the command that runs, or how far the model's server is with the prompt.
    last_line: String,
}

impl Spinner {
    /// A spinner that stands still.
    pub(crate) fn new() -> Self {
        Self {
            is_wanted: io::stderr().is_terminal(),
            is_shown: false,
            began: Instant::now(),
            turns: 0,
            last_line: String::new(),
        }
    }

    /// Takes it away for an event, and takes over what that says of a running command.
    pub(crate) fn make_way(&mut self, kind: &Kind) {
        self.clear();
        match kind {
            Kind::CallProgress { progress, .. } => self.follow(&progress.last),
            Kind::PromptProgress { read, total, .. } => {
                self.last_line = text::spinner::prompt(short(*read), short(*total));
            }
            Kind::CallClosed { .. } | Kind::Delta { .. } => self.last_line.clear(),
            _ => {}
        }
    }

    fn follow(&mut self, written: &str) {
        let mut lines = written.lines().rev().map(str::trim);
        let last = lines.find(|line| !line.is_empty());
        self.last_line = visible(last.unwrap_or_default()).replace('\t', " ");
    }

    /// Waits, and turns once if there is room for it; forever where nobody sees it. Safe to drop
    /// halfway.
    pub(crate) async fn turn(&mut self, has_room: bool, tokens: u64) {
        if !self.is_wanted {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(EVERY).await;
        if !has_room {
            return;
        }
        self.turns = self.turns.wrapping_add(1);
        let face = FACES.get(self.turns % FACES.len()).copied().unwrap_or('|');
        let seconds = self.began.elapsed().as_secs();
        // Short enough for a terminal of twenty columns.
        let line = match tokens {
            0 => text::spinner::seconds(face, seconds),
            _ => text::spinner::seconds_and_tokens(face, seconds, short(tokens)),
        };
        let line = match columns(&io::stderr()) {
            Some(columns) if !self.last_line.is_empty() => {
                cut(&format!("{line}  {}", self.last_line), columns)
            }
            _ => line,
        };
        self.write(&format!("\r\u{1b}[K{line}"));
        self.is_shown = true;
    }

    /// Takes it away.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            self.write("\r\u{1b}[K");
        }
    }

    #[expect(clippy::unused_self, reason = "only a spinner may move the cursor")]
    fn write(&self, text: &str) {
        let _nobody_sees = io::stderr().write_all(text.as_bytes());
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A number in at most five characters or so.
fn short(tokens: u64) -> String {
    match tokens {
        0..=9_999 => tokens.to_string(),
        10_000..=9_999_999 => format!("{}k", tokens / 1_000),
        _ => format!("{}M", tokens / 1_000_000),
    }
}
