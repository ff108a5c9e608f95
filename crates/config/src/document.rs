//! Reads a configuration file: each key's value, and the line it is on.

use std::borrow::Cow;

use samovar_locale as locale;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use crate::error::{ConfigError, Problem};
use crate::keys::{Key, Keys, joined};
use crate::kind::ValueError;
use crate::layer::{Layer, LayerValue};
use crate::nearest::nearest_key;
use crate::origin::{Origin, Owner};

/// What some editors begin a file with, and do not count as a column.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A value as it stands in a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Raw {
    Text(String),
    /// None where it has more digits than any of ours.
    Integer(Option<i64>),
    Float(f64),
    Switch(bool),
    /// Texts alone.
    List(Vec<String>),
    /// What no key takes, in words.
    Other(String),
}

impl Raw {
    fn of(value: &DeValue<'_>) -> Self {
        match value {
            DeValue::String(text) => Self::Text(text.clone().into_owned()),
            DeValue::Integer(number) => Self::Integer(whole(number)),
            // A float that no f64 holds is as wrong as one that is no number.
            DeValue::Float(number) => Self::Float(number.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(on) => Self::Switch(*on),
            DeValue::Datetime(_) => Self::Other(locale::config::found_date().to_owned()),
            DeValue::Array(values) => {
                let text =
                    |value: &Spanned<DeValue<'_>>| value.get_ref().as_str().map(str::to_owned);
                let texts: Option<Vec<String>> = values.iter().map(text).collect();
                let other = || Self::Other(locale::config::found_list().to_owned());
                texts.map_or_else(other, Self::List)
            }
            DeValue::Table(_) => Self::Other(locale::config::found_table().to_owned()),
        }
    }

    /// What it is, in words.
    fn words(&self) -> String {
        match self {
            Self::Text(_) => locale::config::found_text().to_owned(),
            Self::Integer(_) => locale::config::found_integer().to_owned(),
            Self::Float(_) => locale::config::found_number().to_owned(),
            Self::Switch(_) => locale::config::found_switch().to_owned(),
            Self::List(_) => locale::config::found_list().to_owned(),
            Self::Other(words) => words.clone(),
        }
    }
}

fn whole(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// Reads a file's text.
pub(crate) fn read(keys: &Keys, whose: &Owner, text: &str) -> Result<Layer, ConfigError> {
    let reader = Reader { keys, whose, text };
    let document = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        // The rest of what the parser says repeats the line, and with it a key that stands there.
        let said = error.message().to_owned();
        reader.refuse(at, Problem::Syntax { said })
    })?;
    let mut layer = Layer::default();
    reader.table(document.get_ref(), "", &mut layer)?;
    Ok(layer)
}

struct Reader<'a> {
    keys: &'a Keys,
    whose: &'a Owner,
    text: &'a str,
}

impl Reader<'_> {
    fn table(
        &self,
        table: &DeTable<'_>,
        above: &str,
        layer: &mut Layer,
    ) -> Result<(), ConfigError> {
        let mut rows: Vec<_> = table.iter().collect();
        // The first mistake of the file is the one that is told.
        rows.sort_unstable_by_key(|(name, _)| name.span().start);
        for (name, value) in rows {
            let at = name.span().start;
            let path = joined(above, &spelled(name.get_ref()));
            if let Some(key) = self.keys.get(&path) {
                layer.push(self.value(&key.named(&path), at, value)?);
            } else if self.keys.has_table(&path) {
                match value.get_ref() {
                    DeValue::Table(below) => self.table(below, &path, layer)?,
                    other => {
                        let found = Raw::of(other).words();
                        let right = locale::config::kind_table(&path);
                        let wrong = Problem::WrongType {
                            key: path,
                            found,
                            right,
                        };
                        return Err(self.refuse(at, wrong));
                    }
                }
            } else {
                let nearest = nearest_key(self.keys, &path);
                return Err(self.refuse(
                    at,
                    Problem::UnknownKey {
                        name: path,
                        nearest,
                    },
                ));
            }
        }
        Ok(())
    }

    fn value(
        &self,
        key: &Key,
        at: usize,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<LayerValue, ConfigError> {
        let raw = Raw::of(value.get_ref());
        let read = key.kind.read(&raw).map_err(|wrong| match wrong {
            ValueError::Type => self.refuse(at, Problem::wrong_type(key, raw.words())),
            ValueError::Value => {
                let written = || self.text.get(value.span()).unwrap_or_default();
                let found = value.get_ref().as_str().unwrap_or_else(written);
                self.refuse(at, Problem::wrong_value(key, found))
            }
        })?;
        Ok(LayerValue {
            key: key.name.clone(),
            value: read,
            origin: self.origin(at),
        })
    }

    fn refuse(&self, at: usize, problem: Problem) -> ConfigError {
        ConfigError::new(self.origin(at), problem)
    }

    fn origin(&self, at: usize) -> Origin {
        let before = self.text.get(..at).unwrap_or(self.text);
        let before = before.trim_start_matches(BYTE_ORDER_MARK);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count()
            + 1;
        self.whose.at(line, column)
    }
}

/// A name as it is written in TOML, so that a dot in it is not taken for one between two names.
fn spelled(name: &str) -> Cow<'_, str> {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_bare) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("{name:?}"))
    }
}
