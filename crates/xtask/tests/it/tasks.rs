//! The tasks as a person meets them: a command line, what it prints, its exit code.

use std::process::{Command, Output};

/// Runs `cargo xtask` with a cargo that does nothing but tell; `fails` is the subcommand it fails.
fn xtask(words: &[&str], fails: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_samovar-xtask"))
        .args(words)
        .env(
            "CARGO",
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fake-cargo.sh"),
        )
        .env("CARGO_PKG_NAME", "samovar-xtask")
        .env("FAILS", fails)
        .output()
        .expect("the binary under test was just built")
}

/// The subcommands that cargo was asked for, in order.
fn asked(output: &Output) -> Vec<String> {
    lines(output)
        .filter_map(|line| line.split_whitespace().nth(1).map(str::to_owned))
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
    assert_eq!(asked(&output), ["fmt", "clippy", "doc", "nextest"]);
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
fn the_examples_are_shown_when_they_fail() {
    let output = xtask(&["test"], "test");

    assert_eq!(output.status.code(), Some(1));
    assert_eq!(asked(&output), ["fmt", "clippy", "doc", "test"]);
}

#[test]
fn every_step_covers_the_whole_workspace_with_one_feature_set() {
    // The examples, whose output is shown only when they fail, and then the tests.
    let (first, last) = (xtask(&["test"], "test"), xtask(&["test"], ""));

    for line in lines(&first).chain(lines(&last)) {
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
fn the_steps_do_not_see_the_package_of_the_tasks() {
    let output = xtask(&["check"], "");

    for line in lines(&output) {
        assert!(line.ends_with("[CARGO_PKG_NAME=]"), "{line}");
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
