//! What a server finds out about itself, and about a model, when its owner asks (FC-7).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::ErrorBody;

/// What `samovar doctor` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorReport {
    /// Whether nothing is wrong.
    pub ok: bool,
    /// All that was looked at.
    pub findings: Vec<DoctorFinding>,
}

/// What was found out about one thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorFinding {
    /// The thing, for programs.
    pub what: String,
    /// The thing, for people.
    pub label: String,
    /// How it is.
    pub state: FindingState,
    /// What was found.
    pub fact: String,
    /// Why it was looked at, or why it is so.
    pub reason: String,
    /// What to type, when something can be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// How a thing is that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FindingState {
    /// As it should be.
    Ok,
    /// It is not there, and need not be.
    Absent,
    /// Something is wrong.
    Bad,
}

/// Which model to test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestModelParams {
    /// Its name.
    pub name: String,
}

/// A line of a test of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum TestLine {
    /// One check.
    Check(ModelCheck),
    /// The last line of a test that was made to its end.
    End {
        /// Whether turns work with the model: it writes text, makes calls and reads their results.
        ok: bool,
    },
    /// The last line of a test that ended early.
    Failed(ErrorBody),
}

/// What one check of a model showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelCheck {
    /// The check, for programs.
    pub check: String,
    /// The check, for people.
    pub label: String,
    /// What came of it.
    pub state: CheckState,
    /// The same in a sentence, with the words of the model's server where it failed.
    pub fact: String,
    /// The tokens of all its calls.
    pub tokens: u64,
    /// How long they took.
    pub milliseconds: u64,
}

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    /// It is as it should be.
    Ok,
    /// It failed.
    Failed,
    /// The model or its server gave no occasion to see it.
    Unseen,
    /// It was not tried, because an earlier check failed.
    Skipped,
}
