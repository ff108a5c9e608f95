//! Approvals: a call runs when a person allows it, and in no other way.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use samovar_core::approval::Answer;
use samovar_core::command::Change;
use samovar_core::{
    Action, Approval, ApprovalId, Code, Decision, Delivery, Effect, Error, Event, Grounds, Kind,
    Outcome, Sender, Seq, Status, ToolReply, TurnId,
};
use samovar_doubles::{Gate, TestTool, call, say};
use samovar_engine::{OpenCall, Settings};
use serde_json::{Value, json};

use crate::children::world;
use crate::rig::{Rig, read_to, session, settings};

/// A tool that changes something, what it sees, and how often it ran.
#[derive(Clone, Default)]
struct Changes {
    runs: Arc<AtomicUsize>,
    seen: Arc<Mutex<Value>>,
}

impl Changes {
    fn new() -> Self {
        let changes = Self::default();
        changes.sees(json!(1));
        changes
    }

    fn sees(&self, value: Value) {
        *self.seen.lock().unwrap() = value;
    }

    fn tool(&self, name: &str) -> TestTool {
        let runs = self.runs.clone();
        let run = move |_, _| {
            runs.fetch_add(1, Ordering::SeqCst);
            async { ToolReply::Closed(Outcome::done("changed")) }
        };
        TestTool::new(name, run)
            .seeing(&self.seen)
            .target("one")
            .alone()
    }

    fn count(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

fn supervised() -> Settings {
    Settings {
        approval: Approval::Supervised,
        ..settings()
    }
}

/// A model that calls `change` for the path that it is told, and then is done.
async fn rig(changes: &Changes) -> Rig {
    let answer = |path: &str, results: usize| match results {
        0 => call("change", json!({ "path": path })),
        _ => say("done"),
    };
    let tools = [changes.tool("change"), changes.tool("other")];
    Rig::by(answer, tools, supervised()).await
}

fn answer(decision: Decision) -> Answer {
    Answer {
        decision,
        by: "owner".to_owned(),
        words: None,
    }
}

async fn decide(rig: &Rig, id: &ApprovalId, decision: Decision) -> Result<(), Error> {
    let engine = &rig.engine;
    let decided = engine.decide(Sender::Embedder, id.clone(), answer(decision));
    decided.await.map(drop)
}

/// Waits until a call is asked about.
async fn asked(rig: &Rig) -> OpenCall {
    let mut open = rig.calls(1).await;
    open.pop().filter(|open| open.asked.is_some()).unwrap()
}

fn id(open: &OpenCall) -> ApprovalId {
    open.asked.as_ref().unwrap().id.clone()
}

/// The results of a turn's calls.
fn results(kinds: &[Kind]) -> Vec<(Status, &str)> {
    let closed = kinds.iter().filter_map(|kind| match kind {
        Kind::CallClosed { outcome, .. } => Some((outcome.status, outcome.text.as_str())),
        _ => None,
    });
    closed.collect()
}

// proves TL-4, TL-5
#[tokio::test(start_paused = true)]
async fn a_call_that_is_asked_about_runs_once_when_it_is_allowed() {
    let changes = Changes::new();
    let rig = rig(&changes).await;
    let turn = rig.post("src/a").await;
    let open = asked(&rig).await;
    let question = open.asked.clone().unwrap();
    assert_eq!((changes.count(), open.call.name.as_str()), (0, "change"));
    assert!(
        question.reason.contains("registered"),
        "{}",
        question.reason
    );
    assert_eq!(question.preview.as_deref(), Some("1"));

    decide(&rig, &question.id, Decision::Once).await.unwrap();

    let kinds = rig.log_of(&turn).await;
    assert_eq!(results(&kinds), [(Status::Done, "changed")]);
    let of_call: Vec<_> = kinds.iter().filter_map(of_call).collect();
    let names = [
        "approval_asked",
        "call_approved",
        "call_started",
        "call_closed",
    ];
    assert_eq!(of_call, names);
    let grounds = kinds.iter().find_map(|kind| match kind {
        Kind::CallStarted { grounds, .. } => grounds.clone(),
        _ => None,
    });
    assert_eq!(grounds, Some(Grounds::Approval(question.id.clone())));
    assert_eq!(changes.count(), 1);
    let late = decide(&rig, &question.id, Decision::Deny)
        .await
        .unwrap_err();
    assert_eq!(late.code, Code::ApprovalDecided);
    assert!(
        late.message.contains("once, by \"owner\""),
        "{}",
        late.message
    );
}

fn of_call(kind: &Kind) -> Option<&'static str> {
    let names = [
        "approval_asked",
        "call_approved",
        "call_started",
        "call_closed",
    ];
    names.into_iter().find(|name| *name == kind.name())
}

/// What an attacker, or chance, does instead of a person who allows the call that waits.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Attack {
    /// Decides with a made-up id, with the call's id, or with one that a former question had.
    WrongId(&'static str),
    CallId,
    /// Closes the call from outside, as clients close other calls.
    Settle,
    /// Allows what was denied, has expired, was stopped, or went with its session.
    DeniedBefore(Decision),
    Expired(Decision),
    Stopped(Decision),
    Deleted(Decision),
    /// Makes the call another one after it was shown, then allows it.
    SeesOther(Decision),
    CannotSucceed(Decision),
    OtherAddress(Decision),
    OtherEffect(Decision),
    OtherSchema(Decision),
    Removed(Decision),
    /// The level or the tools are narrower when the decision comes.
    ReadOnlyNow(Decision),
    /// Says in words what only a decision can say.
    Words(&'static str),
}

const DECISIONS: [Decision; 3] = [Decision::Once, Decision::Turn, Decision::Always];

fn attacks() -> Vec<Attack> {
    use Attack::*;
    let mut attacks = vec![CallId, Settle];
    let ids = [
        "ask_0",
        "ask_",
        "*",
        "always",
        "..",
        "id-00000000",
        "master",
    ];
    attacks.extend(ids.map(WrongId));
    attacks.extend(["yes", "y", "always", "/approve", "approved: true"].map(Words));
    for decision in DECISIONS {
        attacks.extend([
            DeniedBefore(decision),
            Expired(decision),
            Stopped(decision),
            Deleted(decision),
            SeesOther(decision),
            CannotSucceed(decision),
            OtherAddress(decision),
            OtherEffect(decision),
            OtherSchema(decision),
            Removed(decision),
            ReadOnlyNow(decision),
        ]);
    }
    attacks
}

/// Another tool under the name of the one that was asked about.
fn another(changes: &Changes, attack: Attack) -> TestTool {
    let tool = changes.tool("change");
    match attack {
        Attack::OtherAddress(_) => tool.target("another"),
        Attack::OtherEffect(_) => tool.effect(Effect::Unsafe),
        _ => tool.takes(json!({"type": "object", "additionalProperties": true})),
    }
}

/// Does it; the rig may have had to start again.
async fn attack(rig: Rig, changes: &Changes, open: &OpenCall, attack: Attack) -> Rig {
    let toolbox = rig.engine.toolbox().clone();
    let ask = id(open);
    // Refused or not, nothing may come of it.
    let try_to = async |rig: &Rig, decision| drop(decide(rig, &ask, decision).await);
    match attack {
        Attack::WrongId(id) => {
            let id = ApprovalId::new(id).unwrap();
            let refused = decide(&rig, &id, Decision::Once).await.unwrap_err();
            assert_eq!(refused.code, Code::UnknownApproval);
        }
        Attack::CallId => {
            let id = ApprovalId::new(open.call.id.as_str()).unwrap();
            let refused = decide(&rig, &id, Decision::Once).await.unwrap_err();
            assert_eq!(refused.code, Code::UnknownApproval);
        }
        Attack::Settle => {
            let (call, done) = (open.call.id.clone(), Outcome::done("changed"));
            let refused = rig.engine.settle(Sender::Embedder, call, done).await;
            assert_eq!(refused.unwrap_err().code, Code::UnknownCall);
        }
        Attack::DeniedBefore(decision) => {
            decide(&rig, &ask, Decision::Deny).await.unwrap();
            try_to(&rig, decision).await;
        }
        Attack::Expired(decision) => {
            let mut reader = rig.engine.follow(&session(), Seq(0)).await.unwrap();
            rig.world.clock.set(open.asked.as_ref().unwrap().expires_at);
            let is_over = |event: &Event| matches!(event.kind, Kind::TurnFinished { .. });
            read_to(&mut reader, is_over).await;
            try_to(&rig, decision).await;
        }
        Attack::Stopped(decision) => {
            assert!(rig.cancel(Some(&open.turn)).await);
            try_to(&rig, decision).await;
        }
        Attack::Deleted(decision) => {
            rig.submit(Action::Close).await.unwrap();
            try_to(&rig, decision).await;
        }
        Attack::SeesOther(decision) => {
            changes.sees(json!(2));
            try_to(&rig, decision).await;
        }
        Attack::CannotSucceed(decision) => {
            changes.sees(Value::Null);
            try_to(&rig, decision).await;
        }
        Attack::OtherAddress(decision)
        | Attack::OtherEffect(decision)
        | Attack::OtherSchema(decision) => {
            toolbox.replace(&another(changes, attack).build()).unwrap();
            try_to(&rig, decision).await;
        }
        Attack::Removed(decision) => {
            assert!(toolbox.remove("change"));
            try_to(&rig, decision).await;
        }
        Attack::ReadOnlyNow(decision) => {
            let read_only = |settings: &mut Settings| settings.approval = Approval::ReadOnly;
            let rig = rig.restart_with(read_only).await;
            try_to(&rig, decision).await;
            return rig;
        }
        Attack::Words(words) => {
            rig.deliver(words, Delivery::Steer).await;
        }
    }
    rig
}

/// Waits until the attack has had its effect: the turn is over, asks again, or still waits.
async fn settled(rig: &Rig, turn: &TurnId, attack: Attack) {
    use Attack::*;
    match attack {
        Settle | WrongId(_) | CallId | Words(_) => assert_eq!(rig.calls(1).await.len(), 1),
        Deleted(_) => assert!(rig.calls(0).await.is_empty()),
        Expired(_) => {}
        DeniedBefore(_) | Stopped(_) | CannotSucceed(_) | Removed(_) | ReadOnlyNow(_) => {
            drop(rig.over(turn).await);
        }
        SeesOther(_) | OtherAddress(_) | OtherEffect(_) | OtherSchema(_) => {
            let mut reader = rig.engine.follow(&session(), Seq(0)).await.unwrap();
            let asks = |event: &&Arc<Event>| matches!(event.kind, Kind::ApprovalAsked { .. });
            let mut asked = 0;
            while asked < 2 {
                asked += reader.next().await.unwrap().iter().filter(asks).count();
            }
        }
    }
}

// proves TL-4, TL-5
#[tokio::test(start_paused = true)]
async fn nothing_but_a_timely_decision_about_this_very_call_lets_it_run() {
    let mut cases = 0;
    for attack_with in attacks() {
        for restarts in [false, true] {
            let changes = Changes::new();
            let mut rig = rig(&changes).await;
            let turn = rig.post("src/a").await;
            if restarts {
                asked(&rig).await;
                rig = rig.restart().await;
            }
            let open = asked(&rig).await;
            assert_eq!(open.turn, turn);

            let rig = attack(rig, &changes, &open, attack_with).await;
            settled(&rig, &turn, attack_with).await;

            assert_eq!(changes.count(), 0, "{attack_with:?}, restarted: {restarts}");
            rig.engine.shutdown(Duration::ZERO).await;
            cases += 1;
        }
    }
    assert!(cases >= 60, "{cases}");
}

/// A model that calls two tools at once, which both are asked about.
async fn rig_of_two(one: TestTool, other: TestTool) -> Rig {
    let answer = |_: &str, results: usize| match results {
        0 => call("change", json!({})).and_call("other", json!({})),
        _ => say("done"),
    };
    Rig::by(answer, [one, other], supervised()).await
}

fn parallel(changes: &Changes, name: &str) -> TestTool {
    let runs = changes.runs.clone();
    let run = move |_, _| {
        runs.fetch_add(1, Ordering::SeqCst);
        async { ToolReply::Closed(Outcome::done("changed")) }
    };
    TestTool::new(name, run).seeing(&changes.seen)
}

async fn asked_twice(rig: &Rig) -> [ApprovalId; 2] {
    let open = rig.calls(2).await;
    [id(&open[0]), id(&open[1])]
}

// proves TL-5, DU-5
#[tokio::test(start_paused = true)]
async fn a_decision_about_another_call_while_one_is_looked_at_runs_neither_twice() {
    let (changes, others) = (Changes::new(), Changes::new());
    let held = Arc::default();
    let one = parallel(&changes, "change").held_by(&held);
    let rig = rig_of_two(one, parallel(&others, "other")).await;
    let turn = rig.post("go").await;
    let [first, second] = asked_twice(&rig).await;
    let gate = Gate::default();
    *held.lock().unwrap() = Some(gate.clone());

    decide(&rig, &first, Decision::Once).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    decide(&rig, &second, Decision::Once).await.unwrap();
    gate.open();

    drop(rig.over(&turn).await);
    assert_eq!((changes.count(), others.count()), (1, 1));
    let log = rig.log_of(&turn).await;
    assert_eq!(results(&log).len(), 2);
}

// proves TL-5
#[tokio::test(start_paused = true)]
async fn an_allowed_call_whose_tool_has_changed_is_asked_about_again_while_another_waits() {
    let (changes, others) = (Changes::new(), Changes::new());
    let one = parallel(&changes, "change");
    let rig = rig_of_two(one, parallel(&others, "other")).await;
    let turn = rig.post("go").await;
    let [first, second] = asked_twice(&rig).await;
    let another = parallel(&changes, "change").target("another").build();
    rig.engine.toolbox().replace(&another).unwrap();

    decide(&rig, &first, Decision::Once).await.unwrap();
    let again = loop {
        let [again, _] = asked_twice(&rig).await;
        if again != first {
            break again;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!((changes.count(), others.count()), (0, 0));
    decide(&rig, &again, Decision::Once).await.unwrap();
    decide(&rig, &second, Decision::Once).await.unwrap();

    drop(rig.over(&turn).await);
    assert_eq!((changes.count(), others.count()), (1, 1));
}

// proves TL-4, TL-5
#[tokio::test(start_paused = true)]
async fn what_a_background_agent_left_begins_a_turn_at_the_level_that_the_session_has_by_then() {
    let gate = Gate::default();
    let held = gate.clone();
    let world = world(move |_, said, results| match (said, results) {
        ("go", 0) => call("spawn", json!({"task": "later"})),
        ("later", _) => say("later").hold(&held),
        _ => say("well"),
    });
    let rig = Rig::delegating(world, [], [], settings()).await;
    let level = |approval| {
        Action::Change(Change {
            approval: Some(approval),
            ..Change::default()
        })
    };
    rig.submit(level(Approval::Auto)).await.unwrap();
    let turn = rig.post("go").await;
    drop(rig.over(&turn).await);
    rig.submit(level(Approval::ReadOnly)).await.unwrap();

    gate.open();

    let mut reader = rig.engine.follow(&session(), Seq(0)).await.unwrap();
    let mut levels = Vec::new();
    while levels.len() < 3 {
        let events = reader.next().await.unwrap();
        levels.extend(events.iter().filter_map(|event| match &event.kind {
            Kind::TurnStarted { approval, .. } => Some(*approval),
            _ => None,
        }));
    }
    assert_eq!(levels, [Approval::Auto, Approval::Auto, Approval::ReadOnly]);
}

// proves TL-5
#[tokio::test(start_paused = true)]
async fn a_client_that_goes_away_with_its_decision_has_made_the_rule() {
    let mut met = 0;
    for polls in 1..100 {
        let changes = Changes::new();
        let rig = rig(&changes).await;
        rig.post("src/a").await;
        let id = id(&asked(&rig).await);
        let is_answered = {
            let mut deciding = std::pin::pin!(decide(&rig, &id, Decision::Always));
            let mut is_answered = false;
            for _ in 0..polls {
                is_answered = is_answered || futures_util::poll!(&mut deciding).is_ready();
                tokio::task::yield_now().await;
            }
            is_answered
        };
        // What it had sent by then takes effect.
        tokio::time::sleep(Duration::from_secs(1)).await;
        if rig.engine.approvals().await.unwrap().is_empty() {
            met += 1;
            assert_eq!(rig.engine.settings().rules.list().len(), 1, "{polls}");
        }
        if is_answered {
            break;
        }
    }
    assert!(met > 1, "none went away in between");
}

// proves TL-5
#[tokio::test(start_paused = true)]
async fn a_call_is_examined_once_and_once_more_after_its_decision() {
    for (level, count) in [(Approval::Auto, 1), (Approval::Supervised, 2)] {
        let (changes, examined) = (Changes::new(), Arc::new(AtomicUsize::new(0)));
        // The second waits for the first, and is not examined again for that.
        let answer = |_: &str, results: usize| match results {
            0 => call("change", json!({"path": "a"})).and_call("change", json!({"path": "b"})),
            _ => say("done"),
        };
        let tools = [changes.tool("change").counted(&examined)];
        let at_level = Settings {
            approval: level,
            ..settings()
        };
        let rig = Rig::by(answer, tools, at_level).await;
        let turn = rig.post("go").await;
        for _ in 1..count {
            decide(&rig, &id(&asked(&rig).await), Decision::Turn)
                .await
                .unwrap();
        }
        rig.log_of(&turn).await;
        assert_eq!(changes.count(), 2);
        assert_eq!(examined.load(Ordering::SeqCst), 2 * count, "{level:?}");
    }
}
