//! One-line breaks of promises, each with the test that has to catch it.
//!
//! Each file of `lab/mutants` is a patch under a header line `caught-by: PACKAGE TEST`. It is
//! applied to the tree, the package's tests run, and it is taken back.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use crate::task::{cargo, now, seconds};

/// Where the patches are, below the root of the workspace.
const FOLDER: &str = "lab/mutants";
/// The word that runs the named tests alone.
const QUICK: &str = "--quick";
/// The file of git's folder that names the patch in the tree, so that a run that was killed is
/// cleaned up by the next.
const APPLIED: &str = "mutant";
/// What nextest exits with when a test failed, and when what it was to run did not build.
const TESTS_FAILED: i32 = 100;

struct Mutant {
    name: String,
    patch: PathBuf,
    package: String,
    test: String,
}

/// What became of a mutant.
enum Verdict {
    /// The named test failed; the others that failed too.
    Caught(Vec<String>),
    /// It was not caught by the named test, and why.
    Missed(String),
}

/// Runs the tests of each package once for each of its mutants. The words are names, or pieces of
/// them; none means all.
///
/// # Errors
/// The tree has changes, a mutant was not caught, or it does not apply any longer.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let is_quick = words.iter().any(|word| word == QUICK);
    let wanted: Vec<&String> = words.iter().filter(|word| *word != QUICK).collect();
    let git = Git { root };
    let applied = root.join(git.says(&["rev-parse", "--git-path", APPLIED])?.trim());
    if let Ok(left) = fs::read_to_string(&applied) {
        git.take_back(Path::new(left.trim()), &applied)?;
    }
    let changes = git.says(&["status", "--porcelain"])?;
    if !changes.is_empty() {
        return Err(format!(
            "commit or stash first; the tree has changes:\n{changes}"
        ));
    }
    let mut mutants = read(root)?;
    mutants.retain(|mutant| {
        wanted.is_empty() || wanted.iter().any(|word| mutant.name.contains(*word))
    });
    if mutants.is_empty() {
        return Err(format!("no mutant of {FOLDER} has such a name"));
    }
    let mut rows = Vec::new();
    for mutant in &mutants {
        eprintln!("==> {}: {} {}", mutant.name, mutant.package, mutant.test);
        let began = now();
        let verdict = match git.apply(mutant, &applied) {
            Ok(()) => test(root, mutant, is_quick),
            Err(why) => Ok(Verdict::Missed(why)),
        };
        if applied.exists() {
            git.take_back(&mutant.patch, &applied)?;
        }
        let verdict = verdict.map_err(|error| format!("cannot start cargo: {error}"))?;
        rows.push((mutant, verdict, seconds(began.elapsed())));
    }
    let missed = rows
        .iter()
        .filter(|(_, verdict, _)| matches!(verdict, Verdict::Missed(_)));
    let missed = missed.count();
    for (mutant, verdict, after) in &rows {
        let what = match verdict {
            Verdict::Caught(others) if others.is_empty() => "caught".to_owned(),
            Verdict::Caught(others) => format!("caught, also by {}", others.join(", ")),
            Verdict::Missed(why) => format!("MISSED: {why}"),
        };
        println!("{:<42}{after:>9}  {what}", mutant.name);
    }
    println!("{} of {} mutants caught", rows.len() - missed, rows.len());
    if missed == 0 {
        Ok(())
    } else {
        Err(format!("{missed} mutants were not caught"))
    }
}

/// The mutants by name.
fn read(root: &Path) -> Result<Vec<Mutant>, String> {
    let broken = |error: io::Error| format!("{FOLDER}: {error}");
    let mut mutants = Vec::new();
    for entry in fs::read_dir(root.join(FOLDER)).map_err(broken)? {
        let patch = entry.map_err(broken)?.path();
        if patch
            .extension()
            .is_none_or(|extension| extension != "patch")
        {
            continue;
        }
        let name = patch
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let content = fs::read_to_string(&patch).map_err(broken)?;
        let header = content
            .lines()
            .find_map(|line| line.strip_prefix("caught-by: "));
        let (package, test) = header
            .and_then(|header| header.trim().split_once(' '))
            .ok_or_else(|| format!("{name}: there is no line `caught-by: PACKAGE TEST` in it"))?;
        let (package, test) = (package.to_owned(), test.to_owned());
        mutants.push(Mutant {
            name,
            patch,
            package,
            test,
        });
    }
    mutants.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(mutants)
}

/// Runs the tests that are to catch what is in the tree now.
fn test(root: &Path, mutant: &Mutant, is_quick: bool) -> io::Result<Verdict> {
    let mut command = cargo();
    command
        .current_dir(root)
        .args(["nextest", "run", "--all-features", "--no-fail-fast"]);
    // Ends with the summary, which names what failed once more.
    command.args([
        "--status-level",
        "none",
        "--final-status-level",
        "fail",
        "--failure-output",
        "never",
    ]);
    command.args(["--package", &mutant.package]);
    // What breaks here is not worth a file of the tree.
    command.env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true");
    if is_quick {
        command.args(["-E", &format!("test(={})", mutant.test)]);
    }
    let ended = command.output()?;
    let said = String::from_utf8_lossy(&ended.stderr);
    if ended.status.success() {
        return Ok(Verdict::Missed("every test passes".to_owned()));
    }
    if ended.status.code() != Some(TESTS_FAILED) {
        eprintln!("{said}");
        return Ok(Verdict::Missed(format!(
            "its tests did not run ({})",
            ended.status
        )));
    }
    let failed = said.lines().filter_map(failed_test).map(str::to_owned);
    let (named, others): (Vec<_>, Vec<_>) = failed.partition(|name| *name == mutant.test);
    Ok(if named.is_empty() {
        Verdict::Missed(format!("other tests failed: {}", others.join(", ")))
    } else {
        Verdict::Caught(others)
    })
}

/// The test of a line such as `FAIL [   0.010s] (1/2) samovar-wire sse::tests::name`.
fn failed_test(line: &str) -> Option<&str> {
    let (status, rest) = line.trim_start().split_once(" [")?;
    let is_failure =
        status.starts_with("FAIL") || status.starts_with("TIMEOUT") || status.starts_with("SIG");
    rest.rsplit(' ').next().filter(|_| is_failure)
}

struct Git<'a> {
    root: &'a Path,
}

impl Git<'_> {
    fn says(&self, words: &[&str]) -> Result<String, String> {
        let mut command = Command::new("git");
        let ended = command.current_dir(self.root).args(words).output();
        let ended = ended.map_err(|error| format!("cannot start git: {error}"))?;
        if ended.status.success() {
            return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
        }
        let why = String::from_utf8_lossy(&ended.stderr);
        Err(format!("git {}: {}", words.join(" "), why.trim()))
    }

    /// Notes first what it applies.
    fn apply(&self, mutant: &Mutant, applied: &Path) -> Result<(), String> {
        let patch = mutant.patch.to_string_lossy();
        self.says(&["apply", "--check", &patch])?;
        fs::write(applied, patch.as_bytes()).map_err(|error| error.to_string())?;
        self.says(&["apply", &patch]).map(drop)
    }

    /// Takes a patch back, unless it was noted and not applied.
    fn take_back(&self, patch: &Path, applied: &Path) -> Result<(), String> {
        let patch = patch.to_string_lossy();
        if !self.says(&["status", "--porcelain"])?.is_empty() {
            self.says(&["apply", "--reverse", &patch])?;
        }
        fs::remove_file(applied).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_fits_the_tree() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for mutant in read(&root).unwrap() {
            let mut git = Command::new("git");
            let check = git.args(["apply", "--check"]).arg(&mutant.patch);
            let checked = check.current_dir(&root).output().unwrap();
            assert!(checked.status.success(), "{}: {checked:?}", mutant.name);
        }
    }

    #[test]
    fn a_failed_test_is_known_by_its_line() {
        for (line, name) in [
            (
                "        FAIL [   0.010s] (1/2) samovar-wire sse::tests::name",
                Some("sse::tests::name"),
            ),
            (
                "     TIMEOUT [  60.010s] (─/2) samovar::it serve::name",
                Some("serve::name"),
            ),
            (
                "     SIGABRT [   0.010s] (2/2) samovar::it serve::name",
                Some("serve::name"),
            ),
            (
                "     Summary [   0.010s] 2 tests run: 1 passed, 1 failed",
                None,
            ),
            ("error: test run failed", None),
        ] {
            assert_eq!(failed_test(line), name, "{line}");
        }
    }
}
