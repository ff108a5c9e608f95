//! Stores that should be there and are not: how that is found out before anything is opened, and what
//! a person lets be done about it (DU-13).

use std::io;
use std::path::Path;

use samovar_core::{Broken, DamagedPart};

use crate::backup;
use crate::damage::Reports;
use crate::data_dir::{DataDir, HISTORY, JOURNAL, free_folder, move_all};
use crate::disk::{Disk, blocking};
use crate::error::OpenError;
use crate::generation::{Found, Missing, Stamp, Store, judge, shared};
use crate::history::SqliteHistory;
use crate::journal::LmdbJournal;
use crate::run::{Run, RunFile, RunState};
use crate::walker::Walker;

/// Bytes of a journal whose pages are looked at at every start; the pages of a larger one only after
/// a start that died, for a start must not take longer the more is kept.
const LOOKED_AT_BYTES: u64 = 32 << 20;

/// Looks for the stores of a data directory that the caller holds; nothing is changed. The answer is
/// the first that should be there and is not; none while a restore waits, which the next start
/// finishes first.
///
/// # Errors
/// [`OpenError`] when it cannot be found out.
pub async fn missing(dir: &DataDir) -> Result<Option<OpenError>, OpenError> {
    if backup::is_waiting(dir) {
        return Ok(None);
    }
    let run = Run::of(dir);
    let (journal, history) = survey(dir, &run, run.state == RunState::Starting, None).await?;
    let verdict = judge(&run.marks(), &journal, &history);
    let dir = dir.path.clone();
    Ok(verdict
        .err()
        .map(|missing| OpenError::Missing { dir, missing }))
}

/// What [`mend`] did about a missing store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mended {
    /// The store, and what was found in its place. `None` when both stores were taken as they are,
    /// because they belong together.
    pub missing: Option<Missing>,
    /// Where what was left of it is now, below the data directory; `None` when nothing was.
    pub kept_in: Option<String>,
}

/// Prepares a data directory that the caller holds, and whose start is refused, for a start with an
/// empty store where one is missing. What is left of that store is set aside. A restore that was cut
/// off is finished first.
///
/// # Errors
/// [`OpenError`]; the next try continues.
pub async fn mend(dir: &DataDir, reports: &Reports) -> Result<Vec<Mended>, OpenError> {
    backup::finish(dir)?;
    let mut run = RunFile::look(dir);
    let cut = |source| OpenError::Mending {
        dir: dir.path.clone(),
        source,
    };
    let mut mended = Vec::new();
    let is_suspicious = run.last.state == RunState::Starting;
    loop {
        let (journal, history) = survey(dir, &run.last, is_suspicious, None).await?;
        let Err(missing) = judge(&run.marks(), &journal, &history) else {
            return Ok(mended);
        };
        if let Some(generation) = shared(&journal, &history) {
            run.adopt(generation).map_err(cut)?;
            mended.push(Mended {
                missing: None,
                kept_in: None,
            });
            continue;
        }
        // Moved first: a store that was refused would be served if it were noted as to be made.
        let moved = set_missing_aside(dir, reports, run.last.epoch, missing);
        let noted = moved.and_then(|kept_in| run.makes(missing.store).map(|()| kept_in));
        mended.push(Mended {
            missing: Some(missing),
            kept_in: noted.map_err(cut)?,
        });
    }
}

/// Moves what is left of a missing store to a folder of its own, and says so first.
fn set_missing_aside(
    dir: &DataDir,
    reports: &Reports,
    epoch: u64,
    missing: Missing,
) -> io::Result<Option<String>> {
    let report = |part, kept_in| reports.missing(part, &missing.found(), kept_in);
    set_aside(&dir.path, epoch, missing.store, report)
}

/// Moves what there is of a store to a folder of its own, after that was reported. Answers where it is
/// now, below the data directory; `None` when there was nothing.
pub(crate) fn set_aside(
    dir: &Path,
    epoch: u64,
    store: Store,
    report: impl FnOnce(DamagedPart, Option<String>),
) -> io::Result<Option<String>> {
    let (part, names): (_, &[&str]) = match store {
        Store::Journal => (DamagedPart::Journal, &JOURNAL),
        Store::History => (DamagedPart::History, &HISTORY),
    };
    if !names.iter().any(|name| dir.join(name).exists()) {
        report(part, None);
        return Ok(None);
    }
    let folder = free_folder(dir, part.as_str(), epoch)?;
    report(part, Some(folder.clone()));
    move_all(dir, &dir.join(&folder), names)?;
    Ok(Some(folder))
}

/// What is found where the two stores should be. The journal's pages are looked at before anything
/// reads them.
pub(crate) async fn survey(
    dir: &DataDir,
    last: &Run,
    is_suspicious: bool,
    walker: Option<&Walker>,
) -> Result<(Found, Found), OpenError> {
    let journal = find_journal(dir, is_suspicious, walker).await;
    let journal = journal.map_err(|source| unusable(dir, Store::Journal, source))?;
    let history = SqliteHistory::find(&dir.path.join(HISTORY[0])).await;
    let mut history = history.map_err(|source| unusable(dir, Store::History, source))?;
    let is_cut = last.state == RunState::Ready && !dir.path.join(HISTORY[1]).exists();
    if is_cut && history.stamp() == Some(&Stamp::Lacking) {
        history = Found::Cut;
    }
    Ok((journal, history))
}

/// Says that a store cannot be used.
pub(crate) fn unusable(dir: &DataDir, store: Store, source: Broken) -> OpenError {
    let dir = dir.path.clone();
    match store {
        Store::Journal => OpenError::Journal { dir, source },
        Store::History => OpenError::History { dir, source },
    }
}

async fn find_journal(
    dir: &DataDir,
    is_suspicious: bool,
    walker: Option<&Walker>,
) -> Result<Found, Broken> {
    let max_bytes = if is_suspicious {
        u64::MAX
    } else {
        LOOKED_AT_BYTES
    };
    let path = dir.path.clone();
    let checked = blocking(move || LmdbJournal::check(&path, max_bytes)).await;
    let looked = match (checked, walker) {
        (Ok(()), Some(walker)) if is_suspicious => walker.walk(&dir.path).await,
        (checked, _) => checked,
    };
    match looked {
        Err(Broken::Damaged(why)) => return Ok(Found::Damaged(why)),
        looked => looked?,
    }
    let path = dir.path.clone();
    blocking(move || match LmdbJournal::find(&path) {
        Err(Broken::Full(_)) => {
            Disk::drop_ballast(&path);
            LmdbJournal::find(&path)
        }
        found => found,
    })
    .await
}

#[cfg(test)]
mod tests;
