//! What was measured, and on what.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use tokio::time::sleep;

/// The commit that was measured.
pub(crate) struct Commit {
    /// `482ddf3 2026-11-22`: its short hash and its day; `None` outside a repository.
    shown: Option<String>,
    has_changes: bool,
}

/// The machine and its load.
pub(crate) struct Machine {
    /// Processor, cores and kernel.
    pub(crate) name: String,
    /// The mean number of runnable tasks in the last minute.
    pub(crate) load: String,
}

impl Commit {
    /// Asks git, which may be missing.
    pub(crate) fn read(root: &Path) -> Commit {
        // Earlier results are not a change.
        let changes = ["status", "--porcelain", "--", ".", ":!lab/bench/results"];
        Commit {
            shown: git(root, &["show", "--no-patch", "--format=%h %cs", "HEAD"]),
            has_changes: git(root, &changes).is_some(),
        }
    }

    /// The name of the file with its results; the names sort by day.
    pub(crate) fn file_stem(&self) -> String {
        let id = self.id();
        let stem = id.map_or("no-commit".to_owned(), |(hash, day)| {
            format!("{day}-{hash}")
        });
        stem + if self.has_changes { "-changed" } else { "" }
    }

    /// Its name in a sentence.
    pub(crate) fn name(&self) -> String {
        let id = self.id();
        let name = id.map_or("an unknown commit".to_owned(), |(hash, day)| {
            format!("commit {hash} of {day}")
        });
        name + if self.has_changes {
            ", with changes"
        } else {
            ""
        }
    }

    fn id(&self) -> Option<(&str, &str)> {
        self.shown.as_deref()?.split_once(' ')
    }
}

impl Machine {
    /// Asks the system.
    pub(crate) fn read() -> Machine {
        let text = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let plural = if cores == 1 { "" } else { "s" };
        let (processor, kernel) = (text("/proc/cpuinfo"), text("/proc/sys/kernel/osrelease"));
        let (processor, kernel) = (processor_of(&processor), kernel.trim());
        Machine {
            name: format!("{processor}, {cores} core{plural}, Linux {kernel}"),
            load: load_of(&text("/proc/loadavg")).to_owned(),
        }
    }
}

/// Whether others use more than a quarter of the machine, looked at for a second.
///
/// The load would not do: it still counts the build that has just ended.
pub(crate) async fn is_busy() -> bool {
    let idle = || idle_of(&fs::read_to_string("/proc/stat").unwrap_or_default());
    let before = idle();
    sleep(Duration::from_secs(1)).await;
    let spent = before.zip(idle());
    spent.is_some_and(|((idle, all), (later_idle, later_all))| {
        later_idle.saturating_sub(idle) * 4 < (later_all - all) * 3
    })
}

/// The ticks in which nothing ran, and all of them.
fn idle_of(stat: &str) -> Option<(u64, u64)> {
    let ticks = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks = ticks.split_whitespace().map(|ticks| ticks.parse().ok());
    let ticks: Vec<u64> = ticks.collect::<Option<_>>()?;
    // Waiting for a disk is idle, too.
    Some((ticks.get(3)? + ticks.get(4)?, ticks.iter().sum()))
}

/// The name of the first processor, or its kind if it has no name.
fn processor_of(cpuinfo: &str) -> &str {
    let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let name = lines.find(|(name, _)| name.trim() == "model name");
    name.map_or(std::env::consts::ARCH, |(_, value)| value.trim())
}

fn load_of(loadavg: &str) -> &str {
    loadavg.split_whitespace().next().unwrap_or("unknown")
}

/// What git prints; `None` if it fails or prints nothing.
fn git(root: &Path, words: &[&str]) -> Option<String> {
    let git = Command::new("git").current_dir(root).args(words).output();
    let git = git.ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(git.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_named_by_day_and_hash_and_by_its_changes() {
        for (shown, has_changes, stem, name) in [
            (
                Some("482ddf3 2026-11-22"),
                false,
                "2026-11-22-482ddf3",
                "commit 482ddf3 of 2026-11-22",
            ),
            (
                Some("4 2"),
                true,
                "2-4-changed",
                "commit 4 of 2, with changes",
            ),
            (None, false, "no-commit", "an unknown commit"),
        ] {
            let shown = shown.map(str::to_owned);
            let commit = Commit { shown, has_changes };
            assert_eq!(
                (commit.file_stem(), commit.name()),
                (stem.to_owned(), name.to_owned())
            );
        }
    }

    #[test]
    fn the_processor_and_the_load_are_read_where_the_system_names_them() {
        let cpuinfo = "processor\t: 0\nmodel\t\t: 2\nmodel name\t: A: B 9\nmodel name\t: C\n";
        for (cpuinfo, wanted) in [
            (cpuinfo, "A: B 9"),
            ("processor\t: 0\n", std::env::consts::ARCH),
        ] {
            assert_eq!(processor_of(cpuinfo), wanted);
        }
        for (stat, wanted) in [
            ("cpu  1 2 3 40 50 6 7 8 0 0\ncpu0 1\n", Some((90, 117))),
            ("cpu  1 2 3\n", None),
            ("", None),
        ] {
            assert_eq!(idle_of(stat), wanted, "{stat}");
        }
        for (loadavg, wanted) in [("6.44 8.30 8.04 5/135 9125\n", "6.44"), ("", "unknown")] {
            assert_eq!(load_of(loadavg), wanted);
        }
    }
}
