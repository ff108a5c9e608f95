//! What a command costs from its start to its end:
//! `cargo run --release -p samovar-sandbox --example start_cost -- [COMMANDS [OTHER]]`.
//!
//! Prints for each variant of the sandbox, for a command that may write and for one that only reads, the
//! fastest tenth and the median in a repository with trusted files, and the processor's time a command, with
//! the preparation of the next cage. `OTHER` is this example as another version has built it: both run
//! commands in turns, and what this one uses more of the processor stands below.

#![expect(
    clippy::print_stdout,
    reason = "it is a measurement that a person reads"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "it measures the time that passes"
)]

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use samovar_sandbox::cage::{CageSettings, Cages, Job, Level, Limits, be_cage_if_asked};

/// What a server trusts of a workspace.
const KEPT: [&str; 15] = [
    "samovar.toml",
    "SOUL.md",
    "USER.md",
    "AGENTS.md",
    "CLAUDE.md",
    "MEMORY.md",
    "skills",
    "agents",
    "memory",
    ".git/config",
    ".git/config.lock",
    ".git/hooks",
    ".git/commondir",
    ".git/config.worktree",
    ".git/modules",
];
/// Between two commands: an agent asks its model meanwhile, and the next cage is prepared.
const PAUSE: Duration = Duration::from_millis(50);

/// The argument of a process that runs a command for each line it is given.
const BY_LINES: &str = "--by-lines";
const LEVELS: [Level; 3] = [Level::Namespaces, Level::Landlock, Level::Off];

fn main() -> io::Result<()> {
    be_cage_if_asked();
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|it| it == BY_LINES) {
        return by_lines();
    }
    let count = args.first().and_then(|it| it.parse().ok()).unwrap_or(200);
    let own = std::env::current_exe()?;
    let other = args.get(1).map(PathBuf::from);
    let programs: Vec<PathBuf> = [own].into_iter().chain(other).collect();
    for level in LEVELS {
        for writes in [true, false] {
            let started = programs.iter().map(|it| Runner::start(it, level, writes));
            let mut runners = started.collect::<io::Result<Vec<_>>>()?;
            let mut costs = vec![Vec::new(); runners.len()];
            for round in 0..count {
                for at in 0..runners.len() {
                    // Each is the first one half of the time.
                    let at = (at + round) % runners.len();
                    costs[at].push(runners[at].run()?);
                }
            }
            print(level, writes, &costs);
        }
    }
    Ok(())
}

/// How long a command took, and the processor's time of its version until then.
type Cost = [Duration; 2];

fn print(level: Level, writes: bool, costs: &[Vec<Cost>]) {
    let kind = if writes { "writes" } else { "reads" };
    let mut used = Vec::new();
    for (which, costs) in ["this", "other"].into_iter().zip(costs) {
        let mut times: Vec<Duration> = costs.iter().map(|[time, _]| *time).collect();
        times.sort_unstable();
        let (fast, median) = (times[times.len() / 10], times[times.len() / 2]);
        let [first, last] = [0, costs.len() - 1].map(|at| costs[at][1]);
        let runs = u32::try_from(costs.len() - 1).unwrap_or(u32::MAX);
        let cpu = last.saturating_sub(first) / runs.max(1);
        let level = level.as_str();
        println!("{level:10} {kind:6} {which:5} {fast:8.2?} {median:8.2?} cpu {cpu:8.2?}");
        used.push(cpu.as_secs_f64());
    }
    if let [this, other] = used[..] {
        println!("{:24} {:+.1} %", "", (this / other - 1.0) * 100.0);
    }
}

/// A version of this example that runs one command after the other.
struct Runner {
    child: Child,
    lines: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Runner {
    fn start(program: &Path, level: Level, writes: bool) -> io::Result<Self> {
        let mut child = Command::new(program)
            .args([
                BY_LINES,
                level.as_str(),
                if writes { "writes" } else { "reads" },
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let gone = || io::Error::other("a pipe is gone");
        let lines = child.stdin.take().ok_or_else(gone)?;
        let answers = BufReader::new(child.stdout.take().ok_or_else(gone)?);
        let mut runner = Self {
            child,
            lines,
            answers,
        };
        // The first cages are not prepared.
        for _ in 0..3 {
            runner.run()?;
        }
        Ok(runner)
    }

    fn run(&mut self) -> io::Result<Cost> {
        writeln!(self.lines)?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        let nanos = answer.split_whitespace().map(str::parse);
        match nanos.collect::<Result<Vec<u64>, _>>().as_deref() {
            Ok([wall, cpu]) => Ok([wall, cpu].map(|it| Duration::from_nanos(*it))),
            _ => Err(io::Error::other(format!("it says {answer:?}"))),
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

fn by_lines() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(2).collect();
    let level = LEVELS
        .into_iter()
        .find(|it| Some(it.as_str()) == args.first().map(String::as_str));
    let level = level.ok_or(io::ErrorKind::InvalidInput)?;
    let writes = args.get(1).is_some_and(|it| it == "writes");
    let top = tempfile::tempdir_in("/var/tmp")?;
    let workspace = top.path().join("workspace");
    fs::create_dir_all(workspace.join("skills/tea"))?;
    Command::new("git")
        .args(["init", "-q"])
        .arg(&workspace)
        .status()?;
    for name in ["samovar.toml", "AGENTS.md", "skills/tea/SKILL.md"] {
        fs::write(workspace.join(name), "x".repeat(4_000))?;
    }
    // Of a file that was changed just now, the time of change says nothing.
    std::thread::sleep(Duration::from_secs(3));
    let cages = cages(level, &workspace, Some(top.path().join("note")))?;
    for line in io::stdin().lines() {
        line?;
        let wall = run(&cages, &workspace, writes)?;
        println!("{} {}", wall.as_nanos(), processor_time()?.as_nanos());
    }
    Ok(())
}

fn cages(level: Level, workspace: &Path, note: Option<PathBuf>) -> io::Result<Cages> {
    Cages::new(CageSettings {
        level,
        workspace: workspace.to_owned(),
        path: ["/usr/bin", "/bin"].map(PathBuf::from).to_vec(),
        home: None,
        variables: Vec::new(),
        read: Vec::new(),
        hidden: Vec::new(),
        kept: KEPT.map(PathBuf::from).to_vec(),
        lock: None,
        note,
        program: None,
    })
}

fn run(cages: &Cages, workspace: &Path, writes: bool) -> io::Result<Duration> {
    let begun = Instant::now();
    let running = cages.start(Job {
        program: "/bin/true".into(),
        args: Vec::new(),
        env: Vec::new(),
        path: None,
        cwd: workspace.to_owned(),
        home: None,
        network: false,
        writes,
        limits: Limits::default(),
    })?;
    running.watch(|_, _| {})?;
    let wall = begun.elapsed();
    std::thread::sleep(PAUSE);
    Ok(wall)
}

/// What this process and those that it waited for have used.
fn processor_time() -> io::Result<Duration> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // After the name, which is in brackets, the times are the fields 14 to 17 of `man 5 proc`.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(4);
    let ticks: u64 = ticks.filter_map(|it| it.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(
        ticks * 1000 / rustix::param::clock_ticks_per_second(),
    ))
}
