//! What a command costs from its start to its end:
//! `cargo run --release -p samovar-sandbox --example start_cost -- [COMMANDS]`.
//!
//! Prints for each variant of the sandbox, for a command that may write and for one that only reads, the
//! fastest tenth and the median in a repository with trusted files. To compare two versions, build it of
//! both and run them in turns.

#![expect(
    clippy::print_stdout,
    reason = "it is a measurement that a person reads"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "it measures the time that passes"
)]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
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

fn main() -> io::Result<()> {
    be_cage_if_asked();
    let count = std::env::args().nth(1).and_then(|it| it.parse().ok());
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
    for level in [Level::Namespaces, Level::Landlock, Level::Off] {
        let note = Some(top.path().join("note"));
        let cages = cages(level, &workspace, note)?;
        if let Err(shortage) = cages.probe() {
            println!("{}: {shortage}", level.as_str());
            continue;
        }
        for writes in [true, false] {
            let times = times(&cages, &workspace, writes, count.unwrap_or(200))?;
            let kind = if writes { "writes" } else { "reads" };
            let (fast, median) = (times[times.len() / 10], times[times.len() / 2]);
            println!("{:10} {kind:6} {fast:8.2?} {median:8.2?}", level.as_str());
        }
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

fn times(cages: &Cages, workspace: &Path, writes: bool, count: usize) -> io::Result<Vec<Duration>> {
    let mut times = Vec::new();
    for _ in 0..count.max(1) {
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
        times.push(begun.elapsed());
        std::thread::sleep(PAUSE);
    }
    times.sort_unstable();
    Ok(times)
}
