//! What is wrong with a configuration: where, what, and what would be right.

use std::fmt;
use std::path::PathBuf;

use samovar_locale as locale;

use crate::keys::Key;
use crate::origin::Origin;
use crate::settings::MASK;

/// Characters of a wrong value, or of a wrong name, that are repeated.
const SHOWN_CHARS: usize = 60;
/// Keys that are named where many are wrong.
const SHOWN_KEYS: usize = 8;

/// One mistake in the configuration; nothing is started with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Its source; `None` if it has several.
    pub origin: Option<Origin>,
    /// What is wrong.
    pub problem: Box<Problem>,
}

/// What is wrong. No value of a key that is secret is in it, nor one that was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A file is there and cannot be read.
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// The text of a file is no TOML.
    Syntax {
        /// What the parser says, without the line.
        said: String,
    },
    /// There is no such key.
    UnknownKey {
        /// The name as it was written.
        name: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// There is no such variable.
    UnknownVariable {
        /// The name as it was set.
        name: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// A value is something else than what stands there.
    WrongType {
        /// The key.
        key: String,
        /// What it is, in words.
        found: String,
        /// What would be right.
        right: String,
    },
    /// A value is out of bounds, or none of the words there are.
    WrongValue {
        /// The key.
        key: String,
        /// The value, masked where it is secret.
        found: String,
        /// What would be right.
        right: String,
    },
    /// A variable or a flag holds bytes that are no text.
    NotText,
    /// Keys that open something, in the file of a folder that nobody trusts.
    Untrusted {
        /// The keys, in the order of the file.
        keys: Vec<String>,
    },
    /// There is no folder in which this user's configuration is kept.
    Homeless,
    /// The list of trusted files cannot be written.
    Unwritable {
        /// The file.
        file: PathBuf,
        /// Why.
        why: String,
    },
}

impl ConfigError {
    pub(crate) fn new(origin: Origin, problem: Problem) -> Self {
        Self {
            origin: Some(origin),
            problem: Box::new(problem),
        }
    }

    /// A value of the right type that cannot be used; `right` says what can.
    pub fn unusable(origin: Origin, key: &Key, found: &str, right: &str) -> Self {
        let problem = Problem::WrongValue {
            key: key.name.clone(),
            found: shown(key, found),
            right: right.to_owned(),
        };
        Self::new(origin, problem)
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match *self.problem {
            Problem::Unreadable { .. } => "config_unreadable",
            Problem::Syntax { .. } => "config_syntax",
            Problem::UnknownKey { .. } | Problem::UnknownVariable { .. } => "config_unknown_key",
            Problem::WrongType { .. } => "config_wrong_type",
            Problem::WrongValue { .. } => "config_wrong_value",
            Problem::NotText => "config_not_text",
            Problem::Untrusted { .. } => "config_untrusted",
            Problem::Homeless => "config_homeless",
            Problem::Unwritable { .. } => "config_unwritable",
        }
    }
}

impl From<Problem> for ConfigError {
    fn from(problem: Problem) -> Self {
        Self {
            origin: None,
            problem: Box::new(problem),
        }
    }
}

impl Problem {
    pub(crate) fn wrong_type(key: &Key, found: String) -> Self {
        Self::WrongType {
            key: key.name.clone(),
            found,
            right: key.kind.to_string(),
        }
    }

    /// Text that cannot be read as what the key wants.
    pub(crate) fn misread(key: &Key, text: &str) -> Self {
        Self::wrong_type(key, shown(key, text))
    }

    /// `found` is the value as it was written.
    pub(crate) fn wrong_value(key: &Key, found: &str) -> Self {
        Self::WrongValue {
            key: key.name.clone(),
            found: shown(key, found),
            right: key.kind.to_string(),
        }
    }
}

impl std::error::Error for ConfigError {}

/// One line: the place, what stands there, what to do.
impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Some(origin) => f.write_str(&locale::config::at(origin, &self.problem)),
            None => self.problem.fmt(f),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self {
            Self::Unreadable { file, why } => locale::config::unreadable(file.display(), why),
            Self::Syntax { said } => locale::config::syntax(said),
            Self::UnknownKey { name, nearest } => match nearest {
                Some(nearest) => locale::config::unknown_key_near(cut(name), nearest),
                None => locale::config::unknown_key(cut(name)),
            },
            Self::UnknownVariable { name, nearest } => match nearest {
                Some(nearest) => locale::config::unknown_variable_near(cut(name), nearest),
                None => locale::config::unknown_variable(cut(name)),
            },
            Self::WrongType { key, found, right } | Self::WrongValue { key, found, right } => {
                locale::config::wrong_value(key, found, right)
            }
            Self::NotText => locale::config::not_text().to_owned(),
            Self::Untrusted { keys } => locale::config::untrusted(listed(keys)),
            Self::Homeless => locale::config::homeless().to_owned(),
            Self::Unwritable { file, why } => locale::config::unwritable(file.display(), why),
        })
    }
}

/// A value as it may be repeated.
fn shown(key: &Key, found: &str) -> String {
    if key.is_endpoint() {
        return cut(&locale::without_secrets(found));
    }
    let is_number = found
        .chars()
        .all(|c| c.is_ascii_digit() || ".-+".contains(c));
    match (key.is_secret, is_number && found.len() <= SHOWN_CHARS) {
        (true, _) => MASK.to_owned(),
        (false, true) if !found.is_empty() => found.to_owned(),
        (false, _) => cut(found),
    }
}

/// The beginning of a text on one line, in quotation marks.
fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

fn listed(keys: &[String]) -> String {
    let shown = keys.iter().take(SHOWN_KEYS).map(String::as_str);
    let shown = shown.collect::<Vec<_>>().join(", ");
    match keys.len().saturating_sub(SHOWN_KEYS) {
        0 => shown,
        more => locale::config::more_keys(shown, more),
    }
}
