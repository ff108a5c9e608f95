//! One command, from its start to its outcome.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use samovar_core::tool::Progress;
use samovar_core::{CallContext, Outcome, Status};
use samovar_sandbox::cage::{Running, Stopper};
use serde_json::Value;
use tokio::task;

use crate::caller::Stop;
use crate::outputs::Output;
use crate::recorder::{Caller, Recorded, Recording, told};
use crate::workspace::Workspace;

use super::reporting::{Latest, report};
use super::written::{Written, unknown};
use super::{Exec, ExecTool, Found, off, shell};

/// How often a server shows that it lives while a command runs.
const SIGN_OF_LIFE: Duration = Duration::from_millis(500);

/// Ends the command when its call is dropped.
struct StopOnDrop {
    /// Heard by who starts the command, and by the next one, which waits for its end.
    stop: Stop,
    /// `None` while it is being started.
    stopper: Option<Stopper>,
}

impl StopOnDrop {
    fn end(&self) {
        self.stopper.iter().for_each(Stopper::stop);
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.stop.set();
        self.end();
    }
}

pub(super) async fn run(tool: ExecTool, exec: Exec, found: Found, context: CallContext) -> Outcome {
    let (shell, workspace) = (tool.shell.clone(), tool.workspace.clone());
    let timeout = tool.timeout(&exec, found);
    let Ok(_place) = shell.places.acquire().await else {
        return Outcome::new(Status::Cancelled, "the server is stopping");
    };
    let mut stopper = StopOnDrop {
        stop: Stop::default(),
        stopper: None,
    };
    let (caller, stop) = (context.clone(), stopper.stop.clone());
    let started = task::spawn_blocking(move || start(&tool, &exec, found, &caller, &stop));
    let (running, recording, homeless) = match started.await {
        Ok(Ok(started)) => started,
        Ok(Err(why)) => return Outcome::failed(why),
        Err(error) => return unwatched(&error),
    };
    match running.stopper() {
        Ok(of_command) => stopper.stopper = Some(of_command),
        Err(error) => return Outcome::failed(unstarted(&error)),
    }
    let mut written = Written::new();
    let latest = Arc::new(Latest::default());
    let (session, key) = (context.session.clone(), context.key.clone());
    let reported = latest.clone();
    let alive = workspace.clone();
    let mut watched = task::spawn_blocking(move || {
        let make = || {
            workspace
                .outputs()
                .and_then(|it| created(it.create(&session, &key)))
        };
        let ended = running.watch(|channel, bytes| {
            reported.add(bytes);
            written.add(channel, bytes, make);
        });
        let finish = ended.map_err(|error| error.to_string());
        // Also where no caller waits for it: the turn can be taken back.
        let recorded = match recording {
            Some(recording) => {
                let moved = finish.iter().flat_map(|it| &it.aside.moved);
                recording.end(moved.filter_map(|it| it.to.clone()).collect())
            }
            None => Recorded::default(),
        };
        (finish, written, recorded)
    });
    let (ended, is_late) = tokio::select! {
        ended = &mut watched => (ended, false),
        never = report(&latest, &context.progress) => match never {},
        never = show_life(&alive) => match never {},
        () = tokio::time::sleep(timeout) => {
            stopper.end();
            (watched.await, true)
        }
    };
    match ended {
        Ok((Ok(finish), written, recorded)) => {
            let mut told = written.outcome(&finish, is_late.then_some(timeout));
            if let Some(why) = homeless {
                let home = "the home folder was an empty one for this command alone";
                told.text = format!("{}\n[{home}: {why}]", told.text);
            }
            with_changes(told, recorded, found.reads)
        }
        Ok((Err(error), ..)) => unknown(&format!("the command was lost: {error}")),
        Err(error) => unwatched(&error),
    }
}

/// Shows twice a second that the server lives, so that a start after a kill can tell what the command did
/// from what was done later.
async fn show_life(workspace: &Workspace) -> Infallible {
    loop {
        tokio::time::sleep(SIGN_OF_LIFE).await;
        if let Some(recorder) = workspace.recorder() {
            recorder.show_life();
        }
    }
}

/// Starts it, after the folder was recorded if it may change that. Blocks as long as that takes.
fn start(
    tool: &ExecTool,
    exec: &Exec,
    found: Found,
    context: &CallContext,
    stop: &Stop,
) -> Result<(Running, Option<Recording>, Option<String>), String> {
    let cages = tool.shell.check().map_err(|why| off(&why))?;
    let (mut job, homeless) = tool.job(exec, found, context)?;
    if found.reads || context.by_rule {
        shell::use_foreign_programs(cages, &mut job.env);
    }
    let recorder = tool.workspace.recorder().filter(|_| job.writes);
    let (recording, looked) = match recorder {
        Some(recorder) => recorder.begin(
            &tool.workspace,
            Caller {
                session: context.session.clone(),
                turn: context.turn.clone(),
                call: context.key.clone(),
                stop: stop.clone(),
                reaches_out: found.reaches_out,
            },
        ),
        None => (None, Ok(Vec::new())),
    };
    let note = told::note(&looked);
    if note.is_some() {
        context.progress.show(Progress {
            note,
            ..Progress::default()
        });
    }
    if stop.is_set() {
        return Err("the call was cancelled before its command started".to_owned());
    }
    let running = cages.start(job).map_err(|error| unstarted(&error))?;
    Ok((running, recording, homeless))
}

/// The outcome with what the command changed.
fn with_changes(mut outcome: Outcome, recorded: Recorded, reads: bool) -> Outcome {
    if let Some(why) = recorded.uncovered {
        tracing::debug!(?why, "what a command changed is not known");
        outcome.text +=
            "\n[what this command changed was not recorded: an undo does not take it back]";
    }
    let Some(data) = outcome.data.as_mut().and_then(Value::as_object_mut) else {
        return outcome;
    };
    if reads {
        data.insert("readOnly".to_owned(), true.into());
    }
    if let Some(changed) = recorded.changed {
        data.insert("changed".to_owned(), changed.into());
        data.insert("changedMore".to_owned(), recorded.more.into());
    }
    outcome
}

fn unstarted(error: &std::io::Error) -> String {
    format!("the command could not be started: {error}")
}

/// The thread of a command did not come to its end.
fn unwatched(error: &task::JoinError) -> Outcome {
    if error.is_panic() {
        return unknown("the server made a mistake while it watched the command");
    }
    Outcome::new(Status::Cancelled, "the server is stopping")
}

fn created(output: std::io::Result<Output>) -> Option<Output> {
    match output {
        Ok(output) => Some(output),
        Err(error) => {
            tracing::warn!(%error, "the output of a command is not kept whole");
            None
        }
    }
}
