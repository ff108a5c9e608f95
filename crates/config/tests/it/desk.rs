//! A person's home, and the folder that they stand in.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use samovar_config::{ConfigError, Flag, Keys, ProviderNames, Resolved, Sources};
use tempfile::TempDir;

pub(crate) struct Desk {
    _root: TempDir,
    home: PathBuf,
    pub(crate) sources: Sources,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        // The names of files are compared, and a temporary folder may be reached by a link.
        let base = root.path().canonicalize().unwrap();
        let (home, here) = (base.join("home"), base.join("here"));
        fs::create_dir_all(home.join(".config/samovar")).unwrap();
        fs::create_dir(&here).unwrap();
        let sources = Sources {
            here,
            keys: Arc::new(Keys::new(&providers())),
            ..Sources::default()
        };
        let desk = Self {
            _root: root,
            home: home.clone(),
            sources,
        };
        desk.set("HOME", home.to_str().unwrap())
    }

    /// The folder that the person stands in.
    pub(crate) fn here(&self, name: &str) -> PathBuf {
        self.sources.here.join(name)
    }

    /// What the person keeps for Samovar.
    pub(crate) fn user(&self, name: &str) -> PathBuf {
        self.home.join(".config/samovar").join(name)
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn here_says(self, text: impl AsRef<[u8]>) -> Self {
        fs::write(self.here("samovar.toml"), text).unwrap();
        self
    }

    pub(crate) fn user_says(self, text: impl AsRef<[u8]>) -> Self {
        fs::write(self.user("samovar.toml"), text).unwrap();
        self
    }

    pub(crate) fn set(self, name: &str, value: &str) -> Self {
        self.set_bytes(name, value.as_bytes())
    }

    pub(crate) fn set_bytes(mut self, name: &str, value: &[u8]) -> Self {
        self.sources.environment.retain(|(set, _)| set != name);
        let value = OsString::from_vec(value.to_vec());
        self.sources.environment.push((name.into(), value));
        self
    }

    pub(crate) fn typed(mut self, name: &'static str, key: &'static str, value: &str) -> Self {
        let value = value.into();
        self.sources.flags.push(Flag { name, key, value });
        self
    }

    #[track_caller]
    pub(crate) fn resolve(&self) -> Resolved {
        let resolved = self.sources.resolve();
        resolved.unwrap_or_else(|error| panic!("{error}"))
    }

    #[track_caller]
    pub(crate) fn refusal(&self) -> ConfigError {
        match self.sources.resolve() {
            Ok(resolved) => panic!("nothing is refused: {:?}", resolved.settings),
            Err(error) => error,
        }
    }

    /// Holds the one error against its code and its sentence.
    #[track_caller]
    pub(crate) fn refuses(&self, code: &str, sentence: &str) {
        let error = self.refusal();
        assert_eq!((error.code(), error.to_string().as_str()), (code, sentence));
    }

    /// Trusts the file of this folder, as it is now.
    #[track_caller]
    pub(crate) fn trust(&self) {
        let candidate = self.sources.candidate().unwrap().unwrap();
        candidate.trust().unwrap();
    }
}

fn providers() -> Vec<ProviderNames> {
    let row = |name: &str, keys: &[&str], bases: &[&str]| ProviderNames {
        name: name.to_owned(),
        key_variables: keys.iter().copied().map(str::to_owned).collect(),
        base_variables: bases.iter().copied().map(str::to_owned).collect(),
    };
    vec![
        row(
            "anthropic",
            &["ANTHROPIC_API_KEY", "CLAUDE_API_KEY"],
            &["ANTHROPIC_BASE_URL"],
        ),
        row("openai", &["OPENAI_API_KEY"], &["OPENAI_BASE_URL"]),
        row("ollama", &[], &["OLLAMA_BASE_URL", "OLLAMA_HOST"]),
        row("lm-studio", &[], &["LM_STUDIO_BASE_URL"]),
    ]
}
