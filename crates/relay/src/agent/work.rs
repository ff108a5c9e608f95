//! Who does the agent's work: one task, between the room and the engine.

use std::sync::Arc;

use samovar_core::relay::{Envelope, MessageKind};
use samovar_core::{Error, Event};
use samovar_engine::{Beginning, Conversation, Engine, FollowError, Settings};
use samovar_locale as locale;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::state::{AgentState, Call, FollowUp, Phase};
use super::talk::Talk;
use super::tools::{Ask, Tools};
use crate::link::{Connection, LinkEvent};

pub(super) struct Worker {
    pub(super) line: Connection,
    pub(super) state: AgentState,
    pub(super) tools: Tools,
    pub(super) asked: mpsc::Receiver<Ask>,
    /// A call whose reason was not heard yet.
    pub(super) waiting: Option<Ask>,
    pub(super) talk: Option<Talk>,
    pub(super) stopping: CancellationToken,
    /// Cancelled when a turn that still runs is given up.
    pub(super) cut: CancellationToken,
    pub(super) is_leaving: bool,
    /// The model; `None` for the current default.
    pub(super) model: Option<String>,
    pub(super) settings: Settings,
    pub(super) engine: Arc<Engine>,
}

/// What the worker wakes up for.
enum WorkerEvent {
    Connection(LinkEvent),
    PendingRequest(Ask),
    Told(Result<Vec<Arc<Event>>, FollowError>),
    Late,
    Leave,
    Cut,
}

impl Worker {
    /// Works until it is told to leave and no turn runs.
    pub(super) async fn work(mut self) {
        loop {
            self.say_all().await;
            if self.is_leaving && !self.is_busy() {
                return;
            }
            match self.next().await {
                WorkerEvent::Connection(heard) => self.hear(heard),
                WorkerEvent::PendingRequest(ask) => self.waiting = Some(ask),
                WorkerEvent::Told(Ok(events)) => self.tell(&events),
                WorkerEvent::Told(Err(lost)) => self.lost(&lost),
                WorkerEvent::Late => {
                    let effect = self.state.late(Instant::now());
                    self.follow_up(effect);
                }
                WorkerEvent::Leave => self.is_leaving = true,
                WorkerEvent::Cut => self.talk = None,
            }
            self.call();
            self.attend().await;
        }
    }

    async fn next(&mut self) -> WorkerEvent {
        let takes_calls = self.waiting.is_none() && self.state.phase.is_sure();
        let deadline = self.state.deadline();
        let late = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let talk = &mut self.talk;
        let told = async {
            match talk {
                Some(talk) => talk.next().await,
                None => std::future::pending().await,
            }
        };
        // All are safe to drop halfway: each takes nothing before it has it.
        tokio::select! {
            heard = self.line.next() => WorkerEvent::Connection(heard),
            Some(ask) = self.asked.recv(), if takes_calls => WorkerEvent::PendingRequest(ask),
            told = told => WorkerEvent::Told(told),
            () = late => WorkerEvent::Late,
            () = self.stopping.cancelled(), if !self.is_leaving => WorkerEvent::Leave,
            () = self.cut.cancelled() => WorkerEvent::Cut,
        }
    }

    fn is_busy(&self) -> bool {
        self.talk.as_ref().is_some_and(Talk::is_busy)
    }

    async fn say_all(&mut self) {
        while let Some(envelope) = self.state.next_to_say() {
            if let Err(cut) = self.line.say(envelope).await {
                self.lose(&cut.to_string());
            }
        }
    }

    fn hear(&mut self, heard: LinkEvent) {
        let now = Instant::now();
        match heard {
            LinkEvent::Up => self.state.up(now),
            LinkEvent::Lost(cut) => {
                tracing::info!(%cut, "the agent of a room lost its connection");
                self.state.lost(&cut.to_string());
            }
            LinkEvent::Said(said) => self.hear_said(&said, now),
        }
    }

    fn hear_said(&mut self, said: &Arc<Envelope>, now: Instant) {
        if said.kind == MessageKind::UserMessage && self.is_leaving {
            return;
        }
        let effect = self.state.hear(said, now);
        if self.state.phase != Phase::Out {
            self.line.is_well();
        }
        // A turn begins with what there is to see now; one that runs has its own eyes.
        if said.kind == MessageKind::UserMessage && !self.is_busy() {
            self.state.look(now);
        }
        self.follow_up(effect);
    }

    fn follow_up(&mut self, effect: FollowUp) {
        match effect {
            FollowUp::None => {}
            FollowUp::Tools => {
                let tool_schema = self.state.tool_schema();
                self.tools.refresh(tool_schema, self.state.room());
            }
            FollowUp::GiveUp => self.lose("the relay did not let it in"),
        }
    }

    fn lose(&mut self, why: &str) {
        self.line.lose();
        self.state.lost(why);
    }

    /// Makes the call that waits, once its reason is known and somebody hears it. One that its turn has
    /// given up is never made: nobody would expect what it does.
    fn call(&mut self) {
        self.waiting.take_if(|ask| ask.outcome.is_closed());
        let is_heard = self.state.phase.is_sure();
        let Some(ask) = self.waiting.as_ref().filter(|_| is_heard) else {
            return;
        };
        let talk = self.talk.as_ref();
        let Some(reason) = talk.and_then(|talk| talk.reason(&ask.call)) else {
            return;
        };
        if let Some(ask) = self.waiting.take() {
            let call = Call {
                tool: ask.tool,
                params: ask.params,
                reason,
                outcome: ask.outcome,
            };
            self.state.call(call, Instant::now());
        }
    }

    /// Says in the room what the model has said.
    fn tell(&mut self, events: &[Arc<Event>]) {
        if let Some(talk) = &mut self.talk {
            for words in talk.take(events) {
                self.state.say(&words);
            }
        }
    }

    fn lost(&mut self, lost: &FollowError) {
        if let Some(talk) = &mut self.talk {
            talk.lost();
        }
        match lost {
            FollowError::Stopping => {}
            FollowError::Gone(_) | FollowError::Broken(_) => {
                tracing::error!(%lost, "the agent of a room lost its own session");
                let broken = locale::relay::agent_broke_off(locale::turn::broken());
                self.state.say(&broken);
            }
        }
    }

    /// Tells a model what the person has said: the one that works, else one that knows what there is
    /// to see.
    async fn attend(&mut self) {
        let is_ready = self.is_busy() || self.state.phase == Phase::Ready;
        if !is_ready || !self.state.has_words() {
            return;
        }
        if let Some(words) = self.state.take_words()
            && let Err(error) = self.post(words).await
        {
            let why = locale::relay::agent_did_not_begin(&error.message);
            self.state.say(&why);
        }
    }

    async fn post(&mut self, words: String) -> Result<(), Error> {
        if let Some(talk) = self.talk.as_mut().filter(|talk| talk.is_busy()) {
            return talk.say(words, None).await;
        }
        let model = match &self.model {
            Some(model) => model.clone(),
            None => self.engine.models().default_name().await?,
        };
        // Another study session is another conversation.
        let study = &self.state.study;
        self.talk.take_if(|talk| talk.study != *study);
        if self.talk.is_none() {
            self.talk = Some(self.open(model.clone()).await?);
        }
        match &mut self.talk {
            Some(talk) => talk.say(words, Some(model)).await,
            None => Ok(()),
        }
    }

    async fn open(&mut self, model: String) -> Result<Talk, Error> {
        let found = self.engine.models().find(&model).await?;
        let session = self.engine.begin_in_memory(Beginning {
            model: found.route,
            toolbox: self.tools.toolbox.clone(),
            settings: self.settings.clone(),
            conversation: Conversation::default(),
        })?;
        Ok(Talk::new(session, model, self.state.study.clone()))
    }
}
