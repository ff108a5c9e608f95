//! Taking up a turn that a stop of the server cut: what became of the calls that had begun (DU-5).

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use samovar_core::{
    Author, Broken, CallContext, CallId, Effect, Kind, Outcome, Probed, failpoint, planted,
};

use super::state::Runner;
use crate::policy::Policy;
use crate::toolbox::CurrentTools;
use crate::turn::InterruptedCall;

/// How long a probe may look.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a call's outcome is unknown, for the model.
const CUT: &str = "the server stopped while this call ran, so it may have happened or not";

impl Runner {
    /// Decides about every call that had begun, and notes that the turn continues. All of it is kept
    /// with the commit that comes before anything touches the world again.
    pub(super) async fn take_up(&mut self) -> Result<(), Broken> {
        let cuts = self.turn.cut_calls();
        let tools = self.parts.toolbox.shelf();
        let looks = cuts.into_iter().map(|cut| {
            let context = self.context_of(&cut.call);
            look(tools.clone(), cut, context)
        });
        let found = join_all(looks).await;
        self.hears_news();
        let mut unknown_calls = 0;
        for (cut, outcome) in found {
            let Some(outcome) = outcome else { continue };
            if self.turn.is_closed(&cut.call.id) {
                continue;
            }
            unknown_calls += usize::from(outcome.status == samovar_core::Status::Unknown);
            let (call, name) = (cut.call.id, cut.call.name);
            self.note(Kind::CallClosed {
                call,
                name,
                outcome,
            });
        }
        self.parts.ledger.unknown_calls(unknown_calls);
        let in_a_row = self.continuation.as_mut().map_or(0, |known| {
            known.undecided = None;
            known.in_a_row
        });
        self.note_by(Author::System, Kind::TurnContinued { in_a_row });
        Ok(())
    }

    /// Who calls, for a call of this turn.
    pub(super) fn context_of(&self, call: &samovar_core::ToolCall) -> CallContext {
        let (session, turn) = (self.session.log.session().clone(), self.turn_id.clone());
        let situation = self.turn.place().situation.as_ref();
        CallContext {
            posted: self.turn.posted().cloned(),
            environment: situation.and_then(|situation| situation.environment.clone()),
            skills: Some(self.told.readable.clone()),
            guest: self.told.memory.guest().cloned(),
            ..CallContext::new(session, turn, self.agent.clone(), self.key_of(call))
        }
    }

    /// The same however often the call is run.
    #[allow(
        clippy::unused_self,
        reason = "only the planted fault looks at the turn"
    )]
    fn key_of(&self, call: &samovar_core::ToolCall) -> CallId {
        planted!("new-key-on-rerun", {
            if self.continuation.is_some() {
                return CallId::fresh(self.parts.ids.as_ref());
            }
        });
        call.id.clone()
    }
}

/// The outcome of a call that had begun; none when it is to be run again, under the same key.
async fn look(
    shelf: Arc<CurrentTools>,
    cut: InterruptedCall,
    context: CallContext,
) -> (InterruptedCall, Option<Outcome>) {
    let examined = shelf.examine(&cut.call, |_| true, &Policy::default());
    let examined = examined.ok();
    // A tool that is stricter now than it was counts as what it is now.
    let now = examined
        .as_ref()
        .map_or(Effect::Unsafe, |examined| examined.tool.spec.effect);
    planted!("rerun-unsafe", {
        return (cut, None);
    });
    planted!("doubt-untold", {
        return (cut, Some(Outcome::done("done")));
    });
    let outcome = match (strictest(cut.effect, now), examined) {
        (Effect::Read | Effect::Idempotent, _) => None,
        (Effect::Verifiable, Some(examined)) => {
            let probe = examined.probe(cut.foreseen.clone(), context);
            failpoint!("probe.before");
            let probed = tokio::time::timeout(PROBE_TIMEOUT, probe).await;
            failpoint!("probe.after");
            match probed {
                Ok(Probed::Done(outcome)) => Some(outcome.readable()),
                Ok(Probed::NotDone) => None,
                Ok(Probed::Unknown) | Err(_) => Some(Outcome::unknown(CUT)),
            }
        }
        (Effect::Verifiable | Effect::Unsafe, _) => Some(Outcome::unknown(CUT)),
    };
    (cut, outcome)
}

fn strictest(then: Effect, now: Effect) -> Effect {
    let rank = |effect| match effect {
        Effect::Read => 0,
        Effect::Idempotent => 1,
        Effect::Verifiable => 2,
        Effect::Unsafe => 3,
    };
    if rank(now) > rank(then) { now } else { then }
}
