//! The definitions of agents and their versions, on a real file.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use samovar_core::agent::{AgentModel, SubAgents, ToolKeys};
use samovar_core::{
    Agent, AgentName, AgentRow, AgentRows, Approval, Damages, History, Millis, RowChange, SessionId,
};
use samovar_stores::disk::Disk;
use samovar_stores::history::SqliteHistory;
use samovar_stores::read_history;
use tempfile::TempDir;

/// A definition that has everything.
fn row(name: &str, steps: u32) -> AgentRow {
    let names = |names: &[&str]| {
        names
            .iter()
            .map(ToString::to_string)
            .collect::<BTreeSet<_>>()
    };
    let agent = Agent {
        name: agent_name(name),
        display_name: format!("The {name}"),
        system_prompt: "Привет, {{agent.name}}.\n".to_owned(),
        model: Some(AgentModel {
            name: "openai/gpt-5".to_owned(),
            temperature: Some(0.7),
            max_tokens: Some(900),
        }),
        tools: ToolKeys::Only(names(&["read_file", "web_fetch"])),
        sub_agents: SubAgents::Only([agent_name("browser")].into()),
        max_depth: Some(2),
        max_steps: Some(steps),
        approval: Some(Approval::ReadOnly),
        workspace_id: Some("w".to_owned()),
        page_ids: vec!["home".to_owned(), "cart".to_owned()],
        ..Agent::master()
    };
    AgentRow {
        id: format!("id-{name}"),
        agent,
        enabled: steps != 13,
        updated_at: Millis(steps.into()),
    }
}

fn agent_name(name: &str) -> AgentName {
    AgentName::new(name).unwrap()
}

fn at(row: AgentRow, version: u64) -> AgentRow {
    let agent = Agent {
        version,
        ..row.agent
    };
    AgentRow { agent, ..row }
}

async fn open(folder: &TempDir) -> SqliteHistory {
    let opened = SqliteHistory::open(folder.path().join("history.db"));
    opened.await.unwrap()
}

async fn put(history: &SqliteHistory, row: AgentRow, expected: u64) -> RowChange {
    history.put(row, expected).await.unwrap()
}

/// The versions of a definition, newest first, with their steps.
async fn versions(history: &SqliteHistory, name: &str) -> Vec<(u64, u32)> {
    let versions = history.versions(&agent_name(name), None).await.unwrap();
    let versions = versions
        .iter()
        .map(|row| (row.agent.version, row.agent.max_steps.unwrap()));
    versions.collect()
}

// proves SA-2, SA-4
#[tokio::test]
async fn a_definition_is_read_as_it_was_written_after_a_restart_too() {
    let folder = TempDir::new().unwrap();
    let history = open(&folder).await;
    assert_eq!(put(&history, row("b", 13), 0).await, RowChange::Kept(1));
    let open_handed = AgentRow {
        agent: Agent {
            name: agent_name("a"),
            ..Agent::master()
        },
        ..row("a", 1)
    };
    assert_eq!(
        put(&history, open_handed.clone(), 0).await,
        RowChange::Kept(1)
    );
    let wanted = [at(open_handed, 1), at(row("b", 13), 1)];
    assert_eq!(history.list().await.unwrap(), wanted);
    history.close().await.unwrap();
    let history = open(&folder).await;
    assert_eq!(history.list().await.unwrap(), wanted);
}

// proves SA-4
#[tokio::test]
async fn a_change_of_a_stale_version_changes_nothing() {
    let folder = TempDir::new().unwrap();
    let history = open(&folder).await;
    let name = agent_name("a");
    assert_eq!(put(&history, row("a", 1), 1).await, RowChange::Stale(None));
    assert_eq!(
        history.remove(&name, 0).await.unwrap(),
        RowChange::Stale(None)
    );
    assert_eq!(put(&history, row("a", 1), 0).await, RowChange::Kept(1));
    assert_eq!(
        put(&history, row("a", 2), 0).await,
        RowChange::Stale(Some(1))
    );
    assert_eq!(put(&history, row("a", 2), 1).await, RowChange::Kept(2));
    for stale in [0, 1, 3] {
        assert_eq!(
            put(&history, row("a", 9), stale).await,
            RowChange::Stale(Some(2))
        );
        assert_eq!(
            history.remove(&name, stale).await.unwrap(),
            RowChange::Stale(Some(2))
        );
    }
    assert_eq!(history.list().await.unwrap(), [at(row("a", 2), 2)]);
    assert_eq!(versions(&history, "a").await, [(2, 2), (1, 1)]);

    let (one, other) = tokio::join!(history.put(row("a", 3), 2), history.put(row("a", 4), 2));
    let both = [one.unwrap(), other.unwrap()];
    assert!(both.contains(&RowChange::Kept(3)) && both.contains(&RowChange::Stale(Some(3))));
}

// proves SA-4
#[tokio::test]
async fn versions_are_kept_up_to_a_bound_and_never_counted_twice() {
    let folder = TempDir::new().unwrap();
    let history = open(&folder).await;
    for version in 0..103_u32 {
        put(&history, row("a", version + 1), version.into()).await;
    }
    let kept = versions(&history, "a").await;
    assert_eq!((kept.len(), kept[0], kept[99]), (100, (103, 103), (4, 4)));
    let before = history.versions(&agent_name("a"), Some(6)).await.unwrap();
    assert_eq!(before.len(), 2);

    assert_eq!(
        history.remove(&agent_name("a"), 103).await.unwrap(),
        RowChange::Kept(103)
    );
    assert_eq!(history.list().await.unwrap(), []);
    assert_eq!(versions(&history, "a").await.len(), 100);
    assert_eq!(put(&history, row("a", 1), 0).await, RowChange::Kept(104));
}

// proves SA-4
#[tokio::test]
async fn there_are_so_many_definitions_and_removed_ones_and_no_more() {
    let folder = TempDir::new().unwrap();
    let history = open(&folder).await;
    for number in 0..200 {
        put(&history, row(&format!("a{number:03}"), number), 0).await;
    }
    assert_eq!(put(&history, row("more", 1), 0).await, RowChange::TooMany);
    assert_eq!(put(&history, row("a000", 1), 1).await, RowChange::Kept(2));
    for number in 1..60 {
        let name = agent_name(&format!("a{number:03}"));
        assert_eq!(history.remove(&name, 1).await.unwrap(), RowChange::Kept(1));
    }
    assert_eq!(put(&history, row("more", 1), 0).await, RowChange::Kept(1));
    assert!(
        versions(&history, "a009").await.is_empty(),
        "it was removed long ago"
    );
    assert_eq!(versions(&history, "a010").await.len(), 1);
}

/// Keeps what was reported.
#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl Damages for Told {
    fn session(&self, _session: &SessionId, _why: &str) {}

    fn is_damaged(&self, _session: &SessionId) -> bool {
        false
    }

    fn removed(&self, _session: &SessionId) {}

    fn history(&self, why: &str) {
        self.0.lock().unwrap().push(why.to_owned());
    }
}

// proves SA-4, DU-13
#[tokio::test]
async fn a_definition_that_a_disk_changed_is_reported_and_left_out() {
    let changes = [
        "enabled = 1 - enabled",
        "system_prompt = system_prompt || 'x'",
        "tool_keys = '[\"*\"]'",
        "allowed_sub_agents = '[\"*\"]'",
        "max_depth = 8",
        "max_steps = NULL",
        "approval = NULL",
        "model = NULL",
        "page_ids = '[]'",
        "workspace_id = NULL",
        "display_name = 'Another'",
        "version = 7",
        "id = 'another'",
        "updated_at = 0",
        "name = 'c'",
    ];
    for change in changes {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("history.db");
        let history = open(&folder).await;
        put(&history, row("a", 1), 0).await;
        put(&history, row("b", 2), 0).await;
        history.close().await.unwrap();
        let update = format!("UPDATE sub_agent_definitions SET {change} WHERE name = 'b'");
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch(&update).unwrap();
        drop(connection);

        let report = read_history(folder.path()).await.unwrap();
        assert_eq!(report.odd.len(), 1, "{change}: {report:?}");
        let told = Arc::new(Told::default());
        let disk = Disk::with_ballast(folder.path(), 0);
        let history = SqliteHistory::open_on(&disk, &path, told.clone())
            .await
            .unwrap();
        assert_eq!(
            history.list().await.unwrap(),
            [at(row("a", 1), 1)],
            "{change}"
        );
        let told = told.0.lock().unwrap().join("\n");
        assert!(told.contains("agent "), "{change}: {told}");
    }
}
