//! What a path that leads nowhere could have meant.

use std::ops::ControlFlow;
use std::path::Path;

use samovar_sandbox::Kind;
use strsim::sorensen_dice;

use crate::caller::Stop;
use crate::refusal::Lost;
use crate::survey::survey;
use crate::text::{here, is_usable, path};
use crate::workspace::Workspace;

/// Entries of the workspace that are compared.
const MAX_COMPARED: usize = 10_000;
/// Paths that are offered.
const MAX_OFFERED: usize = 3;
/// Names of a folder that are listed when no path is offered.
const MAX_LISTED: usize = 20;
/// How alike two names have to be; 1 is the same, but for case.
const MIN_LIKENESS: f64 = 0.6;

/// A refusal of a path that leads nowhere: it offers the paths whose names are most like that of
/// `asked`, or else lists the nearest folder that exists; `None` if that folder is empty.
pub(crate) fn instead_of(
    asked: &str,
    lost: &Lost,
    workspace: &Workspace,
    stop: &Stop,
) -> Option<String> {
    let name = Path::new(asked).file_name().unwrap_or_default();
    let wanted = name.to_str()?.to_lowercase();
    let root = workspace.place(".").ok()?;
    let mut compared = 0;
    let mut alike = Vec::new();
    let walked = survey(workspace, stop, &root, usize::MAX, |entry| {
        compared += 1;
        let name = entry.place.name().unwrap_or_default().to_string_lossy();
        let likeness = sorensen_dice(&wanted, &name.to_lowercase());
        if likeness >= MIN_LIKENESS && is_usable(entry.place.as_path()) {
            alike.push((likeness, path(&entry.place)));
        }
        if compared < MAX_COMPARED {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    walked.ok()?;
    alike.sort_by(|(one, path), (other, after)| other.total_cmp(one).then(path.cmp(after)));
    let offered = alike.iter().take(MAX_OFFERED);
    let offered: Vec<_> = offered.map(|(_, path)| format!("{path:?}")).collect();
    if offered.is_empty() {
        return listed(lost, workspace, stop);
    }
    let offered = offered.join(" or ");
    Some(format!("{}; did you mean {offered}?", lost.why))
}

fn listed(lost: &Lost, workspace: &Workspace, stop: &Stop) -> Option<String> {
    let folder = workspace.place(&lost.nearest).ok()?;
    let mut names = Vec::new();
    let mut more = 0;
    let walked = survey(workspace, stop, &folder, 1, |entry| {
        let end = if entry.kind == Kind::Directory {
            "/"
        } else {
            ""
        };
        if names.len() < MAX_LISTED {
            names.push(format!("{}{end}", path(&entry.place)));
        } else {
            more += 1;
        }
        ControlFlow::Continue(())
    });
    walked.ok()?;
    if names.is_empty() {
        return None;
    }
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let (here, names) = (here(&folder), names.join(", "));
    Some(format!("{}; {here} has {names}", lost.why))
}
