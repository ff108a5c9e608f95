//! `list_dir`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::yard::Yard;

async fn list(yard: &Yard, args: Value) -> String {
    yard.text("list_dir", args).await
}

// proves TL-2, TL-3
#[tokio::test]
async fn a_folder_is_listed_with_sizes_and_kinds_sorted_by_path() {
    let yard = Yard::with(&[
        ("a.txt", "12345"),
        ("a/x y.txt", ""),
        ("a/deep/z", "z"),
        ("a-b", "12"),
    ]);
    symlink("a.txt", yard.ws("link")).unwrap();

    let outcome = yard.done("list_dir", json!({ "depth": 2 })).await;

    let expected = "7 entries in this folder\n           \
        -  a/\n           \
        2  a-b\n           \
        5  a.txt\n           \
        -  a/deep/\n           \
        0  a/x y.txt\n           \
        -  link@";
    // `data` is hidden, and below `a/deep` nothing was asked for.
    assert_eq!(outcome.text, expected.replace("7 entries", "6 entries"));
    assert_eq!(
        outcome.data.unwrap(),
        json!({ "entries": [
            { "path": "a", "kind": "directory", "size": 0 },
            { "path": "a-b", "kind": "file", "size": 2 },
            { "path": "a.txt", "kind": "file", "size": 5 },
            { "path": "a/deep", "kind": "directory", "size": 0 },
            { "path": "a/x y.txt", "kind": "file", "size": 0 },
            { "path": "link", "kind": "symlink", "size": 0 },
        ]})
    );
}

// proves TL-2
#[tokio::test]
async fn paths_are_relative_to_the_folder_that_is_listed() {
    let yard = Yard::with(&[("src/bin/main.rs", "fn"), ("src/lib.rs", "")]);
    let expected = "2 entries in src\n           -  bin/\n           0  lib.rs";
    assert_eq!(list(&yard, json!({ "path": "./src/" })).await, expected);
    let absolute = yard.ws("src");
    assert_eq!(list(&yard, json!({ "path": absolute })).await, expected);

    let data = yard.data("list_dir", json!({ "path": "src" })).await;
    assert_eq!(data["entries"][1]["path"], "src/lib.rs");

    fs::create_dir(yard.ws("empty")).unwrap();
    assert_eq!(
        list(&yard, json!({ "path": "empty" })).await,
        "0 entries in empty"
    );
}

// proves TL-2
#[tokio::test]
async fn depth_says_how_many_levels_are_listed() {
    let yard = Yard::with(&[("1/2/3/4.txt", "")]);
    for (depth, expected) in [
        (0, vec!["1/"]),
        (1, vec!["1/"]),
        (3, vec!["1/", "1/2/", "1/2/3/"]),
        (16, vec!["1/", "1/2/", "1/2/3/", "1/2/3/4.txt"]),
    ] {
        let text = list(&yard, json!({ "depth": depth })).await;
        let names: Vec<_> = text.lines().skip(1).map(|line| &line[14..]).collect();
        assert_eq!(names, expected);
    }
    let why = yard.refusal("list_dir", json!({ "depth": 17 })).await;
    assert_eq!(why, "depth is at most 16, not 17");
}

// proves TL-2
#[tokio::test]
async fn a_glob_chooses_by_name_or_with_a_slash_by_path() {
    let yard = Yard::with(&[
        ("a.rs", ""),
        ("src/b.rs", ""),
        ("src/in/c.rs", ""),
        ("src/in/d.txt", ""),
    ]);
    for (glob, expected) in [
        ("*.rs", vec!["a.rs", "src/b.rs", "src/in/c.rs"]),
        ("src/*.rs", vec!["src/b.rs"]),
        ("src/**/*.rs", vec!["src/b.rs", "src/in/c.rs"]),
        ("*.{txt,md}", vec!["src/in/d.txt"]),
        ("in", vec!["src/in/"]),
        ("nothing", vec![]),
    ] {
        let text = list(&yard, json!({ "depth": 9, "glob": glob })).await;
        let names: Vec<_> = text.lines().skip(1).map(|line| &line[14..]).collect();
        assert_eq!(names, expected, "{glob}");
    }
}

// proves TL-2
#[tokio::test]
async fn a_glob_that_makes_no_sense_is_refused_with_the_reason() {
    let yard = Yard::new();
    let deep = format!("{}a{}", "{".repeat(400), "}".repeat(400));
    let long = "a".repeat(1025);
    for (glob, why) in [
        ("a[", "unclosed character class"),
        ("{a", "unclosed alternate group"),
        (deep.as_str(), "nested too deep"),
        (&long, "has 1025 bytes and the limit is 1024"),
    ] {
        let text = yard.refusal("list_dir", json!({ "glob": glob })).await;
        assert!(text.contains(why), "{text}");
    }
}

// proves TL-2
#[tokio::test]
async fn what_gitignore_names_is_left_out_and_counted() {
    let yard = Yard::with(&[
        (".gitignore", "# built\n/target/\n*.log\n!keep.log\n"),
        (".git/config", ""),
        ("target/debug/x", ""),
        ("app.log", ""),
        ("keep.log", ""),
        ("sub/.gitignore", "keep.log\nonly-here\n!special.log\n"),
        ("sub/keep.log", ""),
        ("sub/special.log", ""),
        ("sub/only-here", ""),
        ("sub/target/kept", ""),
        ("only-here", ""),
    ]);

    let text = list(&yard, json!({ "depth": 9 })).await;
    let lines: Vec<_> = text.lines().collect();
    let names: Vec<_> = lines[1..lines.len() - 1]
        .iter()
        .map(|line| &line[14..])
        .collect();
    assert_eq!(
        names,
        [
            ".gitignore",
            "keep.log",
            "only-here",
            "sub/",
            "sub/.gitignore",
            "sub/special.log",
            "sub/target/",
            "sub/target/kept",
        ]
    );
    assert_eq!(lines[lines.len() - 1], "[4 entries left out by .gitignore]");

    // The rules above hold for a folder that is listed alone; the folder itself was asked for.
    let text = list(&yard, json!({ "path": "sub" })).await;
    assert!(text.starts_with("3 entries in sub\n"), "{text}");
    let text = list(&yard, json!({ "path": "target", "depth": 2 })).await;
    assert!(text.starts_with("2 entries in target\n"), "{text}");
}

// proves TL-2
#[tokio::test]
async fn a_gitignore_that_makes_no_sense_leaves_nothing_out() {
    let deep = format!("{}{}\nb\n", "{".repeat(30_000), "}".repeat(30_000));
    let yard = Yard::with(&[("a", ""), ("b", ""), (".gitignore", deep.as_str())]);
    let text = list(&yard, json!({ "glob": "[ab]" })).await;
    assert!(text.starts_with("1 entry in this folder"), "{text}");
    assert!(text.ends_with("[1 entry left out by .gitignore]"), "{text}");

    fs::remove_file(yard.ws(".gitignore")).unwrap();
    fs::write(yard.outside("rules"), "a\nb\n").unwrap();
    symlink(yard.outside("rules"), yard.ws(".gitignore")).unwrap();
    let text = list(&yard, json!({ "glob": "[ab]" })).await;
    assert!(text.starts_with("2 entries in this folder"), "{text}");
}

// proves TL-2, TL-3
#[tokio::test]
async fn a_thousand_entries_are_shown_and_the_rest_is_counted() {
    let yard = Yard::new();
    for number in 0..1_002 {
        yard.put(&format!("f{number:04}"), "");
    }

    let outcome = yard.done("list_dir", json!({})).await;
    let mut lines = outcome.text.lines();
    assert_eq!(
        lines.next(),
        Some("1002 entries in this folder, first 1,000 shown")
    );
    assert_eq!(lines.clone().count(), 1_000);
    assert!(lines.next_back().unwrap().ends_with("  f0999"));
    let entries = &outcome.data.unwrap()["entries"];
    assert_eq!(entries.as_array().unwrap().len(), 1_000);

    let outcome = yard.done("list_dir", json!({ "glob": "f0*" })).await;
    assert!(outcome.text.starts_with("1000 entries in this folder\n"));
}

// proves TL-2
#[tokio::test]
async fn entries_with_very_long_paths_are_shown_as_far_as_they_fit() {
    let yard = Yard::new();
    let folder = vec!["d".repeat(250); 4].join("/");
    for number in 0..300 {
        yard.put(&format!("{folder}/{number:03}"), "");
    }
    let text = list(&yard, json!({ "depth": 5 })).await;
    assert!(text.len() < 257 * 1024, "{}", text.len());
    assert!(
        text.starts_with("304 entries in this folder, first 2"),
        "{}",
        &text[..60]
    );
}

// proves TL-2
#[tokio::test]
async fn a_name_that_cannot_be_given_to_a_tool_is_shown_and_said_to_be_so() {
    let yard = Yard::new();
    fs::write(yard.ws("two\nlines\u{1b}"), "").unwrap();
    fs::write(yard.ws("").join(OsStr::from_bytes(b"caf\xe9")), "1").unwrap();
    fs::write(yard.ws("кот.txt"), "").unwrap();
    assert_eq!(
        list(&yard, json!({})).await,
        "3 entries in this folder\n           \
         1  caf\u{fffd} (name not usable)\n           \
         0  two\\u{a}lines\\u{1b} (name not usable)\n           \
         0  кот.txt"
    );
}

// proves TL-2
#[tokio::test]
async fn what_is_no_folder_is_refused() {
    let yard = Yard::with(&[("a.txt", "")]);
    let why = yard.refusal("list_dir", json!({ "path": "a.txt" })).await;
    assert!(why.contains("\"a.txt\" is not a directory"), "{why}");
    let why = yard.refusal("list_dir", json!({ "path": "no/such" })).await;
    assert!(
        why.contains("\"no\" does not exist; this folder has a.txt"),
        "{why}"
    );
}
