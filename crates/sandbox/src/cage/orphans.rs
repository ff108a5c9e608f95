//! Processes of a command whose cage was killed together with its server (DU-18). The kernel ends those
//! of a namespace; at the other levels they are found by the call in their environment.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::watch::parent;

/// The variable that each command has: the id of its call.
pub const CALL_ID: &str = "SAMOVAR_CALL_ID";
/// Rounds in which processes that keep starting others are ended, and the pause between two.
const MAX_ROUNDS: usize = 200;
const PAUSE: Duration = Duration::from_millis(10);

/// The calls whose commands run without namespaces, in the file of the lock.
#[derive(Debug)]
pub(super) struct Marks {
    path: PathBuf,
    calls: Mutex<BTreeSet<String>>,
}

/// A call in that file, until this is dropped.
#[derive(Debug)]
pub(super) struct Mark {
    marks: Arc<Marks>,
    call: String,
    stays: bool,
}

impl Marks {
    pub(super) fn new(path: PathBuf) -> Arc<Self> {
        let calls = Mutex::default();
        Arc::new(Self { path, calls })
    }

    pub(super) fn add(self: &Arc<Self>, call: &str) -> io::Result<Mark> {
        self.change(|calls| calls.insert(call.to_owned()))?;
        Ok(Mark {
            marks: self.clone(),
            call: call.to_owned(),
            stays: false,
        })
    }

    fn change(&self, change: impl FnOnce(&mut BTreeSet<String>) -> bool) -> io::Result<()> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut calls);
        let lines: Vec<&str> = calls.iter().map(String::as_str).collect();
        fs::write(&self.path, lines.join("\n"))
    }
}

impl Mark {
    /// Processes of the command may live on: the next start looks for them.
    pub(super) fn stay(&mut self) {
        self.stays = true;
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        if !self.stays {
            // If it stays in the file, the next start looks for processes that are not there.
            let _written = self.marks.change(|calls| calls.remove(&self.call));
        }
    }
}

/// Ends what is left of commands without namespaces; for the owner of the data directory, while no cage
/// of it lives. Returns how many processes were ended, and whether all are gone.
///
/// # Errors
/// What the system said about the file or `/proc`.
pub fn end_orphans(lock: &Path) -> io::Result<(usize, bool)> {
    let text = fs::read_to_string(lock)?;
    let calls: BTreeSet<&str> = text.lines().collect();
    if calls.is_empty() {
        return Ok((0, true));
    }
    let mut ended = BTreeSet::new();
    for _ in 0..MAX_ROUNDS {
        let orphans = orphans(&calls)?;
        if orphans.is_empty() {
            fs::write(lock, b"")?;
            return Ok((ended.len(), true));
        }
        for pid in orphans {
            if end(pid, &calls) {
                ended.insert(pid.as_raw_nonzero());
            }
        }
        std::thread::sleep(PAUSE);
    }
    Ok((ended.len(), false))
}

/// The processes with one of these calls, without this one and those that it comes from.
fn orphans(calls: &BTreeSet<&str>) -> io::Result<Vec<Pid>> {
    let own = rustix::process::getpid();
    let own: Vec<Pid> = std::iter::successors(Some(own), |pid| parent(*pid)).collect();
    let entries = fs::read_dir("/proc")?.flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let pids = numbers.filter_map(Pid::from_raw);
    Ok(pids
        .filter(|pid| !own.contains(pid) && is_of(*pid, calls))
        .collect())
}

fn is_of(pid: Pid, calls: &BTreeSet<&str>) -> bool {
    // A process that has ended, or that belongs to another user, cannot be read.
    let environ = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero()));
    environ.is_ok_and(|environ| call(&environ).is_some_and(|call| calls.contains(call)))
}

/// The call in an environment.
fn call(environ: &[u8]) -> Option<&str> {
    let mut variables = environ.split(|byte| *byte == 0);
    let value = variables.find_map(|variable| {
        let value = variable.strip_prefix(CALL_ID.as_bytes())?;
        value.strip_prefix(b"=")
    })?;
    std::str::from_utf8(value).ok()
}

/// Ends a process if it is still the one that was found; whether it was.
fn end(pid: Pid, calls: &BTreeSet<&str>) -> bool {
    pidfd_open(pid, PidfdFlags::empty())
        .is_ok_and(|process| is_of(pid, calls) && pidfd_send_signal(&process, Signal::KILL).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_by_the_whole_name_of_its_variable() {
        let rows: [(&[u8], Option<&str>); 6] = [
            (b"A=1\0SAMOVAR_CALL_ID=c\0", Some("c")),
            (b"SAMOVAR_CALL_ID=\0", Some("")),
            (b"SAMOVAR_CALL_ID=\xff\0", None),
            (b"SAMOVAR_CALL_IDS=c\0", None),
            (b"X=SAMOVAR_CALL_ID=c\0", None),
            (b"", None),
        ];
        for (environ, found) in rows {
            assert_eq!(call(environ), found);
        }
    }
}
