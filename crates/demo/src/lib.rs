//! `demo`: a provider that is no language model. It is a set of rules that turns plain requests in
//! English, Russian, Chinese and Ukrainian into real tool calls, and says on every message that it
//! is that (FC-5). It needs no network and gives the same answer to the same prompt.
//!
//! It reads only the prompt: the last thing a user said (in the chat that may be another agent), and
//! the results of the calls since then.
//! `understand` makes a request of the text, by tables of words and rules over them; `plan`
//! looks at the request and the results and asks for the next calls, or says what came of them.
//! A new language is a file of words and a column of sentences; a new ability is a rule, a source
//! and a report.

mod arithmetic;
mod asking;
mod dictated;
mod heard;
mod interview;
mod lexicon;
mod listing;
mod names;
mod plan;
mod posting;
mod reading;
mod report;
mod request;
mod results;
mod say;
mod sums;
mod text;
mod ticket;
mod turn;
mod understand;
mod words;

use std::sync::Arc;

use futures_util::stream;
use samovar_core::provider::Answer;
use samovar_core::{CallId, Message, Part, Prompt, Provider, ProviderEvent, Role, Usage};
use serde_json::Value;

use heard::heard;
use plan::{Plea, plan};
use say::Sentence;
use turn::{Answered, Call, Next};
use words::Language;

/// Tokens are estimated: one for so many bytes.
const BYTES_PER_TOKEN: usize = 4;
/// A text is cut into at most about so many deltas.
const MAX_DELTAS: usize = 400;

/// The built-in rules that answer when no language model can be reached.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demo;

impl Demo {
    /// The rules; they have no state.
    pub fn new() -> Self {
        Self
    }
}

impl Provider for Demo {
    fn stream(&self, prompt: Prompt) -> Answer {
        let reads = answer(&prompt).into_iter().map(|event| vec![event]);
        Box::pin(stream::iter(reads))
    }
}

fn answer(prompt: &Prompt) -> Vec<ProviderEvent> {
    let tools: Vec<_> = prompt.tools.iter().map(|tool| tool.name.as_str()).collect();
    let max_bytes = BYTES_PER_TOKEN.saturating_mul(prompt.max_tokens as usize);
    if let Some((language, next)) = ticket::book(&prompt.messages, &tools) {
        return Reply::new(language, max_bytes).end(next, prompt);
    }
    let asked = asked(&prompt.messages);
    let behind = asked.first().map_or(0, |at| at + 1);
    let since: Vec<_> = prompt.messages.iter().skip(behind).collect();
    let mut pleas: Vec<_> = asked
        .iter()
        .map(|at| Plea::of(ticket::without_screen(&prompt.messages[*at].text())))
        .collect();
    if pleas.is_empty() {
        pleas.push(Plea::of(""));
    }
    let reply = Reply::new(pleas[0].request.language, max_bytes);
    reply.end(plan(&pleas, &tools, &answered(&since)), prompt)
}

/// The messages that are answered: the last of a user. When that is another agent's, which joins a
/// turn at work, the one that the turn began with comes first.
fn asked(messages: &[Arc<Message>]) -> Vec<usize> {
    let is_user = |at: &usize| messages[*at].role == Role::User;
    let Some(last) = (0..messages.len()).rev().find(is_user) else {
        return Vec::new();
    };
    if heard(&messages[last].text()).author.is_none() {
        return vec![last];
    }
    let works = |at: &usize| messages[*at].calls().next().is_some();
    let answers = |at: &usize| messages[*at].role == Role::Assistant && !works(at);
    let from = (0..last).rev().find(answers).map_or(0, |at| at + 1);
    let begun = (from..last)
        .find(works)
        .and_then(|work| (from..work).rev().find(is_user));
    begun.into_iter().chain([last]).collect()
}

/// The results since the question, in the order in which their calls were asked for.
fn answered<'a>(since: &[&'a Arc<Message>]) -> Vec<Answered<'a>> {
    let asked: Vec<&CallId> = since
        .iter()
        .flat_map(|message| message.calls())
        .map(|call| &call.id)
        .collect();
    let mut results: Vec<_> = since
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(|part| match part {
            Part::Outcome {
                call,
                name,
                outcome,
            } => Some((
                call,
                Answered {
                    tool: name,
                    outcome,
                },
            )),
            Part::Text { .. } | Part::Reasoning { .. } | Part::Call(_) | Part::Data { .. } => None,
        })
        .collect();
    results.sort_by_key(|(call, _)| asked.iter().position(|id| id == call).unwrap_or(usize::MAX));
    results.into_iter().map(|(_, answered)| answered).collect()
}

/// How many bytes a prompt has, about.
fn input_bytes(prompt: &Prompt) -> usize {
    let layers = prompt.layers.iter().map(|layer| layer.text.len());
    let tools = prompt
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len());
    let parts = prompt
        .messages
        .iter()
        .flat_map(|message| &message.parts)
        .map(|part| match part {
            Part::Text { text } | Part::Reasoning { text, .. } => text.len(),
            Part::Call(call) => call.name.len() + call.args.to_string().len(),
            Part::Outcome { outcome, .. } => outcome.text.len(),
            Part::Data { .. } => 0,
        });
    layers.chain(tools).chain(parts).sum()
}

/// A message while it is made.
struct Reply {
    language: Language,
    max_bytes: usize,
    finish_reason: &'static str,
    written: usize,
    events: Vec<ProviderEvent>,
}

impl Reply {
    fn new(language: Language, max_bytes: usize) -> Self {
        Self {
            language,
            max_bytes,
            finish_reason: "stop",
            written: 0,
            events: Vec::new(),
        }
    }

    /// The whole answer.
    fn end(mut self, next: Next, prompt: &Prompt) -> Vec<ProviderEvent> {
        match next {
            Next::Ask(said, calls) => self.ask(&said, &calls),
            Next::Say(said) => self.say(&said),
        }
        self.complete(input_bytes(prompt))
    }

    /// Says a text, after the note that says what this is.
    fn say(&mut self, said: &str) {
        let text = format!("{} {said}", self.language.say(Sentence::Note));
        let mut end = text.len();
        if end > self.max_bytes {
            self.finish_reason = "length";
            end = (0..=self.max_bytes)
                .rev()
                .find(|at| text.is_char_boundary(*at))
                .unwrap_or(0);
        }
        let words: Vec<_> = text[..end].split_inclusive(char::is_whitespace).collect();
        for words in words.chunks(words.len().div_ceil(MAX_DELTAS).max(1)) {
            self.events.push(ProviderEvent::TextDelta(words.concat()));
        }
        self.written += end;
    }

    /// Asks for calls, unless they are longer than the answer may be.
    fn ask(&mut self, said: &str, calls: &[Call]) {
        let calls: Vec<_> = calls
            .iter()
            .map(|call| (call, Value::Object(call.args.clone())))
            .collect();
        let bytes: usize = calls.iter().map(|(_, args)| args.to_string().len()).sum();
        if let Some((call, _)) = calls.first().filter(|_| bytes > self.max_bytes) {
            return self.say(&self.language.fill(Sentence::NoRoom, &[("tool", call.tool)]));
        }
        self.say(said);
        for (at, (call, args)) in calls.into_iter().enumerate() {
            let (id, name) = (format!("demo-{}", at + 1), call.tool.to_owned());
            let args_json = args.to_string();
            self.events.extend([
                ProviderEvent::ToolCallStart {
                    id: id.clone(),
                    name: name.clone(),
                },
                ProviderEvent::ToolCallDelta {
                    id: id.clone(),
                    args_json,
                },
                ProviderEvent::ToolCallEnd {
                    id,
                    name,
                    args,
                    provider_state: None,
                },
            ]);
        }
        self.written += bytes;
        self.finish_reason = "tool_calls";
    }

    fn complete(mut self, read: usize) -> Vec<ProviderEvent> {
        let tokens = |bytes: usize| u64::try_from(bytes.div_ceil(BYTES_PER_TOKEN).max(1));
        let usage = Usage {
            input: tokens(read).unwrap_or(u64::MAX),
            output: tokens(self.written).unwrap_or(u64::MAX),
            ..Usage::default()
        };
        let finish_reason = self.finish_reason.to_owned();
        self.events.push(ProviderEvent::MessageComplete {
            finish_reason,
            usage,
        });
        self.events
    }
}

#[cfg(test)]
mod tests;
