//! The built-in file tools, all of them inside the path jail, and tools that run elsewhere.
//!
//! Here: [`catalog`], the one list of built-in tools; one file for each tool, whose arguments are a
//! type from which the schema and the description are derived; the parts that tools share: texts
//! for the model, the walk that honours `.gitignore`, the locks under which files are changed;
//! [`webhook()`] and [`client_tool`], for tools that others declare ([`Declared`]). Not here: the
//! jail itself (`samovar-sandbox`), who may call what, and when (the engine), running commands.
//!
//! Start at [`catalog`], then read `tool.rs`; to add a tool, write its file and its line in the
//! list.

mod alike;
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
mod ui;
mod webhook;
mod workspace;
mod write_file;

use std::sync::Arc;

use samovar_core::Toolset;
use samovar_egress::Client;
use samovar_sandbox::Jail;

pub use crate::declared::{Declared, DeclaredError, no_arguments};
pub use crate::ui::FOR_UI;
pub use crate::webhook::{client_tool, webhook};

use crate::tool::toolset;
use crate::workspace::Workspace;

/// What the built-in tools work with.
pub struct Resources {
    /// The files that they may touch.
    pub jail: Arc<Jail>,
    /// The client for what is fetched.
    pub client: Client,
}

/// Every built-in tool, in a stable order. A tool is a [`Toolset`] whose [`ToolSpec`] says what the
/// gate asks; `toolset` makes one of a type that works on files.
///
/// Calls of one catalog never lose each other's changes to a file, so a jail has one catalog.
/// The calls need a tokio runtime: those on files run on its pool for blocking work.
///
/// [`ToolSpec`]: samovar_core::ToolSpec
pub fn catalog(resources: &Resources) -> Vec<Arc<dyn Toolset>> {
    let workspace = Arc::new(Workspace::new(resources.jail.clone()));
    vec![
        toolset::<list_dir::ListDir>(&workspace),
        toolset::<read_file::ReadFile>(&workspace),
        toolset::<search_files::SearchFiles>(&workspace),
        toolset::<edit_file::EditFile>(&workspace),
        toolset::<write_file::WriteFile>(&workspace),
        Arc::new(ui::UiTools),
    ]
}
