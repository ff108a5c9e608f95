//! What the folder that agents work in tells them: read when a turn begins or resumes, never stored.

use std::fmt;
use std::sync::Arc;

/// A file of the folder that tells agents how to work there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderFile {
    /// Its name, such as `AGENTS.md`.
    pub name: String,
    /// Its text, or the beginning of it.
    pub text: String,
    /// How many bytes of it were left out at the end.
    pub left_out: u64,
    /// Whether the person does not trust this text: then it is text from outside (TL-10).
    pub is_foreign: bool,
}

/// Reads that file, if there is one. It may block for a moment.
type ReadFile = dyn Fn() -> Option<FolderFile> + Send + Sync;

/// The folder that agents work in; by default one that tells them nothing.
#[derive(Clone, Default)]
pub struct Folder(Option<Arc<ReadFile>>);

impl Folder {
    /// A folder whose file this function reads.
    pub fn new(read: impl Fn() -> Option<FolderFile> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(read)))
    }

    /// What it says now. May block for a moment.
    pub(crate) fn read(&self) -> Option<FolderFile> {
        self.0.as_ref()?()
    }

    /// Whether it never says anything.
    pub(crate) fn is_silent(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Folder(tells: {})", self.0.is_some())
    }
}
