//! `edit_file`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use samovar_core::Status;
use serde_json::{Value, json};

use crate::yard::Yard;

fn edit(old: &str, new: &str) -> Value {
    json!({ "path": "a.txt", "old": old, "new": new })
}

// proves TL-2, TL-3
#[tokio::test]
async fn an_edit_replaces_a_text_and_shows_the_difference() {
    let yard = Yard::with(&[("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")]);
    fs::set_permissions(yard.ws("a.txt"), fs::Permissions::from_mode(0o640)).unwrap();

    let outcome = yard.done("edit_file", edit("5\n6", "five\n6")).await;

    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8";
    assert_eq!(
        outcome.text,
        format!("edited a.txt: 1 replacement\n\n{diff}")
    );
    assert_eq!(yard.content("a.txt"), "1\n2\n3\n4\nfive\n6\n7\n8\n9\n");
    let mode = fs::metadata(yard.ws("a.txt")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o640);
    let data = outcome.data.unwrap();
    assert_eq!(data["path"], "a.txt");
    assert_eq!(data["replacements"], 1);
    assert_eq!(data["diff"], diff);
    assert_eq!(
        data["sha256"],
        "0f36174a7431e14878a6705e0c0497b0e91feaeebc012190dea5721863ddf502"
    );
}

// proves TL-2
#[tokio::test]
async fn a_text_is_replaced_where_it_is_whatever_surrounds_it() {
    for (before, old, new, after) in [
        ("one two", "two", "2", "one 2"),
        ("one", "one", "", ""),
        ("a.c abc", "a.c", "x", "x abc"),
        ("café🐈", "é🐈", "e", "cafe"),
        (
            "a\r\nb\r\nc\r\n",
            "a\nb\n",
            "1\n2\n3\n",
            "1\r\n2\r\n3\r\nc\r\n",
        ),
        ("a\r\nb\r\n", "a\r\n", "x\r\n", "x\r\nb\r\n"),
        ("a\nb", "a", "x\r\ny", "x\ny\nb"),
        ("a\nb", "b", "b\n", "a\nb\n"),
        ("\u{feff}a", "a", "b", "\u{feff}b"),
        ("x\u{1b}y", "\u{1b}", "", "xy"),
    ] {
        let yard = Yard::with(&[("a.txt", before)]);
        yard.done("edit_file", edit(old, new)).await;
        assert_eq!(yard.content("a.txt"), after, "{before:?}");
    }
}

// proves TL-2
#[tokio::test]
async fn every_occurrence_is_replaced_when_all_is_set() {
    let yard = Yard::with(&[("a.txt", "aaa b\na\n")]);
    let args = json!({ "path": "a.txt", "old": "a", "new": "aa", "all": true });
    let text = yard.text("edit_file", args).await;
    assert!(
        text.starts_with("edited a.txt: 4 replacements\n\n"),
        "{text}"
    );
    assert_eq!(yard.content("a.txt"), "aaaaaa b\naa\n");
}

// proves TL-2
#[tokio::test]
async fn a_text_that_is_there_more_than_once_is_refused_with_its_places() {
    for (content, old, lines) in [
        ("x\ny\nx\n", "x", "1, 3;"),
        ("b\naaa", "aa", "2;"),
        (
            "x\n".repeat(30).as_str(),
            "x",
            "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and more;",
        ),
    ] {
        let yard = Yard::with(&[("a.txt", content)]);
        let why = yard.refusal("edit_file", edit(old, "z")).await;
        assert!(
            why.starts_with(&format!(
                "old is in \"a.txt\" more than once, at lines {lines} give more"
            )),
            "{why}"
        );
        assert_eq!(yard.content("a.txt"), content);
    }
}

// proves TL-2
#[tokio::test]
async fn a_text_with_line_numbers_or_other_indentation_is_found_at_its_one_place() {
    const CODE: &str =
        "def add(a, b):\n    return a - b\n\ndef twice(a):\n\tif a:\n\t\treturn a + a\n";
    for (before, old, new, after) in [
        // With the numbers of read_file, in old alone or in both, and indented as it is there.
        (
            CODE,
            "     2\t    return a - b",
            "    return a + b",
            "return a + b\n\ndef",
        ),
        (
            CODE,
            "     2\t    return a - b",
            "     2\t    return a + b",
            ":\n    return a + b\n\ndef",
        ),
        (
            CODE,
            "1\tdef add(a, b):\n2\t    return a - b\n",
            "1\tdef sub(a, b):\n2\t    return a - b\n",
            "def sub(a, b):\n    return a - b\n\n",
        ),
        // Both slips at once.
        (
            CODE,
            "     2\treturn a - b\n",
            "     2\treturn a + b\n",
            ":\n    return a + b\n\ndef",
        ),
        // More indentation than the text has, less, and that of a block.
        (
            CODE,
            "        return a - b",
            "        c = a\n        return c",
            ":\n    c = a\n    return c\n\n",
        ),
        (
            CODE,
            "if a:\n\treturn a + a\n",
            "if a:\n\treturn 2 * a\n\nreturn 0\n",
            "(a):\n\tif a:\n\t\treturn 2 * a\n\n\treturn 0\n",
        ),
        (
            CODE,
            "  def twice(a):\n  \tif a:",
            "  def double(a):\n  \tif a:",
            "\n\ndef double(a):\n\tif a:\n\t\treturn",
        ),
        (
            "{\r\n  a\r\n  b\r\n}\r\n",
            "a\nb\n",
            "c\n",
            "{\r\n  c\r\n}\r\n",
        ),
        // A line that has spaces alone is as good as an empty one.
        ("  a\n   \n  b\n", "a\n\nb", "c", "  c\n"),
    ] {
        let yard = Yard::with(&[("a.txt", before)]);
        let text = yard.text("edit_file", edit(old, new)).await;
        assert!(text.starts_with("edited a.txt: 1 replacement\n"), "{text}");
        let content = yard.content("a.txt");
        assert!(content.contains(after), "{old:?}: {content:?}");
    }
    // What is there as it was given comes first, and `all` reaches every place without numbers.
    let yard = Yard::with(&[("a.txt", "1\tx\nx\n")]);
    yard.done("edit_file", edit("1\tx", "1\ty")).await;
    assert_eq!(yard.content("a.txt"), "1\ty\nx\n");
    let yard = Yard::with(&[("a.txt", "x\ny\nx\n")]);
    let args = json!({ "path": "a.txt", "old": "1\tx", "new": "z", "all": true });
    yard.done("edit_file", args).await;
    assert_eq!(yard.content("a.txt"), "z\ny\nz\n");
}

// proves TL-2
#[tokio::test]
async fn a_numbered_replacement_loses_its_numbers_where_lines_come_or_go() {
    let yard = Yard::with(&[("a.txt", "a\nb\nc\n")]);
    yard.done("edit_file", edit("1\ta\n2\tb\n3\tc", "1\ta\nx\n3\tc"))
        .await;
    assert_eq!(yard.content("a.txt"), "a\nx\nc\n");
    // Numbers that the text did not have are data.
    let yard = Yard::with(&[("a.txt", "a\nb\n7\tfoo\n")]);
    yard.done("edit_file", edit("     3\t7\tfoo", "7\tbar\n9\tbaz"))
        .await;
    assert_eq!(yard.content("a.txt"), "a\nb\n7\tbar\n9\tbaz\n");
}

// proves TL-2
#[tokio::test]
async fn a_slip_that_leaves_a_doubt_changes_nothing() {
    for (content, old, new, why) in [
        (
            "  a\n  a\n",
            "    a",
            "    b",
            "more than once, at lines 1, 2;",
        ),
        (
            "a\nb\na\n",
            "     1\ta",
            "b",
            "more than once, at lines 1, 3;",
        ),
        // Numbers that do not count up belong to the text.
        ("a\nb\n", "1\ta\n3\tb\n", "c", "is not in"),
        // What was numbered is no middle of a line.
        ("7\tfoo\n", "8\tfoo", "8\tbar", "is not in"),
        // The lines are not shifted alike, or `new` has a line that cannot be.
        ("  a\n    b\n", "a\nb", "c", "is not in"),
        ("  a\n", "    a", "    b\nc", "is not in"),
        ("\ta\n", "    a", "    b", "is not in"),
        ("     1\ta\n", "     1\ta", "     1\ta", "are the same"),
        ("a\n", "     1\ta", "a", "are the same"),
    ] {
        let yard = Yard::with(&[("a.txt", content)]);
        let text = yard.refusal("edit_file", edit(old, new)).await;
        assert!(text.contains(why), "{old:?}: {text}");
        assert_eq!(yard.content("a.txt"), content);
    }
}

// proves TL-2
#[tokio::test]
async fn a_place_that_differs_in_case_or_spaces_is_quoted_to_be_copied() {
    for (content, old, new, quoted) in [
        (
            "HOST = 1\n  PORT = 8080  # \"p\"\n",
            "port=8080",
            "port=9090",
            "\"old\": \"PORT = 8080\", \"new\": \"PORT = 9090\" (line 2)",
        ),
        (
            "\tPort: \"80\"\n",
            "PORT:  \"80\"",
            "x",
            "\"old\": \"Port: \\\"80\\\"\", \"new\": \"x\" (line 1)",
        ),
        (
            "f(a,\n  b)\n",
            "f(a, b)",
            "f(a, c, b)",
            "\"old\": \"f(a,\\n  b)\", \"new\": \"f(a,\\n  c, b)\" (line 1)",
        ),
        (
            "Übung  1\nx\nübung 1",
            "ÜBUNG 1",
            "ÜBUNG 2",
            "\"old\": \"Übung  1\", \"new\": \"Übung  2\" (line 1), or with \
             \"old\": \"übung 1\", \"new\": \"übung 2\" (line 3)",
        ),
    ] {
        let yard = Yard::with(&[("a.txt", content)]);
        let text = yard.refusal("edit_file", edit(old, new)).await;
        assert_eq!(
            text,
            format!(
                "old is not in \"a.txt\" exactly; the text there differs in case or spaces. \
                 Call again with {quoted}"
            )
        );
        assert_eq!(yard.content("a.txt"), content);
    }
    // What would be copied as something else, or is too long, is not.
    for content in ["a\u{1b} b".to_owned(), format!("a{}b", " ".repeat(2_000))] {
        let yard = Yard::with(&[("a.txt", &content)]);
        let text = yard
            .refusal("edit_file", edit(&content.replace(' ', "  "), "x"))
            .await;
        assert!(!text.contains("Call again with"), "{text}");
    }
}

// proves TL-2
#[tokio::test]
async fn a_text_that_is_not_there_is_refused_with_the_nearest_places() {
    let content = "fn main() {\n    let total = 1;\n    print(total);\n}\n\nfn mean() {\n}\n";
    let yard = Yard::with(&[("a.txt", content)]);
    for (old, shown) in [
        (
            "LET TOTL = 1;",
            "the nearest places are:\n     2\t    let total = 1;\ngive the text",
        ),
        (
            "\nfn main () {\n  let total = 2;\n",
            "are:\n     1\tfn main() {\n     2\t    let total = 1;\n     3\t    print(total);\n[..]\n",
        ),
        (
            "fn mean() {\n    0\n",
            "     6\tfn mean() {\n     7\t}\n[..]\n",
        ),
        (
            "zebra",
            ", which has:\nfn main() {\n    let total = 1;\n    print(total);\n}\n\nfn mean() {\n}\n\
             copy old from this text",
        ),
        (" \n ", ", which has:\nfn main() {"),
    ] {
        let why = yard.refusal("edit_file", edit(old, "x")).await;
        assert!(why.starts_with("old is not in \"a.txt\""), "{why}");
        assert!(why.contains(shown), "{old:?}: {why}");
    }
    assert_eq!(yard.content("a.txt"), content);
    // A long file is not quoted, and an empty one has nothing to quote.
    for content in [
        "lion\n".repeat(500),
        "\n".repeat(3_000) + "lion",
        "\n".to_owned(),
    ] {
        let yard = Yard::with(&[("a.txt", &content)]);
        let why = yard.refusal("edit_file", edit("zebra", "x")).await;
        assert!(
            why.ends_with("call read_file, then copy old from its result"),
            "{why}"
        );
    }
}

// proves TL-2
#[tokio::test]
async fn an_edit_that_makes_no_sense_is_refused() {
    let yard = Yard::with(&[("a.txt", "a\r\nb")]);
    for (args, why) in [
        (edit("", "x"), "old is empty"),
        (edit("a", "a"), "old and new are the same"),
        (edit("a\r\nb", "a\nb"), "old and new are the same"),
        (
            json!({ "path": "no", "old": "a", "new": "b" }),
            "does not exist",
        ),
        (
            json!({ "path": ".", "old": "a", "new": "b" }),
            "is a directory",
        ),
    ] {
        let text = yard.refusal("edit_file", args).await;
        assert!(text.contains(why), "{text}");
    }
    yard.put("a.txt", b"caf\xe9");
    let text = yard.refusal("edit_file", edit("caf", "x")).await;
    assert!(text.starts_with("\"a.txt\" is not UTF-8 text"), "{text}");
}

// proves TL-2
#[tokio::test]
async fn an_edit_stays_within_1_mib_before_and_after() {
    let yard = Yard::new();
    yard.put("a.txt", "x".repeat(1024 * 1024 + 1));
    let why = yard.refusal("edit_file", edit("x", "y")).await;
    assert!(
        why.contains("has 1048577 bytes and the limit is 1048576"),
        "{why}"
    );

    let most = format!("{}y", "x".repeat(1024 * 1024 - 1));
    yard.put("a.txt", &most);
    let why = yard.refusal("edit_file", edit("y", "yy")).await;
    assert!(why.contains("has 1048577 bytes"), "{why}");
    assert_eq!(yard.content("a.txt"), most);
    yard.done("edit_file", edit("y", "z")).await;
}

// proves TL-2, TL-3
#[tokio::test]
async fn a_long_difference_is_cut_and_a_control_character_in_it_is_visible() {
    let content = "old\u{7}line\n".repeat(5_000);
    let yard = Yard::with(&[("a.txt", &content)]);
    let args = json!({ "path": "a.txt", "old": "old", "new": "new", "all": true });
    let outcome = yard.done("edit_file", args).await;
    assert!(
        outcome
            .text
            .starts_with("edited a.txt: 5000 replacements\n\n")
    );
    assert!(outcome.text.contains("\n-old\\u{7}line\n"));
    assert!(!outcome.text.contains('\u{7}'));
    assert!(outcome.text.len() < 33 * 1024);
    let last = outcome.text.lines().last().unwrap();
    assert!(
        last.starts_with("[diff cut: 3") && last.ends_with(" bytes shown]"),
        "{last}"
    );
    assert_eq!(yard.content("a.txt"), content.replace("old", "new"));
}

// proves AS-10
#[tokio::test]
async fn only_a_failure_that_other_arguments_mend_says_so() {
    let yard = Yard::with(&[("a.txt", "one\ntwo\ntwo\n")]);
    let edited = |path: &str, old: &str| {
        let args = json!({"path": path, "old": old, "new": "new"});
        ("edit_file", args)
    };
    for ((name, args), is_correctable) in [
        (edited("a.txt", "three"), true),
        (edited("a.txt", "two"), true),
        (edited("a.txt", ""), true),
        (edited("a.txt", "new"), true),
        (edited("absent.txt", "one"), false),
        (edited("../a.txt", "one"), false),
        (("read_file", json!({"path": "a.txt", "offset": 9})), true),
        (("read_file", json!({"path": "absent.txt"})), false),
        (("search_files", json!({"pattern": "("})), true),
        (("list_dir", json!({"glob": "["})), true),
    ] {
        let outcome = yard.call(name, args.clone()).await;
        assert_eq!(outcome.status, Status::Failed, "{name} {args}");
        assert_eq!(outcome.correctable, is_correctable, "{name} {args}");
    }
}
