//! Studies: each has one log, which lies where its end says; one that was open at a kill continues
//! in it, and says so.

use std::collections::{BTreeSet, HashMap};

use super::links::Links;
use super::logs::{Log, Row};
use crate::observed::{Envelope, Link, Relay};
use crate::verdict::Verdict;
use crate::violation::Broken;

/// What says that a server has come up in the middle of a study.
const RESTARTED: &str = "server.restarted";

/// What a study is over behind.
const OVER: [&str; 2] = ["session.end", "session.replaced"];

/// Letters that a study's id may have, besides those of the alphabet and digits.
const MARKS: &str = "._-";

/// Letters that it may have at most.
const MAX_ID_CHARS: usize = 64;

pub(super) fn judge(relay: &Relay, logs: &[Log<'_>], links: &Links<'_>, verdict: &mut Verdict) {
    for log in logs.iter().filter(|log| log.is_of_study()) {
        verdict.counts.relay.studies += 1;
        let open_in = goes_on(log, links, verdict);
        if let Some(life) = open_in.filter(|_| is_known(relay, log)) {
            stays(log, life, (logs, links), verdict);
        }
    }
    begun(relay, links, verdict);
    ended(relay, links, verdict);
}

/// A study says where a server has come up in it, and nowhere else. Gives the life in which it was
/// seen last, when it is open.
fn goes_on(log: &Log<'_>, links: &Links<'_>, verdict: &mut Verdict) -> Option<u64> {
    let (mut last, mut is_said, mut is_over) = (None, false, false);
    for row in &log.rows {
        is_said |= row.is_internal(RESTARTED);
        is_over |= OVER.iter().any(|kind| row.is_internal(kind));
        let Some(life) = links.life_of(row) else {
            continue;
        };
        let is_other = last.is_some_and(|last| last != life);
        if is_other != is_said || last > Some(life) {
            let found = format!("row {}: life {life} behind {last:?}", row.at + 1);
            verdict.find(Broken::StudyCut, log.path, found);
        }
        verdict.counts.relay.continued += u64::from(is_other);
        (last, is_said) = (Some(life), false);
    }
    last.filter(|_| !is_over)
}

/// Whether an agent learned of a study, or wrote in it: a kill may come before that. The id alone
/// does not tell, because a later study may announce it again.
fn is_known(relay: &Relay, log: &Log<'_>) -> bool {
    let request = log.rows.first().and_then(Row::mark);
    let mut answered = relay.links.iter().flat_map(starts);
    let marks = log.rows.iter().filter_map(Row::mark);
    answered.any(|(_, _, mark)| Some(mark) == request) || marks.collect::<BTreeSet<_>>().len() > 1
}

/// What is said in the room of an open study in a later life is said in the study.
fn stays(log: &Log<'_>, life: u64, (logs, links): (&[Log<'_>], &Links<'_>), verdict: &mut Verdict) {
    let room = log.rows.first().map_or("", Row::room);
    for other in logs.iter().filter(|other| other.path != log.path) {
        let is_later =
            |row: &&Row| row.room() == room && links.life_of(row).is_some_and(|other| other > life);
        if let Some(row) = other.rows.iter().find(is_later) {
            let found = format!("{}:{}", other.path, row.at + 1);
            verdict.find(Broken::StudyCut, log.path, found);
            return;
        }
    }
}

/// A study's log is named by the id that it was given, and begins with the request.
fn begun(relay: &Relay, links: &Links<'_>, verdict: &mut Verdict) {
    let starts = || relay.links.iter().flat_map(starts);
    let mut times: HashMap<&str, u32> = HashMap::new();
    for (_, id, _) in starts() {
        *times.entry(id).or_default() += 1;
    }
    for (link, id, mark) in starts() {
        verdict.counts.relay.begun += 1;
        let Some((path, row)) = links.said(mark) else {
            // That it is missing is said elsewhere.
            continue;
        };
        let named = format!("logs/study/{id}.jsonl");
        let is_named = path == named;
        // A study that nobody was told of, because a kill came first, has its id all the same.
        let is_taken = relay.logs.iter().any(|log| log.path == named);
        let must_be = is_id(id) && times.get(id) == Some(&1) && !is_taken;
        if row.at > 0 || (must_be && !is_named) || !path.starts_with("logs/study/") {
            let found = format!("{id} in {}: {path}:{}", link.room, row.at + 1);
            verdict.find(Broken::LogFileWrong, mark, found);
        }
    }
}

/// The studies that an agent has begun: where, under which id, and by which request.
fn starts(link: &Link) -> impl Iterator<Item = (&Link, &str, &str)> {
    let started = |got: &&Envelope| got.kind == "session.started";
    link.got.iter().filter(started).filter_map(move |got| {
        let mut said = link.said.iter();
        let said = said.find(|said| Some(&said.id) == got.reply_to.as_ref())?;
        Some((link, got.payload["sessionId"].as_str()?, said.mark.as_str()))
    })
}

fn is_id(text: &str) -> bool {
    let mut letters = text.chars();
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || MARKS.contains(letter);
    (1..=MAX_ID_CHARS).contains(&text.len()) && letters.all(is_letter)
}

/// Who is told the end of a study finds it in the log that is named.
fn ended(relay: &Relay, links: &Links<'_>, verdict: &mut Verdict) {
    for ending in &relay.endings {
        verdict.counts.relay.ended += 1;
        let path = links.said(&ending.mark).map(|(path, _)| path);
        if !ending.is_there || path != Some(ending.log_file.as_str()) {
            let found = format!("{ending:?} / {path:?}");
            verdict.find(Broken::LogFileWrong, &ending.mark, found);
        }
    }
}
