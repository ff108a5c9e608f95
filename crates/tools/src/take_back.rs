//! Taking back what turns changed in files: all of it or nothing, and as often as it is asked for.

use std::collections::BTreeMap;
use std::sync::Arc;

use samovar_core::error::Code;
use samovar_core::file_changes::{ClosedCall, Restoration, RestoredFile, TakenBack};
use samovar_core::{CallId, Error, FileChanges, Future, SessionId, Status, TurnId, failpoint};
use samovar_locale as locale;
use samovar_sandbox::JailPath;
use serde_json::{Value, json};

use crate::edit_file::EditFile;
use crate::foresight::content;
use crate::text::sha256;
use crate::tool::{FileTool, on_thread};
use crate::undo::{Before, Record, State, UndoStore};
use crate::workspace::Workspace;
use crate::write_file::WriteFile;

/// Files that an error names in its sentence, at most.
const MAX_NAMED: usize = 10;
/// Files that it names for programs, at most.
const MAX_LISTED: usize = 100;

/// The changes of files in a workspace.
pub(crate) struct Changes(pub(crate) Arc<Workspace>);

/// What is to become of a file.
struct Plan {
    place: JailPath,
    path: String,
    /// The change before which the file is as it shall be.
    first: u64,
    before: Before,
    /// The folders that were made for it.
    made: usize,
    /// What it may be now; everything else was made by others.
    expected: Vec<State>,
    last: u64,
}

/// Why a file cannot be taken back.
enum Obstacle {
    Changed,
    NotKept,
}

impl FileChanges for Changes {
    fn take_back<'a>(
        &'a self,
        session: &'a SessionId,
        turns: &'a [TurnId],
        calls: Vec<ClosedCall>,
    ) -> Future<'a, Result<TakenBack, Error>> {
        let (workspace, session, turns) = (self.0.clone(), session.clone(), turns.to_vec());
        let work = move || take_back(&workspace, &session, &turns, &calls);
        Box::pin(async move {
            let done = on_thread(work).await.await;
            done.unwrap_or_else(|error| Err(internal(&error)))
        })
    }

    fn forget<'a>(&'a self, session: &'a SessionId, turns: &'a [TurnId]) -> Future<'a, ()> {
        self.forget_some(session, Some(turns.to_vec()))
    }

    fn forget_session<'a>(&'a self, session: &'a SessionId) -> Future<'a, ()> {
        self.forget_some(session, None)
    }
}

impl Changes {
    fn forget_some(&self, session: &SessionId, turns: Option<Vec<TurnId>>) -> Future<'static, ()> {
        let (workspace, session) = (self.0.clone(), session.clone());
        let work = move || {
            let outputs = match (workspace.outputs(), &turns) {
                (Some(outputs), None) => outputs.forget(&session),
                (None, _) | (_, Some(_)) => Ok(()),
            };
            let seen = match &turns {
                None => workspace.seen().forget(&session),
                Some(_) => Ok(()),
            };
            let undo = match workspace.undo() {
                Some(undo) => undo.forget(&session, turns.as_deref()),
                None => Ok(()),
            };
            outputs.and(seen).and(undo)
        };
        Box::pin(async move {
            // They are of no use any more, and go when they are old.
            match on_thread(work).await.await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "changes of files are not forgotten"),
                Err(error) => tracing::error!(%error, "changes of files are not forgotten"),
            }
        })
    }
}

fn take_back(
    workspace: &Workspace,
    session: &SessionId,
    turns: &[TurnId],
    calls: &[ClosedCall],
) -> Result<TakenBack, Error> {
    let Some(undo) = workspace.undo() else {
        return nothing_kept(calls, &[]).map(|()| TakenBack::default());
    };
    let changes = undo.changes(session, turns).map_err(|e| internal(&e))?;
    let plans = plan(workspace, undo, &changes, calls)?;
    if let (Some(turn), false) = (turns.first(), plans.is_empty()) {
        undo.begin(session, turn).map_err(|e| internal(&e))?;
    }
    let mut files = Vec::new();
    for plan in plans {
        failpoint!("undo.file.before");
        let restored = restore(workspace, undo, &plan);
        failpoint!("undo.file.after");
        match restored {
            Ok(restoration) => files.push(RestoredFile {
                path: plan.path,
                restoration,
            }),
            Err(why) => return Err(incomplete(&plan.path, &why, &files)),
        }
    }
    files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    let calls = changes.into_iter().map(|(_, record)| record.call);
    Ok(TakenBack {
        files,
        calls: calls.collect(),
    })
}

/// What is to become of each file, the one that was changed last first.
fn plan(
    workspace: &Workspace,
    undo: &UndoStore,
    changes: &[(u64, Record)],
    calls: &[ClosedCall],
) -> Result<Vec<Plan>, Error> {
    nothing_kept(calls, changes)?;
    let mut of_file: BTreeMap<&str, Vec<&(u64, Record)>> = BTreeMap::new();
    for change in changes {
        of_file.entry(&change.1.path).or_default().push(change);
    }
    let is_done = |call: &CallId| {
        let mut calls = calls.iter();
        calls.any(|other| other.call == *call && other.status == Status::Done)
    };
    let (mut plans, mut foreign, mut not_kept) = (Vec::new(), Vec::new(), Vec::new());
    for (path, changes) in of_file {
        match plan_file(workspace, undo, &changes, is_done) {
            Ok(plan) => plans.push(plan),
            Err(Obstacle::Changed) => foreign.push(path),
            Err(Obstacle::NotKept) => not_kept.push(path),
        }
    }
    if !foreign.is_empty() {
        let why = locale::undo::files_changed(named(&foreign));
        return Err(refused(Code::FilesChanged, why, &foreign));
    }
    if !not_kept.is_empty() {
        return Err(lost(&not_kept));
    }
    plans.sort_unstable_by_key(|plan| std::cmp::Reverse(plan.last));
    Ok(plans)
}

fn plan_file(
    workspace: &Workspace,
    undo: &UndoStore,
    changes: &[&(u64, Record)],
    is_done: impl Fn(&CallId) -> bool,
) -> Result<Plan, Obstacle> {
    let (Some((first, oldest)), Some((last, newest))) = (changes.first(), changes.last()) else {
        return Err(Obstacle::NotKept);
    };
    // Between two changes of the turn the file stayed as it was, or the earlier one never happened.
    for pair in changes.windows(2) {
        let ((_, one), (_, next)) = (pair[0], pair[1]);
        let found = next.before.state();
        let is_lost = found.is_some() && found == one.before.state() && !is_done(&one.call);
        if found != Some(one.result()) && !is_lost {
            return Err(match next.before {
                Before::Unkept => Obstacle::NotKept,
                Before::Absent | Before::Kept(_) | Before::Follows(_) => Obstacle::Changed,
            });
        }
    }
    match &oldest.before {
        Before::Absent => {}
        Before::Kept(hash) => {
            let content = undo.content(*first, hash);
            content.ok().flatten().ok_or(Obstacle::NotKept)?;
        }
        Before::Follows(_) | Before::Unkept => return Err(Obstacle::NotKept),
    }
    let mut expected = vec![newest.result()];
    // An undo that was cut in the middle has restored it already.
    expected.extend(oldest.before.state());
    if !is_done(&newest.call) {
        expected.extend(newest.before.state());
    }
    let place = workspace.jail().place(&oldest.path);
    let place = place.map_err(|_| Obstacle::Changed)?;
    let now = state(workspace, &place).map_err(|_| Obstacle::Changed)?;
    if !expected.contains(&now) {
        return Err(Obstacle::Changed);
    }
    Ok(Plan {
        place,
        path: oldest.path.clone(),
        first: *first,
        before: oldest.before.clone(),
        made: oldest.made,
        expected,
        last: *last,
    })
}

/// Gives a file what it held before; one that holds it already stays as it is.
fn restore(workspace: &Workspace, undo: &UndoStore, plan: &Plan) -> Result<Restoration, String> {
    let _lock = workspace.lock(&plan.place);
    let now = state(workspace, &plan.place)?;
    if !plan.expected.contains(&now) {
        return Err(locale::undo::just_changed().to_owned());
    }
    let is_there = plan.before.state() == Some(now);
    let jail = workspace.jail();
    match &plan.before {
        Before::Kept(hash) => {
            if !is_there {
                let content = undo.content(plan.first, hash).map_err(|e| e.to_string())?;
                let content = content.ok_or_else(|| locale::undo::damaged().to_owned())?;
                let written = jail.write(&plan.place, &content, u64::MAX);
                written.map_err(|error| error.to_string())?;
            }
            Ok(Restoration::Restored)
        }
        Before::Absent | Before::Follows(_) | Before::Unkept => {
            // Also where the file is gone: its folders may still be there.
            let removed = jail.remove(&plan.place, plan.made);
            removed.map_err(|error| error.to_string())?;
            Ok(Restoration::Removed)
        }
    }
}

/// What a file is now.
fn state(workspace: &Workspace, place: &JailPath) -> Result<State, String> {
    match content(workspace, place) {
        Ok(Some(bytes)) => Ok(State::Holds(sha256(&bytes))),
        Ok(None) => Ok(State::Absent),
        Err(refusal) => Err(refusal.to_string()),
    }
}

/// Refuses when a call changed a file and nothing is kept of it.
fn nothing_kept(calls: &[ClosedCall], changes: &[(u64, Record)]) -> Result<(), Error> {
    let writes = [WriteFile::NAME, EditFile::NAME];
    let is_kept = |call: &CallId| changes.iter().any(|(_, record)| record.call == *call);
    let lacking = calls.iter().filter(|call| {
        let is_write = writes.contains(&call.name.as_str()) && call.status == Status::Done;
        is_write && !is_kept(&call.call)
    });
    let path = |call: &ClosedCall| {
        let path = call.data.as_ref().and_then(|data| data["path"].as_str());
        path.unwrap_or(&call.name).to_owned()
    };
    let mut paths: Vec<_> = lacking.map(path).collect();
    paths.sort_unstable();
    paths.dedup();
    if paths.is_empty() {
        return Ok(());
    }
    Err(lost(&paths))
}

fn lost(paths: &[impl AsRef<str>]) -> Error {
    let why = locale::undo::files_not_kept(named(paths));
    refused(Code::FilesNotKept, why, paths)
}

fn refused(code: Code, why: String, paths: &[impl AsRef<str>]) -> Error {
    let paths = paths.iter().take(MAX_LISTED);
    let paths: Vec<Value> = paths.map(|path| path.as_ref().into()).collect();
    Error::new(code, why).with_details(json!({ "files": paths }))
}

fn incomplete(path: &str, why: &str, restored: &[RestoredFile]) -> Error {
    let why = locale::undo::incomplete(locale::quoted(path), why);
    let restored = restored.iter().take(MAX_LISTED);
    let restored: Vec<&str> = restored.map(|file| file.path.as_str()).collect();
    let details = json!({ "file": path, "restored": restored });
    Error::new(Code::UndoIncomplete, why).with_details(details)
}

/// The beginning of a list of files, for a sentence.
fn named(paths: &[impl AsRef<str>]) -> String {
    let more = if paths.len() > MAX_NAMED { ", …" } else { "" };
    let paths = paths.iter().take(MAX_NAMED);
    let paths: Vec<String> = paths
        .map(|path| locale::quoted(path.as_ref()).to_string())
        .collect();
    paths.join(", ") + more
}

fn internal(error: &dyn std::error::Error) -> Error {
    tracing::error!(%error, "changes of files cannot be taken back");
    Error::new(Code::Internal, locale::undo::unreadable(error))
}
