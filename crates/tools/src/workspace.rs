//! What a tool works with: the jail, the locks of the files, and the signal to stop.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_core::OutsideText;
use samovar_sandbox::{Jail, JailError, JailPath, WriteResult};

use crate::caller::Caller;
use crate::homes::HomeStore;
use crate::outputs::OutputStore;
use crate::recorder::Recorder;
use crate::refusal::Refusal;
use crate::seen::SeenFiles;
use crate::text::sha256;
use crate::undo::{Before, By, Record, State, UndoStore};

/// Locks for all files together. Two files that share one only wait for each other; more files than
/// this are seldom changed at the same moment.
const LOCKS: usize = 64;
/// Bytes that a file may be given.
pub(crate) const MAX_CONTENT_BYTES: u64 = 1024 * 1024;

/// The files that tools may see, and the locks under which they change them.
///
/// Calls of one workspace never lose each other's changes to a file, so a jail has one workspace.
pub struct Workspace {
    jail: Arc<Jail>,
    /// Where changes are kept so that they can be taken back.
    undo: Option<UndoStore>,
    /// Where outputs are that are too long for a result.
    outputs: Option<OutputStore>,
    seen: SeenFiles,
    /// The home folders of commands.
    homes: Option<HomeStore>,
    /// What records the files around commands.
    recorder: Option<Recorder>,
    /// Whether what its files say is text from outside.
    is_foreign: Box<dyn Fn() -> bool + Send + Sync>,
    locks: [Mutex<()>; LOCKS],
    hasher: RandomState,
}

impl Workspace {
    /// A workspace whose changes cannot be taken back.
    pub fn new(jail: Arc<Jail>) -> Self {
        Self {
            jail,
            undo: None,
            outputs: None,
            seen: SeenFiles::default(),
            homes: None,
            recorder: None,
            is_foreign: Box::new(|| false),
            locks: std::array::from_fn(|_| Mutex::new(())),
            hasher: RandomState::new(),
        }
    }

    /// The same with a store of changes, from which they can be taken back.
    #[must_use]
    pub fn with_undo(self, undo: UndoStore) -> Self {
        Self {
            undo: Some(undo),
            ..self
        }
    }

    /// The same with a folder for outputs that are too long for a result.
    #[must_use]
    pub fn with_outputs(self, outputs: OutputStore) -> Self {
        Self {
            outputs: Some(outputs),
            ..self
        }
    }

    /// The same, which keeps what sessions have seen of files.
    #[must_use]
    pub fn with_seen(self, seen: SeenFiles) -> Self {
        Self { seen, ..self }
    }

    /// What sessions have seen of files.
    pub(crate) fn seen(&self) -> &SeenFiles {
        &self.seen
    }

    /// The same with home folders for commands.
    #[must_use]
    pub fn with_homes(self, homes: HomeStore) -> Self {
        Self {
            homes: Some(homes),
            ..self
        }
    }

    /// The same with a recorder of what commands change; without a store of changes it does nothing.
    #[must_use]
    pub fn with_recorder(self, recorder: Recorder) -> Self {
        Self {
            recorder: Some(recorder),
            ..self
        }
    }

    /// The same with the question whether what its files say is text from outside, since no person
    /// trusts the folder (TL-10). It is asked before each call.
    #[must_use]
    pub fn with_foreign(self, is_foreign: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self {
            is_foreign: Box::new(is_foreign),
            ..self
        }
    }

    /// What the results of calls that show its files hold from outside.
    pub(crate) fn outside(&self) -> Option<OutsideText> {
        (self.is_foreign)().then_some(OutsideText::Plain)
    }

    /// What records the files around commands.
    pub fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    /// The home folders of commands.
    pub(crate) fn homes(&self) -> Option<&HomeStore> {
        self.homes.as_ref()
    }

    /// Outputs that are too long for a result.
    pub(crate) fn outputs(&self) -> Option<&OutputStore> {
        self.outputs.as_ref()
    }

    /// The store of changes.
    pub fn undo(&self) -> Option<&UndoStore> {
        self.undo.as_ref()
    }

    /// The jail.
    pub fn jail(&self) -> &Arc<Jail> {
        &self.jail
    }

    /// Gives the file at `place`, whose lock the caller holds and which holds `before`, `None` if there
    /// is none, this content, after what it held is kept. What others save meanwhile stays.
    pub(crate) fn change(
        &self,
        caller: &Caller,
        place: &JailPath,
        before: Option<&[u8]>,
        content: &[u8],
    ) -> Result<WriteResult, Refusal> {
        let kept = self.undo.as_ref().and_then(|undo| {
            let kept = self.keep(undo, caller, place, before, content);
            Some((undo, kept?))
        });
        let written = self.jail.replace(place, before, content, MAX_CONTENT_BYTES);
        if let (Err(_), Some((undo, id))) = (&written, kept) {
            // The last step of a write can fail when the file has its new content.
            let is_changed = self.read(place).is_ok_and(|now| now == content);
            if !is_changed && let Err(error) = undo.cancel(id) {
                tracing::warn!(%error, "a change that was not made is still kept");
            }
        }
        Ok(written?)
    }

    /// Keeps what a file holds before it is changed. A change that cannot be kept is made all the
    /// same: whoever takes it back is told.
    fn keep(
        &self,
        undo: &UndoStore,
        caller: &Caller,
        place: &JailPath,
        before: Option<&[u8]>,
        content: &[u8],
    ) -> Option<u64> {
        let (before, bytes, made) = match before {
            Some(bytes) if bytes.len() as u64 > undo.max_content() => (Before::Unkept, bytes, 0),
            Some(bytes) => (Before::Kept(sha256(bytes)), bytes, 0),
            None => {
                // What refuses this refuses the write, too.
                let made = self.jail.missing_folders(place).ok()?;
                (Before::Absent, &[][..], made)
            }
        };
        let record = Record {
            session: caller.session.clone(),
            turn: caller.turn.clone(),
            call: caller.call.clone(),
            path: place.to_string(),
            before,
            after: State::Holds(sha256(content)),
            made,
            by: By::Tool,
        };
        undo.keep(record, bytes).unwrap_or_else(|error| {
            tracing::warn!(%error, path = %place, "a change of a file cannot be taken back");
            None
        })
    }

    fn read(&self, place: &JailPath) -> Result<Vec<u8>, JailError> {
        self.jail.open_file(place)?.into_bytes(MAX_CONTENT_BYTES)
    }

    /// What a path that a model gave stands for.
    ///
    /// Control characters are refused, although the disk takes them: such a name looks like another
    /// one, or commands the terminal that it is shown on.
    pub(crate) fn place(&self, path: &str) -> Result<JailPath, Refusal> {
        if path.contains(char::is_control) {
            let why = format!("the path {path:?} has a control character; give one without");
            return Err(Refusal::of_arguments(why));
        }
        Ok(self.jail.place(path)?)
    }

    /// Waits until nobody else changes the file at `place`.
    ///
    /// Whoever changes a file holds this from before it reads what it changes until it has written,
    /// or a change by another session in between would be lost. A call holds one at most.
    pub(crate) fn lock(&self, place: &JailPath) -> MutexGuard<'_, ()> {
        let hash = self.hasher.hash_one(place.as_path());
        let index = usize::try_from(hash % LOCKS as u64).unwrap_or_default();
        // A call that panicked left nothing behind: a file is written whole or not at all.
        self.locks[index]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workspace {
    /// Waits until no call changes a file, and keeps all from doing so. The holder takes no other lock
    /// of a file.
    pub(crate) fn lock_all(&self) -> Vec<MutexGuard<'_, ()>> {
        let locks = self.locks.iter();
        locks
            .map(|lock| lock.lock().unwrap_or_else(PoisonError::into_inner))
            .collect()
    }
}
