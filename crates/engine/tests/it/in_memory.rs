//! Sessions in memory: they use the engine's loop and none of its stores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use samovar_core::history::{SessionQuery, TurnQuery};
use samovar_core::{
    Code, Delivery, Event, Kind, Message, MessageId, Millis, Outcome, Part, Role, Seq, ToolReply,
    Toolset,
};
use samovar_doubles::{Disk, MemoryJournal, Reply, ScriptedModel, TestTool, World, call, say};
use samovar_engine::{Beginning, Conversation, MemorySession, Settings, Toolbox};
use serde_json::json;
use tokio::sync::Notify;

use crate::rig::{Rig, read_to, settings};

fn done(word: &'static str) -> TestTool {
    TestTool::new(word, move |_, _| async move {
        ToolReply::Closed(Outcome::done(word))
    })
}

pub(crate) fn toolbox(tools: impl IntoIterator<Item = TestTool>) -> Arc<Toolbox> {
    let toolbox = Toolbox::default();
    for tool in tools {
        let tool: Arc<dyn Toolset> = tool.build();
        toolbox.add(&tool).unwrap();
    }
    Arc::new(toolbox)
}

pub(crate) fn begin(rig: &Rig, toolbox: Arc<Toolbox>, settings: Settings) -> MemorySession {
    let beginning = Beginning {
        model: "scripted".to_owned(),
        toolbox,
        settings,
        conversation: Conversation::default(),
    };
    rig.engine.begin_in_memory(beginning).unwrap()
}

/// Says something and reads to the end of its turn.
pub(crate) async fn turn(session: &MemorySession, text: &str) -> Vec<Arc<Event>> {
    let posted = session.post(text.to_owned(), Delivery::Queue).await;
    let (turn, after) = posted.unwrap();
    let (mut reader, mut seen) = (session.follow(after), Vec::<Arc<Event>>::new());
    loop {
        seen.extend(reader.next().await.unwrap());
        let is_end = |event: &Arc<Event>| matches!(event.kind, Kind::TurnFinished { .. });
        if seen
            .iter()
            .any(|event| is_end(event) && event.turn.as_ref() == Some(&turn))
        {
            return seen;
        }
    }
}

fn said(events: &[Arc<Event>]) -> String {
    let last = events.iter().rev().find_map(|event| match &event.kind {
        Kind::MessageFinished { message, .. } => Some(message.text()),
        _ => None,
    });
    last.unwrap()
}

// proves AS-18, DU-1
#[tokio::test]
async fn it_leaves_nothing_in_a_store_but_the_tokens_that_it_used_and_is_in_no_list() {
    let journal = Arc::new(MemoryJournal::new());
    let replies = [
        call("own", json!({})).usage(100, 10),
        say("Well?").usage(200, 20),
        call("asks", json!({})).usage(300, 30),
    ];
    let world = World::answering(replies);
    let rig = Rig::on(Disk::on(journal.clone()), world, [], settings()).await;
    let before = journal.held();
    let session = begin(
        &rig,
        toolbox([done("own"), TestTool::asks("asks")]),
        settings(),
    );
    let mut watch = session.watch_calls();

    let seen = turn(&session, "go").await;
    session
        .post("ask".to_owned(), Delivery::Queue)
        .await
        .unwrap();
    let asked = loop {
        let mut changed = watch.next().await.unwrap();
        if let Some((_, calls)) = changed.pop().filter(|(_, calls)| !calls.is_empty()) {
            break calls;
        }
    };

    assert_eq!(said(&seen), "Well?");
    let numbers: Vec<_> = seen.iter().map(|event| event.seq.0).collect();
    let first = numbers[0];
    let gapless: Vec<_> = (first..first + numbers.len() as u64).collect();
    assert_eq!(numbers, gapless);
    let engine = &rig.engine;
    assert!(engine.open_calls().await.unwrap().is_empty());
    let everywhere = SessionQuery {
        edit_forks: true,
        limit: 9,
        ..SessionQuery::default()
    };
    assert_eq!(engine.sessions(everywhere).await.unwrap(), (Vec::new(), 0));
    let turns = TurnQuery {
        session: None,
        among: Vec::new(),
        unfinished: false,
        limit: 9,
    };
    assert!(engine.turns(turns).await.unwrap().is_empty());
    let unknown = engine.session(&asked[0].session).await.unwrap_err();
    assert_eq!(unknown.code, Code::UnknownSession);
    assert_eq!(journal.held(), before);
    let totals = engine.totals().await.unwrap();
    assert_eq!((totals.sessions, totals.messages), (0, 0));
    assert_eq!((totals.usage.input, totals.usage.output), (600, 60));
    drop(session);
    let totals = rig.restart().await.engine.totals().await.unwrap();
    assert_eq!(totals.usage.input, 600, "they are counted for good");
}

// proves AS-18
#[tokio::test(start_paused = true)]
async fn what_it_used_is_counted_before_its_owner_hears_of_it_so_that_no_kill_loses_it() {
    let world = World::answering([say("one").usage(100, 10), say("two").usage(200, 20)]);
    let rig = Rig::on(
        Disk::on(Arc::new(MemoryJournal::new())),
        world,
        [],
        settings(),
    );
    let rig = rig.await;
    let session = begin(&rig, toolbox([]), settings());
    // The history alone: what is not in it is gone with the process.
    let counted = async || rig.disk.history().totals().await.unwrap().usage.input;

    session
        .post("go".to_owned(), Delivery::Queue)
        .await
        .unwrap();
    let mut reader = session.follow(Seq(0));
    let is_answer = |event: &Event| matches!(&event.kind, Kind::MessageFinished { message, .. } if message.role == Role::Assistant);
    read_to(&mut reader, is_answer).await;
    assert_eq!(counted().await, 100);

    // A history without room keeps no session back, and counts later.
    rig.disk.full_history().set(true);
    turn(&session, "go").await;
    assert_eq!(counted().await, 100);
    rig.disk.full_history().set(false);
    while counted().await < 300 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

// proves RL-23
#[tokio::test]
async fn it_ends_with_its_owner_and_so_does_what_it_runs() {
    let world = World::answering([call("waits", json!({}))]);
    let rig = Rig::with(world, [], settings()).await;
    let (held, gone) = tokio::sync::oneshot::channel::<()>();
    let held = Mutex::new(Some(held));
    let began = Arc::new(Notify::new());
    let tell = began.clone();
    let waits = TestTool::new("waits", move |_, _| {
        let held = held.lock().unwrap().take();
        tell.notify_one();
        async move {
            let _held = held;
            std::future::pending::<ToolReply>().await
        }
    });
    let session = begin(&rig, toolbox([waits]), settings());
    let posted = session.post("go".to_owned(), Delivery::Queue).await;
    posted.unwrap();
    began.notified().await;

    drop(session);

    assert!(gone.await.is_err(), "the tool's future is gone");
    while rig.engine.memory() > 20_000 {
        tokio::task::yield_now().await;
    }
}

// proves PF-1
#[tokio::test]
async fn a_reader_at_its_heels_misses_nothing_of_any_turn_and_what_is_over_leaves_memory() {
    const TURNS: usize = 200;
    let settings = Settings {
        tail_bytes: 1,
        max_history_messages: 4,
        ..settings()
    };
    let rig = Rig::by(|text, _| say(&text.repeat(1_000)), [], settings.clone()).await;
    let session = begin(&rig, Arc::default(), settings);
    let mut reader = session.follow(Seq(0));
    let (mut last, mut most) = (0, 0);
    for _ in 0..TURNS {
        let posted = session.post("0123456789".to_owned(), Delivery::Queue).await;
        posted.unwrap();
        'turn: loop {
            for event in reader.next().await.unwrap() {
                assert_eq!(event.seq.0, last + 1);
                last = event.seq.0;
                if matches!(event.kind, Kind::TurnFinished { .. }) {
                    break 'turn;
                }
            }
        }
        most = most.max(rig.engine.memory());
    }
    assert!(most < 200_000, "{TURNS} turns of 10 KB took {most}");
    let mut late = session.follow(Seq(0));
    late.next().await.unwrap_err();
}

#[tokio::test]
async fn it_begins_with_a_conversation_and_has_it_again_after_a_turn_has_panicked() {
    let asked = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::by(move |prompt| {
        let texts = prompt.messages.iter().map(|message| message.text());
        let texts: Vec<_> = texts.collect();
        assert_ne!(
            asked.fetch_add(1, Ordering::SeqCst),
            1,
            "the model's code is broken"
        );
        say(&texts.join("|"))
    });
    let rig = Rig::with(World::with(model), [], settings()).await;
    let message = |id: &str, role, text: &str| {
        let id = MessageId::new(id).unwrap();
        Arc::new(Message::new(id, role, vec![Part::text(text)], Millis(1)))
    };
    let beginning = Beginning {
        model: "scripted".to_owned(),
        toolbox: Arc::default(),
        settings: settings(),
        conversation: Conversation {
            before: 0,
            messages: vec![
                message("a", Role::User, "one"),
                message("b", Role::Assistant, "two"),
            ],
            limit: None,
        },
    };
    let session = rig.engine.begin_in_memory(beginning).unwrap();
    assert_eq!(said(&turn(&session, "three").await), "one|two|three");
    turn(&session, "four").await;
    let all = "one|two|three|one|two|three|four|five";
    assert_eq!(said(&turn(&session, "five").await), all);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    // proves RL-23, SA-3
    #[test]
    fn it_has_the_tools_that_it_brings_and_none_of_the_servers(
        own in proptest::collection::btree_set("[a-e]", 0..4),
        servers in proptest::collection::btree_set("[a-e]", 0..5),
        called in "[a-e]",
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let told = |whose: &'static str| move |name: &String| {
                TestTool::new(name, move |_, _| async move { ToolReply::Closed(Outcome::done(whose)) })
            };
            let answer = move |results: usize| -> Reply {
                if results == 0 { call(&called, json!({})) } else { say("over") }
            };
            let has = own.clone();
            let model = ScriptedModel::by(move |prompt| {
                let offered: Vec<_> = prompt.tools.iter().map(|tool| tool.name.clone()).collect();
                assert_eq!(offered, has.iter().cloned().collect::<Vec<_>>());
                answer(samovar_doubles::results(prompt))
            });
            let tools = servers.iter().map(told("the server's"));
            let rig = Rig::with(World::with(model), tools, settings()).await;
            let session = begin(&rig, toolbox(own.iter().map(told("its own"))), settings());
            let seen = turn(&session, "go").await;
            let result = seen.iter().find_map(|event| match &event.kind {
                Kind::CallClosed { name, outcome, .. } => Some((name.clone(), outcome.text.clone())),
                _ => None,
            });
            let (name, result) = result.unwrap();
            if own.contains(&name) {
                assert_eq!(result, "its own");
            } else {
                assert!(result.starts_with("unknown tool"), "{result}");
            }
        });
    }
}

// proves TL-5
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_decision_in_memory_expires_too() {
    let replies = [call("own", json!({})), say("well")];
    let rig = Rig::on(
        crate::rig::disk(),
        World::answering(replies),
        [],
        settings(),
    )
    .await;
    let supervised = Settings {
        approval: samovar_core::Approval::Supervised,
        ..settings()
    };
    let own = done("own").effect(samovar_core::Effect::Unsafe);
    let session = begin(&rig, toolbox([own]), supervised);
    let mut watch = session.watch_calls();
    let posted = session.post("go".to_owned(), Delivery::Queue).await;
    let (turn, after) = posted.unwrap();
    let open = watch.next().await.unwrap().remove(0).1.remove(0);
    rig.world.clock.set(open.asked.unwrap().expires_at);

    let mut reader = session.follow(after);
    let is_over = |event: &Arc<Event>| {
        let is_end = matches!(event.kind, Kind::TurnFinished { .. });
        is_end && event.turn.as_ref() == Some(&turn)
    };
    let mut seen = Vec::new();
    while !seen.iter().any(is_over) {
        seen.extend(reader.next().await.unwrap());
    }
    let denied = seen.iter().any(|event| {
        matches!(&event.kind, Kind::CallClosed { outcome, .. } if outcome.status == samovar_core::Status::Denied)
    });
    assert!(denied);
}
