//! What commands run in: the sandbox of this data directory and its workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use samovar_config::Sandbox;
use samovar_sandbox::cage::{
    self, CageSettings, Cages, Level, Limits, end_orphans, put_aside_after_kill,
};
use samovar_sandbox::{DirLock, LockError, SmallFiles, Survival, wait_until_free};
use samovar_tools::{
    ExecSettings, HomeStore, OutputStore, ReadOnly, Recorder, RecorderBounds, SeenFiles, Shell,
    UndoStore, Workspace,
};

use crate::config::{Config, ExecConfig};
use crate::error::OpenError;
use crate::folder;

/// Held shared by each command that runs.
const LOCK: &str = "exec.lock";
/// Is there while commands run.
const NOTE: &str = "exec.missing";
/// What a start has put aside, until the audit has it.
const ASIDE: &str = "exec.aside";
/// Bytes of that, at most.
const MAX_ASIDE_BYTES: u64 = 64 * 1024;
/// Git files that can name programs, or lead to other git files.
const OF_GIT: [&str; 6] = [
    ".git/config",
    // What a command writes into it, git makes the settings a moment later.
    ".git/config.lock",
    ".git/hooks",
    ".git/commondir",
    ".git/config.worktree",
    ".git/modules",
];
/// Outputs that are too long for a result.
const OUTPUTS: &str = "outputs";
/// How long a start waits for the commands of a server that was killed, which end with it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The sandbox; nothing is tried yet.
pub(crate) fn of(config: &Config) -> Option<Arc<Shell>> {
    let exec = config.exec.as_ref()?;
    let set = &exec.set;
    let allow = set.allow.as_ref();
    let allow = allow.map_or_else(ReadOnly::built_in, |allow| {
        ReadOnly::of(allow.iter().map(String::as_str))
    });
    let dir = &config.data_dir;
    Some(Arc::new(Shell::new(ExecSettings {
        cages: CageSettings {
            lock: Some(dir.join(LOCK)),
            note: Some(dir.join(NOTE)),
            ..cages(config, exec)
        },
        allow,
        timeout: set.timeout,
        limits: Limits {
            memory: u64::from(set.memory_mib) << 20,
            processes: set.max_processes,
            ..Limits::default()
        },
        env: exec.env.clone(),
        git: exec.git.clone(),
    })))
}

/// What would hold commands on this machine, and what is missing for it; `None` where a configuration
/// has no commands. Needs no data directory, and blocks for some milliseconds.
pub fn try_sandbox(config: &Config) -> Option<(Level, Result<(), String>)> {
    let exec = config.exec.as_ref()?;
    let tried = Cages::new(cages(config, exec)).map_err(|error| error.to_string());
    let tried = tried.and_then(|cages| cages.probe().map_err(|shortage| shortage.to_string()));
    Some((level(exec.set.sandbox), tried))
}

/// What an undo would not take back of what commands change in the workspace; `None` where it takes
/// all back, and where a configuration has no commands or keeps nothing. Needs no data directory, and
/// walks over the files.
pub fn not_undone(config: &Config) -> Option<String> {
    let is_on = config.exec.is_some() && config.undo.max_bytes > 0;
    let jail = is_on.then(|| folder::jail(config).ok())??;
    samovar_tools::not_covered(&jail)
}

fn level(sandbox: Sandbox) -> Level {
    match sandbox {
        Sandbox::Namespaces => Level::Namespaces,
        Sandbox::Landlock => Level::Landlock,
        Sandbox::Off => Level::Off,
    }
}

/// Cages without what they need of the data directory.
fn cages(config: &Config, exec: &ExecConfig) -> CageSettings {
    let protected = folder::protected(config);
    // A person's git writes its folder; what in it names programs stays as it is.
    let kept = protected.read_only.into_iter();
    let kept = kept.filter(|path| path != Path::new(".git"));
    let of_git = OF_GIT.map(PathBuf::from);
    CageSettings {
        level: level(exec.set.sandbox),
        workspace: config.workspace.clone(),
        path: exec.path.clone(),
        home: exec.home.clone(),
        variables: exec.variables.clone(),
        read: exec.set.read.clone(),
        hidden: protected.hidden,
        kept: kept.chain(of_git).collect(),
        lock: None,
        note: None,
        program: exec.program.clone(),
    }
}

/// The same workspace with what the data directory has for commands: home folders, and a folder for
/// outputs that are too long for a result.
fn furnished(workspace: Workspace, kept_in: &Path) -> Workspace {
    let workspace = match OutputStore::open(kept_in.join(OUTPUTS)) {
        Ok(outputs) => workspace.with_outputs(outputs),
        Err(error) => {
            tracing::warn!(%error, "long outputs of commands are not kept");
            workspace
        }
    };
    match HomeStore::of(kept_in) {
        Ok(homes) => workspace.with_homes(homes),
        Err(error) => {
            tracing::warn!(%error, "commands have no home folder that is kept");
            workspace
        }
    }
}

/// The workspace, whose changes are kept in the data directory with these files.
///
/// # Errors
/// It cannot be used.
pub(crate) fn workspace(
    config: &Config,
    files: Option<&SmallFiles>,
) -> Result<Workspace, OpenError> {
    let trust = config.trust.clone();
    let workspace = Workspace::new(folder::jail(config)?).with_foreign(move || trust.is_foreign());
    let workspace = match files {
        Some(files) => {
            let path = &config.data_dir;
            let failed = |source| LockError::NotWritable {
                path: path.clone(),
                source,
            };
            let kept_in = folder::kept_in(config, files).map_err(failed)?;
            let files = &SmallFiles::of(&kept_in).map_err(failed)?;
            let workspace = furnished(workspace, &kept_in)
                .with_undo(UndoStore::new(files.clone(), config.undo))
                .with_recorder(Recorder::new(files.clone(), RecorderBounds::default()));
            match SeenFiles::new(files) {
                Ok(seen) => workspace.with_seen(seen),
                Err(error) => {
                    tracing::warn!(%error, "what sessions see of files is forgotten with the server");
                    workspace
                }
            }
        }
        None => workspace,
    };
    // Before anything else changes the files.
    if let Some(recorder) = workspace.recorder()
        && let Err(error) = recorder.recover(&workspace)
    {
        tracing::warn!(%error, "what interrupted commands changed is not known");
    }
    Ok(workspace)
}

/// Waits for the commands of an earlier run to end, and puts aside what they made that is trusted by
/// its name (DU-18). Returns these names.
///
/// # Errors
/// They do not end, or what they left cannot be looked at or put aside.
pub(crate) fn after_others(dir: &Path) -> Result<Option<String>, OpenError> {
    let failed = |source| OpenError::Commands {
        dir: dir.to_owned(),
        source,
    };
    let lock = dir.join(LOCK);
    wait_until_free(&lock, PATIENCE).map_err(failed)?;
    let (ended, is_done) = end_orphans(&lock).map_err(failed)?;
    if ended > 0 || !is_done {
        tracing::warn!(ended, is_done, "processes of commands were left over");
    }
    let aside = put_aside_after_kill(&dir.join(NOTE)).map_err(failed)?;
    let names: Vec<_> = aside
        .moved
        .iter()
        .map(|it| it.name.to_string_lossy())
        .collect();
    if names.is_empty() {
        return Ok(None);
    }
    let names = names.join(", ");
    let files = SmallFiles::of(dir).map_err(failed)?;
    let written = files.write(ASIDE, names.as_bytes(), Survival::Crash);
    written.map_err(failed)?;
    Ok(Some(names))
}

/// The names of that, once the audit can have them.
pub(crate) fn was_put_aside(files: &SmallFiles) -> Option<String> {
    files.read(ASIDE, MAX_ASIDE_BYTES).ok()?
}

/// The audit has them.
pub(crate) fn forget_put_aside(files: &SmallFiles) {
    if let Err(error) = files.remove(ASIDE) {
        tracing::warn!(%error, "the next start records again what this one put aside");
    }
}

/// Does that before anything is read or asked about that may be such a file; returns the names. Nothing is
/// done while a server holds the data directory, nor where none was killed with its commands.
///
/// # Errors
/// See [`OpenError`].
pub fn put_aside_before_reading(data_dir: &Path) -> Result<Option<String>, OpenError> {
    if !data_dir.join(NOTE).exists() {
        return Ok(None);
    }
    match DirLock::acquire(data_dir) {
        Ok(_lock) => after_others(data_dir),
        // It is of a server that runs.
        Err(_) => Ok(None),
    }
}

/// Whether a file that the server trusts may be one that a command has made which still runs.
pub fn may_be_a_commands(data_dir: &Path, path: &Path) -> bool {
    cage::may_be_a_commands(&data_dir.join(NOTE), path)
}
