//! What may become calls, in any form of text.

use std::ops::Range;
use std::sync::Arc;

use samovar_core::{Message, ToolSpec};

use super::call::Call;
use super::json::Json;
use super::quotes;
use super::{FENCE, MAX_BLANK_BYTES};
use crate::bounds::MAX_CALLS;

/// The languages of a fence that may hold calls.
const LANGUAGES: &[&str] = &["", "json", "xml", "tool_call"];
/// Marks that open calls.
const OPENING: &[&str] = &["<tool_call>", "<tools>", "<|python_tag|>", "[TOOL_CALLS]"];
/// What may stand after a call.
const CLOSING: &[&str] = &[
    "</tool_call>",
    "</tools>",
    "</function>",
    "[/TOOL_CALLS]",
    ";",
    ",",
    "}",
    "<|im_end|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "</s>",
];
/// Opens a call by name; its arguments follow as JSON or as `<parameter=…>`.
const FUNCTION: &str = "<function=";
const FUNCTION_END: &str = "</function>";
/// May stand between a bare name and its arguments.
const ARGUMENTS: &str = "[ARGS]";

/// What may become calls.
pub(super) struct Calls {
    /// How much of what is held was read.
    read: usize,
    scan: Scan,
    pub(super) found: Vec<Call>,
    /// The texts of the calls that were found.
    texts: Vec<Range<usize>>,
    /// Where the token that is read begins.
    token: usize,
    /// JSON may follow.
    is_open: bool,
    /// A mark opened the calls.
    is_marked: bool,
    /// A tool was named whose arguments follow.
    name: Option<String>,
}

/// What is read of calls.
enum Scan {
    /// A mark, or the beginning of a call.
    Token,
    Json(Json),
    /// Parameters in marks.
    Parameters,
}

/// Why what is held is text.
pub(super) struct NoCall;

impl Calls {
    /// What begins at the place `read`, where JSON may come if it is open.
    pub(super) fn new(read: usize, is_open: bool) -> Self {
        Self {
            read,
            scan: Scan::Token,
            found: Vec::new(),
            texts: Vec::new(),
            token: read,
            is_open,
            is_marked: false,
            name: None,
        }
    }

    /// Whether nothing follows the calls but a fence.
    pub(super) fn are_whole(&self, held: &str) -> bool {
        let is_between = matches!(self.scan, Scan::Token) && self.name.is_none();
        is_between && matches!(held[self.read..].trim(), "" | FENCE)
    }

    /// Whether the model was shown one of them.
    pub(super) fn are_quoted(&self, held: &str, shown: &[Arc<Message>]) -> bool {
        let texts = self.texts.iter().map(|text| &held[text.clone()]);
        quotes::are_in(&texts.collect::<Vec<_>>(), shown)
    }

    /// Reads on, up to `c`, the last character of what is held.
    ///
    /// # Errors
    /// It is no call.
    pub(super) fn read(
        &mut self,
        held: &str,
        c: char,
        tools: &[Arc<ToolSpec>],
    ) -> Result<(), NoCall> {
        match &mut self.scan {
            Scan::Token => self.token(held, tools),
            Scan::Parameters => {
                let Some(parameters) = held[self.read..].strip_suffix(FUNCTION_END) else {
                    return Ok(());
                };
                let name = self.name.take().ok_or(NoCall)?;
                let call = Call::of_parameters(name, parameters, tools).ok_or(NoCall)?;
                self.close(vec![call], held)
            }
            Scan::Json(_) => self.json(held, c, tools),
        }
    }

    fn token(&mut self, held: &str, tools: &[Arc<ToolSpec>]) -> Result<(), NoCall> {
        let rest = held[self.read..].trim_start();
        if rest.is_empty() {
            self.read = held.len();
            return Ok(());
        }
        if FENCE.starts_with(rest) && self.name.is_none() {
            return Ok(());
        }
        if self.name.is_some() {
            return self.arguments(held, rest, tools);
        }
        self.token = held.len() - rest.len();
        if let Some(language) = rest.strip_prefix(FENCE) {
            return self.fence(held, language);
        }
        let begins = |marks: &[&str]| marks.iter().any(|mark| mark.starts_with(rest));
        let is_after_call = !self.found.is_empty();
        if let Some(name) = rest.strip_prefix(FUNCTION) {
            let mut names = tools.iter().map(|tool| tool.name.as_str());
            match name.strip_suffix('>') {
                Some(name) if names.any(|one| one == name) => self.expect_arguments(held, name),
                None if names.any(|one| one.starts_with(name)) => {}
                Some(_) | None => return Err(NoCall),
            }
        } else if OPENING.contains(&rest) {
            (self.is_open, self.is_marked) = (true, true);
            self.read = held.len();
        } else if is_after_call && CLOSING.contains(&rest) {
            self.read = held.len();
        } else if begins(OPENING) || begins(&[FUNCTION]) || is_after_call && begins(CLOSING) {
            return Ok(());
        } else if !self.is_open {
            return Err(NoCall);
        } else if rest.starts_with(['{', '[']) {
            return self.begin_json(held, rest, tools);
        } else {
            return self.bare_name(held, rest, tools);
        }
        Ok(())
    }

    /// What follows the name of a function.
    fn arguments(&mut self, held: &str, rest: &str, tools: &[Arc<ToolSpec>]) -> Result<(), NoCall> {
        match rest {
            "{" => return self.begin_json(held, rest, tools),
            "<" => {
                self.read = held.len() - rest.len();
                self.scan = Scan::Parameters;
            }
            _ => return Err(NoCall),
        }
        Ok(())
    }

    /// A fence begins or ends calls when no other word than a language follows in its line.
    fn fence(&mut self, held: &str, language: &str) -> Result<(), NoCall> {
        let word = language.trim().to_ascii_lowercase();
        if language.ends_with('\n') && LANGUAGES.contains(&word.as_str()) {
            self.is_open = true;
            self.read = held.len();
            return Ok(());
        }
        let can_be = LANGUAGES.iter().any(|known| known.starts_with(&word));
        if can_be && !language.ends_with('\n') && language.len() <= MAX_BLANK_BYTES {
            Ok(())
        } else {
            Err(NoCall)
        }
    }

    /// Mistral writes the name before the arguments.
    fn bare_name(&mut self, held: &str, rest: &str, tools: &[Arc<ToolSpec>]) -> Result<(), NoCall> {
        let mut can_be = false;
        for name in tools.iter().map(|tool| tool.name.as_str()) {
            let after = rest.strip_prefix(name);
            match after {
                Some(ARGUMENTS) => {
                    self.expect_arguments(held, name);
                    return Ok(());
                }
                Some("{") => {
                    self.expect_arguments(held, name);
                    return self.begin_json(held, "{", tools);
                }
                Some(after) => can_be |= ARGUMENTS.starts_with(after),
                None => can_be |= name.starts_with(rest),
            }
        }
        if can_be { Ok(()) } else { Err(NoCall) }
    }

    fn expect_arguments(&mut self, held: &str, name: &str) {
        self.name = Some(name.to_owned());
        self.read = held.len();
    }

    fn begin_json(
        &mut self,
        held: &str,
        rest: &str,
        tools: &[Arc<ToolSpec>],
    ) -> Result<(), NoCall> {
        self.read = held.len() - rest.len();
        self.scan = Scan::Json(match self.name {
            Some(_) => Json::default(),
            None => Json::of_calls(rest),
        });
        rest.chars().try_for_each(|c| self.json(held, c, tools))
    }

    fn json(&mut self, held: &str, c: char, tools: &[Arc<ToolSpec>]) -> Result<(), NoCall> {
        let Scan::Json(json) = &mut self.scan else {
            return Ok(());
        };
        // Qwen's template shows the braces around a call twice, and its models write them so.
        if (c, json.depth, json.last) == ('{', 1, Some('{')) {
            self.read = held.len() - 1;
            return Ok(());
        }
        json.read(c, tools)?;
        if json.depth > 0 {
            return Ok(());
        }
        let (text, name) = (&held[self.read..], self.name.take());
        let calls = Call::of_json(text, name, self.is_marked, tools).ok_or(NoCall)?;
        self.close(calls, held)
    }

    fn close(&mut self, calls: Vec<Call>, held: &str) -> Result<(), NoCall> {
        self.found.extend(calls);
        self.texts.push(self.token..held.len());
        self.scan = Scan::Token;
        self.read = held.len();
        if self.found.len() > MAX_CALLS {
            Err(NoCall)
        } else {
            Ok(())
        }
    }
}
