//! Why stores cannot be opened.

use std::path::{Path, PathBuf};

use samovar_core::Broken;
use samovar_locale as locale;

use crate::generation::{Lack, Missing, Store};

/// Why the stores cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A restore that was cut off cannot be finished.
    #[error("{}", locale::backup::unfinished(locale::quoted(.dir), .source))]
    Restore {
        /// The data directory.
        dir: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A store that should be there is not.
    #[error("{}", say_missing(.dir, *.missing))]
    Missing {
        /// The data directory.
        dir: PathBuf,
        /// The store.
        missing: Missing,
    },
    /// A directory whose store is missing cannot be prepared for a start with an empty one.
    #[error("{}", locale::store::not_mended(locale::quoted(.dir), .source))]
    Mending {
        /// The data directory.
        dir: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The journal cannot be opened.
    #[error("{}", locale::store::journal_unusable(locale::quoted(.dir), .source))]
    Journal {
        /// The data directory.
        dir: PathBuf,
        /// What it said.
        source: Broken,
    },
    /// The history cannot be opened.
    #[error("{}", locale::store::history_unusable(locale::quoted(.dir), .source))]
    History {
        /// The data directory.
        dir: PathBuf,
        /// What it said.
        source: Broken,
    },
    /// The audit cannot be opened; without it nothing may have an effect.
    #[error("{}", locale::store::audit_unusable(locale::quoted(.dir), .source))]
    Audit {
        /// The data directory.
        dir: PathBuf,
        /// What it said.
        source: Broken,
    },
}

/// What was found, and what a person can do.
fn say_missing(dir: &Path, missing: Missing) -> String {
    let found = missing.found();
    let dir = locale::quoted(dir);
    match missing.store {
        Store::Journal => locale::store::journal_missing(dir, found),
        Store::History => locale::store::history_missing(dir, found),
    }
}

impl Missing {
    /// What was found in the place of the store, in words.
    pub fn found(self) -> String {
        let path = match self.store {
            Store::Journal => "journal/data.mdb",
            Store::History => "history.db",
        };
        match self.lack {
            Lack::Gone => locale::store::file_gone(path),
            Lack::Empty => locale::store::file_empty(path),
            Lack::Another => locale::store::file_of_another(path),
        }
    }
}
