//! An opened data directory with its engine: what every way in shares, with a socket or without.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use samovar_agents::Catalogue;
use samovar_chat::{ASK_USER, Chat, POST_MESSAGE};
use samovar_core::redact::{self, Secret};
use samovar_core::{Broken, MessageId, Models, SessionId, Toolset, failpoint};
use samovar_egress::Client;
use samovar_engine::{DelegationTools, Engine, Ports, Toolbox};
use samovar_providers::{Registry, SPECS};
use samovar_relay::Relay;
use samovar_sandbox::{DirLock, SmallFiles};
use samovar_stores::damage::Reports;
use samovar_stores::disk::Disk;
use samovar_stores::{Options, Stores, backup};
use samovar_tools::{FOR_UI, Resources, Workspace};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::address::{Address, AddressFile};
use crate::api;
use crate::body::Bodies;
use crate::chatting::Chatting;
use crate::clock::{SystemClock, UuidV7};
use crate::config::{Config, Token};
use crate::data_dir;
use crate::days::Days;
use crate::definitions::Definitions;
use crate::engine_cell::{EngineCell, Filler};
use crate::error::OpenError;
use crate::failures::Failures;
use crate::folder;
use crate::guide::Guide;
use crate::guide::tool::read_skill;
use crate::logins::Logins;
use crate::names::Names;
use crate::registered::{self, RegisteredTools};
use crate::relaying::Relaying;
use crate::router::{self, Shared};
use crate::rules;
use crate::shell;
use crate::token::{self, TokenHash};
use crate::tokens::{self, Tokens};
use crate::unfinished;
use crate::unremembered::WithMemories;

/// A data directory that is held, and not opened yet. What is asked meanwhile waits (AS-22).
pub struct Opening {
    pub(crate) shared: Arc<Shared>,
    filler: Filler,
    config: Config,
    token: Token,
    local: Token,
    lock: DirLock,
    files: SmallFiles,
}

/// An opened data directory and the engine that works on it. End it with [`Home::close`]; one that
/// is dropped instead writes everything out, and holds the directory until then, on the runtime that
/// it is dropped on.
pub struct Home {
    pub(crate) shared: Arc<Shared>,
    engine: Arc<Engine>,
    stores: Arc<Stores>,
    agents: Arc<Catalogue>,
    token: Token,
    local: Token,
    drain: Duration,
    frees_ballast: bool,
    /// Held until everything is closed: nobody else may open the stores meanwhile. None when it is.
    lock: Option<DirLock>,
    files: SmallFiles,
}

/// The routes of an opened data directory, and what opens them to the owner's own commands.
pub struct LocalAccess {
    /// The routes.
    pub router: Router,
    /// The `Host` that they answer to.
    pub authority: String,
    /// The token of this run.
    pub token: Token,
}

impl Opening {
    /// Takes the data directory, and makes it where it is missing; no store is opened yet.
    ///
    /// # Errors
    /// [`OpenError`]: it is held, or it or the tokens in it cannot be used.
    pub fn begin(config: &Config) -> Result<Self, OpenError> {
        let (lock, files) = data_dir::hold(config)?;
        failpoint!("boot.lock.after");
        let dir = &config.data_dir;
        AddressFile::sweep(&files);
        shell::after_others(dir)?;
        let kept_in = data_dir::of(dir, Ok(files.clone()));
        backup::finish(&kept_in)?;
        let token_error = |source| OpenError::Token {
            dir: dir.clone(),
            source,
        };
        let token = match &config.token {
            Some(token) => token.clone(),
            None => token::of_data_dir(&files).map_err(token_error)?,
        };
        let local = token::fresh().map_err(token_error)?;
        protect(config, &token, &local);
        let rate = config.server.requests_per_minute;
        let tokens = Tokens::open(files.clone(), &token, &local, rate);
        let tokens = tokens.map_err(|source| OpenError::Tokens {
            dir: dir.clone(),
            source,
        })?;
        let tools = RegisteredTools::open(files.clone(), Client::new(config.egress.clone()));
        let tools = tools.map_err(|source| OpenError::Registered {
            dir: dir.clone(),
            source,
        })?;
        let made = || Arc::new(crate::providers::registry(config.providers.clone()));
        let (filler, engine) = EngineCell::new();
        let api = api::State {
            stores: OnceLock::new(),
            registry: config.registry.clone().unwrap_or_else(made),
            tokens: Arc::new(tokens),
            tools: Arc::new(tools),
            definitions: OnceLock::new(),
            guide: OnceLock::new(),
            reports: Arc::new(Reports::open(&kept_in)),
            restart: config.restarts.then(CancellationToken::new),
            workspace: config.workspace.clone(),
            approval: config.settings.approval,
            examination: config.examiner.clone().into(),
            failures: Failures::default(),
            logins: Logins::open(&files, config.page).map_err(token_error)?,
            is_stop_noted: AtomicBool::new(false),
        };
        let shared = Shared {
            bodies: Bodies::new(engine.clone(), &config.server),
            engine,
            api: Arc::new(api),
            tickets: Arc::default(),
            origins: config.origins.clone(),
            chatting: Arc::new(Chatting::open(&config.chat, config.settings.recovery)),
            relaying: Arc::new(Relaying::open(config)),
            days: Days::default(),
            ping_every: config.server.ping_every,
            slow_reader: config.stream.patience,
        };
        Ok(Self {
            shared: Arc::new(shared),
            filler,
            config: config.clone(),
            token,
            local,
            lock,
            files,
        })
    }

    /// The routes, for an axum program to mount. They accept these authorities (`host:port`, as in
    /// `Host` and `Origin`). A request before [`Opening::finish`] is done waits up to four seconds.
    pub fn router(&self, authorities: impl IntoIterator<Item = impl Into<String>>) -> Router {
        router::router(&self.shared, Names::new(authorities))
    }

    /// Where the owner's own commands, and other clients, reach a server that listens there.
    pub(crate) fn address(&self, address: SocketAddr, url: String) -> Address {
        Address {
            address,
            url,
            token: self.local.clone(),
            owner: Some(TokenHash::of(&self.token)),
            pid: std::process::id(),
            since: None,
        }
    }

    /// Opens the stores, makes again what an earlier process left, starts the engine, and lets those
    /// in who wait.
    ///
    /// # Errors
    /// [`OpenError`]; nothing is left open then.
    pub async fn finish(self) -> Result<Home, OpenError> {
        let mut config = self.config;
        let (workspace, toolbox) = furnish(&mut config, &self.shared, &self.files)?;
        self.shared.know_meaning(&config);
        // Here a start ends what a tool of an earlier run has left running, before any turn continues
        // (DU-18, step 2). None of the tools that there are starts a process.
        let reports = self.shared.api.reports.clone();
        let options = Options {
            dir: data_dir::of(&config.data_dir, Ok(self.files.clone())),
            durability: config.store.durability,
            walker: config.walker,
            reports: reports.clone(),
        };
        let stores = Arc::new(samovar_stores::open(options).await?);
        failpoint!("boot.stores.after");
        let rows = stores.agents.clone();
        let own = config.guide.own.iter();
        let folders = [&config.data_dir].into_iter().chain(own).cloned().collect();
        let definitions = Definitions::open(folders, rows, toolbox.clone()).await;
        let ports = Ports {
            journal: stores.journal.clone(),
            history: stores.history.clone(),
            blobs: stores.blobs.clone(),
            models: self.shared.api.registry.clone(),
            toolbox,
            agents: definitions.catalogue().clone(),
            clock: Arc::new(SystemClock),
            ids: Arc::new(UuidV7),
            damages: reports,
            audit: stores.audit.clone(),
        };
        #[cfg(feature = "plant")]
        let ports = (config.planted)(ports);
        let engine = match Engine::start(ports, config.settings).await {
            Ok(engine) => engine,
            Err(source) => {
                stores.close().await;
                let dir = config.data_dir;
                return Err(samovar_stores::OpenError::Journal { dir, source }.into());
            }
        };
        let stores = self.shared.api.stores.get_or_init(|| stores).clone();
        let kept = &self.shared.api.definitions;
        let agents = kept.get_or_init(|| definitions).catalogue().clone();
        failpoint!("boot.serve.before");
        stores.ready();
        self.shared.api.note_start(&engine).await;
        self.shared.api.note_put_aside(&self.files).await;
        self.shared.relaying.begin(&engine).await;
        self.shared.begin_work(&engine, &config.memory);
        unfinished::finish(&engine, &workspace).await;
        self.filler.send_replace(Some(engine.clone()));
        failpoint!("boot.serve.after");
        Ok(Home {
            shared: self.shared,
            engine,
            stores,
            agents,
            token: self.token,
            local: self.local,
            drain: config.server.drain,
            frees_ballast: config.frees_ballast,
            lock: Some(self.lock),
            files: self.files,
        })
    }
}

/// The workspace and the tools, and what the settings take from them and from what people allowed.
fn furnish(
    config: &mut Config,
    shared: &Shared,
    files: &SmallFiles,
) -> Result<(Arc<Workspace>, Arc<Toolbox>), OpenError> {
    let for_people = [ASK_USER, POST_MESSAGE].map(str::to_owned);
    config.settings.for_people.extend(for_people);
    config.settings.for_ui.extend(FOR_UI.map(str::to_owned));
    let asking = config.budget().asking;
    config.settings.asking_at_once = config.settings.asking_at_once.min(asking);
    let workspace = Arc::new(shell::workspace(config, Some(files))?);
    config.settings.folder = folder::instructions(workspace.jail().clone(), config.trust.clone());
    let guide = Guide::new(config);
    let (telling, memories) = (guide.clone(), guide.memories.clone());
    config.settings.guide = samovar_engine::Guide::new(move |audience| telling.tell(audience));
    let toolbox = toolbox(config, workspace.clone(), shared.api.tools.client())?;
    let changes = WithMemories::new(workspace.changes(), memories.clone(), &shared.api);
    let toolbox = toolbox.with_changes(changes);
    let of_guide = [samovar_memory::tools(memories), read_skill(guide.clone())];
    for own in of_guide.iter().chain([&shared.chatting.tools()]) {
        toolbox.add_built_in(own).map_err(OpenError::Tools)?;
    }
    shared.api.guide.get_or_init(|| guide);
    let furnished = shared.api.tools.furnish(&toolbox, &config.tools);
    furnished.map_err(OpenError::Tools)?;
    let toolbox = Arc::new(toolbox);
    let dir = || config.data_dir.clone();
    let rules = rules::open(files.clone(), config.workspace.display().to_string());
    config.settings.rules = rules.map_err(|source| OpenError::Rules { dir: dir(), source })?;
    Ok((workspace, toolbox))
}

impl Home {
    /// Opens the data directory, makes again what an earlier process left, and starts the engine.
    ///
    /// # Errors
    /// [`OpenError`]; nothing is left open then.
    pub async fn open(config: &Config) -> Result<Self, OpenError> {
        Box::pin(Opening::begin(config)?.finish()).await
    }

    /// Whether the data directory could be locked now. It is created if missing; no store is
    /// opened, and no turn continues.
    ///
    /// # Errors
    /// [`OpenError::DataDir`].
    pub fn try_data_dir(config: &Config) -> Result<(), OpenError> {
        data_dir::try_hold(config)
    }

    /// The token that a server with this configuration lets its owner in with: the configured one,
    /// else that of the data directory, which has none before its first start.
    ///
    /// # Errors
    /// [`OpenError::Token`].
    pub fn owners_token(config: &Config) -> Result<Option<Token>, OpenError> {
        if let Some(token) = &config.token {
            return Ok(Some(token.clone()));
        }
        let kept = match SmallFiles::of(&config.data_dir) {
            Ok(files) => token::in_data_dir(&files),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        kept.map_err(|source| OpenError::Token {
            dir: config.data_dir.clone(),
            source,
        })
    }

    /// Whether the token and the lists of tokens and tools in the data directory could be used, if
    /// they are there. Nothing is made.
    ///
    /// # Errors
    /// [`OpenError::Token`], [`OpenError::Tokens`] and [`OpenError::Registered`].
    pub fn try_tokens(config: &Config) -> Result<(), OpenError> {
        let dir = || config.data_dir.clone();
        let token = |source| OpenError::Token { dir: dir(), source };
        Self::owners_token(config)?;
        let files = match SmallFiles::of(&config.data_dir) {
            Ok(files) => files,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(token(error)),
        };
        let named = tokens::named(&files);
        named.map_err(|source| OpenError::Tokens { dir: dir(), source })?;
        let tools = registered::kept(&files);
        tools.map_err(|source| OpenError::Registered { dir: dir(), source })?;
        let rules = rules::kept(&files);
        rules
            .map(drop)
            .map_err(|source| OpenError::Rules { dir: dir(), source })
    }

    /// The names of the tools that are declared closed, by the configuration and in the data
    /// directory (AS-26). Of a list that cannot be read, [`Home::try_tokens`] says why.
    pub fn closed_tools(config: &Config) -> Vec<String> {
        let files = SmallFiles::of(&config.data_dir);
        let registered = files.and_then(|files| registered::kept(&files));
        let registered = registered.unwrap_or_default().into_iter();
        let registered = registered.filter_map(|tool| tool.closed.then_some(tool.name));
        let configured = config.tools.iter().filter(|tool| tool.closed);
        configured
            .map(|tool| tool.name.clone())
            .chain(registered)
            .collect()
    }

    /// Whether tools could work in the workspace. A data directory that is not there yet need not be
    /// hidden from them.
    ///
    /// # Errors
    /// [`OpenError::Workspace`].
    pub fn try_workspace(config: &Config) -> Result<(), OpenError> {
        let client = Client::new(config.egress.clone());
        let workspace = Arc::new(shell::workspace(config, None)?);
        toolbox(config, workspace, &client).map(drop)
    }

    /// An id for a session whose client gave none.
    pub fn fresh_session() -> SessionId {
        SessionId::fresh(&UuidV7)
    }

    /// An id for a message that its client wants to say once, however often it must try.
    pub fn fresh_message() -> MessageId {
        MessageId::fresh(&UuidV7)
    }

    /// The routes without a socket, for this very process.
    pub fn way_in(&self) -> LocalAccess {
        let authority = "samovar.local".to_owned();
        LocalAccess {
            router: router::router(&self.shared, Names::new([authority.as_str()])),
            authority,
            token: self.local.clone(),
        }
    }

    /// The definitions of agents that are in force.
    pub fn agents(&self) -> &Arc<Catalogue> {
        &self.agents
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The global chat, for agents of the program that has the server inside.
    pub fn chat(&self) -> &Chat {
        &self.shared.chatting.chat
    }

    /// The rooms of external agents, for hosts and agents of the program that has the server inside.
    pub fn relay(&self) -> &Relay {
        &self.shared.relaying.relay
    }

    /// The providers, to explain which model answers and why.
    pub fn registry(&self) -> &Registry {
        &self.shared.api.registry
    }

    /// The models.
    pub fn models(&self) -> &dyn Models {
        self.shared.api.registry.as_ref()
    }

    /// Waits until a store has failed for good, and returns the cause. It accepts nothing more
    /// then: the caller should close this and open the data directory again, in this process or
    /// another (DU-12).
    pub async fn failed(&self) -> Broken {
        self.stores.disk.failed().await
    }

    /// Synced commits of the journal so far (DU-4).
    pub fn commits(&self) -> u64 {
        self.stores.commits()
    }

    /// The run of the server.
    pub fn epoch(&self) -> u64 {
        self.stores.journal.epoch().0
    }

    /// What clients must bring.
    pub fn token(&self) -> &Token {
        &self.token
    }

    /// The folder that tools work in.
    pub fn workspace(&self) -> &Path {
        &self.shared.api.workspace
    }

    pub(crate) fn drain(&self) -> Duration {
        self.drain
    }

    pub(crate) fn small_files(&self) -> SmallFiles {
        self.files.clone()
    }

    /// Records that a clean shutdown has begun, so that a closed store is known to be complete.
    pub(crate) fn leave(&self) {
        self.stores.closing();
    }

    /// Lets running turns end, for as long as was configured, then writes everything out.
    pub async fn close(self) {
        let drain = self.drain;
        self.end(drain).await;
    }

    /// Writes everything out at once; turns that run are found by the next start.
    pub async fn close_now(self) {
        self.end(Duration::ZERO).await;
    }

    /// Cuts the drain short: running turns, of sessions and of the chat's own agent, get no more
    /// time.
    pub fn hurry(&self) -> impl Future<Output = ()> + use<> {
        let (shared, engine) = (self.shared.clone(), self.engine.clone());
        async move {
            let now = Duration::ZERO;
            tokio::join!(shared.end_turns(&engine, now), shared.relaying.rest(now));
        }
    }

    async fn end(mut self, drain: Duration) {
        let closed = close(&self.engine, &self.stores, &self.shared, drain);
        tokio::join!(closed, self.stores.backups.end(drain));
        if let Some(lock) = self.lock.take()
            && self.frees_ballast
        {
            Disk::drop_ballast(lock.dir());
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let (Some(lock), Ok(runtime)) = (self.lock.take(), Handle::try_current()) {
            let (engine, stores) = (self.engine.clone(), self.stores.clone());
            let shared = self.shared.clone();
            let end = async move {
                close(&engine, &stores, &shared, Duration::ZERO).await;
                drop((engine, lock));
            };
            TaskTracker::new().spawn_on(end, &runtime);
        }
    }
}

/// Makes sure that the keys of this server are shown nowhere any more (TL-14). Of named tokens it
/// knows the hashes alone.
fn protect(config: &Config, token: &Token, local: &Token) {
    for (provider, key) in &config.providers.keys {
        let spec = SPECS.iter().find(|spec| spec.name == provider);
        let variable = spec.and_then(|spec| spec.env_vars.first());
        redact::protect(variable.copied().unwrap_or(provider), key);
    }
    if let Some(key) = config
        .search
        .as_ref()
        .and_then(|search| search.key.as_ref())
    {
        redact::protect("tools.web.search_api_key", key);
    }
    for (name, token) in [("SAMOVAR_TOKEN", token), ("local token", local)] {
        if let Some(token) = Secret::new(token.expose()) {
            redact::protect(name, &token);
        }
    }
}

/// Writes everything out, and notes that it was.
async fn close(engine: &Engine, stores: &Stores, shared: &Shared, drain: Duration) {
    stores.closing();
    tokio::join!(shared.end_turns(engine, drain), shared.relaying.rest(drain));
    shared.relaying.end().await;
    stores.closed();
}

/// The built-in tools, those on files for the workspace, and those of the embedding program.
///
/// # Errors
/// A name is taken.
fn toolbox(
    config: &Config,
    workspace: Arc<Workspace>,
    client: &Client,
) -> Result<Toolbox, OpenError> {
    let toolbox = Toolbox::default().with_changes(workspace.changes());
    let resources = Resources {
        workspace,
        client: client.clone(),
        search: config.search.clone(),
        shell: shell::of(config),
    };
    for toolset in samovar_tools::catalog(&resources) {
        toolbox.add_built_in(&toolset).map_err(OpenError::Tools)?;
    }
    let delegation: Arc<dyn Toolset> = Arc::new(DelegationTools);
    toolbox
        .add_built_in(&delegation)
        .map_err(OpenError::Tools)?;
    for toolset in &config.toolsets {
        toolbox.add(toolset).map_err(OpenError::Tools)?;
    }
    Ok(toolbox)
}
