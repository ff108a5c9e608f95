//! Puts the sources together: what holds, and where each value comes from.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use samovar_locale as locale;
use serde_json::{Map, Value};

use crate::document;
use crate::environment::{self, Flag};
use crate::error::{ConfigError, Problem};
use crate::explain::Explained;
use crate::file::{self, Content};
use crate::folders::Folders;
use crate::keys::{Key, Keys};
use crate::kind::Kind;
use crate::layer::{Layer, LayerValue};
use crate::origin::{Origin, Owner};
use crate::settings::Settings;
use crate::trust::Trust;

/// The name of a configuration file.
pub const FILE_NAME: &str = "samovar.toml";

/// What there is to be read. Nothing else is: neither the environment nor the current folder of
/// the process. Secrets are among it, so it cannot be printed.
#[derive(Clone, Default)]
pub struct Sources {
    /// What was typed.
    pub flags: Vec<Flag>,
    /// Every variable.
    pub environment: Vec<(OsString, OsString)>,
    /// The current folder, as an absolute path.
    pub here: PathBuf,
    /// The keys that there are.
    pub keys: Arc<Keys>,
}

/// The configuration, and where each value comes from.
#[derive(Clone)]
pub struct Resolved {
    /// What holds.
    pub settings: Settings,
    /// Where this user's own files are.
    pub folders: Folders,
    keys: Arc<Keys>,
    /// What the sources say of each key, what counts most first.
    pub(crate) given: BTreeMap<String, Vec<LayerValue>>,
}

impl Sources {
    /// Where this user's own files are.
    pub fn folders(&self) -> Folders {
        Folders::of(&self.environment)
    }

    /// Reads everything, and says what holds.
    ///
    /// # Errors
    /// [`ConfigError`]: the first mistake of the source that counts most, and keys in the file of
    /// this folder that may not be set there.
    pub fn resolve(&self) -> Result<Resolved, ConfigError> {
        self.resolve_with(|folders| self.read_here(folders))
    }

    /// Reads everything but the file of the current folder, before that one is known to be a person's.
    ///
    /// # Errors
    /// [`ConfigError`]: the first mistake of the source that counts most.
    pub fn resolve_without_folder(&self) -> Result<Resolved, ConfigError> {
        self.resolve_with(|_| Ok(None))
    }

    fn resolve_with(
        &self,
        read_here: impl FnOnce(&Folders) -> Result<Option<Content>, ConfigError>,
    ) -> Result<Resolved, ConfigError> {
        let (keys, folders) = (self.keys.clone(), self.folders());
        let mut layers = vec![
            environment::of_flags(&keys, &self.flags)?,
            environment::of_variables(&keys, &self.environment)?,
        ];
        let here = read_here(&folders)?;
        if let Some(content) = &here {
            let layer = read_file(&keys, &Owner::Here(content.path.clone()), content)?;
            Trust::of(&folders).admit(&keys, content, &layer)?;
            layers.push(layer);
        }
        if let Some(content) = read_user(&folders)? {
            layers.push(read_file(
                &keys,
                &Owner::User(content.path.clone()),
                &content,
            )?);
        }
        let mut given: BTreeMap<String, Vec<LayerValue>> = BTreeMap::new();
        for mut one in layers.into_iter().flatten() {
            if let (Some(Kind::Folder | Kind::File), Some(written)) =
                (keys.get(&one.key).map(|key| &key.kind), one.value.as_str())
            {
                let path = folders.absolute(written, base(&one.origin, &self.here));
                // A path that is not text would name another folder once it is one.
                let Some(path) = path.to_str() else {
                    return Err(ConfigError::new(one.origin, Problem::NotText));
                };
                one.value = path.into();
            }
            given.entry(one.key.clone()).or_default().push(one);
        }
        let settings = settings(&given)?;
        Ok(Resolved {
            settings,
            folders,
            keys,
            given,
        })
    }

    /// The file of the current folder; none where that file is the user's own.
    pub(crate) fn read_here(&self, folders: &Folders) -> Result<Option<Content>, ConfigError> {
        if is_user_folder(&self.here, folders) {
            return Ok(None);
        }
        // A link as the last name is followed, and what it leads to is trusted in this folder alone.
        let folder = self
            .here
            .canonicalize()
            .unwrap_or_else(|_| self.here.clone());
        Ok(file::read(&folder.join(FILE_NAME))?)
    }
}

fn is_user_folder(here: &Path, folders: &Folders) -> bool {
    let ours = folders
        .config
        .as_ref()
        .and_then(|dir| dir.canonicalize().ok());
    ours.is_some() && ours == here.canonicalize().ok()
}

pub(crate) fn read_user(folders: &Folders) -> Result<Option<Content>, ConfigError> {
    match &folders.config {
        Some(dir) => Ok(file::read(&dir.join(FILE_NAME))?),
        None => Ok(None),
    }
}

pub(crate) fn read_file(
    keys: &Keys,
    whose: &Owner,
    content: &Content,
) -> Result<Layer, ConfigError> {
    document::read(keys, whose, &content.text)
}

/// Where relative paths begin: at the file that they stand in, else in the current folder.
fn base<'a>(origin: &'a Origin, here: &'a Path) -> &'a Path {
    match origin {
        Origin::Here(place) | Origin::User(place) => place.file.parent().unwrap_or(here),
        Origin::Flag { .. } | Origin::Variable { .. } | Origin::Default => here,
    }
}

/// The types from what counts most at each key.
fn settings(given: &BTreeMap<String, Vec<LayerValue>>) -> Result<Settings, ConfigError> {
    let mut root = Map::new();
    for first in given.values().filter_map(|given| given.first()) {
        let mut names = first.key.split('.').peekable();
        let mut table = &mut root;
        while let Some(name) = names.next() {
            if names.peek().is_none() {
                table.insert(name.to_owned(), first.value.clone());
                break;
            }
            let below = table.entry(name).or_insert_with(|| Map::new().into());
            let Value::Object(below) = below else { break };
            table = below;
        }
    }
    // Each value was held against its kind, which the types are the source of.
    serde_json::from_value(Value::Object(root)).map_err(|_| {
        let why = locale::config::types_unusable().to_owned();
        Problem::Unreadable {
            file: FILE_NAME.into(),
            why,
        }
        .into()
    })
}

impl Resolved {
    /// Where the value of a key comes from.
    pub fn origin(&self, key: &str) -> Origin {
        let first = self.given.get(key).and_then(|given| given.first());
        first.map_or(Origin::Default, |given| given.origin.clone())
    }

    /// The keys that there are.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// What a key is, and where its value comes from. `asked` may also be spelled as elsewhere
    /// (`defaults.maxTokens`), or be a variable's name.
    ///
    /// # Errors
    /// [`Problem::UnknownKey`] with the nearest name.
    pub fn explain(&self, asked: &str) -> Result<Explained, ConfigError> {
        let key = self.keys.find(asked).ok_or_else(|| {
            let (name, nearest) = (
                asked.to_owned(),
                crate::nearest::nearest_key(&self.keys, asked),
            );
            ConfigError::from(Problem::UnknownKey { name, nearest })
        })?;
        if key.is_of_any && self.keys.get(asked) == Some(key) {
            return Ok(self.explained(&key.named(asked)));
        }
        Ok(self.explained(key))
    }

    /// Every key, except those of providers that are not set up; keys of a table with free names
    /// are listed under each given name.
    pub fn rows(&self) -> impl Iterator<Item = Explained> {
        let is_shown = |key: &&Key| {
            let is_fixed = !key.is_of_any && !key.name.starts_with("providers.");
            is_fixed || self.given.contains_key(&key.name)
        };
        let known = self.keys.iter().filter(is_shown);
        let named = self.given.keys().filter_map(|name| {
            let key = self.keys.get(name)?;
            (key.name != *name).then(|| self.explained(&key.named(name)))
        });
        known.map(|key| self.explained(key)).chain(named)
    }

    fn explained(&self, key: &Key) -> Explained {
        let given = self.given.get(&key.name).map_or(&[][..], Vec::as_slice);
        Explained::new(key, given)
    }
}
