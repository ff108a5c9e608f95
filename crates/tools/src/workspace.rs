//! What a tool works with: the jail, the locks of the files, and the signal to stop.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_sandbox::{Jail, JailPath};

use crate::tool::Refusal;

/// Locks for all files together. Two files that share one only wait for each other; more files than
/// this are seldom changed at the same moment.
const LOCKS: usize = 64;

/// The files that tools may see, and the locks under which they change them.
pub(crate) struct Workspace {
    jail: Arc<Jail>,
    locks: [Mutex<()>; LOCKS],
    hasher: RandomState,
}

impl Workspace {
    pub(crate) fn new(jail: Arc<Jail>) -> Self {
        Self {
            jail,
            locks: std::array::from_fn(|_| Mutex::new(())),
            hasher: RandomState::new(),
        }
    }

    pub(crate) fn jail(&self) -> &Jail {
        &self.jail
    }

    /// What a path that a model gave stands for.
    ///
    /// Control characters are refused, although the disk takes them: such a name looks like another
    /// one, or commands the terminal that it is shown on.
    pub(crate) fn place(&self, path: &str) -> Result<JailPath, Refusal> {
        if path.contains(char::is_control) {
            let why = format!("the path {path:?} has a control character; give one without");
            return Err(why.into());
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

/// Whether a call that runs is still wanted; its thread cannot be ended from outside.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Ends a call that is no longer wanted; nobody reads the reason.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.is_set() {
            return Err("the call was stopped".into());
        }
        Ok(())
    }
}
