//! The history behind its port, on a real file.

mod agents;
mod damage;
mod disk;
mod exchanges;
mod flip;
mod kill;
mod projecting;
mod reading;
mod replay;
mod said;
mod schema;
mod searching;
mod undoing;

use std::sync::Arc;

use samovar_core::history::{
    Change, MessageQuery, MessageRow, Opened, Projection, SessionRow, Speakers,
};
use samovar_core::{
    AgentPath, Approval, Bill, Broken, Budget, FinishReason, History, Message, MessageId, Millis,
    Part, Role, Seq, SessionId, TurnId, Usage, Usd,
};
use samovar_doubles::MemoryHistory;
use samovar_stores::history::SqliteHistory;
use samovar_stores::read_history;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// A history, and the folder that it may use.
struct TestHistory {
    folder: TempDir,
    history: Arc<dyn History>,
}

impl TestHistory {
    /// Every history there is, new; a further one adds a line.
    async fn every() -> Vec<Self> {
        let memory = Self {
            folder: TempDir::new().unwrap(),
            history: Arc::new(MemoryHistory::default()),
        };
        vec![memory, Self::new().await]
    }

    /// The one on `SQLite`.
    async fn new() -> Self {
        Self::open(TempDir::new().unwrap()).await
    }

    async fn open(folder: TempDir) -> Self {
        let history = SqliteHistory::open(folder.path().join("history.db")).await;
        Self {
            folder,
            history: Arc::new(history.unwrap()),
        }
    }

    /// The same file, as the next start of the server finds it.
    async fn reopened(self) -> Self {
        if !self.has_tables() {
            return self;
        }
        self.history.close().await.unwrap();
        Self::open(self.folder).await
    }

    fn has_tables(&self) -> bool {
        self.folder.path().join("history.db").exists()
    }

    /// Every row has its checksum, every session its preview and its count.
    async fn verifies(&self) {
        if !self.has_tables() {
            return;
        }
        let read = read_history(self.folder.path()).await;
        let read = read.unwrap();
        assert!(read.damaged.is_empty() && read.odd.is_empty(), "{read:?}");
        // Totals leave out a session whose counts are not what was written.
        let totals = self.history.totals().await.unwrap();
        assert_eq!(totals.sessions, read.sessions);
        let stale = "SELECT id FROM sessions WHERE json_array(preview, preview_seq) IS NOT \
                     coalesce((SELECT json_array( \
                     substr(json_extract(m.parts, '$[0].text'), 1, 200), m.turn_seq) \
                     FROM message_rows AS m WHERE m.session_key = sessions.key \
                     AND m.role = 'user' AND m.depth = 0 ORDER BY m.turn_seq, m.seq LIMIT 1), \
                     json_array(NULL, NULL))";
        assert_eq!(self.asked(stale), [""; 0]);
    }

    /// Whether a statement answers with these rows, where the history has tables.
    fn has(&self, sql: &str, rows: &[&str]) {
        if self.has_tables() {
            assert_eq!(self.asked(sql), rows);
        }
    }

    async fn project(&self, session: &str, changes: Vec<(u64, Change)>) {
        let projection = projection(session, changes);
        self.history.project(vec![projection]).await.unwrap();
    }

    async fn session(&self, id: &str) -> SessionRow {
        let found = self.history.session(&session_id(id)).await.unwrap();
        found.unwrap()
    }

    async fn message(&self, id: &str) -> MessageRow {
        let found = self.history.message(&message_id(id)).await.unwrap();
        found.unwrap()
    }

    /// The ids of a session's last messages, oldest first.
    async fn ids(&self, query: MessageQuery) -> Vec<String> {
        let messages = self.history.messages(query).await.unwrap();
        let ids = messages.iter().map(|row| row.message.id.to_string());
        ids.collect()
    }

    /// A connection beside the store's own.
    fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.folder.path().join("history.db")).unwrap()
    }

    /// What a statement answers, each row as text.
    fn asked(&self, sql: &str) -> Vec<String> {
        let connection = self.sql();
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }
}

fn projection(session: &str, changes: Vec<(u64, Change)>) -> Projection {
    let up_to = Seq(changes.last().map_or(0, |(seq, _)| *seq));
    let changes = changes.into_iter().map(|(seq, change)| (Seq(seq), change));
    Projection {
        session: session_id(session),
        up_to,
        changes: changes.collect(),
    }
}

fn session_id(id: &str) -> SessionId {
    SessionId::new(id).unwrap()
}

fn message_id(id: &str) -> MessageId {
    MessageId::new(id).unwrap()
}

fn turn_id(id: &str) -> TurnId {
    TurnId::new(id).unwrap()
}

fn master() -> AgentPath {
    AgentPath::root("master")
}

fn tokens(input: u64, output: u64) -> Usage {
    Usage {
        input,
        output,
        ..Usage::default()
    }
}

fn open() -> Change {
    open_with(Map::new(), 1000)
}

fn open_with(metadata: Map<String, Value>, at: i64) -> Change {
    Change::Open(Opened {
        model: "demo".to_owned(),
        route: Some("first".to_owned()),
        agent: "master".to_owned(),
        system_prompt: samovar_core::SystemPrompt::new("Be brief.\nSpeak French.").ok(),
        approval: Some(Approval::Supervised),
        begun_by: None,
        metadata,
        at: Millis(at),
    })
}

fn titled(title: &str) -> Map<String, Value> {
    Map::from_iter([("title".to_owned(), json!(title))])
}

/// A message with one text.
fn message(id: &str, role: Role, text: &str) -> Message {
    Message::new(message_id(id), role, vec![Part::text(text)], Millis(1000))
}

fn put(message: Message, turn: Option<&str>, agent: AgentPath) -> Change {
    Change::Put {
        message: Arc::new(message),
        turn: turn.map(turn_id),
        agent,
    }
}

/// Something that a person said to the session's own agent.
fn asked(id: &str, turn: Option<&str>) -> Change {
    put(message(id, Role::User, "hello"), turn, master())
}

fn started(turn: &str) -> Change {
    Change::TurnStarted {
        turn: turn_id(turn),
        agent: master(),
        parent_call: None,
        background: false,
        budget: Budget::of_tokens(9),
        at: Millis(1000),
    }
}

fn finished(turn: &str) -> Change {
    Change::TurnFinished {
        turn: turn_id(turn),
        reason: FinishReason::Model("stop".to_owned()),
        fault: None,
        usage: tokens(3, 4),
        iterations: 2,
        bill: Bill {
            cost: Some(Usd::from_nanos(5)),
            ..Bill::default()
        },
        at: Millis(1000),
    }
}

/// The last `limit` messages of a session, everybody's.
fn last(session: &str, limit: u32) -> MessageQuery {
    MessageQuery {
        session: session_id(session),
        limit,
        before: None,
        of: Speakers::All,
    }
}

/// What a store says that is damaged.
fn damage<T>(of: &str, result: Result<T, Broken>) -> String {
    match result {
        Err(Broken::Damaged(why)) => why,
        Err(other) => panic!("{of}: not damaged, but: {other}"),
        Ok(_) => panic!("{of}: not damaged at all"),
    }
}
