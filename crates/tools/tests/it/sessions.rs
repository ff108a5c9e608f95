//! Calls of many sessions at the same moment.

use serde_json::json;
use tokio::task::JoinSet;

use crate::yard::Yard;

const SESSIONS: usize = 20;

// proves TL-2
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn edits_of_one_file_by_many_sessions_all_survive() {
    let line = |word: &str, number: usize| format!("{word} {number:02}\n");
    let before: String = (0..SESSIONS).map(|number| line("old", number)).collect();
    let yard = Yard::with(&[("a/shared.txt", &before)]);

    let mut edits = JoinSet::new();
    for number in 0..SESSIONS {
        // Other spellings of the same path are the same file.
        let path = ["a/shared.txt", "./a/b/../shared.txt"][number % 2];
        let args = json!({
            "path": path,
            "old": line("old", number),
            "new": line("new", number),
        });
        edits.spawn(yard.call("edit_file", args));
    }
    for outcome in edits.join_all().await {
        assert!(!outcome.is_error(), "{}", outcome.text);
    }

    assert_eq!(yard.content("a/shared.txt"), before.replace("old", "new"));
}

// proves TL-2
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_edit_never_brings_back_what_another_session_replaced() {
    let yard = Yard::new();
    let mut calls = JoinSet::new();
    let paths: Vec<_> = (0..3 * SESSIONS).map(|number| number.to_string()).collect();
    for path in &paths {
        yard.put(path, "old keep");
        yard.done("read_file", json!({ "path": path })).await;
        let args = json!({ "path": path, "old": "keep", "new": "kept" });
        calls.spawn(yard.call("edit_file", args));
        let args = json!({ "path": path, "content": "new keep" });
        calls.spawn(yard.call("write_file", args));
    }
    for outcome in calls.join_all().await {
        let is_late = outcome.text.contains("changed since you read");
        assert!(!outcome.is_error() || is_late, "{}", outcome.text);
    }
    for path in &paths {
        assert!(yard.content(path).starts_with("new "), "{path}");
    }
}

// proves TL-2
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_reads_while_a_file_is_written_reads_one_content_or_the_other() {
    let yard = Yard::with(&[("a", &"x".repeat(9_000))]);
    let mut calls = JoinSet::new();
    for letter in ["x", "y"].repeat(SESSIONS) {
        let args = json!({ "path": "a", "content": letter.repeat(9_000) });
        calls.spawn(yard.call("write_file", args));
        calls.spawn(yard.call("read_file", json!({ "path": "a" })));
    }
    for outcome in calls.join_all().await {
        // A read that ends after a later write has seen the earlier content, and a write may come before
        // the first read has ended.
        let refusals = ["changed since you read", "you have not read it here"];
        if refusals.iter().any(|why| outcome.text.contains(why)) {
            continue;
        }
        assert!(!outcome.is_error(), "{}", outcome.text);
        let is_whole = ["x", "y"].iter().any(|letter| {
            outcome.text == format!("     1\t{}", letter.repeat(9_000))
                || outcome.text.starts_with("wrote a (9000 bytes)")
        });
        assert!(is_whole);
    }
}
