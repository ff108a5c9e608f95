//! The audit: its records, and whether the chain is whole (TL-15).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use samovar_core::audit::{AuditedCall, Decision, What};
use samovar_core::{Approval, CallId, Clock, Effect, Error, Outcome, Sender};
use samovar_engine::{Engine, args_hash, not_recorded};
use samovar_sandbox::SmallFiles;
use samovar_stores::audit::{AuditLog, Problem, ProblemKind, RecordQuery};
use samovar_wire::api::{
    AuditPage, AuditParams, AuditProblem, AuditRecord, AuditVerdict, AuditVerifyParams, BASE_PATH,
};
use serde_json::{Map, Value};

use super::state::{Call, Endpoint, State};
use crate::clock::{SystemClock, UuidV7};
use crate::endpoint::Verb;
use crate::reply::fitting;
use crate::shell;
use crate::tokens::Scope;

/// Records that are shown at once: by default, and at most.
const SHOWN: u32 = 50;
const MAX_SHOWN: u32 = 500;

pub(super) fn routes() -> Vec<Endpoint> {
    let at = |path: &str| format!("{BASE_PATH}/{path}");
    vec![
        Endpoint::answering(
            &[Verb::Get],
            Scope::Admin,
            at("audit"),
            "Returns records of the audit, oldest first.",
            records,
        ),
        Endpoint::answering(
            &[Verb::Get],
            Scope::Admin,
            at("audit/verify"),
            "Reads the whole chain of the audit and returns what is wrong with it.",
            verify,
        ),
    ]
}

async fn records(call: Call, params: AuditParams) -> Result<AuditPage, Error> {
    let audit = current(&call).await?;
    let head = audit.head();
    let query = RecordQuery {
        after: params.after,
        limit: params.limit.unwrap_or(SHOWN).min(MAX_SHOWN) as usize,
        session: params.session_id,
        tool: params.tool,
        since: params.since,
    };
    let found = audit
        .records(query)
        .await
        .map_err(|broken| not_recorded(&broken))?;
    let items = found
        .into_iter()
        .map(|one| AuditRecord::of(one.record, one.hash));
    Ok(AuditPage {
        items: fitting(items),
        head: head.into(),
    })
}

async fn verify(call: Call, params: AuditVerifyParams) -> Result<AuditVerdict, Error> {
    let audit = current(&call).await?;
    let verdict = audit.verify(params.head).await;
    let verdict = verdict.map_err(|broken| not_recorded(&broken))?;
    Ok(AuditVerdict {
        ok: verdict.is_whole(),
        records: verdict.records,
        head: verdict.head.into(),
        problems: verdict.problems.iter().map(problem).collect(),
        problem_count: verdict.problem_count,
    })
}

/// The audit, with everything that happened before.
async fn current(call: &Call) -> Result<Arc<AuditLog>, Error> {
    let engine = call.engine().await?;
    call.state.record_failures(Pace::Now).await;
    engine.recorded().await;
    Ok(call.state.stores()?.audit.clone())
}

fn problem(problem: &Problem) -> AuditProblem {
    let other = match problem.kind {
        ProblemKind::Number(other) | ProblemKind::Cut(other) => Some(other),
        ProblemKind::Unreadable
        | ProblemKind::Changed
        | ProblemKind::Link
        | ProblemKind::Head
        | ProblemKind::Anchor => None,
    };
    AuditProblem {
        record: problem.record,
        kind: problem.kind.as_str().to_owned(),
        other,
    }
}

/// Whether failed logins are recorded now, or once a minute.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    Now,
    Minutely,
}

impl State {
    /// Records a decision before its caller gets an answer.
    ///
    /// # Errors
    /// [`Code::StoreFull`] or [`Code::StoreFailed`]: what was decided is in force, but not recorded.
    pub(crate) async fn record(&self, decision: Decision) -> Result<(), Error> {
        let recorded = self.stores()?.audit.record(decision).await;
        recorded.map_err(|broken| not_recorded(&broken))
    }

    /// Records the start of a run that runs turns.
    pub(crate) async fn note_start(&self, engine: &Engine) {
        self.note_run(What::ServerStarted, engine).await;
    }

    /// Records what this start has put aside of a command that a kill had cut short.
    pub(crate) async fn note_put_aside(&self, files: &SmallFiles) {
        let Some(names) = shell::was_put_aside(files) else {
            return;
        };
        let note = Decision::new(What::PutAside, "policy", SystemClock.now()).about(names);
        match self.record(note).await {
            Ok(()) => shell::forget_put_aside(files),
            Err(error) => tracing::error!(%error, "the audit lacks what was put aside"),
        }
    }

    /// Records its stop, once.
    pub(crate) async fn note_stop(&self, engine: &Engine) {
        if !self.is_stop_noted.swap(true, Ordering::Relaxed) {
            self.note_run(What::ServerStopping, engine).await;
        }
    }

    /// A disk that is full keeps no run from its start or end.
    async fn note_run(&self, what: What, engine: &Engine) {
        if !engine.settings().recovery.runs_turns() {
            return;
        }
        self.record_failures(Pace::Now).await;
        let note = decided(what, &Sender::CommandLine);
        let level = format!("level:{}", self.approval.as_str());
        let note = note.by_rule(level).about(env!("CARGO_PKG_VERSION"));
        if let Err(error) = self.record(note).await {
            tracing::error!(%error, event = what.as_str(), "the audit lacks it");
        }
    }

    /// Records how many requests came without a valid token since this was recorded last.
    pub(crate) async fn record_failures(&self, pace: Pace) {
        let now = SystemClock.now();
        let Some(count) = self.failures.due(now, pace == Pace::Now) else {
            return;
        };
        let Ok(stores) = self.stores() else {
            return self.failures.give_back(count);
        };
        let failed = Decision::new(What::LoginsFailed, "unknown", now).about(count);
        if let Err(broken) = stores.audit.record(failed).await {
            tracing::error!(%broken, "failed logins cannot be recorded");
            self.failures.give_back(count);
        }
    }
}

/// A decision of a client, made now.
pub(super) fn decided(what: What, by: &Sender) -> Decision {
    Decision::new(what, by.name(), SystemClock.now())
}

/// A call of a person outside any session, which no log has.
pub(super) struct OwnCall {
    begun: Decision,
}

impl OwnCall {
    /// The call of a tool; `None` if it only reads.
    pub(super) fn new(
        by: &Sender,
        (tool, effect): (&str, Effect),
        args: &Map<String, Value>,
        level: Approval,
    ) -> Option<Self> {
        let call = AuditedCall {
            call: CallId::fresh(&UuidV7),
            session: None,
            turn: None,
            agent: None,
        };
        let begun = Decision {
            call: Some(call),
            args: Some(args_hash(&Value::Object(args.clone()))),
            ..decided(What::CallStarted, by)
        };
        let level = format!("level:{}", level.as_str());
        let begun = begun.of_tool(tool).by_rule(level);
        (effect != Effect::Read).then_some(Self { begun })
    }

    pub(super) fn begun(&self) -> Decision {
        self.begun.clone()
    }

    pub(super) fn closed(self, outcome: &Outcome) -> Decision {
        Decision {
            what: What::CallClosed,
            at: SystemClock.now(),
            args: None,
            rule: None,
            result: Some(outcome.status),
            ..self.begun
        }
    }
}
