//! A program at a pseudo-terminal: what a person there types and sees.

use std::ffi::OsStr;
use std::num::NonZeroU16;
use std::process::Stdio;

use pty_process::{Pty, Size};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use vt100::{Callbacks, Parser, Screen};

use crate::program::{Finished, PATIENCE, Program};

/// Columns of a terminal that nobody gave another size.
const COLUMNS: u16 = 300;

/// Rows of such a terminal: enough for all that a test makes it show.
const ROWS: u16 = 60;

/// Strokes that nobody has read yet, at most.
const STROKES: usize = 64;

/// Keys that are no letters, as a terminal sends them.
pub mod keys {
    /// Enter.
    pub const ENTER: &str = "\r";
    /// The arrow up.
    pub const UP: &str = "\u{1b}[A";
    /// Ctrl-C.
    pub const CTRL_C: &str = "\u{3}";
    /// Ctrl-U, which empties the line.
    pub const CTRL_U: &str = "\u{15}";
    /// Ctrl-D.
    pub const CTRL_D: &str = "\u{4}";
}

/// A program that is about to be started at a terminal.
pub struct Seat {
    command: pty_process::Command,
    columns: u16,
    rows: u16,
}

/// A program that runs at a terminal. It is killed when it is dropped.
pub struct Terminal {
    child: Child,
    strokes: mpsc::Sender<Vec<u8>>,
    seen: watch::Receiver<TerminalContent>,
    /// Moves bytes to and fro, as long as the program lasts.
    player: JoinSet<()>,
}

/// How a program left its terminal.
#[derive(Debug)]
pub struct LeftTerminal {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// What stands on the screen.
    pub screen: String,
    /// All that was ever written on the terminal, as it came.
    pub written: String,
    /// What it wrote on a stdout that is not the terminal.
    pub stdout: String,
    /// What it wrote on a stderr that is not the terminal.
    pub stderr: String,
}

impl LeftTerminal {
    /// Itself, when the program ended with this exit code.
    ///
    /// # Panics
    /// When it ended otherwise.
    #[track_caller]
    #[expect(
        clippy::return_self_not_must_use,
        reason = "often the exit code is all that is asked"
    )]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }
}

impl Program {
    /// A terminal of 300 columns at which it will run with these arguments.
    pub fn seat<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Seat {
        let mut command = self.command(args);
        command.env("TERM", "xterm-256color");
        Seat {
            command: command.into(),
            columns: COLUMNS,
            rows: ROWS,
        }
    }

    /// Starts it at a terminal of 300 columns.
    ///
    /// # Panics
    /// When it does not start.
    pub fn at_terminal<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Terminal {
        self.seat(args).start()
    }
}

impl Seat {
    /// Makes the terminal this wide.
    #[must_use]
    pub fn columns(mut self, columns: u16) -> Self {
        self.columns = columns;
        self
    }

    /// Takes stdin from elsewhere.
    #[must_use]
    pub fn stdin(mut self, stdin: impl Into<Stdio>) -> Self {
        self.command = self.command.stdin(stdin);
        self
    }

    /// Sends stdout elsewhere.
    #[must_use]
    pub fn stdout(mut self, stdout: impl Into<Stdio>) -> Self {
        self.command = self.command.stdout(stdout);
        self
    }

    /// Sends stderr elsewhere.
    #[must_use]
    pub fn stderr(mut self, stderr: impl Into<Stdio>) -> Self {
        self.command = self.command.stderr(stderr);
        self
    }

    /// Starts the program.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(self) -> Terminal {
        let (pty, pts) = pty_process::open().expect("a pseudo-terminal");
        pty.resize(Size::new(self.rows, self.columns))
            .expect("the terminal takes its size");
        let child = self.command.spawn(pts).expect("the program starts");
        let (strokes, typed) = mpsc::channel(STROKES);
        let (shown, seen) = watch::channel(TerminalContent::of(self.rows, self.columns));
        let mut player = JoinSet::new();
        player.spawn(play(pty, typed, shown));
        Terminal {
            child,
            strokes,
            seen,
            player,
        }
    }
}

impl Terminal {
    /// Types letters and [`keys`].
    ///
    /// # Panics
    /// When the program has left.
    pub async fn types(&self, typed: &str) {
        let sent = self.strokes.send(typed.as_bytes().to_vec()).await;
        sent.expect("the program is still there");
    }

    /// Types a line.
    ///
    /// # Panics
    /// As [`Terminal::types`].
    pub async fn enters(&self, line: &str) {
        self.types(&format!("{line}{}", keys::ENTER)).await;
    }

    /// Waits until a text stands on the screen.
    ///
    /// # Panics
    /// When it does not come within a minute, or the program left without it.
    pub async fn sees(&self, text: &str) {
        self.sees_that(text, |screen| screen.contains(text)).await;
    }

    /// Waits until the line of the cursor is this, which a prompt ends with.
    ///
    /// # Panics
    /// As [`Terminal::sees`].
    pub async fn sees_prompt(&self, line: &str) {
        let has_it = |screen: &str| screen.lines().next_back() == Some(line.trim_end());
        self.sees_that(line, has_it).await;
    }

    /// Waits until the screen is as it should be; `what` names that.
    ///
    /// # Panics
    /// As [`Terminal::sees`].
    pub async fn sees_that(&self, what: &str, holds: impl Fn(&str) -> bool) {
        let mut seen = self.seen.clone();
        let shown = seen.wait_for(|seen| holds(&seen.screen()));
        let is_there = match tokio::time::timeout(PATIENCE, shown).await {
            Ok(Ok(_)) => true,
            // It has left; its last words count.
            Ok(Err(_)) => holds(&self.screen()),
            Err(_) => false,
        };
        assert!(
            is_there,
            "{what:?} is not on the screen:\n{}",
            self.screen()
        );
    }

    /// What stands on the screen: its lines, without blanks at their ends; one that is too long for
    /// a row is one line still.
    pub fn screen(&self) -> String {
        self.seen.borrow().screen()
    }

    /// Closes the terminal, as a window is closed, and waits until the program has left: its exit code.
    ///
    /// # Panics
    /// When that takes longer than a minute.
    pub async fn closes(mut self) -> Option<i32> {
        self.player.shutdown().await;
        Finished::of(self.child).await.code
    }

    /// Waits until the program has left by itself.
    ///
    /// # Panics
    /// When that takes longer than a minute.
    pub async fn leaves(self) -> LeftTerminal {
        let Self {
            child,
            strokes: _at_the_keyboard,
            mut seen,
            player: _until_it_ends,
        } = self;
        let finished = Finished::of(child).await;
        // Everything was read when the player has ended.
        let all = tokio::time::timeout(PATIENCE, seen.wait_for(|_| false)).await;
        let is_alone = all.is_ok();
        drop(all);
        assert!(is_alone, "something else holds the terminal");
        let seen = seen.borrow();
        LeftTerminal {
            code: finished.code,
            screen: seen.screen(),
            written: seen.written(),
            stdout: finished.stdout,
            stderr: finished.stderr,
        }
    }
}

/// What has come to the terminal so far.
struct TerminalContent {
    parser: Parser<Answers>,
    written: Vec<u8>,
}

impl TerminalContent {
    fn of(rows: u16, columns: u16) -> Self {
        let size = |length| NonZeroU16::new(length).expect("a terminal that is not empty");
        let (rows, columns) = (size(rows), size(columns));
        Self {
            parser: Parser::new_with_callbacks(rows, columns, 0, Answers::default()),
            written: Vec::new(),
        }
    }

    fn screen(&self) -> String {
        let contents = self.parser.screen().contents();
        let lines: Vec<_> = contents.lines().map(str::trim_end).collect();
        lines.join("\n").trim_end().to_owned()
    }

    fn written(&self) -> String {
        String::from_utf8_lossy(&self.written).into_owned()
    }
}

/// What the terminal answers to programs that ask it something.
#[derive(Default)]
struct Answers(Vec<u8>);

impl Callbacks for Answers {
    fn unhandled_csi(
        &mut self,
        screen: &mut Screen,
        _: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        kind: char,
    ) {
        // Where is the cursor? A line editor waits for this before its prompt.
        if kind == 'n' && params == [&[6]] {
            let (row, column) = screen.cursor_position();
            let answer = format!("\u{1b}[{};{}R", row + 1, column + 1);
            self.0.extend(answer.bytes());
        }
    }
}

/// Shows what the program writes, and types what the test types.
async fn play(
    mut pty: Pty,
    mut typed: mpsc::Receiver<Vec<u8>>,
    shown: watch::Sender<TerminalContent>,
) {
    let mut bytes = Vec::new();
    loop {
        let stroke = tokio::select! {
            read = pty.read_buf(&mut bytes) => {
                // Linux says EIO where the last one at a terminal has left.
                if !matches!(read, Ok(1..)) {
                    return;
                }
                let mut answers = Vec::new();
                shown.send_modify(|seen| {
                    seen.written.extend_from_slice(&bytes);
                    seen.parser.process(&bytes);
                    answers = std::mem::take(&mut seen.parser.callbacks_mut().0);
                });
                bytes.clear();
                answers
            }
            Some(stroke) = typed.recv() => stroke,
        };
        if pty.write_all(&stroke).await.is_err() {
            return;
        }
    }
}
