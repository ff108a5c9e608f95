//! What a person's own files tell agents: the bootstrap files and the skills (MD-6, MD-16).

mod bootstrap;
mod file;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_engine::{Audience, Guidance};

use crate::config::Config;
use bootstrap::{Bootstrap, Name};

/// The files as a server saw them last.
#[derive(Debug)]
pub(crate) struct Guide {
    bootstrap: Mutex<Bootstrap>,
}

impl Guide {
    pub(crate) fn new(config: &Config) -> Arc<Self> {
        Arc::new(Self {
            bootstrap: Mutex::new(Bootstrap::new(&config.guide)),
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
        Guidance {
            soul: say(Name::Soul, !audience.has_prompt),
            user: say(Name::User, audience.is_with_person),
            agents: say(Name::Agents, !audience.has_prompt),
            skills: None,
            is_foreign: false,
        }
    }
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

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
