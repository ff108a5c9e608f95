//! Memories: what a turn remembered is there once, what was accepted of its proposals too, and what was
//! deleted is neither there nor in a prompt of a later turn.

use std::collections::HashMap;

use crate::observed::Observed;
use crate::scene::remembered;
use crate::verdict::Verdict;
use crate::violation::Broken;

pub(super) fn judge(observed: &Observed, verdict: &mut Verdict) {
    let memories = &observed.memories;
    let mut listed: HashMap<(&str, bool), usize> = HashMap::new();
    for fact in memories.listed.iter().flat_map(|text| remembered(text)) {
        *listed.entry(fact).or_default() += 1;
    }
    let numbers = memories.kept.iter();
    let numbers = numbers.map(|kept| (kept.message.as_str(), kept.number));
    let numbers: HashMap<_, _> = numbers.collect();
    for kept in &memories.kept {
        let message = kept.message.as_str();
        let count = |is_own| listed.get(&(message, is_own)).copied().unwrap_or_default();
        let (facts, own) = (count(false), count(true));
        verdict.counts.copies.remembered += 1;
        if let Some(after) = kept.gone_after {
            verdict.counts.copies.forgotten += 1;
            let mut later = observed.asked.iter().filter(|prompt| {
                let number = numbers.get(prompt.message.as_str());
                number.is_some_and(|number| *number > after)
            });
            let is_told = later.any(|prompt| prompt.told.iter().any(|told| told == message));
            if facts + own > 0 || is_told {
                let found = format!("{facts} and {own} there, told: {is_told}");
                verdict.find(Broken::MemoryBack, message, found);
            }
            continue;
        }
        let found = || format!("{facts} and {own} there of {kept:?}");
        let expected = usize::from(kept.is_done);
        if facts > 1 || own > kept.accepted || kept.proposed > 1 {
            verdict.find(Broken::KeptTwice, message, found());
        }
        if facts < expected || own < kept.accepted || kept.proposed < expected {
            verdict.find(Broken::MemoryLost, message, found());
        }
    }
}
