//! What a path that leads nowhere could have meant.

use std::ops::ControlFlow;

use strsim::sorensen_dice;

use crate::survey::survey;
use crate::text::{is_usable, path};
use crate::workspace::{Stop, Workspace};

/// Entries of the workspace that are compared.
const MAX_COMPARED: usize = 10_000;
/// Paths that are offered.
const MAX_OFFERED: usize = 3;
/// How alike two names have to be; 1 is the same, but for case.
const MIN_LIKENESS: f64 = 0.6;

/// A refusal of `missing` that offers the paths whose names are most like its own; `None` if none
/// is.
pub(crate) fn instead_of(missing: &str, workspace: &Workspace, stop: &Stop) -> Option<String> {
    let place = workspace.place(missing).ok()?;
    let wanted = place.name()?.to_str()?.to_lowercase();
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
        return None;
    }
    let offered = offered.join(" or ");
    Some(format!(
        "{:?} does not exist; did you mean {offered}?",
        path(&place)
    ))
}
