//! An answer that a person types while a turn waits for it.

use std::io::{self, IsTerminal, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reedline::{EditCommand, Signal};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use samovar_core::command::Text;
use samovar_locale as text;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::keyboard::{Sign, Terminal, editor, gone, is_gone};
use crate::screen::say;

/// How often plain lines are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How soon after a line the next one comes that was pasted with it.
const PASTED: Duration = Duration::from_millis(120);

/// Bytes of an answer from plain lines, at most; the server takes fewer, and says so.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// Bytes that are read from a terminal at once.
const READ_BYTES: usize = 4096;

/// How a person can be asked here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Person {
    /// With the line editor.
    AtEditor,
    /// By plain lines: the editor cannot draw where stdout goes elsewhere.
    AtTerminal,
    /// Nobody is here.
    Absent,
}

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// Something to see.
    Answer(String),
    /// The person has none.
    Nothing,
    /// The turn is to be stopped.
    Stop,
}

/// A prompt that waits for an answer.
pub(crate) struct Prompt {
    input: Input,
    _terminal: Terminal,
}

enum Input {
    Editor {
        reading: JoinHandle<io::Result<EditorResult>>,
        leave: Arc<AtomicBool>,
    },
    Lines {
        terminal: OwnedFd,
        typed: Vec<u8>,
    },
}

/// How the editor ended.
enum EditorResult {
    Typed(Typed),
    /// It was told to leave; this stood in the line.
    Left(String),
}

impl Person {
    /// Who is here.
    pub(crate) fn find() -> Self {
        let sees_questions = io::stdin().is_terminal() && io::stderr().is_terminal();
        match (sees_questions, io::stdout().is_terminal()) {
            (true, true) => Self::AtEditor,
            (true, false) => Self::AtTerminal,
            (false, _) => Self::Absent,
        }
    }
}

impl Prompt {
    /// Opens a prompt, with a text in its line to be edited; none where nobody is here.
    ///
    /// # Errors
    /// The terminal cannot be read.
    pub(crate) fn open(person: Person, draft: &str) -> io::Result<Option<Self>> {
        let terminal = Terminal::note();
        let input = match person {
            Person::AtEditor => Input::edit(draft),
            Person::AtTerminal => Input::lines()?,
            Person::Absent => return Ok(None),
        };
        Ok(Some(Self {
            input,
            _terminal: terminal,
        }))
    }

    /// Waits for what is typed; not to be asked again once it came. A terminal that is gone stops the
    /// turn. Safe to drop halfway.
    ///
    /// # Errors
    /// The terminal cannot be read.
    pub(crate) async fn typed(&mut self) -> io::Result<Typed> {
        let typed = tokio::select! {
            biased;
            () = gone() => Ok(Typed::Stop),
            typed = self.input.typed() => typed,
        };
        match typed {
            Ok(Typed::Nothing) | Err(_) if is_gone() => Ok(Typed::Stop),
            typed => typed,
        }
    }

    /// Takes the prompt away, and gives what stood in its line.
    pub(crate) async fn close(self) -> String {
        match self.input {
            Input::Editor { reading, leave } => {
                leave.store(true, Ordering::Relaxed);
                let came = tokio::select! {
                    came = reading => came,
                    () = gone() => return String::new(),
                };
                erase();
                match came {
                    Ok(Ok(
                        EditorResult::Left(draft) | EditorResult::Typed(Typed::Answer(draft)),
                    )) => draft,
                    Ok(Ok(EditorResult::Typed(Typed::Nothing | Typed::Stop)) | Err(_)) | Err(_) => {
                        String::new()
                    }
                }
            }
            // What is not entered stays with the terminal.
            Input::Lines { .. } => {
                erase();
                String::new()
            }
        }
    }
}

impl Input {
    async fn typed(&mut self) -> io::Result<Typed> {
        match self {
            Self::Editor { reading, .. } => match reading.await.map_err(io::Error::other)?? {
                EditorResult::Typed(typed) => Ok(typed),
                EditorResult::Left(_) => Ok(Typed::Nothing),
            },
            Self::Lines { terminal, typed } => answer(terminal, typed).await,
        }
    }

    fn edit(draft: &str) -> Self {
        let leave = Arc::new(AtomicBool::new(false));
        let mut reedline = editor().with_break_signal(leave.clone());
        if !draft.is_empty() {
            reedline.run_edit_commands(&[EditCommand::InsertString(draft.to_owned())]);
        }
        let reading = spawn_blocking(move || {
            loop {
                let typed = match reedline.read_line(&Sign::default())? {
                    Signal::Success(line) => match said(&line) {
                        Some(answer) => Typed::Answer(answer),
                        None => continue,
                    },
                    Signal::CtrlC => Typed::Stop,
                    Signal::CtrlD => Typed::Nothing,
                    Signal::ExternalBreak(draft) => return Ok(EditorResult::Left(draft)),
                    // Signals of keys that are not bound.
                    _ => continue,
                };
                return Ok(EditorResult::Typed(typed));
            }
        });
        Self::Editor { reading, leave }
    }

    /// Reads the terminal of stdin through a descriptor of its own, so that nobody else's waits
    /// become attempts.
    fn lines() -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let terminal = rustix::fs::open("/proc/self/fd/0", flags, Mode::empty())?;
        sign();
        let typed = Vec::new();
        Ok(Self::Lines { terminal, typed })
    }
}

/// What was entered, and pasted with it.
async fn answer(terminal: &OwnedFd, typed: &mut Vec<u8>) -> io::Result<Typed> {
    loop {
        let has_more = if typed.ends_with(b"\n") {
            // Safe to drop: what was read stands in `typed`.
            let more = tokio::time::timeout(PASTED, read(terminal, typed)).await;
            more.unwrap_or(Ok(false))?
        } else {
            read(terminal, typed).await?
        };
        if has_more && typed.len() < MAX_ANSWER_BYTES {
            continue;
        }
        if typed.is_empty() {
            return Ok(Typed::Nothing);
        }
        let entered = std::mem::take(typed);
        match said(&String::from_utf8_lossy(&entered)) {
            Some(answer) => return Ok(Typed::Answer(answer)),
            None => sign(),
        }
    }
}

/// Reads what is there, once there is something; false at the end of the input. Safe to drop halfway.
async fn read(terminal: &OwnedFd, typed: &mut Vec<u8>) -> io::Result<bool> {
    let mut bytes = [0; READ_BYTES];
    loop {
        match rustix::io::read(terminal, &mut bytes) {
            Ok(count) => {
                typed.extend(bytes.iter().take(count));
                return Ok(count > 0);
            }
            Err(Errno::AGAIN | Errno::INTR) => tokio::time::sleep(LOOK_EVERY).await,
            Err(error) => return Err(error.into()),
        }
    }
}

/// An answer without the white space around it; none where there is nothing to see.
fn said(line: &str) -> Option<String> {
    if let Ok(answer) = Text::new(line.trim().to_owned()) {
        return Some(answer.into_string());
    }
    say(text::ask::blank());
    None
}

fn sign() {
    let _nobody_sees = io::stderr().write_all(b"> ");
}

/// Takes the line of the cursor away, and what stands below it.
pub(crate) fn erase() {
    let _nobody_sees = io::stderr().write_all(b"\r\x1b[J");
}
