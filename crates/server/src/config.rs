//! What a server is started with. Plain data: sections of the configuration, and what the binary made of the
//! rest.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use samovar_config::{Consolidate, FolderTrust, PromptLayout};
use samovar_core::{Effect, SystemPrompt, Toolset};
use samovar_descriptors::Budget;
use samovar_egress::Range;
#[cfg(feature = "plant")]
use samovar_engine::Ports;
use samovar_engine::{AgentModes, Layout, Retry, Settings};
use samovar_locale as locale;
use samovar_providers::{ProviderConfig, Registry};
use samovar_relay::RelayConfig;
use samovar_sandbox::Owner;
use samovar_stores::Walker;
use samovar_tools::{GitSettings, UndoBounds, WebSearch};
use serde_json::Value;

use crate::examiner::Examiner;
use crate::origin::{Authority, Origin};

/// The token that clients bring; never printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Takes a token; `None` if it is shorter than 16 characters, which could be guessed.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (text.len() >= 16).then(|| Self(text.to_owned()))
    }

    /// The token itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where everything is kept.
    pub data_dir: PathBuf,
    /// The folder that tools work in.
    pub workspace: PathBuf,
    /// Whether a person trusts that folder; by default it is trusted.
    pub trust: FolderTrust,
    /// How far file tools reach.
    pub reach: FileAccess,
    /// Folders that file tools neither see nor change, besides the data directory. They need not be
    /// there.
    pub private: Vec<PathBuf>,
    /// Files that file tools may read and not change, besides those of the workspace.
    pub guarded: Vec<PathBuf>,
    /// Where the person's own files for agents are.
    pub guide: Box<GuideConfig>,
    /// What agents remember.
    pub memory: Box<MemoryConfig>,
    /// How much is kept of what tools change in files, so that it can be taken back.
    pub undo: UndoBounds,
    /// The owner whose mark the data directory gets, so that later starts need not name it; `None`
    /// makes no mark.
    pub owner: Option<Owner>,
    /// Who may reach the server. What has to be chosen or parsed of it first has a field of its own
    /// here, which counts: the folders, the token, the hosts and the origins.
    pub server: samovar_config::Server,
    /// The token that clients must send; `None` uses the one in the data directory, which the first
    /// start makes.
    pub token: Option<Token>,
    /// Hosts by which clients may name the server, besides its address.
    pub hosts: Vec<Authority>,
    /// Pages of other origins that may use the server, with a token like any other client.
    pub origins: Vec<Origin>,
    /// File descriptors that the process may open. The server raises no limit; it stays below this
    /// one.
    pub descriptors: u64,
    /// Whether the space that is reserved for a full disk is given back while no process uses the
    /// data directory.
    pub frees_ballast: bool,
    /// How data is stored.
    pub store: samovar_config::Store,
    /// How turns are streamed: a stream that gets through after its patience ends and says where to
    /// resume; after twice as long the connection is cut.
    pub stream: samovar_config::Stream,
    /// Addresses that are not public and may be asked all the same, by webhooks and whatever else
    /// fetches.
    pub egress: Vec<Range>,
    /// How commands run; `None` leaves `exec` out.
    pub exec: Option<Box<ExecConfig>>,
    /// Where `web_search` asks; `None` if no search is configured.
    pub search: Option<WebSearch>,
    /// Tools of the program that embeds the server. They exist before the turns of an earlier run
    /// continue, unlike tools that are added to [`Engine::toolbox`] later.
    ///
    /// [`Engine::toolbox`]: samovar_engine::Engine::toolbox
    pub toolsets: Vec<Arc<dyn Toolset>>,
    /// Webhook tools that exist from the start.
    pub tools: Vec<ConfiguredTool>,
    /// The program that checks a journal before it is opened, if the last start died; `None` trusts
    /// the journal if its pages fit together.
    pub walker: Option<Walker>,
    /// Whether the program that started the server restarts it on request, as a restore needs; see
    /// [`Server::restart_asked`](crate::Server::restart_asked).
    pub restarts: bool,
    /// Looks at the server and its models when the owner asks; `None` refuses that.
    pub examiner: Option<Arc<dyn Examiner>>,
    /// Whether the server has its web page, and browsers may log in.
    pub page: bool,
    /// The global chat (CH-8, CH-9, CH-12).
    pub chat: samovar_config::Chat,
    /// The relay of external agents (spec 08).
    pub relay: samovar_config::Relay,
    /// The bounds of the relay; what [`Config::relay`] says counts before them.
    pub relay_bounds: RelayConfig,
    /// How often a socket of the relay is asked whether it is there; one that does not answer twice
    /// has left.
    pub relay_ping: Duration,
    /// How the engine behaves.
    pub settings: Settings,
    /// The models.
    pub providers: ProviderConfig,
    /// The registry, if the caller has made one before the start; `None` makes it from `providers`.
    pub registry: Option<Arc<Registry>>,
    /// Lays planted faults over the ports of the engine.
    #[cfg(feature = "plant")]
    pub planted: fn(Ports) -> Ports,
}

/// Where the person's own files for agents are, and their skills.
#[derive(Clone, Debug, Default)]
pub struct GuideConfig {
    /// The person's configuration folder: its `SOUL.md`, `USER.md`, `AGENTS.md`, `agents` and `skills`.
    pub own: Option<PathBuf>,
    /// A folder whose files are used before those.
    pub bootstrap: Option<PathBuf>,
    /// The folder with the workspace's skills; `None` for `skills` in the workspace.
    pub skills: Option<PathBuf>,
    /// The names of the skills that are in every prompt in full.
    pub always_load: Vec<String>,
}

/// How long after a turn has begun what was said before gets vectors, once none runs.
const QUIET: Duration = Duration::from_secs(30);
/// How often it is looked whether a day is over.
const DAY_CHECK: Duration = Duration::from_mins(1);

/// What agents remember.
#[derive(Clone, Debug)]
pub struct MemoryConfig {
    /// The file with the long-term memory; `None` for `MEMORY.md` in the data directory.
    pub long_term: Option<PathBuf>,
    /// The folder with the daily notes; `None` for `memory` in the data directory.
    pub daily: Option<PathBuf>,
    /// The file with what memories mean; `None` for `vectors.db` in the data directory.
    pub vectors: Option<PathBuf>,
    /// What finds memories by their meaning: `embedded`, `off`, or a `provider/model`.
    pub embeddings: String,
    /// How many exchanges of earlier sessions are found by their meaning, at most: the newest.
    pub exchanges: u32,
    /// How long after a turn has begun what was said gets vectors, once none runs.
    pub quiet: Duration,
    /// What becomes of a day that is over.
    pub consolidate: Consolidate,
    /// How often it is looked whether one is.
    pub day_check: Duration,
    /// The past days whose notes are in a prompt.
    pub window_days: u16,
    /// The time zone that days are of; `None` for the system's.
    pub zone: Option<TimeZone>,
}

/// How commands run.
#[derive(Clone, Debug)]
pub struct ExecConfig {
    /// What is set.
    pub set: samovar_config::Exec,
    /// The folders of the owner's `PATH`.
    pub path: Vec<PathBuf>,
    /// The owner's home folder, where toolchains are found.
    pub home: Option<PathBuf>,
    /// What of the owner's environment they have.
    pub env: Vec<(String, String)>,
    /// Where the owner's own git settings are.
    pub git: GitSettings,
    /// What of the owner's environment says where toolchains are.
    pub variables: Vec<(OsString, OsString)>,
    /// The program that becomes the sandbox; `None` for this one, which calls
    /// [`be_cage_if_asked`](crate::be_cage_if_asked) first.
    pub program: Option<PathBuf>,
}

/// A webhook tool that exists from the start. Its address may contain a key.
#[derive(Clone, PartialEq)]
pub struct ConfiguredTool {
    /// The name that a model calls.
    pub name: String,
    /// For the model: what it does and when to use it.
    pub description: String,
    /// The JSON Schema of its arguments; `None` if it takes none.
    pub parameters: Option<Value>,
    /// The address that its calls are sent to.
    pub url: String,
    /// What it does to the world.
    pub effect: Effect,
    /// As in [`ToolSpec::closed`](samovar_core::ToolSpec).
    pub closed: bool,
    /// How long one call may run.
    pub timeout: Duration,
}

impl std::fmt::Debug for ConfiguredTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConfiguredTool")
            .field("name", &self.name)
            .field("url", &locale::without_secrets(&self.url))
            .finish_non_exhaustive()
    }
}

/// How far file tools reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileAccess {
    /// No further than the workspace.
    #[default]
    Workspace,
    /// As far as this user of the system does. Relative paths still begin in the workspace.
    System,
}

impl Config {
    /// The bounds that follow from [`Config::descriptors`].
    pub fn budget(&self) -> Budget {
        Budget::of(self.descriptors, self.server.max_connections)
    }

    /// The defaults, for a data directory and a workspace.
    pub fn new(data_dir: PathBuf, workspace: PathBuf) -> Self {
        Self::of(&samovar_config::Settings::default(), data_dir, workspace)
    }

    /// What is set, for a data directory and a workspace; without what has to be checked first: hosts,
    /// origins, addresses, tools, rules, budgets, models and the sandbox.
    pub fn of(set: &samovar_config::Settings, data_dir: PathBuf, workspace: PathBuf) -> Self {
        let token = set.server.token.as_ref();
        Self {
            data_dir,
            workspace,
            trust: FolderTrust::default(),
            reach: if set.tools.restrict_to_workspace {
                FileAccess::Workspace
            } else {
                FileAccess::System
            },
            private: Vec::new(),
            guarded: Vec::new(),
            guide: Box::new(GuideConfig {
                own: None,
                bootstrap: set.bootstrap.dir.clone(),
                skills: set.skills.dir.clone(),
                always_load: set.skills.always_load.clone(),
            }),
            memory: Box::new(MemoryConfig {
                long_term: set.memory.long_term_path.clone(),
                daily: set.memory.daily_dir.clone(),
                vectors: set.memory.vec_store_path.clone(),
                embeddings: set.memory.embeddings.clone(),
                exchanges: set.memory.exchanges,
                quiet: QUIET,
                consolidate: set.memory.consolidate,
                day_check: DAY_CHECK,
                window_days: set.memory.daily_window_days,
                zone: None,
            }),
            undo: UndoBounds {
                max_bytes: u64::from(set.tools.undo_mib) << 20,
                max_age: Duration::from_hours(u64::from(set.tools.undo_days) * 24),
            },
            owner: None,
            server: set.server.clone(),
            token: token.and_then(|token| Token::new(token.expose())),
            hosts: Vec::new(),
            origins: Vec::new(),
            descriptors: samovar_descriptors::limit(),
            frees_ballast: false,
            store: set.store.clone(),
            stream: set.stream.clone(),
            egress: Vec::new(),
            exec: None,
            search: None,
            toolsets: Vec::new(),
            tools: Vec::new(),
            walker: None,
            restarts: false,
            examiner: None,
            page: true,
            chat: set.chat.clone(),
            relay: set.relay.clone(),
            relay_bounds: RelayConfig::default(),
            relay_ping: Duration::from_secs(20),
            settings: of_engine(set),
            providers: ProviderConfig::default(),
            registry: None,
            #[cfg(feature = "plant")]
            planted: |ports| ports,
        }
    }
}

/// What the engine is told.
fn of_engine(set: &samovar_config::Settings) -> Settings {
    let (usual, defaults, models) = (Settings::default(), &set.defaults, &set.models);
    let of_client = set.agent_modes.iter().map(|(name, mode)| {
        let denied = mode.deny.iter().flatten().cloned();
        (name.clone(), denied.collect())
    });
    // What configuration lets pass is one.
    let prompt = defaults.system_prompt.as_deref();
    let prompt = prompt.and_then(|prompt| SystemPrompt::new(prompt).ok());
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a temperature of a few digits loses none that anybody wrote"
    )]
    let temperature = defaults.temperature as f32;
    Settings {
        limits: samovar_core::Limits {
            max_iterations: defaults.max_iterations,
            max_output_tokens: defaults.max_tokens,
            temperature,
            ..usual.limits
        },
        max_history_messages: set.session.max_history_messages,
        memory: set.server.memory.saturating_mul(1 << 20),
        retry: Retry {
            count: models.retries,
            within: models.retry_within,
            ..usual.retry
        },
        fallback: defaults.fallback.clone(),
        retention: set.stream.retention,
        resume: set.recovery.resume,
        system_prompt: prompt,
        layout: match set.prompt.layout {
            PromptLayout::Cached => Layout::Cached,
            PromptLayout::Seed => Layout::Seed,
        },
        agent_modes: AgentModes::new(of_client),
        approval_expiry: set.tools.approval_expiry,
        ..usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_in_the_documents_are_those_in_force() {
        let (folder, set) = (PathBuf::new(), samovar_config::Settings::default());
        let config = Config::new(folder.clone(), folder);
        let engine = Settings::default();
        assert_eq!(format!("{:?}", config.settings), format!("{engine:?}"));
        assert_eq!(config.undo, UndoBounds::default());
        let chat = samovar_chat::Bounds::default();
        let bounds = (chat.max_messages, chat.max_bytes);
        assert_eq!((set.chat.max_messages, set.chat.max_bytes), bounds);
        let (relay, bounds) = (set.relay, config.relay_bounds);
        let bounds = (bounds.strict, bounds.reply_timeout, bounds.max_rooms);
        assert_eq!((relay.strict, relay.reply_timeout, relay.max_rooms), bounds);
    }
}
