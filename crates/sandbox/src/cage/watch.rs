//! The life of a command: until it ends, the server asks for its end, or it takes too much.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group, pidfd_open,
    wait, waitpid,
};

use super::kept::Kept;
use super::plan::{Ended, Level, Plan, Report};

/// How often what a command takes is counted; less often where its processes are found among all.
const TICK: Duration = Duration::from_millis(50);
const TICK_AMONG_ALL: Duration = Duration::from_millis(250);
/// Rounds in which processes that keep starting others are ended.
const MAX_ROUNDS: usize = 1000;

/// A command that runs.
pub(super) struct Watched {
    child: Pid,
    memory: u64,
    processes: u64,
    /// Whether every process that is seen is the command's.
    is_alone: bool,
    /// What keeps trusted files from it, if it may write and there are such mounts.
    kept: Option<Kept>,
}

/// What its processes take.
#[derive(Default)]
struct Taken {
    memory: u64,
    tasks: u64,
}

impl Watched {
    pub(super) fn new(plan: &Plan, child: Pid, kept: Option<Kept>) -> Self {
        Self {
            child,
            kept,
            memory: plan.limits.memory,
            processes: plan.limits.processes,
            is_alone: plan.level == Level::Namespaces,
        }
    }

    /// The processes of the command: all that are here, or all below this one.
    fn members(&self) -> Vec<Pid> {
        let own = rustix::process::getpid();
        let Ok(found) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        let numbers = found.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let pids: Vec<Pid> = numbers.filter_map(Pid::from_raw).collect();
        if self.is_alone {
            return pids.into_iter().filter(|pid| *pid != own).collect();
        }
        let parents: Vec<(Pid, Option<Pid>)> =
            pids.into_iter().map(|pid| (pid, parent(pid))).collect();
        let mut members = vec![own];
        let mut seen = 0;
        while let Some(above) = members.get(seen).copied() {
            seen += 1;
            let below = parents.iter().filter(|(_, parent)| *parent == Some(above));
            members.extend(below.map(|(pid, _)| *pid));
        }
        members.remove(0);
        members
    }

    fn taken(&self) -> Taken {
        let mut taken = Taken::default();
        for status in self.members().into_iter().filter_map(Status::of) {
            // Shared memory counts for each process that has it.
            let kib = ["RssAnon", "RssShmem"].map(|name| status.number(name).unwrap_or_default());
            taken.memory += (kib[0] + kib[1]) * 1024;
            taken.tasks += status.number("Threads").unwrap_or(1);
        }
        taken
    }

    /// What is over its limit.
    fn excess(&self) -> Option<Ended> {
        let taken = self.taken();
        match taken {
            Taken { memory, .. } if memory > self.memory => Some(Ended::Memory),
            Taken { tasks, .. } if tasks > self.processes => Some(Ended::Processes),
            Taken { .. } => None,
        }
    }

    /// Ends every process of the command; returns whether all of them are gone.
    fn end(&self) -> bool {
        if self.is_alone {
            // Of a group of number 1 this means every process but this one, which is the first.
            let _none = kill_process_group(Pid::INIT, Signal::KILL);
            while !matches!(wait(WaitOptions::empty()), Err(error) if error != Errno::INTR) {}
            return true;
        }
        for _ in 0..MAX_ROUNDS {
            let members = self.members();
            for pid in &members {
                // One that is gone already needs no signal.
                let _gone = kill_process(*pid, Signal::KILL);
            }
            let left = loop {
                match wait(WaitOptions::NOHANG) {
                    Ok(Some(_)) | Err(Errno::INTR) => {}
                    Ok(None) => break true,
                    Err(_) => break false,
                }
            };
            if !left && self.members().is_empty() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }
}

/// What the kernel says of a process. Its name is in it and need not be text, but has no line breaks.
struct Status(Vec<u8>);

impl Status {
    fn of(pid: Pid) -> Option<Self> {
        let status = fs::read(format!("/proc/{}/status", pid.as_raw_nonzero()));
        status.ok().map(Self)
    }

    fn number(&self, name: &str) -> Option<u64> {
        let mut lines = self.0.split(|byte| *byte == b'\n');
        let value = |line: &[u8]| {
            let value = line.strip_prefix(name.as_bytes())?.strip_prefix(b":")?;
            let value = std::str::from_utf8(value).ok()?;
            value.split_whitespace().next()?.parse().ok()
        };
        lines.find_map(value)
    }
}

pub(super) fn parent(pid: Pid) -> Option<Pid> {
    let parent = Status::of(pid)?.number("PPid")?;
    Pid::from_raw(parent.try_into().ok()?)
}

/// Watches a command, and takes all of its processes down when it is over. `failed` is where the
/// command says why it does not run.
pub(super) fn until_it_ends(
    watched: &Watched,
    control: &UnixStream,
    failed: &UnixStream,
) -> io::Result<Report> {
    let process = pidfd_open(watched.child, PidfdFlags::empty())?;
    let tick = if watched.is_alone {
        TICK
    } else {
        TICK_AMONG_ALL
    };
    let tick = Timespec::try_from(tick).map_err(io::Error::other)?;
    let table = watched.kept.as_ref().map(Kept::table);
    let ended = loop {
        let mut watching = [
            PollFd::new(&process, PollFlags::IN),
            PollFd::from_borrowed_fd(control.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(table.unwrap_or(control.as_fd()), PollFlags::PRI),
        ];
        match poll(&mut watching, Some(&tick)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [process, control, _] = watching;
        if !control.revents().is_empty() {
            break Ended::Stopped;
        }
        if let Some(status) = reap(watched.child, !process.revents().is_empty()) {
            break status;
        }
        // The table tells of no mount that was moved with its file.
        if let Some(lost) = watched.kept.as_ref().and_then(Kept::lost) {
            break Ended::Unkept(lost);
        }
        if let Some(excess) = watched.excess() {
            break excess;
        }
    };
    if !watched.end() {
        return Ok((Ended::Lost, Vec::new()));
    }
    // Only now does nothing run that could change them.
    let stood = watched
        .kept
        .as_ref()
        .map(Kept::standing)
        .unwrap_or_default();
    let mut line = String::new();
    failed.set_nonblocking(true)?;
    let _none = BufReader::new(failed).read_line(&mut line);
    Ok((serde_json::from_str(&line).unwrap_or(ended), stood))
}

/// Takes in what has ended; how the command did, if it has.
fn reap(child: Pid, has_ended: bool) -> Option<Ended> {
    if has_ended {
        let status = waitpid(Some(child), WaitOptions::NOHANG).ok()??.1;
        return Some(ended(status));
    }
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == child => return Some(ended(status)),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) | Err(_) => return None,
        }
    }
}

fn ended(status: WaitStatus) -> Ended {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ended::Exited(code),
        (None, Some(signal)) => Ended::Signalled(signal),
        (None, None) => Ended::Stopped,
    }
}
