//! The judge: from what was seen outside the servers to the promises that were broken. Pure, so that
//! it is tested with observations made by hand: a proof that cannot fail proves nothing.

mod calls;
mod messages;
mod streams;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub(crate) use calls::class_of;

use crate::count::Counts;
use crate::observed::{Incident, Observed, Profile, Reading};
use crate::told::{Told, tell};
use crate::violation::{Broken, Violation};

/// What was seen, and what it means.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) counts: Counts,
    pub(crate) violations: Vec<Violation>,
}

/// Judges all that was seen of one data directory.
pub(crate) fn judge(observed: &Observed) -> Verdict {
    let mut verdict = Verdict::default();
    let streams = Streams::of(observed);
    incidents(observed, &mut verdict);
    streams::judge(observed, &streams, &mut verdict);
    messages::judge(observed, &streams, &mut verdict);
    calls::judge(observed, &streams, &mut verdict);
    verdict
}

impl Verdict {
    pub(crate) fn find(&mut self, kind: Broken, place: &str, found: impl Into<String>) {
        self.violations.push(Violation::new(kind, place, found));
    }
}

/// Each turn's stream as it is in the end, by message and profile.
pub(crate) struct Streams<'o> {
    whole: BTreeMap<(String, Profile), Whole<'o>>,
}

/// A stream from its start, and what it tells.
pub(crate) struct Whole<'o> {
    pub(crate) reading: &'o Reading,
    pub(crate) told: Told,
}

impl<'o> Streams<'o> {
    /// The one that was read when all was over; where there is none, the longest that a reader saw
    /// from the start.
    fn of(observed: &'o Observed) -> Self {
        let mut longest: BTreeMap<(&str, Profile), &Reading> = BTreeMap::new();
        let from_start = observed.readings.iter().filter(|one| one.after.is_none());
        for reading in from_start {
            let key = (reading.message.as_str(), reading.profile);
            let best = longest.entry(key).or_insert(reading);
            let weight = |one: &Reading| (one.is_done, one.frames.len());
            if weight(reading) > weight(best) {
                *best = reading;
            }
        }
        for reading in &observed.retold {
            longest.insert((reading.message.as_str(), reading.profile), reading);
        }
        let whole = longest.into_iter().map(|((message, profile), reading)| {
            let told = tell(profile, &reading.frames);
            ((message.to_owned(), profile), Whole { reading, told })
        });
        Self {
            whole: whole.collect(),
        }
    }

    pub(crate) fn get(&self, message: &str, profile: Profile) -> Option<&Whole<'o>> {
        self.whole.get(&(message.to_owned(), profile))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, Profile, &Whole<'o>)> {
        let all = self.whole.iter();
        all.map(|((message, profile), whole)| (message.as_str(), *profile, whole))
    }
}

fn incidents(observed: &Observed, verdict: &mut Verdict) {
    for incident in &observed.incidents {
        match incident {
            Incident::Ended(how) => verdict.find(Broken::ServerEnded, "", how),
            Incident::NotServing(why) => verdict.find(Broken::NotServing, "", why),
            Incident::Orphan(process) => {
                verdict.counts.orphans += 1;
                verdict.find(Broken::Orphan, "", process);
            }
            Incident::Refused { message, why } => verdict.find(Broken::Refused, message, why),
            Incident::Malformed(frame) => verdict.find(Broken::StreamBroken, "", frame),
        }
    }
}
