//! Stops: who was told that a turn is stopped finds it so, and no turn is stopped that nobody asked
//! to stop.

use super::{Streams, by_session};
use crate::observed::{Delivery, Observed, Post, Stop, Tick};
use crate::turn_record::{TurnEnd, TurnRecord};
use crate::verdict::Verdict;
use crate::violation::Broken;

/// Whether somebody asked to stop this turn, or what ran while it may have run.
pub(super) fn may_be_stopped(post: &Post, told: &TurnRecord, observed: &Observed) -> bool {
    let mut stops = observed
        .stops
        .iter()
        .filter(|stop| stop.session == post.session);
    let mut others = observed.posts.iter().filter(|other| {
        let is_other = other.session == post.session && other.message != post.message;
        is_other && other.delivery == Delivery::Interrupt
    });
    stops.any(|stop| match &stop.turn {
        Some(named) => told.turn.as_ref() == Some(named),
        None => was_there(post, stop.asked_at, stop.settled_at),
    }) || others.any(|other| was_there(post, other.sent_at, other.acked_at))
}

/// Whether a message's turn may have run at some moment of these.
fn was_there(post: &Post, from: Tick, until: Option<Tick>) -> bool {
    let was_sent = until.is_none_or(|until| post.sent_at < until);
    was_sent && post.ended_at.is_none_or(|ended| ended > from)
}

pub(super) fn judge(observed: &Observed, streams: &Streams<'_>, verdict: &mut Verdict) {
    for stop in observed.stops.iter().filter(|stop| stop.is_confirmed) {
        obeyed(stop, streams, verdict);
    }
    for (session, posts) in by_session(observed) {
        let Some(turns) = streams.of_session(&posts) else {
            continue;
        };
        let is_stopped =
            |(_, told): &&(&Post, &TurnRecord)| told.ends.first() == Some(&TurnEnd::Cancelled);
        let stopped = turns.iter().filter(is_stopped).count();
        let stops = observed.stops.iter().filter(|stop| stop.session == session);
        let confirmed = stops.clone().filter(|stop| stop.is_confirmed).count();
        let interrupts = posts
            .iter()
            .filter(|post| post.delivery == Delivery::Interrupt);
        let most = stops.count() + interrupts.count();
        // Each that is confirmed has ended another turn.
        if !(confirmed..=most).contains(&stopped) {
            let found = format!("{stopped} of {confirmed} to {most}");
            verdict.find(Broken::EndedWrong, session, found);
        }
    }
}

/// The turn that was named is over, as it was said.
fn obeyed(stop: &Stop, streams: &Streams<'_>, verdict: &mut Verdict) {
    let mut turns = streams.turns();
    let Some((message, whole)) =
        turns.find(|(_, whole)| stop.turn.is_some() && whole.told.turn == stop.turn)
    else {
        return;
    };
    if whole.reading.is_done && whole.told.ends.first() != Some(&TurnEnd::Cancelled) {
        let found = format!("{:?}", whole.told.ends);
        verdict.find(Broken::EndedWrong, message, found);
    }
}
