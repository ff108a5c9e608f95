//! A skill, and what it says now (MD-16, MD-18).

use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use samovar_agents::SkillDraft;
use samovar_engine::READ_SKILL;
use samovar_locale::guide as text;
use sha2::{Digest, Sha256};

use super::file::{Fault, read};

/// The most bytes of a skill, and of another file in its folder.
pub(super) const MAX_BYTES: usize = 256 * 1024;

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
    /// Whether it is to be in every prompt in full.
    pub(super) always: bool,
    /// Where it is; `None` for one of the program.
    place: Option<Place>,
    /// The text, where it is always loaded or part of the program.
    body: Option<Arc<str>>,
}

/// A file of skills.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// From here on no link is followed.
    pub(super) root: Arc<Path>,
    /// The place of the folder with skills in it.
    pub(super) below: &'static str,
    /// The file in that folder.
    pub(super) file: PathBuf,
}

/// A skill's text, as it was read.
pub(crate) struct SkillText {
    pub(crate) text: String,
    /// The hash of the whole file, in hex.
    pub(crate) sha256: String,
}

impl Skill {
    /// Of these names the ones are always loaded that do not say so themselves.
    pub(super) fn new(
        draft: SkillDraft,
        (origin, place): (Origin, Option<Place>),
        always: &[String],
    ) -> Self {
        // What a folder says of itself decides nothing about prompts.
        let wants = draft.always && origin != Origin::Folder;
        let always = wants || always.contains(&draft.name);
        let is_kept = always || origin == Origin::BuiltIn;
        Self {
            name: draft.name,
            description: draft.description,
            requires: draft.requires,
            origin,
            always,
            place,
            body: is_kept.then(|| draft.body.into()),
        }
    }

    /// Its file, for people.
    pub(super) fn shown(&self) -> String {
        let file = self.place.as_ref().map(|place| place.file.as_path());
        file.unwrap_or(Path::new(&self.name)).display().to_string()
    }

    /// It in full, as a prompt has it.
    pub(super) fn whole(&self) -> String {
        let mark = match self.origin {
            Origin::Folder => " (of this folder)",
            Origin::Own | Origin::BuiltIn => "",
        };
        let body = self.body.as_deref().unwrap_or_default();
        format!("# Skill {}{mark}\n\n{body}", self.name)
    }

    /// It in one line, as a prompt has it.
    pub(super) fn line(&self, missing: &[String]) -> String {
        let mark = match self.origin {
            Origin::Folder => ", of this folder",
            Origin::Own | Origin::BuiltIn => "",
        };
        let how = match missing {
            [] => READ_SKILL.to_owned(),
            missing => format!("unavailable: needs {}", missing.join(", ")),
        };
        format!("{} — {} ({how}{mark})", self.name, self.description)
    }

    /// Its whole present text, or that of another file in its own folder.
    ///
    /// # Errors
    /// The skill has no folder, or the file leads out of it or cannot be read, in one sentence.
    pub(crate) fn text(&self, file: Option<&str>) -> Result<SkillText, String> {
        match (&self.place, file) {
            (Some(place), None) => place.read(&place.file),
            (None, None) => Ok(hashed(self.body.as_deref().unwrap_or_default().to_owned())),
            (place, Some(file)) => {
                let folder = place.as_ref().and_then(|it| Some((it, it.file.parent()?)));
                let folder = folder.filter(|(_, folder)| *folder != Path::new(""));
                let (place, folder) =
                    folder.ok_or_else(|| text::skill_without_files(&self.name))?;
                let is_plain = |step| matches!(step, Component::Normal(_));
                if !Path::new(file).components().all(is_plain) {
                    return Err(text::skill_file_outside(&self.name));
                }
                place.read(&folder.join(file))
            }
        }
    }
}

impl Place {
    fn read(&self, file: &Path) -> Result<SkillText, String> {
        let name = Path::new(self.below).join(file);
        let content = read(&self.root, &name.to_string_lossy(), MAX_BYTES);
        let content = content.map_err(|fault| sentence(file, &fault))?;
        if content.left_out > 0 {
            return Err(text::skill_too_large(file.display(), MAX_BYTES as u64));
        }
        Ok(hashed(content.text))
    }
}

/// Why a file is no skill.
pub(super) fn sentence(file: &Path, fault: &Fault) -> String {
    match fault {
        Fault::Unreadable(cause) => text::skill_unreadable(file.display(), cause),
        Fault::NotText => text::skill_not_text(file.display()),
        Fault::Meaningless(why) => why.clone(),
    }
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
