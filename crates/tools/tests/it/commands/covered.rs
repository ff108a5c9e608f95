//! What is recorded of a folder, what is not, and the home of commands.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use flate2::read::ZlibDecoder;
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use samovar_core::error::Code;
use samovar_core::file_changes::ClosedCall;
use samovar_core::tool::ProgressSink;
use samovar_core::{CallContext, CallId, SessionId, Status, TurnId};
use samovar_tools::RecorderBounds;
use serde_json::json;

use super::{commanding, tree};
use crate::undo::Turns;
use crate::yard::{SECRET, Yard};

/// Runs a command in turn `t`, and what the person is told before it continues.
async fn noted(all: &mut Turns, command: &str) -> String {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let (told, ws) = (notes.clone(), all.yard.ws("began"));
    let args = json!({ "command": format!(": > began; {command}") });
    let mut shape = |context: &mut CallContext| {
        let (told, ws) = (told.clone(), ws.clone());
        context.turn = TurnId::new("t").unwrap();
        context.progress = ProgressSink::new(move |progress| {
            if let Some(note) = progress.note {
                let when = if ws.exists() { "late" } else { "before" };
                told.lock().unwrap().push(format!("{when}: {note}\n"));
            }
        });
    };
    let outcome = all.yard.call_with("noted", "exec", args, &mut shape).await;
    assert_eq!(outcome.status, Status::Done, "{}", outcome.text);
    let closed = ClosedCall {
        call: CallId::new("noted").unwrap(),
        name: "exec".to_owned(),
        status: outcome.status,
        data: outcome.data,
    };
    all.calls.push(("t".to_owned(), closed));
    let notes = notes.lock().unwrap();
    notes.concat()
}

/// Lets no mode be passed over by the thread of this test, and those that it starts, if it is root's.
fn obey_modes() {
    let mut sets = capabilities(None).unwrap();
    let passing = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    // Some calls go by what is permitted.
    for set in [&mut sets.effective, &mut sets.permitted] {
        set.remove(passing | CapabilitySet::FOWNER);
    }
    set_capabilities(None, sets).unwrap();
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

type Make = fn(&Path);

/// What is made in a folder, the note about it, and whether the rest is covered.
const NOT_COVERED: [(&str, Make, &str, bool); 11] = [
    (
        "a closed folder",
        |ws| {
            fs::create_dir(ws.join("closed")).unwrap();
            set_mode(&ws.join("closed"), 0);
        },
        "which cannot be read: \"closed\"",
        true,
    ),
    (
        "a closed file",
        |ws| {
            fs::write(ws.join("closed"), "x").unwrap();
            set_mode(&ws.join("closed"), 0);
        },
        "which cannot be read: \"closed\"",
        true,
    ),
    (
        "a repository",
        |ws| fs::create_dir_all(ws.join("sub/.git")).unwrap(),
        "in these repositories below the folder: \"sub\"",
        true,
    ),
    (
        "a socket",
        |ws| drop(UnixListener::bind(ws.join("s")).unwrap()),
        "to these pipes, sockets or devices: \"s\"",
        true,
    ),
    (
        "a large file",
        |ws| fs::write(ws.join("big"), [0; 3000]).unwrap(),
        "are larger than 16 MiB: \"big\"",
        true,
    ),
    (
        "too deep",
        |ws| fs::create_dir_all(ws.join("d/".repeat(120))).unwrap(),
        "lie too deep",
        true,
    ),
    (
        "many files",
        |ws| (0..60).for_each(|n| fs::write(ws.join(n.to_string()), "").unwrap()),
        "more than 50 files",
        false,
    ),
    (
        "a long path",
        |ws| {
            // Neither half is too long a path.
            let half = "d".repeat(200) + "/";
            for half in [half.repeat(12), "e/".to_owned() + &half.repeat(12)] {
                fs::create_dir_all(ws.join(half)).unwrap();
            }
            fs::rename(ws.join("e"), ws.join(half.repeat(12)).join("e")).unwrap();
        },
        "lie too deep",
        true,
    ),
    (
        "many ignored files",
        |ws| {
            fs::write(ws.join(".gitignore"), "*.o").unwrap();
            (0..600).for_each(|n| fs::write(ws.join(format!("{n}.o")), "").unwrap());
        },
        "more than 600 entries",
        false,
    ),
    (
        "many rules",
        |ws| fs::write(ws.join(".gitignore"), "x\n".repeat(2000)).unwrap(),
        "more than 2 KiB",
        false,
    ),
    (
        "many bytes",
        |ws| (0..9).for_each(|n| fs::write(ws.join(n.to_string()), [0; 1500]).unwrap()),
        "more than 0 MiB",
        false,
    ),
];

// proves TL-2
#[tokio::test]
async fn what_is_not_covered_is_said_before_the_command_runs() {
    obey_modes();
    for (what, make, expected, is_covered) in NOT_COVERED {
        let bounds = RecorderBounds {
            files: if what == "too deep" { 500 } else { 50 },
            file_bytes: 2000,
            bytes: 10_000,
            entries: 600,
            rules: 2048,
            ..RecorderBounds::default()
        };
        let mut all = Turns::of(Yard::commanding(bounds), &[("a", "old")]);
        make(&all.yard.ws(""));
        let note = noted(&mut all, "echo new > a").await;
        assert!(
            note.starts_with("before: undo cannot take back"),
            "{what}: {note}"
        );
        assert!(note.contains(expected), "{what}: {note}");
        assert_eq!(note.lines().count(), 1, "{what}: {note}");
        let taken = all.take_back(&["t"]).await.unwrap();
        let content = if is_covered { "old" } else { "new\n" };
        assert_eq!(all.yard.content("a"), content, "{what}");
        // A large file would be seen to change.
        assert_eq!(taken.calls.is_empty(), what != "a large file", "{what}");
        if what.contains("closed") {
            // So that the folder of the test can be removed.
            set_mode(&all.yard.ws("closed"), 0o700);
        }
    }
    // Nothing is said where all is covered, and of a command that only reads there is nothing left.
    let mut all = commanding(&[("a", "old")]);
    assert_eq!(noted(&mut all, "ls").await, "");
    all.call("t", "exec", json!({"command": "ls -l"})).await;
    assert_eq!(all.take_back(&["t"]).await.unwrap().calls.len(), 2);
}

/// Commands, and the mode of the folder `d` before them.
const CLOSED: [(&str, u32); 6] = [
    ("echo new > a; chmod 444 a; echo new > b", 0o755),
    ("chmod 755 d; rm d/a; chmod 555 d; echo new > b", 0o555),
    ("mkdir -p m/n; echo x > m/n/f; chmod 555 m/n m", 0o755),
    ("ln a c; ln a d/c; chmod 555 d; echo new > b", 0o755),
    ("chmod 00700 d; echo x > d/c", 0o3775),
    ("chmod 00755 d; rm -r d", 0o3555),
];

// proves TL-2
#[tokio::test]
async fn what_was_made_read_only_is_taken_back_with_the_modes_of_its_folders() {
    obey_modes();
    for (command, mode) in CLOSED {
        let mut all = commanding(&[("a", "old"), ("b", "old"), ("d/a", "old")]);
        set_mode(&all.yard.ws("d"), mode);
        let before = all.tree();
        all.run("t", command).await;
        assert_ne!(all.tree(), before, "{command}");
        all.taken(&["t"]).await;
        assert_eq!(all.tree(), before, "{command}");
        // So that the folder of the test can be removed.
        set_mode(&all.yard.ws("d"), 0o755);
    }
}

// proves TL-2
#[tokio::test]
async fn nothing_is_taken_back_if_a_folder_cannot_be_changed() {
    obey_modes();
    let mut all = commanding(&[("a", "old"), ("d/a", "old"), ("e/a", "old")]);
    all.run("t", "echo new | tee a d/a e/a").await;
    set_mode(&all.yard.ws("e"), 0o555);
    set_mode(&all.yard.ws("d"), 0o555);
    // Only root gives a folder away.
    if chown(all.yard.ws("d"), Some(1), None).is_err() {
        return;
    }
    let before = all.tree();
    let named = (Code::FilesChanged, json!(["d/a"]));
    assert_eq!(all.refused(&["t"]).await, named);
    assert_eq!(all.tree(), before);
    chown(all.yard.ws("d"), Some(0), None).unwrap();
    assert_eq!(all.taken(&["t"]).await, ["a", "d/a", "e/a"]);
    set_mode(&all.yard.ws("d"), 0o755);
    set_mode(&all.yard.ws("e"), 0o755);
}

// proves TL-2
#[tokio::test]
async fn a_large_file_that_a_command_changed_is_refused_by_name_and_a_new_one_goes() {
    let bounds = RecorderBounds {
        file_bytes: 2000,
        ..RecorderBounds::default()
    };
    let big = "x".repeat(3000);
    for (command, refused) in [
        ("echo >> big", true),
        ("rm big", true),
        ("cp big two", false),
    ] {
        let mut all = Turns::of(Yard::commanding(bounds), &[("big", &big)]);
        all.run("t", command).await;
        if refused {
            let named = (Code::FilesNotKept, json!(["big"]));
            assert_eq!(all.refused(&["t"]).await, named, "{command}");
        } else {
            assert_eq!(all.taken(&["t"]).await, ["-two"]);
        }
    }
}

// proves TL-2
#[tokio::test]
async fn nothing_that_a_folders_own_git_settings_name_runs_and_links_out_are_not_followed() {
    let mut all = commanding(&[("a", "old"), ("secret.txt", "s")]);
    let pwned = all.yard.outside("pwned");
    let names = format!("touch {}", pwned.display());
    let config = format!(
        "[core]\n\tfsmonitor = {names}\n\thooksPath = hooks\n[filter \"f\"]\n\tclean = {names}\n\
         \tsmudge = {names}\n\tprocess = {names}\n[diff]\n\texternal = {names}\n"
    );
    all.yard.put(".git/config", config);
    all.yard.put(".git/HEAD", "ref: refs/heads/main\n");
    all.yard.put(".gitattributes", "* filter=f text eol=crlf\n");
    symlink(all.yard.outside(""), all.yard.ws("out")).unwrap();
    symlink(all.yard.outside("secret.txt"), all.yard.ws("secret")).unwrap();
    let before = all.tree();

    all.run("t", "echo new > a; rm secret secret.txt; ln -s /etc out2")
        .await;
    all.take_back(&["t"]).await.unwrap();

    assert_eq!(all.tree(), before);
    assert!(!pwned.exists());
    // Of what lies outside nothing is kept.
    let data = all.yard.ws("data/snapshots");
    let kept = tree(&data)
        .into_iter()
        .filter(|(name, _)| name.starts_with("objects/"));
    let unpacked = kept
        .filter(|(_, (_, bytes))| !bytes.is_empty())
        .map(|(_, (_, bytes))| {
            let mut text = String::new();
            ZlibDecoder::new(&bytes[..])
                .read_to_string(&mut text)
                .unwrap();
            text
        });
    let unpacked: Vec<String> = unpacked.collect();
    assert!(
        unpacked.iter().any(|text| text.ends_with("\0old")),
        "{unpacked:?}"
    );
    assert!(
        !unpacked.iter().any(|text| text.contains(SECRET)),
        "{unpacked:?}"
    );
}

// proves TL-6
#[tokio::test]
async fn a_tainted_session_has_a_home_of_its_own_that_goes_with_it() {
    let all = commanding(&[]);
    let call = async |session: &str, tainted: bool, command: &str| {
        let mut shape = |context: &mut CallContext| {
            context.session = SessionId::new(session).unwrap();
            context.tainted = tainted;
        };
        let args = json!({ "command": command });
        let outcome = all.yard.call_with("call", "exec", args, &mut shape).await;
        outcome.data.unwrap()["stdout"].as_str().unwrap().to_owned()
    };
    if !call("clean", false, "true > x; echo $HOME")
        .await
        .contains("data/home\n")
    {
        return;
    }
    call("clean", false, "echo mine > ~/kept").await;
    assert_eq!(
        call("tainted", true, "cat ~/kept; echo theirs > ~/kept").await,
        "mine\n"
    );
    assert_eq!(
        call("tainted", true, "true > x; cat ~/kept").await,
        "theirs\n"
    );
    assert_eq!(call("other", true, "true > x; cat ~/kept").await, "mine\n");
    assert_eq!(
        call(
            "clean",
            false,
            "true > x; cat ~/kept; mkdir -p ~/a/b; chmod 0 ~/a"
        )
        .await,
        "mine\n"
    );
    assert_eq!(call("clean", false, "ls -A ~").await, "");
    let layers = || {
        fs::read_dir(all.yard.ws("data/home-layers"))
            .unwrap()
            .count()
    };
    assert_eq!(layers(), 2);
    call("tainted", true, "mkdir -p ~/deep/er; chmod 0 ~/deep").await;
    let changes = all.yard.workspace.changes();
    changes
        .forget_session(&SessionId::new("tainted").unwrap())
        .await;
    assert_eq!(layers(), 1);
    assert_eq!(
        call("tainted", true, "true > x; cat ~/kept").await,
        "mine\n"
    );
}

// proves TL-2
#[tokio::test]
async fn what_rules_of_a_command_hide_is_not_said_to_be_as_before() {
    for command in [
        "echo build > .gitignore; echo new > build/b",
        "rm build/.gitignore; echo new > build/b.log",
    ] {
        let files = [(".gitignore", "*.log"), ("build/.gitignore", "!b.log")];
        let mut all = commanding(&files);
        all.run("t", command).await;
        let taken = all.take_back(&["t"]).await.unwrap();
        assert!(taken.calls.is_empty(), "the call may have left something");
        let left = fs::read_dir(all.yard.ws("build")).unwrap().count();
        assert_eq!(left, 2, "{command}");
    }
}

// proves TL-6
#[tokio::test]
async fn git_in_a_command_knows_the_person_also_in_a_tainted_session() {
    let all = commanding(&[]);
    let person = all.yard.outside("person");
    fs::create_dir(&person).unwrap();
    let settings = "[user]\nname = Ada\nemail = ada@x\n";
    fs::write(person.join(".gitconfig"), settings).unwrap();
    for tainted in [false, true] {
        let folder = format!("r{tainted}");
        let command = format!(
            "git init -q {folder}; cd {folder}; git commit -q --allow-empty -m x; \
             git -c user.email=once@x commit -q --allow-empty -m y; git log --format='%an %ae'"
        );
        let args = json!({ "command": command });
        let call = all.yard.call_with("call", "exec", args, &mut |context| {
            context.tainted = tainted;
        });
        let data = call.await.data.unwrap();
        assert_eq!(
            data["stdout"], "Ada once@x\nAda ada@x\n",
            "{tainted}: {data}"
        );
    }
}

// proves TL-6
#[tokio::test]
async fn a_command_whose_home_cannot_be_used_says_so() {
    let mut all = commanding(&[]);
    fs::write(all.yard.ws("data/home"), "").unwrap();
    for (command, is_told) in [("touch ~/x", true), ("ls", false)] {
        let outcome = all.call("t", "exec", json!({ "command": command })).await;
        assert_eq!(outcome.status, Status::Done, "{}", outcome.text);
        let told = outcome.text.contains("[the home folder was an empty one");
        assert_eq!(told, is_told, "{}", outcome.text);
    }
}
