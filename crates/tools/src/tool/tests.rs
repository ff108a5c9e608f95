//! What becomes of a call that nobody waits for, and of one that panics.

use std::fs;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use samovar_core::{AgentPath, CallId, SessionId, TurnId};
use samovar_sandbox::{Jail, Protected};
use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::*;
use crate::edit_file::EditFile;
use crate::list_dir::ListDir;
use crate::read_file::ReadFile;
use crate::search_files::SearchFiles;
use crate::write_file::WriteFile;

/// Tells that it runs, then runs until it is stopped.
#[derive(Deserialize, JsonSchema)]
struct Endless {}

/// Where [`Endless`] tells; one test alone uses it.
static TOLD: Mutex<Option<SyncSender<&'static str>>> = Mutex::new(None);

fn tell(word: &'static str) {
    let told = TOLD.lock().unwrap().clone();
    told.unwrap().send(word).unwrap();
}

impl FileTool for Endless {
    const NAME: &'static str = "endless";
    const ACCESS: Access = Access::Read;

    fn file(&self) -> &'static str {
        "."
    }

    fn run(self, _: &Workspace, caller: &Caller) -> Result<Outcome, Refusal> {
        tell("running");
        while caller.stop.check().is_ok() {
            std::thread::yield_now();
        }
        tell("stopped");
        Ok(Outcome::done("stopped"))
    }
}

/// Panics.
#[derive(Deserialize, JsonSchema)]
struct Broken {}

impl FileTool for Broken {
    const NAME: &'static str = "broken";
    const ACCESS: Access = Access::Read;

    fn file(&self) -> &'static str {
        "."
    }

    fn run(self, _: &Workspace, _: &Caller) -> Result<Outcome, Refusal> {
        panic!("as it must");
    }
}

fn workspace() -> (TempDir, Arc<Workspace>) {
    let top = TempDir::new().unwrap();
    let jail = Jail::open(top.path(), &Protected::default()).unwrap();
    let workspace = Workspace::new(Arc::new(jail));
    (top, Arc::new(workspace))
}

fn call<T: FileTool>(workspace: &Arc<Workspace>) -> Future<'static, ToolReply> {
    let key = CallId::new("call").unwrap();
    let call = ToolCall::new(key.clone(), T::NAME, json!({}));
    let context = CallContext::new(
        SessionId::new("session").unwrap(),
        TurnId::new("turn").unwrap(),
        AgentPath::root("master"),
        key,
    );
    toolset::<T>(workspace).call(call, context)
}

/// Waits on a thread of its own for the next word.
async fn heard(receiver: Receiver<&'static str>) -> (Receiver<&'static str>, &'static str) {
    let wait = task::spawn_blocking(move || {
        let word = receiver.recv().unwrap();
        (receiver, word)
    });
    wait.await.unwrap()
}

// proves AS-13
#[tokio::test]
async fn a_call_that_runs_ends_when_it_is_dropped() {
    let (_top, workspace) = workspace();
    let (sender, receiver) = sync_channel(2);
    *TOLD.lock().unwrap() = Some(sender);
    let mut calls = JoinSet::new();
    calls.spawn(call::<Endless>(&workspace));
    let (receiver, word) = heard(receiver).await;
    assert_eq!(word, "running");

    calls.shutdown().await;

    assert_eq!(heard(receiver).await.1, "stopped");
}

// proves AS-12
#[tokio::test]
async fn a_panic_reaches_whoever_runs_the_call_and_nothing_else() {
    let (_top, workspace) = workspace();
    let mut calls = JoinSet::new();
    calls.spawn(call::<Broken>(&workspace));
    assert!(calls.join_next().await.unwrap().unwrap_err().is_panic());

    calls.spawn(call::<ListDir>(&workspace));
    let reply = calls.join_next().await.unwrap().unwrap();
    assert_eq!(
        reply,
        ToolReply::Closed(
            Outcome::done("0 entries in this folder").with_data(json!({ "entries": [] }))
        )
    );
}

#[tokio::test]
async fn a_call_waits_while_the_others_have_all_threads() {
    let (_top, workspace) = workspace();
    let threads = u32::try_from(MAX_RUNNING).unwrap();
    let others = THREADS.acquire_many(threads).await.unwrap();
    let mut waiting = call::<ListDir>(&workspace);
    let early = timeout(Duration::from_millis(100), &mut waiting).await;
    assert!(early.is_err());

    drop(others);

    assert!(matches!(waiting.await, ToolReply::Closed(_)));
}

#[test]
fn a_call_that_is_stopped_before_its_effect_has_none() {
    fn stopped<T: FileTool>(workspace: &Workspace, args: Value) {
        let caller = Caller {
            session: SessionId::new("session").unwrap(),
            turn: TurnId::new("turn").unwrap(),
            child: None,
            call: CallId::new("call").unwrap(),
            stop: Stop::default(),
            approved: None,
        };
        caller.stop.set();
        let outcome = answer::<T>(args, workspace, &caller);
        assert_eq!(
            outcome,
            Outcome::failed("the call was stopped"),
            "{}",
            T::NAME
        );
    }
    let (top, workspace) = workspace();
    let file = top.path().join("a");
    fs::write(&file, "before").unwrap();

    stopped::<WriteFile>(&workspace, json!({ "path": "a", "content": "after" }));
    stopped::<EditFile>(
        &workspace,
        json!({ "path": "a", "old": "before", "new": "x" }),
    );
    stopped::<ReadFile>(&workspace, json!({ "path": "a" }));
    stopped::<ListDir>(&workspace, json!({}));
    stopped::<SearchFiles>(&workspace, json!({ "pattern": "b" }));
    stopped::<SearchFiles>(&workspace, json!({ "pattern": "b", "path": "a" }));

    assert_eq!(fs::read_to_string(&file).unwrap(), "before");
}
