//! A bounded walk through a tree of the jail.

use super::{Entry, Jail, Kind};
use crate::error::JailError;
use crate::path::JailPath;

/// What the visitor of an entry wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    /// Go on; into the entry first, if it is a directory.
    Enter,
    /// Go on, and not into the entry.
    Pass,
    /// End the walk.
    Stop,
}

/// How far a walk goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalkLimits {
    /// Levels of directories; 1 is the entries of the first one alone.
    pub depth: usize,
    /// Entries looked at, those that the visitor passes over included.
    pub entries: usize,
}

/// What a walk left out; all zero when it saw everything that it was let into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WalkOmissions {
    /// Entries beyond [`WalkLimits::entries`], at least.
    pub more: usize,
    /// Directories that the visitor wanted to enter and [`WalkLimits::depth`] did not allow.
    pub too_deep: usize,
    /// Directories that could not be listed.
    pub unreadable: usize,
}

impl Jail {
    /// Visits what is beneath `from`: a directory before its content, names in byte order.
    ///
    /// Links are visited and never followed.
    /// Nothing is held open between two visits, so the visitor may use the jail itself.
    ///
    /// # Errors
    /// As [`Jail::list`] for `from`; a directory further down that cannot be listed is counted,
    /// unless the server had no free descriptor for it.
    pub fn walk(
        &self,
        from: &JailPath,
        limits: WalkLimits,
        mut visit: impl FnMut(&Entry) -> Visit,
    ) -> Result<WalkOmissions, JailError> {
        let mut walked = WalkOmissions::default();
        let first = self.list(from, limits.entries)?;
        let mut budget = limits.entries - first.entries.len();
        walked.more += first.more;
        let mut levels = vec![first.entries.into_iter()];
        while let Some(level) = levels.last_mut() {
            let Some(entry) = level.next() else {
                levels.pop();
                continue;
            };
            match visit(&entry) {
                Visit::Stop => break,
                Visit::Enter if entry.kind != Kind::Directory => {}
                Visit::Enter if levels.len() >= limits.depth => walked.too_deep += 1,
                Visit::Enter => match self.list(&entry.place, budget) {
                    Ok(listing) => {
                        budget -= listing.entries.len();
                        walked.more += listing.more;
                        levels.push(listing.entries.into_iter());
                    }
                    Err(error @ JailError::NoDescriptor { .. }) => return Err(error),
                    Err(_) => walked.unreadable += 1,
                },
                Visit::Pass => {}
            }
        }
        Ok(walked)
    }
}
