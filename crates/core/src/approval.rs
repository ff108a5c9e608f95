//! Approvals: a person decides about a call before it runs (TL-4, TL-5).

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{ApprovalId, RuleId};
use crate::message::Outcome;
use crate::ports::Millis;
use crate::words;

/// Maximum length of a preview, in bytes; the rest is left out with a note.
pub const MAX_PREVIEW_BYTES: usize = 32 * 1024;

/// Maximum length of what a person says with a decision, in bytes.
pub const MAX_WORDS_BYTES: usize = 4 * 1024;

words! {
    /// What a person decides about a call.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Decision {
        /// This call runs.
        Once = "once",
        /// This call runs, and so do those of its turn that the same grant covers.
        Turn = "turn",
        /// This call runs, and so does every later one that the same grant covers.
        Always = "always",
        /// The call does not run.
        Deny = "deny",
    }
}

impl Decision {
    /// Whether the call runs.
    pub fn allows(self) -> bool {
        self != Self::Deny
    }

    /// The decision that a person's word stands for: `y`, `yes`, `once`, `t`, `turn`, `a`, `always`,
    /// `n`, `no`, `deny`, in any case. Returns `None` for other words.
    pub fn read(word: &str) -> Option<Self> {
        match word.trim().to_lowercase().as_str() {
            "y" | "yes" | "once" => Some(Self::Once),
            "t" | "turn" => Some(Self::Turn),
            "a" | "always" => Some(Self::Always),
            "n" | "no" | "deny" => Some(Self::Deny),
            _ => None,
        }
    }
}

/// A set of calls that a person allows together: those of one tool, as long as it is the same tool,
/// in one folder, with some programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Grant {
    /// The tool's name.
    pub tool: String,
    /// What stands under that name: a hash of the tool's schema, effect and address. `None` for a
    /// tool that is part of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The folder of the workspace with the files that a call may change, without those below it;
    /// `.` for the workspace itself. `None` for a tool that changes no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The programs that a command may run besides those that only read, each with its subcommand:
    /// `cargo test`. Empty for a tool that runs no commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    /// Whether it was given after the session had read text from outside. Only such a grant covers calls
    /// that a person decides about for that reason (TL-10).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
}

impl Grant {
    /// Whether what another one is wanted for is allowed by this one.
    pub fn covers(&self, wanted: &Self) -> bool {
        let is_same = (&self.tool, &self.identity, &self.folder)
            == (&wanted.tool, &wanted.identity, &wanted.folder);
        let has = |program| self.programs.contains(program);
        is_same
            && self.tainted >= wanted.tainted
            && wanted.programs.is_empty() == self.programs.is_empty()
            && wanted.programs.iter().all(has)
    }
}

/// A grant that counts until it is revoked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Its id.
    pub id: RuleId,
    /// What it allows.
    pub grant: Grant,
    /// The workspace in which it counts.
    pub workspace: String,
    /// When it was made.
    pub made_at: Millis,
    /// Who made it: a token's name, or `owner`.
    pub by: String,
}

/// Why a call was let through at a level that asks about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grounds {
    /// A person was asked.
    Approval(ApprovalId),
    /// A person allowed such calls for the turn.
    Turn,
    /// A rule that a person made.
    Rule(RuleId),
    /// A rule of the configuration, by its name.
    Policy(String),
}

/// What becomes of the calls that a rule of the configuration fits, the strictest last.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyVerdict {
    /// They run unasked.
    // But not at the level read-only, if they may change something.
    Allow,
    /// A person decides.
    // At every level.
    Ask,
    /// They do not run.
    Deny,
}

/// What a call would do, determined without doing it: shown to the person who decides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preview {
    /// What the call was seen to do. If another look says something else when the call is about to
    /// run, the person is asked again.
    pub foreseen: Option<Value>,
    /// A text for the person, such as a diff, at most [`MAX_PREVIEW_BYTES`]; its hidden characters
    /// are escaped.
    pub text: Option<String>,
}

/// The result of looking at a call before a person is asked. `Err` is the outcome of a call that
/// cannot succeed: it closes without a question.
pub type Previewed = Result<Preview, Outcome>;

/// The part of the workspace that a call is about, read from its arguments alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The file or folder that it names, relative to the workspace.
    pub path: String,
    /// Whether the file instructs agents, so that no grant covers it.
    pub instructs: bool,
}

impl Reach {
    /// The folder of the file, as in [`Grant::folder`].
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or(".", |(folder, _)| folder)
    }
}

/// What a call asks of a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The id of the question; a call that is asked about again has another one.
    pub id: ApprovalId,
    /// SHA-256 of the canonical arguments that the person is shown, in hex.
    pub args_hash: String,
    /// Why it is asked.
    pub reason: String,
    /// When it is denied, if no decision comes.
    pub expires_at: Millis,
    /// As in [`Grant::identity`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// As in [`Preview::foreseen`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreseen: Option<Value>,
    /// As in [`Preview::text`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// What [`Decision::Turn`] and [`Decision::Always`] allow; `None` if the person can only decide
    /// about this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Grant>,
}

/// A person's decision about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The decision.
    pub decision: Decision,
    /// Who decided: a token's name, `owner`, or [`EXPIRED`].
    pub by: String,
    /// What the person says with it; the model reads it if the call does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

impl Answer {
    /// What a person's words decide. Words that are no decision deny the call, and the model reads
    /// them.
    pub fn read(words: &str, by: impl Into<String>) -> Self {
        let decision = Decision::read(words);
        Self {
            decision: decision.unwrap_or(Decision::Deny),
            by: by.into(),
            words: decision.is_none().then(|| words.to_owned()),
        }
    }
}

/// Who decided when no decision came in time.
pub const EXPIRED: &str = "expiry";

impl fmt::Display for Grant {
    /// The words for it, such as `write_file in src`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tool)?;
        for (at, program) in self.programs.iter().enumerate() {
            let before = if at == 0 { ": " } else { ", " };
            write!(f, "{before}{}", visible(program))?;
        }
        if let Some(folder) = &self.folder {
            write!(f, " in {}", visible(folder))?;
        }
        f.write_str(if self.tainted {
            ", after text from outside too"
        } else {
            ""
        })
    }
}

/// Escapes hidden characters as `\u{202e}`: control characters except line feeds and tabs, and
/// those that are invisible or change the direction of text. For text that a person approves: it
/// must not look like different text.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| c != '\n' && c != '\t' && crate::blank::is_hidden(c);
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// The same on one line.
pub fn visible_line(text: &str) -> String {
    visible(text).replace('\n', "\\n").replace('\t', "\\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves TL-5
    #[test]
    fn hidden_characters_are_shown_and_others_stay() {
        for (text, shown) in [
            ("plain\n\ttext é 漢字 🎬", "plain\n\ttext é 漢字 🎬"),
            ("rm \u{202e}txt.exe", "rm \\u{202e}txt.exe"),
            (
                "a\u{200b}b\u{2066}c\u{e0041}d",
                "a\\u{200b}b\\u{2066}c\\u{e0041}d",
            ),
            ("\u{1b}[2Jgone\r", "\\u{1b}[2Jgone\\u{d}"),
            (
                "x\u{ad}\u{feff}\u{85}\u{2028}",
                "x\\u{ad}\\u{feff}\\u{85}\\u{2028}",
            ),
        ] {
            assert_eq!(visible(text), shown, "{text:?}");
        }
        assert_eq!(visible_line("a\nb\tc"), "a\\nb\\tc");
    }
}
