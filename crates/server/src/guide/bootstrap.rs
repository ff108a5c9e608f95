//! `SOUL.md`, `USER.md` and `AGENTS.md`: who agents are, for which person they work, and how (MD-6, MD-22).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use samovar_locale::guide as text;

use super::file::{Content, Fault, Watched};
use crate::config::GuideConfig;

/// The most bytes of such a file that agents are told.
const MAX_BYTES: usize = 64 * 1024;
/// The folder with a folder for each agent that has its own files.
const SETS: &str = "agents";

/// Such a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Soul,
    User,
    Agents,
}

impl Name {
    pub(super) const ALL: [Self; 3] = [Self::Soul, Self::User, Self::Agents];

    pub(super) fn file(self) -> &'static str {
        match self {
            Self::Soul => "SOUL.md",
            Self::User => "USER.md",
            Self::Agents => "AGENTS.md",
        }
    }
}

/// The files, as they were last seen.
#[derive(Debug)]
pub(super) struct Bootstrap {
    /// Where they are, the folder that counts most first.
    folders: Vec<PathBuf>,
    seen: BTreeMap<PathBuf, Watched<String>>,
}

impl Bootstrap {
    pub(super) fn new(config: &GuideConfig) -> Self {
        let folders = [&config.bootstrap, &config.own].into_iter().flatten();
        Self {
            folders: folders.cloned().collect(),
            seen: BTreeMap::new(),
        }
    }

    /// What a file of an agent's own set says.
    pub(super) fn of_agent(&mut self, agent: &str, name: Name) -> Option<String> {
        // A definition's name has no character that leads elsewhere; this holds for any name.
        if agent.contains(['/', '\0']) || agent.starts_with('.') {
            return None;
        }
        self.first(&format!("{SETS}/{agent}/{}", name.file()))
            .map(|(_, text)| text)
    }

    /// What a file says to all agents, and where it is.
    pub(super) fn of_all(&mut self, name: Name) -> Option<(PathBuf, String)> {
        self.first(name.file())
    }

    /// The first of the folders in which a file says something.
    fn first(&mut self, name: &str) -> Option<(PathBuf, String)> {
        let folders = self.folders.clone();
        folders.iter().find_map(|folder| {
            let path = folder.join(name);
            let seen = self.seen.entry(path.clone()).or_default();
            let is_bad = seen.look(folder, name, MAX_BYTES, |content| Ok(said(name, &content)));
            if let Some(fault) = seen.fault().filter(|_| is_bad) {
                let why = sentence(&path, fault);
                tracing::warn!(%why, "a file for agents cannot be used");
            }
            let said = seen.content().map(|said| String::clone(said));
            if !seen.is_there() {
                self.seen.remove(&path);
            }
            Some((path, said.filter(|said| !said.is_empty())?))
        })
    }

    /// Why files cannot be used as they are now, a sentence each.
    pub(super) fn problems(&self) -> impl Iterator<Item = String> {
        let seen = self.seen.iter();
        seen.filter_map(|(path, seen)| Some(sentence(path, seen.fault()?)))
    }

    /// How often files were read so far.
    #[cfg(test)]
    pub(super) fn reads(&self) -> u64 {
        self.seen.values().map(|seen| seen.reads).sum()
    }
}

fn sentence(path: &Path, fault: &Fault) -> String {
    match fault {
        Fault::Unreadable(cause) => text::unreadable(path.display(), cause),
        Fault::NotText => text::not_text(path.display()),
        Fault::Meaningless(why) => why.clone(),
    }
}

/// What agents are told of a file.
fn said(name: &str, content: &Content) -> String {
    let said = without_comment(&content.text).trim();
    match content.left_out {
        0 => said.to_owned(),
        bytes => format!("{said}\n\n{}", text::left_out(bytes, name)),
    }
}

/// A text without the comment that it begins with, as `init` writes one.
fn without_comment(text: &str) -> &str {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_start();
    let after = text
        .strip_prefix("<!--")
        .and_then(|text| text.split_once("-->"));
    after.map_or(text, |(_, after)| after)
}
