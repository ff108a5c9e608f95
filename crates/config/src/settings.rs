//! What can be set: the types from which the schema, the reference page, the names of variables and
//! the rules of trust are made.
//!
//! Every key states with `x-widens` whether it widens what the program may do. A key that does
//! takes effect in a folder's file only when that file is trusted; a key that does not say counts
//! as widening.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use samovar_core::{Approval, Durability, Resume};
use samovar_locale::{self as locale, Language};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};

use crate::custom::CustomTool;
use crate::defaults::Defaults;
use crate::exec::Exec;
use crate::guide::{Bootstrap, PromptSettings, Skills};
use crate::memory::Memory;
use crate::modes::AgentMode;
use crate::policy::PolicyRule;
use crate::proxies::ProxyAddress;
use crate::seconds;
use crate::web::Web;

/// All settings, with their defaults.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "The configuration of Samovar")]
pub struct Settings {
    /// The language of all sentences for people; by default that of `LC_ALL`, `LC_MESSAGES` or
    /// `LANG` if this version has it, else English.
    #[schemars(schema_with = "languages", example = &"en", extend("x-widens" = false))]
    pub language: Option<String>,
    /// What to log on stderr: a level such as `info`, or a filter such as
    /// `warn,samovar_engine=debug`.
    #[schemars(
        length(min = 1, max = 1024),
        extend("x-widens" = true, "x-variables" = ["SAMOVAR_LOG"])
    )]
    pub log: String,
    /// The defaults of a session.
    pub defaults: Defaults,
    /// What agents may not use while the person does something, by the name of the mode: 1 to 64
    /// letters, digits, `_` and `-`.
    #[schemars(extend("x-name" = "NAME"))]
    pub agent_modes: BTreeMap<String, AgentMode>,
    /// The model providers, by the name before the `/` in `openai/gpt-5-mini`.
    #[schemars(extend("x-name" = "NAME"))]
    pub providers: BTreeMap<String, Provider>,
    /// Which models may be used, and how long to wait for their servers.
    pub models: Models,
    /// The files that say who agents are: `SOUL.md`, `USER.md` and `AGENTS.md`.
    pub bootstrap: Bootstrap,
    /// The skills: texts that agents read when they need them.
    pub skills: Skills,
    /// What agents remember from one session to the next.
    pub memory: Memory,
    /// How a prompt is put together.
    pub prompt: PromptSettings,
    /// How much of a session its model sees.
    pub session: Session,
    /// Where data is stored, and who may reach the server.
    pub server: Server,
    /// How data is stored.
    pub store: Store,
    /// Which addresses the server may contact.
    pub egress: Egress,
    /// How turns are streamed.
    pub stream: Stream,
    /// What tools may do.
    pub tools: Tools,
    /// What happens at start to the turns of the last run.
    pub recovery: Recovery,
    /// The global chat of the server, which belongs to no session.
    pub chat: Chat,
    /// The rooms in which external agents operate the screens of hosts.
    pub relay: Relay,
}

/// One provider.
#[derive(Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Provider {
    /// The API key.
    #[schemars(
        with = "Secret", example = &"YOUR_KEY",
        length(min = 1, max = 4_096),
        extend("x-widens" = true, "writeOnly" = true)
    )]
    pub api_key: Option<Secret>,
    /// The base URL of its server, instead of the usual one.
    #[schemars(with = "String", example = &"http://127.0.0.1:8000/v1", length(min = 1, max = 2_048), extend("x-widens" = true))]
    pub api_base: Option<String>,
    /// How many tokens its models hold, prompt and answer together, where its server does not say so or
    /// says it wrong.
    #[schemars(with = "u32", example = 8192, range(min = 256, max = 100_000_000), extend("x-widens" = true))]
    pub context_window: Option<u32>,
    /// Whether its models take images, where that is not known or known wrongly.
    #[schemars(with = "bool", example = true, extend("x-widens" = true))]
    pub images: Option<bool>,
}

/// Which models may be used, and how long to wait for their servers.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Models {
    /// Whether to look for model servers on this machine: when no model is named and no provider has a
    /// key, and when a model is named without its provider.
    #[schemars(extend("x-widens" = true))]
    pub probe: bool,
    /// Whether a language model is required, which forbids `demo`.
    // It opens something where a folder says `false` to a person who said `true`.
    #[schemars(extend("x-widens" = true, "x-variables" = ["SAMOVAR_REQUIRE_MODEL"]))]
    pub require: bool,
    /// What models cost, in US dollars for a million tokens, before the built-in prices: each is a
    /// model or provider, then the price of input and of output, and if they differ from that of
    /// input, those of reading and of writing the provider's cache.
    #[schemars(length(max = 256), inner(length(min = 5, max = 300)))]
    #[schemars(extend("x-widens" = true, "examples" = [["openai/gpt-5-mini 0.25 2"]]))]
    pub prices: Vec<String>,
    /// The HTTP proxy through which models are asked that do not run on this machine; by default
    /// that of `HTTPS_PROXY`, `HTTP_PROXY` or `ALL_PROXY`.
    #[schemars(
        with = "String", example = &"http://proxy.example:3128",
        length(min = 1, max = 2_048),
        extend("x-widens" = true)
    )]
    pub proxy: Option<ProxyAddress>,
    /// Hosts that are asked without the proxy: names with all below them, addresses, ranges, or `*`
    /// for all; by default those of `NO_PROXY`.
    #[schemars(length(max = 256), inner(length(min = 1, max = 300)))]
    #[schemars(extend("x-widens" = true, "examples" = [["example.com", "10.0.0.0/8"]]))]
    pub no_proxy: Vec<String>,
    /// Seconds to wait for a connection to a model's server.
    #[serde(rename = "connect_seconds", with = "seconds")]
    #[schemars(with = "u32", range(min = 1, max = 300), extend("x-widens" = true))]
    pub connect: Duration,
    /// Seconds to wait for the first piece of an answer.
    #[serde(rename = "first_token_seconds", with = "seconds")]
    #[schemars(with = "u32", range(min = 1, max = 3_600), extend("x-widens" = true))]
    pub first_token: Duration,
    /// Seconds to wait between two pieces of an answer.
    #[serde(rename = "between_tokens_seconds", with = "seconds")]
    #[schemars(with = "u32", range(min = 1, max = 3_600), extend("x-widens" = true))]
    pub between_tokens: Duration,
    /// Seconds that a whole answer may take.
    #[serde(rename = "whole_call_seconds", with = "seconds")]
    #[schemars(with = "u32", range(min = 1, max = 86_400), extend("x-widens" = true))]
    pub whole_call: Duration,
    /// How often a turn may retry after a model's server failed.
    #[schemars(range(min = 0, max = 20), extend("x-widens" = true))]
    pub retries: u32,
    /// Seconds that a turn may spend on retries in total; a server that asks for a longer pause
    /// gets no retry.
    #[serde(rename = "retry_seconds", with = "seconds")]
    #[schemars(with = "u32", range(min = 0, max = 3_600), extend("x-widens" = true))]
    pub retry_within: Duration,
}

/// How much of a session its model sees.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Session {
    /// The most messages of a session that its model sees.
    #[schemars(range(min = 1, max = 10_000), extend("x-widens" = false))]
    pub max_history_messages: usize,
}

/// Where data is stored, and who may reach the server.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// The data directory; by default `./data` if it is ours, else the folder's own store.
    #[schemars(
        with = "PathBuf", example = &"~/samovar",
        length(min = 1, max = 4_096),
        extend("format" = "path", "x-widens" = true, "x-variables" = ["DATA_DIR"])
    )]
    pub data_dir: Option<PathBuf>,
    /// The folder that tools work in; by default the current folder.
    #[schemars(with = "PathBuf", example = &"~/notes", length(min = 1, max = 4_096), extend("format" = "path", "x-widens" = true))]
    pub workspace: Option<PathBuf>,
    /// The address for `serve` to listen on; one that other machines can reach needs `token` and
    /// `behind_proxy`.
    #[schemars(extend("x-widens" = true, "x-variables" = ["SAMOVAR_HOST"]))]
    pub host: IpAddr,
    /// The port for `serve` to listen on; 0 lets the system choose one.
    #[schemars(extend("x-widens" = true, "x-variables" = ["SAMOVAR_PORT"]))]
    pub port: u16,
    /// The token that clients must send; by default the one in the data directory, created at the
    /// first start.
    #[schemars(
        with = "Secret", example = &"AT_LEAST_SIXTEEN_CHARACTERS",
        length(min = 16, max = 1_024),
        extend("x-widens" = true, "writeOnly" = true, "x-variables" = ["SAMOVAR_TOKEN"])
    )]
    pub token: Option<Secret>,
    /// The names by which clients may reach the server, besides its address: each is a host, with a
    /// port unless clients leave it out.
    #[schemars(length(max = 64), inner(length(min = 1, max = 300)))]
    #[schemars(extend("x-widens" = true, "examples" = [["samovar.example"]]))]
    pub hosts: Vec<String>,
    /// Whether clients come through a proxy that speaks TLS with them, as `serve --behind-proxy` says.
    #[schemars(extend("x-widens" = true))]
    pub behind_proxy: bool,
    /// The web pages of other origins that may use the server, each with a token like any client:
    /// a scheme, a host, and a port unless it is the usual one.
    #[schemars(length(max = 64), inner(length(min = 1, max = 300)))]
    #[schemars(extend("x-widens" = true, "examples" = [["http://localhost:5173"]]))]
    pub origins: Vec<String>,
    /// The most bytes in the body of a request.
    #[schemars(range(min = 1_024, max = 67_108_864), extend("x-widens" = true))]
    pub max_body_bytes: usize,
    /// The most requests of one named token in a minute, which it may also send at once; 0 for no
    /// limit. The owner has none.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-widens" = true))]
    pub requests_per_minute: u32,
    /// The most open connections; fewer where the limit of file descriptors allows no more.
    #[schemars(range(min = 1, max = 65_536), extend("x-widens" = true))]
    pub max_connections: usize,
    /// The most MiB that sessions together hold in memory, about.
    /// From three quarters of it idle sessions leave memory at once; when it is used up, new
    /// messages are refused with `busy`.
    #[schemars(range(min = 8, max = 1_048_576), extend("x-widens" = true))]
    pub memory: usize,
    /// Seconds that a client may take to send its headers, or its body.
    #[serde(rename = "slow_client_seconds", with = "seconds")]
    #[schemars(with = "u32", range(min = 1, max = 3_600), extend("x-widens" = true))]
    pub slow_client: Duration,
    /// Seconds of silence after which a stream sends a ping.
    #[serde(rename = "ping_seconds", with = "seconds")]
    #[schemars(with = "u32", range(min = 1, max = 3_600), extend("x-widens" = true))]
    pub ping_every: Duration,
    /// Seconds that running turns have to end when the server is asked to stop.
    #[serde(rename = "drain_seconds", with = "seconds")]
    #[schemars(with = "u32", range(min = 0, max = 3_600), extend("x-widens" = true))]
    pub drain: Duration,
}

/// How data is stored.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// What an accepted message survives.
    // It opens something where a folder says `process` to a person who said `power`.
    #[schemars(extend("x-widens" = true))]
    pub durability: Durability,
}

/// How turns are streamed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Stream {
    /// Seconds for which a finished turn can be streamed again, event by event; its messages stay
    /// as long as their session.
    #[serde(with = "seconds")]
    #[schemars(with = "u32", range(min = 0, max = 604_800), extend("x-widens" = false))]
    pub retention: Duration,
    /// Seconds for which a client may stop reading an answer; it is then told where to resume, if
    /// possible, and cut off after twice as long.
    #[serde(with = "seconds")]
    #[schemars(with = "u32", range(min = 1, max = 3_600), extend("x-widens" = true))]
    pub patience: Duration,
}

/// What tools may do.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tools {
    /// Which tool calls need approval; by default `supervised` for a server and `auto` for `run`.
    #[schemars(with = "Approval", example = &"read-only", extend("x-widens" = true))]
    pub approval: Option<Approval>,
    /// Seconds that a call waits for a person's decision before it is denied.
    #[serde(rename = "approval_seconds", with = "seconds")]
    #[schemars(with = "u32", range(min = 1, max = 604_800), extend("x-widens" = true))]
    pub approval_expiry: Duration,
    /// Whether file tools stay in the workspace; `false` opens all files that this user of the
    /// system can reach, except those of Samovar itself.
    #[schemars(extend("x-widens" = true))]
    pub restrict_to_workspace: bool,
    /// Whether every folder counts as trusted without a question, so that what its files say is no
    /// text from outside: for containers and builds, which have no terminal.
    #[schemars(extend("x-widens" = true))]
    pub trust_workspace: bool,
    /// The most MiB of what files held before tools changed them, so that a turn can be taken back
    /// with its files; the oldest goes first, and 0 keeps nothing.
    #[schemars(range(max = 4_096), extend("x-widens" = true))]
    pub undo_mib: u32,
    /// How many days that is kept.
    #[schemars(range(min = 1, max = 3_650), extend("x-widens" = true))]
    pub undo_days: u32,
    /// How tools use the web.
    pub web: Web,
    /// How `exec` runs commands.
    pub exec: Exec,
    /// Tools behind a webhook, by the name that a model calls: 1 to 64 letters, digits, `_` and
    /// `-`.
    #[schemars(extend("x-name" = "NAME"))]
    pub custom: BTreeMap<String, CustomTool>,
    /// Rules about calls, by a name of your choice. Of the rules that fit a call, the strictest
    /// decides.
    #[schemars(extend("x-name" = "NAME"))]
    pub policy: BTreeMap<String, PolicyRule>,
}

/// Which addresses the server may contact on behalf of others, such as for a webhook.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Egress {
    /// Addresses that are allowed although they are not public, with or without a port:
    /// `10.2.0.0/16`, `127.0.0.1:8080`, `[fd00::/8]:443`.
    #[schemars(length(max = 64), inner(length(min = 1, max = 64)))]
    #[schemars(extend("x-widens" = true, "examples" = [["10.2.0.0/16"]]))]
    pub allow: Vec<String>,
}

/// What happens at start to the turns of the last run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Recovery {
    /// What happens to a turn that a server stop interrupted: it continues by itself (`auto`),
    /// waits until a client resumes it (`ask`), or ends (`off`).
    // A folder that says `auto` to a person who said `ask` opens something.
    #[schemars(extend("x-widens" = true))]
    pub resume: Resume,
}

/// The global chat of the server, which belongs to no session.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Chat {
    /// The agent for messages in the global chat that nothing else waits for: the chat's own
    /// (`adaptive`), or `nobody`.
    // A folder that says `adaptive` to a person who said `nobody` opens something.
    #[schemars(extend("x-widens" = true))]
    pub agent: ChatAgent,
    /// The first message of the global chat, sent by the server itself at its start; by default
    /// none.
    // A folder could ask for a password in the name of the server.
    #[schemars(with = "String", example = &"Good morning.", length(min = 1, max = 4_096), extend("x-widens" = true))]
    pub greeting: Option<String>,
    /// The most messages in the global chat, which lives only in memory; the oldest are dropped
    /// first.
    // A folder that says 1 takes away what others have said and asked.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-widens" = true))]
    pub max_messages: usize,
    /// The most bytes in the global chat, which lives only in memory; the oldest messages are
    /// dropped first.
    #[schemars(range(min = 1_048_576, max = 1_073_741_824), extend("x-widens" = true))]
    pub max_bytes: usize,
}

/// The agent that answers in the chat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChatAgent {
    /// An agent that only a person's message or another agent's signal wakes.
    #[default]
    Adaptive,
    /// No agent: a message answers a question, or is only stored.
    Nobody,
}

/// The rooms in which external agents operate the screens of hosts.
// Each key opens something where a folder says it: a room in which a stranger acts, or what a person
// had closed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Relay {
    /// Whether an agent must begin a study session before it does anything in a room, and give a
    /// reason for each call.
    #[schemars(extend("x-widens" = true))]
    pub strict: bool,
    /// The rooms that have a movie booking as their host from the server's start on.
    #[schemars(length(max = 64), inner(length(min = 1, max = 200)))]
    #[schemars(extend("x-widens" = true, "examples" = [["cinema"]]))]
    pub movie_rooms: Vec<String>,
    /// The rooms that the built-in agent joins when the server starts.
    #[schemars(length(max = 64), inner(length(min = 1, max = 200)))]
    #[schemars(extend("x-widens" = true, "examples" = [["cinema"]]))]
    pub agent_rooms: Vec<String>,
    /// The rooms in which an external agent has the server's tools from the start on, at the
    /// server's approval level.
    #[schemars(length(max = 64), inner(length(min = 1, max = 200)))]
    #[schemars(extend("x-widens" = true, "examples" = [["workshop"]]))]
    pub tool_rooms: Vec<String>,
    /// The model of the agents in `agent_rooms`; by default that of sessions that name none.
    #[schemars(
        with = "String", example = &"openai/gpt-5-mini",
        length(min = 1, max = 256),
        extend("x-widens" = true)
    )]
    pub agent_model: Option<String>,
    /// Seconds that a host may take to answer an agent's request.
    #[serde(rename = "reply_timeout_seconds", with = "seconds")]
    #[schemars(with = "u32", range(min = 1, max = 3_600), extend("x-widens" = true))]
    pub reply_timeout: Duration,
    /// The most rooms at once.
    #[schemars(range(min = 1, max = 100_000), extend("x-widens" = true))]
    pub max_rooms: usize,
}

/// A key or a token: no log, error or debug print shows it.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text itself, to send or compare it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// The URL may contain a key, too.
impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let api_base = self.api_base.as_deref().map(locale::without_secrets);
        f.debug_struct("Provider")
            .field("api_key", &self.api_key)
            .field("api_base", &api_base)
            .field("context_window", &self.context_window)
            .field("images", &self.images)
            .finish()
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}

/// Replaces a secret in output.
pub(crate) const MASK: &str = "***";

/// The languages that the catalogue has.
fn languages(_generator: &mut SchemaGenerator) -> Schema {
    let tags: Vec<_> = Language::ALL.iter().map(|one| one.tag()).collect();
    json_schema!({ "type": "string", "enum": tags })
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            language: None,
            log: "warn".to_owned(),
            defaults: Defaults::default(),
            agent_modes: BTreeMap::new(),
            providers: BTreeMap::new(),
            models: Models::default(),
            bootstrap: Bootstrap::default(),
            skills: Skills::default(),
            memory: Memory::default(),
            prompt: PromptSettings::default(),
            session: Session::default(),
            server: Server::default(),
            store: Store::default(),
            egress: Egress::default(),
            stream: Stream::default(),
            tools: Tools::default(),
            recovery: Recovery::default(),
            chat: Chat::default(),
            relay: Relay::default(),
        }
    }
}

impl Default for Models {
    fn default() -> Self {
        Self {
            probe: true,
            require: false,
            prices: Vec::new(),
            proxy: None,
            no_proxy: Vec::new(),
            connect: Duration::from_secs(10),
            first_token: Duration::from_mins(2),
            between_tokens: Duration::from_mins(1),
            whole_call: Duration::from_mins(10),
            retries: 4,
            retry_within: Duration::from_mins(2),
        }
    }
}

impl Default for Session {
    fn default() -> Self {
        Self {
            max_history_messages: 50,
        }
    }
}

impl Default for Server {
    fn default() -> Self {
        Self {
            data_dir: None,
            workspace: None,
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 4747,
            token: None,
            hosts: Vec::new(),
            behind_proxy: false,
            origins: Vec::new(),
            max_body_bytes: 1024 * 1024,
            requests_per_minute: 600,
            max_connections: 4096,
            memory: 256,
            slow_client: Duration::from_secs(15),
            ping_every: Duration::from_secs(15),
            drain: Duration::from_secs(10),
        }
    }
}

impl Default for Stream {
    fn default() -> Self {
        Self {
            retention: Duration::from_mins(10),
            patience: Duration::from_secs(30),
        }
    }
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            approval: None,
            approval_expiry: Duration::from_mins(30),
            restrict_to_workspace: true,
            trust_workspace: false,
            undo_mib: 64,
            undo_days: 30,
            web: Web::default(),
            exec: Exec::default(),
            custom: BTreeMap::new(),
            policy: BTreeMap::new(),
        }
    }
}

impl Default for Chat {
    fn default() -> Self {
        Self {
            agent: ChatAgent::default(),
            greeting: None,
            max_messages: 10_000,
            max_bytes: 32 * 1024 * 1024,
        }
    }
}

impl Default for Relay {
    fn default() -> Self {
        Self {
            strict: false,
            movie_rooms: Vec::new(),
            agent_rooms: Vec::new(),
            tool_rooms: Vec::new(),
            agent_model: None,
            reply_timeout: Duration::from_secs(30),
            max_rooms: 1_000,
        }
    }
}
