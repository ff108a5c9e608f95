//! `list_dir`: what is in a folder.

use std::ops::ControlFlow;

use samovar_core::Outcome;
use samovar_sandbox::{Entry, JailPath, Kind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::filter::{Filter, below};
use crate::refusal::Refusal;
use crate::survey::{LeftOut, survey};
use crate::text::{grouped, here, is_usable, name, plural};
use crate::tool::{Access, FileTool};
use crate::workspace::Workspace;

/// Entries that are shown.
const MAX_SHOWN: usize = 1_000;
/// Bytes of text that the entries may take.
const MAX_TEXT_BYTES: usize = 256 * 1024;
/// Levels of folders below the one that was asked for.
const MAX_DEPTH: usize = 16;

/// Lists a folder, with sizes in bytes, without what .gitignore names.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListDir {
    /// Leave it out for the whole workspace.
    path: Option<String>,
    /// Levels of folders to list; leave it out for this folder alone.
    #[schemars(range(max = MAX_DEPTH))]
    depth: Option<usize>,
    /// Such as * for names, or **/* for paths.
    glob: Option<String>,
}

impl FileTool for ListDir {
    const NAME: &'static str = "list_dir";
    const ACCESS: Access = Access::Read;

    fn run(self, workspace: &Workspace, caller: &Caller) -> Result<Outcome, Refusal> {
        let stop = &caller.stop;
        let folder = workspace.place(self.path.as_deref().unwrap_or("."))?;
        let depth = self.depth.unwrap_or(1).max(1);
        if depth > MAX_DEPTH {
            let why = format!("depth is at most {MAX_DEPTH}, not {depth}");
            return Err(Refusal::of_arguments(why));
        }
        let filter = Filter::new(self.glob.as_deref())?;
        let mut entries = Vec::new();
        let mut seen = 0;
        let left_out = survey(workspace, stop, &folder, depth, |entry| {
            seen += 1;
            if filter.takes(&entry.place, &folder) {
                entries.push(entry.clone());
            }
            ControlFlow::Continue(())
        })?;
        entries.sort_unstable_by(|a, b| bytes_of(a).cmp(bytes_of(b)));
        let count = plural(entries.len(), "entry", "entries");
        let here = here(&folder);
        let head = match &self.glob {
            Some(glob) if entries.is_empty() => {
                format!(
                    "0 of {} in {here} match the glob {glob:?}",
                    plural(seen, "entry", "entries")
                )
            }
            Some(_) | None => format!("{count} in {here}"),
        };
        Ok(present(head, &folder, &entries, &left_out))
    }

    fn file(&self) -> &str {
        self.path.as_deref().unwrap_or(".")
    }
}

fn bytes_of(entry: &Entry) -> &[u8] {
    entry.place.as_path().as_os_str().as_encoded_bytes()
}

fn present(head: String, folder: &JailPath, entries: &[Entry], left_out: &LeftOut) -> Outcome {
    let mut lines = String::new();
    let mut shown = 0;
    for entry in entries.iter().take(MAX_SHOWN) {
        let line = line(entry, folder);
        if lines.len() + line.len() > MAX_TEXT_BYTES {
            break;
        }
        lines.push_str(&line);
        shown += 1;
    }
    let mut text = head;
    if shown < entries.len() {
        text.push_str(", first ");
        text.push_str(&grouped(shown));
        text.push_str(" shown");
    }
    text.push_str(&lines);
    for note in left_out.notes() {
        text.push('\n');
        text.push_str(&note);
    }
    let values: Vec<Value> = entries[..shown].iter().map(value).collect();
    Outcome::done(text).with_data(json!({ "entries": values }))
}

/// A line feed, then the entry.
fn line(entry: &Entry, folder: &JailPath) -> String {
    let below = below(&entry.place, folder);
    let (size, mark) = match entry.kind {
        Kind::File => (entry.size.to_string(), ""),
        Kind::Directory => ("-".to_owned(), "/"),
        Kind::Symlink => ("-".to_owned(), "@"),
        Kind::Other => ("-".to_owned(), "?"),
    };
    let warning = if is_usable(below) {
        ""
    } else {
        " (name not usable)"
    };
    format!("\n{size:>12}  {}{mark}{warning}", name(below))
}

fn value(entry: &Entry) -> Value {
    let kind = match entry.kind {
        Kind::File => "file",
        Kind::Directory => "directory",
        Kind::Symlink => "symlink",
        Kind::Other => "other",
    };
    json!({ "path": entry.place.to_string(), "kind": kind, "size": entry.size })
}
