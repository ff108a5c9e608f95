//! What a person can allow permanently: a program with its subcommand, never one that runs others.

use crate::policy::ReadOnly;
use crate::script::{Command, Script, Word};

/// Programs that run what their arguments say, or whose one option turns a harmless call into the
/// loss of a folder. A grant for one would be a grant for everything.
const ONCE: &str = "sh bash dash zsh ksh mksh fish csh tcsh pwsh busybox env xargs sudo doas su \
    runuser nohup timeout nice ionice chrt taskset setsid stdbuf watch parallel entr eval exec \
    source . command builtin trap ssh scp sftp rsync find fd fdfind rg awk gawk mawk sed ed ex vi \
    vim nvim emacs less more man gdb lldb strace ltrace perf script expect flock chroot unshare \
    nsenter bwrap at batch crontab npx pnpx bunx uvx pipx npm-exec tar zip sort rm rmdir unlink dd \
    shred truncate mkfs chmod chown export alias set unset declare typeset local readonly read \
    printf test [ mapfile readarray let wait bind complete enable hash shopt cd pushd popd";

/// Programs that run a file, or the text after an option.
const INTERPRETERS: &str = "python python2 python3 pypy pypy3 node ruby perl php lua tclsh \
    Rscript julia groovy osascript java";

/// Programs whose first argument says what they do.
const WITH_SUBCOMMANDS: &str = "git cargo npm yarn pnpm bun deno go pip pip3 poetry uv pipenv \
    conda make gmake just task rake dotnet mvn gradle gradlew mvnw docker podman kubectl helm \
    gh rustup systemctl terraform apt apt-get dnf brew nix cmake meson ninja bazel tox nox hatch \
    composer bundle rails mix cabal stack swift ip";

/// Subcommands that run another program, which the key would not name.
const RUNNING: &str = "exec dlx x run-script tool env shell develop repl eval bisect rebase \
    filter-branch submodule config difftool mergetool";

impl ReadOnly {
    /// The entries that a grant for this script adds to the list ([`ReadOnly::and`]), such as
    /// `git push` and `cargo test`: one for each command that is not in the list yet. Returns
    /// `None` when one of these commands can only be allowed once.
    pub fn grant_keys(&self, script: &Script) -> Option<Vec<String>> {
        let mut keys = Vec::new();
        for command in script.commands() {
            if self.reads(command).is_ok() {
                continue;
            }
            let key = key(command)?;
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        Some(keys)
    }
}

fn key(command: &Command) -> Option<String> {
    let program = command.program.as_str();
    let name = program.rsplit('/').next()?;
    if is_in(ONCE, name) {
        return None;
    }
    let mut words = vec![program];
    if is_in(INTERPRETERS, name) {
        match argument(command, 0)? {
            "-m" => words.extend(["-m", plain(argument(command, 1)?)?]),
            script => words.push(plain(script)?),
        }
    } else if is_in(WITH_SUBCOMMANDS, name) {
        let subcommand = plain(argument(command, 0)?)?;
        if is_in(RUNNING, subcommand) {
            return None;
        }
        words.push(subcommand);
        match (name, subcommand) {
            ("npm" | "yarn" | "pnpm" | "bun" | "deno", "run") | ("docker", "compose") => {
                words.push(plain(argument(command, 1)?)?);
            }
            ("cargo" | "go" | "dotnet" | "swift", "run") => {}
            (_, "run") => return None,
            _ => {}
        }
    }
    Some(words.join(" "))
}

fn argument(command: &Command, at: usize) -> Option<&str> {
    command.arguments.get(at).and_then(Word::literal)
}

/// A word that is not an option and stays one word in a key.
fn plain(word: &str) -> Option<&str> {
    let is_plain = !word.is_empty() && !word.starts_with(['-', '+', '~']);
    (is_plain && !word.contains(char::is_whitespace)).then_some(word)
}

fn is_in(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}
