//! What an attacker's arguments and files can do: nothing.

use std::fs;
use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use samovar_core::{Outcome, Status};
use serde_json::{Value, json};

use crate::yard::{SECRET, Yard};

/// A call of each tool for one path.
fn calls(path: &str) -> [(&'static str, Value); 5] {
    [
        ("list_dir", json!({ "path": path })),
        ("read_file", json!({ "path": path })),
        ("search_files", json!({ "path": path, "pattern": "." })),
        (
            "edit_file",
            json!({ "path": path, "old": SECRET, "new": "gone" }),
        ),
        ("write_file", json!({ "path": path, "content": "gone" })),
    ]
}

fn hostile_yard() -> Yard {
    let yard = Yard::with(&[("docs/a.txt", "a")]);
    symlink(yard.outside("secret.txt"), yard.ws("link")).unwrap();
    symlink(yard.outside(""), yard.ws("folder-link")).unwrap();
    symlink("data", yard.ws("data-link")).unwrap();
    symlink("docs/a.txt", yard.ws("inner-link")).unwrap();
    mknodat(CWD, yard.ws("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    yard
}

// proves TL-8
#[tokio::test]
async fn no_tool_gets_through_a_link_a_pipe_or_a_path_that_leads_out() {
    let yard = hostile_yard();
    let top = yard.outside("..").canonicalize().unwrap();
    let paths = [
        "link",
        "folder-link",
        "folder-link/secret.txt",
        "data-link/token",
        "inner-link",
        "pipe",
        "..",
        "../outside/secret.txt",
        "docs/../../outside/secret.txt",
        "/etc/passwd",
        "/",
        "/proc/self/environ",
        "docs/a.txt/../../../outside/secret.txt",
    ];
    for path in paths {
        for (tool, args) in calls(path) {
            let Outcome { status, text, .. } = yard.call(tool, args).await;
            // A search outside searches the workspace instead, and says so.
            let is_inside = text.contains("in this folder: 1 match in 1 file\ndocs/a.txt:1: a");
            let is_searched = tool == "search_files" && is_inside;
            assert!(
                status == Status::Failed || is_searched,
                "{tool} {path}: {text}"
            );
            assert!(!text.contains(SECRET), "{tool} {path}: {text}");
            let leaks = text.contains(top.to_str().unwrap());
            assert!(!leaks, "{tool} {path} names a place outside: {text}");
        }
    }
    let outside = yard.outside("secret.txt");
    assert_eq!(fs::read_to_string(outside).unwrap(), SECRET);
    assert_eq!(fs::read_dir(yard.outside("")).unwrap().count(), 1);
    assert_eq!(yard.content("docs/a.txt"), "a");
}

// proves TL-8
#[tokio::test]
async fn the_data_directory_inside_the_workspace_is_not_there_for_any_tool() {
    let yard = hostile_yard();
    for path in ["data", "data/token", "./data/", "docs/../data/token"] {
        for (tool, args) in calls(path) {
            let Outcome { status, text, .. } = yard.call(tool, args).await;
            // A search of what does not exist searches the rest of the workspace.
            assert_eq!(status == Status::Done, tool == "search_files", "{text}");
            assert!(!text.contains(SECRET), "{tool} {path}: {text}");
        }
    }
    // A name that is not there yet is refused as well.
    for (tool, args) in calls("data/new") {
        let status = yard.call(tool, args).await.status;
        assert_eq!(status == Status::Done, tool == "search_files", "{tool}");
    }
    assert_eq!(yard.content("data/token"), SECRET);
    assert_eq!(fs::read_dir(yard.ws("data")).unwrap().count(), 1);

    let text = yard.text("list_dir", json!({ "depth": 9 })).await;
    let names: Vec<_> = text.lines().skip(1).map(|line| &line[14..]).collect();
    let expected = [
        "data-link@",
        "docs/",
        "docs/a.txt",
        "folder-link@",
        "inner-link@",
        "link@",
        "pipe?",
    ];
    assert_eq!(names, expected);
    let text = yard
        .text("search_files", json!({ "pattern": SECRET }))
        .await;
    assert!(
        text.starts_with("no match for \"swordfish\" in any case, in 1 file of this folder"),
        "{text}"
    );
}

// proves TL-18
#[tokio::test]
async fn what_the_server_trusts_can_be_read_and_not_written() {
    let yard = Yard::with(&[("samovar.toml", "port = 1\n"), ("skills/a.md", "port")]);
    let root = yard.ws("samovar.toml");
    let spellings = [
        "samovar.toml",
        "./samovar.toml",
        "skills/../samovar.toml",
        root.to_str().unwrap(),
        "skills/a.md",
    ];
    for path in spellings {
        // Also before it was read.
        let args = json!({ "path": path, "content": "port = 2" });
        let why = yard.refusal("write_file", args).await;
        assert!(why.contains("is protected and no tool"), "{path}: {why}");
    }
    for path in spellings {
        let text = yard.text("read_file", json!({ "path": path })).await;
        assert!(text.starts_with("     1\tport"), "{path}: {text}");
        let found = yard
            .data("search_files", json!({ "path": path, "pattern": "port" }))
            .await;
        assert_eq!(found["files"], 1, "{path}");

        for (tool, args) in [
            ("write_file", json!({ "path": path, "content": "port = 2" })),
            (
                "edit_file",
                json!({ "path": path, "old": "port", "new": "x" }),
            ),
        ] {
            let why = yard.refusal(tool, args).await;
            assert!(
                why.contains("is protected and no tool can change it"),
                "{why}"
            );
        }
    }
    for path in ["skills/new.md", "skills/deep/new.md", "Samovar.TOML"] {
        let args = json!({ "path": path, "content": "x" });
        let why = yard.refusal("write_file", args).await;
        assert!(why.contains("is protected"), "{why}");
    }
    assert_eq!(yard.content("samovar.toml"), "port = 1\n");
    assert_eq!(fs::read_dir(yard.ws("skills")).unwrap().count(), 1);
}

// proves TL-8
#[tokio::test]
async fn a_file_with_a_second_name_is_read_and_not_written() {
    let yard = Yard::with(&[("a", "text")]);
    fs::hard_link(yard.ws("a"), yard.ws("b")).unwrap();
    assert_eq!(
        yard.text("read_file", json!({ "path": "b" })).await,
        "     1\ttext"
    );
    for (tool, args) in [
        ("write_file", json!({ "path": "b", "content": "x" })),
        (
            "edit_file",
            json!({ "path": "b", "old": "text", "new": "x" }),
        ),
    ] {
        let why = yard.refusal(tool, args).await;
        assert!(why.contains("has 2 hard links"), "{why}");
    }
    assert_eq!(yard.content("a"), "text");
}

// proves TL-8, AS-12
#[tokio::test]
async fn no_text_as_a_path_makes_a_tool_fail_in_another_way_than_with_a_reason() {
    let yard = Yard::with(&[("a", "a")]);
    let long = "x/".repeat(3_000);
    let name = "x".repeat(300);
    for path in [
        "\0",
        "\u{1b}[2J",
        "\u{fffd}",
        "a\nb",
        &long,
        &name,
        "~",
        "C:\\x",
    ] {
        for (tool, args) in calls(path) {
            let outcome = yard.call(tool, args).await;
            let is_odd_name = tool == "write_file" && outcome.status == Status::Done;
            let is_search = tool == "search_files";
            assert!(
                is_odd_name || is_search || outcome.status == Status::Failed,
                "{tool} {path:?}"
            );
            let raw = outcome.text.contains(|c: char| c.is_control() && c != '\n');
            assert!(!raw, "{tool} {path:?}: {:?}", outcome.text);
            if is_odd_name {
                fs::remove_file(yard.ws(path)).unwrap();
            }
        }
    }
}
