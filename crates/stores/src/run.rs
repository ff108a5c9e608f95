//! How far this run of the server and the one before came: the file `run.json`.
//!
//! It is written before the stores are opened and again when they serve, so that a start that died
//! over them is known to the next. What it says has to survive the process, not the machine.

use std::io;
use std::sync::Arc;

use samovar_core::failpoint;
use serde::{Deserialize, Serialize};

use crate::data_dir::{DataDir, SmallFiles};
use crate::generation::{Due, Generation, Marks, Plan, Store};

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
    /// Whether the stores were put there by a person, as by a restore, and no run has served them
    /// yet.
    #[serde(default)]
    pub is_restored: bool,
    /// Whether the history could not be read at some time.
    #[serde(default)]
    pub is_history_suspicious: bool,
    /// The generation of its stores; `None` before there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) generation: Option<Generation>,
    /// What is under way with the journal.
    #[serde(default)]
    pub(crate) journal: Due,
    /// What is under way with the history.
    #[serde(default)]
    pub(crate) history: Due,
}

impl Run {
    /// What the last run left in a data directory that need not be held.
    pub fn of(dir: &DataDir) -> Self {
        let text = dir.files.read(NAME, MAX_BYTES).ok().flatten();
        let run = text.and_then(|text| serde_json::from_str(&text).ok());
        run.unwrap_or_default()
    }

    /// What it says of the stores.
    pub(crate) fn marks(&self) -> Marks {
        Marks {
            generation: self.generation.clone(),
            journal: self.journal,
            history: self.history,
            has_served: self.epoch > 0,
        }
    }

    /// Notes in the file of a run that continues that the history could not be read.
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
    /// Reads what the last run left.
    pub(crate) fn look(dir: &DataDir) -> Self {
        let last = Run::of(dir);
        Self {
            files: dir.files.clone(),
            now: last.clone(),
            last,
        }
    }

    /// Reads what the last run left, and notes that this one begins.
    pub(crate) fn begin(dir: &DataDir) -> Self {
        let mut run = Self::look(dir);
        let is_unclean = matches!(run.last.state, RunState::Ready | RunState::Closing);
        run.now.state = RunState::Starting;
        run.now.unclean = if is_unclean { run.last.unclean + 1 } else { 0 };
        run.write();
        run
    }

    /// Notes, durably and before any of it is done, how the stores are opened.
    ///
    /// # Errors
    /// What the system said; then nothing of it may be done.
    pub(crate) fn planned(&mut self, plan: &Plan) -> io::Result<()> {
        let planned = Run {
            generation: plan.generation.clone(),
            journal: plan.journal,
            history: plan.history,
            ..self.now.clone()
        };
        self.write_planned(planned)
    }

    /// Notes, durably, that a store is made again.
    ///
    /// # Errors
    /// What the system said; then it may not be made.
    pub(crate) fn makes(&mut self, store: Store) -> io::Result<()> {
        let mut planned = self.now.clone();
        match store {
            Store::Journal => planned.journal = Due::Make,
            Store::History => planned.history = Due::Make,
        }
        self.write_planned(planned)
    }

    /// Takes the generation of stores that belong together. Their history may lack what their journal
    /// has, so the next start projects that again.
    ///
    /// # Errors
    /// What the system said.
    pub(crate) fn adopt(&mut self, generation: Generation) -> io::Result<()> {
        let planned = Run {
            generation: Some(generation),
            is_restored: true,
            ..self.now.clone()
        };
        self.write_planned(planned)
    }

    fn write_planned(&mut self, planned: Run) -> io::Result<()> {
        if planned != self.now {
            let text = serde_json::to_vec(&planned)?;
            self.files.write_synced(NAME, &text)?;
            self.now = planned;
            failpoint!("stores.plan.after");
        }
        Ok(())
    }

    /// What this run says of the stores.
    pub(crate) fn marks(&self) -> Marks {
        self.now.marks()
    }

    /// Leaves the file as the run before left it: this start is refused, and nothing was changed.
    pub(crate) fn refused(&mut self) {
        self.now = self.last.clone();
        self.write();
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
        // Both have their generation on the disk.
        (self.now.journal, self.now.history) = (Due::Nothing, Due::Nothing);
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
