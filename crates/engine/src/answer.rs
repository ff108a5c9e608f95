//! An answer while it comes: what the model's server says becomes live events, and at the end a
//! whole message. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use samovar_core::event::Fragment;
use samovar_core::redact::{self, Redactor, Tail};
use samovar_core::{
    CallId, Ids, Kind, Message, MessageId, Millis, Part, ProviderEvent, Role, ToolCall, Usage,
};
use serde_json::{Map, Value};

/// How often the progress of one prompt is shown, at most.
const PROGRESS_STEPS: u64 = 50;

/// A message under construction.
pub(crate) struct Answer {
    id: MessageId,
    model: String,
    is_started: bool,
    /// How much of the prompt the server was said to have read, in [`PROGRESS_STEPS`].
    share: u64,
    parts: Vec<Part>,
    /// Where the calls are, by the provider's id for them.
    calls: HashMap<String, OpenCall>,
    redactor: Arc<Redactor>,
    /// The end of the last text or thought, while a key may begin there.
    tail: Tail,
    /// Whether that is a thought's.
    is_thought: bool,
}

/// A call whose arguments come.
struct OpenCall {
    at: usize,
    tail: Tail,
}

/// How an answer ended.
pub(crate) struct Ending {
    pub(crate) reason: String,
    pub(crate) usage: Option<Usage>,
}

impl Answer {
    pub(crate) fn new(id: MessageId, model: String) -> Self {
        Self {
            id,
            model,
            is_started: false,
            share: 0,
            parts: Vec::new(),
            calls: HashMap::new(),
            redactor: redact::own(),
            tail: Tail::default(),
            is_thought: false,
        }
    }

    /// What was kept of the last answer that a turn's events have, if it was begun: text and thoughts
    /// up to its first call.
    pub(crate) fn kept<'a>(events: impl Iterator<Item = &'a Kind>, model: &str) -> Option<Self> {
        let mut answer: Option<Self> = None;
        for kind in events {
            if let Kind::StepStarted { .. } = kind {
                answer = None;
            } else if let Kind::MessageStarted { message, .. } = kind {
                let mut begun = Self::new(message.clone(), model.to_owned());
                begun.is_started = true;
                answer = Some(begun);
            } else if let (Kind::Delta { part, fragment, .. }, Some(answer)) = (kind, &mut answer) {
                answer.put(usize::from(*part), fragment);
            }
        }
        answer
    }

    fn put(&mut self, part: usize, fragment: &Fragment) {
        let begins = part == self.parts.len();
        match (self.parts.get_mut(part), fragment) {
            (Some(Part::Text { text }), Fragment::Text(more))
            | (Some(Part::Reasoning { text, .. }), Fragment::Reasoning(more)) => {
                text.push_str(more);
            }
            (None, Fragment::Text(text)) if begins => {
                self.parts.push(Part::text(text.clone()));
            }
            (None, Fragment::Reasoning(text)) if begins => self.parts.push(Part::Reasoning {
                text: text.clone(),
                provider_state: None,
            }),
            (None, Fragment::Call { id, name }) if begins => {
                self.parts.push(Part::Call(ToolCall::new(
                    id.clone(),
                    name.clone(),
                    Value::Null,
                )));
            }
            (_, _) => {}
        }
    }

    /// Takes in a piece; gives the live events that it makes. The two endings make those of what was
    /// held back.
    pub(crate) fn take(&mut self, said: ProviderEvent, ids: &dyn Ids, out: &mut Vec<Kind>) {
        match said {
            ProviderEvent::TextDelta(text) => self.text(text, out),
            ProviderEvent::PromptProgress { read, total } => self.progress(read, total, out),
            ProviderEvent::ReasoningDelta(text) => self.reasoning(text, out),
            ProviderEvent::ReasoningEnd { provider_state } => {
                self.let_go(out);
                self.seal(provider_state);
            }
            ProviderEvent::ToolCallStart { id, name } => self.open(id, name, ids, out),
            ProviderEvent::ToolCallDelta { id, args_json } => {
                if let Some(OpenCall { at, tail }) = self.calls.get_mut(&id) {
                    let (at, shown) = (*at, tail.push(&self.redactor, args_json));
                    self.args(at, shown, out);
                }
            }
            ProviderEvent::ToolCallEnd {
                id,
                name,
                args,
                provider_state,
            } => {
                if !self.calls.contains_key(&id) {
                    self.open(id.clone(), name, ids, out);
                }
                self.complete(&id, args, provider_state, out);
            }
            ProviderEvent::MessageComplete { .. } | ProviderEvent::Failed { .. } => {
                self.let_go(out);
            }
        }
    }

    /// Shows how far the server is with the prompt, a fiftieth at a time at most.
    fn progress(&mut self, read: u64, total: u64, out: &mut Vec<Kind>) {
        let share = read.saturating_mul(PROGRESS_STEPS) / total.max(1);
        if !self.is_started && share > self.share {
            self.share = share;
            let message = self.id.clone();
            out.push(Kind::PromptProgress {
                message,
                read,
                total,
            });
        }
    }

    /// Shows what was held back of a text or a thought: no more of it comes.
    pub(crate) fn let_go(&mut self, out: &mut Vec<Kind>) {
        let held = self.tail.end(&self.redactor);
        if self.is_thought {
            self.put_reasoning(held, out);
        } else {
            self.put_text(held, out);
        }
    }

    fn text(&mut self, more: String, out: &mut Vec<Kind>) {
        if self.is_thought {
            self.let_go(out);
            self.is_thought = false;
        }
        let shown = self.tail.push(&self.redactor, more);
        self.put_text(shown, out);
    }

    fn put_text(&mut self, more: String, out: &mut Vec<Kind>) {
        if more.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(Part::Text { text }) => text.push_str(&more),
            Some(_) | None => self.parts.push(Part::text(more.clone())),
        }
        self.delta(self.parts.len() - 1, Fragment::Text(more), out);
    }

    fn reasoning(&mut self, more: String, out: &mut Vec<Kind>) {
        if !self.is_thought {
            self.let_go(out);
            self.is_thought = true;
        }
        let shown = self.tail.push(&self.redactor, more);
        self.put_reasoning(shown, out);
    }

    fn put_reasoning(&mut self, more: String, out: &mut Vec<Kind>) {
        if more.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(Part::Reasoning {
                text,
                provider_state: None,
            }) => text.push_str(&more),
            Some(_) | None => {
                self.parts.push(Part::Reasoning {
                    text: more.clone(),
                    provider_state: None,
                });
            }
        }
        self.delta(self.parts.len() - 1, Fragment::Reasoning(more), out);
    }

    /// Ends a thought. One that has its state is ended already: a second one that has nothing to read
    /// is a part of its own, since every state goes back.
    fn seal(&mut self, state: Option<Value>) {
        match self.parts.last_mut() {
            Some(Part::Reasoning {
                text,
                provider_state: open @ None,
                // A signature of a thought with a key fits no more, and the provider would refuse it.
            }) => *open = state.filter(|_| self.redactor.mark_in(text).is_none()),
            Some(_) | None if state.is_some() => {
                let text = String::new();
                self.parts.push(Part::Reasoning {
                    text,
                    provider_state: state,
                });
            }
            Some(_) | None => {}
        }
    }

    fn open(&mut self, provider_id: String, mut name: String, ids: &dyn Ids, out: &mut Vec<Kind>) {
        self.let_go(out);
        self.redactor.redact_in(&mut name);
        let id = CallId::fresh(ids);
        let args = Value::Object(Map::new());
        let call = ToolCall::new(id.clone(), name.clone(), args);
        let (at, tail) = (self.parts.len(), Tail::default());
        self.calls.insert(provider_id, OpenCall { at, tail });
        self.parts.push(Part::Call(call));
        self.delta(self.parts.len() - 1, Fragment::Call { id, name }, out);
    }

    fn args(&mut self, at: usize, shown: String, out: &mut Vec<Kind>) {
        if !shown.is_empty() {
            self.delta(at, Fragment::Args(shown), out);
        }
    }

    fn complete(&mut self, id: &str, mut args: Value, state: Option<Value>, out: &mut Vec<Kind>) {
        let Some(OpenCall { at, tail }) = self.calls.get_mut(id) else {
            return;
        };
        let (at, held) = (*at, tail.end(&self.redactor));
        self.args(at, held, out);
        self.redactor.redact_value(&mut args);
        if let Some(Part::Call(call)) = self.parts.get_mut(at) {
            call.args = args;
            call.provider_state = state;
            let (message, index) = (self.id.clone(), place(at));
            let part = Part::Call(call.clone());
            out.push(Kind::PartAdded {
                message,
                index,
                part,
            });
        }
    }

    fn delta(&mut self, at: usize, fragment: Fragment, out: &mut Vec<Kind>) {
        let message = self.id.clone();
        if !self.is_started {
            self.is_started = true;
            out.push(Kind::MessageStarted {
                message: message.clone(),
                role: Role::Assistant,
            });
        }
        out.push(Kind::Delta {
            message,
            part: place(at),
            fragment,
        });
    }

    /// Whether neither text nor a call came.
    pub(crate) fn is_empty(&self) -> bool {
        !self.parts.iter().any(|part| match part {
            Part::Text { text } => !text.trim().is_empty(),
            Part::Call(_) | Part::Data { .. } | Part::Outcome { .. } | Part::Image { .. } => true,
            Part::Reasoning { .. } => false,
        })
    }

    /// The whole message.
    pub(crate) fn finish(self, ending: Ending, at: Millis) -> Message {
        Message {
            id: self.id,
            role: Role::Assistant,
            parts: self.parts,
            parent: None,
            usage: ending.usage,
            model: Some(self.model),
            finish_reason: Some(ending.reason),
            metadata: Map::new(),
            created_at: at,
        }
    }

    /// What can be kept of an answer that broke off: what it said before its first call, at the
    /// places that readers know. A half call is none, and half a thought has no signature.
    pub(crate) fn salvage(mut self, ending: Ending, at: Millis) -> Option<Message> {
        let is_said = |part: &Part| matches!(part, Part::Text { .. } | Part::Reasoning { .. });
        let said = self.parts.iter().take_while(|part| is_said(part)).count();
        self.parts.truncate(said);
        for part in &mut self.parts {
            if let Part::Reasoning { provider_state, .. } = part {
                *provider_state = None;
            }
        }
        (!self.is_empty()).then(|| self.finish(ending, at))
    }
}

/// Why an answer was cut, where its message has a provider's reason: a client stopped the turn, its
/// time was over, or the call failed.
pub(crate) const CANCELLED: &str = "cancelled";
pub(crate) const OUT_OF_TIME: &str = "budget";
pub(crate) const FAILED: &str = "error";

/// Whether a message is what could be kept of an answer of which more may have come, uncounted.
pub(crate) fn is_cut(message: &Message) -> bool {
    let reason = message.finish_reason.as_deref();
    let is_cut = |reason| [CANCELLED, OUT_OF_TIME, FAILED].contains(&reason);
    message.usage.is_none() && reason.is_some_and(is_cut)
}

fn place(at: usize) -> u16 {
    u16::try_from(at).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests;
