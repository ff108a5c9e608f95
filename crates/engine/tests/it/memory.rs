//! What all sessions hold in memory together.

use std::time::Duration;

use samovar_core::history::{MessageQuery, Speakers};
use samovar_core::{Action, Code, Delivery, Role};
use samovar_doubles::{Gate, say};
use samovar_engine::Settings;

use crate::rig::{Rig, named, opening, said, send, settings, well};

/// Settings with a budget, with which no session leaves for being idle.
fn budget(bytes: usize) -> Settings {
    Settings {
        memory: bytes,
        idle: Duration::from_hours(1),
        retention: Duration::from_hours(1),
        ..settings()
    }
}

/// A text of so many bytes.
fn long(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// Sends a command to a session until it is accepted.
async fn insist_on(rig: &Rig, name: &str, action: impl Fn() -> Action) {
    while let Err(error) = send(&rig.engine, named(name), action()).await {
        assert_eq!(error.code, Code::Busy, "{error:?}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Says something in a session until it is accepted.
async fn insist(rig: &Rig, name: &str, text: &str) {
    insist_on(rig, name, || said(text, Delivery::Queue)).await;
}

async fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

// proves PF-1
#[tokio::test]
async fn idle_sessions_leave_before_the_budget_is_used_up_and_nothing_accepted_is_lost() {
    let settings = budget(1 << 20);
    let rig = Rig::by(|_, _| say("well"), [], settings).await;
    let names: Vec<_> = (0..60).map(|number| format!("s{number}")).collect();
    let mut most = 0;
    for name in &names {
        insist_on(&rig, name, opening).await;
        insist(&rig, name, &long(40_000)).await;
        most = most.max(rig.engine.memory());
    }
    assert!(most < (1 << 20) + 200_000, "{most}");
    for name in &names {
        assert_eq!(rig.asked_in(name).await, [long(40_000)], "{name}");
    }
    until(|| rig.engine.memory() < 800_000).await;
}

// proves PF-1
#[tokio::test]
async fn sessions_that_are_idle_already_make_room_for_one_that_runs() {
    let settings = budget(3 << 20);
    let gate = Gate::default();
    let held = gate.clone();
    let answer = move |text: &str, _| {
        let say = say("well");
        if text.len() > 50_000 {
            say.hold(&held)
        } else {
            say
        }
    };
    let rig = Rig::by(answer, [], settings).await;
    for number in 0..34 {
        let name = format!("s{number}");
        rig.open(named(&name)).await;
        insist(&rig, &name, &long(40_000)).await;
        // Idle again: several that still run would take enough for all to leave.
        until(|| rig.engine.memory() < (number + 1) * 60_000).await;
    }
    assert!(rig.engine.memory() > 1_600_000);
    let turn = rig.post(&long(800_000)).await;
    // The message, and the prompt with it on its way to the model: the idle ones have left.
    until(|| rig.engine.memory() < 2_600_000).await;
    gate.open();
    assert_eq!(rig.over(&turn).await, well());
}

// proves PF-1
#[tokio::test]
async fn a_prompt_counts_until_the_model_answers() {
    let gate = Gate::default();
    let held = gate.clone();
    let rig = Rig::by(move |_, _| say("well").hold(&held), [], budget(1 << 30)).await;
    let turn = rig.post(&long(100_000)).await;
    rig.world.model.seen(1).await;
    let asked = rig.engine.memory();

    gate.open();
    assert_eq!(rig.over(&turn).await, well());

    let answered = rig.engine.memory();
    assert!(asked > answered + 150_000, "{asked}, then {answered}");
}

// proves PF-1
#[tokio::test]
async fn beyond_the_budget_new_messages_wait_and_what_runs_continues() {
    let settings = budget(60_000);
    let gate = Gate::default();
    let held = gate.clone();
    let answer = move |text: &str, _| {
        let say = say("well");
        if text.len() > 5 { say.hold(&held) } else { say }
    };
    let rig = Rig::by(answer, [], settings).await;
    let turn = rig.post(&long(50_000)).await;
    rig.world.model.seen(1).await;

    let busy = send(&rig.engine, named("other"), opening()).await;
    assert_eq!(busy.unwrap_err().code, Code::Busy);
    assert_eq!(rig.refused(said("next", Delivery::Queue)).await, Code::Busy);
    gate.open();
    assert_eq!(rig.over(&turn).await, well());
    insist(&rig, "s", "next").await;
    assert_eq!(rig.asked().await, [long(50_000), "next".to_owned()]);
}

// proves DU-2, PF-1
#[tokio::test]
async fn sessions_that_the_history_lacks_leave_memory_and_get_there_later() {
    let mut settings = settings();
    (settings.idle, settings.read_wait) = (Duration::from_millis(1), Duration::from_millis(20));
    let rig = Rig::by(|_, _| say("well"), [], settings).await;
    rig.turn("before").await;
    rig.open(named("d")).await;
    insist(&rig, "d", "of the deleted session").await;
    until(|| rig.engine.lag().logs == 0 && rig.engine.memory() == 0).await;
    rig.disk.full_history().set(true);
    let names = ["a", "b", "c"];
    for name in names {
        rig.open(named(name)).await;
        insist(&rig, name, name).await;
    }
    rig.turn("meanwhile").await;
    until(|| rig.engine.memory() == 0 && rig.engine.lag().failed_since.is_some()).await;
    assert_eq!(rig.engine.lag().logs, 4);

    // Deleted and created again, which makes another log; the history still has the first of one.
    for name in ["b", "d"] {
        send(&rig.engine, named(name), Action::Close).await.unwrap();
        rig.open(named(name)).await;
        insist(&rig, name, "again").await;
    }
    assert_eq!(rig.asked().await, ["before", "meanwhile"]);
    assert_eq!(rig.asked_in("b").await, ["again"]);
    until(|| rig.engine.memory() == 0).await;
    insist(&rig, "d", "what was said?").await;
    rig.world.model.seen(9).await;
    assert_eq!(rig.shown(), ["again", "well", "what was said?"]);
    assert_eq!(rig.asked_in("d").await, ["again", "what was said?"]);
    until(|| rig.engine.memory() == 0).await;

    rig.disk.full_history().set(false);
    until(|| rig.engine.lag() == samovar_engine::Lag::default()).await;
    for (name, wanted) in [
        ("a", "a"),
        ("b", "again"),
        ("c", "c"),
        ("d", "again"),
        ("s", "before"),
    ] {
        let query = MessageQuery {
            session: named(name),
            limit: 9,
            before: None,
            of: Speakers::All,
        };
        let rows = rig.disk.history().messages(query).await.unwrap();
        let asked = rows.iter().filter(|row| row.message.role == Role::User);
        let asked: Vec<_> = asked.map(|row| row.message.text()).collect();
        assert_eq!(asked[0], wanted);
        assert_eq!(rows.len() / 2, asked.len(), "each has its answer");
    }
}
