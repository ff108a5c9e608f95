//! Copies: a fork that was accepted has all that it was said to have, once and in its order, an import
//! has what the fork had of which it was made, and what was appended is kept once, in its order. And
//! images, which copies name, too.

use std::collections::HashMap;

use crate::observed::{CopiedRow, Fork, Observed};
use crate::picture;
use crate::verdict::Verdict;
use crate::violation::Broken;

pub(super) fn judge(observed: &Observed, verdict: &mut Verdict) {
    let rows = observed.stored.iter().enumerate();
    let places: HashMap<_, _> = rows.map(|(at, row)| (row.id.as_str(), at)).collect();
    for fork in &observed.copies.forks {
        verdict.counts.copies.forks += 1;
        let copies = observed.copies.rows.iter();
        let copies: Vec<_> = copies
            .filter(|copy| copy.row.session == fork.session)
            .collect();
        is_whole(fork, &copies, verdict);
        let mut last = None;
        for copy in copies {
            let Some(of) = &copy.of else { continue };
            let place = places.get(of.as_str()).copied();
            let source = place.and_then(|place| observed.stored.get(place));
            let is_same =
                source.is_some_and(|row| row.session == fork.of && row.content == copy.row.content);
            if !is_same {
                verdict.find(Broken::KeptWrong, &fork.session, format!("{copy:?}"));
            } else if place == last {
                verdict.find(Broken::KeptTwice, &fork.session, of);
            } else if place < last {
                verdict.find(Broken::OrderBroken, &fork.session, of);
            }
            last = place.max(last);
        }
    }
    imported(observed, verdict);
    appended(observed, verdict);
    images(observed, verdict);
}

fn is_whole(fork: &Fork, copies: &[&CopiedRow], verdict: &mut Verdict) {
    let sources = copies.iter().rev().find_map(|copy| copy.of.as_ref());
    if copies.len() as u64 != fork.messages || sources != fork.last.as_ref() {
        let found = format!("{} of {}", copies.len(), fork.messages);
        verdict.find(Broken::MessageLost, &fork.session, found);
    }
}

/// An import has the texts of the fork, in their order.
fn imported(observed: &Observed, verdict: &mut Verdict) {
    let texts = |session: &str| {
        let rows = observed.copies.rows.iter();
        let rows = rows.filter(|copy| copy.row.session == session);
        rows.map(|copy| copy.row.content.as_str())
            .collect::<Vec<_>>()
    };
    for import in &observed.copies.imports {
        verdict.counts.copies.imports += 1;
        let (has, of) = (texts(&import.session), texts(&import.of));
        if has != of || has.len() as u64 != import.messages {
            let found = format!("{} of {}", has.len(), of.len());
            verdict.find(Broken::MessageLost, &import.session, found);
        }
    }
}

fn appended(observed: &Observed, verdict: &mut Verdict) {
    let mut last = None;
    for message in &observed.copies.appended {
        verdict.counts.copies.appended += 1;
        let rows = observed.copies.rows.iter().enumerate();
        let rows: Vec<_> = rows.filter(|(_, copy)| copy.row.id == message.id).collect();
        match rows.as_slice() {
            [] => verdict.find(Broken::MessageLost, &message.id, &message.session),
            [(place, copy)] => {
                if copy.row.content != message.content || copy.row.session != message.session {
                    verdict.find(Broken::KeptWrong, &message.id, &copy.row.content);
                }
                if Some(*place) < last {
                    verdict.find(Broken::OrderBroken, &message.session, &message.id);
                }
                last = Some(*place).max(last);
            }
            _ => verdict.find(Broken::KeptTwice, &message.session, &message.id),
        }
    }
}

/// A message that is kept has its image, and none is left of a session that is deleted.
fn images(observed: &Observed, verdict: &mut Verdict) {
    for post in observed.posts.iter().filter(|post| post.acked_at.is_some()) {
        let sent = picture::of(&post.message).map(|image| picture::name(&image));
        verdict.counts.copies.images += u64::from(sent.is_some());
        let row = observed.stored.iter().find(|row| row.id == post.message);
        if row.is_some_and(|row| row.image != sent) {
            verdict.find(Broken::ImageLost, &post.session, &post.message);
        }
    }
    for image in &observed.images.lost {
        verdict.find(Broken::ImageLost, image, "");
    }
    for image in &observed.images.left {
        verdict.find(Broken::ImageLeft, image, "");
    }
}
