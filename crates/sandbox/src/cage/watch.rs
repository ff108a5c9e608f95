//! The life of a command: until it ends, the server asks for its end, or it takes too much.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, pidfd_open, wait, waitpid,
};

use super::plan::{Ended, Level, Plan};

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
    page: u64,
}

/// What its processes take.
#[derive(Default)]
struct Taken {
    memory: u64,
    tasks: u64,
}

impl Watched {
    pub(super) fn new(plan: &Plan, child: Pid) -> Self {
        Self {
            child,
            memory: plan.limits.memory,
            processes: plan.limits.processes,
            is_alone: plan.level == Level::Namespaces,
            page: rustix::param::page_size() as u64,
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
        for pid in self.members() {
            let of =
                |file: &str| fs::read_to_string(format!("/proc/{}/{file}", pid.as_raw_nonzero()));
            let pages = of("statm").ok().and_then(|text| {
                let mut fields = text.split(' ').skip(1);
                let resident: u64 = fields.next()?.parse().ok()?;
                let shared: u64 = fields.next()?.parse().ok()?;
                Some(resident.saturating_sub(shared))
            });
            taken.memory += pages.unwrap_or_default() * self.page;
            let threads = of("stat").ok().and_then(|text| {
                let (_, fields) = text.rsplit_once(") ")?;
                fields.split(' ').nth(17)?.parse::<u64>().ok()
            });
            taken.tasks += threads.unwrap_or(1);
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

    /// Ends every process of the command.
    fn end(&self) {
        if self.is_alone {
            // They end with this process, which is their first.
            return;
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
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn parent(pid: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    Pid::from_raw(fields.split(' ').nth(1)?.parse().ok()?)
}

/// Watches a command, and takes all of its processes down when it is over. `failed` is where the
/// command says why it does not run.
pub(super) fn until_it_ends(
    watched: &Watched,
    control: &UnixStream,
    failed: &UnixStream,
) -> io::Result<Ended> {
    let process = pidfd_open(watched.child, PidfdFlags::empty())?;
    let tick = if watched.is_alone {
        TICK
    } else {
        TICK_AMONG_ALL
    };
    let tick = Timespec::try_from(tick).map_err(io::Error::other)?;
    let ended = loop {
        let mut watching = [
            PollFd::new(&process, PollFlags::IN),
            PollFd::from_borrowed_fd(control.as_fd(), PollFlags::IN),
        ];
        match poll(&mut watching, Some(&tick)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [process, control] = watching;
        if !control.revents().is_empty() {
            break Ended::Stopped;
        }
        if let Some(status) = reap(watched.child, !process.revents().is_empty()) {
            break status;
        }
        if let Some(excess) = watched.excess() {
            break excess;
        }
    };
    watched.end();
    let mut line = String::new();
    failed.set_nonblocking(true)?;
    let _none = BufReader::new(failed).read_line(&mut line);
    Ok(serde_json::from_str(&line).unwrap_or(ended))
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
