//! A call that was examined: once, when the turn admits it, and once more after a person decided
//! about it (TL-5). What was found goes with the call through the gate, the question, the intent and
//! the tool; nothing looks again.

use std::sync::Arc;
use std::time::Duration;

use samovar_core::approval::Previewed;
use samovar_core::tool::Origin;
use samovar_core::{
    Approval, CallContext, CallFacts, Closer, Effect, Future, Grant, Outcome, OutsideText, Probed,
    Reach, Sends, ToolCall, ToolReply, ToolSpec,
};
use serde_json::Value;

use super::{Tool, arguments, late};
use crate::gate::{self, Known, Spreads, Subject, Verdict};
use crate::policy::Policy;
use crate::settings::Settings;
use crate::taint::{Standing, Taint};

/// How long a tool may inspect what it will change, before it begins.
const FORESIGHT: Duration = Duration::from_secs(10);

/// What a turn brings to the gate.
#[derive(Clone, Copy, Default)]
pub(crate) struct Allowed<'a> {
    /// What a person has allowed for the rest of it.
    pub(crate) grants: &'a [Grant],
    /// The name of its mode.
    pub(crate) mode: Option<&'a str>,
    /// What its session has read from outside.
    pub(crate) taint: Option<&'a Taint>,
}

/// A call, its tool, and what there is to know about it.
pub(crate) struct Examined {
    pub(crate) tool: Arc<Tool>,
    /// As the model wrote it: the log has this, and a decision is bound to it.
    pub(crate) call: ToolCall,
    /// As the tool gets it.
    mended: ToolCall,
    /// What is particular about it.
    facts: Option<CallFacts>,
    /// The part of the workspace that it is about, if that can matter to the gate.
    reach: Option<Reach>,
}

impl Examined {
    /// # Errors
    /// The outcome for the model, when the arguments do not fit (AS-12).
    pub(super) fn new(tool: Arc<Tool>, call: &ToolCall, policy: &Policy) -> Result<Self, Outcome> {
        let mut mended = call.clone();
        arguments::mend(&tool.spec, &mut mended.args);
        check(&tool, &mended.args)?;
        let is_about_paths = tool.spec.asks.is_some() || policy.has_paths();
        let reach = is_about_paths.then(|| tool.toolset.reach(&mended));
        Ok(Self {
            facts: tool.toolset.facts(&mended),
            reach: reach.flatten(),
            tool,
            call: call.clone(),
            mended,
        })
    }

    /// What the gate says at an approval level, for a turn in which a person has `allowed` some calls
    /// already.
    pub(crate) fn judge(
        &self,
        level: Approval,
        settings: &Settings,
        allowed: &Allowed<'_>,
    ) -> Verdict {
        let rules = settings.rules.in_force();
        let known = Known {
            policy: &settings.policy,
            grants: allowed.grants,
            rules: &rules,
        };
        gate::judge(level, &self.subject(allowed), &known)
    }

    /// What a person can allow together with it.
    pub(crate) fn grant(&self, taint: &Taint) -> Option<Grant> {
        gate::grant(&self.subject(&Allowed {
            taint: Some(taint),
            ..Allowed::default()
        }))
    }

    fn subject<'a>(&'a self, allowed: &Allowed<'a>) -> Subject<'a> {
        Subject {
            spec: &self.tool.spec,
            identity: self.tool.identity(),
            reach: self.reach.as_ref(),
            facts: self.facts.as_ref(),
            mode: allowed.mode,
            spreads: allowed.taint.and_then(|taint| self.spreads(taint)),
        }
    }

    /// Why a person decides about it in a session that has read text from outside; `None` if the
    /// session has not, or if the call can do no harm with it (TL-10).
    fn spreads(&self, taint: &Taint) -> Option<Spreads> {
        if !taint.is_tainted() {
            return None;
        }
        let asked = |why| Spreads {
            why,
            runs_at_auto: false,
        };
        let changes_memory = self.facts.as_ref().is_some_and(|facts| facts.instructs);
        if changes_memory || self.reach.as_ref().is_some_and(|reach| reach.instructs) {
            return Some(asked("would change what instructs agents"));
        }
        let spec = &self.tool.spec;
        let is_foreign = is_open(spec) && spec.effect != Effect::Read;
        let sends = match &self.facts {
            Some(facts) => facts.sends.as_ref(),
            None => is_foreign.then_some(&Sends::Anywhere),
        };
        match sends? {
            Sends::Anywhere => Some(asked("can send data out")),
            Sends::Query => (!taint.may_search()).then_some(Spreads {
                why: "sends its query to the search service",
                runs_at_auto: true,
            }),
            Sends::Address(address) => match taint.standing(address) {
                Standing::Given | Standing::Linked => None,
                Standing::LinkedTooMany => Some(asked(
                    "can send data out, since this turn has followed many links already",
                )),
                Standing::Unknown => Some(asked(
                    "can send data out: no person, search or page gave this address",
                )),
            },
        }
    }

    /// The address that it sends nothing but.
    pub(crate) fn address(&self) -> Option<&str> {
        match self.facts.as_ref()?.sends.as_ref()? {
            Sends::Address(address) => Some(address),
            Sends::Anywhere | Sends::Query => None,
        }
    }

    /// What its result holds from outside the workspace (TL-10).
    pub(crate) fn outside(&self) -> Option<OutsideText> {
        match &self.facts {
            Some(facts) => facts.outside,
            None => is_open(&self.tool.spec).then_some(OutsideText::Plain),
        }
    }

    /// What it would do, for the person who decides about it. A tool that takes longer than a moment
    /// to say so cannot be asked about.
    pub(crate) async fn preview(&self) -> Previewed {
        let seen = self.tool.toolset.preview(&self.mended);
        let seen = tokio::time::timeout(FORESIGHT, seen).await;
        seen.unwrap_or_else(|_| {
            let seconds = FORESIGHT.as_secs();
            let why = format!("not run: what it would change could not be seen within {seconds} s");
            Err(Outcome::failed(why))
        })
    }

    /// What a probe will need; none when the tool takes longer than a moment to say.
    pub(crate) async fn foresee(&self) -> Option<Value> {
        let foreseen = self.tool.toolset.foresee(&self.mended);
        let foreseen = tokio::time::timeout(FORESIGHT, foreseen).await;
        foreseen.unwrap_or_default()
    }

    /// What became of it, if a stop of the server cut it.
    pub(crate) fn probe(
        &self,
        foreseen: Option<Value>,
        context: CallContext,
    ) -> Future<'static, Probed> {
        let mended = self.mended.clone();
        self.tool.toolset.probe(mended, foreseen, context)
    }

    /// Runs it, since it was let through, and stops it when it takes longer than it may.
    pub(crate) async fn run(&self, context: CallContext) -> ToolReply {
        let context = CallContext {
            facts: self.facts.clone(),
            ..context
        };
        let run = self.tool.toolset.call(self.mended.clone(), context);
        tokio::time::timeout(self.tool.spec.timeout, run)
            .await
            .unwrap_or_else(|_| ToolReply::Closed(late(&self.tool.spec)))
    }
}

/// Whether a tool is the owner's own and not declared closed: it may pass on its arguments, and its
/// answers may be text from outside (AS-26).
fn is_open(spec: &ToolSpec) -> bool {
    spec.origin != Origin::BuiltIn && !spec.closed
}

fn check(tool: &Tool, args: &Value) -> Result<(), Outcome> {
    let validator = tool
        .validator()
        .map_err(|why| Outcome::failed(format!("the tool's own schema is broken: {why}")))?;
    // Nothing of the server asks an agent to call another one again.
    let refuse = match tool.spec.closer {
        Closer::Child => Outcome::failed,
        Closer::Tool | Closer::Outside | Closer::Person => Outcome::correctable,
    };
    arguments::check(&tool.spec, validator, args).map_err(refuse)
}
