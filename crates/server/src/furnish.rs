//! The tools of an agent's workspace, and what of it they must not touch.

use std::path::PathBuf;
use std::sync::Arc;

use samovar_egress::Client;
use samovar_engine::Toolbox;
use samovar_sandbox::{Jail, Protected};
use samovar_tools::Resources;

use crate::config::{Config, Reach};
use crate::error::OpenError;

/// What lies in a workspace and is trusted: by the server, which reads it, or by the person's own
/// git, which runs what stands there. No tool may write it (TL-18).
const TRUSTED_NAMES: [&str; 9] = [
    ".git",
    "samovar.toml",
    "SOUL.md",
    "USER.md",
    "AGENTS.md",
    "MEMORY.md",
    "skills",
    "agents",
    "memory",
];

/// The built-in tools, those on files for the workspace, and those of the program that has the server inside.
///
/// # Errors
/// The workspace cannot be used, or a name is taken.
pub(crate) fn toolbox(config: &Config, client: &Client) -> Result<Toolbox, OpenError> {
    let workspace = &config.workspace;
    // Before the first start there is no data directory: only `doctor` asks then.
    let private = config.private.iter().chain([&config.data_dir]);
    let there = private.filter(|folder| folder.is_dir());
    // What is made later has no identity to be known by yet, so its path is kept shut as well.
    let guarded = config.guarded.iter().chain(&config.private).cloned();
    let protected = Protected {
        hidden: there.cloned().collect(),
        read_only: TRUSTED_NAMES
            .map(PathBuf::from)
            .into_iter()
            .chain(guarded)
            .collect(),
    };
    let jail = Arc::new(match config.reach {
        Reach::Workspace => Jail::open(workspace, &protected)?,
        Reach::System => Jail::open_to_system(workspace, &protected)?,
    });
    let toolbox = Toolbox::default();
    let client = client.clone();
    for toolset in samovar_tools::catalog(&Resources { jail, client }) {
        toolbox.add_built_in(&toolset).map_err(OpenError::Tools)?;
    }
    for toolset in &config.toolsets {
        toolbox.add(toolset).map_err(OpenError::Tools)?;
    }
    Ok(toolbox)
}
