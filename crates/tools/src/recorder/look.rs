//! A look at the folder: what it is now, and who changed what since the last one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{MutexGuard, PoisonError};

use samovar_sandbox::{Facts, HeldFolder, Jail, JailPath, Kind, Survival};

use super::index::{Entry, Header, Index, Sort, latest};
use super::moved::MovedIn;
use super::objects::Objects;
use super::running::{Change, is_alike, shape};
use super::scan::{EarlierRules, RULES, Scan, Why, scan};
use super::{FOLDER, Gaps, Known, Recorder, Uncovered, needed, note};
use crate::ignores;
use crate::undo::{Record, State, UndoStore};
use crate::workspace::Workspace;

/// A file that differs.
struct Difference {
    path: String,
    before: Option<Entry>,
    after: Option<Entry>,
    /// Whether what it is now is not known.
    is_lost: bool,
}

impl Difference {
    /// The moment after which it was not changed; `None` if that is not known.
    fn latest(&self, jail: &Jail) -> Option<i64> {
        if let Some(after) = &self.after {
            return Some(latest(&after.facts));
        }
        // The folder of one that is gone tells, if that is asked now: an entry of a folder that is as
        // it was has the times of an earlier look.
        for (end, _) in self.path.rmatch_indices('/') {
            let place = jail.place(&self.path[..end]).ok()?;
            if let Ok(Some(facts)) = jail.facts(&place) {
                return Some(latest(&facts));
            }
        }
        let root = jail.hold(&JailPath::root()).ok()?;
        Some(latest(&root.facts().ok()?))
    }
}

/// What is made of a scan.
struct Sight {
    entries: HashMap<String, Entry>,
    differences: Vec<Difference>,
    gaps: Gaps,
    /// Whether the index differs, also where no reader would see it.
    is_new: bool,
    stored: u64,
}

impl Recorder {
    /// Looks at the folder, and gives what differs to the commands that run. What is not covered is
    /// answered.
    pub(super) fn look(&self, workspace: &Workspace, known: &mut Known) -> Result<Gaps, Uncovered> {
        let folder = self
            .data_dir
            .folder(FOLDER)
            .map_err(|e| Uncovered::io(&e))?;
        // No file tool is between its record and its write meanwhile.
        let _locks = workspace.lock_all();
        let at = folder.now().map_err(|e| Uncovered::io(&e))?;
        let scan = scan(workspace.jail(), &self.bounds)?;
        let old = known.index.take().unwrap_or_default();
        let taken = self.take_over(workspace, known, &old, (at, scan));
        match taken {
            Ok((index, gaps)) => {
                known.index = Some(index);
                known.is_blurred = false;
                self.restored().clear();
                Ok(gaps)
            }
            Err(why) => {
                // A full disk is not left fuller.
                if let (Uncovered::Failed(_), Some(undo)) = (&why, workspace.undo()) {
                    let objects = needed(undo, &old, &known.running);
                    let swept = objects.and_then(|needed| self.objects()?.sweep(&needed));
                    let _tried_again_later = swept.is_ok();
                }
                known.index = Some(old).filter(|old| !old.header.is_none());
                Err(why)
            }
        }
    }

    /// Makes the index of what a walk found, that began at a moment.
    fn take_over(
        &self,
        workspace: &Workspace,
        known: &mut Known,
        old: &Index,
        (at, scan): (i64, Scan),
    ) -> Result<(Index, Gaps), Uncovered> {
        let folder = self
            .data_dir
            .folder(FOLDER)
            .map_err(|e| Uncovered::io(&e))?;
        let sight = self.sight(workspace.jail(), old, scan)?;
        if old.header.is_none() {
            // Everything looks new.
            for command in &mut known.running {
                command.is_recorded = false;
            }
        } else if !known.running.is_empty() {
            let attributed = self.attribute(workspace, known, old, &sight);
            attributed.map_err(|e| Uncovered::io(&e))?;
        }
        let mark = workspace.undo().map(UndoStore::mark).transpose();
        known.mark = mark.map_err(|e| Uncovered::io(&e))?.unwrap_or_default();
        let folders = sight.gaps.iter().filter(|(why, _)| why.is_folder());
        let gaps: Vec<String> = folders.map(|(_, path)| path.clone()).collect();
        let is_new = sight.is_new || old.header.is_none() || gaps != old.header.gaps;
        let header = Header {
            root: workspace.jail().identity().map_err(|e| Uncovered::io(&e))?,
            at,
            stored: old.header.stored + sight.stored,
            gaps,
            ..Header::default()
        };
        let mut index = Index {
            header,
            entries: sight.entries,
        };
        if is_new {
            // What was found out of commands that run is kept while it can still be found.
            let noted = if known.running.is_empty() {
                Ok(())
            } else {
                note(known, &folder, Survival::Writer)
            };
            let saved = noted.and_then(|()| index.save(&folder));
            // Once for all that was written.
            let synced = saved.and_then(|()| match sight.stored {
                0 => Ok(()),
                _ => folder.sync_all(),
            });
            synced.map_err(|e| Uncovered::io(&e))?;
        }
        Ok((index, sight.gaps))
    }

    fn sight(&self, jail: &Jail, old: &Index, scan: Scan) -> Result<Sight, Uncovered> {
        let mut sight = Sight {
            entries: HashMap::with_capacity(scan.seen.len()),
            differences: Vec::new(),
            gaps: scan.gaps,
            is_new: false,
            stored: 0,
        };
        let mut fresh = Vec::new();
        let mut met = 0;
        for (path, facts) in scan.seen {
            let known = old.entries.get(&path);
            met += usize::from(known.is_some());
            match known.filter(|known| known.is_still(&facts, old.header.at)) {
                Some(known) => drop(sight.entries.insert(path, known.clone())),
                None => fresh.push((path, facts)),
            }
        }
        if met < old.entries.len() {
            fresh.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
            let left = |path: &&String| {
                !sight.entries.contains_key(*path)
                    && fresh.binary_search_by(|(one, _)| one.cmp(path)).is_err()
            };
            let missing: Vec<String> = old.entries.keys().filter(left).cloned().collect();
            Self::look_for(jail, old, missing, &mut sight, &mut fresh);
        }
        if sight.entries.len() + fresh.len() > self.bounds.files {
            return Err(Uncovered::Files(self.bounds.files));
        }
        self.take_in(jail, old, fresh, &mut sight)?;
        Ok(sight)
    }

    /// Looks for what the walk did not meet: it is gone, or is ignored by now, which does not make it
    /// another file.
    fn look_for(
        jail: &Jail,
        old: &Index,
        missing: Vec<String>,
        sight: &mut Sight,
        fresh: &mut Vec<(String, Facts)>,
    ) {
        for path in missing {
            let known = old.entries.get(&path);
            let facts = jail.place(&path).and_then(|place| jail.facts(&place));
            match (facts, known) {
                (Ok(Some(facts)), Some(known)) if known.is_still(&facts, old.header.at) => {
                    sight.entries.insert(path, known.clone());
                }
                (Ok(Some(facts)), _) if facts.kind != Kind::Other => fresh.push((path, facts)),
                (Ok(_), _) => sight.differs(path, known.cloned(), None, false),
                // The folder above it cannot be read any more.
                (Err(_), _) => sight.differs(path, known.cloned(), None, true),
            }
        }
    }

    /// Reads what is new.
    fn take_in(
        &self,
        jail: &Jail,
        old: &Index,
        fresh: Vec<(String, Facts)>,
        sight: &mut Sight,
    ) -> Result<(), Uncovered> {
        if fresh.is_empty() {
            return Ok(());
        }
        let mut objects = self.objects().map_err(|e| Uncovered::io(&e))?;
        let mut above: Option<(String, HeldFolder<'_>)> = None;
        for (path, facts) in fresh {
            let known = old.entries.get(&path).cloned();
            let folder = path.rfind('/').map_or("", |at| &path[..at]);
            let name = OsStr::new(&path[folder.len()..]);
            let name = Path::new(name).file_name().unwrap_or(name);
            if above.as_ref().is_none_or(|(held, _)| held != folder) {
                let place = jail.place(folder).and_then(|place| jail.hold(&place));
                above = place.ok().map(|held| (folder.to_owned(), held));
            }
            let read = above
                .as_ref()
                .map(|(_, held)| read(held, name, facts, self.bounds.file_bytes, &mut objects));
            match read {
                Some(Ok((entry, stored))) => {
                    sight.stored += stored;
                    if !is_alike(known.as_ref(), Some(&entry)) {
                        sight.differs(path.clone(), known, Some(entry.clone()), false);
                    }
                    sight.is_new = true;
                    sight.entries.insert(path, entry);
                }
                Some(Err(Failure::Store(error))) => return Err(Uncovered::io(&error)),
                // It is gone by now, or cannot be read.
                Some(Err(Failure::File(error))) if error.kind() == std::io::ErrorKind::NotFound => {
                    sight.differs(path, known, None, false);
                }
                Some(Err(Failure::File(_))) | None => {
                    sight.gaps.push((Why::Unreadable, path.clone()));
                    sight.differs(path, known, None, true);
                }
            }
        }
        Ok(())
    }

    /// Gives each difference to the commands that ran.
    fn attribute(
        &self,
        workspace: &Workspace,
        known: &mut Known,
        old: &Index,
        sight: &Sight,
    ) -> std::io::Result<()> {
        let of_tools = match workspace.undo() {
            Some(undo) => undo.since(known.mark)?,
            None => BTreeMap::new(),
        };
        let restored = self.restored().clone();
        let objects = self.objects()?;
        let hidden = Self::hidden_before(old, sight, &objects)?;
        let moved = MovedIn::after(old);
        let is_alone = known.running.len() == 1 && !known.is_blurred;
        // Other rules may hide what else a command made, also where some that showed it are gone.
        let covers_all = super::covers_all(&sight.gaps) && !sight.has_other_rules();
        for difference in &sight.differences {
            let path = &difference.path;
            // What it was before is not known: it is no change, and no undo removes it.
            if difference.before.is_none()
                && (hidden.has(difference)
                    || moved.has(workspace.jail(), path, difference.after.as_ref()))
            {
                continue;
            }
            let is_late = known.lived_until.is_some_and(|until| {
                let latest = difference.latest(workspace.jail());
                latest.is_none_or(|latest| latest > until)
            });
            let mut by_many = !is_alone || difference.is_lost || is_late;
            let others = of_tools.get(path).map_or(&[][..], Vec::as_slice);
            let undone = restored.iter().rev().find(|(restored, _)| restored == path);
            if !others.is_empty() || undone.is_some() {
                let before = state(difference.before.as_ref(), &objects, self.bounds.file_bytes)?;
                let after = state(difference.after.as_ref(), &objects, self.bounds.file_bytes)?;
                let undone = undone.map(|(_, state)| state);
                if explains(others, undone, before.as_ref(), after.as_ref()) {
                    continue;
                }
                by_many = true;
            }
            for command in &mut known.running {
                let change = Change {
                    before: difference.before.clone(),
                    after: difference.after.clone(),
                    by_many,
                };
                command.add(path, change);
            }
        }
        for command in &mut known.running {
            command.is_whole &= covers_all;
            for gap in &old.header.gaps {
                // A folder that was not covered is gone, and cannot be brought back.
                if !sight.has(gap) && is_gone(workspace.jail(), gap) {
                    let change = Change {
                        before: None,
                        after: None,
                        by_many: true,
                    };
                    command.add(gap, change);
                }
            }
        }
        Ok(())
    }

    /// What was there and not covered, as far as it decides about new files: the rules above them.
    fn hidden_before(old: &Index, sight: &Sight, objects: &Objects) -> std::io::Result<Hidden> {
        let mut rules = EarlierRules(HashMap::new());
        if sight.has_other_rules() {
            let new = sight.differences.iter().filter(|it| it.before.is_none());
            let folders = new.flat_map(|it| {
                let ends = it.path.match_indices('/').map(|(at, _)| at);
                ends.chain([0]).map(|end| &it.path[..end])
            });
            for folder in folders.collect::<HashSet<&str>>() {
                let above = if folder.is_empty() { "" } else { "/" };
                let entry = old.entries.get(&format!("{folder}{above}{RULES}"));
                let Some(hash) = entry.and_then(|entry| entry.hash) else {
                    continue;
                };
                let content = objects.read(&hash, ignores::MAX_FILE_BYTES)?;
                let parsed = ignores::parse(&content.unwrap_or_default());
                rules.0.insert(folder.to_owned(), parsed);
            }
        }
        let gaps = old.header.gaps.iter().cloned().collect();
        Ok(Hidden { rules, gaps })
    }

    fn restored(&self) -> MutexGuard<'_, Vec<(String, State)>> {
        self.restored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sight {
    fn differs(
        &mut self,
        path: String,
        before: Option<Entry>,
        after: Option<Entry>,
        is_lost: bool,
    ) {
        self.is_new = true;
        self.differences.push(Difference {
            path,
            before,
            after,
            is_lost,
        });
    }

    /// Whether rules of what is ignored differ.
    fn has_other_rules(&self) -> bool {
        self.differences.iter().any(|it| is_rules(&it.path))
    }

    fn has(&self, path: &str) -> bool {
        self.entries.contains_key(path) || self.gaps.iter().any(|(_, gap)| gap == path)
    }
}

fn is_rules(path: &str) -> bool {
    path == RULES || path.ends_with("/.gitignore")
}

/// What of a folder was not covered the last time.
struct Hidden {
    rules: EarlierRules,
    gaps: HashSet<String>,
}

impl Hidden {
    fn has(&self, difference: &Difference) -> bool {
        let path = &difference.path;
        let is_folder = difference
            .after
            .as_ref()
            .is_some_and(|it| it.sort == Sort::Folder);
        let mut ends = path
            .match_indices('/')
            .map(|(at, _)| at)
            .chain([path.len()]);
        let is_below_gap =
            !self.gaps.is_empty() && ends.any(|end| self.gaps.contains(&path[..end]));
        is_below_gap || self.rules.ignore(path, is_folder)
    }
}

/// Why an entry is not read.
enum Failure {
    File(std::io::Error),
    Store(std::io::Error),
}

/// What an entry is, and the bytes that it took to keep it.
fn read(
    folder: &HeldFolder<'_>,
    name: &OsStr,
    facts: Facts,
    max_bytes: u64,
    objects: &mut Objects,
) -> Result<(Entry, u64), Failure> {
    let whole = |sort, facts| Entry {
        sort,
        facts,
        hash: None,
    };
    match facts.kind {
        Kind::Directory => Ok((whole(Sort::Folder, facts), 0)),
        Kind::File if facts.size > max_bytes => Ok((whole(Sort::Large, facts), 0)),
        Kind::File => {
            let (facts, content) = folder.read(name, max_bytes).map_err(Failure::File)?;
            let (hash, stored) = objects.keep(&content).map_err(Failure::Store)?;
            let entry = Entry {
                hash: Some(hash),
                ..whole(Sort::File, facts)
            };
            Ok((entry, stored))
        }
        Kind::Symlink => {
            let target = folder.link(name).map_err(Failure::File)?;
            let (hash, stored) = objects.keep(&target).map_err(Failure::Store)?;
            let entry = Entry {
                hash: Some(hash),
                ..whole(Sort::Link, facts)
            };
            Ok((entry, stored))
        }
        Kind::Other => Err(Failure::File(std::io::ErrorKind::InvalidInput.into())),
    }
}

/// An entry as the store of changes says it; `None` if that is not known.
fn state(
    entry: Option<&Entry>,
    objects: &Objects,
    max_bytes: u64,
) -> std::io::Result<Option<State>> {
    match entry {
        None => Ok(Some(State::Absent)),
        Some(entry) => Ok(shape(entry, objects, max_bytes)?.map(State::Is)),
    }
}

/// Whether what file tools and undos did is all that happened to a file.
fn explains(
    of_tools: &[Record],
    undone: Option<&State>,
    before: Option<&State>,
    after: Option<&State>,
) -> bool {
    let (Some(before), Some(after)) = (before, after) else {
        return false;
    };
    let last = of_tools.last().map(|record| &record.after);
    let is_last = |state: &State| state.fits(after);
    let ends = last.is_some_and(is_last) || undone.is_some_and(is_last);
    let first = of_tools.first().map(|record| record.before.state());
    // An undo began with what it was to take back.
    let begins = first.is_none_or(|first| first.is_some_and(|first| first.fits(before)));
    ends && begins
}

fn is_gone(jail: &Jail, path: &str) -> bool {
    let place = jail.place(path).ok();
    place.is_some_and(|place| matches!(jail.facts(&place), Ok(None)))
}
