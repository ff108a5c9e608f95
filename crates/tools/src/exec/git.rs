//! What git is told in a command: who commits, and why its settings stay as they are.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use samovar_sandbox::{SmallFiles, Survival};

/// How long git may take to say who the person is.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of what it says about that, at most.
const MAX_ANSWER_BYTES: u64 = 64 * 1024;

/// The variable that names the weakest settings but for the machine's: a repository's own, and those of
/// `git -c`, come before them.
pub(super) const SETTINGS: &str = "GIT_CONFIG_GLOBAL";
/// The file with them in the home folder of commands.
pub(super) const FILE: &str = ".gitconfig.samovar";

/// What git calls the file that is closed to commands.
const GUARDED: &str = ".git/config";
/// What git, or a shell, says when it cannot write it.
const REFUSALS: [&str; 4] = [
    "could not write config file",
    "could not lock config file",
    "Device or resource busy",
    "Read-only file system",
];

/// Where the git settings are of the person who runs the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitSettings {
    /// Their `HOME` and `XDG_CONFIG_HOME`, as far as they are set.
    pub env: Vec<(OsString, OsString)>,
}

/// The name and the address with which a person commits, each a setting with its value.
pub(super) type Identity = Vec<(String, String)>;

impl GitSettings {
    /// Asks the git of these folders; no settings of a repository count. Blocks for some milliseconds.
    pub(super) fn identity(&self, path: &[PathBuf], workspace: &Path) -> Identity {
        let answer = self.ask(path, workspace).unwrap_or_default();
        let settings = answer.split('\0').filter_map(|it| it.split_once('\n'));
        let settings = settings.map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
        settings.filter(|(_, value)| !value.is_empty()).collect()
    }

    fn ask(&self, path: &[PathBuf], workspace: &Path) -> Option<String> {
        // What a command could have put there is not run outside the sandbox.
        let workspace = workspace.canonicalize().ok()?;
        let mut folders = path.iter().filter(|folder| folder.is_absolute());
        let git = folders.find_map(|folder| {
            let folder = folder.canonicalize().ok()?;
            let git = folder.join("git").canonicalize().ok()?;
            let is_foreign = !folder.starts_with(&workspace) && !git.starts_with(&workspace);
            (git.is_file() && is_foreign).then_some(git)
        })?;
        let mut child = Command::new(git)
            .args(["config", "--global", "--includes", "-z"])
            .args(["--get-regexp", r"^user\.(name|email)$"])
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let stdout = child.stdout.take()?;
        let (told, answer) = mpsc::sync_channel(1);
        std::thread::spawn(move || {
            let mut text = String::new();
            let read = stdout.take(MAX_ANSWER_BYTES).read_to_string(&mut text);
            told.send(read.is_ok().then_some(text))
        });
        let answer = answer.recv_timeout(PATIENCE);
        // It has said all, or says nothing.
        let _gone = child.kill();
        let _gone = child.wait();
        answer.ok()?
    }
}

/// Writes who the person is into a home folder of commands.
pub(super) fn introduce(identity: &Identity, home: &Path) -> io::Result<()> {
    let lines = identity.iter().map(|(name, value)| {
        let key = name.rsplit('.').next().unwrap_or(name);
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\t{key} = \"{}\"\n", value.replace('\n', "\\n"))
    });
    let text = format!("[user]\n{}", lines.collect::<String>());
    // A command may have left anything under the name.
    let home = SmallFiles::of(home)?;
    let max_bytes = text.len() as u64 + 1;
    if let Ok(Some(found)) = home.read_bytes(FILE, max_bytes)
        && found == text.as_bytes()
    {
        return Ok(());
    }
    home.write(FILE, text.as_bytes(), Survival::Writer)
}

/// Whether what a command wrote says that the settings of a repository could not be written.
pub(super) fn met_the_guard(written: &str) -> bool {
    let mut lines = written.lines();
    lines.any(|line| line.contains(GUARDED) && REFUSALS.iter().any(|said| line.contains(said)))
}

/// What a model is told then.
pub(super) const GUARD: &str = "[this server guards .git/config, because git runs programs that are \
    named there: commands cannot change it, and the repository is not damaged. For one git command \
    a setting can be given as git -c name=value …; otherwise tell the person which git command to \
    run themselves]";

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    // proves TL-6
    #[test]
    fn who_commits_comes_from_the_person_unless_anything_nearer_says_it() {
        let rows = [
            ("", "git", "A \"d\\a <ada@x>"),
            ("git config user.email work@x", "git", "A \"d\\a <work@x>"),
            ("", "git -c user.email=once@x", "A \"d\\a <once@x>"),
            ("", "git -C below", "Below <ada@x>"),
            (
                "printf '[user]\nname=I' > i; git config include.path ../i",
                "git",
                "I <ada@x>",
            ),
            ("", "GIT_AUTHOR_NAME=E git", "E <ada@x>"),
            (
                "ln -s ../kept home/.gitconfig.samovar",
                "git",
                "A \"d\\a <ada@x>",
            ),
            (
                "printf '[alias]\nvar=!echo' > home/.gitconfig.samovar",
                "git",
                "A \"d\\a <ada@x>",
            ),
        ];
        let identity = [
            ("user.name", "old"),
            ("user.name", "A \"d\\a"),
            ("user.email", "ada@x"),
        ];
        let identity = identity.map(|(name, value)| (name.to_owned(), value.to_owned()));
        for (before, git, expected) in rows {
            let top = tempfile::tempdir().unwrap();
            let home = top.path().join("home");
            let run = |script: &str| {
                let ran = Command::new("sh")
                    .args(["-euc", script])
                    .current_dir(top.path())
                    .env("HOME", top.path())
                    .env(SETTINGS, home.join(FILE))
                    .output()
                    .unwrap();
                assert!(ran.status.success(), "{script}: {ran:?}");
                String::from_utf8(ran.stdout).unwrap()
            };
            run("git init -q; git init -q below; mkdir home; echo kept > kept");
            run("git -C below config user.name Below");
            run(before);
            introduce(&identity.to_vec(), &home).unwrap();
            let found = run(&format!("{git} var GIT_AUTHOR_IDENT"));
            assert_eq!(
                found[..=found.find('>').unwrap()],
                *expected,
                "{before}; {git}"
            );
            assert_eq!(
                fs::read_to_string(top.path().join("kept")).unwrap(),
                "kept\n"
            );
        }
    }

    // proves TL-6
    #[test]
    fn what_git_says_of_a_guarded_file_is_known() {
        let rows = [
            (
                "error: could not write config file .git/config: Device or resource busy",
                true,
            ),
            ("bash: line 1: .git/config: Read-only file system", true),
            (
                "could not lock config file ../.git/config: Permission denied",
                true,
            ),
            ("cat: .git/config: No such file or directory", false),
            (
                "error: could not write config file /x/other: Device or resource busy",
                false,
            ),
        ];
        for (line, expected) in rows {
            assert_eq!(
                met_the_guard(&format!("first\n{line}\n")),
                expected,
                "{line}"
            );
        }
    }
}
