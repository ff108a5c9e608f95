//! What a person's own files tell agents: the bootstrap files and the skills (MD-6, MD-16).

mod bootstrap;
mod file;
mod needs;
mod skill;
mod skills;
#[cfg(test)]
mod tests;
pub(crate) mod tool;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_config::FolderTrust;
use samovar_core::situation::Environment;
use samovar_engine::{Audience, Guidance, READ_SKILL};
use samovar_memory::Memories;

use crate::clock::SystemClock;
use crate::config::Config;
use crate::folder::Looks;
use crate::memory;
use bootstrap::{Bootstrap, Name};
use needs::Needs;
use skills::Skills;

pub(crate) use skill::{Origin, Skill};

/// The files as a server saw them last.
pub(crate) struct Guide {
    looks: Looks,
    looks_at_skills: Looks,
    bootstrap: Mutex<Bootstrap>,
    skills: Mutex<Skills>,
    needs: Needs,
    trust: FolderTrust,
    /// The names of the skills that were text from outside at the last look; `None` before the first.
    foreign: Mutex<Option<BTreeSet<String>>>,
    /// What agents remember.
    pub(crate) memories: Arc<Memories>,
}

/// A skill, as it counts now.
pub(crate) struct Known {
    pub(crate) skill: Arc<Skill>,
    /// What it needs and commands lack.
    pub(crate) missing: Vec<String>,
    /// Whether what it says is text from outside (TL-10).
    pub(crate) is_foreign: bool,
}

impl Known {
    /// Whether it is in every prompt in full: never what the person does not trust.
    pub(crate) fn is_whole(&self) -> bool {
        self.skill.always && !self.is_foreign
    }
}

impl Guide {
    pub(crate) fn new(config: &Config) -> Arc<Self> {
        Arc::new(Self {
            looks: Looks::default(),
            looks_at_skills: Looks::default(),
            bootstrap: Mutex::new(Bootstrap::new(&config.guide)),
            skills: Mutex::new(Skills::new(config)),
            needs: Needs::new(config.exec.clone()),
            trust: config.trust.clone(),
            foreign: Mutex::default(),
            memories: memory::open(config, Arc::new(SystemClock)),
        })
    }

    /// What the files say to an agent now. A definition with a prompt has that instead of SOUL and
    /// AGENTS, except for files of the agent's own set.
    pub(crate) fn tell(&self, audience: &Audience) -> Guidance {
        self.looks.look(|| self.read(audience))
    }

    fn read(&self, audience: &Audience) -> Guidance {
        let mut guidance = self.tell_skills(audience);
        let mut bootstrap = lock(&self.bootstrap);
        let mut say = |name, has_common: bool| {
            let own = bootstrap.of_agent(&audience.agent, name);
            let common = own.is_none() && has_common;
            let common = common.then(|| bootstrap.of_all(name)).flatten();
            own.or_else(|| common.map(|(_, text)| text))
        };
        guidance.soul = say(Name::Soul, !audience.has_prompt);
        guidance.user = say(Name::User, audience.is_with_person);
        guidance.agents = say(Name::Agents, !audience.has_prompt);
        drop(bootstrap);
        memory::tell(&self.memories, audience, guidance)
    }

    /// What an agent is told of the skills: of those that it may read, and of no others.
    fn tell_skills(&self, audience: &Audience) -> Guidance {
        let has_tool = |tool: &str| audience.tools.contains(tool);
        let reads = has_tool(READ_SKILL);
        let mut all = self.skills(has_tool, audience.environment.as_deref());
        // The layer is cut at its end: a folder's skills must not push out the person's.
        all.sort_by_key(|known| known.skill.origin);
        let mut told = Guidance::default();
        let (mut whole, mut lines) = (Vec::new(), Vec::new());
        for known in &all {
            let skill = &known.skill;
            let is_named = match &audience.skills {
                Some(names) => names.contains(&skill.name),
                None => audience.is_with_person || known.is_whole(),
            };
            if !is_named || !(reads || known.is_whole()) {
                continue;
            }
            if known.is_whole() {
                whole.push(skill.whole());
            } else {
                lines.push(skill.line(&known.missing));
            }
            told.is_foreign |= known.is_foreign;
            told.readable.insert(skill.name.clone());
        }
        whole.extend((!lines.is_empty()).then(|| lines.join("\n")));
        told.skills = (!whole.is_empty()).then(|| whole.join("\n\n"));
        told
    }

    /// The skills for an agent with these tools, by name, each with what a command would lack.
    pub(crate) fn skills(
        &self,
        has_tool: impl Fn(&str) -> bool,
        environment: Option<&Environment>,
    ) -> Vec<Known> {
        let (skills, is_foreign) = self.look(has_tool);
        let mut needs = self.needs.look(environment);
        let known = skills.into_iter().map(|skill| Known {
            missing: needs.missing(&skill),
            is_foreign: is_foreign && skill.origin == Origin::Folder,
            skill,
        });
        known.collect()
    }

    /// The skill of a name, also one whose tool its reader lacks, and whether it is text from outside.
    fn skill(&self, name: &str) -> Option<(Arc<Skill>, bool)> {
        let (skills, is_foreign) = self.look(|_| true);
        let skill = skills.into_iter().find(|skill| skill.name == name)?;
        let is_foreign = is_foreign && skill.origin == Origin::Folder;
        Some((skill, is_foreign))
    }

    /// The skills, and whether no person trusts the folder of some.
    fn look(&self, has_tool: impl Fn(&str) -> bool) -> (Vec<Arc<Skill>>, bool) {
        let look = || lock(&self.skills).all(&has_tool);
        let skills = self.looks_at_skills.look(look);
        let is_foreign = self.trust.is_foreign();
        let of_folder = skills.iter().filter(|it| it.origin == Origin::Folder);
        let foreign = of_folder.filter(|_| is_foreign);
        let foreign = foreign.map(|skill| skill.name.clone()).collect();
        *lock(&self.foreign) = Some(foreign);
        (skills, is_foreign)
    }

    /// Whether the skill of a name was text from outside at the last look, without a look.
    fn was_foreign(&self, name: &str) -> bool {
        let seen = lock(&self.foreign);
        seen.as_ref().is_none_or(|names| names.contains(name))
    }
}

/// The files of a configuration, as its agents are told of them.
pub fn guide(config: &Config) -> samovar_engine::Guide {
    let guide = Guide::new(config);
    samovar_engine::Guide::new(move |audience| guide.tell(audience))
}

/// Where a layer of the system prompt comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerSource {
    /// The file's name: `SOUL.md`.
    pub name: &'static str,
    /// The file; `None` if no file of the person says anything.
    pub file: Option<PathBuf>,
}

/// Where the person's layers come from, and why files cannot be used.
pub fn layer_sources(config: &Config) -> (Vec<LayerSource>, Vec<String>) {
    let mut bootstrap = Bootstrap::new(&config.guide);
    let sources = Name::ALL.map(|name| LayerSource {
        name: name.file(),
        file: bootstrap.of_all(name).map(|(path, _)| path),
    });
    let problems = bootstrap.problems().collect();
    (sources.to_vec(), problems)
}

/// What there is about skills without a server.
pub struct SkillFolders {
    /// The folders in which they are looked for.
    pub folders: Vec<PathBuf>,
    /// How many there are.
    pub count: usize,
    /// Why files are no skills, and which are hidden by others of their name, a sentence each.
    pub problems: Vec<String>,
}

/// The skills of a configuration, all tools supposed.
pub fn skill_folders(config: &Config) -> SkillFolders {
    let mut skills = Skills::new(config);
    SkillFolders {
        count: skills.all(|_| true).len(),
        folders: skills.folders(),
        problems: skills.problems(),
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
