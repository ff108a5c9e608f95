//! What the system knows about the programs that were started.

use std::fs;
use std::time::Duration;

/// How long one tick of `/proc` is, on every machine that runs Linux.
const TICK: Duration = Duration::from_millis(10);

/// How many fields of `/proc/PID/stat` stand between the program's name and its own times.
const OWN: usize = 11;

/// The same for the times of its children.
const OF_CHILDREN: usize = 13;

/// What `/proc/net/tcp` calls a connection that is not ended.
const ESTABLISHED: &str = "01";

/// The CPU time, user and system, of all children that have ended so far. It is counted in ticks of
/// 10 ms, so a difference is worth something over many children.
///
/// # Errors
///
/// There is no `/proc`, or it looks otherwise.
pub(crate) fn cpu() -> Result<Duration, String> {
    let stat = read("/proc/self/stat")?;
    cpu_behind(&stat, OF_CHILDREN)
        .ok_or_else(|| format!("/proc/self/stat says no times of children: {stat}"))
}

/// The CPU time, user and system, that a process has taken so far, with all its threads; in ticks
/// of 10 ms.
///
/// # Errors
///
/// There is no such process, or no `/proc`.
pub(crate) fn cpu_of_process(process: u32) -> Result<Duration, String> {
    let file = format!("/proc/{process}/stat");
    let stat = read(&file)?;
    cpu_behind(&stat, OWN).ok_or_else(|| format!("{file} says no times: {stat}"))
}

/// The memory that a process holds, in kB of 1024 bytes.
///
/// # Errors
///
/// There is no such process, or no `/proc`.
pub(crate) fn resident_kib(process: u32) -> Result<u32, String> {
    kib(process, "VmRSS")
}

/// What of it is the process's own, without the files that it has mapped.
///
/// # Errors
///
/// There is no such process, or no `/proc`.
pub(crate) fn anonymous_kib(process: u32) -> Result<u32, String> {
    kib(process, "RssAnon")
}

/// Bytes that the system holds for each client of a port because it has not taken them.
///
/// # Errors
///
/// There is no `/proc`.
pub(crate) fn untaken(port: u16) -> Result<Vec<u32>, String> {
    let table = read("/proc/self/net/tcp")?;
    Ok(untaken_of(&table, port).collect())
}

fn read(file: &str) -> Result<String, String> {
    fs::read_to_string(file).map_err(|cause| format!("{file}: {cause}"))
}

fn cpu_behind(stat: &str, fields: usize) -> Option<Duration> {
    // The name of the program comes before, in brackets, and may hold anything.
    let (_, behind) = stat.rsplit_once(')')?;
    let mut times = behind.split_whitespace().skip(fields);
    let (user, system): (u32, u32) = (times.next()?.parse().ok()?, times.next()?.parse().ok()?);
    TICK.checked_mul(user.checked_add(system)?)
}

fn kib(process: u32, name: &str) -> Result<u32, String> {
    let file = format!("/proc/{process}/status");
    let status = read(&file)?;
    kib_of(&status, name).ok_or_else(|| format!("{file} says no {name}"))
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

        assert_eq!(cpu_behind(stat, OWN), Some(Duration::from_millis(290)));
        assert_eq!(
            cpu_behind(stat, OF_CHILDREN),
            Some(Duration::from_millis(1770))
        );
    }

    #[test]
    fn what_has_too_few_fields_or_no_numbers_says_no_times() {
        for stat in [
            "",
            "12 (a)",
            "12 (a) R 4 5 6",
            "1 (a) R 4 5 6 7 8 9 10 11 12 13 14 15 x y",
        ] {
            assert_eq!(cpu_behind(stat, OF_CHILDREN), None, "{stat}");
        }
    }

    #[test]
    fn the_memory_is_that_of_the_line_of_its_name() {
        let status = "Name:\tx\nVmHWM:\t   99 kB\nVmRSS:\t   12345 kB\nRssAnon:\t 7 kB\n";

        assert_eq!(kib_of(status, "VmRSS"), Some(12345));
        assert_eq!(kib_of(status, "RssAnon"), Some(7));
        assert_eq!(kib_of("Name:\tx\nVmRSS:\t12 MB\n", "VmRSS"), None);
        assert_eq!(kib_of("Name:\tx\n", "VmRSS"), None);
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
        assert!(anonymous_kib(this).unwrap() < resident_kib(this).unwrap());
        assert!(cpu_of_process(this).is_ok() && untaken(1).is_ok());
    }
}
