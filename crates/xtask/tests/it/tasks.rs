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
    for folder in [
        Tree::CLIENT,
        Tree::NODE_AGENT,
        Tree::AI_SDK,
        Tree::WEB,
        Tree::PAGE,
        Tree::READERS,
    ] {
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
    const AI_SDK: &str = "clients/ai-sdk";
    const PAGE: &str = "examples/use-chat";
    const WEB: &str = "web";
    const READERS: &str = "lab/readers";
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
            "clients/ai-sdk/node_modules",
            "web/node_modules",
            "examples/use-chat/node_modules",
            "lab/readers/node_modules",
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
fn a_task_runs_its_steps_until_one_fails() {
    let gate = "fmt clippy doc install nextest";
    for (task, fails, wanted, says) in [
        ("check", "", "fmt clippy", "check passed in "),
        ("test", "", gate, "<== examples passed in "),
        ("test", "", gate, "<== tests passed in "),
        ("test", "clippy", "fmt clippy", "lints failed after "),
        // The output of the examples is shown only when they fail.
        ("test", "test", "fmt clippy doc test", "examples failed"),
        (
            "test",
            "nextest",
            "install",
            "cannot be installed; try: cargo install",
        ),
        ("contract", "", "nextest", "contract passed in "),
        ("bench", "", "build run", "bench passed in "),
        ("bench", "build", "build", "release failed after "),
        ("bench", "run", "build run", "bench failed after "),
        ("prove", "", "nextest", "proofs passed in "),
    ] {
        let output = xtask(&[task], fails);

        let complaint = complaint(&output);
        let code = i32::from(!fails.is_empty());
        assert_eq!(output.status.code(), Some(code), "{task}: {complaint}");
        assert_eq!(asked(&output).join(" "), wanted, "{task}: {complaint}");
        assert!(complaint.contains(says), "{task}: {complaint}");
    }
}

#[test]
fn a_step_runs_its_command_in_its_environment() {
    let contract = "the_contract_file_says_what_the_rust_types_say";
    for (task, command, environment) in [
        ("check", "-- -D warnings", "[RUSTDOCFLAGS=]"),
        ("test", "doc --workspace", "[RUSTDOCFLAGS=-D warnings]"),
        ("contract", contract, "[SAMOVAR_CONTRACT=write]"),
        ("bench", "build --release --package samovar ", ""),
        ("bench", "run --release --package samovar-bench ", ""),
    ] {
        let output = xtask(&[task], "");

        let mut lines = lines(&output);
        let is_asked = |line: &str| line.contains(command) && line.contains(environment);
        assert!(lines.any(is_asked), "{task}: {command}");
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
fn words_reach_the_bench_and_not_its_build() {
    for (task, wanted) in [
        (
            "bench",
            "run --release --package samovar-bench -- --quick [",
        ),
        ("instructions", "--example instructions -- --quick ["),
    ] {
        let output = xtask(&[task, "--quick"], "");

        assert!(output.status.success(), "{}", complaint(&output));
        let ran: Vec<_> = lines(&output)
            .filter(|line| line.contains("--quick"))
            .collect();
        assert!(ran.len() == 1 && ran[0].contains(wanted), "{ran:?}");
    }
    assert_eq!(asked(&xtask(&["bench", "--quick"], "")), ["build", "run"]);
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
fn every_step_takes_the_whole_workspace_with_one_feature_set_and_environment() {
    // The examples, whose output is shown only when they fail, and then the tests.
    let (first, last) = (xtask(&["test"], "test"), xtask(&["test"], ""));

    let is_cargo = |line: &&str| !line.starts_with("asked: install ");
    for line in lines(&first).chain(lines(&last)).filter(is_cargo) {
        let covers_all = line.contains("--workspace --all-") || line.contains("fmt --all ");
        assert!(covers_all, "{line}");
        assert!(line.contains("[CARGO_PKG_NAME=]"), "{line}");
    }
}

#[test]
fn packages_that_are_missing_or_older_than_their_list_are_installed_before_the_tests() {
    for folder in [
        Tree::CLIENT,
        Tree::NODE_AGENT,
        Tree::AI_SDK,
        Tree::WEB,
        Tree::PAGE,
        Tree::READERS,
    ] {
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
    let tree = Tree::new("no-npm");
    let output = tree.xtask(&["test"], "");
    let failing = tree.xtask(&["test"], "clippy");

    assert!(output.status.success());
    assert_eq!(asked(&output), ["fmt", "clippy", "doc", "nextest"]);
    let tests = lines(&output).last().unwrap_or_default();
    let left_out = " -E not test(/needs_npm_|needs_python_|needs_curl_|needs_bash_|needs_git_|\
                    needs_browser_/) [";
    assert!(tests.contains(left_out), "{tests}");
    assert_eq!(failing.status.code(), Some(1));
    let line = "xtask: left out the tests that need npm, python3 with venv, curl, bash, git, chromium, \
                which this machine does not have; on Debian: apt-get install nodejs npm \
                python3-venv curl bash git chromium\n";
    for output in [&output, &failing] {
        assert!(complaint(output).contains(line), "{}", complaint(output));
    }
    for said in [
        " packages: left out, npm is not installed",
        " packages of the agent in TypeScript: left out, npm is not installed",
        " packages of the AI SDK: left out, npm is not installed",
        " packages of the web page: left out, npm is not installed",
        " packages of the page: left out, npm is not installed",
        " packages of the readers: left out, npm is not installed",
        " folder for packages of Python: left out, python3 with venv is not installed",
        " packages of Python: left out, there is no folder for them",
    ] {
        assert!(complaint(&output).contains(said), "{}", complaint(&output));
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
