//! `exec`: a shell command in the sandbox (TL-6), judged by its grammar (TL-7).

mod kept;
mod reporting;
mod screen;
mod shell;

use std::sync::Arc;
use std::time::Duration;

use samovar_core::approval::Previewed;
use samovar_core::tool::{Origin, Sharing};
use samovar_core::{
    Asks, CallContext, CallFacts, Closer, Effect, Future, Outcome, OutsideText, Preview, Sends,
    Status, ToolCall, ToolReply, ToolSpec, Toolset,
};
use samovar_sandbox::cage::{CALL_ID, Channel, Ended, Finish, Job, Level, Limits, Step, Stopper};
use samovar_shell::{GIT_ENVIRONMENT, ReadOnly, Script, Verdict, parse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::task;

use crate::outputs::{MAX_OUTPUT_BYTES, Output};
use crate::schema;
use crate::text::grouped;
use crate::workspace::Workspace;

use kept::{Kept, Whole};
use reporting::{Latest, report};
use shell::shell;

pub use shell::{ExecSettings, Shell};

/// The name that a model calls.
pub const EXEC: &str = "exec";
/// The longest time that a model can give a command, in seconds.
const MAX_TIMEOUT: u64 = 3_600;
/// How much longer the engine waits than the tool, which can then say what the command wrote.
const MARGIN: Duration = Duration::from_secs(30);
/// Bytes of a command, at most: about what a kernel takes as one argument.
const MAX_COMMAND_BYTES: usize = 120 * 1024;

/// Runs a shell command in the workspace, in a sandbox: it sees programs and the workspace, and has no
/// network. Nothing that it starts outlives it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Exec {
    /// For bash, as a person would type it.
    command: String,
    /// The folder to run it in, relative to the workspace; leave it out for the workspace itself.
    cwd: Option<String>,
    /// How many seconds it may take; leave it out for the usual time.
    #[schemars(range(min = 1, max = MAX_TIMEOUT))]
    timeout_s: Option<u64>,
    /// Whether it needs the network; a person is asked about that.
    network: Option<bool>,
}

/// The tool.
pub(crate) struct ExecTool {
    spec: Arc<ToolSpec>,
    workspace: Arc<Workspace>,
    shell: Arc<Shell>,
}

impl ExecTool {
    pub(crate) fn new(workspace: Arc<Workspace>, shell: Arc<Shell>) -> Self {
        let (description, parameters) = schema::of::<Exec>();
        let usual = shell.settings.timeout;
        let spec = ToolSpec {
            name: EXEC.to_owned(),
            description,
            parameters,
            effect: Effect::Unsafe,
            asks: Some(Asks::because("runs a command")),
            origin: Origin::BuiltIn,
            timeout: usual.max(Duration::from_secs(MAX_TIMEOUT)) + MARGIN,
            sharing: Sharing::Exclusive,
            closer: Closer::Tool,
        };
        Self {
            spec: Arc::new(spec),
            workspace,
            shell,
        }
    }

    /// Whether a command only reads, by its grammar.
    fn reads(&self, command: &str) -> bool {
        self.shell.allow().judge(command) == Verdict::Reads
    }

    fn job(&self, exec: &Exec, context: &CallContext) -> Result<Job, String> {
        if exec.command.len() > MAX_COMMAND_BYTES {
            let most = grouped(MAX_COMMAND_BYTES);
            let why = format!(
                "the command has {} bytes, and may have {most}; write it to a file with write_file \
                 and run that",
                grouped(exec.command.len())
            );
            return Err(why);
        }
        if exec.command.contains('\0') {
            return Err("the command has a NUL character, which no shell takes".to_owned());
        }
        let root = self.workspace.jail().root_path().to_owned();
        let cwd = match &exec.cwd {
            None => root.clone(),
            Some(cwd) => {
                let place = self
                    .workspace
                    .place(cwd)
                    .map_err(|error| error.to_string())?;
                root.join(place.as_path())
            }
        };
        let program = shell().ok_or("this machine has neither /bin/bash nor /bin/sh")?;
        let reads = self.reads(&exec.command);
        let mut env = self.shell.settings.env.clone();
        let mut path = None;
        for (name, value) in context.environment.iter().flat_map(|it| it.variables()) {
            if name == "PATH" {
                // A command that only reads runs unasked, with the server's own programs.
                if reads {
                    continue;
                }
                path = Some(std::env::split_paths(value).collect());
            }
            env.retain(|(known, _)| known != name);
            env.push((name.to_owned(), value.to_owned()));
        }
        let git = GIT_ENVIRONMENT.iter();
        env.extend(git.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        env.push(("HOME".to_owned(), root.to_string_lossy().into_owned()));
        env.push((CALL_ID.to_owned(), context.key.to_string()));
        let seconds = self.timeout(exec).as_secs().max(1);
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
        Ok(Job {
            program,
            args: vec!["-c".to_owned(), exec.command.clone()],
            env,
            path,
            cwd,
            network: exec.network.unwrap_or(false),
            writes: !reads,
            limits: Limits {
                cpu_seconds: seconds.saturating_mul(processors),
                ..self.shell.settings.limits
            },
        })
    }

    /// A command that runs unasked, because it only reads, gets no more than the usual time.
    fn timeout(&self, exec: &Exec) -> Duration {
        let usual = self.shell.settings.timeout;
        let asked = exec.timeout_s.map_or(usual, |seconds| {
            Duration::from_secs(seconds.clamp(1, MAX_TIMEOUT))
        });
        if self.reads(&exec.command) {
            asked.min(usual)
        } else {
            asked
        }
    }
}

impl Toolset for ExecTool {
    fn specs(&self) -> Vec<Arc<ToolSpec>> {
        vec![self.spec.clone()]
    }

    fn call(&self, call: ToolCall, context: CallContext) -> Future<'static, ToolReply> {
        let exec = match Exec::deserialize(&call.args) {
            Ok(exec) => exec,
            Err(error) => {
                let outcome = Outcome::failed(format!("the arguments do not fit: {error}"));
                return Box::pin(std::future::ready(ToolReply::Closed(outcome)));
            }
        };
        let job = self.job(&exec, &context);
        let (shell, workspace) = (self.shell.clone(), self.workspace.clone());
        let timeout = self.timeout(&exec);
        Box::pin(async move {
            let outcome = match job {
                Ok(job) => run(shell, workspace, job, context, timeout).await,
                Err(why) => Outcome::failed(why),
            };
            ToolReply::Closed(outcome)
        })
    }

    fn facts(&self, call: &ToolCall) -> Option<CallFacts> {
        let exec = Exec::deserialize(&call.args).ok()?;
        let allow = self.shell.allow();
        let script = parse(&exec.command).ok();
        let reads = script
            .as_ref()
            .is_some_and(|it| allow.verdict(it) == Verdict::Reads);
        let network = exec.network.unwrap_or(false);
        let is_open = self.shell.level() == Level::Off;
        let folder = exec.cwd.as_deref();
        let grants = script
            .as_ref()
            .and_then(|script| allow.grant_keys(script, folder));
        let insists = if network {
            Some("would use the network")
        } else if is_open && !(reads && script.as_ref().is_some_and(is_known_to_read)) {
            Some("would run a command without a sandbox")
        } else {
            None
        };
        Some(CallFacts {
            asks: (!reads).then_some(Asks::because("runs a command that may change something")),
            insists,
            programs: script
                .as_ref()
                .and_then(|script| allow.program_names(script)),
            // Each use of the network is decided by itself.
            grants: grants.filter(|_| insists.is_none()),
            outside: insists.map(|_| OutsideText::Plain),
            sends: insists.map(|_| Sends::Anywhere),
        })
    }

    fn unavailable(&self) -> Option<String> {
        self.shell.check().err().map(|why| off(&why))
    }

    fn preview(&self, call: &ToolCall) -> Future<'static, Previewed> {
        let text = Exec::deserialize(&call.args).ok().map(|exec| {
            let place = exec
                .cwd
                .filter(|cwd| cwd != ".")
                .map_or_else(String::new, |cwd| format!("in {cwd}: "));
            let network = match exec.network {
                Some(true) => "with the network: ",
                Some(false) | None => "",
            };
            format!("{network}{place}$ {}", exec.command)
        });
        let preview = Preview {
            foreseen: None,
            text: text.map(|text| crate::tool::cut(&text)),
        };
        Box::pin(std::future::ready(Ok(preview)))
    }
}

/// Whether a script reads by our list, whatever the operator's says: one of theirs can use the network.
fn is_known_to_read(script: &Script) -> bool {
    ReadOnly::built_in().verdict(script) == Verdict::Reads
}

/// Ends the command when its call is dropped.
struct StopOnDrop(Stopper);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

async fn run(
    shell: Arc<Shell>,
    workspace: Arc<Workspace>,
    job: Job,
    context: CallContext,
    timeout: Duration,
) -> Outcome {
    let Ok(_place) = shell.places.acquire().await else {
        return Outcome::new(Status::Cancelled, "the server is stopping");
    };
    let starting = shell.clone();
    let started = task::spawn_blocking(move || {
        let cages = starting.check().map_err(|why| off(&why))?;
        cages
            .start(job)
            .map_err(|error| format!("the command could not be started: {error}"))
    });
    let running = match started.await {
        Ok(Ok(running)) => running,
        Ok(Err(why)) => return Outcome::failed(why),
        Err(error) => return unwatched(&error),
    };
    let stopper = match running.stopper() {
        Ok(stopper) => StopOnDrop(stopper),
        Err(error) => return Outcome::failed(format!("the command could not be started: {error}")),
    };
    let mut written = Written::new();
    let latest = Arc::new(Latest::default());
    let (session, key) = (context.session.clone(), context.key.clone());
    let reported = latest.clone();
    let mut watched = task::spawn_blocking(move || {
        let make = || {
            workspace
                .outputs()
                .and_then(|it| created(it.create(&session, &key)))
        };
        let ended = running.watch(|channel, bytes| {
            reported.add(bytes);
            written.add(channel, bytes, make);
        });
        (ended, written)
    });
    let (ended, is_late) = tokio::select! {
        ended = &mut watched => (ended, false),
        never = report(&latest, &context.progress) => match never {},
        () = tokio::time::sleep(timeout) => {
            stopper.0.stop();
            (watched.await, true)
        }
    };
    match ended {
        Ok((Ok(finish), written)) => written.outcome(&finish, is_late.then_some(timeout)),
        Ok((Err(error), _)) => unknown(&format!("the command was lost: {error}")),
        Err(error) => unwatched(&error),
    }
}

fn unknown(why: &str) -> Outcome {
    Outcome::new(Status::Unknown, format!("outcome unknown: {why}"))
}

/// The thread of a command did not come to its end.
fn unwatched(error: &task::JoinError) -> Outcome {
    if error.is_panic() {
        return unknown("the server made a mistake while it watched the command");
    }
    Outcome::new(Status::Cancelled, "the server is stopping")
}

fn created(output: std::io::Result<Output>) -> Option<Output> {
    match output {
        Ok(output) => Some(output),
        Err(error) => {
            tracing::warn!(%error, "the output of a command is not kept whole");
            None
        }
    }
}

/// Why `exec` does nothing, for the model.
fn off(why: &str) -> String {
    format!("exec is off on this server, because the sandbox lacks {why}")
}

/// What a command wrote.
struct Written {
    stdout: Kept,
    stderr: Kept,
    whole: Whole,
}

impl Written {
    fn new() -> Self {
        Self {
            stdout: Kept::default(),
            stderr: Kept::default(),
            whole: Whole::new(MAX_OUTPUT_BYTES),
        }
    }

    fn add(&mut self, channel: Channel, bytes: &[u8], make: impl FnOnce() -> Option<Output>) {
        match channel {
            Channel::Stdout => self.stdout.add(bytes),
            Channel::Stderr => self.stderr.add(bytes),
        }
        self.whole.add(bytes, make);
    }

    fn outcome(self, finish: &Finish, late: Option<Duration>) -> Outcome {
        let Finish { ended, aside } = finish;
        let is_cut = self.stdout.is_cut() || self.stderr.is_cut();
        let (stdout, stderr) = (self.stdout.shown(), self.stderr.shown());
        let kept = self.whole.finish().filter(|_| is_cut);
        let (status, mut text) = head(ended, late);
        for (name, written) in [("stdout", &stdout), ("stderr", &stderr)] {
            if !written.trim().is_empty() {
                text = format!("{text}\n{name}:\n{}", written.trim_end());
            }
        }
        if let Some((name, is_whole)) = &kept {
            let all = if *is_whole { "all" } else { "the first 16 MiB" };
            text = format!("{text}\n[{all} of it: read_file {name}]");
        }
        for path in &aside.moved {
            let name = path.display();
            text = format!(
                "{text}\n[the server trusts a file of that name, so it is called {name} now]"
            );
        }
        for path in &aside.stays {
            let name = path.display();
            text = format!(
                "{text}\n[the server trusts a file of the name {name}, which this command made and \
                 which cannot be renamed: tell the person to remove it]"
            );
        }
        let code = match ended {
            Ended::Exited(code) => Some(*code),
            _ => None,
        };
        let data = json!({
            "exitCode": code,
            "timedOut": late.is_some(),
            "stdout": stdout,
            "stderr": stderr,
            "output": kept.map(|(name, _)| name),
        });
        Outcome::new(status, text).with_data(data)
    }
}

/// How a command ended, for the model.
fn head(ended: &Ended, late: Option<Duration>) -> (Status, String) {
    let failed = |why: &str| (Status::Failed, why.to_owned());
    match (ended, late) {
        (Ended::Lost, _) => {
            let why = "its sandbox was ended from outside, or processes of it do not end";
            (Status::Unknown, format!("outcome unknown: {why}"))
        }
        (_, Some(limit)) => failed(&format!(
            "ended after {} s, its limit; nothing of it runs any more",
            limit.as_secs()
        )),
        (Ended::Exited(code), None) => (Status::Done, format!("exit code {code}")),
        (Ended::Signalled(signal), None) => failed(&format!("ended by signal {signal}")),
        (Ended::Memory, None) => failed("ended: it used too much memory"),
        (Ended::Processes, None) => failed("ended: it started too many processes"),
        (Ended::Stopped, None) => {
            let why = "ended, because it was cancelled";
            (Status::Cancelled, why.to_owned())
        }
        (Ended::Failed { step, why, .. }, None) => failed(&unstarted(*step, why)),
    }
}

fn unstarted(step: Step, why: &str) -> String {
    match step {
        Step::Cwd => format!("cwd cannot be entered: {why}"),
        Step::Execute => format!("the shell cannot be run: {why}"),
        _ => format!("not run: the sandbox failed at {step:?}: {why}"),
    }
}
