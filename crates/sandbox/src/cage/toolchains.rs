//! The homes and caches of toolchains: where each is, what of it is programs and libraries, and what in
//! it has credentials by its kind.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use toml::{Table, Value};

use super::plan::Masked;

/// A toolchain's home or cache. Patterns are apart by blanks; in them `*` stands for any characters of
/// one name.
#[derive(Debug)]
pub(super) struct Toolchain {
    /// The variable that names it.
    pub(super) variable: &'static str,
    /// Where it is below the home folder without that variable.
    pub(super) place: &'static str,
    /// Its programs and libraries: a command that only reads sees nothing else of it.
    programs: &'static str,
    /// Folders, besides itself, in which [`KINDS`] are looked for.
    settings: &'static str,
    /// Git repositories.
    repositories: &'static str,
}

pub(super) const TOOLCHAINS: [Toolchain; 12] = [
    toolchain(["RUSTUP_HOME", ".rustup", "toolchains settings.toml", "", ""]),
    toolchain([
        "CARGO_HOME",
        ".cargo",
        "bin registry/src",
        "",
        "git/db/* git/checkouts/*/*/.git git/checkouts/*/*/.git/modules/* registry/index/*/.git",
    ]),
    toolchain([
        "npm_config_cache",
        ".npm",
        "",
        "_npx/*",
        "_cacache/tmp/*/.git",
    ]),
    toolchain(["PIP_CACHE_DIR", ".cache/pip", "", "", ""]),
    toolchain([
        "UV_CACHE_DIR",
        ".cache/uv",
        "archive-v*",
        "",
        "git-v*/db/* git-v*/checkouts/*/*/.git",
    ]),
    toolchain([
        "PYENV_ROOT",
        ".pyenv",
        "bin libexec plugins shims version versions",
        "versions/* versions/*/envs/* versions/*/etc versions/*/lib/python*/distutils",
        ".git plugins/*/.git",
    ]),
    toolchain([
        "NVM_DIR",
        ".nvm",
        "versions",
        "versions/*/* versions/*/*/etc versions/*/*/lib/node_modules/npm",
        ".git",
    ]),
    toolchain([
        "VOLTA_HOME",
        ".volta",
        "bin tools",
        "tools/image/*/* tools/image/*/*/etc tools/image/*/*/lib/node_modules/npm",
        "",
    ]),
    toolchain([
        "GOPATH",
        "go",
        "bin pkg/mod/*.*",
        "",
        "pkg/mod/cache/vcs/* src/*/*/*/.git",
    ]),
    toolchain(["GOCACHE", ".cache/go-build", "", "", ""]),
    toolchain([
        "BUN_INSTALL",
        ".bun",
        "bin install/global",
        "install/global",
        "install/cache/*.git",
    ]),
    toolchain(["DENO_DIR", ".cache/deno", "deps npm remote", "", ""]),
];

/// Folders of the machine's own toolchains in which [`KINDS`] are looked for.
const OF_THE_MACHINE: &str = "usr/etc usr/lib/node_modules/npm usr/local/etc \
    usr/local/lib/node_modules/npm opt/*/etc opt/*/lib/node_modules/npm";

/// What has credentials by its kind: settings of package managers and version managers, files of
/// passwords, and logs, which name whole addresses.
const KINDS: &str = ".bunfig.toml .condarc .env .gemrc .git-credentials .gitconfig .netrc .npmrc .pypirc \
    .yarnrc .yarnrc.yml NuGet.Config _logs _netrc auth.json bunfig.toml credentials credentials.toml \
    distutils.cfg gradle.properties hooks.json log npmrc nuget.config pip.conf pip.ini settings.xml \
    uv.toml";

/// Settings of a toolchain that builds need: they are shown without what is secret.
const REDUCED: [&str; 2] = ["config.toml", "config"];

/// What of a repository is shown empty, if this file has an address with a password.
const OF_GIT: [(&str, &str); 5] = [
    ("config", "config"),
    ("config.worktree", "config.worktree"),
    ("FETCH_HEAD", "FETCH_HEAD"),
    ("packed-refs", "packed-refs"),
    ("logs", "logs/HEAD"),
];

/// What the name of a secret has in it.
const SECRET: &str = "apikey auth credential extraheader passw secret token";

/// Bytes of a file that is read to know whether it has credentials; a longer one counts as one that has.
const MAX_BYTES: u64 = 16 << 20;
/// Files and folders that are remembered, at most.
const MAX_REMEMBERED: usize = 20_000;

const fn toolchain(
    [variable, place, programs, settings, repositories]: [&'static str; 5],
) -> Toolchain {
    Toolchain {
        variable,
        place,
        programs,
        settings,
        repositories,
    }
}

impl Toolchain {
    /// Its programs and libraries.
    pub(super) fn programs_in(&self, home: &Path) -> Vec<PathBuf> {
        let mut found = expand(home, self.programs, &|folder| list(folder).into());
        found.retain(|path| path.exists());
        found
    }
}

/// The variables that say where toolchains and their caches are.
pub fn toolchain_variables() -> impl Iterator<Item = &'static str> {
    TOOLCHAINS.iter().map(|toolchain| toolchain.variable)
}

/// The homes that commands are shown, and what was found of secrets in them.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    homes: Vec<(&'static Toolchain, PathBuf)>,
    names: Remembered<Arc<[OsString]>>,
    /// The names of [`KINDS`] in a folder.
    kinds: Remembered<Arc<[OsString]>>,
    /// What a command sees in place of a file; `None` if it sees the file itself.
    instead: Remembered<Option<String>>,
}

impl Secrets {
    pub(super) fn of(homes: Vec<(&'static Toolchain, PathBuf)>) -> Self {
        Self {
            homes,
            ..Self::default()
        }
    }

    /// What has credentials at this moment, by its real path; nothing lies in anything else of it.
    pub(super) fn now(&self) -> Vec<Masked> {
        let list = |folder: &Path| {
            let names = self.names.get(folder, |_| list(folder).into());
            names.unwrap_or_default()
        };
        let mut found = Vec::new();
        let mut add = |path: PathBuf, shown: String| {
            // A plan has text alone: if a name is not text, its folder is shown empty.
            let is_text = |path: &&Path| path.to_str().is_some();
            let real = path.canonicalize().unwrap_or_default();
            if let Some(path) = real.ancestors().find(is_text) {
                let path = path.to_owned();
                found.push(Masked { path, shown });
            }
        };
        let kinds = |folder: &Path| {
            let names = self.kinds.get(folder, |_| of_kinds(folder));
            let paths = names.iter().flat_map(|names| names.iter());
            paths.map(|name| folder.join(name)).collect::<Vec<_>>()
        };
        for folder in expand(Path::new("/"), OF_THE_MACHINE, &list) {
            for path in kinds(&folder) {
                // Every user of the machine can read it, and a mount costs time.
                if let Some(shown) = self.instead(&path, emptied) {
                    add(path, shown);
                }
            }
        }
        for (toolchain, home) in &self.homes {
            for path in REDUCED.iter().map(|name| home.join(name)) {
                if let Some(shown) = self.instead(&path, reduced) {
                    add(path, shown);
                }
            }
            let folders = expand(home, toolchain.settings, &list).into_iter();
            for path in folders
                .chain([home.clone()])
                .flat_map(|folder| kinds(&folder))
            {
                add(path, String::new());
            }
            for repository in expand(home, toolchain.repositories, &list) {
                let names = list(&repository);
                for (hidden, file) in OF_GIT {
                    if names.iter().any(|name| name == hidden)
                        && let Some(shown) = self.instead(&repository.join(file), emptied)
                    {
                        add(repository.join(hidden), shown);
                    }
                }
            }
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        found.dedup_by(|inner, outer| inner.path.starts_with(&outer.path));
        found
    }

    /// What a command sees in place of a file; `None` if the file is missing, or if the command sees
    /// the file itself.
    fn instead(&self, path: &Path, judge: fn(&str) -> Option<String>) -> Option<String> {
        let judged = |found: &Metadata| match read(path, found) {
            Some(text) => judge(&text),
            None => Some(String::new()),
        };
        self.instead.get(path, judged).flatten()
    }
}

/// What files and folders told, for as long as they do not change.
#[derive(Debug)]
struct Remembered<T>(Mutex<HashMap<PathBuf, (Stamp, T)>>);

/// Device, inode, bytes, and the time of the last change.
type Stamp = (u64, u64, u64, i64, i64);

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Remembered<T> {
    /// `None` for what is not there.
    fn get(&self, path: &Path, look: impl FnOnce(&Metadata) -> T) -> Option<T> {
        let found = fs::metadata(path).ok()?;
        let (id, ctime) = ((found.dev(), found.ino()), found.ctime());
        let stamp = (id.0, id.1, found.len(), ctime, found.ctime_nsec());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get(path) {
            Some((known, told)) if *known == stamp => return Some(told.clone()),
            Some(_) | None => {}
        }
        let told = look(&found);
        if all.len() >= MAX_REMEMBERED {
            all.clear();
        }
        all.insert(path.to_owned(), (stamp, told.clone()));
        Some(told)
    }
}

/// The names in a folder; none of what is no folder, or cannot be read.
fn list(folder: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}

/// The names of [`KINDS`] in a folder.
fn of_kinds(folder: &Path) -> Arc<[OsString]> {
    let is_one = |name: &OsString| KINDS.split_whitespace().any(|kind| name == kind);
    list(folder).into_iter().filter(is_one).collect()
}

/// The paths below a folder that patterns fit; those without a `*` need not exist.
fn expand(folder: &Path, patterns: &str, list: &impl Fn(&Path) -> Arc<[OsString]>) -> Vec<PathBuf> {
    let below = |folder: PathBuf, part: &str| {
        if !part.contains('*') {
            return vec![folder.join(part)];
        }
        let names = list(&folder);
        let names = names.iter().filter(|name| fits(part, name));
        names.map(|name| folder.join(name)).collect()
    };
    let of_one = |pattern: &str| {
        let begin = vec![folder.to_owned()];
        pattern.split('/').fold(begin, |found, part| {
            let found = found.into_iter();
            found.flat_map(|folder| below(folder, part)).collect()
        })
    };
    patterns.split_whitespace().flat_map(of_one).collect()
}

fn fits(pattern: &str, name: &OsStr) -> bool {
    let (first, rest) = pattern.split_once('*').unwrap_or((pattern, ""));
    let (middle, last) = rest.split_once('*').unwrap_or(("", rest));
    let inner = name.as_encoded_bytes().strip_prefix(first.as_bytes());
    let inner = inner.and_then(|name| name.strip_suffix(last.as_bytes()));
    let has_middle = |name: &[u8]| name.windows(middle.len()).any(|it| it == middle.as_bytes());
    inner.is_some_and(|name| middle.is_empty() || has_middle(name))
}

/// The text of a file; `None` for one that cannot be read, or is too long.
fn read(path: &Path, found: &Metadata) -> Option<String> {
    if !found.is_file() || found.len() > MAX_BYTES {
        return None;
    }
    // What became a pipe meanwhile has no writer that is waited for.
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let mut bytes = Vec::new();
    file.ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Nothing, for a file of git that has credentials.
fn emptied(text: &str) -> Option<String> {
    let is_secret = |line: &str| {
        let name = line.split_once('=').map_or("", |(name, _)| name);
        names_secret(name) || line.split(is_border).any(has_user)
    };
    text.lines().any(is_secret).then(String::new)
}

/// What is left of settings without what is secret; `None` if that is all of it.
fn reduced(text: &str) -> Option<String> {
    let Ok(whole) = text.parse::<Table>() else {
        return Some(String::new());
    };
    let mut rest = whole.clone();
    rest.retain(is_plain);
    (rest != whole).then(|| rest.to_string())
}

/// Whether a setting has nothing secret, once the tables in it have lost what is.
fn is_plain(name: &str, value: &mut Value) -> bool {
    !names_secret(name) && !name.to_lowercase().ends_with("key") && has_no_secret(value)
}

fn has_no_secret(value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let is_by_ssh = text.contains("ssh://") && !has_user(text);
            !names_secret(text) && (is_by_ssh || !text.contains('@'))
        }
        Value::Array(items) => items.iter_mut().all(has_no_secret),
        Value::Table(table) => {
            table.retain(is_plain);
            true
        }
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => true,
    }
}

fn names_secret(text: &str) -> bool {
    let text = text.to_lowercase();
    SECRET.split_whitespace().any(|word| text.contains(word))
}

fn is_border(character: char) -> bool {
    character.is_whitespace() || "'\"".contains(character)
}

/// Whether a word is an address that may have a password. The user name of an ssh address alone is
/// not one.
fn has_user(word: &str) -> bool {
    let Some((scheme, rest)) = word.split_once("://") else {
        return false;
    };
    rest.rsplit_once('@')
        .is_some_and(|(user, _)| !scheme.ends_with("ssh") || user.contains([':', '@']))
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves TL-6
    #[test]
    fn settings_lose_what_is_secret_and_keep_the_rest() {
        const ROWS: [(&str, Option<&str>); 12] = [
            ("[build]\njobs = 2\n[env]\nRUST_LOG = 'info'", None),
            ("[net]\ngit-fetch-with-cli = true # no token", None),
            ("[patch.crates-io]\nx = { git = 'ssh://git@host/x' }", None),
            (
                "a = 1\n[registries.own]\ntoken = 's'",
                Some("a = 1\n\n[registries.own]\n"),
            ),
            (
                "registries = { own = { token = 's', index = 'i' } }",
                Some("[registries.own]\nindex = \"i\"\n"),
            ),
            (
                "[http]\nproxy = 'me:s@host:80'\nmultiplexing = true",
                Some("[http]\nmultiplexing = true\n"),
            ),
            (
                "[source.x]\nregistry = 'https://me:s@host/'",
                Some("[source.x]\n"),
            ),
            (
                "[source.x]\nregistry = 'ssh://me:s@host/'",
                Some("[source.x]\n"),
            ),
            ("[env]\nA_KEY = 's'", Some("[env]\n")),
            (
                "[target.x]\nrunner = [\n'run',\n'--password',\n's']",
                Some("[target.x]\n"),
            ),
            (
                "[registry]\n\"to\\u006ben\" = '''\ns'''\na = 1",
                Some("[registry]\na = 1\n"),
            ),
            ("token = 's", Some("")),
        ];
        for (text, left) in ROWS {
            assert_eq!(reduced(text).as_deref(), left, "{text}");
        }
    }

    // proves TL-6
    #[test]
    fn a_file_of_git_with_a_password_in_it_is_shown_empty() {
        const ROWS: [(&str, bool); 10] = [
            (
                "[core]\n\tbare = true\n[remote \"origin\"]\n\turl = https://host/x",
                false,
            ),
            (
                "\turl = ssh://git@host/x\n\turl = git@host:x\n\temail = me@host",
                false,
            ),
            ("0123 refs/heads/token\n0123 refs/tags/x@1", false),
            ("0123\t\tbranch 'auth' of https://host/x", false),
            (
                "0 1 me <me@host> 1 +0000\tclone: from https://host/x",
                false,
            ),
            ("\turl = https://me:s@host/x", true),
            ("\turl = \"https://s@host/x\"", true),
            ("0123\t\tbranch 'main' of https://me:s/s@host/x", true),
            ("0123\t\t'main' of https://host/x?token=s", true),
            (
                "[http \"https://host\"]\n\textraheader = AUTHORIZATION: basic s",
                true,
            ),
        ];
        for (text, is_secret) in ROWS {
            assert_eq!(emptied(text).is_some(), is_secret, "{text}");
        }
    }
}
