//! What git is told in a command: who commits, and why its settings stay as they are.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use samovar_sandbox::Jail;

/// How long git may take to say who the person is.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of what it says about that, at most.
const MAX_ANSWER_BYTES: u64 = 64 * 1024;
/// Bytes of a repository's settings, at most.
const MAX_SETTINGS_BYTES: u64 = 256 * 1024;

/// The variables that say who commits, each with the settings of a repository that say the same.
const VARIABLES: [(&str, [&str; 2]); 4] = [
    ("GIT_AUTHOR_NAME", ["user.name", "author.name"]),
    ("GIT_AUTHOR_EMAIL", ["user.email", "author.email"]),
    ("GIT_COMMITTER_NAME", ["user.name", "committer.name"]),
    ("GIT_COMMITTER_EMAIL", ["user.email", "committer.email"]),
];

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
        let mut folders = path
            .iter()
            .filter(|folder| folder.is_absolute() && !folder.starts_with(workspace));
        let git = folders.find_map(|folder| {
            let git = folder.join("git").canonicalize().ok()?;
            (git.is_file() && !git.starts_with(workspace)).then_some(git)
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

/// The variables of a person's identity, but for those whose place the workspace's own repository
/// takes: its settings are nearer to what is committed.
pub(super) fn variables(identity: &Identity, jail: &Jail) -> Vec<(String, String)> {
    if identity.is_empty() {
        return Vec::new();
    }
    let own = own_settings(jail);
    let of = |(variable, settings): &(&str, [&str; 2])| {
        if own.iter().any(|own| settings.contains(&own.as_str())) {
            return None;
        }
        // The last one counts, as for git.
        let mut known = identity.iter().rev();
        let (_, value) = known.find(|(name, _)| name.eq_ignore_ascii_case(settings[0]))?;
        Some(((*variable).to_owned(), value.clone()))
    };
    VARIABLES.iter().filter_map(of).collect()
}

/// The names of the plain settings of the workspace's own repository.
fn own_settings(jail: &Jail) -> Vec<String> {
    let file = jail
        .place(GUARDED)
        .and_then(|place| jail.open_file(&place)?.into_bytes(MAX_SETTINGS_BYTES));
    let Ok(bytes) = file else {
        return Vec::new();
    };
    let (mut section, mut names) = (String::new(), Vec::new());
    for line in String::from_utf8_lossy(&bytes).lines() {
        let mut line = line.trim();
        if let Some((header, rest)) = line.strip_prefix('[').and_then(|it| it.split_once(']')) {
            section = header.trim().to_ascii_lowercase();
            line = rest.trim();
        }
        if let Some((key, _)) = line.split_once('=') {
            names.push(format!("{section}.{}", key.trim().to_ascii_lowercase()));
        }
    }
    names
}

/// Whether what a command wrote says that the settings of a repository could not be written.
pub(super) fn met_the_guard(written: &str) -> bool {
    let mut lines = written.lines();
    lines.any(|line| line.contains(GUARDED) && REFUSALS.iter().any(|said| line.contains(said)))
}

/// What a model is told then.
pub(super) const GUARD: &str = "[this server guards .git/config, because git runs programs that are \
    named there: commands cannot change it, and the repository is not damaged. For one git command \
    a setting can be given as git -c name=value …, and who commits with git commit --author and \
    GIT_COMMITTER_NAME and GIT_COMMITTER_EMAIL before it; otherwise tell the person which git command to \
    run themselves]";

#[cfg(test)]
mod tests {
    use std::fs;

    use samovar_sandbox::Protected;

    use super::*;

    // proves TL-6
    #[test]
    fn who_commits_comes_from_the_person_unless_the_repository_has_its_own() {
        let rows = [
            ("[core]\n\tbare = false\n", "AN AE CN CE"),
            ("[user]\n\temail = work@x\n", "AN CN"),
            ("[User] Name = w\n email=e", ""),
            ("[author]\nname = w\n", "AE CN CE"),
            (
                "[remote \"user\"]\nname = w\n[users]\nemail=x",
                "AN AE CN CE",
            ),
        ];
        let identity = vec![
            ("user.name".to_owned(), "old".to_owned()),
            ("user.name".to_owned(), "Ada".to_owned()),
            ("user.email".to_owned(), "ada@x".to_owned()),
        ];
        let short = |name: &str| {
            format!(
                "{}{}",
                &name[4..5],
                &name[name.rfind('_').unwrap() + 1..][..1]
            )
        };
        for (settings, expected) in rows {
            let top = tempfile::tempdir().unwrap();
            fs::create_dir(top.path().join(".git")).unwrap();
            fs::write(top.path().join(GUARDED), settings).unwrap();
            let jail = Jail::open(top.path(), &Protected::default()).unwrap();
            let found = variables(&identity, &jail);
            let names: Vec<String> = found.iter().map(|(name, _)| short(name)).collect();
            assert_eq!(names.join(" "), expected, "{settings}");
            assert!(
                found
                    .iter()
                    .all(|(_, value)| ["Ada", "ada@x"].contains(&&**value))
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
