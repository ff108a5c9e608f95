//! From a request and the results so far to the next step: a call, or the answer.

use samovar_core::{Outcome, Status};
use serde_json::{Map, Value};

use crate::language::Language;
use crate::pattern::{Sentence, Values};
use crate::results;
use crate::table::{Intent, Step, TABLE};

/// A longer request is no plain one.
const MAX_CHARACTERS: usize = 4_000;

/// A call to ask for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) args: Map<String, Value>,
}

/// The next step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// Ask for calls, with a word about what they are for.
    Ask(String, Vec<Call>),
    /// Say something and be done.
    Say(String),
}

/// A request, as the table understands it.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) language: Language,
    pub(crate) intent: &'static Intent,
    pub(crate) values: Values,
}

impl Request {
    /// The first row that matches and whose tools are there; else the first that matches. A row that
    /// refuses needs no tools: the first that matched before it counts instead.
    pub(crate) fn new(text: &str, tools: &[&str]) -> Self {
        let sentence = Sentence::new(text);
        let languages = Language::candidates(&sentence.text);
        let first = languages[0];
        if text.chars().count() > MAX_CHARACTERS {
            return Self::named("too-long", first);
        }
        let mut without_tools = None;
        for language in languages {
            for intent in &TABLE.intents {
                let Some(values) = intent.matches(language, &sentence) else {
                    continue;
                };
                let request = Self {
                    language,
                    intent,
                    values,
                };
                if request.missing(tools).is_none() {
                    let earlier = without_tools.filter(|_| request.refuses());
                    return earlier.unwrap_or(request);
                }
                without_tools.get_or_insert(request);
            }
        }
        without_tools.unwrap_or_else(|| Self::named("unknown", first))
    }

    /// Whether the table has what was asked for, with tools that are there. A row that asks back has
    /// not got all of it.
    pub(crate) fn is_understood(&self, tools: &[&str]) -> bool {
        let asks_back = self.intent.id == "which-file";
        !(self.refuses() || asks_back) && self.missing(tools).is_none()
    }

    fn refuses(&self) -> bool {
        let id = self.intent.id.as_str();
        id.starts_with("refuse-") || ["too-long", "unknown"].contains(&id)
    }

    fn missing(&self, tools: &[&str]) -> Option<&'static str> {
        self.intent.tools().find(|tool| !tools.contains(tool))
    }

    fn named(id: &str, language: Language) -> Self {
        let intent = TABLE.intents.iter().find(|intent| intent.id == id);
        Self {
            language,
            intent: intent.expect("the table has these rows, and its tests read them"),
            values: Values::new(),
        }
    }

    /// Goes through the steps of the row: each reads the next outcome of its tool, or asks for it.
    pub(crate) fn follow<'a>(
        mut self,
        tools: &[&str],
        outcomes: &mut impl Iterator<Item = (&'a str, &'a Outcome)>,
    ) -> Next {
        if let Some(missing) = self.missing(tools) {
            return Next::Say(self.say("no_tool", &[("tool", missing)]));
        }
        for (name, value) in &self.intent.set {
            self.values
                .entry(name.clone())
                .or_insert_with(|| value.clone());
        }
        self.default_values(tools);
        let mut told = Vec::new();
        for (place, step) in self.intent.steps.iter().enumerate() {
            match self.step(step, outcomes) {
                Ok(()) => {}
                Err(Next::Say(why)) => {
                    told.push(why);
                    break;
                }
                Err(Next::Ask(said, calls)) => return self.with_next(place, said, calls),
            }
            told.extend(step.report.iter().filter_map(|line| self.line(line)));
            self.values.insert("told".to_owned(), told.join("\n"));
        }
        Next::Say(told.join("\n"))
    }

    /// The calls of a step, with those that stand beside it.
    fn with_next(&self, place: usize, mut said: String, mut calls: Vec<Call>) -> Next {
        let steps = self.intent.steps[place..].windows(2);
        for pair in steps.take_while(|pair| pair[0].beside) {
            if let Some((tool, args)) = pair[1].tool.as_ref().zip(self.args(&pair[1])) {
                said = format!("{said} {}", self.before(tool, &args));
                let tool = tool.clone();
                calls.push(Call { tool, args });
            }
        }
        Next::Ask(said, calls)
    }

    fn default_values(&mut self, tools: &[&str]) {
        let kind = ("kind", "all".to_owned());
        let order = ("order", "name".to_owned());
        let abilities = ("abilities", abilities(self.language, tools));
        let folder = self.values.get("folder").map_or(".", String::as_str);
        let place = match folder {
            "." | "./" => TABLE.say(self.language, "here").to_owned(),
            folder => self.say("inside", &[("path", folder)]),
        };
        let folder = ("folder", folder.to_owned());
        for (name, value) in [kind, order, abilities, folder, ("place", place)] {
            self.values.entry(name.to_owned()).or_insert(value);
        }
    }

    fn step<'a>(
        &mut self,
        step: &Step,
        outcomes: &mut impl Iterator<Item = (&'a str, &'a Outcome)>,
    ) -> Result<(), Next> {
        let Some(tool) = &step.tool else {
            return Ok(());
        };
        let Some(args) = self.args(step) else {
            let path = self.values.get("path").cloned().unwrap_or_default();
            return Err(Next::Say(self.say("untouched", &[("untouched", &path)])));
        };
        let language = self.language;
        let failed = |why| {
            let question = args.get("question").and_then(Value::as_str);
            let question =
                question.map(|question| say(language, "open_question", &[("question", question)]));
            let stopped = TABLE.say(language, "stopped").to_owned();
            let all = [Some(why), question, Some(stopped)].into_iter().flatten();
            Next::Say(all.collect::<Vec<_>>().join("\n"))
        };
        let text = if tool == "=" {
            String::new()
        } else {
            let Some((_, outcome)) = outcomes.find(|(name, _)| name == tool) else {
                let (said, tool) = (self.before(tool, &args), tool.clone());
                return Err(Next::Ask(said, vec![Call { tool, args }]));
            };
            if outcome.is_error() {
                let result = results::bounded(&results::sentence(outcome.text.trim_end()));
                let values = [("tool", tool.as_str()), ("result", result.as_str())];
                return Err(failed(self.say(failure(outcome.status), &values)));
            }
            outcome.text.clone()
        };
        let read = results::read(language, tool, &args, &text, &mut self.values);
        read.map_err(|key| failed(TABLE.say(language, key).to_owned()))
    }

    /// The arguments of a call; `None` when a value for one of them is not there.
    fn args(&self, step: &Step) -> Option<Map<String, Value>> {
        let args = step.args.iter().map(|(name, value)| {
            let value = match value {
                Value::String(template) if template == "{n}" => {
                    Value::from(self.values.get("n")?.parse::<u64>().ok()?)
                }
                Value::String(template) => Value::String(self.arg(template)?),
                other => other.clone(),
            };
            Some((name.clone(), value))
        });
        args.collect()
    }

    /// `@key` is a sentence, `{name:pattern}` a text that a pattern finds as it is.
    fn arg(&self, template: &str) -> Option<String> {
        if let Some(key) = template.strip_prefix('@') {
            return TABLE.fill(self.language, TABLE.say(self.language, key), &self.values);
        }
        let pattern = template
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix(":pattern}"));
        match pattern {
            Some(name) => Some(regex::escape(self.values.get(name)?)),
            None => TABLE.fill(self.language, template, &self.values),
        }
    }

    /// What is said before a call.
    fn before(&self, tool: &str, args: &Map<String, Value>) -> String {
        let mut values = self.values.clone();
        let texts = args
            .iter()
            .filter_map(|(name, value)| Some((name, value.as_str()?)));
        for (name, text) in texts {
            values
                .entry(name.clone())
                .or_insert_with(|| results::bounded(text));
        }
        let template = TABLE.say(self.language, &format!("before.{tool}"));
        TABLE
            .fill(self.language, template, &values)
            .unwrap_or_default()
    }

    /// A line of a report: a sentence by its key, or a template.
    fn line(&self, line: &str) -> Option<String> {
        let template = if line.contains('{') {
            line
        } else {
            TABLE.say(self.language, line)
        };
        let whole = ["lines", "abilities", "notes"];
        let values = self.values.iter().map(|(name, value)| {
            let value = if whole.contains(&name.as_str()) {
                value.clone()
            } else {
                results::bounded(value)
            };
            (name.clone(), value)
        });
        TABLE.fill(self.language, template, &values.collect())
    }

    fn say(&self, key: &str, values: &[(&str, &str)]) -> String {
        say(self.language, key, values)
    }
}

/// A sentence with these values.
pub(crate) fn say(language: Language, key: &str, values: &[(&str, &str)]) -> String {
    let values = values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let said = TABLE.fill(language, TABLE.say(language, key), &values.collect());
    said.unwrap_or_default()
}

fn failure(status: Status) -> &'static str {
    match status {
        Status::Done | Status::Failed => "failed.failed",
        Status::Denied => "failed.denied",
        Status::Cancelled => "failed.cancelled",
        Status::Unknown => "failed.unknown",
    }
}

/// What can be done with the tools that are here, and how to connect a model.
fn abilities(language: Language, tools: &[&str]) -> String {
    let mut said = TABLE.say(language, "can").to_owned();
    let can = |intent: &&Intent| intent.tools().all(|tool| tools.contains(&tool));
    let offers = TABLE
        .intents
        .iter()
        .filter(can)
        .filter_map(|intent| intent.offer.get(&language));
    let book = ["select", "next"].iter().all(|tool| tools.contains(tool));
    let book = book.then(|| TABLE.say(language, "can_book"));
    for offer in offers.map(String::as_str).chain(book) {
        said.push_str("\n- ");
        said.push_str(offer);
    }
    format!("{said}\n{}", TABLE.say(language, "connect"))
}
