//! Reads the environment: the one place that does. A variable that is empty counts as none.

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use samovar_core::Approval;
use samovar_server::providers::{
    DemoUse, Probing, ProviderConfig, Registry, SPECS, Secret, UNBUILT,
};
use samovar_server::{Config, Token};
use tracing_subscriber::EnvFilter;

use crate::args::{Places, Serve, Who};
use crate::exit::{Exit, Failure};

/// The port of a server that nobody gave another.
const PORT: u16 = 4747;

/// What is done where there is no `./data` yet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LocalData {
    /// It is made, as the seeds' service does.
    Make,
    /// It is only used where it is there already.
    UseOnly,
}

/// Who said which model answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelFrom {
    /// The command line.
    Flag,
    /// `AGENT_MODEL`.
    Variable,
    /// A configuration file.
    File,
    /// Nobody: one is looked for.
    Nobody,
}

impl ModelFrom {
    /// Whether somebody named it.
    pub(crate) fn is_somebody(self) -> bool {
        self != Self::Nobody
    }
}

/// What a command starts from, and why it is that.
pub(crate) struct Found {
    pub(crate) config: Config,
    /// The models that it sets up.
    pub(crate) registry: Arc<Registry>,
    /// Why the data directory is this one, for a person.
    pub(crate) data_dir_reason: &'static str,
    /// Why the workspace is this one, for a person.
    pub(crate) workspace_reason: &'static str,
    /// Whether the data directory is one that nobody named and that does not lie here.
    pub(crate) is_data_elsewhere: bool,
    pub(crate) model_from: ModelFrom,
    /// How much is asked where a person is there and says nothing.
    pub(crate) approval: Approval,
}

impl Found {
    /// Where everything is kept, in one line for a person.
    pub(crate) fn data_line(&self) -> String {
        let dir = self.config.data_dir.display();
        format!("data: {dir}, because {}", self.data_dir_reason)
    }
}

/// Reads places, keys and the model's name.
///
/// # Errors
/// A variable that cannot mean anything, or no folder to work in: exit code 3.
pub(crate) fn read(places: &Places, who: &Who, local: LocalData) -> Result<Found, Failure> {
    let here = std::env::current_dir().map_err(|error| {
        let why = format!("the current folder cannot be read: {error}; go to another one");
        Failure::new(Exit::Configuration, "workspace_unusable", why)
    })?;
    let (workspace, workspace_reason) = match &places.workspace {
        Some(dir) => (here.join(dir), "--workspace names it"),
        None => (here.clone(), "it is the current folder"),
    };
    let data_dir = DataDir::choose(places.data_dir.as_deref(), &here, local)?;
    let (model, model_from) = match (&who.model, variable("AGENT_MODEL")?) {
        (Some(model), _) => (Some(model.clone()), ModelFrom::Flag),
        (None, Some(model)) => (Some(model), ModelFrom::Variable),
        (None, None) => (None, ModelFrom::Nobody),
    };
    let mut config = Config::new(data_dir.path, workspace.clone());
    config.providers = providers(model)?;
    let is_off = variable("SAMOVAR__MODELS__PROBE")?.is_some_and(|value| value == "false");
    if !who.no_probe && !is_off {
        config.providers.probing = Probing::On;
    }
    let registry = Arc::new(Registry::new(config.providers.clone()));
    config.registry = Some(registry.clone());
    config.token = token()?;
    config.settings.workspace_note = format!(
        "The tools work in the folder {}. Paths are relative to it.",
        workspace.canonicalize().unwrap_or(workspace).display()
    );
    Ok(Found {
        config,
        registry,
        data_dir_reason: data_dir.reason,
        workspace_reason,
        is_data_elsewhere: data_dir.is_elsewhere,
        model_from,
        approval: Approval::Auto,
    })
}

/// Where `serve` listens.
///
/// # Errors
/// A variable that is no address or no port: exit code 3.
pub(crate) fn address(args: &Serve) -> Result<(IpAddr, u16), Failure> {
    let host = match args.host {
        Some(host) => Some(host),
        None => parsed("SAMOVAR_HOST", "an IP address such as 127.0.0.1")?,
    };
    let port = match args.port {
        Some(port) => Some(port),
        None => parsed("SAMOVAR_PORT", "a number from 0 to 65535")?,
    };
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    Ok((host.unwrap_or(loopback), port.unwrap_or(PORT)))
}

/// How much is logged on stderr: `SAMOVAR_LOG`, in the syntax of `tracing`; warnings when it is not
/// set.
///
/// # Errors
/// A filter that cannot be read: exit code 3.
pub(crate) fn log_filter() -> Result<EnvFilter, Failure> {
    let given = parsed("SAMOVAR_LOG", "a level such as info or samovar=debug")?;
    Ok(given.unwrap_or_else(|| EnvFilter::new("warn")))
}

/// The named point at which this process is to end.
#[cfg(feature = "failpoints")]
pub(crate) fn failpoint() -> Result<Option<String>, Failure> {
    variable("SAMOVAR_FAILPOINT")
}

/// A data directory, and why it is this one.
struct DataDir {
    path: PathBuf,
    reason: &'static str,
    is_elsewhere: bool,
}

impl DataDir {
    /// The one that was named, else `./data` where it is ours, so that nobody else's folder is taken
    /// and no workspace is littered unasked; else the user's data folder (FC-3).
    fn choose(flag: Option<&Path>, here: &Path, local: LocalData) -> Result<Self, Failure> {
        let named = |path: &Path, reason| Self {
            path: here.join(path),
            reason,
            is_elsewhere: false,
        };
        if let Some(dir) = flag {
            return Ok(named(dir, "--data-dir names it"));
        }
        if let Some(dir) = path("DATA_DIR") {
            return Ok(named(&dir, "DATA_DIR names it"));
        }
        let beside = here.join("data");
        if is_ours(&beside) {
            return Ok(named(&beside, "the folder ./data is ours"));
        }
        match local {
            LocalData::Make if is_free(&beside) => Ok(named(&beside, "no other was named")),
            LocalData::Make => Self::of_user("the folder ./data is somebody else's"),
            LocalData::UseOnly => Self::of_user("there is no ./data of ours here"),
        }
    }

    fn of_user(reason: &'static str) -> Result<Self, Failure> {
        let base = path("XDG_DATA_HOME").filter(|dir| dir.is_absolute());
        let home = || path("HOME").map(|home| home.join(".local/share"));
        let Some(base) = base.or_else(home) else {
            let why = "neither HOME nor XDG_DATA_HOME is set; name a folder with --data-dir";
            return Err(Failure::new(Exit::Configuration, "data_dir_unusable", why));
        };
        Ok(Self {
            path: base.join("samovar"),
            reason,
            is_elsewhere: true,
        })
    }
}

fn is_ours(dir: &Path) -> bool {
    dir.join("lock").is_file() && dir.join("journal").is_dir()
}

fn is_free(dir: &Path) -> bool {
    match std::fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

fn providers(model: Option<String>) -> Result<ProviderConfig, Failure> {
    let mut config = ProviderConfig {
        default_model: model,
        ..ProviderConfig::default()
    };
    for spec in SPECS {
        if let Some((variable, key)) = named(spec.env_vars.iter().copied())?
            && let Some(key) = Secret::new(&key)
        {
            config.keys.insert(spec.name.to_owned(), key);
            config.key_origins.insert(spec.name.to_owned(), variable);
        }
        let base_url = spec.base_url_var();
        let address = first([base_url.as_str()].into_iter().chain(spec.address_var))?;
        if let Some(address) = address {
            config.base_urls.insert(spec.name.to_owned(), address);
        }
    }
    for unbuilt in UNBUILT {
        if variable(unbuilt.variable)?.is_some() {
            config.unbuilt.push(unbuilt);
        }
    }
    if variable("SAMOVAR_REQUIRE_MODEL")?.is_some_and(|value| value != "0") {
        config.demo = DemoUse::Forbidden;
    }
    Ok(config)
}

fn token() -> Result<Option<Token>, Failure> {
    let Some(given) = variable("SAMOVAR_TOKEN")? else {
        return Ok(None);
    };
    let why = "SAMOVAR_TOKEN is shorter than 16 characters, which could be guessed; \
               make one with: openssl rand -hex 32";
    let token = Token::new(&given);
    token
        .map(Some)
        .ok_or_else(|| Failure::new(Exit::Configuration, "token_unusable", why))
}

/// The first of these variables that is set.
fn first<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Option<String>, Failure> {
    Ok(named(names)?.map(|(_, value)| value))
}

/// The first of these variables that is set, with its name.
fn named<'a>(
    names: impl IntoIterator<Item = &'a str>,
) -> Result<Option<(String, String)>, Failure> {
    for name in names {
        if let Some(value) = variable(name)? {
            return Ok(Some((name.to_owned(), value)));
        }
    }
    Ok(None)
}

/// A variable that is set. What is no text is refused and not repeated: it may be a key.
fn variable(name: &str) -> Result<Option<String>, Failure> {
    let Some(value) = std::env::var_os(name) else {
        return Ok(None);
    };
    let text = value.into_string().map_err(|_| {
        let why = format!("{name} is not UTF-8; set it to text");
        Failure::new(Exit::Configuration, "variable_unusable", why)
    })?;
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

/// A variable that holds a path, which need not be text.
fn path(name: &str) -> Option<PathBuf> {
    let value = std::env::var_os(name)?;
    (!value.is_empty()).then(|| value.into())
}

/// A variable that stands for something else. `right` is what it should be.
fn parsed<T: FromStr<Err: Display>>(name: &str, right: &str) -> Result<Option<T>, Failure> {
    let Some(value) = variable(name)? else {
        return Ok(None);
    };
    let parsed = value.trim().parse().map(Some);
    parsed.map_err(|error| {
        let why = format!("{name} is {value:?}: {error}; set it to {right}");
        Failure::new(Exit::Configuration, "variable_unusable", why)
    })
}
