//! Calls and effects: what happened outside, held against what the log says of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{MessageTurn, Streams, approvals};
use crate::observed::{Class, Effect, Observed, Post, Profile};
use crate::scene::{ASK, DELEGATE, EXEC, GRANT, READ_ME, READ_ME_SAYS, SPAWN, ran_file};
use crate::turn_record::{Call, Closing, TurnEnd, TurnRecord};
use crate::verdict::Verdict;
use crate::violation::Broken;

/// What the result of a call in doubt says, so that a model and a person can act on it.
const DOUBT: &str = "outcome unknown";

pub(super) fn judge(observed: &Observed, streams: &Streams<'_>, verdict: &mut Verdict) {
    let mut effects: BTreeMap<&str, Vec<&Effect>> = BTreeMap::new();
    for effect in &observed.effects {
        effects.entry(&effect.call).or_default().push(effect);
    }
    let mut known: HashMap<&str, &str> = HashMap::new();
    for post in observed.posts.iter().filter(|post| post.acked_at.is_some()) {
        let is_own = streams.fate(&post.message) == MessageTurn::Own;
        let whole = streams.over(&post.message, Profile::Full);
        let Some(whole) = whole.filter(|_| is_own) else {
            continue;
        };
        let told = whole.told.awaited();
        let calls = told.flat_map(|told| told.calls.iter().map(move |call| (told, call)));
        for (told, call) in calls {
            if let Some(first) = known.insert(&call.id, &post.message) {
                let found = format!("{} ({first})", call.id);
                verdict.find(Broken::DuplicateId, &post.message, found);
            }
            let made = effects.get(call.id.as_str()).map(Vec::as_slice);
            let case = Case {
                post,
                call,
                made: made.unwrap_or_default(),
                end: told.ends.first(),
            };
            case.judge(observed, verdict);
        }
    }
    once_a_step(observed, Class::Unsafe, verdict);
    once_a_step(observed, Class::Approved, verdict);
    approvals::effects(observed, verdict);
    // Who was called in a turn that is over, by the place that its effects name.
    let over = streams.turns().filter(|(_, whole)| whole.reading.is_done);
    let called = over.flat_map(|(_, whole)| whole.told.awaited().skip(1));
    let called: BTreeSet<_> = called.map(TurnRecord::message).collect();
    for (call, made) in &effects {
        repeated(call, made, verdict);
        let message = made.first().map_or("", |effect| effect.message.as_str());
        let is_told = streams.over(message, Profile::Full).is_some();
        if (is_told || called.contains(message)) && !known.contains_key(call) {
            verdict.find(Broken::EffectUnannounced, message, *call);
        }
    }
}

/// A call, and all that is known of it.
struct Case<'c> {
    post: &'c Post,
    call: &'c Call,
    made: &'c [&'c Effect],
    end: Option<&'c TurnEnd>,
}

impl Case<'_> {
    fn judge(&self, observed: &Observed, verdict: &mut Verdict) {
        verdict.counts.calls += 1;
        // Whoever ends a turn by force closes what is open in it.
        if self.call.closings.len() != 1 {
            let found = format!("{}: {}", self.call.id, self.call.closings.len());
            verdict.find(Broken::CallOpen, &self.post.message, found);
        }
        if let Some(closing) = self.call.closings.first() {
            self.doubt(closing, verdict);
            // What becomes of called agents is looked at with them.
            if ![ASK, DELEGATE, GRANT, SPAWN].contains(&self.call.name.as_str()) {
                self.failure(closing, verdict);
            }
            match self.call.name.as_str() {
                "write_file" | "edit_file" => self.file(closing, observed, verdict),
                EXEC => self.command(closing, observed, verdict),
                "read_file" => self.look(closing, READ_ME_SAYS, verdict),
                "list_dir" => self.look(closing, READ_ME, verdict),
                GRANT => {
                    self.webhook(closing, verdict);
                    approvals::judge(observed, &self.post.message, (self.call, closing), verdict);
                }
                name if class_of(name).is_some() => self.webhook(closing, verdict),
                _ => {}
            }
        }
        if !self.made.is_empty() && !self.call.is_started {
            let found = self.call.id.as_str();
            verdict.find(Broken::EffectUnannounced, &self.post.message, found);
        }
    }

    /// A call is in doubt when it had begun and its server was killed, or somebody stopped its turn;
    /// and then it says so.
    fn doubt(&self, closing: &Closing, verdict: &mut Verdict) {
        if closing.status != "unknown" {
            return;
        }
        verdict.counts.doubts_told += 1;
        let found = || format!("{}: {closing:?}", self.call.id);
        if !closing.text.contains(DOUBT) {
            verdict.find(Broken::DoubtUntold, &self.post.message, found());
        }
        let was_cut = closing.at.0 > self.call.started_in;
        let was_stopped = self.end == Some(&TurnEnd::Cancelled);
        if !self.call.is_started || !(was_cut || was_stopped) {
            verdict.find(Broken::DoubtInvented, &self.post.message, found());
        }
    }

    /// Nothing that is asked for can fail by itself; what a person says of a question is up to them.
    fn failure(&self, closing: &Closing, verdict: &mut Verdict) {
        if matches!(closing.status.as_str(), "failed" | "denied") {
            let found = format!("{}: {closing:?}", self.call.id);
            verdict.find(Broken::CallFailed, &self.post.message, found);
        }
    }

    /// What was only looked at is as it is.
    fn look(&self, closing: &Closing, wanted: &str, verdict: &mut Verdict) {
        if closing.status == "done" && !closing.text.contains(wanted) {
            let found = format!("{}: {closing:?}", self.call.id);
            verdict.find(Broken::ResultInvented, &self.post.message, found);
        }
    }

    fn webhook(&self, closing: &Closing, verdict: &mut Verdict) {
        let has_receipt = self
            .made
            .iter()
            .any(|effect| closing.text.contains(&effect.receipt));
        let found = || format!("{}: {closing:?}", self.call.id);
        match closing.status.as_str() {
            "done" if !has_receipt => {
                verdict.find(Broken::ResultInvented, &self.post.message, found());
            }
            "done" | "unknown" => {}
            _ if self.made.is_empty() => {}
            _ => verdict.find(Broken::EffectUntold, &self.post.message, found()),
        }
    }

    /// A command has left its line once.
    fn command(&self, closing: &Closing, observed: &Observed, verdict: &mut Verdict) {
        let command = self.call.args["command"].as_str().unwrap_or_default();
        let line = command.split('\'').nth(1).unwrap_or_default();
        let path = ran_file(line.split(' ').next().unwrap_or_default());
        let has_run = observed.files.contains_key(&path);
        verdict.counts.commands += u64::from(has_run);
        self.left(&path, line, closing, observed, verdict);
    }

    /// What `write_file` and `edit_file` did stands in the workspace, once.
    fn file(&self, closing: &Closing, observed: &Observed, verdict: &mut Verdict) {
        let path = self.call.args["path"].as_str().unwrap_or_default();
        let wanted = match self.call.name.as_str() {
            "write_file" => &self.call.args["content"],
            _ => &self.call.args["new"],
        };
        let wanted = wanted.as_str().unwrap_or_default();
        self.left(path, wanted, closing, observed, verdict);
    }

    /// What a call leaves in a file stands there as often as its result says.
    fn left(
        &self,
        path: &str,
        wanted: &str,
        closing: &Closing,
        observed: &Observed,
        verdict: &mut Verdict,
    ) {
        let content = observed.files.get(path).map_or("", String::as_str);
        // If a digit follows, it is another attempt's.
        let is_whole = |at: &usize| {
            let rest = content.get(at + wanted.len()..).unwrap_or_default();
            !rest.starts_with(|next: char| next.is_ascii_digit())
        };
        let places = content.match_indices(wanted).map(|(at, _)| at);
        let times = places.filter(is_whole).count();
        // What another attempt has written is there, too.
        let attempts = wanted.split("attempt").next().unwrap_or(wanted);
        let times_in_all = content.matches(attempts).count();
        let found = || format!("{}: {path}: {content:?}", self.call.id);
        if times_in_all > 1 {
            verdict.counts.unsafe_repeated += 1;
            verdict.find(Broken::UnsafeRepeated, &self.post.message, found());
        }
        match (closing.status.as_str(), times) {
            ("done", 0) => verdict.find(Broken::ResultInvented, &self.post.message, found()),
            ("failed" | "denied" | "cancelled", 1..) => {
                let found = format!("{}: {closing:?}", self.call.id);
                verdict.find(Broken::EffectUntold, &self.post.message, found);
            }
            _ => {}
        }
    }
}

/// An unsafe effect happens once, an idempotent one under one key.
fn repeated(call: &str, made: &[&Effect], verdict: &mut Verdict) {
    let Some(first) = made.first() else { return };
    let again = u64::try_from(made.len().saturating_sub(1)).unwrap_or(u64::MAX);
    match first.class {
        Class::Unsafe | Class::Approved => {
            verdict.counts.unsafe_effects += 1;
            verdict.counts.unsafe_repeated += again;
            if again > 0 {
                verdict.find(Broken::UnsafeRepeated, &first.message, call);
            }
        }
        Class::Idempotent => {
            verdict.counts.idempotent_effects += 1;
            verdict.counts.idempotent_again += again;
            let keys: BTreeSet<_> = made.iter().map(|effect| &effect.key).collect();
            if keys.len() > 1 {
                verdict.find(Broken::KeyChanged, &first.message, format!("{keys:?}"));
            }
        }
    }
}

/// The model's answer is kept once, so one message, and one called agent, has one unsafe call, whatever
/// its id.
fn once_a_step(observed: &Observed, class: Class, verdict: &mut Verdict) {
    let mut calls: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let effects = observed.effects.iter();
    for effect in effects.filter(|effect| effect.class == class) {
        let of_message = calls.entry(&effect.message).or_default();
        of_message.insert(&effect.call);
    }
    for (message, calls) in calls.into_iter().filter(|(_, calls)| calls.len() > 1) {
        verdict.counts.unsafe_repeated += 1;
        verdict.find(Broken::UnsafeRepeated, message, format!("{calls:?}"));
    }
}

/// The webhook of this name, by what it does to the world.
pub(crate) fn class_of(tool: &str) -> Option<Class> {
    match tool {
        crate::scene::NOTE => Some(Class::Idempotent),
        crate::scene::PAY => Some(Class::Unsafe),
        GRANT => Some(Class::Approved),
        _ => None,
    }
}
