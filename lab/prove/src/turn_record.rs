//! What a whole stream tells of its turn, in either profile.

use serde_json::Value;

use crate::observed::{Frame, Profile, Tokens};
use crate::scene::{self, ASK};
use crate::words::{self, Text};

/// A turn as its stream tells it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TurnRecord {
    /// The turn; the default profile does not say.
    pub(crate) turn: Option<String>,
    /// The turns of called agents, at any depth, in the order in which they came. The default profile
    /// does not show them.
    pub(crate) below: Vec<TurnRecord>,
    /// The agents down to the one whose turn it is; empty for the session's own.
    pub(crate) path: String,
    /// The call that it answers.
    pub(crate) parent_call: Option<String>,
    /// Whether its caller does not wait for it; the stream of its caller may end before it.
    pub(crate) is_background: bool,
    /// The message that it began with; the default profile does not say, nor what follows here.
    pub(crate) opener: Option<UserMessage>,
    /// The messages that have joined it, in order.
    pub(crate) joined: Vec<UserMessage>,
    /// Where it began to run, and where it ended.
    pub(crate) started_at: Option<u64>,
    pub(crate) ended_at: Option<u64>,
    /// What it cost.
    pub(crate) cost: Tokens,
    /// The most times in a row that it went on.
    pub(crate) most_in_a_row: u64,
    pub(crate) starts: u32,
    pub(crate) ends: Vec<TurnEnd>,
    pub(crate) continued: u64,
    pub(crate) resets: u64,
    /// Whether live events are told to be lost.
    pub(crate) losses: u64,
    pub(crate) calls: Vec<Call>,
    pub(crate) messages: Vec<Message>,
    /// The first word that stands where it does not belong.
    pub(crate) spliced: Option<String>,
    /// A step that ended although its answer had not.
    pub(crate) unfinished: Option<String>,
    /// What happened first while a question was open that a person was to answer.
    pub(crate) beside: Option<String>,
    /// The questions that are open.
    waits: Vec<String>,
    text: String,
    iteration: u64,
    /// What the user had said last when the model was asked, and the results behind that.
    asked: (String, usize),
    /// Results since the user has said something.
    results: usize,
}

/// What a user said, as the stream tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UserMessage {
    pub(crate) message: String,
    /// How it came: empty when it simply begins its turn.
    pub(crate) entry: String,
    /// Its place in the log.
    pub(crate) at: u64,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TurnEnd {
    /// By the model's own word.
    Model(String),
    Cancelled,
    /// With the code of a fault.
    Fault(String),
    /// For another reason, by its word.
    Other(String),
}

/// A call as the stream tells it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) args: Value,
    pub(crate) is_started: bool,
    /// The epoch in which its start was kept.
    pub(crate) started_in: u64,
    pub(crate) closings: Vec<Closing>,
}

/// How a call was closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Closing {
    /// `done`, `failed`, `denied`, `cancelled` or `unknown`; empty where the profile does not say.
    pub(crate) status: String,
    pub(crate) text: String,
    /// Its epoch, and its place in the log.
    pub(crate) at: (u64, u64),
}

/// A message that was finished.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) role: String,
    pub(crate) text: String,
    /// Its place in the log.
    pub(crate) at: u64,
    /// What the user had said last when the model was asked for it, and how many results of tools
    /// stood behind that.
    pub(crate) answers: (String, usize),
}

/// Reads a stream from its start.
pub(crate) fn tell(profile: Profile, frames: &[Frame]) -> TurnRecord {
    let mut told = TurnRecord::default();
    for frame in frames {
        let Ok(event) = serde_json::from_str::<Value>(&frame.data) else {
            continue;
        };
        let id = frame.id.as_deref().and_then(place);
        let at = id.map_or((0, 0), |(epoch, seq, _)| (epoch, seq));
        match profile {
            Profile::Default => told.take_spelt(&event, at),
            Profile::Full => told.of(&event).take_whole(&event, at),
        }
    }
    told.look_at_text();
    told.below.iter_mut().for_each(TurnRecord::look_at_text);
    told
}

/// Whether an event is of an agent that another one has called.
pub(crate) fn is_of_called(event: &Value) -> bool {
    let agent = event["agent"].as_str();
    agent.is_some_and(|path| path.contains('/'))
}

impl TurnRecord {
    /// The turns of called agents that are shown to their ends, and this one.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = &TurnRecord> {
        let below = self.below.iter().filter(|one| !one.is_background);
        std::iter::once(self).chain(below)
    }

    /// All turns of which something is shown.
    pub(crate) fn all(&self) -> impl Iterator<Item = &TurnRecord> {
        std::iter::once(self).chain(&self.below)
    }

    /// How many agents are above the one whose turn it is.
    pub(crate) fn depth(&self) -> usize {
        self.path.matches('/').count()
    }

    /// The message whose turn it is.
    pub(crate) fn message(&self) -> &str {
        let opener = self.opener.as_ref();
        opener.map_or("", |said| said.message.as_str())
    }

    /// The turn whose event this is.
    fn of(&mut self, event: &Value) -> &mut Self {
        if !is_of_called(event) {
            return self;
        }
        let turn = event["turn"].as_str();
        let place = self
            .below
            .iter()
            .position(|one| one.turn.as_deref() == turn);
        let place = place.unwrap_or_else(|| {
            self.below.push(Self {
                turn: turn.map(str::to_owned),
                path: text(&event["agent"]),
                ..Self::default()
            });
            self.below.len() - 1
        });
        &mut self.below[place]
    }

    /// An event of the full profile, and its epoch and place.
    fn take_whole(&mut self, event: &Value, at: (u64, u64)) {
        if let Some(turn) = event["turn"].as_str() {
            self.turn.get_or_insert_with(|| turn.to_owned());
        }
        let kind = text(&event["type"]);
        self.look_beside(&kind, event);
        match kind.as_str() {
            "turn_started" => {
                self.starts += 1;
                self.started_at.get_or_insert(at.1);
                self.parent_call = event["parent_call"].as_str().map(str::to_owned);
                self.is_background = event["background"] == true;
            }
            "turn_continued" => {
                self.continued += 1;
                let in_a_row = event["in_a_row"].as_u64().unwrap_or_default();
                self.most_in_a_row = self.most_in_a_row.max(in_a_row);
            }
            "step_started" => self.begin_step(),
            "step_reset" => {
                self.resets += 1;
                self.pay(&event["usage"]);
                self.forget_text();
            }
            "events_lost" => {
                self.losses += 1;
                self.forget_text();
            }
            "delta" => {
                let fragment = &event["fragment"]["text"];
                self.text.push_str(fragment.as_str().unwrap_or_default());
            }
            "message_finished" => self.finish_message(event, at.1),
            "call_started" => {
                let call = self.call(&event["call"]);
                (call.is_started, call.started_in) = (true, at.0);
            }
            "call_closed" => {
                self.results += 1;
                let outcome = &event["outcome"];
                let closing = Closing {
                    status: text(&outcome["status"]),
                    text: text(&outcome["text"]),
                    at,
                };
                self.call(&event["call"]).closings.push(closing);
            }
            "turn_finished" => {
                self.ended_at.get_or_insert(at.1);
                self.ends
                    .push(end(&event["reason"], &event["fault"]["code"]));
            }
            _ => {}
        }
    }

    /// An event of the default profile.
    fn take_spelt(&mut self, event: &Value, at: (u64, u64)) {
        match text(&event["type"]).as_str() {
            "iteration" => {
                let iteration = event["iteration"].as_u64().unwrap_or_default();
                if iteration == self.iteration {
                    self.resets += 1;
                } else if self.iteration > 0 {
                    self.end_step();
                }
                self.iteration = iteration;
                self.forget_text();
            }
            "text_delta" => {
                let content = event["content"].as_str().unwrap_or_default();
                self.text.push_str(content);
            }
            "tool_call_start" => {
                let (name, args) = (text(&event["name"]), event["args"].clone());
                let call = self.call(&event["id"]);
                (call.name, call.args) = (name, args);
            }
            "tool_call_result" => {
                let text = text(&event["result"]);
                let status = String::new();
                self.call(&event["id"])
                    .closings
                    .push(Closing { status, text, at });
            }
            "completed" => {
                let end = end(&event["finishReason"], &Value::Null);
                if matches!(end, TurnEnd::Model(_)) {
                    self.end_step();
                }
                self.ends.push(end);
            }
            "error" => self.ends.push(TurnEnd::Fault(text(&event["code"]))),
            _ => {}
        }
    }

    /// The model is asked. What the attempt before had said was to be voided first, for all to see.
    fn begin_step(&mut self) {
        if !self.text.is_empty() {
            self.spliced.get_or_insert_with(|| self.text.clone());
        }
        self.forget_text();
        let last = self.joined.last().or(self.opener.as_ref());
        let last = last.map_or_else(String::new, |said| said.message.clone());
        self.asked = (last, self.results);
    }

    /// While a question is open, nothing happens in its turn but what comes from outside.
    fn look_beside(&mut self, kind: &str, event: &Value) {
        let call = text(&event["call"]);
        if kind == "call_closed" && self.waits.contains(&call) {
            return self.waits.retain(|open| *open != call);
        }
        let is_ours = match kind {
            "step_started" | "message_started" | "delta" | "part_added" | "call_started"
            | "call_closed" => true,
            "message_finished" => event["message"]["role"] == "assistant",
            _ => false,
        };
        if is_ours && !self.waits.is_empty() {
            self.beside.get_or_insert_with(|| format!("{kind} {call}"));
        }
        if kind == "call_started" && self.call(&event["call"]).name == ASK {
            self.waits.push(call);
        }
    }

    fn finish_message(&mut self, event: &Value, at: u64) {
        let message = &event["message"];
        let parts = message["parts"].as_array();
        let parts = parts.map(Vec::as_slice).unwrap_or_default();
        let (id, role, mut said) = (text(&message["id"]), text(&message["role"]), String::new());
        for part in parts {
            match text(&part["type"]).as_str() {
                "text" => said.push_str(part["text"].as_str().unwrap_or_default()),
                "call" if role == "assistant" => {
                    let (name, args) = (text(&part["name"]), part["args"].clone());
                    let call = self.call(&part["id"]);
                    (call.name, call.args) = (name, args);
                }
                _ => {}
            }
        }
        match role.as_str() {
            "assistant" => {
                self.pay(&message["usage"]);
                self.look_at_text();
                self.text.clone_from(&said);
                self.look_at_text();
                self.text.clear();
            }
            // Who calls an agent names its place in what it is told.
            "user" if !self.path.is_empty() => {
                let place = scene::named(&said).unwrap_or_default().to_owned();
                self.take_said(place, String::new(), at);
            }
            "user" => self.take_said(id.clone(), text(&event["entry"]), at),
            _ => {}
        }
        let answers = self.asked.clone();
        self.messages.push(Message {
            id,
            role,
            text: said,
            at,
            answers,
        });
    }

    fn take_said(&mut self, message: String, entry: String, at: u64) {
        self.results = 0;
        let said = UserMessage { message, entry, at };
        if self.opener.is_none() {
            self.opener = Some(said);
        } else {
            self.joined.push(said);
        }
    }

    fn pay(&mut self, usage: &Value) {
        let tokens = |name: &str| usage[name].as_u64().unwrap_or_default();
        self.cost.input += tokens("input");
        self.cost.output += tokens("output");
    }

    /// The model has said all; what was shown of it is the whole of one answer.
    fn end_step(&mut self) {
        if words::read(&self.text) == Text::Beginning {
            self.unfinished.get_or_insert_with(|| self.text.clone());
        }
    }

    fn forget_text(&mut self) {
        self.look_at_text();
        self.text.clear();
    }

    fn look_at_text(&mut self) {
        if let Text::Spliced(word) = words::read(&self.text) {
            self.spliced.get_or_insert(word);
        }
    }

    fn call(&mut self, id: &Value) -> &mut Call {
        let id = text(id);
        let place = self.calls.iter().position(|call| call.id == id);
        let place = place.unwrap_or_else(|| {
            self.calls.push(Call {
                id,
                ..Call::default()
            });
            self.calls.len() - 1
        });
        &mut self.calls[place]
    }
}

fn end(reason: &Value, code: &Value) -> TurnEnd {
    if let Some(word) = reason["model"].as_str() {
        return TurnEnd::Model(word.to_owned());
    }
    match text(reason).as_str() {
        "cancelled" => TurnEnd::Cancelled,
        "error" => TurnEnd::Fault(text(code)),
        word @ ("stop" | "tool_calls" | "length" | "end_turn") => TurnEnd::Model(word.to_owned()),
        other => TurnEnd::Other(other.to_owned()),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Epoch, place in the log, and which frame of that event; the last one has no number of its own.
pub(crate) fn place(id: &str) -> Option<(u64, u64, u64)> {
    let mut numbers = id.split('.').map(str::parse::<u64>);
    let (epoch, seq) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let part = numbers.next().map_or(Ok(u64::MAX), |part| part).ok()?;
    numbers.next().is_none().then_some((epoch, seq, part))
}
