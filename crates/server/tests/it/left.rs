//! What a killed server kept in the journal and could not bring into the history any more.

use std::path::PathBuf;
use std::sync::Arc;

use samovar_core::command::Text;
use samovar_core::history::{MessageQuery, SessionQuery, Speakers};
use samovar_core::journal::Batch;
use samovar_core::{
    Accepted, Action, AgentPath, Approval, Author, Bounds, CallId, Closer, Code, Command, Delivery,
    Effect, Error, Event, FinishReason, Journal, Kind, Limits, Message, MessageId, Millis, Outcome,
    Part, Role, Sender, Seq, SessionId, Title, ToolCall, TurnId, Usage,
};
use samovar_engine::Recovery;
use samovar_model_server::{ModelServer, say};
use samovar_server::{Config, Home};
use samovar_stores::journal::LmdbJournal;
use samovar_testkit::{MODEL, install_tls};
use serde_json::{Map, json};
use tempfile::TempDir;

/// A time that no sweep has reached yet.
const NOW: Millis = Millis(4_000_000_000_000);

/// A data directory whose journal has two sessions that no history knows: in `waiting` a message
/// waits for its turn, in `running` a turn had begun.
struct Left {
    folder: TempDir,
    model: ModelServer,
}

impl Left {
    async fn new() -> Self {
        install_tls();
        let left = Self {
            folder: tempfile::tempdir().unwrap(),
            model: ModelServer::start([say("done").forever()]).await.unwrap(),
        };
        std::fs::create_dir_all(left.data()).unwrap();
        std::fs::create_dir_all(left.folder.path().join("workspace")).unwrap();
        let (journal, _) = LmdbJournal::open(&left.data(), 1000).unwrap();
        let running = vec![
            (None, opened()),
            (Some("t1"), said("m1", "first")),
            (Some("t1"), started()),
            (Some("t1"), step()),
        ];
        keep(&journal, "running", running).await;
        let waiting = vec![(None, opened()), (Some("t2"), said("m2", "second"))];
        keep(&journal, "waiting", waiting).await;
        shut(journal).await;
        left
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    async fn open(&self, recovery: Recovery) -> Home {
        let mut config = Config::new(self.data(), self.folder.path().join("workspace"));
        config.settings.recovery = recovery;
        config.providers.default_model = Some(MODEL.to_owned());
        let urls = &mut config.providers.base_urls;
        urls.insert("custom".to_owned(), self.model.base_url());
        Home::open(&config).await.unwrap()
    }

    /// How many events a session's log has.
    async fn head(&self, session: &str) -> Option<u64> {
        let (journal, _) = LmdbJournal::open(&self.data(), 1000).unwrap();
        let entry = journal.entry(&id(session)).unwrap();
        shut(journal).await;
        entry
            .filter(|entry| !entry.deleted)
            .map(|entry| entry.head.0)
    }
}

/// Closes a journal; only then another can be opened in its place.
async fn shut(journal: LmdbJournal) {
    journal.close().await.unwrap();
}

/// Keeps a log whose only turn is not over.
async fn keep(journal: &LmdbJournal, session: &str, kinds: Vec<(Option<&str>, Kind)>) {
    let batch = Batch {
        open_from: Some(Seq(2)),
        ..batch(journal, session, 1, kinds)
    };
    journal.commit(batch).await.unwrap();
}

/// What one commit keeps of a log, in which nothing is open then.
fn batch(
    journal: &LmdbJournal,
    session: &str,
    from: u64,
    kinds: Vec<(Option<&str>, Kind)>,
) -> Batch {
    let entry = journal.entry(&id(session)).unwrap();
    let event = |(seq, (turn, kind)): (u64, (Option<&str>, Kind))| {
        Arc::new(Event {
            seq: Seq(seq),
            epoch: journal.epoch(),
            at: NOW,
            turn: turn.map(|turn| TurnId::new(turn).unwrap()),
            agent: AgentPath::root("master"),
            author: Author::User,
            kind,
        })
    };
    Batch {
        log: entry.map_or_else(|| journal.new_log(), |entry| entry.log),
        session: id(session),
        events: (from..).zip(kinds).map(event).collect(),
        folded: Vec::new(),
        open_from: None,
    }
}

fn opened() -> Kind {
    Kind::SessionOpened {
        model: MODEL.to_owned(),
        metadata: Map::new(),
    }
}

fn said(id: &str, text: &str) -> Kind {
    Kind::finished(Message {
        id: MessageId::new(id).unwrap(),
        role: Role::User,
        parts: vec![Part::Text {
            text: text.to_owned(),
        }],
        parent: None,
        usage: None,
        model: None,
        finish_reason: None,
        metadata: Map::new(),
        created_at: NOW,
    })
}

fn started() -> Kind {
    Kind::TurnStarted {
        model: MODEL.to_owned(),
        limits: Limits::default(),
        approval: Approval::Auto,
        bounds: Bounds::default(),
        parent_call: None,
    }
}

fn step() -> Kind {
    Kind::StepStarted {
        iteration: 1,
        attempt: 1,
        reserved_tokens: 4096,
        model: None,
    }
}

/// What follows when the model has asked the person.
fn asks(call: &CallId) -> [Kind; 2] {
    let name = "ask_user".to_owned();
    let asked = ToolCall {
        id: call.clone(),
        name: name.clone(),
        args: json!({"question": "which one?"}),
        provider_state: None,
    };
    let answer = Message {
        id: MessageId::new("a").unwrap(),
        role: Role::Assistant,
        parts: vec![Part::Call(asked)],
        parent: None,
        usage: None,
        model: Some(MODEL.to_owned()),
        finish_reason: Some("tool_calls".to_owned()),
        metadata: Map::new(),
        created_at: NOW,
    };
    let begun = Kind::CallStarted {
        call: call.clone(),
        name,
        effect: Effect::Read,
        args_hash: String::new(),
        closer: Closer::Person,
        deadline: None,
        probe: None,
    };
    [Kind::finished(answer), begun]
}

fn id(session: &str) -> SessionId {
    SessionId::new(session).unwrap()
}

async fn submit(home: &Home, session: &str, action: Action) -> Result<Accepted, Error> {
    let command = Command {
        by: Sender::CommandLine,
        session: id(session),
        action,
    };
    home.engine().submit(command).await
}

/// The sessions that a list has, in the order of the alphabet.
async fn listed(home: &Home) -> Vec<String> {
    let query = SessionQuery {
        limit: 9,
        ..SessionQuery::default()
    };
    let (rows, count) = home.engine().sessions(query).await.unwrap();
    assert_eq!(rows.len() as u64, count);
    let mut ids: Vec<_> = rows.iter().map(|row| row.id.to_string()).collect();
    ids.sort();
    ids
}

/// What a session's user said.
async fn asked(home: &Home, session: &str) -> Vec<String> {
    let query = MessageQuery {
        session: id(session),
        limit: 9,
        before: None,
        of: Speakers::All,
    };
    let rows = home.engine().messages(query).await.unwrap();
    let of_user = rows.iter().filter(|row| row.message.role == Role::User);
    of_user.map(|row| row.message.text()).collect()
}

// proves CH-10
#[tokio::test]
async fn who_looks_for_open_calls_or_closes_one_uses_no_session_but_that_of_the_call() {
    let left = Left::new().await;
    let (call, of) = (CallId::new("call_1").unwrap(), Some("t3"));
    let [answer, begun] = asks(&call);
    let asking = vec![
        (None, opened()),
        (of, said("m3", "third")),
        (of, started()),
        (of, step()),
        (of, answer),
        (of, begun),
    ];
    let (journal, _) = LmdbJournal::open(&left.data(), 1000).unwrap();
    keep(&journal, "asking", asking).await;
    shut(journal).await;

    let home = left.open(Recovery::UsedSessions).await;
    let engine = home.engine();
    let open = engine.open_calls().await.unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!((&open[0].session, &open[0].call.id), (&id("asking"), &call));
    let none = CallId::new("call_2").unwrap();
    let refused = engine.settle(Sender::CommandLine, none, Outcome::done("yes"));
    assert_eq!(refused.await.unwrap_err().code, Code::UnknownCall);
    let settled = engine.settle(Sender::CommandLine, call, Outcome::done("the left one"));
    settled.await.unwrap();
    assert!(engine.open_calls().await.unwrap().is_empty());
    home.close().await;

    assert_eq!(left.head("running").await, Some(4));
    assert_eq!(left.head("waiting").await, Some(2));
    let prompts = left.model.prompts();
    assert_eq!(prompts.len(), 1);
    assert!(prompts[0].body().to_string().contains("the left one"));
}

// proves CH-9
#[tokio::test]
async fn where_only_used_sessions_are_looked_after_the_chats_agent_is_not_woken() {
    let left = Left::new().await;
    let home = left.open(Recovery::UsedSessions).await;
    home.chat().post_user("is anybody there?").await.unwrap();
    home.chat().signal("master", "wake up").unwrap();
    let open = Action::Open {
        model: Some(MODEL.to_owned()),
        metadata: Map::new(),
    };
    submit(&home, "used", open).await.unwrap();
    let post = Action::Post {
        message: None,
        text: Text::new("go".to_owned()).unwrap(),
        bounds: Bounds::default(),
        delivery: Delivery::Queue,
    };
    submit(&home, "used", post).await.unwrap();
    left.model.seen(1).await;
    home.close().await;

    let prompts = left.model.prompts();
    assert_eq!(prompts.len(), 1);
    assert!(prompts[0].body().to_string().contains("go"));
}

// proves DU-2
#[tokio::test]
async fn reads_see_what_a_killed_server_accepted_in_sessions_that_nobody_uses() {
    for recovery in [
        Recovery::EverySession,
        Recovery::UsedSessions,
        Recovery::NoTurns,
    ] {
        let left = Left::new().await;

        let home = left.open(recovery).await;

        assert_eq!(listed(&home).await, ["running", "waiting"], "{recovery:?}");
        let totals = home.engine().totals().await.unwrap();
        assert_eq!(totals.sessions, 2, "{recovery:?}");
        assert!(totals.messages >= 2, "{recovery:?}");
        assert_eq!(asked(&home, "waiting").await, ["second"], "{recovery:?}");
        assert_eq!(asked(&home, "running").await, ["first"], "{recovery:?}");
        home.close_now().await;
    }
}

#[tokio::test]
async fn where_no_turns_run_none_begins_ends_or_goes_on_whatever_is_touched() {
    let left = Left::new().await;
    let home = left.open(Recovery::NoTurns).await;

    for session in ["running", "waiting"] {
        let change = Action::Change {
            model: None,
            title: Some(Title::new("Touched").unwrap()),
        };
        assert_eq!(submit(&home, session, change).await, Ok(Accepted::Changed));
        assert_eq!(asked(&home, session).await.len(), 1);
        let post = Action::Post {
            message: None,
            text: Text::new("more".to_owned()).unwrap(),
            bounds: Bounds::default(),
            delivery: Delivery::Queue,
        };
        let settle = Action::Settle {
            call: CallId::new("call_1").unwrap(),
            outcome: Outcome::done("yes"),
        };
        for refused in [post, settle, Action::Cancel { turn: None }] {
            let error = submit(&home, session, refused).await.unwrap_err();
            assert_eq!(error.code, Code::Unavailable);
        }
        let row = home.engine().session(&id(session)).await.unwrap();
        assert_eq!(row.title.unwrap().as_str(), "Touched");
    }
    home.close().await;
    // What was there, and the change.
    assert_eq!(left.head("running").await, Some(5));
    assert_eq!(left.head("waiting").await, Some(3));
    assert_eq!(left.model.requests().len(), 0);

    let home = left.open(Recovery::EverySession).await;
    left.model.seen(1).await;
    assert_eq!(asked(&home, "waiting").await, ["second"]);
    home.close().await;
    assert!(
        left.head("running").await > Some(5),
        "it ended as interrupted"
    );
}

// proves AS-19
#[tokio::test]
async fn where_no_turns_run_a_session_with_an_unfinished_turn_can_be_deleted() {
    let left = Left::new().await;
    let home = left.open(Recovery::NoTurns).await;
    assert_eq!(
        submit(&home, "running", Action::Close).await,
        Ok(Accepted::Closed)
    );
    assert_eq!(
        submit(&home, "waiting", Action::Close).await,
        Ok(Accepted::Closed)
    );
    assert_eq!(listed(&home).await, [""; 0]);
    home.close().await;

    let home = left.open(Recovery::EverySession).await;
    assert_eq!(listed(&home).await, [""; 0]);
    home.close().await;
    assert_eq!(left.model.requests().len(), 0);
    assert_eq!(json!(left.head("running").await), json!(null));
}

// proves DU-1
#[tokio::test]
async fn a_turn_stays_taken_back_when_only_the_journal_knows_that_it_was() {
    let finished = || Kind::TurnFinished {
        reason: FinishReason::Model("stop".to_owned()),
        iterations: 1,
        usage: Usage::default(),
        fault: None,
    };
    let undone = || Kind::TurnUndone {
        below: Vec::new(),
        messages: 1,
    };
    for is_turn_projected in [false, true] {
        let left = Left::new().await;
        let (journal, _) = LmdbJournal::open(&left.data(), 1000).unwrap();
        let talk = vec![
            (None, opened()),
            (Some("t"), said("m", "never mind")),
            (Some("t"), started()),
            (Some("t"), finished()),
        ];
        let talk = batch(&journal, "undone", 1, talk);
        journal.commit(talk).await.unwrap();
        shut(journal).await;
        if is_turn_projected {
            let home = left.open(Recovery::NoTurns).await;
            assert_eq!(asked(&home, "undone").await, ["never mind"]);
            home.close().await;
        }
        let (journal, _) = LmdbJournal::open(&left.data(), 1000).unwrap();
        let more = batch(&journal, "undone", 5, vec![(Some("t"), undone())]);
        journal.commit(more).await.unwrap();
        shut(journal).await;

        for _ in 0..2 {
            let home = left.open(Recovery::UsedSessions).await;
            assert_eq!(asked(&home, "undone").await, [""; 0]);
            let row = home.engine().session(&id("undone")).await.unwrap();
            assert_eq!(row.message_count, 0);
            let refused = submit(&home, "undone", Action::Undo).await.unwrap_err();
            assert_eq!(refused.code, Code::UnknownTurn);
            home.close().await;
        }
        assert_eq!(left.head("undone").await, Some(5), "nothing was left to do");
        let home = left.open(Recovery::UsedSessions).await;
        let again = Action::Post {
            message: MessageId::new("m").ok(),
            text: Text::new("after all".to_owned()).unwrap(),
            bounds: Bounds::default(),
            delivery: Delivery::Queue,
        };
        submit(&home, "undone", again).await.unwrap();
        assert_eq!(asked(&home, "undone").await, ["after all"]);
        home.close().await;
    }
}

#[tokio::test]
async fn where_no_turns_run_a_turn_that_is_over_can_be_taken_back_and_no_other() {
    let left = Left::new().await;
    let home = left.open(Recovery::EverySession).await;
    left.model.seen(1).await;
    home.close().await;
    let (journal, _) = LmdbJournal::open(&left.data(), 1000).unwrap();
    let running = vec![
        (None, opened()),
        (Some("t9"), said("m9", "x")),
        (Some("t9"), started()),
    ];
    keep(&journal, "left", running).await;
    shut(journal).await;

    let home = left.open(Recovery::NoTurns).await;

    let undone = submit(&home, "waiting", Action::Undo).await;
    assert!(matches!(undone, Ok(Accepted::Undone { text, .. }) if text == "second"));
    assert_eq!(asked(&home, "waiting").await, [""; 0]);
    let refused = submit(&home, "left", Action::Undo).await.unwrap_err();
    assert_eq!(refused.code, Code::SessionBusy);
    home.close().await;
}
