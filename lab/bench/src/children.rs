//! What the system knows about the processes of the binary.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// A tick of `/proc`, on every machine that runs Linux.
const TICK: Duration = Duration::from_millis(10);

/// How many fields of `/proc/PID/stat` are between the program's name and its own times.
const OWN: usize = 11;

/// The same for the times of its children.
const OF_CHILDREN: usize = 13;

/// The state of an open connection in `/proc/net/tcp`.
const ESTABLISHED: &str = "01";

/// The CPU time, user and system, of all children that have ended. It is counted in ticks of 10 ms,
/// so only a difference over many children is exact.
pub(crate) fn cpu() -> Result<Duration> {
    cpu_in("/proc/self/stat", OF_CHILDREN)
}

/// The CPU time, user and system, of a process with all its threads; in ticks of 10 ms.
pub(crate) fn cpu_of_process(process: u32) -> Result<Duration> {
    cpu_in(&format!("/proc/{process}/stat"), OWN)
}

/// The CPU time of a process from here on.
pub(crate) struct CpuUse {
    process: u32,
    before: Duration,
    threads: HashMap<OsString, Duration>,
}

impl CpuUse {
    pub(crate) fn by(process: u32) -> Result<CpuUse> {
        Ok(CpuUse {
            process,
            before: cpu_of_process(process)?,
            threads: threads(process)?,
        })
    }

    /// What each of so many operations took, in microseconds.
    ///
    /// The system counts threads in nanoseconds, but leaves out those that have ended; the process
    /// with all of them it counts in ticks, which are too coarse for the work of a few turns.
    pub(crate) fn microseconds_each(&self, operations: u32) -> Result<f64> {
        let ticks = cpu_of_process(self.process)?.saturating_sub(self.before);
        let now = threads(self.process)?.into_iter();
        let spent = now.map(|(thread, time)| {
            let before = self.threads.get(&thread).copied();
            time.saturating_sub(before.unwrap_or_default())
        });
        let spent: Duration = spent.sum();
        let spent = spent.max(ticks.saturating_sub(TICK));
        Ok(spent.as_secs_f64() * 1_000_000.0 / f64::from(operations))
    }
}

/// The CPU time of each thread of a process.
fn threads(process: u32) -> Result<HashMap<OsString, Duration>> {
    let folder = format!("/proc/{process}/task");
    let threads = fs::read_dir(&folder).context(folder)?;
    let times = threads.filter_map(|thread| {
        let thread = thread.ok()?;
        // It may have ended since.
        let times = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let nanoseconds = times.split_whitespace().next()?.parse().ok()?;
        Some((thread.file_name(), Duration::from_nanos(nanoseconds)))
    });
    Ok(times.collect())
}

/// The most memory that a process ever held, in KiB.
pub(crate) fn peak_kib(process: u32) -> Result<u32> {
    kib(process, "VmHWM")
}

/// The memory of a process without the files that it has mapped, in kB of 1024 bytes.
pub(crate) fn anonymous_kib(process: u32) -> Result<u32> {
    kib(process, "RssAnon")
}

/// The bytes that the system holds for each client of a port because the client has not taken them.
pub(crate) fn untaken(port: u16) -> Result<Vec<u32>> {
    let table = read("/proc/self/net/tcp")?;
    Ok(untaken_of(&table, port).collect())
}

fn read(file: &str) -> Result<String> {
    fs::read_to_string(file).with_context(|| file.to_owned())
}

fn cpu_in(file: &str, fields: usize) -> Result<Duration> {
    let stat = read(file)?;
    cpu_of(&stat, fields).with_context(|| format!("{file} has no times: {stat}"))
}

fn cpu_of(stat: &str, fields: usize) -> Option<Duration> {
    // The name of the program comes before, in brackets, and may contain anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut times = rest.split_whitespace().skip(fields);
    let (user, system): (u32, u32) = (times.next()?.parse().ok()?, times.next()?.parse().ok()?);
    TICK.checked_mul(user.checked_add(system)?)
}

fn kib(process: u32, name: &str) -> Result<u32> {
    let file = format!("/proc/{process}/status");
    kib_of(&read(&file)?, name).with_context(|| format!("{file} has no {name}"))
}

fn kib_of(status: &str, name: &str) -> Option<u32> {
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn untaken_of(table: &str, port: u16) -> impl Iterator<Item = u32> {
    let end = format!(":{port:04X}");
    table.lines().filter_map(move |line| {
        let mut columns = line.split_whitespace().skip(1);
        let (local, _, state) = (columns.next()?, columns.next()?, columns.next()?);
        let (unsent, _) = columns.next()?.split_once(':')?;
        let is_of_port = local.ends_with(&end) && state == ESTABLISHED;
        u32::from_str_radix(unsent, 16).ok().filter(|_| is_of_port)
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_times_of_a_process_come_before_those_of_its_children() {
        let stat = "12 (a) b) R 4 5 6 7 8 9 10 11 12 13 14 15 160 17 18 19 20\n";
        for (stat, fields, wanted) in [
            (stat, OWN, Some(290)),
            (stat, OF_CHILDREN, Some(1770)),
            ("", OWN, None),
            ("12 (a)", OWN, None),
            ("12 (a) R 4 5 6", OWN, None),
            ("1 (a) R 4 5 6 7 8 9 10 11 12 13 x y", OWN, None),
        ] {
            let wanted = wanted.map(Duration::from_millis);
            assert_eq!(cpu_of(stat, fields), wanted, "{stat}");
        }
    }

    #[test]
    fn the_memory_is_that_of_the_line_of_its_name() {
        let status = "Name:\tx\nVmHWM:\t   99 kB\nVmRSS:\t   12345 kB\nRssAnon:\t 7 kB\nX:\t1 MB\n";
        for (name, wanted) in [
            ("VmHWM", Some(99)),
            ("RssAnon", Some(7)),
            ("X", None),
            ("Y", None),
        ] {
            assert_eq!(kib_of(status, name), wanted, "{name}");
        }
    }

    #[test]
    fn what_clients_have_not_taken_is_counted_for_each_connection_of_the_port() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n   \
                     0: 0100007F:128B 00000000:0000 0A 00000000:00000003 00:00000000\n   \
                     1: 0100007F:128B 0100007F:9000 01 00040000:00000000 00:00000000\n   \
                     2: 0100007F:128B 0100007F:9001 01 0000000A:00000000 00:00000000\n   \
                     3: 0100007F:128B 0100007F:9002 06 00000001:00000000 00:00000000\n   \
                     4: 0100007F:9000 0100007F:128B 01 00000001:00000000 00:00000000\n";

        let counted: Vec<u32> = untaken_of(table, 0x128B).collect();

        assert_eq!(counted, [0x40000, 10]);
    }

    #[test]
    fn a_child_that_has_ended_counts() {
        let before = cpu().unwrap();
        // Ends by itself, after work that is worth several ticks.
        let count = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let ended = Command::new("/bin/sh")
            .args(["-c", count])
            .status()
            .unwrap();

        assert!(ended.success());
        assert!(cpu().unwrap() > before);
        let this = std::process::id();
        // The threads are counted more finely than in ticks.
        let cpu = CpuUse::by(this).unwrap();
        let finely = || cpu.microseconds_each(1).unwrap() % 10_000.0 > 0.0;
        assert!((0..20).any(|_| finely()));
        assert!(cpu_of_process(this).is_ok() && untaken(1).is_ok());
    }
}
