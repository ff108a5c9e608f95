//! Processes of a command whose cage was killed together with its server (DU-18). The kernel ends those
//! of a namespace; at the other levels they are found by their environment.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::helper::NAME;
use super::watch::parent;

/// The variable that each command has.
pub const CALL_ID: &str = "SAMOVAR_CALL_ID";
/// The content of the lock's file once commands ran without namespaces.
const MARK: &[u8] = b"open\n";
/// Rounds in which processes that keep starting others are ended, and the pause between two.
const MAX_ROUNDS: usize = 500;
const PAUSE: Duration = Duration::from_millis(10);

/// Notes that commands run without namespaces.
pub(super) fn mark(lock: &Path) -> io::Result<()> {
    fs::write(lock, MARK)
}

/// Ends what is left of commands without namespaces. Only for the owner of the data directory, while
/// no cage of it lives; returns how many processes were ended.
///
/// # Errors
/// They do not end; what the system said.
pub fn end_orphans(lock: &Path) -> io::Result<usize> {
    if fs::read(lock)? != MARK {
        return Ok(0);
    }
    let mut ended = 0;
    for _ in 0..MAX_ROUNDS {
        let orphans = orphans()?;
        if orphans.is_empty() {
            fs::write(lock, b"")?;
            return Ok(ended);
        }
        for pid in orphans {
            ended += usize::from(end(pid)?);
        }
        std::thread::sleep(PAUSE);
    }
    Err(io::Error::other("processes of a command do not end"))
}

/// The processes of this user that have the variable and no living cage above them.
fn orphans() -> io::Result<Vec<Pid>> {
    let entries = fs::read_dir("/proc")?.flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let pids = numbers.filter_map(Pid::from_raw);
    Ok(pids.filter(|pid| is_orphan(*pid)).collect())
}

fn is_orphan(pid: Pid) -> bool {
    let place = format!("/proc/{}", pid.as_raw_nonzero());
    let own = rustix::process::geteuid().as_raw();
    // A process that has ended, or that belongs to another user, does not count.
    fs::metadata(&place).is_ok_and(|found| found.uid() == own)
        && fs::read(format!("{place}/environ")).is_ok_and(|environ| has_call_id(&environ))
        && !has_cage(pid)
}

fn has_call_id(environ: &[u8]) -> bool {
    let mut variables = environ.split(|byte| *byte == 0);
    variables.any(|variable| {
        let value = variable.strip_prefix(CALL_ID.as_bytes());
        value.is_some_and(|value| value.starts_with(b"="))
    })
}

fn has_cage(pid: Pid) -> bool {
    std::iter::successors(parent(pid), |above| parent(*above)).any(|above| {
        let line = fs::read(format!("/proc/{}/cmdline", above.as_raw_nonzero()));
        line.is_ok_and(|line| line.split(|byte| *byte == 0).next() == Some(NAME.as_bytes()))
    })
}

/// Ends a process if it is still the one that was found; whether it was.
fn end(pid: Pid) -> io::Result<bool> {
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(Errno::SRCH) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    if !is_orphan(pid) {
        return Ok(false);
    }
    match pidfd_send_signal(&process, Signal::KILL) {
        Ok(()) => Ok(true),
        Err(Errno::SRCH) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_found_by_its_whole_name() {
        let rows: [(&[u8], bool); 5] = [
            (b"A=1\0SAMOVAR_CALL_ID=c\0", true),
            (b"SAMOVAR_CALL_ID=\0", true),
            (b"SAMOVAR_CALL_IDS=c\0", false),
            (b"X=SAMOVAR_CALL_ID=c\0", false),
            (b"", false),
        ];
        for (environ, has) in rows {
            assert_eq!(has_call_id(environ), has);
        }
    }
}
