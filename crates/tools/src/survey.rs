//! A walk through the workspace that sees what a person would: nothing of `.git`, nothing that
//! `.gitignore` names.

use std::ops::ControlFlow;

use samovar_sandbox::{Entry, JailPath, Kind, Visit, WalkLimits};

use crate::caller::Stop;
use crate::ignores::Ignores;
use crate::refusal::Refusal;
use crate::text::{grouped, plural};
use crate::workspace::Workspace;

/// Entries that one walk looks at.
const MAX_ENTRIES: usize = 100_000;

/// What a walk left out, for the notes below a result.
#[derive(Default)]
pub(crate) struct LeftOut {
    ignored: usize,
    more: usize,
    unreadable: usize,
}

/// Visits what is beneath `folder`, down to `depth` levels, until the visitor breaks.
pub(crate) fn survey(
    workspace: &Workspace,
    stop: &Stop,
    folder: &JailPath,
    depth: usize,
    mut visit: impl FnMut(&Entry) -> ControlFlow<()>,
) -> Result<LeftOut, Refusal> {
    let limits = WalkLimits {
        depth,
        entries: MAX_ENTRIES,
    };
    let mut ignores = Ignores::beginning_in(workspace.jail(), folder);
    let mut covered = 0;
    let walked = workspace.jail().walk(folder, limits, |entry| {
        if stop.is_set() {
            return Visit::Stop;
        }
        if entry.place.name().is_some_and(|name| name == ".git") {
            return Visit::Pass;
        }
        if ignores.cover(entry) {
            covered += 1;
            return Visit::Pass;
        }
        if visit(entry).is_break() {
            return Visit::Stop;
        }
        if entry.kind == Kind::Directory {
            ignores.enter(&entry.place);
        }
        Visit::Enter
    })?;
    stop.check()?;
    Ok(LeftOut {
        ignored: covered,
        more: walked.more,
        unreadable: walked.unreadable,
    })
}

impl LeftOut {
    /// A line for each reason, none when everything was seen.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.ignored > 0 {
            let entries = plural(self.ignored, "entry", "entries");
            notes.push(format!("[{entries} left out by .gitignore]"));
        }
        if self.more > 0 {
            let limit = grouped(MAX_ENTRIES);
            let more = plural(self.more, "more was", "more were");
            notes.push(format!(
                "[stopped after {limit} entries, at least {more} not looked at; \
                 give a path further down]"
            ));
        }
        if self.unreadable > 0 {
            let folders = plural(self.unreadable, "folder", "folders");
            notes.push(format!("[{folders} could not be read]"));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::LeftOut;

    #[test]
    fn what_a_walk_left_out_is_said_with_its_number() {
        assert!(LeftOut::default().notes().is_empty());
        let left_out = LeftOut {
            ignored: 1,
            more: 2,
            unreadable: 3,
        };
        assert_eq!(
            left_out.notes(),
            [
                "[1 entry left out by .gitignore]",
                "[stopped after 100,000 entries, at least 2 more were not looked at; \
                 give a path further down]",
                "[3 folders could not be read]",
            ]
        );
    }
}
