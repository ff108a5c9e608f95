//! What a client tells the agent of its session.

use std::collections::BTreeMap;
use std::sync::Arc;

use samovar_locale as locale;
use serde::{Deserialize, Serialize};

use crate::checked::checked_text;
use crate::error::{Code, Error};

/// Maximum length of a system prompt, in bytes of UTF-8.
pub const MAX_PROMPT_BYTES: usize = 64 * 1024;

/// A system prompt of a session: 1 to [`MAX_PROMPT_BYTES`] bytes that are not all white space, without
/// control characters but for tabs and line ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SystemPrompt(Arc<str>);

impl SystemPrompt {
    /// Takes a prompt, unchanged.
    ///
    /// # Errors
    /// [`Code::InvalidParams`] when it is blank or too long, or has another control character.
    pub fn new(raw: &str) -> Result<Self, Error> {
        let refused = |why: String| Err(Error::new(Code::InvalidParams, why));
        if raw.len() > MAX_PROMPT_BYTES {
            let why = locale::agent::prompt_too_long(raw.len(), MAX_PROMPT_BYTES);
            return refused(why);
        }
        if raw.trim().is_empty() {
            return refused(locale::agent::blank_prompt().to_owned());
        }
        if let Some(character) = raw.chars().find(|character| !is_prose(*character)) {
            let code = format!("U+{:04X}", u32::from(character));
            return refused(locale::agent::bad_prompt_character(code));
        }
        Ok(Self(raw.into()))
    }
}

/// What a model is told, as short hashes: enough to see what has changed since (MD-8).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptHashes {
    /// Of each layer of the system prompt, by its name.
    pub layers: BTreeMap<String, String>,
    /// Of the tools.
    pub tools: String,
}

/// Whether a text for people and models may have the character: any but control characters, of which
/// tabs and line ends are allowed.
pub fn is_prose(character: char) -> bool {
    !character.is_control() || matches!(character, '\n' | '\r' | '\t')
}

checked_text!(SystemPrompt);

#[cfg(test)]
mod tests {
    use super::*;

    // proves SA-1
    #[test]
    fn a_system_prompt_has_lines_and_no_control_characters() {
        let longest = "x".repeat(MAX_PROMPT_BYTES);
        for good in ["Be brief.", "One.\n\tTwo.\r\nТри.", &longest] {
            assert_eq!(SystemPrompt::new(good).unwrap().as_str(), good);
        }
        let megabyte = "x".repeat(1 << 20);
        for bad in ["", " \n", "a\u{0}b", "\u{1b}[31m", &megabyte] {
            assert_eq!(
                SystemPrompt::new(bad).unwrap_err().code,
                Code::InvalidParams
            );
        }
    }
}
