//! The audit: records of decisions, and whether their chain is whole.

use samovar_core::audit::{Head, Record};
use samovar_core::{Millis, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which records are returned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuditParams {
    /// Those after the record with this number; by default the last ones.
    pub after: Option<u64>,
    /// The maximum number, at most 500; by default 50.
    pub limit: Option<u32>,
    /// Only those of this session.
    pub session_id: Option<String>,
    /// Only those of this tool.
    pub tool: Option<String>,
    /// Only those from this time on, in milliseconds since 1970.
    pub since: Option<Millis>,
}

/// Records, oldest first, and the end of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditPage {
    /// The records.
    pub items: Vec<AuditRecord>,
    /// The last record of the chain.
    pub head: AuditHead,
}

/// The end of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditHead {
    /// The number of the last record.
    pub record: u64,
    /// Its hash. Write it down elsewhere to find out later whether the chain still has the record.
    pub hash: String,
}

/// A decision that was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditRecord {
    /// Its number; the first is 1.
    pub record: u64,
    /// When it was decided, in milliseconds since 1970.
    pub at: Millis,
    /// What was decided or happened, such as `call_started` or `token_made`.
    pub event: String,
    /// Who decided: the name of a token, `command line`, `policy`, `approval`, or an author's word.
    pub who: String,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The path of the agent that made the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// SHA-256 of the call's canonical arguments, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_hash: Option<String>,
    /// The rule or approval level that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// How the call ended: `done`, `failed`, `denied`, `cancelled` or `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub result: Option<Status>,
    /// What it is about, if that is no call: the name of a token, a tool, an agent, a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Whether text from outside was in the session when the call started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
    /// Its hash, which the next record names.
    pub hash: String,
}

impl AuditRecord {
    /// A record with its hash.
    pub fn of(record: Record, hash: String) -> Self {
        Self {
            record: record.n,
            at: record.at,
            event: record.event,
            who: record.who,
            session_id: record.session,
            turn_id: record.turn,
            call_id: record.call,
            agent: record.agent,
            tool: record.tool,
            args_hash: record.args,
            rule: record.rule,
            result: record.result,
            about: record.about,
            tainted: record.tainted,
            hash,
        }
    }
}

impl From<Head> for AuditHead {
    fn from(head: Head) -> Self {
        let (record, hash) = (head.count, head.hash);
        Self { record, hash }
    }
}

/// What the chain is held against.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuditVerifyParams {
    /// The hash of a record that was written down earlier.
    pub head: Option<String>,
}

/// What the chain was found to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditVerdict {
    /// Whether it is whole.
    pub ok: bool,
    /// How many records can be read.
    pub records: u64,
    /// The last record.
    pub head: AuditHead,
    /// What is wrong, in order; at most 100.
    pub problems: Vec<AuditProblem>,
    /// How many problems there are.
    pub problem_count: u64,
}

/// What is wrong at a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditProblem {
    /// The record's number.
    pub record: u64,
    /// `unreadable`, `changed`, `number`, `link`, `cut`, `head` or `anchor`.
    pub kind: String,
    /// For `number`, the number that was due; for `cut`, the number of the last missing record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<u64>,
}
