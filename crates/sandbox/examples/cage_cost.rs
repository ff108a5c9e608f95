//! What a cage adds to a command, to its first output and to its end: with and without in turn, their medians
//! and the difference.
//!
//! `cargo run --release -p samovar-sandbox --example cage_cost -- [ROUNDS]`
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement that prints what it found"
)]

use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use samovar_sandbox::cage::{CageSettings, Cages, Ended, Job, Level, Limits, be_cage_if_asked};

const ECHO: &str = "/bin/echo";
const PAUSE: Duration = Duration::from_millis(50);

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
        program: ECHO.into(),
        args: vec!["it runs".to_owned()],
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        path: None,
        cwd: workspace,
        network: false,
        writes: true,
        limits: Limits::default(),
    };
    let (mut bare, mut inside) = (Times::default(), Times::default());
    for _ in 0..rounds {
        bare.add(alone()?);
        inside.add(caged(&cages, &job)?);
        // Commands come one after the other, with a model between them.
        std::thread::sleep(PAUSE);
    }
    for (what, bare, inside) in [
        ("to the first output", bare.first, inside.first),
        ("to the end", bare.end, inside.end),
    ] {
        let (bare, inside) = (median(bare), median(inside));
        let more = inside.saturating_sub(bare);
        println!("{what}: bare fork and exec {bare:?}, in a cage {inside:?}, more {more:?}");
    }
    Ok(())
}

#[derive(Default)]
struct Times {
    first: Vec<Duration>,
    end: Vec<Duration>,
}

impl Times {
    fn add(&mut self, (first, end): (Duration, Duration)) {
        self.first.push(first);
        self.end.push(end);
    }
}

fn alone() -> io::Result<(Duration, Duration)> {
    let begun = Instant::now();
    let mut command = Command::new(ECHO);
    let mut child = command.arg("it runs").stdout(Stdio::piped()).spawn()?;
    let mut output = child.stdout.take().ok_or(io::ErrorKind::NotFound)?;
    let _some = output.read(&mut [0; 64])?;
    let first = begun.elapsed();
    child.wait()?;
    Ok((first, begun.elapsed()))
}

fn caged(cages: &Cages, job: &Job) -> io::Result<(Duration, Duration)> {
    let begun = Instant::now();
    let mut first = None;
    let running = cages.start(job.clone())?;
    let finish = running.watch(|_, _| first = first.or_else(|| Some(begun.elapsed())))?;
    let (Ended::Exited(0), Some(first)) = (finish.ended, first) else {
        return Err(io::Error::other("the command did not run"));
    };
    Ok((first, begun.elapsed()))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
