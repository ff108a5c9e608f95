//! `edit_file`: replaces a piece of a text.

mod diff;
mod document;
mod nearest;

use samovar_core::{Outcome, Probed};
use samovar_sandbox::JailPath;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::foresight::Foresight;
use crate::text::{path, plural, sha256};
use crate::tool::{Access, FileTool, Refusal};
use crate::workspace::{Stop, Workspace};
use crate::write_file::MAX_CONTENT_BYTES;

use document::Document;

/// Places of an ambiguous text that are told.
const MAX_PLACES: usize = 10;

/// Replaces a text in a file by another. The text must be in the file exactly once, spaces and all,
/// unless all is set; give enough of the lines around it. Line ends stay as they are in the file.
/// Shows what changed. At most 1 MiB.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditFile {
    /// The file, relative to the workspace.
    path: String,
    /// The text to be replaced, as it is in the file, without line numbers.
    old: String,
    /// The text that comes in its place.
    new: String,
    /// Replaces every occurrence.
    #[serde(default)]
    all: bool,
}

impl FileTool for EditFile {
    const NAME: &'static str = "edit_file";
    const ACCESS: Access = Access::Write;

    fn run(self, workspace: &Workspace, stop: &Stop) -> Result<Outcome, Refusal> {
        let place = workspace.place(&self.path)?;
        let lock = workspace.lock(&place);
        let Edit { before, at, after } = self.edit(workspace, &place)?;
        let content = after.to_bytes();
        stop.check()?;
        workspace
            .jail()
            .write(&place, &content, MAX_CONTENT_BYTES)?;
        // Nobody has to wait while the difference is looked for.
        drop(lock);
        let diff = diff::unified(&path(&place), before.text(), after.text());
        Ok(told(&place, at.len(), Some(&diff), &content))
    }

    fn foresee(&self, workspace: &Workspace) -> Result<Option<Foresight>, Refusal> {
        let place = workspace.place(&self.path)?;
        let Edit { before, at, after } = self.edit(workspace, &place)?;
        let (before, after) = (before.to_bytes(), after.to_bytes());
        Ok(Some(Foresight::new(Some(&before), &after).with_places(&at)))
    }

    fn probe(self, workspace: &Workspace, foresight: &Foresight) -> Result<Probed, Refusal> {
        let place = workspace.place(&self.path)?;
        let tell = |now: &[u8]| {
            let replacements = foresight.replacements.unwrap_or_default();
            let diff = self.difference(&place, foresight, now);
            told(&place, replacements, diff.as_deref(), now)
        };
        Ok(foresight.compare(workspace, &place, tell))
    }
}

/// A text before and after it is edited.
struct Edit {
    before: Document,
    /// Where it is edited.
    at: Vec<usize>,
    after: Document,
}

impl EditFile {
    fn edit(&self, workspace: &Workspace, place: &JailPath) -> Result<Edit, Refusal> {
        let old = Document::parse(&self.old);
        let new = Document::parse(&self.new);
        refuse_idle(old.text(), new.text())?;
        let before = open(workspace, place)?;
        let at = find(&before, place, old.text(), self.all)?;
        let after = before.replace(&at, old.text().len(), new.text());
        Ok(Edit { before, at, after })
    }

    /// The difference that the edit made, which its text after it and the places are enough for; none
    /// when they are not.
    fn difference(&self, place: &JailPath, foresight: &Foresight, now: &[u8]) -> Option<String> {
        let (old, new) = (Document::parse(&self.old), Document::parse(&self.new));
        let (old, new) = (old.text(), new.text());
        let after = Document::parse(str::from_utf8(now).ok()?);
        let mut at = Vec::new();
        for (edits, before) in foresight.places.iter().enumerate() {
            let grown = before.checked_add(edits.checked_mul(new.len())?)?;
            let place = grown.checked_sub(edits.checked_mul(old.len())?)?;
            let end = place.checked_add(new.len())?;
            let is_behind = at.last().is_none_or(|last| last + new.len() <= place);
            if !is_behind || after.text().get(place..end) != Some(new) {
                return None;
            }
            at.push(place);
        }
        let before = after.replace(&at, new.len(), old);
        let is_it = foresight.before == Some(sha256(&before.to_bytes()));
        is_it.then(|| diff::unified(&path(place), before.text(), after.text()))
    }
}

fn told(place: &JailPath, replacements: usize, diff: Option<&str>, content: &[u8]) -> Outcome {
    let path = path(place);
    let count = plural(replacements, "replacement", "replacements");
    let shown = diff.unwrap_or("[the change can no longer be shown]\n");
    let text = format!("edited {path}: {count}\n\n{shown}");
    let data = json!({
        "path": place.to_string(),
        "replacements": replacements,
        "diff": diff,
        "sha256": sha256(content),
    });
    Outcome::done(text).with_data(data)
}

fn refuse_idle(old: &str, new: &str) -> Result<(), Refusal> {
    if old.is_empty() {
        return Err("old is empty; give the text to be replaced, or use write_file".into());
    }
    if old == new {
        return Err("old and new are the same; nothing to change".into());
    }
    Ok(())
}

fn open(workspace: &Workspace, place: &JailPath) -> Result<Document, Refusal> {
    let file = workspace.jail().open_file(place)?;
    let bytes = file.into_bytes(MAX_CONTENT_BYTES)?;
    let text = str::from_utf8(&bytes).map_err(|_| {
        let path = place.to_string();
        format!("{path:?} is not UTF-8 text; only write_file can replace it")
    })?;
    Ok(Document::parse(text))
}

/// Where `old` is to be replaced: at its one place, or at all of them.
fn find(
    document: &Document,
    place: &JailPath,
    old: &str,
    all: bool,
) -> Result<Vec<usize>, Refusal> {
    let at = if all {
        document.occurrences(old)
    } else {
        document.overlapping(old, MAX_PLACES + 1)
    };
    let path = place.to_string();
    match at.len() {
        0 => Err(nearest::not_found(&path, document.text(), old).into()),
        1 => Ok(at),
        _ if all => Ok(at),
        count => {
            let shown = at.iter().take(MAX_PLACES);
            let mut lines: Vec<_> = shown.map(|at| document.line(*at).to_string()).collect();
            lines.dedup();
            let lines = lines.join(", ");
            let more = if count > MAX_PLACES { " and more" } else { "" };
            let why = format!(
                "old is in {path:?} more than once, at lines {lines}{more}; \
                 give more of the text around it, or set all"
            );
            Err(why.into())
        }
    }
}
