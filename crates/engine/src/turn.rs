//! The turn: one agent's run from an input to its finish, as a pure fold of events.
//!
//! No clock, no I/O, no randomness: [`Turn::apply`] takes what happened, [`Turn::next`] says what is
//! to be done. Recovery is "replay, and ask for the next step".

use samovar_core::error::FaultCode;
use samovar_core::event::Fault;
use samovar_core::message::Reminder;
use samovar_core::provider::PAUSED;
use samovar_core::{
    Approval, Bill, Bounds, CallId, Closer, Effect, FinishReason, Grant, Kind, Limits, Message,
    MessageId, Outcome, PromptHashes, Status, ToolCall, Usage, planted,
};
use serde_json::Value;

use self::approvals::Approving;
use self::asked::Asked;
pub use self::end::{End, Place};
use self::reminded::Reminded;
use crate::budget::Hold;

mod approvals;
mod asked;
mod end;
mod place;
mod reminded;
#[cfg(test)]
mod tests;

/// What a turn is to do now.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a step lives for one statement")]
pub enum Step {
    /// Note this fact; it needs nothing from the world.
    Record(Kind),
    /// Ask the model, for an answer of at most so many tokens.
    CallModel {
        /// What was reserved, and so the bound of the answer.
        max_tokens: u32,
    },
    /// Run these calls, which have not begun.
    CallTools(Vec<ToolCall>),
    /// Remind the model in these words, and ask it once more.
    Remind(Reminder, String),
    /// All that is open is open on somebody outside: park.
    Wait,
    /// Nothing: the turn is over.
    Over,
}

/// The state of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    phase: Phase,
    limits: Limits,
    approval: Approval,
    /// What its message set.
    bounds: Bounds,
    asked: Asked,
    iteration: u32,
    attempt: u32,
    /// Whether the attempt is void, so that its iteration starts again.
    is_void: bool,
    failures: u32,
    void_answers: u32,
    /// Whether the prompt was made shorter after a refusal that did not say why, and nothing came yet.
    has_guessed: bool,
    reserved: u64,
    spent: Usage,
    /// What its calls cost so far.
    bill: Bill,
    /// What is set aside for the current call.
    hold: Option<Hold>,
    /// How many times in a row it continued after a server stop without a new fact in between.
    continuations: u32,
    calls: Vec<Open>,
    /// What a person has allowed for the rest of it.
    grants: Vec<Grant>,
    reminded: Reminded,
    place: Place,
    /// What its model is told, as the log says last.
    told: Option<PromptHashes>,
    /// The model's last answer.
    answer: Option<MessageId>,
    end: Option<End>,
}

/// A call that had begun when the server stopped, and whose tool is gone with it.
#[derive(Clone, Debug, PartialEq)]
pub struct InterruptedCall {
    /// The call.
    pub call: ToolCall,
    /// What its tool said then that it does to the world.
    pub effect: Effect,
    /// What its tool foresaw then, for a probe.
    pub foreseen: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
enum Phase {
    /// Accepted, not started.
    Queued,
    /// Between two steps.
    Between,
    /// The model is asked.
    Asking,
    /// The model answered; its calls are open.
    Calling,
    /// The model answered and asks for nothing.
    Answered(String),
    /// Finished.
    Over,
}

#[derive(Clone, Debug, PartialEq)]
struct Open {
    call: ToolCall,
    state: CallState,
    /// What was kept before it began; none for what only reads.
    intent: Option<Intent>,
    /// What a person was asked about it.
    approving: Option<Box<Approving>>,
}

#[derive(Clone, Debug, PartialEq)]
struct Intent {
    effect: Effect,
    closer: Closer,
    foreseen: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallState {
    Fresh,
    /// A person is to decide whether it runs.
    Undecided,
    Running,
    Outside,
    /// Open on the turn of another agent.
    Child,
    /// Open on a person, and all that is fresh waits for that.
    Asked,
    Closed,
}

impl CallState {
    /// Whether a client closes it.
    fn is_outside(self) -> bool {
        match self {
            Self::Outside | Self::Asked => true,
            Self::Fresh | Self::Undecided | Self::Running | Self::Child | Self::Closed => false,
        }
    }
}

impl Default for Turn {
    fn default() -> Self {
        Self::new()
    }
}

impl Turn {
    /// A turn of which nothing is known yet.
    pub fn new() -> Self {
        Self {
            phase: Phase::Queued,
            limits: Limits::default(),
            approval: Approval::ReadOnly,
            bounds: Bounds::default(),
            asked: Asked::default(),
            iteration: 0,
            attempt: 0,
            is_void: false,
            failures: 0,
            void_answers: 0,
            has_guessed: false,
            reserved: 0,
            spent: Usage::default(),
            bill: Bill::default(),
            hold: None,
            continuations: 0,
            calls: Vec::new(),
            grants: Vec::new(),
            reminded: Reminded::default(),
            told: None,
            place: Place::default(),
            answer: None,
            end: None,
        }
    }

    /// Takes in what happened. Events of other turns must not be given.
    pub fn apply(&mut self, kind: &Kind) {
        self.settle(kind);
        match kind {
            Kind::TurnStarted {
                model,
                route,
                limits,
                approval,
                bounds,
                parent_call,
                background,
                definition,
            } => {
                self.place
                    .start(parent_call.as_ref(), *background, definition.as_ref());
                self.asked.began(model, route.as_ref());
                (self.limits, self.approval, self.bounds) = (*limits, *approval, *bounds);
                self.phase = Phase::Between;
            }
            Kind::StepStarted {
                iteration,
                attempt,
                reserved_tokens,
                model,
                route,
                told,
                ..
            } => {
                self.told = told.clone().or(self.told.take());
                if *iteration != self.iteration {
                    self.void_answers = 0;
                }
                (self.iteration, self.attempt) = (*iteration, *attempt);
                self.reserved = *reserved_tokens;
                self.asked.stepped(model.as_ref(), route.as_ref());
                self.calls.clear();
                (self.is_void, self.phase) = (false, Phase::Asking);
            }
            Kind::StepReset {
                usage,
                code,
                context,
                ..
            } => self.void(*usage, *code, context.is_some()),
            Kind::TurnContinued { in_a_row } => self.go_on(*in_a_row),
            Kind::MessageFinished {
                message, situation, ..
            } => self.said(message, situation.as_ref()),
            Kind::ApprovalAsked { .. }
            | Kind::CallApproved { .. }
            | Kind::CallStarted { .. }
            | Kind::CallClosed { .. } => self.take_call(kind),
            Kind::TurnFinished { reason, fault, .. } => self.finish(reason, fault.as_ref()),
            Kind::SessionOpened { .. }
            | Kind::SessionChanged(_)
            | Kind::TurnUndone { .. }
            | Kind::SessionClosed
            | Kind::MessageStarted { .. }
            | Kind::Delta { .. }
            | Kind::PartAdded { .. }
            | Kind::UiEvent { .. }
            | Kind::CallProgress { .. }
            | Kind::PromptProgress { .. }
            | Kind::EventsLost { .. }
            | Kind::StateChanged { .. } => {}
        }
    }

    fn finish(&mut self, reason: &FinishReason, fault: Option<&Fault>) {
        self.phase = Phase::Over;
        self.calls.clear();
        self.end = Some(End {
            reason: reason.clone(),
            fault: fault.cloned(),
            limit: self.bill.limit,
            has_acted: self.reminded.has_acted(),
        });
    }

    fn void(&mut self, usage: Usage, code: Option<FaultCode>, gets_shorter: bool) {
        self.spent = self.spent.plus(usage);
        if let Some(FaultCode::EmptyAnswer | FaultCode::BadResponse) = code {
            self.void_answers += 1;
        }
        match code {
            Some(FaultCode::ProviderRejected) if gets_shorter => self.has_guessed = true,
            // A shorter prompt is another question, and the window bounds how often it gets shorter.
            Some(FaultCode::ContextFull | FaultCode::EmptyAnswer) | None => {}
            Some(code) => self.failures += u32::from(code.is_provider()),
        }
        self.reserved = 0;
        self.is_void = true;
        self.phase = Phase::Between;
    }

    fn answered(&mut self, message: &Message) {
        self.answer = Some(message.id.clone());
        self.has_guessed = false;
        self.spent = self.spent.plus(message.usage.unwrap_or_default());
        self.reserved = 0;
        self.continuations = 0;
        let fresh = |call: &ToolCall| Open {
            call: call.clone(),
            state: CallState::Fresh,
            intent: None,
            approving: None,
        };
        self.calls = message.calls().map(fresh).collect();
        self.reminded.answered(self.calls.is_empty());
        self.phase = match message.finish_reason.as_deref() {
            _ if !self.calls.is_empty() => Phase::Calling,
            Some(PAUSED) => Phase::Between,
            reason => Phase::Answered(reason.unwrap_or("stop").to_owned()),
        };
    }

    fn close(&mut self, id: &CallId, outcome: &Outcome) {
        self.continuations = 0;
        let is_it = |open: &Open| open.call.id == *id && open.state != CallState::Closed;
        if let Some(at) = self.calls.iter().position(is_it) {
            let is_last = at + 1 == self.calls.len();
            self.reminded.closed(&self.calls[at], outcome, is_last);
        }
        self.set(id, CallState::Closed);
    }

    fn heard(&mut self, message: &Message) {
        if self.reminded.heard(message) {
            self.phase = Phase::Between;
        }
    }

    fn start(&mut self, id: &CallId, intent: Intent) {
        if let Some(open) = self.calls.iter_mut().find(|open| open.call.id == *id) {
            open.state = match intent.closer {
                Closer::Tool => CallState::Running,
                Closer::Outside => CallState::Outside,
                Closer::Child => CallState::Child,
                Closer::Person => CallState::Asked,
            };
            open.intent = Some(intent);
        }
    }

    /// What had begun and may be run again is to be run; what may not has been closed before.
    fn go_on(&mut self, in_a_row: u32) {
        self.continuations = in_a_row;
        for open in &mut self.calls {
            if open.state == CallState::Running {
                open.state = CallState::Fresh;
            }
        }
    }

    fn set(&mut self, id: &CallId, state: CallState) {
        if let Some(open) = self.calls.iter_mut().find(|open| open.call.id == *id) {
            open.state = state;
        }
    }

    /// What is to be done now.
    pub fn next(&self) -> Step {
        match &self.phase {
            Phase::Queued | Phase::Over => Step::Over,
            Phase::Between => self.begin_step(),
            Phase::Asking => Step::CallModel {
                max_tokens: u32::try_from(self.reserved).unwrap_or(u32::MAX),
            },
            Phase::Calling => self.next_call(),
            Phase::Answered(reason) => self.end(reason),
        }
    }

    /// The end after an answer that calls nothing, unless the model is to be asked once more.
    fn end(&self, reason: &str) -> Step {
        let may_ask = self.iteration < self.limits.max_iterations;
        match self.reminded.next(reason, &self.limits).filter(|_| may_ask) {
            Some(reminder) => Step::Remind(reminder, self.reminded.words(reminder)),
            None => Step::Record(self.finished(self.reminded.end(reason, &self.limits), None)),
        }
    }

    fn next_call(&self) -> Step {
        if self.asks_a_person() {
            return Step::Wait;
        }
        let startable = self.startable();
        if !startable.is_empty() {
            return Step::CallTools(startable);
        }
        let is_open = |open: &Open| open.state != CallState::Closed;
        if self.calls.iter().any(is_open) {
            return Step::Wait;
        }
        if self.reminded.is_third() {
            return Step::Record(self.finished(FinishReason::RepeatedCall, None));
        }
        self.begin_step()
    }

    /// The next iteration of the loop, unless it was the last. An iteration that was reset is tried
    /// again under its own number.
    fn begin_step(&self) -> Step {
        let (iteration, attempt) = if self.is_void {
            (self.iteration, self.attempt + 1)
        } else {
            (self.iteration + 1, 1)
        };
        if iteration > self.limits.max_iterations {
            return Step::Record(self.finished(FinishReason::MaxIterations, None));
        }
        let (model, route) = self.asked.fallback();
        Step::Record(Kind::StepStarted {
            iteration,
            attempt,
            reserved_tokens: self.limits.max_output_tokens.max(1).into(),
            model,
            route,
            quote: None,
            told: None,
        })
    }

    /// The fact that ends the turn here, with all of its calls closed.
    pub(crate) fn ended(&self, reason: FinishReason) -> Kind {
        self.finished(reason, None)
    }

    fn finished(&self, reason: FinishReason, fault: Option<Fault>) -> Kind {
        Kind::TurnFinished {
            reason,
            iterations: self.iteration,
            usage: self.spent,
            fault,
            bill: self.bill(),
        }
    }

    /// The facts that end the turn here: every open call is closed in `words`, then the turn.
    pub fn cancelled(&self, words: &str) -> Vec<Kind> {
        self.closing(words, FinishReason::Cancelled, None)
    }

    /// The facts that end the turn here because of a fault.
    pub fn failed(&self, code: FaultCode, message: impl Into<String>) -> Vec<Kind> {
        let message = message.into();
        let words = format!("not finished: {message}");
        self.closing(&words, FinishReason::Error, Some(Fault { code, message }))
    }

    fn closing(&self, words: &str, reason: FinishReason, fault: Option<Fault>) -> Vec<Kind> {
        let open = self
            .calls
            .iter()
            .filter(|open| open.state != CallState::Closed);
        let mut kinds: Vec<Kind> = open.map(|open| close(open, words)).collect();
        kinds.push(self.finished(reason, fault));
        kinds
    }

    /// Whether a person is asked, so that nothing else of it runs (CH-4).
    pub fn asks_a_person(&self) -> bool {
        planted!("goes-on-unanswered", {
            return false;
        });
        let asked = |open: &Open| open.state == CallState::Asked;
        self.calls.iter().any(asked)
    }

    /// The tool of an open call that is settled from outside.
    pub fn waiting_tool(&self, id: &CallId) -> Option<&str> {
        let outside = |open: &&Open| open.call.id == *id && open.state.is_outside();
        self.calls
            .iter()
            .find(outside)
            .map(|open| open.call.name.as_str())
    }

    /// The open calls that are settled from outside.
    pub fn outside_calls(&self) -> impl Iterator<Item = &ToolCall> {
        let outside = |open: &&Open| open.state.is_outside();
        self.calls.iter().filter(outside).map(|open| &open.call)
    }

    /// Whether every open call is settled from outside. After a crash, a call may be open whose
    /// tool is gone: it can never be closed.
    pub fn is_parked(&self) -> bool {
        let is_ours = |open: &Open| open.state == CallState::Running;
        self.next() == Step::Wait && !self.calls.iter().any(is_ours)
    }

    /// The calls that have begun, that their own tools were to close, and that are open.
    pub fn cut_calls(&self) -> Vec<InterruptedCall> {
        let cut = |open: &Open| {
            let intent = open.intent.as_ref()?;
            let is_open = open.state != CallState::Closed && intent.closer == Closer::Tool;
            is_open.then(|| InterruptedCall {
                call: open.call.clone(),
                effect: intent.effect,
                foreseen: intent.foreseen.clone(),
            })
        };
        self.calls.iter().filter_map(cut).collect()
    }

    /// Whether the start of the call is kept already.
    pub fn has_begun(&self, id: &CallId) -> bool {
        let begun = |open: &Open| open.call.id == *id && open.intent.is_some();
        self.calls.iter().any(begun)
    }

    /// Whether the model is being called, so that its output is void when the turn continues.
    pub fn is_asking(&self) -> bool {
        self.phase == Phase::Asking
    }

    /// How many times in a row it continued after a server stop without a new fact in between (DU-6).
    pub fn continuations(&self) -> u32 {
        self.continuations
    }
}

/// A call that had begun to touch the world may or may not have done it.
fn close(open: &Open, words: &str) -> Kind {
    let begun = open.intent.as_ref().map(|intent| intent.closer);
    let outcome = match begun {
        Some(Closer::Tool) => Outcome::unknown(words),
        Some(Closer::Outside | Closer::Child | Closer::Person) | None => {
            Outcome::new(Status::Cancelled, words)
        }
    };
    Kind::CallClosed {
        call: open.call.id.clone(),
        name: open.call.name.clone(),
        outcome,
    }
}
