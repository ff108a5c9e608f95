//! The kinds of value a key can have, and what makes a value wrong.

use std::fmt;
use std::net::IpAddr;

use samovar_locale as locale;
use serde_json::{Map, Number, Value};

use crate::document::Raw;

/// The kind of value that a key accepts.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Text of so many characters, without control characters.
    Text {
        /// Characters, at least.
        min: u64,
        /// Characters, at most.
        max: u64,
    },
    /// Text of so many characters, with lines but without other control characters.
    Prose {
        /// Characters, at most.
        max: u64,
    },
    /// The path of a folder: relative ones begin where they are written, `~/` at home.
    Folder,
    /// The path of a file or of a folder with it, written in the same way.
    File,
    /// An IP address.
    Address,
    /// A whole number.
    Integer {
        /// The smallest.
        min: i64,
        /// The largest.
        max: i64,
    },
    /// A number.
    Number {
        /// The smallest.
        min: f64,
        /// The largest.
        max: f64,
    },
    /// True or false.
    Switch,
    /// One of these words.
    Choice(Vec<String>),
    /// So many texts at most, each of so many characters, without control characters.
    List {
        /// Texts, at most.
        count: u64,
        /// Characters of one, at least.
        min: u64,
        /// Characters of one, at most.
        max: u64,
    },
    /// A JSON object, as text.
    Json {
        /// Characters, at most.
        max: u64,
    },
}

/// What is wrong with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueError {
    /// It is something else.
    Type,
    /// It is the right thing, and too much or too little of it, or not one of those there are.
    Value,
}

impl Kind {
    /// What a schema lets stand; none for a schema of another shape.
    pub(crate) fn of(schema: &Value) -> Option<Self> {
        if let Some(words) = words(schema) {
            return Some(Self::Choice(words));
        }
        match (schema["type"].as_str()?, schema["format"].as_str()) {
            ("string", Some("path")) if schema["x-file"] == true => Some(Self::File),
            ("string", Some("path")) => Some(Self::Folder),
            ("string", Some("ip")) => Some(Self::Address),
            ("string", None) if schema["contentMediaType"] == "application/json" => {
                Some(Self::Json {
                    max: schema["maxLength"].as_u64()?,
                })
            }
            ("string", None) if schema["contentMediaType"] == "text/plain" => Some(Self::Prose {
                max: schema["maxLength"].as_u64()?,
            }),
            ("string", None) => Some(Self::Text {
                min: schema["minLength"].as_u64()?,
                max: schema["maxLength"].as_u64()?,
            }),
            ("integer", None) => Some(Self::Integer {
                min: schema["minimum"].as_i64()?,
                max: schema["maximum"].as_i64()?,
            }),
            ("number", None) => Some(Self::Number {
                min: schema["minimum"].as_f64()?,
                max: schema["maximum"].as_f64()?,
            }),
            ("boolean", None) => Some(Self::Switch),
            ("array", None) => Some(Self::List {
                count: schema["maxItems"].as_u64()?,
                min: schema["items"]["minLength"].as_u64()?,
                max: schema["items"]["maxLength"].as_u64()?,
            }),
            _ => None,
        }
    }

    /// A value that a file gives.
    pub(crate) fn read(&self, raw: &Raw) -> Result<Value, ValueError> {
        let value = match (self, raw) {
            (
                Self::Text { .. }
                | Self::Prose { .. }
                | Self::Folder
                | Self::File
                | Self::Address
                | Self::Choice(_)
                | Self::Json { .. },
                Raw::Text(text),
            ) => Value::from(text.as_str()),
            (Self::Integer { .. } | Self::Number { .. }, Raw::Integer(Some(number))) => {
                Value::from(*number)
            }
            // More digits than any of our numbers has.
            (Self::Integer { .. } | Self::Number { .. }, Raw::Integer(None)) => {
                return Err(ValueError::Value);
            }
            (Self::Number { .. }, Raw::Float(number)) => {
                Value::from(Number::from_f64(*number).ok_or(ValueError::Value)?)
            }
            (Self::Switch, Raw::Switch(on)) => Value::from(*on),
            (Self::List { .. }, Raw::List(texts)) => Value::from(texts.as_slice()),
            (
                Self::Text { .. }
                | Self::Prose { .. }
                | Self::Folder
                | Self::File
                | Self::Address
                | Self::Integer { .. }
                | Self::Number { .. }
                | Self::Switch
                | Self::Choice(_)
                | Self::List { .. }
                | Self::Json { .. },
                Raw::Text(_)
                | Raw::Integer(_)
                | Raw::Float(_)
                | Raw::Switch(_)
                | Raw::List(_)
                | Raw::Other(_),
            ) => return Err(ValueError::Type),
        };
        self.check(value)
    }

    /// A value that a variable or a flag gives, where everything is text.
    pub(crate) fn parse(&self, text: &str) -> Result<Value, ValueError> {
        let raw = match self {
            Self::Text { .. }
            | Self::Prose { .. }
            | Self::Address
            | Self::Choice(_)
            | Self::Json { .. } => Raw::Text(text.trim().to_owned()),
            Self::Folder | Self::File => Raw::Text(text.to_owned()),
            Self::Integer { .. } => Raw::Integer(whole(text.trim())?),
            Self::Number { .. } => Raw::Float(text.trim().parse().map_err(|_| ValueError::Type)?),
            Self::Switch => Raw::Switch(switch(text.trim())?),
            Self::List { .. } => {
                let texts = text.split(',').map(str::trim);
                let texts = texts.filter(|text| !text.is_empty());
                Raw::List(texts.map(str::to_owned).collect())
            }
        };
        self.read(&raw)
    }

    fn check(&self, value: Value) -> Result<Value, ValueError> {
        let text = value.as_str().unwrap_or_default();
        let is_right = match self {
            Self::Text { min, max } => is_text(text, *min, *max),
            Self::Prose { max } => {
                let has_lines = |c: char| matches!(c, '\n' | '\r' | '\t');
                text.chars().count() as u64 <= *max
                    && text.chars().any(|c| !c.is_whitespace())
                    && text.chars().all(|c| !c.is_control() || has_lines(c))
            }
            Self::Folder | Self::File => !text.trim().is_empty() && is_plain(text),
            Self::Address => text.parse::<IpAddr>().is_ok(),
            Self::Integer { min, max } => value
                .as_i64()
                .is_some_and(|number| (*min..=*max).contains(&number)),
            Self::Number { min, max } => value
                .as_f64()
                .is_some_and(|number| (*min..=*max).contains(&number)),
            Self::Switch => true,
            Self::List { count, min, max } => {
                let texts = value.as_array().map(Vec::as_slice).unwrap_or_default();
                let mut texts = texts.iter().filter_map(Value::as_str);
                texts.clone().count() as u64 <= *count
                    && texts.all(|text| is_text(text, *min, *max))
            }
            Self::Choice(words) => words.iter().any(|word| word == text),
            Self::Json { max } => {
                text.chars().count() as u64 <= *max
                    && serde_json::from_str::<Map<String, Value>>(text).is_ok()
            }
        };
        is_right.then_some(value).ok_or(ValueError::Value)
    }
}

/// What may stand there, as the end of a sentence: `give a whole number from 1 to 20`.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self {
            Self::Text { min, max } => locale::config::kind_text(min, max),
            Self::Prose { max } => locale::config::kind_prose(max),
            Self::Folder => locale::config::kind_folder().to_owned(),
            Self::File => locale::config::kind_file().to_owned(),
            Self::Address => locale::config::kind_address().to_owned(),
            Self::Integer { min, max } => locale::config::kind_integer(min, max),
            Self::Number { min, max } => locale::config::kind_number(min, max),
            Self::Switch => locale::config::kind_switch().to_owned(),
            Self::Choice(words) if words.len() == 1 => locale::config::kind_choice_only(&words[0]),
            Self::Choice(words) => locale::config::kind_choice(words.join(", ")),
            Self::List { count, min, max } => locale::config::kind_list(count, min, max),
            Self::Json { max } => locale::config::kind_json(max),
        })
    }
}

/// The words that a schema lists, with or without a description of each.
fn words(schema: &Value) -> Option<Vec<String>> {
    let listed = schema["oneOf"].as_array();
    let listed = listed.or_else(|| schema["enum"].as_array())?;
    let word = |one: &Value| one.get("const").unwrap_or(one).as_str().map(str::to_owned);
    listed.iter().map(word).collect()
}

fn is_text(text: &str, min: u64, max: u64) -> bool {
    (min..=max).contains(&(text.chars().count() as u64)) && is_plain(text)
}

fn is_plain(text: &str) -> bool {
    !text.contains(char::is_control)
}

/// A whole number in decimal; none when it has more digits than any of ours.
fn whole(text: &str) -> Result<Option<i64>, ValueError> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).ok_or(ValueError::Type)
}

fn switch(text: &str) -> Result<bool, ValueError> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err(ValueError::Type),
    }
}
