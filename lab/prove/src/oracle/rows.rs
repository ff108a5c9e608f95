//! Rows: what is stored is what streams showed, all of it and nothing else, in its order, and counted
//! once.

use std::collections::HashMap;

use super::{Streams, by_session, trees};
use crate::observed::{Observed, Post, Stored, Tokens, Totals};
use crate::turn_record::TurnRecord;
use crate::verdict::Verdict;
use crate::violation::Broken;

/// Where a turn stands, and where what was said or done in it does.
type Position = (u64, u64);

pub(super) fn judge(observed: &Observed, streams: &Streams<'_>, verdict: &mut Verdict) {
    for (session, posts) in by_session(observed) {
        let rows = observed.stored.iter();
        let rows: Vec<_> = rows.filter(|row| row.session == session).collect();
        rejected(&posts, &rows, verdict);
        if let Some(turns) = streams.of_session(&posts) {
            as_shown(session, &turns, &rows, verdict);
            if let Some(totals) = observed.totals.get(session) {
                counted(session, &turns, (&rows, *totals), verdict);
            }
        }
    }
    for row in &observed.swept {
        verdict.find(Broken::MessageLost, &row.session, &row.id);
    }
}

/// What was not accepted is not there.
fn rejected(posts: &[&Post], rows: &[&Stored], verdict: &mut Verdict) {
    for post in posts.iter().filter(|post| post.is_rejected) {
        verdict.counts.rejected += 1;
        if rows.iter().any(|row| row.id == post.message) {
            verdict.find(Broken::RejectedKept, &post.message, &post.session);
        }
    }
}

fn as_shown(
    session: &str,
    turns: &[(&Post, &TurnRecord)],
    rows: &[&Stored],
    verdict: &mut Verdict,
) {
    let (places, may_be_unread) = (places(turns), trees::have_background(turns));
    let mut last = (0, 0);
    for row in rows {
        let key = row.call.as_deref().unwrap_or(&row.id);
        let Some(place) = places.get(key) else {
            if may_be_unread && trees::is_unread(row) {
                continue;
            }
            verdict.find(Broken::KeptUnshown, session, format!("{row:?}"));
            continue;
        };
        if *place < last {
            verdict.find(Broken::OrderBroken, session, format!("{row:?}"));
        }
        last = last.max(*place);
    }
}

/// Where each message and each result stands, by the message's id or the call's.
fn places<'t>(turns: &[(&'t Post, &'t TurnRecord)]) -> HashMap<&'t str, Position> {
    let mut places = HashMap::new();
    let mut callers: HashMap<&str, u64> = HashMap::new();
    for told in turns.iter().flat_map(|(_, told)| told.all()) {
        // A turn that never began stands where it ended, and one whose caller waits for it with that.
        let own = told.started_at.or(told.ended_at).unwrap_or_default();
        let caller = told.parent_call.as_deref().filter(|_| !told.is_background);
        let turn = caller.and_then(|call| callers.get(call)).copied();
        let turn = turn.unwrap_or(own);
        callers.extend(told.calls.iter().map(|call| (call.id.as_str(), turn)));
        for message in &told.messages {
            places.insert(message.id.as_str(), (turn, message.at));
        }
        for call in &told.calls {
            if let Some(closing) = call.closings.first() {
                places.insert(call.id.as_str(), (turn, closing.at.1));
            }
        }
    }
    places
}

/// A session's totals are those of its messages, however often they were projected.
fn counted(
    session: &str,
    turns: &[(&Post, &TurnRecord)],
    (rows, totals): (&[&Stored], Totals),
    verdict: &mut Verdict,
) {
    let mut tokens = Tokens::default();
    for told in turns.iter().flat_map(|(_, told)| told.all()) {
        tokens.input += told.cost.input;
        tokens.output += told.cost.output;
    }
    let messages = u64::try_from(rows.len()).unwrap_or(u64::MAX);
    if trees::have_background(turns) {
        // What is in no stream has cost something, too.
        tokens = totals.tokens;
    }
    let wanted = Totals { messages, tokens };
    if totals != wanted {
        verdict.find(
            Broken::KeptWrong,
            session,
            format!("{totals:?} / {wanted:?}"),
        );
    }
}
