//! From a session's log to the bytes of one turn's stream (AS-4): whole events, or the six types of
//! AS-5.

use std::borrow::Cow;
use std::collections::BTreeMap;

use samovar_core::error::FaultCode;
use samovar_core::event::{Fault, Fragment};
use samovar_core::{
    CallId, Error, Event, FinishReason, Kind, Message, MessageId, Outcome, Part, Role, Status,
    ToolCall, TurnId, Usage,
};
use samovar_locale as locale;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{AgentStreamEvent, AgentStreamEventType as Type};
use super::family::{Family, WholeEvent};
use super::snapshot::Snapshot;
use super::waiting::Waiting;
use crate::sse::{self, FrameId};

/// How much of a turn a stream shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The six types of AS-5, which every client knows.
    #[default]
    Default,
    /// Every event of the turn and its sub-turns, as in the log (AS-8).
    Full,
}

/// The last object of a stream of the full profile when the server stops.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum LeaveEvent<'a> {
    ServerRestart {
        after: Option<String>,
        message: &'a str,
    },
}

/// Encodes one turn's stream. Its output depends only on its events, which must be those of the
/// session's log, in order, from the turn's start or earlier. So a second encoder writes the same
/// bytes, and to resume in the middle, a new encoder is given the turn from its start, and its
/// output for old events is discarded (DU-7).
#[derive(Clone, Debug)]
pub struct Encoder {
    profile: ProfileState,
    is_over: bool,
}

#[derive(Clone, Debug)]
enum ProfileState {
    Default {
        spelling: Spelling,
        /// If the stream also shows what waits.
        waiting: Option<Waiting>,
    },
    Full(Family),
}

/// One frame of the default profile.
#[derive(Serialize)]
#[serde(untagged)]
enum FrameData<'e> {
    Spelled(AgentStreamEvent<'e>),
    /// As the full profile shows it.
    Whole(Box<WholeEvent<'e>>),
}

impl Encoder {
    /// An encoder without events.
    pub fn new(turn: TurnId, profile: Profile) -> Self {
        let profile = match profile {
            Profile::Default => ProfileState::Default {
                spelling: Spelling::new(turn),
                waiting: None,
            },
            Profile::Full => ProfileState::Full(Family::new(turn)),
        };
        Self {
            profile,
            is_over: false,
        }
    }

    /// The same, which in the default profile also shows the full profile's events with which a call
    /// begins or ends to wait for a person or a client, of called agents too (AS-8).
    #[must_use]
    pub fn with_approvals(mut self, turn: TurnId) -> Self {
        if let ProfileState::Default { waiting, .. } = &mut self.profile {
            *waiting = Some(Waiting::new(turn));
        }
        self
    }

    /// Takes the next event of the log and appends its frames, if any. With the turn's end it
    /// appends the last frame and `[DONE]`.
    pub fn encode(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.encode_behind(event, 0, out);
    }

    /// Like [`Self::encode`], for a reader that already has the first `shown` frames of this event.
    /// `[DONE]` is written whenever the turn ends here.
    pub fn encode_behind(&mut self, event: &Event, shown: usize, out: &mut Vec<u8>) {
        if self.is_over {
            return;
        }
        self.is_over = match &mut self.profile {
            ProfileState::Default { spelling, waiting } => {
                match waiting {
                    None => write_frames(event, &spelling.spell(event), shown, out),
                    Some(waiting) => {
                        write_frames(event, &frames_of(event, spelling, waiting), shown, out);
                    }
                }
                spelling.is_over()
            }
            ProfileState::Full(family) => {
                if family.admit(event) && shown == 0 {
                    sse::frame(Some(FrameId::whole(event)), &WholeEvent::from(event), out);
                }
                family.is_over()
            }
        };
        if self.is_over {
            sse::done(Some(FrameId::whole(event)), out);
        }
    }

    /// Like [`Self::encode`], for a reader that already has all frames of this event.
    pub fn pass(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.encode_behind(event, usize::MAX, out);
    }

    /// How many frames the next event would become.
    pub fn count(&self, event: &Event) -> usize {
        if self.is_over {
            return 0;
        }
        match self.profile.clone() {
            ProfileState::Default {
                mut spelling,
                waiting,
            } => {
                let said = spelling.spell(event).len();
                let waits = waiting.is_some_and(|mut waiting| waiting.take(event));
                said + usize::from(waits)
            }
            ProfileState::Full(mut family) => usize::from(family.admit(event)),
        }
    }

    /// Tells a reader whose position is lost to start again from this snapshot, which covers all
    /// events up to the one that it names; the encoder must have taken these. The stream continues
    /// after it.
    pub fn reset(&self, snapshot: &Snapshot, out: &mut Vec<u8>) {
        let id = snapshot.after.as_deref().and_then(FrameId::read);
        sse::frame(id, &snapshot.as_event(), out);
    }

    /// Ends the stream for a reason outside the log, such as a failed store: an `error` without an
    /// id, because the turn itself may continue, and `[DONE]`. A stream that just ended would look
    /// like success. `after` is the last id that the reader has, if any.
    pub fn abort(&mut self, error: &Error, after: Option<FrameId>, out: &mut Vec<u8>) {
        if self.is_over {
            return;
        }
        self.is_over = true;
        aborted(error, after, out);
    }

    /// Ends the stream because the server stops: in the full profile with its own type, in the
    /// default profile with an `error` (AS-8). `after` is the last id that the reader has, if any.
    pub fn leave(&mut self, error: &Error, after: Option<FrameId>, out: &mut Vec<u8>) {
        if self.is_over {
            return;
        }
        match self.profile {
            ProfileState::Default { .. } => self.abort(error, after, out),
            ProfileState::Full(_) => {
                self.is_over = true;
                LeaveEvent::write(error, after, out);
            }
        }
    }

    /// Whether `[DONE]` was written; no frame follows it.
    pub fn is_over(&self) -> bool {
        self.is_over
    }
}

impl LeaveEvent<'_> {
    /// Ends a stream whose reader has everything up to `after`.
    pub(crate) fn write(error: &Error, after: Option<FrameId>, out: &mut Vec<u8>) {
        let left = LeaveEvent::ServerRestart {
            after: after.map(|id| id.to_string()),
            message: error.message.as_ref(),
        };
        sse::frame(None, &left, out);
        sse::done(after, out);
    }
}

/// Ends a stream for a reason outside the log.
pub(crate) fn aborted(error: &Error, after: Option<FrameId>, out: &mut Vec<u8>) {
    let (message, code) = (error.message.as_ref().into(), error.code.as_str().into());
    let last = Type::Error { message, code };
    sse::frame(None, &last.uncounted(), out);
    sse::done(after, out);
}

/// What a stream of the default profile that shows what waits says of an event.
fn frames_of<'e>(
    event: &'e Event,
    spelling: &mut Spelling,
    waiting: &mut Waiting,
) -> Vec<FrameData<'e>> {
    let said = spelling.spell(event).into_iter();
    let mut frames: Vec<_> = said.map(FrameData::Spelled).collect();
    if waiting.take(event) {
        frames.push(FrameData::Whole(Box::new(WholeEvent::from(event))));
    }
    frames
}

fn write_frames(event: &Event, said: &[impl Serialize], shown: usize, out: &mut Vec<u8>) {
    for (place, frame) in (1..).zip(said).skip(shown) {
        let id = FrameId {
            event: event.id(),
            part: (place < said.len()).then_some(place),
        };
        sse::frame(Some(id), frame, out);
    }
}

/// The state of one turn's stream, a fold of the log's events from the turn's start.
#[derive(Clone, Debug)]
pub(super) struct Spelling {
    turn: TurnId,
    max_iterations: u32,
    iteration: u32,
    usage: Usage,
    text: ShownText,
    owed: Vec<HeldResult>,
    is_over: bool,
}

/// How many bytes of each text of the current message were shown.
#[derive(Clone, Debug, Default)]
struct ShownText {
    message: Option<MessageId>,
    parts: BTreeMap<usize, usize>,
}

/// A call that was shown and whose result was not. Results are shown in the order of the calls, so
/// an early one is held back.
#[derive(Clone, Debug)]
struct HeldResult {
    call: CallId,
    name: String,
    result: Option<(Status, String)>,
}

impl Spelling {
    pub(super) fn new(turn: TurnId) -> Self {
        Self {
            turn,
            max_iterations: 0,
            iteration: 0,
            usage: Usage::default(),
            text: ShownText::default(),
            owed: Vec::new(),
            is_over: false,
        }
    }

    /// Whether the turn has ended.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The token usage of the turn so far.
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    /// The stream's events for this event of the log. No event may be given after the turn is over.
    pub(super) fn spell<'e>(&mut self, event: &'e Event) -> Vec<AgentStreamEvent<'e>> {
        let mut said = Vec::new();
        let is_ours = event.turn.as_ref() == Some(&self.turn);
        if is_ours || matches!(event.kind, Kind::SessionClosed) {
            self.take(&event.kind, &mut said);
        }
        said
    }

    fn take<'e>(&mut self, kind: &'e Kind, said: &mut Vec<AgentStreamEvent<'e>>) {
        match kind {
            Kind::TurnStarted { limits, .. } => self.max_iterations = limits.max_iterations,
            Kind::StepStarted { iteration, .. } => self.begin_step(*iteration, said),
            Kind::StepReset { usage, .. } => self.usage = self.usage.plus(*usage),
            Kind::Delta {
                message,
                part,
                fragment: Fragment::Text(text),
            } => {
                self.add_text(message, usize::from(*part), text, said);
            }
            Kind::PartAdded {
                message,
                index,
                part,
            } => {
                self.add_part(message, usize::from(*index), part, said);
            }
            Kind::MessageFinished { message, .. } if message.role == Role::Assistant => {
                self.finish_message(message, said);
            }
            Kind::CallClosed { call, outcome, .. } => self.close_call(call, outcome, said),
            Kind::TurnFinished {
                reason,
                iterations,
                usage,
                fault,
                bill,
            } => {
                self.usage = *usage;
                let mut last = last_word(reason, *iterations, fault.as_ref());
                if let Type::Completed { limit, .. } = &mut last {
                    *limit = bill.limit.map(|limit| limit.as_str().into());
                }
                self.finish_turn(last, said);
            }
            Kind::SessionClosed => {
                let cancelled = last_word(&FinishReason::Cancelled, self.iteration, None);
                self.finish_turn(cancelled, said);
            }
            Kind::SessionOpened { .. }
            | Kind::SessionChanged(_)
            | Kind::TurnUndone { .. }
            | Kind::MessageStarted { .. }
            | Kind::Delta { .. }
            | Kind::MessageFinished { .. }
            | Kind::ApprovalAsked { .. }
            | Kind::CallApproved { .. }
            | Kind::UiEvent { .. }
            | Kind::CallProgress { .. }
            | Kind::PromptProgress { .. }
            | Kind::CallStarted { .. }
            | Kind::TurnContinued { .. }
            | Kind::EventsLost { .. }
            | Kind::StateChanged { .. } => {}
        }
    }

    /// Starts an attempt: text and calls of earlier attempts are dropped.
    fn begin_step(&mut self, iteration: u32, said: &mut Vec<AgentStreamEvent<'_>>) {
        self.settle(self.owed.len(), said);
        self.text = ShownText::default();
        self.iteration = iteration;
        let max_iterations = self.max_iterations;
        said.push(self.counted(Type::Iteration {
            iteration,
            max_iterations,
        }));
    }

    fn add_text<'e>(
        &mut self,
        message: &MessageId,
        part: usize,
        text: &'e str,
        said: &mut Vec<AgentStreamEvent<'e>>,
    ) {
        *self.text.of(message, part) += text.len();
        if !text.is_empty() {
            said.push(
                Type::TextDelta {
                    content: text.into(),
                }
                .uncounted(),
            );
        }
    }

    fn add_part<'e>(
        &mut self,
        message: &MessageId,
        index: usize,
        part: &'e Part,
        said: &mut Vec<AgentStreamEvent<'e>>,
    ) {
        match part {
            Part::Text { text } => {
                let shown = *self.text.of(message, index);
                self.add_text(message, index, text.get(shown..).unwrap_or_default(), said);
            }
            Part::Call(call) => self.open_call(call, said),
            Part::Reasoning { .. }
            | Part::Outcome { .. }
            | Part::Data { .. }
            | Part::Image { .. } => {}
        }
    }

    fn open_call<'e>(&mut self, call: &'e ToolCall, said: &mut Vec<AgentStreamEvent<'e>>) {
        if self.owed.iter().any(|owed| owed.call == call.id) {
            return;
        }
        self.owed.push(HeldResult {
            call: call.id.clone(),
            name: call.name.clone(),
            result: None,
        });
        let (id, name) = (call.id.as_str().into(), call.name.as_str().into());
        let args = Cow::Borrowed(&call.args);
        said.push(Type::ToolCallStart { id, name, args }.uncounted());
    }

    /// Shows the parts that no live event has shown: a provider may send only whole answers. From
    /// here on the message decides the order of its calls.
    fn finish_message<'e>(&mut self, message: &'e Message, said: &mut Vec<AgentStreamEvent<'e>>) {
        for (index, part) in message.parts.iter().enumerate() {
            self.add_part(&message.id, index, part, said);
        }
        self.usage = self.usage.plus(message.usage.unwrap_or_default());
        let place = |owed: &HeldResult| message.calls().position(|call| call.id == owed.call);
        self.owed.sort_by_key(place);
    }

    fn close_call(
        &mut self,
        call: &CallId,
        outcome: &Outcome,
        said: &mut Vec<AgentStreamEvent<'_>>,
    ) {
        if let Some(owed) = self.owed.iter_mut().find(|owed| owed.call == *call) {
            let result = || (outcome.status, outcome.text.clone());
            owed.result.get_or_insert_with(result);
        }
        let is_closed = |owed: &&HeldResult| owed.result.is_some();
        let ready = self.owed.iter().take_while(is_closed).count();
        self.settle(ready, said);
    }

    fn finish_turn<'e>(&mut self, last: Type<'e>, said: &mut Vec<AgentStreamEvent<'e>>) {
        self.settle(self.owed.len(), said);
        self.is_over = true;
        said.push(self.counted(last));
    }

    /// Shows the results of the first `count` calls and drops the calls; a call that was never
    /// closed has no result.
    fn settle(&mut self, count: usize, said: &mut Vec<AgentStreamEvent<'_>>) {
        let tokens = Some(self.usage.total());
        let results = self.owed.drain(..count).filter_map(|owed| {
            let (status, result) = owed.result?;
            let event = Type::ToolCallResult {
                id: Cow::Owned(owed.call.as_str().to_owned()),
                name: Cow::Owned(owed.name),
                result: Cow::Owned(result),
                status,
            };
            Some(AgentStreamEvent { event, tokens })
        });
        said.extend(results);
    }

    fn counted<'e>(&self, event: Type<'e>) -> AgentStreamEvent<'e> {
        AgentStreamEvent {
            event,
            tokens: Some(self.usage.total()),
        }
    }
}

impl ShownText {
    fn of(&mut self, message: &MessageId, part: usize) -> &mut usize {
        if self.message.as_ref() != Some(message) {
            self.message = Some(message.clone());
            self.parts.clear();
        }
        self.parts.entry(part).or_default()
    }
}

fn last_word<'e>(reason: &'e FinishReason, iterations: u32, fault: Option<&'e Fault>) -> Type<'e> {
    match (reason, fault) {
        (FinishReason::Error, Some(fault)) => Type::Error {
            message: fault.message.as_str().into(),
            code: fault.code.as_str().into(),
        },
        (FinishReason::Error, None) => Type::Error {
            message: locale::turn::failed().into(),
            code: FaultCode::Internal.as_str().into(),
        },
        (
            FinishReason::Model(_)
            | FinishReason::MaxIterations
            | FinishReason::Budget
            | FinishReason::FailedCall
            | FinishReason::RepeatedCall
            | FinishReason::Cancelled
            | FinishReason::Steered,
            _,
        ) => Type::Completed {
            finish_reason: reason.as_str().into(),
            total_iterations: iterations,
            limit: None,
        },
    }
}
