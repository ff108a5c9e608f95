//! What a whole stream tells of its turn, in either profile.

use serde_json::Value;

use crate::observed::{Frame, Profile};
use crate::words::{self, Said};

/// A turn as its stream tells it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// The turn; the default profile does not say.
    pub(crate) turn: Option<String>,
    pub(crate) starts: u32,
    pub(crate) ends: Vec<End>,
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
    text: String,
    iteration: u64,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
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
    pub(crate) closings: Vec<Closing>,
}

/// How a call was closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Closing {
    /// `done`, `failed`, `denied`, `cancelled` or `unknown`; empty where the profile does not say.
    pub(crate) status: String,
    pub(crate) text: String,
}

/// A message that was finished.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) role: String,
    pub(crate) text: String,
}

/// Reads a stream from its start.
pub(crate) fn tell(profile: Profile, frames: &[Frame]) -> Told {
    let mut told = Told::default();
    for frame in frames {
        let Ok(event) = serde_json::from_str::<Value>(&frame.data) else {
            continue;
        };
        match profile {
            Profile::Default => told.take_spelt(&event),
            Profile::Full => told.take_whole(&event),
        }
    }
    told.look_at_text();
    told
}

impl Told {
    /// An event of the full profile.
    fn take_whole(&mut self, event: &Value) {
        if let Some(turn) = event["turn"].as_str() {
            self.turn.get_or_insert_with(|| turn.to_owned());
        }
        match text(&event["type"]).as_str() {
            "turn_started" => self.starts += 1,
            "turn_continued" => self.continued += 1,
            "step_started" => {
                // What the attempt before had said was to be voided first, for all to see.
                if !self.text.is_empty() {
                    self.spliced.get_or_insert_with(|| self.text.clone());
                }
                self.forget_text();
            }
            "step_reset" => {
                self.resets += 1;
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
            "message_finished" => self.finish_message(&event["message"]),
            "call_started" => self.call(&event["call"]).is_started = true,
            "call_closed" => {
                let outcome = &event["outcome"];
                let closing = Closing {
                    status: text(&outcome["status"]),
                    text: text(&outcome["text"]),
                };
                self.call(&event["call"]).closings.push(closing);
            }
            "turn_finished" => self
                .ends
                .push(end(&event["reason"], &event["fault"]["code"])),
            _ => {}
        }
    }

    /// An event of the default profile.
    fn take_spelt(&mut self, event: &Value) {
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
                    .push(Closing { status, text });
            }
            "completed" => {
                let end = end(&event["finishReason"], &Value::Null);
                if matches!(end, End::Model(_)) {
                    self.end_step();
                }
                self.ends.push(end);
            }
            "error" => self.ends.push(End::Fault(text(&event["code"]))),
            _ => {}
        }
    }

    fn finish_message(&mut self, message: &Value) {
        let parts = message["parts"].as_array();
        let parts = parts.map(Vec::as_slice).unwrap_or_default();
        let (role, mut said) = (text(&message["role"]), String::new());
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
        if role == "assistant" {
            self.look_at_text();
            self.text.clone_from(&said);
            self.look_at_text();
            self.text.clear();
        }
        let id = text(&message["id"]);
        self.messages.push(Message {
            id,
            role,
            text: said,
        });
    }

    /// The model has said all; what was shown of it is the whole of one answer.
    fn end_step(&mut self) {
        if words::read(&self.text) == Said::Beginning {
            self.unfinished.get_or_insert_with(|| self.text.clone());
        }
    }

    fn forget_text(&mut self) {
        self.look_at_text();
        self.text.clear();
    }

    fn look_at_text(&mut self) {
        if let Said::Spliced(word) = words::read(&self.text) {
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

fn end(reason: &Value, code: &Value) -> End {
    if let Some(word) = reason["model"].as_str() {
        return End::Model(word.to_owned());
    }
    match text(reason).as_str() {
        "cancelled" => End::Cancelled,
        "error" => End::Fault(text(code)),
        word @ ("stop" | "tool_calls" | "length" | "end_turn") => End::Model(word.to_owned()),
        other => End::Other(other.to_owned()),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
