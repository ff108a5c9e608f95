//! A workspace, the tools in it, and what must stay out of their reach.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use samovar_core::{
    AgentPath, CallContext, CallFacts, CallId, Outcome, Probed, SessionId, Status, ToolCall,
    ToolReply, ToolSpec, Toolset, TurnId,
};
use samovar_egress::Client;
use samovar_sandbox::cage::{CageSettings, Level, Limits};
use samovar_sandbox::{Jail, Protected, SmallFiles};
use samovar_tools::{
    ExecSettings, GitSettings, HomeStore, ReadOnly, Recorder, RecorderBounds, Resources, SeenFiles,
    Shell, UndoBounds, UndoStore, WebSearch, Workspace, catalog,
};
use serde_json::Value;
use tempfile::TempDir;

/// What only files hold that no tool may show.
pub(crate) const SECRET: &str = "swordfish";

/// A temporary folder with the workspace `ws`, in which `data` is hidden and `samovar.toml` and
/// `skills` are read-only, and a folder `outside`.
pub(crate) struct Yard {
    top: TempDir,
    pub(crate) workspace: Arc<Workspace>,
    tools: Vec<Arc<dyn Toolset>>,
}

/// The `PATH` of commands, but where a test gives another.
const PATH: &str = "/usr/bin:/bin";

/// A sandbox for commands; without a sandbox where the machine gives none.
fn shell(ws: &Path, path: &str) -> Shell {
    let with = |level| {
        Shell::new(ExecSettings {
            cages: CageSettings {
                level,
                workspace: ws.to_owned(),
                path: std::env::split_paths(path).collect(),
                home: ws.join("../outside/person").canonicalize().ok(),
                variables: Vec::new(),
                read: Vec::new(),
                hidden: vec![ws.join("data")],
                kept: vec!["AGENTS.md".into()],
                lock: None,
                note: None,
                program: Some(env!("CARGO_BIN_EXE_tools-cage").into()),
            },
            allow: ReadOnly::built_in(),
            timeout: Duration::from_mins(10),
            limits: Limits::default(),
            env: vec![("PATH".to_owned(), path.to_owned())],
            git: GitSettings {
                env: vec![("HOME".into(), ws.join("../outside/person").into())],
            },
        })
    };
    let shell = with(Level::Namespaces);
    if shell.check().is_ok() {
        return shell;
    }
    with(Level::Off)
}

impl Yard {
    pub(crate) fn new() -> Self {
        Self::in_workspace(|workspace, _| workspace)
    }

    /// One whose changes are kept in its data directory.
    pub(crate) fn undoing(bounds: UndoBounds) -> Self {
        Self::in_workspace(|workspace, data| {
            let files = SmallFiles::of(data).unwrap();
            let seen = SeenFiles::new(&files).unwrap();
            workspace
                .with_undo(UndoStore::new(files, bounds))
                .with_seen(seen)
        })
    }

    /// One with commands, which are recorded in its data directory within bounds.
    pub(crate) fn commanding(bounds: RecorderBounds) -> Self {
        let yard = Self::new();
        let data = yard.ws("data");
        yard.commanding_in(&data, bounds)
    }

    /// The same folder with commands that are recorded in another data directory, as a server opens it.
    pub(crate) fn commanding_in(self, data: &Path, bounds: RecorderBounds) -> Self {
        self.commanding_by(PATH, data, bounds)
    }

    /// The same, where commands have another `PATH`.
    pub(crate) fn commanding_by(self, path: &str, data: &Path, bounds: RecorderBounds) -> Self {
        let ws = self.ws("").canonicalize().unwrap();
        let protected = Protected {
            hidden: vec![ws.join("data")],
            read_only: vec!["samovar.toml".into(), "skills".into(), ".git".into()],
            read_only_names: vec![".git".to_owned()],
        };
        let files = SmallFiles::of(data).unwrap();
        let workspace = Workspace::new(Arc::new(Jail::open(&ws, &protected).unwrap()))
            .with_undo(UndoStore::new(files.clone(), UndoBounds::default()))
            .with_recorder(Recorder::new(files, bounds))
            .with_homes(HomeStore::of(data).unwrap());
        let recorder = workspace.recorder().unwrap();
        recorder.recover(&workspace).unwrap();
        let workspace = Arc::new(workspace);
        let tools = catalog(&Resources {
            workspace: workspace.clone(),
            client: Client::new(Vec::new()),
            search: None,
            shell: Some(Arc::new(shell(&ws, path))),
        });
        Self {
            workspace,
            tools,
            ..self
        }
    }

    /// One whose tools for the web have this client and this search.
    pub(crate) fn online(client: Client, search: Option<WebSearch>) -> Self {
        let yard = Self::new();
        let tools = catalog(&Resources {
            workspace: yard.workspace.clone(),
            client,
            search,
            shell: None,
        });
        Self { tools, ..yard }
    }

    /// The same folder with a store that reads what is there.
    pub(crate) fn reopened(self, bounds: UndoBounds) -> Self {
        let files = SmallFiles::of(&self.ws("data")).unwrap();
        let workspace = Workspace::new(self.workspace.jail().clone());
        let seen = SeenFiles::new(&files).unwrap();
        let workspace = workspace
            .with_undo(UndoStore::new(files, bounds))
            .with_seen(seen);
        let workspace = Arc::new(workspace);
        let tools = catalog(&Resources {
            workspace: workspace.clone(),
            client: Client::new(Vec::new()),
            search: None,
            shell: None,
        });
        Self {
            workspace,
            tools,
            ..self
        }
    }

    fn in_workspace(furnish: impl FnOnce(Workspace, &Path) -> Workspace) -> Self {
        let top = TempDir::new().unwrap();
        let ws = top.path().join("ws");
        fs::create_dir_all(ws.join("data")).unwrap();
        fs::write(ws.join("data/token"), SECRET).unwrap();
        fs::create_dir(top.path().join("outside")).unwrap();
        fs::write(top.path().join("outside/secret.txt"), SECRET).unwrap();
        let protected = Protected {
            hidden: vec![ws.join("data")],
            read_only: vec!["samovar.toml".into(), "skills".into()],
            ..Protected::default()
        };
        let jail = Arc::new(Jail::open(&ws, &protected).unwrap());
        let client = Client::new(Vec::new());
        let workspace = Arc::new(furnish(Workspace::new(jail), &ws.join("data")));
        let tools = catalog(&Resources {
            workspace: workspace.clone(),
            client,
            search: None,
            shell: None,
        });
        Self {
            top,
            workspace,
            tools,
        }
    }

    /// A workspace with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let yard = Self::new();
        for (path, content) in files {
            yard.put(path, content);
        }
        yard
    }

    pub(crate) fn ws(&self, path: &str) -> PathBuf {
        self.top.path().join("ws").join(path)
    }

    pub(crate) fn outside(&self, path: &str) -> PathBuf {
        self.top.path().join("outside").join(path)
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.ws(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn content(&self, path: &str) -> String {
        fs::read_to_string(self.ws(path)).unwrap()
    }

    pub(crate) fn specs(&self) -> Vec<Arc<ToolSpec>> {
        self.tools.iter().flat_map(|tool| tool.specs()).collect()
    }

    pub(crate) fn spec(&self, name: &str) -> Arc<ToolSpec> {
        let mut specs = self.specs().into_iter();
        specs.find(|spec| spec.name == name).unwrap()
    }

    /// Calls a tool, as one session of many.
    pub(crate) fn call(
        &self,
        name: &str,
        args: Value,
    ) -> impl Future<Output = Outcome> + Send + 'static {
        self.call_as("turn", "call", name, args)
    }

    /// Calls a tool in a turn, under an id.
    pub(crate) fn call_as(
        &self,
        turn: &str,
        call: &str,
        name: &str,
        args: Value,
    ) -> impl Future<Output = Outcome> + Send + 'static {
        self.call_with(call, name, args, &mut |context| {
            context.turn = TurnId::new(turn).unwrap();
        })
    }

    /// What is particular about a call.
    pub(crate) fn facts(&self, name: &str, args: Value) -> Option<CallFacts> {
        let (tool, call, _) = self.prepare(name, args);
        tool.facts(&call)
    }

    /// Calls a tool with a context of this shape, under an id.
    pub(crate) fn call_with(
        &self,
        call: &str,
        name: &str,
        args: Value,
        shape: &mut dyn FnMut(&mut CallContext),
    ) -> samovar_core::Future<'static, Outcome> {
        let (tool, mut tool_call, mut context) = self.prepare(name, args);
        tool_call.id = CallId::new(call).unwrap();
        context.key = tool_call.id.clone();
        shape(&mut context);
        let reply = tool.call(tool_call, context);
        Box::pin(async {
            match reply.await {
                ToolReply::Closed(outcome) => outcome,
                ToolReply::Open | ToolReply::Shown(..) => panic!("a tool closes its call"),
            }
        })
    }

    /// Calls a tool in a session, as its own agent or as one that this turn belongs to.
    pub(crate) fn call_in(
        &self,
        session: &str,
        child: Option<&str>,
        name: &str,
        args: Value,
    ) -> impl Future<Output = Outcome> + Send + 'static {
        let (tool, call, mut context) = self.prepare(name, args);
        context.session = SessionId::new(session).unwrap();
        if let Some(turn) = child {
            context.turn = TurnId::new(turn).unwrap();
            context.agent = context.agent.child("scribe");
        }
        let reply = tool.call(call, context);
        async {
            match reply.await {
                ToolReply::Closed(outcome) => outcome,
                ToolReply::Open | ToolReply::Shown(..) => panic!("a tool closes its call"),
            }
        }
    }

    /// What the tool foresees of a call.
    pub(crate) async fn foresee(&self, name: &str, args: &Value) -> Option<Value> {
        let (tool, call, _) = self.prepare(name, args.clone());
        tool.foresee(&call).await
    }

    /// What the tool says became of a call.
    pub(crate) async fn probe(&self, name: &str, args: &Value, foreseen: Option<Value>) -> Probed {
        let (tool, call, context) = self.prepare(name, args.clone());
        tool.probe(call, foreseen, context).await
    }

    fn prepare(&self, name: &str, args: Value) -> (Arc<dyn Toolset>, ToolCall, CallContext) {
        let named = |tool: &&Arc<dyn Toolset>| tool.specs().iter().any(|spec| spec.name == name);
        let tool = self.tools.iter().find(named).unwrap();
        let key = CallId::new("call").unwrap();
        let call = ToolCall::new(key.clone(), name, args);
        let context = CallContext::new(
            SessionId::new("session").unwrap(),
            TurnId::new("turn").unwrap(),
            AgentPath::root("master"),
            key,
        );
        (tool.clone(), call, context)
    }

    /// The outcome of a call that succeeds.
    pub(crate) async fn done(&self, name: &str, args: Value) -> Outcome {
        let outcome = self.call(name, args).await;
        assert_eq!(outcome.status, Status::Done, "{}", outcome.text);
        outcome
    }

    /// What a model reads of a call that succeeds.
    pub(crate) async fn text(&self, name: &str, args: Value) -> String {
        self.done(name, args).await.text
    }

    /// What clients read of a call that succeeds.
    pub(crate) async fn data(&self, name: &str, args: Value) -> Value {
        self.done(name, args).await.data.unwrap()
    }

    /// What a model reads of a call that fails.
    pub(crate) async fn refusal(&self, name: &str, args: Value) -> String {
        let outcome = self.call(name, args.clone()).await;
        assert_eq!(
            outcome.status,
            Status::Failed,
            "{name} {args}: {}",
            outcome.text
        );
        outcome.text
    }
}
