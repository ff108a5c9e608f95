//! Streams: every connection saw the turn's frames one after another behind its cursor, each as all
//! others saw it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::{Streams, Verdict};
use crate::observed::{Frame, Observed, Profile, Reading, Spool};
use crate::violation::Broken;

/// What may end a stream without an id: the server stops, and says so, in the words of the profile.
const GOOD_BREAKS: [(&str, &str); 2] = [("code", "server_restart"), ("type", "server-restart")];

pub(super) fn judge(observed: &Observed, streams: &Streams<'_>, verdict: &mut Verdict) {
    for (message, profile, whole) in streams.all() {
        if let Some(word) = &whole.told.spliced {
            verdict.find(Broken::Splice, message, word);
        }
        if profile == Profile::Full {
            verdict.counts.resets += whole.told.resets;
            verdict.counts.losses_told += whole.told.losses;
            verdict.counts.continued += whole.told.continued;
        }
    }
    for reading in observed.readings.iter().chain(&observed.retold) {
        verdict.counts.readings += 1;
        verdict.counts.resumed += u64::from(reading.after.is_some());
        verdict.counts.frames += count(reading.frames.len());
        order(&reading.message, &reading.frames, verdict);
        broken_off(reading, observed.spool, verdict);
        if let Some(whole) = streams.get(&reading.message, reading.profile) {
            let canon = Canon::of(whole.reading, observed.spool);
            canon.compare(reading, verdict);
        }
    }
    if observed.spool == Spool::Whole {
        unique(observed, verdict);
    }
    gapless(observed, streams, verdict);
}

/// The ids of one stream strictly follow each other.
fn order(message: &str, frames: &[Frame], verdict: &mut Verdict) {
    let ids: Vec<_> = numbered(frames)
        .filter_map(|frame| frame.id.as_deref())
        .collect();
    for pair in ids.windows(2) {
        let [before, after] = pair else { continue };
        match (place(before), place(after)) {
            (Some(first), Some(second)) if first == second => {
                verdict.find(Broken::Repeat, message, *after);
            }
            (Some((epoch, seq, part)), Some((later, next, piece)))
                if epoch <= later && (seq, part) < (next, piece) => {}
            _ => verdict.find(Broken::Reorder, message, format!("{before}, {after}")),
        }
    }
}

/// An `error` without an id ends a stream whose turn may go on; a `reset` says that an id is no good.
fn broken_off(reading: &Reading, spool: Spool, verdict: &mut Verdict) {
    for frame in &reading.frames {
        if frame.is_reset() {
            verdict.counts.losses_told += 1;
            if spool == Spool::Whole {
                let id = reading.after.as_deref().unwrap_or_default();
                verdict.find(Broken::TakenBack, &reading.message, id);
            }
        } else if frame.id.is_none() {
            let event: Value = serde_json::from_str(&frame.data).unwrap_or_default();
            let mut good = GOOD_BREAKS.iter();
            if !good.any(|(field, word)| event[field] == *word) {
                verdict.find(Broken::StreamBroken, &reading.message, &frame.data);
            }
        }
    }
}

/// A stream as it is in the end, to hold others against.
struct Canon<'c> {
    frames: Vec<&'c Frame>,
    is_done: bool,
    places: HashMap<&'c str, usize>,
    spool: Spool,
}

impl<'c> Canon<'c> {
    fn of(reading: &'c Reading, spool: Spool) -> Self {
        let frames: Vec<_> = numbered(&reading.frames).collect();
        let places = frames.iter().enumerate();
        let places = places.filter_map(|(at, frame)| Some((frame.id.as_deref()?, at)));
        Self {
            places: places.collect(),
            frames,
            is_done: reading.is_done,
            spool,
        }
    }

    /// Finds the first thing that is wrong with a connection, which usually explains the others.
    fn compare(&self, reading: &Reading, verdict: &mut Verdict) {
        let message = &reading.message;
        let mut next = match reading.after.as_deref().map(|id| self.places.get(id)) {
            None => 0,
            Some(Some(at)) => at + 1,
            // What a power cut took cannot be resumed from, and that is said; before it, it could.
            Some(None) if self.may_lose() => return self.behind_lost(reading, verdict),
            Some(None) => {
                let id = reading.after.as_deref().unwrap_or_default();
                return verdict.find(Broken::TakenBack, message, id);
            }
        };
        let mut seen = BTreeSet::new();
        for frame in numbered(&reading.frames) {
            let id = frame.id.as_deref().unwrap_or_default();
            let is_new = seen.insert(id);
            match self.places.get(id) {
                Some(&at) if at == next => {
                    if self.frames[at].data != frame.data {
                        let found = format!("{id}: {} / {}", frame.data, self.frames[at].data);
                        return verdict.find(Broken::Changed, message, found);
                    }
                    next += 1;
                }
                _ if !is_new => return verdict.find(Broken::Repeat, message, id),
                Some(&at) if at > next && self.is_told_lost(next, at) => next = at + 1,
                Some(&at) if at > next => {
                    let missed = self.frames[next].id.as_deref().unwrap_or_default();
                    let found = format!("{missed} before {id}");
                    return verdict.find(Broken::Gap, message, found);
                }
                Some(_) => return verdict.find(Broken::Reorder, message, id),
                None if self.is_lost_and_told(id) => {}
                None if self.may_lose() => return verdict.find(Broken::LossUntold, message, id),
                None => return verdict.find(Broken::TakenBack, message, id),
            }
        }
        if reading.is_done && self.is_done && next < self.frames.len() {
            let missed = self.frames[next].id.as_deref().unwrap_or_default();
            verdict.find(Broken::Gap, message, format!("{missed} before the end"));
        }
    }

    /// A connection behind an id that is no more: it was opened before that was lost and saw more of
    /// what was lost, or it is told so first.
    fn behind_lost(&self, reading: &Reading, verdict: &mut Verdict) {
        let is_told = reading.frames.first().is_some_and(Frame::is_reset);
        let mut shown = numbered(&reading.frames);
        let is_alive = shown.any(|frame| {
            let id = frame.id.as_deref().unwrap_or_default();
            self.places.contains_key(id) || !self.is_lost_and_told(id)
        });
        if is_alive && !is_told {
            let id = reading.after.as_deref().unwrap_or_default();
            verdict.find(Broken::LossUntold, &reading.message, id);
        }
    }

    fn may_lose(&self) -> bool {
        self.spool == Spool::Cut
    }

    /// Frames between two of a connection stand there only because they tell what was lost while it
    /// was away: it had seen what they stand for.
    fn is_told_lost(&self, from: usize, to: usize) -> bool {
        self.may_lose() && self.frames[from..to].iter().any(|frame| tells_loss(frame))
    }

    /// Whether the first that the stream tells of a later epoch than a lost event's is that something
    /// is void. What no durable event stood behind leaves no hole, and its places are given again.
    fn is_lost_and_told(&self, id: &str) -> bool {
        let Some((epoch, _, _)) = place(id).filter(|_| self.may_lose()) else {
            return false;
        };
        let mut later = self.frames.iter().filter(|frame| {
            let at = frame.id.as_deref().and_then(place);
            at.is_some_and(|(other, _, _)| other > epoch)
        });
        // A turn that gives up keeps what is left of its message, whole, or nothing, in place of a
        // reset.
        later
            .next()
            .is_some_and(|frame| tells_loss(frame) || gives_up(frame))
    }
}

/// Whether a frame of the full profile keeps the whole of what is left, or ends the turn.
fn gives_up(frame: &Frame) -> bool {
    let event: Value = serde_json::from_str(&frame.data).unwrap_or_default();
    matches!(
        event["type"].as_str(),
        Some("message_finished" | "turn_finished")
    )
}

/// Whether a frame says that something before it is void or gone: a hole, a reset, a pass that
/// begins, an end in an error.
fn tells_loss(frame: &Frame) -> bool {
    let event: Value = serde_json::from_str(&frame.data).unwrap_or_default();
    matches!(
        event["type"].as_str(),
        Some("events_lost" | "step_reset" | "reset" | "iteration" | "error")
    )
}

/// No place of a log was given to two events, whoever saw them.
fn unique(observed: &Observed, verdict: &mut Verdict) {
    let sessions: HashMap<_, _> = observed
        .posts
        .iter()
        .map(|post| (post.message.as_str(), post.session.as_str()))
        .collect();
    let mut seen: HashMap<(&str, Profile, u64, u64), (&str, &str)> = HashMap::new();
    for reading in observed.readings.iter().chain(&observed.retold) {
        let Some(session) = sessions.get(reading.message.as_str()) else {
            continue;
        };
        for frame in numbered(&reading.frames) {
            let id = frame.id.as_deref().unwrap_or_default();
            let Some((_, seq, part)) = place(id) else {
                continue;
            };
            let key = (*session, reading.profile, seq, part);
            let (first, whose) = *seen.entry(key).or_insert((id, &reading.message));
            if first != id || whose != reading.message {
                let found = format!("{first} ({whose}), {id} ({})", reading.message);
                verdict.find(Broken::DuplicateId, session, found);
                return;
            }
        }
    }
}

/// The turns of a session together have every event of its log but the first, which opens it. What
/// is missing belongs to a turn that nobody asked for, or is gone.
fn gapless(observed: &Observed, streams: &Streams<'_>, verdict: &mut Verdict) {
    let mut logs: BTreeMap<&str, Option<BTreeSet<u64>>> = BTreeMap::new();
    for post in observed.posts.iter().filter(|post| post.acked_at.is_some()) {
        let log = logs
            .entry(&post.session)
            .or_insert_with(|| Some(BTreeSet::from([1])));
        let whole = streams.get(&post.message, Profile::Full);
        match whole.filter(|whole| whole.reading.is_done) {
            Some(whole) => {
                let frames = numbered(&whole.reading.frames);
                let places = frames.flat_map(covered);
                if let Some(log) = log {
                    log.extend(places);
                }
            }
            // Without the whole of every turn nothing can be said of the session.
            None => *log = None,
        }
    }
    for (session, log) in logs {
        let Some(log) = log else { continue };
        let last = log.last().copied().unwrap_or_default();
        if let Some(missing) = (1..=last).find(|seq| !log.contains(seq)) {
            verdict.find(Broken::Gap, session, missing.to_string());
        }
    }
}

/// The places of a log that an event stands for.
fn covered(frame: &Frame) -> std::ops::RangeInclusive<u64> {
    let id = frame.id.as_deref().unwrap_or_default();
    let last = place(id).map_or(0, |(_, seq, _)| seq);
    let event: Value = serde_json::from_str(&frame.data).unwrap_or_default();
    let first = event["first"]
        .as_u64()
        .filter(|_| event["type"] == "events_lost");
    first.unwrap_or(last)..=last
}

fn numbered(frames: &[Frame]) -> impl Iterator<Item = &Frame> {
    let events = frames.iter().filter(|frame| !frame.is_reset());
    events.filter(|frame| frame.id.is_some())
}

/// Epoch, place in the log, and which frame of that event; the last one has no number of its own.
pub(crate) fn place(id: &str) -> Option<(u64, u64, u64)> {
    let mut numbers = id.split('.').map(str::parse::<u64>);
    let (epoch, seq) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let part = numbers.next().map_or(Ok(u64::MAX), |part| part).ok()?;
    numbers.next().is_none().then_some((epoch, seq, part))
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
