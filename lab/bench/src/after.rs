//! What is left when the bench was killed: its servers and its folders.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use rustix::process::{Pid, Signal, kill_process};

/// The word of the bench that makes its process wait for the end of another one; a folder follows.
pub(crate) const AFTER: &str = "--after";

/// How often it looks for processes, and how long it waits between two looks.
const LOOKS: usize = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// Starts a process that clears the folder when this one has ended, however that was.
pub(crate) fn start(folder: &Path) -> io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .arg(AFTER)
        .arg(folder)
        .stdin(Stdio::piped())
        // Ctrl-C is for the bench.
        .process_group(0)
        .spawn()
}

/// Waits for the end of the process that holds the other end of the standard input.
pub(crate) fn wait_for_parent() -> io::Result<()> {
    io::copy(&mut io::stdin(), &mut io::sink()).map(drop)
}

/// Waits for the end of the process that started this one; then kills what it has left in the folder,
/// and removes that.
pub(crate) fn run(folder: &Path) -> Result<()> {
    wait_for_parent()?;
    for _ in 0..LOOKS {
        let left = processes_in(folder)?;
        if left.is_empty() {
            break;
        }
        for process in left {
            // It may have ended by itself.
            kill_process(process, Signal::KILL).ok();
        }
        thread::sleep(PAUSE);
    }
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(())
}

/// The processes whose environment names the folder, as that of every server of the bench does.
fn processes_in(folder: &Path) -> Result<Vec<Pid>> {
    let folder = folder.as_os_str().as_encoded_bytes();
    let processes = fs::read_dir("/proc")?.filter_map(|entry| {
        let entry = entry.ok()?;
        let process = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
        let environment = fs::read(entry.path().join("environ")).ok()?;
        let mut parts = environment.windows(folder.len());
        parts.any(|part| part == folder).then_some(process)
    });
    Ok(processes.collect())
}
