//! Where a JSON value in a text ends.

use std::sync::Arc;

use samovar_core::ToolSpec;

use super::calls::NoCall;

/// The fields of a call, in all spellings.
const FIELDS: &[&str] = &["name", "type", "id", "function", "arguments", "parameters"];

/// How far a JSON object or list was read.
#[derive(Default)]
pub(super) struct Json {
    pub(super) depth: usize,
    /// The last character outside of strings that is no white space.
    pub(super) last: Option<char>,
    /// The depth of a call's own fields; 0 in arguments, which have any.
    fields_at: usize,
    field: String,
    /// The string that is being read, if it is one of a call's own fields or their values.
    string: String,
    /// What came before the string.
    before: Option<char>,
    is_in_string: bool,
    is_escaped: bool,
}

impl Json {
    /// One that begins like this, and can only be a call or a list of some.
    pub(super) fn of_calls(begin: &str) -> Self {
        let fields_at = if begin.starts_with('[') { 2 } else { 1 };
        Self {
            fields_at,
            ..Self::default()
        }
    }

    /// Reads the next character; at depth 0 the value is complete.
    ///
    /// # Errors
    /// It is no object, and no list of some; or no call of one of `tools`.
    pub(super) fn read(&mut self, c: char, tools: &[Arc<ToolSpec>]) -> Result<(), NoCall> {
        if self.is_in_string {
            let is_escaped = std::mem::take(&mut self.is_escaped);
            if c == '"' && !is_escaped {
                self.is_in_string = false;
                return self.end_string(tools);
            }
            self.is_escaped = c == '\\' && !is_escaped;
            if self.depth == self.fields_at {
                self.string.push(c);
            }
            return Ok(());
        }
        if c.is_whitespace() {
            return Ok(());
        }
        let before = self.last.replace(c);
        match (self.depth, before) {
            (1, Some('{')) if !matches!(c, '"' | '}') => return Err(NoCall),
            (1, Some('[')) if c != '{' => return Err(NoCall),
            (_, _) => {}
        }
        match c {
            '"' => (self.is_in_string, self.before) = (true, before),
            '{' | '[' => self.depth += 1,
            '}' | ']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        Ok(())
    }

    /// Other JSON is text from its first field on, so that it is shown while it comes.
    fn end_string(&mut self, tools: &[Arc<ToolSpec>]) -> Result<(), NoCall> {
        if self.depth != self.fields_at {
            return Ok(());
        }
        let string = std::mem::take(&mut self.string);
        let can_be = if matches!(self.before, Some('{' | ',')) {
            self.field = string;
            FIELDS.contains(&self.field.as_str())
        } else {
            self.field != "name" || tools.iter().any(|tool| tool.name == string)
        };
        if can_be { Ok(()) } else { Err(NoCall) }
    }
}
