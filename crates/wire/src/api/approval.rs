//! Approvals and rules as people see them (TL-5).

use samovar_core::approval::{Asked, Decision, visible_line};
use samovar_core::{
    AgentPath, ApprovalId, CallId, Grant, Rule, RuleId, SessionId, ToolCall, TurnId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call that waits for a person's decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalInfo {
    /// The id, with which a client decides.
    pub id: ApprovalId,
    /// The session.
    pub session_id: SessionId,
    /// The waiting turn.
    pub turn_id: TurnId,
    /// The call.
    pub call_id: CallId,
    /// The agents from the session's own down to the one that calls.
    pub path: Vec<String>,
    /// The tool.
    pub tool: String,
    /// The arguments, as the model wrote them.
    pub args: Value,
    /// The arguments for a person: on one line, with hidden characters escaped.
    pub shown: String,
    /// What the call would do, such as a diff, with hidden characters escaped; absent if the tool
    /// cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Why a person is asked.
    pub reason: String,
    /// When the call is denied, in milliseconds since 1970.
    pub expires_at: i64,
    /// What `turn` and `always` would allow; absent if only `once` and `deny` are possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantInfo>,
}

/// What a person can allow together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantInfo {
    /// The tool. If it is replaced by another of its name, the grant does not count for that.
    pub tool: String,
    /// The folder of the workspace with the files that a call may change, without those below it;
    /// absent for a tool that changes no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The programs that a command may run besides those that only read, each with its subcommand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    /// Whether it also covers calls that are asked about because the session has read text from outside.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
}

/// The calls that wait for a decision.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalList {
    /// The oldest of them.
    pub items: Vec<ApprovalInfo>,
    /// How many there are.
    pub total_count: u64,
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecideParams {
    /// `once`, `turn`, `always` or `deny`.
    #[schemars(with = "DecisionWord")]
    pub decision: Decision,
    /// What you say to the model with a `deny`, at most 4 KiB.
    pub message: Option<String>,
}

/// What a person decides.
#[derive(JsonSchema)]
#[schemars(rename = "Decision", rename_all = "snake_case")]
#[expect(dead_code, reason = "the words of the schema alone")]
enum DecisionWord {
    Once,
    Turn,
    Always,
    Deny,
}

/// A decision that counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decided {
    /// The rule that `always` made, or that existed already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleInfo>,
}

/// A rule that allows calls without a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleInfo {
    /// Its id.
    pub id: RuleId,
    /// What it allows.
    #[serde(flatten)]
    pub grant: GrantInfo,
    /// The workspace in which it counts.
    pub workspace: String,
    /// When it was made, in milliseconds since 1970.
    pub created_at: i64,
    /// Who made it.
    pub by: String,
}

/// The id of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleParams {
    /// The id.
    pub id: RuleId,
}

impl ApprovalInfo {
    /// The question about a call.
    pub fn new(
        session: SessionId,
        turn: TurnId,
        agent: &AgentPath,
        call: ToolCall,
        asked: &Asked,
    ) -> Self {
        Self {
            id: asked.id.clone(),
            session_id: session,
            turn_id: turn,
            call_id: call.id,
            path: agent.names().map(str::to_owned).collect(),
            tool: call.name,
            shown: visible_line(&call.args.to_string()),
            args: call.args,
            preview: asked.preview.clone(),
            reason: asked.reason.clone(),
            expires_at: asked.expires_at.0,
            grant: asked.grant.as_ref().map(GrantInfo::from),
        }
    }
}

impl From<&Grant> for GrantInfo {
    fn from(grant: &Grant) -> Self {
        Self {
            tool: grant.tool.clone(),
            folder: grant.folder.clone(),
            programs: grant.programs.clone(),
            tainted: grant.tainted,
        }
    }
}

impl From<&Rule> for RuleInfo {
    fn from(rule: &Rule) -> Self {
        Self {
            id: rule.id.clone(),
            grant: (&rule.grant).into(),
            workspace: rule.workspace.clone(),
            created_at: rule.made_at.0,
            by: rule.by.clone(),
        }
    }
}
