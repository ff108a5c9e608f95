//! Which values are keys: what must leave the environment, and what is never shown (TL-14).

use std::ffi::OsString;

use crate::environment;
use crate::keys::Key;
use crate::origin::Origin;
use crate::proxies;
use crate::resolve::{Resolved, Sources};
use crate::settings::Secret;

impl Sources {
    /// The variables whose values are keys, or URLs with a password.
    pub fn secret_variables(&self) -> Vec<(OsString, OsString)> {
        let is_secret = |name: &str, value: &str| {
            if proxies::NAMES.iter().flatten().any(|known| *known == name) {
                return password_of(value).is_some();
            }
            let mut named = self.keys.iter();
            let key = named.find(|key| key.variables.iter().any(|variable| variable == name));
            key.is_some_and(|key| secret_of(key, value).is_some())
        };
        let variables = self.environment.iter().filter(|(name, value)| {
            let name = name.to_str();
            name.is_some_and(|name| is_secret(name, &value.to_string_lossy()))
        });
        variables.cloned().collect()
    }
}

impl Resolved {
    /// Every key that a source gives, also one that another source overrides, with the name of its
    /// variable or setting.
    pub fn secrets(&self) -> Vec<(String, Secret)> {
        let names = self.given.keys();
        names.flat_map(|name| self.secrets_of(name)).collect()
    }

    /// Those that the sources give for one setting, the one that counts first.
    pub fn secrets_of(&self, setting: &str) -> Vec<(String, Secret)> {
        let (Some(values), Some(key)) = (self.given.get(setting), self.keys().get(setting)) else {
            return Vec::new();
        };
        let named = values.iter().filter_map(|given| {
            let secret = secret_of(key, given.value.as_str()?)?;
            let name = match &given.origin {
                Origin::Variable { name } => name,
                Origin::Flag { .. } | Origin::Here(_) | Origin::User(_) | Origin::Default => {
                    setting
                }
            };
            Some((name.to_owned(), secret))
        });
        named.collect()
    }
}

/// What is secret in a value of a key.
fn secret_of(key: &Key, value: &str) -> Option<Secret> {
    if environment::is_blank_text(value) {
        return None;
    }
    if key.is_secret {
        return Some(Secret::new(value));
    }
    key.is_endpoint().then(|| password_of(value)).flatten()
}

/// The password in an address.
fn password_of(address: &str) -> Option<Secret> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (user, _) = rest[..end].rsplit_once('@')?;
    let (_, password) = user.split_once(':').unwrap_or(("", user));
    Some(Secret::new(password))
}
