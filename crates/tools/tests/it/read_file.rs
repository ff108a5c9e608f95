//! `read_file`.

use serde_json::{Value, json};

use crate::yard::Yard;

async fn read(yard: &Yard, args: Value) -> String {
    yard.text("read_file", args).await
}

// proves TL-2, TL-3
#[tokio::test]
async fn a_text_is_read_with_line_numbers() {
    for (content, expected, lines) in [
        ("one\ntwo\n", "     1\tone\n     2\ttwo", 2),
        ("one\ntwo", "     1\tone\n     2\ttwo", 2),
        ("\n\n", "     1\t\n     2\t", 2),
        (" a\tb ", "     1\t a\tb ", 1),
        ("кот\n🐈\n", "     1\tкот\n     2\t🐈", 2),
    ] {
        let yard = Yard::with(&[("a.txt", content)]);
        let outcome = yard.done("read_file", json!({ "path": "./a.txt" })).await;
        assert_eq!(outcome.text, expected, "{content:?}");
        assert_eq!(
            outcome.data.unwrap(),
            json!({
                "path": "a.txt", "from": 1, "to": lines, "lines": lines,
                "bytes": content.len(), "binary": false,
            })
        );
    }
}

// proves TL-2, TL-3
#[tokio::test]
async fn what_has_no_lines_is_said_to_have_none() {
    let yard = Yard::new();
    let mut late = vec![b'a'; 8 * 1024];
    late[8 * 1024 - 1] = 0;
    for (content, expected, binary) in [
        (&b""[..], "[empty file]", false),
        (b"PK\x03\x04\0\0", "[binary file, 6 bytes]", true),
        (&late, "[binary file, 8192 bytes]", true),
    ] {
        yard.put("x", content);
        let outcome = yard.done("read_file", json!({ "path": "x" })).await;
        assert_eq!(outcome.text, expected);
        assert_eq!(
            outcome.data.unwrap(),
            json!({
                "path": "x", "from": 0, "to": 0, "lines": 0,
                "bytes": content.len(), "binary": binary,
            })
        );
    }
    assert_eq!(
        read(&yard, json!({ "path": "x", "offset": 5 })).await,
        "[binary file, 8192 bytes]"
    );
}

// proves TL-2
#[tokio::test]
async fn a_part_of_a_text_says_how_to_go_on() {
    let yard = Yard::with(&[("a", "1\n2\n3\n4\n5\n")]);
    for (offset, limit, expected) in [
        (
            1,
            2,
            "     1\t1\n     2\t2\n[lines 1-2 of 5; call again with offset=3]\n[the text ends:]\n     \
             3\t3\n     4\t4\n     5\t5",
        ),
        (
            3,
            1,
            "     3\t3\n[lines 3-3 of 5; call again with offset=4]",
        ),
        (4, 2, "     4\t4\n     5\t5"),
        (5, 100_000, "     5\t5"),
    ] {
        let args = json!({ "path": "a", "offset": offset, "limit": limit });
        assert_eq!(read(&yard, args).await, expected);
    }
    let data = yard
        .data("read_file", json!({ "path": "a", "offset": 2, "limit": 3 }))
        .await;
    assert_eq!(
        (&data["from"], &data["to"], &data["lines"]),
        (&json!(2), &json!(4), &json!(5))
    );
}

// proves TL-2
#[tokio::test]
async fn a_place_beyond_the_text_is_refused() {
    let yard = Yard::with(&[("a", "1\n2\n")]);
    let why = yard
        .refusal("read_file", json!({ "path": "a", "offset": 3 }))
        .await;
    assert_eq!(why, "\"a\" has 2 lines and offset is 3; give a smaller one");
    let why = yard
        .refusal("read_file", json!({ "path": "a", "limit": 0 }))
        .await;
    assert!(why.starts_with("limit is the number of lines"), "{why}");
    let text = read(&yard, json!({ "path": "a", "offset": 0 })).await;
    assert_eq!(text, "     1\t1\n     2\t2");
    for huge in [u64::MAX, u64::MAX - 1] {
        let args = json!({ "path": "a", "offset": huge, "limit": huge });
        let why = yard.refusal("read_file", args).await;
        assert!(why.contains("has 2 lines"), "{why}");
    }
}

// proves TL-2
#[tokio::test]
async fn one_call_shows_400_lines_and_2000_when_asked_for_more() {
    let lines: Vec<_> = (1..=2_500).map(|line| line.to_string()).collect();
    let yard = Yard::with(&[("a", &lines.join("\n"))]);
    let text = read(&yard, json!({ "path": "a", "limit": 2_400 })).await;
    assert_eq!(text.lines().count(), 2_007);
    let note = "\n  2000\t2000\n[lines 1-2000 of 2500; call again with offset=2001]\n";
    assert!(text.contains(note), "{note}");
    let text = read(&yard, json!({ "path": "a", "offset": 2_101 })).await;
    assert!(text.starts_with("  2101\t2101\n") && text.ends_with("\n  2500\t2500"));
    let text = read(&yard, json!({ "path": "a" })).await;
    assert_eq!(text.lines().count(), 407);
    assert!(text.ends_with(
        "\n   400\t400\n[lines 1-400 of 2500; call again with offset=401]\n[the text ends:]\n  \
         2496\t2496\n  2497\t2497\n  2498\t2498\n  2499\t2499\n  2500\t2500"
    ));
}

// proves TL-2
#[tokio::test]
async fn one_call_shows_16_kib_or_256_when_asked_for_more_and_cuts_long_lines() {
    let line = "x".repeat(5_000);
    let content = format!("{line}\n").repeat(400);
    let yard = Yard::with(&[("a", &content)]);
    for (limit, kib, lines) in [(400, 16, 3), (401, 256, 52)] {
        let text = read(&yard, json!({ "path": "a", "limit": limit })).await;
        assert!(text.len() <= (kib + 2) * 1024, "{}", text.len());
        let next = lines + 1;
        let note = format!("\n[lines 1-{lines} of 400; call again with offset={next}]\n");
        assert!(text.contains(&note), "{note}");
        let x = "x".repeat(256);
        let last = format!("\n   400\t{x} [line cut, it has 5000 bytes]");
        assert!(text.ends_with(&last), "{}", &text[text.len() - 300..]);
    }

    yard.put("two", format!("{0}\n{0}\n", "x".repeat(16_000)));
    let text = read(&yard, json!({ "path": "two" })).await;
    assert!(text.len() <= 17 * 1024, "{}", text.len());
    assert!(text.ends_with(" [line cut, it has 16000 bytes]"));

    // The limit falls into the middle of a character.
    let long = format!("x{}\nnext", "é".repeat(9_000));
    yard.put("b", &long);
    let text = read(&yard, json!({ "path": "b", "limit": 500 })).await;
    let shown = format!("     1\tx{}", "é".repeat(8_191));
    assert_eq!(
        text,
        format!("{shown} [line cut, it has 18001 bytes]\n     2\tnext")
    );
}

// proves TL-2
#[tokio::test]
async fn what_is_shown_differently_is_said() {
    let yard = Yard::new();
    for (content, expected) in [
        (&b"a\r\nb\r\n"[..], "     1\ta\n     2\tb\n[CRLF line ends]"),
        (
            b"a\r\nb\n",
            "     1\ta\n     2\tb\n[CRLF line ends and others]",
        ),
        (b"a\r\nb", "     1\ta\n     2\tb\n[CRLF line ends]"),
        (
            b"a\rb\x1b[1m\x7f\n",
            "     1\ta\\u{d}b\\u{1b}[1m\\u{7f}\n[control characters are shown as \\u{..}]",
        ),
        (
            b"caf\xe9\n",
            "     1\tcaf\u{fffd}\n[not all is UTF-8; what is not is shown as \u{fffd}]",
        ),
        (
            "\u{85}\u{9b}31m".as_bytes(),
            "     1\t\\u{85}\\u{9b}31m\n[control characters are shown as \\u{..}]",
        ),
    ] {
        yard.put("x", content);
        assert_eq!(read(&yard, json!({ "path": "x" })).await, expected);
    }
}

// proves TL-2
#[tokio::test]
async fn a_file_of_any_size_is_read_line_by_line() {
    let yard = Yard::with(&[("big", "first\n")]);
    // Holes take no space: a file larger than what lines are counted in, all of it one line.
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(yard.ws("big"))
        .unwrap();
    let head = vec![b'\n'; 9_000];
    std::os::unix::fs::FileExt::write_all_at(&file, &head, 6).unwrap();
    file.set_len(65 * 1024 * 1024).unwrap();

    let text = read(&yard, json!({ "path": "big", "limit": 1 })).await;
    assert_eq!(
        text,
        "     1\tfirst\n[only the lines in the first 64 MiB are counted]\n\
         [lines 1-1 of 9002; call again with offset=2]"
    );
    let why = yard
        .refusal("read_file", json!({ "path": "big", "offset": 10_000 }))
        .await;
    assert!(why.contains("beyond the first 64 MiB"), "{why}");
}

// proves TL-2
#[tokio::test]
async fn what_is_no_file_is_refused() {
    let yard = Yard::with(&[("d/a", "")]);
    for (path, why) in [
        ("d", "\"d\" is a directory"),
        ("", "is a directory"),
        ("d/b", "\"d/b\" does not exist; d has d/a"),
        ("d/a/b", "\"d/a\" is not a directory"),
    ] {
        let text = yard.refusal("read_file", json!({ "path": path })).await;
        assert!(text.contains(why), "{text}");
    }
}

// proves TL-2
#[tokio::test]
async fn a_path_that_leads_nowhere_is_answered_with_the_nearest_names() {
    let yard = Yard::with(&[
        ("people.csv", ""),
        ("old/People.csv", ""),
        ("src/main.py", ""),
        ("deep/er/config.yaml", ""),
        (".gitignore", "built"),
        ("built/people.csv", ""),
        (".git/people.csv", ""),
    ]);
    for (tool, args, instead) in [
        (
            "read_file",
            json!({ "path": "data/people.csv" }),
            "\"data\" does not exist; did you mean \"old/People.csv\" or \"people.csv\"?",
        ),
        (
            "read_file",
            json!({ "path": "peoples.csv" }),
            "\"peoples.csv\" does not exist; did you mean \"old/People.csv\" or \"people.csv\"?",
        ),
        (
            "read_file",
            json!({ "path": "config.yml" }),
            "\"config.yml\" does not exist; did you mean \"deep/er/config.yaml\"?",
        ),
        (
            "edit_file",
            json!({ "path": "main.py", "old": "a", "new": "b" }),
            "\"main.py\" does not exist; did you mean \"src/main.py\"?",
        ),
        (
            "list_dir",
            json!({ "path": "SRC" }),
            "\"SRC\" does not exist; did you mean \"src\"?",
        ),
        (
            "read_file",
            json!({ "path": "deep/zebra" }),
            "\"deep/zebra\" does not exist; deep has deep/er/",
        ),
        // What is hidden is not betrayed.
        (
            "read_file",
            json!({ "path": "tokens" }),
            "\"tokens\" does not exist; this folder has .gitignore, deep/, old/, people.csv, src/",
        ),
    ] {
        assert_eq!(yard.refusal(tool, args).await, instead);
    }
}
