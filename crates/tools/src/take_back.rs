//! Taking back what turns changed in files: all of it or nothing, and as often as it is asked for.

mod restore;
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use samovar_core::error::Code;
use samovar_core::file_changes::{ClosedCall, RestoredFile, TakenBack};
use samovar_core::{CallId, Error, FileChanges, Future, Sender, SessionId, Status, TurnId};
use samovar_locale as locale;
use samovar_sandbox::JailPath;
use serde_json::{Value, json};

use crate::edit_file::EditFile;
use crate::exec::EXEC;
use crate::tool::{FileTool, on_thread};
use crate::undo::{Before, By, CommandCall, Record, Shape, State, TurnChanges, UndoStore};
use crate::workspace::Workspace;
use crate::write_file::WriteFile;

use restore::{between, restore_all};
use state::{content_before, is_one_of, states};

/// Files that an error names in its sentence, at most.
const MAX_NAMED: usize = 10;
/// Files that it names for programs, at most.
const MAX_LISTED: usize = 100;

/// What the owner of a folder needs to change what is in it.
const OWNERS: u32 = 0o700;

/// The changes of files in a workspace.
pub(crate) struct Changes(pub(crate) Arc<Workspace>);

/// What is to become of a file, a link or a folder.
struct Plan {
    place: JailPath,
    path: String,
    /// The change before which it is as it shall be.
    first: u64,
    before: Before,
    /// The permissions of a file, if they are known.
    mode: Option<u32>,
    /// The folders that were made for it.
    made: usize,
    /// What it may be now; everything else was made by others.
    expected: Vec<State>,
    last: u64,
}

impl Plan {
    fn depth(&self) -> usize {
        self.path.matches('/').count()
    }

    /// Whether a folder came or went; files are told, not their folders.
    fn is_of_folder(&self) -> bool {
        let was_made = || matches!(self.expected[..], [State::Is(Shape::Folder { .. }), ..]);
        self.folder().is_some() || (self.before == Before::Absent && was_made())
    }

    /// The permissions of the folder that it shall be.
    fn folder(&self) -> Option<u32> {
        match self.before {
            Before::Recorded(Shape::Folder { mode }, _) => Some(mode),
            _ => None,
        }
    }
}

/// Why a file cannot be taken back.
enum Obstacle {
    Changed,
    NotKept,
    /// Others may have had a part in the change.
    Shared,
}

impl Workspace {
    /// What was changed in it, to be taken back.
    pub fn changes(self: &Arc<Self>) -> Arc<dyn FileChanges> {
        Arc::new(Changes(self.clone()))
    }
}

impl FileChanges for Changes {
    fn take_back<'a>(
        &'a self,
        by: &'a Sender,
        session: &'a SessionId,
        turns: &'a [TurnId],
        calls: Vec<ClosedCall>,
    ) -> Future<'a, Result<TakenBack, Error>> {
        let (workspace, session, turns) = (self.0.clone(), session.clone(), turns.to_vec());
        let is_guests = by.is_guest();
        let work = move || take_back(&workspace, is_guests, &session, &turns, &calls);
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
            let mut forgotten = Vec::new();
            if turns.is_none() {
                forgotten.push(workspace.seen().forget(&session));
                forgotten.extend(workspace.outputs().map(|outputs| outputs.forget(&session)));
                forgotten.extend(workspace.homes().map(|homes| homes.forget(&session)));
            }
            let undo = workspace.undo();
            forgotten.extend(undo.map(|undo| undo.forget(&session, turns.as_deref())));
            if let (None, Some(undo), Some(recorder)) = (&turns, undo, workspace.recorder()) {
                forgotten.push(recorder.forget(undo));
            }
            forgotten.into_iter().collect::<io::Result<()>>()
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
    is_guests: bool,
    session: &SessionId,
    turns: &[TurnId],
    calls: &[ClosedCall],
) -> Result<TakenBack, Error> {
    let Some(undo) = workspace.undo() else {
        return nothing_kept(calls, &BTreeSet::new()).map(|()| TakenBack::default());
    };
    let recorder = workspace.recorder();
    if recorder.is_some_and(|recorder| !recorder.has_ended(session, turns)) {
        return Err(Error::new(Code::SessionBusy, locale::undo::command_runs()));
    }
    let changes = undo.changes(session, turns).map_err(|e| internal(&e))?;
    let plans = plan(workspace, undo, &changes, calls)?;
    let turn = turns.first().filter(|_| !plans.is_empty());
    let begin = || {
        let noted = turn.map_or(Ok(()), |turn| undo.begin(is_guests, session, turn));
        noted.map_err(|error| internal(&error))
    };
    let files = restore_all(workspace, undo, plans, begin)?;
    let is_whole = |command: &CommandCall| command.is_whole;
    let commands = changes.commands.iter().filter(|it| is_whole(it));
    let commands: BTreeSet<&CallId> = commands.map(|command| &command.call).collect();
    let tools = changes.records.iter().map(|(_, record)| record);
    let tools = tools.filter(|record| record.by == By::Tool);
    let tools = tools.map(|record| record.call.clone());
    // Of a command that only reads there is nothing to take back.
    let reads = calls.iter().filter(|call| {
        let data = call.data.as_ref();
        call.name == EXEC && data.is_some_and(|data| data["readOnly"] == true)
    });
    let reads = reads.map(|call| call.call.clone());
    Ok(TakenBack {
        files,
        calls: tools
            .chain(commands.into_iter().cloned())
            .chain(reads)
            .collect(),
    })
}

/// What is to become of each file, the one that was changed last first.
fn plan(
    workspace: &Workspace,
    undo: &UndoStore,
    changes: &TurnChanges,
    calls: &[ClosedCall],
) -> Result<Vec<Plan>, Error> {
    let of_tools = changes.records.iter().map(|(_, record)| &record.call);
    let of_commands = changes.commands.iter().map(|command| &command.call);
    nothing_kept(calls, &of_tools.chain(of_commands).collect())?;
    let mut of_file: BTreeMap<&str, Vec<&(u64, Record)>> = BTreeMap::new();
    for change in &changes.records {
        of_file.entry(&change.1.path).or_default().push(change);
    }
    let is_done = |record: &Record| {
        let mut calls = calls.iter();
        record.by != By::Tool
            || calls.any(|other| other.call == record.call && other.status == Status::Done)
    };
    let mut plans = Vec::new();
    let (mut foreign, mut not_kept, mut shared) = (Vec::new(), Vec::new(), Vec::new());
    for (path, changes) in of_file {
        match plan_file(workspace, undo, &changes, is_done) {
            Ok(plan) => plans.push(plan),
            Err(Obstacle::Changed) => foreign.push(path),
            Err(Obstacle::NotKept) => not_kept.push(path),
            Err(Obstacle::Shared) => shared.push(path),
        }
    }
    if !foreign.is_empty() {
        let why = locale::undo::files_changed(named(&foreign));
        return Err(refused(Code::FilesChanged, why, &foreign));
    }
    if !shared.is_empty() {
        let why = locale::undo::files_shared(named(&shared));
        return Err(refused(Code::FilesChanged, why, &shared));
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
    is_done: impl Fn(&Record) -> bool,
) -> Result<Plan, Obstacle> {
    let (Some((first, oldest)), Some((last, newest))) = (changes.first(), changes.last()) else {
        return Err(Obstacle::NotKept);
    };
    if changes.iter().any(|(_, record)| record.by == By::Many) {
        return Err(Obstacle::Shared);
    }
    // Between two changes of the turn the file stayed as it was, or the earlier one never happened.
    for pair in changes.windows(2) {
        let ((_, one), (_, next)) = (pair[0], pair[1]);
        let found = next.before.state();
        let fits = |other: &State| found.as_ref().is_some_and(|found| found.fits(other));
        // A kill between the record and the write has the call run again, which records it again.
        let is_again = one.by == By::Tool && one.call == next.call;
        let was_before = one.before.state().is_some_and(|before| fits(&before));
        let is_lost = was_before && (is_again || !is_done(one));
        if !fits(&one.after) && !is_lost {
            return Err(match next.before {
                Before::Unkept => Obstacle::NotKept,
                _ => Obstacle::Changed,
            });
        }
    }
    match &oldest.before {
        Before::Follows(_) | Before::Unkept => return Err(Obstacle::NotKept),
        before => {
            let content = content_before(workspace, undo, *first, before);
            content.ok().flatten().ok_or(Obstacle::NotKept)?;
        }
    }
    let mut expected = vec![newest.after.clone()];
    // An undo that was cut in the middle has restored it already.
    expected.extend(oldest.before.state());
    if !is_done(newest) {
        expected.extend(newest.before.state());
    }
    expected.extend(between(&oldest.before, &newest.after));
    let place = workspace.jail().place(&oldest.path);
    let place = place.map_err(|_| Obstacle::Changed)?;
    let now = states(workspace, &place).map_err(|_| Obstacle::Changed)?;
    if !is_one_of(&now, &expected) {
        return Err(Obstacle::Changed);
    }
    Ok(Plan {
        place,
        path: oldest.path.clone(),
        first: *first,
        before: oldest.before.clone(),
        mode: changes.iter().find_map(|(_, record)| record.before.mode()),
        made: oldest.made,
        expected,
        last: *last,
    })
}

/// Refuses when a call changed a file and nothing is kept of it.
fn nothing_kept(calls: &[ClosedCall], kept: &BTreeSet<&CallId>) -> Result<(), Error> {
    let writes = [WriteFile::NAME, EditFile::NAME];
    let mut paths = Vec::new();
    for call in calls.iter().filter(|call| !kept.contains(&call.call)) {
        let data = call.data.as_ref();
        if writes.contains(&call.name.as_str()) && call.status == Status::Done {
            let path = data.and_then(|data| data["path"].as_str());
            paths.push(path.unwrap_or(&call.name).to_owned());
        }
        if call.name == EXEC {
            let changed = data.and_then(|data| data["changed"].as_array());
            let changed = changed.into_iter().flatten();
            paths.extend(changed.filter_map(|it| Some(it["path"].as_str()?.to_owned())));
        }
    }
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

/// A file cannot be changed, and none was.
fn locked(path: &str, why: &str) -> Error {
    let why = locale::undo::files_locked(locale::quoted(path), why);
    refused(Code::FilesChanged, why, &[path])
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
