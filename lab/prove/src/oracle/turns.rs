//! Turns: each message has one, with one end that somebody gave it; they run one after another, and
//! in their order.

use std::collections::HashMap;

use super::{CUT_TOO_OFTEN, MessageTurn, STEERED, Streams, WholeStream, by_session, stops, trees};
use crate::observed::{Delivery, Observed, Post, Profile, Scene};
use crate::turn_record::{TurnEnd, TurnRecord, UserMessage, is_of_called};
use crate::verdict::Verdict;
use crate::violation::Broken;
use crate::words;

/// How often a turn continues in a row before it may end so.
pub(super) const CONTINUATIONS: u64 = 5;

/// How a turn ends whose provider refuses it for good.
const REJECTED: &str = "provider_rejected";

/// How a model says that it has said all, in the words of either dialect.
pub(super) const SAID_ALL: [&str; 2] = ["stop", "end_turn"];

/// How a message says that it ends the turn that runs.
const INTERRUPTS: &str = "interrupts";

pub(super) fn judge(observed: &Observed, streams: &Streams<'_>, verdict: &mut Verdict) {
    let posts = observed.posts.iter().filter(|post| post.acked_at.is_some());
    for post in posts {
        let case = Case {
            post,
            observed,
            streams,
        };
        match streams.fate(&post.message) {
            MessageTurn::Own => case.own(verdict),
            MessageTurn::Joined => case.joined(verdict),
            MessageTurn::Strange => {
                let whole = streams.get(&post.message, Profile::Full);
                let opener = whole.and_then(|whole| whole.told.opener.clone());
                verdict.find(Broken::SecondTurn, &post.message, format!("{opener:?}"));
            }
        }
    }
    one_turn_each(observed, streams, verdict);
    for (session, posts) in by_session(observed) {
        if let Some(turns) = streams.of_session(&posts) {
            in_turn(session, &turns, verdict);
        }
    }
}

/// A message that was accepted.
struct Case<'c> {
    post: &'c Post,
    observed: &'c Observed,
    streams: &'c Streams<'c>,
}

impl Case<'_> {
    /// It has a turn of its own, and is in no other.
    fn own(&self, verdict: &mut Verdict) {
        let message = self.post.message.as_str();
        let Some(full) = self.streams.get(message, Profile::Full) else {
            verdict.counts.stuck += 1;
            return verdict.find(Broken::StuckTurn, message, "");
        };
        self.ended(full, verdict);
        if let Some(spelt) = self.streams.get(message, Profile::Default) {
            self.ended(spelt, verdict);
            if full.reading.is_done && spelt.reading.is_done {
                told_apart(message, &full.told, &spelt.told, verdict);
            }
        }
        if self.times_joined() > 0 {
            verdict.find(
                Broken::SecondTurn,
                message,
                full.told.turn.as_deref().unwrap_or(""),
            );
        }
    }

    /// It was to steer, did so once, in its own session, and its own turn has ended for that.
    fn joined(&self, verdict: &mut Verdict) {
        verdict.counts.steered += 1;
        let (message, mut wrong) = (self.post.message.as_str(), Vec::new());
        if self.post.delivery != Delivery::Steer {
            wrong.push("joined unasked".to_owned());
        }
        if self.times_joined() != 1 {
            wrong.push(format!("joined {} times", self.times_joined()));
        }
        for profile in [Profile::Full, Profile::Default] {
            let own = self.streams.own(message, profile);
            let ends = own
                .filter(|own| own.reading.is_done)
                .map(|own| &own.told.ends);
            if let Some(ends) = ends.filter(|ends| **ends != [TurnEnd::Other(STEERED.to_owned())]) {
                wrong.push(format!("{ends:?}"));
            }
        }
        for what in wrong {
            verdict.find(Broken::EndedWrong, message, what);
        }
    }

    /// How often it stands in turns of its session that others began.
    fn times_joined(&self) -> usize {
        let turns = self.streams.turns();
        let of_session = turns.filter(|(opener, _)| {
            let mut posts = self.observed.posts.iter();
            posts.any(|post| post.message == *opener && post.session == self.post.session)
        });
        let joined = of_session.flat_map(|(_, whole)| &whole.told.joined);
        joined
            .filter(|said| said.message == self.post.message)
            .count()
    }

    /// A turn ends once, and for a reason that somebody gave it.
    fn ended(&self, whole: &WholeStream<'_>, verdict: &mut Verdict) {
        let message = self.post.message.as_str();
        let TurnRecord { ends, starts, .. } = &whole.told;
        let is_first_look = whole.reading.profile == Profile::Full;
        if *starts > 1 || ends.len() > 1 {
            verdict.find(Broken::EndedTwice, message, format!("{ends:?}"));
        }
        let Some(end) = ends.first().filter(|_| whole.reading.is_done) else {
            verdict.counts.stuck += u64::from(is_first_look);
            let last = whole.reading.frames.last();
            let last = last.map(|frame| frame.data.clone());
            return verdict.find(Broken::StuckTurn, message, last.unwrap_or_default());
        };
        if let TurnEnd::Model(_) = end {
            whole_answers(message, &whole.told, verdict);
        }
        if !self.is_right(end) {
            verdict.find(Broken::EndedWrong, message, format!("{end:?}"));
        }
        if is_first_look {
            verdict.counts.end(end);
        }
    }

    fn is_right(&self, end: &TurnEnd) -> bool {
        let full = self.streams.get(&self.post.message, Profile::Full);
        let Some(told) = full.map(|whole| &whole.told) else {
            return false;
        };
        match end {
            TurnEnd::Model(word) => {
                SAID_ALL.contains(&word.as_str()) && self.last_scene(told) != Scene::Refused
            }
            TurnEnd::Cancelled => stops::may_be_stopped(self.post, told, self.observed),
            TurnEnd::Fault(code) if code == CUT_TOO_OFTEN => told.most_in_a_row >= CONTINUATIONS,
            TurnEnd::Fault(code) => code == REJECTED && self.last_scene(told) == Scene::Refused,
            TurnEnd::Other(word) => trees::has_given_up(told, word),
        }
    }

    /// What the model was to make of what was said last in the turn.
    fn last_scene(&self, told: &TurnRecord) -> Scene {
        let last = told.joined.last().map(|said| &said.message);
        let mut posts = self.observed.posts.iter();
        let post = posts.find(|post| Some(&post.message) == last);
        post.unwrap_or(self.post).scene
    }
}

/// Every answer of a turn that ended well is the whole of what the model said to what the user had
/// said last.
pub(super) fn whole_answers(message: &str, told: &TurnRecord, verdict: &mut Verdict) {
    if let Some(unfinished) = &told.unfinished {
        verdict.find(Broken::AnswerLost, message, unfinished);
    }
    for answer in told.messages.iter().filter(|one| one.role == "assistant") {
        let is_whole = words::read(&answer.text) == words::Text::Whole;
        if !is_whole || words::tag(&answer.text) != Some(&answer.answers.0) {
            let found = format!("{} to {:?}", answer.text, answer.answers);
            verdict.find(Broken::AnswerLost, message, found);
        }
    }
}

/// Both profiles tell the same end, and the same results.
fn told_apart(message: &str, full: &TurnRecord, spelt: &TurnRecord, verdict: &mut Verdict) {
    fn results(told: &TurnRecord) -> HashMap<&str, &str> {
        let calls = told.calls.iter();
        let closed = calls.filter_map(|call| Some((call.id.as_str(), call.closings.first()?)));
        closed
            .map(|(id, closing)| (id, closing.text.as_str()))
            .collect()
    }
    if full.ends != spelt.ends || results(full) != results(spelt) {
        let found = format!(
            "{:?} {:?} / {:?} {:?}",
            full.ends,
            results(full),
            spelt.ends,
            results(spelt)
        );
        verdict.find(Broken::ToldApart, message, found);
    }
}

/// Every reader of a message's stream saw the same turn, and no other message's reader did.
fn one_turn_each(observed: &Observed, streams: &Streams<'_>, verdict: &mut Verdict) {
    let mut turns: HashMap<&str, String> = HashMap::new();
    let mut owners: HashMap<String, &str> = HashMap::new();
    let all = observed.readings.iter().chain(&observed.retold);
    for reading in all.filter(|reading| reading.profile == Profile::Full) {
        let frames = reading.frames.iter().filter(|frame| frame.id.is_some());
        let turn = frames.filter_map(|frame| {
            let event: serde_json::Value = serde_json::from_str(&frame.data).ok()?;
            let turn = event["turn"].as_str().filter(|_| !is_of_called(&event));
            turn.map(str::to_owned)
        });
        let Some(turn) = turn.into_iter().next() else {
            continue;
        };
        let message = reading.message.as_str();
        // Who has joined another's turn had one before.
        if streams.owner(reading) == message && !streams.is_of_own(reading) {
            let first = turns.entry(message).or_insert_with(|| turn.clone());
            if *first != turn {
                let found = format!("{first}, {turn}");
                return verdict.find(Broken::SecondTurn, message, found);
            }
        }
        let reader = streams.owner(reading);
        let owner = *owners.entry(turn.clone()).or_insert(reader);
        if owner != reader {
            return verdict.find(Broken::DuplicateId, message, format!("{turn} ({owner})"));
        }
    }
}

/// The turns of a session run one after another: who interrupts before who waits, and else in the
/// order in which they were accepted.
fn in_turn(session: &str, turns: &[(&Post, &TurnRecord)], verdict: &mut Verdict) {
    let runs = turns.iter().filter_map(|(_, told)| {
        let (said, from) = (told.opener.as_ref()?, told.started_at?);
        Some((from, told.ended_at?, said))
    });
    let mut runs: Vec<(u64, u64, &UserMessage)> = runs.collect();
    runs.sort_unstable_by_key(|(from, ..)| *from);
    for pair in runs.windows(2) {
        if let [(_, until, first), (from, _, second)] = pair
            && from < until
        {
            let found = format!("{} beside {}", second.message, first.message);
            verdict.find(Broken::OrderBroken, session, found);
        }
    }
    let rank = |said: &UserMessage| (said.entry != INTERRUPTS, said.at);
    for (place, (from, _, first)) in runs.iter().enumerate() {
        let later = runs.iter().skip(place + 1).map(|(.., said)| said);
        let mut passed_over = later.filter(|said| said.at < *from && rank(said) < rank(first));
        if let Some(said) = passed_over.next() {
            let found = format!("{} before {}", first.message, said.message);
            verdict.find(Broken::OrderBroken, session, found);
        }
    }
}
