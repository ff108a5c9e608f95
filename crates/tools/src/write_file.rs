//! `write_file`: gives a file its content.

use std::fmt::Write as _;

use samovar_core::{Outcome, Probed};
use samovar_sandbox::{JailPath, WriteResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::caller::Caller;
use crate::edit_file::unified;
use crate::foresight::{Foresight, content};
use crate::read_file::MAX_LINE_BYTES;
use crate::refusal::Refusal;
use crate::seen::{Knowledge, MAX_SEEN_BYTES, Sight};
use crate::text::{path, plural, sha256};
use crate::tool::{Access, FileTool};
use crate::workspace::{MAX_CONTENT_BYTES, Workspace};

/// Lines of the difference that a refusal shows.
const MAX_SHOWN_LINES: usize = 40;
/// Bytes of it.
const MAX_SHOWN_BYTES: usize = 4 * 1024;

/// Creates a file with its folders, or replaces the whole content of one that was read here before;
/// `edit_file` changes a part.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteFile {
    path: String,
    content: String,
}

impl FileTool for WriteFile {
    const NAME: &'static str = "write_file";
    const ACCESS: Access = Access::Write;

    fn run(self, workspace: &Workspace, caller: &Caller) -> Result<Outcome, Refusal> {
        let place = workspace.place(&self.path)?;
        let _lock = workspace.lock(&place);
        check_size(&self.content)?;
        let before = content(workspace.jail(), &place)?;
        caller.check(before.as_deref())?;
        // A person who allowed the call saw what it removes.
        if let (Some(before), None) = (&before, &caller.approved) {
            // Reading it would not help then.
            workspace.jail().check_writable(&place)?;
            self.check_seen(workspace, caller, &place, before)?;
        }
        let content = self.content.as_bytes();
        let written = workspace.change(caller, &place, before.as_deref(), content)?;
        workspace
            .seen()
            .see(caller, &place, sha256(content), Sight::Whole);
        Ok(told(&place, content, written))
    }

    fn file(&self) -> &str {
        &self.path
    }

    fn preview(&self, workspace: &Workspace) -> Result<Option<(Foresight, String)>, Refusal> {
        let place = workspace.place(&self.path)?;
        check_size(&self.content)?;
        let before = content(workspace.jail(), &place)?;
        let foresight = Foresight::new(before.as_deref(), self.content.as_bytes());
        let shown = match before.as_deref().map(str::from_utf8) {
            None => unified(&path(&place), "", &self.content),
            Some(Ok(before)) => unified(&path(&place), before, &self.content),
            Some(Err(_)) => {
                let bytes = before.as_deref().map_or(0, <[u8]>::len);
                let with = unified(&path(&place), "", &self.content);
                format!(
                    "replaces {} that are not text\n{with}",
                    plural(bytes, "byte", "bytes")
                )
            }
        };
        Ok(Some((foresight, shown)))
    }

    fn foresee(&self, workspace: &Workspace) -> Result<Option<Foresight>, Refusal> {
        let place = workspace.place(&self.path)?;
        let before = content(workspace.jail(), &place)?;
        let after = self.content.as_bytes();
        Ok(Some(Foresight::new(before.as_deref(), after)))
    }

    fn probe(self, workspace: &Workspace, foresight: &Foresight) -> Result<Probed, Refusal> {
        let place = workspace.place(&self.path)?;
        let written = match foresight.before {
            None => WriteResult::Created,
            Some(_) => WriteResult::Replaced,
        };
        let tell = |now: &[u8]| told(&place, now, written);
        Ok(foresight.compare(workspace.jail(), &place, tell))
    }
}

impl WriteFile {
    /// Refuses to replace what the caller has not seen.
    fn check_seen(
        &self,
        workspace: &Workspace,
        caller: &Caller,
        place: &JailPath,
        before: &[u8],
    ) -> Result<(), Refusal> {
        if before.is_empty() || before == self.content.as_bytes() {
            return Ok(());
        }
        let path = path(place);
        if before.len() as u64 > MAX_SEEN_BYTES {
            let why = format!(
                "{path} has {}, too many to be read whole, and nothing was written; write to \
                 another file, or let a command change it",
                plural(before.len(), "byte", "bytes")
            );
            return Err(why.into());
        }
        let why = match workspace.seen().knows(caller, place, before) {
            Knowledge::Whole => return Ok(()),
            Knowledge::Nothing => format!("{path} exists, and you have not read it here"),
            Knowledge::Part => {
                let mut lines = before.split(|byte| *byte == b'\n');
                let is_cut = lines.any(|line| line.len() > MAX_LINE_BYTES);
                let cut = "; of a line longer than 16 KiB only the beginning is shown";
                let cut = if is_cut { cut } else { "" };
                format!("you have read only a part of {path}{cut}")
            }
            Knowledge::Earlier => {
                format!("{path} was changed since you read or wrote it here, and not by you")
            }
        };
        let change = match str::from_utf8(before) {
            Ok(before) => beginning(&unified(&path, before, &self.content)),
            Err(_) => format!(
                "it has {} that are not text\n",
                plural(before.len(), "byte", "bytes")
            ),
        };
        let why = format!(
            "{why}; nothing was written. Your content would make this change:\n{change}\
             Read it with read_file, then call again, or change a part with edit_file."
        );
        Err(why.into())
    }
}

fn check_size(content: &str) -> Result<(), Refusal> {
    if content.len() as u64 > MAX_CONTENT_BYTES {
        return Err(format!("content is longer than {MAX_CONTENT_BYTES} bytes").into());
    }
    Ok(())
}

/// The beginning of a difference.
fn beginning(diff: &str) -> String {
    let mut lines = diff.lines();
    let shown: Vec<_> = lines.by_ref().take(MAX_SHOWN_LINES).collect();
    let rest = lines.count();
    let mut shown = shown.join("\n");
    shown.truncate(shown.floor_char_boundary(MAX_SHOWN_BYTES));
    if rest > 0 {
        let _infallible = write!(shown, "\n[{rest} more lines]");
    }
    shown + "\n"
}

fn told(place: &JailPath, content: &[u8], written: WriteResult) -> Outcome {
    let (verb, is_created) = match written {
        WriteResult::Created => ("created", true),
        WriteResult::Replaced => ("wrote", false),
    };
    let bytes = content.len();
    let path = place.to_string();
    let text = format!("{verb} {path} ({})", plural(bytes, "byte", "bytes"));
    let data = json!({
        "path": path,
        "bytes": bytes,
        "created": is_created,
        "sha256": sha256(content),
    });
    Outcome::done(text).with_data(data)
}
