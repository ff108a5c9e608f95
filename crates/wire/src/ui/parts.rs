//! The parts of a model's message while it is written.

use std::borrow::Cow;
use std::collections::BTreeMap;

use samovar_core::event::Fragment;
use samovar_core::{CallId, MessageId, Part, ToolCall};

use super::chunk::UiChunk;

/// The parts of the current message that were begun.
#[derive(Clone, Debug, Default)]
pub(super) struct ShownParts {
    message: Option<MessageId>,
    parts: BTreeMap<u16, ShownPart>,
}

/// A part of the model's message that was begun.
#[derive(Clone, Debug)]
struct ShownPart {
    sort: Sort,
    /// How many bytes of it were shown.
    shown: usize,
    is_ended: bool,
    /// Whether it is a call that is shown later.
    is_held: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Sort {
    Text,
    Reasoning,
    Call(CallId),
}

impl ShownParts {
    /// Whether the model has said anything in the step.
    pub(super) fn is_empty(&self) -> bool {
        self.message.is_none()
    }

    /// The calls that were begun.
    pub(super) fn calls(&self) -> impl Iterator<Item = &CallId> {
        self.parts.values().filter_map(|part| match &part.sort {
            Sort::Call(call) => Some(call),
            Sort::Text | Sort::Reasoning => None,
        })
    }

    /// Ends what the model did not.
    pub(super) fn end(&mut self, out: &mut Vec<UiChunk<'_>>) {
        let Some(message) = &self.message else {
            return;
        };
        for (index, part) in &mut self.parts {
            let id = part_id(message, *index);
            match part.sort {
                _ if part.is_ended => {}
                Sort::Text => out.push(UiChunk::TextEnd { id }),
                Sort::Reasoning => out.push(UiChunk::ReasoningEnd { id }),
                Sort::Call(_) => {}
            }
            part.is_ended = true;
        }
    }

    pub(super) fn speak_in(&mut self, message: &MessageId) {
        if self.message.as_ref() != Some(message) {
            self.message = Some(message.clone());
            self.parts.clear();
        }
    }

    /// The part at a place, begun if it was not.
    fn part(&mut self, index: u16, sort: Sort, out: &mut Vec<UiChunk<'_>>) -> &mut ShownPart {
        let id = self.message.as_ref().map(|message| part_id(message, index));
        self.parts.entry(index).or_insert_with(|| {
            let id = id.unwrap_or_default();
            match sort {
                Sort::Text => out.push(UiChunk::TextStart { id }),
                Sort::Reasoning => out.push(UiChunk::ReasoningStart { id }),
                Sort::Call(_) => {}
            }
            ShownPart {
                sort,
                shown: 0,
                is_ended: false,
                is_held: false,
            }
        })
    }

    pub(super) fn add<'e>(
        &mut self,
        index: u16,
        fragment: &'e Fragment,
        out: &mut Vec<UiChunk<'e>>,
    ) {
        let id = self.message.as_ref().map(|message| part_id(message, index));
        let id = id.unwrap_or_default();
        match fragment {
            Fragment::Text(text) | Fragment::Reasoning(text) if text.is_empty() => {}
            Fragment::Text(text) => {
                self.part(index, Sort::Text, out).shown += text.len();
                let delta = text.into();
                out.push(UiChunk::TextDelta { id, delta });
            }
            Fragment::Reasoning(text) => {
                self.part(index, Sort::Reasoning, out).shown += text.len();
                let delta = text.into();
                out.push(UiChunk::ReasoningDelta { id, delta });
            }
            Fragment::Call { id: call, name } => {
                let is_first = self.calls().next().is_none();
                self.part(index, Sort::Call(call.clone()), out).is_held = !is_first;
                if !is_first {
                    return;
                }
                out.push(UiChunk::ToolInputStart {
                    tool_call_id: call.as_str().into(),
                    tool_name: name.into(),
                });
            }
            Fragment::Args(text) => {
                if let Some(ShownPart {
                    sort: Sort::Call(call),
                    is_held: false,
                    ..
                }) = self.parts.get(&index)
                {
                    out.push(UiChunk::ToolInputDelta {
                        tool_call_id: Cow::Owned(call.as_str().to_owned()),
                        input_text_delta: text.into(),
                    });
                }
            }
        }
    }

    /// Shows what no live event has shown of a part, and ends it.
    pub(super) fn complete<'e>(&mut self, index: u16, part: &'e Part, out: &mut Vec<UiChunk<'e>>) {
        let id = self.message.as_ref().map(|message| part_id(message, index));
        let id = id.unwrap_or_default();
        let (sort, text) = match part {
            Part::Text { text } => (Sort::Text, text.as_str()),
            Part::Reasoning { text, .. } => (Sort::Reasoning, text.as_str()),
            Part::Call(call) => return self.call(index, call, out),
            Part::Outcome { .. } | Part::Data { .. } | Part::Image { .. } => return,
        };
        if text.is_empty() && !self.parts.contains_key(&index) {
            return;
        }
        let is_text = sort == Sort::Text;
        let part = self.part(index, sort, out);
        if part.is_ended {
            return;
        }
        part.is_ended = true;
        let left = text.get(part.shown..).unwrap_or_default();
        let (end, delta) = (id.clone(), Cow::Borrowed(left));
        if !left.is_empty() {
            out.push(if is_text {
                UiChunk::TextDelta { id, delta }
            } else {
                UiChunk::ReasoningDelta { id, delta }
            });
        }
        out.push(if is_text {
            UiChunk::TextEnd { id: end }
        } else {
            UiChunk::ReasoningEnd { id: end }
        });
    }

    /// The arguments of a call are complete. Only the first of a message is shown at once: whether a
    /// later one begins depends on those before it.
    fn call<'e>(&mut self, index: u16, call: &'e ToolCall, out: &mut Vec<UiChunk<'e>>) {
        let is_begun = self.parts.contains_key(&index);
        let is_first = self.calls().next().is_none_or(|first| *first == call.id);
        let part = self.part(index, Sort::Call(call.id.clone()), out);
        part.is_held |= !is_first;
        if std::mem::replace(&mut part.is_ended, true) || part.is_held {
            return;
        }
        if !is_begun {
            out.push(begun(call));
        }
        out.push(available(call));
    }

    /// Whether a call is held back.
    pub(super) fn holds(&self, call: &CallId) -> bool {
        let mut parts = self.parts.values();
        parts.any(|part| part.is_held && part.sort == Sort::Call(call.clone()))
    }
}

/// A call begins.
pub(super) fn begun(call: &ToolCall) -> UiChunk<'static> {
    UiChunk::ToolInputStart {
        tool_call_id: Cow::Owned(call.id.as_str().to_owned()),
        tool_name: Cow::Owned(call.name.clone()),
    }
}

/// Its arguments are complete.
pub(super) fn available(call: &ToolCall) -> UiChunk<'static> {
    UiChunk::ToolInputAvailable {
        tool_call_id: Cow::Owned(call.id.as_str().to_owned()),
        tool_name: Cow::Owned(call.name.clone()),
        input: Cow::Owned(call.args.clone()),
    }
}

/// The id of a part of a model's message: no other part of a stream has it.
fn part_id(message: &MessageId, index: u16) -> String {
    format!("{message}:{index}")
}
