use samovar_core::history::{Change, Opened};
use samovar_core::{Message, Millis, Part, Role, Seq};
use tempfile::TempDir;

use super::*;

async fn history() -> (TempDir, SqliteHistory) {
    let folder = TempDir::new().unwrap();
    let history = SqliteHistory::open(folder.path().join("history.db")).await;
    (folder, history.unwrap())
}

/// A session with one long message.
fn said(session: &str) -> Vec<Projection> {
    let message = Message::new(
        MessageId::new(session).unwrap(),
        Role::User,
        vec![Part::text("again and ".repeat(10_000))],
        Millis(1),
    );
    let open = Change::Open(Opened {
        model: "demo".to_owned(),
        route: None,
        agent: "master".to_owned(),
        system_prompt: None,
        approval: None,
        begun_by: None,
        metadata: serde_json::Map::new(),
        at: Millis(1),
    });
    let put = Change::Put {
        message: message.into(),
        turn: None,
        agent: samovar_core::AgentPath::root("master"),
    };
    vec![Projection {
        session: SessionId::new(session).unwrap(),
        up_to: Seq(2),
        changes: vec![(Seq(1), open), (Seq(2), put)],
    }]
}

/// How the database goes about a statement.
async fn plan(history: &SqliteHistory, sql: &'static str) -> String {
    let explain = format!("EXPLAIN QUERY PLAN {sql}");
    let steps = history.readers.with(move |connection| {
        let mut statement = connection.prepare(&explain)?;
        let steps = statement.raw_query().mapped(|row| row.get(3));
        Ok(steps.collect::<Result<Vec<String>, _>>()?)
    });
    steps.await.unwrap().join("\n")
}

#[tokio::test]
async fn a_page_of_another_length_compiles_no_statement_again() {
    let (_folder, history) = history().await;
    let compiled = history.readers.with(|connection| {
        let mut page = connection.prepare_cached(reader::NEWEST)?;
        for length in 1..4 {
            let mut rows = page.query([length])?;
            while rows.next()?.is_some() {}
        }
        Ok(page.get_status(rusqlite::StatementStatus::RePrepare))
    });
    assert_eq!(compiled.await.unwrap(), 0);
}

// proves PF-3
#[tokio::test]
async fn no_read_grows_with_what_it_does_not_answer() {
    let (_folder, history) = history().await;
    let page = plan(&history, reader::MESSAGES).await;
    assert!(
        page.contains("message_rows_in_order (session_key=? AND (turn_seq,seq)<(?,?))"),
        "{page}"
    );
    let reads = [
        reader::SESSION,
        reader::MESSAGE,
        reader::MESSAGES,
        reader::PLACE,
        reader::LAST_TURN,
        reader::SAID,
        reader::ANSWER,
        exchanges::ASKED_IN,
        exchanges::ANSWERED_IN,
        reader::COUNT_MESSAGES,
        reader::PREVIEW,
    ];
    let writes = [
        ledger::FIND_SESSION,
        session::SAVE_SESSION,
        ledger::CLOSE_SESSION,
        turns::FIND_TURN,
        turns::SAVE_TURN,
        turns::PLACE_TURN,
        turns::FORGET_MESSAGES,
        turns::FORGET_TURN,
    ];
    for sql in reads.into_iter().chain(writes) {
        let plan = plan(&history, sql).await;
        assert!(plan.contains("SEARCH"), "{sql}\n{plan}");
        assert!(!plan.contains("SCAN"), "{sql}\n{plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{sql}\n{plan}");
    }
    // A page of sessions is read in the order of its index, so it ends with the page.
    let sessions = plan(&history, reader::SESSIONS).await;
    assert_eq!(sessions, "SCAN sessions USING INDEX sessions_by_update");
}

/// Set in the process that is to be killed: where its history is, and at which commit of a migration.
#[cfg(feature = "failpoints")]
const VICTIM: [&str; 2] = ["SAMOVAR_TEST_MIGRATED_HISTORY", "SAMOVAR_TEST_COMMIT"];

/// Ends the process at the commit that its parent has named.
#[cfg(feature = "failpoints")]
fn ends(point: &'static str) {
    static SEEN: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(1);
    if point == "history.migrate.before" {
        let seen = SEEN
            .fetch_add(1, std::sync::atomic::Ordering::SeqCst)
            .to_string();
        if std::env::var_os(VICTIM[1]).is_some_and(|wanted| wanted == *seen) {
            std::process::abort();
        }
    }
}

// proves DU-13
#[cfg(feature = "failpoints")]
#[tokio::test]
async fn a_migration_that_is_killed_in_a_transaction_is_made_by_the_next_start() {
    if let Some(path) = std::env::var_os(VICTIM[0]) {
        samovar_core::failpoint::arm(ends).unwrap();
        SqliteHistory::open(path).await.unwrap();
        return;
    }
    for commit in 1.. {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("history.db");
        let mut victim = std::process::Command::new(std::env::current_exe().unwrap());
        let test =
            "history::tests::a_migration_that_is_killed_in_a_transaction_is_made_by_the_next_start";
        victim.args(["--exact", test]).env(VICTIM[0], &path);
        let output = victim.env(VICTIM[1], commit.to_string()).output().unwrap();

        let history = SqliteHistory::open(&path).await.unwrap();
        history.project(said("s")).await.unwrap();
        if output.status.success() {
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(said.contains("1 passed") && commit > 1, "{said}");
            break;
        }
    }
}

// proves DU-12
#[tokio::test]
async fn a_disk_that_is_full_or_read_only_keeps_nothing_of_the_batch_until_that_is_over() {
    let is_full: fn(&Broken) -> bool = |broken| matches!(broken, Broken::Full(_));
    let is_read_only: fn(&Broken) -> bool = |broken| matches!(broken, Broken::ReadOnly(_));
    for (limit, is_it) in [
        ("PRAGMA max_page_count = 1", is_full),
        ("PRAGMA query_only = ON", is_read_only),
    ] {
        let (_folder, history) = history().await;
        history.project(said("a")).await.unwrap();
        {
            let writer = history.writer.lock().await;
            let connection = writer.connection.as_ref().unwrap();
            connection.execute_batch(limit).unwrap();
        }

        let both = [said("b"), said("c")].concat();
        let refused = history.project(both.clone()).await.unwrap_err();
        assert!(is_it(&refused), "{limit}: {refused:?}");
        assert_eq!(history.totals().await.unwrap().sessions, 1);

        // The limit went with the connection that met it.
        history.project(both).await.unwrap();
        assert_eq!(history.totals().await.unwrap().sessions, 3);
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_no_transaction_open() {
    let (_folder, history) = history().await;
    for steps in 0..12 {
        let project = history.project(said("a"));
        let steps = std::iter::repeat_n((), steps);
        tokio::select! {
            biased;
            result = project => result.unwrap(),
            () = async { for () in steps { tokio::task::yield_now().await } } => {}
        }
    }
    history.project(said("b")).await.unwrap();
    history.project(said("a")).await.unwrap();
    history.sync().await.unwrap();
    assert_eq!(history.totals().await.unwrap().messages, 2);
}

// proves DU-12
#[tokio::test]
async fn after_a_failed_fsync_nothing_is_written_any_more() {
    const FSYNC_FAILED: i32 = 1034;
    let (_folder, history) = history().await;
    history.project(said("a")).await.unwrap();
    {
        let mut writer = history.writer.lock().await;
        let lost = writer.work(|_, _| Err::<(), _>(failure::tests::coded(FSYNC_FAILED)));
        lost.unwrap_err();
    }

    let again = history.project(said("b")).await;
    assert!(matches!(again, Err(Broken::Io(_))), "{again:?}");
    assert_eq!(history.sync().await, again);
    assert_eq!(history.totals().await.unwrap().sessions, 1);
}
