//! Taking back what turns changed in files: all of it or nothing, and as often as it is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use samovar_core::error::Code;
use samovar_core::file_changes::{ClosedCall, Restoration, RestoredFile, TakenBack};
use samovar_core::{CallId, Error, FileChanges, Future, SessionId, Status, TurnId, failpoint};
use samovar_locale as locale;
use samovar_sandbox::{JailError, JailPath, Kind};
use serde_json::{Value, json};

use crate::edit_file::EditFile;
use crate::exec::EXEC;
use crate::foresight::content;
use crate::text::sha256;
use crate::tool::{FileTool, on_thread};
use crate::undo::{Before, By, CommandCall, Record, Shape, State, TurnChanges, UndoStore};
use crate::workspace::Workspace;
use crate::write_file::WriteFile;

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
    if let (Some(turn), false) = (turns.first(), plans.is_empty()) {
        undo.begin(session, turn).map_err(|e| internal(&e))?;
    }
    let files = restore_all(workspace, undo, plans)?;
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
        let is_lost = one.before.state().is_some_and(|before| fits(&before)) && !is_done(one);
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

/// What an undo makes of a place for a moment, at which it can be cut.
fn between(before: &Before, after: &State) -> Vec<State> {
    let open = |mode: u32| {
        State::Is(Shape::Folder {
            mode: mode | OWNERS,
        })
    };
    let opened = |state: &State| match state {
        State::Is(Shape::Folder { mode }) => Some(open(*mode)),
        State::Is(_) | State::Holds(_) | State::Absent => None,
    };
    let before = before.state().unwrap_or(State::Absent);
    let is_in_place = match (&before, after) {
        (State::Absent, _) | (_, State::Absent) => true,
        (State::Is(Shape::Folder { .. }), after) => opened(after).is_some(),
        (State::Is(Shape::Link { .. }), _) => false,
        (_, State::Is(Shape::Folder { .. } | Shape::Link { .. })) => false,
        (State::Holds(_) | State::Is(_), State::Holds(_) | State::Is(_)) => true,
    };
    let gone = (!is_in_place).then_some(State::Absent);
    opened(&before)
        .into_iter()
        .chain(opened(after))
        .chain(gone)
        .collect()
}

/// Gives all files what they were: first goes what was not there, or is of another kind now.
fn restore_all(
    workspace: &Workspace,
    undo: &UndoStore,
    mut plans: Vec<Plan>,
) -> Result<Vec<RestoredFile>, Error> {
    let jail = workspace.jail();
    let mut files: Vec<RestoredFile> = Vec::new();
    let failed =
        |plan: &Plan, why: &str, files: &[RestoredFile]| incomplete(&plan.path, why, files);
    let folders = plans.iter().filter_map(|plan| Some((plan, plan.folder()?)));
    for (plan, mode) in folders.clone() {
        // What is in it can be changed until the end.
        if states(workspace, &plan.place).is_ok_and(|now| is_folder(&now)) {
            let opened = jail.put_folder(&plan.place, mode | OWNERS);
            opened.map_err(|error| failed(plan, &error.to_string(), &files))?;
        }
    }
    let folder_modes: Vec<(JailPath, u32)> = folders
        .map(|(plan, mode)| (plan.place.clone(), mode))
        .collect();
    plans.sort_by_key(|plan| {
        let is_removed = plan.before == Before::Absent;
        let (phase, depth) = match (is_removed, plan.folder()) {
            (true, _) => (0, usize::MAX - plan.depth()),
            (false, Some(_)) => (1, plan.depth()),
            (false, None) => (2, 0),
        };
        (phase, depth)
    });
    for plan in &plans {
        failpoint!("undo.file.before");
        let restored = restore(workspace, undo, plan);
        failpoint!("undo.file.after");
        match restored {
            Ok(_) if plan.is_of_folder() => {}
            Ok(restoration) => files.push(RestoredFile {
                path: plan.path.clone(),
                restoration,
            }),
            Err(why) => return Err(failed(plan, &why, &files)),
        }
    }
    for (place, mode) in folder_modes.iter().rev() {
        if mode & OWNERS != OWNERS
            && let Err(error) = jail.put_folder(place, *mode)
        {
            return Err(incomplete(&place.to_string(), &error.to_string(), &files));
        }
    }
    if !plans.is_empty()
        && let Err(error) = jail.sync()
    {
        tracing::warn!(%error, "files that were restored may be lost in a crash of the machine");
    }
    files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

/// Makes of a file what it was before; one that is so already stays as it is.
fn restore(workspace: &Workspace, undo: &UndoStore, plan: &Plan) -> Result<Restoration, String> {
    let _lock = workspace.lock(&plan.place);
    let now = states(workspace, &plan.place)?;
    // What it was stands between what it is and what it shall be, if that is of another kind.
    let is_cut = now.contains(&State::Absent);
    if !is_one_of(&now, &plan.expected) && !is_cut {
        return Err(locale::undo::just_changed().to_owned());
    }
    let jail = workspace.jail();
    let told = |error: JailError| error.to_string();
    let wanted = plan.before.state().unwrap_or(State::Absent);
    let done = if wanted == State::Absent {
        // A folder that is in use stays. Also where the file is gone its folders may be there.
        let is_gone = jail.clear(&plan.place).map_err(told)?;
        if is_gone && plan.made > 0 {
            jail.remove(&plan.place, plan.made).map_err(told)?;
        }
        Restoration::Removed
    } else {
        if !is_one_of(&now, std::slice::from_ref(&wanted)) {
            put(workspace, undo, plan, &now)?;
        }
        Restoration::Restored
    };
    if let (Some(recorder), Ok(now)) = (workspace.recorder(), states(workspace, &plan.place)) {
        let now = now.into_iter().next_back().unwrap_or(State::Absent);
        recorder.note_restored(&plan.path, now);
    }
    Ok(done)
}

/// Puts what was there in the place of what is there `now`.
fn put(workspace: &Workspace, undo: &UndoStore, plan: &Plan, now: &[State]) -> Result<(), String> {
    let jail = workspace.jail();
    let told = |error: JailError| error.to_string();
    let is_file =
        |state: &State| matches!(state, State::Is(Shape::File { .. } | Shape::Large { .. }));
    let make_room = || match jail.clear(&plan.place).map_err(told) {
        Ok(true) => Ok(()),
        Ok(false) => Err(locale::undo::folder_in_use().to_owned()),
        Err(why) => Err(why),
    };
    let content = content_before(workspace, undo, plan.first, &plan.before);
    let content = content.map_err(|error| error.to_string())?;
    let content = content.ok_or_else(|| locale::undo::damaged().to_owned())?;
    match &plan.before {
        Before::Recorded(Shape::Folder { mode }, _) => {
            if !is_folder(now) {
                make_room()?;
            }
            jail.put_folder(&plan.place, mode | OWNERS).map_err(told)
        }
        Before::Recorded(Shape::Link { target }, _) => {
            make_room()?;
            jail.put_link(&plan.place, target.as_ref()).map_err(told)
        }
        _ => {
            if !now.iter().any(is_file) {
                make_room()?;
            }
            jail.put_file(&plan.place, &content, plan.mode)
                .map_err(told)
        }
    }
}

/// What a file held before a change, and nothing for what holds nothing; `None` if it is lost.
fn content_before(
    workspace: &Workspace,
    undo: &UndoStore,
    id: u64,
    before: &Before,
) -> io::Result<Option<Vec<u8>>> {
    match before {
        Before::Kept(hash) => undo.content(id, hash),
        Before::Recorded(Shape::File { sha256: hash, .. }, Some(object)) => {
            let recorder = workspace.recorder();
            let content = recorder
                .map(|recorder| recorder.content(object))
                .transpose()?;
            Ok(content.flatten().filter(|content| sha256(content) == *hash))
        }
        Before::Recorded(Shape::Folder { .. } | Shape::Link { .. }, _) | Before::Absent => {
            Ok(Some(Vec::new()))
        }
        Before::Recorded(..) | Before::Follows(_) | Before::Unkept => Ok(None),
    }
}

fn is_folder(states: &[State]) -> bool {
    let is_folder = |state: &State| matches!(state, State::Is(Shape::Folder { .. }));
    states.iter().any(is_folder)
}

fn is_one_of(now: &[State], expected: &[State]) -> bool {
    now.iter()
        .any(|now| expected.iter().any(|one| one.fits(now)))
}

/// What a file is now; as a state says it with its content, and as one says it without.
fn states(workspace: &Workspace, place: &JailPath) -> Result<Vec<State>, String> {
    let jail = workspace.jail();
    let told = |error: JailError| error.to_string();
    let Some(facts) = jail.facts(place).map_err(told)? else {
        return Ok(vec![State::Absent]);
    };
    let mode = facts.mode;
    Ok(match facts.kind {
        Kind::Directory => vec![State::Is(Shape::Folder { mode })],
        Kind::Symlink => {
            let target = jail.link(place).map_err(told)?;
            vec![State::Is(Shape::Link { target })]
        }
        Kind::File => {
            let mut states = vec![State::Is(Shape::Large {
                bytes: facts.size,
                modified: facts.modified,
                inode: facts.inode,
                mode,
            })];
            // A larger one was never kept.
            if let Some(bytes) = content(workspace, place).ok().flatten() {
                let sha256 = sha256(&bytes);
                states.push(State::Is(Shape::File { sha256, mode }));
            }
            states
        }
        Kind::Other => Vec::new(),
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
