//! What it costs to record a folder before a command:
//! `cargo run --release -p samovar-tools --example record_cost -- FILES [FOLDER]`.
//!
//! Makes a folder of so many files of source code's size, and prints in one run what `git add -A`
//! into an empty repository takes, the first recording, a walk with `lstat`, and a recording when
//! nothing was changed. Of what is short it prints the best of ten.

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
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use samovar_sandbox::{Jail, Protected, SmallFiles};
use samovar_tools::{Recorder, RecorderBounds, UndoBounds, UndoStore, Workspace};

/// Files in each folder.
const PER_FOLDER: usize = 50;
/// How often what is short is measured.
const ROUNDS: usize = 10;

fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1);
    let files = args.next().and_then(|it| it.parse().ok()).unwrap_or(20_000);
    let above = args.next().map_or_else(std::env::temp_dir, Into::into);
    let top = tempfile::tempdir_in(above)?;
    let (ws, data) = (top.path().join("ws"), top.path().join("data"));
    fs::create_dir(&data)?;
    let bytes = make(&ws, files)?;
    println!("{files} files, {} MiB", bytes >> 20);

    // Beside the folder, and left there: ext4 passes by the places of what was just deleted, one by one.
    let dir = format!("--git-dir={}", top.path().join("git").display());
    git(&ws, &[&dir, "--work-tree=.", "init", "-q"])?;
    settle()?;
    let added = time(|| git(&ws, &[&dir, "--work-tree=.", "add", "-A"]))?;
    println!("git add -A           {added:>10.1?}");

    let jail = Jail::open(&ws, &Protected::default()).map_err(io::Error::other)?;
    let small = SmallFiles::of(&data)?;
    let workspace = Workspace::new(Arc::new(jail))
        .with_undo(UndoStore::new(small.clone(), UndoBounds::default()))
        .with_recorder(Recorder::new(small, RecorderBounds::default()));
    let recorder = workspace.recorder().ok_or(io::ErrorKind::NotFound)?;
    let record = || recorder.record(&workspace).map_err(io::Error::other);
    settle()?;
    let first = time(record)?;
    println!("the first recording  {first:>10.1?}");
    let walk = best(|| walk(&ws))?;
    println!("a walk with lstat    {walk:>10.1?}");
    let again = best(record)?;
    println!("nothing was changed  {again:>10.1?}");
    println!(
        "first / git add {:.2} (at most 1), unchanged / walk {:.2} (at most 2)",
        first.as_secs_f64() / added.as_secs_f64(),
        again.as_secs_f64() / walk.as_secs_f64()
    );
    Ok(())
}

/// Makes the files; the bytes of all.
fn make(ws: &Path, files: usize) -> io::Result<usize> {
    let mut bytes = 0;
    for number in 0..files {
        let folder = ws.join(format!("part{}/mod{}", number / 2_000, number / PER_FOLDER));
        if number % PER_FOLDER == 0 {
            fs::create_dir_all(&folder)?;
        }
        let line = |line| {
            format!(
                "fn item_{number}_{line}() -> usize {{ {} }}\n",
                number * line
            )
        };
        let text: String = (0..20 + number % 80).map(line).collect();
        bytes += text.len();
        fs::write(folder.join(format!("file{number}.rs")), text)?;
    }
    Ok(bytes)
}

/// Lets the disk finish, so that no measurement pays for what was written before it.
fn settle() -> io::Result<()> {
    Command::new("sync").status().map(drop)
}

fn git(ws: &Path, args: &[&str]) -> io::Result<()> {
    let ended = Command::new("git").args(args).current_dir(ws).status()?;
    if ended.success() {
        return Ok(());
    }
    Err(io::Error::other("git failed"))
}

fn walk(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let meta = fs::symlink_metadata(&path)?;
        bytes += if meta.is_dir() {
            walk(&path)?
        } else {
            meta.len()
        };
    }
    Ok(bytes)
}

fn time<R>(work: impl FnOnce() -> io::Result<R>) -> io::Result<Duration> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed())
}

fn best<R>(work: impl Fn() -> io::Result<R>) -> io::Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        best = best.min(time(&work)?);
    }
    Ok(best)
}
