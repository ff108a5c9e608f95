//! Messages: what was accepted is kept once, as it was said, in its order.

use std::collections::HashMap;

use super::{MessageTurn, Streams, by_session};
use crate::observed::{Delivery, Observed, Post, Profile, Stored};
use crate::verdict::Verdict;
use crate::violation::Broken;

pub(super) fn judge(observed: &Observed, streams: &Streams<'_>, verdict: &mut Verdict) {
    let stored = by_id(&observed.stored, verdict);
    for post in &observed.posts {
        if post.acked_at.is_some() {
            verdict.counts.accepted += 1;
            kept(post, &stored, verdict);
            shown(post, &stored, streams, verdict);
        }
    }
    for session in &observed.undead {
        verdict.find(Broken::CameBack, session, "");
    }
    verdict.counts.deleted += u64::try_from(observed.deleted.len()).unwrap_or(u64::MAX);
    in_order(observed, streams, verdict);
    asked_once(observed, streams, verdict);
}

/// The rows by their ids, each of which is there once.
fn by_id<'o>(stored: &'o [Stored], verdict: &mut Verdict) -> HashMap<&'o str, &'o Stored> {
    let mut rows = HashMap::new();
    for row in stored {
        if rows.insert(row.id.as_str(), row).is_some() {
            verdict.find(Broken::KeptTwice, &row.session, &row.id);
        }
    }
    rows
}

fn kept(post: &Post, stored: &HashMap<&str, &Stored>, verdict: &mut Verdict) {
    match stored.get(post.message.as_str()) {
        None => {
            verdict.counts.lost += 1;
            verdict.find(Broken::MessageLost, &post.message, &post.session);
        }
        Some(row) if row.content != post.content || row.session != post.session => {
            verdict.find(Broken::KeptWrong, &post.message, &row.content);
        }
        Some(_) => {}
    }
}

/// What a stream showed as finished is what is stored.
fn shown(
    post: &Post,
    stored: &HashMap<&str, &Stored>,
    streams: &Streams<'_>,
    verdict: &mut Verdict,
) {
    let Some(whole) = streams.get(&post.message, Profile::Full) else {
        return;
    };
    for message in whole.told.all().flat_map(|told| &told.messages) {
        match stored.get(message.id.as_str()) {
            None => verdict.find(Broken::MessageLost, &post.message, &message.id),
            Some(row) if row.content != message.text => {
                let found = format!("{}: {} / {}", message.id, row.content, message.text);
                verdict.find(Broken::KeptWrong, &post.message, found);
            }
            Some(_) => {}
        }
    }
    let results: HashMap<_, _> = stored
        .values()
        .filter_map(|row| Some((row.call.as_deref()?, row.content.as_str())))
        .collect();
    for call in whole.told.all().flat_map(|told| &told.calls) {
        let Some(closing) = call.closings.first() else {
            continue;
        };
        match results.get(call.id.as_str()) {
            None => verdict.find(Broken::MessageLost, &post.message, &call.id),
            Some(text) if *text != closing.text => {
                let found = format!("{}: {text} / {}", call.id, closing.text);
                verdict.find(Broken::KeptWrong, &post.message, found);
            }
            Some(_) => {}
        }
    }
}

/// What was accepted before another was sent stands before it; but for what goes before others, and
/// for what never began, which stands where it ended.
fn in_order(observed: &Observed, streams: &Streams<'_>, verdict: &mut Verdict) {
    let rows = observed.stored.iter().enumerate();
    let places: HashMap<_, _> = rows.map(|(at, row)| (row.id.as_str(), at)).collect();
    for (session, mut posts) in by_session(observed) {
        posts.retain(|post| {
            let is_patient = post.delivery != Delivery::Interrupt;
            let is_own = streams.fate(&post.message) == MessageTurn::Own;
            let whole = streams.get(&post.message, Profile::Full);
            let has_begun = whole.is_none_or(|whole| whole.told.started_at.is_some());
            is_patient && is_own && has_begun
        });
        for later in &posts {
            let earlier = posts.iter().filter(|post| {
                let acked = post.acked_at;
                acked.is_some_and(|acked| acked < later.sent_at)
            });
            let at = |post: &Post| places.get(post.message.as_str()).copied();
            let wrong = earlier.filter_map(|post| {
                let is_wrong = at(post)? > at(later)?;
                is_wrong.then_some(&post.message)
            });
            if let Some(first) = wrong.into_iter().next() {
                let found = format!("{} before {first}", later.message);
                verdict.find(Broken::OrderBroken, session, found);
            }
        }
    }
}

/// Once a reader has seen an answer finished, no later prompt asks for it again.
fn asked_once(observed: &Observed, streams: &Streams<'_>, verdict: &mut Verdict) {
    let turns = streams.turns();
    let told = turns.flat_map(|(_, whole)| whole.told.all());
    for answer in told.flat_map(|told| &told.messages) {
        let Some(prompts) = observed.answered.get(&answer.id) else {
            continue;
        };
        let (message, results) = &answer.answers;
        let mut asked = observed.asked.iter();
        let again = asked.find(|asked| {
            asked.message == *message && asked.results == *results && asked.number >= *prompts
        });
        if let Some(again) = again {
            verdict.find(Broken::AskedAgain, message, again.number.to_string());
        }
    }
}
