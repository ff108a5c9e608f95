//! What the system knows about the programs that were started.

use std::fs;
use std::time::Duration;

/// How long one tick of `/proc` is, on every machine that runs Linux.
const TICK: Duration = Duration::from_millis(10);

/// The CPU time, user and system, of all children that have ended so far. It is counted in ticks of
/// 10 ms, so a difference is worth something over many children.
///
/// # Errors
///
/// There is no `/proc`, or it looks otherwise.
pub(crate) fn cpu() -> Result<Duration, String> {
    let stat = read("/proc/self/stat")?;
    cpu_of(&stat).ok_or_else(|| format!("/proc/self/stat says no times of children: {stat}"))
}

/// The memory that a process holds, in kB of 1024 bytes.
///
/// # Errors
///
/// There is no such process, or no `/proc`.
pub(crate) fn resident_kib(process: u32) -> Result<u32, String> {
    let file = format!("/proc/{process}/status");
    let status = read(&file)?;
    resident_of(&status).ok_or_else(|| format!("{file} says no VmRSS"))
}

fn read(file: &str) -> Result<String, String> {
    fs::read_to_string(file).map_err(|cause| format!("{file}: {cause}"))
}

fn cpu_of(stat: &str) -> Option<Duration> {
    // The name of the program comes before, in brackets, and may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(13);
    let (user, system): (u32, u32) = (times.next()?.parse().ok()?, times.next()?.parse().ok()?);
    TICK.checked_mul(user.checked_add(system)?)
}

fn resident_of(status: &str) -> Option<u32> {
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_times_of_children_are_the_sixteenth_and_seventeenth_field() {
        let stat = "12 (a) b) R 4 5 6 7 8 9 10 11 12 13 14 15 160 17 18 19 20\n";

        assert_eq!(cpu_of(stat), Some(Duration::from_millis(1770)));
    }

    #[test]
    fn what_has_too_few_fields_or_no_numbers_says_no_times() {
        for stat in [
            "",
            "12 (a)",
            "12 (a) R 4 5 6",
            "1 (a) R 4 5 6 7 8 9 10 11 12 13 14 15 x y",
        ] {
            assert_eq!(cpu_of(stat), None, "{stat}");
        }
    }

    #[test]
    fn the_memory_is_that_of_the_line_vmrss() {
        let status = "Name:\tx\nVmHWM:\t   99 kB\nVmRSS:\t   12345 kB\nThreads:\t1\n";

        assert_eq!(resident_of(status), Some(12345));
        assert_eq!(resident_of("Name:\tx\nVmRSS:\t12 MB\n"), None);
        assert_eq!(resident_of("Name:\tx\n"), None);
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
        assert!(resident_kib(std::process::id()).unwrap() > 0);
    }
}
