//! The built-in tools: those for files, all of them inside the path jail, those for the web, and
//! tools that run elsewhere.
//!
//! Here: [`catalog`], the one list of built-in tools; one file for each tool, whose arguments are a
//! type from which the schema and the description are derived; the parts that tools share: texts
//! for the model, the walk that honours `.gitignore`, the locks under which files are changed, the
//! store from which changes are taken back, and the recorder of what commands change;
//! [`webhook()`] and [`client_tool`], for tools that others declare ([`Declared`]). Not here: the
//! jail itself (`samovar-sandbox`), who may call what, and when (the engine), running commands.
//!
//! Start at [`catalog`], then read `tool.rs`; to add a tool, write its file and its line in the
//! list.

mod alike;
mod caller;
mod declared;
mod edit_file;
mod exec;
mod filter;
mod foresight;
mod homes;
mod ignores;
mod list_dir;
mod online;
mod outputs;
mod read_file;
mod recorder;
mod refusal;
mod schema;
mod search_files;
mod seen;
mod survey;
mod take_back;
mod text;
mod tool;
mod ui;
mod undo;
mod web_fetch;
mod web_search;
mod webhook;
mod workspace;
mod write_file;

use std::sync::Arc;

use samovar_core::Toolset;
use samovar_egress::Client;

pub use crate::declared::{Declared, DeclaredError, no_arguments};
pub use crate::seen::SeenFiles;
pub use crate::ui::FOR_UI;
pub use crate::undo::{UndoBounds, UndoStore, UnfinishedUndo};
pub use crate::web_fetch::page_as_markdown;
pub use crate::web_search::{SearchService, WebSearch};
pub use crate::webhook::{client_tool, webhook};
pub use crate::workspace::Workspace;

pub use crate::exec::{EXEC, ExecSettings, GitSettings, Shell};
pub use crate::homes::HomeStore;
pub use crate::outputs::OutputStore;
pub use crate::recorder::told::not_covered;
pub use crate::recorder::{Bounds as RecorderBounds, Recorder};
pub use samovar_shell::ReadOnly;

use crate::tool::toolset;

/// What the built-in tools work with.
pub struct Resources {
    /// The files that they may touch.
    pub workspace: Arc<Workspace>,
    /// The client for what is fetched.
    pub client: Client,
    /// What commands run in; `None` leaves `exec` out.
    pub shell: Option<Arc<Shell>>,
    /// Where `web_search` asks; `None` if no search is configured, which its calls then say.
    pub search: Option<WebSearch>,
}

/// Every built-in tool, in a stable order. A tool is a [`Toolset`] whose [`ToolSpec`] says what the
/// gate asks; `toolset` makes one of a type that works on files.
///
/// The calls need a tokio runtime: those on files run on its pool for blocking work.
///
/// [`ToolSpec`]: samovar_core::ToolSpec
pub fn catalog(resources: &Resources) -> Vec<Arc<dyn Toolset>> {
    let workspace = &resources.workspace;
    let shell = resources.shell.clone();
    let exec = shell.map(|shell| exec::ExecTool::new(workspace.clone(), shell));
    let mut catalog: Vec<Arc<dyn Toolset>> = vec![
        toolset::<list_dir::ListDir>(workspace),
        toolset::<read_file::ReadFile>(workspace),
        toolset::<search_files::SearchFiles>(workspace),
        toolset::<edit_file::EditFile>(workspace),
        toolset::<write_file::WriteFile>(workspace),
        Arc::new(web_search::WebSearchTool::new(resources)),
        Arc::new(web_fetch::WebFetchTool::new(resources.client.clone())),
        Arc::new(ui::UiTools),
    ];
    catalog.extend(exec.map(|exec| Arc::new(exec) as Arc<dyn Toolset>));
    catalog
}
