//! A real server as a process of its own, from its start to its end.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::process::{Child, Command};
use tokio::time::Instant;

use crate::client::{Address, Client};
use crate::scene;

/// How often a server that starts is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(3);

/// How long a server may take until it serves.
const PATIENCE: Duration = Duration::from_mins(1);

/// The folders of one arena.
#[derive(Clone, Debug)]
pub(crate) struct Folders {
    pub(crate) root: PathBuf,
}

impl Folders {
    pub(crate) fn make(root: &Path) -> io::Result<Self> {
        let folders = Self {
            root: root.to_owned(),
        };
        fs::create_dir_all(folders.home().join(".config/samovar"))?;
        fs::create_dir_all(folders.workspace())?;
        let agents = folders.data().join("agents");
        fs::create_dir_all(&agents)?;
        for (file, definition) in scene::definitions() {
            fs::write(agents.join(file), definition)?;
        }
        Ok(folders)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.root.join("work")
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.home().join(".config/samovar/samovar.toml")
    }

    /// Whether this machine lets the program run commands in its sandbox.
    pub(crate) async fn can_run_commands(&self, binary: &Path) -> bool {
        let mut command = self.command(binary);
        let told = command.args(["doctor", "--json"]).output().await;
        let told = told.map(|told| told.stdout).unwrap_or_default();
        let told: Value = serde_json::from_slice(&told).unwrap_or_default();
        let mut findings = told["findings"].as_array().into_iter().flatten();
        findings.any(|row| row["what"] == "sandbox" && row["ok"] == true)
    }

    /// The program with an environment of its own.
    fn command(&self, binary: &Path) -> Command {
        let mut command = Command::new(binary);
        command
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", "/usr/bin:/bin")
            .env("SAMOVAR__TOOLS__TRUST_WORKSPACE", "true")
            .env("DATA_DIR", self.data())
            .current_dir(self.workspace())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    fn log(&self) -> PathBuf {
        self.root.join("log")
    }

    fn note(&self) -> PathBuf {
        self.data().join("server.json")
    }

    /// The last thing that a server said.
    pub(crate) fn last_words(&self) -> String {
        let said = self.said();
        let last = said.trim_end().lines().next_back();
        last.unwrap_or_default().to_owned()
    }

    /// Where parts of servers broke, in their own words.
    pub(crate) fn panics(&self) -> Vec<String> {
        let said = self.said();
        let panics = said.lines().filter(|line| line.contains("panicked at"));
        panics.map(str::to_owned).collect()
    }

    fn said(&self) -> String {
        let said = fs::read(self.log()).unwrap_or_default();
        String::from_utf8_lossy(&said).into_owned()
    }
}

/// What a server is started with.
#[derive(Clone, Debug)]
pub(crate) struct Orders<'o> {
    pub(crate) binary: &'o Path,
    /// The named point at which it ends, and at which visit.
    pub(crate) point: Option<String>,
    /// The fault that is planted in it.
    pub(crate) plant: Option<&'o str>,
    /// Whether it may remove turns as soon as they are finished.
    pub(crate) keeping: Retention,
}

/// How long a server keeps turns that are finished, event by event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retention {
    /// As long as is usual.
    Long,
    /// Not at all.
    Never,
}

/// A server that was started.
pub(crate) struct Server {
    child: Child,
    began: Instant,
    life: u64,
}

/// What became of a start.
pub(crate) enum StartResult {
    /// It serves, so long after its start.
    Serving(Address, Duration),
    /// It ended before.
    Ended,
    /// It does neither.
    Hanging,
}

impl Server {
    /// Starts `serve`.
    pub(crate) fn start(folders: &Folders, orders: &Orders<'_>, life: u64) -> io::Result<Self> {
        // The one that a killed server has left would name the wrong address.
        match fs::remove_file(folders.note()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let log = File::options()
            .create(true)
            .append(true)
            .open(folders.log())?;
        let mut command = folders.command(orders.binary);
        command
            .args(["serve", "--port", "0", "--with-parent"])
            .stdout(Stdio::null())
            .stderr(log);
        if let Some(point) = &orders.point {
            command.env("SAMOVAR_FAILPOINT", point);
        }
        if let Some(plant) = orders.plant {
            command.env("SAMOVAR_PLANT", plant);
        }
        if orders.keeping == Retention::Never {
            command.env("SAMOVAR__STREAM__RETENTION", "0");
        }
        Ok(Self {
            child: command.spawn()?,
            began: Instant::now(),
            life,
        })
    }

    /// Waits until it serves, or has ended.
    pub(crate) async fn is_up(&mut self, folders: &Folders, client: &Client) -> StartResult {
        while self.began.elapsed() < PATIENCE {
            if let Ok(Some(_)) = self.child.try_wait() {
                return StartResult::Ended;
            }
            if let Some(address) = self.address(&folders.note())
                && client.is_ready(&address).await
            {
                return StartResult::Serving(address, self.began.elapsed());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        StartResult::Hanging
    }

    /// Kills it as `kill -9` does, and waits until it is gone. Gives how it ended, when it had by
    /// itself.
    pub(crate) async fn kill(&mut self) -> Option<ExitStatus> {
        if let Ok(Some(status)) = self.child.try_wait() {
            return Some(status);
        }
        // Fails only when it has just ended.
        self.child.kill().await.err()?;
        None
    }

    /// Asks it to stop, as a service manager does.
    pub(crate) fn ask_to_stop(&self) -> io::Result<()> {
        let pid = self.child.id().and_then(|pid| i32::try_from(pid).ok());
        match pid.and_then(Pid::from_raw) {
            Some(pid) => Ok(kill_process(pid, Signal::TERM)?),
            // It has ended already.
            None => Ok(()),
        }
    }

    /// Waits until it ends by itself. Safe to drop halfway.
    pub(crate) async fn end(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// What it has written for its owner; none before it has.
    fn address(&self, note: &Path) -> Option<Address> {
        let note: Value = serde_json::from_slice(&fs::read(note).ok()?).ok()?;
        Some(Address {
            socket: note["address"].as_str()?.parse().ok()?,
            token: note["token"].as_str()?.into(),
            life: self.life,
        })
    }
}
