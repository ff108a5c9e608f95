//! What skills need: programs that a command would find, and variables that it would have (MD-16).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use samovar_core::situation::Environment;

use super::skill::Skill;
use crate::config::ExecConfig;

/// What every command has in its environment.
const ALWAYS_SET: [&str; 4] = ["PATH", "HOME", "TERM", "SAMOVAR_CALL_ID"];
/// What is before the names of variables that a skill needs.
const VARIABLE: &str = "env:";
/// The most programs of which is noted where they were found.
const MAX_FOUND: usize = 1_000;

/// Where the programs of skills were found last.
pub(super) struct Needs {
    exec: Option<Box<ExecConfig>>,
    /// By their name and the `PATH`.
    found: Mutex<BTreeMap<(String, String), PathBuf>>,
    #[cfg(test)]
    pub(super) searches: std::sync::atomic::AtomicU64,
}

/// One look at what skills need, in which no program is looked for twice.
pub(super) struct Look<'a> {
    needs: &'a Needs,
    environment: Option<&'a Environment>,
    /// Whether each program is there.
    programs: BTreeMap<String, bool>,
}

impl Needs {
    pub(super) fn new(exec: Option<Box<ExecConfig>>) -> Self {
        Self {
            exec,
            found: Mutex::default(),
            #[cfg(test)]
            searches: std::sync::atomic::AtomicU64::new(0),
        }
    }

    pub(super) fn look<'a>(&'a self, environment: Option<&'a Environment>) -> Look<'a> {
        Look {
            needs: self,
            environment,
            programs: BTreeMap::new(),
        }
    }

    fn found(&self) -> MutexGuard<'_, BTreeMap<(String, String), PathBuf>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_variable(&self, name: &str, environment: Option<&Environment>) -> bool {
        let Some(exec) = &self.exec else { return false };
        let sent = environment.into_iter().flat_map(Environment::variables);
        let mut names = sent.map(|(name, _)| name).chain(ALWAYS_SET);
        names.any(|known| known == name)
            || exec.env.iter().any(|(known, _)| known == name)
            || exec.variables.iter().any(|(known, _)| known == name)
    }

    fn has_program(&self, name: &str, environment: Option<&Environment>) -> bool {
        let Some(exec) = &self.exec else { return false };
        let path = environment.and_then(|environment| environment.path.as_deref());
        let key = (name.to_owned(), path.unwrap_or_default().to_owned());
        let known = self.found().get(&key).cloned();
        if known.is_some_and(|found| is_program(&found)) {
            return true;
        }
        #[cfg(test)]
        self.searches
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let sent: Vec<_> = path.into_iter().flat_map(std::env::split_paths).collect();
        let folders = if path.is_some() { &sent } else { &exec.path };
        let mut places = folders.iter().map(|folder| folder.join(name));
        let place = places.find(|path| is_program(path));
        let mut found = self.found();
        // The paths of the person's shells: few, and all the same if there are more.
        if found.len() >= MAX_FOUND {
            found.clear();
        }
        match place {
            Some(place) => drop(found.insert(key, place)),
            None => return false,
        }
        true
    }
}

impl Look<'_> {
    /// What a skill needs and a command would not have.
    pub(super) fn missing(&mut self, skill: &Skill) -> Vec<String> {
        let needs = skill.requires.iter();
        let missing = needs.filter(|need| match need.strip_prefix(VARIABLE) {
            Some(name) => !self.needs.has_variable(name, self.environment),
            None => !self.has_program(need),
        });
        missing.cloned().collect()
    }

    fn has_program(&mut self, name: &str) -> bool {
        if let Some(is_there) = self.programs.get(name) {
            return *is_there;
        }
        let is_there = self.needs.has_program(name, self.environment);
        self.programs.insert(name.to_owned(), is_there);
        is_there
    }
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let about = fs::metadata(path);
    about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
