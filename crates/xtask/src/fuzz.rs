//! Runs the fuzz targets of `lab/fuzz`, one after the other, and tells what came of each.
//!
//! An input that reaches further than those of the corpus is left below `target/fuzz`, where the next
//! run finds it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::task::cargo;

/// The folder of the package, its corpus, and where a run leaves what it finds.
const FOLDER: &str = "lab/fuzz";
const CORPUS: &str = "lab/fuzz/corpus";
const FOUND: &str = "target/fuzz";
/// The package, whose one binary runs the target that the variable names.
const PACKAGE: &str = "samovar-fuzz";
const VARIABLE: &str = "SAMOVAR_FUZZ";
/// The word before the seconds for each target, and how many there are without it.
const SECONDS: &str = "--seconds";
const DEFAULT_SECONDS: u64 = 60;
/// Bounds of a run: an input of more bytes, or one that takes more memory or time, is a finding.
const BOUNDS: [&str; 3] = ["-max_len=4096", "-rss_limit_mb=2048", "-timeout=10"];
/// Lines of a failed run that are shown.
const SHOWN_LINES: usize = 40;

/// What the words after the task's name ask for.
#[derive(Debug, PartialEq)]
struct Order {
    seconds: u64,
    targets: Vec<String>,
}

/// What came of a run, as the fuzzer said last.
#[derive(Debug, Default, PartialEq)]
struct Found {
    executions: u64,
    coverage: u64,
    corpus: u64,
    /// The file with the input that failed.
    crash: Option<String>,
}

/// Fuzzes the targets that the words name, or all, each for some seconds.
///
/// # Errors
/// `cargo-fuzz` is missing, a word is no target, the build failed, or a target did.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let Order { seconds, targets } = read(words, &targets(root)?)?;
    let mut probe = cargo();
    let probe = probe.args(["fuzz", "--version"]);
    let status = probe.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !status.is_ok_and(|status| status.success()) {
        return Err("cargo-fuzz is missing: cargo install cargo-fuzz --locked".to_owned());
    }
    let built = fuzz(root, "build").status();
    if !built.is_ok_and(|status| status.success()) {
        return Err("the fuzz targets cannot be built".to_owned());
    }
    let mut rows = Vec::new();
    for target in &targets {
        eprintln!("==> {target}: {seconds} s");
        rows.push((target, fuzz_one(root, target, seconds)?));
    }
    println!("{}", table(&rows));
    let failed = rows.iter().filter(|(_, found)| found.crash.is_some());
    match failed.count() {
        0 => Ok(()),
        count => Err(format!("{count} of {} targets failed", rows.len())),
    }
}

/// The names of the targets, which are those of the folders of the corpus.
fn targets(root: &Path) -> Result<Vec<String>, String> {
    let broken = |cause| format!("{CORPUS}: {cause}");
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join(CORPUS)).map_err(broken)? {
        let name = entry.map_err(broken)?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn read(words: &[String], all: &[String]) -> Result<Order, String> {
    let (mut seconds, mut targets) = (DEFAULT_SECONDS, Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == SECONDS {
            let number = words.next().and_then(|number| number.parse().ok());
            let number = number.filter(|number| *number > 0);
            seconds = number.ok_or(format!("{SECONDS} takes a number of seconds from 1"))?;
        } else if all.contains(word) {
            targets.push(word.clone());
        } else {
            let all = all.join(", ");
            return Err(format!("no fuzz target {word:?}; there are: {all}"));
        }
    }
    if targets.is_empty() {
        targets = all.to_vec();
    }
    Ok(Order { seconds, targets })
}

/// A subcommand of `cargo fuzz` for the one binary. No sanitizer: our crates have no unsafe code but
/// at a few lines, and stable Rust has none.
fn fuzz(root: &Path, subcommand: &str) -> Command {
    let mut command = cargo();
    command
        .current_dir(root)
        .args(["fuzz", subcommand, "--fuzz-dir", FOLDER])
        .args(["--sanitizer", "none", PACKAGE])
        // What makes a released binary smaller only takes time here.
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_STRIP", "none");
    command
}

fn fuzz_one(root: &Path, target: &str, seconds: u64) -> Result<Found, String> {
    let (corpus, crashes) = (
        format!("{FOUND}/corpus/{target}"),
        format!("{FOUND}/crashes/{target}/"),
    );
    for folder in [&corpus, &crashes] {
        let made = fs::create_dir_all(root.join(folder));
        made.map_err(|cause| format!("{folder}: {cause}"))?;
    }
    let output = fuzz(root, "run")
        .args([&corpus, &format!("{CORPUS}/{target}")])
        .arg("--")
        .args(BOUNDS)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={crashes}"))
        .env(VARIABLE, target)
        .output()
        .map_err(|cause| format!("cannot start cargo: {cause}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let mut found = understand(&said);
    if output.status.success() {
        return Ok(found);
    }
    let lines: Vec<_> = said.lines().collect();
    let last = lines.len().saturating_sub(SHOWN_LINES);
    eprintln!("{}", lines[last..].join("\n"));
    let file = found.crash.get_or_insert_with(|| "FILE".to_owned());
    eprintln!("xtask: {target} failed; repeat: cargo run --package {PACKAGE} -- {target} {file}");
    Ok(found)
}

/// Reads what the fuzzer printed: lines such as
/// `#4096 pulse cov: 812 ft: 1904 corp: 210/11Kb …`, and of a crash the file with its input.
fn understand(said: &str) -> Found {
    let mut found = Found::default();
    for line in said.lines() {
        if let Some((_, file)) = line.split_once("Test unit written to ") {
            found.crash = Some(file.trim().to_owned());
        }
        let Some(status) = line.strip_prefix('#').filter(|line| line.contains("cov: ")) else {
            continue;
        };
        found.executions = number(status);
        let after = |name: &str| status.split_once(name).map_or(0, |(_, rest)| number(rest));
        found.coverage = after("cov: ");
        found.corpus = after("corp: ");
    }
    found
}

/// The number that a text begins with.
fn number(text: &str) -> u64 {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let digits = &text[..end.unwrap_or(text.len())];
    digits.parse().unwrap_or(0)
}

fn table(rows: &[(&String, Found)]) -> String {
    let mut table = format!(
        "{:<24}{:>12}{:>10}{:>8}{:>9}",
        "target", "executions", "coverage", "corpus", "crashes"
    );
    for (target, found) in rows {
        let Found {
            executions,
            coverage,
            corpus,
            crash,
        } = found;
        let crashes = u8::from(crash.is_some());
        // A string takes every line.
        let _ = write!(
            table,
            "\n{target:<24}{executions:>12}{coverage:>10}{corpus:>8}{crashes:>9}"
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn words_choose_targets_and_seconds() {
        let all = words("address url");
        for (line, seconds, targets) in [
            ("", 60, "address url"),
            ("url", 60, "url"),
            ("--seconds 5", 5, "address url"),
            ("url --seconds 300 address", 300, "url address"),
        ] {
            let targets = words(targets);
            assert_eq!(read(&words(line), &all), Ok(Order { seconds, targets }));
        }
        for (line, why) in [
            ("urls", "no fuzz target \"urls\"; there are: address, url"),
            ("--seconds", "--seconds takes a number"),
            ("--seconds 0 url", "--seconds takes a number"),
            ("--seconds url", "--seconds takes a number"),
        ] {
            let refused = read(&words(line), &all).expect_err(line);
            assert!(refused.starts_with(why), "{refused}");
        }
    }

    #[test]
    fn the_last_status_and_the_crash_are_read_off_what_the_fuzzer_says() {
        let said = "INFO: seed corpus: files: 3\n\
                    #4\tINITED cov: 80 ft: 90 corp: 3/40b exec/s: 0 rss: 60Mb\n\
                    #4096\tpulse  cov: 812 ft: 1904 corp: 210/11Kb lim: 43 exec/s: 2048\n\
                    ==1== ERROR: libFuzzer: deadly signal\n";
        let whole = Found {
            executions: 4096,
            coverage: 812,
            corpus: 210,
            crash: None,
        };
        assert_eq!(understand(said), whole);
        let file = "target/fuzz/crashes/url/crash-0a1b";
        let crashed = format!("{said}artifact_prefix='x'; Test unit written to {file}\n");
        let crash = Some(file.to_owned());
        assert_eq!(understand(&crashed), Found { crash, ..whole });
        assert_eq!(understand("error: could not compile"), Found::default());
    }
}
