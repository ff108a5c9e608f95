//! What the environment and the command line say.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};

use crate::error::{ConfigError, Problem};
use crate::keys::{Key, Keys, VARIABLE_PREFIX};
use crate::kind::ValueError;
use crate::layer::{Layer, LayerValue};
use crate::nearest::nearest;
use crate::origin::Origin;

/// A flag that was typed.
#[derive(Clone)]
pub struct Flag {
    /// As it is typed: `--model`.
    pub name: &'static str,
    /// The key that it sets.
    pub key: &'static str,
    /// What was given.
    pub value: OsString,
}

/// What the flags say.
pub(crate) fn of_flags(keys: &Keys, flags: &[Flag]) -> Result<Layer, ConfigError> {
    let mut layer = Layer::new();
    for flag in flags {
        let name = flag.name.to_owned();
        let key = keys.get(flag.key).ok_or_else(|| {
            let problem = Problem::UnknownKey {
                name: flag.key.to_owned(),
                nearest: None,
            };
            ConfigError::new(Origin::Flag { name: name.clone() }, problem)
        })?;
        layer.push(read(key, &flag.value, Origin::Flag { name })?);
    }
    Ok(layer)
}

/// What the variables say, those of one key in the order in which they count.
pub(crate) fn of_variables(
    keys: &Keys,
    environment: &[(OsString, OsString)],
) -> Result<Layer, ConfigError> {
    let set: HashMap<&OsStr, &OsStr> = environment
        .iter()
        .filter(|(_, value)| !is_blank(value))
        .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
        .collect();
    refuse_unknown(keys, &set)?;
    let mut layer = Layer::new();
    for key in keys.iter() {
        for name in &key.variables {
            if let Some(value) = set.get(OsStr::new(name)) {
                let origin = Origin::Variable { name: name.clone() };
                layer.push(read(key, value, origin)?);
            }
        }
    }
    Ok(layer)
}

fn refuse_unknown(keys: &Keys, set: &HashMap<&OsStr, &OsStr>) -> Result<(), ConfigError> {
    let ours = |name: &str| name.strip_prefix(VARIABLE_PREFIX).map(str::to_owned);
    let names = || keys.iter().filter_map(|key| ours(key.variables.first()?));
    let mut unknown: Vec<String> = set
        .keys()
        .filter_map(|name| ours(&name.to_string_lossy()))
        .filter(|name| !names().any(|known| known == *name))
        .collect();
    // The order of the environment is nobody's.
    unknown.sort_unstable();
    match unknown.into_iter().next() {
        Some(name) => {
            let known: Vec<_> = names().collect();
            let nearest = nearest(&name, known.iter().map(String::as_str));
            let whole = |name: String| format!("{VARIABLE_PREFIX}{name}");
            let (name, nearest) = (whole(name), nearest.map(whole));
            Err(Problem::UnknownVariable { name, nearest }.into())
        }
        None => Ok(()),
    }
}

fn read(key: &Key, value: &OsStr, origin: Origin) -> Result<LayerValue, ConfigError> {
    // What is no text is not repeated: it may be a key.
    let Some(text) = value.to_str() else {
        return Err(ConfigError::new(origin, Problem::NotText));
    };
    let read = key.kind.parse(text).map_err(|wrong| match wrong {
        ValueError::Type => Problem::misread(key, text),
        ValueError::Value => Problem::wrong_value(key, text),
    });
    match read {
        Ok(value) => Ok(LayerValue {
            key: key.name.clone(),
            value,
            origin,
        }),
        Err(problem) => Err(ConfigError::new(origin, problem)),
    }
}

fn is_blank(value: &OsStr) -> bool {
    value.to_str().is_some_and(is_blank_text)
}

/// Whether a value counts as not given.
pub(crate) fn is_blank_text(value: &str) -> bool {
    value.trim().is_empty()
}
