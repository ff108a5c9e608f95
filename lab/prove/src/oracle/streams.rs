//! Streams: every connection saw the turn's frames one after another behind its cursor, each as all
//! others saw it.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::{CUT_TOO_OFTEN, MessageTurn, Streams, WholeStream, by_session, trees};
use crate::observed::{Frame, Observed, Profile, ReaderConnection, Spool};
use crate::turn_record::{TurnEnd, place};
use crate::verdict::Verdict;
use crate::violation::Broken;

/// What may end a stream without an id: the server stops, and says so, in the words of the profile.
const GOOD_BREAKS: [(&str, &str); 2] = [("code", "server_restart"), ("type", "server-restart")];

pub(super) fn judge(observed: &Observed, streams: &Streams<'_>, verdict: &mut Verdict) {
    for (message, _, whole) in streams.all() {
        for word in whole.told.all().filter_map(|told| told.spliced.as_ref()) {
            verdict.find(Broken::Splice, message, word);
        }
    }
    for (_, whole) in streams.turns() {
        verdict.counts.resets += whole.told.resets;
        verdict.counts.losses_told += whole.told.losses;
        verdict.counts.continued += whole.told.continued;
    }
    for reading in observed.readings.iter().chain(&observed.retold) {
        verdict.counts.readings += 1;
        verdict.counts.resumed += u64::from(reading.after.is_some());
        verdict.counts.frames += count(reading.frames.len());
        order(&reading.message, &reading.frames, verdict);
        let canon = streams.canon(reading);
        let canon = canon.map(|whole| Canon::of(whole, observed.spool));
        broken_off(reading, canon.as_ref(), verdict);
        if let Some(canon) = canon {
            let behind = canon.behind(reading, streams);
            canon.compare(reading, behind, verdict);
        }
    }
    unique(observed, streams, verdict);
    gapless(observed, streams, verdict);
}

/// The ids of one stream strictly follow each other. What stands for lost events was made by the
/// start that missed them, and what is behind it is older.
fn order(message: &str, frames: &[Frame], verdict: &mut Verdict) {
    let frames: Vec<_> = numbered(frames).collect();
    for pair in frames.windows(2) {
        let [before, after] = pair else { continue };
        let is_lost = || kind(before) == "events_lost";
        match (place(id(before)), place(id(after))) {
            (Some(first), Some(second)) if first == second => {
                verdict.find(Broken::Repeat, message, id(after));
            }
            (Some((epoch, seq, part)), Some((later, next, piece)))
                if (seq, part) < (next, piece) && (epoch <= later || is_lost()) => {}
            _ => {
                let found = format!("{}, {}", id(before), id(after));
                verdict.find(Broken::Reorder, message, found);
            }
        }
    }
}

/// An `error` without an id ends a stream whose turn may go on; a `reset` says that an id is no good,
/// which is right when what it named was lost, and told to nobody who names none.
fn broken_off(reading: &ReaderConnection, canon: Option<&Canon<'_>>, verdict: &mut Verdict) {
    for frame in &reading.frames {
        if frame.is_reset() {
            verdict.counts.losses_told += 1;
            let after = reading.after.as_deref().unwrap_or_default();
            let is_right = canon.is_none_or(|canon| canon.is_lost(after));
            if !is_right {
                verdict.find(Broken::TakenBack, &reading.message, after);
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
    profile: Profile,
    /// Whether the end of the turn may be the first that is told behind a loss.
    gave_up: bool,
    places: HashMap<&'c str, usize>,
    spool: Spool,
}

/// Where a connection begins in a stream.
#[derive(Clone, Copy)]
enum StreamStart {
    /// In front of this frame of it.
    Frame(usize),
    /// Behind an id that is in it no more.
    Nothing,
}

impl<'c> Canon<'c> {
    fn of(whole: &'c WholeStream<'_>, spool: Spool) -> Self {
        let frames: Vec<_> = numbered(&whole.reading.frames).collect();
        let places = frames.iter().enumerate();
        let places = places.map(|(at, frame)| (id(frame), at));
        let gave_up = |end: &TurnEnd| match end {
            TurnEnd::Fault(code) => code == CUT_TOO_OFTEN,
            // Of what is void, the default profile shows nothing but the pass that begins again.
            TurnEnd::Cancelled => whole.reading.profile == Profile::Default,
            TurnEnd::Model(_) | TurnEnd::Other(_) => false,
        };
        Self {
            places: places.collect(),
            frames,
            is_done: whole.reading.is_done,
            profile: whole.reading.profile,
            gave_up: whole.told.ends.iter().any(gave_up),
            spool,
        }
    }

    /// Where a connection begins. Who has seen a message's own turn continues in the one that it has
    /// joined, behind the place that is named.
    fn behind(&self, reading: &ReaderConnection, streams: &Streams<'_>) -> StreamStart {
        let Some(after) = reading.after.as_deref() else {
            return StreamStart::Frame(0);
        };
        if let Some(at) = self.places.get(after) {
            return StreamStart::Frame(at + 1);
        }
        let own = streams.own(&reading.message, reading.profile);
        let own = own
            .into_iter()
            .flat_map(|own| numbered(&own.reading.frames));
        let own: Vec<_> = own.map(id).collect();
        let named = place(after).filter(|_| own.contains(&after));
        let Some((_, seq, _)) = named else {
            return StreamStart::Nothing;
        };
        if reading.frames.is_empty() && own.last() == Some(&after) {
            // Behind the end of its own turn there is nothing.
            return StreamStart::Frame(self.frames.len());
        }
        let is_before = |frame: &&Frame| place(id(frame)).is_some_and(|(_, at, _)| at <= seq);
        StreamStart::Frame(self.frames.partition_point(is_before))
    }

    /// Finds the first thing that is wrong with a connection, which usually explains the others.
    fn compare(&self, reading: &ReaderConnection, behind: StreamStart, verdict: &mut Verdict) {
        let message = &reading.message;
        let mut next = match behind {
            StreamStart::Frame(at) => at,
            // What a power cut took cannot be resumed from, and that is said; before it, it could.
            StreamStart::Nothing if self.may_lose() => return self.behind_lost(reading, verdict),
            StreamStart::Nothing => {
                let after = reading.after.as_deref().unwrap_or_default();
                return verdict.find(Broken::TakenBack, message, after);
            }
        };
        let mut seen = BTreeSet::new();
        for frame in numbered(&reading.frames) {
            let id = id(frame);
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
                None if self.is_lost_and_told(frame) => {}
                None if self.may_lose() && self.is_live(frame) => {
                    return verdict.find(Broken::LossUntold, message, id);
                }
                None => return verdict.find(Broken::TakenBack, message, id),
            }
        }
        if reading.is_done && self.is_done && next < self.frames.len() {
            let missed = id(self.frames[next]);
            verdict.find(Broken::Gap, message, format!("{missed} before the end"));
        }
    }

    /// A connection behind an id that is no more: it was opened before that was lost and saw more of
    /// what was lost, or it is told so first.
    fn behind_lost(&self, reading: &ReaderConnection, verdict: &mut Verdict) {
        let is_told = reading.frames.first().is_some_and(Frame::is_reset);
        let mut shown = numbered(&reading.frames);
        let is_alive =
            shown.any(|frame| self.places.contains_key(id(frame)) || !self.is_lost_and_told(frame));
        if is_alive && !is_told {
            let id = reading.after.as_deref().unwrap_or_default();
            verdict.find(Broken::LossUntold, &reading.message, id);
        }
    }

    fn may_lose(&self) -> bool {
        self.spool == Spool::Cut
    }

    /// Whether what an id named is gone, as it may be.
    fn is_lost(&self, after: &str) -> bool {
        self.may_lose() && !after.is_empty() && !self.places.contains_key(after)
    }

    /// Frames between two of a connection stand there only because they tell what was lost while it
    /// was away: it had seen what they stand for.
    fn is_told_lost(&self, from: usize, to: usize) -> bool {
        let mut between = self.frames[from..to].iter();
        self.may_lose() && between.all(|frame| kind(frame) == "events_lost")
    }

    /// Whether a frame shows what is kept in the spool alone until its message is finished. Nothing
    /// else may be lost.
    fn is_live(&self, frame: &Frame) -> bool {
        let kind = kind(frame);
        let live: &[&str] = match self.profile {
            Profile::Full => &["message_started", "delta", "part_added"],
            Profile::Default => &["text_delta", "tool_call_start"],
        };
        live.contains(&kind.as_str())
    }

    /// Whether the first that the stream tells of a later epoch than a lost event's is that something
    /// is void. What no durable event stood behind leaves no hole, and its places are given again.
    fn is_lost_and_told(&self, frame: &Frame) -> bool {
        if !self.may_lose() || !self.is_live(frame) {
            return false;
        }
        let Some((epoch, _, _)) = place(id(frame)) else {
            return false;
        };
        let mut later = self.frames.iter().filter(|frame| {
            let at = place(id(frame));
            at.is_some_and(|(other, _, _)| other > epoch)
        });
        // A turn that gives up keeps what is left of its message, whole, or nothing, in place of a
        // reset.
        later
            .next()
            .is_some_and(|frame| tells_loss(frame) || self.gave_up && gives_up(frame))
    }
}

/// Whether a frame keeps the whole of what is left, or ends the turn.
fn gives_up(frame: &Frame) -> bool {
    matches!(
        kind(frame).as_str(),
        "message_finished" | "turn_finished" | "completed"
    )
}

/// Whether a frame says that something before it is void or gone: a hole, a reset, a pass that
/// begins, an end in an error.
fn tells_loss(frame: &Frame) -> bool {
    matches!(
        kind(frame).as_str(),
        "events_lost" | "step_reset" | "iteration" | "error"
    )
}

/// No place of a log was given to two events, whoever saw them; where places are given again because
/// they were lost, no id was.
fn unique(observed: &Observed, streams: &Streams<'_>, verdict: &mut Verdict) {
    let posts = observed.posts.iter();
    let sessions: HashMap<_, _> = posts
        .map(|post| (post.message.as_str(), post.session.as_str()))
        .collect();
    let mut seen: HashMap<(&str, Profile, [u64; 3]), (&str, &str)> = HashMap::new();
    for reading in observed.readings.iter().chain(&observed.retold) {
        let Some(session) = sessions.get(reading.message.as_str()) else {
            continue;
        };
        let owner = streams.owner(reading);
        for frame in numbered(&reading.frames) {
            let id = id(frame);
            let Some((epoch, seq, part)) = place(id) else {
                continue;
            };
            let run = match observed.spool {
                Spool::Whole => 0,
                Spool::Cut => epoch,
            };
            let key = (*session, reading.profile, [run, seq, part]);
            let (first, whose) = *seen.entry(key).or_insert((id, owner));
            if first != id || whose != owner {
                let found = format!("{first} ({whose}), {id} ({owner})");
                verdict.find(Broken::DuplicateId, session, found);
                return;
            }
        }
    }
}

/// The turns of a session together have every event of its log but the first, which opens it. What
/// is missing belongs to a turn that nobody asked for, or is gone.
fn gapless(observed: &Observed, streams: &Streams<'_>, verdict: &mut Verdict) {
    for (session, posts) in by_session(observed) {
        // Without the whole of every turn nothing can be said of the session. What an agent in the
        // background does when its caller is over is in no stream.
        let turns = streams.of_session(&posts);
        if turns.is_none_or(|turns| trees::have_background(&turns)) {
            continue;
        }
        let (mut log, mut unseen) = (BTreeSet::from([1]), 0);
        for post in posts.iter().filter(|post| !post.is_rejected) {
            let guest = streams.fate(&post.message) == MessageTurn::Joined;
            let of = if guest { Streams::own } else { Streams::get };
            let whole = of(streams, &post.message, Profile::Full);
            // What joins a turn before anybody has read its own is accepted at a place of its own.
            unseen += usize::from(guest && whole.is_none());
            let frames = whole
                .into_iter()
                .flat_map(|whole| numbered(&whole.reading.frames));
            log.extend(frames.flat_map(covered));
            if !guest && let Some(whole) = whole {
                // The own turn of what joins ends right behind that.
                log.extend(whole.told.joined.iter().map(|said| said.at + 1));
            }
        }
        let last = log.last().copied().unwrap_or_default();
        let mut missing = (1..=last).filter(|seq| !log.contains(seq));
        if let Some(missing) = missing.nth(unseen) {
            verdict.find(Broken::Gap, session, missing.to_string());
        }
    }
}

/// The places of a log that an event stands for.
fn covered(frame: &Frame) -> std::ops::RangeInclusive<u64> {
    let last = place(id(frame)).map_or(0, |(_, seq, _)| seq);
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

fn id(frame: &Frame) -> &str {
    frame.id.as_deref().unwrap_or_default()
}

fn kind(frame: &Frame) -> String {
    let event: Value = serde_json::from_str(&frame.data).unwrap_or_default();
    event["type"].as_str().unwrap_or_default().to_owned()
}

pub(super) fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
