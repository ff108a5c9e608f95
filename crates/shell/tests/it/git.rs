//! What a tool that writes files can make git run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use samovar_shell::{GIT_ENVIRONMENT, ReadOnly, Verdict};

const COMMAND: &str = "git status";

/// Whether git runs the program that the files of `folder` name.
fn runs(home: &Path, folder: &Path, variables: &[(&str, &str)]) -> bool {
    let mark = home.join("mark");
    Command::new("sh")
        .args(["-c", COMMAND])
        .current_dir(folder)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("HOME", home)
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let has_run = mark.exists();
    if has_run {
        fs::remove_file(mark).unwrap();
    }
    has_run
}

/// A home directory with a program that leaves a mark, and settings that name it.
fn home_with_settings() -> (tempfile::TempDir, String) {
    let home = tempfile::tempdir().unwrap();
    let program = home.path().join("program");
    let mark = home.path().join("mark");
    fs::write(&program, format!("#!/bin/sh\n: > {}\n", mark.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let settings = format!("[core]\n\tfsmonitor = {}\n", program.display());
    (home, settings)
}

#[test]
fn needs_git_settings_that_a_tool_can_write_run_nothing() {
    assert_eq!(ReadOnly::built_in().judge(COMMAND), Verdict::Reads);

    let (home, settings) = home_with_settings();
    let bare = home.path().join("bare");
    for folder in ["objects", "refs", "work"] {
        fs::create_dir_all(bare.join(folder)).unwrap();
    }
    fs::write(bare.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    let worktree = format!(
        "{settings}\trepositoryformatversion = 0\n\tbare = false\n\tworktree = {}\n",
        bare.join("work").display()
    );
    fs::write(bare.join("config"), worktree).unwrap();
    let has_run = [&[][..], &GIT_ENVIRONMENT].map(|with| runs(home.path(), &bare, with));
    assert_eq!(
        has_run,
        [true, false],
        "a folder that looks like a bare repository"
    );

    let (home, settings) = home_with_settings();
    fs::write(home.path().join(".gitconfig"), settings).unwrap();
    let made = Command::new("git").arg("init").arg(home.path()).output();
    assert!(made.unwrap().status.success());
    let has_run = [&[][..], &GIT_ENVIRONMENT].map(|with| runs(home.path(), home.path(), with));
    assert_eq!(has_run, [true, false], "settings in the home directory");
}

#[test]
fn an_old_git_runs_nothing_unasked() {
    let judged = |version: &str, command: &str| {
        ReadOnly::built_in().with_git(version).judge(command) == Verdict::Reads
    };
    for (version, reads) in [
        ("git version 2.38.0\n", true),
        ("git version 2.39.5 (Apple Git-154)\n", true),
        ("git version 2.47.3.windows.1", true),
        ("git version 3.0.0", true),
        ("git version 2.37.9\n", false),
        ("git version 2.34.1", false),
        ("git version 1.40.0", false),
        ("git version 2", false),
        ("git version x.y", false),
        ("", false),
    ] {
        assert_eq!(judged(version, COMMAND), reads, "{version}");
        assert_eq!(
            judged(version, "cd a && /usr/bin/git log | cat"),
            reads,
            "{version}"
        );
        assert!(judged(version, "ls && sort x"), "{version}");
    }
    let own = ReadOnly::of(["git"]).with_git("git version 2.34.1");
    assert_eq!(
        own.judge(COMMAND),
        Verdict::Reads,
        "the operator's own list"
    );
}
