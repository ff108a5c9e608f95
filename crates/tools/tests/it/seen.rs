//! No write of a tool removes what its writer has not seen: of another agent, a person or a command.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use samovar_tools::UndoBounds;
use serde_json::{Value, json};

use crate::yard::Yard;

const PATH: &str = "notes.md";

/// Something that happens to the file, by a session's agent (`a` or `b`), an agent that it called
/// (`a/c`), or a person.
enum Act {
    Read(&'static str),
    Part(&'static str, u64, u64),
    Edit(&'static str, &'static str, &'static str),
    Person(&'static str),
    /// The person saves a second line of so many bytes.
    Long(usize),
    Removed,
    Restart,
    Writes(&'static str),
    IsRefused(&'static str, &'static str),
}
use Act::{Edit, IsRefused, Long, Part, Person, Read, Removed, Restart, Writes};

async fn call(yard: &Yard, who: &str, name: &str, args: Value) -> samovar_core::Outcome {
    let (session, child) = who
        .split_once('/')
        .map_or((who, None), |(s, c)| (s, Some(c)));
    yard.call_in(session, child, name, args).await
}

const SEED: &str = "one\ntwo\nthree\n";

/// What happens, and what it is about.
const SCENES: &[(&str, &[Act])] = &[
    (
        "what was read",
        &[Person(SEED), Read("a"), Writes("a"), Writes("a")],
    ),
    ("a new file", &[Writes("a"), Writes("a")]),
    ("an empty file", &[Person(""), Writes("a")]),
    (
        "never read",
        &[Person(SEED), IsRefused("a", "you have not read it")],
    ),
    (
        "another session's",
        &[
            Person(SEED),
            Read("a"),
            Read("b"),
            Writes("a"),
            IsRefused("b", "changed since you read"),
            Read("b"),
            Writes("b"),
        ],
    ),
    (
        "a person's",
        &[
            Person(SEED),
            Read("a"),
            Person("mine\n"),
            IsRefused("a", "-mine"),
            Read("a"),
            Writes("a"),
        ],
    ),
    (
        "the same bytes again",
        &[
            Person(SEED),
            Read("a"),
            Person("x"),
            Person(SEED),
            Writes("a"),
        ],
    ),
    (
        "a called agent's own conversation",
        &[
            Person(SEED),
            Read("a"),
            IsRefused("a/c", "not read"),
            Read("a/c"),
            Writes("a/c"),
            IsRefused("a", "changed since"),
            IsRefused("a/d", "not read"),
        ],
    ),
    (
        "parts",
        &[
            Person(SEED),
            Part("a", 1, 1),
            IsRefused("a", "only a part"),
            Part("a", 3, 1),
            IsRefused("a", "only a part"),
            Part("a", 2, 1),
            Writes("a"),
        ],
    ),
    (
        "a line that was cut",
        &[
            Long(17 * 1024),
            Read("a"),
            IsRefused("a", "only a part"),
            Part("a", 2, 1),
            IsRefused("a", "longer than 16 KiB"),
        ],
    ),
    (
        "a line that was shown in full",
        &[
            Long(16 * 1024),
            Part("a", 1, 1),
            Part("a", 2, 1),
            Part("a", 3, 1),
            Writes("a"),
        ],
    ),
    (
        "parts of two contents",
        &[
            Person(SEED),
            Part("a", 1, 2),
            Person("1\n2\n3\n"),
            Part("a", 3, 1),
            IsRefused("a", "only a part"),
        ],
    ),
    (
        "an edit keeps what was seen",
        &[Person(SEED), Read("a"), Edit("a", "two", "2"), Writes("a")],
    ),
    (
        "an edit sees nothing",
        &[
            Person(SEED),
            Edit("a", "two", "2"),
            IsRefused("a", "not read"),
        ],
    ),
    (
        "after a restart",
        &[
            Person(SEED),
            Read("a"),
            Restart,
            Writes("a"),
            Restart,
            Writes("a"),
        ],
    ),
    (
        "a removed file",
        &[Person(SEED), Read("a"), Removed, Writes("a")],
    ),
];

// proves TL-2
#[tokio::test]
async fn a_whole_file_is_replaced_only_by_a_conversation_that_has_seen_it() {
    for (name, acts) in SCENES {
        let mut yard = Yard::undoing(UndoBounds::default());
        for (number, act) in acts.iter().enumerate() {
            let before = fs::read(yard.ws(PATH)).ok();
            let write = |who: &str| json!({"path": PATH, "content": format!("{who} {number}\n")});
            match act {
                Read(who) => drop(call(&yard, who, "read_file", json!({"path": PATH})).await),
                Part(who, offset, limit) => {
                    let args = json!({"path": PATH, "offset": offset, "limit": limit});
                    call(&yard, who, "read_file", args).await;
                }
                Edit(who, old, new) => {
                    let args = json!({"path": PATH, "old": old, "new": new});
                    assert!(
                        !call(&yard, who, "edit_file", args).await.is_error(),
                        "{name}"
                    );
                }
                Long(bytes) => yard.put(PATH, format!("one\n{}\nthree\n", "x".repeat(*bytes))),
                Person(content) => yard.put(PATH, content),
                Removed => fs::remove_file(yard.ws(PATH)).unwrap(),
                Restart => yard = yard.reopened(UndoBounds::default()),
                Writes(who) => {
                    let done = call(&yard, who, "write_file", write(who)).await;
                    assert!(!done.is_error(), "{name}: {}", done.text);
                }
                IsRefused(who, why) => {
                    let refused = call(&yard, who, "write_file", write(who)).await;
                    assert!(
                        refused.is_error() && !refused.correctable,
                        "{name}: {}",
                        refused.text
                    );
                    assert!(refused.text.contains(why), "{name}: {}", refused.text);
                    assert_eq!(fs::read(yard.ws(PATH)).ok(), before, "{name}");
                }
            }
        }
    }
}

/// A person's editor: it saves `saves` contents, each known by its first line, and each in one of the
/// ways that editors have. What follows a save must begin with its line until the next one.
fn edit(folder: &Path, saves: usize) {
    let path = folder.join(PATH);
    for save in 0..saves {
        let line = format!("save {save}\n");
        if save % 2 == 0 {
            let new = folder.join("notes.md~");
            fs::write(&new, &line).unwrap();
            fs::rename(new, &path).unwrap();
        } else {
            fs::write(&path, &line).unwrap();
        }
        // A write that was beaten is put back: a look in between may show it.
        let mut looks = 0;
        while !fs::read_to_string(&path)
            .unwrap_or_default()
            .starts_with(&line)
        {
            looks += 1;
            if looks > 100_000 {
                // It may be on its way to its place while the folder is listed.
                let is_kept = (0..100).any(|_| {
                    std::thread::sleep(Duration::from_millis(1));
                    let files = fs::read_dir(folder).unwrap();
                    let texts = files.map(|file| fs::read_to_string(file.unwrap().path()));
                    texts.flatten().any(|text| text.starts_with(&line))
                });
                assert!(is_kept, "save {save} is gone");
                break;
            }
            std::thread::yield_now();
        }
    }
}

/// Two sessions write a file whole while an editor saves it, so many writes in all.
async fn race(writes: usize) {
    let yard = Arc::new(Yard::new());
    yard.put(PATH, "save\n");
    let is_over = Arc::new(AtomicBool::new(false));
    let mut sessions = tokio::task::JoinSet::new();
    for session in ["a", "b"] {
        let (yard, is_over) = (yard.clone(), is_over.clone());
        sessions.spawn(async move {
            let (mut tried, mut done) = (0, 0);
            while done == 0 || !is_over.load(Ordering::Relaxed) {
                let read = call(&yard, session, "read_file", json!({"path": PATH})).await;
                let lines = read.text.lines().filter_map(|line| line.split_once('\t'));
                let lines: Vec<_> = lines.map(|(_, line)| line).collect();
                let content = format!("{}\n{session}\n", lines.join("\n"));
                let args = json!({"path": PATH, "content": content});
                let written = call(&yard, session, "write_file", args).await;
                tried += 1;
                done += usize::from(!written.is_error());
            }
            (tried, done)
        });
    }
    let folder = yard.ws("");
    let editor = tokio::task::spawn_blocking(move || edit(&folder, writes));
    let edited = editor.await;
    is_over.store(true, Ordering::Relaxed);
    let counts = sessions.join_all().await;
    edited.unwrap();
    assert!(counts.iter().all(|(_, done)| *done > 0), "{counts:?}");
}

// proves TL-2
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_that_an_editor_saves_is_lost_to_two_sessions_that_write_the_file() {
    race(300).await;
}

mod proof {
    // proves TL-2
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn nothing_is_lost_in_ten_thousand_writes_of_one_file() {
        super::race(5_000).await;
    }
}
