//! How commands run.

use std::path::PathBuf;

use samovar_config::{Exec, Sources};
use samovar_server::{ExecConfig, GitSettings, toolchain_variables};

/// Variables of the owner that commands have.
const HANDED_ON: [&str; 4] = ["PATH", "LANG", "TZ", "TERM"];

/// Variables that say where the owner's git settings are.
const OF_GIT: [&str; 2] = ["HOME", "XDG_CONFIG_HOME"];

pub(super) fn exec(set: &Exec, sources: &Sources) -> ExecConfig {
    let variables = &sources.environment;
    let value = |name: &str| {
        let mut found = variables.iter().filter(|(found, _)| found == name);
        found.next().map(|(_, value)| value.clone())
    };
    let env = HANDED_ON.iter().filter_map(|name| {
        let value = value(name)?.into_string().ok()?;
        Some(((*name).to_owned(), value))
    });
    let of_toolchains = toolchain_variables().filter_map(|name| Some((name.into(), value(name)?)));
    let of_git = OF_GIT
        .iter()
        .filter_map(|name| Some(((*name).into(), value(name)?)));
    ExecConfig {
        set: set.clone(),
        path: std::env::split_paths(&value("PATH").unwrap_or_default()).collect(),
        home: value("HOME").map(PathBuf::from),
        env: env.collect(),
        variables: of_toolchains.collect(),
        git: GitSettings {
            env: of_git.collect(),
        },
        program: None,
    }
}
