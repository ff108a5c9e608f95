//! What makes a typed function a tool.

#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use samovar_core::approval::{MAX_PREVIEW_BYTES, Previewed, visible};
use samovar_core::redact;
use samovar_core::tool::{DEFAULT_TIMEOUT, Origin, Sharing};
use samovar_core::{
    Asks, CallContext, CallFacts, Closer, Effect, Future, Outcome, Preview, Probed, Reach, Status,
    ToolCall, ToolReply, ToolSpec, Toolset,
};
use schemars::JsonSchema;
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::{self, AbortHandle, JoinHandle};

use crate::alike;
use crate::caller::{Caller, Stop};
use crate::foresight::Foresight;
use crate::refusal::{Lost, Refusal};
use crate::schema;
use crate::workspace::Workspace;

/// The calls that have a thread at once, at most. Without a free descriptor each waits on its thread
/// for half a minute; the runtime has 512 such threads, which the stores need too.
const MAX_RUNNING: usize = 128;

/// The files of a folder that instruct agents: a person decides about each change of them.
const INSTRUCTIONS: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The threads that are left for calls.
static THREADS: Semaphore = Semaphore::const_new(MAX_RUNNING);

/// A tool for files. The type is the tool's arguments: its doc comment is the description, those of
/// its fields are the parameters' descriptions.
pub(crate) trait FileTool: DeserializeOwned + JsonSchema + Send + 'static {
    /// The name that a model calls.
    const NAME: &'static str;
    /// What it does to files.
    const ACCESS: Access;
    /// How long one call may run.
    const TIMEOUT: Duration = DEFAULT_TIMEOUT;

    /// Answers a call, on a thread that may block. A call that a person approved does nothing unless
    /// its file is as they saw it.
    fn run(self, workspace: &Workspace, caller: &Caller) -> Result<Outcome, Refusal>;

    /// The file or folder that the call names, for the gate.
    fn file(&self) -> &str;

    /// What a person is shown of the call: the text, with what it will make of its file.
    fn preview(&self, workspace: &Workspace) -> Result<Option<(Foresight, String)>, Refusal> {
        let _ = workspace;
        Ok(None)
    }

    /// What the call will make of its file, as that stands now; none for a tool that changes none.
    fn foresee(&self, workspace: &Workspace) -> Result<Option<Foresight>, Refusal> {
        let _ = workspace;
        Ok(None)
    }

    /// Whether the call was done, by what was foreseen of it.
    fn probe(self, workspace: &Workspace, foresight: &Foresight) -> Result<Probed, Refusal> {
        let _ = (workspace, foresight);
        Ok(Probed::Unknown)
    }
}

/// What a tool does to files.
#[derive(Clone, Copy)]
pub(crate) enum Access {
    /// It looks at them.
    Read,
    /// It changes them. Its calls run alone, so that those of one batch take effect in the order in
    /// which the model wrote them; the locks of the workspace keep other sessions apart.
    Write,
}

/// Puts a tool into the form in which it is listed and called.
pub(crate) fn toolset<T: FileTool>(workspace: &Arc<Workspace>) -> Arc<dyn Toolset> {
    Arc::new(FileToolset::<T> {
        spec: Arc::new(spec::<T>()),
        workspace: workspace.clone(),
        tool: PhantomData,
    })
}

struct FileToolset<T> {
    spec: Arc<ToolSpec>,
    workspace: Arc<Workspace>,
    tool: PhantomData<fn() -> T>,
}

impl<T: FileTool> Toolset for FileToolset<T> {
    fn specs(&self) -> Vec<Arc<ToolSpec>> {
        vec![self.spec.clone()]
    }

    fn call(&self, call: ToolCall, context: CallContext) -> Future<'static, ToolReply> {
        let workspace = self.workspace.clone();
        let CallContext {
            session,
            turn,
            agent,
            key,
            approved,
            ..
        } = context;
        let caller = Caller {
            session,
            child: (agent.depth() > 0).then(|| turn.clone()),
            turn,
            call: key,
            stop: Stop::default(),
            approved: approved.and_then(|seen| Foresight::deserialize(seen).ok()),
        };
        Box::pin(
            async move { ToolReply::Closed(run_blocking::<T>(workspace, call.args, caller).await) },
        )
    }

    fn facts(&self, _call: &ToolCall) -> Option<CallFacts> {
        let outside = self.workspace.outside()?;
        Some(CallFacts {
            asks: self.spec.asks,
            grants: Some(Vec::new()),
            outside: Some(outside),
            ..CallFacts::default()
        })
    }

    fn reach(&self, call: &ToolCall) -> Option<Reach> {
        let tool = T::deserialize(&call.args).ok()?;
        // A path that leads nowhere changes nothing, and the call fails in its own words.
        let place = self.workspace.place(tool.file()).ok()?;
        let path = place.to_string();
        let instructs = instructs(&path);
        Some(Reach { path, instructs })
    }

    fn preview(&self, call: &ToolCall) -> Future<'static, Previewed> {
        let (workspace, args) = (self.workspace.clone(), call.args.clone());
        let look = move || {
            let tool = T::deserialize(args).map_err(|error| misfit(&error))?;
            let seen = tool.preview(&workspace).map_err(Refusal::outcome)?;
            let (foresight, text) = seen.unzip();
            Ok(Preview {
                foreseen: foresight.and_then(|seen| serde_json::to_value(seen).ok()),
                text: text.map(|text| cut(&text)),
            })
        };
        Box::pin(async move {
            let looked = on_thread(look).await.await;
            looked.unwrap_or_else(|_| Err(Outcome::failed("the file could not be looked at")))
        })
    }

    fn foresee(&self, call: &ToolCall) -> Future<'static, Option<Value>> {
        let (workspace, args) = (self.workspace.clone(), call.args.clone());
        let look = move || {
            let tool = T::deserialize(args).ok()?;
            let foresight = tool.foresee(&workspace).ok()??;
            serde_json::to_value(foresight).ok()
        };
        Box::pin(async move { on_thread(look).await.await.ok().flatten() })
    }

    fn probe(
        &self,
        call: ToolCall,
        foreseen: Option<Value>,
        _context: CallContext,
    ) -> Future<'static, Probed> {
        let workspace = self.workspace.clone();
        let look = move || {
            let tool = T::deserialize(call.args).ok()?;
            let foresight = Foresight::deserialize(foreseen?).ok()?;
            tool.probe(&workspace, &foresight).ok()
        };
        Box::pin(async move {
            let looked = on_thread(look).await.await.ok().flatten();
            looked.unwrap_or(Probed::Unknown)
        })
    }
}

fn spec<T: FileTool>() -> ToolSpec {
    let (description, parameters) = schema::of::<T>();
    let changes = Some(Asks::because("changes files"));
    let (effect, asks, sharing) = match T::ACCESS {
        Access::Read => (Effect::Read, None, Sharing::Parallel),
        Access::Write => (Effect::Verifiable, changes, Sharing::Exclusive),
    };
    ToolSpec {
        name: T::NAME.to_owned(),
        description,
        parameters,
        effect,
        asks,
        origin: Origin::BuiltIn,
        closed: false,
        timeout: T::TIMEOUT,
        sharing,
        closer: Closer::Tool,
    }
}

/// Starts work that may block, when a thread is left for it.
pub(crate) async fn on_thread<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> JoinHandle<R> {
    // It is never closed. Work that was dropped keeps its thread until it stops.
    let thread = THREADS.acquire().await.ok();
    task::spawn_blocking(move || {
        let _thread = thread;
        work()
    })
}

/// Runs a call away from the async threads; dropping the future stops it.
async fn run_blocking<T: FileTool>(
    workspace: Arc<Workspace>,
    args: Value,
    caller: Caller,
) -> Outcome {
    let stop = caller.stop.clone();
    let thread = on_thread(move || answer::<T>(args, &workspace, &caller)).await;
    let _stops_when_dropped = StopOnDrop {
        stop,
        queued: thread.abort_handle(),
    };
    match thread.await.map_err(task::JoinError::try_into_panic) {
        Ok(outcome) => outcome,
        // The engine, which has the log, makes a result of it.
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        Err(Err(_)) => Outcome::new(Status::Cancelled, "the server is stopping"),
    }
}

fn answer<T: FileTool>(args: Value, workspace: &Workspace, caller: &Caller) -> Outcome {
    let path = args["path"].as_str().map(str::to_owned);
    if let (Access::Write, Some(why)) = (T::ACCESS, loses_key(&args)) {
        return Outcome::failed(why);
    }
    let tool = match T::deserialize(args) {
        Ok(tool) => tool,
        Err(error) => return misfit(&error),
    };
    tool.run(workspace, caller).unwrap_or_else(|mut refusal| {
        let lost = path.zip(refusal.lost.take());
        let hint =
            |(path, lost): (String, Lost)| alike::instead_of(&path, &lost, workspace, &caller.stop);
        let hint = lost.and_then(hint);
        refusal.why = hint.unwrap_or(refusal.why);
        refusal.outcome()
    })
}

/// Whether agents follow a file of this name (MD-27).
fn instructs(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    INSTRUCTIONS
        .iter()
        .any(|instructions| name.eq_ignore_ascii_case(instructions))
}

fn misfit(error: &serde_json::Error) -> Outcome {
    Outcome::correctable(format!("the arguments do not fit: {error}"))
}

/// Bytes of the note at the end of a preview that was cut, at most.
const MAX_NOTE_BYTES: usize = 64;

/// A preview within its bound.
pub(crate) fn cut(text: &str) -> String {
    let text = visible(text);
    if text.len() <= MAX_PREVIEW_BYTES {
        return text.into_owned();
    }
    let shown = &text[..text.floor_char_boundary(MAX_PREVIEW_BYTES - MAX_NOTE_BYTES)];
    format!(
        "{shown}\n[cut: {} of {} bytes shown]",
        shown.len(),
        text.len()
    )
}

/// Why a file cannot be given these texts: a mark that stands for a key of ours would replace the
/// key itself (TL-14).
fn loses_key(args: &Value) -> Option<String> {
    let own = redact::own();
    let mut texts = args.as_object()?.values().filter_map(Value::as_str);
    let mark = texts.find_map(|text| own.mark_in(text))?;
    Some(format!(
        "{mark} stands for a key that is not shown to you, and writing it would lose that key; \
         nothing was changed: leave the line with the key as it is, and edit the lines around it"
    ))
}

/// Stops a call that nobody waits for any more.
struct StopOnDrop {
    stop: Stop,
    /// Only a call that has no thread yet can be ended from outside.
    queued: AbortHandle,
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.stop.set();
        self.queued.abort();
    }
}
