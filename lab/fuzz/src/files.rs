//! Paths, and the files that people and models write.

use std::fs;
use std::path::Component;
use std::sync::{Arc, LazyLock};

use samovar_config::{Settings, Sources};
use samovar_core::{
    AgentName, AgentPath, CallContext, CallId, SessionId, Status, ToolCall, ToolReply, ToolSpec,
    Toolset, TurnId,
};
use samovar_egress::Client;
use samovar_memory::{Entry, entries, replaced, without};
use samovar_sandbox::{Jail, JailPath, Protected};
use samovar_tools::{Resources, Workspace, catalog as built_in};
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::pieces::place;

/// Bytes of a path that the jail takes, at most.
const MAX_PATH_BYTES: usize = 4096;

/// A path as a model writes it: it names a place in the jail, the same when that is written again.
pub(crate) fn jail_path(data: &[u8]) {
    static JAIL: LazyLock<Jail> = LazyLock::new(|| {
        let folder = TempDir::new().expect("there is room");
        Jail::open(folder.path(), &Protected::default()).expect("the folder is there")
    });
    let Ok(raw) = str::from_utf8(data) else {
        return;
    };
    for below in [
        raw.to_owned(),
        format!("{}/{raw}", JAIL.root_path().display()),
    ] {
        let Ok(path) = JAIL.place(&below) else {
            continue;
        };
        is_inside(&path);
        let again = JAIL.place(&path.to_string()).expect("it was written by us");
        assert_eq!(again.as_path(), path.as_path(), "{raw:?}");
        assert!(path.is_within(&JailPath::root()));
    }
    // In two steps as in one, as long as the second does not climb.
    let (first, second) = raw.split_at(raw.floor_char_boundary(place(data)));
    let whole = JailPath::root().join(&format!("./{first}/{second}"));
    let steps = JailPath::root()
        .join(first)
        .and_then(|first| first.join(second));
    if let Ok(steps) = steps {
        is_inside(&steps);
        match whole {
            Ok(whole) => assert_eq!(whole.as_path(), steps.as_path(), "{raw:?}"),
            // In one step it is longer by what holds it together.
            Err(error) => assert!(raw.len() + 3 > MAX_PATH_BYTES, "{raw:?}: {error}"),
        }
    }
}

fn is_inside(path: &JailPath) {
    let mut parts = path.as_path().components();
    assert!(
        parts.all(|part| matches!(part, Component::Normal(_))),
        "{path}"
    );
    assert!(!path.is_beyond() && !path.to_string().contains('\0'));
}

/// A file with memories, as a person leaves it: one that goes leaves all others, and so does one that
/// changes.
pub(crate) fn memory_file(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let all = |text: &str| -> Vec<Entry> {
        let entries = entries(text).into_iter();
        entries.map(|(_, entry)| entry).collect()
    };
    let before = all(text);
    let mut kept: Vec<_> = before.iter().filter(|entry| entry.date.is_some()).collect();
    let count = kept.len();
    kept.sort_by(|one, other| one.id.cmp(&other.id));
    kept.dedup_by(|one, other| one.id == other.id);
    assert_eq!(kept.len(), count, "an id that a line has names one memory");
    // A comment inside a text becomes one when a person copies its line.
    if before.iter().any(|entry| entry.text.contains("<!--")) {
        return;
    }
    for entry in before.iter().take(16) {
        let left = all(&without(text, |other| other.id == entry.id));
        let others = before.iter().filter(|other| other.id != entry.id);
        assert!(
            left.iter()
                .map(|entry| &entry.id)
                .eq(others.map(|other| &other.id))
        );
        let new = Entry {
            text: "new words".to_owned(),
            ..entry.clone()
        };
        let after = all(&replaced(text, &entry.id, &new));
        assert_eq!(after.len(), before.len());
        for (before, after) in before.iter().zip(&after) {
            let text = if before.id == entry.id {
                &new.text
            } else {
                &before.text
            };
            assert_eq!(*text, after.text);
        }
    }
}

/// The definition of an agent: the prompt is what stands after the front matter, and a definition
/// that is in order makes an agent.
pub(crate) fn agent_file(data: &[u8]) {
    const NAME: &str = "helper";
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let (draft, is_on) = match samovar_agents::parse(NAME, text) {
        Ok(read) => read,
        Err(why) => {
            assert!(!why.is_empty() && !why.contains('\n'), "{why:?}");
            return;
        }
    };
    let prompt = &draft.system_prompt;
    let head = text.trim_end().strip_suffix(prompt.as_str());
    let head = head.expect("the prompt is the end of the file");
    // The same front matter before another prompt.
    let other = format!("{head}\nAnother prompt.\n---\nwith a line.");
    let (other, _) = samovar_agents::parse(NAME, &other).expect("the front matter is the same");
    assert!(
        other
            .system_prompt
            .ends_with("Another prompt.\n---\nwith a line."),
        "{text:?}"
    );
    let windows = format!(
        "\u{feff}{}",
        text.replace("\r\n", "\n").replace('\n', "\r\n")
    );
    if let Ok((windows, is_on_there)) = samovar_agents::parse(NAME, &windows) {
        assert_eq!(
            (windows.tool_keys, is_on_there),
            (draft.tool_keys.clone(), is_on),
            "{text:?}"
        );
    }
    let name = AgentName::new(NAME).expect("a short name");
    if let Ok(agent) = draft.define(name.clone()) {
        assert_eq!(agent.name, name);
    }
}

/// A configuration file: what it says does not depend on an empty line before it, nor on how often it
/// is read, and a mistake is told in a sentence.
pub(crate) fn config_file(data: &[u8]) {
    let folder = TempDir::new().expect("there is room");
    let ours = folder.path().join("samovar");
    fs::create_dir(&ours).expect("there is room");
    let here = folder.path().join("here");
    fs::create_dir(&here).expect("there is room");
    let sources = Sources {
        environment: vec![("XDG_CONFIG_HOME".into(), folder.path().into())],
        here,
        ..Sources::default()
    };
    let read = |content: &[u8]| -> Result<Settings, String> {
        fs::write(ours.join("samovar.toml"), content).expect("there is room");
        let resolved = sources.resolve().map_err(|error| error.to_string())?;
        Ok(resolved.settings)
    };
    match read(data) {
        Ok(settings) => {
            let after_a_line = [b"\n", data].concat();
            // What some editors begin a file with is no text after a line.
            if !data.starts_with("\u{feff}".as_bytes()) {
                assert_eq!(read(&after_a_line), Ok(settings));
            }
        }
        Err(why) => assert!(!why.is_empty()),
    }
}

/// An edit of a file: its content up to the first zero byte, the old text up to the next, then the
/// new one; with a zero byte at the end it is for all places. What is told is what was done.
pub(crate) fn edit_file(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let mut parts = text.splitn(3, '\0');
    let (Some(content), Some(old), Some(new)) = (parts.next(), parts.next(), parts.next()) else {
        return;
    };
    let (new, all) = match new.strip_suffix('\0') {
        Some(new) => (new, true),
        None => (new, false),
    };
    let folder = TempDir::new().expect("there is room");
    let file = folder.path().join("file.txt");
    fs::write(&file, content).expect("there is room");
    let args = json!({"path": "file.txt", "old": old, "new": new, "all": all});
    let call = ToolCall::new(
        CallId::new("call_1").expect("a short id"),
        "edit_file",
        args,
    );
    let tool = catalog_in(&folder)
        .into_iter()
        .find(|tool| tool.specs()[0].name == "edit_file");
    let tool = tool.expect("the catalog has it");
    let foreseen = RUNTIME.block_on(tool.preview(&call));
    let ToolReply::Closed(outcome) = RUNTIME.block_on(tool.call(call, context())) else {
        unreachable!("a file tool answers at once");
    };
    let now = fs::read_to_string(&file).expect("a text stays a text");
    let is_done = outcome.status == Status::Done;
    assert_eq!(
        foreseen.is_ok(),
        is_done,
        "the preview was another than the call"
    );
    if !is_done {
        assert_eq!(now, content, "a failed edit changed the file");
        return;
    }
    assert_ne!(now, content, "an edit changed nothing");
    // Where the text is there as it was given and has no line ends to set aside, nothing is mended.
    let is_exact = content.contains(old) && ![content, old, new].concat().contains('\r');
    if is_exact {
        let expected = if all {
            content.replace(old, new)
        } else {
            content.replacen(old, new, 1)
        };
        assert_eq!(now, expected);
    }
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime of one thread")
});

fn context() -> CallContext {
    CallContext::new(
        SessionId::new("s").expect("a short id"),
        TurnId::new("t").expect("a short id"),
        AgentPath::root("master"),
        CallId::new("call_1").expect("a short id"),
    )
}

/// The built-in tools, for what is known of them without a workspace.
pub(crate) fn catalog() -> Vec<Arc<dyn Toolset>> {
    catalog_in(&TempDir::new().expect("there is room"))
}

/// How the built-in tools describe themselves.
pub(crate) fn catalog_specs() -> Vec<Arc<ToolSpec>> {
    catalog().iter().flat_map(|tool| tool.specs()).collect()
}

fn catalog_in(folder: &TempDir) -> Vec<Arc<dyn Toolset>> {
    let jail = Jail::open(folder.path(), &Protected::default()).expect("the folder is there");
    built_in(&Resources {
        workspace: Arc::new(Workspace::new(Arc::new(jail))),
        client: Client::new(Vec::new()),
        shell: None,
        search: None,
    })
}
