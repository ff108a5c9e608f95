//! The server inside the test's process.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reqwest::{Client, RequestBuilder, Response};
use samovar_core::{Approval, Toolset};
use samovar_model_server::{ModelServer, Script};
use samovar_server::{Config, Server, Token};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::MODEL;
use crate::stream::{EventStream, Frame};

/// The token that tests bring.
const TOKEN: &str = "a-token-for-tests-of-32-letters-";

/// A running server with its model server, a workspace, and a client.
pub struct App {
    server: Option<Server>,
    /// The model server.
    pub model: ModelServer,
    client: Client,
    folders: Arc<Folders>,
    config: Config,
    toolsets: Vec<Arc<dyn Toolset>>,
}

struct Folders {
    root: TempDir,
}

/// What a server is started with.
pub struct AppBuilder {
    config: Config,
    folders: Arc<Folders>,
    toolsets: Vec<Arc<dyn Toolset>>,
}

/// An answer that is not a stream.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: reqwest::header::HeaderMap,
    /// The body as JSON; null when it is none.
    pub body: Value,
}

impl Answer {
    /// The `code` of a refusal.
    pub fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }
}

impl AppBuilder {
    /// A server with its default settings, approval level `auto`, in fresh folders.
    ///
    /// # Panics
    /// When the system gives no temporary folder.
    #[expect(clippy::new_without_default, reason = "it makes folders")]
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        let (data, workspace) = (root.path().join("data"), root.path().join("workspace"));
        std::fs::create_dir_all(&workspace).expect("a workspace");
        let mut config = Config::new(data, workspace);
        config.port = 0;
        config.token = Token::new(TOKEN);
        config.settings.approval = Approval::Auto;
        config.providers.default_model = Some(MODEL.to_owned());
        Self {
            config,
            folders: Arc::new(Folders { root }),
            toolsets: Vec::new(),
        }
    }

    /// Changes the configuration.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    /// Registers tools in process.
    #[must_use]
    pub fn tools(mut self, toolset: Arc<dyn Toolset>) -> Self {
        self.toolsets.push(toolset);
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
        self.start_with(model).await
    }

    async fn start_with(mut self, model: ModelServer) -> App {
        // Only fails when another test of this process did it before.
        let _was_there = rustls::crypto::ring::default_provider()
            .install_default()
            .is_err();
        self.config
            .providers
            .base_urls
            .insert("custom".to_owned(), model.base_url());
        let server = Server::start(self.config.clone())
            .await
            .expect("the server starts");
        for toolset in &self.toolsets {
            server
                .home()
                .engine()
                .toolbox()
                .add(toolset)
                .expect("the tools fit");
        }
        let client = Client::builder().no_proxy().build().expect("a client");
        App {
            server: Some(server),
            model,
            client,
            folders: self.folders,
            config: self.config,
            toolsets: self.toolsets,
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
    pub async fn restart(mut self) -> Self {
        if let Some(server) = self.server.take() {
            server.stop_now().await;
        }
        let builder = AppBuilder {
            config: self.config,
            folders: self.folders,
            toolsets: self.toolsets,
        };
        builder.start_with(self.model).await
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

    /// A request with the token, not sent yet.
    pub fn request(&self, verb: reqwest::Method, path: &str) -> RequestBuilder {
        let url = format!("http://{}{path}", self.address());
        self.client.request(verb, url).bearer_auth(TOKEN)
    }

    /// Calls a method of the agent service.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn call(&self, method: &str, params: Value) -> Answer {
        let path = format!("/services/agent/{method}");
        self.answer(self.request(reqwest::Method::POST, &path).json(&params))
            .await
    }

    /// Calls a method of the agent service that has to succeed.
    ///
    /// # Panics
    /// When it does not.
    pub async fn ok(&self, method: &str, params: Value) -> Value {
        let answer = self.call(method, params).await;
        assert_eq!(answer.status, 200, "{method}: {}", answer.body);
        answer.body
    }

    /// Sends any request.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn answer(&self, request: RequestBuilder) -> Answer {
        let response = request.send().await.expect("the server answers");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await.expect("the answer is whole");
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        Answer {
            status,
            headers,
            body,
        }
    }

    /// Makes a session and gives its id.
    pub async fn session(&self) -> String {
        let session = self.ok("createSession", json!({})).await;
        session["id"].as_str().unwrap_or_default().to_owned()
    }

    /// Says something, and leaves the stream to be read.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn say(&self, session: &str, content: &str) -> EventStream {
        let params = json!({"sessionId": session, "content": content});
        let response = self.post_stream(params).await;
        let status = response.status();
        if status != 200 {
            let why = response.text().await.unwrap_or_default();
            panic!("{content:?} was refused with {status}: {why}");
        }
        EventStream::new(response)
    }

    /// Posts to `sendMessage/stream`.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn post_stream(&self, params: Value) -> Response {
        let path = "/services/agent/sendMessage/stream";
        let request = self.request(reqwest::Method::POST, path).json(&params);
        request.send().await.expect("the server answers")
    }

    /// Says something and reads the whole turn.
    pub async fn turn(&self, session: &str, content: &str) -> Vec<Frame> {
        self.say(session, content).await.rest().await
    }
}
