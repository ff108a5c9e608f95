//! The loop: the only code that touches both the turn and the world.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt as _;
use samovar_core::agent::MASTER;
use samovar_core::{
    Author, Broken, ContextLimit, Kind, Message, MessageId, Millis, Prompt, ToolCall, ToolSpec,
};
use tokio_util::sync::CancellationToken;

use self::ask::AskEnd;
use self::calls::Calls;
use crate::context::{Images, Transcript};
use crate::delegation;
use crate::log::Draft;
use crate::state::ChildEnd;
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
mod tainting;
mod windows;

pub(crate) use budget::unbudgeted;
pub(crate) use inbox::{Newborn, Reply, answer, decider, not_asked, not_open};
pub(crate) use retry::RetryTime;
pub(crate) use state::{Continuation, FinishedRun, RunEnd, Runner};

impl Runner {
    /// Runs the turn, until it is to stop.
    pub(crate) async fn run(mut self, stop: CancellationToken) -> FinishedRun {
        let how = tokio::select! {
            // What is ready when it is to stop is taken in.
            biased;
            how = self.work() => how,
            () = stop.cancelled() => RunEnd::Stopped,
        };
        if let Err(broken) = self.arrive().await {
            tracing::debug!(turn = %self.turn_id, %broken, "what was noted last is not kept");
        }
        self.folded().await;
        FinishedRun {
            turn_id: self.turn_id,
            unkept: self.pending,
            how,
        }
    }

    async fn work(&mut self) -> RunEnd {
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
        self.drive().await.unwrap_or_else(|broken| {
            tracing::error!(turn = %self.turn_id, %broken, "a turn broke off");
            RunEnd::Broken(broken)
        })
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
                    // What came meanwhile is taken in, and kept, before it waits.
                    if !self.hears_news() {
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
            tools: self.tools(),
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

    /// The tools of the present step.
    fn tools(&self) -> Arc<[Arc<ToolSpec>]> {
        let hashed = self.hashed.as_ref();
        hashed.map_or_else(|| self.offered(), |(tools, _)| tools.clone())
    }

    fn offered(&self) -> Arc<[Arc<ToolSpec>]> {
        self.parts.offered(&self.definition, &self.turn, &self.told)
    }

    /// Whether its agent has a tool in this turn.
    fn has_tool(&self, tool: &str) -> bool {
        self.parts
            .has_tool(&self.definition, &self.turn, &self.told, tool)
    }

    /// Takes in what was kept for the turn that it did not note itself, and what its children have
    /// answered, if there is any; whether there was.
    fn hears_news(&mut self) -> bool {
        let has_news = self.news.notified().now_or_never().is_some();
        if has_news {
            self.catch_up();
        }
        has_news
    }

    /// Takes that in. The call that a child has answered is closed with the next commit: the child's end
    /// is kept already.
    fn catch_up(&mut self) {
        let ended: Vec<_> = {
            let state = self.session.state.lock();
            let Some(known) = state.turn(&self.turn_id) else {
                return;
            };
            self.turn = known.turn.clone();
            let ended = state.ended().filter(|end| end.parent == self.turn_id);
            ended.cloned().collect()
        };
        let own = |draft: &&Draft| draft.turn.as_ref() == Some(&self.turn_id);
        let noted = self.pending.iter().filter(own);
        noted.for_each(|draft| self.turn.apply(&draft.kind));
        for ChildEnd { call, outcome, .. } in ended {
            if let Some(name) = self.turn.delegated_tool(&call).map(str::to_owned) {
                self.note(Kind::CallClosed {
                    call,
                    name,
                    outcome,
                });
            }
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
