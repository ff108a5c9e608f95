//! Reads the environment: the one place that does.

use std::path::{Path, PathBuf};

use samovar_server::providers::{DemoUse, ProviderConfig, SPECS, Secret};
use samovar_server::{Config, Token};
use tracing_subscriber::EnvFilter;

use crate::args::Places;
use crate::exit::{Exit, Failure};

/// A variable that is set and not empty.
#[expect(
    clippy::disallowed_methods,
    reason = "this is where the environment is read"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name)
        .ok()
        .filter(|value| !value.trim().is_empty())
}

/// How much is logged on stderr: `SAMOVAR_LOG`, in the syntax of `tracing`.
pub(crate) fn log_filter() -> EnvFilter {
    let given = variable("SAMOVAR_LOG").and_then(|filter| EnvFilter::try_new(filter).ok());
    given.unwrap_or_else(|| EnvFilter::new("warn"))
}

/// The named point at which this process is to end.
#[cfg(feature = "failpoints")]
pub(crate) fn failpoint() -> Option<String> {
    variable("SAMOVAR_FAILPOINT")
}

/// What is done where there is no `./data` yet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LocalData {
    /// It is made, as the seeds' service does.
    Make,
    /// It is only used where it is there already.
    UseOnly,
}

/// What a command that opens the data directory starts from, and what a person should know of it.
pub(crate) struct Found {
    pub(crate) config: Config,
    /// Why the data directory is this one, when it is not what one would expect.
    pub(crate) data_dir_note: Option<String>,
}

/// Reads places, keys and addresses.
pub(crate) fn read(
    places: &Places,
    model: Option<String>,
    local: LocalData,
) -> Result<Found, Failure> {
    let here = std::env::current_dir().map_err(|error| {
        let why = format!("the current folder cannot be read: {error}");
        Failure::new(Exit::Configuration, "workspace_unusable", why)
    })?;
    let workspace = places.workspace.clone().unwrap_or_else(|| here.clone());
    let (data_dir, data_dir_note) = match &places.data_dir {
        Some(dir) => (dir.clone(), None),
        None => data_dir(&here, local)?,
    };
    let mut config = Config::new(data_dir, workspace.clone());
    config.providers = providers(model);
    config.token = token()?;
    config.settings.workspace_note = format!(
        "The tools work in the folder {}. Paths are relative to it.",
        workspace.canonicalize().unwrap_or(workspace).display()
    );
    Ok(Found {
        config,
        data_dir_note,
    })
}

/// `./data` only where it is ours, so that nobody else's folder is taken and no workspace is
/// littered unasked; else the user's data folder (FC-3).
fn data_dir(here: &Path, local: LocalData) -> Result<(PathBuf, Option<String>), Failure> {
    let dir = here.join("data");
    let is_ours = dir.join("lock").is_file() && dir.join("journal").is_dir();
    let is_free = || match std::fs::read_dir(&dir) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    if is_ours || local == LocalData::Make && is_free() {
        return Ok((dir, None));
    }
    let base = variable("XDG_DATA_HOME")
        .map(PathBuf::from)
        .filter(|dir| dir.is_absolute());
    let home = || variable("HOME").map(|home| PathBuf::from(home).join(".local/share"));
    let Some(base) = base.or_else(home) else {
        let why = "neither HOME nor XDG_DATA_HOME is set; name a folder with --data-dir";
        return Err(Failure::new(Exit::Configuration, "data_dir_unusable", why));
    };
    let dir = base.join("samovar");
    let note = format!("data: {} (there is no ./data of ours here)", dir.display());
    Ok((dir, Some(note)))
}

fn providers(model: Option<String>) -> ProviderConfig {
    let mut config = ProviderConfig {
        default_model: model,
        ..ProviderConfig::default()
    };
    for spec in SPECS {
        let key = spec.env_vars.iter().find_map(|name| variable(name));
        if let Some(key) = key.and_then(|key| Secret::new(&key)) {
            config.keys.insert(spec.name.to_owned(), key);
        }
        let address = variable(&spec.base_url_var());
        let address = address.or_else(|| spec.address_var.and_then(variable));
        if let Some(address) = address {
            config.base_urls.insert(spec.name.to_owned(), address);
        }
    }
    if variable("SAMOVAR_REQUIRE_MODEL").is_some_and(|value| value != "0") {
        config.demo = DemoUse::Forbidden;
    }
    config
}

fn token() -> Result<Option<Token>, Failure> {
    let Some(given) = variable("SAMOVAR_TOKEN") else {
        return Ok(None);
    };
    let why = "SAMOVAR_TOKEN is shorter than 16 characters, which could be guessed; \
               make one with: openssl rand -hex 32";
    let token = Token::new(&given);
    token
        .map(Some)
        .ok_or_else(|| Failure::new(Exit::Configuration, "token_unusable", why))
}
