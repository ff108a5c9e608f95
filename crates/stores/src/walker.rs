//! A process that reads a whole journal, and may die of it, so that the server does not.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use samovar_core::Broken;
use tokio::process::Command;

/// How long it may read. A journal that takes longer counts as good.
const PATIENCE: Duration = Duration::from_mins(1);

/// The exit code for a journal that cannot be used.
const DAMAGED: i32 = 66;

/// The signals by which a process dies of what it reads; any other was sent by somebody.
const DEADLY: [(i32, &str); 5] = [
    (4, "SIGILL"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (11, "SIGSEGV"),
];

/// The program that checks a journal: it calls [`crate::walk`] with the data directory, its last
/// argument, and exits with the agreed exit code.
#[derive(Clone, Debug)]
pub struct Walker {
    /// The program.
    pub program: PathBuf,
    /// The arguments before the data directory.
    pub args: Vec<OsString>,
}

impl Walker {
    /// Lets a process of its own read the journal.
    ///
    /// # Errors
    /// [`Broken::Damaged`] when it dies of that, or says that the journal cannot be used. What keeps
    /// it from its work is no reason not to start.
    pub(crate) async fn walk(&self, data_dir: &Path) -> Result<(), Broken> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .arg(data_dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let output = match tokio::time::timeout(PATIENCE, command.output()).await {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => {
                tracing::warn!(%error, "the journal could not be read beforehand");
                return Ok(());
            }
            Err(_) => {
                tracing::warn!("the journal could not be read beforehand in time");
                return Ok(());
            }
        };
        let said = String::from_utf8_lossy(&output.stdout);
        judge(output.status, said.trim())
    }
}

fn judge(status: ExitStatus, said: &str) -> Result<(), Broken> {
    let deadly = DEADLY
        .iter()
        .find(|(signal, _)| status.signal() == Some(*signal));
    match (deadly, status.code()) {
        (Some((_, name)), _) => {
            let why = format!("the journal: who reads all of it ends by {name}");
            Err(Broken::Damaged(why))
        }
        (None, Some(DAMAGED)) => Err(Broken::Damaged(said.to_owned())),
        (None, Some(0)) => Ok(()),
        (None, code) => {
            tracing::warn!(?code, said, "the journal could not be read beforehand");
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell in the place of the walker.
    async fn walked(script: &str) -> Result<(), Broken> {
        let walker = Walker {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
        };
        walker.walk(Path::new("/nowhere")).await
    }

    // proves DU-13
    #[tokio::test]
    async fn a_journal_is_damaged_when_its_reader_dies_of_it_and_not_when_somebody_ends_the_reader()
    {
        for signal in ["BUS", "SEGV", "ABRT", "ILL", "FPE"] {
            let Err(Broken::Damaged(why)) = walked(&format!("kill -{signal} $$")).await else {
                panic!("it is not damaged");
            };
            assert!(why.ends_with(&format!("SIG{signal}")), "{why}");
        }
        let said = walked("echo page 7; exit 66").await;
        assert_eq!(said, Err(Broken::Damaged("page 7".to_owned())));
        for ended in [
            "kill -KILL $$",
            "kill -TERM $$",
            "exit 0",
            "exit 1",
            "exit 2",
        ] {
            assert_eq!(walked(ended).await, Ok(()), "{ended}");
        }
        let missing = Walker {
            program: "/nowhere/walker".into(),
            args: Vec::new(),
        };
        assert_eq!(missing.walk(Path::new("/nowhere")).await, Ok(()));
    }
}
