//! The skills that there are, as they were last seen (MD-16, MD-17).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;
use samovar_agents::{parse_skill, skill_name};
use samovar_descriptors::{retry, stems_from_exhaustion};
use samovar_locale::guide as text;

use super::file::{Content, Stamp, Watched};
use super::skill::{MAX_BYTES, Origin, Place, Skill, sentence};
use crate::config::Config;

/// The folder with skills, in the person's configuration folder and in the workspace.
const FOLDER: &str = "skills";
/// The file of a skill that is a folder.
const FILE: &str = "SKILL.md";
/// The most entries of a folder that are looked at.
const MAX_ENTRIES: usize = 1_000;

/// The skills that are part of the program, each with the tool without which it is off.
const BUILT_IN: [(&str, &str, &str); 2] = [
    ("review", "exec", include_str!("../../skills/review.md")),
    (
        "research",
        "web_search",
        include_str!("../../skills/research.md"),
    ),
];

/// All skills, as they were last seen.
pub(super) struct Skills {
    own: Option<Folder>,
    /// Each with its tool; `None` where the server has nothing that it could work with.
    built_in: Vec<(Arc<Skill>, Option<&'static str>)>,
    workspace: Folder,
    always_load: Vec<String>,
}

/// A folder of skills.
struct Folder {
    /// From here on no link is followed.
    root: Arc<Path>,
    /// The place of the folder in it.
    below: &'static str,
    path: PathBuf,
    origin: Origin,
    stamp: Option<Stamp>,
    files: BTreeMap<PathBuf, File>,
    /// What is wrong with the folder itself, in one sentence.
    problem: Option<String>,
}

/// A file that may be a skill.
#[derive(Default)]
struct File {
    /// `None` for one that does not mean to be a skill.
    seen: Watched<Option<Arc<Skill>>>,
    /// The name that it gave itself when it was read last.
    name: Option<String>,
}

impl Folder {
    fn new(path: PathBuf, origin: Origin) -> Self {
        Self::inside(path, "", origin)
    }

    fn inside(root: PathBuf, below: &'static str, origin: Origin) -> Self {
        Self {
            path: if below.is_empty() {
                root.clone()
            } else {
                root.join(below)
            },
            root: root.into(),
            below,
            origin,
            stamp: None,
            files: BTreeMap::new(),
            problem: None,
        }
    }

    /// Looks at the folder and its files; reads what has changed. The text of those that are `always`
    /// loaded stays in memory.
    fn look(&mut self, always: &[String]) {
        self.list();
        let (root, below, origin) = (&self.root, self.below, self.origin);
        for (file, File { seen, name }) in &mut self.files {
            let path = Path::new(below).join(file);
            let is_bad = seen.look(root, &path.to_string_lossy(), MAX_BYTES, |content| {
                *name = skill_name(&content.text);
                if name.is_none() && is_readme(file) {
                    return Ok(None);
                }
                let place = Place {
                    root: root.clone(),
                    below,
                    file: file.clone(),
                };
                skill(place, origin, always, &content).map(|skill| Some(Arc::new(skill)))
            });
            if let Some(fault) = seen.fault().filter(|_| is_bad) {
                let why = sentence(file, fault);
                tracing::warn!(%why, "a skill cannot be used");
            }
        }
    }

    /// Brings the list of files up to date, if the folder has changed.
    fn list(&mut self) {
        let stamp = match self.below {
            "" => Stamp::behind(&self.path),
            _ => Stamp::at(&self.path),
        };
        let stamp = match stamp {
            Ok(Some(stamp)) if self.below.is_empty() || !self.path.is_symlink() => stamp,
            Ok(_) => {
                (self.stamp, self.problem) = (None, None);
                return self.files.clear();
            }
            Err(error) => return self.is_unlisted(&error),
        };
        if self.stamp.as_ref() == Some(&stamp) {
            return;
        }
        let (files, is_cut) = match candidates(&self.path) {
            Ok(found) => found,
            // The files of the last list still count.
            Err(error) if stems_from_exhaustion(&error) => return,
            Err(error) => return self.is_unlisted(&error),
        };
        self.stamp = Some(stamp);
        self.problem = is_cut.then(|| {
            let why = text::skills_many(MAX_ENTRIES as u64, self.path.display());
            tracing::warn!(%why, "not all skills are used");
            why
        });
        self.files.retain(|file, _| files.contains(file));
        for file in files {
            self.files.entry(file).or_default();
        }
    }

    /// The next look tries again.
    fn is_unlisted(&mut self, error: &io::Error) {
        let why = text::skills_unreadable(self.path.display(), error);
        if self.problem.as_ref() != Some(&why) {
            tracing::warn!(%why, "skills cannot be used");
        }
        (self.stamp, self.problem) = (None, Some(why));
        self.files.clear();
    }

    fn skills(&self) -> impl Iterator<Item = &Arc<Skill>> {
        self.files.values().filter_map(File::skill)
    }

    /// Why there are files that are no skills, a sentence each.
    fn problems(&self) -> impl Iterator<Item = String> {
        let broken = self.files.iter();
        let broken =
            broken.filter_map(|(file, File { seen, .. })| Some(sentence(file, seen.fault()?)));
        self.problem.clone().into_iter().chain(broken)
    }
}

impl File {
    fn skill(&self) -> Option<&Arc<Skill>> {
        self.seen.content()?.as_ref().as_ref()
    }

    /// The name that this file keeps from other skills although it is broken.
    fn claims(&self, file: &Path) -> Option<String> {
        let is_lost = self.seen.fault().is_some() && self.skill().is_none();
        is_lost.then(|| self.name.clone().unwrap_or_else(|| name_of(file)))
    }
}

/// The files of a folder that may be skills, `NAME.md`, and `NAME/SKILL.md` which need not be there: the
/// first ones by name, and whether there are more.
fn candidates(folder: &Path) -> io::Result<(BTreeSet<PathBuf>, bool)> {
    let (mut files, mut is_cut) = (BTreeSet::new(), false);
    let open =
        || fs::read_dir(folder).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
    for entry in retry(open)? {
        let entry = entry?;
        let name = PathBuf::from(entry.file_name());
        if name.to_str().is_none_or(|name| name.starts_with('.')) {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            files.insert(name.join(FILE));
        } else if name.extension().is_some_and(|end| end == "md") {
            files.insert(name);
        }
        if files.len() > MAX_ENTRIES {
            is_cut = files.pop_last().is_some();
        }
    }
    Ok((files, is_cut))
}

/// Whether a file tells people about a folder, unless it says which skill it is.
fn is_readme(file: &Path) -> bool {
    file.as_os_str().eq_ignore_ascii_case("readme.md")
}

/// The name of a skill that does not name itself.
fn name_of(file: &Path) -> String {
    let named = match file.parent().filter(|folder| *folder != Path::new("")) {
        Some(folder) => folder,
        None => file,
    };
    named
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn skill(
    place: Place,
    origin: Origin,
    always: &[String],
    content: &Content,
) -> Result<Skill, String> {
    let shown = place.file.display();
    if content.left_out > 0 {
        return Err(text::skill_too_large(shown, MAX_BYTES as u64));
    }
    let draft = parse_skill(&name_of(&place.file), &content.text);
    let draft = draft.map_err(|why| text::skill_broken(shown, why))?;
    Ok(Skill::new(draft, (origin, Some(place)), always))
}

impl Skills {
    pub(super) fn new(config: &Config) -> Self {
        let own = config.guide.own.as_ref().map(|own| own.join(FOLDER));
        let workspace = match config.guide.skills.clone() {
            Some(folder) => Folder::new(folder, Origin::Folder),
            None => Folder::inside(config.workspace.clone(), FOLDER, Origin::Folder),
        };
        let always = &config.guide.always_load;
        // Without a service to search with, that tool is there and does nothing.
        let is_off = |tool: &str| match tool {
            "exec" => config.exec.is_none(),
            _ => config.search.is_none(),
        };
        let built_in = BUILT_IN.iter().filter_map(|(name, tool, text)| {
            let draft = parse_skill(name, text).ok()?;
            let skill = Skill::new(draft, (Origin::BuiltIn, None), always);
            Some((Arc::new(skill), (!is_off(tool)).then_some(*tool)))
        });
        Self {
            own: own.map(|own| Folder::new(own, Origin::Own)),
            built_in: built_in.collect(),
            workspace,
            always_load: always.clone(),
        }
    }

    /// The skills that count for an agent with these tools, by name. No two have one name.
    pub(super) fn all(&mut self, has_tool: impl Fn(&str) -> bool) -> Vec<Arc<Skill>> {
        self.all_and_hidden(has_tool).0
    }

    /// The same, with those that another one of their name hides. A name is taken whatever the tools.
    fn all_and_hidden(
        &mut self,
        has_tool: impl Fn(&str) -> bool,
    ) -> (Vec<Arc<Skill>>, Vec<Arc<Skill>>) {
        let always = &self.always_load;
        self.own.iter_mut().for_each(|folder| folder.look(always));
        self.workspace.look(always);
        let own = self.own.iter().flat_map(Folder::skills);
        let own = own.map(|skill| (skill.name.clone(), Some(skill), true));
        let files = self.own.iter().flat_map(|own| &own.files);
        let lost = files.filter_map(|(file, it)| Some((it.claims(file)?, None, false)));
        let built_in = self.built_in.iter().map(|(skill, tool)| {
            let is_on = tool.is_some_and(&has_tool);
            (skill.name.clone(), Some(skill), is_on)
        });
        let others = self.workspace.skills();
        let others = others.map(|skill| (skill.name.clone(), Some(skill), true));
        let (mut names, mut hidden) = (BTreeMap::new(), Vec::new());
        for (name, skill, is_on) in own.chain(lost).chain(built_in).chain(others) {
            let skill = skill.filter(|_| is_on).cloned();
            match names.entry(name.to_ascii_lowercase()) {
                Entry::Occupied(_) => hidden.extend(skill),
                Entry::Vacant(free) => drop(free.insert(skill)),
            }
        }
        (names.into_values().flatten().collect(), hidden)
    }

    /// The folders in which skills are looked for.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let own = self.own.iter().map(|own| own.path.clone());
        own.chain([self.workspace.path.clone()]).collect()
    }

    /// Why files are no skills, and which are hidden by others of their name, a sentence each.
    pub(super) fn problems(&mut self) -> Vec<String> {
        let (_, hidden) = self.all_and_hidden(|_| true);
        let hidden = hidden.iter();
        let hidden = hidden.map(|skill| text::skill_hidden(skill.shown(), &skill.name));
        let folders = self.own.iter().chain([&self.workspace]);
        hidden.chain(folders.flat_map(Folder::problems)).collect()
    }

    /// How often files were read so far.
    #[cfg(test)]
    pub(super) fn reads(&self) -> u64 {
        let folders = self.own.iter().chain([&self.workspace]);
        let files = folders.flat_map(|folder| folder.files.values());
        files.map(|file| file.seen.reads).sum()
    }
}
