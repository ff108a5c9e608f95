//! The `samovar` program: commands, configuration, terminal output.
//!
//! Here: what a person types and reads. `args` is the grammar, `config` reads the environment and
//! the files, `access` finds the server that holds the data directory or opens it in this process,
//! `client` calls its routes either way. Each command has its own file; `screen`, `output` and
//! `view` show results, `exit` has the exit codes that scripts rely on.
//! Not here: what the commands do; the engine does it, through the server's routes.

use std::pin::Pin;
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::args::{Args, Command};
use crate::exit::{Exit, Failure};

/// Gives freed memory back to the system within seconds; glibc's allocator keeps most of it. A program
/// that uses the server as a library chooses its own.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// One-shot commands do not log what is wrong with skills.
const SKILLS_QUIET: &str = "samovar_server::guide::skills=error";

mod access;
mod agents;
mod answer;
mod approvals;
mod args;
mod arguments;
mod audit;
mod backup;
mod browser;
mod calls;
mod chat;
mod chat_global;
mod checkup;
mod client;
mod config;
mod configure;
mod difference;
mod doctor;
mod exit;
#[cfg(feature = "failpoints")]
mod failpoints;
mod follow;
mod images;
mod init;
mod keyboard;
mod lists;
mod log;
mod memory;
mod model;
mod model_test;
mod open;
mod output;
#[cfg(feature = "plant")]
mod plant;
mod prove;
mod reboot;
mod reconnecting;
mod relay;
mod run;
mod screen;
mod serve;
mod sessions;
mod skills;
mod spinner;
mod stop;
mod stores;
mod style;
mod talk;
mod timestamps;
mod tools;
mod trusting;
mod turns;
mod view;
mod walk;
mod welcome;

fn main() -> ExitCode {
    samovar_server::be_cage_if_asked();
    // First of all, so that nothing else ever has the number of the descriptor.
    let handed = config::handed::take_over();
    let begun = config::begin();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return exit::usage(&error),
    };
    let alone = handed.and_then(|()| match &args.command {
        command if may_run_tools(command.as_ref()) => {
            let left = config::handed::leave(&begun.keys);
            config::handed::close_memory();
            left
        }
        _ => Ok(()),
    });
    // A person at a terminal is told in sentences what concerns them; `serve` has nothing else to show.
    let is_serving = matches!(args.command, Some(Command::Serve(_)));
    let log = if begun.is_log_chosen || is_serving {
        begun.log
    } else {
        EnvFilter::new("error")
    };
    // `doctor` and `skills list` tell it, each with a remedy.
    let log = match SKILLS_QUIET.parse() {
        Ok(quiet) if !is_serving => log.add_directive(quiet),
        _ => log,
    };
    match alone.and_then(|()| start(args, log)) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report(),
    }
}

fn start(args: Args, log: EnvFilter) -> Result<Exit, Failure> {
    log::begin(log);
    if let Err(error) = samovar_descriptors::raise() {
        tracing::debug!(%error, "the limit of file descriptors stays as it is");
    }
    #[cfg(feature = "failpoints")]
    failpoints::arm();
    #[cfg(feature = "plant")]
    plant::plant();
    // Only fails when another part of this program did it before.
    if rustls::crypto::ring::default_provider()
        .install_default()
        .is_err()
    {
        tracing::debug!("TLS was set up before");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Failure::broken(&error))?;
    match runtime.block_on(async { samovar_wake::serve() }) {
        Ok(Some(serving)) => drop(runtime.spawn(serving)),
        Ok(None) => {}
        Err(error) => tracing::debug!(%error, "each wake may wake a second thread"),
    }
    let handled = runtime.block_on(async { stop::outlive_file_size_limit() });
    handled?;
    // Behind a pointer, each command is compiled once, not once for each kind of runtime.
    let exit = runtime.block_on(Box::pin(obey(args.command)) as CommandResult);
    // A tool that is still busy in a thread of its own does not hold the program up.
    runtime.shutdown_background();
    exit
}

/// Whether a command may open the data directory itself, and so run tools in this process.
fn may_run_tools(command: Option<&Command>) -> bool {
    match command {
        None
        | Some(
            Command::Run(_)
            | Command::Chat(_)
            | Command::ChatGlobal(_)
            | Command::Relay(_)
            | Command::Serve(_)
            | Command::Sessions(_)
            | Command::Tools(_)
            | Command::Skills(_)
            | Command::Memory(_)
            | Command::Turns(_)
            | Command::Approvals(_)
            | Command::Audit(_)
            | Command::Agents(_)
            | Command::Models(_)
            | Command::Token(_)
            | Command::Stats(_)
            | Command::Backup(_)
            | Command::Restore(_),
        ) => true,
        Some(
            Command::Config(_)
            | Command::Init(_)
            | Command::Doctor(_)
            | Command::Open(_)
            | Command::Prove(_)
            | Command::Completions(_)
            | Command::Help { .. }
            | Command::Walk { .. },
        ) => false,
    }
}

type CommandResult = Pin<Box<dyn Future<Output = Result<Exit, Failure>>>>;

async fn obey(command: Option<Command>) -> Result<Exit, Failure> {
    match command {
        None => Box::pin(welcome::welcome()).await,
        Some(Command::Run(args)) => run::run(args).await,
        Some(Command::Chat(args)) => Box::pin(chat::chat(args)).await,
        Some(Command::ChatGlobal(command)) => chat_global::chat_global(command).await,
        Some(Command::Relay(command)) => Box::pin(relay::relay(command)).await,
        Some(Command::Serve(args)) => Box::pin(serve::serve(args)).await,
        Some(Command::Open(args)) => open::open(args).await,
        Some(Command::Sessions(command)) => Box::pin(sessions::sessions(command)).await,
        Some(Command::Tools(command)) => Box::pin(tools::tools(command)).await,
        Some(Command::Skills(command)) => skills::skills(command).await,
        Some(Command::Memory(command)) => Box::pin(memory::memory(command)).await,
        Some(Command::Turns(command)) => turns::turns(command).await,
        Some(Command::Approvals(command)) => Box::pin(approvals::approvals(command)).await,
        Some(Command::Agents(command)) => Box::pin(agents::agents(command)).await,
        Some(Command::Models(command)) => lists::models(command).await,
        Some(Command::Token(command)) => lists::token(command).await,
        Some(Command::Audit(command)) => audit::audit(command).await,
        Some(Command::Stats(args)) => lists::stats(args).await,
        Some(Command::Backup(args)) => backup::backup(args).await,
        Some(Command::Restore(args)) => backup::restore(args).await,
        Some(Command::Config(command)) => configure::configure(command),
        Some(Command::Init(args)) => init::init(&args),
        Some(Command::Doctor(args)) => doctor::doctor(&args).await,
        Some(Command::Prove(args)) => prove::prove(args).await,
        Some(Command::Completions(args)) => welcome::completions(&args),
        Some(Command::Help { command }) => welcome::help(command),
        Some(Command::Walk { data_dir }) => walk::walk(&data_dir),
    }
}
