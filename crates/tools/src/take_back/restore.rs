//! Making of files what they were.

use std::collections::BTreeMap;
use std::path::Path;

use samovar_core::file_changes::{Restoration, RestoredFile};
use samovar_core::{Error, failpoint};
use samovar_locale as locale;
use samovar_sandbox::{Jail, JailError, JailPath};

use super::state::{content_before, is_folder, is_one_of, states};
use super::{OWNERS, Plan, incomplete, locked};
use crate::undo::{Before, Shape, State, UndoStore};
use crate::workspace::Workspace;

/// Gives all files what they were, once nothing stands against it and `begin` has noted it: first goes what was not there, or is of another kind now.
pub(super) fn restore_all(
    workspace: &Workspace,
    undo: &UndoStore,
    mut plans: Vec<Plan>,
    begin: impl FnOnce() -> Result<(), Error>,
) -> Result<Vec<RestoredFile>, Error> {
    let jail = workspace.jail();
    let mut modes = open_folders(jail, &plans);
    let ready = plans.iter().try_for_each(|plan| {
        let has_names = plan.mode.is_some() || !matches!(plan.before, Before::Kept(_));
        let checked = jail.check_change(&plan.place, has_names);
        checked.map_err(|error| locked(&plan.path, &error.to_string()))
    });
    let mut files = Vec::new();
    let done = ready.and_then(|()| begin());
    let done = done.and_then(|()| restore_each(workspace, undo, &mut plans, &mut files));
    if done.is_ok() {
        let folders = plans.iter().filter_map(|plan| {
            let mode = plan.folder()?;
            Some((plan.path.clone(), (plan.place.clone(), mode)))
        });
        modes.extend(folders);
    }
    // What is in a folder comes after it.
    let closed = modes
        .into_iter()
        .rev()
        .try_for_each(|(path, (place, mode))| {
            let closed = jail.change_mode(&place, |_| mode).map(drop);
            closed.map_err(|error| incomplete(&path, &error.to_string(), &files))
        });
    done.and(closed)?;
    if !plans.is_empty()
        && let Err(error) = jail.sync()
    {
        tracing::warn!(%error, "files that were restored may be lost in a crash of the machine");
    }
    files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

/// Lets the owner change what is in the folders of all plans; what they were then.
fn open_folders(jail: &Jail, plans: &[Plan]) -> BTreeMap<String, (JailPath, u32)> {
    let mut modes = BTreeMap::new();
    for plan in plans {
        // The lowest that is there: those below it are made.
        for folder in Path::new(&plan.path).ancestors().skip(1) {
            let path = folder.to_string_lossy();
            let Ok(place) = jail.place(if path.is_empty() { "." } else { &path }) else {
                break;
            };
            match jail.change_mode(&place, |mode| mode | OWNERS) {
                Ok(None) => {}
                Ok(Some(mode)) if mode & OWNERS != OWNERS => {
                    modes.insert(path.into_owned(), (place, mode));
                    break;
                }
                // If nothing can be changed in it, the check says so.
                Ok(Some(_)) | Err(_) => break,
            }
        }
    }
    modes
}

/// Gives each file what it was, and notes those that were given it.
fn restore_each(
    workspace: &Workspace,
    undo: &UndoStore,
    plans: &mut [Plan],
    files: &mut Vec<RestoredFile>,
) -> Result<(), Error> {
    plans.sort_by_key(|plan| {
        let is_removed = plan.before == Before::Absent;
        let (phase, depth) = match (is_removed, plan.folder()) {
            (true, _) => (0, usize::MAX - plan.depth()),
            (false, Some(_)) => (1, plan.depth()),
            (false, None) => (2, 0),
        };
        (phase, depth)
    });
    for plan in plans {
        failpoint!("undo.file.before");
        let restored = restore(workspace, undo, plan);
        failpoint!("undo.file.after");
        match restored {
            Ok(_) if plan.is_of_folder() => {}
            Ok(restoration) => files.push(RestoredFile {
                path: plan.path.clone(),
                restoration,
            }),
            Err(why) => return Err(incomplete(&plan.path, &why, files)),
        }
    }
    Ok(())
}

/// Makes of a file what it was before; one that is so already stays as it is.
fn restore(workspace: &Workspace, undo: &UndoStore, plan: &Plan) -> Result<Restoration, String> {
    let _lock = workspace.lock(&plan.place);
    let now = states(workspace, &plan.place)?;
    // What it was stands between what it is and what it shall be, if that is of another kind.
    let is_cut = now.contains(&State::Absent);
    if !is_one_of(&now, &plan.expected) && !is_cut {
        return Err(locale::undo::just_changed().to_owned());
    }
    let jail = workspace.jail();
    let told = |error: JailError| error.to_string();
    let wanted = plan.before.state().unwrap_or(State::Absent);
    let done = if wanted == State::Absent {
        // A folder that is in use stays. Also where the file is gone its folders may be there.
        let is_gone = jail.clear(&plan.place).map_err(told)?;
        if is_gone && plan.made > 0 {
            jail.remove(&plan.place, plan.made).map_err(told)?;
        }
        Restoration::Removed
    } else {
        if !is_one_of(&now, std::slice::from_ref(&wanted)) {
            put(workspace, undo, plan, &now)?;
        }
        Restoration::Restored
    };
    if let (Some(recorder), Ok(now)) = (workspace.recorder(), states(workspace, &plan.place)) {
        let now = now.into_iter().next_back().unwrap_or(State::Absent);
        recorder.note_restored(&plan.path, now);
    }
    Ok(done)
}

/// Puts what was there in the place of what is there `now`.
fn put(workspace: &Workspace, undo: &UndoStore, plan: &Plan, now: &[State]) -> Result<(), String> {
    let jail = workspace.jail();
    let told = |error: JailError| error.to_string();
    let is_file =
        |state: &State| matches!(state, State::Is(Shape::File { .. } | Shape::Large { .. }));
    let make_room = || match jail.clear(&plan.place).map_err(told) {
        Ok(true) => Ok(()),
        Ok(false) => Err(locale::undo::folder_in_use().to_owned()),
        Err(why) => Err(why),
    };
    let content = content_before(workspace, undo, plan.first, &plan.before);
    let content = content.map_err(|error| error.to_string())?;
    let content = content.ok_or_else(|| locale::undo::damaged().to_owned())?;
    match &plan.before {
        Before::Recorded(Shape::Folder { mode }, _) => {
            if !is_folder(now) {
                make_room()?;
            }
            jail.put_folder(&plan.place, mode | OWNERS).map_err(told)
        }
        Before::Recorded(Shape::Link { target }, _) => {
            make_room()?;
            jail.put_link(&plan.place, target.as_ref()).map_err(told)
        }
        _ => {
            if !now.iter().any(is_file) {
                make_room()?;
            }
            jail.put_file(&plan.place, &content, plan.mode)
                .map_err(told)
        }
    }
}

/// What an undo makes of a place for a moment, at which it can be cut.
pub(super) fn between(before: &Before, after: &State) -> Vec<State> {
    let open = |mode: u32| {
        State::Is(Shape::Folder {
            mode: mode | OWNERS,
        })
    };
    let opened = |state: &State| match state {
        State::Is(Shape::Folder { mode }) => Some(open(*mode)),
        State::Is(_) | State::Holds(_) | State::Absent => None,
    };
    let before = before.state().unwrap_or(State::Absent);
    let is_in_place = match (&before, after) {
        (State::Absent, _) | (_, State::Absent) => true,
        (State::Is(Shape::Folder { .. }), after) => opened(after).is_some(),
        (State::Is(Shape::Link { .. }), _)
        | (_, State::Is(Shape::Folder { .. } | Shape::Link { .. })) => false,
        (State::Holds(_) | State::Is(_), State::Holds(_) | State::Is(_)) => true,
    };
    let gone = (!is_in_place).then_some(State::Absent);
    opened(&before)
        .into_iter()
        .chain(opened(after))
        .chain(gone)
        .collect()
}
