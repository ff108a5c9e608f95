//! The gate in front of a batch's calls, and the questions to a person about them (TL-4, TL-5).

use std::sync::Arc;

use samovar_core::approval::{Asked, Preview, Previewed, visible};
use samovar_core::{
    Approval, ApprovalId, Closer, Effect, Grounds, Kind, Millis, Outcome, Status, ToolCall,
};
use samovar_core::{planted, redact};

use super::Calls;
use super::waiting::Waiting;
use crate::gate::{self, Verdict};
use crate::toolbox::{Allowed, Examined, Tool};

/// A call that the gate lets through, or lets through if a person does.
pub(super) enum Admission {
    /// It runs.
    Runs(Option<Grounds>),
    /// A person decides, for this reason.
    Asks(String),
}

/// For what a call is looked at.
#[derive(Clone, Copy)]
pub(super) enum LookFor {
    /// Its intent is kept already.
    Nothing,
    /// A probe, should the server stop while it runs.
    Probe,
    /// The person who decides about it, or has decided.
    Person,
}

/// What was seen of a call that is about to run, or to be asked about.
pub(super) enum Look {
    /// It had begun before a stop of the server.
    Begun,
    /// What a probe will need.
    Foreseen(Option<serde_json::Value>),
    /// What the person is shown, or was.
    Previewed(Previewed),
}

impl Calls<'_> {
    /// Notes what a call would have done that failed before its start told that.
    pub(super) fn of_effect(&self, name: &str, mut outcome: Outcome) -> Outcome {
        let tool = self.shelf.get(name);
        // What does not exist could have been meant to do anything.
        let effect = tool.map_or(Effect::Unsafe, |tool| tool.spec.effect);
        if outcome.status == Status::Failed && effect != Effect::Read {
            outcome.effect = Some(effect);
        }
        outcome
    }

    /// Examines a call, unless that was done since it waits.
    pub(super) fn examine(&self, waiting: &Waiting) -> Result<Arc<Examined>, Outcome> {
        let runner = &self.runner;
        match waiting {
            Waiting::Examined(examined) => Ok(examined.clone()),
            Waiting::Called(call) => {
                let has = |name: &str| runner.has_tool(name);
                let policy = &runner.parts.settings.policy;
                self.shelf.examine(call, has, policy).map(Arc::new)
            }
        }
    }

    /// The gate: capability, policy, approval (TL-4).
    pub(super) fn admit(&self, examined: &Examined) -> Result<Admission, Outcome> {
        let (runner, call) = (&self.runner, &examined.call);
        let level = runner.turn.approval(runner.parts.settings.approval);
        let allowed = Allowed {
            grants: runner.turn.grants(),
            mode: runner.turn.place().mode().map(|mode| mode.name.as_str()),
            taint: Some(&runner.session.taint),
        };
        let is_unattended = runner.turn.has_no_input() || runner.parts.settings.is_unattended;
        let verdict = examined.judge(level, &runner.parts.settings, &allowed);
        // What a person was shown of a call binds it, also when they allowed others with it.
        let asked = runner.turn.allowed(&call.id);
        match (verdict, asked) {
            (Verdict::Deny(why), _) => Err(Outcome::new(Status::Denied, format!("denied: {why}"))),
            (
                Verdict::Allow(Some(Grounds::Turn | Grounds::Rule(_))) | Verdict::Ask(_),
                Some(asked),
            ) => {
                if is_about(asked, examined) {
                    let grounds = Grounds::Approval(asked.id.clone());
                    return Ok(Admission::Runs(Some(grounds)));
                }
                let name = &call.name;
                let why = format!("{name} was allowed, and it is another tool since then");
                Ok(Admission::Asks(why))
            }
            (Verdict::Allow(grounds), _) => Ok(Admission::Runs(grounds)),
            (Verdict::Ask(why), None) if is_unattended => Err(unasked(&why, level)),
            (Verdict::Ask(why), None) => {
                planted!("approval-skipped", {
                    return Ok(Admission::Runs(None));
                });
                Ok(Admission::Asks(why))
            }
        }
    }

    /// Notes the question about a call.
    pub(super) fn ask(&mut self, examined: &Examined, why: String, preview: Preview) {
        let (call, tool) = (&examined.call, &examined.tool);
        let parts = &self.runner.parts;
        let expiry = i64::try_from(parts.settings.approval_expiry.as_millis());
        let asked = Asked {
            id: ApprovalId::fresh(parts.ids.as_ref()),
            args_hash: gate::args_hash(&call.args),
            reason: why,
            expires_at: Millis(
                self.runner
                    .now()
                    .0
                    .saturating_add(expiry.unwrap_or(i64::MAX)),
            ),
            identity: tool.identity().map(str::to_owned),
            foreseen: preview.foreseen,
            preview: preview.text.or_else(|| target(tool)),
            grant: examined.grant(&self.runner.session.taint),
        };
        self.runner.note(Kind::ApprovalAsked {
            call: call.id.clone(),
            name: call.name.clone(),
            asked: Box::new(asked),
        });
    }

    /// Why a call that a person allowed is asked about again: what it would do is not what they were
    /// shown.
    pub(super) fn has_changed(&self, call: &ToolCall, seen: &Preview) -> Option<String> {
        let asked = self.runner.turn.allowed(&call.id)?;
        let name = &call.name;
        let why = "was allowed, and what it would change is different since then";
        // As it was kept, without keys.
        let mut foreseen = seen.foreseen.clone();
        if let Some(foreseen) = &mut foreseen {
            redact::own().redact_value(foreseen);
        }
        (asked.foreseen != foreseen).then(|| format!("{name} {why}"))
    }
}

/// Looks at a call before it runs or is asked about.
pub(super) async fn look(examined: &Examined, why: LookFor) -> Look {
    match (why, examined.tool.spec.effect) {
        (LookFor::Nothing, _) => Look::Begun,
        (LookFor::Person, _) => Look::Previewed(examined.preview().await),
        (LookFor::Probe, Effect::Verifiable) => Look::Foreseen(examined.foresee().await),
        (LookFor::Probe, Effect::Read | Effect::Idempotent | Effect::Unsafe) => {
            Look::Foreseen(None)
        }
    }
}

/// Whether a person was asked about this very call of this very tool.
fn is_about(asked: &Asked, examined: &Examined) -> bool {
    let is_tool = asked.identity.as_deref() == examined.tool.identity();
    is_tool && asked.args_hash == gate::args_hash(&examined.call.args)
}

/// Where a call is sent, for the person who decides.
fn target(tool: &Tool) -> Option<String> {
    let target = tool.target()?;
    let how = match tool.spec.closer {
        Closer::Tool => "calls",
        Closer::Outside | Closer::Child | Closer::Person => "is answered by",
    };
    let target = samovar_locale::without_secrets(&target);
    Some(format!("{how} {}", visible(&target)))
}

/// What the model reads where no person can be asked.
fn unasked(why: &str, level: Approval) -> Outcome {
    let wider = match level {
        Approval::Auto => "",
        Approval::Supervised | Approval::ReadOnly => "the approval level auto, ",
    };
    let why = format!(
        "denied: {why}, which needs a person's approval, and no person can be asked here; do without \
         it, or say that it needs {wider}a rule (samovar approvals), or a rule of tools.policy, which \
         has to say sends = true if it can send data out"
    );
    Outcome::new(Status::Denied, why)
}
