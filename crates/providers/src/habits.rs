//! What a model's server has been found to want otherwise than others of its dialect: what it refused
//! is not sent again until the process ends.

use std::collections::BTreeSet;
use std::fmt;

use samovar_core::{Prompt, ToolSpec};
use serde_json::Value;

use crate::specs::{Listing, Param, ProviderSpec};
use crate::words::has_word;

/// A part of a request that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sent {
    Temperature,
    MaxTokens,
    MaxCompletionTokens,
    StreamOptions,
    ReturnProgress,
    CacheControl,
    Tools,
    Images,
}

impl Sent {
    const ALL: [Self; 6] = [
        Self::Temperature,
        Self::MaxTokens,
        Self::MaxCompletionTokens,
        Self::StreamOptions,
        Self::ReturnProgress,
        Self::CacheControl,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Temperature => "temperature",
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::StreamOptions => "stream_options",
            Self::ReturnProgress => "return_progress",
            Self::CacheControl => "cache_control",
            Self::Tools => "tools",
            Self::Images => "images",
        }
    }
}

/// What is sent otherwise from now on. Its text names it for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// This part is left out.
    Without(Sent),
    /// This tool is.
    WithoutTool(String),
    /// Thoughts go back with their calls, or do not.
    Thoughts(bool),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Without(sent) => f.write_str(sent.name()),
            Self::WithoutTool(tool) => f.write_str(&samovar_locale::provider::tool_named(tool)),
            Self::Thoughts(_) => f.write_str("reasoning_content"),
        }
    }
}

/// How a model's server wants its requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Habits {
    refused: BTreeSet<Sent>,
    refused_tools: BTreeSet<String>,
    thoughts: Option<bool>,
    tells_progress: bool,
}

impl Habits {
    /// What is known of a model before it is asked.
    pub(crate) fn of(spec: &ProviderSpec, model: &str) -> Self {
        let mut habits = Self {
            tells_progress: spec.listing == Listing::LlamaCpp,
            ..Self::default()
        };
        if spec.overrides(model).drops.contains(&Param::Tools) {
            habits.refused.insert(Sent::Tools);
        }
        habits
    }

    /// Whether this part is taken, as far as that is known.
    pub(crate) fn takes(&self, sent: Sent) -> bool {
        !self.refused.contains(&sent)
    }

    /// Whether thoughts go back with their calls; `None` if the server has said nothing of it.
    pub(crate) fn wants_thoughts(&self) -> Option<bool> {
        self.thoughts
    }

    /// Whether the server tells how far it is with the prompt when it is asked to.
    pub(crate) fn tells_progress(&self) -> bool {
        self.tells_progress && self.takes(Sent::ReturnProgress)
    }

    /// The server is llama.cpp, whatever its row is called.
    pub(crate) fn expect_progress(&mut self) {
        self.tells_progress = true;
    }

    /// The tools of a prompt that the server takes.
    pub(crate) fn tools<'a>(&self, prompt: &'a Prompt) -> impl Iterator<Item = &'a ToolSpec> {
        let tools = prompt.tools.iter().filter(|_| self.takes(Sent::Tools));
        tools
            .map(AsRef::as_ref)
            .filter(|tool| !self.refused_tools.contains(&tool.name))
    }

    /// Takes in what was found.
    pub(crate) fn learn(&mut self, change: Change) {
        match change {
            Change::Without(sent) => {
                self.refused.insert(sent);
            }
            Change::WithoutTool(tool) => {
                self.refused_tools.insert(tool);
            }
            Change::Thoughts(go_back) => self.thoughts = Some(go_back),
        }
    }

    /// What to send otherwise after a refusal in these words, in lower case; `None` if they name
    /// nothing that was sent, or what was changed already.
    pub(crate) fn change(&self, refusal: &str, prompt: &Prompt, body: &[u8]) -> Option<Change> {
        if refusal.contains("reasoning_content") {
            let is_missing = ["must be passed", "must be provided", "missing", "required"];
            let wants = is_missing.iter().any(|words| refusal.contains(words));
            return (self.thoughts != Some(wants)).then_some(Change::Thoughts(wants));
        }
        let has_tools = self.tools(prompt).next().is_some();
        if has_tools && NO_TOOLS.iter().any(|words| refusal.contains(words)) {
            return Some(Change::Without(Sent::Tools));
        }
        if let Some(tool) = self.tool_in(refusal, prompt) {
            return Some(Change::WithoutTool(tool.name.clone()));
        }
        let body = String::from_utf8_lossy(body);
        let is_sent = |sent: &Sent| body.contains(&format!("\"{}\":", sent.name()));
        let is_named = |sent: &Sent| has_word(refusal, sent.name());
        let mut named = Sent::ALL.into_iter().filter(|sent| self.takes(*sent));
        let named = named.find(|sent| is_named(sent) && is_sent(sent))?;
        Some(Change::Without(named))
    }

    /// The tool whose schema a refusal is about: by its name, its place, or the place in its schema.
    fn tool_in<'a>(&self, refusal: &str, prompt: &'a Prompt) -> Option<&'a ToolSpec> {
        let is_about = ["schema", "function", "tools", "parameters"];
        if !is_about.iter().any(|word| refusal.contains(word)) {
            return None;
        }
        let tools: Vec<_> = self.tools(prompt).collect();
        let by_name = tools
            .iter()
            .find(|tool| has_word(refusal, &tool.name.to_lowercase()));
        let at = ["tools[", "tools.", "functions[", "functions."]
            .iter()
            .find_map(|start| number_after(refusal, start));
        let by_place = || tools.get(at?);
        let pointer = refusal
            .split(['#', ' '])
            .find(|part| part.starts_with("/properties/"));
        let by_schema = || {
            let pointer = pointer?.trim_end_matches([':', ',', '.', '\'', '"', ')']);
            let mut having = tools
                .iter()
                .filter(|tool| has_place(&tool.parameters, pointer));
            // The last one of several: built-in tools come first, and their schemas are plain.
            having.next_back()
        };
        by_name.or_else(by_place).or_else(by_schema).copied()
    }
}

/// How servers say that a model cannot call tools.
const NO_TOOLS: [&str; 9] = [
    "not support tool",
    "not support function",
    "no tool support",
    "tools param requires",
    "tool choice requires",
    "support tool use",
    "tool use is not supported",
    "tools are not supported",
    "tool calling is not supported",
];

fn number_after(text: &str, start: &str) -> Option<usize> {
    let rest = &text[text.find(start)? + start.len()..];
    let end = rest.find(|letter: char| !letter.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

/// Whether a schema has something at a place, which is in lower case.
fn has_place(schema: &Value, pointer: &str) -> bool {
    let mut at = schema;
    for step in pointer.split('/').skip(1) {
        let next = match at {
            Value::Object(fields) => fields
                .iter()
                .find(|(name, _)| name.to_lowercase() == step)
                .map(|(_, value)| value),
            Value::Array(items) => step.parse().ok().and_then(|at: usize| items.get(at)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        };
        let Some(next) = next else {
            return false;
        };
        at = next;
    }
    true
}

#[cfg(test)]
mod tests;
