//! A folder in memory with the built-in tools, which answer in their formats, and a loop that runs
//! the calls that are asked for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use futures_util::{FutureExt, StreamExt};
use samovar_core::tool::{Closer, DEFAULT_TIMEOUT, Origin, Sharing};
use samovar_core::{
    CallId, Effect, Message, MessageId, Millis, Outcome, Part, Prompt, Provider, ProviderEvent,
    Role, ToolCall, ToolSpec,
};
use serde_json::{Value, json};

use super::super::Demo;

pub(super) const TOOLS: &[&str] = &[
    "edit_file",
    "list_dir",
    "read_file",
    "search_files",
    "write_file",
];
/// The tools with which a turn reaches the person.
pub(super) const CHAT_TOOLS: &[&str] = &["ask_user", "post_message"];
/// What the tool `read_file` shows at once.
pub(super) const MAX_LINES: usize = 100;
/// A plan that asks more often than this asks without end.
const MAX_STEPS: usize = 10;

/// What to do instead of a call: its place in the turn, and the outcome.
pub(super) type Accident = Option<(usize, Outcome)>;

#[derive(Clone, Debug, Default)]
pub(super) struct World {
    pub(super) files: BTreeMap<String, String>,
    pub(super) tools: Vec<&'static str>,
    pub(super) accident: Accident,
    /// What the person will answer, the next first.
    pub(super) answers: VecDeque<String>,
    /// What was posted in the chat.
    pub(super) posts: Vec<String>,
}

/// What a turn was.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// The text of each message.
    pub(super) said: Vec<String>,
    /// The calls, with their arguments.
    pub(super) calls: Vec<(String, Value)>,
    /// The message that asked for each call: 0 for the first.
    pub(super) steps: Vec<usize>,
    /// All messages.
    pub(super) messages: Vec<Arc<Message>>,
}

impl Turn {
    pub(super) fn last(&self) -> &str {
        self.said.last().map_or("", String::as_str)
    }
}

pub(in super::super) fn message(role: Role, parts: Vec<Part>) -> Arc<Message> {
    Arc::new(Message {
        id: MessageId::new("m").unwrap(),
        role,
        parts,
        parent: None,
        usage: None,
        model: None,
        finish_reason: None,
        metadata: serde_json::Map::new(),
        created_at: Millis(0),
    })
}

pub(in super::super) fn user(text: &str) -> Arc<Message> {
    message(
        Role::User,
        vec![Part::Text {
            text: text.to_owned(),
        }],
    )
}

pub(in super::super) fn call(id: &str, name: &str, args: Value) -> Part {
    let (id, name) = (CallId::new(id).unwrap(), name.to_owned());
    Part::Call(ToolCall {
        id,
        name,
        args,
        provider_state: None,
    })
}

pub(in super::super) fn outcome(id: &str, name: &str, outcome: Outcome) -> Arc<Message> {
    let (call, name) = (CallId::new(id).unwrap(), name.to_owned());
    message(
        Role::Tool,
        vec![Part::Outcome {
            call,
            name,
            outcome,
        }],
    )
}

pub(in super::super) fn prompt(tools: &[&str], messages: Vec<Arc<Message>>) -> Prompt {
    let spec = |name: &&str| {
        Arc::new(ToolSpec {
            name: (*name).to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
            effect: Effect::Read,
            asks: None,
            origin: Origin::BuiltIn,
            timeout: DEFAULT_TIMEOUT,
            sharing: Sharing::Parallel,
            closer: Closer::Tool,
        })
    };
    Prompt {
        model: "demo".to_owned(),
        layers: Vec::new(),
        tools: tools.iter().map(spec).collect(),
        messages,
        max_tokens: 4_096,
        temperature: 0.0,
    }
}

/// All that the provider answers, at once.
pub(in super::super) fn ask(prompt: Prompt) -> Vec<ProviderEvent> {
    let reads = Demo::new()
        .stream(prompt)
        .collect::<Vec<_>>()
        .now_or_never();
    reads.expect("it waits for nothing").concat()
}

pub(in super::super) fn text(events: &[ProviderEvent]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        ProviderEvent::TextDelta(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

pub(in super::super) fn calls(events: &[ProviderEvent]) -> Vec<(String, Value)> {
    let calls = events.iter().filter_map(|event| match event {
        ProviderEvent::ToolCallEnd { name, args, .. } => Some((name.clone(), args.clone())),
        _ => None,
    });
    calls.collect()
}

impl World {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Self {
            files: files.collect(),
            tools: TOOLS.to_vec(),
            ..Self::default()
        }
    }

    /// The same with a chat, in which a person answers so.
    pub(super) fn with_chat(files: &[(&str, &str)], answers: &[&str]) -> Self {
        Self {
            tools: [TOOLS, CHAT_TOOLS].concat(),
            answers: answers.iter().map(|answer| (*answer).to_owned()).collect(),
            ..Self::new(files)
        }
    }

    pub(super) fn file(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Runs a turn to its end.
    pub(super) fn turn(&mut self, text: &str) -> Turn {
        self.continued(vec![user(text)])
    }

    /// Runs a turn to its end, whose question is the last of these messages.
    pub(super) fn continued(&mut self, messages: Vec<Arc<Message>>) -> Turn {
        let mut turn = Turn {
            messages,
            ..Turn::default()
        };
        for step in 0..MAX_STEPS {
            let events = ask(prompt(&self.tools, turn.messages.clone()));
            turn.said.push(self::text(&events));
            let asked = calls(&events);
            if asked.is_empty() {
                return turn;
            }
            self.answer(step, &asked, &mut turn);
        }
        panic!("asks without end: {:?}", turn.calls);
    }

    fn answer(&mut self, step: usize, asked: &[(String, Value)], turn: &mut Turn) {
        let ids: Vec<_> = (0..asked.len())
            .map(|at| format!("call-{step}-{at}"))
            .collect();
        let parts = ids
            .iter()
            .zip(asked)
            .map(|(id, (name, args))| call(id, name, args.clone()));
        turn.messages
            .push(message(Role::Assistant, parts.collect()));
        for (id, (name, args)) in ids.iter().zip(asked) {
            let accident = self
                .accident
                .as_ref()
                .filter(|(at, _)| *at == turn.calls.len());
            let done = match accident {
                Some((_, accident)) => accident.clone(),
                None => self
                    .run(name, args)
                    .map_or_else(Outcome::failed, Outcome::done),
            };
            turn.messages.push(outcome(id, name, done));
            turn.calls.push((name.clone(), args.clone()));
            turn.steps.push(step);
        }
    }

    fn run(&mut self, name: &str, args: &Value) -> Result<String, String> {
        let arg = |name: &str| args[name].as_str().unwrap_or_default();
        let number = |name: &str| args[name].as_u64().and_then(|n| usize::try_from(n).ok());
        assert!(self.tools.contains(&name), "{name} is not there");
        match name {
            "list_dir" => self.list(arg("path")),
            "read_file" => self.read(arg("path"), number("offset"), number("limit")),
            "write_file" => {
                let (path, content) = (arg("path").to_owned(), arg("content").to_owned());
                let said = format!("wrote {} bytes to {path}", content.len());
                self.files.insert(path, content);
                Ok(said)
            }
            "edit_file" => {
                let file = self.files.get_mut(arg("path")).ok_or("no such file")?;
                let count = file.matches(arg("old")).count();
                if arg("old").is_empty() || count == 0 || (count > 1 && args["all"] != true) {
                    return Err(format!("the old text was found {count} times"));
                }
                *file = file.replace(arg("old"), arg("new"));
                Ok(format!(
                    "edited {}: {count} replacement(s)\n\n--- a\n+++ b",
                    arg("path")
                ))
            }
            "ask_user" => {
                assert!(!arg("question").trim().is_empty(), "a blank question");
                Ok(self.answers.pop_front().unwrap_or_default())
            }
            "post_message" => {
                if arg("text").trim().is_empty() {
                    return Err("a message needs a text".to_owned());
                }
                self.posts.push(arg("text").to_owned());
                Ok(format!("posted as message {}", 40 + self.posts.len()))
            }
            "search_files" => Ok(self.search(arg("pattern"), args["path"].as_str())),
            _ => Err(format!("unknown tool {name}")),
        }
    }

    fn list(&self, path: &str) -> Result<String, String> {
        let folder = if path == "." {
            String::new()
        } else {
            format!("{}/", path.trim_end_matches('/'))
        };
        let inside = self.files.iter().filter_map(|(name, text)| {
            let rest = name.strip_prefix(&folder)?;
            Some(match rest.split_once('/') {
                Some((folder, _)) => format!("{:>12}  {folder}/", "-"),
                None => format!("{:>12}  {rest}", text.len()),
            })
        });
        let lines: BTreeSet<_> = inside.collect();
        if lines.is_empty() && path != "." {
            return Err(format!("no such folder: {path}"));
        }
        let lines: Vec<_> = lines.into_iter().collect();
        Ok(format!(
            "{} entries in {path}\n{}",
            lines.len(),
            lines.join("\n")
        ))
    }

    fn read(
        &self,
        path: &str,
        offset: Option<usize>,
        limit: Option<usize>,
    ) -> Result<String, String> {
        let text = self
            .files
            .get(path)
            .ok_or(format!("no such file: {path}"))?;
        if text.is_empty() {
            return Ok("[empty file]".to_owned());
        }
        if text.contains('\0') {
            return Ok(format!("[binary file, {} bytes]", text.len()));
        }
        let lines: Vec<_> = text.lines().collect();
        let first = offset.unwrap_or(1).max(1) - 1;
        let last = (first + limit.unwrap_or(MAX_LINES).min(MAX_LINES)).min(lines.len());
        let shown = (first..last).map(|at| format!("{:>6}\t{}\n", at + 1, lines[at]));
        let shown: String = shown.collect();
        if last == lines.len() {
            return Ok(shown);
        }
        let note = format!("call again with offset={}", last + 1);
        Ok(format!(
            "{shown}[lines {}-{last} of {}; {note}]",
            first + 1,
            lines.len()
        ))
    }

    fn search(&self, pattern: &str, path: Option<&str>) -> String {
        let text = pattern.replace('\\', "");
        let wanted = self
            .files
            .iter()
            .filter(|(name, _)| path.is_none_or(|path| name.starts_with(path)));
        let mut lines = Vec::new();
        for (name, content) in wanted {
            let numbered = content
                .lines()
                .enumerate()
                .filter(|(_, line)| line.contains(&text));
            lines.extend(numbered.map(|(at, line)| format!("{name}:{}: {line}", at + 1)));
        }
        if lines.is_empty() {
            return "no match".to_owned();
        }
        format!("{} matches in 1 files\n{}", lines.len(), lines.join("\n"))
    }
}
