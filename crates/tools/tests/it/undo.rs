//! Changes of files are taken back with their turn: all of them or none.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use samovar_core::error::Code;
use samovar_core::file_changes::{ClosedCall, Restoration, TakenBack};
use samovar_core::{CallId, Error, Outcome, Sender, SessionId, Status, TurnId};
use samovar_tools::UndoBounds;
use serde_json::{Value, json};

use crate::yard::Yard;

/// A yard, and the calls that were made in it.
pub(crate) struct Turns {
    pub(crate) yard: Yard,
    /// Each with its turn.
    pub(crate) calls: Vec<(String, ClosedCall)>,
}

pub(crate) fn session() -> SessionId {
    SessionId::new("session").unwrap()
}

pub(crate) fn turns(names: &[&str]) -> Vec<TurnId> {
    names
        .iter()
        .map(|name| TurnId::new(name).unwrap())
        .collect()
}

impl Turns {
    fn with(bounds: UndoBounds, files: &[(&str, &str)]) -> Self {
        Self::of(Yard::undoing(bounds), files)
    }

    /// In a yard with these files.
    pub(crate) fn of(yard: Yard, files: &[(&str, &str)]) -> Self {
        for (path, content) in files {
            yard.put(path, content);
        }
        let calls = Vec::new();
        Self { yard, calls }
    }

    fn new(files: &[(&str, &str)]) -> Self {
        Self::with(UndoBounds::default(), files)
    }

    pub(crate) async fn call(&mut self, turn: &str, name: &str, args: Value) -> Outcome {
        let call = format!("call{}", self.calls.len());
        let outcome = self.yard.call_as(turn, &call, name, args).await;
        let closed = ClosedCall {
            call: CallId::new(&call).unwrap(),
            name: name.to_owned(),
            status: outcome.status,
            data: outcome.data.clone(),
        };
        self.calls.push((turn.to_owned(), closed));
        outcome
    }

    pub(crate) async fn write(&mut self, turn: &str, path: &str, content: &str) {
        // What is there has to be seen first.
        let seen = self.yard.call("read_file", json!({"path": path}));
        drop(seen.await);
        let args = json!({"path": path, "content": content});
        let outcome = self.call(turn, "write_file", args).await;
        assert_eq!(outcome.status, Status::Done, "{}", outcome.text);
    }

    pub(crate) async fn take_back(&self, names: &[&str]) -> Result<TakenBack, Error> {
        let changes = self.yard.workspace.changes();
        let of_turns = |(turn, _): &&(String, ClosedCall)| names.contains(&turn.as_str());
        let calls = self.calls.iter().filter(of_turns);
        let calls = calls.map(|(_, call)| call.clone()).collect();
        {
            let (by, session) = (Sender::CommandLine, session());
            changes.take_back(&by, &session, &turns(names), calls).await
        }
    }

    /// The paths that were taken back; a created one with `-`.
    pub(crate) async fn taken(&self, names: &[&str]) -> Vec<String> {
        let files = self.take_back(names).await.unwrap().files;
        let shown = files.iter().map(|file| match file.restoration {
            Restoration::Restored => file.path.clone(),
            Restoration::Removed => format!("-{}", file.path),
        });
        shown.collect()
    }

    /// The code of a refusal, with the files that it names.
    pub(crate) async fn refused(&self, names: &[&str]) -> (Code, Value) {
        let error = self.take_back(names).await.unwrap_err();
        (error.code, error.details.unwrap()["files"].clone())
    }

    /// The files of the store.
    fn kept(&self) -> usize {
        let folder = self.yard.ws("data/undo");
        fs::read_dir(folder).map_or(0, Iterator::count)
    }

    fn content(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.yard.ws(path)).ok()
    }
}

// proves TL-2
#[tokio::test]
async fn files_are_as_they_were_before_the_turn() {
    let mut all = Turns::new(&[("run.sh", "old\n"), ("same.txt", "kept\n")]);
    let mode = |all: &Turns| {
        fs::metadata(all.yard.ws("run.sh"))
            .unwrap()
            .permissions()
            .mode()
    };
    fs::set_permissions(all.yard.ws("run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    let before = mode(&all);
    all.write("t", "run.sh", "new\n").await;
    let edit = json!({"path": "run.sh", "old": "new", "new": "newer"});
    all.call("t", "edit_file", edit).await;
    all.write("t", "deep/er/made.txt", "made").await;
    all.write("t", "deep/er/made.txt", "made again").await;
    all.write("t", "made.txt", "made").await;

    let taken = all.taken(&["t"]).await;

    assert_eq!(taken, ["-deep/er/made.txt", "-made.txt", "run.sh"]);
    assert_eq!(all.content("run.sh").unwrap(), "old\n");
    assert_eq!(mode(&all), before);
    assert_eq!(all.content("same.txt").unwrap(), "kept\n");
    let left = fs::read_dir(all.yard.ws("")).unwrap().count();
    assert_eq!(left, 3, "data, run.sh and same.txt");
}

// proves TL-2
#[tokio::test]
async fn a_folder_in_use_stays() {
    let mut all = Turns::new(&[]);
    all.write("t", "new/a/x", "x").await;
    all.yard.put("new/persons", "p");

    all.take_back(&["t"]).await.unwrap();

    assert!(!all.yard.ws("new/a").exists());
    assert_eq!(all.content("new/persons").unwrap(), "p");
}

// proves TL-2
#[tokio::test]
async fn one_file_that_was_changed_since_keeps_all_as_they_are() {
    // What the person does after the turn.
    type Change = fn(&Turns);
    let changes: [(&str, Change); 6] = [
        ("edited", |all| all.yard.put("b", "person's")),
        ("emptied", |all| all.yard.put("b", "")),
        ("removed", |all| fs::remove_file(all.yard.ws("b")).unwrap()),
        ("a link now", |all| {
            fs::remove_file(all.yard.ws("b")).unwrap();
            std::os::unix::fs::symlink("a", all.yard.ws("b")).unwrap();
        }),
        ("a folder now", |all| {
            fs::remove_file(all.yard.ws("b")).unwrap();
            fs::create_dir(all.yard.ws("b")).unwrap();
        }),
        ("back to the middle", |all| all.yard.put("b", "new")),
    ];
    for (what, change) in changes {
        let mut all = Turns::new(&[("a", "old"), ("b", "old"), ("c", "old")]);
        for path in ["a", "b", "c"] {
            all.write("t", path, "new").await;
            all.write("t", path, "newer").await;
        }
        change(&all);

        assert_eq!(
            all.refused(&["t"]).await,
            (Code::FilesChanged, json!(["b"])),
            "{what}"
        );
        for path in ["a", "c"] {
            assert_eq!(all.content(path).unwrap(), "newer", "{what}");
        }
        assert!(
            all.yard
                .workspace
                .undo()
                .unwrap()
                .unfinished()
                .unwrap()
                .is_empty()
        );
    }
}

// proves TL-2
#[tokio::test]
async fn a_change_of_others_between_two_of_the_turn_is_not_lost() {
    let mut all = Turns::new(&[("a", "old")]);
    all.write("t", "a", "new").await;
    all.yard.put("a", "person's");
    all.write("t", "a", "newer").await;
    assert_eq!(
        all.refused(&["t"]).await,
        (Code::FilesChanged, json!(["a"]))
    );

    // Of another session's turn, too.
    let mut all = Turns::new(&[("a", "old")]);
    all.write("t", "a", "new").await;
    all.write("other", "a", "other's").await;
    all.write("t", "a", "newer").await;
    assert_eq!(
        all.refused(&["t"]).await,
        (Code::FilesChanged, json!(["a"]))
    );
    assert_eq!(all.content("a").unwrap(), "newer");
}

// proves TL-2
#[tokio::test]
async fn turns_that_share_a_file_are_taken_back_together_or_from_the_last() {
    let mut all = Turns::new(&[("a", "old")]);
    all.write("t", "a", "1").await;
    all.write("child", "a", "2").await;
    all.write("t", "a", "3").await;
    assert_eq!(all.taken(&["t", "child"]).await, ["a"]);
    assert_eq!(all.content("a").unwrap(), "old");

    let mut all = Turns::new(&[("a", "old")]);
    all.write("t1", "a", "1").await;
    all.write("t2", "a", "2").await;
    assert_eq!(all.refused(&["t1"]).await.0, Code::FilesChanged);
    assert_eq!(all.taken(&["t2"]).await, ["a"]);
    assert_eq!(all.content("a").unwrap(), "1");
    assert_eq!(all.taken(&["t1"]).await, ["a"]);
    assert_eq!(all.content("a").unwrap(), "old");
}

// proves TL-2
#[tokio::test]
async fn an_undo_that_was_cut_is_known_and_the_same_request_finishes_it() {
    let mut all = Turns::new(&[("a", "old"), ("b", "old")]);
    for path in ["a", "b", "new/c"] {
        all.write("t", path, "new").await;
    }
    all.take_back(&["t"]).await.unwrap();
    // As a stop after one of three leaves it.
    all.yard.put("b", "new");
    all.yard.put("new/c", "new");
    let undo = all.yard.workspace.undo().unwrap();
    let unfinished = undo.unfinished().unwrap();
    assert_eq!(unfinished.len(), 1);
    assert_eq!(
        (&unfinished[0].session, &unfinished[0].turn),
        (&session(), &turns(&["t"])[0])
    );

    assert_eq!(all.taken(&["t"]).await, ["a", "b", "-new/c"]);
    assert_eq!(all.taken(&["t"]).await, ["a", "b", "-new/c"], "once more");

    assert_eq!(all.content("b").unwrap(), "old");
    assert!(!all.yard.ws("new").exists());
    let changes = all.yard.workspace.changes();
    changes.forget(&session(), &turns(&["t"])).await;
    assert!(undo.unfinished().unwrap().is_empty());
    assert_eq!(all.kept(), 0);
}

// proves TL-2
#[tokio::test]
async fn a_change_that_never_happened_is_passed_over() {
    for status in [Status::Unknown, Status::Cancelled] {
        let mut all = Turns::new(&[("a", "old")]);
        all.write("t", "a", "new").await;
        // Killed after the change was kept, and before it was made.
        all.yard.put("a", "old");
        all.calls[0].1.status = status;
        all.write("t", "a", "newer").await;
        assert_eq!(all.taken(&["t"]).await, ["a"]);
        all.write("t2", "a", "newest").await;
        all.yard.put("a", "old");
        all.calls[2].1.status = status;
        assert_eq!(all.taken(&["t2"]).await, ["a"]);
        all.write("t3", "a", "1").await;
        all.write("t3", "a", "2").await;
        all.yard.put("a", "1");
        all.calls[4].1.status = status;
        assert_eq!(all.taken(&["t3"]).await, ["a"]);
        assert_eq!(all.content("a").unwrap(), "old");
    }
}

// proves TL-2
#[tokio::test]
async fn a_call_that_a_kill_had_run_again_is_taken_back() {
    let mut all = Turns::new(&[("a", "old")]);
    all.write("t", "a", "new").await;
    // Killed between its record and its write: it runs again under its id.
    all.yard.put("a", "old");
    drop(all.yard.call("read_file", json!({"path": "a"})).await);
    let args = json!({"path": "a", "content": "new"});
    let again = all.yard.call_as("t", "call0", "write_file", args).await;
    assert_eq!(again.status, Status::Done, "{}", again.text);
    assert_eq!(all.taken(&["t"]).await, ["a"]);
    assert_eq!(all.content("a").unwrap(), "old");
}

// proves TL-2
#[tokio::test]
async fn what_is_not_kept_is_refused_by_name() {
    let bounds = |max_bytes| UndoBounds {
        max_bytes,
        ..UndoBounds::default()
    };
    let large = "x".repeat(2_000);
    for (max_bytes, what) in [
        (0, "nothing is kept"),
        (1_500, "too large"),
        (2_500, "gone"),
    ] {
        let mut all = Turns::with(bounds(max_bytes), &[("a", &large), ("b", &large)]);
        all.write("t", "a", "new").await;
        all.write("t", "b", "new").await;
        let (code, files) = all.refused(&["t"]).await;
        assert_eq!(code, Code::FilesNotKept, "{what}");
        assert_eq!(files[0], "a", "{what}");
        assert_eq!(all.content("b").unwrap(), "new", "{what}");
    }
    // One that cannot be seen whole is not replaced.
    let mut all = Turns::new(&[("a", &"x".repeat(17 << 20))]);
    let args = json!({"path": "a", "content": "new"});
    let refused = all.call("t", "write_file", args).await;
    assert!(
        refused.text.contains("too many to be read whole"),
        "{}",
        refused.text
    );
}

// proves TL-2
#[tokio::test]
async fn the_store_stays_within_its_bounds_and_a_turn_needs_the_first_content_alone() {
    let page = |word: &str| word.repeat(200);
    let bounds = UndoBounds {
        max_bytes: 4_000,
        ..UndoBounds::default()
    };
    let mut all = Turns::with(bounds, &[("a", &page("old "))]);
    for round in 0..8 {
        all.write("t", "a", &page(&format!("{round} "))).await;
    }
    assert_eq!(all.taken(&["t"]).await, ["a"]);
    assert_eq!(all.content("a").unwrap(), page("old "));
    for round in 0..40 {
        all.write("t2", &format!("{round}"), "x").await;
    }
    let folder = fs::read_dir(all.yard.ws("data/undo")).unwrap();
    let bytes: u64 = folder
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!((3_000..=4_000).contains(&bytes), "{bytes}");

    let bounds = UndoBounds {
        max_age: Duration::from_hours(1),
        ..UndoBounds::default()
    };
    let mut all = Turns::with(bounds, &[("a", "old")]);
    all.write("t", "a", "new").await;
    let first = fs::read_dir(all.yard.ws("data/undo"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let file = fs::File::options().write(true).open(first.path()).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    file.set_modified(modified - Duration::from_hours(2))
        .unwrap();
    let mut all = all.reopened(bounds);
    all.write("t2", "b", "new").await;
    assert_eq!(all.kept(), 1);
    assert_eq!(all.refused(&["t"]).await.0, Code::FilesNotKept);
}

impl Turns {
    /// The same with a store that reads what is there, as after a restart.
    fn reopened(self, bounds: UndoBounds) -> Self {
        Self {
            yard: self.yard.reopened(bounds),
            calls: self.calls,
        }
    }
}

// proves TL-2
#[tokio::test]
async fn changes_outlive_a_restart_and_damaged_ones_are_refused() {
    let mut all = Turns::new(&[("a", "old"), ("b", "old")]);
    all.write("t", "a", "new").await;
    let mut all = all.reopened(UndoBounds::default());
    all.write("t", "b", "new").await;
    assert_eq!(all.taken(&["t"]).await, ["a", "b"]);

    for (damage, why) in [("cut", "its content"), ("", "all of it")] {
        let mut all = Turns::new(&[("a", "old"), ("b", "old")]);
        all.write("t", "a", "new").await;
        let entry = fs::read_dir(all.yard.ws("data/undo"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap();
        let text = fs::read_to_string(entry.path()).unwrap();
        let line = text.lines().next().unwrap();
        let left = if damage.is_empty() {
            String::new()
        } else {
            format!("{line}\n{damage}")
        };
        fs::write(entry.path(), left).unwrap();
        let all = all.reopened(UndoBounds::default());
        assert_eq!(
            all.refused(&["t"]).await,
            (Code::FilesNotKept, json!(["a"])),
            "{why}"
        );
        assert_eq!(all.content("a").unwrap(), "new");
    }
}

// proves TL-2
#[tokio::test]
async fn a_turn_that_writes_nothing_leaves_nothing() {
    let mut all = Turns::new(&[("a", "old")]);
    all.call("t", "read_file", json!({"path": "a"})).await;
    all.call("t", "list_dir", json!({})).await;
    let lost = json!({"path": "a", "old": "missing", "new": "x"});
    all.call("t", "edit_file", lost).await;
    assert!(!all.yard.ws("data/undo").exists());

    // Nor does a write that is refused.
    for path in ["samovar.toml", "skills/x.md", "data/token"] {
        let args = json!({"path": path, "content": "x"});
        let refused = all.call("t", "write_file", args).await;
        assert_eq!(refused.status, Status::Failed);
    }
    assert_eq!(all.kept(), 0);
    assert_eq!(all.taken(&["t"]).await, [""; 0]);
    assert!(
        all.yard
            .workspace
            .undo()
            .unwrap()
            .unfinished()
            .unwrap()
            .is_empty()
    );
}

// proves TL-2
#[tokio::test]
async fn a_deleted_session_leaves_nothing() {
    let mut all = Turns::new(&[("a", "secret")]);
    all.write("t", "a", "new").await;
    all.write("t2", "b", "new").await;
    assert_eq!(all.kept(), 2);
    let changes = all.yard.workspace.changes();
    changes
        .forget_session(&SessionId::new("other").unwrap())
        .await;
    assert_eq!(all.kept(), 2);
    changes.forget_session(&session()).await;
    assert_eq!(all.kept(), 0);
}

// proves TL-2
#[tokio::test]
async fn a_file_that_cannot_be_written_is_named_and_none_is_restored() {
    let mut all = Turns::new(&[("first.txt", "old"), ("last.txt", "old")]);
    all.write("t", "first.txt", "new").await;
    all.write("t", "last.txt", "new").await;
    // Its content is the same, but writing would change a file under another name, too.
    fs::hard_link(all.yard.ws("first.txt"), all.yard.ws("other.txt")).unwrap();

    let named = (Code::FilesChanged, json!(["first.txt"]));
    assert_eq!(all.refused(&["t"]).await, named);
    for file in ["other.txt", "last.txt"] {
        assert_eq!(all.content(file).unwrap(), "new");
    }
    fs::remove_file(all.yard.ws("other.txt")).unwrap();
    all.take_back(&["t"]).await.unwrap();
    assert_eq!(all.content("first.txt").unwrap(), "old");
}
