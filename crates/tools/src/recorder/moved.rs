//! What a command moved to where it is recorded.

use std::collections::HashSet;

use samovar_sandbox::Jail;

use super::index::{Entry, Index, Sort};

/// Knows what was in the folder before, not covered, and was moved to where it is: no copy of it is kept.
pub(super) struct MovedIn {
    before: i64,
    /// The device and number of each file that was covered.
    covered: HashSet<(u64, u64)>,
}

impl MovedIn {
    pub(super) fn after(old: &Index) -> Self {
        let covered = old.entries.values();
        let covered = covered.map(|entry| (entry.facts.device, entry.facts.inode));
        Self {
            before: old.header.at,
            covered: covered.collect(),
        }
    }

    /// Whether this is true of what is new at a path. Of a folder it never is: only an empty one is
    /// ever removed.
    pub(super) fn has(&self, jail: &Jail, path: &str, new: Option<&Entry>) -> bool {
        let Some(after) = new.filter(|entry| entry.sort != Sort::Folder) else {
            return false;
        };
        if self
            .covered
            .contains(&(after.facts.device, after.facts.inode))
        {
            return false;
        }
        let born = jail.place(path).and_then(|place| jail.born(&place));
        matches!(born, Ok(Some(born)) if born < self.before)
    }
}
