//! Pages of the AI SDK whose server is killed while they talk.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use reqwest::Method;
use samovar_model_server::{When, say};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::setup::with_model;

/// Kills of each version's server, turns that end over them, and pages that are loaded: at least.
const KILLS: u32 = 100;
const TURNS: u32 = 20;
const PAGES: u32 = 500;
/// How often a page asks again for a stream that was cut.
const LOOKS: u32 = 20;

/// How long a turn may take while its server lives.
const PATIENCE: Duration = Duration::from_mins(1);

/// Kills between two ended turns at most: a turn that is cut more often ends with a failure (DU-6).
const IN_A_ROW: u32 = 4;

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
    // Not in the workspace, whose listing is part of what is compared.
    let outside = tempfile::tempdir().unwrap();
    let address = outside.path().join("address");
    let mut server = program.serve(&[]).await;
    let agent = json!({"name": "worker", "systemPrompt": "Dig.", "toolKeys": []});
    let made = server.request(Method::POST, "/api/agents").json(&agent);
    assert_eq!(server.answer(made).await.status, 200);
    let say_where = |address: &Path, of: &str| {
        let next = address.with_extension("next");
        std::fs::write(&next, format!("http://{of}")).unwrap();
        std::fs::rename(next, address).unwrap();
    };
    say_where(&address, &server.address);
    let (mut page, mut said, _reader) = page(version, &address, server.token());
    let mut in_a_row = IN_A_ROW;
    let mut kill = 0;
    // Version 6 does not look again.
    let looks = if version == "ai7" { LOOKS } else { 0 };
    while kill < KILLS || is_less(&said.borrow(), looks) {
        if in_a_row == IN_A_ROW || said.has_changed().unwrap_or_default() {
            let ended = tokio::time::timeout(PATIENCE, said.changed()).await;
            assert!(ended.is_ok(), "{version}: no turn ends after {kill} kills");
            said.mark_unchanged();
            in_a_row = 0;
        }
        in_a_row += 1;
        kill += 1;
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
}

/// Whether a page that says `5 turns, 90 pages, looked at 9 times` has not seen enough.
fn is_less(said: &str, least_looks: u32) -> bool {
    let numbers = said.split_whitespace().filter_map(|word| word.parse().ok());
    let numbers: Vec<u32> = numbers.collect();
    let [turns, pages, looks] = numbers[..] else {
        return true;
    };
    turns < TURNS || pages < PAGES || looks < least_looks
}

fn page(
    version: &str,
    address: &Path,
    token: &str,
) -> (Child, watch::Receiver<String>, JoinSet<()>) {
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
    let mut lines = BufReader::new(page.stdout.take().unwrap()).lines();
    let (say, said) = watch::channel(String::new());
    let mut reader = JoinSet::new();
    reader.spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            say.send_replace(line);
        }
    });
    (page, said, reader)
}

fn home() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap().join("clients/ai-sdk")
}
