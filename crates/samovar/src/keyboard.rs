//! The keyboard of a person: the editor of a line, and how the terminal was before it.

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use reedline::{
    DefaultPrompt, DefaultPromptSegment, Prompt, PromptEditMode, PromptHistorySearch, Reedline,
};
use rustix::io::Errno;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use crate::style::has_colours;

/// How often it is looked whether the terminal is still there.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How the terminal was before the editor changed it. Put back when it is left, however it is: the
/// editor itself may be in the middle of a line then.
pub(crate) struct Terminal(Option<Termios>);

impl Terminal {
    /// Notes how it is.
    pub(crate) fn note() -> Self {
        Self(tcgetattr(io::stdin()).ok())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            set(before);
        }
    }
}

/// Whether the terminal of stdin is gone: its window was closed, or its connection was lost.
pub(crate) fn is_gone() -> bool {
    matches!(tcgetattr(io::stdin()), Err(Errno::IO))
}

/// Waits until the terminal of stdin is gone. The line editor never notices that, and reads its end of
/// file for ever. Safe to drop halfway.
pub(crate) async fn gone() {
    while !is_gone() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// A terminal that shows nothing of what is typed, and throws nothing of it away at Ctrl-C: while the
/// program writes, for the next prompt.
pub(crate) struct Hushed {
    _before: Terminal,
}

impl Hushed {
    /// Hushes the terminal of stdin until this is dropped.
    pub(crate) fn begin() -> Self {
        let before = Terminal::note();
        if let Some(before) = &before.0 {
            let mut hushed = before.clone();
            hushed
                .local_modes
                .remove(LocalModes::ECHO | LocalModes::ECHONL);
            hushed.local_modes.insert(LocalModes::NOFLSH);
            set(&hushed);
        }
        Self { _before: before }
    }
}

/// Takes what was typed and not read yet.
pub(crate) fn typed_ahead() -> String {
    let before = Terminal::note();
    let Some(modes) = &before.0 else {
        return String::new();
    };
    let mut at_once = modes.clone();
    // What is not entered yet is there only without lines.
    at_once.local_modes.remove(LocalModes::ICANON);
    at_once.special_codes[SpecialCodeIndex::VMIN] = 0;
    at_once.special_codes[SpecialCodeIndex::VTIME] = 0;
    set(&at_once);
    let mut typed = Vec::new();
    let mut bytes = [0; 1024];
    while let Ok(count @ 1..) = rustix::io::read(io::stdin(), &mut bytes) {
        typed.extend(bytes.iter().take(count));
    }
    letters(&String::from_utf8_lossy(&typed))
}

/// The text among keys: without those that move a cursor, which an editor alone understands.
fn letters(typed: &str) -> String {
    let mut text = String::new();
    let mut keys = typed.chars();
    while let Some(key) = keys.next() {
        match key {
            '\u{1b}' => {
                if let Some('[' | 'O') = keys.next() {
                    let _end = keys.find(|key| ('@'..='~').contains(key));
                }
            }
            '\r' => text.push('\n'),
            '\n' | '\t' => text.push(key),
            _ if key.is_control() => {}
            _ => text.push(key),
        }
    }
    text
}

fn set(modes: &Termios) {
    if let Err(error) = tcsetattr(io::stdin(), OptionalActions::Now, modes) {
        tracing::debug!(%error, "the terminal stays as it is");
    }
}

/// An editor that remembers nothing. What is pasted stays one text, however many lines it has.
pub(crate) fn editor() -> Reedline {
    Reedline::create()
        .with_ansi_colors(has_colours(&io::stdout()))
        .use_bracketed_paste(true)
}

/// What stands before a line.
pub(crate) struct Sign(DefaultPrompt);

impl Default for Sign {
    fn default() -> Self {
        let none = DefaultPromptSegment::Empty;
        Self(DefaultPrompt::new(none.clone(), none))
    }
}

impl Prompt for Sign {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        "".into()
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        "".into()
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        "> ".into()
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        ". ".into()
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let shown = self.0.render_prompt_history_search_indicator(search);
        shown.into_owned().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves FC-1
    #[test]
    fn what_was_typed_ahead_keeps_its_letters_and_loses_its_cursor_keys() {
        for (typed, text) in [
            ("plain é 漢", "plain é 漢"),
            ("two\rlines\n", "two\nlines\n"),
            ("a\u{1b}[D\u{1b}OAb\u{1b}[1;5Cc", "abc"),
            ("\u{1b}[200~pasted\u{1b}[201~", "pasted"),
            ("bell\u{7}\u{4}\u{1b}", "bell"),
        ] {
            assert_eq!(letters(typed), text);
        }
    }
}
