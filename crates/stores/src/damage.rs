//! What was found damaged: a report a finding, as a file that a person can read, in the folder
//! `damaged` of the data directory.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use samovar_core::{Damage, DamagedPart, Damages, SessionId};
use samovar_locale as locale;

use crate::data_dir::{DAMAGED, DataDir, make_folder};
use crate::run::Run;

/// Reports that are kept, at most; of more the oldest goes, one of a session last.
const MAX_REPORTS: usize = 64;

/// Bytes of a report, at most.
const MAX_BYTES: u64 = 64 * 1024;

/// The characters of a reason that are kept.
const MAX_REASON: usize = 2000;

/// The reports of a data directory that is held.
pub struct Reports {
    dir: DataDir,
    found: Mutex<Vec<Damage>>,
    /// Whether the history was found damaged by this run, for the next start.
    is_history_suspicious: AtomicBool,
}

/// What was found damaged in a data directory that need not be held, oldest first. Reports whose
/// folder or file a person has removed are left out.
pub fn damages(dir: &DataDir) -> Vec<Damage> {
    let folder = dir.path.join(DAMAGED);
    let (Ok(files), Ok(entries)) = (dir.files.of(&folder), std::fs::read_dir(&folder)) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_report = |name: &String| Path::new(name).extension() == Some("json".as_ref());
    let mut found: Vec<Damage> = names
        .filter(is_report)
        .filter_map(|name| serde_json::from_str(&files.read(&name, MAX_BYTES).ok()??).ok())
        .filter(|info: &Damage| is_there(&dir.path, info))
        .collect();
    found.sort_by(|one, other| (one.at, &one.id).cmp(&(other.at, &other.id)));
    found
}

fn is_there(data_dir: &Path, info: &Damage) -> bool {
    let kept = info.kept_in.as_ref();
    kept.is_none_or(|kept| data_dir.join(kept).exists())
}

impl Reports {
    /// Those that earlier runs left.
    pub fn open(dir: &DataDir) -> Self {
        Self {
            dir: dir.clone(),
            found: Mutex::new(damages(dir)),
            is_history_suspicious: AtomicBool::new(false),
        }
    }

    /// All of them, oldest first.
    pub fn list(&self) -> Vec<Damage> {
        self.found().clone()
    }

    /// Whether this run could not read the history.
    pub(crate) fn is_history_suspicious(&self) -> bool {
        self.is_history_suspicious.load(Ordering::Relaxed)
    }

    /// Tells that a store is set aside, or had to be; before it is moved, so that no crash leaves a
    /// loss that nobody was told of. Where nothing is moved every start meets the same again, and it is
    /// told once.
    pub(crate) fn store(&self, part: DamagedPart, why: &str, kept_in: Option<String>) {
        let is_same = |info: &Damage| {
            info.part == part && info.kept_in.is_none() && info.reason == shortened(why)
        };
        if kept_in.is_none() && self.found().iter().any(is_same) {
            return;
        }
        self.happened(part, why, kept_in);
    }

    /// Tells of a loss that no start meets again.
    pub(crate) fn happened(&self, part: DamagedPart, why: &str, kept_in: Option<String>) {
        let lost = match part {
            DamagedPart::Journal if kept_in.is_none() => locale::damage::journal_wiped(),
            DamagedPart::Journal => locale::damage::journal(),
            DamagedPart::History if kept_in.is_none() => locale::damage::history_cut(),
            DamagedPart::History => locale::damage::history(),
            DamagedPart::Session => locale::damage::session(),
        };
        self.add(part, None, why, (lost, kept_in));
    }

    /// Tells that a store was missing and begins empty.
    pub(crate) fn missing(&self, part: DamagedPart, why: &str, kept_in: Option<String>) {
        let lost = match part {
            DamagedPart::Journal => locale::damage::journal_missing(),
            DamagedPart::History => locale::damage::history_missing(),
            DamagedPart::Session => locale::damage::session(),
        };
        self.add(part, None, why, (lost, kept_in));
    }

    fn add(
        &self,
        part: DamagedPart,
        session: Option<&SessionId>,
        why: &str,
        (lost, kept_in): (&str, Option<String>),
    ) {
        let mut found = self.found();
        // One report a session.
        let is_its = |info: &Damage| info.session_id.as_ref() == session;
        if session.is_some() && found.iter().any(is_its) {
            return;
        }
        let at = self.dir.clock.now();
        let same = found.iter().filter(|info| info.at == at).count();
        let info = Damage {
            id: format!("{}-{same}", at.0),
            at,
            part,
            session_id: session.cloned(),
            reason: shortened(why),
            lost: lost.to_owned(),
            kept_in,
        };
        if let Err(error) = self.keep(&info) {
            tracing::error!(%error, "a report of damage cannot be kept");
        }
        tracing::error!(
            ?part,
            session = session.map(SessionId::as_str),
            why,
            "something is damaged"
        );
        found.push(info);
        while found.len() > MAX_REPORTS {
            // A session's report is what refuses the session, so those go last; the newest stays.
            let older = found.iter().take(found.len() - 1);
            let of_store = older.map(|info| &info.session_id).position(Option::is_none);
            let oldest = found.remove(of_store.unwrap_or(0));
            self.remove(&oldest);
        }
    }

    fn keep(&self, info: &Damage) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(info)?;
        text.push(b'\n');
        let files = self.dir.files.of(&make_folder(&self.dir.path, DAMAGED)?)?;
        files.write_synced(&format!("{}.json", info.id), &text)
    }

    fn remove(&self, info: &Damage) {
        let files = self.dir.files.of(&self.dir.path.join(DAMAGED));
        let removed = files.and_then(|files| files.remove(&format!("{}.json", info.id)));
        if let Err(error) = removed {
            tracing::warn!(%error, "a report of damage stays");
        }
    }

    fn found(&self) -> MutexGuard<'_, Vec<Damage>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each finding is written where it is met: there are few, and a report that waits could be lost.
impl Damages for Reports {
    fn session(&self, session: &SessionId, why: &str) {
        let lost = locale::damage::session();
        self.add(DamagedPart::Session, Some(session), why, (lost, None));
    }

    fn is_damaged(&self, session: &SessionId) -> bool {
        let found = self.found();
        found
            .iter()
            .any(|info| info.session_id.as_ref() == Some(session))
    }

    fn removed(&self, session: &SessionId) {
        let mut found = self.found();
        let is_its = |info: &Damage| info.session_id.as_ref() == Some(session);
        for info in found.extract_if(.., |info| is_its(info)) {
            self.remove(&info);
        }
    }

    fn history(&self, why: &str) {
        if self.is_history_suspicious.swap(true, Ordering::Relaxed) {
            return;
        }
        tracing::error!(why, "the history is checked at the next start");
        // At once: this run may not come to its end.
        if let Err(error) = Run::suspect_history(&self.dir) {
            tracing::warn!(%error, "only a good end lets the next start know");
        }
    }
}

fn shortened(why: &str) -> String {
    why.chars().take(MAX_REASON).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_dir::tests::data_dir;
    use crate::run::RunFile;

    fn reasons(reports: &Reports) -> Vec<String> {
        let found = reports.list().into_iter();
        found.map(|info| info.reason).collect()
    }

    // proves DU-13
    #[test]
    fn what_every_start_meets_again_is_told_once_and_pushes_nothing_out() {
        let dir = tempfile::tempdir().unwrap();
        let session = SessionId::new("s").unwrap();
        Reports::open(&data_dir(&dir)).session(&session, "a row");
        for _ in 0..MAX_REPORTS {
            let reports = Reports::open(&data_dir(&dir));
            reports.store(DamagedPart::Session, "log 7", None);
            reports.store(DamagedPart::Journal, "log 7", None);
        }
        let reports = Reports::open(&data_dir(&dir));
        assert_eq!(reasons(&reports), ["a row", "log 7", "log 7"]);
        assert!(reports.is_damaged(&session));
        reports.store(DamagedPart::Session, "log 8", None);
        assert_eq!(reasons(&reports).len(), 4);
        for number in 0..2 * MAX_REPORTS {
            reports.store(DamagedPart::History, &format!("page {number}"), None);
        }
        let reports = Reports::open(&data_dir(&dir));
        assert_eq!(reasons(&reports).len(), MAX_REPORTS);
        assert!(reports.is_damaged(&session), "who is refused stays refused");
    }

    // proves DU-13
    #[test]
    fn a_loss_that_comes_again_is_told_again_and_the_newest_report_stays() {
        let dir = tempfile::tempdir().unwrap();
        let reports = Reports::open(&data_dir(&dir));
        reports.happened(DamagedPart::Journal, "wiped", None);
        reports.happened(DamagedPart::Journal, "wiped", None);
        assert_eq!(reasons(&Reports::open(&data_dir(&dir))), ["wiped", "wiped"]);
        for number in 0..MAX_REPORTS {
            let session = SessionId::new(&format!("s{number}")).unwrap();
            reports.session(&session, "a row");
        }
        let kept_in = Some("damaged/history".to_owned());
        reports.store(DamagedPart::History, "a page", kept_in);
        let told = reasons(&reports);
        assert_eq!(told.len(), MAX_REPORTS);
        assert_eq!(told.last().map(String::as_str), Some("a page"));
    }

    // proves DU-13
    #[test]
    fn a_history_that_cannot_be_read_is_known_to_the_next_start_also_when_this_run_is_killed() {
        let dir = tempfile::tempdir().unwrap();
        let begin = || RunFile::begin(&data_dir(&dir));
        let mut run = begin();
        run.ready(7);
        Reports::open(&data_dir(&dir)).history("page 7");
        assert!(begin().last.is_history_suspicious);
        assert_eq!(begin().last.epoch, 7);
    }
}
