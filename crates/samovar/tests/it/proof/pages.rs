//! Pages of the AI SDK whose server is killed while they talk.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use reqwest::Method;
use samovar_model_server::{When, say};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::setup::with_model;

/// Kills of each version's server.
const KILLS: u32 = 100;

/// How long servers live, in milliseconds: each kill comes at another moment of a turn.
const SHORTEST: u64 = 250;
const LONGEST: u64 = 900;

// proves UI-7, UI-12
#[tokio::test]
async fn needs_npm_two_hundred_kills_change_nothing_that_a_page_shows_in_the_end() {
    for version in ["ai6", "ai7"] {
        talk(version).await;
    }
}

async fn talk(version: &str) {
    let words = |text| say(text).deltas_of(3).pace(Duration::from_millis(12));
    let results = |count| When::user("work").and(When::ToolResultsSinceUser(count));
    let order = json!({"name": "worker", "task": "dig deep"});
    let first = words("first I look around")
        .and_call("list_dir", json!({"path": "."}))
        .and_call("subAgent", order);
    let (program, _model) = with_model([
        words("the hole is deep now")
            .when(When::user("dig deep"))
            .forever(),
        first.when(results(0)).forever(),
        words("all of it is done, and the hole is deep")
            .when(results(2))
            .forever(),
    ])
    .await;
    let address = program.folder().join("address");
    let mut server = program.serve(&[]).await;
    let agent = json!({"name": "worker", "systemPrompt": "Dig.", "toolKeys": []});
    let made = server.request(Method::POST, "/api/agents").json(&agent);
    assert_eq!(server.answer(made).await.status, 200);
    let say_where = |address: &Path, of: &str| {
        std::fs::write(address, format!("http://{of}")).unwrap();
    };
    say_where(&address, &server.address);
    let (mut page, mut said) = page(version, &address, server.token());
    assert_eq!(
        said.next_line().await.unwrap().as_deref(),
        Some("ready"),
        "{version}"
    );
    for kill in 0..KILLS {
        // Spread over the range, in no order.
        let life =
            SHORTEST + u64::from(kill * 37 % KILLS) * (LONGEST - SHORTEST) / u64::from(KILLS);
        tokio::time::sleep(Duration::from_millis(life)).await;
        assert!(
            page.try_wait().unwrap().is_none(),
            "{version} gave up after {kill} kills"
        );
        server.kill().await;
        server = program.serve(&[]).await;
        say_where(&address, &server.address);
    }
    drop(page.stdin.take());
    let ended = tokio::time::timeout(Duration::from_mins(1), page.wait()).await;
    assert!(ended.unwrap().unwrap().success(), "{version}");
    let counted = said.next_line().await.unwrap().unwrap();
    let count = |of: &str| -> u32 {
        let words: Vec<_> = counted.split_whitespace().collect();
        let at = words.iter().position(|word| word.starts_with(of)).unwrap();
        words[at - 1].parse().unwrap()
    };
    assert!(count("turns") > 20, "{counted}");
    assert!(count("pages") >= 500, "{counted}");
}

fn page(version: &str, address: &Path, token: &str) -> (Child, Lines<BufReader<ChildStdout>>) {
    let home = home();
    let own = home.join("node_modules/.bin/node");
    let node = if own.exists() { own } else { "node".into() };
    let mut page = Command::new(node)
        .arg(home.join("tests/kills.mjs"))
        .arg(version)
        .arg(address)
        .arg(token)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let said = BufReader::new(page.stdout.take().unwrap()).lines();
    (page, said)
}

fn home() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap().join("clients/ai-sdk")
}
