//! The skills: which there are, what each needs, and what agents are told of them (MD-16, MD-17).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use samovar_agents::{SkillDraft, parse_skill};
use samovar_config::FolderTrust;
use samovar_core::situation::Environment;
use samovar_engine::{Audience, READ_SKILL};
use samovar_locale::guide as text;
use sha2::{Digest, Sha256};

use super::file::{Content, Stamp, Watched, read};
use crate::config::{Config, ExecConfig};

/// The folder with skills, in the person's configuration folder and in the workspace.
const FOLDER: &str = "skills";
/// The file of a skill that is a folder.
const FILE: &str = "SKILL.md";
/// The most bytes of a skill, and of another file in its folder.
const MAX_BYTES: usize = 256 * 1024;
/// The most entries of a folder that are looked at.
const MAX_ENTRIES: usize = 1_000;
/// What every command has in its environment.
const ALWAYS_SET: [&str; 4] = ["PATH", "HOME", "TERM", "SAMOVAR_CALL_ID"];
/// What is before the names of variables that a skill needs.
const VARIABLE: &str = "env:";

/// The skills that are part of the program, each with the tool without which it is off.
const BUILT_IN: [(&str, &str, &str); 2] = [
    ("review", "exec", include_str!("../../skills/review.md")),
    (
        "research",
        "web_search",
        include_str!("../../skills/research.md"),
    ),
];

/// Where a skill comes from; of one name the first of this order counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// The person's configuration folder.
    Own,
    /// The program.
    BuiltIn,
    /// The workspace.
    Folder,
}

/// A skill.
#[derive(Clone, Debug)]
pub(crate) struct Skill {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) requires: Vec<String>,
    pub(crate) origin: Origin,
    /// Whether it is in every prompt in full.
    pub(crate) always: bool,
    /// The file below its folder; `None` for one of the program.
    file: Option<PathBuf>,
    /// The text, where it is always loaded or part of the program.
    body: Option<Arc<str>>,
}

/// A skill's text, as it was read.
pub(crate) struct SkillText {
    pub(crate) text: String,
    /// The hash of the whole file, in hex.
    pub(crate) sha256: String,
}

/// All skills, as they were last seen.
pub(super) struct Skills {
    own: Option<Folder>,
    built_in: Vec<(Arc<Skill>, &'static str)>,
    workspace: Folder,
    always_load: Vec<String>,
    trust: FolderTrust,
    exec: Option<Box<ExecConfig>>,
    /// Where programs were found, by their name and the `PATH`.
    programs: BTreeMap<(String, String), PathBuf>,
}

/// A folder of skills.
struct Folder {
    /// From here on no link is followed.
    root: PathBuf,
    /// The place of the folder in it.
    below: &'static str,
    path: PathBuf,
    origin: Origin,
    stamp: Option<Stamp>,
    files: BTreeMap<PathBuf, Watched<Skill>>,
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
            root,
            below,
            origin,
            stamp: None,
            files: BTreeMap::new(),
        }
    }

    /// Looks at the folder and its files; reads what has changed. The text of those that are `always`
    /// loaded stays in memory.
    fn look(&mut self, always: &[String]) {
        let mut stamp = Stamp::at(&self.path).unwrap_or_default();
        if !self.below.is_empty() && self.path.is_symlink() {
            stamp = None;
        }
        if stamp.is_none() || stamp != self.stamp {
            self.stamp = stamp;
            let is_there = self.stamp.is_some();
            let files = is_there.then(|| candidates(&self.path));
            let files = files.unwrap_or_default();
            self.files.retain(|file, _| files.contains(file));
            for file in files {
                self.files.entry(file).or_default();
            }
        }
        let (root, below, origin) = (&self.root, self.below, self.origin);
        for (file, seen) in &mut self.files {
            let name = Path::new(below).join(file);
            seen.look(root, &name.to_string_lossy(), MAX_BYTES, |content| {
                skill(file, origin, always, &content)
            });
        }
    }

    fn skills(&self) -> impl Iterator<Item = &Arc<Skill>> {
        self.files.values().filter_map(Watched::content)
    }
}

/// The files of a folder that may be skills: `NAME.md`, and `NAME/SKILL.md` which need not be there.
fn candidates(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let entries = entries.take(MAX_ENTRIES).filter_map(Result::ok);
    let files = entries.filter_map(|entry| {
        let name = PathBuf::from(entry.file_name());
        if name.to_str().is_none_or(|name| name.starts_with('.')) {
            return None;
        }
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_file = name.extension().is_some_and(|end| end == "md");
        if is_folder {
            Some(name.join(FILE))
        } else {
            is_file.then_some(name)
        }
    });
    files.collect()
}

fn skill(
    file: &Path,
    origin: Origin,
    always: &[String],
    content: &Content,
) -> Result<Skill, String> {
    if content.left_out > 0 {
        return Err(text::skill_too_large(file.display(), MAX_BYTES as u64));
    }
    let named = match file.parent().filter(|folder| *folder != Path::new("")) {
        Some(folder) => folder,
        None => file,
    };
    let stem = named.file_stem().unwrap_or_default().to_string_lossy();
    let draft = parse_skill(&stem, &content.text);
    let draft = draft.map_err(|why| text::skill_broken(file.display(), why))?;
    Ok(Skill {
        file: Some(file.to_owned()),
        ..of_draft(draft, origin, always)
    })
}

fn of_draft(draft: SkillDraft, origin: Origin, always: &[String]) -> Skill {
    // What a folder says of itself decides nothing about prompts.
    let wants = draft.always && origin != Origin::Folder;
    let always = wants || always.contains(&draft.name);
    let is_kept = always || origin == Origin::BuiltIn;
    Skill {
        name: draft.name,
        description: draft.description,
        requires: draft.requires,
        origin,
        always,
        file: None,
        body: is_kept.then(|| draft.body.into()),
    }
}

impl Skills {
    pub(super) fn new(config: &Config) -> Self {
        let own = config.guide.own.as_ref().map(|own| own.join(FOLDER));
        let workspace = match config.guide.skills.clone() {
            Some(folder) => Folder::new(folder, Origin::Folder),
            None => Folder::inside(config.workspace.clone(), FOLDER, Origin::Folder),
        };
        // Without a service to search with, that tool is there and does nothing.
        let is_off = |tool: &str| tool == "web_search" && config.search.is_none();
        let built_in = BUILT_IN.iter().filter(|(_, tool, _)| !is_off(tool));
        let built_in = built_in.filter_map(|(name, tool, text)| {
            let draft = parse_skill(name, text).ok()?;
            let skill = of_draft(draft, Origin::BuiltIn, &config.guide.always_load);
            Some((Arc::new(skill), *tool))
        });
        Self {
            own: own.map(|own| Folder::new(own, Origin::Own)),
            built_in: built_in.collect(),
            workspace,
            always_load: config.guide.always_load.clone(),
            trust: config.trust.clone(),
            exec: config.exec.clone(),
            programs: BTreeMap::new(),
        }
    }

    /// The skills that count for an agent with these tools, by name. No two have one name.
    pub(super) fn all(&mut self, has_tool: impl Fn(&str) -> bool) -> Vec<Arc<Skill>> {
        self.all_and_hidden(has_tool).0
    }

    /// The same, with those that another one of their name hides.
    fn all_and_hidden(
        &mut self,
        has_tool: impl Fn(&str) -> bool,
    ) -> (Vec<Arc<Skill>>, Vec<Arc<Skill>>) {
        let always = &self.always_load;
        self.own.iter_mut().for_each(|folder| folder.look(always));
        self.workspace.look(always);
        let own = self.own.iter().flat_map(Folder::skills);
        let built_in = self.built_in.iter().filter(|(_, tool)| has_tool(tool));
        let found = own.chain(built_in.map(|(skill, _)| skill));
        let found = found.chain(self.workspace.skills());
        let (mut all, mut hidden) = (BTreeMap::<String, Arc<Skill>>::new(), Vec::new());
        for skill in found {
            let key = skill.name.to_ascii_lowercase();
            match all.entry(key) {
                Entry::Occupied(_) => hidden.push(skill.clone()),
                Entry::Vacant(free) => drop(free.insert(skill.clone())),
            }
        }
        (all.into_values().collect(), hidden)
    }

    /// What an agent is told of the skills, and whether some of it comes from a foreign folder.
    pub(super) fn tell(&mut self, audience: &Audience) -> (Option<String>, bool) {
        let has_tool = |tool: &str| audience.tools.contains(tool);
        let reads = has_tool(READ_SKILL);
        let is_foreign = self.trust.is_foreign();
        let (mut whole, mut lines, mut foreign) = (Vec::new(), Vec::new(), false);
        let mut all = self.all(has_tool);
        // The layer is cut at its end: a folder's skills must not push out the person's.
        all.sort_by_key(|skill| skill.origin);
        for skill in all {
            let is_named = match &audience.skills {
                Some(names) => names.contains(&skill.name),
                None => audience.is_with_person || skill.always,
            };
            if !is_named {
                continue;
            }
            let of_folder = skill.origin == Origin::Folder;
            if skill.always {
                let mark = if of_folder { " (of this folder)" } else { "" };
                let body = skill.body.as_deref().unwrap_or_default();
                whole.push(format!("# Skill {}{mark}\n\n{body}", skill.name));
            } else if reads {
                let missing = self.missing(&skill, audience.environment.as_deref());
                lines.push(line(&skill, &missing));
            } else {
                continue;
            }
            foreign |= of_folder && is_foreign;
        }
        whole.extend((!lines.is_empty()).then(|| lines.join("\n")));
        ((!whole.is_empty()).then(|| whole.join("\n\n")), foreign)
    }

    /// Whether what a skill says is text from outside.
    pub(super) fn is_foreign(&self, skill: &Skill) -> bool {
        skill.origin == Origin::Folder && self.trust.is_foreign()
    }

    /// What a skill needs and a command would not have.
    pub(super) fn missing(
        &mut self,
        skill: &Skill,
        environment: Option<&Environment>,
    ) -> Vec<String> {
        let needs = skill.requires.iter();
        let missing = needs.filter(|need| match need.strip_prefix(VARIABLE) {
            Some(name) => !self.has_variable(name, environment),
            None => !self.has_program(need, environment),
        });
        missing.cloned().collect()
    }

    fn has_variable(&self, name: &str, environment: Option<&Environment>) -> bool {
        let Some(exec) = &self.exec else { return false };
        let sent = environment.into_iter().flat_map(Environment::variables);
        let mut names = sent.map(|(name, _)| name).chain(ALWAYS_SET);
        names.any(|known| known == name)
            || exec.env.iter().any(|(known, _)| known == name)
            || exec.variables.iter().any(|(known, _)| known == name)
    }

    fn has_program(&mut self, name: &str, environment: Option<&Environment>) -> bool {
        let Some(exec) = &self.exec else { return false };
        let path = environment.and_then(|environment| environment.path.as_deref());
        let key = (name.to_owned(), path.unwrap_or_default().to_owned());
        if let Some(found) = self.programs.get(&key) {
            if is_program(found) {
                return true;
            }
            self.programs.remove(&key);
        }
        let folders: Vec<_> = match path {
            Some(path) => std::env::split_paths(path).collect(),
            None => exec.path.clone(),
        };
        let found = folders.iter().map(|folder| folder.join(name));
        let Some(found) = found.into_iter().find(|path| is_program(path)) else {
            return false;
        };
        // The paths of the person's shells: few, and all the same if there are more.
        if self.programs.len() >= MAX_ENTRIES {
            self.programs.clear();
        }
        self.programs.insert(key, found);
        true
    }

    /// The whole present text of a skill.
    ///
    /// # Errors
    /// Why it cannot be read, in one sentence.
    pub(super) fn text(&self, skill: &Skill) -> Result<SkillText, String> {
        match &skill.file {
            Some(file) => self.read(skill, file),
            None => Ok(hashed(skill.body.as_deref().unwrap_or_default().to_owned())),
        }
    }

    /// The text of another file in a skill's own folder.
    ///
    /// # Errors
    /// The skill has no folder, or the file leads out of it or cannot be read, in one sentence.
    pub(super) fn file(&self, skill: &Skill, name: &str) -> Result<SkillText, String> {
        let file = skill.file.as_deref().and_then(Path::parent);
        let folder = file.filter(|folder| *folder != Path::new(""));
        let folder = folder.ok_or_else(|| text::skill_without_files(&skill.name))?;
        let steps = Path::new(name).components();
        let is_plain = |step| matches!(step, std::path::Component::Normal(_));
        if !steps.into_iter().all(is_plain) {
            return Err(text::skill_file_outside(&skill.name));
        }
        self.read(skill, &folder.join(name))
    }

    fn read(&self, skill: &Skill, file: &Path) -> Result<SkillText, String> {
        let folder = match skill.origin {
            Origin::Own => self.own.as_ref(),
            Origin::BuiltIn => None,
            Origin::Folder => Some(&self.workspace),
        };
        let folder = folder.ok_or_else(|| text::skill_without_files(&skill.name))?;
        let name = Path::new(folder.below).join(file);
        let content = read(&folder.root, &name.to_string_lossy(), MAX_BYTES)?;
        if content.left_out > 0 {
            return Err(text::skill_too_large(file.display(), MAX_BYTES as u64));
        }
        Ok(hashed(content.text))
    }

    /// The folders in which skills are looked for.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let own = self.own.iter().map(|own| own.path.clone());
        own.chain([self.workspace.path.clone()]).collect()
    }

    /// Why files are no skills, and which are hidden by others of their name, a sentence each.
    pub(super) fn problems(&mut self, has_tool: impl Fn(&str) -> bool) -> Vec<String> {
        let (_, hidden) = self.all_and_hidden(has_tool);
        let hidden = hidden.iter().map(|skill| {
            let file = skill.file.as_deref().unwrap_or(Path::new(&skill.name));
            text::skill_hidden(file.display(), &skill.name)
        });
        let folders = self.own.iter().chain([&self.workspace]);
        let broken = folders.flat_map(|folder| folder.files.values());
        let broken = broken.filter_map(|seen| seen.problem().map(str::to_owned));
        hidden.chain(broken).collect()
    }

    #[cfg(test)]
    pub(super) fn reads(&self) -> u64 {
        let folders = self.own.iter().chain([&self.workspace]);
        let files = folders.flat_map(|folder| folder.files.values());
        files.map(|seen| seen.reads).sum()
    }
}

/// A skill in one line.
fn line(skill: &Skill, missing: &[String]) -> String {
    let mark = match skill.origin {
        Origin::Folder => ", of this folder",
        Origin::Own | Origin::BuiltIn => "",
    };
    let how = match missing {
        [] => READ_SKILL.to_owned(),
        missing => format!("unavailable: needs {}", missing.join(", ")),
    };
    format!("{} — {} ({how}{mark})", skill.name, skill.description)
}

fn hashed(text: String) -> SkillText {
    let sha256 = Sha256::digest(text.as_bytes());
    let mut hex = String::with_capacity(64);
    for byte in &sha256 {
        // Writing to a string cannot fail.
        let _infallible = write!(hex, "{byte:02x}");
    }
    SkillText { text, sha256: hex }
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let about = fs::metadata(path);
    about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
