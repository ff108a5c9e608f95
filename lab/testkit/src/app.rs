//! The server inside the test's process.

use std::net::SocketAddr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use samovar_core::{Approval, Toolset};
use samovar_model_server::{ModelServer, Script};
use samovar_server::{Config, Server, Token};
use tempfile::TempDir;

use crate::MODEL;
use crate::api::Api;

/// The token that tests bring.
const TOKEN: &str = "a-token-for-tests-of-32-letters-";

/// A running server with its model server, a workspace, and a client.
pub struct App {
    server: Option<Server>,
    /// The model server.
    pub model: ModelServer,
    api: Api,
    folders: Arc<Folders>,
    config: Config,
    row: &'static str,
}

struct Folders {
    root: TempDir,
}

/// What a server is started with.
pub struct AppBuilder {
    config: Config,
    folders: Arc<Folders>,
    row: &'static str,
}

impl AppBuilder {
    /// A server with its default settings, approval level `auto`, in fresh folders. What a model
    /// server does wrong is seen at its first failure.
    ///
    /// # Panics
    /// When the system gives no temporary folder.
    #[expect(clippy::new_without_default, reason = "it makes folders")]
    pub fn new() -> Self {
        // Clients and server are in one process; where that fails, the usual limit has to do.
        samovar_descriptors::raise().ok();
        let root = tempfile::tempdir().expect("a temporary folder");
        let (data, workspace) = (root.path().join("data"), root.path().join("workspace"));
        std::fs::create_dir_all(&workspace).expect("a workspace");
        let mut config = Config::new(data, workspace);
        config.server.port = 0;
        config.token = Token::new(TOKEN);
        config.settings.approval = Approval::Auto;
        config.settings.retry.count = 0;
        config.providers.default_model = Some(MODEL.to_owned());
        Self {
            config,
            folders: Arc::new(Folders { root }),
            row: "custom",
        }
    }

    /// Changes the configuration.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    /// Makes the model server the one of this row of the table of providers, and so the dialect that
    /// row's; it is asked for the model `model` of that row, and without a key.
    #[must_use]
    pub fn provider(mut self, row: &'static str, model: &str) -> Self {
        self.row = row;
        self.config.providers.default_model = Some(format!("{row}/{model}"));
        self
    }

    /// Registers tools in process.
    #[must_use]
    pub fn tools(mut self, toolset: Arc<dyn Toolset>) -> Self {
        self.config.toolsets.push(toolset);
        self
    }

    /// Starts the model server with its script, and the server in front of it.
    ///
    /// # Panics
    /// When one of them does not start.
    pub async fn start(self, script: impl Into<Script>) -> App {
        let model = ModelServer::start(script)
            .await
            .expect("the model server starts");
        Box::pin(self.start_with(model)).await
    }

    async fn start_with(mut self, model: ModelServer) -> App {
        crate::api::install_tls();
        self.config
            .providers
            .base_urls
            .insert(self.row.to_owned(), model.base_url());
        let server = Box::pin(Server::start(self.config.clone()))
            .await
            .expect("the server starts");
        let api = Api::new(&server.address().to_string(), TOKEN);
        App {
            server: Some(server),
            model,
            api,
            folders: self.folders,
            config: self.config,
            row: self.row,
        }
    }
}

impl App {
    /// A server with its default settings and approval level `auto`.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn start(script: impl Into<Script>) -> Self {
        AppBuilder::new().start(script).await
    }

    /// Stops the server at once, as turns stand, and starts it again on the same folders.
    ///
    /// # Panics
    /// When it does not start again.
    pub async fn restart(self) -> Self {
        Box::pin(self.restart_with(|_| {})).await
    }

    /// The same, with another configuration from here on.
    ///
    /// # Panics
    /// When it does not start again.
    pub async fn restart_with(mut self, change: impl FnOnce(&mut Config)) -> Self {
        self.stop_now().await;
        change(&mut self.config);
        let builder = AppBuilder {
            config: self.config,
            folders: self.folders,
            row: self.row,
        };
        Box::pin(builder.start_with(self.model)).await
    }

    /// Stops the server at once, as turns stand.
    pub async fn stop_now(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop_now().await;
        }
    }

    /// What the server is started with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Stops the server in good order.
    pub async fn stop(mut self) {
        if let Some(server) = self.server.take() {
            server.stop().await;
        }
    }

    /// The server itself.
    ///
    /// # Panics
    /// When it was stopped.
    pub fn server(&self) -> &Server {
        self.server.as_ref().expect("the server runs")
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server().address()
    }

    /// The folder that tools work in.
    pub fn workspace(&self) -> &Path {
        &self.config.workspace
    }

    /// Where everything is kept.
    pub fn data_dir(&self) -> PathBuf {
        self.folders.root.path().join("data")
    }

    /// The token that it wants.
    pub fn token(&self) -> &'static str {
        TOKEN
    }
}

/// What can be asked of it.
impl Deref for App {
    type Target = Api;

    fn deref(&self) -> &Api {
        &self.api
    }
}
