//! What the sandbox takes to start a command: `start_cost CAGE HOME [COUNT]`, with the program
//! `samovar-cage` and a home folder in which toolchains are.
//!
//! Prints the medians in milliseconds from the start of `echo` to its first output, for a command that
//! may change the workspace and for one that only reads.

#![expect(
    clippy::print_stdout,
    reason = "it is a measurement that a person reads"
)]

use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use samovar_sandbox::cage::{CageSettings, Cages, Job, Level, Limits};

/// Between two commands: an agent asks its model meanwhile.
const PAUSE: Duration = Duration::from_millis(30);
const COUNT: usize = 100;

fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1);
    let mut path = || args.next().map(PathBuf::from);
    let (program, home) = (path(), path());
    let count = args.next().and_then(|count| count.parse().ok());
    let workspace = std::env::temp_dir().join(format!("start-cost-{}", std::process::id()));
    std::fs::create_dir(&workspace)?;
    let cages = Cages::new(CageSettings {
        level: Level::Namespaces,
        workspace: workspace.clone(),
        path: vec!["/usr/bin".into(), "/bin".into()],
        home,
        variables: Vec::new(),
        read: Vec::new(),
        hidden: Vec::new(),
        kept: vec!["samovar.toml".into(), ".git".into()],
        lock: None,
        note: None,
        program,
    })?;
    let job = |writes| Job {
        program: "/bin/echo".into(),
        args: vec!["it runs".to_owned()],
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        path: None,
        cwd: workspace.clone(),
        home: None,
        network: false,
        writes,
        limits: Limits::default(),
    };
    let mut medians = Vec::new();
    for writes in [true, false] {
        let mut times = Vec::new();
        for _ in 0..count.unwrap_or(COUNT) {
            thread::sleep(PAUSE);
            times.push(first_output(&cages, job(writes))?);
        }
        times.sort_unstable();
        medians.push(times[times.len() / 2].as_secs_f64() * 1e3);
    }
    println!("{:.3} ms, {:.3} ms", medians[0], medians[1]);
    std::fs::remove_dir(&workspace)
}

#[expect(clippy::disallowed_methods, reason = "the time is what is measured")]
fn first_output(cages: &Cages, job: Job) -> io::Result<Duration> {
    let begun = Instant::now();
    let mut first = None;
    cages
        .start(job)?
        .watch(|_, _| first = first.or_else(|| Some(begun.elapsed())))?;
    first.ok_or_else(|| io::Error::other("it wrote nothing"))
}
