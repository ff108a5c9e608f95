//! `search_files`.

use serde_json::{Value, json};

use crate::yard::Yard;

async fn search(yard: &Yard, args: Value) -> String {
    yard.text("search_files", args).await
}

// proves TL-2, TL-3
#[tokio::test]
async fn matching_lines_are_found_in_all_files() {
    let yard = Yard::with(&[
        ("a.txt", "cat\ndog\ncatalog\n"),
        ("src/b.rs", "// a cat\r\n"),
        ("src/c.rs", "nothing"),
    ]);

    let outcome = yard.done("search_files", json!({ "pattern": "cat" })).await;

    assert_eq!(
        outcome.text,
        "3 matches in 2 files\na.txt:1: cat\na.txt:3: catalog\nsrc/b.rs:1: // a cat"
    );
    assert_eq!(
        outcome.data.unwrap(),
        json!({
            "matches": [
                { "path": "a.txt", "line": 1, "text": "cat" },
                { "path": "a.txt", "line": 3, "text": "catalog" },
                { "path": "src/b.rs", "line": 1, "text": "// a cat" },
            ],
            "files": 2,
            "truncated": false,
        })
    );
    let outcome = yard
        .done("search_files", json!({ "pattern": "zebra" }))
        .await;
    assert_eq!(
        outcome.text,
        "no match for \"zebra\" in any case, in 3 files of this folder"
    );
    assert_eq!(
        outcome.data.unwrap(),
        json!({ "matches": [], "files": 0, "truncated": false })
    );
}

// proves TL-2
#[tokio::test]
async fn path_and_glob_say_where_to_look() {
    let yard = Yard::with(&[
        ("x.rs", "hit"),
        ("src/x.rs", "hit"),
        ("src/in/x.rs", "hit"),
        ("src/in/x.txt", "hit"),
    ]);
    for (path, glob, expected) in [
        (None, Some("*.txt"), vec!["src/in/x.txt"]),
        (Some("src"), Some("*.rs"), vec!["src/in/x.rs", "src/x.rs"]),
        (
            Some("src"),
            Some("in/*"),
            vec!["src/in/x.rs", "src/in/x.txt"],
        ),
        (Some("src/in/x.txt"), None, vec!["src/in/x.txt"]),
        (Some("src/in/x.txt"), Some("*.rs"), vec!["src/in/x.txt"]),
    ] {
        let mut args = json!({ "pattern": "hit" });
        if let Some(path) = path {
            args["path"] = json!(path);
        }
        if let Some(glob) = glob {
            args["glob"] = json!(glob);
        }
        let data = yard.data("search_files", args).await;
        let matches = data["matches"].as_array().unwrap().iter();
        let paths: Vec<_> = matches
            .map(|found| found["path"].as_str().unwrap())
            .collect();
        assert_eq!(paths, expected, "{path:?} {glob:?}");
    }
}

// proves TL-2
#[tokio::test]
async fn a_pattern_is_a_regular_expression_of_one_line() {
    let yard = Yard::with(&[("a", "one two\r\nThree\n\u{7d2}\n  four\n")]);
    for (pattern, lines) in [
        (r"^one\b.*two$", vec![1]),
        ("(?i)THREE", vec![2]),
        (r"^\s+four$", vec![4]),
        (r"two\s+Three", vec![]),
        (r"\p{Nko}", vec![3]),
        ("o.r|e+$", vec![2, 4]),
    ] {
        let data = yard
            .data("search_files", json!({ "pattern": pattern }))
            .await;
        let matches = data["matches"].as_array().unwrap().iter();
        let found: Vec<_> = matches
            .map(|found| found["line"].as_u64().unwrap())
            .collect();
        assert_eq!(found, lines, "{pattern}");
    }
}

// proves TL-2
#[tokio::test]
async fn a_pattern_that_makes_no_sense_is_refused_with_the_reason() {
    let yard = Yard::with(&[("a", "a")]);
    let long = "a".repeat(1025);
    let deep = "(".repeat(500) + &")".repeat(500);
    for (pattern, why) in [
        ("a(", "unclosed group"),
        ("(?=a)", "look-around"),
        (r"(a)\1", "backreferences"),
        (r"a\nb", "\\n"),
        (r"(\pL{1000}){1000}", "size limit"),
        (&deep, "maximum number of nested"),
        ("", "this one has 0"),
        (&long, "this one has 1025"),
    ] {
        let text = yard
            .refusal("search_files", json!({ "pattern": pattern }))
            .await;
        assert!(text.contains(why), "{pattern:.20}: {text}");
    }
    let text = yard
        .refusal("search_files", json!({ "pattern": "a", "glob": "{" }))
        .await;
    assert!(text.contains("the glob \"{\" is not valid"), "{text}");
}

// proves TL-2
#[tokio::test]
async fn a_path_or_a_glob_that_leads_nowhere_does_not_end_the_search() {
    let yard = Yard::with(&[("people.csv", "Wei,41\n"), ("src/a.rs", "")]);
    let found = "1 match in 1 file\npeople.csv:1: Wei,41";
    for (args, expected) in [
        (
            json!({ "pattern": "Wei", "path": "path/to/data" }),
            format!("\"path\" does not exist; in this folder: {found}"),
        ),
        (
            json!({ "pattern": "Wei", "path": "/mnt/files" }),
            format!("\"/mnt/files\" is outside the workspace; in this folder: {found}"),
        ),
        (
            json!({ "pattern": "Wei", "path": ".", "glob": ".*" }),
            format!("no file matches the glob \".*\"; in all files: {found}"),
        ),
        (
            json!({ "pattern": "zebra", "path": "no", "glob": "*.js" }),
            "\"no\" does not exist; in this folder: no file matches the glob \"*.js\"; in all \
             files: no match for \"zebra\" in any case, in 2 files of this folder"
                .to_owned(),
        ),
        // Files that match are what was meant.
        (
            json!({ "pattern": "Wei", "glob": "*.rs" }),
            "no match for \"Wei\" in any case, in 1 file of this folder that match the glob \"*.rs\""
                .to_owned(),
        ),
    ] {
        assert_eq!(search(&yard, args).await, expected);
    }
    // Also one that is not searched.
    yard.put("x.bin", "\0");
    let args = json!({ "pattern": "Wei", "glob": "*.bin" });
    let text = search(&yard, args).await;
    assert!(
        text.starts_with("no match for \"Wei\" in any case, in 0 files"),
        "{text}"
    );
}

// proves TL-2
#[tokio::test]
async fn a_search_in_vain_says_what_it_searched_and_tries_without_case() {
    let yard = Yard::with(&[
        ("src/Todo.rs", "fn main"),
        ("src/a.rs", "// Note: a\n"),
        ("b.txt", "note b\n"),
        ("empty/.keep", ""),
    ]);
    for (args, expected) in [
        (
            json!({ "pattern": "NOTE" }),
            "2 matches in 2 files, all by ignoring case\nb.txt:1: note b\nsrc/a.rs:1: // Note: a",
        ),
        // One that matches as it was given is enough.
        (
            json!({ "pattern": "note" }),
            "1 match in 1 file\nb.txt:1: note b",
        ),
        (
            json!({ "pattern": "TODO" }),
            "no match for \"TODO\" in any case, in 4 files of this folder\n[file names that match are src/Todo.rs]",
        ),
        (
            json!({ "pattern": "a\\.b", "path": "src", "glob": "*.rs" }),
            "no match for \"a\\.b\" in any case, in 2 files of src that match the glob \"*.rs\"",
        ),
        (
            json!({ "pattern": "x", "glob": "*.js" }),
            "no file matches the glob \"*.js\"; in all files: no match for \"x\" in any case, in 4 files of this folder\n[file names that match are b.txt]",
        ),
        (
            json!({ "pattern": "todo", "path": "src/Todo.rs" }),
            "no match for \"todo\" in src/Todo.rs, in any case",
        ),
    ] {
        assert_eq!(search(&yard, args).await, expected);
    }
}

// proves TL-2
#[tokio::test]
async fn what_is_not_searched_is_said() {
    let yard = Yard::with(&[
        (".gitignore", "*.log\nbuilt\n"),
        ("a.log", "hit"),
        ("built/x", "hit"),
        (".git/x", "hit"),
        ("early", "\0 hit"),
        ("large", &"hit\n".repeat(2 * 1024 * 1024 + 1)),
        ("plain", "hit"),
    ]);
    yard.put("late", format!("hit\n{}\0", "x\n".repeat(100_000)));
    assert_eq!(
        search(&yard, json!({ "pattern": "hit" })).await,
        "1 match in 1 file\nplain:1: hit\n[1 file over 8 MiB not searched]\n\
         [2 files not searched, being binary]\n[2 entries left out by .gitignore]"
    );
    // What was asked for by name is searched, whatever is said of it.
    let text = search(&yard, json!({ "pattern": "hit", "path": "a.log" })).await;
    assert_eq!(text, "1 match in 1 file\na.log:1: hit");
    let text = search(&yard, json!({ "pattern": "hit", "path": "large" })).await;
    assert_eq!(
        text,
        "no match for \"hit\" in large, in any case\n[1 file over 8 MiB not searched]"
    );
}

// proves TL-2, TL-3
#[tokio::test]
async fn two_hundred_matches_are_shown() {
    let yard = Yard::with(&[("a", &"x\n".repeat(150)), ("b", &"x\n".repeat(50))]);
    let outcome = yard.done("search_files", json!({ "pattern": "x" })).await;
    assert!(outcome.text.starts_with("200 matches in 2 files\n"));
    assert!(outcome.text.ends_with("\nb:50: x"));
    assert_eq!(outcome.data.unwrap()["truncated"], false);

    yard.put("c", "x");
    let outcome = yard.done("search_files", json!({ "pattern": "x" })).await;
    assert!(outcome.text.starts_with("200 matches in 2 files\n"));
    assert!(
        outcome
            .text
            .ends_with("\nb:50: x\n[there are more matches; narrow the pattern, path or glob]")
    );
    let data = outcome.data.unwrap();
    assert_eq!(data["truncated"], true);
    assert_eq!(data["matches"].as_array().unwrap().len(), 200);
}

// proves TL-2
#[tokio::test]
async fn matches_take_64_kib_and_long_or_strange_lines_are_shown_safely() {
    let yard = Yard::with(&[("a", &format!("{}\n", "é".repeat(2_000)).repeat(100))]);
    let text = search(&yard, json!({ "pattern": "é" })).await;
    assert!(text.len() < 70 * 1024, "{}", text.len());
    assert!(text.ends_with("\n[there are more matches; narrow the pattern, path or glob]"));
    let second = text.lines().nth(1).unwrap();
    assert_eq!(
        second,
        format!("a:1: {} [line cut, it has 4000 bytes]", "é".repeat(500))
    );

    yard.put("a", b"\x1b[31m hit \xff\n");
    assert_eq!(
        search(&yard, json!({ "pattern": "hit" })).await,
        "1 match in 1 file\na:1: \\u{1b}[31m hit \u{fffd}"
    );
}
