//! What a killed server kept in the journal and could not bring into the history any more.

use std::sync::Arc;
use std::time::Duration;

use samovar_core::command::Change;
use samovar_core::history::{SessionQuery, TurnQuery};
use samovar_core::{
    Accepted, Action, CallId, Closer, Code, Delivery, Effect, FinishReason, Kind, Outcome, Part,
    Role, Sender, Title, ToolCall, Usage,
};
use samovar_doubles::{CountedIds, Disk, ScriptedModel, World, say};
use samovar_engine::{Recovery, Settings};
use serde_json::json;

use crate::kept::{batch, begun, head, keep, message, opened, said, started, step};
use crate::rig::{self, Rig, named, said_as, send, settings, texts_of};

/// Stores whose journal has two sessions that no history knows: in `waiting` a message waits for its
/// turn, in `running` a turn had begun. No run gives an id out again.
struct LeftStores {
    disk: Disk,
    ids: Arc<CountedIds>,
}

impl LeftStores {
    async fn new() -> Self {
        let disk = rig::disk();
        let running = vec![
            (None, opened()),
            (Some("t1"), said("m1", "first")),
            (Some("t1"), started()),
            (Some("t1"), step()),
        ];
        keep(&disk, "running", running).await;
        let waiting = vec![(None, opened()), (Some("t2"), said("m2", "second"))];
        keep(&disk, "waiting", waiting).await;
        let ids = Arc::default();
        Self { disk, ids }
    }

    async fn open(&self, recovery: Recovery) -> Rig {
        let settings = Settings {
            recovery,
            ..settings()
        };
        let world = World {
            ids: self.ids.clone(),
            ..World::with(ScriptedModel::by(|_| say("done")))
        };
        Rig::on(self.disk.clone(), world, [], settings).await
    }

    /// Keeps more of a log, in which nothing is open then.
    async fn keep(&self, name: &str, from: u64, kinds: Vec<(Option<&str>, Kind)>) {
        let batch = batch(&self.disk, name, from, kinds);
        self.disk.journal().commit(batch).await.unwrap();
    }

    fn head(&self, name: &str) -> Option<u64> {
        head(&self.disk, name)
    }
}

/// Stops when the turns that run are over: what the model was shown each time.
async fn stop(rig: Rig) -> Vec<Vec<String>> {
    rig.engine.shutdown(Duration::from_mins(1)).await;
    rig.world.model.prompts().iter().map(texts_of).collect()
}

/// What follows when the model has asked the person.
fn asks(call: &CallId) -> [Kind; 2] {
    let name = "ask_user".to_owned();
    let asked = ToolCall::new(
        call.clone(),
        name.clone(),
        json!({"question": "which one?"}),
    );
    let answer = message("a", Role::Assistant, vec![Part::Call(asked)]);
    let mut begun = begun("ask_user", Effect::Read);
    if let Kind::CallStarted {
        call: of, closer, ..
    } = &mut begun
    {
        (*of, *closer) = (call.clone(), Closer::Person);
    }
    [Kind::finished(answer), begun]
}

/// The sessions that a list has, in the order of the alphabet.
async fn listed(rig: &Rig) -> Vec<String> {
    let query = SessionQuery {
        edit_forks: true,
        limit: 9,
        ..SessionQuery::default()
    };
    let (rows, count) = rig.engine.sessions(query).await.unwrap();
    assert_eq!(rows.len() as u64, count);
    let mut ids: Vec<_> = rows.iter().map(|row| row.id.to_string()).collect();
    ids.sort();
    ids
}

// proves CH-10
#[tokio::test(start_paused = true)]
async fn who_looks_for_open_calls_or_closes_one_uses_no_session_but_that_of_the_call() {
    let left = LeftStores::new().await;
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
    keep(&left.disk, "asking", asking).await;

    let rig = left.open(Recovery::UsedSessions).await;
    let engine = rig.engine.clone();
    let open = engine.open_calls().await.unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!(
        (&open[0].session, &open[0].call.id),
        (&named("asking"), &call)
    );
    let none = CallId::new("call_2").unwrap();
    let refused = engine.settle(Sender::CommandLine, none, Outcome::done("yes"));
    assert_eq!(refused.await.unwrap_err().code, Code::UnknownCall);
    let settled = engine.settle(Sender::CommandLine, call, Outcome::done("the left one"));
    settled.await.unwrap();
    assert!(engine.open_calls().await.unwrap().is_empty());
    let shown = stop(rig).await;

    assert_eq!(left.head("running"), Some(4));
    assert_eq!(left.head("waiting"), Some(2));
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0].last().unwrap(), "the left one");
}

// proves DU-2
#[tokio::test(start_paused = true)]
async fn reads_see_what_a_killed_server_accepted_in_sessions_that_nobody_uses() {
    for recovery in [
        Recovery::EverySession,
        Recovery::UsedSessions,
        Recovery::NoTurns,
    ] {
        let left = LeftStores::new().await;

        let rig = left.open(recovery).await;

        assert_eq!(listed(&rig).await, ["running", "waiting"], "{recovery:?}");
        let totals = rig.engine.totals().await.unwrap();
        assert_eq!(totals.sessions, 2, "{recovery:?}");
        assert!(totals.messages >= 2, "{recovery:?}");
        assert_eq!(rig.asked_in("waiting").await, ["second"], "{recovery:?}");
        assert_eq!(rig.asked_in("running").await, ["first"], "{recovery:?}");
        stop(rig).await;
    }
}

#[tokio::test(start_paused = true)]
async fn where_no_turns_run_none_begins_ends_or_goes_on_whatever_is_touched() {
    let left = LeftStores::new().await;
    let rig = left.open(Recovery::NoTurns).await;

    for session in ["running", "waiting"] {
        let change = Action::Change(Change {
            title: Some(Title::new("Touched").unwrap()),
            ..Change::default()
        });
        assert_eq!(
            send(&rig.engine, named(session), change).await,
            Ok(Accepted::Changed)
        );
        assert_eq!(rig.asked_in(session).await.len(), 1);
        let post = rig::said("more", Delivery::Queue);
        let settle = Action::Settle {
            call: CallId::new("call_1").unwrap(),
            outcome: Outcome::done("yes"),
        };
        for refused in [post, settle, Action::Cancel { turn: None }] {
            let error = send(&rig.engine, named(session), refused)
                .await
                .unwrap_err();
            assert_eq!(error.code, Code::Unavailable);
        }
        let row = rig.engine.session(&named(session)).await.unwrap();
        assert_eq!(row.title.unwrap().as_str(), "Touched");
    }
    assert_eq!(stop(rig).await.len(), 0);
    // What was there, and the change.
    assert_eq!(left.head("running"), Some(5));
    assert_eq!(left.head("waiting"), Some(3));

    let rig = left.open(Recovery::EverySession).await;
    rig.world.model.seen(1).await;
    assert_eq!(rig.asked_in("waiting").await, ["second"]);
    stop(rig).await;
    assert!(left.head("running") > Some(5), "it ended as interrupted");
}

// proves AS-19
#[tokio::test(start_paused = true)]
async fn where_no_turns_run_a_session_with_an_unfinished_turn_can_be_deleted() {
    let left = LeftStores::new().await;
    let rig = left.open(Recovery::NoTurns).await;
    assert_eq!(
        send(&rig.engine, named("running"), Action::Close).await,
        Ok(Accepted::Closed)
    );
    assert_eq!(
        send(&rig.engine, named("waiting"), Action::Close).await,
        Ok(Accepted::Closed)
    );
    assert_eq!(listed(&rig).await, [""; 0]);
    assert_eq!(stop(rig).await.len(), 0);

    let rig = left.open(Recovery::EverySession).await;
    assert_eq!(listed(&rig).await, [""; 0]);
    assert_eq!(stop(rig).await.len(), 0);
    assert_eq!(left.head("running"), None);
}

// proves DU-1
#[tokio::test(start_paused = true)]
async fn a_turn_stays_taken_back_when_only_the_journal_knows_that_it_was() {
    let finished = || Kind::TurnFinished {
        reason: FinishReason::Model("stop".to_owned()),
        iterations: 1,
        usage: Usage::default(),
        fault: None,
        bill: samovar_core::Bill::default(),
    };
    let undone = || Kind::TurnUndone {
        below: Vec::new(),
        messages: 1,
        text: String::new(),
        files: None,
    };
    for is_turn_projected in [false, true] {
        let left = LeftStores::new().await;
        let talk = vec![
            (None, opened()),
            (Some("t"), said("m", "never mind")),
            (Some("t"), started()),
            (Some("t"), finished()),
        ];
        left.keep("undone", 1, talk).await;
        if is_turn_projected {
            let rig = left.open(Recovery::NoTurns).await;
            assert_eq!(rig.asked_in("undone").await, ["never mind"]);
            stop(rig).await;
        }
        left.keep("undone", 5, vec![(Some("t"), undone())]).await;

        for _ in 0..2 {
            let rig = left.open(Recovery::UsedSessions).await;
            assert_eq!(rig.asked_in("undone").await, [""; 0]);
            let row = rig.engine.session(&named("undone")).await.unwrap();
            assert_eq!(row.message_count, 0);
            let refused = send(&rig.engine, named("undone"), Action::Undo { turn: None })
                .await
                .unwrap_err();
            assert_eq!(refused.code, Code::UnknownTurn);
            stop(rig).await;
        }
        assert_eq!(left.head("undone"), Some(5), "nothing was left to do");
        let rig = left.open(Recovery::UsedSessions).await;
        let again = said_as("m", "after all");
        send(&rig.engine, named("undone"), again).await.unwrap();
        assert_eq!(rig.asked_in("undone").await, ["after all"]);
        stop(rig).await;
    }
}

#[tokio::test(start_paused = true)]
async fn where_no_turns_run_a_turn_that_is_over_can_be_taken_back_and_no_other() {
    let left = LeftStores::new().await;
    let rig = left.open(Recovery::EverySession).await;
    rig.world.model.seen(2).await;
    stop(rig).await;
    let running = vec![
        (None, opened()),
        (Some("t9"), said("m9", "x")),
        (Some("t9"), started()),
    ];
    keep(&left.disk, "left", running).await;

    let rig = left.open(Recovery::NoTurns).await;

    let undone = send(&rig.engine, named("waiting"), Action::Undo { turn: None }).await;
    assert!(matches!(undone, Ok(Accepted::Undone { text, .. }) if text == "second"));
    assert_eq!(rig.asked_in("waiting").await, [""; 0]);
    let refused = send(&rig.engine, named("left"), Action::Undo { turn: None })
        .await
        .unwrap_err();
    assert_eq!(refused.code, Code::SessionBusy);
    stop(rig).await;
}

// proves SA-12, CH-10
#[tokio::test(start_paused = true)]
async fn who_lists_turns_sees_what_is_left_of_budgets_and_uses_no_session() {
    let left = LeftStores::new().await;
    let mut begins = started();
    if let Kind::TurnStarted { limits, .. } = &mut begins {
        limits.budget.steps = Some(9);
    }
    let of = Some("t3");
    let running = vec![
        (None, opened()),
        (of, said("m3", "third")),
        (of, begins),
        (of, step()),
    ];
    keep(&left.disk, "budgeted", running).await;
    let head = left.head("budgeted");

    let rig = left.open(Recovery::UsedSessions).await;
    let query = TurnQuery {
        session: None,
        among: Vec::new(),
        unfinished: false,
        limit: 9,
    };
    let rows = rig.engine.turns(query).await.unwrap();
    let row = rows.iter().find(|row| !row.budget.is_empty()).unwrap();
    assert_eq!(row.left.and_then(|left| left.steps), Some(9));
    assert_eq!(stop(rig).await, Vec::<Vec<String>>::new());

    assert_eq!(left.head("budgeted"), head);
}

// proves SA-7, DU-2
#[tokio::test(start_paused = true)]
async fn a_turn_that_the_history_does_not_have_yet_is_not_unknown() {
    let rig = Rig::new([say("done")]).await;
    rig.disk.full_history().set(true);
    let turn = rig.post("go").await;
    rig.over(&turn).await;

    let refused = rig.engine.find_turn(turn.as_str()).await.unwrap_err();
    assert_eq!(refused.code, Code::Unavailable);

    rig.disk.full_history().set(false);
    loop {
        // The projector rests between its tries.
        match rig.engine.find_turn(turn.as_str()).await {
            Ok((session, _)) => return assert_eq!(session, rig::session()),
            Err(refused) => assert_eq!(refused.code, Code::Unavailable),
        }
    }
}

// proves AS-19
#[tokio::test(start_paused = true)]
async fn a_session_with_a_blank_id_of_an_older_store_is_deleted_and_no_new_one_is_made() {
    let left = LeftStores::new().await;
    let turn = Some("t9");
    let kinds = vec![(None, opened()), (turn, said("m9", "read me"))];
    keep(&left.disk, " ", kinds).await;
    let rig = left.open(Recovery::EverySession).await;
    let blank = named(" ");

    assert_eq!(rig.asked_in(" ").await, ["read me"]);
    let close = || send(&rig.engine, blank.clone(), Action::Close);
    assert_eq!(close().await, Ok(Accepted::Closed));
    assert_eq!(listed(&rig).await, ["running", "waiting"]);
    let refused = [
        close().await,
        send(&rig.engine, blank.clone(), rig::opening()).await,
    ];
    for refused in refused {
        let refused = refused.unwrap_err();
        assert_eq!(refused.code, Code::InvalidParams);
        assert_eq!(refused.details.unwrap()["parameter"], "sessionId");
    }
}
