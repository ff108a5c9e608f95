//! What can be set: the types from which the schema, the reference page, the names of variables and
//! the rules of trust are made.
//!
//! Every key says with `x-widens` whether it opens anything. One that does counts in the file of a
//! folder only when that file is trusted; one that says nothing is taken for one that does.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use samovar_locale::{self as locale, Language};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};

/// All that can be set, with its defaults.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "The configuration of Samovar")]
pub struct Settings {
    /// The language of all sentences for people; left out, it is that of `LC_ALL`, `LC_MESSAGES` or
    /// `LANG`, else English.
    #[schemars(schema_with = "languages", example = &"en", extend("x-widens" = false))]
    pub language: Option<String>,
    /// How much is written to the log on stderr: a level such as `info`, or a filter such as
    /// `warn,samovar_engine=debug`.
    #[schemars(
        length(min = 1, max = 1024),
        extend("x-widens" = true, "x-variables" = ["SAMOVAR_LOG"])
    )]
    pub log: String,
    /// What a session starts from.
    pub defaults: Defaults,
    /// Whom models are asked of, by the name that stands before the `/` in `openai/gpt-5-mini`.
    #[schemars(extend("x-name" = "NAME"))]
    pub providers: BTreeMap<String, Provider>,
    /// Which models may answer, and how patient we are with their servers.
    pub models: Models,
    /// What a session keeps in view.
    pub session: Session,
    /// Where everything is kept, and who may reach it.
    pub server: Server,
    /// What is kept, and how.
    pub store: Store,
    /// Whom the server may ask for somebody else.
    pub egress: Egress,
    /// How turns are streamed.
    pub stream: Stream,
    /// What tools may do.
    pub tools: Tools,
    /// What happens at start to what the run before left.
    pub recovery: Recovery,
    /// The one chat of the whole server, which belongs to no session.
    pub chat: Chat,
    /// The rooms in which external agents drive the screens of hosts.
    pub relay: Relay,
}

/// What a session starts from.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Defaults {
    /// The model for sessions that ask for none; left out, one is looked for.
    #[schemars(
        with = "String", example = &"openai/gpt-5-mini",
        length(min = 1, max = 256),
        extend("x-widens" = false, "x-variables" = ["AGENT_MODEL"])
    )]
    pub model: Option<String>,
    /// The models that are asked in this order when a turn's own keeps failing.
    // It opens something: what a person says to one provider goes to another.
    #[schemars(length(max = 16), inner(length(min = 1, max = 256)))]
    #[schemars(extend("x-widens" = true, "examples" = [["anthropic/claude-sonnet-4-5"]]))]
    pub fallback: Vec<String>,
    /// Tokens that one answer of a model may have.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-widens" = false))]
    pub max_tokens: u32,
    /// The sampling temperature that models are asked for.
    #[schemars(range(min = 0.0, max = 2.0), extend("x-widens" = false))]
    pub temperature: f64,
    /// How often a turn may ask its model before it is ended.
    #[schemars(range(min = 1, max = 1_000), extend("x-widens" = false))]
    pub max_iterations: u32,
}

/// One provider.
#[derive(Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Provider {
    /// The key that its server wants.
    #[schemars(
        with = "Secret", example = &"YOUR_KEY",
        length(min = 1, max = 4_096),
        extend("x-widens" = true, "writeOnly" = true)
    )]
    pub api_key: Option<Secret>,
    /// The address of its server, in place of its usual one.
    #[schemars(with = "String", example = &"http://127.0.0.1:8000/v1", length(min = 1, max = 2_048), extend("x-widens" = true))]
    pub api_base: Option<String>,
}

/// Which models may answer, and how patient we are with their servers.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Models {
    /// Whether the model servers of this machine are asked for their models, where nobody names a
    /// model and no provider has a key.
    #[schemars(extend("x-widens" = true))]
    pub probe: bool,
    /// Whether a language model has to answer, so that `demo` never does.
    // It opens something where a folder says `false` to a person who said `true`.
    #[schemars(extend("x-widens" = true, "x-variables" = ["SAMOVAR_REQUIRE_MODEL"]))]
    pub require: bool,
    /// Seconds that a model's server may take to take a connection.
    #[schemars(range(min = 1, max = 300), extend("x-widens" = true))]
    pub connect_seconds: u32,
    /// Seconds from a request to the first piece of its answer.
    #[schemars(range(min = 1, max = 3_600), extend("x-widens" = true))]
    pub first_token_seconds: u32,
    /// Seconds from one piece of an answer to the next.
    #[schemars(range(min = 1, max = 3_600), extend("x-widens" = true))]
    pub between_tokens_seconds: u32,
    /// Seconds that an answer may take in all.
    #[schemars(range(min = 1, max = 86_400), extend("x-widens" = true))]
    pub whole_call_seconds: u32,
    /// How often a turn may ask a model again whose server failed.
    #[schemars(range(min = 0, max = 20), extend("x-widens" = true))]
    pub retries: u32,
    /// Seconds that a turn may spend on that in all; a server that asks to wait longer is not waited
    /// for.
    #[schemars(range(min = 0, max = 3_600), extend("x-widens" = true))]
    pub retry_seconds: u32,
}

/// What a session keeps in view.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Session {
    /// Messages of a session that its model is shown, at most.
    #[schemars(range(min = 1, max = 10_000), extend("x-widens" = false))]
    pub max_history_messages: u32,
}

/// Where everything is kept, and who may reach it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Server {
    /// The data directory, in which everything is kept; left out, it is `./data` where that is
    /// ours, else the user's data folder.
    #[schemars(
        with = "PathBuf", example = &"~/samovar",
        length(min = 1, max = 4_096),
        extend("format" = "path", "x-widens" = true, "x-variables" = ["DATA_DIR"])
    )]
    pub data_dir: Option<PathBuf>,
    /// The folder that tools work in; left out, it is the current folder.
    #[schemars(with = "PathBuf", example = &"~/notes", length(min = 1, max = 4_096), extend("format" = "path", "x-widens" = true))]
    pub workspace: Option<PathBuf>,
    /// The address that `serve` listens on; only a loopback address such as `127.0.0.1` or `::1`
    /// will do.
    #[schemars(extend("x-widens" = true, "x-variables" = ["SAMOVAR_HOST"]))]
    pub host: IpAddr,
    /// The port that `serve` listens on; 0 lets the system choose one.
    #[schemars(extend("x-widens" = true, "x-variables" = ["SAMOVAR_PORT"]))]
    pub port: u16,
    /// The token that clients must bring; left out, it is the one in the data directory, which is
    /// made at first start.
    #[schemars(
        with = "Secret", example = &"AT_LEAST_SIXTEEN_CHARACTERS",
        length(min = 16, max = 1_024),
        extend("x-widens" = true, "writeOnly" = true, "x-variables" = ["SAMOVAR_TOKEN"])
    )]
    pub token: Option<Secret>,
    /// Bytes that the body of a request may have.
    #[schemars(range(min = 1_024, max = 67_108_864), extend("x-widens" = true))]
    pub max_body_bytes: u32,
    /// Connections that may be open at once.
    #[schemars(range(min = 1, max = 65_536), extend("x-widens" = true))]
    pub max_connections: u32,
    /// Seconds that a client may take to send its headers, or its body.
    #[schemars(range(min = 1, max = 3_600), extend("x-widens" = true))]
    pub slow_client_seconds: u32,
    /// Seconds of silence after which a stream says that it lives.
    #[schemars(range(min = 1, max = 3_600), extend("x-widens" = true))]
    pub ping_seconds: u32,
    /// Seconds that running turns get to end when the server is asked to stop.
    #[schemars(range(min = 0, max = 3_600), extend("x-widens" = true))]
    pub drain_seconds: u32,
}

/// What is kept, and how.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Store {
    /// What an accepted message outlives.
    // It opens something where a folder says `process` to a person who said `power`.
    #[schemars(extend("x-widens" = true))]
    pub durability: Durability,
}

/// What an accepted message outlives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Durability {
    /// A power cut: every commit is synced.
    #[default]
    Power,
    /// A killed process: nothing is synced, and a power cut takes what runs.
    Process,
}

/// How turns are streamed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Stream {
    /// Seconds for which a turn that is over can be streamed again, event by event; its messages
    /// stay as long as their session.
    #[schemars(range(min = 0, max = 604_800), extend("x-widens" = false))]
    pub retention: u32,
    /// Seconds for which a client may take nothing of an answer; then it is told where to go on if
    /// it can be, and after twice as long it is cut off.
    #[schemars(range(min = 1, max = 3_600), extend("x-widens" = true))]
    pub patience: u32,
}

/// What tools may do.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Tools {
    /// How much is asked before a tool runs; left out, it is `supervised` for a server and `auto`
    /// for `run`.
    #[schemars(with = "Approval", example = &"read-only", extend("x-widens" = true))]
    pub approval: Option<Approval>,
    /// Whether file tools stay in the workspace; `false` opens all that this user of the system can
    /// reach, but for what Samovar itself keeps.
    #[schemars(extend("x-widens" = true))]
    pub restrict_to_workspace: bool,
    /// Tools behind a webhook, by the name that a model calls: 1 to 64 letters, digits, `_` and `-`.
    #[schemars(extend("x-name" = "NAME"))]
    pub custom: BTreeMap<String, CustomTool>,
}

/// Whom the server may ask for somebody else, such as for a webhook.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Egress {
    /// Addresses that may be asked although they are not public, with or without a port:
    /// `10.2.0.0/16`, `127.0.0.1:8080`, `[fd00::/8]:443`.
    #[schemars(length(max = 64), inner(length(min = 1, max = 64)))]
    #[schemars(extend("x-widens" = true, "examples" = [["10.2.0.0/16"]]))]
    pub allow: Vec<String>,
}

/// One tool behind a webhook.
#[derive(Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct CustomTool {
    /// What it does and when to use it, for the model.
    #[schemars(with = "String", example = &"Books a table.", length(min = 1, max = 4_096), extend("x-widens" = true))]
    pub description: Option<String>,
    /// The JSON Schema of its arguments, as text; left out, it takes none.
    #[schemars(
        with = "String", example = &"{\"type\": \"object\"}",
        length(min = 2, max = 16_384),
        extend("contentMediaType" = "application/json", "x-widens" = true)
    )]
    pub parameters: Option<String>,
    /// The address that its calls are sent to; it may hold a key.
    #[schemars(with = "String", example = &"https://example.com/hook", length(min = 1, max = 2_048), extend("x-widens" = true))]
    pub url: Option<String>,
    /// Seconds that one call may take; left out, 60.
    #[schemars(with = "u32", example = 60, range(min = 1, max = 3_600), extend("x-widens" = true))]
    pub timeout: Option<u32>,
    /// What it does to the world; left out, `unsafe`.
    #[schemars(with = "Effect", example = &"read", extend("x-widens" = true))]
    pub effect: Option<Effect>,
}

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Effect {
    /// Nothing: a call that a crash cut is made again.
    Read,
    /// The same once or twice under the same key: a call that a crash cut is made again with it.
    Idempotent,
    /// Something that must not happen twice: a call that a crash cut is never made again.
    Unsafe,
}

/// The address may hold a key.
impl fmt::Debug for CustomTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.as_deref().map(locale::without_secrets);
        f.debug_struct("CustomTool")
            .field("description", &self.description)
            .field("url", &url)
            .finish_non_exhaustive()
    }
}

/// What happens at start to what the run before left.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Recovery {
    /// Whether a turn that a stop of the server cut goes on by itself (`auto`), waits until somebody
    /// says so (`ask`), or ends (`off`).
    // A folder that says `auto` to a person who said `ask` opens something.
    #[schemars(extend("x-widens" = true))]
    pub resume: Resume,
}

/// Whether a turn that was cut goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Resume {
    /// It goes on by itself.
    #[default]
    Auto,
    /// It waits until somebody says that it shall.
    Ask,
    /// It ends.
    Off,
}

/// The one chat of the whole server, which belongs to no session.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Chat {
    /// Who answers what a person says in the global chat while nobody waits for it: an agent of its
    /// own (`adaptive`), or `nobody`.
    // A folder that says `adaptive` to a person who said `nobody` opens something.
    #[schemars(extend("x-widens" = true))]
    pub agent: ChatAgent,
    /// What stands first in the global chat, from the server's start on, as a message of the server
    /// itself; left out, nothing does.
    // A folder could ask for a password in the name of the server.
    #[schemars(with = "String", example = &"Good morning.", length(min = 1, max = 4_096), extend("x-widens" = true))]
    pub greeting: Option<String>,
    /// Messages that the global chat keeps, in memory alone; then the oldest go.
    // A folder that says 1 takes away what others have said and asked.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-widens" = true))]
    pub max_messages: u32,
    /// Bytes that the global chat keeps, in memory alone; then the oldest messages go.
    #[schemars(range(min = 1_048_576, max = 1_073_741_824), extend("x-widens" = true))]
    pub max_bytes: u32,
}

/// Who answers in the chat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum ChatAgent {
    /// An agent that only what somebody says wakes.
    #[default]
    Adaptive,
    /// Nobody: what is said answers a question, or stands there.
    Nobody,
}

/// The rooms in which external agents drive the screens of hosts.
// Each key opens something where a folder says it: a room in which a stranger acts, or what a person
// had closed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Relay {
    /// Whether an agent has to begin a study session before it does anything in a room, and to give a
    /// reason for each call.
    #[schemars(extend("x-widens" = true))]
    pub strict: bool,
    /// The rooms that have the booking of a movie as their host from the server's start on.
    #[schemars(length(max = 64), inner(length(min = 1, max = 200)))]
    #[schemars(extend("x-widens" = true, "examples" = [["cinema"]]))]
    pub movie_rooms: Vec<String>,
    /// The rooms that an agent of our own joins from the server's start on.
    #[schemars(length(max = 64), inner(length(min = 1, max = 200)))]
    #[schemars(extend("x-widens" = true, "examples" = [["cinema"]]))]
    pub agent_rooms: Vec<String>,
    /// The rooms in which an external agent has our tools from the server's start on, at the server's
    /// approval level.
    #[schemars(length(max = 64), inner(length(min = 1, max = 200)))]
    #[schemars(extend("x-widens" = true, "examples" = [["workshop"]]))]
    pub tool_rooms: Vec<String>,
    /// The model of the agents in `agent_rooms`; left out, it is that of sessions that ask for none.
    #[schemars(
        with = "String", example = &"openai/gpt-5-mini",
        length(min = 1, max = 256),
        extend("x-widens" = true)
    )]
    pub agent_model: Option<String>,
    /// Seconds that a host may take to answer a request of an agent.
    #[schemars(range(min = 1, max = 3_600), extend("x-widens" = true))]
    pub reply_timeout_seconds: u32,
    /// Rooms that there may be at once.
    #[schemars(range(min = 1, max = 100_000), extend("x-widens" = true))]
    pub max_rooms: u32,
}

/// How much is asked before a tool runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Approval {
    /// What stays in the workspace runs unasked.
    Auto,
    /// What changes something is asked for.
    Supervised,
    /// What changes something is refused.
    ReadOnly,
}

/// A key or a token: no log, error or debug print shows it.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The text itself, for whoever must send or compare it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// The address may hold a key, too.
impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let api_base = self.api_base.as_deref().map(locale::without_secrets);
        f.debug_struct("Provider")
            .field("api_key", &self.api_key)
            .field("api_base", &api_base)
            .finish()
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}

/// What stands in the place of a secret.
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
            providers: BTreeMap::new(),
            models: Models::default(),
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

impl Default for Defaults {
    fn default() -> Self {
        Self {
            model: None,
            fallback: Vec::new(),
            max_tokens: 4096,
            temperature: 0.7,
            max_iterations: 20,
        }
    }
}

impl Default for Models {
    fn default() -> Self {
        Self {
            probe: true,
            require: false,
            connect_seconds: 10,
            first_token_seconds: 120,
            between_tokens_seconds: 60,
            whole_call_seconds: 600,
            retries: 4,
            retry_seconds: 120,
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
            max_body_bytes: 1024 * 1024,
            max_connections: 4096,
            slow_client_seconds: 15,
            ping_seconds: 15,
            drain_seconds: 10,
        }
    }
}

impl Default for Stream {
    fn default() -> Self {
        Self {
            retention: 600,
            patience: 30,
        }
    }
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            approval: None,
            restrict_to_workspace: true,
            custom: BTreeMap::new(),
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
            reply_timeout_seconds: 30,
            max_rooms: 1_000,
        }
    }
}
