//! What the host answers to the messages of agents and to the deeds of the person (RL-25, RL-26).

use samovar_core::Millis;
use samovar_core::command::is_blank;
use samovar_core::relay::{
    Envelope, Host, HostContext, MessageKind, Payload, PersonDeed, RelayCode,
};
use serde_json::{Map, Value, json};

use crate::catalogue::Week;
use crate::history::{Actor, Entry, History};
use crate::screen::{Refusal, Screen};
use crate::tools::{MAX_TEXT, Tool};

/// The booking of a movie, for one room. It is all the state of a booking that there is.
#[derive(Debug)]
pub struct MovieHost {
    screen: Screen,
    history: History,
    /// The study session that is open.
    study: Option<String>,
    /// When that began, or when the screen was first shown without one: the dates follow it.
    begun: Option<Millis>,
}

impl MovieHost {
    /// A screen with nothing chosen.
    pub fn new() -> Self {
        Self {
            screen: Screen::new(Week::default()),
            history: History::default(),
            study: None,
            begun: None,
        }
    }

    /// Starts over, for a study session or for none.
    fn reset(&mut self, study: Option<String>, now: Millis) {
        *self = Self::new();
        self.study = study;
        self.begun = Some(now);
        self.show(now);
    }

    /// A host has no clock, so the first screen gets its dates and its entry with the first message.
    fn show(&mut self, now: Millis) {
        if self.history.written() == 0 {
            let begun = *self.begun.get_or_insert(now);
            self.screen = Screen::new(Week::after(begun));
            let stage = self.screen.stage();
            self.history.write(self.screen.entry(), stage, now);
        }
    }

    /// Does something and tells the agents of it, if anything is different then.
    fn change(
        &mut self,
        now: Millis,
        deed: impl FnOnce(&mut Screen, &str) -> Result<Vec<Entry>, Refusal>,
    ) -> Result<Option<Envelope>, Refusal> {
        let mut screen = self.screen.clone();
        let entries = deed(&mut screen, self.study.as_deref().unwrap_or_default())?;
        let is_changed = screen != self.screen || !entries.is_empty();
        self.screen = screen;
        for entry in entries {
            self.history.write(entry, self.screen.stage(), now);
        }
        Ok(is_changed.then(|| self.updated()))
    }

    fn updated(&self) -> Envelope {
        let mut payload = payload(json!({"source": "host"}));
        self.put_snapshot(&mut payload);
        Envelope::new(MessageKind::StateUpdated, payload)
    }

    /// Outside a study session its id is the room's, as in the join.
    fn snapshot(&self, room: &str) -> Envelope {
        let session = self.study.as_deref().unwrap_or(room);
        let mut payload = payload(json!({"sessionId": session}));
        self.put_snapshot(&mut payload);
        Envelope::new(MessageKind::SnapshotState, payload)
    }

    /// What an agent may know, all of it (RL-12).
    fn put_snapshot(&self, payload: &mut Payload) {
        let stage = self.screen.stage();
        let tools: Vec<_> = self.screen.tools();
        let tools: Vec<_> = tools.iter().map(|tool| tool.to_json(stage)).collect();
        payload.insert("uiSpec".to_owned(), self.screen.to_json());
        payload.insert("messageHistory".to_owned(), self.history.to_json());
        payload.insert("toolSchema".to_owned(), tools.into());
    }

    fn answer(&mut self, said: &Envelope, context: &HostContext) -> Result<Vec<Envelope>, Refusal> {
        match said.kind {
            MessageKind::SessionStart => {
                for name in ["studyId", "participantId"] {
                    text_of(&said.payload, name)?;
                }
                self.reset(Some(context.study.clone()), context.now);
                let started = payload(json!({"sessionId": context.study}));
                let started = Envelope::new(MessageKind::SessionStarted, started);
                Ok(vec![started, self.updated()])
            }
            MessageKind::SnapshotGet => Ok(vec![self.snapshot(&context.room)]),
            MessageKind::ToolCall => self.call(&said.payload, context.now),
            MessageKind::AgentMessage => {
                let text = text_of(&said.payload, "text")?.unwrap_or_default();
                let said = self.say(Actor::Agent, text, context.now)?;
                Ok(vec![said])
            }
            MessageKind::SessionEnd => {
                text_of(&said.payload, "reason")?;
                let Some(study) = self.study.take() else {
                    let why = "no study session is open; send session.start first";
                    return Err((RelayCode::SessionNotActive, why.to_owned()));
                };
                self.reset(None, context.now);
                let ended = payload(json!({"sessionId": study, "stateReset": true}));
                Ok(vec![
                    Envelope::new(MessageKind::SessionEnded, ended),
                    self.updated(),
                ])
            }
            MessageKind::RelayJoin
            | MessageKind::RelayJoined
            | MessageKind::SessionStarted
            | MessageKind::SnapshotState
            | MessageKind::ToolResult
            | MessageKind::StateUpdated
            | MessageKind::UserMessage
            | MessageKind::SessionEnded
            | MessageKind::Error => {
                let why = format!("an agent does not send {} to a host", said.kind.as_str());
                Err((RelayCode::InvalidMessage, why))
            }
        }
    }

    fn call(&mut self, payload: &Payload, now: Millis) -> Result<Vec<Envelope>, Refusal> {
        let name = text_of(payload, "toolName")?;
        let name = name.ok_or_else(|| misshapen("toolName", "text"))?;
        text_of(payload, "reason")?;
        let none = Map::new();
        let params = match payload.get("params") {
            None => &none,
            Some(Value::Object(params)) => params,
            Some(_) => return Err(misshapen("params", "an object")),
        };
        let updated = self.change(now, |screen, study| {
            screen.call(name, params, Actor::Agent, study)
        })?;
        let mut result = Map::new();
        result.insert("ok".to_owned(), true.into());
        result.insert("toolName".to_owned(), name.into());
        if Tool::from_name(name).is_some_and(Tool::shows_screen) {
            result.insert("uiSpec".to_owned(), self.screen.to_json());
        }
        let result = Envelope::new(MessageKind::ToolResult, result);
        Ok([Some(result), updated].into_iter().flatten().collect())
    }

    /// Puts words into the history, which is all that words do (RL-26).
    fn say(&mut self, actor: Actor, text: &str, now: Millis) -> Result<Envelope, Refusal> {
        if is_blank(text) {
            let why = "text is blank; say something that can be seen";
            return Err((RelayCode::InvalidParams, why.to_owned()));
        }
        let chars = text.chars().count();
        if chars > MAX_TEXT {
            let why = format!("text has {chars} characters; send at most {MAX_TEXT}");
            return Err((RelayCode::InvalidParams, why));
        }
        let text = text.to_owned();
        self.history
            .write(Entry::Said { actor, text }, self.screen.stage(), now);
        Ok(self.updated())
    }
}

impl Default for MovieHost {
    fn default() -> Self {
        Self::new()
    }
}

impl Host for MovieHost {
    fn resume(&mut self, study: &str, begun: Millis) {
        self.study = Some(study.to_owned());
        self.begun = Some(begun);
    }

    fn hear(&mut self, said: &Envelope, context: &HostContext) -> Vec<Envelope> {
        self.show(context.now);
        let answers = self.answer(said, context);
        let mut answers =
            answers.unwrap_or_else(|(code, message)| vec![Envelope::error(code, message)]);
        // What goes to everybody answers nobody.
        for answer in &mut answers {
            if answer.kind != MessageKind::StateUpdated {
                answer.reply_to.clone_from(&said.id);
            }
        }
        answers
    }

    fn person(
        &mut self,
        deed: &PersonDeed,
        context: &HostContext,
    ) -> Result<Vec<Envelope>, (RelayCode, String)> {
        self.show(context.now);
        match deed {
            PersonDeed::Says(text) => {
                let stage = self.screen.stage().as_str();
                let updated = self.say(Actor::Person, text, context.now)?;
                let said = payload(json!({"text": text, "stage": stage}));
                Ok(vec![Envelope::new(MessageKind::UserMessage, said), updated])
            }
            PersonDeed::Calls { tool, params } => {
                let call = |screen: &mut Screen, study: &str| {
                    screen.call(tool, params, Actor::Person, study)
                };
                Ok(self.change(context.now, call)?.into_iter().collect())
            }
        }
    }
}

fn payload(json: Value) -> Payload {
    match json {
        Value::Object(payload) => payload,
        _ => Payload::new(),
    }
}

/// A field that is text, or missing.
fn text_of<'a>(payload: &'a Payload, name: &str) -> Result<Option<&'a str>, Refusal> {
    match payload.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(misshapen(name, "text")),
    }
}

fn misshapen(name: &str, kind: &str) -> Refusal {
    (RelayCode::InvalidMessage, format!("{name} must be {kind}"))
}
