//! What was measured, and on what.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

/// The commit that was measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Commit {
    /// Its short hash and its day, `482ddf3 2026-11-22`; none outside a repository.
    id: Option<(String, String)>,
    /// Whether files differ from it.
    is_changed: bool,
}

/// The machine, and how busy it was.
pub(crate) struct Machine {
    processor: String,
    cores: usize,
    kernel: String,
    /// How many tasks wanted to run, in the mean of the last minute.
    pub(crate) load: String,
}

impl Commit {
    /// Asks git, which need not be there.
    pub(crate) fn read(root: &Path) -> Commit {
        let shown = git(root, &["show", "--no-patch", "--format=%h %cs", "HEAD"]);
        // Results that were kept before are no change.
        let changed = git(
            root,
            &["status", "--porcelain", "--", ".", ":!lab/bench/results"],
        );
        Commit::of(&shown.unwrap_or_default(), &changed.unwrap_or_default())
    }

    fn of(shown: &str, changed: &str) -> Commit {
        let id = shown.trim().split_once(' ');
        Commit {
            id: id.map(|(hash, day)| (hash.to_owned(), day.to_owned())),
            is_changed: !changed.trim().is_empty(),
        }
    }

    /// The name that the results of this commit have among others, which sort by day.
    pub(crate) fn file_stem(&self) -> String {
        let stem = match &self.id {
            Some((hash, day)) => format!("{day}-{hash}"),
            None => "no-commit".to_owned(),
        };
        if self.is_changed {
            stem + "-changed"
        } else {
            stem
        }
    }
}

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.id {
            Some((hash, day)) => write!(f, "commit {hash} of {day}")?,
            None => f.write_str("an unknown commit")?,
        }
        if self.is_changed {
            f.write_str(", with changes")?;
        }
        Ok(())
    }
}

impl Machine {
    /// Asks the system; what it does not say is left open.
    pub(crate) fn read() -> Machine {
        let text = |file: &str| fs::read_to_string(file).unwrap_or_default();
        Machine {
            processor: processor(&text("/proc/cpuinfo")).to_owned(),
            cores: thread::available_parallelism().map_or(1, usize::from),
            kernel: text("/proc/sys/kernel/osrelease").trim().to_owned(),
            load: load(&text("/proc/loadavg")).to_owned(),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = if self.cores == 1 { "core" } else { "cores" };
        let Machine {
            processor, kernel, ..
        } = self;
        write!(f, "{processor}, {} {cores}, Linux {kernel}", self.cores)
    }
}

/// The first processor's name; those of some kinds have none.
fn processor(cpuinfo: &str) -> &str {
    let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let name = lines.find(|(name, _)| name.trim() == "model name");
    name.map_or(std::env::consts::ARCH, |(_, value)| value.trim())
}

fn load(loadavg: &str) -> &str {
    loadavg.split_whitespace().next().unwrap_or("unknown")
}

fn git(root: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .current_dir(root)
        .args(words)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_named_by_day_and_hash_and_by_what_differs_from_it() {
        for (shown, changed, stem, said) in [
            (
                "482ddf3 2026-11-22\n",
                "",
                "2026-11-22-482ddf3",
                "commit 482ddf3 of 2026-11-22",
            ),
            (
                "482ddf3 2026-11-22\n",
                " M src/main.rs\n",
                "2026-11-22-482ddf3-changed",
                "commit 482ddf3 of 2026-11-22, with changes",
            ),
            ("", "", "no-commit", "an unknown commit"),
        ] {
            let commit = Commit::of(shown, changed);
            assert_eq!(
                (commit.file_stem().as_str(), commit.to_string().as_str()),
                (stem, said)
            );
        }
    }

    #[test]
    fn the_processor_is_named_where_the_system_names_it() {
        let cpuinfo = "processor\t: 0\nmodel\t\t: 2\nmodel name\t: A: B 9\nmodel name\t: C\n";

        assert_eq!(processor(cpuinfo), "A: B 9");
        assert_eq!(
            processor("processor\t: 0\nBogoMIPS\t: 50.00\n"),
            std::env::consts::ARCH
        );
    }

    #[test]
    fn the_load_is_that_of_the_last_minute() {
        assert_eq!(load("6.44 8.30 8.04 5/135 9125\n"), "6.44");
        assert_eq!(load(""), "unknown");
    }
}
