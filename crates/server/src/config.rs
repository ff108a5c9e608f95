//! What a server is started with. Plain data: the binary reads it from flags and the environment.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use samovar_engine::Settings;
use samovar_providers::{ProviderConfig, Registry};

/// The token that clients bring; never printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Takes a token; none when it is shorter than 16 characters, which could be guessed.
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
    /// The address to listen on.
    pub host: IpAddr,
    /// The port; 0 lets the system choose one.
    pub port: u16,
    /// The token that clients must bring; none uses the one in the data directory, which is made at
    /// first start.
    pub token: Option<Token>,
    /// Bytes of a request's body, at most.
    pub max_body_bytes: usize,
    /// Connections at once, at most.
    pub max_connections: usize,
    /// How long a client may take to send its headers, or its body.
    pub slow_client: Duration,
    /// How often a silent stream says that it lives.
    pub ping_every: Duration,
    /// How long running turns get to end when the server is asked to stop.
    pub drain: Duration,
    /// How the engine behaves.
    pub settings: Settings,
    /// The models.
    pub providers: ProviderConfig,
    /// The models again, made by whoever asked them something before the start; none makes them of
    /// `providers`.
    pub registry: Option<Arc<Registry>>,
}

impl Config {
    /// The defaults, for a data directory and a workspace.
    pub fn new(data_dir: PathBuf, workspace: PathBuf) -> Self {
        Self {
            data_dir,
            workspace,
            host: IpAddr::from([127, 0, 0, 1]),
            port: 4747,
            token: None,
            max_body_bytes: 1024 * 1024,
            max_connections: 4096,
            slow_client: Duration::from_secs(15),
            ping_every: Duration::from_secs(15),
            drain: Duration::from_secs(10),
            settings: Settings::default(),
            providers: ProviderConfig::default(),
            registry: None,
        }
    }
}
