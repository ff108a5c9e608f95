//! What is done: requests, run to their end over a folder in memory.

use serde_json::json;

use super::world::World;
use super::{FILES, claims};

// proves FC-5
#[test]
fn the_main_request_is_done_with_real_calls_in_every_language() {
    let requests = [
        (
            "list the three largest files here and write their names to largest.txt",
            "largest.txt",
        ),
        (
            "перечисли три самых больших файла здесь и запиши их имена в «самые большие.txt»",
            "самые большие.txt",
        ),
        (
            "列出这里最大的三个文件，把它们的名字写到 “最大 文件.txt”",
            "最大 文件.txt",
        ),
        (
            "перелічи три найбільші файли тут і запиши їхні імена у файл найбільші файли.txt",
            "найбільші файли.txt",
        ),
    ];
    for (request, target) in requests {
        let mut world = World::new(FILES);

        let turn = world.turn(request);

        let names = "notes.txt\na file with spaces.txt\nmiddle.md\n";
        assert_eq!(world.file(target), Some(names), "{request}");
        let write = json!({"path": target, "content": names});
        let calls = [
            ("list_dir".to_owned(), json!({"path": "."})),
            ("write_file".to_owned(), write),
        ];
        assert_eq!(turn.calls, calls);
        let told = [
            "1. notes.txt (14 B)",
            "2. a file with spaces.txt (9 B)",
            "3. middle.md (8 B)",
            target,
        ];
        assert!(
            told.iter().all(|told| turn.last().contains(told)),
            "{}",
            turn.last()
        );
        assert!(claims(turn.last()), "{}", turn.last());
    }
}

// proves FC-5
#[test]
fn number_order_folder_and_details_are_followed() {
    let check = |request: &str, path: &str, expected: &str| {
        let mut world = World::new(FILES);
        let turn = world.turn(request);
        assert_eq!(
            world.file(path),
            Some(expected),
            "{request}: {}",
            turn.last()
        );
    };
    check(
        "write the names of the two smallest files to s.txt",
        "s.txt",
        "small.txt\nmiddle.md\n",
    );
    check(
        "save the largest file name to s.txt",
        "s.txt",
        "notes.txt\n",
    );
    check(
        "list the last file alphabetically and save its name to s",
        "s",
        "twin of middle.md\n",
    );
    check(
        "put the names of the .md files into s.txt",
        "s.txt",
        "middle.md\ntwin of middle.md\n",
    );
    check(
        "write names and sizes of all files in docs to docs/s.txt",
        "docs/s.txt",
        "deep.txt\t15\n",
    );
    check("write the names of all folders to s.txt", "s.txt", "docs\n");
    check(
        "count the files here and write the number to s.txt",
        "s.txt",
        "5\n",
    );
    check(
        "how many lines do notes.txt and middle.md have? save that to s.txt",
        "s.txt",
        "3\n1\n",
    );
    check(
        "find two in notes.txt and save the matches to s.txt",
        "s.txt",
        "notes.txt:2: two\n",
    );
    check("calculate 7 / 2 and write it to s.txt", "s.txt", "3.5\n");
    check("write \"a\nb\" to s.txt", "s.txt", "a\nb");
    check(
        "add the names of the two largest md files to small.txt",
        "small.txt",
        "1\nmiddle.md\ntwin of middle.md",
    );
}

// proves FC-5
#[test]
fn a_target_that_exists_is_not_listed_and_too_few_files_are_told() {
    let mut world = World::new(&[
        ("a.txt", "1"),
        ("largest.txt", "a long text that is there already"),
    ]);

    let turn =
        world.turn("list the three largest files here and write their names to ./largest.txt");

    assert_eq!(world.file("./largest.txt"), Some("a.txt\n"));
    let told = turn.last();
    assert!(
        told.contains("You asked for 3; there are only 1."),
        "{told}"
    );
    assert!(
        told.contains("“./largest.txt” itself is left out"),
        "{told}"
    );

    let mut empty = World::new(&[("docs/a.txt", "1")]);
    let turn = empty.turn("list the three largest files here and write their names to largest.txt");
    assert_eq!(empty.file("largest.txt"), None);
    assert!(
        turn.last().contains("“largest.txt” was not touched"),
        "{}",
        turn.last()
    );
}

#[test]
fn a_file_is_appended_to_behind_its_last_lines() {
    let line = |at: usize| match at {
        225 => "landmark\n".to_owned(),
        at => format!("line {}\n", at % 120),
    };
    let long = (0..250).map(line).collect::<Vec<_>>().concat();
    let check = |before: &str, after: &str| {
        let mut world = World::new(&[("a.txt", before)]);
        let turn = world.turn("append \"x\" to a.txt");
        assert_eq!(world.file("a.txt"), Some(after), "{}", turn.last());
    };
    check("", "x");
    check("a\nb\n", "a\nb\nx\n");
    check("a\nb", "a\nb\nx");
    check("same\nsame\n", "same\nsame\nx\n");
    check("a\n\n", "a\n\nx\n");
    check(&long, &format!("{long}x\n"));
    let mut binary = World::new(&[("a.txt", "\0")]);
    let turn = binary.turn("append \"x\" to a.txt");
    assert!(
        turn.last().contains("not text") && !claims(turn.last()),
        "{}",
        turn.last()
    );
}

#[test]
fn a_name_that_may_be_longer_is_looked_up() {
    let read = |names: &[&str]| {
        let files: Vec<_> = names.iter().map(|name| (*name, "text")).collect();
        let turn = World::new(&files).turn("show me my notes.txt");
        turn.calls.last().unwrap().1["path"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(read(&["my notes.txt", "notes.txt"]), "my notes.txt");
    assert_eq!(read(&["notes.txt"]), "notes.txt");
    assert_eq!(read(&["other.txt"]), "notes.txt");
}

#[test]
fn plain_words_are_written_to_new_files_only() {
    let mut world = World::new(FILES);
    let turn = world.turn("write hello to notes.txt");
    assert_eq!(world.file("notes.txt"), Some("one\ntwo\nthree\n"));
    assert!(turn.last().contains("exists already"), "{}", turn.last());
    world.turn("write \"hello\" to notes.txt");
    assert_eq!(world.file("notes.txt"), Some("hello"));
}

#[test]
fn a_searched_text_is_no_pattern() {
    let turn = World::new(&[("a.txt", "f(x)*2")]).turn("find \"f(x)*\" in a.txt");
    assert_eq!(turn.calls[0].1["pattern"], r"f\(x\)\*");
    assert!(turn.last().contains("a.txt:1: f(x)*2"), "{}", turn.last());
    let turn = World::new(FILES).turn("find nowhere");
    assert!(
        turn.last().contains("“nowhere” was not found here."),
        "{}",
        turn.last()
    );
}

// proves FC-5
#[test]
fn arithmetic_is_answered_without_a_call() {
    let check = |request: &str, expected: &str| {
        let turn = World::new(&[]).turn(request);
        assert!(
            turn.calls.is_empty() && turn.last().contains(expected),
            "{}",
            turn.last()
        );
    };
    check("what is 12 * (3+4)", "12 * (3 + 4) = 84");
    check("сколько будет 0,1 + 0,2", "0.1 + 0.2 = 0.3");
    check("10除以4等于多少", "10 / 4 = 2.5");
    check("скільки буде 1 / 3", "1 / 3 = 1/3 ≈ 0.333333333333");
    check("what is 1/0", "divides by zero");
    check(
        "what is 99999999999999999999 * 99999999999999999999",
        "too large",
    );
}
