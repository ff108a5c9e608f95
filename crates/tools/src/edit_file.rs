//! `edit_file`: replaces a piece of a text.

mod diff;
mod document;
mod fit;
mod nearest;

use samovar_core::{Outcome, Probed};
use samovar_sandbox::JailPath;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::caller::Caller;
use crate::foresight::Foresight;
use crate::refusal::Refusal;
use crate::seen::{Knowledge, Sight};
use crate::text::{path, plural, sha256};
use crate::tool::{Access, FileTool};
use crate::workspace::{MAX_CONTENT_BYTES, Workspace};

pub(crate) use diff::unified;
use document::Document;
use fit::{Fit, Misfit, fit};

/// Replaces text in a file. `old` must be there exactly once; if it is not, copy more of the lines
/// around it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditFile {
    path: String,
    /// The text to replace, copied from the file.
    old: String,
    new: String,
    /// Replace every occurrence.
    #[serde(default)]
    all: bool,
}

impl FileTool for EditFile {
    const NAME: &'static str = "edit_file";
    const ACCESS: Access = Access::Write;

    fn run(self, workspace: &Workspace, caller: &Caller) -> Result<Outcome, Refusal> {
        let place = workspace.place(&self.path)?;
        let lock = workspace.lock(&place);
        let Edit { before, fit, after } = self.edit(workspace, &place)?;
        let (old, content) = (before.to_bytes(), after.to_bytes());
        caller.check(Some(&old))?;
        let knew = workspace.seen().knows(caller, &place, &old);
        workspace.change(caller, &place, Some(&old), &content)?;
        if knew == Knowledge::Whole {
            workspace
                .seen()
                .see(caller, &place, sha256(&content), Sight::Whole);
        }
        // Nobody has to wait while the difference is looked for.
        drop(lock);
        let diff = unified(&path(&place), before.text(), after.text());
        Ok(told(&place, fit.at.len(), Some(&diff), &content))
    }

    fn file(&self) -> &str {
        &self.path
    }

    fn preview(&self, workspace: &Workspace) -> Result<Option<(Foresight, String)>, Refusal> {
        let place = workspace.place(&self.path)?;
        let edit = self.edit(workspace, &place)?;
        let shown = unified(&path(&place), edit.before.text(), edit.after.text());
        Ok(Some((self.foresight(edit), shown)))
    }

    fn foresee(&self, workspace: &Workspace) -> Result<Option<Foresight>, Refusal> {
        let place = workspace.place(&self.path)?;
        let edit = self.edit(workspace, &place)?;
        Ok(Some(self.foresight(edit)))
    }

    fn probe(self, workspace: &Workspace, foresight: &Foresight) -> Result<Probed, Refusal> {
        let place = workspace.place(&self.path)?;
        let tell = |now: &[u8]| {
            let replacements = foresight.replacements.unwrap_or_default();
            let diff = self.difference(&place, foresight, now);
            told(&place, replacements, diff.as_deref(), now)
        };
        Ok(foresight.compare(workspace.jail(), &place, tell))
    }
}

/// A text before and after it is edited.
struct Edit {
    before: Document,
    fit: Fit,
    after: Document,
}

impl EditFile {
    fn edit(&self, workspace: &Workspace, place: &JailPath) -> Result<Edit, Refusal> {
        let old = Document::parse(&self.old);
        let new = Document::parse(&self.new);
        refuse_idle(old.text(), new.text())?;
        let before = open(workspace, place)?;
        let fit = fit(&before, old.text(), new.text(), self.all).map_err(|misfit| {
            let path = place.to_string();
            Refusal::of_arguments(match misfit {
                Misfit::Missing(old) => nearest::not_found(&path, &before, &old, new.text()),
                Misfit::Ambiguous(lines) => format!(
                    "old is in {path:?} more than once, at lines {lines}; \
                     give more of the text around it, or set all"
                ),
            })
        })?;
        refuse_idle(&fit.old, &fit.new)?;
        let after = before.replace(&fit.at, fit.old.len(), &fit.new);
        Ok(Edit { before, fit, after })
    }

    fn foresight(&self, edit: Edit) -> Foresight {
        let Edit { before, fit, after } = edit;
        let (before, after) = (before.to_bytes(), after.to_bytes());
        let foresight = Foresight::new(Some(&before), &after).with_places(&fit.at);
        let is_as_given = (fit.old.as_str(), fit.new.as_str())
            == (
                Document::parse(&self.old).text(),
                Document::parse(&self.new).text(),
            );
        if is_as_given {
            foresight
        } else {
            foresight.with_texts(fit.old, fit.new)
        }
    }

    /// The difference that the edit made, which its text after it and the places are enough for; none
    /// when they are not.
    fn difference(&self, place: &JailPath, foresight: &Foresight, now: &[u8]) -> Option<String> {
        let (old, new) = (Document::parse(&self.old), Document::parse(&self.new));
        let (old, new) = match &foresight.texts {
            Some((old, new)) => (old.as_str(), new.as_str()),
            None => (old.text(), new.text()),
        };
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
        is_it.then(|| unified(&path(place), before.text(), after.text()))
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
        let why = "old is empty; give the text to be replaced, or use write_file";
        return Err(Refusal::of_arguments(why));
    }
    if old == new {
        let why = "old and new are the same; nothing to change";
        return Err(Refusal::of_arguments(why));
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
