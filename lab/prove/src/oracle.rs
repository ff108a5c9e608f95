//! The judge: from what was seen outside the servers to the promises that were broken. Pure, so that
//! it is tested with observations made by hand: a proof that cannot fail proves nothing.

mod approvals;
mod calls;
mod chat;
mod copies;
mod memories;
mod messages;
mod questions;
mod relay;
mod rows;
mod stops;
mod streams;
mod trees;
mod turns;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

pub(crate) use calls::class_of;
use streams::count;

use crate::observed::{Frame, Incident, Observed, Post, Profile, ReaderConnection};
use crate::shown;
use crate::turn_record::{TurnEnd, TurnRecord, place, tell};
use crate::verdict::Verdict;
use crate::violation::Broken;

/// How a turn may end without anybody's fault: it was cut too often.
const CUT_TOO_OFTEN: &str = "recovery_exhausted";

/// How a message's own turn ends that has joined another's.
const STEERED: &str = "steered";

/// Judges all that was seen of one data directory.
pub(crate) fn judge(observed: &Observed) -> Verdict {
    let mut verdict = Verdict::default();
    let streams = Streams::of(observed);
    verdict.counts.put_off.clone_from(&observed.put_off);
    incidents(observed, &mut verdict);
    streams::judge(observed, &streams, &mut verdict);
    messages::judge(observed, &streams, &mut verdict);
    rows::judge(observed, &streams, &mut verdict);
    turns::judge(observed, &streams, &mut verdict);
    stops::judge(observed, &streams, &mut verdict);
    calls::judge(observed, &streams, &mut verdict);
    trees::judge(observed, &streams, &mut verdict);
    questions::judge(observed, &streams, &mut verdict);
    relay::judge(observed, &mut verdict);
    copies::judge(observed, &mut verdict);
    memories::judge(observed, &mut verdict);
    let pages = shown::judge(observed);
    verdict.counts.web = pages.counts;
    verdict.violations.extend(pages.violations);
    verdict
}

/// Each message's stream as it is in the end, by message and profile.
pub(crate) struct Streams<'o> {
    whole: ByMessage<'o>,
    /// The turns of their own that messages had before they joined another's, as far as they were
    /// seen.
    own: ByMessage<'o>,
}

type ByMessage<'o> = BTreeMap<Profile, BTreeMap<&'o str, WholeStream<'o>>>;

/// A stream from its start, and what it tells.
pub(crate) struct WholeStream<'o> {
    pub(crate) reading: Cow<'o, ReaderConnection>,
    pub(crate) told: TurnRecord,
}

impl<'o> WholeStream<'o> {
    fn of(reading: Cow<'o, ReaderConnection>) -> Self {
        let told = tell(reading.profile, &reading.frames);
        Self { reading, told }
    }
}

/// What became of a message, by its stream in the full profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageTurn {
    /// It began a turn of its own.
    Own,
    /// It has joined another message's turn.
    Joined,
    /// Its stream is that of another message.
    Strange,
}

impl<'o> Streams<'o> {
    /// The one that was read when all was over; where there is none, the longest that a reader saw
    /// from the start.
    fn of(observed: &'o Observed) -> Self {
        let mut whole = longest(observed.readings.iter());
        for reading in &observed.retold {
            whole.insert((reading.message.as_str(), reading.profile), reading);
        }
        let mut streams = Self {
            whole: told(whole),
            own: BTreeMap::new(),
        };
        let own = observed.readings.iter();
        streams.own = together(own.filter(|reading| streams.is_of_own(reading)));
        streams
    }

    pub(crate) fn get(&self, message: &str, profile: Profile) -> Option<&WholeStream<'o>> {
        self.whole.get(&profile)?.get(message)
    }

    /// Those of turns that are over.
    pub(crate) fn over(&self, message: &str, profile: Profile) -> Option<&WholeStream<'o>> {
        let whole = self.get(message, profile);
        whole.filter(|whole| whole.reading.is_done)
    }

    /// What was seen of the turn that a message had before it joined another's.
    pub(crate) fn own(&self, message: &str, profile: Profile) -> Option<&WholeStream<'o>> {
        self.own.get(&profile)?.get(message)
    }

    pub(crate) fn fate(&self, message: &str) -> MessageTurn {
        let whole = self.get(message, Profile::Full);
        let told = whole.map(|whole| &whole.told);
        let Some((told, opener)) = told.and_then(|told| Some((told, told.opener.as_ref()?))) else {
            return MessageTurn::Own;
        };
        if opener.message == message {
            MessageTurn::Own
        } else if told.joined.iter().any(|said| said.message == message) {
            MessageTurn::Joined
        } else {
            MessageTurn::Strange
        }
    }

    /// The stream that a connection is a part of, as it is in the end.
    pub(crate) fn canon(&self, reading: &ReaderConnection) -> Option<&WholeStream<'o>> {
        if self.is_of_own(reading) {
            self.own(&reading.message, reading.profile)
        } else {
            self.get(&reading.message, reading.profile)
        }
    }

    /// The message whose turn a connection has read.
    pub(crate) fn owner<'r>(&'r self, reading: &'r ReaderConnection) -> &'r str {
        let message = reading.message.as_str();
        let host = || self.get(message, Profile::Full)?.told.opener.as_ref();
        let is_guest = self.fate(message) == MessageTurn::Joined && !self.is_of_own(reading);
        host()
            .filter(|_| is_guest)
            .map_or(message, |said| &said.message)
    }

    /// Whether a connection has read the turn that its message had before it joined another's.
    fn is_of_own(&self, reading: &ReaderConnection) -> bool {
        if self.fate(&reading.message) != MessageTurn::Joined {
            return false;
        }
        let told = tell(reading.profile, &reading.frames);
        let host = self.get(&reading.message, Profile::Full);
        match reading.profile {
            Profile::Full => {
                told.turn.is_some() && host.is_some_and(|host| told.turn != host.told.turn)
            }
            Profile::Default => told.ends.first() == Some(&TurnEnd::Other(STEERED.to_owned())),
        }
    }

    /// The streams of turns that messages began, in the full profile.
    pub(crate) fn turns(&self) -> impl Iterator<Item = (&str, &WholeStream<'o>)> {
        let all = self.all();
        let full = all.filter(|(_, profile, _)| *profile == Profile::Full);
        let own = full.filter(|(message, ..)| self.fate(message) == MessageTurn::Own);
        own.map(|(message, _, whole)| (message, whole))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, Profile, &WholeStream<'o>)> {
        let all = self.whole.iter();
        all.flat_map(|(profile, streams)| {
            let streams = streams.iter();
            streams.map(|(message, whole)| (*message, *profile, whole))
        })
    }

    /// A session's turns, when all that was said in it is known: who was told what, and how it ended.
    pub(crate) fn of_session<'s>(
        &'s self,
        posts: &'s [&'o Post],
    ) -> Option<Vec<(&'o Post, &'s TurnRecord)>> {
        let mut turns = Vec::new();
        for post in posts.iter().filter(|post| !post.is_rejected) {
            let whole = self.over(&post.message, Profile::Full);
            let whole = whole.filter(|_| post.acked_at.is_some())?;
            if self.fate(&post.message) == MessageTurn::Own {
                turns.push((*post, &whole.told));
            }
        }
        Some(turns)
    }
}

/// What was said in each session.
pub(crate) fn by_session(observed: &Observed) -> BTreeMap<&str, Vec<&Post>> {
    let mut sessions: BTreeMap<&str, Vec<&Post>> = BTreeMap::new();
    for post in &observed.posts {
        sessions.entry(&post.session).or_default().push(post);
    }
    sessions
}

type Longest<'o> = BTreeMap<(&'o str, Profile), &'o ReaderConnection>;

/// The longest reading from the start of each message's stream.
fn longest<'o>(readings: impl Iterator<Item = &'o ReaderConnection>) -> Longest<'o> {
    let mut longest = Longest::new();
    for reading in readings.filter(|reading| reading.after.is_none()) {
        let key = (reading.message.as_str(), reading.profile);
        let best = longest.entry(key).or_insert(reading);
        let weight = |one: &ReaderConnection| (one.is_done, one.frames.len());
        if weight(reading) > weight(best) {
            *best = reading;
        }
    }
    longest
}

fn told(readings: Longest<'_>) -> ByMessage<'_> {
    let mut streams = ByMessage::new();
    for ((message, profile), reading) in readings {
        let of_profile = streams.entry(profile).or_default();
        of_profile.insert(message, WholeStream::of(Cow::Borrowed(reading)));
    }
    streams
}

/// What was seen of each message's stream, by all of its readers together.
fn together<'o>(readings: impl Iterator<Item = &'o ReaderConnection>) -> ByMessage<'o> {
    let mut frames: BTreeMap<(&str, Profile), (BTreeMap<_, &Frame>, bool)> = BTreeMap::new();
    for reading in readings {
        let key = (reading.message.as_str(), reading.profile);
        let (seen, is_done) = frames.entry(key).or_default();
        *is_done |= reading.is_done;
        for frame in &reading.frames {
            if let Some((_, seq, part)) = frame.id.as_deref().and_then(place) {
                seen.entry((seq, part)).or_insert(frame);
            }
        }
    }
    let mut streams = ByMessage::new();
    for ((message, profile), (frames, is_done)) in frames {
        let reading = ReaderConnection {
            message: message.to_owned(),
            profile,
            frames: frames.into_values().cloned().collect(),
            is_done,
            ..ReaderConnection::default()
        };
        let of_profile = streams.entry(profile).or_default();
        of_profile.insert(message, WholeStream::of(Cow::Owned(reading)));
    }
    streams
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
            Incident::Panicked(line) => verdict.find(Broken::Panicked, "", line),
            Incident::Damage(report) => verdict.find(Broken::DamageInvented, "", report),
            Incident::Unfinished(what) => verdict.find(Broken::Unfinished, "", what),
        }
    }
}
