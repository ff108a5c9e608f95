//! Where the lines of a chat come from: an editor with a history at a terminal, else a pipe.

use std::collections::VecDeque;
use std::io::{self, BufRead, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reedline::{
    FileBackedHistory, History, HistoryItem, Reedline, Signal, ValidationResult, Validator,
};
use samovar_core::{Code, Error};
use samovar_locale as text;

use crate::answer::erase;
use crate::exit::Failure;
use crate::keyboard::{Sign, editor, gone};
use crate::screen::say;

/// Lines that the editor remembers while the chat lasts.
const REMEMBERED: usize = 1000;

/// Bytes of a line from a pipe, at most: what the server takes in a body.
const MAX_LINE_BYTES: u64 = 1024 * 1024;

/// What came.
pub(super) enum InputLine {
    /// Something to say or to do.
    Said(String),
    /// Nothing.
    Empty,
    /// The line was broken off; the next one begins with its text.
    Broken,
    /// There will be no more.
    End,
}

/// Where the lines come from.
pub(super) enum Lines {
    /// None while a thread has it.
    Editor(Option<Box<Editor>>),
    Pipe,
}

/// The editor, and what the next line begins with.
pub(super) struct Editor {
    reedline: Reedline,
    /// Breaks the line off that is being read.
    leave: Arc<AtomicBool>,
    /// What was entered, for the arrow up.
    entered: VecDeque<String>,
    ready: String,
    /// Whether Ctrl-C came last, so that another one leaves.
    was_interrupted: bool,
}

/// A line that ends with a backslash continues on the next one.
struct Continuation;

impl Validator for Continuation {
    fn validate(&self, line: &str) -> ValidationResult {
        if line.ends_with('\\') {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Complete
        }
    }
}

impl Lines {
    /// An editor where both ends are a terminal.
    pub(super) fn open() -> Self {
        if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
            return Self::Pipe;
        }
        Self::Editor(Some(Box::new(Editor::new(VecDeque::new()))))
    }

    /// Whether a person types.
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Self::Editor(_))
    }

    /// Puts a text into the next line, to be edited; a pipe has none.
    pub(super) fn offer(&mut self, text: &str) {
        if let Self::Editor(Some(editor)) = self {
            editor.ready.push_str(text);
        }
    }

    /// The next line. Reading waits in a thread of its own, which an editor leaves when `until` is over.
    pub(super) async fn next(
        &mut self,
        until: impl Future<Output = ()>,
    ) -> Result<InputLine, Failure> {
        let line = match self {
            Self::Pipe => {
                let read = tokio::task::spawn_blocking(from_pipe).await;
                return read.map_err(|error| Failure::broken(&error))?;
            }
            Self::Editor(editor) => {
                let Some(mut taken) = editor.take() else {
                    return Ok(InputLine::End);
                };
                let leave = taken.leave.clone();
                let mut read = tokio::task::spawn_blocking(move || {
                    let line = taken.read();
                    (taken, line)
                });
                let over = tokio::select! {
                    biased;
                    () = gone() => return Ok(InputLine::End),
                    read = &mut read => Some(read),
                    () = until => None,
                };
                let read = if let Some(read) = over {
                    read
                } else {
                    leave.store(true, Ordering::Relaxed);
                    read.await
                };
                read.map(|(taken, line)| {
                    *editor = Some(taken);
                    line
                })
            }
        };
        let line = line.map_err(|error| Failure::broken(&error))?;
        line.map_err(unreadable)
    }
}

impl Editor {
    fn new(entered: VecDeque<String>) -> Self {
        let leave = Arc::new(AtomicBool::new(false));
        let mut reedline = editor()
            .with_validator(Box::new(Continuation))
            .with_break_signal(leave.clone());
        // Kept for this chat alone: what was said is in the session.
        if let Ok(mut history) = FileBackedHistory::new(REMEMBERED) {
            for line in &entered {
                let _forgotten = history.save(HistoryItem::from_command_line(line));
            }
            reedline = reedline.with_history(Box::new(history));
        }
        Self {
            reedline,
            leave,
            entered,
            ready: String::new(),
            was_interrupted: false,
        }
    }

    fn read(&mut self) -> io::Result<InputLine> {
        let ready = std::mem::take(&mut self.ready);
        if !ready.is_empty() {
            let insert = reedline::EditCommand::InsertString(ready);
            self.reedline.run_edit_commands(&[insert]);
        }
        let signal = self.reedline.read_line(&Sign::default())?;
        let was_interrupted = std::mem::take(&mut self.was_interrupted);
        match signal {
            Signal::Success(line) if line.trim().is_empty() => Ok(InputLine::Empty),
            Signal::Success(line) => {
                if self.entered.len() == REMEMBERED {
                    self.entered.pop_front();
                }
                self.entered.push_back(line.clone());
                Ok(InputLine::Said(line.replace("\\\n", "\n")))
            }
            Signal::ExternalBreak(draft) => {
                erase();
                // The same editor would draw its prompt over what is shown now.
                *self = Self::new(std::mem::take(&mut self.entered));
                self.ready = draft;
                Ok(InputLine::Broken)
            }
            Signal::CtrlC if was_interrupted => Ok(InputLine::End),
            Signal::CtrlC => {
                self.was_interrupted = true;
                say(text::chat::how_to_leave());
                Ok(InputLine::Empty)
            }
            Signal::CtrlD => Ok(InputLine::End),
            // Signals of keys that are not bound.
            _ => Ok(InputLine::Empty),
        }
    }
}

fn from_pipe() -> Result<InputLine, Failure> {
    let mut line = Vec::new();
    let mut stdin = io::Read::take(io::stdin().lock(), MAX_LINE_BYTES + 1);
    let read = stdin.read_until(b'\n', &mut line).map_err(unreadable)?;
    if read as u64 > MAX_LINE_BYTES {
        let why = text::run::prompt_too_large(MAX_LINE_BYTES);
        return Err(Error::new(Code::BodyTooLarge, why).into());
    }
    let not_text = |_| Failure::usage(text::run::prompt_not_text());
    let line = String::from_utf8(line).map_err(not_text)?;
    Ok(match (read, line.trim()) {
        (0, _) => InputLine::End,
        (_, "") => InputLine::Empty,
        (_, said) => InputLine::Said(said.to_owned()),
    })
}

fn unreadable(error: io::Error) -> Failure {
    Failure::usage(text::run::stdin_unreadable(error))
}
