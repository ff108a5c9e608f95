//! A data directory that a killed server left, and what is seen of it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use samovar_core::error::FaultCode;
use samovar_core::event::Fragment;
use samovar_core::history::{MessageQuery, Speakers};
use samovar_core::journal::Batch;
use samovar_core::{
    Accepted, Action, AgentPath, Approval, Author, Bounds, CallId, Closer, Command, Effect, Event,
    FinishReason, Journal, Kind, Limits, Message, MessageId, Millis, Outcome, Part, Reply, Role,
    Sender, Seq, SessionId, Status, ToolCall, TurnId,
};
use samovar_engine::Recovery;
use samovar_model_server::{ModelServer, Script, say};
use samovar_server::{Config, Home};
use samovar_stores::journal::LmdbJournal;
use samovar_testkit::{MODEL, TestTool, install_tls};
use serde_json::{Map, json};
use tempfile::TempDir;

/// A time that no sweep has reached yet.
pub(super) const NOW: Millis = Millis(4_000_000_000_000);

/// A data directory whose sessions, `s` first, have a turn each that the server was killed under.
pub(super) struct Cut {
    folder: TempDir,
    pub(super) model: ModelServer,
    settings: fn(&mut Config),
}

/// What was called, and under which key.
pub(super) type Ran = Arc<Mutex<Vec<(String, CallId)>>>;

impl Cut {
    /// `live` are the deltas behind the facts.
    pub(super) async fn after(facts: Vec<Kind>, live: Vec<Kind>) -> Self {
        let cut = Self::before([say("the end").forever()]).await;
        let journal = cut.journal();
        keep(&journal, "s", facts, live).await;
        // Nobody closes it, as nobody does when a process is killed.
        drop(journal);
        cut
    }

    /// Nothing happened yet.
    pub(super) async fn before(script: impl Into<Script>) -> Self {
        install_tls();
        let cut = Self {
            folder: tempfile::tempdir().unwrap(),
            model: ModelServer::start(script).await.unwrap(),
            settings: |_| {},
        };
        std::fs::create_dir_all(cut.data()).unwrap();
        std::fs::create_dir_all(cut.folder.path().join("workspace")).unwrap();
        cut
    }
    pub(super) fn with(self, settings: fn(&mut Config)) -> Self {
        Self { settings, ..self }
    }

    pub(super) fn journal(&self) -> LmdbJournal {
        // The thread of the journal before may need a moment to let go.
        loop {
            match LmdbJournal::open(&self.data(), 1000) {
                Ok((journal, _)) => return journal,
                Err(_) => std::thread::yield_now(),
            }
        }
    }

    pub(super) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Opens it with these tools.
    pub(super) async fn open(&self, tools: Vec<TestTool>) -> Home {
        let mut config = Config::new(self.data(), self.folder.path().join("workspace"));
        config.settings.recovery = Recovery::UsedSessions;
        config.settings.approval = Approval::Auto;
        let urls = &mut config.providers.base_urls;
        urls.insert("custom".to_owned(), self.model.base_url());
        config.toolsets = tools.into_iter().map(TestTool::build).collect();
        (self.settings)(&mut config);
        loop {
            match Home::open(&config).await {
                Ok(home) => break home,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }
}

/// Keeps a session whose turn is not over.
pub(super) async fn keep(journal: &LmdbJournal, name: &str, facts: Vec<Kind>, live: Vec<Kind>) {
    let log = journal.new_log();
    let event = |(seq, kind): (u64, Kind)| {
        let turn = (seq > 1).then(|| TurnId::new("t").unwrap());
        Arc::new(Event {
            seq: Seq(seq),
            epoch: journal.epoch(),
            at: NOW,
            turn,
            agent: AgentPath::root("master"),
            author: Author::Agent,
            kind,
        })
    };
    let message = format!("m-{name}");
    let mut all = vec![opened(), said(&message, "go"), started()];
    all.extend(facts);
    let behind = all.len() as u64 + 1;
    let batch = Batch {
        log,
        session: SessionId::new(name).unwrap(),
        events: (1..).zip(all).map(event).collect(),
        folded: Vec::new(),
        open_from: Some(Seq(2)),
    };
    journal.commit(batch).await.unwrap();
    let live: Vec<_> = (behind..).zip(live).map(event).collect();
    journal.spool(log, &live).unwrap();
}

/// Every event of the turn, to its end.
pub(super) async fn whole_turn(home: &Home) -> Vec<Kind> {
    let mut reader = home.engine().follow(&session(), Seq(1)).await.unwrap();
    let mut kinds = Vec::new();
    loop {
        for event in reader.next().await.unwrap() {
            kinds.push(event.kind.clone());
            if matches!(event.kind, Kind::TurnFinished { .. }) {
                return kinds;
            }
        }
    }
}

pub(super) fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

pub(super) fn opened() -> Kind {
    Kind::SessionOpened {
        model: MODEL.to_owned(),
        metadata: Map::new(),
    }
}

pub(super) fn message(id: &str, role: Role, parts: Vec<Part>) -> Message {
    Message {
        id: MessageId::new(id).unwrap(),
        role,
        parts,
        parent: None,
        usage: None,
        model: None,
        finish_reason: None,
        metadata: Map::new(),
        created_at: NOW,
    }
}

pub(super) fn said(id: &str, text: &str) -> Kind {
    let text = text.to_owned();
    Kind::finished(message(id, Role::User, vec![Part::Text { text }]))
}

pub(super) fn started() -> Kind {
    Kind::TurnStarted {
        model: MODEL.to_owned(),
        limits: Limits::default(),
        approval: Approval::Auto,
        bounds: Bounds::default(),
        parent_call: None,
    }
}

pub(super) fn step() -> Kind {
    Kind::StepStarted {
        iteration: 1,
        attempt: 1,
        reserved_tokens: 4096,
        model: None,
    }
}

pub(super) fn call_id(name: &str) -> CallId {
    CallId::new(&format!("call_{name}")).unwrap()
}

/// The model asked for one call of each of these tools.
pub(super) fn asked_for(names: &[&str]) -> Kind {
    let call = |name: &&str| {
        Part::Call(ToolCall {
            id: call_id(name),
            name: (*name).to_owned(),
            args: json!({}),
            provider_state: None,
        })
    };
    let parts = names.iter().map(call).collect();
    Kind::finished(message("a", Role::Assistant, parts))
}

pub(super) fn begun(name: &str, effect: Effect) -> Kind {
    Kind::CallStarted {
        call: call_id(name),
        name: name.to_owned(),
        effect,
        args_hash: String::new(),
        closer: Closer::Tool,
        deadline: None,
        probe: None,
    }
}

/// A call that somebody outside is to close.
pub(super) fn left_open(name: &str) -> Kind {
    let mut begun = begun(name, Effect::Idempotent);
    if let Kind::CallStarted { closer, .. } = &mut begun {
        *closer = Closer::Outside;
    }
    begun
}

pub(super) fn live(text: &str) -> Vec<Kind> {
    let id = || MessageId::new("half").unwrap();
    let delta = |text: &str| Kind::Delta {
        message: id(),
        part: 0,
        fragment: Fragment::Text(text.to_owned()),
    };
    let begin = Kind::MessageStarted {
        message: id(),
        role: Role::Assistant,
    };
    [begin]
        .into_iter()
        .chain(text.split_inclusive(' ').map(delta))
        .collect()
}

/// A tool that notes its calls.
pub(super) fn noting(name: &'static str, ran: &Ran) -> TestTool {
    let ran = ran.clone();
    TestTool::new(name, move |_, context| {
        ran.lock().unwrap().push((name.to_owned(), context.key));
        async { Reply::Closed(Outcome::done("did it")) }
    })
}

pub(super) fn outcomes(kinds: &[Kind]) -> Vec<(String, Status)> {
    let closed = kinds.iter().filter_map(|kind| match kind {
        Kind::CallClosed { name, outcome, .. } => Some((name.clone(), outcome.status)),
        _ => None,
    });
    let mut closed: Vec<_> = closed.collect();
    closed.sort_by(|one, other| one.0.cmp(&other.0));
    closed
}

pub(super) fn continued(kinds: &[Kind]) -> Vec<u32> {
    let count = |kind: &Kind| match kind {
        Kind::TurnContinued { in_a_row } => Some(*in_a_row),
        _ => None,
    };
    kinds.iter().filter_map(count).collect()
}

pub(super) fn end(kinds: &[Kind]) -> (FinishReason, Option<FaultCode>) {
    match kinds.last() {
        Some(Kind::TurnFinished { reason, fault, .. }) => {
            (reason.clone(), fault.as_ref().map(|fault| fault.code))
        }
        other => panic!("{other:?}"),
    }
}

pub(super) async fn texts(home: &Home) -> Vec<String> {
    let query = MessageQuery {
        session: session(),
        limit: 99,
        before: None,
        of: Speakers::All,
    };
    let rows = home.engine().messages(query).await.unwrap();
    rows.iter().map(|row| row.message.text()).collect()
}

pub(super) async fn submit(home: &Home, action: Action) -> Result<Accepted, samovar_core::Error> {
    let command = Command {
        by: Sender::CommandLine,
        session: session(),
        action,
    };
    home.engine().submit(command).await
}
