//! Messages and turns: what was accepted is kept once, in its order, and has one turn with one end.

use std::collections::{BTreeMap, HashMap};

use super::{Streams, Verdict, Whole};
use crate::observed::{Observed, Post, Profile, Scene, Stored};
use crate::told::{End, Told};
use crate::violation::Broken;

/// How a turn may fail without anybody's fault: it was cut too often.
const CUT_TOO_OFTEN: &str = "recovery_exhausted";

/// How a turn may fail whose provider fails.
const PROVIDER_FAULTS: [&str; 6] = [
    "provider_unreachable",
    "provider_timeout",
    "provider_rate_limited",
    "provider_error",
    "stream_cut",
    "empty_answer",
];

pub(super) fn judge(observed: &Observed, streams: &Streams<'_>, verdict: &mut Verdict) {
    let stored = by_id(&observed.stored, verdict);
    for post in &observed.posts {
        if post.acked_at.is_some() {
            verdict.counts.accepted += 1;
            kept(post, &stored, verdict);
            for profile in [Profile::Full, Profile::Default] {
                if let Some(whole) = streams.get(&post.message, profile) {
                    ended(post, whole, profile, verdict);
                }
            }
            shown(post, &stored, streams, verdict);
        }
    }
    for session in &observed.undead {
        verdict.find(Broken::CameBack, session, "");
    }
    verdict.counts.deleted += u64::try_from(observed.deleted.len()).unwrap_or(u64::MAX);
    in_order(observed, verdict);
    one_turn_each(observed, verdict);
    asked_once(observed, verdict);
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

/// A turn ends once, and for a reason that somebody gave it.
fn ended(post: &Post, whole: &Whole<'_>, profile: Profile, verdict: &mut Verdict) {
    let Told { ends, starts, .. } = &whole.told;
    let is_first_look = profile == Profile::Full;
    if profile == Profile::Full && (*starts > 1 || ends.len() > 1) || ends.len() > 1 {
        verdict.find(Broken::EndedTwice, &post.message, format!("{ends:?}"));
    }
    let Some(end) = ends.first().filter(|_| whole.reading.is_done) else {
        verdict.counts.stuck += u64::from(is_first_look);
        let last = whole.reading.frames.last();
        let last = last.map(|frame| frame.data.clone());
        return verdict.find(Broken::StuckTurn, &post.message, last.unwrap_or_default());
    };
    let is_right = match end {
        End::Model(word) => {
            whole_answer(post, whole, verdict);
            word == "stop"
        }
        End::Cancelled => post.may_be_cancelled,
        End::Fault(code) => {
            let is_provider = PROVIDER_FAULTS.contains(&code.as_str());
            code == CUT_TOO_OFTEN || is_provider && post.scene == Scene::Fault
        }
        End::Other(_) => false,
    };
    let is_obeyed = !post.is_cancelled || *end == End::Cancelled;
    if !is_right || !is_obeyed {
        verdict.find(Broken::EndedWrong, &post.message, format!("{end:?}"));
    }
    if is_first_look {
        verdict.counts.end(end);
    }
}

fn whole_answer(post: &Post, whole: &Whole<'_>, verdict: &mut Verdict) {
    let told = &whole.told;
    if let Some(unfinished) = &told.unfinished {
        verdict.find(Broken::AnswerLost, &post.message, unfinished);
    }
    let Some(answer) = told.messages.iter().rfind(|one| one.role == "assistant") else {
        return;
    };
    if crate::words::read(&answer.text) != crate::words::Said::Whole {
        verdict.find(Broken::AnswerLost, &post.message, &answer.text);
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
    for message in &whole.told.messages {
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
    for call in &whole.told.calls {
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

/// What was accepted before another was sent stands before it.
fn in_order(observed: &Observed, verdict: &mut Verdict) {
    let rows = observed.stored.iter().enumerate();
    let places: HashMap<_, _> = rows.map(|(at, row)| (row.id.as_str(), at)).collect();
    let mut sessions: BTreeMap<&str, Vec<&Post>> = BTreeMap::new();
    for post in &observed.posts {
        sessions.entry(&post.session).or_default().push(post);
    }
    for posts in sessions.values() {
        for later in posts {
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
                verdict.find(Broken::OrderBroken, &later.session, found);
            }
        }
    }
}

/// Every reader of a message's stream saw the same turn, and no other message's reader did.
fn one_turn_each(observed: &Observed, verdict: &mut Verdict) {
    let mut turns: HashMap<&str, String> = HashMap::new();
    let mut owners: HashMap<String, &str> = HashMap::new();
    let all = observed.readings.iter().chain(&observed.retold);
    for reading in all.filter(|reading| reading.profile == Profile::Full) {
        let frames = reading.frames.iter().filter(|frame| frame.id.is_some());
        let turn = frames.filter_map(|frame| {
            let event: serde_json::Value = serde_json::from_str(&frame.data).ok()?;
            Some(event["turn"].as_str()?.to_owned())
        });
        let Some(turn) = turn.into_iter().next() else {
            continue;
        };
        let message = reading.message.as_str();
        let first = turns.entry(message).or_insert_with(|| turn.clone());
        if *first != turn {
            let found = format!("{first}, {turn}");
            return verdict.find(Broken::SecondTurn, message, found);
        }
        let owner = *owners.entry(turn.clone()).or_insert(message);
        if owner != message {
            return verdict.find(Broken::DuplicateId, message, format!("{turn} ({owner})"));
        }
    }
}

/// Once a reader has seen the first answer of a turn finished, no later prompt asks for it again.
fn asked_once(observed: &Observed, verdict: &mut Verdict) {
    for (message, prompts) in &observed.answered {
        let mut asked = observed.asked.iter();
        let again = asked.find(|asked| {
            asked.message == *message && asked.results == 0 && asked.number >= *prompts
        });
        if let Some(again) = again {
            verdict.find(Broken::AskedAgain, message, again.number.to_string());
        }
    }
}
