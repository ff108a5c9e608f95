//! Titles of sessions.

use samovar_locale as locale;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::checked::checked_text;
use crate::error::{Code, Error};

/// Maximum length of a title, in bytes of UTF-8.
pub const MAX_TITLE_BYTES: usize = 256;

/// A session's title: at most [`MAX_TITLE_BYTES`] without control characters and surrounding white
/// space. An empty one means no title.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Title(String);

impl Title {
    /// Takes a title and trims white space.
    ///
    /// # Errors
    /// [`Code::InvalidParams`] when it is too long or contains a control character.
    pub fn new(raw: &str) -> Result<Self, Error> {
        let title = raw.trim();
        if title.len() > MAX_TITLE_BYTES {
            let why = locale::title::too_long(MAX_TITLE_BYTES, title.len());
            return Err(Error::new(Code::InvalidParams, why));
        }
        if title.chars().any(char::is_control) {
            let why = locale::title::control_character(locale::quoted(title));
            return Err(Error::new(Code::InvalidParams, why));
        }
        Ok(Self(title.to_owned()))
    }

    /// The title in a client's metadata, if it is valid.
    pub fn of_metadata(metadata: &Map<String, Value>) -> Option<Self> {
        let given = metadata.get("title")?.as_str()?;
        Self::new(given).ok().filter(|title| !title.is_empty())
    }

    /// Whether it means no title.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

checked_text!(Title);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_title_is_one_short_line() {
        let longest = "ж".repeat(128);
        assert_eq!(Title::new(&longest).unwrap().as_str(), longest);
        assert_eq!(
            Title::new(" \u{a0}Tea at five\n").unwrap().as_str(),
            "Tea at five"
        );
        assert!(Title::new(" \t").unwrap().is_empty());
        for bad in [
            format!("{longest}."),
            "two\nlines".to_owned(),
            "\u{1b}[2J".to_owned(),
        ] {
            assert_eq!(
                Title::new(&bad).unwrap_err().code,
                Code::InvalidParams,
                "{bad:?}"
            );
        }
    }

    #[test]
    fn what_cannot_be_a_title_among_a_sessions_facts_is_none() {
        let of = |title: Value| {
            let metadata = json!({"title": title});
            Title::of_metadata(metadata.as_object().unwrap()).map(String::from)
        };
        assert_eq!(of(json!(" Tea ")), Some("Tea".to_owned()));
        for none in [
            json!(""),
            json!(7),
            json!(null),
            json!("a\u{0}"),
            json!("x".repeat(257)),
        ] {
            assert_eq!(of(none.clone()), None, "{none}");
        }
        assert_eq!(Title::of_metadata(&Map::new()), None);
    }
}
