//! The web page: the files in the binary are those that its source gives, and the page does in a real
//! browser what it is for.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use samovar_testkit::Finished;
use tempfile::TempDir;
use tokio::process::Command;

const NO_PACKAGES: &str =
    "web has no packages; install Node 20 or later with npm, and then: npm ci --prefix web";

/// How long a file of tests may take: it starts a browser and servers, and goes through many
/// conversations.
const PATIENCE: Duration = Duration::from_mins(7);

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// Runs Node in the folder of the page, with the binary for its tests.
async fn node(words: &[&str]) -> Finished {
    let web = root().join("web");
    assert!(web.join("node_modules").exists(), "{NO_PACKAGES}");
    let mut node = Command::new("node");
    node.args(words).current_dir(web).kill_on_drop(true);
    node.env("SAMOVAR_BIN", env!("CARGO_BIN_EXE_samovar"));
    node.stdout(Stdio::piped()).stderr(Stdio::piped());
    Finished::within(PATIENCE, node.spawn().unwrap()).await
}

/// Runs the tests of a file whose names have a word.
async fn tests(file: &str, word: &str) {
    let pattern = format!("--test-name-pattern={word}");
    let words = ["--test", "--test-concurrency=1", &pattern, file];
    let said = node(&words).await;
    assert_eq!(said.code, Some(0), "{}\n{}", said.stdout, said.stderr);
}

/// The files of a folder, by their paths in it.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Copies a folder of files.
fn copy(from: &Path, to: &Path) {
    for (name, bytes) in files(from) {
        let path = to.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

// proves FC-7
#[tokio::test]
async fn needs_npm_the_page_built_in_another_folder_has_the_bytes_that_are_committed() {
    let (root, elsewhere) = (root(), TempDir::new().unwrap());
    let web = elsewhere.path().join("other/web");
    copy(&root.join("web/src"), &web.join("src"));
    copy(
        &root.join("locales"),
        &elsewhere.path().join("other/locales"),
    );
    for name in ["build.mjs", "package.json"] {
        fs::copy(root.join("web").join(name), web.join(name)).unwrap();
    }
    symlink(root.join("web/node_modules"), web.join("node_modules")).unwrap();
    let script = web.join("build.mjs");

    let said = node(&[script.to_str().unwrap()]).await;

    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let (built, committed) = (files(&web.join("dist")), files(&root.join("web/dist")));
    let different: Vec<_> = built
        .iter()
        .filter(|&(name, bytes)| committed.get(name) != Some(bytes))
        .collect();
    let names: Vec<_> = different.iter().map(|(name, _)| name).collect();
    assert!(
        names.is_empty(),
        "npm run build --prefix web, and commit: {names:?}"
    );
    assert!(
        built.keys().eq(committed.keys()),
        "web/dist has files that no build makes"
    );
}

// proves FC-8
#[tokio::test]
async fn needs_npm_the_first_load_of_the_page_is_small() {
    let script = "const {gzipSync} = require('node:zlib'), {readFileSync} = require('node:fs');\
        console.log(['page', 'chunk', 'markdown'].reduce((sum, name) => \
        sum + gzipSync(readFileSync(`dist/ui/${name}.js`), {level: 9}).length, 0))";

    let said = node(&["--eval", script]).await.exits(0);

    let bytes: usize = said.stdout.trim().parse().unwrap();
    assert!(bytes <= 200_000, "{bytes}");
}

// proves FC-7
#[tokio::test]
async fn needs_npm_the_source_of_the_page_is_well_typed() {
    node(&["node_modules/typescript/bin/tsc", "--noEmit"])
        .await
        .exits(0);
}

// proves FC-8, FC-9, UI-15
#[tokio::test]
async fn needs_npm_stored_messages_and_events_become_the_same_view_and_no_sentence_is_missing() {
    tests("tests/unit.test.mjs", ".").await;
}

// proves FC-6, FC-7, FC-9
#[tokio::test]
async fn needs_npm_needs_browser_a_conversation_continues_through_reloads_and_kills() {
    tests("tests/talk.test.mjs", ".").await;
}

// proves TL-5, TL-11, FC-7, FC-8
#[tokio::test]
async fn needs_npm_needs_browser_decisions_sessions_and_logins_are_in_hand() {
    tests("tests/keep.test.mjs", ".").await;
}

// proves CH-3, CH-4, CH-5, CH-6, CH-7, CH-8, CH-14
#[tokio::test]
async fn needs_npm_needs_browser_the_window_into_the_global_chat_misses_nothing_and_changes_nothing()
 {
    tests("tests/chat.test.mjs", ".").await;
}

// proves RL-5, RL-13, RL-15, RL-17, RL-18, RL-19, RL-20, RL-26, RL-29
#[tokio::test]
async fn needs_npm_needs_browser_a_room_is_used_by_hand_and_by_agents_at_once() {
    tests("tests/movie.test.mjs", ".").await;
}

// proves RL-4, RL-7, RL-8, RL-10, RL-13, RL-15, RL-17, RL-29
#[tokio::test]
async fn needs_npm_needs_browser_a_page_is_the_host_of_a_room_and_replaces_nothing_unasked() {
    tests("tests/host.test.mjs", ".").await;
}

// proves FC-6
#[tokio::test]
async fn needs_npm_needs_browser_the_example_with_use_chat_works_from_another_origin() {
    tests("tests/example.test.mjs", ".").await;
}

// proves FC-8
#[tokio::test]
async fn needs_npm_needs_browser_axe_finds_nothing_on_a_wide_screen() {
    tests("tests/axe.test.mjs", "1440").await;
}

// proves FC-8
#[tokio::test]
async fn needs_npm_needs_browser_axe_finds_nothing_on_a_narrow_screen() {
    tests("tests/axe.test.mjs", "390").await;
}
