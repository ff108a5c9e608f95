//! Calls that a person is asked about: what ran was allowed, and what was decided counts.

use crate::observed::{AnswerStatus, Class, Decided, Observed};
use crate::turn_record::{Call, Closing};
use crate::verdict::Verdict;
use crate::violation::Broken;

/// What the model reads of a call that no one decided about in time.
const EXPIRED: &str = "no person decided";

/// What happened for calls that a person is asked about was allowed by one.
pub(super) fn effects(observed: &Observed, verdict: &mut Verdict) {
    let asked = observed.effects.iter();
    for effect in asked.filter(|effect| effect.class == Class::Approved) {
        let may_count = |decided: &&Decided| decided.fate != AnswerStatus::Refused;
        let mut decisions = of_call(observed, &effect.call).filter(may_count);
        if !decisions.any(|decided| decided.is_allowed) {
            verdict.find(Broken::RanUnallowed, &effect.message, &effect.call);
        }
    }
}

/// How such a call ended is what was decided about it.
pub(super) fn judge(
    observed: &Observed,
    message: &str,
    (call, closing): (&Call, &Closing),
    verdict: &mut Verdict,
) {
    let is_taken = |decided: &&Decided| matches!(decided.fate, AnswerStatus::Taken(_));
    let taken: Vec<_> = of_call(observed, &call.id).filter(is_taken).collect();
    let found = || format!("{}: {closing:?}: {taken:?}", call.id);
    let counts = &mut verdict.counts.approvals;
    let is_denied = closing.status == "denied";
    let has_expired = is_denied && closing.text.contains(EXPIRED);
    counts.asked += 1;
    counts.allowed += u64::from(call.is_started);
    counts.denied += u64::from(is_denied && !has_expired);
    counts.expired += u64::from(has_expired);
    if taken.len() > 1 {
        verdict.find(Broken::DecidedTwice, message, found());
    }
    for decided in &taken {
        let is_lost = if decided.is_allowed {
            is_denied
        } else {
            call.is_started || !matches!(closing.status.as_str(), "denied" | "cancelled")
        };
        if is_lost {
            verdict.find(Broken::DecisionLost, message, found());
        }
    }
    // What is said in the chat while it asks about the call decides, too.
    let chat = observed.chat.replies.iter().map(|reply| &reply.text);
    let denials = of_call(observed, &call.id).filter(|decided| !decided.is_allowed);
    let mut words = denials.map(|decided| &decided.words).chain(chat);
    if is_denied && !has_expired && !words.any(|words| closing.text.contains(words.as_str())) {
        verdict.find(Broken::DenialInvented, message, found());
    }
}

fn of_call<'o>(observed: &'o Observed, call: &'o str) -> impl Iterator<Item = &'o Decided> {
    let decisions = observed.decisions.iter();
    decisions.filter(move |decided| decided.call == call)
}
