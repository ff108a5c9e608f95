//! Where a JSON value in a text ends.

use super::calls::NoCall;

/// How far a JSON object or list was read.
#[derive(Default)]
pub(super) struct Json {
    pub(super) depth: usize,
    /// The last character outside of strings that is no white space.
    pub(super) last: Option<char>,
    is_in_string: bool,
    is_escaped: bool,
}

impl Json {
    /// Reads the next character; at depth 0 the value is complete.
    ///
    /// # Errors
    /// It is no object, and no list of some.
    pub(super) fn read(&mut self, c: char) -> Result<(), NoCall> {
        if std::mem::take(&mut self.is_escaped) {
            return Ok(());
        }
        if self.is_in_string {
            self.is_escaped = c == '\\';
            self.is_in_string = c != '"';
            return Ok(());
        }
        if c.is_whitespace() {
            return Ok(());
        }
        match (self.depth, self.last.replace(c)) {
            (1, Some('{')) if !matches!(c, '"' | '}') => return Err(NoCall),
            (1, Some('[')) if c != '{' => return Err(NoCall),
            (_, _) => {}
        }
        match c {
            '"' => self.is_in_string = true,
            '{' | '[' => self.depth += 1,
            '}' | ']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        Ok(())
    }
}
