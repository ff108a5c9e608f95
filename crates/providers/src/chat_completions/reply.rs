//! An answer while it is read: pieces of JSON in, events out.

use samovar_core::error::FaultCode;
use samovar_core::{ProviderEvent, Usage};
use samovar_locale as locale;
use serde_json::Value;

use super::calls::Calls;
use super::chunk::{Choice, Chunk, Content, Delta, Fragment, Piece};
use super::details::{self, REASONING_DETAILS};
use super::messages::Messages;
use super::plain::plain;
use super::thoughts::Thoughts;
use crate::bounds::Length;
use crate::dialect::{End, Progress, Reader};
use crate::fault::{Fault, ServerError, clean};
use crate::repair::Halves;
use crate::specs::ProviderSpec;
use crate::{json, marks, state};

/// An answer so far.
pub(super) struct Reply {
    spec: &'static ProviderSpec,
    length: Length,
    phase: Phase,
    /// Whether it comes in pieces.
    is_streamed: bool,
    /// What messages in the place of pieces have said.
    messages: Messages,
    /// Whether reasoning came last.
    is_thinking: bool,
    /// The field that the reasoning came in.
    field: Option<&'static str>,
    /// To whom the reasoning goes back.
    thoughts: Thoughts,
    halves: Halves,
    details: Vec<Value>,
    calls: Calls,
    finish_reason: Option<String>,
    usage: Usage,
}

impl Reply {
    pub(super) fn new(spec: &'static ProviderSpec, thoughts: Thoughts) -> Self {
        Self {
            spec,
            thoughts,
            halves: Halves::default(),
            phase: Phase::Silent,
            is_streamed: false,
            messages: Messages::default(),
            field: None,
            length: Length::default(),
            is_thinking: false,
            details: Vec::new(),
            calls: Calls::new(spec),
            finish_reason: None,
            usage: Usage::default(),
        }
    }

    /// Takes a piece, as it came or as it is usually written.
    ///
    /// # Errors
    /// It is an error, makes no sense, or makes the answer too long.
    fn read(&mut self, json: &str, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        match Chunk::read(json) {
            Ok(chunk) if !chunk.is_odd() => self.add(chunk, json, events),
            Ok(_) | Err(_) => self.read_odd(json, events),
        }
    }

    fn read_odd(&mut self, json: &str, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        let Some(plain) = plain(json) else {
            return Err(json::no_piece(json));
        };
        let text = plain.to_string();
        let chunk = Chunk::read(&text).map_err(|_| json::no_piece(json))?;
        let says_nothing = chunk.choices.as_deref().unwrap_or_default().is_empty();
        let is_error = || ServerError::is_told(&plain) && chunk.costs().next().is_none();
        if chunk.fault(json).is_none() && says_nothing && is_error() {
            return Err(Fault::inside(json));
        }
        self.add(chunk, &text, events)
    }

    fn add(
        &mut self,
        chunk: Chunk<'_>,
        json: &str,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        if let Some(fault) = chunk.fault(json) {
            return Err(fault);
        }
        for cost in chunk.costs() {
            self.usage = greater(self.usage, cost.usage());
        }
        if let Some(progress) = &chunk.prompt_progress {
            events.push(ProviderEvent::PromptProgress {
                read: progress.processed,
                total: progress.total,
            });
        }
        let choices = chunk.choices.into_iter().flatten();
        for choice in choices.filter(Choice::is_first) {
            self.choose(choice, events)?;
        }
        Ok(())
    }

    fn choose(
        &mut self,
        mut choice: Choice<'_>,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        self.is_streamed |= choice.is_piece();
        if let Some(message) = choice.message_instead() {
            self.hear(message, Source::Message, events)?;
        } else if let Some(delta) = choice.news(self.phase != Phase::Silent) {
            self.hear(delta, Source::Delta, events)?;
        }
        match choice.finish_reason.map(|reason| clean(&reason.0)) {
            None => {}
            Some(reason) if reason == "error" => {
                let why = locale::provider::answer_failed();
                return Err(Fault::new(FaultCode::ProviderError, why));
            }
            Some(reason) if reason.is_empty() || reason == "null" => {}
            Some(reason) => self.finish_reason = Some(reason),
        }
        Ok(())
    }

    fn hear(
        &mut self,
        mut delta: Delta<'_>,
        source: Source,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        if let Some(pieces) = delta.reasoning_details.take() {
            self.length
                .add(pieces.iter().map(|piece| piece.to_string().len()).sum())?;
            details::gather(&mut self.details, pieces);
        }
        let (field, thought) = delta.reasoning();
        self.field = field.or(self.field);
        self.think(thought.into_owned(), events)?;
        match delta.content()? {
            None => {}
            Some(Content::Text(text)) => {
                let text = match source {
                    Source::Delta => text.into_owned(),
                    Source::Message => self.messages.news(&text).to_owned(),
                };
                self.say(text, events)?;
            }
            Some(Content::Pieces(pieces)) => self.add_pieces(pieces, events)?,
        }
        if let Some(refusal) = delta.refusal.take() {
            self.say(refusal.0.into_owned(), events)?;
        }
        let call = delta.function_call.take().map(Fragment::of);
        for fragment in delta.tool_calls.into_iter().flatten().chain(call) {
            self.stop_thinking(events);
            self.phase = Phase::Speaking;
            let length = self.calls.take(fragment, events)?;
            self.length.add(length)?;
        }
        Ok(())
    }

    fn add_pieces(
        &mut self,
        pieces: Vec<Piece>,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        for mut piece in pieces {
            match piece.text.take() {
                Some(text) => self.say(text, events)?,
                None => self.think(piece.reasoning(), events)?,
            }
        }
        Ok(())
    }

    fn say(&mut self, text: String, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        let text = self.halves.join(text);
        if text.is_empty() {
            return Ok(());
        }
        self.length.add(text.len())?;
        self.stop_thinking(events);
        self.phase = Phase::Speaking;
        events.push(ProviderEvent::TextDelta(text));
        Ok(())
    }

    fn think(&mut self, text: String, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        let text = self.halves.join(text);
        if text.is_empty() {
            return Ok(());
        }
        self.length.add(text.len())?;
        (self.is_thinking, self.phase) = (true, Phase::Speaking);
        events.push(ProviderEvent::ReasoningDelta(text));
        Ok(())
    }

    fn stop_thinking(&mut self, events: &mut Vec<ProviderEvent>) {
        if std::mem::take(&mut self.is_thinking) {
            self.end_reasoning(events);
        }
    }

    fn end_reasoning(&mut self, events: &mut Vec<ProviderEvent>) {
        let details = std::mem::take(&mut self.details);
        let state = (!details.is_empty())
            .then(|| state::write(self.spec, REASONING_DETAILS, Value::Array(details)));
        events.push(ProviderEvent::ReasoningEnd {
            provider_state: state,
        });
    }

    /// The end of the answer, by what says so.
    ///
    /// # Errors
    /// Nothing says that the answer is whole, or a call is unusable.
    fn finish(&mut self, end: End, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        let finish_reason = self.finish_reason.take().or_else(|| self.reason(end));
        self.phase = Phase::Over;
        let Some(finish_reason) = finish_reason else {
            let why = locale::provider::answer_cut();
            return Err(Fault::new(FaultCode::StreamCut, why));
        };
        if self.is_thinking || !self.details.is_empty() {
            self.end_reasoning(events);
        }
        let thought = self.field.and_then(|field| self.thoughts.state(field));
        self.calls.finish(thought, events)?;
        events.push(ProviderEvent::MessageComplete {
            finish_reason,
            usage: self.usage,
        });
        Ok(())
    }

    /// The finish reason of an answer whose server gives none: one that has an end, a text or calls,
    /// and no half of a call.
    fn reason(&self, end: End) -> Option<String> {
        let is_whole = end == End::Said && self.phase == Phase::Speaking && self.calls.are_whole();
        let reason = if self.calls.is_empty() {
            "stop"
        } else {
            "tool_calls"
        };
        is_whole.then(|| reason.to_owned())
    }
}

/// Where a piece of an answer stands.
#[derive(Clone, Copy)]
enum Source {
    Delta,
    Message,
}

/// How far the model has got.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It has said nothing.
    Silent,
    Speaking,
    Over,
}

/// The larger of two reports, number by number: they are about the same tokens.
fn greater(one: Usage, other: Usage) -> Usage {
    Usage {
        input: one.input.max(other.input),
        output: one.output.max(other.output),
        cache_read: one.cache_read.max(other.cache_read),
        cache_write: one.cache_write.max(other.cache_write),
        reasoning: one.reasoning.max(other.reasoning),
    }
}

impl Reader for Reply {
    fn take(
        &mut self,
        name: Option<&str>,
        data: &str,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        match (name, data) {
            (Some("error"), data) => Err(Fault::inside(data)),
            (_, data) if marks::is_end(data) => self.finish(End::Said, events),
            (Some(name), "" | "{}") if marks::is_end(name) => self.finish(End::Said, events),
            (Some(name), _) if marks::is_sign_of_life(name) => Ok(()),
            (_, data) if marks::is_sign_of_life(data) => Ok(()),
            (_, data) => self.read(data, events),
        }
    }

    fn whole(&mut self, body: &str, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        self.read(body, events)?;
        if self.is_streamed {
            return self.finish(End::Silent, events);
        }
        if self.phase != Phase::Silent || self.finish_reason.is_some() {
            return self.finish(End::Said, events);
        }
        Err(Fault::bad(locale::provider::no_answer(clean(body))))
    }

    fn end(&mut self, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        self.finish(End::Silent, events)
    }

    fn progress(&self) -> Progress {
        match (self.phase == Phase::Over, self.finish_reason.is_some()) {
            (true, _) => Progress::Over,
            (false, true) => Progress::Stopped,
            (false, false) => Progress::Speaking,
        }
    }
}

#[cfg(test)]
mod tests;
