//! The programs of a script by name, and those that run what their arguments say.

use crate::policy::ReadOnly;
use crate::script::{Command, Script, Word};

/// Programs that run others, and builtins of the shell that change what a later word means.
const RUNNERS: &str = "sh bash dash ash zsh ksh mksh yash fish csh tcsh pwsh busybox toybox env xargs \
    sudo doas su runuser nohup timeout time nice ionice chrt taskset setsid stdbuf unbuffer watch \
    parallel entr eval exec source . command builtin trap ssh find fd fdfind awk gawk mawk nawk \
    original-awk gdb lldb strace ltrace perf valgrind script expect flock chroot unshare nsenter \
    bwrap firejail setpriv capsh at batch crontab systemd-run tmux screen socat nix-shell nix npx \
    pnpx bunx uvx pipx npm-exec alias set unset declare typeset local readonly export read printf test \
    [ mapfile readarray let wait bind complete enable hash shopt";

/// Programs whose first argument says what they do.
const WITH_SUBCOMMANDS: &str = "git cargo npm yarn pnpm bun deno go pip pip3 poetry uv pipenv conda \
    make gmake just task rake dotnet mvn gradle gradlew mvnw docker podman kubectl helm gh rustup \
    systemctl terraform apt apt-get dnf brew nix cmake meson ninja bazel tox nox hatch composer bundle \
    rails mix cabal stack swift ip";

impl ReadOnly {
    /// The programs of a script for rules about them (TL-4): each as it is written, with its first
    /// argument unless that is an option: `git push`, `rm src/a`. Options that come before the
    /// subcommand hide which of the arguments it is, so each of them is there: `git -C . push` gives
    /// `git`, `git .` and `git push`. Returns `None` when the script runs a program that runs others,
    /// and does more than read.
    pub fn program_names(&self, script: &Script) -> Option<Vec<String>> {
        let mut names = Vec::new();
        for command in script.commands() {
            let file = command.program.rsplit('/').next().unwrap_or_default();
            let reads = self.reads(command).is_ok();
            if runs_others(file) && !reads {
                return None;
            }
            let first = command.arguments.first();
            match first.and_then(Word::literal) {
                Some(first) if !first.starts_with(['-', '+']) => {
                    names.push(format!("{} {first}", command.program));
                }
                _ => names.push(command.program.clone()),
            }
            names.extend(hidden(command, file, reads)?);
        }
        Some(names)
    }
}

/// What else a command could be: one of its arguments is the subcommand, or the program that it runs.
/// Returns `None` when a pattern of files could be it.
fn hidden(command: &Command, file: &str, reads: bool) -> Option<Vec<String>> {
    let hands_on = matches!(file, "xargs" | "find");
    let has_subcommand =
        is_in(WITH_SUBCOMMANDS, file) || is_in(WITH_SUBCOMMANDS, without_version(file));
    let is_subcommand = |word: &str| !word.starts_with(['-', '+']);
    let first = command.arguments.first();
    let hides = first.is_some_and(|first| !first.literal().is_some_and(is_subcommand));
    if !(hands_on || has_subcommand && hides) {
        return Some(Vec::new());
    }
    if file == "git" && command.arguments.iter().any(redefines_git) {
        return None;
    }
    let mut names = Vec::new();
    for word in &command.arguments {
        match word.literal() {
            Some(word) if !is_subcommand(word) => {}
            Some(word) if hands_on => names.push(word.to_owned()),
            Some(word) => names.push(format!("{file} {word}")),
            None if reads => {}
            None => return None,
        }
    }
    Some(names)
}

/// Whether an option can give a subcommand of git another meaning.
fn redefines_git(word: &Word) -> bool {
    let starts = |word: &str| {
        ["-c", "--config-env", "--exec-path"]
            .iter()
            .any(|it| word.starts_with(it))
    };
    word.literal().is_some_and(starts)
}

/// Whether a program runs what its arguments say.
pub(crate) fn runs_others(file: &str) -> bool {
    is_in(RUNNERS, file) || is_in(RUNNERS, without_version(file))
}

/// A name of a program without a version after it: `python3.12` is `python`.
pub(crate) fn without_version(file: &str) -> &str {
    file.trim_end_matches(|c: char| c.is_ascii_digit() || ".-".contains(c))
}

fn is_in(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}
