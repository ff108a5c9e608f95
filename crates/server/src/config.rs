//! What a server is started with. Plain data: the binary reads it from flags and the environment.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use samovar_chat::Bounds;
use samovar_core::{Effect, Toolset};
use samovar_descriptors::Budget;
use samovar_egress::Range;
#[cfg(feature = "plant")]
use samovar_engine::Ports;
use samovar_engine::Settings;
use samovar_locale as locale;
use samovar_providers::{ProviderConfig, Registry};
use samovar_relay::RelayConfig;
use samovar_sandbox::Owner;
use samovar_sandbox::cage::{Level, Limits};
use samovar_stores::{Durability, Walker};
use samovar_tools::{GitSettings, UndoBounds, WebSearch};
use serde_json::Value;

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
    /// How far file tools reach.
    pub reach: FileAccess,
    /// Folders that file tools neither see nor change, besides the data directory. They need not be
    /// there.
    pub private: Vec<PathBuf>,
    /// Files that file tools may read and not change, besides those of the workspace.
    pub guarded: Vec<PathBuf>,
    /// How much is kept of what tools change in files, so that it can be taken back.
    pub undo: UndoBounds,
    /// The owner whose mark the data directory gets, so that later starts need not name it; `None`
    /// makes no mark.
    pub owner: Option<Owner>,
    /// The address to listen on.
    pub host: IpAddr,
    /// The port; 0 lets the system choose one.
    pub port: u16,
    /// The token that clients must send; `None` uses the one in the data directory, which the first
    /// start makes.
    pub token: Option<Token>,
    /// Hosts by which clients may name the server, besides its address.
    pub hosts: Vec<Authority>,
    /// Whether clients come through a proxy that speaks TLS with them: without one, and without
    /// `token`, the server listens on loopback only.
    pub behind_proxy: bool,
    /// Pages of other origins that may use the server, with a token like any other client.
    pub origins: Vec<Origin>,
    /// Bytes of a request's body, at most.
    pub max_body_bytes: usize,
    /// Requests in a minute of one named token, at most; 0 for no limit. The owner has none.
    pub requests_per_minute: u32,
    /// Connections at once, at most; fewer where [`Config::descriptors`] allow no more.
    pub max_connections: usize,
    /// File descriptors that the process may open. The server raises no limit; it stays below this
    /// one.
    pub descriptors: u64,
    /// How long a client may take to send its headers, or its body.
    pub slow_client: Duration,
    /// How long a client may leave an answer unread. A stream that gets through after that ends and
    /// says where to resume; after twice as long the connection is cut.
    pub slow_reader: Duration,
    /// How often a silent stream says that it lives.
    pub ping_every: Duration,
    /// How long running turns get to end when the server is asked to stop.
    pub drain: Duration,
    /// Whether the space that is reserved for a full disk is given back while no process uses the
    /// data directory.
    pub frees_ballast: bool,
    /// What an accepted message outlives.
    pub durability: Durability,
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
    /// The global chat.
    pub chat: ChatConfig,
    /// The relay of external agents.
    pub relay: RelaySettings,
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

/// The global chat (CH-8, CH-9, CH-12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatConfig {
    /// Who answers messages that no agent waits for.
    pub agent: ChatAgent,
    /// The first message in the chat at start; `None` for no message. At most 64 KiB.
    pub greeting: Option<String>,
    /// Messages that are kept, at most; the oldest leave first.
    pub max_messages: usize,
    /// Bytes that they cost, at most.
    pub max_bytes: usize,
}

impl Default for ChatConfig {
    fn default() -> Self {
        let bounds = Bounds::default();
        Self {
            agent: ChatAgent::default(),
            greeting: None,
            max_messages: bounds.max_messages,
            max_bytes: bounds.max_bytes,
        }
    }
}

/// The relay (spec 08).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelaySettings {
    /// How it works, and its bounds.
    pub relay: RelayConfig,
    /// How often a socket is asked whether it is there; one that does not answer twice has left.
    pub ping_every: Duration,
    /// The rooms that have the booking of a movie as their host from the start on.
    pub movie_rooms: Vec<String>,
    /// The rooms that an agent of our own joins from the start on.
    pub agent_rooms: Vec<String>,
    /// The rooms in which an external agent has our tools from the start on.
    pub tool_rooms: Vec<String>,
    /// The model of the agents in `agent_rooms`; `None` for the default model.
    pub agent_model: Option<String>,
}

impl Default for RelaySettings {
    fn default() -> Self {
        Self {
            relay: RelayConfig::default(),
            ping_every: Duration::from_secs(20),
            movie_rooms: Vec::new(),
            agent_rooms: Vec::new(),
            tool_rooms: Vec::new(),
            agent_model: None,
        }
    }
}

/// Who answers the person's messages in the chat that no agent waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChatAgent {
    /// The `AdaptiveAgent`.
    #[default]
    Adaptive,
    /// Nobody.
    Nobody,
}

impl ChatAgent {
    /// Every choice, as configuration spells it.
    pub const ALL: [(&'static str, Self); 2] =
        [("adaptive", Self::Adaptive), ("nobody", Self::Nobody)];
}

/// How commands run.
#[derive(Clone, Debug)]
pub struct ExecConfig {
    /// What holds them.
    pub level: Level,
    /// How long one may take that says nothing about it.
    pub timeout: Duration,
    /// Programs that run without a question; `None` for the built-in list of those that only read.
    pub allow: Option<Vec<String>>,
    /// Further files and folders that they may read.
    pub read: Vec<PathBuf>,
    /// What they may use.
    pub limits: Limits,
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
        Budget::of(self.descriptors, self.max_connections)
    }

    /// The defaults, for a data directory and a workspace.
    pub fn new(data_dir: PathBuf, workspace: PathBuf) -> Self {
        Self {
            data_dir,
            workspace,
            reach: FileAccess::default(),
            private: Vec::new(),
            guarded: Vec::new(),
            undo: UndoBounds::default(),
            owner: None,
            host: IpAddr::from([127, 0, 0, 1]),
            port: 4747,
            token: None,
            hosts: Vec::new(),
            behind_proxy: false,
            origins: Vec::new(),
            max_body_bytes: 1024 * 1024,
            requests_per_minute: 600,
            max_connections: 4096,
            descriptors: samovar_descriptors::limit(),
            slow_client: Duration::from_secs(15),
            slow_reader: Duration::from_secs(30),
            ping_every: Duration::from_secs(15),
            drain: Duration::from_secs(10),
            frees_ballast: false,
            durability: Durability::default(),
            egress: Vec::new(),
            exec: None,
            search: None,
            toolsets: Vec::new(),
            tools: Vec::new(),
            walker: None,
            restarts: false,
            chat: ChatConfig::default(),
            relay: RelaySettings::default(),
            settings: Settings::default(),
            providers: ProviderConfig::default(),
            registry: None,
            #[cfg(feature = "plant")]
            planted: |ports| ports,
        }
    }
}
