//! How far this run of the server and the one before came: the file `run.json`.
//!
//! It is written before the stores are opened and again when they serve, so that a start that died
//! over them is known to the next. What it says has to survive the process, not the machine.

use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::data_dir::{DataDir, SmallFiles};

const NAME: &str = "run.json";
const MAX_BYTES: u64 = 4096;

/// After so many runs in a row that were ended by something else than themselves, the stores are
/// looked at: a page that kills its reader may be met long after the start.
const MAX_UNCLEAN: u32 = 5;

/// How far a run came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// There was none.
    #[default]
    None,
    /// It was opening the stores.
    Starting,
    /// It served.
    Ready,
    /// It was writing everything out.
    Closing,
    /// It ended well.
    Closed,
}

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// How far it came.
    pub state: RunState,
    /// The greatest epoch that was ever begun here.
    #[serde(default)]
    pub epoch: u64,
    /// Runs in a row that did not end by themselves.
    #[serde(default)]
    pub unclean: u32,
    /// Whether a backup was restored and no run has served it yet.
    #[serde(default)]
    pub is_restored: bool,
    /// Whether the history could not be read at some time.
    #[serde(default)]
    pub is_history_suspicious: bool,
}

impl Run {
    /// What the last run left in a data directory that need not be held.
    pub fn of(dir: &DataDir) -> Self {
        let text = dir.files.read(NAME, MAX_BYTES).ok().flatten();
        let run = text.and_then(|text| serde_json::from_str(&text).ok());
        run.unwrap_or_default()
    }

    /// Notes in the file of a run that goes on that the history could not be read.
    ///
    /// # Errors
    /// What the system said.
    pub(crate) fn suspect_history(dir: &DataDir) -> io::Result<()> {
        let suspicious = Self {
            is_history_suspicious: true,
            ..Self::of(dir)
        };
        dir.files.write(NAME, &serde_json::to_vec(&suspicious)?)
    }

    /// Writes it, synced.
    ///
    /// # Errors
    /// What the system said.
    pub(crate) fn write_synced(&self, dir: &DataDir) -> io::Result<()> {
        dir.files.write_synced(NAME, &serde_json::to_vec(self)?)
    }
}

/// The file of the run that holds the data directory.
pub(crate) struct RunFile {
    files: Arc<dyn SmallFiles>,
    now: Run,
    /// What the run before left.
    pub(crate) last: Run,
}

impl RunFile {
    /// Reads what the last run left, and notes that this one begins.
    pub(crate) fn begin(dir: &DataDir) -> Self {
        let last = Run::of(dir);
        let is_unclean = matches!(last.state, RunState::Ready | RunState::Closing);
        let run = Self {
            files: dir.files.clone(),
            now: Run {
                state: RunState::Starting,
                unclean: if is_unclean { last.unclean + 1 } else { 0 },
                ..last.clone()
            },
            last,
        };
        run.write();
        run
    }

    /// Whether the stores are to be looked at before they are opened.
    pub(crate) fn is_suspicious(&self) -> bool {
        self.last.state == RunState::Starting || self.now.unclean >= MAX_UNCLEAN
    }

    /// The stores serve.
    pub(crate) fn ready(&mut self, epoch: u64) {
        if self.is_suspicious() {
            self.now.unclean = 0;
        }
        self.now.state = RunState::Ready;
        self.now.epoch = self.now.epoch.max(epoch);
        self.now.is_history_suspicious = false;
        self.now.is_restored = false;
        self.write();
    }

    /// Everything is about to be written out.
    pub(crate) fn closing(&mut self, is_history_suspicious: bool) {
        self.now.state = RunState::Closing;
        self.now.is_history_suspicious = is_history_suspicious;
        self.write();
    }

    /// Everything is written out.
    pub(crate) fn closed(&mut self, is_history_suspicious: bool) {
        self.now.state = RunState::Closed;
        self.now.unclean = 0;
        self.now.is_history_suspicious = is_history_suspicious;
        self.write();
    }

    fn write(&self) {
        let text = serde_json::to_vec(&self.now).map_err(io::Error::from);
        if let Err(error) = text.and_then(|text| self.files.write(NAME, &text)) {
            // A full disk, most likely; what was there before stays.
            tracing::warn!(%error, "the next start cannot know how far this one came");
        }
    }
}
