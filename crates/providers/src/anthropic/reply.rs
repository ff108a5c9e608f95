//! An answer while it is read, block by block.

use std::borrow::Cow;
use std::collections::BTreeMap;

use samovar_core::error::FaultCode;
use samovar_core::{ProviderEvent, ToolCall};
use samovar_locale as locale;
use serde_json::Value;

use super::event::{Delta, Event, Opening};
use super::thought;
use super::usage::Bill;
use crate::bounds::{Length, extend_args, free_id, one_more_call};
use crate::dialect::{Progress, Reader};
use crate::fault::{Fault, clean};
use crate::fingerprint::Fingerprint;
use crate::specs::ProviderSpec;

/// How many blocks an answer may have.
pub(super) const MAX_BLOCKS: usize = 4096;

/// An answer so far.
pub(super) struct Reply {
    spec: &'static ProviderSpec,
    /// The fingerprint of what is answered, for the thoughts that are bound to it.
    prefix: String,
    length: Length,
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
            blocks: 0,
            open: BTreeMap::new(),
            calls: Vec::new(),
            bill: Bill::default(),
            stop_reason: None,
            is_over: false,
        }
    }

    fn hear(&mut self, event: Event<'_>, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        match event {
            Event::Start(cost) => self.bill.take(cost),
            Event::BlockStart(index, opening) => self.begin(index, opening, events)?,
            Event::BlockDelta(index, delta) => self.extend(index, delta, events)?,
            Event::BlockStop(index) => self.stop(index, events)?,
            Event::Summary { stop_reason, cost } => {
                self.bill.take(cost);
                let stop_reason = stop_reason.map(|reason| clean(&reason));
                self.stop_reason = stop_reason.or(self.stop_reason.take());
            }
            Event::Stop => self.finish(events)?,
            Event::Other => {}
        }
        Ok(())
    }

    fn begin(
        &mut self,
        index: u64,
        opening: Opening<'_>,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        self.blocks += 1;
        if self.blocks > MAX_BLOCKS {
            let why = locale::provider::too_many_blocks(MAX_BLOCKS as u64);
            return Err(Fault::bad(why));
        }
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
            Opening::Call { id, name, input } => self.call(&id, &name, input, events)?,
            Opening::Other => Block::Other,
        };
        match self.open.insert(index, block) {
            None => Ok(()),
            Some(_) => Err(Fault::bad(locale::provider::block_twice(index))),
        }
    }

    fn call(
        &mut self,
        id: &str,
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

    fn extend(
        &mut self,
        index: u64,
        delta: Delta<'_>,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        match (self.open.get_mut(&index), delta) {
            (Some(Block::Text), Delta::Text(text)) => self.say(text, events),
            (Some(Block::Thinking { .. }), Delta::Thinking(text)) => self.think(text, events),
            (Some(Block::Thinking { signature }), Delta::Signature(whole)) => {
                self.length.add(whole.len())?;
                *signature = whole.into_owned();
                Ok(())
            }
            (Some(Block::Call(at)), Delta::Input(json)) => {
                let at = *at;
                self.argue(at, json, events)
            }
            (Some(Block::Other), _) | (_, Delta::Other) => Ok(()),
            (None, _) => Err(Fault::bad(locale::provider::block_not_open(index))),
            (Some(_), _) => Err(Fault::bad(locale::provider::block_of_another_kind(index))),
        }
    }

    fn say(&mut self, text: Cow<'_, str>, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        self.length.add(text.len())?;
        if !text.is_empty() {
            events.push(ProviderEvent::TextDelta(text.into_owned()));
        }
        Ok(())
    }

    fn think(&mut self, text: Cow<'_, str>, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        self.length.add(text.len())?;
        if !text.is_empty() {
            events.push(ProviderEvent::ReasoningDelta(text.into_owned()));
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
        extend_args(&mut call.args, &json)?;
        if !json.is_empty() {
            events.push(ProviderEvent::ToolCallDelta {
                id: call.id.clone(),
                args_json: json.into_owned(),
            });
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
            None => Err(Fault::bad(locale::provider::block_unopened(index))),
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
    fn finish(&mut self, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        self.is_over = true;
        let Some(finish_reason) = self.stop_reason.take() else {
            return Err(cut());
        };
        for block in std::mem::take(&mut self.open).into_values() {
            if matches!(block, Block::Call(_)) {
                return Err(Fault::bad(locale::provider::call_cut()));
            }
            self.end_thought(block, events);
        }
        events.extend(self.calls.drain(..).map(Call::end));
        events.push(ProviderEvent::MessageComplete {
            finish_reason,
            usage: self.bill.usage(),
        });
        Ok(())
    }
}

impl Call {
    fn end(self) -> ProviderEvent {
        ProviderEvent::ToolCallEnd {
            args: ToolCall::parse_args(&self.args),
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
            (_, "") => Ok(()),
            (_, data) => self.hear(Event::read(data)?, events),
        }
    }

    fn whole(&mut self, body: &str, _: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        // An error comes so, sometimes with a status of success.
        Event::read(body)?;
        Err(Fault::bad(locale::provider::not_streamed()))
    }

    fn end(&mut self, _: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        self.is_over = true;
        Err(cut())
    }

    fn progress(&self) -> Progress {
        if self.is_over {
            Progress::Over
        } else {
            Progress::Speaking
        }
    }
}

fn cut() -> Fault {
    Fault::new(FaultCode::StreamCut, locale::provider::answer_cut())
}

#[cfg(test)]
mod tests;
