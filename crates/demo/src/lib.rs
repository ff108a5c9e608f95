//! `demo`: a provider that is no language model. It is a set of rules that turns plain requests in
//! English, Russian, Chinese and Ukrainian into real tool calls, and says at the end of every turn
//! that it is that (FC-5). It needs no network and gives the same answer to the same prompt.
//!
//! It reads only the prompt: the last thing a user said (in the chat that may be another agent), and
//! the results of the calls since then. What it understands, calls and says is a table, in the folder
//! `table`: a new ability is a row of `intents.toml`, with no code. `turn` goes through the steps of
//! a row, `pattern` reads the sentences, and `booking` books on the screen of a host.

mod arithmetic;
mod booking;
mod language;
mod pattern;
mod results;
mod speaker;
mod table;
mod turn;

use std::sync::Arc;

use futures_util::stream;
use samovar_core::provider::{Answer, NOT_UNDERSTOOD};
use samovar_core::{CallId, Message, Outcome, Part, Prompt, Provider, ProviderEvent, Role, Usage};
use serde_json::Value;

use language::Language;
use speaker::spoken;
use turn::{Call, Next, Request, say};

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
    if let Some((language, next)) = booking::book(&prompt.messages, &tools) {
        return Reply::new(language, max_bytes).end(next, prompt);
    }
    let asked = asked(&prompt.messages);
    let after = asked.first().map_or(0, |at| at + 1);
    let mut outcomes = outcomes(&prompt.messages[after..]).into_iter();
    let texts = asked.iter().map(|at| prompt.messages[*at].text());
    let mut language = None;
    let mut is_understood = false;
    let mut told = Vec::new();
    for text in texts.chain(asked.is_empty().then(String::new)) {
        let message = spoken(booking::without_screen(&text));
        let request = Request::new(&message.text, &tools);
        let spoken = request.language;
        is_understood |= request.is_understood(&tools);
        language.get_or_insert(spoken);
        match (request.follow(&tools, &mut outcomes), message.author) {
            (Next::Say(said), None) => told.push(said),
            (Next::Say(said), Some(author)) => {
                let author = results::bounded(&author);
                told.push(format!(
                    "{} {said}",
                    say(spoken, "to", &[("author", &author)])
                ));
            }
            // A question is the person's, whoever it is asked for.
            (ask @ Next::Ask(..), _) => return Reply::new(spoken, max_bytes).end(ask, prompt),
        }
    }
    let mut reply = Reply::new(language.unwrap_or(Language::En), max_bytes);
    if !is_understood {
        reply.finish_reason = NOT_UNDERSTOOD;
    }
    reply.end(Next::Say(told.join("\n")), prompt)
}

/// The messages that are answered: the last of a user. When that is another agent's, which joins a
/// turn at work, the one that the turn began with comes first.
fn asked(messages: &[Arc<Message>]) -> Vec<usize> {
    let is_user = |at: &usize| messages[*at].role == Role::User;
    let Some(last) = (0..messages.len()).rev().find(is_user) else {
        return Vec::new();
    };
    if spoken(&messages[last].text()).author.is_none() {
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

/// The results since the question, in the order of their calls.
fn outcomes(since: &[Arc<Message>]) -> Vec<(&str, &Outcome)> {
    let calls = since.iter().flat_map(|message| message.calls());
    let asked: Vec<&CallId> = calls.map(|call| &call.id).collect();
    let parts = since.iter().flat_map(|message| &message.parts);
    let mut results: Vec<_> = parts
        .filter_map(|part| match part {
            Part::Outcome {
                call,
                name,
                outcome,
            } => Some((call, (name.as_str(), outcome))),
            Part::Text { .. }
            | Part::Reasoning { .. }
            | Part::Call(_)
            | Part::Data { .. }
            | Part::Image { .. } => None,
        })
        .collect();
    results.sort_by_key(|(call, _)| asked.iter().position(|id| id == call).unwrap_or(usize::MAX));
    results.into_iter().map(|(_, outcome)| outcome).collect()
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
            Part::Data { .. } | Part::Image { .. } => 0,
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
            Next::Ask(said, calls) => self.ask(&said, calls),
            Next::Say(said) => self.say(&said),
        }
        self.complete(input_bytes(prompt))
    }

    /// Ends the turn with a text, after the note that says what this is.
    fn say(&mut self, said: &str) {
        self.write(&format!("{} {said}", say(self.language, "note", &[])));
    }

    fn write(&mut self, text: &str) {
        let mut end = text.len();
        if end > self.max_bytes {
            self.finish_reason = "length";
            end = text.floor_char_boundary(self.max_bytes);
        }
        let words: Vec<_> = text[..end].split_inclusive(char::is_whitespace).collect();
        for words in words.chunks(words.len().div_ceil(MAX_DELTAS).max(1)) {
            self.events.push(ProviderEvent::TextDelta(words.concat()));
        }
        self.written += end;
    }

    /// Asks for calls, unless they are longer than the answer may be.
    fn ask(&mut self, said: &str, calls: Vec<Call>) {
        let calls = calls.into_iter();
        let calls = calls.map(|call| (call.tool, Value::Object(call.args)));
        let calls: Vec<_> = calls
            .map(|(tool, args)| (tool, args.to_string(), args))
            .collect();
        let length: usize = calls.iter().map(|(_, args_json, _)| args_json.len()).sum();
        if let Some((tool, ..)) = calls.first().filter(|_| length > self.max_bytes) {
            return self.say(&say(self.language, "no_room", &[("tool", tool)]));
        }
        self.write(said);
        self.written += length;
        self.finish_reason = "tool_calls";
        for (place, call) in (1..).zip(calls) {
            self.call(format!("demo-{place}"), call);
        }
    }

    fn call(&mut self, id: String, (name, args_json, args): (String, String, Value)) {
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
