//! Real clients of the AI SDK, in the versions that are served, each through every scene of
//! `clients/ai-sdk/tests/check.mjs`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use reqwest::Method;
use samovar_core::Approval;
use samovar_model_server::{Failure, Gate, Reply, Rule, When, call, fail, say, think};
use samovar_testkit::{App, AppBuilder};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

const VERSIONS: [&str; 4] = ["ai5", "ai60", "ai6", "ai7"];
const ADVICE: &str = "install Node 20 or later with npm, and then: npm ci --prefix clients/ai-sdk";

/// What the model answers to a message that contains this: a call first, then words.
fn after(text: &str, asks: Reply, says: Reply) -> [Rule; 2] {
    let results = |count| When::user(text).and(When::ToolResultsSinceUser(count));
    let answered = When::user(text).and(When::Not(Box::new(When::ToolResultsSinceUser(0))));
    [
        asks.when(results(0)).forever(),
        says.when(answered).forever(),
    ]
}

fn orders(of: &[(&str, &str)]) -> Reply {
    let order = |(name, task): &(&str, &str)| json!({"name": name, "task": task});
    let first = call("subAgent", order(&of[0]));
    of[1..]
        .iter()
        .fold(first, |reply, one| reply.and_call("subAgent", order(one)))
}

fn script() -> Vec<Rule> {
    let write = || call("write_file", json!({"path": "a.txt", "content": "x"}));
    let mut rules = vec![
        think("let me think")
            .and_say("a thought-out answer")
            .deltas_of(4)
            .when(When::user("think and say"))
            .forever(),
        fail(Failure::refused_key())
            .when(When::user("fail"))
            .forever(),
        say("this goes on and on")
            .deltas_of(4)
            .hold_after(2, &Gate::new("never"))
            .when(When::user("never end"))
            .forever(),
        say("deep is done").when(When::user("go deep")).forever(),
        say("one is done").when(When::user("do one")).forever(),
    ];
    for version in VERSIONS {
        rules.push(
            say("slow and steady words")
                .deltas_of(3)
                .hold_after(3, &Gate::new(version))
                .when(When::user(format!("slowly {version}")))
                .forever(),
        );
    }
    let second = json!({"path": "c.txt", "content": "y"});
    let two_writes =
        call("write_file", json!({"path": "b.txt", "content": "x"})).and_call("write_file", second);
    let list = call("list_dir", json!({"path": "agents"}));
    let two = orders(&[("worker", "do one"), ("worker", "do two")]);
    for pair in [
        after("look", list, say("it is empty")),
        after(
            "do two",
            orders(&[("digger", "go deep")]),
            say("two is done"),
        ),
        after("send two", two, say("both are back")),
        after(
            "let one write",
            orders(&[("worker", "now write")]),
            say("one has written"),
        ),
        after("send both", two_writes, say("both are written")),
        after("write", write(), say("it is written").deltas_of(3)),
        after(
            "count the tabs",
            call("tabs", json!({})),
            say("there are three"),
        ),
        after(
            "ask me",
            call("ask_user", json!({"question": "which colour?"})),
            say("noted"),
        ),
    ] {
        rules.extend(pair);
    }
    rules
}

async fn send(app: &App, path: &str, body: Value) {
    let request = app.request(Method::POST, path).json(&body);
    let answer = app.answer(request).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

// proves UI-1, UI-3, UI-4, UI-5, UI-6, UI-7, UI-9, UI-12, UI-13
#[tokio::test]
async fn needs_npm_unmodified_clients_go_through_every_scene() {
    let app = AppBuilder::new()
        .with(|config| config.settings.approval = Approval::Supervised)
        .start(script())
        .await;
    std::fs::create_dir(app.workspace().join("agents")).unwrap();
    for name in ["worker", "digger"] {
        let agent = json!({"name": name, "displayName": format!("The {name}"), "systemPrompt": "Work.",
            "toolKeys": ["*"], "allowedSubAgents": ["*"]});
        send(&app, "/api/agents", agent).await;
    }
    let tabs = json!({"name": "tabs", "description": "Counts tabs.", "client": true,
        "effect": "read", "parameters": {"type": "object"}});
    send(&app, "/api/tools", tabs).await;
    for version in VERSIONS {
        check(&app, version).await;
    }
}

async fn check(app: &App, version: &str) {
    let home = home();
    let packages = home.join("node_modules");
    assert!(
        packages.join("ai7").exists(),
        "clients/ai-sdk has no node_modules; {ADVICE}"
    );
    // Version 7 wants a Node that a package brings, where npm may run what installs it.
    let own = packages.join(".bin/node");
    let node = if own.exists() { own } else { "node".into() };
    let mut child = Command::new(node)
        .arg(home.join("tests/check.mjs"))
        .args([version, &format!("http://{}", app.address()), app.token()])
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap_or_else(|why| panic!("node cannot be started ({why}); {ADVICE}"));
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut scenes = 0;
    while let Some(line) = said.next_line().await.unwrap() {
        scenes += usize::from(line.starts_with(version));
        if line == "ready" {
            app.model.open(&Gate::new(version)).unwrap();
        }
    }
    let ended = child.wait().await.unwrap();
    assert!(ended.success(), "{version}: {scenes} scenes went well");
}

fn home() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap().join("clients/ai-sdk")
}
