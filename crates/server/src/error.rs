//! Why a data directory cannot be opened.

use std::path::PathBuf;

use samovar_locale as locale;
use samovar_sandbox::{JailError, LockError};

/// Why a data directory cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is held by another process, or cannot be used.
    #[error(transparent)]
    DataDir(#[from] LockError),
    /// The workspace cannot be used.
    #[error("{}", unusable_workspace(.0))]
    Workspace(#[from] JailError),
    /// The token cannot be read or made.
    #[error("{}", locale::data_dir::token_unusable(locale::quoted(.dir), .source))]
    Token {
        /// The data directory.
        dir: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The list of tokens cannot be read.
    #[error("{}", locale::data_dir::tokens_unusable(locale::quoted(.dir), .source))]
    Tokens {
        /// The data directory.
        dir: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The list of registered tools cannot be read.
    #[error("{}", locale::data_dir::tools_unusable(locale::quoted(.dir), .source))]
    Registered {
        /// The data directory.
        dir: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Commands of an earlier run still run, or what they left cannot be looked at or put aside.
    #[error("{}", locale::data_dir::commands_running(locale::quoted(.dir), .source))]
    Commands {
        /// The data directory.
        dir: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The list of rules cannot be read.
    #[error("{}", locale::data_dir::rules_unusable(locale::quoted(.dir), .source))]
    Rules {
        /// The data directory.
        dir: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The stores cannot be opened.
    #[error(transparent)]
    Stores(#[from] samovar_stores::OpenError),
    /// The tools do not fit together.
    #[error("{}", locale::tool::unusable(.0))]
    Tools(samovar_core::Error),
}

/// What a person can do about a folder that can be no workspace; the jail speaks to models.
fn unusable_workspace(error: &JailError) -> String {
    match error {
        JailError::Io { path, source } if source.kind() == std::io::ErrorKind::NotFound => {
            locale::workspace::missing(locale::quoted(path))
        }
        JailError::Io { path, source } => {
            locale::workspace::unreadable(locale::quoted(path), source)
        }
        JailError::NotADirectory { path } => locale::workspace::no_directory(locale::quoted(path)),
        other => locale::workspace::unusable(other),
    }
}

impl OpenError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::DataDir(LockError::Held { .. }) => "data_dir_busy",
            Self::DataDir(_) | Self::Stores(samovar_stores::OpenError::Restore { .. }) => {
                "data_dir_unusable"
            }
            Self::Workspace(_) => "workspace_unusable",
            Self::Token { .. } | Self::Tokens { .. } => "token_unusable",
            Self::Stores(samovar_stores::OpenError::Missing { missing, .. }) => match missing.store
            {
                samovar_stores::Store::Journal => "journal_missing",
                samovar_stores::Store::History => "history_missing",
            },
            Self::Stores(_) => "store_unusable",
            Self::Tools(_) | Self::Registered { .. } => "tools_unusable",
            Self::Rules { .. } => "rules_unusable",
            Self::Commands { .. } => "commands_running",
        }
    }
}
