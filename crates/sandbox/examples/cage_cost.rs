//! What a cage adds to a command: both in turn, their medians and the difference.
//!
//! `cargo run --release -p samovar-sandbox --example cage_cost -- [ROUNDS]`
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement that prints what it found"
)]

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use samovar_sandbox::cage::{CageSettings, Cages, Ended, Job, Level, Limits, be_cage_if_asked};

fn main() -> io::Result<()> {
    be_cage_if_asked();
    let rounds = std::env::args()
        .nth(1)
        .and_then(|rounds| rounds.parse().ok());
    let rounds: usize = rounds.unwrap_or(200);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let workspace = std::env::current_dir()?;
    let cages = Cages::new(CageSettings {
        level: Level::Namespaces,
        workspace: workspace.clone(),
        path: std::env::split_paths(&path).collect(),
        home: std::env::home_dir(),
        variables: std::env::vars_os().collect(),
        read: Vec::new(),
        hidden: Vec::new(),
        kept: vec!["samovar.toml".into(), ".git".into()],
        lock: None,
        note: None,
        program: None,
    })?;
    let job = Job {
        program: "/bin/true".into(),
        args: Vec::new(),
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        cwd: workspace,
        network: false,
        writes: true,
        limits: Limits::default(),
    };
    let (mut bare, mut inside) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        bare.push(timed(|| {
            Command::new(PathBuf::from("/bin/true")).status().map(drop)
        })?);
        inside.push(timed(|| {
            match cages.start(job.clone())?.watch(|_, _| {})?.ended {
                Ended::Exited(0) => Ok(()),
                ended => Err(io::Error::other(format!("{ended:?}"))),
            }
        })?);
    }
    let (bare, inside) = (median(bare), median(inside));
    println!(
        "bare fork and exec: {bare:?}; in a cage: {inside:?}; more: {:?}",
        inside.saturating_sub(bare)
    );
    Ok(())
}

fn timed(work: impl FnOnce() -> io::Result<()>) -> io::Result<Duration> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
