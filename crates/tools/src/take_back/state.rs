//! What a file is now, and what it was.

use std::io;

use samovar_sandbox::{JailError, JailPath, Kind};

use crate::foresight::content;
use crate::text::sha256;
use crate::undo::{Before, Shape, State, UndoStore};
use crate::workspace::Workspace;

/// What a file held before a change, and nothing for what holds nothing; `None` if it is lost.
pub(super) fn content_before(
    workspace: &Workspace,
    undo: &UndoStore,
    id: u64,
    before: &Before,
) -> io::Result<Option<Vec<u8>>> {
    match before {
        Before::Kept(hash) => undo.content(id, hash),
        Before::Recorded(Shape::File { sha256: hash, .. }, Some(object)) => {
            let recorder = workspace.recorder();
            let content = recorder
                .map(|recorder| recorder.content(object))
                .transpose()?;
            Ok(content.flatten().filter(|content| sha256(content) == *hash))
        }
        Before::Recorded(Shape::Folder { .. } | Shape::Link { .. }, _) | Before::Absent => {
            Ok(Some(Vec::new()))
        }
        Before::Recorded(..) | Before::Follows(_) | Before::Unkept => Ok(None),
    }
}

pub(super) fn is_folder(states: &[State]) -> bool {
    let is_folder = |state: &State| matches!(state, State::Is(Shape::Folder { .. }));
    states.iter().any(is_folder)
}

pub(super) fn is_one_of(now: &[State], expected: &[State]) -> bool {
    now.iter()
        .any(|now| expected.iter().any(|one| one.fits(now)))
}

/// What a file is now; as a state says it with its content, and as one says it without.
pub(super) fn states(workspace: &Workspace, place: &JailPath) -> Result<Vec<State>, String> {
    let jail = workspace.jail();
    let told = |error: JailError| error.to_string();
    let Some(facts) = jail.facts(place).map_err(told)? else {
        return Ok(vec![State::Absent]);
    };
    let mode = facts.mode;
    Ok(match facts.kind {
        Kind::Directory => vec![State::Is(Shape::Folder { mode })],
        Kind::Symlink => {
            let target = jail.link(place).map_err(told)?;
            vec![State::Is(Shape::Link { target })]
        }
        Kind::File => {
            let mut states = vec![State::Is(Shape::Large {
                bytes: facts.size,
                modified: facts.modified,
                inode: facts.inode,
                mode,
            })];
            // A larger one was never kept.
            if let Some(bytes) = content(workspace.jail(), place).ok().flatten() {
                let sha256 = sha256(&bytes);
                states.push(State::Is(Shape::File { sha256, mode }));
            }
            states
        }
        Kind::Other => Vec::new(),
    })
}
