//! The tasks as a person meets them: a command line, what it prints, its exit code.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

/// Stands in for the programs that a task asks.
const FAKE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fake-program.sh");

/// Runs `cargo xtask` with a cargo that does nothing but tell; `fails` is the subcommand it fails.
fn xtask(words: &[&str], fails: &str) -> Output {
    all_is_there("all-is-there").xtask(words, fails)
}

/// A tree whose packages are all there, as those of npm are told to be; pip looks each time.
fn all_is_there(name: &str) -> Tree {
    let tree = Tree::new(name);
    for folder in [Tree::CLIENT, Tree::NODE_AGENT] {
        tree.has(folder, Tree::LOCK, 1);
        tree.has(folder, Tree::INSTALLED, 2);
    }
    tree.has_program("examples/relay-python/.venv/bin/python");
    tree.has_program("examples/relay-python/.venv/bin/pip");
    tree
}

/// A workspace with nothing but what tells whether packages are there, and a folder of programs.
struct Tree {
    root: PathBuf,
}

impl Tree {
    const CLIENT: &str = "clients/typescript";
    const NODE_AGENT: &str = "examples/relay-typescript";
    const LOCK: &str = "package-lock.json";
    const INSTALLED: &str = "node_modules/.package-lock.json";

    /// A tree of its own for every test, empty at its start.
    fn new(name: &str) -> Tree {
        let process = std::process::id().to_string();
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(process + name);
        for folder in [
            "crates/xtask",
            "clients/typescript/node_modules",
            "examples/relay-typescript/node_modules",
            "examples/relay-python/.venv/bin",
            "bin",
        ] {
            fs::create_dir_all(root.join(folder)).expect("the folder is ours");
        }
        Tree { root }
    }

    /// Puts a program there that does nothing but tell.
    fn has_program(&self, path: &str) {
        symlink(FAKE, self.root.join(path)).expect("the folder is ours");
    }

    /// Puts a file into a folder that was written at this second.
    fn has(&self, folder: &str, file: &str, second: u64) {
        let file = File::create(self.root.join(folder).join(file));
        let file = file.expect("the folder is ours");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        file.set_modified(time).expect("the file is ours");
    }

    /// The same as the function, with no program but those of the tree.
    fn xtask(&self, words: &[&str], fails: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_samovar-xtask"))
            .args(words)
            .env("CARGO", FAKE)
            .env("CARGO_PKG_NAME", "samovar-xtask")
            .env("CARGO_MANIFEST_DIR", self.root.join("crates/xtask"))
            .env("PATH", self.root.join("bin"))
            .env("FAILS", fails)
            .env_remove("NEXTEST_TEST_THREADS")
            .output()
            .expect("the binary under test was just built")
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.root).expect("the folder is ours");
    }
}

/// The subcommands that cargo was asked for, in order.
fn asked(output: &Output) -> Vec<String> {
    lines(output)
        .filter_map(|line| line.strip_prefix("asked: "))
        .filter_map(|words| words.split(' ').next().map(str::to_owned))
        .collect()
}

fn lines(output: &Output) -> impl Iterator<Item = &str> {
    std::str::from_utf8(&output.stdout)
        .expect("the tasks print text")
        .lines()
}

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn check_is_format_and_lints() {
    let output = xtask(&["check"], "");

    assert!(output.status.success());
    assert_eq!(asked(&output), ["fmt", "clippy"]);
}

#[test]
fn the_gate_ends_with_the_tests_and_tells_how_long_each_step_took() {
    let output = xtask(&["test"], "");

    assert!(output.status.success());
    assert_eq!(
        asked(&output),
        ["fmt", "clippy", "doc", "install", "nextest"]
    );
    for step in ["format", "lints", "docs", "examples", "tests"] {
        let passed = format!("<== {step} passed in ");
        assert!(
            complaint(&output).contains(&passed),
            "{}",
            complaint(&output)
        );
    }
}

#[test]
fn the_proofs_are_a_profile_of_the_tests_and_with_flags_a_build_of_their_own() {
    let output = xtask(&["prove", "--release", "--kills", "7"], "");

    assert!(output.status.success(), "{}", complaint(&output));
    let line = lines(&output).next().unwrap_or_default();
    let wanted = "asked: run --package samovar --features failpoints,plant --release -- prove \
                  --kills 7 [";
    assert!(line.starts_with(wanted), "{line}");
    let plain = xtask(&["prove"], "");
    let wanted = "asked: nextest run --workspace --all-features --no-fail-fast --profile proof [";
    assert!(lines(&plain).all(|line| line.starts_with(wanted)));
    assert_eq!(asked(&plain).len(), 1);
}

#[test]
fn two_tests_run_at_once_on_each_core() {
    let output = xtask(&["test"], "");

    let cores = std::thread::available_parallelism().expect("a machine has cores");
    let tests = lines(&output).last().unwrap_or_default();
    assert!(
        tests.ends_with(&format!("[THREADS={}]", 2 * cores.get())),
        "{tests}"
    );
}

#[test]
fn the_bench_measures_a_release_build_and_needs_one() {
    for (fails, code, wanted) in [
        ("", 0, &["build", "run"][..]),
        ("run", 1, &["build", "run"]),
        ("build", 1, &["build"]),
    ] {
        let output = xtask(&["bench"], fails);

        assert_eq!(output.status.code(), Some(code), "{}", complaint(&output));
        assert_eq!(asked(&output), wanted);
        let mut lines = lines(&output);
        let builds = "asked: build --release --package samovar [";
        assert!(lines.next().unwrap_or_default().starts_with(builds));
        let runs = "asked: run --release --package samovar-bench [";
        assert!(lines.all(|line| line.starts_with(runs)));
    }
}

#[test]
fn the_examples_are_shown_when_they_fail() {
    let output = xtask(&["test"], "test");

    assert_eq!(output.status.code(), Some(1));
    assert_eq!(asked(&output), ["fmt", "clippy", "doc", "test"]);
}

#[test]
fn every_step_covers_the_whole_workspace_with_one_feature_set() {
    // The examples, whose output is shown only when they fail, and then the tests.
    let (first, last) = (xtask(&["test"], "test"), xtask(&["test"], ""));

    let is_cargo = |line: &&str| !line.starts_with("asked: install ");
    for line in lines(&first).chain(lines(&last)).filter(is_cargo) {
        let covers_all = line.contains("--workspace --all-") || line.contains("fmt --all ");
        assert!(covers_all, "{line}");
    }
}

#[test]
fn warnings_fail_the_lints_and_the_docs() {
    let output = xtask(&["test"], "");

    let strict: Vec<&str> = lines(&output)
        .filter(|line| line.contains("-D warnings"))
        .collect();
    let [lints, docs] = strict.as_slice() else {
        unreachable!("two steps are strict: {strict:?}")
    };
    assert!(
        lints.contains("clippy") && lints.contains("-- -D warnings"),
        "{lints}"
    );
    assert!(
        docs.contains("doc") && docs.contains("[RUSTDOCFLAGS=-D warnings]"),
        "{docs}"
    );
}

#[test]
fn the_first_failing_step_ends_the_task() {
    let output = xtask(&["test"], "clippy");

    assert_eq!(output.status.code(), Some(1));
    assert_eq!(asked(&output), ["fmt", "clippy"]);
    assert!(
        complaint(&output).contains("xtask: lints failed after"),
        "{}",
        complaint(&output)
    );
}

#[test]
fn a_missing_nextest_is_told_with_the_command_that_installs_it() {
    let output = xtask(&["test"], "nextest");

    assert_eq!(output.status.code(), Some(1));
    assert_eq!(asked(&output), [""; 0]);
    assert!(complaint(&output).contains("cargo install cargo-nextest --locked"));
}

#[test]
fn packages_that_are_missing_or_older_than_their_list_are_installed_before_the_tests() {
    for folder in [Tree::CLIENT, Tree::NODE_AGENT] {
        let tree = all_is_there(&folder.replace('/', "-"));
        tree.has(folder, Tree::LOCK, 3);
        tree.has_program("bin/npm");

        let old = tree.xtask(&["test"], "");
        let failing = tree.xtask(&["test"], "ci");
        fs::remove_file(tree.root.join(folder).join(Tree::INSTALLED)).expect("it is there");
        let missing = tree.xtask(&["test"], "");
        tree.has(folder, Tree::INSTALLED, 3);
        let there = tree.xtask(&["test"], "");

        let all = ["fmt", "clippy", "doc", "ci", "install", "nextest"];
        assert_eq!(asked(&old), all);
        let wanted = format!("asked: ci --prefix {folder} ");
        assert!(lines(&old).any(|line| line.starts_with(&wanted)));
        assert_eq!(failing.status.code(), Some(1));
        assert_eq!(asked(&failing), all[..4]);
        assert_eq!(asked(&missing), all);
        assert_eq!(
            asked(&there),
            ["fmt", "clippy", "doc", "install", "nextest"]
        );
        assert!(complaint(&there).contains("packages: left out, they are there"));
    }
}

#[test]
fn a_folder_for_packages_of_python_is_made_where_there_is_none_or_half_of_one() {
    let tree = Tree::new("python");
    tree.has_program("bin/python3");
    // Python leaves this behind where the system has no pip for it.
    tree.has_program("examples/relay-python/.venv/bin/python");

    let half = tree.xtask(&["test"], "");
    let failing = tree.xtask(&["test"], "-m");
    tree.has_program("examples/relay-python/.venv/bin/pip");
    let there = tree.xtask(&["test"], "");
    let failing_pip = tree.xtask(&["test"], "install");

    let wanted = "asked: -m venv --clear examples/relay-python/.venv ";
    assert!(lines(&half).any(|line| line.starts_with(wanted)));
    assert_eq!(failing.status.code(), Some(1));
    assert_eq!(asked(&failing), ["fmt", "clippy", "doc", "-m"]);
    assert_eq!(
        asked(&there),
        ["fmt", "clippy", "doc", "install", "nextest"]
    );
    let wanted = "--require-hashes --requirement examples/relay-python/requirements.txt ";
    assert!(lines(&there).any(|line| line.contains(wanted)));
    assert_eq!(failing_pip.status.code(), Some(1));
    assert_eq!(asked(&failing_pip), ["fmt", "clippy", "doc", "install"]);
}

#[test]
fn without_npm_and_python_the_tests_are_run_all_the_same() {
    let output = Tree::new("no-npm").xtask(&["test"], "");

    assert!(output.status.success());
    assert_eq!(asked(&output), ["fmt", "clippy", "doc", "nextest"]);
    for said in [
        " packages: left out, npm is not installed",
        " packages of the agent in TypeScript: left out, npm is not installed",
        " folder of the agent in Python: left out, python3 is not installed",
        " packages of the agent in Python: left out, there is no folder for them",
    ] {
        assert!(complaint(&output).contains(said), "{}", complaint(&output));
    }
}

#[test]
fn the_contract_is_rewritten_by_the_test_that_compares_it() {
    let output = xtask(&["contract"], "");

    assert!(output.status.success());
    let asked: Vec<&str> = lines(&output).collect();
    let [line] = asked.as_slice() else {
        unreachable!("one command: {asked:?}")
    };
    let test = "--all-features the_contract_file_says_what_the_rust_types_say ";
    assert!(line.contains(test), "{line}");
    assert!(line.contains("[SAMOVAR_CONTRACT=write]"), "{line}");
}

#[test]
fn the_steps_do_not_see_the_package_of_the_tasks() {
    let output = xtask(&["check"], "");

    for line in lines(&output) {
        assert!(line.contains("[CARGO_PKG_NAME=]"), "{line}");
    }
}

#[test]
fn a_command_line_without_a_known_task_exits_2_with_the_list() {
    for words in [&[][..], &["tset"], &["test", "--fast"]] {
        let output = xtask(words, "");

        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert_eq!(asked(&output), [""; 0], "{words:?}");
        assert!(complaint(&output).contains("tasks:\n  check "), "{words:?}");
    }
}

#[test]
fn help_is_no_mistake() {
    let output = xtask(&["help"], "");

    assert!(output.status.success());
    assert!(lines(&output).any(|line| line.starts_with("  test ")));
}
