//! An engine on real stores that can be made to fail, without a socket: what a test sends to it comes
//! at the moment that the test chooses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use samovar_core::command::Text;
use samovar_core::history::{
    LastTurn, MessageQuery, MessageRow, Projection, SessionQuery, SessionRow, Speakers, Totals,
};
use samovar_core::journal::{Batch, LogEntry, LogNo};
use samovar_core::{
    Accepted, Action, Approval, Bounds, Broken, Clock, Code, Command, Delivery, Epoch, Error,
    Event, Future, History, Ids, Journal, Kind, MessageId, Millis, Role, Sender, Seq, SessionId,
    TurnId,
};
use samovar_engine::{Engine, Ports, Settings, Toolbox};
use samovar_model_server::{ModelServer, Script};
use samovar_providers::ProviderConfig;
use samovar_server::providers::registry;
use samovar_stores::history::SqliteHistory;
use samovar_stores::journal::LmdbJournal;
use samovar_testkit::{MODEL, TestTool, install_tls};
use serde_json::Map;
use tempfile::TempDir;
use tokio::sync::Notify;

/// Whether a store is full now, and how often it said so.
#[derive(Clone, Default)]
pub(crate) struct Full(Arc<(AtomicBool, AtomicU64)>);

impl Full {
    pub(crate) fn set(&self, full: bool) {
        self.0.0.store(full, Ordering::SeqCst);
    }

    /// Waits until it has said so once more.
    pub(crate) async fn refuses(&self) {
        let before = self.refused();
        while self.refused() == before {
            tokio::task::yield_now().await;
        }
    }

    fn refused(&self) -> u64 {
        self.0.1.load(Ordering::SeqCst)
    }

    fn check(&self) -> Result<(), Broken> {
        if self.0.0.load(Ordering::SeqCst) {
            self.0.1.fetch_add(1, Ordering::SeqCst);
            return Err(Broken::Full("on purpose".to_owned()));
        }
        Ok(())
    }
}

/// Whether something new is to come with every write of the history, and what came.
#[derive(Clone, Default)]
pub(crate) struct Bustle {
    is_on: Arc<AtomicBool>,
    /// Whether nobody hears of commits.
    is_held: Arc<AtomicBool>,
    commits: Arc<AtomicU64>,
    swept: Arc<Notify>,
}

impl Bustle {
    pub(crate) fn begin(&self) {
        self.is_on.store(true, Ordering::SeqCst);
    }

    /// Lets nobody hear of what is committed, from the next commit on, for which it waits.
    pub(crate) async fn hold(&self, begin: impl FnOnce()) {
        self.is_held.store(true, Ordering::SeqCst);
        let before = self.commits.load(Ordering::SeqCst);
        begin();
        while self.commits.load(Ordering::SeqCst) == before {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn let_go(&self) {
        self.is_held.store(false, Ordering::SeqCst);
    }

    async fn held(&self) {
        while self.is_held.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
    }

    /// Waits until the journal is swept.
    pub(crate) async fn sweeps(&self) {
        self.swept.notified().await;
    }

    async fn goes_on(&self) {
        let before = self.commits.load(Ordering::SeqCst);
        while self.is_on.load(Ordering::SeqCst) && self.commits.load(Ordering::SeqCst) == before {
            tokio::task::yield_now().await;
        }
    }
}

/// A journal that may be full, in which this session is damaged.
struct FullJournal(LmdbJournal, Full, Option<SessionId>, Bustle);

impl Journal for FullJournal {
    fn epoch(&self) -> Epoch {
        self.0.epoch()
    }

    fn was_closed(&self) -> bool {
        self.0.was_closed()
    }

    fn new_log(&self) -> LogNo {
        self.0.new_log()
    }

    fn commit(&self, batch: Batch) -> Future<'static, Result<(), Broken>> {
        match self.1.check() {
            Ok(()) => {
                self.3.commits.fetch_add(1, Ordering::SeqCst);
                let (kept, bustle) = (self.0.commit(batch), self.3.clone());
                Box::pin(async move {
                    let kept = kept.await;
                    bustle.held().await;
                    kept
                })
            }
            Err(broken) => Box::pin(std::future::ready(Err(broken))),
        }
    }

    fn spool(&self, log: LogNo, events: &[Arc<Event>]) -> Result<(), Broken> {
        self.0.spool(log, events)
    }

    fn entry(&self, session: &SessionId) -> Result<Option<LogEntry>, Broken> {
        if self.2.as_ref() == Some(session) {
            return Err(Broken::Damaged("on purpose".to_owned()));
        }
        self.0.entry(session)
    }

    fn read(&self, log: LogNo, after: Seq, max_bytes: usize) -> Result<Vec<Event>, Broken> {
        self.0.read(log, after, max_bytes)
    }

    fn unsettled(&self) -> Result<Vec<(SessionId, LogEntry)>, Broken> {
        self.0.unsettled()
    }

    fn projected(&self, marks: Vec<(LogNo, Seq)>) {
        self.0.projected(marks);
    }

    fn give_up(&self, log: LogNo, up_to: Seq, at: Millis) -> Future<'static, Result<(), Broken>> {
        self.0.give_up(log, up_to, at)
    }

    fn discard(&self, session: &SessionId) -> Future<'static, Result<(), Broken>> {
        self.0.discard(session)
    }

    fn sweep(&self, before: Millis) -> Future<'static, Result<(), Broken>> {
        self.3.swept.notify_one();
        self.0.sweep(before)
    }

    fn close(&self) -> Future<'static, Result<(), Broken>> {
        self.0.close()
    }
}

struct FullHistory(SqliteHistory, Full, Bustle);

impl History for FullHistory {
    fn project(&self, projections: Vec<Projection>) -> Future<'_, Result<(), Broken>> {
        match self.1.check() {
            Ok(()) => Box::pin(async {
                self.0.project(projections).await?;
                self.2.goes_on().await;
                Ok(())
            }),
            Err(broken) => Box::pin(std::future::ready(Err(broken))),
        }
    }

    fn sync(&self) -> Future<'_, Result<(), Broken>> {
        self.0.sync()
    }

    fn session<'a>(&'a self, id: &'a SessionId) -> Future<'a, Result<Option<SessionRow>, Broken>> {
        self.0.session(id)
    }

    fn sessions(&self, query: SessionQuery) -> Future<'_, Result<(Vec<SessionRow>, u64), Broken>> {
        self.0.sessions(query)
    }

    fn messages(&self, query: MessageQuery) -> Future<'_, Result<Vec<MessageRow>, Broken>> {
        self.0.messages(query)
    }

    fn message<'a>(&'a self, id: &'a MessageId) -> Future<'a, Result<Option<MessageRow>, Broken>> {
        self.0.message(id)
    }

    fn turn_from<'a>(
        &'a self,
        session: &'a SessionId,
        turn: &'a TurnId,
    ) -> Future<'a, Result<Option<Seq>, Broken>> {
        self.0.turn_from(session, turn)
    }

    fn last_turn<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> Future<'a, Result<Option<LastTurn>, Broken>> {
        self.0.last_turn(session)
    }

    fn is_over<'a>(
        &'a self,
        session: &'a SessionId,
        turn: &'a TurnId,
    ) -> Future<'a, Result<bool, Broken>> {
        self.0.is_over(session, turn)
    }

    fn discard<'a>(&'a self, session: &'a SessionId) -> Future<'a, Result<(), Broken>> {
        self.0.discard(session)
    }

    fn totals(&self) -> Future<'_, Result<Totals, Broken>> {
        self.0.totals()
    }

    fn close(&self) -> Future<'_, Result<(), Broken>> {
        self.0.close()
    }
}

/// A clock that ticks when it is read, and ids that count.
#[derive(Default)]
struct Counter(AtomicU64);

impl Clock for Counter {
    fn now(&self) -> Millis {
        let ticks = self.0.fetch_add(1, Ordering::SeqCst);
        Millis(4_000_000_000_000 + i64::try_from(ticks).unwrap())
    }
}

impl Ids for Counter {
    fn uuid(&self) -> String {
        format!("id-{}", self.0.fetch_add(1, Ordering::SeqCst))
    }
}

/// An engine with one session, on stores that can be made to fail.
pub(crate) struct Rig {
    pub(crate) engine: Arc<Engine>,
    pub(crate) model: ModelServer,
    pub(crate) journal: Full,
    pub(crate) history: Full,
    pub(crate) bustle: Bustle,
    folder: TempDir,
}

impl Rig {
    pub(crate) async fn new(script: impl Into<Script>) -> Self {
        install_tls();
        let folder = tempfile::tempdir().unwrap();
        let model = ModelServer::start(script).await.unwrap();
        let rig = Self::on(folder, model, None).await;
        rig.open(session()).await;
        rig
    }

    /// The same with tools.
    pub(crate) async fn with(script: impl Into<Script>, tools: Vec<TestTool>) -> Self {
        let rig = Self::new(script).await;
        for tool in tools {
            rig.engine.toolbox().add(&tool.build()).unwrap();
        }
        rig
    }

    /// The next run on the same stores, in which a session is damaged.
    pub(crate) async fn again(self, damaged: SessionId) -> Self {
        let Self {
            engine,
            model,
            folder,
            ..
        } = self;
        engine.shutdown(Duration::ZERO).await;
        drop(engine);
        Self::on(folder, model, Some(damaged)).await
    }

    async fn on(folder: TempDir, model: ModelServer, damaged: Option<SessionId>) -> Self {
        let (journal, history) = (Full::default(), Full::default());
        let bustle = Bustle::default();
        let lmdb = loop {
            // The thread of the journal before may need a moment to let go.
            match LmdbJournal::open(folder.path(), 1000) {
                Ok((lmdb, _)) => break lmdb,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        let sqlite = SqliteHistory::open(folder.path().join("history.db")).await;
        let mut providers = ProviderConfig::default();
        let urls = &mut providers.base_urls;
        urls.insert("custom".to_owned(), model.base_url());
        let ports = Ports {
            journal: Arc::new(FullJournal(lmdb, journal.clone(), damaged, bustle.clone())),
            history: Arc::new(FullHistory(
                sqlite.unwrap(),
                history.clone(),
                bustle.clone(),
            )),
            models: Arc::new(registry(providers)),
            toolbox: Arc::new(Toolbox::default()),
            clock: Arc::new(Counter::default()),
            ids: Arc::new(Counter::default()),
            damages: Arc::new(()),
        };
        let settings = Settings {
            approval: Approval::Auto,
            read_wait: Duration::from_millis(20),
            sync_every: Duration::from_millis(20),
            ..Settings::default()
        };
        let engine = Engine::start(ports, settings).await.unwrap();
        Self {
            engine,
            model,
            journal,
            history,
            bustle,
            folder,
        }
    }

    /// Makes a session.
    pub(crate) async fn open(&self, session: SessionId) {
        let open = Action::Open {
            model: Some(MODEL.to_owned()),
            metadata: Map::new(),
        };
        send(&self.engine, session, open).await.unwrap();
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
        match self.submit(said(text, delivery)).await {
            Ok(Accepted::Posted { turn, .. }) => turn,
            other => panic!("{other:?}"),
        }
    }

    /// Waits until a turn is over.
    pub(crate) async fn over(&self, turn: &TurnId) {
        let is_end = |event: &Event| {
            let is_end = matches!(event.kind, Kind::TurnFinished { .. });
            is_end && event.turn.as_ref() == Some(turn)
        };
        self.sees(is_end).await;
    }

    /// Waits for an event of the session.
    pub(crate) async fn sees(&self, is_it: impl Fn(&Event) -> bool) -> Arc<Event> {
        see(&self.engine, is_it).await
    }

    /// The session, for readers, who need not know how far the history is.
    pub(crate) async fn row(&self) -> SessionRow {
        let row = self.engine.session(&session()).await.unwrap();
        let projected = Seq::default();
        SessionRow { projected, ..row }
    }

    /// What the user said, for readers.
    pub(crate) async fn asked(&self) -> Vec<String> {
        let query = MessageQuery {
            session: session(),
            limit: 9,
            before: None,
            of: Speakers::All,
        };
        let rows = self.engine.messages(query).await.unwrap();
        let of_user = rows.iter().filter(|row| row.message.role == Role::User);
        of_user.map(|row| row.message.text()).collect()
    }
}

/// Sends a command to a session.
pub(crate) async fn send(
    engine: &Engine,
    session: SessionId,
    action: Action,
) -> Result<Accepted, Error> {
    let by = Sender::Embedder;
    let command = Command {
        by,
        session,
        action,
    };
    engine.submit(command).await
}

/// Waits for an event of the session.
pub(crate) async fn see(engine: &Engine, is_it: impl Fn(&Event) -> bool) -> Arc<Event> {
    let mut reader = engine.follow(&session(), Seq(0)).await.unwrap();
    loop {
        let events = reader.next().await.unwrap();
        if let Some(event) = events.into_iter().find(|event| is_it(event)) {
            return event;
        }
    }
}

/// Something that a user says.
pub(crate) fn said(text: &str, delivery: Delivery) -> Action {
    Action::Post {
        message: None,
        text: Text::new(text.to_owned()).unwrap(),
        bounds: Bounds::default(),
        delivery,
    }
}

pub(crate) fn session() -> SessionId {
    SessionId::new("s").unwrap()
}
