//! How commands run.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::seconds;

/// How `exec` runs commands.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Exec {
    /// What holds commands. With less than this machine gives, `exec` is off and says what is missing.
    #[schemars(extend("x-widens" = true))]
    pub sandbox: Sandbox,
    /// The most seconds that a command may take, unless its call asks for up to an hour and it does more
    /// than read.
    #[schemars(with = "u32", range(min = 1, max = 3_600), extend("x-widens" = true))]
    #[serde(with = "seconds")]
    pub timeout: Duration,
    /// The programs that run without a question, such as `ls` or `cargo test`, instead of the built-in
    /// list of those that only read.
    #[schemars(
        with = "Vec<String>",
        length(max = 256),
        inner(length(min = 1, max = 256))
    )]
    #[schemars(extend("x-widens" = true, "examples" = [["ls", "cargo test"]]))]
    pub allow: Option<Vec<String>>,
    /// Further files and folders that commands may read, with absolute paths.
    #[schemars(
        with = "Vec<String>",
        length(max = 64),
        inner(length(min = 1, max = 1_024))
    )]
    #[schemars(extend("x-widens" = true, "examples" = [["/srv/data"]]))]
    pub read: Vec<PathBuf>,
    /// The most MiB of memory that a command with all of its processes may use.
    #[schemars(range(min = 64, max = 1_048_576), extend("x-widens" = true))]
    pub memory_mib: u32,
    /// The most processes and threads that a command may have.
    #[schemars(range(min = 16, max = 65_536), extend("x-widens" = true))]
    pub max_processes: u64,
}

/// What holds a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sandbox {
    /// Namespaces, Landlock, seccomp and limits.
    #[default]
    Namespaces,
    /// Landlock, seccomp and limits, on Linux 6.12 or newer, where a distribution refuses user
    /// namespaces: a command sees other processes and the names of all files, and can change files that
    /// the server trusts.
    Landlock,
    /// Limits alone: a command can do what this user can, and a person is asked about each.
    Off,
}

impl Default for Exec {
    fn default() -> Self {
        Self {
            sandbox: Sandbox::default(),
            timeout: Duration::from_mins(1),
            allow: None,
            read: Vec::new(),
            memory_mib: 4_096,
            max_processes: 1_024,
        }
    }
}
