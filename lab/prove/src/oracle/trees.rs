//! Called agents: each call has one turn, whose end is the call's result; what one in the background
//! leaves comes back once.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::turns::{CONTINUATIONS, SAID_ALL, whole_answers};
use super::{CUT_TOO_OFTEN, Streams, by_session, count, stops};
use crate::observed::{BranchStop, Observed, Post, Stored};
use crate::scene::{DELEGATE, HEARD, SPAWN};
use crate::turn_record::{Call, Message, TurnEnd, TurnRecord};
use crate::verdict::Verdict;
use crate::violation::Broken;
use crate::words;

/// What stands before the result in the message of an agent in the background.
const IS_OVER: &str = " is over: ";

/// How a turn ends that calls nothing again when a call has failed.
const GAVE_UP: &str = "failed_call";

/// How a turn is listed that has ended by a fault.
const FAULT: &str = "error";

pub(super) fn judge(observed: &Observed, streams: &Streams<'_>, verdict: &mut Verdict) {
    for (message, whole) in streams.turns().filter(|(_, whole)| whole.reading.is_done) {
        let mut posts = observed.posts.iter();
        if let Some(post) = posts.find(|post| post.message == message) {
            let root = &whole.told;
            let tree = Tree {
                observed,
                post,
                root,
            };
            tree.judge(verdict);
        }
    }
    for (session, posts) in by_session(observed) {
        if streams.of_session(&posts).is_some() {
            nobodys_results(session, observed, streams, verdict);
        }
    }
    listed(observed, verdict);
}

/// Whether agents have worked in the background of a session.
pub(super) fn have_background(turns: &[(&Post, &TurnRecord)]) -> bool {
    let calls = turns.iter().flat_map(|(_, told)| &told.calls);
    calls.into_iter().any(|call| call.name == SPAWN)
}

/// Whether a turn ended so because an agent that it had called was cut too often: the model is told
/// that the call failed, and calls nothing again.
pub(super) fn has_given_up(told: &TurnRecord, word: &str) -> bool {
    let mut calls = told.calls.iter().filter(|call| call.name == DELEGATE);
    let has_failed = calls.any(|call| {
        let mut closings = call.closings.iter();
        closings.any(|closing| closing.status == "failed")
    });
    word == GAVE_UP && has_failed
}

/// Whether a row may be in no client's stream: an agent in the background has said it, or it is the
/// result of one, or what the model says to that.
pub(super) fn is_unread(row: &Stored) -> bool {
    row.depth > 0 || row.result_of.is_some() || row.content == HEARD
}

/// A turn of a session's own agent, and those below it.
struct Tree<'t> {
    observed: &'t Observed,
    post: &'t Post,
    root: &'t TurnRecord,
}

impl<'t> Tree<'t> {
    fn judge(&self, verdict: &mut Verdict) {
        let (mut by_call, mut by_place) = (HashMap::new(), HashMap::new());
        for called in &self.root.below {
            let turn = called.turn.as_deref().unwrap_or_default();
            let call = called.parent_call.as_deref().unwrap_or_default();
            let others = [
                by_call.insert(call, turn),
                by_place.insert(called.message(), turn),
            ];
            if let Some(other) = others.into_iter().flatten().next() {
                let found = format!("{} {call}: {other}, {turn}", called.message());
                verdict.find(Broken::CalledTwice, &self.post.message, found);
            }
            counted(called, verdict);
            if !called.is_background {
                self.ended(called, verdict);
            }
        }
        for told in self.root.awaited() {
            for call in &told.calls {
                match call.name.as_str() {
                    DELEGATE => self.result(told, call, verdict),
                    SPAWN => self.spawned(told, call, verdict),
                    _ => {}
                }
            }
        }
    }

    /// The turns above one, the nearest first.
    fn above(&self, called: &'t TurnRecord) -> impl Iterator<Item = &'t TurnRecord> + use<'t, '_> {
        std::iter::successors(Some(called), |below| {
            let call = below.parent_call.as_deref()?;
            let mut all = self.root.all();
            all.find(|told| told.calls.iter().any(|one| one.id == call))
        })
        .skip(1)
    }

    /// A called agent's turn ends once, before its caller's, and for a reason that there was.
    fn ended(&self, called: &'t TurnRecord, verdict: &mut Verdict) {
        let place = called.message();
        if called.starts > 1 || called.ends.len() > 1 {
            verdict.find(Broken::EndedTwice, place, format!("{:?}", called.ends));
        }
        let Some(end) = called.ends.first() else {
            verdict.counts.stuck += 1;
            return verdict.find(Broken::StuckTurn, place, &self.post.message);
        };
        if let TurnEnd::Model(_) = end {
            whole_answers(place, called, verdict);
        }
        let was_stopped = self.stops(called).any(|stop| stop.is_confirmed);
        if !self.is_right(called, end) || was_stopped && *end != TurnEnd::Cancelled {
            verdict.find(Broken::EndedWrong, place, format!("{end:?}"));
        }
    }

    fn is_right(&self, called: &'t TurnRecord, end: &TurnEnd) -> bool {
        let gave_up = |told: &TurnRecord| told.most_in_a_row >= CONTINUATIONS;
        let is_cut_short =
            |told: &TurnRecord| !matches!(told.ends.first(), Some(TurnEnd::Model(_)));
        match end {
            TurnEnd::Model(word) => SAID_ALL.contains(&word.as_str()),
            // A stop of the whole tree may come to an end in this turn alone, when a kill comes
            // between this end and those above it; and a turn that gives up stops those below it.
            TurnEnd::Cancelled => {
                stops::may_be_stopped(self.post, self.root, self.observed)
                    || self.stops(called).next().is_some()
                    || self
                        .above(called)
                        .any(|above| is_cut_short(above) || self.stops(above).next().is_some())
            }
            TurnEnd::Fault(code) => {
                let gave_up = gave_up(called) || self.above(called).any(gave_up);
                code == CUT_TOO_OFTEN && gave_up
            }
            TurnEnd::Other(word) => has_given_up(called, word),
        }
    }

    /// The stops of a called agent alone.
    fn stops(&self, called: &'t TurnRecord) -> impl Iterator<Item = &'t BranchStop> + use<'t> {
        let turn = called.turn.as_deref();
        let stops = self.observed.branch_stops.iter();
        stops.filter(move |stop| Some(stop.turn.as_str()) == turn)
    }

    /// The result of a call is what the agent said last, and its end is before that.
    fn result(&self, caller: &TurnRecord, call: &Call, verdict: &mut Verdict) {
        let Some(closing) = call.closings.first() else {
            return; // A call that is open is found with the others.
        };
        let mut below = self.root.below.iter();
        let agent = below.find(|one| one.parent_call.as_ref() == Some(&call.id));
        let is_right = match agent.and_then(|agent| Some((agent, agent.ends.first()?))) {
            Some((agent, end)) => {
                let is_before = agent.ended_at.is_some_and(|ended| ended < closing.at.1);
                is_before && is_result(&closing.status, &closing.text, end, &agent.messages)
            }
            None => false,
        };
        // Who is stopped closes what is open without asking.
        let is_cut_short = !matches!(caller.ends.first(), Some(TurnEnd::Model(_)));
        let is_closed_by_force = is_cut_short && closing.status != "done";
        if !is_right && !is_closed_by_force {
            let found = format!("{}: {closing:?}", call.id);
            verdict.find(Broken::CalledResultWrong, &self.post.message, found);
        }
    }

    /// An agent in the background leaves one message, with what it said last.
    fn spawned(&self, caller: &TurnRecord, call: &Call, verdict: &mut Verdict) {
        let turn = call.closings.first().and_then(|closing| {
            let said: Value = serde_json::from_str(&closing.text).ok()?;
            let turn = said["turnId"].as_str()?;
            (closing.status == "done").then(|| turn.to_owned())
        });
        let Some(turn) = turn else {
            if matches!(caller.ends.first(), Some(TurnEnd::Model(_))) {
                let found = format!("{}: {:?}", call.id, call.closings);
                verdict.find(Broken::CalledResultWrong, &self.post.message, found);
            }
            return;
        };
        let stored = self.observed.stored.iter();
        let results: Vec<_> = stored
            .filter(|row| row.result_of.as_ref() == Some(&turn))
            .collect();
        verdict.counts.trees.results += count(results.len());
        let is_right = match results[..] {
            [result] => self.is_what_was_said(&turn, call, &result.content),
            _ => false,
        };
        if !is_right {
            let found = format!("{turn}: {results:?}");
            verdict.find(Broken::BackgroundResultWrong, &self.post.message, found);
        }
    }

    fn is_what_was_said(&self, turn: &str, call: &Call, content: &str) -> bool {
        let rows = self.observed.stored.iter();
        let of_call = rows.filter(|row| row.of_call.as_ref() == Some(&call.id));
        let said = of_call.filter(|row| row.role == "assistant");
        let said = said.map(|row| Message {
            id: row.id.clone(),
            role: row.role.clone(),
            text: row.content.clone(),
            ..Message::default()
        });
        let said: Vec<_> = said.collect();
        let mut listed = self.observed.turns.iter();
        let listed = listed.find(|one| one.turn == turn);
        let end = match listed.map(|one| one.reason.as_str()) {
            Some(FAULT) => TurnEnd::Fault(CUT_TOO_OFTEN.to_owned()),
            Some(_) | None => TurnEnd::Model(String::new()),
        };
        let status = match &end {
            TurnEnd::Model(_) => "done",
            TurnEnd::Cancelled | TurnEnd::Fault(_) | TurnEnd::Other(_) => "failed",
        };
        let result = content.split_once(IS_OVER);
        let is_said = result.is_some_and(|(_, result)| is_result(status, result, &end, &said));
        let last = said.last().map_or("", |last| last.text.as_str());
        let is_whole = words::read(last) == words::Text::Whole;
        is_said && (is_whole || !matches!(end, TurnEnd::Model(_)))
    }
}

fn counted(called: &TurnRecord, verdict: &mut Verdict) {
    let counts = &mut verdict.counts.trees;
    if called.is_background {
        counts.background += 1;
    } else {
        counts.called += 1;
        counts.nested += u64::from(called.depth() > 1);
    }
    counts.resumed += u64::from(called.continued > 0);
}

/// Whether a result says how an agent's turn ended, and what it said last.
fn is_result(status: &str, text: &str, end: &TurnEnd, messages: &[Message]) -> bool {
    let said: Value = serde_json::from_str(text).unwrap_or_default();
    let mut said_last = messages.iter().rev();
    let last = said_last.find(|one| one.role == "assistant" && !one.text.is_empty());
    let is_last = match last {
        Some(last) => said["messageId"] == *last.id && said["summary"] == *last.text,
        None => said["messageId"].is_null(),
    };
    let (is_ok, wanted) = match end {
        TurnEnd::Model(_) => (true, "done"),
        // It answered.
        TurnEnd::Other(word) if word == GAVE_UP => (true, "done"),
        TurnEnd::Cancelled => (false, "cancelled"),
        TurnEnd::Fault(_) | TurnEnd::Other(_) => (false, "failed"),
    };
    is_last && said["ok"] == is_ok && status == wanted
}

/// Each result is that of an agent that somebody has called.
fn nobodys_results(
    session: &str,
    observed: &Observed,
    streams: &Streams<'_>,
    verdict: &mut Verdict,
) {
    let calls = streams.turns().flat_map(|(_, whole)| &whole.told.calls);
    let closings = calls.filter_map(|call| call.closings.first());
    let known: Vec<_> = closings.map(|closing| closing.text.as_str()).collect();
    let rows = observed.stored.iter().filter(|row| row.session == session);
    for turn in rows.filter_map(|row| row.result_of.as_ref()) {
        if !known.iter().any(|text| text.contains(turn.as_str())) {
            verdict.find(Broken::BackgroundResultWrong, session, turn);
        }
    }
}

/// In the end all turns are over, and no call has two.
fn listed(observed: &Observed, verdict: &mut Verdict) {
    let mut by_call: BTreeMap<&str, &str> = BTreeMap::new();
    for turn in &observed.turns {
        if !turn.is_over {
            verdict.counts.stuck += 1;
            verdict.find(Broken::StuckTurn, &turn.turn, format!("{turn:?}"));
        }
        let Some(call) = &turn.call else { continue };
        if let Some(other) = by_call.insert(call, &turn.turn) {
            let found = format!("{other}, {}", turn.turn);
            verdict.find(Broken::CalledTwice, call, found);
        }
    }
}
