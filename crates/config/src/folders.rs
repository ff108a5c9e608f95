//! Where this user's own files are, by the XDG base directories.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The folders of this user. A path that is not absolute would lie in whatever folder somebody
/// stands in, so it counts as none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folders {
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// What the person writes: `samovar.toml`, and what is trusted.
    pub config: Option<PathBuf>,
    /// What is kept for the person.
    pub data: Option<PathBuf>,
    /// What this machine alone has to remember.
    pub state: Option<PathBuf>,
}

impl Folders {
    /// Reads them off the environment.
    pub fn of(environment: &[(OsString, OsString)]) -> Self {
        let absolute = |name: &str| {
            let mut set = environment.iter().filter(|(variable, _)| variable == name);
            let path = set.next().map(|(_, value)| PathBuf::from(value));
            path.filter(|path| path.is_absolute())
        };
        let home = absolute("HOME");
        let ours = |variable: &str, usual: &str| {
            let base = absolute(variable).or_else(|| Some(home.as_ref()?.join(usual)));
            base.map(|base| base.join("samovar"))
        };
        Self {
            config: ours("XDG_CONFIG_HOME", ".config"),
            data: ours("XDG_DATA_HOME", ".local/share"),
            state: ours("XDG_STATE_HOME", ".local/state"),
            home,
        }
    }

    /// The path that somebody wrote in the folder `base`: `~/` is their home.
    pub(crate) fn absolute(&self, written: &str, base: &Path) -> PathBuf {
        match (written.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ if written == "~" => self.home.clone().unwrap_or_else(|| base.join(written)),
            _ => base.join(written),
        }
    }
}
