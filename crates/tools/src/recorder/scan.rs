//! A walk over the files of a workspace that are covered.

use std::collections::HashMap;
use std::ffi::OsString;
use std::vec::IntoIter;

use ignore::Match;
use ignore::gitignore::Gitignore;
use samovar_sandbox::{Facts, HeldFolder, Jail, JailPath, Kind};

use crate::ignores;

use super::{Bounds, Uncovered};

/// Levels of folders.
const MAX_DEPTH: usize = 100;
/// Bytes of a path; a longer one cannot be given to the jail.
const MAX_PATH_BYTES: usize = 4096;
/// The file whose rules are heeded.
pub(super) const RULES: &str = ".gitignore";
/// What makes a folder a repository.
const REPOSITORY: &str = ".git";

/// Why something is not covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// A repository below the workspace.
    Repository,
    /// It cannot be read.
    Unreadable,
    /// It lies too deep.
    Deep,
    /// A pipe, a socket or a device.
    Special,
    /// Its name is no text.
    Name,
    /// The file is too large to be kept.
    Large,
}

impl Why {
    /// All of them, in the order in which they are told.
    pub(crate) const ALL: [Self; 6] = [
        Self::Repository,
        Self::Unreadable,
        Self::Deep,
        Self::Special,
        Self::Name,
        Self::Large,
    ];

    /// Whether all that is below it is not covered either.
    pub(super) fn is_folder(self) -> bool {
        matches!(self, Self::Repository | Self::Unreadable | Self::Deep)
    }
}

/// What a walk found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// A folder before what is in it.
    pub(super) seen: Vec<(String, Facts)>,
    pub(super) gaps: Vec<(Why, String)>,
    /// Bytes of the files that are kept.
    pub(super) bytes: u64,
    /// Entries that were met, ignored ones included.
    entries: usize,
    /// Bytes of the rules that were read.
    rules: u64,
}

struct Level<'jail> {
    folder: HeldFolder<'jail>,
    path: String,
    entries: IntoIter<(OsString, Facts)>,
    rules: Option<Gitignore>,
}

impl<'jail> Level<'jail> {
    /// Opens a folder. A part of its entries would hide the others, so it is all of them or none.
    fn open(
        folder: HeldFolder<'jail>,
        path: String,
        scan: &mut Scan,
        bounds: &Bounds,
    ) -> Result<Self, Closed> {
        let found = folder.entries(bounds.entries - scan.entries)?;
        if found.is_cut {
            return Err(Uncovered::Entries(bounds.entries).into());
        }
        let entries = found.all;
        scan.entries += entries.len();
        let has = |name: &str| entries.iter().find(|(found, _)| found == name);
        if !path.is_empty() && has(REPOSITORY).is_some() {
            return Err(Closed::Gap(Why::Repository));
        }
        let rules = has(RULES).filter(|(_, facts)| facts.kind == Kind::File);
        let rules = rules.and_then(|_| folder.read(RULES.as_ref(), ignores::MAX_FILE_BYTES).ok());
        let rules = rules.map(|(_, bytes)| bytes);
        scan.rules += rules.as_ref().map_or(0, |it| it.len() as u64);
        if scan.rules > bounds.rules {
            return Err(Uncovered::Rules(bounds.rules).into());
        }
        Ok(Self {
            folder,
            path,
            entries: entries.into_iter(),
            rules: rules
                .map(|rules| ignores::parse(&rules))
                .filter(|rules| !rules.is_empty()),
        })
    }

    fn child(&self, name: &str) -> String {
        if self.path.is_empty() {
            return name.to_owned();
        }
        format!("{}/{name}", self.path)
    }
}

/// Why a folder is not walked over.
enum Closed {
    /// It is left out.
    Gap(Why),
    /// Nothing is covered.
    All(Uncovered),
}

impl From<Uncovered> for Closed {
    fn from(why: Uncovered) -> Self {
        Self::All(why)
    }
}

impl From<std::io::Error> for Closed {
    fn from(_: std::io::Error) -> Self {
        Self::Gap(Why::Unreadable)
    }
}

/// Walks over a workspace.
pub(super) fn scan(jail: &Jail, bounds: &Bounds) -> Result<Scan, Uncovered> {
    let mut scan = Scan::default();
    let root = jail
        .hold(&JailPath::root())
        .map_err(|e| Uncovered::Failed(e.to_string()))?;
    let mut levels = match Level::open(root, String::new(), &mut scan, bounds) {
        Ok(root) => vec![root],
        Err(Closed::All(why)) => return Err(why),
        Err(Closed::Gap(_)) => {
            return Err(Uncovered::Failed("the folder cannot be read".to_owned()));
        }
    };
    while let Some(level) = levels.last_mut() {
        let Some((name, facts)) = level.entries.next() else {
            levels.pop();
            continue;
        };
        let Some(text) = name.to_str() else {
            scan.gaps
                .push((Why::Name, level.child(&name.to_string_lossy())));
            continue;
        };
        let path = level.child(text);
        if path.len() > MAX_PATH_BYTES {
            // Once for the folder that leads there.
            if scan.gaps.last() != Some(&(Why::Deep, level.path.clone())) {
                scan.gaps.push((Why::Deep, level.path.clone()));
            }
            continue;
        }
        let is_folder = facts.kind == Kind::Directory;
        if jail.keeps(&path) || (text != RULES && is_ignored(&levels, &path, is_folder)) {
            continue;
        }
        if scan.seen.len() == bounds.files {
            return Err(Uncovered::Files(bounds.files));
        }
        match facts.kind {
            Kind::Other => {
                scan.gaps.push((Why::Special, path));
                continue;
            }
            Kind::File if facts.size > bounds.file_bytes => {
                scan.gaps.push((Why::Large, path.clone()));
            }
            Kind::File => scan.bytes += facts.size,
            Kind::Symlink => {}
            Kind::Directory if levels.len() > MAX_DEPTH => {
                scan.gaps.push((Why::Deep, path.clone()));
            }
            Kind::Directory => match enter(&levels, &name, &path, &mut scan, bounds) {
                Ok(level) => levels.push(level),
                Err(Closed::All(why)) => return Err(why),
                Err(Closed::Gap(why)) => {
                    scan.gaps.push((why, path));
                    continue;
                }
            },
        }
        scan.seen.push((path, facts));
    }
    if scan.bytes > bounds.bytes {
        return Err(Uncovered::Bytes(bounds.bytes));
    }
    Ok(scan)
}

fn enter<'jail>(
    levels: &[Level<'jail>],
    name: &OsString,
    path: &str,
    scan: &mut Scan,
    bounds: &Bounds,
) -> Result<Level<'jail>, Closed> {
    let above = levels.last().ok_or(Closed::Gap(Why::Unreadable))?;
    let folder = above.folder.enter(name)?;
    Level::open(folder, path.to_owned(), scan, bounds)
}

/// The rules of the nearest folder come first.
fn is_ignored(levels: &[Level<'_>], path: &str, is_folder: bool) -> bool {
    for level in levels.iter().rev() {
        let Some(rules) = &level.rules else { continue };
        match rules.matched(below(path, &level.path), is_folder) {
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
            Match::None => {}
        }
    }
    false
}

/// The rest of a path, behind a folder.
fn below<'p>(path: &'p str, folder: &str) -> &'p str {
    let rest = path.strip_prefix(folder).unwrap_or(path);
    rest.strip_prefix('/').unwrap_or(rest)
}

/// Rules that were in force, by folder.
pub(super) struct EarlierRules(pub(super) HashMap<String, Gitignore>);

impl EarlierRules {
    /// Whether they leave a path out, or a folder above it.
    pub(super) fn ignore(&self, path: &str, is_folder: bool) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| (at, true));
        let mut ends = ends.chain([(path.len(), is_folder)]);
        ends.any(|(end, is_folder)| self.ignore_one(&path[..end], is_folder))
    }

    fn ignore_one(&self, path: &str, is_folder: bool) -> bool {
        let mut folder = path;
        while !folder.is_empty() {
            folder = folder.rfind('/').map_or("", |at| &folder[..at]);
            let Some(rules) = self.0.get(folder) else {
                continue;
            };
            match rules.matched(below(path, folder), is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}
