//! Who does the work of a host of tools: one task, between the room and the session.

use std::borrow::Cow;
use std::sync::Arc;

use samovar_core::relay::{Envelope, MessageGroup, MessageKind, Payload, RelayCode, RelayRole};
use samovar_core::{Clock, Event};
use samovar_engine::FollowError;
use samovar_locale as locale;
use serde_json::{Value, json};

use super::drive::{Driver, Over, RequestedCall};
use super::history::{self, Notes};
use crate::link::{Connection, Disconnect, LinkEvent};

/// The one stage that there is.
pub(super) const STAGE: &str = "tools";
/// Bytes of a result, at most: less than a relay takes, however it is spelled in JSON.
const MAX_RESULT_BYTES: usize = 256 * 1024;
/// The id of the join.
const JOIN: &str = "join";

pub(super) struct Worker {
    pub(super) room: String,
    pub(super) line: Connection,
    pub(super) driver: Driver,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) studies: Box<dyn Fn() -> String + Send>,
    /// The study session that is open.
    pub(super) study: Option<String>,
    pub(super) notes: Notes,
}

enum WorkerEvent {
    Connection(LinkEvent),
    Came(Result<Vec<Arc<Event>>, FollowError>),
}

impl Worker {
    /// Works until somebody else is the room's host.
    pub(super) async fn work(mut self) {
        loop {
            // Both are safe to drop halfway: each takes nothing before it has it.
            let happening = tokio::select! {
                heard = self.line.next() => WorkerEvent::Connection(heard),
                came = self.driver.next() => WorkerEvent::Came(came),
            };
            match happening {
                WorkerEvent::Connection(LinkEvent::Up) => self.join().await,
                WorkerEvent::Connection(LinkEvent::Said(said)) => self.hear(&said).await,
                WorkerEvent::Connection(LinkEvent::Lost(Disconnect::Replaced)) => {
                    tracing::warn!(room = self.room, "another host took the room of the tools");
                    return;
                }
                WorkerEvent::Connection(LinkEvent::Lost(Disconnect::Broken(why))) => {
                    tracing::info!(room = self.room, why, "the host of tools lost its room");
                    self.driver.forget();
                }
                WorkerEvent::Came(came) => {
                    if let Some(over) = self.driver.take_in(came).await {
                        self.answer(over).await;
                        self.show().await;
                    }
                }
            }
            for over in self.driver.go_on().await {
                self.answer(over).await;
            }
        }
    }

    async fn join(&mut self) {
        let payload = json!({"role": RelayRole::Host.as_str(), "sessionId": self.room});
        let join = Envelope::new(MessageKind::RelayJoin, object(payload)).with_id(JOIN);
        self.say(join).await;
    }

    async fn hear(&mut self, said: &Envelope) {
        match said.kind {
            MessageKind::RelayJoined => {
                self.line.is_well();
                self.show().await;
            }
            MessageKind::SessionStart => {
                let study = (self.studies)();
                self.reply(
                    said,
                    MessageKind::SessionStarted,
                    json!({"sessionId": study}),
                )
                .await;
                self.study = Some(study);
                self.notes.clear();
                self.show().await;
            }
            MessageKind::SnapshotGet => {
                let mut state = self.state().await;
                state["sessionId"] = self.study.clone().into();
                self.reply(said, MessageKind::SnapshotState, state).await;
            }
            MessageKind::ToolCall => self.call(said).await,
            MessageKind::AgentMessage => {
                let text = said.payload.get("text").and_then(Value::as_str);
                self.notes.add(text.unwrap_or_default(), self.clock.now());
                self.show().await;
            }
            MessageKind::SessionEnd => {
                let mut ended = json!({"stateReset": true});
                // Behind a restart only the relay knows which one that was.
                if let Some(study) = self.study.take() {
                    ended["sessionId"] = study.into();
                }
                self.reply(said, MessageKind::SessionEnded, ended).await;
                self.notes.clear();
                self.show().await;
            }
            MessageKind::Error => {
                let why = Value::Object(said.payload.clone());
                tracing::warn!(room = self.room, %why, "the relay refused the host of tools");
                if said.reply_to.as_deref() == Some(JOIN) {
                    self.line.lose();
                }
            }
            other => match other.group() {
                MessageGroup::Relay | MessageGroup::ToHost | MessageGroup::ToAgents => {}
            },
        }
    }

    async fn call(&mut self, said: &Envelope) {
        let tool = said.payload.get("toolName").and_then(Value::as_str);
        let params = said.payload.get("params").and_then(Value::as_object);
        let wanted = RequestedCall {
            reply_to: said.id.clone(),
            tool: tool.unwrap_or_default().to_owned(),
            params: params.cloned().unwrap_or_default(),
        };
        if let Err((code, why)) = self.driver.take(wanted) {
            let error = Envelope::error(code, why).replying_to(said.id.clone());
            self.say(error).await;
        }
    }

    /// Answers a call with what became of it.
    async fn answer(&mut self, over: Over) {
        let Over {
            reply_to,
            tool,
            outcome,
        } = over;
        let text = shortened(&outcome.text);
        let answer = if outcome.is_error() {
            Envelope::error(RelayCode::ToolExecutionFailed, text)
        } else {
            let result = json!({"ok": true, "toolName": tool, "result": text});
            Envelope::new(MessageKind::ToolResult, object(result))
        };
        self.say(answer.replying_to(reply_to)).await;
    }

    /// Tells all agents what there is to see.
    async fn show(&mut self) {
        let mut state = json!({"source": "host"});
        if let (Value::Object(all), Value::Object(now)) = (&mut state, self.state().await) {
            all.extend(now);
        }
        self.say(Envelope::new(MessageKind::StateUpdated, object(state)))
            .await;
    }

    async fn state(&mut self) -> Value {
        let (engine, session) = (self.driver.engine(), self.driver.session());
        let history = history::entries(engine, session, &self.notes).await;
        let history = history.unwrap_or_else(|error| {
            tracing::warn!(%session, %error, "the calls of a room cannot be read");
            Vec::new()
        });
        let tools = self.driver.catalog();
        let tools = tools.iter().map(|spec| {
            json!({
                "name": spec.name,
                "description": spec.description,
                "parameters": spec.parameters,
            })
        });
        let tools: Vec<_> = tools.collect();
        json!({
            "uiSpec": {
                "stage": STAGE,
                "title": locale::relay::tools_title(),
                "visibleItems": [],
                "state": {},
                "items": [],
            },
            "messageHistory": history,
            "toolSchema": tools,
        })
    }

    async fn reply(&mut self, to: &Envelope, kind: MessageKind, payload: Value) {
        let reply = Envelope::new(kind, object(payload)).replying_to(to.id.clone());
        self.say(reply).await;
    }

    async fn say(&mut self, envelope: Envelope) {
        if let Err(cut) = self.line.say(envelope).await {
            // Whoever asked is told by the relay; the line tells of its loss itself.
            tracing::debug!(room = self.room, %cut, "nobody hears the host of tools");
        }
    }
}

/// A text within the bound, which says what is missing.
fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_RESULT_BYTES {
        return text.into();
    }
    let piece = &text[..text.floor_char_boundary(MAX_RESULT_BYTES)];
    let (shown, bytes) = (piece.len(), text.len());
    format!("{piece}\n[the first {shown} of {bytes} bytes]").into()
}

fn object(value: Value) -> Payload {
    match value {
        Value::Object(payload) => payload,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Payload::new()
        }
    }
}
