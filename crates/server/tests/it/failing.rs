//! Stores that fail for a while: what is refused then has not happened.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use samovar_core::command::Text;
use samovar_core::history::{
    LastTurn, MessageQuery, MessageRow, Projection, SessionQuery, SessionRow, Speakers, Totals,
};
use samovar_core::journal::{Batch, LogEntry, LogNo};
use samovar_core::{
    Accepted, Action, Bounds, Broken, Clock, Code, Command, Delivery, Epoch, Error, Event, Future,
    History, Ids, Journal, MessageId, Millis, Sender, Seq, SessionId, Title, TurnId,
};
use samovar_engine::{Engine, Ports, Settings, Toolbox};
use samovar_model_server::{Gate, ModelServer, When, say};
use samovar_providers::{ProviderConfig, Registry};
use samovar_stores::history::SqliteHistory;
use samovar_stores::journal::LmdbJournal;
use samovar_testkit::{MODEL, install_tls};
use serde_json::Map;
use tempfile::TempDir;

/// Whether a store is full now.
#[derive(Clone, Default)]
struct Full(Arc<AtomicBool>);

impl Full {
    fn set(&self, full: bool) {
        self.0.store(full, Ordering::SeqCst);
    }

    fn check(&self) -> Result<(), Broken> {
        if self.0.load(Ordering::SeqCst) {
            return Err(Broken::Full("on purpose".to_owned()));
        }
        Ok(())
    }
}

struct FullJournal(LmdbJournal, Full);

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
            Ok(()) => self.0.commit(batch),
            Err(broken) => Box::pin(std::future::ready(Err(broken))),
        }
    }

    fn spool(&self, log: LogNo, events: &[Arc<Event>]) -> Result<(), Broken> {
        self.0.spool(log, events)
    }

    fn entry(&self, session: &SessionId) -> Result<Option<LogEntry>, Broken> {
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
        self.0.sweep(before)
    }

    fn close(&self) -> Future<'static, Result<(), Broken>> {
        self.0.close()
    }
}

struct FullHistory(SqliteHistory, Full);

impl History for FullHistory {
    fn project(&self, projections: Vec<Projection>) -> Future<'_, Result<(), Broken>> {
        match self.1.check() {
            Ok(()) => self.0.project(projections),
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
struct Rig {
    engine: Arc<Engine>,
    model: ModelServer,
    journal: Full,
    history: Full,
    _folder: TempDir,
}

impl Rig {
    async fn new(script: impl Into<samovar_model_server::Script>) -> Self {
        install_tls();
        let (folder, model) = (
            tempfile::tempdir().unwrap(),
            ModelServer::start(script).await,
        );
        let model = model.unwrap();
        let (journal, history) = (Full::default(), Full::default());
        let (lmdb, _) = LmdbJournal::open(folder.path(), 1000).unwrap();
        let sqlite = SqliteHistory::open(folder.path().join("history.db")).await;
        let mut providers = ProviderConfig::default();
        let urls = &mut providers.base_urls;
        urls.insert("custom".to_owned(), model.base_url());
        let ports = Ports {
            journal: Arc::new(FullJournal(lmdb, journal.clone())),
            history: Arc::new(FullHistory(sqlite.unwrap(), history.clone())),
            models: Arc::new(Registry::new(providers)),
            toolbox: Arc::new(Toolbox::default()),
            clock: Arc::new(Counter::default()),
            ids: Arc::new(Counter::default()),
            damages: Arc::new(()),
        };
        let settings = Settings {
            read_wait: Duration::from_millis(20),
            ..Settings::default()
        };
        let engine = Engine::start(ports, settings).await.unwrap();
        let rig = Self {
            engine,
            model,
            journal,
            history,
            _folder: folder,
        };
        let open = Action::Open {
            model: Some(MODEL.to_owned()),
            metadata: Map::new(),
        };
        rig.submit(open).await.unwrap();
        rig
    }

    async fn submit(&self, action: Action) -> Result<Accepted, Error> {
        let (by, session) = (Sender::Embedder, session());
        let command = Command {
            by,
            session,
            action,
        };
        self.engine.submit(command).await
    }

    async fn refused(&self, action: Action) -> Code {
        self.submit(action).await.unwrap_err().code
    }

    async fn post(&self, text: &str) -> TurnId {
        let post = Action::Post {
            message: None,
            text: Text::new(text.to_owned()).unwrap(),
            bounds: Bounds::default(),
            delivery: Delivery::Queue,
        };
        match self.submit(post).await {
            Ok(Accepted::Posted { turn, .. }) => turn,
            other => panic!("{other:?}"),
        }
    }

    /// Waits until a turn is over.
    async fn over(&self, turn: &TurnId) {
        let mut reader = self.engine.follow(&session(), Seq(0)).await.unwrap();
        loop {
            let ends = |event: &Arc<Event>| {
                let is_end = matches!(event.kind, samovar_core::Kind::TurnFinished { .. });
                is_end && event.turn.as_ref() == Some(turn)
            };
            if reader.next().await.unwrap().iter().any(ends) {
                return;
            }
        }
    }

    /// What the user said, for readers.
    async fn asked(&self) -> Vec<String> {
        let query = MessageQuery {
            session: session(),
            limit: 9,
            before: None,
            of: Speakers::All,
        };
        let rows = self.engine.messages(query).await.unwrap();
        let of_user = rows
            .iter()
            .filter(|row| row.message.role == samovar_core::Role::User);
        of_user.map(|row| row.message.text()).collect()
    }
}

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

fn rename(title: &str) -> Action {
    Action::Change {
        model: Some("custom/other".to_owned()),
        title: Title::new(title).ok(),
    }
}

// proves DU-12
#[tokio::test]
async fn a_message_whose_cancel_could_not_be_kept_waits_on() {
    let gate = Gate::new("first");
    let rig = Rig::new([
        say("one two")
            .hold_after(1, &gate)
            .when(When::user("first")),
        say("three").when(When::user("second")),
    ])
    .await;
    rig.post("first").await;
    let second = rig.post("second").await;
    let cancel = || Action::Cancel {
        turn: Some(second.clone()),
    };

    rig.journal.set(true);
    assert_eq!(rig.refused(cancel()).await, Code::StoreFull);
    rig.journal.set(false);
    rig.model.open(&gate).unwrap();
    rig.over(&second).await;

    assert_eq!(rig.model.prompts().len(), 2, "its turn came");
    let late = rig.submit(cancel()).await;
    assert_eq!(late, Ok(Accepted::Cancelled { stopped: false }));
}

// proves DU-12
#[tokio::test]
async fn a_change_or_an_undo_that_cannot_be_kept_is_refused_and_has_not_happened() {
    let rig = Rig::new([say("an answer").forever()]).await;
    let turn = rig.post("first").await;
    rig.over(&turn).await;
    let before = rig.engine.session(&session()).await.unwrap();

    rig.journal.set(true);
    assert_eq!(rig.refused(rename("Tea")).await, Code::StoreFull);
    assert_eq!(rig.refused(Action::Undo).await, Code::StoreFull);
    rig.journal.set(false);

    assert_eq!(rig.engine.session(&session()).await.unwrap(), before);
    let turn = rig.post("second").await;
    rig.over(&turn).await;
    let prompt = rig.model.prompts().pop().unwrap();
    assert_eq!(prompt.body()["model"], "scripted");
    assert_eq!(rig.asked().await, ["first", "second"]);
    let undone = rig.submit(Action::Undo).await;
    assert!(matches!(undone, Ok(Accepted::Undone { text, .. }) if text == "second"));
}

// proves DU-2
#[tokio::test]
async fn reads_show_a_change_that_the_history_cannot_take_yet_and_an_undo_waits_for_it() {
    let rig = Rig::new([say("an answer").forever()]).await;
    let turn = rig.post("first").await;
    rig.over(&turn).await;
    assert_eq!(rig.asked().await, ["first"]);

    rig.history.set(true);
    rig.submit(rename("Tea")).await.unwrap();
    let turn = rig.post("second").await;
    rig.over(&turn).await;

    let row = rig.engine.session(&session()).await.unwrap();
    assert_eq!(row.title.as_ref().map(Title::as_str), Some("Tea"));
    assert_eq!((row.model.as_str(), row.message_count), ("custom/other", 4));
    assert_eq!(rig.asked().await, ["first", "second"]);
    assert_eq!(rig.refused(Action::Undo).await, Code::StoreFull);
    assert_eq!(rig.asked().await, ["first", "second"]);

    rig.history.set(false);
    let undone = loop {
        // The projector rests between its tries.
        match rig.submit(Action::Undo).await {
            Err(error) if error.code == Code::StoreFull => {}
            undone => break undone,
        }
    };
    assert!(matches!(undone, Ok(Accepted::Undone { text, .. }) if text == "second"));
    assert_eq!(rig.asked().await, ["first"]);
}
