//! Attacks on what the server trusts: each has an effect without its defence, and none with it.

mod attacks;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use samovar_core::{
    AgentPath, CallContext, CallId, Outcome, SessionId, ToolCall, ToolReply, TurnId,
};
use samovar_egress::Client;
use samovar_tools::{Resources, Workspace, catalog};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

use attacks::{HIDDEN, RENAMED, REPLACE, Step, corpus};

/// What trusted files hold before an attack.
const THEIRS: &str = "theirs";
const MINE: &str = "mine";

struct Yard {
    top: TempDir,
}

impl Yard {
    fn new(steps: &[Step]) -> Self {
        let yard = Self {
            top: TempDir::new().unwrap(),
        };
        let always = [
            Step::File("ws/own/samovar.toml"),
            Step::File("config/samovar.toml"),
            Step::File("ws/data/token"),
        ];
        yard.take(&always);
        yard.take(steps);
        yard
    }

    fn path(&self, path: &str) -> PathBuf {
        self.top.path().canonicalize().unwrap().join(path)
    }

    fn take(&self, steps: &[Step]) {
        for step in steps {
            match *step {
                Step::File(path) => {
                    fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
                    fs::write(self.path(path), THEIRS).unwrap();
                }
                Step::Dir(path) => fs::create_dir_all(self.path(path)).unwrap(),
                Step::Link(name, target) => symlink(target, self.path(name)).unwrap(),
                Step::Hard(name, of) => fs::hard_link(self.path(of), self.path(name)).unwrap(),
                Step::Rename(one, other) => fs::rename(self.path(one), self.path(other)).unwrap(),
            }
        }
    }

    fn config(&self, reach: FileAccess) -> Config {
        let mut config = Config::new(self.path("ws/data"), self.path("ws"));
        config.reach = reach;
        config.private = ["config", "ws/own", "ws/later"]
            .map(|path| self.path(path))
            .to_vec();
        config.guarded = vec![self.path("ws/sub/samovar.toml")];
        config
    }

    /// A path as a model writes it.
    fn written(&self, path: &str) -> String {
        path.replace(
            "{top}",
            self.path("").to_str().unwrap().trim_end_matches('/'),
        )
    }

    /// All that is trusted, with what it holds: by its content before the attack, by its name, and
    /// through the links that lead from a trusted name.
    fn trusted(&self) -> BTreeMap<PathBuf, String> {
        let mut all = BTreeMap::new();
        gather(&self.path(""), false, &mut all);
        let marked = |path: &Path, content: &str| content == THEIRS || self.is_trusted(path);
        all.retain(|path, content| marked(path, content));
        for name in TRUSTED_NAMES {
            gather(&self.path("ws").join(name), true, &mut all);
        }
        all
    }

    fn is_trusted(&self, path: &Path) -> bool {
        let top = self.path("");
        let folded = |name: &std::ffi::OsStr| {
            let kept = name.to_string_lossy().replace('\u{17f}', "s");
            let kept: String = kept
                .chars()
                .filter(|c| c.is_ascii_alphanumeric() || *c == '\u{212a}')
                .collect();
            kept.replace('\u{212a}', "k").to_lowercase()
        };
        let names: Vec<_> = path.strip_prefix(top).unwrap().iter().map(folded).collect();
        let is_git = path
            .iter()
            .any(|name| folded(name) == "git" && name.as_encoded_bytes()[0] == b'.');
        let own = TRUSTED_NAMES.map(|name| folded(name.as_ref()));
        let in_data = path.ancestors().any(|above| above.join("token").exists());
        let first = |list: &[&str]| {
            names
                .get(1)
                .is_some_and(|name| list.contains(&name.as_str()))
        };
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let is_settings = names.iter().any(|name| name == "samovartoml");
        is_git
            || is_settings
            || in_data
            || names[0] == "config"
            || first(&own)
            || first(&["own", "later", "sub"])
    }
}

/// The files of a tree, or the one file.
fn gather(path: &Path, follows: bool, all: &mut BTreeMap<PathBuf, String>) {
    let meta = if follows {
        fs::metadata(path)
    } else {
        fs::symlink_metadata(path)
    };
    match meta {
        Ok(meta) if meta.is_dir() => {
            for entry in fs::read_dir(path).unwrap() {
                gather(&entry.unwrap().path(), false, all);
            }
        }
        Ok(meta) if meta.is_file() => {
            all.insert(path.to_owned(), fs::read_to_string(path).unwrap());
        }
        _ => {}
    }
}

/// Calls a tool on the files of a jail.
async fn call(jail: Arc<Jail>, name: &str, args: Value) -> Outcome {
    let workspace = Arc::new(Workspace::new(jail));
    let client = Client::new(Vec::new());
    let tools = catalog(&Resources {
        workspace,
        client,
        search: None,
        shell: None,
    });
    let is_it = |tool: &&Arc<dyn samovar_core::Toolset>| tool.specs()[0].name == name;
    let tool = tools.iter().find(is_it).unwrap();
    let key = CallId::new("call").unwrap();
    let context = CallContext::new(
        SessionId::new("session").unwrap(),
        TurnId::new("turn").unwrap(),
        AgentPath::root("master"),
        key.clone(),
    );
    match tool.call(ToolCall::new(key, name, args), context).await {
        ToolReply::Closed(outcome) => outcome,
        other => panic!("{other:?}"),
    }
}

/// Writes a file with every tool that can.
async fn attack(jail: &Arc<Jail>, path: &str) {
    let args = json!({"path": path, "content": MINE});
    call(jail.clone(), "write_file", args).await;
    let args = json!({"path": path, "old": THEIRS, "new": MINE});
    call(jail.clone(), "edit_file", args).await;
}

/// What a program does that knows nothing of all this.
fn write_plainly(workspace: &Path, path: &str) {
    let path = workspace.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, MINE).unwrap();
}

// proves TL-8, TL-18
#[tokio::test]
async fn no_attack_changes_what_the_server_trusts() {
    assert!(corpus().len() >= 60);
    for reach in [FileAccess::Workspace, FileAccess::System] {
        for (path, before, after) in corpus() {
            let yard = Yard::new(before);
            let jail = jail(&yard.config(reach)).unwrap();
            yard.take(after);
            let trusted = yard.trusted();
            attack(&jail, &yard.written(path)).await;
            assert_eq!(yard.trusted(), trusted, "{path:?} {reach:?}");
        }
    }
}

// proves TL-8, TL-18
#[tokio::test]
async fn each_attack_has_its_effect_where_the_defence_is_off() {
    let mut by_jail = 0;
    for (path, before, after) in corpus() {
        let yard = Yard::new(before);
        // Without the list of what is protected.
        let jail = Jail::open_to_system(&yard.path("ws"), &Protected::default()).unwrap();
        yard.take(after);
        let trusted = yard.trusted();
        attack(&Arc::new(jail), &yard.written(path)).await;
        if yard.trusted() != trusted {
            by_jail += 1;
            continue;
        }
        // Or without the jail: links and second names are its own matter.
        write_plainly(&yard.path("ws"), &yard.written(path));
        assert_ne!(yard.trusted(), trusted, "{path:?} does nothing");
    }
    assert!(by_jail >= 60, "{by_jail}");
}

// proves TL-18
#[tokio::test]
async fn what_only_looks_like_a_trusted_name_is_written() {
    for path in [
        "notes.md",
        "a/AGENTS.md",
        "a/skills/x.md",
        "skills.md",
        "src/memory/mod.rs",
        "git/config",
        "a/git/config",
        ".gitignore",
        ".github/workflows/ci.yml",
        "samovar.toml.bak",
    ] {
        let yard = Yard::new(&[]);
        let jail = jail(&yard.config(FileAccess::Workspace)).unwrap();
        attack(&jail, path).await;
        assert_eq!(
            fs::read_to_string(yard.path("ws").join(path)).unwrap(),
            MINE,
            "{path}"
        );
    }
}

// proves TL-8, TL-18
#[tokio::test]
async fn what_is_trusted_can_be_read_and_what_is_hidden_cannot() {
    for reach in [FileAccess::Workspace, FileAccess::System] {
        for (path, before, _) in REPLACE {
            let yard = Yard::new(before);
            let jail = jail(&yard.config(reach)).unwrap();
            let outcome = call(jail, "read_file", json!({ "path": path })).await;
            let is_shown = outcome.text.contains(THEIRS);
            assert_eq!(
                is_shown,
                *path != "own/samovar.toml",
                "{path}: {}",
                outcome.text
            );
        }
        for (path, before, after) in HIDDEN.iter().chain(RENAMED) {
            let yard = Yard::new(before);
            let jail = jail(&yard.config(reach)).unwrap();
            yard.take(after);
            let args = json!({ "path": yard.written(path) });
            let outcome = call(jail, "read_file", args).await;
            let is_shown = outcome.text.contains(THEIRS);
            let may_be = path.contains("SKILL") || *path == "z/config";
            assert_eq!(is_shown, may_be, "{path}: {}", outcome.text);
        }
    }
}

// proves TL-2
#[test]
fn what_is_kept_of_one_workspace_is_not_found_from_another() {
    let top = TempDir::new().unwrap();
    let kept_in = |name: &str| {
        let workspace = top.path().join(name);
        fs::create_dir_all(&workspace).unwrap();
        let data_dir = top.path().join("data");
        fs::create_dir_all(&data_dir).unwrap();
        let files = SmallFiles::of(&data_dir).unwrap();
        kept_in(&Config::new(data_dir, workspace), &files).unwrap()
    };
    let (a, b) = (kept_in("a"), kept_in("b"));
    assert_eq!(
        a,
        top.path().join("data"),
        "the first has the directory itself"
    );
    assert_ne!(a, b);
    assert!(b.is_dir());
    assert_eq!(
        (kept_in("a"), kept_in("b")),
        (a, b),
        "each finds its own again"
    );
}

#[test]
fn without_a_descriptor_what_was_never_seen_is_waited_for_and_what_was_seen_only_for_a_moment() {
    use rustix::io::Errno;
    use samovar_descriptors::retry;
    let looks = Looks::default();
    let look = |found_at: u32| {
        let mut times = 0;
        let found = looks.look(|| {
            times += 1;
            retry(|| (times >= found_at).then_some(()).ok_or(Errno::MFILE)).is_ok()
        });
        (found, times)
    };
    // More pauses than fit into a moment.
    assert_eq!(look(9), (true, 9));
    let (found, times) = look(9);
    assert!(!found && times < 9, "{times}");
    assert_eq!(look(2), (true, 2));
}

// proves MD-27, PF-2
#[test]
fn the_folders_file_is_read_again_only_after_it_has_changed() {
    let yard = Yard::new(&[Step::File("ws/AGENTS.md")]);
    let jail = jail(&yard.config(FileAccess::Workspace)).unwrap();
    let mut seen = Seen::new("AGENTS.md");
    let mut say = || {
        let said = seen.look(&jail).map(|file| file.text);
        (said, seen.reads)
    };
    for _ in 0..20 {
        assert_eq!(say(), (Some(THEIRS.to_owned()), 1));
    }
    fs::write(yard.path("new"), "Theirs").unwrap();
    fs::rename(yard.path("new"), yard.path("ws/AGENTS.md")).unwrap();
    assert_eq!(say(), (Some("Theirs".to_owned()), 2));
    // What cannot be used is tried again.
    fs::write(yard.path("ws/AGENTS.md"), b"\xff").unwrap();
    assert_eq!((say(), say()), ((None, 3), (None, 4)));
    fs::remove_file(yard.path("ws/AGENTS.md")).unwrap();
    symlink(yard.path("ws/own/samovar.toml"), yard.path("ws/AGENTS.md")).unwrap();
    assert_eq!(say().0, None);
}
