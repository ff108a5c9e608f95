//! An answer while it is read, block by block.

use std::borrow::Cow;
use std::collections::BTreeMap;

use samovar_core::ProviderEvent;
use samovar_core::error::FaultCode;
use samovar_locale as locale;
use serde_json::Value;

use super::event::{Delta, Event, Opening, Summary, message};
use super::thought;
use super::usage::Bill;
use crate::bounds::{Length, extend_args, free_id, one_more_call};
use crate::dialect::{End, Progress, Reader};
use crate::fault::{Fault, clean};
use crate::fingerprint::Fingerprint;
use crate::repair::Halves;
use crate::specs::ProviderSpec;
use crate::{marks, repair};

/// How many blocks an answer may have.
pub(super) const MAX_BLOCKS: usize = 4096;

/// An answer so far.
pub(super) struct Reply {
    spec: &'static ProviderSpec,
    /// The fingerprint of what is answered, for the thoughts that are bound to it.
    prefix: String,
    length: Length,
    /// The server's id for the answer.
    begun: Option<String>,
    /// Whether a text came.
    has_begun: bool,
    /// Whether an event came that is known.
    is_streamed: bool,
    halves: Halves,
    /// The number of the block that began last.
    last: u64,
    /// How many blocks began.
    blocks: usize,
    /// Those that have not ended, by the server's numbers.
    open: BTreeMap<u64, Block>,
    calls: Vec<Call>,
    bill: Bill,
    stop_reason: Option<String>,
    is_over: bool,
}

/// A block that has begun.
enum Block {
    Text,
    Thinking {
        signature: String,
    },
    Redacted {
        data: String,
    },
    /// The call at this place.
    Call(usize),
    Other,
}

struct Call {
    id: String,
    /// The number of its block.
    index: u64,
    halves: Halves,
    name: String,
    /// What stood at its beginning, in place of arguments that come in pieces.
    input: Option<Value>,
    args: String,
}

impl Reply {
    pub(super) fn new(spec: &'static ProviderSpec, answers: Fingerprint) -> Self {
        Self {
            spec,
            prefix: answers.hex(),
            length: Length::default(),
            begun: None,
            has_begun: false,
            is_streamed: false,
            halves: Halves::default(),
            last: 0,
            blocks: 0,
            open: BTreeMap::new(),
            calls: Vec::new(),
            bill: Bill::default(),
            stop_reason: None,
            is_over: false,
        }
    }

    fn read(
        &mut self,
        name: Option<&str>,
        json: &str,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        let fault = match Event::read(name, json) {
            Ok(event) => return self.hear(event, events),
            Err(fault) => fault,
        };
        match repair::mended(json) {
            Some(json) if fault.code == FaultCode::BadResponse => {
                self.hear(Event::read(name, &json)?, events)
            }
            Some(_) | None => Err(fault),
        }
    }

    fn hear(&mut self, event: Event<'_>, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        self.is_streamed |= !matches!(event, Event::Other);
        match event {
            Event::BlockStart(index, opening) => self.begin(index, opening, events),
            Event::BlockDelta(index, delta) => self.extend(index, delta, events),
            Event::BlockStop(index) => self.stop(index.unwrap_or(self.last), events),
            Event::Summary(summary) => self.sum_up(summary, events),
            Event::Other => Ok(()),
        }
    }

    fn sum_up(&mut self, summary: Summary, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        if summary.begins.is_some() {
            let begun = self.begun.replace(summary.begins.unwrap_or_default());
            if self.blocks > 0 && begun != self.begun {
                // What was told of the first answer cannot be taken back here.
                let why = locale::provider::answer_begun_twice();
                return Err(Fault::new(FaultCode::StreamCut, why));
            }
        }
        for cost in summary.costs {
            self.bill.take(cost);
        }
        let stop_reason = summary.stop_reason.map(|reason| clean(&reason));
        self.stop_reason = stop_reason.or(self.stop_reason.take());
        if summary.is_last {
            return self.finish(End::Said, events);
        }
        Ok(())
    }

    fn begin(
        &mut self,
        index: Option<u64>,
        opening: Opening<'_>,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        self.blocks += 1;
        if self.blocks > MAX_BLOCKS {
            let why = locale::provider::too_many_blocks(MAX_BLOCKS as u64);
            return Err(Fault::bad(why));
        }
        let index = index.unwrap_or(self.last.saturating_add(1));
        // A server that forgets the end of a block begins the next one.
        self.stop(index, events)?;
        self.last = index;
        let block = match opening {
            Opening::Text(text) => {
                self.say(text, events)?;
                Block::Text
            }
            Opening::Thinking {
                thinking,
                signature,
            } => {
                self.think(thinking, events)?;
                self.length.add(signature.len())?;
                Block::Thinking {
                    signature: signature.into_owned(),
                }
            }
            Opening::Redacted(data) => {
                self.length.add(data.len())?;
                Block::Redacted {
                    data: data.into_owned(),
                }
            }
            Opening::Call { id, name, input } => self.call((&id, index), &name, input, events)?,
            Opening::Other => Block::Other,
        };
        self.open.insert(index, block);
        Ok(())
    }

    fn call(
        &mut self,
        (id, index): (&str, u64),
        name: &str,
        input: Option<Value>,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<Block, Fault> {
        let at = self.calls.len();
        one_more_call(at)?;
        if name.is_empty() {
            return Err(Fault::bad(locale::provider::call_without_tool()));
        }
        let is_taken = |id: &str| self.calls.iter().any(|call| call.id == id);
        let call = Call {
            id: free_id(Some(id), at, is_taken),
            index,
            halves: Halves::default(),
            name: name.to_owned(),
            input,
            args: String::new(),
        };
        events.push(ProviderEvent::ToolCallStart {
            id: call.id.clone(),
            name: call.name.clone(),
        });
        self.calls.push(call);
        Ok(Block::Call(at))
    }

    /// Takes more of a block, by what it is: a block that was not begun begins with it.
    fn extend(
        &mut self,
        index: Option<u64>,
        delta: Delta<'_>,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        let index = index.unwrap_or(self.last);
        match (self.open.get_mut(&index), delta) {
            (Some(Block::Thinking { signature }), Delta::Signature(whole)) => {
                self.length.add(whole.len())?;
                *signature = whole.into_owned();
                Ok(())
            }
            (Some(Block::Other), _) | (_, Delta::Other | Delta::Signature(_)) => Ok(()),
            (_, Delta::Text(text)) => self.say(text, events),
            (None, Delta::Thinking(text)) => {
                let signature = String::new();
                self.open.insert(index, Block::Thinking { signature });
                self.think(text, events)
            }
            (Some(_), Delta::Thinking(text)) => self.think(text, events),
            (_, Delta::Input(json)) => self.argue_in(index, json, events),
        }
    }

    /// Adds to the arguments of the call in this block, else to those of the last call.
    fn argue_in(
        &mut self,
        index: u64,
        json: Cow<'_, str>,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        let found = self.calls.iter().rposition(|call| call.index == index);
        match found.or(self.calls.len().checked_sub(1)) {
            Some(at) => self.argue(at, json, events),
            None if json.trim().is_empty() => Ok(()),
            None => Err(Fault::bad(locale::provider::call_without_tool())),
        }
    }

    fn say(&mut self, text: Cow<'_, str>, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        let text = self.halves.join(text.into_owned());
        self.length.add(text.len())?;
        if !text.is_empty() {
            self.has_begun = true;
            events.push(ProviderEvent::TextDelta(text));
        }
        Ok(())
    }

    fn think(&mut self, text: Cow<'_, str>, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        let text = self.halves.join(text.into_owned());
        self.length.add(text.len())?;
        if !text.is_empty() {
            events.push(ProviderEvent::ReasoningDelta(text));
        }
        Ok(())
    }

    /// Adds to the arguments of the call at this place.
    fn argue(
        &mut self,
        at: usize,
        json: Cow<'_, str>,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        self.length.add(json.len())?;
        let call = &mut self.calls[at];
        let args_json = call.halves.join(json.into_owned());
        extend_args(&mut call.args, &args_json)?;
        if !args_json.is_empty() {
            let id = call.id.clone();
            events.push(ProviderEvent::ToolCallDelta { id, args_json });
        }
        Ok(())
    }

    fn stop(&mut self, index: u64, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        match self.open.remove(&index) {
            Some(Block::Call(at)) => match self.calls[at].input.take() {
                Some(Value::Object(input))
                    if self.calls[at].args.is_empty() && !input.is_empty() =>
                {
                    self.argue(at, Cow::Owned(Value::Object(input).to_string()), events)
                }
                Some(_) | None => Ok(()),
            },
            Some(block) => {
                self.end_thought(block, events);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn end_thought(&self, block: Block, events: &mut Vec<ProviderEvent>) {
        let provider_state = match block {
            Block::Thinking { signature } => thought::signed(self.spec, &signature, &self.prefix),
            Block::Redacted { data } => thought::redacted(self.spec, &data, &self.prefix),
            Block::Text | Block::Call(_) | Block::Other => return,
        };
        events.push(ProviderEvent::ReasoningEnd {
            provider_state: Some(provider_state),
        });
    }

    /// The end of the answer. A call is told as complete only here: what is told so stays so.
    fn finish(&mut self, end: End, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        self.is_over = true;
        let stop_reason = self.stop_reason.take().or_else(|| self.reason(end));
        let Some(finish_reason) = stop_reason else {
            return Err(cut());
        };
        let open: Vec<_> = self.open.keys().copied().collect();
        for index in open {
            self.stop(index, events)?;
        }
        events.extend(self.calls.drain(..).map(Call::end));
        events.push(ProviderEvent::MessageComplete {
            finish_reason,
            usage: self.bill.usage(),
        });
        Ok(())
    }

    /// The finish reason of an answer whose server gives none: one that has an end, a text or calls,
    /// and no half of a call.
    fn reason(&self, end: End) -> Option<String> {
        let is_whole = |call: &Call| repair::args(&call.args).is_object();
        let has_begun = self.has_begun || !self.calls.is_empty();
        let is_whole = end == End::Said && has_begun && self.calls.iter().all(is_whole);
        let reason = if self.calls.is_empty() {
            "end_turn"
        } else {
            "tool_use"
        };
        is_whole.then(|| reason.to_owned())
    }
}

impl Call {
    fn end(self) -> ProviderEvent {
        ProviderEvent::ToolCallEnd {
            args: repair::args(&self.args),
            provider_state: None,
            id: self.id,
            name: self.name,
        }
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
            (Some("message_stop"), "") => self.finish(End::Said, events),
            (_, data) if marks::is_end(data) => self.finish(End::Said, events),
            (_, data) if marks::is_sign_of_life(data) => Ok(()),
            (name, data) => self.read(name, data, events),
        }
    }

    fn whole(&mut self, body: &str, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        let Some((openings, summary)) = message(body) else {
            // An error comes so, sometimes with a status of success.
            self.read(None, body, events)?;
            if self.is_streamed {
                return self.finish(End::Silent, events);
            }
            return Err(Fault::bad(locale::provider::no_answer(clean(body))));
        };
        for opening in openings {
            self.begin(None, opening, events)?;
            self.stop(self.last, events)?;
        }
        self.sum_up(summary, events)
    }

    fn end(&mut self, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        self.finish(End::Silent, events)
    }

    fn progress(&self) -> Progress {
        match (self.is_over, self.stop_reason.is_some()) {
            (true, _) => Progress::Over,
            (false, true) => Progress::Stopped,
            (false, false) => Progress::Speaking,
        }
    }
}

fn cut() -> Fault {
    Fault::new(FaultCode::StreamCut, locale::provider::answer_cut())
}

#[cfg(test)]
mod tests;
