//! The questions of a turn that wait for a person, among them whether a call may run, and what this
//! program does about them.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use samovar_core::event::Group;
use samovar_core::tool::Closer;
use samovar_core::{CallId, Kind, Outcome, Part, Status};
use samovar_locale as text;
use samovar_server::{ASK_USER, question_text};
use samovar_wire::agent::{ShownEvent, Snapshot, ToolCallRequest};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::approval::{Approval, decision};
use crate::answer::{Person, Prompt, Typed};
use crate::calls::brief;
use crate::client::segment;
use crate::follow::StreamEvent;
use crate::keyboard::is_gone;
use crate::screen::{say, say_in};
use crate::style::Tone;

/// How long a stream must say nothing before a question is put: one that tells of the past may have
/// its answer in hand.
const CALM: Duration = Duration::from_millis(150);

/// What a model is told where nobody can answer.
const NOBODY: &str = "nobody is here to answer: the program that runs this turn has no terminal; go \
                      on without an answer, or end the turn and say what has to be known";

/// What a model is told when the person has no answer.
const DECLINED: &str = "the person gave no answer to this question; go on without one, or end the \
                        turn and say what has to be known";

/// The questions of a turn.
pub(super) struct Questions {
    person: Person,
    /// What calls without an outcome ask.
    asked: BTreeMap<CallId, Words>,
    /// Those that wait for an answer, the oldest first.
    open: VecDeque<Question>,
    /// When the stream said something last.
    told_at: Instant,
    prompt: Option<Prompt>,
}

/// A question that waits.
struct Question {
    call: CallId,
    /// What is to be decided about the call; none if the answer is its outcome.
    approval: Option<Approval>,
    words: Words,
    state: QuestionState,
    /// What stands in the line that is not entered yet.
    draft: String,
}

/// How far a question is here.
#[derive(PartialEq, Eq)]
enum QuestionState {
    /// Nobody was told of it.
    New,
    /// It stands on the screen.
    Shown,
    /// It was answered, and nobody knows whether this answer was the first.
    Answered(String),
}

/// What a call asks.
#[derive(Clone)]
struct Words {
    /// The question, which names the agent unless it is the session's own.
    question: String,
    /// The call on one line, as the question has it.
    call: String,
}

/// What is to be done about a question.
pub(super) enum QuestionStep {
    /// It is to be shown.
    Show,
    /// Its call is to be closed.
    Close(Closing),
    /// The person stops the turn.
    Stop,
}

/// How a call is to be closed, or decided.
pub(super) struct Closing {
    call: CallId,
    approval: Option<Approval>,
    answer: Result<String, &'static str>,
}

impl Questions {
    /// No question yet, and who can be asked.
    pub(super) fn new(person: Person) -> Self {
        Self {
            person,
            asked: BTreeMap::new(),
            open: VecDeque::new(),
            told_at: Instant::now(),
            prompt: None,
        }
    }

    /// Whether the person types, or is about to, so that nothing else may be written meanwhile.
    pub(super) fn is_prompting(&self) -> bool {
        let first = self.open.front();
        !self.is_unheard() && first.is_some_and(|first| first.state == QuestionState::Shown)
    }

    /// Whether nobody is here to be asked.
    pub(super) fn is_unheard(&self) -> bool {
        self.person == Person::Absent
    }

    /// Takes what the stream says, before it is shown; a prompt makes room for that.
    pub(super) async fn take(&mut self, told: &StreamEvent) {
        self.suspend().await;
        self.told_at = Instant::now();
        match told {
            StreamEvent::Event(event, _) => self.apply(event),
            StreamEvent::Reset(turn, _) => self.begin_anew(turn),
        }
    }

    /// Waits for something that is to be done. Safe to drop halfway.
    pub(super) async fn next(&mut self) -> QuestionStep {
        loop {
            let Some(question) = self.open.front() else {
                return std::future::pending().await;
            };
            match (&question.state, self.person) {
                (QuestionState::New, _) => {
                    tokio::time::sleep_until(self.told_at + CALM).await;
                    return QuestionStep::Show;
                }
                (QuestionState::Shown, Person::AtEditor | Person::AtTerminal) => {
                    if let Some(next) = self.ask().await {
                        return next;
                    }
                }
                (QuestionState::Shown, Person::Absent) | (QuestionState::Answered(_), _) => {
                    return std::future::pending().await;
                }
            }
        }
    }

    /// Shows the first question.
    pub(super) fn show(&mut self) {
        let is_heard = !self.is_unheard();
        let Some(question) = self.open.front_mut() else {
            return;
        };
        question.state = QuestionState::Shown;
        say_in(Tone::Strong, &question.words.question);
        match &question.approval {
            Some(approval) => approval.show(&question.words.call, is_heard),
            None if is_heard => say_in(Tone::Quiet, text::ask::how()),
            None => {}
        }
    }

    /// What closes the first question where nobody can answer it.
    pub(super) fn unheard(&self) -> Option<Closing> {
        let question = self.open.front()?;
        Some(Closing {
            call: question.call.clone(),
            approval: question.approval.clone(),
            answer: Err(NOBODY),
        })
    }

    /// A call was closed from here.
    pub(super) fn closed(&mut self, closing: &Closing) {
        self.open.retain(|question| question.call != closing.call);
    }

    /// Somebody else was faster, as it seems: what the stream says of the call will tell.
    pub(super) fn outrun(&mut self, closing: Closing) {
        if let Some(question) = self.of(&closing.call) {
            let answer = closing.answer.unwrap_or_else(str::to_owned);
            question.state = QuestionState::Answered(answer);
        }
    }

    /// An answer was refused: it stands in the line again. A key for an approval does not.
    pub(super) fn refused(&mut self, closing: Closing) {
        if closing.approval.is_none()
            && let Some(question) = self.of(&closing.call)
        {
            question.draft = closing.answer.unwrap_or_default();
        }
    }

    /// The server went away: what it asked is asked again when it is found.
    pub(super) async fn lose_server(&mut self) {
        self.suspend().await;
        for question in &mut self.open {
            if question.state == QuestionState::Shown {
                question.state = QuestionState::New;
            }
        }
    }

    /// Takes the prompt away, if there is one.
    pub(super) async fn suspend(&mut self) {
        if let Some(prompt) = self.prompt.take() {
            let draft = prompt.close().await;
            if let Some(question) = self.open.front_mut() {
                question.draft = draft;
            }
        }
    }

    /// Lets the person type; none where another way to ask has to be found.
    async fn ask(&mut self) -> Option<QuestionStep> {
        let question = self.open.front()?;
        if self.prompt.is_none() {
            match Prompt::open(self.person, &question.draft) {
                Ok(prompt) => self.prompt = prompt,
                Err(error) => return self.worse(&error),
            }
        }
        let typed = self.prompt.as_mut()?.typed().await;
        self.prompt = None;
        let answer = match typed {
            Ok(Typed::Answer(answer)) => Ok(answer),
            Ok(Typed::Nothing) => Err(DECLINED),
            Ok(Typed::Stop) => return Some(QuestionStep::Stop),
            Err(error) => return self.worse(&error),
        };
        let question = self.open.front_mut()?;
        question.draft.clear();
        if let (Some(approval), Ok(answer)) = (&question.approval, &answer)
            && !approval.takes(answer)
        {
            say(text::ask::only_once());
            return None;
        }
        let (call, approval) = (question.call.clone(), question.approval.clone());
        Some(QuestionStep::Close(Closing {
            call,
            approval,
            answer,
        }))
    }

    /// Without an editor there are still plain lines, and without a terminal nobody is here.
    fn worse(&mut self, error: &std::io::Error) -> Option<QuestionStep> {
        if is_gone() {
            return Some(QuestionStep::Stop);
        }
        tracing::debug!(%error, person = ?self.person, "nobody can be asked this way");
        self.person = match self.person {
            Person::AtEditor => Person::AtTerminal,
            Person::AtTerminal | Person::Absent => Person::Absent,
        };
        self.is_unheard().then_some(QuestionStep::Show)
    }

    fn apply(&mut self, event: &ShownEvent) {
        let agent = (event.agent.depth() > 0).then(|| event.agent.name());
        match &event.kind {
            Kind::PartAdded {
                part: Part::Call(call),
                ..
            } => self.learn(agent, &call.id, &call.name, &call.args),
            Kind::MessageFinished { message, .. } => message
                .calls()
                .for_each(|call| self.learn(agent, &call.id, &call.name, &call.args)),
            Kind::CallStarted { call, closer, .. } if *closer == Closer::Person => self.open(call),
            Kind::ApprovalAsked { call, asked, .. } => self.approve(call, Approval::of(asked)),
            Kind::CallApproved { call, answer, .. } => self.decided(call, answer),
            Kind::CallClosed { call, outcome, .. } => self.close(call, outcome),
            other => match other.group() {
                Group::Session | Group::Turn | Group::Live(_) | Group::Message | Group::Call => {}
            },
        }
    }

    /// What a call asks, if it asks something; the session's own agent is not named.
    fn learn(&mut self, agent: Option<&str>, call: &CallId, tool: &str, args: &Value) {
        let line = brief(tool, args);
        let question = match (question_text(args).filter(|_| tool == ASK_USER), agent) {
            (Some(question), agent) => {
                let question = question.replace('\n', "\n  ");
                match agent {
                    Some(agent) => text::ask::question_of(agent, question),
                    None => text::ask::question(question),
                }
            }
            (None, Some(agent)) => text::ask::call_of(agent, &line),
            (None, None) => text::ask::call(&line),
        };
        let words = Words {
            question,
            call: line,
        };
        self.asked.insert(call.clone(), words);
    }

    fn open(&mut self, call: &CallId) {
        self.put(call, None);
    }

    /// A person is to decide about a call.
    pub(super) fn approve(&mut self, call: &CallId, approval: Approval) {
        self.put(call, Some(approval));
    }

    fn put(&mut self, call: &CallId, approval: Option<Approval>) {
        if let Some(question) = self.of(call) {
            (question.state, question.approval) = (QuestionState::New, approval);
        } else if let Some(asked) = self.asked.get(call) {
            self.open.push_back(Question {
                call: call.clone(),
                approval,
                words: asked.clone(),
                state: QuestionState::New,
                draft: String::new(),
            });
        }
    }

    /// It is decided whether a call may run.
    fn decided(&mut self, call: &CallId, given: &samovar_core::Answer) {
        let is_it = |question: &Question| question.call == *call && question.approval.is_some();
        let Some(at) = self.open.iter().position(is_it) else {
            return;
        };
        let question = self.open.remove(at);
        if question.is_some_and(|question| question.state == QuestionState::Shown) {
            say(&text::ask::decided_elsewhere(
                given.decision.as_str(),
                &given.by,
            ));
        }
    }

    fn close(&mut self, call: &CallId, outcome: &Outcome) {
        self.asked.remove(call);
        let is_it = |question: &Question| question.call == *call;
        let Some(question) = self.open.iter().position(is_it) else {
            return;
        };
        let Some(question) = self.open.remove(question) else {
            return;
        };
        let is_seen = match question.state {
            QuestionState::New => false,
            QuestionState::Shown => true,
            QuestionState::Answered(answer) => answer != outcome.text,
        };
        if is_seen && outcome.status == Status::Done {
            say(text::ask::elsewhere());
        }
    }

    /// The turn as it stands, with the agents that work for it. Of each, calls after the first have
    /// not begun; the stream tells when they do.
    fn begin_anew(&mut self, turn: &Snapshot) {
        self.asked.clear();
        let below = turn.children.iter();
        let below = below.map(|child| (child.path.last().map(String::as_str), &child.calls));
        let all: Vec<_> = std::iter::once((None, &turn.calls)).chain(below).collect();
        for (agent, calls) in &all {
            for call in *calls {
                self.learn(*agent, &call.id, &call.name, &call.args);
            }
        }
        let asked = &self.asked;
        self.open
            .retain(|question| asked.contains_key(&question.call));
        for (_, calls) in all {
            let asks = |call: &&ToolCallRequest| call.name == ASK_USER;
            if let Some(first) = calls.iter().find(asks) {
                self.open(&first.id);
            }
        }
    }

    fn of(&mut self, call: &CallId) -> Option<&mut Question> {
        self.open.iter_mut().find(|question| question.call == *call)
    }
}

impl Closing {
    /// Where it is sent.
    pub(super) fn path(&self) -> String {
        match &self.approval {
            Some(approval) => format!("/api/approvals/{}", segment(approval.id.as_str())),
            None => format!("/api/calls/{}", segment(self.call.as_str())),
        }
    }

    /// What is sent to close it.
    pub(super) fn how(&self) -> Value {
        match (&self.approval, &self.answer) {
            (Some(_), Ok(answer)) => decision(answer),
            (Some(_), Err(_)) => json!({ "decision": "deny" }),
            (None, Ok(answer)) => json!({ "result": answer }),
            (None, Err(why)) => json!({ "error": why }),
        }
    }
}

#[cfg(test)]
mod tests;
