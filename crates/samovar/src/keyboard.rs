//! The keyboard of a person: the editor of a line, and how the terminal was before it.

use std::borrow::Cow;
use std::io;

use reedline::{
    DefaultPrompt, DefaultPromptSegment, Prompt, PromptEditMode, PromptHistorySearch, Reedline,
};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::style::has_colours;

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
        if let Some(before) = &self.0
            && let Err(error) = tcsetattr(io::stdin(), OptionalActions::Now, before)
        {
            tracing::debug!(%error, "the terminal stays as it is");
        }
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
