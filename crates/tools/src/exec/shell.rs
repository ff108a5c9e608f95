//! The sandbox of a server: what it is to be, and whether it works.

use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use samovar_sandbox::cage::{CageSettings, Cages, Channel, Job, Level, Limits};
use samovar_shell::ReadOnly;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::git::{GitSettings, Identity};

/// How long git may take to say its version.
const GIT_PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of what git says about its version, at most.
const MAX_VERSION_BYTES: usize = 1_024;
/// The variable of the folders in which programs are looked for.
const PATH: &str = "PATH";
const SHELLS: [&str; 2] = ["/bin/bash", "/bin/sh"];
/// How long a sandbox that was missing is not tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Commands that run at once, over all sessions; others wait.
const MAX_RUNNING: usize = 16;

/// How `exec` works here.
pub struct ExecSettings {
    /// What commands run in.
    pub cages: CageSettings,
    /// Programs that run without a question.
    pub allow: ReadOnly,
    /// How long a command may take that says nothing about it.
    pub timeout: Duration,
    /// What a command may use.
    pub limits: Limits,
    /// `PATH`, `LANG` and such, for commands.
    pub env: Vec<(String, String)>,
    /// Where the owner's own git settings are.
    pub git: GitSettings,
}

/// The sandbox of this server.
pub struct Shell {
    pub(super) settings: ExecSettings,
    /// What works, once it was tried. What is missing may be there the next time.
    found: OnceLock<Found>,
    /// What was missing last, and when.
    missing: Mutex<Option<(Instant, String)>>,
    retry_after: Duration,
    /// Programs that run without a question where the version of git is not known.
    allow_without_git: ReadOnly,
    pub(super) places: Semaphore,
    /// Who the person is for git, asked when the first command runs.
    identity: OnceLock<Identity>,
}

/// A sandbox that works.
struct Found {
    cages: Cages,
    /// Programs that run without a question, with the git that commands get.
    allow: ReadOnly,
}

impl Shell {
    /// With these settings; nothing is tried yet.
    pub fn new(settings: ExecSettings) -> Self {
        Self {
            allow_without_git: settings.allow.clone().with_git(""),
            settings,
            found: OnceLock::new(),
            missing: Mutex::default(),
            retry_after: RETRY_AFTER,
            places: Semaphore::new(MAX_RUNNING),
            identity: OnceLock::new(),
        }
    }

    /// Who the person is for git. Blocks for some milliseconds the first time.
    pub(super) fn identity(&self) -> &Identity {
        self.identity.get_or_init(|| {
            let cages = &self.settings.cages;
            self.settings.git.identity(&cages.path, &cages.workspace)
        })
    }

    /// How commands are shut in.
    pub fn level(&self) -> Level {
        self.settings.cages.level
    }

    /// Whether commands can run here, by trying one until it works, and which git they get. Blocks for some
    /// milliseconds then.
    ///
    /// # Errors
    /// What is missing, and the setting that would give it.
    pub fn check(&self) -> Result<&Cages, String> {
        self.found().map(|found| &found.cages)
    }

    fn found(&self) -> Result<&Found, String> {
        if let Some(found) = self.found.get() {
            return Ok(found);
        }
        // One at a time: cages that were made twice would know of different files that are missing.
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = self.found.get() {
            return Ok(found);
        }
        match &*missing {
            Some((at, why)) if at.elapsed() < self.retry_after => return Err(why.clone()),
            Some(_) | None => {}
        }
        match self.attempt() {
            Ok(found) => Ok(self.found.get_or_init(|| found)),
            Err(why) => {
                *missing = Some((Instant::now(), why.clone()));
                Err(why)
            }
        }
    }

    fn attempt(&self) -> Result<Found, String> {
        let cages = Cages::new(self.settings.cages.clone());
        let cages = cages.map_err(|error| error.to_string())?;
        cages.probe().map_err(|shortage| shortage.to_string())?;
        let version = self.git_version(&cages).unwrap_or_default();
        let allow = self.settings.allow.clone().with_git(&version);
        Ok(Found { cages, allow })
    }

    /// Programs that run without a question.
    pub(super) fn allow(&self) -> &ReadOnly {
        self.found()
            .map_or(&self.allow_without_git, |found| &found.allow)
    }

    /// What the git says about its version that commands get which only read.
    fn git_version(&self, cages: &Cages) -> Option<String> {
        let mut env = self.settings.env.clone();
        use_foreign_programs(cages, &mut env);
        let running = cages.start(Job {
            program: shell()?,
            args: vec!["-c".to_owned(), "git --version".to_owned()],
            env,
            path: None,
            cwd: self.settings.cages.workspace.clone(),
            home: None,
            network: false,
            writes: false,
            limits: self.settings.limits,
        });
        let running = running.ok()?;
        let stopper = running.stopper().ok()?;
        let (ended, has_ended) = mpsc::sync_channel::<()>(1);
        std::thread::spawn(move || {
            if has_ended.recv_timeout(GIT_PATIENCE) == Err(RecvTimeoutError::Timeout) {
                stopper.stop();
            }
        });
        let mut version = Vec::new();
        let watched = running.watch(|channel, bytes| {
            if matches!(channel, Channel::Stdout) && version.len() < MAX_VERSION_BYTES {
                version.extend_from_slice(bytes);
            }
        });
        drop(ended);
        watched.ok()?;
        String::from_utf8(version).ok()
    }
}

/// Lets a command that runs unasked find only programs that no command can have made.
pub(super) fn use_foreign_programs(cages: &Cages, env: &mut Vec<(String, String)>) {
    let known = env.iter().position(|(name, _)| name == PATH);
    let path = known.map(|at| env.swap_remove(at).1);
    let path = cages.foreign_path(&path.unwrap_or_default());
    env.push((PATH.to_owned(), path));
}

/// The shell that runs commands.
pub(super) fn shell() -> Option<PathBuf> {
    SHELLS
        .into_iter()
        .map(PathBuf::from)
        .find(|shell| shell.exists())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    // proves TL-6
    #[test]
    fn what_was_missing_once_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("cage");
        let mut shell = Shell::new(ExecSettings {
            cages: CageSettings {
                level: Level::Off,
                workspace: folder.path().to_owned(),
                path: Vec::new(),
                home: None,
                variables: Vec::new(),
                read: Vec::new(),
                hidden: Vec::new(),
                kept: Vec::new(),
                lock: None,
                note: None,
                program: Some(program.clone()),
            },
            allow: ReadOnly::built_in(),
            timeout: Duration::from_secs(1),
            limits: Limits::default(),
            env: Vec::new(),
            git: GitSettings::default(),
        });
        assert!(shell.check().is_err());
        shell.retry_after = Duration::ZERO;
        let text = "#!/bin/sh\nread -r plan\necho '{\"exited\":0}' >&0\n";
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(shell.check().map(Cages::level), Ok(Level::Off));
    }
}
