//! Why stores cannot be opened.

use std::path::PathBuf;

use samovar_core::Broken;
use samovar_locale as locale;

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
}
