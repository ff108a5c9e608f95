//! The `samovar` program: commands, configuration, terminal output.
//!
//! Here: what a person types and reads. `args` is the grammar, `config` reads the environment,
//! `run`, `serve` and `doctor` are the commands, `screen` and `view` are what they show, `exit` is
//! what a script can rely on.
//! Not here: what the commands do; that is the engine behind the server.

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::exit::{Exit, Failure};

mod args;
mod config;
mod doctor;
mod exit;
#[cfg(feature = "failpoints")]
mod failpoints;
mod model;
mod run;
mod screen;
mod serve;
mod stop;
mod view;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return exit::usage(&error),
    };
    match start(args) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report(),
    }
}

fn start(args: Args) -> Result<Exit, Failure> {
    tracing_subscriber::fmt()
        .with_env_filter(config::log_filter()?)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        // It would panic where nobody reads stderr any more.
        .log_internal_errors(false)
        .init();
    #[cfg(feature = "failpoints")]
    failpoints::arm()?;
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
    let exit = runtime.block_on(async {
        match args.command {
            Command::Run(run) => run::run(run).await,
            Command::Serve(serve) => serve::serve(serve).await,
            Command::Doctor(doctor) => doctor::doctor(&doctor).await,
        }
    });
    // A tool that is still busy in a thread of its own does not hold the program up.
    runtime.shutdown_background();
    exit
}
