//! The built-in file tools, all of them behind the path jail, and tools that run elsewhere.
//!
//! Here: [`catalog`], the one list of what is built in; one file for each tool, whose arguments are a
//! type that the schema and the description are derived from; what tools share: texts a model can
//! read, the walk that honours `.gitignore`, the locks under which files are changed; [`webhook()`]
//! and [`client_tool`], for what somebody else has and [`Declared`].
//! Not here: the jail itself (`samovar-sandbox`), who may call what, and when (the engine), running
//! commands.
//!
//! Start at [`catalog`], then read `tool.rs`; to add a tool, write its file and its line in the list.

mod declared;
mod edit_file;
mod filter;
mod foresight;
mod ignores;
mod list_dir;
mod read_file;
mod schema;
mod search_files;
mod survey;
mod text;
mod tool;
mod webhook;
mod workspace;
mod write_file;

use std::sync::Arc;

use samovar_core::Toolset;
use samovar_sandbox::Jail;

pub use crate::declared::{Declared, DeclaredError, no_arguments};
pub use crate::webhook::{client_tool, webhook};

use crate::edit_file::EditFile;
use crate::list_dir::ListDir;
use crate::read_file::ReadFile;
use crate::search_files::SearchFiles;
use crate::tool::shelve;
use crate::workspace::Workspace;
use crate::write_file::WriteFile;

/// Every built-in tool, for the files in `jail`, in a stable order.
///
/// Calls of one catalog never lose each other's changes to a file, so a jail has one catalog.
/// The calls need a tokio runtime: each runs on its pool for blocking work.
pub fn catalog(jail: &Arc<Jail>) -> Vec<Arc<dyn Toolset>> {
    let workspace = Arc::new(Workspace::new(jail.clone()));
    vec![
        shelve::<ListDir>(&workspace),
        shelve::<ReadFile>(&workspace),
        shelve::<SearchFiles>(&workspace),
        shelve::<EditFile>(&workspace),
        shelve::<WriteFile>(&workspace),
    ]
}
