//! The binary that is measured, in folders and an environment of its own.

use std::fs::{self, File};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use crate::chat;
use crate::http::Connection;
use crate::local::{self, MODEL};
use crate::model::Model;
use crate::now;
use crate::running::{LOOK_EVERY, Running};

/// How long a command may take, or a server to answer for the first time.
const PATIENCE: Duration = Duration::from_mins(1);

/// The variables that tell where the model servers of this machine are. When the binary looks for
/// them, all are the bench's own, so that nothing else that runs here is asked: these never answer.
const SILENT: [&str; 4] = [
    "OLLAMA_BASE_URL",
    "LM_STUDIO_BASE_URL",
    "JAN_BASE_URL",
    "LLAMA_CPP_BASE_URL",
];

/// The one that has a model.
const ANSWERING: &str = "VLLM_BASE_URL";

/// What all rows of a run share.
pub(crate) struct Bench {
    binary: PathBuf,
    scratch: Scratch,
    silent: SocketAddr,
    answering: SocketAddr,
}

/// Where the binary finds models.
#[derive(Clone, Copy)]
enum Environment {
    /// Nowhere.
    Quiet,
    /// It looks for model servers of this machine.
    Looking,
    /// It is told which one answers, and that tools run unasked.
    Asking(SocketAddr),
    /// Nowhere, and no agent hears what is said in the chat.
    Unheard,
}

/// The binary for one row.
pub(crate) struct Program<'a> {
    bench: &'a Bench,
    root: PathBuf,
    environment: Environment,
}

/// A `serve` that runs.
pub(crate) struct Serving {
    pub(crate) running: Running,
    /// From its start to the first `200` of `/readyz`.
    pub(crate) ready_after: Duration,
    pub(crate) way_in: WayIn,
}

/// How a server's owner finds it.
#[derive(Debug, PartialEq)]
pub(crate) struct WayIn {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
}

/// A folder that goes with the run.
struct Scratch(PathBuf);

impl Bench {
    /// Finds the binary, which cargo puts beside this one. The folders are there too and not among
    /// the system's temporary ones, which may lie in memory.
    ///
    /// # Errors
    ///
    /// What is missing.
    pub(crate) fn prepare() -> Result<Bench, String> {
        let this = std::env::current_exe().map_err(|cause| cause.to_string())?;
        let target = this.ancestors().nth(2);
        let target = target.ok_or("this program lies in no target folder")?;
        let binary = target.join("release/samovar");
        if !binary.is_file() {
            return Err(format!("{} was not built", binary.display()));
        }
        let scratch = target.join(format!("bench-{}", std::process::id()));
        make(&scratch)?;
        let port = |cause| format!("no port for a model server: {cause}");
        Ok(Bench {
            binary,
            scratch: Scratch(scratch),
            silent: local::silent().map_err(port)?,
            answering: local::answering().map_err(port)?,
        })
    }

    /// The binary in fresh folders. It looks for no model server.
    ///
    /// # Errors
    ///
    /// They cannot be made.
    pub(crate) fn program(&self, row: &str) -> Result<Program<'_>, String> {
        let name: String = row.chars().filter(char::is_ascii_alphanumeric).collect();
        self.program_in(self.scratch.0.join(name), Environment::Quiet)
    }

    fn program_in(&self, root: PathBuf, environment: Environment) -> Result<Program<'_>, String> {
        make(&root.join("home"))?;
        make(&root.join("work"))?;
        Ok(Program {
            bench: self,
            root,
            environment,
        })
    }
}

impl<'a> Program<'a> {
    /// The same in fresh folders, whose turns all ask this model.
    ///
    /// # Errors
    ///
    /// They cannot be made.
    pub(crate) fn asking(&self, model: &Model) -> Result<Program<'a>, String> {
        let root = self.root.join(model.address.port().to_string());
        let environment = Environment::Asking(model.address);
        self.bench.program_in(root, environment)
    }

    /// The same in the same folders, that finds one model server of this machine among four that
    /// hang.
    pub(crate) fn looking(&self) -> Self {
        Program {
            bench: self.bench,
            root: self.root.clone(),
            environment: Environment::Looking,
        }
    }

    /// The same in the same folders, with no agent behind the chat.
    pub(crate) fn unheard(&self) -> Self {
        Program {
            bench: self.bench,
            root: self.root.clone(),
            environment: Environment::Unheard,
        }
    }

    /// Where the binary is.
    pub(crate) fn binary(&self) -> &Path {
        &self.bench.binary
    }

    /// Where the binary keeps what it keeps.
    pub(crate) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// Runs a command to its end, which has to be a good one, and says how long it took.
    ///
    /// # Errors
    ///
    /// What went wrong.
    pub(crate) fn run(&self, words: &[&str]) -> Result<Duration, String> {
        let began = now();
        let ended = self.start(words)?.wait(PATIENCE)?;
        let took = began.elapsed();
        match ended {
            Some(status) if status.success() => Ok(took),
            Some(status) => Err(self.complaint(words, status)),
            None => Err(format!("{} took over {PATIENCE:?}", words.join(" "))),
        }
    }

    /// Starts `serve` and waits until `/readyz` says `200`.
    ///
    /// # Errors
    ///
    /// It ended, or did not say so.
    pub(crate) fn serve(&self) -> Result<Serving, String> {
        let note = self.data().join("server.json");
        // One that was killed has left it.
        if let Err(cause) = fs::remove_file(&note)
            && cause.kind() != io::ErrorKind::NotFound
        {
            return Err(format!("{}: {cause}", note.display()));
        }
        let words = ["serve", "--port", "0"];
        let began = now();
        let mut running = self.start(&words)?;
        while began.elapsed() < PATIENCE {
            if let Some(way_in) = WayIn::read(&note)
                && way_in.is_ready()
            {
                return Ok(Serving {
                    running,
                    ready_after: began.elapsed(),
                    way_in,
                });
            }
            if let Some(status) = running.ended()? {
                return Err(self.complaint(&words, status));
            }
            thread::sleep(LOOK_EVERY);
        }
        Err(format!("/readyz did not say 200 within {PATIENCE:?}"))
    }

    fn start(&self, words: &[&str]) -> Result<Running, String> {
        let said = self.said();
        let said = File::create(&said).map_err(|cause| format!("{}: {cause}", said.display()))?;
        let mut command = Command::new(&self.bench.binary);
        command
            .args(words)
            .env_clear()
            .env("HOME", self.root.join("home"))
            .env("PATH", "/usr/bin:/bin")
            .env("DATA_DIR", self.data())
            .current_dir(self.root.join("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said);
        let url = |address| format!("http://{address}");
        match self.environment {
            Environment::Quiet => {
                command.env("SAMOVAR__MODELS__PROBE", "false");
            }
            Environment::Unheard => {
                command.env("SAMOVAR__MODELS__PROBE", "false");
                command.env("SAMOVAR__CHAT__AGENT", "nobody");
            }
            Environment::Looking => {
                command.env(ANSWERING, url(self.bench.answering));
                command.envs(SILENT.map(|name| (name, url(self.bench.silent))));
            }
            Environment::Asking(model) => {
                command.env(ANSWERING, url(model));
                command.env("AGENT_MODEL", format!("vllm/{MODEL}"));
                command.env("SAMOVAR__TOOLS__APPROVAL", "auto");
            }
        }
        Running::start(&mut command)
    }

    fn complaint(&self, words: &[&str], status: ExitStatus) -> String {
        let said = fs::read_to_string(self.said()).unwrap_or_default();
        let last = said
            .trim_end()
            .lines()
            .next_back()
            .unwrap_or("it said nothing");
        format!("{} ended with {status}: {last}", words.join(" "))
    }

    fn said(&self) -> PathBuf {
        self.root.join("stderr")
    }
}

impl WayIn {
    /// What a server has written for its owner; none before it has.
    fn read(note: &Path) -> Option<WayIn> {
        WayIn::of(&fs::read_to_string(note).ok()?)
    }

    fn of(note: &str) -> Option<WayIn> {
        Some(WayIn {
            address: chat::text(note, "address")?.parse().ok()?,
            token: chat::text(note, "token")?.to_owned(),
        })
    }

    fn is_ready(&self) -> bool {
        let answered = Connection::open(self.address).and_then(|mut server| server.get("/readyz"));
        answered.is_ok_and(|status| status == 200)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(cause) = fs::remove_dir_all(&self.0) {
            eprintln!("bench: {} is left: {cause}", self.0.display());
        }
    }
}

fn make(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|cause| format!("{}: {cause}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_found_by_the_note_that_it_leaves() {
        let note = r#"{"address":"127.0.0.1:4747","token":"abc","pid":7}"#;
        let wanted = WayIn {
            address: SocketAddr::from(([127, 0, 0, 1], 4747)),
            token: "abc".to_owned(),
        };

        assert_eq!(WayIn::of(note), Some(wanted));
        for broken in [
            "",
            r#"{"address":"127.0.0.1:4747"}"#,
            r#"{"address":"x","token":"abc"}"#,
        ] {
            assert_eq!(WayIn::of(broken), None, "{broken}");
        }
    }
}
