//! The agent's pending requests in the room, and what it knows of the host. Pure: the caller passes
//! the time.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use samovar_core::relay::{Envelope, MessageGroup, MessageKind, Payload, RelayCode, RelayRole};
use samovar_core::{Outcome, Status};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Study;
use super::screen::Screen;

/// How long the relay and the host may take for what is not a call.
const ANSWER: Duration = Duration::from_secs(5);
/// How long a host may take for a call: the relay gives up before that.
const CALL_ANSWER: Duration = Duration::from_secs(35);
/// How long the update may take that follows a call's result.
const UPDATE: Duration = Duration::from_secs(2);
/// The same where one came already since the call.
const ANOTHER_UPDATE: Duration = Duration::from_millis(200);
/// Things that a person has said and nobody has heard yet, at most; the oldest is lost.
const MAX_WORDS: usize = 32;
/// Bytes of what a person says at once, at most.
const MAX_WORD_BYTES: usize = 32 * 1024;
/// Bytes of what a host's tool has to say, at most.
const MAX_RESULT_BYTES: usize = 64 * 1024;

/// How far the agent has come in the room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not in the room.
    Out,
    /// In it, and nobody is known to show anything.
    Alone,
    /// It has asked what there is to see, or for a study session.
    Looking,
    /// It knows what there is to see.
    Ready,
}

impl Phase {
    /// Whether what there is to see is known, or known not to be.
    pub(super) fn is_sure(self) -> bool {
        match self {
            Self::Out | Self::Looking => false,
            Self::Alone | Self::Ready => true,
        }
    }
}

/// A call of the host's tools that a model asks for.
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) params: Value,
    pub(super) reason: String,
    pub(super) outcome: oneshot::Sender<Outcome>,
}

/// What was asked, and waits for an answer.
enum PendingRequest {
    Join,
    Look,
    Begin,
    /// As `Look`, once a study session has begun: what there was to see before is past.
    LookAgain,
    Call {
        outcome: oneshot::Sender<Outcome>,
        /// How many updates there were when it was asked.
        updates: u64,
    },
}

/// A call that is done, and waits for the update that shows what it did.
struct AwaitingUpdate {
    outcome: oneshot::Sender<Outcome>,
    text: String,
    until: Instant,
}

/// What the worker is to do besides saying what is in [`AgentState::next_to_say`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FollowUp {
    /// Nothing.
    None,
    /// The host's tools may be others now.
    Tools,
    /// The relay does not let it in, or is silent: the connection is of no use.
    GiveUp,
}

pub(super) struct AgentState {
    room: String,
    study_wish: Study,
    pub(super) phase: Phase,
    screen: Screen,
    /// The study session that is open, if one is known.
    pub(super) study: Option<String>,
    /// What the person has said that no turn has been told of.
    words: VecDeque<String>,
    asked: HashMap<String, (PendingRequest, Instant)>,
    done: Vec<AwaitingUpdate>,
    updates: u64,
    last_id: u64,
    to_say: VecDeque<Envelope>,
}

impl AgentState {
    pub(super) fn new(room: String, study_wish: Study) -> Self {
        Self {
            room,
            study_wish,
            phase: Phase::Out,
            screen: Screen::default(),
            study: None,
            words: VecDeque::new(),
            asked: HashMap::new(),
            done: Vec::new(),
            updates: 0,
            last_id: 0,
            to_say: VecDeque::new(),
        }
    }

    pub(super) fn room(&self) -> &str {
        &self.room
    }

    /// The connection is there.
    pub(super) fn up(&mut self, now: Instant) {
        let payload = json!({"role": RelayRole::Agent.as_str(), "sessionId": self.room});
        self.ask(
            PendingRequest::Join,
            MessageKind::RelayJoin,
            payload,
            now + ANSWER,
        );
    }

    /// The connection is no more: nobody will answer what was asked.
    pub(super) fn lost(&mut self, why: &str) {
        self.phase = Phase::Out;
        self.to_say
            .retain(|said| said.kind == MessageKind::AgentMessage);
        for (_, (asked, _)) in self.asked.drain() {
            if let PendingRequest::Call { outcome, .. } = asked {
                let why = format_args!("the connection to the room was lost ({why})");
                tell(outcome, Outcome::unknown(why));
            }
        }
        self.settle(|_| true);
    }

    /// Calls a tool of the host.
    pub(super) fn call(&mut self, call: Call, now: Instant) {
        let Call {
            tool,
            params,
            reason,
            outcome,
        } = call;
        let updates = self.updates;
        let payload = json!({"toolName": tool, "params": params, "reason": reason});
        let asked = PendingRequest::Call { outcome, updates };
        self.ask(asked, MessageKind::ToolCall, payload, now + CALL_ANSWER);
    }

    /// Says something to the person.
    pub(super) fn say(&mut self, text: &str) {
        if samovar_core::command::is_blank(text) {
            return;
        }
        let payload = object(json!({ "text": text }));
        self.to_say
            .push_back(Envelope::new(MessageKind::AgentMessage, payload));
    }

    /// Asks what there is to see, unless that is asked already.
    pub(super) fn look(&mut self, now: Instant) {
        match self.phase {
            Phase::Out | Phase::Looking => {}
            Phase::Alone | Phase::Ready => {
                self.phase = Phase::Looking;
                self.ask(
                    PendingRequest::Look,
                    MessageKind::SnapshotGet,
                    json!({}),
                    now + ANSWER,
                );
            }
        }
    }

    /// Hears what somebody says.
    pub(super) fn hear(&mut self, said: &Arc<Envelope>, now: Instant) -> FollowUp {
        let answered = said.reply_to.as_ref().and_then(|id| self.asked.remove(id));
        if let Some((asked, deadline)) = answered {
            return self.answered(asked, deadline, said, now);
        }
        match said.kind {
            MessageKind::StateUpdated => {
                self.updates += 1;
                self.screen.update(said.clone());
                self.settle(|_| true);
                if self.phase == Phase::Alone {
                    self.look(now);
                }
                FollowUp::Tools
            }
            MessageKind::UserMessage => {
                self.person_says(&said.payload);
                FollowUp::None
            }
            MessageKind::SessionEnded => {
                self.study = None;
                FollowUp::None
            }
            MessageKind::Error => {
                let (code, message) = refusal(&said.payload);
                tracing::warn!(room = self.room, code, message, "the room refused");
                FollowUp::None
            }
            other => match other.group() {
                MessageGroup::Relay | MessageGroup::ToHost | MessageGroup::ToAgents => {
                    tracing::debug!(kind = other.as_str(), "an unexpected message");
                    FollowUp::None
                }
            },
        }
    }

    /// When [`AgentState::late`] is to be told the time, if ever.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let asked = self.asked.values().map(|(_, deadline)| *deadline);
        asked.chain(self.done.iter().map(|done| done.until)).min()
    }

    /// Gives up what has waited for too long.
    pub(super) fn late(&mut self, now: Instant) -> FollowUp {
        self.settle(|done| done.until <= now);
        let mut effect = FollowUp::None;
        let late = self.asked.extract_if(|_, (_, deadline)| *deadline <= now);
        let late: Vec<_> = late.map(|(_, (asked, _))| asked).collect();
        for asked in late {
            match asked {
                PendingRequest::Join => effect = FollowUp::GiveUp,
                PendingRequest::Look | PendingRequest::LookAgain | PendingRequest::Begin => {
                    self.looked_in_vain();
                }
                PendingRequest::Call { outcome, .. } => {
                    let why = "outcome unknown: the host did not answer; look before you retry";
                    tell(outcome, Outcome::new(Status::Unknown, self.shown(why)));
                }
            }
        }
        effect
    }

    /// What can be said now: before the agent is in the room, that it wants to be.
    pub(super) fn next_to_say(&mut self) -> Option<Envelope> {
        let is_out = self.phase == Phase::Out;
        self.to_say
            .pop_front_if(|said| !is_out || said.kind == MessageKind::RelayJoin)
    }

    /// What the host says that its tools are.
    pub(super) fn tool_schema(&self) -> Option<&Value> {
        self.screen.get("toolSchema")
    }

    /// Whether the person has said something that no turn was told of.
    pub(super) fn has_words(&self) -> bool {
        !self.words.is_empty()
    }

    /// What the person has said, with what there is to see.
    pub(super) fn take_words(&mut self) -> Option<String> {
        let words: Vec<_> = self.words.drain(..).collect();
        (!words.is_empty()).then(|| self.shown(&words.join("\n")))
    }

    fn ask(&mut self, asked: PendingRequest, kind: MessageKind, payload: Value, deadline: Instant) {
        self.last_id += 1;
        let id = format!("agent-{}", self.last_id);
        self.asked.insert(id.clone(), (asked, deadline));
        let envelope = Envelope::new(kind, object(payload)).with_id(id);
        if kind == MessageKind::RelayJoin {
            // What else is to be said waits until it is in.
            self.to_say.push_front(envelope);
        } else {
            self.to_say.push_back(envelope);
        }
    }

    fn answered(
        &mut self,
        asked: PendingRequest,
        deadline: Instant,
        said: &Arc<Envelope>,
        now: Instant,
    ) -> FollowUp {
        match (asked, said.kind) {
            (PendingRequest::Join, MessageKind::RelayJoined) => {
                self.phase = Phase::Alone;
                self.look(now);
                FollowUp::None
            }
            (PendingRequest::Join, MessageKind::Error) => {
                let (code, message) = refusal(&said.payload);
                tracing::warn!(room = self.room, code, message, "the room is closed to it");
                FollowUp::GiveUp
            }
            (PendingRequest::Look, MessageKind::SnapshotState) => {
                self.looked(said, now);
                FollowUp::Tools
            }
            (PendingRequest::Begin, MessageKind::SessionStarted) => {
                self.study = Some(text(&said.payload, "sessionId").unwrap_or_default());
                let (kind, until) = (MessageKind::SnapshotGet, now + ANSWER);
                self.ask(PendingRequest::LookAgain, kind, json!({}), until);
                FollowUp::None
            }
            (PendingRequest::LookAgain, MessageKind::SnapshotState) => {
                self.screen.update(said.clone());
                self.phase = Phase::Ready;
                FollowUp::Tools
            }
            (PendingRequest::Look | PendingRequest::LookAgain, MessageKind::Error)
                if is_alone(&said.payload) =>
            {
                self.phase = Phase::Alone;
                FollowUp::None
            }
            (
                PendingRequest::Look | PendingRequest::LookAgain | PendingRequest::Begin,
                MessageKind::Error,
            ) => {
                self.looked_in_vain();
                FollowUp::None
            }
            (PendingRequest::Call { outcome, updates }, MessageKind::ToolResult) => {
                self.called(outcome, updates, &said.payload, now);
                FollowUp::None
            }
            (PendingRequest::Call { outcome, .. }, MessageKind::Error) => {
                let (code, message) = refusal(&said.payload);
                let text = self.shown(&format!("{code}: {message}"));
                tell(outcome, Outcome::failed(text));
                FollowUp::None
            }
            // No answer to that; the one that it waits for may still come.
            (asked, kind) => {
                tracing::debug!(kind = kind.as_str(), "an answer to something else");
                if let Some(id) = said.reply_to.clone() {
                    self.asked.insert(id, (asked, deadline));
                }
                FollowUp::None
            }
        }
    }

    fn looked(&mut self, said: &Arc<Envelope>, now: Instant) {
        self.screen.update(said.clone());
        // A host that says nothing of sessions has not ended the one that we have begun.
        if said.payload.contains_key("sessionId") {
            // Outside a study session a host names the room.
            let named = text(&said.payload, "sessionId");
            self.study = named.filter(|named| *named != self.room);
        }
        match self.study {
            Some(_) => self.phase = Phase::Ready,
            None => self.begin(now),
        }
    }

    fn begin(&mut self, now: Instant) {
        let Study { study, participant } = &self.study_wish;
        let mut payload = Payload::new();
        for (key, value) in [("studyId", study), ("participantId", participant)] {
            if let Some(value) = value {
                payload.insert(key.to_owned(), value.as_str().into());
            }
        }
        let payload = Value::Object(payload);
        self.ask(
            PendingRequest::Begin,
            MessageKind::SessionStart,
            payload,
            now + ANSWER,
        );
    }

    /// A host that does not say what it shows may have said so before; and a person who speaks there
    /// gets an answer anyway.
    fn looked_in_vain(&mut self) {
        self.phase = if self.screen.is_known() || self.has_words() {
            Phase::Ready
        } else {
            Phase::Alone
        };
    }

    fn person_says(&mut self, payload: &Payload) {
        let Some(said) = text(payload, "text") else {
            tracing::warn!(room = self.room, "a user's message without a text");
            return;
        };
        let words = said[..said.floor_char_boundary(MAX_WORD_BYTES)].to_owned();
        if self.words.len() >= MAX_WORDS {
            self.words.pop_front();
            tracing::warn!(
                room = self.room,
                "words of the person are lost: too many wait"
            );
        }
        self.words.push_back(words);
    }

    fn called(
        &mut self,
        outcome: oneshot::Sender<Outcome>,
        updates: u64,
        result: &Payload,
        now: Instant,
    ) {
        if result.get("ok") != Some(&Value::Bool(true)) {
            let code = RelayCode::ToolExecutionFailed.as_str();
            let said = ["message", "error"]
                .iter()
                .find_map(|key| text(result, key));
            let said = said.unwrap_or_else(|| "the host says that it failed".to_owned());
            let why = self.shown(&format!("{code}: {}", cut(&said)));
            return tell(outcome, Outcome::failed(why));
        }
        self.screen.hint(result);
        let text = match result.get("result") {
            None | Some(Value::Null) => "ok".to_owned(),
            Some(Value::String(said)) => format!("ok\n{}", cut(said)),
            Some(other) => format!("ok\n{}", cut(&other.to_string())),
        };
        let wait = if updates == self.updates {
            UPDATE
        } else {
            ANOTHER_UPDATE
        };
        let until = now + wait;
        self.done.push(AwaitingUpdate {
            outcome,
            text,
            until,
        });
    }

    /// Answers the calls that are done.
    fn settle(&mut self, is_due: impl Fn(&AwaitingUpdate) -> bool) {
        let due: Vec<_> = self.done.extract_if(.., |done| is_due(done)).collect();
        for done in due {
            tell(done.outcome, Outcome::done(self.shown(&done.text)));
        }
    }

    /// Words, and what there is to see (the form that a model reads).
    fn shown(&self, words: &str) -> String {
        format!("{words}\n\n{}", self.screen.text())
    }
}

/// Tells a call its outcome; one whose turn was stopped meanwhile does not need to hear it.
fn tell(to: oneshot::Sender<Outcome>, outcome: Outcome) {
    if to.send(outcome).is_err() {
        tracing::debug!("nobody waits for a call's outcome");
    }
}

fn object(value: Value) -> Payload {
    match value {
        Value::Object(payload) => payload,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Payload::new()
        }
    }
}

/// A text that is there and not blank.
fn text(payload: &Payload, key: &str) -> Option<String> {
    let said = payload.get(key).and_then(Value::as_str);
    let said = said.filter(|said| !samovar_core::command::is_blank(said));
    said.map(ToOwned::to_owned)
}

/// What an `error` says, whoever made it.
fn refusal(payload: &Payload) -> (String, String) {
    let code = text(payload, "code");
    let code = code.unwrap_or_else(|| RelayCode::ToolExecutionFailed.as_str().to_owned());
    let message = text(payload, "message");
    let message = message.unwrap_or_else(|| "the host gave no reason".to_owned());
    (cut(&code).to_owned(), cut(&message).to_owned())
}

fn is_alone(payload: &Payload) -> bool {
    text(payload, "code").as_deref() == Some(RelayCode::SessionNotActive.as_str())
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_RESULT_BYTES)]
}
