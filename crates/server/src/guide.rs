//! What a person's own files tell agents: the bootstrap files and the skills (MD-6, MD-16).

mod bootstrap;
mod file;
mod skills;
#[cfg(test)]
mod tests;
pub(crate) mod tool;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_core::situation::Environment;
use samovar_engine::{Audience, Guidance};
use samovar_memory::Memories;

use crate::clock::SystemClock;
use crate::config::Config;
use crate::memory;
use bootstrap::{Bootstrap, Name};
use skills::Skills;

pub(crate) use skills::{Origin, Skill, SkillText};

/// The files as a server saw them last.
pub(crate) struct Guide {
    bootstrap: Mutex<Bootstrap>,
    skills: Mutex<Skills>,
    /// What agents remember.
    pub(crate) memories: Arc<Memories>,
}

impl Guide {
    pub(crate) fn new(config: &Config) -> Arc<Self> {
        Arc::new(Self {
            bootstrap: Mutex::new(Bootstrap::new(&config.guide)),
            skills: Mutex::new(Skills::new(config)),
            memories: memory::open(config, Arc::new(SystemClock)),
        })
    }

    /// What the files say to an agent now. A definition with a prompt has that instead of SOUL and
    /// AGENTS, except for files of the agent's own set.
    pub(crate) fn tell(&self, audience: &Audience) -> Guidance {
        let mut bootstrap = lock(&self.bootstrap);
        let mut say = |name, has_common: bool| {
            let own = bootstrap.of_agent(&audience.agent, name);
            let common = own.is_none() && has_common;
            let common = common.then(|| bootstrap.of_all(name)).flatten();
            own.or_else(|| common.map(|(_, text)| text))
        };
        let (skills, is_foreign) = lock(&self.skills).tell(audience);
        let guidance = Guidance {
            soul: say(Name::Soul, !audience.has_prompt),
            user: say(Name::User, audience.is_with_person),
            agents: say(Name::Agents, !audience.has_prompt),
            skills,
            is_foreign,
            ..Guidance::default()
        };
        memory::tell(&self.memories, audience, guidance)
    }

    /// The skills of a server with these tools, by name, each with what it needs and commands lack.
    pub(crate) fn skills(
        &self,
        has_tool: impl Fn(&str) -> bool,
        environment: Option<&Environment>,
    ) -> Vec<(Arc<Skill>, Vec<String>)> {
        let mut skills = lock(&self.skills);
        let all = skills.all(has_tool).into_iter();
        all.map(|skill| {
            let missing = skills.missing(&skill, environment);
            (skill, missing)
        })
        .collect()
    }

    /// The skill of a name, also one whose tool is not there.
    pub(crate) fn skill(&self, name: &str) -> Option<Arc<Skill>> {
        let all = lock(&self.skills).all(|_| true);
        all.into_iter().find(|skill| skill.name == name)
    }

    /// What a skill says now, or another file of its folder.
    ///
    /// # Errors
    /// Why it cannot be read, in one sentence.
    pub(crate) fn text(&self, skill: &Skill, file: Option<&str>) -> Result<SkillText, String> {
        let skills = lock(&self.skills);
        match file {
            Some(file) => skills.file(skill, file),
            None => skills.text(skill),
        }
    }

    /// Whether what a skill says is text from outside (TL-10).
    pub(crate) fn is_foreign(&self, skill: &Skill) -> bool {
        lock(&self.skills).is_foreign(skill)
    }

    fn is_foreign_skill(&self, name: &str) -> bool {
        self.skill(name)
            .is_some_and(|skill| self.is_foreign(&skill))
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
    let problems = bootstrap.problems().map(|(_, why)| why.to_owned());
    (sources.to_vec(), problems.collect())
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
        problems: skills.problems(|_| true),
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
