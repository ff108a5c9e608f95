//! What the sandbox adds to the start of a command.

use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use samovar_sandbox::cage::{CageSettings, Cages, Ended, Job, Level, Limits};
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use crate::program::Program;
use crate::sample::{Sample, milliseconds};

const ECHO: &str = "/bin/echo";
const SAID: &str = "it runs";
/// Commands of each kind for one value, which is the difference of the medians.
const COMMANDS: usize = 100;
const VALUES: u32 = 3;
/// Between two commands: an agent asks its model meanwhile.
const PAUSE: Duration = Duration::from_millis(50);

/// Milliseconds from the start of a command to its first output and to its end in the binary's cage,
/// minus the same of a bare fork and exec.
pub(crate) async fn measure(program: &Program<'_>) -> Result<Vec<Sample>> {
    let (binary, work) = (program.binary().to_owned(), program.work());
    let values = spawn_blocking(move || {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let cages = Cages::new(CageSettings {
            level: Level::Namespaces,
            workspace: work.clone(),
            path: std::env::split_paths(&path).collect(),
            home: std::env::home_dir(),
            variables: std::env::vars_os().collect(),
            read: Vec::new(),
            hidden: Vec::new(),
            kept: vec!["samovar.toml".into(), ".git".into()],
            lock: None,
            note: None,
            program: Some(binary),
        })?;
        let job = Job {
            program: ECHO.into(),
            args: vec![SAID.to_owned()],
            env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
            path: None,
            cwd: work,
            home: None,
            network: false,
            writes: true,
            limits: Limits::default(),
        };
        let added = (0..VALUES).map(|_| added(&cages, &job));
        added.collect::<Result<Vec<_>>>()
    });
    let values = values.await??;
    let first = values.iter().map(|(first, _)| *first);
    let end = values.iter().map(|(_, end)| *end);
    Ok(vec![
        Sample::of(first.collect())?,
        Sample::of(end.collect())?,
    ])
}

fn added(cages: &Cages, job: &Job) -> Result<(f64, f64)> {
    let (mut bare, mut inside) = (Times::default(), Times::default());
    for _ in 0..COMMANDS {
        bare.add(alone()?);
        inside.add(caged(cages, job)?);
        thread::sleep(PAUSE);
    }
    let more = |inside, bare| milliseconds(median(inside)) - milliseconds(median(bare));
    Ok((more(inside.first, bare.first), more(inside.end, bare.end)))
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

fn alone() -> Result<(Duration, Duration)> {
    let begun = Instant::now();
    let mut command = Command::new(ECHO);
    let mut child = command.arg(SAID).stdout(Stdio::piped()).spawn()?;
    let mut output = child.stdout.take().context("no output")?;
    let _some = output.read(&mut [0; 64])?;
    let first = begun.elapsed();
    child.wait()?;
    Ok((first, begun.elapsed()))
}

fn caged(cages: &Cages, job: &Job) -> Result<(Duration, Duration)> {
    let begun = Instant::now();
    let mut first = None;
    let running = cages.start(job.clone())?;
    let finish = running.watch(|_, _| first = first.or_else(|| Some(begun.elapsed())))?;
    let (Ended::Exited(0), Some(first)) = (&finish.ended, first) else {
        bail!("the command did not run: {:?}", finish.ended);
    };
    Ok((first, begun.elapsed()))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
