//! Single memories, which their owner sees, changes and deletes (MD-13).

use samovar_core::{SessionId, TurnId, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::search::SearchHit;

/// All that is remembered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RememberedList {
    /// The memories: the person's own and the long-term ones in the order of their files, then the notes by their days.
    pub items: Vec<RememberedInfo>,
    /// The file with the long-term memory.
    pub long_term_path: String,
    /// The file with the person's own memory for all folders; absent without a configuration folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person_path: Option<String>,
    /// The folder with the notes of each day.
    pub daily_dir: String,
    /// How many proposals wait for an answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub proposals: usize,
    /// Why files cannot be read or changed, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// What agents propose to remember.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProposalList {
    /// The proposals that wait for an answer, the oldest first.
    pub items: Vec<ProposalInfo>,
}

/// A proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProposalInfo {
    /// Its id, which the memory will have.
    pub id: String,
    /// What it says.
    pub text: String,
    /// Where it would stand: `person`, `folder`, or `day` for the notes of its day.
    pub about: String,
    /// The section there.
    pub section: String,
    /// The day on which it was made, `2026-11-29`.
    pub date: String,
    /// The turn that it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The name of the token whose session it comes from; absent for a session of the owner's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Whether text from outside was in its session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
}

words! {
    /// What becomes of a proposal.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum ProposalAnswer {
        /// It is remembered.
        Accept = "accept",
        /// It is not, and its sessions do not propose it again.
        Refuse = "refuse",
    }
}

/// The answer to a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerProposalParams {
    /// What becomes of it.
    pub decision: ProposalAnswer,
    /// What is to be remembered in its place, on one line of at most 2 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RememberedInfo {
    /// Its id.
    pub id: String,
    /// What it says.
    pub text: String,
    /// Where it stands: a section of the long-term memory, or the day of a note.
    pub source: String,
    /// The day on which it was written, `2026-11-29`; absent of a line that a hand wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The turn that it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// Whether text from outside was in its session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
}

/// A memory that was deleted, and what still says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForgottenInfo {
    /// The messages that have all of its words, the best 20; exports and backups may have them, too.
    pub quotes: Vec<SearchHit>,
    /// Whether all messages were searched; false while older ones are still being indexed.
    pub indexed: bool,
    /// The session whose turn wrote it, in a call of a tool; absent of a line that a hand wrote, and of a
    /// session that is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
}

/// Which memory is meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RememberedParams {
    /// Its id.
    pub id: String,
}

/// What a memory is to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditRememberedParams {
    /// The new text, on one line of at most 2 KiB.
    pub text: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}
