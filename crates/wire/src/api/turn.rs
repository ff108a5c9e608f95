//! Turns as people see them: a tree of agents at work (SA-11).

use samovar_core::history::TurnRow;
use samovar_core::{AgentPath, CallId, Millis, SessionId, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::{BudgetInfo, Dollars, maybe_dollars};

/// Which turns are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TurnsParams {
    /// Those of this session; by default of all.
    pub session_id: Option<SessionId>,
    /// The last so many, at most 200; by default 50.
    pub limit: Option<u32>,
}

/// Whether a turn was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnCancelled {
    /// False if it was over already.
    pub cancelled: bool,
}

/// A turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnInfo {
    /// The turn.
    pub turn_id: TurnId,
    /// Its session.
    pub session_id: SessionId,
    /// The agent's name.
    pub name: String,
    /// The agents from the session's own down to this one.
    pub path: Vec<String>,
    /// How many agents are above it.
    pub depth: u32,
    /// The turn that called it; absent for one of the session's own agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_turn_id: Option<TurnId>,
    /// The call that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<CallId>,
    /// How far it is.
    pub state: TurnProgress,
    /// Why it ended, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// Why it failed; absent if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<TurnFault>,
    /// When it started, in milliseconds since 1970; absent while it waits for its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Millis>,
    /// How long it took, or has taken so far, in milliseconds.
    pub elapsed_ms: u64,
    /// Tokens of its own model calls, so far or of all.
    pub tokens: u64,
    /// Whether some of `tokens` are estimated, because no provider counted them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// What its own model calls cost, in US dollars; absent while it lives, or if no price is known.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "maybe_dollars"
    )]
    pub cost_usd: Option<Dollars>,
    /// The limit of the budget that ended it: `steps`, `tokens`, `cost` or `wall`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// What it and the turns that it waits for may use together; absent without a budget of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetInfo>,
    /// What is left of `budget`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<BudgetInfo>,
    /// Its last event that is kept; absent if it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_event: Option<LastEventInfo>,
}

/// Why a turn failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnFault {
    /// The stable code.
    pub code: String,
    /// What happened, what was kept, and what to do.
    pub message: String,
}

/// An event of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastEventInfo {
    /// Its `type`, as in the full profile.
    #[serde(rename = "type")]
    pub name: String,
    /// When it happened, in milliseconds since 1970.
    pub at: Millis,
}

/// How far a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnProgress {
    /// Its message waits for earlier turns.
    Queued,
    /// It works, or an agent that it called does.
    Running,
    /// It waits for an outside answer.
    Waiting,
    /// It is over.
    Finished,
}

impl TurnInfo {
    /// A turn at a moment; `is_asking`: whether calls of it wait for an outside answer.
    pub fn of(row: TurnRow, is_asking: bool, now: Millis) -> Self {
        let state = match (&row.end, row.started_at) {
            (Some(_), _) => TurnProgress::Finished,
            (None, None) => TurnProgress::Queued,
            (None, Some(_)) if is_asking => TurnProgress::Waiting,
            (None, Some(_)) => TurnProgress::Running,
        };
        let end = row.end.as_ref().map_or(now, |(_, at)| *at);
        let tokens = row.tokens();
        let elapsed = row.started_at.map_or(0, |start| end.0 - start.0);
        Self {
            name: row.agent.name().to_owned(),
            path: names(&row.agent),
            depth: u32::try_from(row.agent.depth()).unwrap_or(u32::MAX),
            turn_id: row.turn,
            session_id: row.session,
            parent_turn_id: row.parent,
            tool_call_id: row.parent_call,
            state,
            finish_reason: row.end.map(|(reason, _)| reason.as_str().to_owned()),
            fault: row.fault.map(|fault| TurnFault {
                code: fault.code.as_str().to_owned(),
                message: fault.message,
            }),
            started_at: row.started_at,
            elapsed_ms: u64::try_from(elapsed).unwrap_or(0),
            tokens,
            estimated: row.bill.estimated_tokens > 0,
            cost_usd: row.bill.cost.map(Dollars),
            limit: row.bill.limit.map(|limit| limit.as_str().to_owned()),
            budget: BudgetInfo::of(row.budget),
            left: row.left.and_then(BudgetInfo::of),
            last_event: row.last.map(|last| LastEventInfo {
                name: last.name.to_owned(),
                at: last.at,
            }),
        }
    }
}

fn names(path: &AgentPath) -> Vec<String> {
    path.names().map(str::to_owned).collect()
}
