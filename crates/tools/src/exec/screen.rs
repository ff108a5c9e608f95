//! What a program wrote, as a person would see it: without what commands a terminal.

/// Where in an escape sequence the reader is.
#[derive(Clone, Copy)]
enum State {
    Text,
    /// After an escape character.
    Escape,
    /// In a control sequence, which ends with a letter or another final byte.
    Control,
    /// In a text for the terminal itself, which ends with a bell or an escape and a backslash.
    Command,
    /// After an escape in such a text.
    CommandEscape,
}

/// The text without control sequences. A carriage return begins its line again, as progress bars do.
pub(super) fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    // Where the current line begins, and whether it is to be written over.
    let (mut line, mut returned) = (0, false);
    let mut state = State::Text;
    for c in text.chars() {
        if c == '\n' {
            // A sequence that is broken off by a line's end takes no line away.
            out.push('\n');
            (line, returned, state) = (out.len(), false, State::Text);
            continue;
        }
        let is_shown = matches!(state, State::Text) && (c == '\t' || !c.is_control());
        if is_shown {
            if std::mem::take(&mut returned) {
                out.truncate(line);
            }
            out.push(c);
            continue;
        }
        returned |= matches!(state, State::Text) && c == '\r';
        state = state.after(c);
    }
    out
}

impl State {
    /// After a character that is not shown.
    fn after(self, c: char) -> Self {
        match (self, c) {
            (Self::Text, '\u{1b}') | (Self::Escape, ' '..='/') => Self::Escape,
            (Self::Text, '\u{9b}') | (Self::Escape, '[') => Self::Control,
            (Self::Text, '\u{90}' | '\u{9d}'..='\u{9f}')
            | (Self::Escape, ']' | 'P' | 'X' | '^' | '_') => Self::Command,
            (Self::Command, '\u{1b}') => Self::CommandEscape,
            (Self::Control, '@'..='~')
            | (Self::Command, '\u{7}' | '\u{9c}')
            | (Self::Text | Self::Escape | Self::CommandEscape, _) => Self::Text,
            (Self::Control, _) => Self::Control,
            (Self::Command, _) => Self::Command,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves TL-2
    #[test]
    fn what_commands_a_terminal_is_left_out() {
        let rows: [(&[u8], &str); 12] = [
            (b"plain\ttext\n", "plain\ttext\n"),
            (b"\x1b[31mred\x1b[0m", "red"),
            (b"\x1b]0;title\x07after", "after"),
            (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"10%\r20%\r100%\ndone", "100%\ndone"),
            (b"windows\r\nlines\r\n", "windows\nlines\n"),
            (b"bell\x07 back\x08", "bell back"),
            (b"\x1b(Bset", "set"),
            (b"\x1b[2J\x1b[Hclear", "clear"),
            (b"cut \x1b[31\nnext", "cut \nnext"),
            (b"not \xff utf-8", "not \u{fffd} utf-8"),
            (b"end \x1b", "end "),
        ];
        for (written, seen) in rows {
            assert_eq!(plain(written), seen, "{written:?}");
        }
    }
}
