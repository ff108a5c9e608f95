//! `exec`: a shell command in the sandbox (TL-6), judged by its grammar (TL-7).

mod command;
mod git;
mod kept;
mod reporting;
mod screen;
mod shell;
mod written;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use samovar_core::approval::Previewed;
use samovar_core::tool::{Origin, Sharing};
use samovar_core::{
    Asks, CallContext, CallFacts, Closer, Effect, Future, Outcome, OutsideText, Preview, Sends,
    ToolCall, ToolReply, ToolSpec, Toolset,
};
use samovar_sandbox::cage::{CALL_ID, Home, Job, Level, Limits};
use samovar_shell::{GIT_ENVIRONMENT, ReadOnly, Script, Verdict, parse};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::schema;
use crate::text::grouped;
use crate::workspace::Workspace;

use shell::shell;

pub use git::GitSettings;
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
#[derive(Clone)]
pub(crate) struct ExecTool {
    spec: Arc<ToolSpec>,
    workspace: Arc<Workspace>,
    shell: Arc<Shell>,
}

/// What was found of a command when its call was examined.
#[derive(Clone, Copy, Default)]
struct Found {
    /// It only reads, by its grammar.
    reads: bool,
    /// It uses the network, or runs without a sandbox.
    reaches_out: bool,
    /// What it writes may be text from outside.
    is_foreign: bool,
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
            closed: false,
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

    /// What is to run, and why it has no home folder that is kept, if it has none.
    fn job(
        &self,
        exec: &Exec,
        found: Found,
        context: &CallContext,
    ) -> Result<(Job, Option<String>), String> {
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
        let mut env = self.shell.settings.env.clone();
        let mut path = None;
        for (name, value) in context.environment.iter().flat_map(|it| it.variables()) {
            if name == "PATH" {
                // A command that only reads runs unasked, with the server's own programs.
                if found.reads {
                    continue;
                }
                path = Some(std::env::split_paths(value).collect());
            }
            env.retain(|(known, _)| known != name);
            env.push((name.to_owned(), value.to_owned()));
        }
        let git = GIT_ENVIRONMENT.iter();
        env.extend(git.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let home = self.home(found, context);
        let homeless = home.as_ref().err().map(ToString::to_string);
        let home = home.ok().flatten();
        if let Some(place) = home.as_ref().and_then(|home| self.introduce(home)) {
            env.retain(|(name, _)| name != git::SETTINGS);
            env.push((git::SETTINGS.to_owned(), place));
        }
        env.push((CALL_ID.to_owned(), context.key.to_string()));
        let seconds = self.timeout(exec, found).as_secs().max(1);
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
        let job = Job {
            program,
            args: vec!["-c".to_owned(), exec.command.clone()],
            env,
            path,
            cwd,
            home,
            network: exec.network.unwrap_or(false),
            writes: !found.reads,
            limits: Limits {
                cpu_seconds: seconds.saturating_mul(processors),
                ..self.shell.settings.limits
            },
        };
        Ok((job, homeless))
    }

    /// The file of a home folder that tells git the person's name; `None` if it has no name.
    fn introduce(&self, home: &Home) -> Option<String> {
        let identity = self.shell.identity();
        if identity.is_empty() {
            return None;
        }
        let folder = home.upper().unwrap_or_else(|| home.folder.clone());
        if let Err(error) = git::introduce(identity, &folder) {
            tracing::warn!(%error, "git in a command does not know the person");
            return None;
        }
        let place = home.place(self.shell.level()).join(git::FILE);
        place.into_os_string().into_string().ok()
    }

    /// The home folder of a command; `None` for one that only reads.
    fn home(&self, found: Found, context: &CallContext) -> io::Result<Option<Home>> {
        let Some(homes) = self.workspace.homes().filter(|_| !found.reads) else {
            return Ok(None);
        };
        // What taints the session with its own output counts as well.
        let is_tainted = context.tainted || found.is_foreign;
        let home = if is_tainted {
            homes.layered(&context.session)
        } else {
            homes.kept()
        };
        let why = "a command has no home folder that is kept";
        home.inspect_err(|error| tracing::warn!(%error, "{why}"))
            .map(Some)
    }

    /// Why a person decides about a command, whatever else is allowed. `reads` is what the operator's
    /// list says of it, too.
    fn insists(&self, exec: &Exec, script: Option<&Script>, reads: bool) -> Option<&'static str> {
        if exec.network.unwrap_or(false) {
            return Some("would use the network");
        }
        let is_open = self.shell.level() == Level::Off;
        // One of the operator's list can use the network.
        let is_harmless = || {
            let built_in = ReadOnly::built_in();
            reads && script.is_some_and(|script| built_in.verdict(script) == Verdict::Reads)
        };
        (is_open && !is_harmless()).then_some("would run a command without a sandbox")
    }

    /// A command that runs unasked, because it only reads, gets no more than the usual time.
    fn timeout(&self, exec: &Exec, found: Found) -> Duration {
        let usual = self.shell.settings.timeout;
        let asked = exec.timeout_s.map_or(usual, |seconds| {
            Duration::from_secs(seconds.clamp(1, MAX_TIMEOUT))
        });
        if found.reads { asked.min(usual) } else { asked }
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
        // A caller without a gate gets what the gate would have been told.
        let facts = context.facts.clone().or_else(|| self.facts(&call));
        let found = facts.map_or_else(Found::default, |facts| Found {
            reads: facts.reads,
            reaches_out: facts.insists.is_some(),
            is_foreign: facts.outside.is_some(),
        });
        let run = command::run(self.clone(), exec, found, context);
        Box::pin(async { ToolReply::Closed(run.await) })
    }

    fn facts(&self, call: &ToolCall) -> Option<CallFacts> {
        let exec = Exec::deserialize(&call.args).ok()?;
        let allow = self.shell.allow();
        let script = parse(&exec.command).ok();
        let reads = script
            .as_ref()
            .is_some_and(|it| allow.verdict(it) == Verdict::Reads);
        let folder = exec.cwd.as_deref();
        let grants = script
            .as_ref()
            .and_then(|script| allow.grant_keys(script, folder));
        let insists = self.insists(&exec, script.as_ref(), reads);
        Some(CallFacts {
            reads,
            asks: (!reads).then_some(Asks::because("runs a command that may change something")),
            insists,
            programs: script
                .as_ref()
                .and_then(|script| allow.program_names(script)),
            // Each use of the network is decided by itself.
            grants: grants.filter(|_| insists.is_none()),
            outside: match insists {
                Some(_) => Some(OutsideText::Plain),
                None => self.workspace.outside(),
            },
            sends: insists.map(|_| Sends::Anywhere),
            instructs: false,
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

/// Why `exec` does nothing, for the model.
fn off(why: &str) -> String {
    format!("exec is off on this server, because the sandbox lacks {why}")
}
