//! What commands changed is taken back with their turn.

mod covered;
mod path;
mod random;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use samovar_core::error::Code;
use samovar_core::{CallFacts, Status};
use samovar_tools::RecorderBounds;
use serde_json::{Value, json};

use crate::undo::Turns;
use crate::yard::Yard;

/// Each file, link and folder of a workspace but for its data directory.
type Tree = BTreeMap<String, (u32, Vec<u8>)>;

pub(crate) fn tree(ws: &Path) -> Tree {
    let (mut found, mut waiting) = (Tree::new(), vec![ws.to_owned()]);
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(ws).unwrap().to_str().unwrap().to_owned();
            let meta = fs::symlink_metadata(&path).unwrap();
            if name == "data" {
                continue;
            }
            let content = if meta.is_dir() {
                waiting.push(path);
                Vec::new()
            } else if meta.is_symlink() {
                fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes()
            } else {
                fs::read(&path).unwrap_or_default()
            };
            found.insert(name, (meta.mode(), content));
        }
    }
    found
}

fn commanding(files: &[(&str, &str)]) -> Turns {
    Turns::of(Yard::commanding(RecorderBounds::default()), files)
}

impl Turns {
    fn tree(&self) -> Tree {
        tree(&self.yard.ws(""))
    }

    async fn run(&mut self, turn: &str, command: &str) -> Value {
        let outcome = self.call(turn, "exec", json!({"command": command})).await;
        assert_eq!(outcome.status, Status::Done, "{command}: {}", outcome.text);
        outcome.data.unwrap()
    }
}

/// Commands, and what each changes.
const CHANGES: &[(&str, &str)] = &[
    (
        "echo new > new; mkdir -p a/b; echo x > a/b/c",
        "a:created a/b:created a/b/c:created new:created",
    ),
    (
        "echo more >> old; rm gone; mv run.sh ran.sh",
        "gone:deleted old:changed ran.sh:created run.sh:deleted",
    ),
    ("chmod 600 old; chmod +x gone", "gone:changed old:changed"),
    (
        "ln -s old link; rm to; ln -s else to",
        "link:created to:changed",
    ),
    (
        "rm -r full; rmdir empty",
        "empty:deleted full:deleted full/x:deleted full/y:deleted",
    ),
    (
        "rm -r full; echo file > full",
        "full:changed full/x:deleted full/y:deleted",
    ),
    (
        "rm old; mkdir old; echo x > old/x",
        "old:changed old/x:created",
    ),
    (
        "mv full moved; ln -s moved full",
        "full:changed full/x:deleted full/y:deleted moved:created moved/x:created moved/y:created",
    ),
    ("chmod 500 full; echo x > built/out", "full:changed"),
    (
        "echo built > .gitignore; rm -r built/kept; echo x > new",
        ".gitignore:changed new:created",
    ),
    ("rm .gitignore", ".gitignore:deleted"),
    ("printf same > old; touch old; true", ""),
];

// proves TL-2
#[tokio::test]
async fn a_turn_is_taken_back_with_what_its_commands_changed() {
    for (command, expected) in CHANGES {
        let files = [
            (".gitignore", "/built\n"),
            ("old", "same"),
            ("gone", "gone\n"),
            ("run.sh", "echo\n"),
            ("full/x", "x"),
            ("full/y", "y"),
            ("built/kept", "kept"),
        ];
        let mut all = commanding(&files);
        fs::set_permissions(all.yard.ws("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(all.yard.ws("empty")).unwrap();
        symlink("old", all.yard.ws("to")).unwrap();
        let of_turn = |tree: Tree| -> Tree {
            tree.into_iter()
                .filter(|(path, _)| !path.starts_with("built"))
                .collect()
        };
        let before = of_turn(all.tree());

        let data = all.run("t", command).await;

        let changed = data["changed"].as_array().unwrap().iter();
        let changed: Vec<String> = changed
            .map(|it| {
                format!(
                    "{}:{}",
                    it["path"].as_str().unwrap(),
                    it["change"].as_str().unwrap()
                )
            })
            .collect();
        assert_eq!(changed.join(" "), *expected, "{command}");
        assert_eq!(data["changedMore"], 0);
        for _ in 0..2 {
            let taken = all.take_back(&["t"]).await;
            let taken = taken.unwrap_or_else(|error| panic!("{command}: {error:?}"));
            // Other rules may hide what else it made.
            let is_whole = !command.contains(".gitignore");
            assert_eq!(taken.calls.len(), usize::from(is_whole), "{command}");
            assert_eq!(of_turn(all.tree()), before, "{command}");
        }
    }
}

// proves TL-2
#[tokio::test]
async fn what_was_not_covered_and_is_moved_stays_where_a_command_moved_it() {
    for (command, moved) in [
        ("mv .env env.txt; echo x > made", "env.txt"),
        (
            "mv .env env.txt; echo more >> env.txt; echo x > made",
            "env.txt",
        ),
        ("mv build out; echo x > made", "out/b"),
        ("mkdir made; mv .env made/env", "made/env"),
        ("mv .git gone; echo x > made", "gone/HEAD"),
    ] {
        let files = [
            (".gitignore", ".env\n/build\n"),
            (".env", "a secret\n"),
            ("build/b", "a secret\n"),
            (".git/HEAD", "a secret\n"),
        ];
        let mut all = commanding(&files);
        // Older than the look before the command, as files of a person are.
        tokio::time::sleep(Duration::from_millis(50)).await;
        all.run("t", command).await;
        let before = all.yard.content(moved);

        let _kept_or_not = all.take_back(&["t"]).await;

        assert_eq!(all.yard.content(moved), before, "{command}");
        assert!(!all.yard.ws("made").is_file(), "{command}");
    }
}

// proves TL-2
#[tokio::test]
async fn a_folder_that_was_made_again_and_moved_is_taken_back() {
    let mut all = commanding(&[("a", "1")]);
    all.run("before", "mkdir made").await;
    all.run("before", "rmdir made; mkdir made").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    all.run("t", "mv made moved").await;

    all.take_back(&["t"]).await.unwrap();

    assert!(!all.yard.ws("moved").exists());
    assert!(all.yard.ws("made").is_dir());
}

// proves TL-18
#[tokio::test]
async fn what_was_put_aside_is_told_and_not_taken_back() {
    let mut all = commanding(&[]);
    let args = json!({"command": "echo theirs > AGENTS.md; echo x > made"});
    let outcome = all.call("t", "exec", args).await;
    let data = outcome.data.unwrap();
    assert_eq!(data["putAside"], json!(["AGENTS.md"]));
    let made = json!([{"path": "made", "change": "created"}]);
    assert_eq!(data["changed"], made, "{}", outcome.text);
    let (_, aside) = outcome.text.split_once("it is called ").unwrap();
    let aside = aside.split_whitespace().next().unwrap();

    all.take_back(&["t"]).await.unwrap();

    assert!(!all.yard.ws("made").exists());
    assert_eq!(all.yard.content(aside), "theirs\n");
}

// proves TL-2
#[tokio::test]
async fn commands_and_file_tools_of_a_turn_are_taken_back_together() {
    let mut all = commanding(&[("a", "1"), ("b", "1")]);
    let before = all.tree();
    all.write("t", "a", "2").await;
    all.run("t", "printf 3 > a; printf 2 > b; chmod +x b; printf x > c")
        .await;
    all.write("t", "b", "3").await;
    all.write("t", "c", "y").await;
    all.run("t", "rm a; mkdir d; mv c d").await;
    all.write("t", "d/e", "1").await;

    all.take_back(&["t"]).await.unwrap();
    assert_eq!(all.tree(), before);

    // Turn by turn, too, and only from the last.
    all.run("t1", "printf 2 > a").await;
    let middle = all.tree();
    all.write("t2", "a", "3").await;
    assert_eq!(
        all.refused(&["t1"]).await,
        (Code::FilesChanged, json!(["a"]))
    );
    all.take_back(&["t2"]).await.unwrap();
    assert_eq!(all.tree(), middle);
    all.take_back(&["t1"]).await.unwrap();
    assert_eq!(all.tree(), before);
}

// proves TL-2
#[tokio::test]
async fn what_others_changed_since_is_never_lost() {
    type Change = fn(&Turns);
    let changes: [(&str, Change); 5] = [
        ("edited", |all| all.yard.put("a", "person's")),
        ("removed", |all| fs::remove_file(all.yard.ws("a")).unwrap()),
        ("a folder", |all| {
            fs::remove_file(all.yard.ws("a")).unwrap();
            fs::create_dir(all.yard.ws("a")).unwrap();
        }),
        ("another mode", |all| {
            fs::set_permissions(all.yard.ws("a"), fs::Permissions::from_mode(0o600)).unwrap();
        }),
        ("as before a branch switch", |all| {
            all.yard.put("a", "other branch");
        }),
    ];
    for (what, change) in changes {
        let mut all = commanding(&[("a", "old"), ("b", "old")]);
        all.run(
            "t",
            "echo new > a; echo new > b; mkdir made; echo x > made/x",
        )
        .await;
        change(&all);
        let after = all.tree();
        assert_eq!(
            all.refused(&["t"]).await,
            (Code::FilesChanged, json!(["a"])),
            "{what}"
        );
        assert_eq!(all.tree(), after, "{what}");
    }
    // A folder that is in use by now stays.
    let mut all = commanding(&[]);
    all.run("t", "mkdir made; echo x > made/x").await;
    all.yard.put("made/persons", "p");
    all.take_back(&["t"]).await.unwrap();
    assert_eq!(all.yard.content("made/persons"), "p");
    assert!(!all.yard.ws("made/x").exists());
}

// proves TL-2
#[tokio::test]
async fn what_was_ignored_or_not_covered_before_is_never_removed() {
    let files = [
        (".gitignore", "*.log\n/out/\n"),
        ("x.log", "l"),
        ("deep/er/.gitignore", "/in/*.tmp\n"),
        ("deep/er/in/x.tmp", "t"),
        ("out/y", "y"),
        ("sub/.git/HEAD", "h"),
        ("sub/z", "z"),
    ];
    for command in [
        "rm .gitignore; rm -r sub/.git",
        "echo > .gitignore; mv sub/.git sub/not-git",
        "rm deep/er/.gitignore; : > deep/er/in/new",
    ] {
        let mut all = commanding(&files);
        all.run("t", command).await;
        let taken = all.take_back(&["t"]).await;
        // The repository is not covered, so that what is left of it stays.
        assert!(
            taken.is_err() || all.yard.ws(".gitignore").exists(),
            "{command}"
        );
        for kept in ["deep/er/in/x.tmp", "x.log", "out/y", "sub/z"] {
            assert!(all.yard.ws(kept).exists(), "{command}: {kept}");
        }
    }
}

/// Starts a command in a turn, which waits when it has made the file `began`.
async fn begun(all: &Turns, turn: &str, call: &str, command: &str) -> tokio::task::JoinHandle<()> {
    let command = format!("{command}; : > began-{call}; sleep 600");
    let began = all.yard.ws(&format!("began-{call}"));
    let running = all
        .yard
        .call_as(turn, call, "exec", json!({ "command": command }));
    #[expect(clippy::disallowed_methods, reason = "the test ends it")]
    let running = tokio::spawn(async { drop(running.await) });
    while !began.exists() {
        tokio::task::yield_now().await;
        std::thread::yield_now();
    }
    running
}

// proves TL-2
#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_was_cancelled_is_taken_back_when_it_has_ended() {
    let mut all = commanding(&[("a", "old")]);
    let before = all.tree();
    let running = begun(&all, "t", "call0", "echo new > a; echo x > b").await;
    running.abort();
    all.take_back(&["t"]).await.unwrap();
    assert_eq!(all.tree(), before);
    // Another turn has nothing of it.
    all.run("t2", "echo x > c").await;
    assert_eq!(all.taken(&["t2"]).await, ["-c"]);
}

// proves TL-2
#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_server_left_half_done_is_taken_back() {
    let all = commanding(&[("a", "old"), ("gone", "g")]);
    let before = all.tree();
    let running = begun(
        &all,
        "t",
        "call0",
        "echo new > a; rm gone; mkdir d; echo x > d/x",
    )
    .await;
    // What a kill leaves on the disk at this moment.
    let (data, left) = (all.yard.ws("data"), all.yard.outside("left"));
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .args([&data, &left])
        .status();
    assert!(copied.unwrap().success());
    running.abort();
    all.take_back(&["t"]).await.unwrap();
    all.yard.put("a", "new\n");
    fs::remove_file(all.yard.ws("gone")).unwrap();
    all.yard.put("d/x", "x\n");
    all.yard.put("began-call0", "");

    // The server lived until then.
    let running = left.join("snapshots/running");
    let running = fs::File::options().append(true).open(running).unwrap();
    running.set_modified(std::time::UNIX_EPOCH).unwrap();

    let Turns { yard, .. } = all;
    let mut all = Turns::of(yard.commanding_in(&left, RecorderBounds::default()), &[]);

    all.yard.put("persons", "after the restart");
    assert_eq!(
        all.taken(&["t"]).await,
        ["a", "-began-call0", "-d/x", "gone"]
    );
    fs::remove_file(all.yard.ws("persons")).unwrap();
    assert_eq!(all.tree(), before);
    all.run("t2", "echo x > c").await;
    assert_eq!(all.taken(&["t2"]).await, ["-c"]);
}

// proves TL-2
#[tokio::test(flavor = "multi_thread")]
async fn of_commands_that_ran_at_the_same_time_what_cannot_be_told_apart_is_refused_by_name() {
    let mut all = commanding(&[("a", "old"), ("b", "old"), ("c", "old")]);
    let one = begun(&all, "t1", "one", "echo 1 > a").await;
    all.run("t2", "echo 2 > b").await;
    // A file tool says what is its own.
    all.write("t3", "c", "tool's").await;
    one.abort();
    for turn in ["t1", "t2"] {
        let refused = all.refused(&[turn]).await;
        assert_eq!(refused, (Code::FilesChanged, json!(["b"])), "{turn}");
    }
    assert_eq!(all.taken(&["t3"]).await, ["c"]);
    assert_eq!(all.yard.content("c"), "old");
    // What an undo restores while a command runs is not that command's.
    all.write("t4", "c", "new").await;
    let two = begun(&all, "t5", "two", "echo 5 > d").await;
    all.take_back(&["t4"]).await.unwrap();
    two.abort();
    assert_eq!(all.taken(&["t5"]).await, ["-began-two", "-d"]);
    assert_eq!(all.yard.content("c"), "old");
}

// proves TL-7
#[tokio::test]
async fn a_command_may_do_what_the_gate_decided_by_and_is_not_judged_again() {
    let yard = Yard::commanding(RecorderBounds::default());
    for (at, (command, reads)) in [("touch made", true), ("ls", false)]
        .into_iter()
        .enumerate()
    {
        let args = json!({ "command": command });
        let call = yard.call_with(&format!("call-{at}"), "exec", args, &mut |context| {
            context.facts = Some(CallFacts {
                reads,
                ..CallFacts::default()
            });
        });
        let data = call.await.data.unwrap();
        assert_eq!(data["readOnly"] == true, reads, "{command}");
        assert!(!yard.ws("made").exists(), "its workspace is read-only");
    }
}
