//! A process of the binary that is measured.

use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::Duration;

use crate::now;

/// How often something is looked at that will happen soon: as precise as a wall time is here.
pub(crate) const LOOK_EVERY: Duration = Duration::from_micros(200);

/// How long a server may take to end when it is asked to.
const LAST_MOMENT: Duration = Duration::from_secs(30);

/// It is killed when it is dropped.
pub(crate) struct Running(Child);

impl Running {
    /// Starts a command.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub(crate) fn start(command: &mut Command) -> Result<Running, String> {
        let program = command.get_program().display().to_string();
        let child = command.spawn();
        child
            .map(Running)
            .map_err(|cause| format!("{program} cannot be started: {cause}"))
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    ///
    /// What the system said.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>, String> {
        self.0.try_wait().map_err(|cause| cause.to_string())
    }

    /// Waits for its end; none when it is not over by then.
    ///
    /// # Errors
    ///
    /// What the system said.
    pub(crate) fn wait(&mut self, patience: Duration) -> Result<Option<ExitStatus>, String> {
        let began = now();
        loop {
            let ended = self.ended()?;
            if ended.is_some() || began.elapsed() > patience {
                return Ok(ended);
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Asks it to end, as who starts and stops services does.
    ///
    /// # Errors
    ///
    /// It did not, or not well.
    pub(crate) fn stop(mut self) -> Result<(), String> {
        // The standard library has no signal but the one that kills, every shell has `kill`.
        let mut kill = Command::new("/bin/sh");
        let asked = kill
            .args(["-c", "kill \"$0\"", &self.id().to_string()])
            .status();
        asked.map_err(|cause| format!("/bin/sh: {cause}"))?;
        match self.wait(LAST_MOMENT)? {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(format!("asked to stop, it ended with {status}")),
            None => Err(format!("asked to stop, it still ran after {LAST_MOMENT:?}")),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails for one that has ended, which is all that is wanted.
        if self.0.kill().is_ok() {
            self.0.wait().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn who_is_asked_to_stop_and_does_has_stopped() {
        let ready = std::env::temp_dir().join(format!("samovar-bench-{}", std::process::id()));
        let trap = "trap 'exit 0' TERM; : > \"$0\"; while :; do :; done";
        let mut shell = Command::new("/bin/sh");
        let running = Running::start(shell.args(["-c", trap]).arg(&ready)).unwrap();
        while !ready.exists() {
            thread::sleep(LOOK_EVERY);
        }
        fs::remove_file(&ready).unwrap();

        assert_eq!(running.stop(), Ok(()));
    }

    #[test]
    fn who_ends_with_an_error_is_told() {
        let mut sleep = Command::new("sleep");
        let why = Running::start(sleep.arg("60")).unwrap().stop().unwrap_err();

        assert!(why.contains("signal: 15"), "{why}");
    }

    #[test]
    fn what_cannot_be_started_is_named() {
        let why = Running::start(&mut Command::new("/no/such/program")).err();

        assert!(why.is_some_and(|why| why.starts_with("/no/such/program cannot be started: ")));
    }
}
