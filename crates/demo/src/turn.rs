//! A turn as a plan sees it: each call hands back its result, or ends the plan with what to ask or
//! say next. So no plan gets past a call without the result that proves it.

use samovar_core::{Outcome, Status};
use serde_json::{Map, Value, json};

use super::report;
use super::request::Places;
use super::results::{self, Entries, FileText};
use super::say::Sentence;
use super::words::Language;

/// A call to ask for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    /// The tool.
    pub(super) tool: &'static str,
    /// Its arguments.
    pub(super) args: Map<String, Value>,
}

impl Call {
    /// One with these arguments.
    pub(super) fn new(tool: &'static str, args: Value) -> Self {
        let args = if let Value::Object(args) = args {
            args
        } else {
            Map::new()
        };
        Self { tool, args }
    }
}

/// A call of this turn that was answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered<'a> {
    /// The tool.
    pub(super) tool: &'a str,
    /// The answer.
    pub(super) outcome: &'a Outcome,
}

/// The next step.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Next {
    /// Ask for calls, with a word about what they are for.
    Ask(String, Vec<Call>),
    /// Say something and be done.
    Say(String),
}

/// What a call hands back, or what ends the plan.
pub(super) type Step<T> = Result<T, Next>;

/// A turn while a plan runs over its results, from the first.
pub(super) struct Turn<'a> {
    /// The language to speak.
    pub(super) language: Language,
    /// The tools that may be called.
    pub(super) tools: &'a [&'a str],
    answered: std::slice::Iter<'a, Answered<'a>>,
}

impl<'a> Turn<'a> {
    /// A turn with the results so far, in the order of their calls.
    pub(super) fn new(tools: &'a [&'a str], answered: &'a [Answered<'a>]) -> Self {
        Self {
            language: Language::English,
            tools,
            answered: answered.iter(),
        }
    }

    /// Whether these tools are there.
    pub(super) fn has(&self, tools: &[&str]) -> bool {
        tools.iter().all(|tool| self.tools.contains(tool))
    }

    /// Lists a folder.
    pub(super) fn list(&mut self, folder: Option<&str>) -> Step<&'a str> {
        let place = report::place(self.language, folder);
        let said = self.language.fill(Sentence::Listing, &[("place", &place)]);
        self.call(said, "list_dir", json!({"path": folder.unwrap_or(".")}))
    }

    /// Whether there is an entry at a path, or may be one behind the end of a listing that was cut.
    pub(super) fn finds(&mut self, path: &str) -> Step<bool> {
        let (folder, name) = match path.rsplit_once('/') {
            Some((folder, name)) => (Some(folder), name),
            None => (None, path),
        };
        let entries = Entries::parse(self.list(folder)?);
        Ok(entries.is_cut || entries.all.iter().any(|entry| entry.name == name))
    }

    /// Looks for a text.
    pub(super) fn search(&mut self, text: &str, path: Option<&str>) -> Step<&'a str> {
        let place = report::place(self.language, path);
        let values = [("text", text), ("place", place.as_str())];
        let said = self.language.fill(Sentence::Searching, &values);
        let pattern = literal_pattern(text);
        let args = match path {
            Some(path) => json!({"pattern": pattern, "path": path}),
            None => json!({"pattern": pattern}),
        };
        self.call(said, "search_files", args)
    }

    /// Reads files, all at once: so many lines of each, or as many as the tool gives.
    pub(super) fn read(&mut self, paths: &[String], lines: Option<u64>) -> Step<Vec<&'a str>> {
        let said = self
            .language
            .fill(Sentence::Reading, &[("path", &paths.join(", "))]);
        let args = paths.iter().map(|path| match lines {
            Some(limit) => json!({"path": path, "limit": limit}),
            None => json!({"path": path}),
        });
        let calls = args.map(|args| Call::new("read_file", args)).collect();
        self.calls(said, calls)
    }

    /// Reads the last lines of a file that has so many: at most so many of them.
    pub(super) fn read_end(&mut self, path: &str, total: u64, count: u64) -> Step<FileText<'a>> {
        let said = self.language.fill(Sentence::Reading, &[("path", path)]);
        let offset = total.saturating_sub(count) + 1;
        let args = json!({"path": path, "offset": offset});
        self.call(said, "read_file", args).map(FileText::parse)
    }

    /// Writes a file.
    pub(super) fn write(&mut self, path: &str, content: &str) -> Step<()> {
        let said = self.language.fill(Sentence::Writing, &[("path", path)]);
        self.call(
            said,
            "write_file",
            json!({"path": path, "content": content}),
        )
        .map(drop)
    }

    /// Replaces a text in a file.
    pub(super) fn edit(
        &mut self,
        path: &str,
        [old, new]: [&str; 2],
        places: Places,
    ) -> Step<&'a str> {
        let said = self.language.fill(Sentence::Editing, &[("path", path)]);
        let args = match places {
            Places::Only => json!({"path": path, "old": old, "new": new}),
            Places::All => json!({"path": path, "old": old, "new": new, "all": true}),
        };
        self.call(said, "edit_file", args)
    }

    /// Asks the person; the result is the answer.
    pub(super) fn ask_user(&mut self, question: &str) -> Step<&'a str> {
        let said = self.language.say(Sentence::Asking);
        self.call(said, "ask_user", json!({"question": question}))
    }

    /// Posts a text in the chat, and hands back the id of the message.
    pub(super) fn post(&mut self, text: &str) -> Step<&'a str> {
        let said = self.language.say(Sentence::Posting);
        let posted = self.call(said, "post_message", json!({"text": text}))?;
        Ok(results::posted(posted))
    }

    fn call(&mut self, said: String, tool: &'static str, args: Value) -> Step<&'a str> {
        let texts = self.calls(said, vec![Call::new(tool, args)])?;
        Ok(texts.first().copied().unwrap_or(""))
    }

    /// The answers to calls, when all are there and good.
    fn calls(&mut self, said: String, mut calls: Vec<Call>) -> Step<Vec<&'a str>> {
        let mut texts = Vec::new();
        for at in 0..calls.len() {
            let tool = calls[at].tool;
            let Some(answered) = self.answered.find(|answered| answered.tool == tool) else {
                return Err(Next::Ask(said, calls.split_off(at)));
            };
            if answered.outcome.is_error() {
                return Err(Next::Say(self.failure(answered)));
            }
            texts.push(answered.outcome.text.as_str());
        }
        Ok(texts)
    }

    fn failure(&self, answered: &Answered<'_>) -> String {
        let sentence = match answered.outcome.status {
            Status::Done | Status::Failed => Sentence::Failed,
            Status::Denied => Sentence::Denied,
            Status::Cancelled => Sentence::Cancelled,
            Status::Unknown => Sentence::Uncertain,
        };
        let values = [
            ("tool", answered.tool),
            ("result", answered.outcome.text.trim_end()),
        ];
        let failure = self.language.fill(sentence, &values);
        format!("{failure}\n{}", self.language.say(Sentence::Stopped))
    }
}

/// A pattern that finds just this text.
fn literal_pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\.+*?()|[]{}^$".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}
