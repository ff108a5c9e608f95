//! Calls that a model wrote as text become calls, and thoughts in marks become reasoning. Pure.
//!
//! Many local servers show a model another template than its own, or pass its marks on as text. A
//! call then comes as JSON in a fence, or in a form of Hermes, Qwen, Llama or Mistral. What begins
//! like a call is held back until it is decided. It becomes calls when the whole rest of the answer
//! is calls, each of a tool that was offered, with arguments that fit; else it is text. A call that the
//! model was shown, in a file or a message, is a quotation and stays text.
//!
//! Characters are taken one by one, so it makes no difference in which pieces an answer comes.

mod call;
mod calls;
mod json;
mod quotes;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures_util::StreamExt as _;
use samovar_core::provider::{Answer, is_cut, is_refusal};
use samovar_core::{Message, ProviderEvent, ToolSpec};

use self::call::Call;
use self::calls::{Calls, NoCall};

/// Bytes that are held back, at most; what is longer is text. A stop of the turn drops them: only what
/// readers saw of an answer is kept.
const MAX_HELD_BYTES: usize = 64 * 1024;
/// Bytes of white space that are held back before a line, a language or a thought, at most.
const MAX_BLANK_BYTES: usize = 256;
/// The finish reason of an answer with calls.
const CALLS: &str = "tool_calls";
const THINK: &str = "<think>";
const THINK_END: &str = "</think>";
const FENCE: &str = "```";

/// Reads an answer to `shown`, in which a call of one of `tools` may be text.
pub(crate) fn read_calls(
    answer: Answer,
    tools: Arc<[Arc<ToolSpec>]>,
    shown: Vec<Arc<Message>>,
) -> Answer {
    let mut reader = TextCalls::new(tools, shown);
    Box::pin(answer.filter_map(move |events| {
        let mut told = Vec::with_capacity(events.len());
        for event in events {
            reader.take(event, &mut told);
        }
        std::future::ready((!told.is_empty()).then_some(told))
    }))
}

/// An answer so far.
struct TextCalls {
    tools: Arc<[Arc<ToolSpec>]>,
    /// The conversation that is answered.
    shown: Vec<Arc<Message>>,
    place: Place,
    /// What is not decided yet.
    held: String,
    /// What is decided and told with the next event: text, or in thoughts reasoning.
    decided: String,
    /// Only white space and thoughts were emitted so far.
    is_first: bool,
    has_thoughts: bool,
    is_in_fence: bool,
}

/// Where in an answer the next character stands.
enum Place {
    /// Before any character that is no white space.
    Start,
    Thoughts,
    /// At the beginning of a line, before any character that is no white space.
    Line,
    /// In a line that is text.
    Text,
    /// In what may become calls.
    Calls(Calls),
    /// After a real call.
    Rest,
}

impl TextCalls {
    fn new(tools: Arc<[Arc<ToolSpec>]>, shown: Vec<Arc<Message>>) -> Self {
        Self {
            tools,
            shown,
            place: Place::Start,
            held: String::new(),
            decided: String::new(),
            is_first: true,
            has_thoughts: false,
            is_in_fence: false,
        }
    }

    fn take(&mut self, event: ProviderEvent, told: &mut Vec<ProviderEvent>) {
        match event {
            ProviderEvent::TextDelta(text) if !matches!(self.place, Place::Rest) => {
                self.hear_all(&text, told);
                self.tell(told);
            }
            ProviderEvent::MessageComplete {
                finish_reason,
                usage,
            } => {
                let calls = self.calls(&finish_reason);
                let finish_reason = if calls.is_empty() {
                    finish_reason
                } else {
                    CALLS.to_owned()
                };
                self.end(told);
                for (at, call) in calls.into_iter().enumerate() {
                    call.tell(at, told);
                }
                told.push(ProviderEvent::MessageComplete {
                    finish_reason,
                    usage,
                });
            }
            ProviderEvent::ToolCallStart { .. }
            | ProviderEvent::ToolCallDelta { .. }
            | ProviderEvent::ToolCallEnd { .. } => {
                self.end(told);
                self.place = Place::Rest;
                told.push(event);
            }
            // The state of a thought may come after what is still undecided.
            ProviderEvent::ReasoningEnd { .. } if matches!(self.place, Place::Calls(_)) => {
                told.push(event);
            }
            ProviderEvent::ReasoningDelta(_)
            | ProviderEvent::ReasoningEnd { .. }
            | ProviderEvent::Failed { .. } => {
                self.end(told);
                told.push(event);
            }
            ProviderEvent::PromptProgress { .. } | ProviderEvent::TextDelta(_) => told.push(event),
        }
    }

    fn hear_all(&mut self, text: &str, told: &mut Vec<ProviderEvent>) {
        let mut rest = text.chars();
        loop {
            if matches!(self.place, Place::Text) {
                // Nothing begins in the middle of a line.
                let line = rest.as_str();
                let end = line.find('\n').map_or(line.len(), |at| at + 1);
                let (line, after) = line.split_at(end);
                self.decided.push_str(line);
                if line.ends_with('\n') {
                    self.place = Place::Line;
                }
                rest = after.chars();
            }
            let Some(c) = rest.next() else {
                return;
            };
            self.hear(c, told);
        }
    }

    fn hear(&mut self, c: char, told: &mut Vec<ProviderEvent>) {
        self.held.push(c);
        match &mut self.place {
            Place::Start => self.begin(told),
            Place::Thoughts => self.think(told),
            Place::Line => self.begin_line(),
            Place::Text | Place::Rest => self.release(),
            Place::Calls(calls) => {
                let read = calls.read(&self.held, c, &self.tools);
                if read.is_err() || self.held.len() > MAX_HELD_BYTES {
                    self.release();
                }
            }
        }
    }

    fn begin(&mut self, told: &mut Vec<ProviderEvent>) {
        let said = self.held.trim_start();
        if said == THINK && !self.has_thoughts {
            self.held.clear();
            self.place = Place::Thoughts;
        } else if !THINK.starts_with(said) || said == THINK {
            let said = std::mem::take(&mut self.held);
            // What separates thoughts from the answer belongs to neither.
            let said = if self.has_thoughts {
                said.trim_start()
            } else {
                &said
            };
            self.place = Place::Line;
            self.hear_all(said, told);
        } else if said.is_empty() && self.held.len() > MAX_BLANK_BYTES {
            self.release();
        }
    }

    fn think(&mut self, told: &mut Vec<ProviderEvent>) {
        if THINK_END.starts_with(&self.held) {
            if self.held == THINK_END {
                self.held.clear();
                self.end_thoughts(told);
            }
            return;
        }
        // The mark can begin again with its first character alone.
        let end = self
            .held
            .strip_suffix('<')
            .map_or(self.held.len(), str::len);
        self.decided.push_str(&self.held[..end]);
        self.held.drain(..end);
    }

    fn end_thoughts(&mut self, told: &mut Vec<ProviderEvent>) {
        self.tell(told);
        self.decided.clear();
        if self.has_thoughts {
            told.push(ProviderEvent::ReasoningEnd {
                provider_state: None,
            });
        }
        self.has_thoughts = true;
        self.place = Place::Start;
    }

    fn begin_line(&mut self) {
        let said = self.held.trim_start();
        let Some(first) = said.chars().next() else {
            // A blank line before everything else belongs to what follows.
            let is_line = self.held.ends_with('\n') && !self.is_first;
            if is_line || self.held.len() > MAX_BLANK_BYTES {
                self.release();
            }
            return;
        };
        if self.is_in_fence {
            if said == FENCE || !FENCE.starts_with(said) {
                self.release();
            }
            return;
        }
        if self.tools.is_empty() || !matches!(first, '<' | '[' | '`' | '{') {
            return self.release();
        }
        let read = self.held.len() - first.len_utf8();
        let mut calls = Calls::new(read, self.is_first);
        match calls.read(&self.held, first, &self.tools) {
            Ok(()) => self.place = Place::Calls(calls),
            Err(NoCall) => self.release(),
        }
    }

    /// The held text is not a call.
    fn release(&mut self) {
        let is_blank = self.held.trim().is_empty();
        let mut is_line_begun = true;
        if !matches!(self.place, Place::Text) {
            let lines = self.held.lines().map(str::trim_start);
            let fences = lines.filter(|line| line.starts_with(FENCE)).count();
            self.is_in_fence ^= fences % 2 == 1;
            self.is_first &= is_blank;
            is_line_begun = !is_blank;
        }
        self.place = if is_line_begun && !self.held.ends_with('\n') {
            Place::Text
        } else {
            Place::Line
        };
        self.decided.push_str(&self.held);
        self.held.clear();
    }

    /// Emits the decided text; a thought only when it is not blank.
    fn tell(&mut self, told: &mut Vec<ProviderEvent>) {
        if self.decided.is_empty() {
            return;
        }
        let is_thought = matches!(self.place, Place::Thoughts);
        if !is_thought {
            told.push(ProviderEvent::TextDelta(std::mem::take(&mut self.decided)));
        } else if self.has_thoughts
            || self.decided.len() > MAX_BLANK_BYTES
            || !self.decided.trim().is_empty()
        {
            self.has_thoughts = true;
            told.push(ProviderEvent::ReasoningDelta(std::mem::take(
                &mut self.decided,
            )));
        }
    }

    /// Flushes everything held.
    fn end(&mut self, told: &mut Vec<ProviderEvent>) {
        if matches!(self.place, Place::Thoughts) {
            self.decided.push_str(&std::mem::take(&mut self.held));
            self.end_thoughts(told);
        } else if !self.held.is_empty() {
            self.release();
        }
        self.tell(told);
    }

    /// The calls that the answer ends with. What they were read from is not told.
    fn calls(&mut self, finish_reason: &str) -> Vec<Call> {
        let Place::Calls(calls) = &mut self.place else {
            return Vec::new();
        };
        let is_void = is_cut(finish_reason) || is_refusal(finish_reason);
        if is_void || !calls.are_whole(&self.held) || calls.are_quoted(&self.held, &self.shown) {
            return Vec::new();
        }
        let found = std::mem::take(&mut calls.found);
        if !found.is_empty() {
            self.held.clear();
        }
        found
    }
}
