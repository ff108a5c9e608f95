//! The loop: the only code that touches both the turn and the world.

use std::collections::BTreeMap;
use std::sync::Arc;

use samovar_core::agent::MASTER;
use samovar_core::approval::Answer;
use samovar_core::{
    Accepted, ApprovalId, Author, Broken, CallId, ContextLimit, Error, Kind, Message, MessageId,
    Millis, Outcome, Prompt, ToolCall, ToolSpec,
};

use self::ask::AskEnd;
use self::calls::Calls;
use crate::context::{Images, Transcript};
use crate::delegation;
use crate::log::Draft;
use crate::parts::refusal;
use crate::turn::Step;

mod ask;
mod budget;
mod calls;
mod delegate;
mod inbox;
mod keep;
mod recovery;
mod retry;
mod state;
mod stop;
mod tainting;
mod windows;

pub(crate) use budget::unbudgeted;
pub(crate) use inbox::{
    Cancel, CancelTarget, FromTurn, Input, Newborn, Reply, answer, decider, not_asked, not_open,
    refuse_call, refuse_decision,
};
pub(crate) use retry::RetryTime;
pub(crate) use state::{Continuation, FinishedRun, RunEnd, Runner, Stop};

impl Runner {
    /// Runs the turn.
    pub(crate) async fn run(mut self) -> FinishedRun {
        // One that begins was told already; one that resumes looks again.
        if self.told.layers.is_empty() {
            let situation = self.turn.place().situation.as_deref();
            let session = self.of_session.clone();
            let transcript = self.transcript();
            let mut said = transcript.messages().rev();
            let session = session.asked(said.find(|message| message.is_input()));
            let told = self
                .parts
                .tell(&self.definition, &self.agent, session, situation);
            self.told = told.await;
        }
        let how = match self.drive().await {
            Ok(how) => how,
            Err(broken) => {
                tracing::error!(turn = %self.turn_id, %broken, "a turn broke off");
                RunEnd::Broken(broken)
            }
        };
        let is_stopped = self.stop == Stop::InTime;
        let was_stopped = how == RunEnd::Finished && is_stopped;
        for reply in self.stopped_for {
            answer(reply, stopped(&how, is_stopped));
        }
        self.inbox.close();
        let mut leftover = Vec::new();
        while let Ok(input) = self.inbox.try_recv() {
            leftover.push(input);
        }
        FinishedRun {
            turn_id: self.turn_id,
            leftover,
            was_stopped,
            how,
        }
    }

    /// What its model is shown, as the log has it.
    fn transcript(&self) -> Transcript {
        let state = self.session.state.lock();
        state.transcript(Some(&self.turn_id)).clone()
    }

    /// What is known about the window of its model.
    fn limit(&self) -> Option<ContextLimit> {
        let state = self.session.state.lock();
        let transcript = state.transcript(Some(&self.turn_id));
        transcript.limit(&self.model.name).cloned()
    }

    async fn drive(&mut self) -> Result<RunEnd, Broken> {
        self.taint_by_prompt();
        if self.continuation.is_some() {
            self.take_up().await?;
        }
        loop {
            self.wait_for_stop().await?;
            match self.turn.next() {
                Step::Record(kind @ Kind::StepStarted { .. }) => self.begin_step(kind).await?,
                Step::Record(kind) => self.note(kind),
                Step::Remind(reminder, words) => {
                    let id = MessageId::fresh(self.parts.ids.as_ref());
                    let message = Message::of_reminder(id, reminder, words, self.now());
                    let message = self.described(message);
                    self.note_by(Author::System, Kind::finished(message));
                }
                Step::CallModel { max_tokens } => {
                    self.note_window();
                    self.keep().await?;
                    // Somebody may have stopped it while it waited for room.
                    if self.turn.is_over() {
                        continue;
                    }
                    if self.ask(max_tokens).await? == AskEnd::Left {
                        return Ok(RunEnd::Left);
                    }
                    self.continuation = None;
                }
                Step::CallTools(calls) => {
                    self.call(calls).await?;
                    self.continuation = None;
                }
                Step::Wait => {
                    self.keep().await?;
                    // Its last child may have ended while this waited for room.
                    if self.turn.next() == Step::Wait {
                        return Ok(RunEnd::Parked);
                    }
                }
                Step::Over => {
                    self.keep().await?;
                    return Ok(RunEnd::Finished);
                }
            }
        }
    }

    /// Takes a fact in; it is kept with the next commit.
    fn note(&mut self, kind: Kind) {
        let is_result = matches!(kind, Kind::CallClosed { .. });
        self.note_by(
            if is_result {
                Author::System
            } else {
                Author::Agent
            },
            kind,
        );
    }

    fn note_by(&mut self, author: Author, kind: Kind) {
        let draft = self.draft(author, kind);
        self.turn.apply(&draft.kind);
        let price = || self.parts.models.price(&self.model.route);
        self.parts.counts.note_used(&draft.kind, price);
        let is_end = matches!(draft.kind, Kind::TurnFinished { .. });
        self.pending.push(draft);
        if is_end {
            self.note_result();
        }
    }

    /// What a child in the background leaves shares the commit with its end.
    fn note_result(&mut self) {
        let pending = self.pending.iter().filter_map(|draft| match &draft.kind {
            Kind::MessageFinished { message, .. } => Some(message),
            _ => None,
        });
        let transcript = self.transcript();
        let last = delegation::last_said(transcript.messages().chain(pending));
        let account = self.session.state.account(&self.turn_id);
        let left = account.map(|mut account| {
            let own = |draft: &&Draft| draft.turn.as_ref() == Some(&self.turn_id);
            let own = self.pending.iter().filter(own);
            own.for_each(|draft| account.take(&self.turn_id, &draft.kind));
            account.left(self.now())
        });
        let (agent, turn) = (&self.agent, &self.turn);
        let result = self
            .parts
            .result_of(&self.turn_id, agent, (turn, last), left);
        self.pending.extend(result);
    }

    fn draft(&self, author: Author, kind: Kind) -> Draft {
        Draft::new(Some(self.turn_id.clone()), author, kind).of(&self.agent)
    }

    /// Keeps the first of what was noted, with one commit.
    async fn keep_part(&mut self, count: usize) -> Result<(), Broken> {
        let drafts = self.pending[..count].to_vec();
        let ahead = (&self.turn_id, &self.turn);
        self.session.keep(drafts, Some(ahead)).await?;
        let kept = self.pending.drain(..count);
        // What cannot wait has room of its own.
        if kept.fold(false, |any, draft| any | draft.kind.can_wait()) {
            self.has_room();
        }
        Ok(())
    }

    fn prompt(&self, max_tokens: u32) -> Prompt {
        self.prompt_within(self.limit().as_ref(), max_tokens)
    }

    fn prompt_within(&self, limit: Option<&ContextLimit>, max_tokens: u32) -> Prompt {
        let mut aside = self.aside();
        let layout = self.parts.settings.layout;
        let layers = self.told.layers_within(limit, layout, &mut aside);
        let frame = Prompt {
            model: self.model.endpoint_name.clone(),
            layers,
            tools: self.offered(),
            messages: Vec::new(),
            max_tokens,
            temperature: self.turn.limits().temperature,
            images: BTreeMap::new(),
        };
        let images = if self.model.is_blind {
            Images::Described
        } else {
            Images::Shown
        };
        self.transcript().show_in(frame, limit, aside, images)
    }

    /// What is shown before the message that began the turn. A child has tools to look at it instead.
    fn aside(&self) -> Option<String> {
        self.told.aside(&self.turn, &self.agent)
    }

    fn offered(&self) -> Arc<[Arc<ToolSpec>]> {
        self.parts.offered(&self.definition, &self.turn, &self.told)
    }

    /// Whether its agent has a tool in this turn.
    fn has_tool(&self, tool: &str) -> bool {
        self.parts
            .has_tool(&self.definition, &self.turn, &self.told, tool)
    }

    /// Ends the turn, unless it is over; whoever wants that hears of it once the end is kept.
    fn stop(&mut self, reply: Reply) {
        if !self.turn.is_over() {
            self.stop = Stop::InTime;
            for kind in self.turn.cancelled("the turn was stopped") {
                self.note(kind);
            }
        }
        if self.stop == Stop::No {
            self.stop = Stop::TooLate;
        }
        self.stopped_for.push(reply);
    }

    /// Closes a call that waits for a client, or for a child.
    async fn settle(
        &mut self,
        call: CallId,
        outcome: Outcome,
        reply: Option<Reply>,
    ) -> Result<(), Broken> {
        let Some(reply) = reply else {
            self.note_child_end(call, outcome);
            return Ok(());
        };
        let Some(name) = self.turn.waiting_tool(&call).map(str::to_owned) else {
            answer(reply, Err(not_open(&call)));
            return Ok(());
        };
        let outcome = outcome.readable();
        self.note_by(
            Author::Host,
            Kind::CallClosed {
                call,
                name,
                outcome,
            },
        );
        self.keep().await?;
        answer(reply, Ok(Accepted::Settled));
        Ok(())
    }

    /// Takes in a decision about a call that waits for it. The sender hears once it is kept.
    async fn decide(
        &mut self,
        approval: &ApprovalId,
        given: Answer,
        reply: Reply,
    ) -> Result<(), Broken> {
        let author = decider(&given);
        let Some(kinds) = self.turn.decision(approval, given) else {
            refuse_decision(approval, reply);
            return Ok(());
        };
        for kind in kinds {
            self.note_by(author, kind);
        }
        self.keep().await?;
        answer(reply, Ok(Accepted::Decided));
        Ok(())
    }

    /// Closes the call that a child has answered, with the next commit: the child's end is kept
    /// already.
    fn note_child_end(&mut self, call: CallId, outcome: Outcome) {
        if let Some(name) = self.turn.delegated_tool(&call).map(str::to_owned) {
            self.note(Kind::CallClosed {
                call,
                name,
                outcome,
            });
        }
    }

    async fn call(&mut self, calls: Vec<ToolCall>) -> Result<(), Broken> {
        Calls::new(self, calls).run().await
    }

    fn now(&self) -> Millis {
        self.parts.clock.now()
    }

    fn note_message(&mut self, message: Message) {
        let message = self.described(message);
        self.note(Kind::finished(message));
    }

    /// A message of this turn, which says whose it is; a child's also which call it answers (SA-8).
    fn described(&self, mut message: Message) -> Message {
        let name = &self.definition.display_name;
        if let (Some(parent), Some(call)) = (&self.parent, &self.turn.place().parent_call) {
            message.parent = Some(parent.clone());
            delegation::describe(&mut message, name, Some(call));
        } else if self.definition.name.as_str() != MASTER {
            delegation::describe(&mut message, name, None);
        }
        message
    }
}

/// The reply to a cancel, given how the turn ended.
fn stopped(how: &RunEnd, is_stopped: bool) -> Result<Accepted, Error> {
    match how {
        RunEnd::Finished => Ok(Accepted::Cancelled {
            stopped: is_stopped,
        }),
        RunEnd::Parked | RunEnd::Left => Ok(Accepted::Cancelled { stopped: false }),
        RunEnd::Broken(broken) => Err(refusal(broken.clone())),
    }
}
