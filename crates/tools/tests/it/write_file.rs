//! `write_file`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::yard::Yard;

// proves TL-2, TL-3
#[tokio::test]
async fn a_file_is_made_with_its_folders_or_replaced_whole() {
    let yard = Yard::new();
    let args = json!({ "path": "./a/b/c.txt", "content": "кот\n" });

    let outcome = yard.done("write_file", args).await;
    assert_eq!(outcome.text, "created a/b/c.txt (7 bytes)");
    assert_eq!(yard.content("a/b/c.txt"), "кот\n");
    assert_eq!(
        outcome.data.unwrap(),
        json!({
            "path": "a/b/c.txt",
            "bytes": 7,
            "created": true,
            "sha256": "ebf7326e0ecec6c521639eb41e734b3bf87ebf17f6c5da4383663fa13e544a97",
        })
    );

    fs::set_permissions(yard.ws("a/b/c.txt"), fs::Permissions::from_mode(0o750)).unwrap();
    let outcome = yard
        .done("write_file", json!({ "path": "a/b/c.txt", "content": "" }))
        .await;
    assert_eq!(outcome.text, "wrote a/b/c.txt (0 bytes)");
    assert_eq!(yard.content("a/b/c.txt"), "");
    let mode = fs::metadata(yard.ws("a/b/c.txt")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o750);
    assert_eq!(
        outcome.data.unwrap(),
        json!({
            "path": "a/b/c.txt",
            "bytes": 0,
            "created": false,
            "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        })
    );
}

// proves TL-2
#[tokio::test]
async fn what_cannot_be_written_is_refused_and_left_as_it_is() {
    let yard = Yard::with(&[("d/a", "before")]);
    let large = "x".repeat(1024 * 1024 + 1);
    for (path, content, why) in [
        ("d", "x", "\"d\" is a directory"),
        ("d/", "x", "\"d\" is a directory"),
        (".", "x", "is a directory"),
        ("new/", "x", "\"new\" is a directory"),
        ("d/a/b", "x", "\"d/a\" is not a directory"),
        (
            "d/a",
            large.as_str(),
            "content is longer than 1048576 bytes",
        ),
        ("nul\0", "x", "has a control character"),
    ] {
        let args = json!({ "path": path, "content": content });
        let text = yard.refusal("write_file", args).await;
        assert!(text.contains(why), "{text}");
    }
    assert_eq!(yard.content("d/a"), "before");
    assert!(!yard.ws("new").exists());

    let most = "x".repeat(1024 * 1024);
    let args = json!({ "path": "most", "content": most });
    assert_eq!(
        yard.text("write_file", args).await,
        "created most (1048576 bytes)"
    );
}

// proves TL-2
#[test]
fn what_was_written_is_what_is_read() {
    let yard = Yard::new();
    let runtime = Runtime::new().unwrap();
    let text = proptest::collection::vec("[^\\pC]{0,20}|\t|\n|[ \"\\\\\u{1f408}]", 0..30);
    let config = Config {
        cases: 64,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&text, |pieces| {
            let content = pieces.concat();
            let write = yard.done("write_file", json!({ "path": "x", "content": content }));
            runtime.block_on(write);
            let shown = runtime.block_on(yard.text("read_file", json!({ "path": "x" })));

            let numbered = content
                .lines()
                .enumerate()
                .map(|(at, line)| format!("{:>6}\t{line}", at + 1));
            let mut expected = numbered.collect::<Vec<_>>().join("\n");
            if content.is_empty() {
                expected = "[empty file]".to_owned();
            }
            prop_assert_eq!(shown, expected);
            prop_assert_eq!(yard.content("x"), content);
            Ok(())
        })
        .unwrap();
}
