//! An engine on stores in memory, which a test can make fail and which outlive it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use samovar_core::agent::{AgentEntry, AgentOrigin};
use samovar_core::command::{Opening, Post, Text};
use samovar_core::history::{MessageQuery, MessageRow, SessionRow, Speakers};
use samovar_core::{
    Accepted, Action, Agent, Agents, Approval, CallId, Code, Delivery, Error, Event, FileChanges,
    FinishReason, Kind, MessageId, Outcome, Prompt, Role, Sender, Seq, SessionId, Toolset, TurnId,
};
use samovar_doubles::{Disk, MemoryJournal, Reply, ScriptedModel, TestTool, World};
use samovar_engine::{DelegationTools, Engine, Follower, OpenCall, Ports, Settings, Toolbox};
use tokio::runtime::Runtime;

/// An engine, and what outlives it.
pub(crate) struct Rig {
    pub(crate) engine: Arc<Engine>,
    pub(crate) disk: Disk,
    pub(crate) world: World,
    tools: Vec<Arc<dyn Toolset>>,
    agents: Option<Arc<TestAgents>>,
    settings: Settings,
}

/// Definitions that are all valid and switched on.
struct TestAgents {
    defined: Mutex<Vec<Agent>>,
    looks: AtomicUsize,
}

impl Agents for TestAgents {
    fn find(&self, name: &str) -> Option<AgentEntry> {
        let mut all = self.list().into_iter();
        all.find(|entry| entry.agent.name.as_str() == name)
    }

    fn list(&self) -> Vec<AgentEntry> {
        let entry = |agent: &Agent| AgentEntry {
            agent: Arc::new(agent.clone()),
            origin: AgentOrigin::Row,
            enabled: true,
            invalid: None,
            missing: Vec::new(),
        };
        self.looks.fetch_add(1, Ordering::Relaxed);
        self.defined.lock().unwrap().iter().map(entry).collect()
    }
}

/// Stores that have nothing.
pub(crate) fn disk() -> Disk {
    Disk::on(Arc::new(MemoryJournal::new()))
}

/// What an engine is started with: approval level `auto`, and no second try at the model.
pub(crate) fn settings() -> Settings {
    let mut settings = Settings {
        approval: Approval::Auto,
        ..Settings::default()
    };
    settings.retry.count = 0;
    settings
}

impl Rig {
    /// One with the session `s`, whose model gives these answers.
    pub(crate) async fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::with(World::answering(replies), [], settings()).await
    }

    /// One whose model answers what a function says of the user's last words, and of how many results
    /// of tools it has since.
    pub(crate) async fn by(
        answer: impl Fn(&str, usize) -> Reply + Send + Sync + 'static,
        tools: impl IntoIterator<Item = TestTool>,
        settings: Settings,
    ) -> Self {
        let model = ScriptedModel::by(move |prompt| {
            answer(
                &samovar_doubles::user(prompt),
                samovar_doubles::results(prompt),
            )
        });
        Self::with(World::with(model), tools, settings).await
    }

    pub(crate) async fn with(
        world: World,
        tools: impl IntoIterator<Item = TestTool>,
        settings: Settings,
    ) -> Self {
        let rig = Self::on(disk(), world, tools, settings).await;
        rig.open(session()).await;
        rig
    }

    /// One whose session's agent may call these.
    pub(crate) async fn delegating(
        world: World,
        tools: impl IntoIterator<Item = TestTool>,
        agents: impl IntoIterator<Item = Agent>,
        settings: Settings,
    ) -> Self {
        let rig = Self::with_agents(world, tools, agents, settings).await;
        rig.open(session()).await;
        rig
    }

    /// The same without a session.
    pub(crate) async fn with_agents(
        world: World,
        tools: impl IntoIterator<Item = TestTool>,
        agents: impl IntoIterator<Item = Agent>,
        settings: Settings,
    ) -> Self {
        let tools: Vec<_> = tools.into_iter().map(TestTool::build).collect();
        let agents = TestAgents {
            defined: Mutex::new(agents.into_iter().collect()),
            looks: AtomicUsize::new(0),
        };
        Self::start(disk(), world, tools, Some(Arc::new(agents)), settings).await
    }

    /// Replaces the definitions of agents, from here on.
    pub(crate) fn define(&self, agents: impl IntoIterator<Item = Agent>) {
        if let Some(known) = &self.agents {
            *known.defined.lock().unwrap() = agents.into_iter().collect();
        }
    }

    /// How often the definitions were looked at.
    pub(crate) fn looks(&self) -> usize {
        let known = self.agents.as_ref();
        known.map_or(0, |known| known.looks.load(Ordering::Relaxed))
    }

    /// One on stores that have something already.
    pub(crate) async fn on(
        disk: Disk,
        world: World,
        tools: impl IntoIterator<Item = TestTool>,
        settings: Settings,
    ) -> Self {
        let tools: Vec<_> = tools.into_iter().map(TestTool::build).collect();
        Self::start(disk, world, tools, None, settings).await
    }

    async fn start(
        disk: Disk,
        world: World,
        tools: Vec<Arc<dyn Toolset>>,
        agents: Option<Arc<TestAgents>>,
        settings: Settings,
    ) -> Self {
        let none = Arc::new(());
        Self::start_with(disk, world, (tools, none), agents, settings).await
    }

    /// One without tools whose undo takes back changes through this.
    pub(crate) async fn changing(world: World, changes: Arc<dyn FileChanges>) -> Self {
        let both = (Vec::new(), changes);
        Self::start_with(disk(), world, both, None, settings()).await
    }

    async fn start_with(
        disk: Disk,
        world: World,
        (tools, changes): (Vec<Arc<dyn Toolset>>, Arc<dyn FileChanges>),
        agents: Option<Arc<TestAgents>>,
        settings: Settings,
    ) -> Self {
        let toolbox = Toolbox::default().with_changes(changes);
        for tool in &tools {
            toolbox.add(tool).unwrap();
        }
        if agents.is_some() {
            let tools: Arc<dyn Toolset> = Arc::new(DelegationTools);
            toolbox.add_built_in(&tools).unwrap();
        }
        let ports = Ports {
            journal: disk.boot().await,
            history: disk.history(),
            blobs: disk.blobs(),
            models: Arc::new(world.model.clone()),
            toolbox: Arc::new(toolbox),
            agents: match &agents {
                Some(agents) => agents.clone(),
                None => Arc::new(()),
            },
            clock: world.clock.clone(),
            ids: world.ids.clone(),
            damages: Arc::new(()),
            audit: disk.audit(),
        };
        let engine = Engine::start(ports, settings.clone()).await.unwrap();
        Self {
            engine,
            disk,
            world,
            tools,
            agents,
            settings,
        }
    }

    /// Stops at once, as turns stand, and starts again.
    pub(crate) async fn restart(self) -> Self {
        self.restart_with(|_| {}).await
    }

    /// The same, with other settings from here on.
    pub(crate) async fn restart_with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        self.engine.shutdown(Duration::ZERO).await;
        change(&mut self.settings);
        self.next_run().await
    }

    /// The next run, after this one was killed: memory and tasks are gone, and nothing was closed.
    pub(crate) fn killed(self, life: Runtime, next: &Runtime) -> Self {
        life.shutdown_timeout(Duration::from_secs(10));
        next.block_on(self.next_run())
    }

    async fn next_run(self) -> Self {
        let Self {
            disk,
            world,
            tools,
            agents,
            settings,
            ..
        } = self;
        Self::start(disk, world, tools, agents, settings).await
    }

    /// The next run, in which a session is damaged.
    pub(crate) async fn damaged(self, session: SessionId) -> Self {
        self.disk.damage(session);
        self.restart().await
    }

    /// Makes a session.
    pub(crate) async fn open(&self, session: SessionId) {
        send(&self.engine, session, opening()).await.unwrap();
    }

    pub(crate) async fn submit(&self, action: Action) -> Result<Accepted, Error> {
        send(&self.engine, session(), action).await
    }

    pub(crate) async fn refused(&self, action: Action) -> Code {
        self.submit(action).await.unwrap_err().code
    }

    pub(crate) async fn post(&self, text: &str) -> TurnId {
        self.deliver(text, Delivery::Queue).await
    }

    pub(crate) async fn deliver(&self, text: &str, delivery: Delivery) -> TurnId {
        turn_of(self.submit(said(text, delivery)).await)
    }

    /// Says something and waits for the end of its turn.
    pub(crate) async fn turn(&self, text: &str) -> FinishReason {
        let turn = self.post(text).await;
        self.over(&turn).await
    }

    /// Stops a turn; whether there was one to stop.
    pub(crate) async fn cancel(&self, turn: Option<&TurnId>) -> bool {
        let turn = turn.cloned();
        match self.submit(Action::Cancel { turn }).await {
            Ok(Accepted::Cancelled { stopped }) => stopped,
            other => panic!("{other:?}"),
        }
    }

    /// Takes the last turn back: what the user had said in it.
    pub(crate) async fn undo(&self) -> String {
        match self.submit(Action::Undo { turn: None }).await {
            Ok(Accepted::Undone { text, .. }) => text,
            other => panic!("{other:?}"),
        }
    }

    /// Waits until a turn is over: why.
    pub(crate) async fn over(&self, turn: &TurnId) -> FinishReason {
        match self.log_of(turn).await.pop() {
            Some(Kind::TurnFinished { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    }

    /// What happens in a turn, to its end.
    pub(crate) async fn log_of(&self, turn: &TurnId) -> Vec<Kind> {
        self.log_from(Seq(0), turn).await
    }

    /// The same of a turn of which nothing comes before a position.
    pub(crate) async fn log_from(&self, after: Seq, turn: &TurnId) -> Vec<Kind> {
        let mut reader = self.engine.follow(&session(), after).await.unwrap();
        let mut kinds = Vec::new();
        loop {
            let events = reader.next().await.unwrap().into_iter();
            for event in events.filter(|event| event.turn.as_ref() == Some(turn)) {
                kinds.push(event.kind.clone());
                if matches!(event.kind, Kind::TurnFinished { .. }) {
                    return kinds;
                }
            }
        }
    }

    /// Waits for an event of the session.
    pub(crate) async fn sees(&self, is_it: impl Fn(&Event) -> bool) -> Arc<Event> {
        see(&self.engine, is_it).await
    }

    /// Waits until a turn has begun to speak.
    pub(crate) async fn speaks(&self, turn: &TurnId) {
        let is_delta = |event: &Event| {
            let is_delta = matches!(event.kind, Kind::Delta { .. });
            is_delta && event.turn.as_ref() == Some(turn)
        };
        self.sees(is_delta).await;
    }

    /// Waits until a call waits for somebody outside.
    pub(crate) async fn asked_outside(&self) -> samovar_engine::OpenCall {
        loop {
            if let Some(open) = self.engine.open_calls().await.unwrap().pop() {
                return open;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Waits until so many calls wait for an outside answer: those calls.
    pub(crate) async fn calls(&self, count: usize) -> Vec<OpenCall> {
        loop {
            let open = self.engine.open_calls().await.unwrap();
            if open.len() == count {
                return open;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Closes a call from outside.
    pub(crate) async fn settle(&self, call: CallId) {
        let outcome = Outcome::done("yes");
        let settled = self.engine.settle(Sender::Embedder, call, outcome);
        settled.await.unwrap();
    }

    /// The session's messages.
    pub(crate) async fn messages(&self, of: Speakers) -> Vec<MessageRow> {
        let query = MessageQuery {
            session: session(),
            limit: 99,
            before: None,
            of,
        };
        self.engine.messages(query).await.unwrap()
    }

    /// The session, for readers, who need not know how far the history is.
    pub(crate) async fn row(&self) -> SessionRow {
        let row = self.engine.session(&session()).await.unwrap();
        let projected = Seq::default();
        SessionRow { projected, ..row }
    }

    /// The conversation, for readers.
    pub(crate) async fn texts(&self) -> Vec<String> {
        self.read("s", |_| true).await
    }

    /// What the user said, for readers.
    pub(crate) async fn asked(&self) -> Vec<String> {
        self.asked_in("s").await
    }

    /// The same of any session.
    pub(crate) async fn asked_in(&self, session: &str) -> Vec<String> {
        self.read(session, |role| role == Role::User).await
    }

    async fn read(&self, session: &str, of: impl Fn(Role) -> bool) -> Vec<String> {
        let query = MessageQuery {
            session: named(session),
            limit: 99,
            before: None,
            of: Speakers::All,
        };
        let rows = self.engine.messages(query).await.unwrap();
        let wanted = rows.iter().filter(|row| of(row.message.role));
        wanted.map(|row| row.message.text()).collect()
    }

    /// What the model was shown last.
    pub(crate) fn shown(&self) -> Vec<String> {
        texts_of(self.world.model.prompts().last().unwrap())
    }
}

pub(crate) fn texts_of(prompt: &Prompt) -> Vec<String> {
    let messages = prompt.messages.iter();
    messages.map(|message| message.text()).collect()
}

pub(crate) fn opening() -> Action {
    Action::Open(Opening::default())
}

/// Sends a command to a session.
pub(crate) async fn send(
    engine: &Engine,
    session: SessionId,
    action: Action,
) -> Result<Accepted, Error> {
    engine.act(&session, action).await
}

/// Waits for an event of the session.
pub(crate) async fn see(engine: &Engine, is_it: impl Fn(&Event) -> bool) -> Arc<Event> {
    let mut reader = engine.follow(&session(), Seq(0)).await.unwrap();
    read_to(&mut reader, is_it).await
}

/// Reads on to such an event.
pub(crate) async fn read_to(reader: &mut Follower, is_it: impl Fn(&Event) -> bool) -> Arc<Event> {
    loop {
        let events = reader.next().await.unwrap();
        if let Some(event) = events.into_iter().find(|event| is_it(event)) {
            return event;
        }
    }
}

pub(crate) fn turn_of(posted: Result<Accepted, Error>) -> TurnId {
    match posted {
        Ok(Accepted::Posted { turn, .. }) => turn,
        other => panic!("{other:?}"),
    }
}

/// Something that a user says.
pub(crate) fn said(text: &str, delivery: Delivery) -> Action {
    Action::Post(Post::new(Text::new(text.to_owned()).unwrap(), delivery))
}

/// The same under an id.
pub(crate) fn said_as(id: &str, text: &str) -> Action {
    let mut action = said(text, Delivery::Queue);
    if let Action::Post(Post { message, .. }) = &mut action {
        *message = MessageId::new(id).ok();
    }
    action
}

/// Why a turn ends that nothing disturbs.
pub(crate) fn well() -> FinishReason {
    FinishReason::Model("stop".to_owned())
}

pub(crate) fn session() -> SessionId {
    named("s")
}

pub(crate) fn named(session: &str) -> SessionId {
    SessionId::new(session).unwrap()
}
