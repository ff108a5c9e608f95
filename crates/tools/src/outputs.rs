//! Outputs that are too long for a result: each a file of the data directory, which `read_file` reads
//! under a name of its own.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use samovar_core::{CallId, SessionId};
use samovar_sandbox::{Jail, OpenFile, Protected};

use crate::refusal::Refusal;
use crate::text::sha256;

/// What a name begins with. No path of a workspace is taken for one, because the rest of it is no path.
pub(crate) const PREFIX: &str = "output:";
/// Files that are kept; the oldest go first.
const MAX_FILES: usize = 100;
/// Bytes of one.
pub(crate) const MAX_OUTPUT_BYTES: u64 = 16 * 1024 * 1024;

/// The folder of outputs.
#[derive(Debug)]
pub struct OutputStore {
    dir: PathBuf,
    jail: Jail,
}

/// An output that is being written.
pub(crate) struct Output {
    /// What `read_file` reads it by.
    pub(crate) name: String,
    pub(crate) file: File,
}

impl OutputStore {
    /// The outputs in a folder, which is made if it is missing.
    ///
    /// # Errors
    /// It cannot be made or opened.
    pub fn open(dir: PathBuf) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        let jail = Jail::open(&dir, &Protected::default());
        let jail = jail.map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self { dir, jail })
    }

    /// A new output of a call. The oldest ones make room.
    pub(crate) fn create(&self, session: &SessionId, call: &CallId) -> io::Result<Output> {
        self.sweep()?;
        let name = of_session(session) + &shortened(call.as_str());
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(self.dir.join(&name))?;
        let name = format!("{PREFIX}{name}");
        Ok(Output { name, file })
    }

    fn sweep(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let modified = entry.metadata().and_then(|found| found.modified());
            files.push((modified.unwrap_or(SystemTime::UNIX_EPOCH), entry.path()));
        }
        files.sort_unstable();
        let over = (files.len() + 1).saturating_sub(MAX_FILES);
        files[..over].iter().try_for_each(|(_, file)| remove(file))
    }

    /// Removes those of a session.
    pub(crate) fn forget(&self, session: &SessionId) -> io::Result<()> {
        let start = of_session(session);
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(&start) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Opens one by its name.
    pub(crate) fn read(&self, name: &str) -> Result<OpenFile, Refusal> {
        let gone =
            || format!("there is no output {name:?} any more; only the last {MAX_FILES} are kept");
        let file = name.strip_prefix(PREFIX).unwrap_or(name);
        let place = self.jail.place(file).map_err(|_| gone())?;
        Ok(self.jail.open_file(&place).map_err(|_| gone())?)
    }
}

/// Removes a file, unless another has done so.
fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// What the names of a session's outputs begin with.
fn of_session(session: &SessionId) -> String {
    shortened(session.as_str())
}

/// An id may come from elsewhere, and have what a file's name must not.
fn shortened(id: &str) -> String {
    let mut name = sha256(id.as_bytes());
    name.truncate(16);
    name
}
