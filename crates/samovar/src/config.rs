//! From what was typed, the environment and the files to what the server is started with: the one
//! place that reads the environment.

mod budget;
mod chat;
mod data_dir;
mod elsewhere;
mod exec;
pub(crate) mod handed;
mod policy;
mod providers;
mod proxy;
mod relay;
mod web;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use samovar_config::{
    ConfigError, FILE_NAME, Flag, FolderTrust, Folders, Keys, Origin, ProviderNames, Resolved,
    Sources,
};
use samovar_core::Approval;
use samovar_locale as text;
use samovar_server::providers::{
    DemoUse, Probing, ProviderConfig, Registry, SPECS, Secret, registry,
};
use samovar_server::{Config, FileAccess, Owner, Ownership, unread_instructions};
use tracing_subscriber::EnvFilter;

use crate::args::{DirArgs, ModelArgs};
use crate::browser::BrowserVariables;
use crate::exit::{Exit, Failure};
use crate::screen::{say, shell_word};
use crate::stores::{self, is_begun};
use crate::style;
use crate::walk;

use data_dir::DataDir;
pub(crate) use data_dir::{LocalData, Place, real, resolve};

/// Who said which model answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ModelFrom {
    /// The command line.
    Flag,
    /// A variable or a file, by its name and line.
    Elsewhere(String),
    /// Nobody: one is looked for.
    Nobody,
}

impl ModelFrom {
    fn of(origin: &Origin) -> Self {
        match origin {
            Origin::Flag { .. } => Self::Flag,
            Origin::Variable { .. } | Origin::Here(_) | Origin::User(_) => {
                Self::Elsewhere(origin.to_string())
            }
            Origin::Default => Self::Nobody,
        }
    }

    /// Whether somebody named it.
    pub(crate) fn is_somebody(&self) -> bool {
        *self != Self::Nobody
    }
}

/// What a command starts from, and why it is that.
pub(crate) struct Setup {
    pub(crate) config: Config,
    /// The models that it sets up.
    pub(crate) registry: Arc<Registry>,
    /// Why the data directory is this one, for a person.
    pub(crate) data_dir_reason: String,
    /// Why the workspace is this one, for a person.
    pub(crate) workspace_reason: String,
    pub(crate) place: Place,
    /// Where the base URL of each provider was set.
    pub(crate) base_origins: BTreeMap<String, String>,
    /// This user's own folders.
    pub(crate) folders: Folders,
    /// The current folder.
    here: PathBuf,
    /// Whether nothing but the current folder says what the workspace is.
    is_workspace_untyped: bool,
    /// Whether there is a `./data` that this user did not make.
    is_data_foreign: bool,
    /// Whether the folder had no store when the command began.
    is_data_new: bool,
    pub(crate) model_from: ModelFrom,
    /// How much is asked where a person is there and says nothing.
    pub(crate) approval: Approval,
    /// Who said which token clients must bring, for a person.
    pub(crate) token_from: String,
    /// What a person has to hear, whatever they asked for.
    warnings: Vec<String>,
}

impl Setup {
    /// Where everything is kept, in one line for a person.
    pub(crate) fn data_line(&self) -> String {
        let dir = self.config.data_dir.display();
        text::config::data_line(dir, &self.data_dir_reason)
    }

    /// Says where everything is kept, when there is a `./data` that this user did not make.
    pub(crate) fn say_foreign(&self) {
        if self.is_data_foreign {
            say(&self.data_line());
        }
    }

    /// Says where everything is kept, when that is news or was asked for.
    pub(crate) fn say_data(&self, is_verbose: bool) {
        if is_verbose || self.is_data_new || self.is_data_foreign {
            say(&self.data_line());
        }
    }

    /// The folder whose sessions the data directory holds, if it was not named: for `./data` the one
    /// around it, whatever the workspace is.
    pub(crate) fn folder(&self) -> PathBuf {
        match self.place {
            Place::Beside => real(&self.here),
            Place::Named | Place::OfFolder => real(&self.config.workspace),
        }
    }

    /// The store that the folder had before it got this data directory, if it has sessions.
    pub(crate) fn earlier_store(&self) -> Option<PathBuf> {
        let store = self.folders.store_of(&self.folder())?;
        (self.place == Place::Beside && is_begun(&store)).then_some(store)
    }

    /// Notes whose folder this is, so that its sessions are found from everywhere. What cannot be
    /// noted is found in the folder alone.
    pub(crate) fn note_folder(&self) {
        let folder = self.folder();
        let store = self.folders.store_of(&folder);
        if let (Place::OfFolder | Place::Beside, Some(store)) = (self.place, store)
            && let Err(error) = stores::note(&store, &folder)
        {
            tracing::warn!(%error, "this folder is not noted");
        }
    }

    /// Says which store the folder had before this one, if that has sessions. They can be brought
    /// here as long as this one has none.
    pub(crate) fn say_earlier(&self, is_empty: bool) {
        if let Some(store) = self.earlier_store() {
            let store = shell_word(&store);
            say(&if is_empty {
                text::stores::earlier(store)
            } else {
                text::stores::earlier_elsewhere(store)
            });
        }
    }

    /// Refuses to let tools work in the whole system or in all of the person's files, unless they
    /// typed that they want it.
    ///
    /// # Errors
    /// The workspace is `/` or the home folder, and only because the command was typed there.
    pub(crate) fn check_workspace(&self) -> Result<(), Failure> {
        let folder = real(&self.config.workspace);
        let home = self.folders.home.as_deref().map(real);
        let is_wide = folder.parent().is_none() || Some(&folder) == home.as_ref();
        if self.place != Place::Named && self.is_workspace_untyped && is_wide {
            let why = text::config::workspace_too_wide(shell_word(&folder));
            return Err(Failure::new(Exit::Usage, "workspace_too_wide", why));
        }
        Ok(())
    }

    /// Says what a person has to hear.
    pub(crate) fn warn(&self) {
        self.warnings.iter().for_each(|warning| say(warning));
    }

    /// Says what a person has to hear before a turn: also which instructions agents are not told of.
    pub(crate) fn warn_before_turns(&self) {
        self.warn();
        for unread in unread_instructions(&self.config) {
            say(&unread.to_string());
        }
    }
}

/// What there is to be read, with what was typed.
///
/// # Errors
/// There is no folder to stand in: exit code 3.
pub(crate) fn sources(places: &DirArgs, who: &ModelArgs) -> Result<Sources, Failure> {
    let here = std::env::current_dir().map_err(|error| {
        let why = text::config::here_unreadable(error);
        Failure::new(Exit::Configuration, "workspace_unusable", why)
    })?;
    let flag = |name, key, value| Flag { name, key, value };
    let path = |path: &PathBuf| path.as_os_str().to_owned();
    let probe = who.no_probe.then(|| "false".into());
    let flags = [
        (
            "--data-dir",
            "server.data_dir",
            places.data_dir.as_ref().map(path),
        ),
        (
            "--workspace",
            "server.workspace",
            places.workspace.as_ref().map(path),
        ),
        (
            "--model",
            "defaults.model",
            who.model.as_ref().map(Into::into),
        ),
        ("--no-probe", "models.probe", probe),
    ];
    let flags = flags.into_iter();
    Ok(Sources {
        flags: flags
            .filter_map(|(name, key, value)| Some(flag(name, key, value?)))
            .collect(),
        environment: handed::environment(),
        here,
        keys: KEYS.clone(),
    })
}

/// The keys that there are: reading them off the types takes longer than all else that a command does
/// before it begins.
static KEYS: LazyLock<Arc<Keys>> = LazyLock::new(|| Arc::new(Keys::new(&providers())));

/// The rows of the table of providers, as far as they can be set up.
pub(crate) fn providers() -> Vec<ProviderNames> {
    let own = |names: &[&str]| names.iter().copied().map(str::to_owned).collect();
    let rows = SPECS.iter().filter(|spec| !spec.is_demo());
    let rows = rows.map(|spec| ProviderNames {
        name: spec.name.to_owned(),
        key_variables: own(spec.env_vars),
        base_variables: [spec.base_url_var()]
            .into_iter()
            .chain(spec.address_var.map(str::to_owned))
            .collect(),
    });
    rows.collect()
}

/// What holds before a command is known: the language of everything that is said, and how much is
/// logged. Keys are known from here on. A mistake in the configuration is for the command to tell.
pub(crate) fn begin() -> Begun {
    let sources = sources(&DirArgs::default(), &ModelArgs::default());
    let keys = sources.as_ref().map(handed::keys).unwrap_or_default();
    let resolved = sources.and_then(|sources| Ok(sources.resolve()?));
    let is_log_chosen = |it: &Resolved| it.origin("log") != Origin::Default;
    let is_log_chosen = resolved.as_ref().is_ok_and(is_log_chosen);
    let settings = resolved
        .map(|resolved| resolved.settings)
        .unwrap_or_default();
    style::begin(are_colours_wanted());
    let asked = settings.language.clone().or_else(language_of_system);
    if let Some(language) = asked.and_then(|tag| text::Language::from_tag(&tag)) {
        text::choose(language);
    }
    let log = EnvFilter::try_new(&settings.log).unwrap_or_else(|_| EnvFilter::new("warn"));
    let is_log_chosen = is_log_chosen || !io::stderr().is_terminal();
    Begun {
        log,
        is_log_chosen,
        keys,
    }
}

/// What is known before a command is.
pub(crate) struct Begun {
    /// What is logged.
    pub(crate) log: EnvFilter,
    /// Whether a log is read: it is set what is logged, or stderr is no terminal.
    pub(crate) is_log_chosen: bool,
    /// The variables that have keys.
    pub(crate) keys: Vec<(OsString, OsString)>,
}

/// Whether the environment lets terminals have colours.
fn are_colours_wanted() -> bool {
    let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !is_refused && std::env::var_os("TERM").is_some_and(|terminal| terminal != "dumb")
}

/// What the environment says of browsers.
pub(crate) fn browser_variables() -> BrowserVariables {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    BrowserVariables {
        browser: set("BROWSER").and_then(|value| value.into_string().ok()),
        has_screen: set("DISPLAY").or_else(|| set("WAYLAND_DISPLAY")).is_some(),
    }
}

/// What the system's variables say of the language, the strongest first.
fn language_of_system() -> Option<String> {
    let names = ["LC_ALL", "LC_MESSAGES", "LANG"];
    let set = names.iter().filter_map(std::env::var_os);
    let mut set = set.filter_map(|value| value.into_string().ok());
    set.find(|value| !value.is_empty())
}

/// What a server leaves for the one that it restarts as.
pub(crate) const BOOTED_AGAIN: &str = "SAMOVAR_BOOTED_AGAIN";

/// What the run before this one in the same process has left.
pub(crate) fn booted_again() -> Option<String> {
    std::env::var_os(BOOTED_AGAIN)?.into_string().ok()
}

/// The named point at which this process is to end.
#[cfg(feature = "failpoints")]
pub(crate) fn failpoint() -> Option<String> {
    std::env::var_os("SAMOVAR_FAILPOINT")?.into_string().ok()
}

/// The fault that is to be planted in this process.
#[cfg(feature = "plant")]
pub(crate) fn plant() -> Option<String> {
    std::env::var_os("SAMOVAR_PLANT")?.into_string().ok()
}

/// Reads everything, and says what a command starts from.
///
/// # Errors
/// A mistake in the configuration, or no data directory: exit code 3; a flag's is 2.
pub(crate) fn read(places: &DirArgs, who: &ModelArgs, local: LocalData) -> Result<Setup, Failure> {
    let sources = sources(places, who)?;
    let resolved = resolve(&sources)?;
    check_log(&resolved)?;
    for (name, key) in resolved.secrets() {
        handed::hide(&name, key.expose());
    }
    let settings = &resolved.settings;
    let owner = resolved.folders.state.clone().map(Owner::new);
    let workspace = settings.server.workspace.clone();
    let workspace = workspace.unwrap_or_else(|| sources.here.clone());
    let data_dir = DataDir::choose(&resolved, &sources.here, &workspace, owner.as_ref(), local)?;
    data_dir::put_aside(&data_dir.path)?;
    if data_dir::is_file_a_commands(&sources, &data_dir.path) {
        say(&text::config::file_of_command(FILE_NAME));
    }
    let mut config = Config::of(settings, data_dir.path.clone(), workspace);
    let is_default_length = resolved.origin("defaults.max_tokens") == Origin::Default;
    config.settings.limits.reminders.cut_answer = is_default_length;
    elsewhere::set_up(&mut config, &resolved, &sources)?;
    policy::set_up(&mut config.settings, &resolved)?;
    chat::check(&resolved)?;
    relay::set_up(&mut config.relay, &resolved)?;
    config.frees_ballast = data_dir.place == Place::OfFolder;
    config.providers = set_up(&resolved);
    config.providers.proxies = proxy::set_up(&resolved, &sources)?;
    budget::set_up(&mut config, &resolved)?;
    config.providers.unbuilt = providers::unbuilt(&sources);
    config.providers.max_idle = config.budget().idle;
    if !settings.tools.trust_workspace {
        let own = resolved.folders.config.as_deref();
        config.trust = FolderTrust::of(own, &config.workspace);
    }
    protect(&mut config, &resolved, &sources, owner);
    let registry = Arc::new(registry(config.providers.clone()));
    config.registry = Some(registry.clone());
    config.walker = Some(walk::walker());
    #[cfg(feature = "plant")]
    crate::plant::lay(&mut config);
    let level = settings.tools.approval;
    config.settings.approval = level.unwrap_or(config.settings.approval);
    config.settings.workspace_note = note(config.reach);
    Ok(Setup {
        registry,
        data_dir_reason: data_dir.reason,
        workspace_reason: match resolved.origin("server.workspace") {
            Origin::Default => text::config::workspace_here().to_owned(),
            origin => text::config::named_by(origin),
        },
        base_origins: providers::base_origins(&config, &resolved),
        place: data_dir.place,
        is_data_new: data_dir.place == Place::OfFolder && !is_begun(&config.data_dir),
        is_workspace_untyped: resolved.origin("server.workspace") == Origin::Default,
        here: sources.here.clone(),
        folders: resolved.folders.clone(),
        is_data_foreign: data_dir.is_foreign,
        model_from: ModelFrom::of(&resolved.origin("defaults.model")),
        approval: level.unwrap_or(Approval::Auto),
        token_from: resolved.origin("server.token").to_string(),
        warnings: warnings(&config, &resolved, &sources),
        config,
    })
}

/// Whether the filter of the log is one; what it means, only the logger knows.
fn check_log(resolved: &Resolved) -> Result<(), ConfigError> {
    let filter = &resolved.settings.log;
    match (EnvFilter::try_new(filter), resolved.keys().get("log")) {
        (Err(_), Some(key)) => {
            let right = text::config::expected_log_filter();
            Err(ConfigError::unusable(
                resolved.origin("log"),
                key,
                filter,
                right,
            ))
        }
        (Ok(_), _) | (Err(_), None) => Ok(()),
    }
}

/// The models: keys, addresses, and who may answer.
fn set_up(resolved: &Resolved) -> ProviderConfig {
    let settings = &resolved.settings;
    let mut config = ProviderConfig {
        default_model: settings.defaults.model.clone(),
        ..ProviderConfig::default()
    };
    for (name, provider) in &settings.providers {
        let key = provider.api_key.as_ref();
        if let Some(key) = key.and_then(|key| Secret::new(key.expose())) {
            let origin = resolved.origin(&format!("providers.{name}.api_key"));
            config.keys.insert(name.clone(), key);
            config.key_origins.insert(name.clone(), origin.to_string());
        }
        let base = provider.api_base.iter().cloned();
        config
            .base_urls
            .extend(base.map(|base| (name.clone(), base)));
        let window = provider.context_window.iter();
        let window = window.map(|window| (name.clone(), u64::from(*window)));
        config.windows.extend(window);
        let images = provider.images.map(|images| (name.clone(), images));
        config.images.extend(images);
    }
    let models = &settings.models;
    config.timeouts.connect = models.connect;
    config.timeouts.first_token = models.first_token;
    config.timeouts.between_tokens = models.between_tokens;
    config.timeouts.whole_call = models.whole_call;
    if settings.models.probe {
        config.probing = Probing::On;
    }
    if settings.models.require {
        config.demo = DemoUse::Forbidden;
    }
    config
}

/// Keeps tools away from what the person trusts: an agent that could write there would trust itself.
fn protect(config: &mut Config, resolved: &Resolved, sources: &Sources, owner: Option<Owner>) {
    let folders = &resolved.folders;
    config.guide.own.clone_from(&folders.config);
    let own = [&folders.config, &folders.state, &folders.data];
    config.private = own.into_iter().flatten().cloned().collect();
    let beside = [sources.here.join("data"), config.workspace.join("data")];
    let is_ours = |dir: &PathBuf| {
        let standing = owner.as_ref().map(|owner| owner.standing(dir));
        standing == Some(Ownership::Ours)
    };
    config.private.extend(beside.into_iter().filter(is_ours));
    config.guarded = vec![sources.here.join(FILE_NAME)];
    config.owner = owner;
}

/// What the model is told about where it works: the same in every folder.
fn note(reach: FileAccess) -> String {
    let begin = "Paths are relative to the working folder";
    match reach {
        FileAccess::Workspace => format!("{begin}."),
        FileAccess::System => format!("{begin}; other files of this machine have absolute paths."),
    }
}

fn warnings(config: &Config, resolved: &Resolved, sources: &Sources) -> Vec<String> {
    let misspelled = providers::misspelled(sources).into_iter();
    let keys = misspelled.map(|(set, meant)| text::config::key_near(set, meant));
    let reach = match config.reach {
        FileAccess::Workspace => None,
        FileAccess::System => {
            let origin = resolved.origin("tools.restrict_to_workspace");
            Some(text::config::reach_system(origin))
        }
    };
    keys.chain(reach).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rewritten with `SAMOVAR_WRITE=1`.
    #[test]
    fn the_page_names_the_variables_of_every_provider() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
        let read = || std::fs::read_to_string(page).unwrap();
        let found = read();
        let (before, rest) = found.split_once("<!-- providers -->\n").unwrap();
        let (_, after) = rest.split_once("<!-- /providers -->\n").unwrap();
        let table = samovar_config::provider_reference(&providers());
        let wanted = format!("{before}<!-- providers -->\n{table}<!-- /providers -->\n{after}");
        if std::env::var_os("SAMOVAR_WRITE").is_some() {
            std::fs::write(page, &wanted).unwrap();
        }
        assert!(read() == wanted, "write it anew with SAMOVAR_WRITE=1");
    }
}
