//! The measured binary, in folders and an environment of its own.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::{Instant, timeout};

use crate::after;
use crate::client::{Client, ServerAccess};
use crate::machine::is_busy;
use crate::model::{MODEL, Model};

/// Time limit for a command, or for the first answer of a server.
const PATIENCE: Duration = Duration::from_mins(1);

/// Time limit for a server to end after a signal.
const LAST_MOMENT: Duration = Duration::from_secs(30);

/// The section of a binary that names the lines of its source.
const LINES: &[u8] = b".debug_line";

/// How often a starting server is asked whether it is ready.
const LOOK_EVERY: Duration = Duration::from_micros(200);

/// The variables with the addresses of local model servers. All of them lead to the bench, so that
/// the binary asks no other server of this machine: these never answer.
const SILENT: [&str; 4] = [
    "OLLAMA_BASE_URL",
    "LM_STUDIO_BASE_URL",
    "JAN_BASE_URL",
    "LLAMA_CPP_BASE_URL",
];

/// The variable with the address of the one that has a model.
const ANSWERING: &str = "VLLM_BASE_URL";

type Environment = Vec<(&'static str, String)>;

/// What all rows of a run share.
pub(crate) struct Bench {
    binary: PathBuf,
    scratch: TempDir,
    silent: Model,
    answering: Model,
    is_quick: bool,
    /// Clears the folders, if this process cannot.
    _after: std::process::Child,
}

/// The binary for one row.
#[derive(Clone)]
pub(crate) struct Program<'a> {
    bench: &'a Bench,
    root: PathBuf,
    environment: Environment,
    limit: Option<Limit>,
}

/// How many file descriptors a process may have.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) soft: u32,
    /// `None`: that of the bench.
    pub(crate) hard: Option<u32>,
}

impl Limit {
    /// A script that starts the program of its arguments with this limit.
    fn script(self) -> String {
        let soft = self.soft;
        let hard = self.hard.map(|hard| format!("ulimit -H -n {hard}; "));
        format!(
            r#"ulimit -S -n {soft}; {}exec "$0" "$@""#,
            hard.unwrap_or_default()
        )
    }
}

/// A running server; dropped, it is killed.
pub(crate) struct Serving {
    process: Child,
    /// From its start to the first `200` of `/readyz`.
    pub(crate) ready_after: Duration,
    pub(crate) way_in: ServerAccess,
}

impl Bench {
    /// Finds the binary in the target folder. The rows' folders lie there too and not among the
    /// system's temporary ones, which may be in memory.
    pub(crate) async fn prepare(is_quick: bool) -> Result<Bench> {
        needs_proc(Path::new("/proc"))?;
        let this = std::env::current_exe()?;
        let target = this.ancestors().nth(2);
        let target = target.context("this program is not in a target folder")?;
        let binary = target.join("release/samovar");
        ensure!(binary.is_file(), "{} was not built", binary.display());
        let answering = Model::start(async |talk| {
            talk.say("hi", 1).await?;
            talk.end().await
        });
        let scratch = tempfile::Builder::new()
            .prefix("bench-")
            .tempdir_in(target)?;
        Ok(Bench {
            binary,
            _after: after::start(scratch.path())?,
            is_quick,
            scratch,
            silent: Model::silent().await?,
            answering: answering.await?,
        })
    }

    /// The binary in fresh folders. It looks for no model server.
    pub(crate) fn program(&self, row: &str) -> Result<Program<'_>> {
        let name: String = row.chars().filter(char::is_ascii_alphanumeric).collect();
        self.program_in(self.scratch.path().join(name), quiet())
    }

    /// Why the figures of this run may be wrong.
    pub(crate) async fn doubts(&self) -> Result<Vec<&'static str>> {
        let doubts = [
            (cfg!(debug_assertions), UNOPTIMIZED),
            (has_debug_info(&self.binary)?, WITH_DEBUG_INFO),
            (is_busy().await, BUSY),
        ];
        let doubts = doubts.into_iter().filter(|(applies, _)| *applies);
        Ok(doubts.map(|(_, doubt)| doubt).collect())
    }

    fn program_in(&self, root: PathBuf, environment: Environment) -> Result<Program<'_>> {
        fs::create_dir_all(root.join("home"))?;
        fs::create_dir_all(root.join("work"))?;
        Ok(Program {
            bench: self,
            root,
            environment,
            limit: None,
        })
    }
}

/// The doubts about a run.
const UNOPTIMIZED: &str =
    "The bench was built without optimization, and the floors with it: no ratio to them counts.";
const WITH_DEBUG_INFO: &str =
    "The binary has debug information, so it is not the release build that users get.";
const BUSY: &str = "The machine was busy before the first row: only ratios of one run count.";

/// What CPU time and memory are read from.
fn needs_proc(folder: &Path) -> Result<()> {
    let has_it = folder.join("self/stat").exists();
    ensure!(
        has_it,
        "{} is not there: nothing can be measured",
        folder.display()
    );
    Ok(())
}

/// Whether a binary has a section for the lines of its source; a release build is stripped of it.
fn has_debug_info(binary: &Path) -> Result<bool> {
    let file = File::open(binary)?;
    let read = |at: u64, length: u64| {
        let mut bytes = vec![0; usize::try_from(length)?];
        file.read_exact_at(&mut bytes, at)?;
        anyhow::Ok(bytes)
    };
    let number = |at: u64, length: u64| {
        let bytes = read(at, length)?.into_iter().rev();
        anyhow::Ok(bytes.fold(0, |number, byte| number << 8 | u64::from(byte)))
    };
    if read(0, 4).is_ok_and(|magic| magic != b"\x7fELF") {
        return Ok(false);
    }
    // Where the table of sections is, the size of a row, and which row is that of their names.
    let (table, row, names) = (number(40, 8)?, number(58, 2)?, number(62, 2)?);
    let names = table + row * names;
    let names = read(number(names + 24, 8)?, number(names + 32, 8)?)?;
    let mut parts = names.windows(LINES.len());
    Ok(parts.any(|part| part == LINES))
}

fn quiet() -> Environment {
    vec![("SAMOVAR__MODELS__PROBE", "false".to_owned())]
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}")
}

impl<'a> Program<'a> {
    /// The binary in fresh folders, with this model for every turn and no question before a tool.
    pub(crate) fn asking(&self, model: &Model) -> Result<Program<'a>> {
        let root = self.root.join(model.address.port().to_string());
        let environment = vec![
            (ANSWERING, url(model.address)),
            ("AGENT_MODEL", format!("vllm/{MODEL}")),
            ("SAMOVAR__TOOLS__APPROVAL", "auto".to_owned()),
        ];
        self.bench.program_in(root, environment)
    }

    /// The binary in the same folders, which finds one model server among four that hang.
    pub(crate) fn looking(&self) -> Program<'a> {
        let silent = url(self.bench.silent.address);
        let mut environment = vec![(ANSWERING, url(self.bench.answering.address))];
        environment.extend(SILENT.map(|name| (name, silent.clone())));
        Program {
            environment,
            ..self.clone()
        }
    }

    /// The binary in the same folders, with no agent for the chat.
    pub(crate) fn without_agent(&self) -> Program<'a> {
        let mut environment = quiet();
        environment.push(("SAMOVAR__CHAT__AGENT", "nobody".to_owned()));
        Program {
            environment,
            ..self.clone()
        }
    }

    /// The binary in the same folders, with keys in its environment.
    pub(crate) fn with_keys(&self) -> Program<'a> {
        let mut environment = self.environment.clone();
        let names = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GROQ_API_KEY"];
        environment.extend(names.map(|name| (name, format!("a-key-of-{name}"))));
        Program {
            environment,
            ..self.clone()
        }
    }

    /// The same with a budget for memory, in MiB.
    pub(crate) fn with_memory(mut self, mib: u32) -> Program<'a> {
        let budget = ("SAMOVAR__SERVER__MEMORY", mib.to_string());
        self.environment.push(budget);
        self
    }

    /// The same with a limit of file descriptors.
    pub(crate) fn limited(self, limit: Limit) -> Program<'a> {
        Program {
            limit: Some(limit),
            ..self
        }
    }

    /// How many values a row gets, in a quick run fewer.
    pub(crate) fn values(&self, whole: u32) -> u32 {
        if self.bench.is_quick { 1 } else { whole }
    }

    /// The folder that its tools work in.
    pub(crate) fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    pub(crate) fn binary(&self) -> &Path {
        &self.bench.binary
    }

    /// The data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// Runs a command, which has to succeed, and measures how long it takes.
    pub(crate) async fn run(&self, words: &[&str]) -> Result<Duration> {
        let began = Instant::now();
        let ended = timeout(PATIENCE, self.start(words)?.wait()).await;
        let took = began.elapsed();
        let status =
            ended.with_context(|| format!("{} took over {PATIENCE:?}", words.join(" ")))??;
        ensure!(status.success(), self.complaint(words, status));
        Ok(took)
    }

    /// Starts `serve` and waits for the first `200` of `/readyz`.
    pub(crate) async fn serve(&self) -> Result<Serving> {
        let note = self.data().join("server.json");
        // A killed server leaves it.
        if note.exists() {
            fs::remove_file(&note)?;
        }
        let words = ["serve", "--port", "0"];
        let began = Instant::now();
        let mut process = self.start(&words)?;
        while began.elapsed() < PATIENCE {
            if let Some(way_in) = ready(&note).await {
                return Ok(Serving {
                    process,
                    ready_after: began.elapsed(),
                    way_in,
                });
            }
            if let Some(status) = process.try_wait()? {
                bail!(self.complaint(&words, status));
            }
            // A timer of tokio would be no finer than a millisecond.
            thread::sleep(LOOK_EVERY);
        }
        bail!("/readyz did not answer 200 within {PATIENCE:?}")
    }

    fn start(&self, words: &[&str]) -> Result<Child> {
        let binary = &self.bench.binary;
        let mut command = match self.limit {
            Some(limit) => {
                let mut shell = Command::new("/bin/sh");
                shell.arg("-c").arg(limit.script()).arg(binary);
                shell
            }
            None => Command::new(binary),
        };
        command
            .args(words)
            .env_clear()
            .env("HOME", self.root.join("home"))
            .env("PATH", "/usr/bin:/bin")
            .env("SAMOVAR__TOOLS__TRUST_WORKSPACE", "true")
            .env("DATA_DIR", self.data())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.root.join("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(self.stderr())?)
            .kill_on_drop(true);
        let started = command.spawn();
        started.with_context(|| format!("cannot start {}", self.bench.binary.display()))
    }

    fn complaint(&self, words: &[&str], status: ExitStatus) -> String {
        let stderr = fs::read_to_string(self.stderr()).unwrap_or_default();
        let last = stderr.trim_end().lines().next_back();
        let last = last.unwrap_or("without a word");
        format!("{} ended with {status}: {last}", words.join(" "))
    }

    fn stderr(&self) -> PathBuf {
        self.root.join("stderr")
    }
}

/// The server that has written its address, if it is ready.
async fn ready(note: &Path) -> Option<ServerAccess> {
    let way_in: ServerAccess = serde_json::from_slice(&fs::read(note).ok()?).ok()?;
    let mut client = Client::connect(&way_in).await.ok()?;
    client.is_ready().await.then_some(way_in)
}

impl Serving {
    pub(crate) fn process(&self) -> Result<u32> {
        self.process.id().context("the server has ended")
    }

    pub(crate) async fn kill(mut self) -> Result<()> {
        Ok(self.process.kill().await?)
    }

    /// Ends the server as a service manager does.
    pub(crate) async fn stop(mut self) -> Result<()> {
        let process = i32::try_from(self.process()?).ok().and_then(Pid::from_raw);
        kill_process(process.context("no process")?, Signal::TERM)?;
        let ended = timeout(LAST_MOMENT, self.process.wait()).await;
        let status =
            ended.with_context(|| format!("the server ran {LAST_MOMENT:?} after SIGTERM"))??;
        ensure!(
            status.success(),
            "after SIGTERM the server ended with {status}"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_proc_and_a_binary_for_debugging_are_told() {
        let folder = TempDir::new().unwrap();
        let script = folder.path().join("script");
        fs::write(&script, "#!/bin/sh\n").unwrap();

        let without = needs_proc(folder.path()).unwrap_err().to_string();

        assert!(without.ends_with(" is not there: nothing can be measured"));
        assert!(needs_proc(Path::new("/proc")).is_ok());
        assert!(!has_debug_info(&script).unwrap());
        let this = std::env::current_exe().unwrap();
        assert_eq!(has_debug_info(&this).unwrap(), cfg!(debug_assertions));
    }
}
