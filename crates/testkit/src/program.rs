//! The built binary, as a process of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

/// How long a program may take before the test gives up on it.
const PATIENCE: Duration = Duration::from_mins(1);

/// A command line with its own folders and nothing of the test's environment.
pub struct Program {
    binary: PathBuf,
    root: TempDir,
    variables: Vec<(String, String)>,
}

/// What a program left behind.
#[derive(Debug)]
pub struct Finished {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// What it wrote on stdout.
    pub stdout: String,
    /// What it wrote on stderr.
    pub stderr: String,
}

/// A `serve` that runs. It is killed when it is dropped.
pub struct Serving {
    child: Child,
    /// Where it listens, as it said.
    pub address: String,
    /// What it said before and with that.
    pub banner: String,
    _rest: JoinSet<()>,
}

impl Program {
    /// The binary at a path (`env!("CARGO_BIN_EXE_samovar")`), in fresh folders.
    ///
    /// # Panics
    /// When the system gives no temporary folder.
    pub fn new(binary: &str) -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        for folder in ["work", "home"] {
            std::fs::create_dir(root.path().join(folder)).expect("a folder");
        }
        Self {
            binary: binary.into(),
            root,
            variables: Vec::new(),
        }
    }

    /// Sets a variable for every later run.
    #[must_use]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The folder that it is started in.
    pub fn folder(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Its `HOME`.
    pub fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// Writes a file into the folder that it is started in.
    ///
    /// # Panics
    /// When that fails.
    pub fn file(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        let path = self.folder().join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        std::fs::write(path, content).expect("a file");
        self
    }

    /// A command with these arguments, not started yet.
    pub fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(args)
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", "/usr/bin:/bin")
            .current_dir(self.folder())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        command
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// When it does not end within a minute.
    pub async fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Finished {
        self.run_with_stdin(args, None).await
    }

    /// Runs it to its end with something on stdin.
    ///
    /// # Panics
    /// When it does not start, or not end within a minute.
    pub async fn run_with_stdin<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
        input: Option<Vec<u8>>,
    ) -> Finished {
        let mut command = self.command(args);
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().expect("the program starts");
        if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
            // A program that has read enough closes its end.
            let _had_enough = stdin.write_all(&input).await.is_err();
        }
        let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
        let output = output
            .expect("the program ends in time")
            .expect("the program ran");
        Finished {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Starts `serve` with these further arguments, and waits until it says where it listens.
    ///
    /// # Panics
    /// When it ends instead.
    pub async fn serve(&self, args: &[&str]) -> Serving {
        let args = ["serve", "--port", "0"].iter().chain(args);
        let mut child = self.command(args).spawn().expect("the program starts");
        let stderr = child.stderr.take().expect("stderr is piped");
        let mut lines = BufReader::new(stderr).lines();
        let (mut banner, mut address) = (String::new(), None);
        while let Ok(Some(line)) = lines.next_line().await {
            if let Some((_, url)) = line.split_once("http://") {
                address = Some(url.to_owned());
            }
            banner.push_str(&line);
            banner.push('\n');
            if line.starts_with("approval:") {
                break;
            }
        }
        let address = address.unwrap_or_else(|| panic!("the server did not start: {banner}"));
        // What it says later is read on, or a full pipe would stop it.
        let mut rest = JoinSet::new();
        rest.spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Serving {
            child,
            address,
            banner,
            _rest: rest,
        }
    }
}

impl Serving {
    /// Kills it, as `kill -9` does, and waits until it is gone.
    ///
    /// # Panics
    /// When it cannot be killed.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("the server can be killed");
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// Waits for its end; the exit code.
    pub async fn wait(&mut self) -> Option<i32> {
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        ended.ok()?.ok()?.code()
    }
}
