//! An answer while it is read: pieces of JSON in, events out.

use samovar_core::error::FaultCode;
use samovar_core::{ProviderEvent, Usage};
use samovar_locale as locale;
use serde_json::Value;

use super::calls::Calls;
use super::chunk::{Choice, Chunk, Content, Delta, Piece};
use super::details::{self, REASONING_DETAILS};
use crate::bounds::Length;
use crate::dialect::{Progress, Reader};
use crate::fault::{Fault, clean};
use crate::specs::ProviderSpec;
use crate::state;

/// An answer so far.
pub(super) struct Reply {
    spec: &'static ProviderSpec,
    length: Length,
    /// Whether reasoning came last.
    is_thinking: bool,
    details: Vec<Value>,
    calls: Calls,
    finish_reason: Option<String>,
    usage: Usage,
    is_over: bool,
}

impl Reply {
    pub(super) fn new(spec: &'static ProviderSpec) -> Self {
        Self {
            spec,
            length: Length::default(),
            is_thinking: false,
            details: Vec::new(),
            calls: Calls::new(spec),
            finish_reason: None,
            usage: Usage::default(),
            is_over: false,
        }
    }

    /// Whether the model said why it stopped. What comes after that is only the bill.
    pub(super) fn is_finished(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// Whether the answer is complete.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Adds a piece.
    ///
    /// # Errors
    /// It is an error, makes no sense, or makes the answer too long.
    pub(super) fn add(
        &mut self,
        chunk: Chunk<'_>,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        if let Some(cost) = &chunk.usage {
            self.usage = cost.usage();
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
        if let Some(delta) = choice.news() {
            self.hear(delta, events)?;
        }
        match choice.finish_reason.map(|reason| clean(&reason.0)) {
            None => {}
            Some(reason) if reason == "error" => {
                let why = locale::provider::answer_failed();
                return Err(Fault::new(FaultCode::ProviderError, why));
            }
            Some(reason) if reason.is_empty() => {}
            Some(reason) => self.finish_reason = Some(reason),
        }
        Ok(())
    }

    fn hear(&mut self, mut delta: Delta<'_>, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        if let Some(pieces) = delta.reasoning_details.take() {
            self.length
                .add(pieces.iter().map(|piece| piece.to_string().len()).sum())?;
            details::gather(&mut self.details, pieces);
        }
        self.think(delta.reasoning().into_owned(), events)?;
        match delta.content()? {
            None => {}
            Some(Content::Text(text)) => self.say(text.into_owned(), events)?,
            Some(Content::Pieces(pieces)) => self.add_pieces(pieces, events)?,
        }
        if let Some(refusal) = delta.refusal.take() {
            self.say(refusal.0.into_owned(), events)?;
        }
        for fragment in delta.tool_calls.into_iter().flatten() {
            self.stop_thinking(events);
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
        if text.is_empty() {
            return Ok(());
        }
        self.length.add(text.len())?;
        self.stop_thinking(events);
        events.push(ProviderEvent::TextDelta(text));
        Ok(())
    }

    fn think(&mut self, text: String, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        self.length.add(text.len())?;
        self.is_thinking = true;
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

    /// The end of the answer.
    ///
    /// # Errors
    /// The model never said that it stopped, or a call is unusable.
    pub(super) fn finish(&mut self, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        self.is_over = true;
        let Some(finish_reason) = self.finish_reason.take() else {
            let why = locale::provider::answer_cut();
            return Err(Fault::new(FaultCode::StreamCut, why));
        };
        if self.is_thinking || !self.details.is_empty() {
            self.end_reasoning(events);
        }
        self.calls.finish(events)?;
        events.push(ProviderEvent::MessageComplete {
            finish_reason,
            usage: self.usage,
        });
        Ok(())
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
            (_, "") => Ok(()),
            (_, "[DONE]") => self.finish(events),
            (_, data) => self.add(Chunk::read(data)?, events),
        }
    }

    fn whole(&mut self, body: &str, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        self.add(Chunk::read(body)?, events)?;
        match self.progress() {
            Progress::Speaking => Err(Fault::bad(locale::provider::no_answer())),
            Progress::Stopped | Progress::Over => self.finish(events),
        }
    }

    fn end(&mut self, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        self.finish(events)
    }

    fn progress(&self) -> Progress {
        match (self.is_over(), self.is_finished()) {
            (true, _) => Progress::Over,
            (false, true) => Progress::Stopped,
            (false, false) => Progress::Speaking,
        }
    }
}

#[cfg(test)]
mod tests;
